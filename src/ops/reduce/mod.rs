//! Reductions to one value per element, per line along an axis, or per pair: sums, products, norms, extremes and their
//! places, whether any or all values are nonzero, dot products, and equality up to trailing zeros.
//!
//! Cost: the values read once (norm2 twice, the second time from a cache), one word per element written, in one to four
//! dispatches. Memory: 4 or 8 bytes for each 4096 values of elements longer than that.

/// Variants from rows of `[flags] value types;`.
macro_rules! variants {
    ($($flags:tt $($dtype:ident)+;)+) => {
        &[$($(Variant { dtype: DType::$dtype, flags: &$flags },)+)+]
    };
}

// After the macro, which they use.
mod along;
mod boxes;
mod launch;
mod line_twin;
mod plan;
mod tree;
mod twin;

use std::sync::Arc;

use self::plan::{Classes, FINISH_WORDS, TILE_WORDS};
use crate::Result;
use crate::error::Named;
use crate::ops::kit::PAIRING;
use crate::plan::{
    Dispatch, Interface, Kernel, MergedPair, Param, PlanBuffer, Slot, Variant, overlap, params,
    shader, slots,
};
use crate::ragged::{DType, Layout, MAX_RANK, Pairs, Shape};

slots! {
    struct Slots { out: Write, items: Read, a: Read, a_meta: Read }
}

slots! {
    struct TileSlots { out: Write, items: Read, a: Read, a_meta: Read, partials: Write }
}

slots! {
    struct PairSlots {
        out: Write, items: Read, a: Read, a_meta: Read, b: Read, b_meta: Read, pair_list: Read,
     }
}

slots! {
    struct PairTileSlots {
        out: Write, items: Read, a: Read, a_meta: Read, b: Read, b_meta: Read, pair_list: Read,
        partials: Write,
     }
}

slots! {
    struct FinishSlots { out: Write, items: Read, partials: Read }
}

params! {
    /// For elements and for pairs; elements do not use those of a right operand, and only bounds have a background.
    struct Params { count, listed, a_base, b_base, rank, pair_kind, a_elements, pair_right, background }
}

params! {
    struct FinishParams { rank }
}

