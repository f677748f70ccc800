//! The GPU device: runs launches as WGSL compute shaders through wgpu.

mod assembler;
mod context;
mod errors;
mod pipelines;
mod poll;
mod pool;
mod profiler;
mod read;
mod recorder;
mod run;
mod staging;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use errors::Health;
use pipelines::{Limits, Pipelines};
use poll::Poller;
use pool::Pool;
use recorder::{Machine, Recorder};
use staging::Readbacks;

use crate::Result;
use crate::machine::Memory;

pub use context::GpuOptions;
pub(crate) use context::{adapters, choose, open};
pub(crate) use pool::GpuBuffer;
pub(crate) use read::Wait;
pub(crate) use run::GpuInput;

/// An open GPU. Everything on it is recorded into one encoder, in the order of the calls.
pub(crate) struct Gpu {
    pub id: u64,
    pub info: wgpu::AdapterInfo,
    /// Why this adapter was taken.
    pub why: String,
    pub limits: Limits,
    timestamps: bool,
    poison: bool,
    pool: Arc<Pool>,
    pipelines: Pipelines,
    recorder: Mutex<Recorder>,
    readbacks: Readbacks,
    poller: Poller,
    health: Arc<Health>,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
}

impl Gpu {
    /// Wraps the application's own device. Its error and loss callbacks stay the application's.
    pub(crate) fn from_wgpu(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
        options: &GpuOptions,
    ) -> Result<Gpu> {
        let why = "the application's own device".to_owned();
        Gpu::new(
            &adapter.get_info(),
            device,
            queue,
            Arc::new(Health::default()),
            why,
            options,
        )
    }

    fn machine(&self) -> Machine<'_> {
        Machine {
            device: &self.device,
            queue: &self.queue,
            health: &self.health,
            pool: &self.pool,
        }
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> Memory {
        self.pool.memory()
    }

    /// Pipelines compiled so far.
    pub(crate) fn pipelines(&self) -> usize {
        self.pipelines.len()
    }

    /// Bind groups kept.
    pub(crate) fn bind_groups(&self) -> usize {
        self.recorder().bind_groups()
    }

    /// Gives up buffers kept for reuse.
    pub(crate) fn trim(&self) {
        self.readbacks.trim();
        self.pool.trim();
        self.recorder().forget_retired(&self.pool);
    }

    /// Submits what is recorded.
    pub(crate) fn flush(&self) -> Result<()> {
        self.health.check("flush")?;
        self.recorder().submit(&self.machine(), "flush").map(|_| ())
    }

    /// Wraps a buffer of the application.
    pub(crate) fn lend(&self, buffer: wgpu::Buffer) -> Arc<GpuBuffer> {
        self.pool.lend(buffer)
    }
}

/// Every kernel the library can run, assembled: its name and WGSL.
///
/// The list is closed: nothing else is ever compiled. It serves audits and tests that check shaders without a GPU.
///
/// ```
/// for (name, source) in vsla::kernels() {
///     assert!(source.contains("fn main"), "{name}");
/// }
/// ```
pub fn kernels() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for kernel in crate::ops::KERNELS {
        for variant in 0..kernel.variants.len() {
            let text = assembler::assemble(kernel, variant)
                .unwrap_or_else(|wrong| format!("// cannot be assembled: {wrong}"));
            all.push((kernel.name(variant), text));
        }
    }
    all
}
