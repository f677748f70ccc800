//! Attention over ragged batches: `o = softmax(f(s · q kᵀ) + bias + mask) v`, element by element and head by head.
//!
//! Scores are never stored: a workgroup walks over the keys of a tile of rows, and keeps the running maximum, the sum
//! of exponentials and the weighted sum of values of each row in registers (Milakov and Gimelshein, 2018; Dao et al.,
//! 2022). A row is a query in one of its heads; the rows of all heads that share a key head are tiled together, so
//! that they share each load of a key.
//!
//! Cost: d + dv multiply-adds for each score, except in stages whose keys are all masked; keys and values read once for
//! each tile of rows; queries read and results written once.
//!
//! Caps, biases, ALiBi and blocks of a mask are applied score by score, in a loop over workgroup memory
//! (`shaders/lib/scores.wgsl`), because the unrolled text took a software driver many seconds to compile. Without them
//! (`plain`), scores are scaled and masked in registers. Parameters choose, which are equal for all invocations.
//!
//! **Numbers.** Products, weights and sums are f32, also for f16, whose results are rounded once; on matrices, weights
//! are f16, and results are divided by the sum of the rounded ones. A row without keys gives zeros. Portable kernels
//! add up the values that they stage; from the first sum on that is not finite, they skip products with a weight of 0,
//! since 0 · NaN is NaN. The CPU does so when a result is not finite.
//!
//! **Alignment.** On GPUs, operands that do not begin at a whole unit of 16 bytes are copied first; another kernel
//! would compute other bits.

mod few;
mod matrix;
mod merge;
mod plan;
mod scores;
mod shapes;
mod short;
pub(crate) mod slopes;
mod twin;
mod twin_slopes;

use std::borrow::Cow;

use self::few::PIECE;
pub(crate) use self::few::unit;
use self::plan::Plan;
pub(crate) use self::shapes::{Heads, Shapes};
use crate::Result;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuKernel, Dispatch, Interface, Kernel, Launch, Listed, Matrices, Output, OutputLayout, Param,
    PlanBuffer, Slot, check_size, constants, cost_of, params, place_of, shader, slots,
};
use crate::ragged::{DType, Layout, Topology};

pub(crate) const OP: &str = "attention";

/// The largest number of values in a head.
pub(crate) const WIDEST: usize = 256;

/// The score of a masked key, smaller than every score that counts.
pub(crate) const LOWEST: f32 = -3.0e38;

slots! {
    struct Slots {
        q: Read, k: Read, v: Read, o: Write, lse: Write, items: Read, bias: Read, per_head: Read,
    }
}

params! {
    struct Params {
        q_base, k_base, v_base, bias_base, per_head_base, tiles, units, heads, key_heads, d, dv, scale, softcap,
        softcap_inverse, left, right, top_left, bias_heads, alibi, sinks, blocks, block_rows, block_keys, mask,
        mask_row, lists, plain, cached, rest, ones,
    }
}

/// A tile: rows of one key head of one element, and the keys that are staged at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Tile {
    dtype: DType,
    name: &'static str,
    rows: u32,
    keys: u32,
    /// Quads of rows that an invocation computes.
    quads: u32,
    /// Tiles of a workgroup. If there are several, all keys of each fit in one stage.
    tiles: u32,
    /// Results of a row, in units of `keys`.
    chunks: u32,
    /// Whether keys are cut into pieces, whose results are merged.
    pieces: bool,
}

/// The kernel variant that computes a class of tiles.
#[derive(Clone, Copy, Debug)]
pub(super) enum Build {
    Portable(Tile),
    Few(few::Build),
    Matrix(matrix::Build),
    Short(short::Build),
}

impl Build {
    /// Rows of a tile, and keys that are staged at a time.
    fn sides(self) -> [usize; 2] {
        let sides = match self {
            Build::Portable(tile) => [tile.rows, tile.keys],
            Build::Few(build) => [build.rows, PIECE as u32],
            Build::Matrix(build) => [build.rows, matrix::KEYS],
            Build::Short(build) => [build.most, build.most],
        };
        sides.map(|side| side as usize)
    }

