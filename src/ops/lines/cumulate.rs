//! Cumulative sums, products, maxima and minima along an axis: each result combines the values up to its own.
//!
//! Cost: the values read once and written once; strided lines are read once more, from a cache. Lines that are cut into
//! tiles are read twice from memory, in three dispatches.

use half::f16;

use super::place_of_axis;
use super::plan::{CUT, Kind, Lines, Plan, TILE};
use crate::ops::kit::ordered::Keyed;
use crate::ops::kit::{Arithmetic, par_chunks, par_runs};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Output, OutputLayout, Param, Slot, Twin, Variant,
    check_size, params, shader, slots,
};
use crate::ragged::{DType, Layout, Scalar, f16_from_f64};
use crate::{Result, host};

slots! {
    struct Slots { out: Write, items: Read, x: Read, x_meta: Read, before: Read }
}

params! {
    struct Params { x_base, elements, rank, axis, entries }
}

/// Each function in all kinds of dispatches. Those for f16 have more flags, and use the `FINISH` of f32.
macro_rules! variants {
    ($($dtype:ident [$($flag:literal),+];)+ => $([$($half:literal),+];)+) => {
        &[
            $(
                Variant { dtype: DType::$dtype, flags: &[$($flag,)+ "HELD"] },
                Variant { dtype: DType::$dtype, flags: &[$($flag,)+ "HELD", "NARROW"] },
                Variant { dtype: DType::$dtype, flags: &[$($flag,)+ "APART"] },
                Variant { dtype: DType::$dtype, flags: &[$($flag,)+ "PART"] },
                Variant { dtype: DType::$dtype, flags: &[$($flag,)+ "FINISH"] },
                Variant { dtype: DType::$dtype, flags: &[$($flag,)+ "APPLY"] },
            )+
            $(
                Variant { dtype: DType::F16, flags: &[$($half,)+ "HELD", "HALVES", "PAIRS"] },
                Variant { dtype: DType::F16, flags: &[$($half,)+ "HELD", "NARROW", "HALVES", "PAIRS"] },
                Variant { dtype: DType::F16, flags: &[$($half,)+ "APART", "HALVES"] },
                Variant { dtype: DType::F16, flags: &[$($half,)+ "PART", "PAIRS"] },
                Variant { dtype: DType::F16, flags: &[$($half,)+ "APPLY", "HALVES", "PAIRS"] },
            )+
        ]
    };
}

static CUMULATE: Kernel = Kernel {
    shader: shader!("lines/cumulate", "cumulate"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[CUT],
    variants: variants! {
        F32 ["SUM"];
        U32 ["SUM"];
        F32 ["PRODUCT"];
        U32 ["PRODUCT"];
        F32 ["MAX"];
        I32 ["MAX"];
        U32 ["MAX"];
        F32 ["MAX", "LEAST"];
        I32 ["MAX", "LEAST"];
        U32 ["MAX", "LEAST"];
        =>
        ["SUM"];
        ["PRODUCT"];
        ["MAX"];
        ["MAX", "LEAST"];
    },
};

/// The function that combines the values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Cumulation {
    Sum,
    Product,
    Max,
    Min,
}

impl Cumulation {
    fn name(self) -> &'static str {
        match self {
            Cumulation::Sum => "cumsum",
            Cumulation::Product => "cumprod",
            Cumulation::Max => "cummax",
            Cumulation::Min => "cummin",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Cumulation::Sum => &["SUM"],
            Cumulation::Product => &["PRODUCT"],
            Cumulation::Max => &["MAX"],
            Cumulation::Min => &["MAX", "LEAST"],
        }
    }

    /// The variant for a kind of dispatch. Sums and products of integers do not depend on the sign.
    fn variant(self, dtype: DType, part: &[&'static str]) -> (&'static Kernel, usize) {
        let dtype = match (self, dtype, part) {
            (Cumulation::Sum | Cumulation::Product, DType::I32, _) => DType::U32,
            (_, DType::F16, ["FINISH"]) => DType::F32,
            _ => dtype,
        };
        let more: &[&str] = match (dtype, part) {
            (DType::F16, ["APART"]) => &["HALVES"],
            (DType::F16, ["PART"]) => &["PAIRS"],
            (DType::F16, _) => &["HALVES", "PAIRS"],
            _ => &[],
        };
        CUMULATE.variant(dtype, &[self.flags(), part, more].concat())
    }
}

