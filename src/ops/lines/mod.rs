//! Reductions and normalizations along an axis: one value for each line, such as its mean, or every value mapped by the
//! statistics of its line, such as softmax.
//!
//! A line is the values of an element along one axis, or the whole element. Cost: the values read once from memory, and
//! for strided lines up to twice more from a cache; one value written for each line, or all values. Normalizations of
//! lines that are cut into tiles read the values twice from memory.
//!
//! Sums of squares leave the range of f32 where their roots do not. The plain sum shows it, and each invocation of such
//! a line adds all its values again, scaled and alone: slowly, but without a barrier, and at no cost for other lines.

mod cumulate;
mod launch;
mod plan;
mod twin;

pub(crate) use self::cumulate::{Cumulate, Cumulation};
pub(crate) use self::plan::{CUT, Kind, Lines, Plan, TILE};
use crate::error::Named;
use crate::ops::{convert, strided};
use crate::plan::{
    Dispatch, Interface, Kernel, Offset, Param, Slot, Variant, params, shader, slots,
};
use crate::ragged::{DType, Layout, Shape};
use crate::{Error, Result, host};

/// Variants for f32, from rows of `[flags];`, and for f16, which have more flags.
macro_rules! variants {
    ($([$($flag:literal),+];)+ halves: $([$($half:literal),+];)+) => {
        &[
            $(Variant { dtype: DType::F32, flags: &[$($flag),+] },)+
            $(Variant { dtype: DType::F16, flags: &[$($half),+] },)+
        ]
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
    struct Params { x_base, elements, rank, axis, eps, ones, both, entries }
}

params! {
    struct FinishParams { eps, ones, both }
}

/// Lines of up to 4,096 values, and the final mapping of longer ones.
static KERNEL: Kernel = Kernel {
    shader: shader!("lines/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[plan::CUT],
    variants: variants! {
        ["SUM", "REDUCED", "HELD"];
        ["SUM", "REDUCED", "HELD", "NARROW"];
        ["SUM", "REDUCED", "APART"];
        ["MOMENTS", "REDUCED", "HELD"];
        ["MOMENTS", "REDUCED", "HELD", "NARROW"];
        ["MOMENTS", "REDUCED", "APART"];
        ["MOMENTS", "REDUCED", "ROOT", "HELD"];
        ["MOMENTS", "REDUCED", "ROOT", "HELD", "NARROW"];
        ["MOMENTS", "REDUCED", "ROOT", "APART"];
        ["EXP", "REDUCED", "HELD"];
        ["EXP", "REDUCED", "HELD", "NARROW"];
        ["EXP", "REDUCED", "APART"];
        ["EXP", "MAPPED", "HELD"];
        ["EXP", "MAPPED", "HELD", "NARROW"];
        ["EXP", "MAPPED", "APART"];
        ["EXP", "MAPPED", "LOG", "HELD"];
        ["EXP", "MAPPED", "LOG", "HELD", "NARROW"];
        ["EXP", "MAPPED", "LOG", "APART"];
        ["MOMENTS", "MAPPED", "HELD"];
        ["MOMENTS", "MAPPED", "HELD", "NARROW"];
        ["MOMENTS", "MAPPED", "APART"];
        ["SQUARES", "MAPPED", "HELD"];
        ["SQUARES", "MAPPED", "HELD", "NARROW"];
        ["SQUARES", "MAPPED", "APART"];
        ["SQUARES", "MAPPED", "NORM", "HELD"];
        ["SQUARES", "MAPPED", "NORM", "HELD", "NARROW"];
        ["SQUARES", "MAPPED", "NORM", "APART"];
        ["EXP", "MAPPED", "APPLY"];
        ["EXP", "MAPPED", "LOG", "APPLY"];
        ["MOMENTS", "MAPPED", "APPLY"];
        ["SQUARES", "MAPPED", "APPLY"];
        ["SQUARES", "MAPPED", "NORM", "APPLY"];
        halves:
        ["SUM", "REDUCED", "HELD", "PAIRS"];
        ["SUM", "REDUCED", "HELD", "PAIRS", "NARROW"];
        ["SUM", "REDUCED", "APART"];
        ["MOMENTS", "REDUCED", "HELD", "PAIRS"];
        ["MOMENTS", "REDUCED", "HELD", "PAIRS", "NARROW"];
        ["MOMENTS", "REDUCED", "APART"];
        ["MOMENTS", "REDUCED", "ROOT", "HELD", "PAIRS"];
        ["MOMENTS", "REDUCED", "ROOT", "HELD", "PAIRS", "NARROW"];
        ["MOMENTS", "REDUCED", "ROOT", "APART"];
        ["EXP", "REDUCED", "HELD", "PAIRS"];
        ["EXP", "REDUCED", "HELD", "PAIRS", "NARROW"];
        ["EXP", "REDUCED", "APART"];
        ["EXP", "MAPPED", "HELD", "HALVES", "PAIRS"];
        ["EXP", "MAPPED", "HELD", "HALVES", "PAIRS", "NARROW"];
        ["EXP", "MAPPED", "APART", "HALVES"];
        ["EXP", "MAPPED", "LOG", "HELD", "HALVES", "PAIRS"];
        ["EXP", "MAPPED", "LOG", "HELD", "HALVES", "PAIRS", "NARROW"];
        ["EXP", "MAPPED", "LOG", "APART", "HALVES"];
        ["MOMENTS", "MAPPED", "HELD", "HALVES", "PAIRS"];
        ["MOMENTS", "MAPPED", "HELD", "HALVES", "PAIRS", "NARROW"];
        ["MOMENTS", "MAPPED", "APART", "HALVES"];
        ["SQUARES", "MAPPED", "HELD", "HALVES", "PAIRS"];
        ["SQUARES", "MAPPED", "HELD", "HALVES", "PAIRS", "NARROW"];
        ["SQUARES", "MAPPED", "APART", "HALVES"];
        ["SQUARES", "MAPPED", "NORM", "HELD", "HALVES", "PAIRS"];
        ["SQUARES", "MAPPED", "NORM", "HELD", "HALVES", "PAIRS", "NARROW"];
        ["SQUARES", "MAPPED", "NORM", "APART", "HALVES"];
        ["EXP", "MAPPED", "APPLY", "HALVES"];
        ["EXP", "MAPPED", "LOG", "APPLY", "HALVES"];
        ["MOMENTS", "MAPPED", "APPLY", "HALVES"];
        ["SQUARES", "MAPPED", "APPLY", "HALVES"];
        ["SQUARES", "MAPPED", "NORM", "APPLY", "HALVES"];
    },
};

/// Statistics of the tiles of longer lines.
static PARTS: Kernel = Kernel {
    shader: shader!("lines/mod", "lines_parts"),
    interface: Interface::of::<PartSlots, Params>(),
    constants: &[plan::CUT],
    variants: variants! {
        ["SUM", "PART"];
        ["MOMENTS", "PART"];
        ["EXP", "PART"];
        ["SQUARES", "PART"];
        halves:
        ["SUM", "PART", "PAIRS"];
        ["MOMENTS", "PART", "PAIRS"];
        ["EXP", "PART", "PAIRS"];
        ["SQUARES", "PART", "PAIRS"];
    },
};

/// Combines the statistics of a line's tiles.
static FINISH: Kernel = Kernel {
    shader: shader!("lines/finish"),
    interface: Interface::of::<FinishSlots, FinishParams>(),
    constants: &[],
    variants: &[
        Variant {
            dtype: DType::F32,
            flags: &["SUM", "REDUCED"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["MOMENTS", "REDUCED"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["MOMENTS", "REDUCED", "ROOT"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["EXP", "REDUCED"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["EXP"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["EXP", "LOG"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["MOMENTS"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["SQUARES"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["SQUARES", "NORM"],
        },
    ],
};

/// The function to compute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Function {
    Mean,
    Var,
    /// The call's scalar, which only gradients use, is added to the variance.
    Std,
    LogSumExp,
    Softmax,
    LogSoftmax,
    /// The difference from the mean, divided by the standard deviation; the call's scalar is added to the variance.
    LayerNorm,
    /// Division by the root mean square; the call's scalar is added to the mean square.
    RmsNorm,
    /// Division by the Euclidean norm, or by the call's scalar if that is larger.
    L2Normalize,
}

impl Function {
    /// The name of the public method, along an axis or for whole elements.
    fn name(self, axis: Option<usize>) -> &'static str {
        let (along, whole) = match self {
            Function::Mean => ("mean_axis", "mean"),
            Function::Var => ("var_axis", "var"),
            Function::Std => ("std_axis", "std"),
            Function::LogSumExp => ("log_sum_exp_axis", "log_sum_exp"),
            Function::Softmax => ("softmax", "softmax"),
            Function::LogSoftmax => ("log_softmax", "log_softmax"),
            Function::LayerNorm => ("layer_norm", "standardize"),
            Function::RmsNorm => ("rms_norm", "rms_norm"),
            Function::L2Normalize => ("l2_normalize", "l2_normalize"),
        };
        if axis.is_some() { along } else { whole }
    }

    /// The flag of the statistics, and the flags of the result.
    fn flags(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Function::Mean => ("SUM", &["REDUCED"]),
            Function::Var => ("MOMENTS", &["REDUCED"]),
            Function::Std => ("MOMENTS", &["REDUCED", "ROOT"]),
            Function::LogSumExp => ("EXP", &["REDUCED"]),
            Function::Softmax => ("EXP", &["MAPPED"]),
            Function::LogSoftmax => ("EXP", &["MAPPED", "LOG"]),
            Function::LayerNorm => ("MOMENTS", &["MAPPED"]),
            Function::RmsNorm => ("SQUARES", &["MAPPED"]),
            Function::L2Normalize => ("SQUARES", &["MAPPED", "NORM"]),
        }
    }

    /// Whether each line yields one value.
    fn reduces(self) -> bool {
        self.flags().1[0] == "REDUCED"
    }
}

/// A function of f32 or f16 along an axis, or of whole elements if there is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Along {
    pub function: Function,
    pub axis: Option<usize>,
    pub dtype: DType,
    /// The type of the results: that of the values, or c32 for the maximum of each line and the logarithm of the sum of
    /// exponentials of the differences from it, whose sum is the result of `LogSumExp`.
    pub result: DType,
}

impl Along {
    fn dispatches(
        self,
        plan: &Plan,
        x: &Layout,
        result: Option<&Layout>,
    ) -> (Vec<Dispatch>, Vec<u64>) {
        let (family, flags) = self.function.flags();
        let both = Param::U32(u32::from(self.result == DType::C32));
        let [rank, axis] = place_of_axis(x, self.axis);
        // Bits that no compiler can know: see `ends.wgsl`.
        let ones = Param::U32(u32::MAX);
        let params = |entries: u32| Params {
            x_base: Param::InputBase(0),
            elements: Param::U32(x.len() as u32),
            rank,
            axis,
            eps: Param::Scalar(0),
            ones,
            both,
            entries: Param::U32(entries),
        };
        let half = self.dtype == DType::F16;
        // Results of reductions are rounded when all are complete; other results are written as halves.
        let rounded = result.filter(|_| self.result == DType::F16);
        let with = |last: &'static str| {
            let mut all = [&[family], flags, &[last]].concat();
            all.extend((half && result.is_none()).then_some("HALVES"));
            all.extend((half && last == "HELD").then_some("PAIRS"));
            all
        };
        let mut scratch = Vec::new();
        if let Some(long) = &plan.long {
            scratch.push(4 * u64::from(long.tiles));
            if result.is_none() {
                scratch.push(4 * u64::from(long.number));
            }
        }
        let out = match rounded {
            Some(result) => {
                scratch.push(result.total().max(1) as u64);
                Slot::Scratch(scratch.len() - 1)
            }
            None => Slot::Output(0),
        };
        let (x_values, x_meta) = (Slot::Input(0), Slot::InputMeta(0));
        let out_meta = result.map_or(x_meta.clone(), |result| Slot::Meta(result.clone()));
        let mut dispatches = Vec::new();
        for work in &plan.work {
            let mut flags = with(if work.kind == Kind::Apart {
                "APART"
            } else {
                "HELD"
            });
            flags.extend((work.kind == Kind::Narrow).then_some("NARROW"));
            dispatches.push(Dispatch::new(
                KERNEL.variant(self.dtype, &flags),
                Slots {
                    out: out.clone(),
                    items: Slot::PlanBuffer(work.words.clone()),
                    x: x_values.clone(),
                    x_meta: x_meta.clone(),
                    of_lines: out_meta.clone(),
                },
                params(work.entries),
                work.groups,
                work.values,
            ));
        }
        if let Some(long) = &plan.long {
            let items = Slot::PlanBuffer(long.items.clone());
            let cost = u64::from(long.tiles) * plan::TILE as u64;
            let mut part = vec![family, "PART"];
            part.extend(half.then_some("PAIRS"));
            let tiles = params(0);
            dispatches.push(Dispatch::new(
                PARTS.variant(self.dtype, &part),
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
                out.clone()
            } else {
                Slot::Scratch(1)
            };
            dispatches.push(Dispatch::new(
                FINISH.variant(DType::F32, &[&[family], finish].concat()),
                FinishSlots {
                    out: to,
                    items: Slot::PlanBuffer(long.finish.clone()),
                    parts: Slot::Scratch(0),
                },
                FinishParams {
                    eps: Param::Scalar(0),
                    ones,
                    both,
                },
                long.number,
                u64::from(long.tiles),
            ));
            if result.is_none() {
                dispatches.push(Dispatch::new(
                    KERNEL.variant(self.dtype, &with("APPLY")),
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
        }
        if let Some(result) = rounded {
            let (values, zero) = (result.total(), Param::U32(0));
            let round = convert::dispatch(DType::F16, values, out, zero, Slot::Output(0));
            dispatches.push(round);
        }
        (dispatches, scratch)
    }
}

/// An error for an axis that is not below the rank.
pub(crate) fn check_axis(x: &Layout, axis: Option<usize>) -> Result<()> {
    axis.map_or(Ok(()), |axis| x.check_axis(axis))
}

/// `rank` and `axis` of `shaders/lib/element_lines.wgsl`; rank 0 if each element is one line.
pub(crate) fn place_of_axis(x: &Layout, axis: Option<usize>) -> [Param; 2] {
    let place = match axis.filter(|_| x.rank() > 1) {
        Some(axis) => [x.rank() as u32, axis as u32],
        None => [0, 0],
    };
    place.map(Param::U32)
}

/// The layout of each element viewed as a matrix with `groups` rows, each of which holds the same number of adjacent
/// channels (indices along the first axis).
pub(crate) fn groups(x: &Layout, groups: usize) -> Result<Layout> {
    if groups == 0 {
        return Err(Error::argument("1 group or more", groups));
    }
    for element in 0..x.len() {
        let shape = x.shape(element);
        if !(shape.extents()[0] as usize).is_multiple_of(groups) {
            return Err(Error::shape(
                element,
                format!("(c, ..) with c a multiple of {groups}"),
                shape,
            ));
        }
    }
    strided::layout(x.len(), 2, |element, axis| match axis {
        0 => groups as u64,
        _ => (x.length(element) / groups) as u64,
    })
}

/// The layout of one value per line: the shapes without the axis, or one value if no axis is left.
pub(crate) fn one_a_line(x: &Layout, axis: Option<usize>) -> Result<Layout> {
    let Some(axis) = axis.filter(|_| x.rank() > 1) else {
        return Layout::uniform(x.len(), Shape::new(&[1])?).unnamed();
    };
    let rank = x.rank() - 1;
    let mut offsets = Offset::new(x.len())?;
    let each = if rank == 1 { 0 } else { rank };
    let mut extents = host::room(x.len().saturating_mul(each))?;
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
