//! Reductions and normalizations along an axis: one value for each line, such as its mean, or every value mapped by the
//! statistics of its line, such as softmax.
//!
//! A line is the values of an element along one axis, or the whole element. Cost: the values read once from memory, and
//! once or twice more from a cache (from memory for lines that are cut into tiles); one value written for each line, or
//! all values.

mod cumulate;
mod plan;
mod twin;

pub(crate) use cumulate::{CUMULATE, Cumulate, Cumulation};
pub(super) use plan::Lines;

use self::plan::Plan;
use crate::plan::{
    CpuKernel, Dispatch, Interface, Kernel, Launch, Offset, Output, OutputLayout, Param, Slot,
    Variant, check_size, params, slots,
};
use crate::ragged::{DType, Layout, Shape};
use crate::{Result, host};

/// f32 variants from rows of `[flags];`.
macro_rules! variants {
    ($($flags:tt;)+) => {
        &[$(Variant { dtype: DType::F32, flags: &$flags },)+]
    };
}

slots! {
    struct Slots { out: Write, items: Read, x: Read, x_meta: Read, of_lines: Read }
}

slots! {
    struct PartSlots { out: Write, items: Read, x: Read, x_meta: Read }
}

slots! {
    struct FinishSlots { out: Write, items: Read, parts: Read }
}

params! {
    struct Params { x_base, elements, rank, axis, eps, ones, lanes, units, entries }
}

params! {
    struct FinishParams { eps, ones }
}

/// Lines of up to 4,096 values, and the final mapping of longer ones.
pub(crate) static KERNEL: Kernel = Kernel {
    stem: "lines",
    source: include_str!("../../../shaders/lines.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[plan::CUT],
    variants: variants! {
        ["SUM", "REDUCED", "HELD"];
        ["SUM", "REDUCED", "APART"];
        ["SUM", "REDUCED", "MEAN", "HELD"];
        ["SUM", "REDUCED", "MEAN", "APART"];
        ["MOMENTS", "REDUCED", "HELD"];
        ["MOMENTS", "REDUCED", "APART"];
        ["MOMENTS", "REDUCED", "ROOT", "HELD"];
        ["MOMENTS", "REDUCED", "ROOT", "APART"];
        ["EXP", "REDUCED", "HELD"];
        ["EXP", "REDUCED", "APART"];
        ["EXP", "REDUCED", "TOP", "HELD"];
        ["EXP", "REDUCED", "TOP", "APART"];
        ["EXP", "REDUCED", "TOP", "LEAST", "HELD"];
        ["EXP", "REDUCED", "TOP", "LEAST", "APART"];
        ["EXP", "MAPPED", "HELD"];
        ["EXP", "MAPPED", "APART"];
        ["EXP", "MAPPED", "LOG", "HELD"];
        ["EXP", "MAPPED", "LOG", "APART"];
        ["MOMENTS", "MAPPED", "HELD"];
        ["MOMENTS", "MAPPED", "APART"];
        ["SQUARES", "MAPPED", "HELD"];
        ["SQUARES", "MAPPED", "APART"];
        ["EXP", "MAPPED", "APPLY"];
        ["EXP", "MAPPED", "LOG", "APPLY"];
        ["MOMENTS", "MAPPED", "APPLY"];
        ["SQUARES", "MAPPED", "APPLY"];
    },
};

/// Statistics of the tiles of longer lines.
pub(crate) static PARTS: Kernel = Kernel {
    stem: "lines_parts",
    source: include_str!("../../../shaders/lines.wgsl"),
    interface: Interface::of::<PartSlots, Params>(),
    constants: &[plan::CUT],
    variants: variants! {
        ["SUM", "PART"];
        ["MOMENTS", "PART"];
        ["EXP", "PART"];
        ["EXP", "TOP", "PART"];
        ["EXP", "TOP", "LEAST", "PART"];
        ["SQUARES", "PART"];
    },
};

/// Combines the statistics of a line's tiles.
pub(crate) static FINISH: Kernel = Kernel {
    stem: "lines_finish",
    source: include_str!("../../../shaders/lines_finish.wgsl"),
    interface: Interface::of::<FinishSlots, FinishParams>(),
    constants: &[],
    variants: variants! {
        ["SUM", "REDUCED"];
        ["SUM", "REDUCED", "MEAN"];
        ["MOMENTS", "REDUCED"];
        ["MOMENTS", "REDUCED", "ROOT"];
        ["EXP", "REDUCED"];
        ["EXP", "REDUCED", "TOP"];
        ["EXP", "REDUCED", "TOP", "LEAST"];
        ["EXP"];
        ["EXP", "LOG"];
        ["MOMENTS"];
        ["SQUARES"];
    },
};

/// The function to compute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Function {
    Sum,
    Mean,
    Var,
    Std,
    Max,
    Min,
    LogSumExp,
    Softmax,
    LogSoftmax,
    /// The difference from the mean, divided by the standard deviation; the call's scalar is added to the variance.
    LayerNorm,
    /// Division by the root mean square; the call's scalar is added to the mean square.
    RmsNorm,
}

