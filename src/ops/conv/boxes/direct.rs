//! Direct convolution of boxes, eight results per invocation.

use crate::Result;
use crate::ops::conv::ConvRequest;
use crate::ops::pair_params;
use crate::ops::worklist::{ByCost, Worklist};
use crate::plan::{Access, Dispatch, Kernel, Param, PlanBuffer, Slot, for_each_type};
use crate::ragged::{Layout, Pairs};

/// Strips per workgroup, and results per strip: `WG` and `R` of the shader.
const WG: usize = 128;
const R: u64 = 8;

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "conv_boxes",
    source: include_str!("../../../../shaders/conv_boxes.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
        Access::Read,
    ],
    variants: for_each_type!(&[]),
};

/// The dispatch that convolves the pairs `chosen`, each with a kept result; none if there are no such pairs.
pub(super) fn dispatches(
    request: &ConvRequest<'_>,
    correlate: bool,
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    chosen: &[usize],
    result: &Layout,
) -> Result<Vec<Dispatch>> {
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let op = request.op;
    let meeting = |pair: usize| request.window.meeting(a, b, pairs.get(pair));
    let mut by_cost = ByCost::new();
    let mut cost = 0u64;
    for &pair in chosen {
        let meeting = meeting(pair);
        by_cost.push(op, pair as u32, meeting.terms())?;
        cost = cost.saturating_add(meeting.results().saturating_mul(meeting.terms()));
    }
    let strips = |pair: u32| {
        let [planes, rows, columns] = meeting(pair as usize).axes.map(|axis| axis.kept);
        (pair, (planes * rows.div_ceil(R) * columns) as usize)
    };
    let units = Worklist::new(op, by_cost.iter().map(strips), WG)?;
    let ([kind, right], list) = pair_params(op, pairs, b.len())?;
    let c_meta = Slot::Meta(result.clone());
    let list = list.map_or(c_meta.clone(), |list| {
        Slot::PlanBuffer(PlanBuffer::new(list))
    });
    let mut params = vec![
        Param::InputBase(0),
        Param::InputBase(1),
        Param::U32(correlate.into()),
        Param::U32(units.units),
        Param::U32(units.entries()),
        kind,
        right,
        Param::U32(a.len() as u32),
        Param::U32(pairs.len() as u32),
        Param::U32(a.rank() as u32),
        Param::U32(request.window.mode as u32),
    ];
    params.extend(request.window.strides(a.rank()).map(Param::U32));
    Ok(vec![Dispatch {
        kernel: &KERNEL,
        variant: KERNEL.variant(request.dtype, &[]),
        params,
        groups: units.groups,
        cost,
        slots: vec![
            Slot::Input(0),
            Slot::InputMeta(0),
            Slot::Input(1),
            Slot::InputMeta(1),
            Slot::Output(0),
            c_meta,
            Slot::PlanBuffer(units.words()),
            list,
        ],
    }])
}
