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

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use errors::Health;
use pipelines::{Limits, Pipelines};
use poll::Poller;
use pool::Pool;
use recorder::{Machine, Recorder};
use staging::Readbacks;

use crate::machine::Memory;
use crate::plan::Matrices;
use crate::{Error, Result};

pub(crate) use assembler::assemble;
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
    /// The cooperative matrices that it runs kernels on.
    pub matrices: Option<Matrices>,
    timestamps: bool,
    poison: bool,
    pool: Arc<Pool>,
    pipelines: Pipelines,
    /// Tables that kernels share, by name.
    tables: Mutex<HashMap<&'static str, Arc<GpuBuffer>>>,
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
            adapter,
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

    /// Wraps a buffer of the application, after binding it once: what another device made must not reach the encoder.
    pub(crate) fn lend(&self, op: &'static str, buffer: wgpu::Buffer) -> Result<Arc<GpuBuffer>> {
        self.health.check(op)?;
        errors::caught(&self.device, op, || {
            let layout = self
                .device
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                    label: Some("vsla import"),
                    entries: &[wgpu::BindGroupLayoutEntry {
                        binding: 0,
                        visibility: wgpu::ShaderStages::COMPUTE,
                        ty: wgpu::BindingType::Buffer {
                            ty: wgpu::BufferBindingType::Storage { read_only: true },
                            has_dynamic_offset: false,
                            min_binding_size: None,
                        },
                        count: None,
                    }],
                });
            self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("vsla import"),
                layout: &layout,
                entries: &[wgpu::BindGroupEntry {
                    binding: 0,
                    resource: buffer.as_entire_binding(),
                }],
            })
        })
        .map_err(|error| match error {
            Error::Gpu { op, message } => Error::Unsupported { op, what: message },
            other => other,
        })?;
        Ok(self.pool.lend(buffer))
    }
}
