//! Connected components of images: a label for each cell, and the number of components of each element.
//!
//! On a GPU, an image of few cells is labelled by one workgroup: values read once, labels written once, in one
//! dispatch. A larger one is cut into tiles, in five dispatches. Each tile is labelled by itself, so that every cell
//! knows the first cell of its component in the tile, its *parent*. Cells on both sides of a border are united: the
//! later of two first cells gets the earlier one as its parent. First cells that still are their own parents are
//! those of components; they are bits of a map, and are counted in row-major order. Last, every cell follows its
//! parents to the first cell of its component, whose number is the label.
//!
//! Cost: 8 bytes for each cell of a small image. For a larger one 16, and half a byte for the map, which is written
//! once and read three times; the borders of tiles are read once more. The parents take 4 bytes for each cell of the
//! batch, the map and its ranks a quarter of a byte.
//!
//! Parents only ever decrease, by atomic minima, so that the result does not depend on the order of workgroups, and no
//! invocation waits for another.

mod launch;
mod plan;
mod twin;

pub(crate) use self::twin::{Bands, Rule};

use self::plan::Work;
use crate::ops::kit::Neighbours;
use crate::plan::{Dispatch, Interface, Kernel, Param, Slot, params, shader, slots, variants};
use crate::ragged::{DType, Layout};

/// The name of the operation in errors.
pub(crate) const OP: &str = "label";

/// The labels and the numbers of components of integers, which are compared by their bits. The scalar is the
/// background.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Label {
    pub neighbours: Neighbours,
    /// Whether all values but the background are alike.
    pub foreground: bool,
}

slots! {
    struct Slots { labels: Write, counts: Write, items: Read, x: Read, x_meta: Read }
}

slots! {
    struct TileSlots { parents: Write, roots: Write, items: Read, x: Read, x_meta: Read }
}

slots! {
    struct RankSlots { ranks: Write, sums: Write, roots: Read }
}

slots! {
    struct FinishSlots {
        labels: Write, counts: Write, parents: Write, roots: Read, ranks: Read, items: Read, x_meta: Read,
     }
}

params! {
    struct Params { elements, x_base, background, eight, foreground }
}

params! {
    struct RankParams { words }
}

params! {
    struct FinishParams { elements }
}

/// Images of few cells.
static KERNEL: Kernel = Kernel {
    shader: shader!("label/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[plan::TILE],
    variants: variants![U32 "WHOLE"],
};

/// The tiles of larger images, each by itself.
static TILES: Kernel = Kernel {
    shader: shader!("label/mod", "label_tiles"),
    interface: Interface::of::<TileSlots, Params>(),
    constants: &[plan::TILE],
    variants: variants![U32 "TILES"],
};

/// Unites what meets at the borders of tiles.
static BORDERS: Kernel = Kernel {
    shader: shader!("label/borders"),
    interface: Interface::of::<TileSlots, Params>(),
    constants: &[plan::TILE],
    variants: variants![U32],
};

/// The number of bits of the map before each of its words.
static RANKS: Kernel = Kernel {
    shader: shader!("label/ranks"),
    interface: Interface::of::<RankSlots, RankParams>(),
    constants: &[plan::BLOCKS],
    variants: variants![U32 "SUMS", U32],
};

/// The labels of larger images.
static FINISH: Kernel = Kernel {
    shader: shader!("label/finish"),
    interface: Interface::of::<FinishSlots, FinishParams>(),
    constants: &[plan::TILE],
    variants: variants![U32],
};

impl Label {
    fn dispatches(self, x: &Layout, work: Work) -> (Vec<Dispatch>, Vec<u64>) {
        let mut all = Vec::new();
        let elements = Param::U32(x.len() as u32);
        let params = Params {
            elements,
            x_base: Param::InputBase(0),
            background: Param::Scalar(0),
            eight: Param::U32((self.neighbours == Neighbours::Eight).into()),
            foreground: Param::U32(self.foreground.into()),
        };
        let (labels, counts) = (Slot::Output(0), Slot::Output(1));
        if work.whole_groups > 0 {
            let slots = Slots {
                labels: labels.clone(),
                counts: counts.clone(),
                items: Slot::PlanBuffer(work.whole),
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
            };
            let kernel = KERNEL.variant(DType::U32, &["WHOLE"]);
            let cost = u64::from(work.whole_groups) * plan::CELLS as u64;
            all.push(Dispatch::new(
                kernel,
                slots,
                params,
                work.whole_groups,
                cost,
            ));
        }
        if work.tile_groups == 0 {
            return (all, Vec::new());
        }
        let items = Slot::PlanBuffer(work.tiles);
        let cost = u64::from(work.tile_groups) * plan::CELLS as u64;
        let [parents, roots, ranks, sums] = [0, 1, 2, 3].map(Slot::Scratch);
        let of_tiles = || TileSlots {
            parents: parents.clone(),
            roots: roots.clone(),
            items: items.clone(),
            x: Slot::Input(0),
            x_meta: Slot::InputMeta(0),
        };
        let tiles = TILES.variant(DType::U32, &["TILES"]);
        let borders = BORDERS.variant(DType::U32, &[]);
        all.push(Dispatch::new(
            tiles,
            of_tiles(),
            params,
            work.tile_groups,
            cost,
        ));
        all.push(Dispatch::new(
            borders,
            of_tiles(),
            params,
            work.tile_groups,
            cost / 4,
        ));
        let blocks = work.words.div_ceil(plan::BLOCK as u32);
        for flags in [&["SUMS"][..], &[]] {
            all.push(Dispatch::new(
                RANKS.variant(DType::U32, flags),
                RankSlots {
                    ranks: ranks.clone(),
                    sums: sums.clone(),
                    roots: roots.clone(),
                },
                RankParams {
                    words: Param::U32(work.words),
                },
                blocks,
                work.words.into(),
            ));
        }
        all.push(Dispatch::new(
            FINISH.variant(DType::U32, &[]),
            FinishSlots {
                labels,
                counts,
                parents,
                roots,
                ranks,
                items,
                x_meta: Slot::InputMeta(0),
            },
            FinishParams { elements },
            work.tile_groups,
            cost,
        ));
        let (cells, words) = (x.total() as u64, u64::from(work.words));
        (all, vec![cells, words, words + 1, blocks.into()])
    }
}
