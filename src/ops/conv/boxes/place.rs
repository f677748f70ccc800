//! Copies boxes from one buffer to another with a different distance between rows.

use crate::ops::conv::choice::AXES;
use crate::ops::worklist::Worklist;
use crate::plan::{Access, Dispatch, Kernel, Param, PlanBuffer, Slot, Variant};
use crate::ragged::DType;
use crate::{Result, host};

/// Values per workgroup: `WG * EACH` of the shader.
const GROUP: usize = 1024;

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "conv_place",
    source: include_str!("../../../../shaders/conv_place.wgsl"),
    access: &[Access::Read, Access::Write, Access::Read, Access::Read],
    variants: &[Variant {
        dtype: DType::U32,
        flags: &[],
    }],
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
    op: &'static str,
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
    let units = Worklist::new(op, (0..).zip(counts), GROUP)?;
    let mut params = vec![base, Param::U32(units.units), Param::U32(units.entries())];
    params.extend(strides.map(Param::U32));
    Ok(Dispatch {
        kernel: &KERNEL,
        variant: KERNEL.variant(DType::U32, &[]),
        params,
        groups: units.groups,
        cost: values as u64,
        slots: vec![
            from,
            to,
            Slot::PlanBuffer(units.words()),
            Slot::PlanBuffer(PlanBuffer::new(words)),
        ],
    })
}
