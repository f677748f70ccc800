//! The dispatch for the items of each way of transforming: its kernel, bindings, parameters and cost.

use std::sync::Arc;

use super::items::{
    BluesteinParams, BluesteinSlots, FilterParams, FilterSlots, Modes, Params, RealSlots, Slots,
    SmoothParams, TinyParams, TinySlots,
};
use super::{kernels, smooth};
use crate::plan::{Dispatch, Param, PlanBuffer, Slot};

/// The scratch buffer of Bluestein's filters; [`long`](super::long) uses others.
pub(super) const FILTERS: usize = 0;

/// How an element is transformed, with log2 of the lanes or of the power of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Way {
    Tiny(u32),
    Power(u32),
    /// Real values, as half as many complex ones.
    Half(u32),
    Bluestein(u32),
    /// By mixed radices.
    Smooth,
}

/// Items of one way, as a part of the work list.
pub(super) struct Items {
    pub list: Arc<PlanBuffer>,
    pub first: usize,
    pub count: usize,
    /// `x_first` to `factor` of `fft_items.wgsl`, or zeros.
    pub even: [u32; 6],
}

/// Operations of a transform of 2^log values.
pub(super) fn cost(log: u32) -> u64 {
    (5 * u64::from(log)) << log
}

/// The dispatch that computes the filters of Bluestein's convolutions of 2^log values.
pub(super) fn filter_dispatch(log: u32, filters: &Items) -> Dispatch {
    Dispatch::new(
        (&kernels::FILTER, kernels::convolution(log)),
        FilterSlots {
            y: Slot::Scratch(FILTERS),
            items: Slot::PlanBuffer(filters.list.clone()),
            twiddles: Slot::Table(&kernels::TWIDDLES),
            roots: Slot::Table(&kernels::ROOTS),
        },
        FilterParams {
            first_item: Param::U32(filters.first as u32),
            items: Param::U32(filters.count as u32),
        },
        filters.count.div_ceil(kernels::per_group(log)) as u32,
        filters.count as u64 * cost(log),
    )
}

/// What some ways need besides their items: the tasks of `fft_smooth`, and where Bluestein's filters begin.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside {
    pub first_task: usize,
    pub tasks: usize,
    /// `per_group` to `halves` of `fft/smooth.wgsl`, or zeros.
    pub alike: [u32; 4],
    pub filters: u32,
}

/// The dispatch for the items of one way.
pub(super) fn dispatch(items: &Items, way: Way, modes: Modes, beside: Beside) -> Dispatch {
    let (x, y) = (Slot::Input(0), Slot::Output(0));
    let list = Slot::PlanBuffer(items.list.clone());
    let twiddles = Slot::Table(&kernels::TWIDDLES);
    let [x_first, x_step, y_first, y_step, length, factor] = items.even.map(Param::U32);
    let of_items = Params {
        first_item: Param::U32(items.first as u32),
        items: Param::U32(items.count as u32),
        x_first,
        x_step,
        y_first,
        y_step,
        length,
        factor,
        x_base: Param::InputBase(0),
        load: Param::U32(modes.load),
        store: Param::U32(modes.store),
    };
    let groups = |per_group: usize| items.count.div_ceil(per_group) as u32;
    let costing = |each: u64| items.count as u64 * each;
    match way {
        Way::Tiny(log) => Dispatch::new(
            (&kernels::TINY_KERNEL, 0),
            TinySlots {
                x,
                y,
                items: list,
                roots: Slot::Table(&kernels::ROOTS),
            },
            TinyParams {
                of_items,
                lanes: Param::U32(1 << log),
            },
            groups(1 << (kernels::LOG_GROUP - log)),
            costing(1 << (2 * log)),
        ),
        Way::Power(log) => Dispatch::new(
            (&kernels::KERNEL, kernels::variant(log)),
            Slots {
                x,
                y,
                items: list,
                twiddles,
            },
            of_items,
            groups(kernels::per_group(log)),
            costing(cost(log)),
        ),
        Way::Half(log) => Dispatch::new(
            (&kernels::REAL, kernels::variant(log)),
            RealSlots {
                x,
                y,
                items: list,
                twiddles,
                halves: Slot::Table(&kernels::HALVES),
            },
            of_items,
            groups(kernels::per_group(log)),
            costing(cost(log + 1)),
        ),
        // Each workgroup runs one task.
        Way::Smooth => {
            let [per_group, radices, twiddles, halves] = beside.alike.map(Param::U32);
            let groups = (beside.tasks / smooth::TASK) as u32;
            Dispatch::new(
                (&smooth::KERNEL, 0),
                Slots {
                    x,
                    y,
                    items: list,
                    twiddles: Slot::Table(&smooth::TWIDDLES),
                },
                SmoothParams {
                    of_items,
                    first_task: Param::U32(beside.first_task as u32),
                    per_group,
                    radices,
                    twiddles,
                    halves,
                },
                groups,
                u64::from(groups) * cost(smooth::LOG_LONGEST),
            )
        }
        Way::Bluestein(log) => Dispatch::new(
            (&kernels::BLUESTEIN, kernels::convolution(log)),
            BluesteinSlots {
                x,
                y,
                items: list,
                twiddles,
                filters: Slot::Scratch(FILTERS),
            },
            BluesteinParams {
                of_items,
                filters: Param::U32(beside.filters),
            },
            groups(kernels::per_group(log)),
            costing(2 * cost(log)),
        ),
    }
}
