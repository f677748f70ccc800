//! What both machines share: the count of memory, and device identities.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a device holds.
///
/// On a GPU these are the buffers that this crate asked wgpu for; `live + cached + leaving + staging` never exceeds
/// [`GpuOptions::memory_limit`](crate::device::GpuOptions::memory_limit). Imported buffers are the application's, and are not
/// counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Held by tensors that are alive. On a GPU also by copies of layouts and plans, which stay with the layouts until
    /// they give way under a limit or to [`Device::trim`](crate::Device::trim).
    pub live: u64,
    /// The largest `live` has been.
    pub peak: u64,
    /// Freed and kept for reuse; [`Device::trim`](crate::Device::trim) gives it back.
    pub cached: u64,
    /// Given up while recorded or running work may still use it. It is freed when the GPU is done with that work and
    /// the device is polled, by any read for one. Always 0 on the CPU.
    pub leaving: u64,
    /// Buffers that uploads, downloads, parameters and timestamps go through. Always 0 on the CPU.
    pub staging: u64,
}

/// An identity for a device, never given twice.
pub(crate) fn next_device_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
