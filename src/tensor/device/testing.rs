//! What instrumented devices have counted.

use super::{Backend, Device};
use crate::Result;

impl Device {
    /// The out-of-bounds buffer accesses of an instrumented device's kernels since the last call.
    pub fn accesses_outside(&self) -> Result<Vec<String>> {
        match &self.backend {
            Backend::Cpu(_) => Ok(Vec::new()),
            Backend::Gpu(gpu) => gpu.accesses_outside(),
        }
    }

    /// The kernels whose accesses an instrumented device has compared with their bounds, up to the last call of
    /// [`accesses_outside`](Self::accesses_outside).
    pub fn instrumented_kernels(&self) -> Vec<String> {
        match &self.backend {
            Backend::Cpu(_) => Vec::new(),
            Backend::Gpu(gpu) => gpu.instrumented_kernels(),
        }
    }
}