    /// Whether keys are cut into pieces, whose results are merged.
    fn pieces(self) -> bool {
        match self {
            Build::Portable(tile) => tile.pieces,
            Build::Few(build) => build.pieces,
            Build::Matrix(_) | Build::Short(_) => false,
        }
    }
}

impl Tile {
    const fn across(&self) -> u32 {
        self.keys / 4
    }

    const fn threads(&self) -> u32 {
        self.rows / 4 / self.quads * self.across()
    }
}

impl Listed for Tile {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        const CHUNKS: [&str; 9] = ["", "C1", "C2", "C3", "C4", "", "", "", "C8"];
        let mut flags = vec![self.name, CHUNKS[self.chunks as usize]];
        flags.extend(self.pieces.then_some("PIECES"));
        flags.into()
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        vec![
            ("ROWS", self.rows),
            ("KEYS", self.keys),
            ("QUADS", self.quads),
            ("TILES", self.tiles),
            ("CHUNKS", self.chunks),
            ("ACROSS", self.across()),
            // Quads from row to row in workgroup memory; the additional one puts the values of a column in different
            // banks.
            ("A_PITCH", self.rows / 4 + 1),
            ("B_PITCH", self.across() + 1),
            ("DOWN", self.rows / 4 / self.quads),
            ("THREADS", self.threads()),
            ("WG", self.tiles * self.threads()),
        ]
    }
}

/// Tiles, given as (name, rows, keys, quads, tiles, chunks, pieces), for both types.
macro_rules! tiles {
    ($($name:ident $rows:literal $keys:literal $quads:literal $tiles:literal $chunks:literal $pieces:literal;)+) => {
        [tiles!(@of F32 $($name $rows $keys $quads $tiles $chunks $pieces)+),
        tiles!(@of F16 $($name $rows $keys $quads $tiles $chunks $pieces)+)]
    };
    (@of $dtype:ident $(
        $name:ident $rows:literal $keys:literal $quads:literal $tiles:literal $chunks:literal $pieces:literal
    )+) => {
        [$(Tile {
            dtype: DType::$dtype,
            name: stringify!($name),
            rows: $rows,
            keys: $keys,
            quads: $quads,
            tiles: $tiles,
            chunks: $chunks,
            pieces: $pieces,
        }),+]
    };
}

const OF_BOTH: [[Tile; 19]; 2] = tiles! {
    SHORT 16 16 1 4 2 false;
    SHORT 16 16 1 4 4 false;
    SHORT 16 16 1 4 8 false;
    FEW 16 32 1 1 1 false;
    FEW 16 32 1 1 2 false;
    FEW 16 32 1 1 4 false;
    FEW 16 32 1 1 8 false;
    FEW 16 32 1 1 1 true;
    FEW 16 32 1 1 2 true;
    FEW 16 32 1 1 4 true;
    FEW 16 32 1 1 8 true;
    MEDIUM 32 32 1 1 1 false;
    MEDIUM 32 32 1 1 2 false;
    MEDIUM 32 32 1 1 4 false;
    MEDIUM 32 32 1 1 8 false;
    TALL 64 32 2 1 1 false;
    TALL 64 32 2 1 2 false;
    TALL 64 32 2 1 3 false;
    TALL 64 32 2 1 4 false;
};

static TILES: [Tile; 38] = {
    let mut all = [OF_BOTH[0][0]; 38];
    let mut i = 0;
    while i < 38 {
        all[i] = OF_BOTH[i / 19][i % 19];
        i += 1;
    }
    all
};

