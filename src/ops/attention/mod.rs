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
mod launch;
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

pub(crate) use self::few::unit;
pub(crate) use self::shapes::{Heads, Shapes};
use crate::plan::{Listed, Matrices, params, slots};
use crate::ragged::{DType, Topology};

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
