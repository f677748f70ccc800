//! Runs a program's schedule: the CPU kernels of its launches over the slabs of an arena.

use std::sync::Arc;

use super::{Cpu, CpuBuffer};
use crate::plan::{CpuArgs, CpuInput, CpuOutput, Memory, Schedule, Step};
use crate::ragged::Layout;
use crate::{Error, Result, host};

/// A buffer outside the arena, and the byte at which a tensor begins in it. An output is not shared while it is
/// written.
pub(crate) struct CpuExternal {
    pub buffer: Arc<CpuBuffer>,
    pub begin: usize,
}

/// The buffers of a run. Those that a step writes are taken out meanwhile, so that it can borrow the others.
pub(crate) struct CpuBuffers<'a> {
    pub slabs: &'a mut [Option<CpuBuffer>],
    pub externals: &'a mut [Option<CpuExternal>],
}

/// A buffer that a step writes.
enum Taken {
    Slab(usize, CpuBuffer),
    External(usize, CpuExternal),
}

impl Cpu {
    /// Allocates a slab of the arena.
    pub(crate) fn slab(&self, op: &'static str, bytes: u64) -> Result<CpuBuffer> {
        self.pool.allocate(op, (bytes / 4) as usize)
    }

    /// Runs all steps. After an error the contents of the arena and the outputs are meaningless.
    pub(crate) fn replay(&self, schedule: &Schedule, mut buffers: CpuBuffers<'_>) -> Result<()> {
        for step in &schedule.steps {
            buffers.run(step)?;
        }
        Ok(())
    }
}

impl CpuBuffers<'_> {
    fn run(&mut self, step: &Step) -> Result<()> {
        let Some(launch) = step.launch() else {
            return Ok(());
        };
        let mut taken = host::room(launch.op, step.results.len())?;
        for memory in &step.results {
            let of = match *memory {
                Memory::Slab { slab, .. } => self.slabs[slab].take().map(|b| Taken::Slab(slab, b)),
                Memory::External(i) => self.externals[i].take().map(|b| Taken::External(i, b)),
            };
            taken.push(of.ok_or_else(|| misplaced(launch.op))?);
        }
        let done = self.run_into(step, &mut taken);
        for buffer in taken {
            match buffer {
                Taken::Slab(slab, buffer) => self.slabs[slab] = Some(buffer),
                Taken::External(i, buffer) => self.externals[i] = Some(buffer),
            }
        }
        done.map_err(|error| error.named(launch.op))
    }

    fn run_into(&self, step: &Step, taken: &mut [Taken]) -> Result<()> {
        let Some(launch) = step.launch() else {
            return Ok(());
        };
        let op = launch.op;
        let mut inputs = host::room(op, step.operands.len())?;
        for operand in &step.operands {
            let bytes = match operand.memory {
                None => &[],
                Some(Memory::Slab { slab, offset, .. }) => {
                    let slab = self.slabs[slab].as_ref().ok_or_else(|| misplaced(op))?;
                    let begin = offset as usize + operand.base * operand.unit;
                    &slab.bytes()[begin..begin + operand.bytes]
                }
                Some(Memory::External(i)) => {
                    let external = self.externals[i].as_ref().ok_or_else(|| misplaced(op))?;
                    let begin = external.begin + operand.base * operand.unit;
                    &external.buffer.bytes()[begin..begin + operand.bytes]
                }
            };
            inputs.push(CpuInput {
                bytes,
                layout: &operand.layout,
            });
        }
        let layouts: Vec<(&Layout, u64)> = launch
            .outputs
            .iter()
            .map(|output| output.sized(|i| &step.operands[i].layout))
            .collect();
        let mut outputs = host::room(op, taken.len())?;
        for ((buffer, memory), (layout, words)) in taken.iter_mut().zip(&step.results).zip(&layouts)
        {
            let (all, from) = match (buffer, memory) {
                (Taken::Slab(_, buffer), Memory::Slab { offset, .. }) => {
                    (buffer.words_mut(), (*offset / 4) as usize)
                }
                (Taken::External(_, external), _) => {
                    let unique = Arc::get_mut(&mut external.buffer);
                    (unique.ok_or_else(|| misplaced(op))?.words_mut(), 0)
                }
                _ => return Err(misplaced(op)),
            };
            outputs.push(CpuOutput {
                words: &mut all[from..from + *words as usize],
                layout,
            });
        }
        launch.twin.run(&mut CpuArgs {
            inputs: &inputs,
            outputs: &mut outputs,
            scalars: &step.scalars,
            pairs: launch.pairs.as_ref(),
        })
    }
}

/// A step that reads and writes the same slab, or two results in one: the arena is laid out so that there is none.
fn misplaced(op: &'static str) -> Error {
    Error::recording(
        op,
        "an internal error: operands and results share a slab of the arena",
    )
}
