//! The launch of attention.

use super::few::PIECE;
use super::plan::{Build, Plan};
use super::shapes::{Heads, Shapes};
use super::{Attention, OP, Params, Slots, TILES, few, matrix, merge, short, twin};
use crate::Result;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    Dispatch, Interface, Kernel, Launch, Output, OutputLayout, Param, PlanBuffer, Slot, Twin,
    check_size, constants, cost_of, number, place_of, shader,
};
use crate::ragged::{DType, Layout};

static KERNEL: Kernel = Kernel {
    shader: shader!("attention/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![PIECE]],
    variants: &TILES,
};

impl Attention {
    /// The index of the operand with the values per head, if there is one.
    pub(crate) fn per_head(&self) -> usize {
        3 + usize::from(self.bias || self.cached)
    }

    /// Whether scores are only scaled products: no cap, bias, slopes or blocks of a mask.
    pub(super) fn is_plain(&self) -> bool {
        // A cap is a scalar of the call, so `capped` says whether there is one.
        !(self.capped || self.bias || self.alibi || self.mask.blocks.is_some())
    }

    fn dispatches(&self, plan: Plan<Build>, shapes: &Shapes) -> (Vec<Dispatch>, Vec<u64>) {
        let Heads {
            heads,
            key_heads,
            d,
            dv,
        } = shapes.heads;
        let flag = |on: bool| Param::U32(on.into());
        let items = PlanBuffer::new(plan.items);
        // In place of a missing operand, q is bound and not read.
        let bias = if self.bias || self.cached { 3 } else { 0 };
        let per_head = match self.alibi || self.sinks {
            true => self.per_head(),
            false => 0,
        };
        let blocks = plan.blocks.as_ref();
        let plain = self.is_plain();
        let mut scratch = Vec::new();
        let mut dispatches = Vec::new();
        // The rows of results, and of all pieces.
        let (rows, mut pieces) = (shapes.lse.total() / 2, 0);
        for class in plan.classes.iter().filter(|class| class.tiles > 0) {
            let tile = class.tile;
            let units = class.tiles * key_heads;
            let (o, lse, rest) = match tile.pieces() {
                false => (Slot::Output(0), Slot::Output(1), rows),
                true => {
                    pieces = units * class.sides[0];
                    scratch = vec![(pieces * dv) as u64, 2 * pieces as u64];
                    (Slot::Scratch(0), Slot::Scratch(1), pieces)
                }
            };
            let [block_rows, block_keys] = blocks.map_or([1; 2], |blocks| blocks.block);
            let params = Params {
                q_base: Param::InputBase(0),
                k_base: Param::InputBase(1),
                v_base: Param::InputBase(2),
                bias_base: Param::InputBase(bias),
                per_head_base: Param::InputBase(per_head),
                tiles: number(class.begin),
                units: number(units),
                heads: number(heads),
                key_heads: number(key_heads),
                d: number(d),
                dv: number(dv),
                scale: Param::Scalar(0),
                softcap: Param::Scalar(1),
                softcap_inverse: Param::Scalar(2),
                left: Param::U32(self.mask.before),
                right: Param::U32(self.mask.after),
                top_left: flag(self.mask.top_left),
                bias_heads: number(if self.bias { shapes.bias_heads } else { 0 }),
                alibi: flag(self.alibi),
                // If there are pieces, the merge adds the sinks.
                sinks: flag(self.sinks && !tile.pieces()),
                blocks: flag(blocks.is_some()),
                block_rows: number(block_rows),
                block_keys: number(block_keys),
                mask: number(blocks.map_or(0, |blocks| blocks.begin)),
                mask_row: number(blocks.map_or(0, |blocks| blocks.words)),
                lists: number(class.lists),
                plain: flag(plain),
                cached: flag(self.cached),
                rest: number(rest),
                ones: Param::U32(u32::MAX),
            };
            let slots = Slots {
                q: Slot::Input(0),
                k: Slot::Input(1),
                v: Slot::Input(2),
                o,
                lse,
                items: Slot::PlanBuffer(items.clone()),
                bias: Slot::Input(bias),
                per_head: Slot::Input(per_head),
            };
            dispatches.push(match tile {
                Build::Portable(tile) => Dispatch::new(
                    (&KERNEL, place_of(&TILES, &tile)),
                    slots,
                    params,
                    units.div_ceil(tile.tiles as usize) as u32,
                    class.cost,
                ),
                Build::Few(build) => Dispatch::new(
                    (&few::KERNEL, build.variant()),
                    slots,
                    params,
                    units as u32,
                    class.cost,
                ),
                Build::Matrix(build) => Dispatch::new(
                    (&matrix::KERNEL, build.variant()),
                    matrix::Slots::from(slots),
                    params,
                    units as u32,
                    class.cost / build.matrices.rate(),
                ),
                Build::Short(build) => Dispatch::new(
                    (&short::KERNEL, build.variant()),
                    short::Slots::from(slots),
                    params,
                    short::groups(units) as u32,
                    class.cost / build.matrices.rate(),
                ),
            });
        }
        if let Some(merges) = plan.merges {
            let sinks = (per_head, if self.alibi { heads } else { 0 });
            dispatches.push(merge::dispatch(
                self.dtype,
                merges,
                shapes.heads,
                [rows, pieces],
                self.sinks.then_some(sinks),
            ));
        }
        (dispatches, scratch)
    }
}

impl Operation for Attention {
    const NAME: &str = OP;
    const KERNELS: &[&Kernel] = &[
        &KERNEL,
        &few::KERNEL,
        &matrix::KERNEL,
        &short::KERNEL,
        &merge::KERNEL,
    ];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<crate::plan::Plan> {
        let inputs = request.inputs;
        let binding = request.device.binding;
        let shapes = Shapes::new(self, inputs)?;
        check_size(&shapes.o, self.dtype, binding)?;
        check_size(&shapes.lse, DType::F32, binding)?;
        let plan = Plan::new(self, &shapes, inputs)?;
        let (dispatches, scratch) = self.dispatches(plan, &shapes);
        let attention = self.clone();
        let heads = shapes.heads;
        let output = |layout: &Layout| OutputLayout::New(layout.clone());
        Ok(Launch {
            op: "",
            outputs: vec![
                Output::new(self.dtype, output(&shapes.o)),
                Output::new(DType::F32, output(&shapes.lse)),
            ],
            scratch,
            work: cost_of(&dispatches),
            dispatches,
            pairs: None,
            twin: Twin::new(move |args| twin::run(&attention, heads, args)),
        }
        .into())
    }
}
