//! Boxes from one buffer into another, with other distances between their rows.

use crate::ops::conv::choice::AXES;
use crate::ops::worklist::Worklist;
use crate::plan::{
    Dispatch, Interface, Kernel, Param, PlanBuffer, Slot, Variant, constants, params, slots,
};
use crate::ragged::DType;
use crate::{Result, host};

/// Invocations of a workgroup, and values of each.
const WG: usize = 256;
const EACH: usize = 4;

slots! {
    struct Slots { from_values: Read, to_values: Write, items: Read, boxes: Read }
}

params! {
    struct Params { from_base, units, entries, stride_0, stride_1, stride_2 }
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "conv_place",
    source: include_str!("../../../../shaders/conv_place.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![WG, EACH]],
    variants: &[Variant {
        dtype: DType::U32,
        flags: &[],
    }],
};

/// One element of a copy.
pub(super) struct Box {
    /// Where it begins, and how many values its planes and rows have, where it goes and where it comes from.
    pub to: (u32, [u64; 2]),
    pub from: (u32, [u64; 2]),
    /// How many values are written.
    pub values: usize,
    /// The first index that is read, and the extents: zeros are read outside.
    pub first: [u32; AXES],
    pub extents: [u32; AXES],
}

/// The stage that copies these, in steps of `strides`.
pub(super) fn dispatch(
    op: &'static str,
    boxes: impl Iterator<Item = Box>,
    strides: [u32; AXES],
    (from, base): (Slot, Param),
    to: Slot,
) -> Result<Dispatch> {
    let mut words = Vec::new();
    let mut counts = Vec::new();
    // More than an index reaches is a distance that no index is multiplied with.
    let narrow = |distance: u64| u32::try_from(distance).unwrap_or(u32::MAX);
    for each in boxes {
        host::push(op, &mut counts, each.values)?;
        let [to_plane, to_row] = each.to.1.map(narrow);
        let [from_plane, from_row] = each.from.1.map(narrow);
        host::reserve(op, &mut words, 6 + 2 * AXES)?;
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
    let units = Worklist::new(op, (0..).zip(counts), WG * EACH)?;
    let (groups, count, entries) = (units.groups, units.units, units.entries());
    let [stride_0, stride_1, stride_2] = strides.map(Param::U32);
    Ok(Dispatch::new(
        (&KERNEL, KERNEL.variant(DType::U32, &[])),
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