/// Elements of up to 1024 values, with one or 32 invocations per element. BYTES: of u8.
static KERNEL: Kernel = Kernel {
    shader: shader!("reduce/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[plan::CUT],
    variants: variants! {
        ["SUM", "THREAD"] F32 U32;
        ["SUM", "LANES"] F32 U32;
        ["SUM", "THREAD", "ABS"] F32 U32;
        ["SUM", "LANES", "ABS"] F32 U32;
        ["BOX", "THREAD"] F32 U32 F16;
        ["BOX", "LANES"] F32 U32 F16;
        ["BOX", "BOUNDS", "THREAD"] U32;
        ["BOX", "BOUNDS", "THREAD", "BYTES"] U32;
        ["BOX", "BOUNDS", "LANES"] U32;
        ["BOX", "BOUNDS", "LANES", "BYTES"] U32;
        ["NORM2", "THREAD"] F32;
        ["NORM2", "LANES"] F32;
        ["MAX", "THREAD"] F32 I32 U32;
        ["MAX", "THREAD", "BYTES"] U32;
        ["MAX", "LANES"] F32 I32 U32;
        ["MAX", "LANES", "BYTES"] U32;
        ["ARGMAX", "THREAD"] F32 I32 U32;
        ["ARGMAX", "THREAD", "BYTES"] U32;
        ["ARGMAX", "LANES"] F32 I32 U32;
        ["ARGMAX", "LANES", "BYTES"] U32;
        ["MAX", "LEAST", "THREAD"] F32 I32 U32;
        ["MAX", "LEAST", "THREAD", "BYTES"] U32;
        ["MAX", "LEAST", "LANES"] F32 I32 U32;
        ["MAX", "LEAST", "LANES", "BYTES"] U32;
        ["ARGMAX", "LEAST", "THREAD"] F32 I32 U32;
        ["ARGMAX", "LEAST", "THREAD", "BYTES"] U32;
        ["ARGMAX", "LEAST", "LANES"] F32 I32 U32;
        ["ARGMAX", "LEAST", "LANES", "BYTES"] U32;
    },
};

/// Longer elements, with one workgroup per tile of up to 4096 values.
static TILES: Kernel = Kernel {
    shader: shader!("reduce/mod", "reduce_tiles"),
    interface: Interface::of::<TileSlots, Params>(),
    constants: &[plan::CUT],
    variants: variants! {
        ["SUM", "TILES"] F32 U32;
        ["SUM", "TILES", "ABS"] F32 U32;
        ["BOX", "TILES"] F32 U32 F16;
        ["BOX", "BOUNDS", "TILES"] U32;
        ["BOX", "BOUNDS", "TILES", "BYTES"] U32;
        ["NORM2", "TILES"] F32;
        ["MAX", "TILES"] F32 I32 U32;
        ["MAX", "TILES", "BYTES"] U32;
        ["ARGMAX", "TILES"] F32 I32 U32;
        ["ARGMAX", "TILES", "BYTES"] U32;
        ["MAX", "LEAST", "TILES"] F32 I32 U32;
        ["MAX", "LEAST", "TILES", "BYTES"] U32;
        ["ARGMAX", "LEAST", "TILES"] F32 I32 U32;
        ["ARGMAX", "LEAST", "TILES", "BYTES"] U32;
    },
};

/// `KERNEL` for pairs.
static PAIR: Kernel = Kernel {
    shader: shader!("reduce/mod", "reduce_pair"),
    interface: Interface::of::<PairSlots, Params>(),
    constants: &[plan::CUT, PAIRING],
    variants: variants! {
        ["SUM", "THREAD", "PAIRS", "RANK1"] F32 U32;
        ["SUM", "LANES", "PAIRS", "RANK1"] F32 U32;
        ["SUM", "THREAD", "PAIRS"] F32 U32;
        ["SUM", "LANES", "PAIRS"] F32 U32;
        ["EQUAL", "THREAD", "PAIRS", "RANK1"] F32 U32;
        ["EQUAL", "LANES", "PAIRS", "RANK1"] F32 U32;
        ["EQUAL", "THREAD", "PAIRS"] F32 U32;
        ["EQUAL", "LANES", "PAIRS"] F32 U32;
    },
};

static PAIR_TILES: Kernel = Kernel {
    shader: shader!("reduce/mod", "reduce_pair_tiles"),
    interface: Interface::of::<PairTileSlots, Params>(),
    constants: &[plan::CUT, PAIRING],
    variants: variants! {
        ["SUM", "TILES", "PAIRS", "RANK1"] F32 U32;
        ["SUM", "TILES", "PAIRS"] F32 U32;
        ["EQUAL", "TILES", "PAIRS", "RANK1"] F32 U32;
        ["EQUAL", "TILES", "PAIRS"] F32 U32;
    },
};

/// Combines the parts of elements that span several tiles.
static FINISH: Kernel = Kernel {
    shader: shader!("reduce/finish"),
    interface: Interface::of::<FinishSlots, FinishParams>(),
    constants: &[],
    variants: variants! {
        ["SUM"] F32 U32 C32;
        ["PROD"] F32 U32;
        ["BOX"] F32 U32;
        ["BOX", "BOUNDS"] U32;
        ["NORM2"] F32;
        ["NORM_MAX"] U32;
        ["ANY"] U32;
        ["ALL"] U32;
        ["MAX"] F32 I32 U32;
        ["ARGMAX"] F32 I32 U32;
        ["MAX", "LEAST"] F32 I32 U32;
        ["ARGMAX", "LEAST"] F32 I32 U32;
        ["EQUAL"] F32 U32;
    },
};

/// A reduction of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Reduction {
    Sum,
    Product,
    /// The sum of the magnitudes.
    Norm1,
    /// The extents of the smallest box that holds every nonzero value: one word per axis.
    Box,
    /// The smallest box of a matrix that holds every value other than the call's scalar: the first row and column, and
    /// one more than the last ones. Only for integers.
    Bounds,
    /// Only for floats.
    Norm2,
    /// The largest magnitude.
    NormMax,
    Max,
    ArgMax,
    Min,
    ArgMin,
    /// Whether any value is nonzero; only for u32.
    Any,
    /// Whether all values are nonzero; only for u32.
    All,
}

