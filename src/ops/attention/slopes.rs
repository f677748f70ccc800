//! Gradients of attention, from weights that are recomputed: with P = exp(S − lse), dS = P ∘ (g vᵀ − delta).
//!
//! Each operand has its own dispatches, whose tiles are rows of that operand. So no atomics are needed, and results do
//! not depend on the order of workgroups. Cost: three products for each of q and k, and two for v, of each score whose
//! stage is not entirely masked; two for a bias, of every score.
//!
//! One kernel for keys and values would compute the scores once instead of twice, 7 products instead of 8, but needs
//! workgroup memory for both weights and registers for both sums.

mod matrix;

use std::borrow::Cow;

use super::matrix::KEYS;
use super::plan::{Plan, Rows};
use super::{Attention, Heads, OP, Shapes, Side, Stats, twin_slopes};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, CpuKernel, Dispatch, Interface, Kernel, Launch, Listed, Output, OutputLayout, Param,
    PlanBuffer, Slot, Variant, params, place_of, shader, slots,
};
use crate::ragged::{DType, Layout};
use crate::{Result, host};

slots! {
    struct Slots {
        q: Read, k: Read, v: Read, g: Read, stats: Read, items: Read, bias: Read, out: Write,
    }
}

params! {
    struct Params {
        q_base, k_base, v_base, g_base, stats_base, bias_base, tiles, units, heads, key_heads, d, dv, scale, softcap,
        softcap_inverse, left, right, top_left, bias_heads, alibi, blocks, block_rows, block_keys, mask, mask_row,
        lists, ones,
    }
}

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

/// A tile of `rows` rows, which stages as many columns at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Tile {
    dtype: DType,
    side: Side,
    rows: u32,
    /// Tiles of a workgroup. If there are several, all columns of each fit in one stage.
    tiles: u32,
    /// Results of a row, in units of `rows`.
    chunks: u32,
}

impl Listed for Tile {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        const CHUNKS: [&str; 9] = ["", "C1", "C2", "C3", "C4", "", "", "", "C8"];
        let side = match self.side {
            Side::Query => "QUERIES",
            Side::Key => "KEY",
            Side::Value => "VALUE",
            Side::Bias => "BIAS",
        };
        let mut flags = vec![side];
        flags.extend((self.tiles > 1).then_some("SHORT"));
        flags.extend((self.side != Side::Bias).then_some(CHUNKS[self.chunks as usize]));
        flags.into()
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let across = self.rows / 4;
        vec![
            ("ROWS", self.rows),
            ("KEYS", self.rows),
            ("TILES", self.tiles),
            ("CHUNKS", self.chunks),
            ("ACROSS", across),
            ("A_PITCH", across + 1),
            ("B_PITCH", across + 1),
            ("THREADS", across * across),
            ("WG", self.tiles * across * across),
        ]
    }
}

/// (rows, tiles, chunks) of the tiles of one side.
const KINDS: [(u32, u32, u32); 7] = [
    (16, 4, 2),
    (16, 4, 4),
    (16, 4, 8),
    (32, 1, 1),
    (32, 1, 2),
    (32, 1, 4),
    (32, 1, 8),
];

const COUNT: usize = 2 * (3 * KINDS.len() + 1);

static TILES: [Tile; COUNT] = {
    let mut all = [Tile {
        dtype: DType::F32,
        side: Side::Bias,
        rows: 32,
        tiles: 1,
        chunks: 1,
    }; COUNT];
    let mut i = 0;
    while i < COUNT - 2 {
        let (rows, tiles, chunks) = KINDS[i / 6];
        all[i] = Tile {
            dtype: if i % 2 == 0 { DType::F32 } else { DType::F16 },
            side: match i / 2 % 3 {
                0 => Side::Query,
                1 => Side::Key,
                _ => Side::Value,
            },
            rows,
            tiles,
            chunks,
        };
        i += 1;
    }
    all[COUNT - 1].dtype = DType::F16;
    all
};

