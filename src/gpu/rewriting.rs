//! What a device does to the texts of its kernels for this crate's tests: it emulates cooperative matrices, and counts
//! accesses outside of arrays. Without the feature `testing`, every kernel is compiled as it is.

use std::sync::Arc;

#[cfg(feature = "testing")]
use super::bounds::Watch;
#[cfg(feature = "testing")]
use super::emulated::emulated;
use super::errors::Health;
use super::pool::{GpuBuffer, Pool};
#[cfg(feature = "testing")]
use crate::Error;
use crate::Result;
use crate::plan::Matrices;

/// The rewrites that a device's options request; none without the feature `testing`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rewrites {
    pub instrumented: bool,
    pub emulated: Option<Matrices>,
}

#[cfg(feature = "testing")]
pub(crate) struct Rewriting {
    emulated: Option<Matrices>,
    watch: Option<Watch>,
}

#[cfg(feature = "testing")]
impl Rewriting {
    pub(crate) fn new(asked: Rewrites, health: &Health, pool: &Arc<Pool>) -> Result<Rewriting> {
        let has_halves = || {
            let features = health.device.features();
            features.contains(wgpu::Features::SHADER_F16)
        };
        if asked.emulated.is_some() && !has_halves() {
            let what = "emulated matrices need f16 in shaders, which the device lacks";
            return Err(Error::unsupported(what).named("device"));
        }
        let watch = asked.instrumented.then(|| Watch::new(health, pool));
        Ok(Rewriting {
            emulated: asked.emulated,
            watch: watch.transpose()?,
        })
    }

    /// The buffer in which kernels count, bound after their own.
    pub(crate) fn records(&self) -> Option<&Arc<GpuBuffer>> {
        self.watch.as_ref().map(|watch| &watch.buffer)
    }

    /// What an instrumented device counted.
    pub(crate) fn watch(&self) -> Option<&Watch> {
        self.watch.as_ref()
    }

    /// The text to compile for a kernel that binds this many buffers.
    pub(crate) fn rewritten(
        &self,
        op: &'static str,
        name: &str,
        mut source: String,
        buffers: usize,
    ) -> Result<String> {
        if let Some(matrices) = self.emulated {
            source = emulated(&source, matrices).map_err(|message| {
                Error::gpu(op, format!("kernel {name} cannot be emulated: {message}"))
            })?;
        }
        match &self.watch {
            Some(watch) => watch.instrument(op, name, &source, buffers + 1),
            None => Ok(source),
        }
    }
}

#[cfg(not(feature = "testing"))]
pub(crate) struct Rewriting;

#[cfg(not(feature = "testing"))]
impl Rewriting {
    pub(crate) fn new(_: Rewrites, _: &Health, _: &Arc<Pool>) -> Result<Rewriting> {
        Ok(Rewriting)
    }

    pub(crate) fn records(&self) -> Option<&Arc<GpuBuffer>> {
        None
    }

    pub(crate) fn rewritten(
        &self,
        _: &'static str,
        _: &str,
        source: String,
        _: usize,
    ) -> Result<String> {
        Ok(source)
    }
}
