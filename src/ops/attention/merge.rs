//! Merges the results for the pieces of a row's keys: their mean, weighted by the sums of the pieces' exponentials.

use super::Heads;
use crate::plan::{
    Dispatch, Interface, Kernel, Param, PlanBuffer, Slot, number, params, shader, slots, variants,
};
use crate::ragged::DType;

slots! {
    struct Slots { o: Write, lse: Write, parts: Read, part_sums: Read, items: Read, per_head: Read }
}

params! {
    struct Params { units, heads, dv, sinks, sinks_base, rest, pieces, ones }
}

/// Each workgroup merges one row of the results.
pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("attention/merge"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![F32, F16],
};

/// Merges the rows that `items` lists, of `rows` rows of results and `pieces` of pieces. `sinks` is the operand that
/// holds the sinks, and their index in it.
pub(super) fn dispatch(
    dtype: DType,
    items: Vec<u32>,
    heads: Heads,
    [rows, pieces]: [usize; 2],
    sinks: Option<(usize, usize)>,
) -> Dispatch {
    let units = items.len() / 4;
    let (operand, place) = sinks.unwrap_or_default();
    // The kernel adds the index, because a base parameter is always that of the whole operand. 0 means no sinks.
    let sinks = match sinks {
        None => 0,
        Some(_) => 1 + place,
    };
    Dispatch::new(
        KERNEL.variant(dtype, &[]),
        Slots {
            o: Slot::Output(0),
            lse: Slot::Output(1),
            parts: Slot::Scratch(0),
            part_sums: Slot::Scratch(1),
            items: Slot::PlanBuffer(PlanBuffer::new(items)),
            per_head: Slot::Input(operand),
        },
        Params {
            units: number(units),
            heads: number(heads.heads),
            dv: number(heads.dv),
            sinks: number(sinks),
            sinks_base: Param::InputBase(operand),
            rest: number(rows),
            pieces: number(pieces),
            ones: Param::U32(u32::MAX),
        },
        units as u32,
        (units * heads.dv) as u64,
    )
}
