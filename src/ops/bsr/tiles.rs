//! Tiles of block-sparse products: a table for each way to multiply, and the rule that selects a product's tile.

use std::ops::RangeInclusive;

use crate::plan::Matrices;

/// A workgroup's tile of a block-sparse product: one row of blocks and some columns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SparseTile {
    /// The flag of its kernel variants.
    pub flag: &'static str,
    pub rows: u32,
    pub columns: u32,
    /// Rows and columns computed by one invocation or, on cooperative matrices, by one subgroup.
    pub part: [u32; 2],
    /// Depth along the inner extent that is staged at a time.
    pub depth: u32,
    /// Sets of invocations that split a tile's inner sums, as in a dense tile.
    pub sets: u32,
    /// Block heights that it supports.
    blocks: &'static [u32],
    /// The smallest number of columns for which a product takes it.
    pub from: u32,
    /// Whether only devices of the native tier take it.
    pub native: bool,
    /// The largest number of columns for which a product takes it.
    to: u32,
    /// How many subgroups take turns at the memory that results pass through if the dense factor is stored transposed,
    /// because its stages then take more of the remaining memory.
    turns: u32,
    /// The largest number of adjacent tiles that one workgroup computes.
    pub together: u32,
    /// On cooperative matrices: segment widths that may divide the block width, best first; each has its own variants.
    pub segments: &'static [u32],
}

const fn sparse(
    flag: &'static str,
    [rows, columns]: [u32; 2],
    part: [u32; 2],
    blocks: &'static [u32],
) -> SparseTile {
    SparseTile {
        flag,
        rows,
        columns,
        part,
        depth: 16,
        sets: 1,
        blocks,
        from: 0,
        native: false,
        to: u32::MAX,
        turns: 1,
        together: 1,
        segments: &[],
    }
}

/// Columns of the baseline's tiles: of the narrow tile, and of the others.
pub(crate) const NARROW: u32 = 32;
pub(crate) const WIDE: u32 = 128;

const fn wide(flag: &'static str, rows: u32, part: [u32; 2], blocks: &'static [u32]) -> SparseTile {
    SparseTile {
        from: NARROW + 1,
        ..sparse(flag, [rows, WIDE], part, blocks)
    }
}

/// Tiles for every device: one for few columns, and others whose height divides that of the blocks.
pub(crate) const SPARSE: [SparseTile; 6] = [
    sparse(
        "NARROW",
        [16, NARROW],
        [4, 4],
        &[8, 16, 32, 48, 64, 96, 128],
    ),
    wide("H8", 8, [4, 4], &[8]),
    wide("H16", 16, [4, 4], &[16]),
    wide("H32", 32, [4, 8], &[32]),
    wide("H48", 48, [4, 8], &[48, 96]),
    wide("H64", 64, [8, 8], &[64, 128]),
];

/// Tiles of the native tier, for few columns.
pub(crate) const SPARSE_NATIVE: [SparseTile; 2] = [
    SparseTile {
        sets: 32,
        native: true,
        to: 16,
        ..sparse("SETS8", [16, 8], [4, 4], &[8, 16, 32, 48, 64, 96, 128])
    },
    SparseTile {
        sets: 16,
        native: true,
        to: NARROW,
        ..sparse("SETS16", [32, 16], [4, 4], &[32, 64, 96, 128])
    },
];

const S32: &[u32] = &[32, 8];
const S16: &[u32] = &[16, 8];

const fn matrix(
    flag: &'static str,
    tile: [u32; 2],
    part: [u32; 2],
    blocks: &'static [u32],
) -> SparseTile {
    SparseTile {
        depth: 32,
        segments: S32,
        ..sparse(flag, tile, part, blocks)
    }
}

/// Tiles on 16 × 16 matrices, as high as the blocks. Wide tiles reuse the loaded values of a more often.
pub(crate) const SPARSE_SIXTEEN: [SparseTile; 9] = [
    SparseTile {
        depth: 16,
        segments: S16,
        ..matrix("H8", [8, 128], [16, 128], &[8])
    },
    SparseTile {
        depth: 16,
        together: 8,
        segments: S16,
        ..matrix("H16", [16, 128], [16, 128], &[16])
    },
    matrix("H32", [32, 128], [32, 64], &[32]),
    SparseTile {
        segments: S16,
        ..matrix("H48", [48, 128], [48, 64], &[48])
    },
    SparseTile {
        together: 8,
        ..matrix("H64", [64, 128], [32, 64], &[64])
    },
    matrix("H96", [96, 128], [48, 64], &[96]),
    SparseTile {
        together: 8,
        ..matrix("H128", [128, 128], [64, 64], &[128])
    },
    SparseTile {
        from: 129,
        turns: 4,
        together: 2,
        ..matrix("WIDE32", [32, 256], [32, 64], &[32])
    },
    SparseTile {
        from: 257,
        turns: 4,
        together: 8,
        ..matrix("WIDE64", [64, 512], [64, 64], &[64])
    },
];

