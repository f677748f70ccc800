//! Gradients of attention, from weights that are recomputed: with P = exp(S − lse), dS = P ∘ (g vᵀ − delta).
//!
//! Each operand has its own dispatches, whose tiles are rows of that operand. So no atomics are needed, and results do
//! not depend on the order of workgroups. Cost: three products for each of q and k, and two for v, of each score whose
//! stage is not entirely masked; two for a bias, of every score.
//!
//! One kernel for keys and values would compute the scores once instead of twice, 7 products instead of 8, but needs
//! workgroup memory for both weights and registers for both sums.

mod launch;
mod matrix;

use std::borrow::Cow;

use super::{Attention, Heads, OP, Side, Stats, twin_slopes};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Listed, Param, Slot, Twin, number, params,
    shader, slots, variants,
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
    variants: variants![F32, F16],
};

impl Operation for Stats {
    const NAME: &str = OP;
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
        let mut offsets = crate::plan::Offset::new(elements)?;
        let mut extents = host::room(3 * elements)?;
        for element in 0..elements {
            offsets.push(4 * lse.length(element) as u64)?;
            extents.extend([(lse.length(element) / heads) as u32, heads as u32, 4]);
        }
        let layout = Layout::unchecked(offsets.finish(), 3, extents);
        let of_lse = if self.of_lse { 3 } else { 2 };
        let per_head = if self.alibi {
            3 + usize::from(self.of_lse)
        } else {
            2
        };
        let dispatch = Dispatch::new(
            STATS.variant(self.dtype, &[]),
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
        let stats = *self;
        let twin = Twin::new(move |args: &mut CpuArgs<'_>| {
            twin_slopes::stats(stats, [heads, dv], [of_lse, per_head], args)
        });
        Ok(Launch::new(DType::F32, layout, dispatch, twin).into())
    }
}

/// The gradient of attention with respect to one operand. The operands are q, k, v, the cotangent of the result, the
/// result of [`Stats`], then the bias if there is one. The scalars are those of the attention.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Slopes {
    pub of: Attention,
    pub side: Side,
}