/// A cumulation of values of one type along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Cumulate {
    pub function: Cumulation,
    pub dtype: DType,
    pub axis: usize,
}

impl Cumulate {
    fn dispatches(self, plan: &Plan, x: &Layout) -> (Vec<Dispatch>, Vec<u64>) {
        let [rank, axis] = place_of_axis(x, Some(self.axis));
        let dispatch = |part: &[&'static str],
                        [out, items, x_values, before]: [Slot; 4],
                        entries: u32,
                        groups,
                        cost| {
            Dispatch::new(
                self.function.variant(self.dtype, part),
                Slots {
                    out,
                    items,
                    x: x_values,
                    x_meta: Slot::InputMeta(0),
                    before,
                },
                Params {
                    x_base: Param::InputBase(0),
                    elements: Param::U32(x.len() as u32),
                    rank,
                    axis,
                    entries: Param::U32(entries),
                },
                groups,
                cost,
            )
        };
        let (input, output, meta) = (Slot::Input(0), Slot::Output(0), Slot::InputMeta(0));
        let mut dispatches: Vec<Dispatch> = Vec::new();
        for work in &plan.work {
            let items = Slot::PlanBuffer(work.words.clone());
            dispatches.push(dispatch(
                match work.kind {
                    Kind::Wide => &["HELD"],
                    Kind::Narrow => &["HELD", "NARROW"],
                    Kind::Apart => &["APART"],
                },
                [output.clone(), items, input.clone(), meta.clone()],
                work.entries,
                work.groups,
                work.values,
            ));
        }
        let Some(long) = &plan.long else {
            return (dispatches, Vec::new());
        };
        let items = Slot::PlanBuffer(long.items.clone());
        let lines = Slot::PlanBuffer(long.finish.clone());
        let (tiles, number) = (long.tiles, long.number);
        let cost = u64::from(tiles) * TILE as u64;
        let [parts, before] = [0, 1].map(Slot::Scratch);
        dispatches.extend([
            dispatch(
                &["PART"],
                [parts.clone(), items.clone(), input.clone(), meta.clone()],
                0,
                tiles,
                cost,
            ),
            dispatch(
                &["FINISH"],
                [before.clone(), lines, parts, meta],
                0,
                number,
                u64::from(tiles),
            ),
            dispatch(&["APPLY"], [output, items, input, before], 0, tiles, cost),
        ]);
        (dispatches, vec![u64::from(tiles); 2])
    }
}

impl Operation for Cumulate {
    const KERNELS: &[&Kernel] = &[&CUMULATE];

