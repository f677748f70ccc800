//! Convolution and correlation of vectors and, in `boxes`, of boxes: each pair by the method that is cheapest for its
//! extents.
//!
//! The convolution is `(a * b)_q = Σ_j a_{q-j} b_j`, with m + n − 1 values; the correlation is `a * reverse(b)`. Cost
//! per pair: m·n multiply-adds by the direct method, about 15 L log₂ L operations by transforms of length L.

mod boxes;
pub(crate) mod cached_spectra;
mod direct;
mod fused;
mod gpu;
mod launch;
mod long;
mod spectral;
mod twin;

pub(crate) use fused::{Item, Items, Operand, holds};
pub(crate) use spectral::Engine;
pub(crate) use twin::directly;

use super::Traits;
use crate::cpu::Workspace;
use crate::ops::choice::{Choices, ConvChoice, ConvMethod, CostTable, Window};
use crate::ops::kit::{Arithmetic, par_runs, par_tiles};
use crate::plan::{CpuArgs, Offset, WorkSum};
use crate::ragged::{DType, Layout, Offsets, Pairs};
use crate::{Error, Result, host};

/// The offset of each pair's result.
fn results(a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Offsets> {
    a.check_rank(1)?;
    b.check_rank(1)?;
    let mut offsets = Offset::new(pairs.len())?;
    pairs.try_lengths(a, b, |m, n| {
        offsets.push(result_length(m as usize, n as usize) as u64)
    })?;
    Ok(offsets.finish())
}

/// The length of the full convolution of m and n values; 0 when a side is empty.
pub(crate) fn result_length(m: usize, n: usize) -> usize {
    if m == 0 || n == 0 { 0 } else { m + n - 1 }
}

/// A request to convolve pairs on a device.
#[derive(Clone, Copy)]
pub(crate) struct ConvRequest<'a> {
    pub dtype: DType,
    pub method: ConvMethod,
    pub window: Window,
    pub costs: &'a CostTable,
    /// The largest number of multiply-adds that it may take.
    pub allowed: u64,
    /// The largest number of bytes that a result may have on a GPU; `None` on the CPU.
    pub binding: Option<u64>,
}

