//! What an instrumented device counted, for this crate's tests.

use super::Gpu;
use super::bounds::{RECORD_WORDS, Watch};
use crate::Result;
use crate::machine::Wait;

impl Gpu {
    /// Out-of-bounds kernel accesses since the last call, one line per array; only on an instrumented device.
    pub(crate) fn accesses_outside(&self) -> Result<Vec<String>> {
        const OP: &str = "accesses_outside";
        let Some(watch) = self.pipelines.rewriting.watch() else {
            return Ok(Vec::new());
        };
        let mut records = vec![0u32; RECORD_WORDS];
        let to = bytemuck::cast_slice_mut(&mut records);
        pollster::block_on(self.read_into(OP, &watch.buffer, 0, to, Wait::Here))?;
        let lines = watch.lines(&records);
        if !lines.is_empty() {
            records.fill(0);
            self.write(OP, &watch.buffer, 0, bytemuck::cast_slice(&records))?;
        }
        Ok(lines)
    }

    /// The kernels whose accesses were compared, as of the last call of `accesses_outside`; only on an instrumented
    /// device.
    pub(crate) fn instrumented_kernels(&self) -> Vec<String> {
        let watch = self.pipelines.rewriting.watch();
        watch.map(Watch::kernels).unwrap_or_default()
    }
}
