//! Direct convolution of boxes, eight results per invocation.

use crate::Result;
use crate::ops::choice::ConvMode;
use crate::ops::conv::ConvRequest;
use crate::ops::conv::direct::Slots;
use crate::ops::kit::{PAIRING, pair_params};
use crate::ops::kit::{worklist::ByCost, worklist::Worklist};
use crate::plan::{
    Dispatch, Interface, Kernel, Param, Slot, constants, for_each_type, params, shader,
};
use crate::ragged::{Layout, Pairs};

/// Strips per workgroup, and results per strip.
const WG: usize = 128;
const R: u64 = 8;

params! {
    struct Params {
        x_base, y_base, y_backwards, units, entries, pair_kind, pair_right, pair_left, elements, rank,
        mode, stride_0, stride_1, stride_2,
    }
}

pub(in crate::ops::conv) static KERNEL: Kernel = Kernel {
    shader: shader!("conv/boxes"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![WG, R], PAIRING, ConvMode::CODES],
    variants: for_each_type!(&[]),
};

/// The dispatch that convolves the pairs `chosen`, each of which has a kept result; none if `chosen` is empty.
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
    let meeting = |pair: usize| request.window.meeting(a, b, pairs.get(pair));
    let mut by_cost = ByCost::new();
    let mut cost = 0u64;
    for &pair in chosen {
        let meeting = meeting(pair);
        by_cost.push(pair as u32, meeting.terms())?;
        cost = cost.saturating_add(meeting.results().saturating_mul(meeting.terms()));
    }
    let strips = |pair: u32| {
        let [planes, rows, columns] = meeting(pair as usize).axes.map(|axis| axis.kept);
        (pair, (planes * rows.div_ceil(R) * columns) as usize)
    };
    let units = Worklist::new(by_cost.iter().map(strips), WG)?;
    let c_meta = Slot::Meta(result.clone());
    let ([pair_kind, pair_right], pair_list) = pair_params(pairs, b.len(), &c_meta)?;
    let (groups, count, entries) = (units.groups, units.units, units.entries());
    let [stride_0, stride_1, stride_2] = request.window.strides(a.rank()).map(Param::U32);
    Ok(vec![Dispatch::new(
        KERNEL.variant(request.dtype, &[]),
        Slots {
            x: Slot::Input(0),
            x_meta: Slot::InputMeta(0),
            y: Slot::Input(1),
            y_meta: Slot::InputMeta(1),
            c: Slot::Output(0),
            c_meta,
            items: Slot::PlanBuffer(units.words()),
            pair_list,
        },
        Params {
            x_base: Param::InputBase(0),
            y_base: Param::InputBase(1),
            y_backwards: Param::U32(correlate.into()),
            units: Param::U32(count),
            entries: Param::U32(entries),
            pair_kind,
            pair_right,
            pair_left: Param::U32(a.len() as u32),
            elements: Param::U32(pairs.len() as u32),
            rank: Param::U32(a.rank() as u32),
            mode: Param::U32(request.window.mode as u32),
            stride_0,
            stride_1,
            stride_2,
        },
        groups,
        cost,
    )])
}