impl Reduction {
    /// The names of the public methods for whole elements and along an axis.
    fn names(self) -> [&'static str; 2] {
        match self {
            Reduction::Sum => ["sum", "sum_axis"],
            Reduction::Product => ["prod", "prod_axis"],
            Reduction::Norm1 => ["norm1", "norm1_axis"],
            Reduction::Box => ["minimal_shape"; 2],
            Reduction::Bounds => ["bounding_box"; 2],
            Reduction::Norm2 => ["norm2", "norm2_axis"],
            Reduction::NormMax => ["norm_max", "norm_max_axis"],
            Reduction::Max => ["max", "max_axis"],
            Reduction::ArgMax => ["argmax", "argmax_axis"],
            Reduction::Min => ["min", "min_axis"],
            Reduction::ArgMin => ["argmin", "argmin_axis"],
            Reduction::Any => ["any", "any_axis"],
            Reduction::All => ["all", "all_axis"],
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Reduction::Sum | Reduction::Norm1 => &["SUM"],
            Reduction::Product => &["PROD"],
            Reduction::Box => &["BOX"],
            Reduction::Bounds => &["BOX", "BOUNDS"],
            Reduction::Norm2 => &["NORM2"],
            Reduction::NormMax => &["NORM_MAX"],
            Reduction::Max => &["MAX"],
            Reduction::ArgMax => &["ARGMAX"],
            Reduction::Min => &["MAX", "LEAST"],
            Reduction::ArgMin => &["ARGMAX", "LEAST"],
            Reduction::Any => &["ANY"],
            Reduction::All => &["ALL"],
        }
    }

    /// Words of a partial accumulator.
    fn part_words(self, dtype: DType) -> u64 {
        match self {
            Reduction::Norm2 | Reduction::ArgMax | Reduction::ArgMin => 2,
            Reduction::Box | Reduction::Bounds => MAX_RANK as u64,
            _ if dtype == DType::C32 => 2,
            _ => 1,
        }
    }

    /// Whether there are kernels that read bytes.
    pub(super) fn is_of_bytes(self) -> bool {
        use Reduction::{ArgMax, ArgMin, Bounds, Max, Min};
        matches!(self, Max | Min | ArgMax | ArgMin | Bounds)
    }

    /// Whether the kernels for whole elements compute it. If not, an element is reduced as one line.
    fn is_of_elements(self, dtype: DType) -> bool {
        use Reduction::{All, Any, NormMax, Product};
        match dtype {
            DType::F16 => self == Reduction::Box,
            DType::C32 => false,
            _ => !matches!(self, Product | NormMax | Any | All),
        }
    }
}

/// A reduction of two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PairReduction {
    /// The sum of the products over the overlap.
    Dot,
    /// 1 if the pair is equal after zero extension, otherwise 0.
    Equivalent,
}

/// A reduction of every element, or along an axis, over values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Reduce {
    pub reduction: Reduction,
    pub dtype: DType,
    pub axis: Option<usize>,
}

