//! Shared by the CPU and GPU devices: memory statistics, what a device was asked to do, and device ids.

use std::sync::atomic::{AtomicU64, Ordering};

/// Memory statistics of a device, in bytes.
///
/// On a GPU they count the buffers that this crate requested from wgpu; `live + cached + leaving + staging` never
/// exceeds [`GpuOptions::memory_limit`](crate::device::GpuOptions::memory_limit). Imported buffers belong to the
/// application and are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Bytes held by live tensors.
    ///
    /// On a GPU, this includes copies of layouts and plans, which stay as long as their layouts do unless they are
    /// evicted under a limit or by [`Device::trim`](crate::Device::trim).
    pub live: u64,
    /// The maximum of `live` so far.
    pub peak: u64,
    /// Freed by tensors and cached for reuse; [`Device::trim`](crate::Device::trim) releases it.
    pub cached: u64,
    /// Released by this crate but possibly still in use by recorded or running work.
    ///
    /// It is freed once the GPU has finished that work and the device is polled; for example, every read polls. Always
    /// 0 on the CPU.
    pub leaving: u64,
    /// Staging buffers for uploads, downloads, parameters and timestamps. Always 0 on the CPU.
    pub staging: u64,
    /// Cached by the process for all its CPU devices: workspaces of convolutions, at most 256 MiB, and FFT plans, at
    /// most 512 MiB and an eighth of the host's budget, or the single longest plan, counted by an upper bound.
    /// [`Device::trim`](crate::Device::trim) of any CPU device releases them. Always 0 on a GPU.
    pub shared: u64,
}

/// What a GPU was asked to do so far, by all threads; nothing on the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Traffic {
    /// Buffers that were copied from the host.
    pub uploads: usize,
    /// Parts of buffers that were copied to the host.
    pub downloads: usize,
    pub dispatches: usize,
    pub submissions: usize,
}

impl Traffic {
    /// What the device was asked to do since `before`.
    pub(crate) fn since(self, before: Traffic) -> Traffic {
        Traffic {
            uploads: self.uploads - before.uploads,
            downloads: self.downloads - before.downloads,
            dispatches: self.dispatches - before.dispatches,
            submissions: self.submissions - before.submissions,
        }
    }
}

/// The most bytes that live tensors held during a profile. Only one profile at a time is watched.
#[derive(Clone, Copy, Default)]
pub(crate) struct Watch(Option<u64>);

impl Watch {
    /// Begins with what is live now. False if a profile is being watched already.
    pub(crate) fn begin(&mut self, live: u64) -> bool {
        let first = self.0.is_none();
        self.0 = self.0.or(Some(live));
        first
    }

    pub(crate) fn note(&mut self, live: u64) {
        self.0 = self.0.map(|most| most.max(live));
    }

    pub(crate) fn end(&mut self) -> u64 {
        self.0.take().unwrap_or_default()
    }
}

/// A unique id for a device; never reused.
pub(crate) fn next_device_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Who polls a GPU while a read waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The calling thread, which blocks.
    Here,
    /// The polling thread; the future yields.
    Elsewhere,
}
