//! Divides images into what a workgroup labels.
//!
//! A workgroup labels 64 words of 32 cells of a row: an image that fits, or a tile of 64 × 32 cells, or of as many
//! columns as 64 words allow if an image has few rows. A matrix of one column is labelled as one row.

use std::sync::Arc;

use crate::plan::{Constants, PlanBuffer, constants};
use crate::ragged::Layout;
use crate::{Result, host};

/// Cells of a workgroup: eight for each of 256 invocations, in at most [`WORDS`] words of 32 cells of a row.
pub(super) const CELLS: usize = 2048;
const WORDS: u32 = CELLS as u32 / 32;
pub(super) const TILE: Constants = constants![CELLS, WORDS];
/// Words of the map of first cells whose bits a workgroup counts: 16 for each of 256 invocations.
pub(super) const BLOCK: usize = 4096;
pub(super) const BLOCKS: Constants = constants![BLOCK];

/// An image in words of 32 cells of a row, as `shaders/lib/image.wgsl` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Image {
    rows: u32,
    columns: u32,
    /// Words of a row.
    across: u32,
    /// Whether a workgroup labels it alone.
    is_whole: bool,
    /// Words of a row of a tile, and rows of a tile.
    tile: [u32; 2],
}

impl Image {
    fn new([rows, columns]: [u32; 2]) -> Image {
        // A column is labelled as a row, which fills words.
        let [rows, columns] = match columns {
            1 => [1, rows],
            _ => [rows, columns],
        };
        let across = columns.div_ceil(32);
        let is_whole = u64::from(rows) * u64::from(across) <= u64::from(WORDS);
        let wide = match (is_whole, across, rows) {
            (true, ..) => across.max(1),
            (_, 1, _) => 1,
            (_, _, ..32) => WORDS / rows,
            _ => 2,
        };
        Image {
            rows,
            columns,
            across,
            is_whole,
            tile: [wide, WORDS / wide.min(WORDS)],
        }
    }
}

/// What each workgroup labels.
#[derive(Debug)]
pub(super) struct Work {
    /// The elements that are images of one workgroup.
    pub whole: Arc<PlanBuffer>,
    pub whole_groups: u32,
    /// `[element, first row, first column, first word of the element in the map]` for each tile of other elements.
    pub tiles: Arc<PlanBuffer>,
    pub tile_groups: u32,
    /// Words of the map.
    pub words: u32,
}

impl Work {
    pub(super) fn new(x: &Layout) -> Result<Work> {
        let (mut whole, mut tiles) = (Vec::new(), Vec::new());
        let mut words = 0;
        for (element, extents) in (0..).zip(x.extents().chunks_exact(2)) {
            let image = Image::new([extents[0], extents[1]]);
            if image.is_whole {
                host::push(&mut whole, element)?;
                continue;
            }
            let [wide, high] = image.tile;
            for row in (0..image.rows).step_by(high as usize) {
                for column in (0..image.columns).step_by(32 * wide as usize) {
                    host::extend(&mut tiles, [element, row, column, words])?;
                }
            }
            // Each word has at least one cell, so there are fewer than 2³².
            words += image.rows * image.across;
        }
        Ok(Work {
            whole_groups: whole.len() as u32,
            tile_groups: (tiles.len() / 4) as u32,
            whole: PlanBuffer::new(whole),
            tiles: PlanBuffer::new(tiles),
            words,
        })
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::Shape;

    fn of(shapes: &[[usize; 2]]) -> Work {
        let shapes = shapes.iter().map(|shape| Shape::new(shape).unwrap());
        Work::new(&Layout::from_shapes(2, shapes).unwrap()).unwrap()
    }

    #[apply(unit_test)]
    fn small_images_have_one_workgroup() {
        let shapes = [
            [64, 32],
            [32, 64],
            [1, 2048],
            [2048, 1],
            [0, 5000],
            [5000, 0],
            [7, 288],
        ];
        let work = of(&shapes);
        assert_eq!((work.whole_groups, work.tile_groups, work.words), (7, 0, 0));
        assert_eq!(work.whole.data(), [0, 1, 2, 3, 4, 5, 6]);
        for (shape, words) in [([65, 32], 65), ([33, 33], 66), ([1, 2049], 65)] {
            let work = of(&[shape]);
            assert_eq!((work.whole_groups, work.words), (0, words));
            assert_eq!(work.tile_groups, 2);
        }
    }

    #[apply(unit_test)]
    fn tiles_cover_an_image_in_row_major_order() {
        let work = of(&[[3, 3], [40, 100], [200, 1], [2, 5000]]);
        assert_eq!(work.whole.data(), [0, 2]);
        let tiles: Vec<_> = work.tiles.data().chunks(4).map(<[u32]>::to_vec).collect();
        let expected = [
            [1, 0, 0, 0],
            [1, 0, 64, 0],
            [1, 32, 0, 0],
            [1, 32, 64, 0],
            [3, 0, 0, 160],
            [3, 0, 1024, 160],
            [3, 0, 2048, 160],
            [3, 0, 3072, 160],
            [3, 0, 4096, 160],
        ];
        assert_eq!(tiles, expected.map(|tile| tile.to_vec()));
        assert_eq!(work.words, 160 + 2 * 157);
    }

    #[apply(unit_test)]
    fn tiles_have_few_unused_words() {
        for (extents, tile) in [
            ([1000, 1000], [2, 32]),
            ([1000, 2], [1, 64]),
            ([1, 100_000], [64, 1]),
            ([100_000, 1], [64, 1]),
            ([20, 1000], [3, 21]),
            ([31, 1000], [2, 32]),
            ([5, 100], [4, 16]),
        ] {
            assert_eq!(Image::new(extents).tile, tile, "{extents:?}");
        }
    }
}
