//! The largest value of a cross-correlation and its lag, and the shape-based distance, without storing the values of
//! all lags.
//!
//! The cost is that of the convolution, or m·n multiply-adds per pair. The memory is 8 bytes per pair or per tile of
//! 448 lags; the distance also takes copies of the operands.
//!
//! Each tile of lags, or each pair that `conv_fused` transforms (not for the distance), leaves the best (value, index),
//! and a final dispatch combines these. For series of one shape, the distance is not 1 − c: it takes the residual of
//! the unit-norm series at the best lag, and at the lags that f32 cannot distinguish from it.

mod normalize;
mod tiles;
mod twin;

use super::conv::{ConvRequest, Item, Items, Operand, result_length};
use crate::ops::choice::{ConvMethod, Window};
use crate::ops::kit::{PAIRING, pair_params};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    Dispatch, Interface, Kernel, Launch, Output, OutputLayout, Param, Plan, Slot, Twin, constants,
    cost_of, params, shader, slots, variants,
};
use crate::ragged::{DType, Layout, Shape};
use crate::{Result, host};
use tiles::Tiles;

slots! {
    struct TileSlots {
        a: Read, a_meta: Read, b: Read, b_meta: Read, partials: Write, items: Read, starts: Read,
        pair_list: Read,
    }
}

params! {
    struct TileParams { a_base, b_base, reversed, listed, pair_kind, pair_right, minus_infinity }
}

static TILES: Kernel = Kernel {
    shader: shader!("correlate_max/mod"),
    interface: Interface::of::<TileSlots, TileParams>(),
    constants: &[PAIRING, tiles::CUT],
    variants: variants![F32, F32 "SBD"],
};

slots! {
    struct FinishSlots {
        partials: Read, starts: Read, b_meta: Read, value: Write, lag: Write, pair_list: Read,
    }
}

params! {
    struct FinishParams { pairs, listed, pair_kind, pair_right, minus_infinity }
}

static FINISH: Kernel = Kernel {
    shader: shader!("correlate_max/finish"),
    interface: Interface::of::<FinishSlots, FinishParams>(),
    constants: &[PAIRING, constants![WG]],
    variants: TILES.variants,
};

/// Invocations per workgroup of the finishing kernel, one per pair.
const WG: usize = 256;

/// The quantity to search for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Seek {
    /// The largest correlation.
    Largest,
    /// The shape-based distance.
    Distance,
}

/// The search for the best lag. The results are the value (or distance) and the lag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CorrelateMax {
    pub seek: Seek,
    pub method: ConvMethod,
}

impl Operation for CorrelateMax {
    const KERNELS: &[&Kernel] = &[&TILES, &FINISH, &normalize::KERNEL];

    fn name(&self) -> &'static str {
        match self.seek {
            Seek::Largest => "correlate_max",
            Seek::Distance => "sbd",
        }
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (a, b) = request.both();
        let pairs = request.pairs();
        let device = request.device;
        let seek = self.seek;
        let flags: &[&str] = match seek {
            Seek::Largest => &[],
            Seek::Distance => &["SBD"],
        };
        let request = ConvRequest {
            dtype: DType::F32,
            method: self.method,
            window: Window::default(),
            costs: device.costs,
            allowed: device.allowed,
            binding: device.binding,
        };
        let choices = match seek {
            _ if request.costs.is_cpu() => request.choices(a, b, pairs)?,
            Seek::Largest => tiles::choices(&request, a, b, pairs)?,
            // Lags that f32 cannot tell apart are compared again, which needs all values of a tile: direct only.
            Seek::Distance => request.direct_choices(a, b, pairs)?,
        };
        let work = request.work(a, b, pairs, &choices)?;
        let plan = Tiles::new(a, b, pairs, &choices)?;
        let result = Layout::uniform(pairs.len(), Shape::new(&[1])?)?;
        let unused = || Slot::Meta(result.clone());
        let ([pair_kind, pair_right], pair_list) = pair_params(pairs, b.len(), &unused())?;
        let (items, starts) = match &plan.list {
            Some(t) => (
                Slot::PlanBuffer(t.items.clone()),
                Slot::PlanBuffer(t.starts.clone()),
            ),
            None => (unused(), unused()),
        };
        let listed = Param::U32(u32::from(plan.list.is_some()));
        let minus_infinity = Param::U32(f32::NEG_INFINITY.to_bits());