static KERNEL: Kernel = Kernel {
    shader: shader!("attention/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![PIECE]],
    variants: &TILES,
};

/// Attention. The operands are q, k, v, then the bias or the lengths of a cache if there are any, then the values per
/// head if there are any: the slopes of ALiBi for all heads, followed by the sinks of all heads.
///
/// On a GPU, q, k and v begin at whole [`unit`]s. The call's scalars are the scale, the cap of the scores and its
/// reciprocal; a cap of 0 means no cap.
///
/// The second result has the log-sum-exps of all elements, and then as many elements again with what rounding them has
/// left: gradients subtract both, since one number is off by ½ at 10⁷.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Attention {
    pub dtype: DType,
    /// The cooperative matrices that kernels may use.
    pub matrices: Option<Matrices>,
    /// The number of heads of operands of rank 2. Operands of rank 3 have an axis of heads.
    pub heads: usize,
    pub key_heads: usize,
    pub mask: Mask,
    pub capped: bool,
    /// Whether keys and values are those of a cache: operand 3 is the number of each element's rows that count.
    /// Excludes a bias, whose binding it takes.
    pub cached: bool,
    pub bias: bool,
    pub alibi: bool,
    pub sinks: bool,
}

/// The keys that each query attends to. Query i is at position i among the keys if `top_left` is set, and otherwise at
/// `i + n_k − n_q`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Mask {
    /// How many keys before and after its position a query attends to, besides the key at the position.
    pub before: u32,
    pub after: u32,
    pub top_left: bool,
    pub blocks: Option<Topology>,
}

/// The operand with respect to which a gradient is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Side {
    Query,
    Key,
    Value,
    /// Its cotangent is f32.
    Bias,
}

/// The log-sum-exp in two parts, delta and ALiBi slope of each query and head, as (n, heads, 4). The operands are g and
/// both results of the attention, then the cotangent of the second one if it has one, and the slopes if there are any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Stats {
    pub dtype: DType,
    pub of_lse: bool,
    pub alibi: bool,
}

/// More than any distance between positions.
pub(crate) const UNBOUNDED: u32 = 1 << 30;

impl Mask {
    /// The position of query 0.
    pub(super) fn offset(&self, queries: usize, keys: usize) -> i64 {
        match self.top_left {
            true => 0,
            false => keys as i64 - queries as i64,
        }
    }

    /// The keys that the queries `first..=last` attend to, blocks aside.
    pub(super) fn range(
        &self,
        (first, last): (usize, usize),
        queries: usize,
        keys: usize,
    ) -> std::ops::Range<usize> {
        let offset = self.offset(queries, keys);
        let within = |key: i64| key.clamp(0, keys as i64) as usize;
        let begin = within(first as i64 + offset - i64::from(self.before));
        let end = within(last as i64 + offset + i64::from(self.after) + 1);
        begin..end.max(begin)
    }
}

impl Attention {
    /// The index of the operand with the values per head, if there is one.
    pub(crate) fn per_head(&self) -> usize {
        3 + usize::from(self.bias || self.cached)
    }

    /// Whether scores are only scaled products: no cap, bias, slopes or blocks of a mask.
    fn is_plain(&self) -> bool {
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
        let number = |n: usize| Param::U32(n as u32);
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
        check_size(OP, &shapes.o, self.dtype, binding)?;
        check_size(OP, &shapes.lse, DType::F32, binding)?;
        let plan = Plan::new(self, &shapes, inputs)?;
        let (dispatches, scratch) = self.dispatches(plan, &shapes);
        let of = self.clone();
        let heads = shapes.heads;
        let output = |layout: &Layout| OutputLayout::New(layout.clone());
        Ok(Launch {
            op: OP,
            outputs: vec![
                Output::new(self.dtype, output(&shapes.o)),
                Output::new(DType::F32, output(&shapes.lse)),
            ],
            scratch,
            work: cost_of(&dispatches),
            dispatches,
            pairs: None,
            twin: CpuKernel::new(move |args| twin::run(&of, heads, args)),
        }
        .into())
    }
}
