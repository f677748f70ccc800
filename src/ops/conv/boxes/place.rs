//! Copies boxes from one buffer to another with a different distance between rows.

use crate::ops::choice::AXES;
use crate::ops::kit::worklist::Worklist;
use crate::plan::{
    Dispatch, Interface, Kernel, Param, PlanBuffer, Slot, constants, params, shader, slots,
    variants,
};
use crate::ragged::DType;
use crate::{Result, host};

/// Invocations per workgroup, and values per invocation.
const WG: usize = 256;
const EACH: usize = 4;

slots! {
    struct Slots { from_values: Read, to_values: Write, items: Read, boxes: Read }
}

params! {
    struct Params { from_base, units, entries, stride_0, stride_1, stride_2 }
}

pub(in crate::ops::conv) static KERNEL: Kernel = Kernel {
    shader: shader!("conv/place"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![WG, EACH]],
    variants: variants![U32],
};

/// The copy of one box.
pub(super) struct Box {
    /// The destination and the source: the offset of the box, and the distances between its planes and between its
    /// rows.
    pub to: (u32, [u64; 2]),
    pub from: (u32, [u64; 2]),
    /// The number of values to write.
    pub values: usize,
    /// The first index to read, and the extents of the source; reads outside give 0.
    pub first: [u32; AXES],
    pub extents: [u32; AXES],
}

/// The dispatch that copies these boxes, reading in steps of `strides`.
pub(super) fn dispatch(
    boxes: impl Iterator<Item = Box>,
    strides: [u32; AXES],
    (from, base): (Slot, Param),
    to: Slot,
) -> Result<Dispatch> {
    let mut words = Vec::new();
    let mut counts = Vec::new();
    // A distance above 32 bits is never multiplied by an index other than 0.
    let narrow = |distance: u64| u32::try_from(distance).unwrap_or(u32::MAX);
    for each in boxes {
        host::push(&mut counts, each.values)?;
        let [to_plane, to_row] = each.to.1.map(narrow);
        let [from_plane, from_row] = each.from.1.map(narrow);
        host::reserve(&mut words, 6 + 2 * AXES)?;
        words.extend([
            each.to.0,
            to_plane,
            to_row,
            each.from.0,
            from_plane,
            from_row,
        ]);
        words.extend(each.first.into_iter().chain(each.extents));
    }
    let values: usize = counts.iter().sum();
    let units = Worklist::new((0..).zip(counts), WG * EACH)?;
    let (groups, count, entries) = (units.groups, units.units, units.entries());
    let [stride_0, stride_1, stride_2] = strides.map(Param::U32);
    Ok(Dispatch::new(
        KERNEL.variant(DType::U32, &[]),
        Slots {
            from_values: from,
            to_values: to,
            items: Slot::PlanBuffer(units.words()),
            boxes: Slot::PlanBuffer(PlanBuffer::new(words)),
        },
        Params {
            from_base: base,
            units: Param::U32(count),
            entries: Param::U32(entries),
            stride_0,
            stride_1,
            stride_2,
        },
        groups,
        values as u64,
    ))
}
