//! Reductions of lines: the values along an axis, or whole elements of types that the other kernels do not read.
//!
//! Cost: the values read once (norm2 twice, the second time from a cache), one value written for each line; results of
//! f16 are rounded in another dispatch.

use super::{FINISH, FinishParams, FinishSlots, Reduce, line_twin};
use crate::Result;
use crate::ops::convert;
use crate::ops::lines::{CUT, Kind, Plan, TILE, check_axis, one_a_line, place_of_axis};
use crate::plan::{
    Dispatch, Interface, Kernel, Launch, Output, OutputLayout, Param, Slot, Twin, Variant,
    check_size, params, shader, slots,
};
use crate::ragged::{DType, Layout};

slots! {
    struct Slots { out: Write, items: Read, x: Read, x_meta: Read, of_lines: Read }
}

slots! {
    struct PartSlots { out: Write, items: Read, x: Read, x_meta: Read }
}

params! {
    struct Params { x_base, elements, rank, axis, strided, entries }
}

/// Lines of up to 4,096 values.
pub(super) static LINES: Kernel = Kernel {
    shader: shader!("reduce/lines"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[CUT],
    variants: variants! {
        ["SUM"] F32 U32 F16 C32;
        ["SUM", "ABS"] F32 U32 F16;
        ["PROD"] F32 U32 F16;
        ["NORM2"] F32 F16;
        ["NORM_MAX"] F32 I32 U32 F16;
        ["MAX"] F32 I32 U32 F16;
        ["MAX", "LEAST"] F32 I32 U32 F16;
        ["ARGMAX"] F32 I32 U32 F16;
        ["ARGMAX", "LEAST"] F32 I32 U32 F16;
        ["ANY"] U32;
        ["ALL"] U32;
        ["SUM", "NARROW"] F32 U32 F16 C32;
        ["SUM", "ABS", "NARROW"] F32 U32 F16;
        ["PROD", "NARROW"] F32 U32 F16;
        ["NORM2", "NARROW"] F32 F16;
        ["NORM_MAX", "NARROW"] F32 I32 U32 F16;
        ["MAX", "NARROW"] F32 I32 U32 F16;
        ["MAX", "LEAST", "NARROW"] F32 I32 U32 F16;
        ["ARGMAX", "NARROW"] F32 I32 U32 F16;
        ["ARGMAX", "LEAST", "NARROW"] F32 I32 U32 F16;
        ["ANY", "NARROW"] U32;
        ["ALL", "NARROW"] U32;
    },
};

/// Tiles of longer lines.
pub(super) static LINE_PARTS: Kernel = Kernel {
    shader: shader!("reduce/lines", "reduce_lines_parts"),
    interface: Interface::of::<PartSlots, Params>(),
    constants: &[CUT],
    variants: variants! {
        ["SUM", "PART"] F32 U32 F16 C32;
        ["SUM", "ABS", "PART"] F32 U32 F16;
        ["PROD", "PART"] F32 U32 F16;
        ["NORM2", "PART"] F32 F16;
        ["NORM_MAX", "PART"] F32 I32 U32 F16;
        ["MAX", "PART"] F32 I32 U32 F16;
        ["MAX", "LEAST", "PART"] F32 I32 U32 F16;
        ["ARGMAX", "PART"] F32 I32 U32 F16;
        ["ARGMAX", "LEAST", "PART"] F32 I32 U32 F16;
        ["ANY", "PART"] U32;
        ["ALL", "PART"] U32;
    },
};

/// The launch of a reduction along its axis, or of whole elements if there is none. `binding` is the largest size of a
/// binding in bytes.
pub(super) fn launch(reduce: Reduce, x: &Layout, binding: Option<u64>) -> Result<Launch> {
    let Reduce {
        reduction,
        dtype,
        axis,
    } = reduce;
    let result_type = reduce.result();
    check_axis(x, axis)?;
    let result = one_a_line(x, axis)?;
    // Extents may describe any number of lines without values: refuse an oversized result before building its large
    // work list.
    check_size(&result, result_type, binding)?;
    let work = x.total().max(result.total()) as u64;
    let plan = Plan::new(x, axis, Some(&result))?;
    let values = result.total();
    let flags = reduce.flags();
    let [rank, axis_param] = place_of_axis(x, axis);
    let params = |strided: bool, entries: u32| Params {
        x_base: match dtype {
            DType::C32 => Param::InputPairBase(0),
            _ => Param::InputBase(0),
        },
        elements: Param::U32(x.len() as u32),
        rank,
        axis: axis_param,
        strided: Param::U32(u32::from(strided)),
        entries: Param::U32(entries),
    };
    // Different invocations write the halves of a word, so results are rounded by another dispatch.
    let rounds = result_type == DType::F16;
    let mut scratch = Vec::new();
    if let Some(long) = &plan.long {
        scratch.push(reduction.part_words(dtype) * u64::from(long.tiles));
    }
    let out = match rounds {
        true => {
            scratch.push(values.max(1) as u64);
            Slot::Scratch(scratch.len() - 1)
        }
        false => Slot::Output(0),
    };
    let mut dispatches = Vec::new();
    for work in &plan.work {
        let mut flags = flags.to_vec();
        flags.extend((work.kind == Kind::Narrow).then_some("NARROW"));
        dispatches.push(Dispatch::new(
            LINES.variant(reduce.kernel_type(), &flags),
            Slots {
                out: out.clone(),
                items: Slot::PlanBuffer(work.words.clone()),
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
                of_lines: Slot::Meta(result.clone()),
            },
            params(work.kind == Kind::Apart, work.entries),
            work.groups,
            work.values,
        ));
    }
    if let Some(long) = &plan.long {
        let part = [&flags[..], &["PART"]].concat();
        dispatches.push(Dispatch::new(
            LINE_PARTS.variant(reduce.kernel_type(), &part),
            PartSlots {
                out: Slot::Scratch(0),
                items: Slot::PlanBuffer(long.items.clone()),
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
            },
            params(false, 0),
            long.tiles,
            u64::from(long.tiles) * TILE as u64,
        ));
        let finish = reduction.flags();
        dispatches.push(Dispatch::new(
            FINISH.variant(reduce.finish_type(), finish),
            FinishSlots {
                out: out.clone(),
                items: Slot::PlanBuffer(long.finish.clone()),
                partials: Slot::Scratch(0),
            },
            FinishParams {
                rank: Param::U32(1),
            },
            long.number,
            u64::from(long.tiles),
        ));
    }
    if rounds {
        let zero = Param::U32(0);
        dispatches.push(convert::dispatch(
            DType::F16,
            values,
            out,
            zero,
            Slot::Output(0),
        ));
    }
    Ok(Launch {
        op: "",
        outputs: vec![Output::new(result_type, OutputLayout::New(result))],
        scratch,
        dispatches,
        pairs: None,
        work,
        twin: Twin::new(move |args| line_twin::run(reduction, dtype, axis, args)),
    })
}
