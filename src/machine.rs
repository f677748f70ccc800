//! What both machines share: the count of memory, and device identities.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of tensor memory on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Held by tensors, and on a GPU by the metadata and plans of layouts, that are alive.
    pub live: u64,
    /// The largest `live` has been.
    pub peak: u64,
    /// Freed and kept for reuse; [`Device::trim`](crate::Device::trim) gives it back.
    pub cached: u64,
}

/// An identity for a device, never given twice.
pub(crate) fn next_device_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
