//! The CPU device: runs the twins of launches, with rayon.

mod fft;
mod pool;
mod replay;
mod workspace;

use std::ops::Range;
use std::sync::Arc;

pub(crate) use fft::{FFT, IFFT, IRFFT, PlansInUse, RFFT};
pub(crate) use pool::{CpuBuffer, CpuPool};
pub(crate) use replay::{CpuBuffers, CpuExternal};
pub(crate) use workspace::Workspace;

use crate::error::Named;
use crate::machine::Memory;
use crate::plan::{CpuArgs, CpuInput, CpuOutput, Launch};
use crate::ragged::Layout;
use crate::{Result, host};

/// The CPU as a device.
pub(crate) struct Cpu {
    pub id: u64,
    /// Why the CPU was chosen.
    pub why: String,
    pool: Arc<CpuPool>,
}

/// An operand: a byte range of a buffer, and the layout of its values.
pub(crate) struct Operand<'a> {
    pub buffer: &'a Arc<CpuBuffer>,
    pub bytes: Range<usize>,
    pub layout: &'a Layout,
}

impl Cpu {
    pub(crate) fn new(why: String) -> Cpu {
        Cpu {
            id: crate::machine::next_device_id(),
            why,
            pool: Arc::new(CpuPool::default()),
        }
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory {
            shared: workspace::FREE.bytes() + fft::cached_bytes(),
            ..self.pool.memory()
        }
    }

    /// Begins to watch the bytes of live tensors. False if they are being watched already.
    pub(crate) fn watch(&self) -> bool {
        self.pool.watch()
    }

    /// Ends it, and returns the most bytes.
    pub(crate) fn watched(&self) -> u64 {
        self.pool.watched()
    }

    pub(crate) fn trim(&self) {
        self.pool.trim();
        workspace::FREE.forget();
        fft::forget();
    }

    pub(crate) fn upload(&self, values: &[u8]) -> Result<Arc<CpuBuffer>> {
        let mut words = self.pool.allocate(values.len().div_ceil(4))?;
        words.bytes_mut()[..values.len()].copy_from_slice(values);
        Ok(Arc::new(words))
    }

    /// Runs the launch's twin. `changed` are the operands that it changes in place, in order. Returns the other
    /// results.
    pub(crate) fn run(
        &self,
        launch: &Launch,
        inputs: &[Operand<'_>],
        changed: &mut [&mut CpuBuffer],
        scalars: &[u32],
    ) -> Result<Vec<(Arc<CpuBuffer>, Layout)>> {
        let mut layouts = Vec::with_capacity(launch.outputs.len());
        let mut results = Vec::with_capacity(launch.outputs.len());
        for output in launch.outputs.iter().filter(|output| output.over.is_none()) {
            let (layout, words) = output.sized(|i| inputs[i].layout);
            layouts.push(layout);
            results.push(self.pool.allocate(words as usize)?);
        }
        let twin_inputs = inputs.iter().map(|input| CpuInput {
            bytes: &input.buffer.bytes()[input.bytes.clone()],
            layout: input.layout,
        });
        let twin_inputs = host::exact(twin_inputs)?;
        let mut outputs = Vec::with_capacity(launch.outputs.len());
        let (mut own, mut others) = (results.iter_mut(), changed.iter_mut());
        for output in &launch.outputs {
            let (layout, words) = output.sized(|i| inputs[i].layout);
            let buffer = match output.over {
                None => own.next(),
                Some(_) => others.next().map(|buffer| &mut **buffer),
            };
            let words = buffer.map(|buffer| &mut buffer.words_mut()[..words as usize]);
            outputs.extend(words.map(|words| CpuOutput { words, layout }));
        }
        let done = launch.twin.run(&mut CpuArgs {
            inputs: &twin_inputs,
            outputs: &mut outputs,
            scalars,
            pairs: launch.pairs.as_ref(),
        });
        done.named(launch.op)?;
        Ok(results
            .into_iter()
            .zip(layouts)
            .map(|(buffer, layout)| (Arc::new(buffer), layout.clone()))
            .collect())
    }
}
