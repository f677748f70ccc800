//! The launch of gradients of attention.

use super::{KERNEL, Params, Slopes, Slots, TILES, Tile, matrix};
use crate::Result;
use crate::ops::attention::matrix::KEYS;
use crate::ops::attention::plan::{Plan, Rows};
use crate::ops::attention::{Attention, Heads, OP, Shapes, Side, twin_slopes};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    Dispatch, Kernel, Launch, Output, OutputLayout, Param, PlanBuffer, Slot, Twin, number, place_of,
};
use crate::ragged::DType;

/// What computes a class of tiles.
#[derive(Clone, Copy)]
enum Kind {
    /// Tiles of `rows` rows, `tiles` of them in a workgroup.
    Portable {
        rows: u32,
        tiles: u32,
    },
    Matrix(matrix::Build),
}

impl Slopes {
    fn dispatches(&self, plan: Plan<Kind>, shapes: &Shapes, width: usize) -> Vec<Dispatch> {
        let Slopes { of, side } = self;
        let Heads {
            heads,
            key_heads,
            d,
            dv,
        } = shapes.heads;
        let flag = |on: bool| Param::U32(on.into());
        let items = PlanBuffer::new(plan.items);
        let bias = if of.bias { 5 } else { 0 };
        let bias_heads = if of.bias { shapes.bias_heads } else { 0 };
        let blocks = plan.blocks.as_ref();
        let [block_rows, block_keys] = blocks.map_or([1; 2], |blocks| blocks.block);
        let classes = plan.classes.iter().filter(|class| class.tiles > 0);
        let dispatch = |class: &super::super::plan::Class<Kind>| {
            let units = match side {
                Side::Bias => class.tiles * bias_heads,
                _ => class.tiles * key_heads,
            };
            let slots = Slots {
                q: Slot::Input(0),
                k: Slot::Input(1),
                v: Slot::Input(2),
                g: Slot::Input(3),
                stats: Slot::Input(4),
                items: Slot::PlanBuffer(items.clone()),
                bias: Slot::Input(bias),
                out: Slot::Output(0),
            };
            let params = Params {
                q_base: Param::InputBase(0),
                k_base: Param::InputBase(1),
                v_base: Param::InputBase(2),
                g_base: Param::InputBase(3),
                stats_base: Param::InputBase(4),
                bias_base: Param::InputBase(bias),
                tiles: number(class.begin),
                units: number(units),
                heads: number(heads),
                key_heads: number(key_heads),
                d: number(d),
                dv: number(dv),
                scale: Param::Scalar(0),
                softcap: Param::Scalar(1),
                softcap_inverse: Param::Scalar(2),
                left: Param::U32(of.mask.before),
                right: Param::U32(of.mask.after),
                top_left: flag(of.mask.top_left),
                bias_heads: number(bias_heads),
                alibi: flag(of.alibi),
                blocks: flag(blocks.is_some()),
                block_rows: number(block_rows),
                block_keys: number(block_keys),
                mask: number(blocks.map_or(0, |blocks| blocks.begin)),
                mask_row: number(blocks.map_or(0, |blocks| blocks.words)),
                lists: number(class.lists),
                ones: Param::U32(u32::MAX),
            };
            match class.tile {
                Kind::Portable { rows, tiles } => {
                    let chunks = match side {
                        Side::Bias => 1,
                        _ => match width.div_ceil(rows as usize) {
                            1 if rows == 16 => 2,
                            chunks => chunks.next_power_of_two() as u32,
                        },
                    };
                    let tile = Tile {
                        dtype: of.dtype,
                        side: *side,
                        rows,
                        tiles,
                        chunks,
                    };
                    Dispatch::new(
                        (&KERNEL, place_of(&TILES, &tile)),
                        slots,
                        params,
                        units.div_ceil(tiles as usize) as u32,
                        class.cost,
                    )
                }
                Kind::Matrix(build) => Dispatch::new(
                    (&matrix::KERNEL, build.variant()),
                    matrix::Slots::from(slots),
                    params,
                    units as u32,
                    class.cost / build.matrices.rate(),
                ),
            }
        };
        classes.map(dispatch).collect()
    }
}

impl Operation for Slopes {
    const NAME: &str = OP;
    const KERNELS: &[&Kernel] = &[&KERNEL, &matrix::KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<crate::plan::Plan> {
        let inputs = request.inputs;
        let Slopes { of, side } = self;
        let side = *side;
        let mut own = vec![inputs[0], inputs[1], inputs[2]];
        own.extend(of.bias.then(|| inputs[5]));
        let unscaled = Attention {
            alibi: false,
            sinks: false,
            ..of.clone()
        };
        let shapes = Shapes::new(&unscaled, &own)?;
        let heads = shapes.heads;
        let width = if side == Side::Value {
            heads.dv
        } else {
            heads.d
        };
        let (dtype, like) = match side {
            Side::Query => (of.dtype, 0),
            Side::Key => (of.dtype, 1),
            Side::Value => (of.dtype, 2),
            Side::Bias => (DType::F32, 5),
        };
        let rows = match side {
            Side::Query => Rows::Queries,
            Side::Key | Side::Value => Rows::Keys,
            Side::Bias => Rows::Both,
        };
        let matrices = of.matrices;
        let matrices = matrices.and_then(|m| matrix::Build::of(m, side, heads, of.is_plain()));
        let kinds = match matrices {
            Some(builds) => builds.map(|build| (Kind::Matrix(build), [build.rows, KEYS])),
            None => [(16, 4), (32, 1)]
                .map(|(rows, tiles)| (Kind::Portable { rows, tiles }, [rows, rows])),
        };
        let kinds = kinds.map(|(kind, sides)| (kind, sides.map(|side| side as usize)));
        let is_small = |[high, wide]: [usize; 2]| match matrices {
            Some([low, tall]) => high <= low.rows as usize || low == tall,
            // All columns are in one stage.
            None => high.max(wide) <= 16 && wide > 0 && width <= 128 && side != Side::Bias,
        };
        let plan = Plan::of_slopes(&unscaled, &shapes, &own, rows, kinds, is_small)?;
        let dispatches = self.dispatches(plan, &shapes, width);
        let twin_of = unscaled;
        let twin = Twin::new(move |args| twin_slopes::run(&twin_of, side, heads, args));
        Ok(Launch {
            op: "",
            outputs: vec![Output::new(dtype, OutputLayout::Input(like))],
            scratch: Vec::new(),
            work: crate::plan::cost_of(&dispatches),
            dispatches,
            pairs: None,
            twin,
        }
        .into())
    }
}
