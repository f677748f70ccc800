//! Balanced trees over the tiles of an element, on the CPU.

use std::ops::Range;

use crate::ops::kit::join;

/// Values of a tile.
pub(super) const TILE: usize = 512;
/// Number of tiles from which the two halves of an element are worth two threads.
const SPLIT: usize = 64;

/// Combines `tile(range)` over the tiles of `0..size` in a balanced tree, which depends on `size` alone, not on the
/// number of threads.
pub(super) fn tree<A: Send>(
    size: usize,
    tile: &(impl Fn(Range<usize>) -> A + Sync),
    combine: &(impl Fn(A, A) -> A + Sync),
) -> A {
    fn branch<A: Send>(
        tiles: Range<usize>,
        tile: &(impl Fn(Range<usize>) -> A + Sync),
        combine: &(impl Fn(A, A) -> A + Sync),
        size: usize,
    ) -> A {
        let count = tiles.len();
        if count <= 1 {
            let start = tiles.start * TILE;
            return tile(start..(start + TILE).min(size));
        }
        let middle = tiles.start + count / 2;
        let (left, right) = (tiles.start..middle, middle..tiles.end);
        let (x, y) = if count >= SPLIT {
            join(
                || branch(left, tile, combine, size),
                || branch(right, tile, combine, size),
            )
        } else {
            (
                branch(left, tile, combine, size),
                branch(right, tile, combine, size),
            )
        };
        combine(x, y)
    }
    branch(0..size.div_ceil(TILE), tile, combine, size)
}