impl Function {
    /// The public method, along an axis or for whole elements.
    fn name(self, axis: Option<usize>) -> &'static str {
        let (along, whole) = match self {
            Function::Sum => ("sum_axis", "sum"),
            Function::Mean => ("mean_axis", "mean"),
            Function::Var => ("var_axis", "var"),
            Function::Std => ("std_axis", "std"),
            Function::Max => ("max_axis", "max"),
            Function::Min => ("min_axis", "min"),
            Function::LogSumExp => ("log_sum_exp_axis", "log_sum_exp"),
            Function::Softmax => ("softmax", "softmax"),
            Function::LogSoftmax => ("log_softmax", "log_softmax"),
            Function::LayerNorm => ("layer_norm", "standardize"),
            Function::RmsNorm => ("rms_norm", "rms_norm"),
        };
        if axis.is_some() { along } else { whole }
    }

    /// The flag of the statistics, and the flags of the result.
    fn flags(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Function::Sum => ("SUM", &["REDUCED"]),
            Function::Mean => ("SUM", &["REDUCED", "MEAN"]),
            Function::Var => ("MOMENTS", &["REDUCED"]),
            Function::Std => ("MOMENTS", &["REDUCED", "ROOT"]),
            // The first half of the statistics of `EXP`.
            Function::Max => ("EXP", &["REDUCED", "TOP"]),
            Function::Min => ("EXP", &["REDUCED", "TOP", "LEAST"]),
            Function::LogSumExp => ("EXP", &["REDUCED"]),
            Function::Softmax => ("EXP", &["MAPPED"]),
            Function::LogSoftmax => ("EXP", &["MAPPED", "LOG"]),
            Function::LayerNorm => ("MOMENTS", &["MAPPED"]),
            Function::RmsNorm => ("SQUARES", &["MAPPED"]),
        }
    }

    /// The flags that the statistics of tiles have in addition.
    fn part(self) -> &'static [&'static str] {
        match self {
            Function::Max | Function::Min => &self.flags().1[1..],
            _ => &[],
        }
    }

    /// Whether each line yields one value.
    fn reduces(self) -> bool {
        self.flags().1[0] == "REDUCED"
    }
}

/// A function of f32 along an axis, or of whole elements if there is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Along {
    pub function: Function,
    pub axis: Option<usize>,
}

impl Along {
    /// The launch over `x`; the call has one scalar. `binding` is the largest size of a binding in bytes.
    pub(crate) fn launch(self, x: &Layout, binding: Option<u64>) -> Result<Launch> {
        let Along { function, axis } = self;
        let op = function.name(axis);
        if let Some(axis) = axis {
            x.check_axis(op, axis)?;
        }
        let result = match function.reduces() {
            true => Some(one_a_line(op, x, axis)?),
            false => None,
        };
        // Lines without values are as many as the extents say: refuse an oversized result before building their large
        // work lists.
        let results = result.as_ref().unwrap_or(x);
        check_size(op, results, DType::F32, binding)?;
        let work = x.total().max(results.total()) as u64;
        let plan = Plan::new(op, x, axis, result.as_ref())?;
        let (dispatches, scratch) = self.dispatches(&plan, x, result.as_ref());
        let output = result.map_or(OutputLayout::Input(0), OutputLayout::New);
        Ok(Launch {
            op,
            outputs: vec![Output::new(DType::F32, output)],
            scratch,
            dispatches,
            pairs: None,
            work,
            twin: CpuKernel::new(move |args| twin::run(function, axis, args)),
        })
    }

