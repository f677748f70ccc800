//! Runs a program's schedule: the twins of its launches over the slabs of an arena.
//!
//! A run takes the buffers that a step writes out of the arena, so that it can borrow the others, and puts them back.
//! If a kernel panics, the slabs are lost and allocated again.

use std::sync::Arc;

use super::{Cpu, CpuBuffer};
use crate::error::Named;
use crate::plan::{CpuArgs, CpuInput, CpuOutput, Launch, Memory, Schedule, Step};
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
    pub(crate) fn slab(&self, bytes: u64) -> Result<CpuBuffer> {
        self.pool.allocate((bytes / 4) as usize)
    }

    /// Runs all steps. After an error the contents of the arena and the outputs are meaningless.
    pub(crate) fn replay(&self, schedule: &Schedule, mut buffers: CpuBuffers<'_>) -> Result<()> {
        let mut lists = Lists::default();
        for step in &schedule.steps {
            if let Some(launch) = step.launch() {
                buffers.run(step, launch, &mut lists).named(launch.op)?;
            }
        }
        Ok(())
    }
}

/// Lists of a step, whose allocations the next step reuses. Empty in between.
#[derive(Default)]
struct Lists {
    taken: Vec<Taken>,
    inputs: Vec<CpuInput<'static>>,
}

/// The emptied list, for values of another lifetime. `collect` reuses the allocation.
fn emptied<'a>(mut inputs: Vec<CpuInput<'_>>) -> Vec<CpuInput<'a>> {
    inputs.clear();
    let none =
        |CpuInput { .. }: CpuInput<'_>| -> CpuInput<'a> { unreachable!("the list is empty") };
    inputs.into_iter().map(none).collect()
}

impl CpuBuffers<'_> {
    fn run(&mut self, step: &Step, launch: &Launch, lists: &mut Lists) -> Result<()> {
        let Lists { taken, inputs } = lists;
        host::reserve(taken, step.results.len())?;
        for memory in &step.results {
            let buffer = match *memory {
                Memory::Slab { slab, .. } => self.slabs[slab].take().map(|b| Taken::Slab(slab, b)),
                Memory::External(i) => self.externals[i].take().map(|b| Taken::External(i, b)),
            };
            taken.push(buffer.ok_or_else(misplaced)?);
        }
        let mut operands = emptied(std::mem::take(inputs));
        let done = self
            .gather(step, &mut operands)
            .and_then(|()| run_into(step, launch, &operands, taken));
        *inputs = emptied(operands);
        for buffer in taken.drain(..) {
            match buffer {
                Taken::Slab(slab, buffer) => self.slabs[slab] = Some(buffer),
                Taken::External(i, buffer) => self.externals[i] = Some(buffer),
            }
        }
        done
    }

    /// The operands of a step.
    fn gather<'a>(&'a self, step: &'a Step, inputs: &mut Vec<CpuInput<'a>>) -> Result<()> {
        host::reserve(inputs, step.operands.len())?;
        for operand in &step.operands {
            let bytes = match operand.memory {
                None => &[],
                Some(Memory::Slab { slab, offset, .. }) => {
                    let slab = self.slabs[slab].as_ref().ok_or_else(misplaced)?;
                    let begin = offset as usize + operand.base * operand.unit;
                    &slab.bytes()[begin..begin + operand.bytes]
                }
                Some(Memory::External(i)) => {
                    let external = self.externals[i].as_ref().ok_or_else(misplaced)?;
                    let begin = external.begin + operand.base * operand.unit;
                    &external.buffer.bytes()[begin..begin + operand.bytes]
                }
            };
            inputs.push(CpuInput {
                bytes,
                layout: &operand.layout,
            });
        }
        Ok(())
    }
}

/// Runs a step's kernel on these operands.
fn run_into(
    step: &Step,
    launch: &Launch,
    inputs: &[CpuInput<'_>],
    taken: &mut [Taken],
) -> Result<()> {
    let places = launch.outputs.iter().zip(&step.results);
    let mut outputs = taken
        .iter_mut()
        .zip(places)
        .map(|(buffer, (output, memory))| {
            let (layout, words) = output.sized(|i| &step.operands[i].layout);
            let (all, from) = match (buffer, memory) {
                (Taken::Slab(_, buffer), Memory::Slab { offset, .. }) => {
                    (buffer.words_mut(), (*offset / 4) as usize)
                }
                (Taken::External(_, external), _) => {
                    let unique = Arc::get_mut(&mut external.buffer);
                    (unique.ok_or_else(misplaced)?.words_mut(), 0)
                }
                _ => return Err(misplaced()),
            };
            let words = &mut all[from..from + words as usize];
            // A result that lies over an operand begins with its values.
            if output.over.is_none() {
                poison(words);
            }
            Ok(CpuOutput { words, layout })
        });
    // Most steps have one result, and almost all others two.
    match (outputs.next().transpose()?, outputs.next().transpose()?) {
        (Some(first), None) => kernel(step, launch, inputs, &mut [first]),
        (Some(first), Some(second)) if outputs.len() == 0 => {
            kernel(step, launch, inputs, &mut [first, second])
        }
        (first, second) => {
            let mut all = host::room(step.results.len())?;
            all.extend(first.into_iter().chain(second));
            for output in outputs {
                all.push(output?);
            }
            kernel(step, launch, inputs, &mut all)
        }
    }
}

fn kernel<'a>(
    step: &'a Step,
    launch: &'a Launch,
    inputs: &'a [CpuInput<'a>],
    outputs: &'a mut [CpuOutput<'a>],
) -> Result<()> {
    launch.twin.run(&mut CpuArgs {
        inputs,
        outputs,
        scalars: &step.scalars,
        pairs: launch.pairs.as_ref(),
    })
}

/// In debug builds, fills results with NaN, so that a value that is read after its death or before its birth is
/// noticed.
fn poison(words: &mut [u32]) {
    if cfg!(debug_assertions) {
        words.fill(f32::NAN.to_bits());
    }
}

/// The error for a step that reads and writes the same slab, or has two results in one. The arena's layout excludes
/// such steps.
fn misplaced() -> Error {
    Error::recording("an internal error: operands and results share a slab of the arena")
}