const fn eight(
    flag: &'static str,
    rows: u32,
    part: [u32; 2],
    blocks: &'static [u32],
) -> SparseTile {
    SparseTile {
        depth: 16,
        segments: &[8],
        ..sparse(flag, [rows, WIDE], part, blocks)
    }
}

/// Tiles on 8 × 8 matrices, as high as the blocks, that fit 16 KiB of workgroup memory. They have not been measured on
/// a GPU that has such matrices.
pub(crate) const SPARSE_EIGHT: [SparseTile; 7] = [
    eight("H8", 8, [8, 32], &[8]),
    eight("H16", 16, [16, 32], &[16]),
    eight("H32", 32, [32, 32], &[32]),
    eight("H48", 48, [48, 32], &[48]),
    eight("H64", 64, [32, 64], &[64]),
    eight("H96", 96, [48, 32], &[96]),
    eight("H128", 128, [64, 32], &[128]),
];

impl SparseTile {
    /// The tiles of a device for blocks of this height, each with the range of columns for which products take it.
    pub(crate) fn all(
        block_high: u32,
        native: bool,
    ) -> Vec<(&'static SparseTile, RangeInclusive<u32>)> {
        let place = |columns| &SPARSE[SparseTile::of(&SPARSE, block_high, columns)];
        let mut all = vec![(place(WIDE), NARROW + 1..=u32::MAX)];
        let mut next = 1;
        for tile in &SPARSE_NATIVE {
            if native && tile.blocks.contains(&block_high) {
                all.push((tile, next..=tile.to));
                next = tile.to + 1;
            }
        }
        if next <= NARROW {
            all.push((place(NARROW), next..=NARROW));
        }
        all
    }

    /// The index of the tile for blocks of this height and a product of this many columns: the last one that supports
    /// them.
    pub(crate) fn of(tiles: &[SparseTile], block_high: u32, columns: u32) -> usize {
        let fits = |tile: &SparseTile| tile.blocks.contains(&block_high) && columns >= tile.from;
        // Every height has a tile for any number of columns.
        tiles.iter().rposition(fits).unwrap_or(0)
    }

    /// How many subgroups take turns at the memory that results pass through.
    pub(crate) fn turns(&self, transposed: bool) -> u32 {
        if transposed { self.turns } else { 1 }
    }

    /// Subgroups per tile, on cooperative matrices.
    pub(crate) fn subgroups(&self) -> u32 {
        // Blocks of eight rows leave half of a 16 × 16 matrix unused.
        (self.rows / self.part[0]).max(1) * (self.columns / self.part[1])
    }

    /// The segment width for this block width: how much of a stage's depth lies in one block.
    pub(crate) fn segment(&self, block_wide: u32) -> u32 {
        let fits = |segment: &u32| block_wide.is_multiple_of(*segment);
        // All widths are multiples of 8.
        self.segments.iter().copied().find(fits).unwrap_or(8)
    }
}

impl Matrices {
    /// The tiles of block-sparse products on these matrices.
    pub(crate) const fn sparse(self) -> &'static [SparseTile] {
        match self {
            Matrices::Eight => &SPARSE_EIGHT,
            Matrices::Sixteen => &SPARSE_SIXTEEN,
        }
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    /// Every block height has a tile in every case, whose height divides it unless the tile is narrow.
    #[apply(unit_test)]
    fn a_sparse_tile_fits_its_blocks() {
        for high in [8, 16, 32, 48, 64, 96, 128] {
            for columns in [1, 100, 200, 600] {
                let tile = SPARSE_SIXTEEN[SparseTile::of(&SPARSE_SIXTEEN, high, columns)];
                assert_eq!(tile.rows, high, "{tile:?}");
                assert!(tile.columns <= 128 || columns > tile.columns / 2);
                let tile = SPARSE_EIGHT[SparseTile::of(&SPARSE_EIGHT, high, columns)];
                assert_eq!([tile.rows, tile.columns], [high, WIDE], "{tile:?}");
                let tile = SPARSE[SparseTile::of(&SPARSE, high, columns)];
                assert_eq!(tile.columns, if columns <= 32 { NARROW } else { WIDE });
                assert!(high.is_multiple_of(tile.rows) || tile.flag == "NARROW");
            }
        }
    }
}