    fn dispatches(
        self,
        plan: &Plan,
        x: &Layout,
        result: Option<&Layout>,
    ) -> (Vec<Dispatch>, Vec<u64>) {
        let (family, flags) = self.function.flags();
        // Rank 0: each element is one line.
        let (rank, axis) = match self.axis.filter(|_| x.rank() > 1) {
            Some(axis) => (x.rank() as u32, axis as u32),
            None => (0, 0),
        };
        // Bits that no compiler knows: see `ends.wgsl`.
        let ones = Param::U32(u32::MAX);
        let params = |[lanes, units, entries]: [u32; 3]| Params {
            x_base: Param::InputBase(0),
            elements: Param::U32(x.len() as u32),
            rank: Param::U32(rank),
            axis: Param::U32(axis),
            eps: Param::Scalar(0),
            ones,
            lanes: Param::U32(lanes),
            units: Param::U32(units),
            entries: Param::U32(entries),
        };
        let with =
            |before: &[&'static str], last: &[&'static str]| [&[family], before, last].concat();
        let (x_values, x_meta) = (Slot::Input(0), Slot::InputMeta(0));
        let out_meta = result.map_or(x_meta.clone(), |result| Slot::Meta(result.clone()));
        let mut dispatches = Vec::new();
        for class in &plan.classes {
            let flags = with(flags, if class.apart { &["APART"] } else { &["HELD"] });
            dispatches.push(Dispatch::new(
                (&KERNEL, KERNEL.variant(DType::F32, &flags)),
                Slots {
                    out: Slot::Output(0),
                    items: Slot::PlanBuffer(class.words.clone()),
                    x: x_values.clone(),
                    x_meta: x_meta.clone(),
                    of_lines: out_meta.clone(),
                },
                params([class.lanes as u32, class.units, class.entries]),
                class.groups,
                class.values,
            ));
        }
        let Some(long) = &plan.long else {
            return (dispatches, Vec::new());
        };
        let items = Slot::PlanBuffer(long.items.clone());
        let cost = u64::from(long.tiles) * plan::TILE as u64;
        let tiles = params([plan::WG as u32, 0, 0]);
        dispatches.push(Dispatch::new(
            (
                &PARTS,
                PARTS.variant(DType::F32, &with(self.function.part(), &["PART"])),
            ),
            PartSlots {
                out: Slot::Scratch(0),
                items: items.clone(),
                x: x_values.clone(),
                x_meta: x_meta.clone(),
            },
            tiles,
            long.tiles,
            cost,
        ));
        // Drops the flag `MAPPED`.
        let finish = if result.is_some() { flags } else { &flags[1..] };
        let to = if result.is_some() {
            Slot::Output(0)
        } else {
            Slot::Scratch(1)
        };
        dispatches.push(Dispatch::new(
            (&FINISH, FINISH.variant(DType::F32, &with(finish, &[]))),
            FinishSlots {
                out: to,
                items: Slot::PlanBuffer(long.finish.clone()),
                parts: Slot::Scratch(0),
            },
            FinishParams {
                eps: Param::Scalar(0),
                ones,
            },
            long.number,
            u64::from(long.tiles),
        ));
        let mut scratch = vec![4 * u64::from(long.tiles)];
        if result.is_none() {
            scratch.push(4 * u64::from(long.number));
            dispatches.push(Dispatch::new(
                (
                    &KERNEL,
                    KERNEL.variant(DType::F32, &with(flags, &["APPLY"])),
                ),
                Slots {
                    out: Slot::Output(0),
                    items,
                    x: x_values,
                    x_meta,
                    of_lines: Slot::Scratch(1),
                },
                tiles,
                long.tiles,
                cost,
            ));
        }
        (dispatches, scratch)
    }
}

/// The layout of one value per line: the shapes without the axis, or one value if no axis is left.
pub(super) fn one_a_line(op: &'static str, x: &Layout, axis: Option<usize>) -> Result<Layout> {
    let Some(axis) = axis.filter(|_| x.rank() > 1) else {
        return Layout::uniform(x.len(), Shape::new(&[1])?).map_err(|error| error.named(op));
    };
    let rank = x.rank() - 1;
    let mut offsets = Offset::new(op, x.len())?;
    let each = if rank == 1 { 0 } else { rank };
    let mut extents = host::room(op, x.len().saturating_mul(each))?;
    for element in 0..x.len() {
        offsets.push(Lines::of(x, element, Some(axis)).number)?;
        if rank > 1 {
            let shape = x.shape(element);
            let kept = shape.extents().iter().enumerate();
            extents.extend(kept.filter(|(i, _)| *i != axis).map(|(_, extent)| *extent));
        }
    }
    let offsets = offsets.finish();
    Ok(Layout::unchecked(offsets, rank, extents))
}