impl ConvRequest<'_> {
    /// The method of every pair; both operands must be batches of series.
    pub(crate) fn choices(&self, a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Choices> {
        Choices::new(self.dtype, (a, b), pairs, self.method, self.costs)
    }

    /// Checks that a plan for these pairs fits the host's memory budget: any device needs an offset and a method per
    /// pair.
    fn check_plan(&self, pairs: &Pairs) -> Result<()> {
        host::check(pairs.len(), 4 + 2)
    }

    /// The method of every pair of boxes.
    fn choices_of_boxes(&self, a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Choices> {
        let meetings = self.window.meetings(a, b, pairs);
        Choices::of_meetings(self.dtype, meetings, self.method, self.costs)
    }

    /// The multiply-adds of all pairs by their chosen methods; an error if they exceed the limit.
    pub(crate) fn work(
        &self,
        a: &Layout,
        b: &Layout,
        pairs: &Pairs,
        choices: &Choices,
    ) -> Result<u64> {
        if let Some(work) = choices.work.filter(|work| *work <= self.allowed) {
            return Ok(work);
        }
        let mut sum = WorkSum::new(self.allowed);
        pairs.try_lengths(a, b, |m, n| {
            let choice = choices.get(sum.pairs());
            sum.add(self.costs.work(m.into(), n.into(), choice));
            Ok(())
        })?;
        sum.total()
    }

    /// Like [`work`](Self::work), for boxes; pairs without kept results count 0.
    fn work_of_boxes(
        &self,
        a: &Layout,
        b: &Layout,
        pairs: &Pairs,
        choices: &Choices,
    ) -> Result<u64> {
        let mut sum = WorkSum::new(self.allowed);
        for (pair, meeting) in self.window.meetings(a, b, pairs).enumerate() {
            sum.add(match meeting.is_empty() {
                true => 0,
                false => self.costs.work_of_boxes(&meeting, choices.get(pair)),
            });
        }
        sum.total()
    }

    /// A summary of the chosen methods and their predicted times.
    pub(crate) fn choice(&self, a: &Layout, b: &Layout, pairs: &Pairs) -> Result<ConvChoice> {
        self.window.check((a, b), pairs)?;
        if self.window.is_whole(a.rank()) {
            let choices = self.choices(a, b, pairs)?;
            let with_costs = choices.with_costs(a, b, pairs, self.costs);
            return Ok(ConvChoice::of(&choices.totals(with_costs), self.costs));
        }
        self.check_plan(pairs)?;
        let choices = self.choices_of_boxes(a, b, pairs)?;
        let meetings = self.window.meetings(a, b, pairs).enumerate();
        let kept = meetings.filter(|(_, meeting)| !meeting.is_empty());
        let with_costs = kept
            .map(|(pair, meeting)| (pair, self.costs.cost_of_boxes(&meeting, choices.get(pair))));
        Ok(ConvChoice::of(&choices.totals(with_costs), self.costs))
    }

    /// The direct method for every pair; an error if the caller asked for another one.
    pub(crate) fn direct_choices(&self, a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Choices> {
        a.check_rank(1)?;
        b.check_rank(1)?;
        let method = self.method.name();
        let first = || {
            pairs
                .iter()
                .position(|(i, j)| a.length(i) * b.length(j) > 0)
        };
        match self.method {
            ConvMethod::Auto | ConvMethod::Direct => Ok(Choices::direct()),
            ConvMethod::Fft | ConvMethod::OverlapSave => match first() {
                None => Ok(Choices::direct()),
                Some(pair) => Err(Error::method(
                    pair,
                    method,
                    "this device supports only the direct method for these operands".to_owned(),
                )),
            },
        }
    }
}

/// A convolution or correlation of values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Conv {
    /// Whether the right operand is reversed.
    pub correlate: bool,
    pub dtype: DType,
    pub method: ConvMethod,
    pub window: Window,
}

impl Conv {
    /// The request for a device.
    pub(crate) fn request(self, device: Traits<'_>) -> ConvRequest<'_> {
        ConvRequest {
            dtype: self.dtype,
            method: self.method,
            window: self.window,
            costs: device.costs,
            allowed: device.allowed,
            binding: device.binding,
        }
    }
}

/// The twin that convolves every pair directly.
fn twin<T: Arithmetic, const REVERSED: bool>(args: &mut CpuArgs<'_>) -> Result<()> {
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    let (c, layout) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |pair, within, out| {
        let (i, j) = pairs.get(pair);
        let a = &a[a_layout.offsets().range(i)];
        let b = &b[b_layout.offsets().range(j)];
        directly((a, b), REVERSED, within, out)
    })
}

/// The twin that convolves each pair by its own method.
fn mixed(args: &mut CpuArgs<'_>, choices: &Choices, reversed: bool) -> Result<()> {
    each_pair(args, choices, |engine, operands, workspace, out| {
        engine.convolve(operands.pair, operands.values, reversed, workspace, out)
    })
}

/// A pair of elements to convolve.
struct PairOperands<'a> {
    pair: usize,
    elements: (usize, usize),
    layouts: (&'a Layout, &'a Layout),
    values: (&'a [f32], &'a [f32]),
}

/// Calls `one` for every pair, in parallel; it fills the pair's results.
fn each_pair(
    args: &mut CpuArgs<'_>,
    choices: &Choices,
    one: impl Fn(&Engine, &PairOperands<'_>, &mut Workspace, &mut [f32]) -> Result<()> + Sync,
) -> Result<()> {
    let (a, a_layout) = args.input::<f32>(0);
    let (b, b_layout) = args.input::<f32>(1);
    let pairs = args.pairs();
    let (c, layout) = args.output::<f32>(0);
    let offsets = layout.offsets();
    let engine = &Engine::new(choices);
    let one = &one;
    par_runs(offsets, c, &|run, values| {
        Workspace::with(move |workspace| {
            let mut values = values;
            for pair in run {
                let (out, rest) = values.split_at_mut(offsets.length(pair));
                values = rest;
                let (i, j) = pairs.get(pair);
                let operands = PairOperands {
                    pair,
                    elements: (i, j),
                    layouts: (a_layout, b_layout),
                    values: (
                        &a[a_layout.offsets().range(i)],
                        &b[b_layout.offsets().range(j)],
                    ),
                };
                one(engine, &operands, workspace, out)?;
            }
            Ok(())
        })
    })
}
