//! Tiles of dense products: a table for each way to multiply, and the rule that selects a product's tile.
//!
//! The choice depends only on the product's own shape and on the table, except among native tiles for long sums, which
//! all give the same bits. So other products change no bit. The tables come from the measurements in
//! `docs/performance.md`.
//!
//! **Order of sums.** Tiles for every device add 512 products at a time. A long sum of few values would be one tile of
//! 32 × 32, 64 invocations alone on a core. In the native tier, s sets of invocations share such a sum, without
//! workgroup memory and its barriers, so that as many loads as possible are in flight. The sum is cut into blocks of 32
//! · ⌈k / 2048⌉ products, at most 512. Each set computes every s-th block, and after every round of one block per set,
//! their sums are added in order. If a launch has many of these products, they have work for every core without sets,
//! which would only load more: `KEPT` computes all blocks of a tile of 32 × 32, with both sums in registers. All four
//! kernels thus add in the same order, so that a launch may take the largest tile that its products together fill often
//! enough.

use crate::plan::Matrices;
use crate::{Result, host};

/// A workgroup's tile of a dense product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct DenseTile {
    /// The flag of its kernel variants.
    pub flag: &'static str,
    pub rows: u32,
    pub columns: u32,
    /// Rows and columns computed by one invocation or, on cooperative matrices, by one subgroup.
    pub part: [u32; 2],
    /// Depth along the inner extent that is staged at a time.
    pub depth: u32,
    /// Sets of invocations that split a tile's inner sums, a block each. With more than one, nothing is staged.
    pub sets: u32,
    /// Rows of tiles that are processed together, so that their values of b stay in the cache.
    pub band: u32,
    /// Whether only devices of the native tier take it.
    pub native: bool,
    /// The smallest number of tiles for which a product takes this tile. A larger tile reuses loaded values more; a
    /// smaller one leaves work for every core.
    least: u64,
    /// Whether it supports loose factors, which are not made of whole aligned quads of words.
    pub loose: bool,
    /// Whether it supports a right factor that is stored transposed.
    pub transposed: bool,
}

const fn dense(flag: &'static str, [rows, columns]: [u32; 2], part: [u32; 2]) -> DenseTile {
    DenseTile {
        flag,
        rows,
        columns,
        part,
        depth: 16,
        sets: 1,
        band: 8,
        native: false,
        least: 0,
        loose: true,
        transposed: true,
    }
}

/// Tiles for every device.
pub(crate) const DENSE: [DenseTile; 3] = [
    dense("T32", [32, 32], [4, 4]),
    DenseTile {
        least: 128,
        ..dense("T64", [64, 64], [8, 4])
    },
    DenseTile {
        least: 128,
        // Supports loose operands, but T64 is faster.
        loose: false,
        ..dense("T128", [64, 128], [8, 8])
    },
];

/// Limits that kernels of the native tier require: invocations and bytes of memory per workgroup.
pub(crate) const NATIVE_INVOCATIONS: u32 = 1024;
pub(crate) const NATIVE_MEMORY: u32 = 32_768;

const fn native(flag: &'static str, tile: [u32; 2], sets: u32, least: u64) -> DenseTile {
    DenseTile {
        sets,
        native: true,
        least,
        ..dense(flag, tile, [4, 4])
    }
}

/// Tiles for devices of the native tier: the baseline's, followed by those for long sums of small products. The latter
/// sum in short blocks, one after the other in registers or one for each set of invocations, so all give the same bits.
pub(crate) const NATIVE: [DenseTile; 7] = [
    DENSE[0],
    DENSE[1],
    DENSE[2],
    native("KEPT", [32, 32], 1, 160),
    native("SETS16", [16, 32], 16, 80),
    native("SETS64", [8, 16], 64, 80),
    native("SETS", [8, 8], 64, 0),
];

/// The inner extent from which sums count as long.
const LONG: u32 = 256;

/// The tile in `NATIVE` for each product, given as (m, k, n) and whether its factors are loose. Small products with
/// long sums all take the largest tile of which their values fill enough, which changes no bit.
pub(crate) fn native_tiles(products: &[([u32; 3], bool)]) -> Result<Vec<usize>> {
    let own = |&([m, k, n], loose): &([u32; 3], bool)| {
        let tile = DenseTile::of(&DENSE, [m, n], loose);
        (tile, tile == 0 && k >= LONG)
    };
    let long = products.iter().filter(|product| own(product).1);
    let values = long.map(|([m, _, n], _)| u64::from(*m) * u64::from(*n));
    let values = values.fold(0, u64::saturating_add);
    let enough = |tile: &usize| {
        let tile = &NATIVE[*tile];
        values >= tile.least * u64::from(tile.rows * tile.columns)
    };
    // The last tile always has enough values.
    let shared = (DENSE.len()..NATIVE.len()).find(enough).unwrap_or(0);
    let tile = |product| match own(product) {
        (_, true) => shared,
        (tile, _) => tile,
    };
    host::exact(products.iter().map(tile))
}

/// Tiles on 16 × 16 matrices.
pub(crate) const DENSE_SIXTEEN: [DenseTile; 4] = [
    // One subgroup: it never waits for another, and many fit on a core.
    dense("T32", [32, 32], [32, 32]),
    DenseTile {
        depth: 64,
        least: 2,
        ..dense("T64", [64, 64], [32, 32])
    },
    DenseTile {
        depth: 32,
        least: 100,
        ..dense("T128", [128, 128], [64, 64])
    },
    DenseTile {
        depth: 48,
        band: 32,
        least: 128,
        // Transposed right factors do not fit workgroup memory.
        transposed: false,
        ..dense("T256", [128, 256], [64, 64])
    },
];