impl Reduce {
    fn op(self) -> &'static str {
        self.reduction.names()[usize::from(self.axis.is_some())]
    }

    /// The type of the results: words for u8, which are narrowed later.
    fn result(self) -> DType {
        match self.reduction {
            Reduction::ArgMax | Reduction::ArgMin | Reduction::Box | Reduction::Bounds => {
                DType::U32
            }
            _ if self.dtype == DType::U8 => DType::U32,
            _ => self.dtype,
        }
    }

    /// The type of the kernel that reads the values.
    fn kernel_type(self) -> DType {
        match self.reduction {
            // Modulo 2³², sums and products are the same for both integer types, and zero has the same bits.
            Reduction::Sum
            | Reduction::Norm1
            | Reduction::Product
            | Reduction::Box
            | Reduction::Bounds => unsigned(self.dtype),
            _ if self.dtype == DType::U8 => DType::U32,
            _ => self.dtype,
        }
    }

    /// The type of the kernel that combines the parts of long lines. Those of f16 are computed in f32.
    fn finish_type(self) -> DType {
        match (self.reduction, self.kernel_type()) {
            (Reduction::NormMax, _) => DType::U32,
            (_, DType::F16) => DType::F32,
            (_, other) => other,
        }
    }

    /// The flags of the kernel that reads the values.
    fn flags(self) -> Vec<&'static str> {
        let mut flags = self.reduction.flags().to_vec();
        flags.extend(self.shape());
        flags
    }

    /// The flags after those of the reduction.
    fn shape(self) -> &'static [&'static str] {
        match (self.reduction, self.dtype) {
            // An unsigned value is its own magnitude.
            (Reduction::Norm1, DType::F32 | DType::F16 | DType::I32) => &["ABS"],
            (_, DType::U8) => &["BYTES"],
            _ => &[],
        }
    }
}

/// A reduction of every pair, over values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ReducePairs {
    pub reduction: PairReduction,
    pub dtype: DType,
}

/// Wrapping sums, products and equality are the same for i32 as for its bits as u32.
fn unsigned(dtype: DType) -> DType {
    match dtype {
        DType::I32 | DType::U8 => DType::U32,
        other => other,
    }
}

/// The layout of `words` words for each of `elements`.
fn words_each(elements: usize, words: usize) -> Result<Layout> {
    Layout::uniform(elements, Shape::new(&[words])?).unnamed()
}

/// Classifies the pairs by the number of values that the kernel reads for each.
fn classes(
    reduction: PairReduction,
    a: &Layout,
    b: &Layout,
    pairs: &Pairs,
    merged: &MergedPair,
) -> Result<Classes> {
    let (a_most, b_most) = (a.max_length() as u64, b.max_length() as u64);
    let length = |layout: &Layout, i: usize| layout.length(i) as u64;
    let (most, size): (u64, &dyn Fn(usize, usize) -> u64) = match (reduction, merged.rank) {
        (PairReduction::Dot, 1) => (a_most.min(b_most), &|i, j| length(a, i).min(length(b, j))),
        (PairReduction::Dot, _) => (a_most.min(b_most), &|i, j| {
            overlap(&a.shape(i), &b.shape(j)) as u64
        }),
        (PairReduction::Equivalent, 1) => {
            (a_most.max(b_most), &|i, j| length(a, i).max(length(b, j)))
        }
        (PairReduction::Equivalent, _) => (a_most + b_most, &|i, j| length(a, i) + length(b, j)),
    };
    if most <= plan::SHORT as u64 {
        return Ok(Classes::all_short(pairs.len(), most));
    }
    Classes::new(pairs.iter().map(|(i, j)| size(i, j)))
}

/// What the dispatches of a reduction have in common.
struct Recipe<'a> {
    flags: &'static [&'static str],
    /// Flags after the dispatch's own.
    shape: &'a [&'static str],
    dtype: DType,
    /// Words of a partial accumulator.
    part_words: u64,
    /// The values and the layout of the operand.
    a: [Slot; 2],
    /// The values and the layout of the right operand, and the list of pairs.
    right: Option<[Slot; 3]>,
    /// The parameters; each dispatch sets `count` and `listed`.
    params: Params,
}

