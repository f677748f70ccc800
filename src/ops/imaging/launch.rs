//! Image programs as an operation.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rayon::prelude::*;

use super::compile::{Compiled, RESULT_HEADER};
use super::twin::{Slots as Values, View};
use super::{KERNEL, OP, Params, Slots, samples, twin};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{CpuArgs, Dispatch, Kernel, Launch, Output, Param, Plan, Slot, Twin, cost_of};
use crate::ragged::{DType, Layout};
use crate::{Result, host};

/// A program and the size of its batch. The operand has a record for each sample, then the cells of all inputs; see
/// `samples.rs`.
#[derive(Clone, Debug)]
pub(crate) struct Imaging {
    pub compiled: Arc<Compiled>,
    pub samples: u32,
    /// The sum of the cells of each sample's largest input.
    pub cells: u64,
    /// Words of the arena and of the results.
    pub arena: u64,
    pub results: u64,
}

impl Imaging {
    fn key(&self) -> (usize, u32, u64, u64, u64) {
        let program = Arc::as_ptr(&self.compiled).addr();
        (program, self.samples, self.cells, self.arena, self.results)
    }
}

impl PartialEq for Imaging {
    fn eq(&self, other: &Imaging) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Imaging {}

impl Hash for Imaging {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl Operation for Imaging {
    const NAME: &str = OP;
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn is_cached(&self) -> bool {
        false
    }

    fn plan(&self, _: &PlanRequest<'_>) -> Result<Plan> {
        Ok(self.launch()?.into())
    }
}

impl Imaging {
    /// The launch. Image programs also choose their machine by it.
    pub(crate) fn launch(&self) -> Result<Launch> {
        let compiled = &self.compiled;
        let layout = Layout::from_lengths([self.results as usize])?;
        let variant = KERNEL.variant(DType::I32, &[]);
        let mut dispatches = host::room(compiled.levels.len())?;
        for level in &compiled.levels {
            dispatches.push(Dispatch::new(
                variant,
                Slots {
                    samples: Slot::Input(0),
                    code: Slot::PlanBuffer(compiled.code.clone()),
                    arena: Slot::Scratch(0),
                    results: Slot::Output(0),
                },
                Params {
                    x_base: Param::InputBase(0),
                    record: Param::U32(samples::record(compiled)),
                    segments: Param::U32(level.runs),
                    segments_at: Param::U32(level.at),
                    steps_at: Param::U32(compiled.steps_at),
                    constants_at: Param::U32(compiled.constants_at),
                },
                level.runs * self.samples,
                u64::from(level.steps) * self.cells,
            ));
        }
        let program = compiled.clone();
        let count = self.samples as usize;
        Ok(Launch {
            op: "",
            outputs: vec![Output::new(DType::I32, layout.into())],
            scratch: vec![self.arena.max(1)],
            work: cost_of(&dispatches),
            dispatches,
            pairs: None,
            twin: Twin::new(move |args| twin(args, &program, count)),
        })
    }
}

/// Runs the samples in parallel, each into its part of the results.
fn twin(args: &mut CpuArgs<'_>, program: &Compiled, count: usize) -> Result<()> {
    let (words, _) = args.input::<i32>(0);
    let (mut results, _) = args.output::<i32>(0);
    let size = samples::record(program) as usize;
    let mut parts = host::room(count)?;
    let records = words[..count * size].chunks_exact(size);
    for record in records {
        let unit = record[1] as u32;
        let (part, rest) = results.split_at_mut(program.results.cells(unit) as usize);
        parts.push((record, part));
        results = rest;
    }
    parts.into_par_iter().try_for_each_init(
        || Values::new(program),
        |values, (record, part)| {
            let values = match values {
                Ok(values) => values,
                // Reports the failure again, because an error can only be moved once.
                Err(_) => return Values::new(program).map(|_| ()),
            };
            let mut inputs = host::room(program.inputs as usize)?;
            inputs.extend(record[3..].chunks_exact(3).map(|input| {
                let [first, rows, columns] = [0, 1, 2].map(|i| input[i] as usize);
                View {
                    rows,
                    columns,
                    cells: &words[first..][..rows * columns],
                }
            }));
            let unit = record[1] as u32;
            twin::run::walk(program, values, &inputs, |_, i, state, view| {
                let at = program.places[i as usize].cells(unit) as usize;
                let (head, cells) = part[at..].split_at_mut(RESULT_HEADER as usize);
                head.copy_from_slice(&[state as i32, view.rows as i32, view.columns as i32]);
                cells[..view.cells.len()].copy_from_slice(view.cells);
            })
        },
    )
}