static KERNEL: Kernel = Kernel {
    shader: shader!("attention/slopes"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: &TILES,
};

slots! {
    struct StatsSlots { g: Read, o: Read, lse: Read, of_lse: Read, per_head: Read, stats: Write }
}

params! {
    struct StatsParams {
        places, heads, dv, g_base, o_base, lse_base, of_lse_base, has_of_lse, per_head_base, alibi,
    }
}

static STATS: Kernel = Kernel {
    shader: shader!("attention/stats"),
    interface: Interface::of::<StatsSlots, StatsParams>(),
    constants: &[],
    variants: &[Variant::of(DType::F32, &[]), Variant::of(DType::F16, &[])],
};

impl Operation for Stats {
    const KERNELS: &[&Kernel] = &[&STATS];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<crate::plan::Plan> {
        let inputs = request.inputs;
        let (g, lse) = (inputs[0], inputs[2]);
        let (elements, places) = (lse.len() / 2, lse.total() / 2);
        let heads = match lse.is_empty() {
            true => 1,
            false => lse.shape(0).extents()[1] as usize,
        };
        let dv = g.total().checked_div(places).unwrap_or(1);
        let mut offsets = crate::plan::Offset::new(OP, elements)?;
        let mut extents = host::room(OP, 3 * elements)?;
        for element in 0..elements {
            offsets.push(4 * lse.length(element) as u64)?;
            extents.extend([(lse.length(element) / heads) as u32, heads as u32, 4]);
        }
        let layout = Layout::unchecked(offsets.finish(), 3, extents);
        let number = |n: usize| Param::U32(n as u32);
        let of_lse = if self.of_lse { 3 } else { 2 };
        let per_head = if self.alibi {
            3 + usize::from(self.of_lse)
        } else {
            2
        };
        let dispatch = Dispatch::new(
            (&STATS, STATS.variant(self.dtype, &[])),
            StatsSlots {
                g: Slot::Input(0),
                o: Slot::Input(1),
                lse: Slot::Input(2),
                of_lse: Slot::Input(of_lse),
                per_head: Slot::Input(per_head),
                stats: Slot::Output(0),
            },
            StatsParams {
                places: number(places),
                heads: number(heads),
                dv: number(dv),
                g_base: Param::InputBase(0),
                o_base: Param::InputBase(1),
                lse_base: Param::InputBase(2),
                of_lse_base: Param::InputBase(of_lse),
                has_of_lse: Param::U32(self.of_lse.into()),
                per_head_base: Param::InputBase(per_head),
                alibi: Param::U32(self.alibi.into()),
            },
            places.div_ceil(16) as u32,
            g.total() as u64,
        );
        let of = *self;
        let twin = CpuKernel::new(move |args: &mut CpuArgs<'_>| {
            twin_slopes::stats(of, [heads, dv], [of_lse, per_head], args)
        });
        Ok(Launch::new(OP, DType::F32, layout, dispatch, twin).into())
    }
}

/// The gradient of attention with respect to one operand. The operands are q, k, v, the cotangent of the result, the
/// result of [`Stats`], then the bias if there is one. The scalars are those of the attention.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Slopes {
    pub of: Attention,
    pub side: Side,
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
        let number = |n: usize| Param::U32(n as u32);
        let flag = |on: bool| Param::U32(on.into());
        let items = PlanBuffer::new(plan.items);
        let bias = if of.bias { 5 } else { 0 };
        let bias_heads = if of.bias { shapes.bias_heads } else { 0 };
        let blocks = plan.blocks.as_ref();
        let [block_rows, block_keys] = blocks.map_or([1; 2], |blocks| blocks.block);
        let classes = plan.classes.iter().filter(|class| class.tiles > 0);
        let dispatch = |class: &super::plan::Class<Kind>| {
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
        let twin = CpuKernel::new(move |args| twin_slopes::run(&twin_of, side, heads, args));
        Ok(Launch {
            op: OP,
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