/// The dispatches for the nonempty classes, and their scratch sizes.
fn dispatches(classes: &Classes, recipe: &Recipe<'_>) -> (Vec<Dispatch>, Vec<u64>) {
    let dispatch =
        |name: &'static str, count: u32, listed: Option<&Arc<PlanBuffer>>, groups, cost| {
            let mut flags = recipe.flags.to_vec();
            flags.push(name);
            flags.extend(recipe.shape);
            let [a, a_meta] = recipe.a.clone();
            let (out, partials) = (Slot::Output(0), Slot::Scratch(0));
            let items = listed.map_or(a_meta.clone(), |items| Slot::PlanBuffer(items.clone()));
            let params = Params {
                count: Param::U32(count),
                listed: Param::U32(u32::from(listed.is_some())),
                ..recipe.params
            };
            let variant_of = |kernel: &'static Kernel| kernel.variant(recipe.dtype, &flags);
            match (recipe.right.clone(), name) {
                (None, "TILES") => {
                    let slots = TileSlots {
                        out,
                        items,
                        a,
                        a_meta,
                        partials,
                    };
                    Dispatch::new(variant_of(&TILES), slots, params, groups, cost)
                }
                (None, _) => {
                    let slots = Slots {
                        out,
                        items,
                        a,
                        a_meta,
                    };
                    Dispatch::new(variant_of(&KERNEL), slots, params, groups, cost)
                }
                (Some([b, b_meta, pair_list]), "TILES") => {
                    let slots = PairTileSlots {
                        out,
                        items,
                        a,
                        a_meta,
                        b,
                        b_meta,
                        pair_list,
                        partials,
                    };
                    Dispatch::new(variant_of(&PAIR_TILES), slots, params, groups, cost)
                }
                (Some([b, b_meta, pair_list]), _) => {
                    let slots = PairSlots {
                        out,
                        items,
                        a,
                        a_meta,
                        b,
                        b_meta,
                        pair_list,
                    };
                    Dispatch::new(variant_of(&PAIR), slots, params, groups, cost)
                }
            }
        };
    let mut dispatches = Vec::new();
    let mut scratch = Vec::new();
    if classes.short > 0 {
        // Every element is visited; those of other classes are skipped.
        let groups = classes.elements.div_ceil(plan::WG) as u32;
        let cost = (classes.short * plan::SHORT) as u64;
        let count = classes.elements as u32;
        dispatches.push(dispatch("THREAD", count, None, groups, cost));
    }
    if classes.middle > 0 {
        let groups = classes.middle.div_ceil(plan::WG / plan::LANES_EACH) as u32;
        let items = classes.middle_items.as_ref();
        let cost = classes.middle_values;
        let count = classes.middle as u32;
        dispatches.push(dispatch("LANES", count, items, groups, cost));
    }
    if let Some(tiles) = &classes.tiles {
        let groups = (tiles.data().len() / TILE_WORDS) as u32;
        let cost = u64::from(groups) * plan::TILE;
        dispatches.push(dispatch("TILES", groups, Some(tiles), groups, cost));
        scratch.push(recipe.part_words * u64::from(classes.parts.max(1)));
    }
    if let Some(finish) = &classes.finish {
        // From f16, only boxes are reduced here, and their parts are words.
        let dtype = match recipe.dtype {
            DType::F16 => DType::U32,
            other => other,
        };
        dispatches.push(Dispatch::new(
            FINISH.variant(dtype, recipe.flags),
            FinishSlots {
                out: Slot::Output(0),
                items: Slot::PlanBuffer(finish.clone()),
                partials: Slot::Scratch(0),
            },
            FinishParams {
                rank: recipe.params.rank,
            },
            (finish.data().len() / FINISH_WORDS) as u32,
            u64::from(classes.parts),
        ));
    }
    (dispatches, scratch)
}