    fn name(&self) -> &'static str {
        self.function.name()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<crate::plan::Plan> {
        let x = request.inputs[0];
        let binding = request.device.binding;
        let Cumulate {
            function,
            dtype,
            axis,
        } = *self;
        x.check_axis(axis)?;
        check_size(x, dtype, binding)?;
        let plan = Plan::new(x, Some(axis), None)?;
        let (dispatches, scratch) = self.dispatches(&plan, x);
        Ok(Launch {
            op: "",
            outputs: vec![Output::new(dtype, OutputLayout::Input(0))],
            scratch,
            dispatches,
            pairs: None,
            work: x.total() as u64,
            twin: Twin::new(move |args| match dtype {
                DType::F32 => floats::<f32>(function, axis, args, |a| a as f32),
                DType::F16 => floats::<f16>(function, axis, args, f16_from_f64),
                DType::I32 => integers::<i32>(function, axis, args),
                DType::U32 => integers::<u32>(function, axis, args),
                DType::C32 | DType::U8 => unreachable!("no such operation"),
            }),
        }
        .into())
    }
}

/// Sums and products of floats are computed in f64 and rounded once.
fn floats<T: Keyed + Into<f64>>(
    function: Cumulation,
    axis: usize,
    args: &mut CpuArgs<'_>,
    rounded: impl Fn(f64) -> T + Sync,
) -> Result<()> {
    match function {
        Cumulation::Sum => run(axis, args, T::into, |a, b| a + b, rounded),
        Cumulation::Product => run(axis, args, T::into, |a, b| a * b, rounded),
        Cumulation::Max | Cumulation::Min => extremes::<T>(function, axis, args),
    }
}

fn integers<T: Arithmetic + Keyed>(
    function: Cumulation,
    axis: usize,
    args: &mut CpuArgs<'_>,
) -> Result<()> {
    match function {
        Cumulation::Sum => run(axis, args, |x: T| x, T::plus, |a| a),
        Cumulation::Product => run(axis, args, |x: T| x, T::times, |a| a),
        Cumulation::Max | Cumulation::Min => extremes::<T>(function, axis, args),
    }
}

fn extremes<T: Keyed>(function: Cumulation, axis: usize, args: &mut CpuArgs<'_>) -> Result<()> {
    match function {
        Cumulation::Min => run(axis, args, T::reversed_key, i32::max, T::of_reversed_key),
        _ => run(axis, args, T::key, i32::max, T::of_key),
    }
}

/// Values in a part of a line.
const PART: usize = 1 << 16;

/// Cumulates accumulators of type `A` with `combine`; `take` makes one of a value, and `give` a value of one.
fn run<T: Scalar, A: Copy + Send + Sync>(
    axis: usize,
    args: &mut CpuArgs<'_>,
    take: impl Fn(T) -> A + Sync,
    combine: impl Fn(A, A) -> A + Sync,
    give: impl Fn(A) -> T + Sync,
) -> Result<()> {
    let (x, layout) = args.input::<T>(0);
    let (out, _) = args.output::<T>(0);
    // Cumulates consecutive values, on top of `before`. Four values wait only once for the sum of those before them.
    let chain = |before: Option<A>, x: &[T], out: &mut [T]| {
        let (Some((first, x)), Some((begun, out))) = (x.split_first(), out.split_first_mut())
        else {
            return;
        };
        let mut acc = before.map_or_else(|| take(*first), |acc| combine(acc, take(*first)));
        *begun = give(acc);
        let (fours, rest) = x.as_chunks::<4>();
        let (out_fours, out_rest) = out.as_chunks_mut::<4>();
        for (out, x) in out_fours.iter_mut().zip(fours) {
            let [a, b, c, d] = x.map(&take);
            let [ab, cd] = [combine(a, b), combine(c, d)];
            let all = [a, ab, combine(ab, c), combine(ab, cd)].map(|part| combine(acc, part));
            *out = all.map(&give);
            acc = all[3];
        }
        for (out, &x) in out_rest.iter_mut().zip(rest) {
            acc = combine(acc, take(x));
            *out = give(acc);
        }
    };
    let line = |x: &[T], out: &mut [T]| -> Result<()> {
        if x.len() <= PART {
            chain(None, x, out);
            return Ok(());
        }
        let count = x.len().div_ceil(PART);
        let mut parts = host::room(count)?;
        parts.resize(count, None);
        par_chunks(&mut parts, 1, 1, &|number, part| {
            let x = &x[number * PART..x.len().min((number + 1) * PART)];
            part[0] = x.iter().map(|&x| take(x)).reduce(&combine);
            Ok(())
        })?;
        let mut before = None;
        for part in &mut parts {
            let with = match (before, *part) {
                (Some(before), Some(part)) => Some(combine(before, part)),
                (_, part) => part,
            };
            *part = before;
            before = with;
        }
        par_chunks(out, PART, 1, &|begin, out| {
            chain(parts[begin / PART], &x[begin..begin + out.len()], out);
            Ok(())
        })
    };
    par_runs(layout.offsets(), out, &|run, values| {
        let mut values = values;
        for element in run {
            let (out, rest) = values.split_at_mut(layout.length(element));
            values = rest;
            if out.is_empty() {
                continue;
            }
            let Lines {
                values: count,
                step,
                ..
            } = Lines::of(layout, element, Some(axis));
            let x = &x[layout.offsets().range(element)];
            let block = count * step;
            par_chunks(out, block, (PART / block).max(1), &|begin, out| {
                let x = &x[begin..begin + out.len()];
                if step == 1 {
                    return line(x, out);
                }
                // Row by row.
                let mut held = host::room(step)?;
                held.extend(x[..step].iter().map(|&x| take(x)));
                for (row, (out, x)) in out.chunks_mut(step).zip(x.chunks(step)).enumerate() {
                    for ((acc, out), &x) in held.iter_mut().zip(out).zip(x) {
                        if row > 0 {
                            *acc = combine(*acc, take(x));
                        }
                        *out = give(*acc);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}
