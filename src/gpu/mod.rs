//! The GPU device: runs launches as WGSL compute shaders through wgpu.

#[cfg(feature = "testing")]
mod accesses;
mod account;
#[cfg(feature = "testing")]
mod bounds;
mod context;
mod copies;
mod embedding;
#[cfg(feature = "testing")]
mod emulated;
mod errors;
mod frame;
mod freed;
mod grid;
mod groups;
mod kept;
mod pipelines;
mod poll;
mod pool;
mod profiler;
mod read;
mod recorder;
mod replay;
mod rewriting;
mod run;
mod staging;
#[cfg(feature = "testing")]
mod tests;
#[cfg(feature = "testing")]
mod wgsl_text;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copies::{Copied, Copies};
use errors::Health;
use pipelines::{Limits, Pipelines};
use poll::Poller;
use pool::Pool;
use recorder::{Machine, Recorder};
use staging::Staging;

use crate::Result;
use crate::machine::{Memory, Traffic};
use crate::plan::Matrices;

pub use context::GpuOptions;
pub(crate) use context::{adapters, choose, open};
pub(crate) use frame::GpuFrame;
#[cfg(feature = "testing")]
pub use pipelines::Parts;
pub(crate) use pool::GpuBuffer;
pub(crate) use profiler::Profiler;
pub(crate) use replay::{GpuExternal, Replay};
pub(crate) use run::GpuInput;

/// An open GPU. All work is recorded into one encoder, in call order.
pub(crate) struct Gpu {
    pub id: u64,
    pub info: wgpu::AdapterInfo,
    /// Its place in the list of all adapters, unless the application opened it.
    pub ordinal: Option<usize>,
    /// Why this adapter was chosen.
    pub why: String,
    pub limits: Limits,
    /// The cooperative-matrix kernels that the device supports.
    pub matrices: Option<Matrices>,
    timestamps: bool,
    poison: bool,
    pool: Arc<Pool>,
    pipelines: Pipelines,
    /// Tables shared by kernels, by name.
    tables: Mutex<HashMap<&'static str, Arc<Copied>>>,
    copies: Arc<Copies>,
    /// How many times layout metadata, plan buffers and tables have been copied to the device.
    uploads: AtomicU64,
    making_room: Mutex<()>,
    recorder: Mutex<Recorder>,
    staging: Arc<Staging>,
    poller: Poller,
    health: Arc<Health>,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
}

impl Gpu {
    fn machine(&self) -> Machine<'_> {
        Machine {
            device: &self.device,
            queue: &self.queue,
            health: &self.health,
            pool: &self.pool,
            records: self.pipelines.rewriting.records(),
            staging: &self.staging,
        }
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> Memory {
        self.pool.memory()
    }

    /// Begins to watch the bytes of live tensors. False if they are being watched already.
    pub(crate) fn watch(&self) -> bool {
        self.pool.watch()
    }

    /// Ends it, and returns the most bytes.
    pub(crate) fn watched(&self) -> u64 {
        self.pool.watched()
    }

    /// How many times layout metadata, plan buffers and tables have been copied to the device.
    pub(crate) fn uploads(&self) -> u64 {
        self.uploads.load(Ordering::Relaxed)
    }

    /// Pipelines compiled so far.
    pub(crate) fn pipelines(&self) -> usize {
        self.pipelines.len()
    }

    /// The path of the file of compiled kernels, and what belongs in it now.
    pub(crate) fn kept_pipelines(&self) -> Result<Option<(&Path, Vec<u8>)>> {
        self.pipelines.kept(&self.health, &self.limits)
    }

    /// Whether no submission that writes this buffer failed.
    pub(crate) fn is_computed(&self, buffer: &GpuBuffer) -> bool {
        self.health.failure(buffer.written()).is_none()
    }

    /// Cached bind groups.
    pub(crate) fn bind_groups(&self) -> usize {
        self.recorder().bind_groups()
    }

    /// Releases all unused memory.
    ///
    /// Does not wait for the GPU: memory that recorded work still uses is released when that work is done.
    pub(crate) fn trim(&self) {
        {
            let _one = self
                .making_room
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.copies.give_up(|| false);
            self.pool.evict(None);
            self.staging.trim();
        }
        let mut recorder = self.recorder();
        // A failure marks the device as failed, so the next call reports it.
        let _ = recorder.submit(&self.machine(), "trim");
        recorder.forget_retired(&self.pool);
        drop(recorder);
        let _ = self.device.poll(wgpu::PollType::Poll);
        if self.health.check("trim").is_err() {
            // Nothing is recorded any more, so copies that only recorded work held are no longer in use.
            self.copies.give_up(|| false);
            self.pool.evict(None);
            self.pool.settle(u64::MAX);
        }
    }

    /// Submits all recorded work.
    pub(crate) fn flush(&self) -> Result<()> {
        self.health.check("flush")?;
        self.recorder().submit(&self.machine(), "flush").map(|_| ())
    }

    /// What the device was asked to do so far.
    pub(crate) fn traffic(&self) -> Traffic {
        self.recorder().traffic
    }

    /// The number of submissions so far, counting the open one.
    #[cfg(feature = "testing")]
    pub(crate) fn submissions(&self) -> u64 {
        self.recorder().number()
    }

    /// Records a command that makes the submission fail.
    #[cfg(feature = "testing")]
    pub(crate) fn spoil(&self) {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("spoilt"),
            size: 16,
            usage: wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        self.recorder().with_encoder(&self.machine(), |encoder| {
            encoder.clear_buffer(&buffer, 0, None);
        });
    }
}