        let mut scratch = vec![u64::from(plan.partials) * 2];
        let mut dispatches = Vec::new();
        let operands = match seek {
            Seek::Largest => [
                (Slot::Input(0), Param::InputBase(0)),
                (Slot::Input(1), Param::InputBase(1)),
            ],
            Seek::Distance => {
                scratch.extend([a.total() as u64, b.total() as u64]);
                dispatches.extend([normalize::dispatch(a, 0, 1), normalize::dispatch(b, 1, 2)]);
                [
                    (Slot::Scratch(1), Param::U32(0)),
                    (Slot::Scratch(2), Param::U32(0)),
                ]
            }
        };
        let [(a_values, a_base), (b_values, b_base)] = operands;
        if let (Some(list), false) = (&plan.list, request.costs.is_cpu()) {
            let items = plan.transformed.iter().map(|&pair| {
                let (i, j) = pairs.get(pair);
                let (m, n) = (a.length(i), b.length(j));
                Item {
                    length: choices.get(pair).length().unwrap_or(0) / 2,
                    a: a.offsets().as_slice()[i],
                    m: m as u32,
                    b: b.offsets().as_slice()[j],
                    n: n as u32,
                    reversed: true,
                    c: list.starts.data()[pair],
                    skip: 0,
                    write: result_length(m, n) as u32,
                }
            });
            let [a, b] = [(&a_values, a_base), (&b_values, b_base)].map(|(values, base)| Operand {
                values: values.clone(),
                base,
            });
            let items = host::exact(items)?;
            dispatches.extend(Items::seeking(&items)?.dispatches(&a, &b, &Slot::Scratch(0))?);
        }
        dispatches.extend((plan.groups > 0).then(|| {
            Dispatch::new(
                TILES.variant(DType::F32, flags),
                TileSlots {
                    a: a_values,
                    a_meta: Slot::InputMeta(0),
                    b: b_values,
                    b_meta: Slot::InputMeta(1),
                    partials: Slot::Scratch(0),
                    items,
                    starts: starts.clone(),
                    pair_list: pair_list.clone(),
                },
                TileParams {
                    a_base,
                    b_base,
                    reversed: Param::U32(1),
                    listed,
                    pair_kind,
                    pair_right,
                    minus_infinity,
                },
                plan.groups,
                plan.cost,
            )
        }));
        dispatches.push(Dispatch::new(
            FINISH.variant(DType::F32, flags),
            FinishSlots {
                partials: Slot::Scratch(0),
                starts,
                b_meta: Slot::InputMeta(1),
                value: Slot::Output(0),
                lag: Slot::Output(1),
                pair_list,
            },
            FinishParams {
                pairs: Param::U32(pairs.len() as u32),
                listed,
                pair_kind,
                pair_right,
                minus_infinity,
            },
            pairs.len().div_ceil(WG) as u32,
            u64::from(plan.partials),
        ));
        let work = match request.costs.is_cpu() {
            true => work,
            false => work.max(cost_of(&dispatches)),
        };
        let bytes = choices.bytes();
        let twin = match seek {
            Seek::Largest => Twin::new(move |args| twin::largest(args, &choices)),
            Seek::Distance => Twin::new(move |args| twin::distance(args, &choices)),
        };
        Ok(Launch {
            op: "",
            work,
            outputs: [DType::F32, DType::I32]
                .map(|dtype| Output::new(dtype, OutputLayout::New(result.clone())))
                .into(),
            scratch,
            dispatches,
            pairs: Some(pairs.clone()),
            twin: twin.holding(bytes),
        }
        .into())
    }
}