/// Tiles on 8 × 8 matrices, of conventional sizes that fit 16 KiB of workgroup memory. They have not been measured on a
/// GPU that has such matrices.
pub(crate) const DENSE_EIGHT: [DenseTile; 2] = [
    dense("T32", [32, 32], [16, 16]),
    DenseTile {
        least: 16,
        ..dense("T64", [64, 64], [32, 32])
    },
];

impl DenseTile {
    pub(crate) fn count(&self, [m, n]: [u32; 2]) -> u64 {
        u64::from(m.div_ceil(self.rows)) * u64::from(n.div_ceil(self.columns))
    }

    /// The index of the tile for an m × n product: the largest that has enough tiles and supports the factors.
    pub(crate) fn of(tiles: &[DenseTile], extents: [u32; 2], loose: bool) -> usize {
        let fits = |tile: &DenseTile| tile.count(extents) >= tile.least && (tile.loose || !loose);
        // The first tile supports every product.
        tiles.iter().rposition(fits).unwrap_or(0)
    }

    /// Calls `f` with the first row and column of every tile of an m × n product, band by band.
    pub(crate) fn for_each(&self, [m, n]: [u32; 2], mut f: impl FnMut(u32, u32)) {
        let band_rows = self.band * self.rows;
        for band in (0..m).step_by(band_rows as usize) {
            let end = m.min(band.saturating_add(band_rows));
            for column in (0..n).step_by(self.columns as usize) {
                for row in (band..end).step_by(self.rows as usize) {
                    f(row, column);
                }
            }
        }
    }
}

impl Matrices {
    /// The tiles of dense products on these matrices, whose right factors may be stored transposed.
    pub(crate) const fn dense(self, transposed: bool) -> &'static [DenseTile] {
        match (self, transposed) {
            (Matrices::Eight, _) => &DENSE_EIGHT,
            (Matrices::Sixteen, false) => &DENSE_SIXTEEN,
            (Matrices::Sixteen, true) => DENSE_SIXTEEN.split_at(3).0,
        }
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    /// Every value of every product lies in exactly one tile.
    #[apply(unit_test)]
    fn tiles_cover_every_result_once() {
        for (m, n) in [
            (1, 1),
            (33, 31),
            (64, 65),
            (700, 20),
            (1500, 1500),
            (1, 40_000),
        ] {
            for tiles in [&DENSE[..], &DENSE_SIXTEEN, &DENSE_EIGHT] {
                let tile = &tiles[DenseTile::of(tiles, [m, n], false)];
                let mut met = Vec::new();
                tile.for_each([m, n], |row, column| met.push((row, column)));
                met.sort_unstable();
                let rows = (0..m).step_by(tile.rows as usize);
                let expected: Vec<_> = rows
                    .flat_map(|row| {
                        let columns = (0..n).step_by(tile.columns as usize);
                        columns.map(move |column| (row, column))
                    })
                    .collect();
                assert_eq!(met, expected, "{m} {n} {tile:?}");
            }
        }
    }

    #[apply(unit_test)]
    fn a_dense_tile_depends_on_the_product_alone_and_leaves_work_for_all() {
        let flag =
            |tiles: &[DenseTile], side, loose| tiles[DenseTile::of(tiles, [side; 2], loose)].flag;
        for (side, expected) in [(8, "T32"), (512, "T32"), (768, "T64"), (1024, "T128")] {
            for loose in [false, true] {
                let found = flag(&DENSE, side, loose);
                let expected = match expected {
                    "T128" if loose => "T64",
                    _ => expected,
                };
                assert_eq!(found, expected, "{side}");
            }
        }
        for (side, expected) in [(32, "T32"), (512, "T64"), (1280, "T128"), (2048, "T256")] {
            assert_eq!(flag(&DENSE_SIXTEEN, side, false), expected, "{side}");
        }
        assert_eq!(flag(&DENSE_SIXTEEN, 4096, true), "T256");
        assert_eq!(flag(Matrices::Sixteen.dense(true), 4096, false), "T128");
    }

    #[apply(unit_test)]
    fn sets_share_long_sums_where_a_launch_has_few_tiles() {
        let flags = |products: &[[u32; 3]]| -> Vec<&str> {
            let products: Vec<_> = products.iter().map(|&p| (p, false)).collect();
            let tiles = native_tiles(&products).unwrap().into_iter();
            tiles.map(|tile| NATIVE[tile].flag).collect()
        };
        assert_eq!(flags(&[[32, 4096, 32]]), ["SETS"]);
        assert_eq!(flags(&[[1, 4096, 4096]]), ["SETS"]);
        assert_eq!(flags(&[[16, 768, 768]]), ["SETS64"]);
        assert_eq!(flags(&[[256, 1024, 256]]), ["SETS16"]);
        assert_eq!(flags(&[[512, 512, 512]]), ["KEPT"]);
        assert_eq!(flags(&[[32, 255, 32]]), ["T32"]);
        assert_eq!(flags(&[[32, 4096, 32]; 1000]), ["KEPT"; 1000]);
        // Other products take their own tiles and do not count.
        let mixed = [[1024, 1024, 1024], [32, 4096, 32], [704, 8, 768], [8, 8, 8]];
        assert_eq!(flags(&mixed), ["T128", "SETS", "T64", "T32"]);
        assert!(flags(&[]).is_empty());
    }
}
