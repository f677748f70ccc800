//! Work lists: cutting elements of very unequal work into tiles, the longest first.

use std::sync::Arc;

use super::Words;

/// Tiles of a fixed size of the elements of a batch, for kernels whose work per element differs.
#[derive(Debug)]
pub(crate) struct TileList {
    /// `[element, first value inside it]` for each tile, costly elements first.
    pub items: Arc<Words>,
    /// Where each element's tiles begin when they are numbered in element order: `n + 1` words.
    pub starts: Arc<Words>,
    /// Tiles in all.
    pub tiles: u32,
}

/// The number of tiles of `size` values that cover `length` values.
pub(crate) fn tiles_of(length: usize, size: usize) -> usize {
    length.div_ceil(size)
}

impl TileList {
    /// Cuts element `i` of `lengths` into tiles of `size`; `cost(i)` is the work of one of its tiles.
    ///
    /// Tiles are put in order of falling cost, to within a factor of two, so that the last workgroups to start are
    /// short ones. The order changes when a tile runs, never what it computes.
    pub(crate) fn new(lengths: &[u32], size: usize, cost: impl Fn(usize) -> u64) -> TileList {
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        let mut tiles = 0u32;
        let mut of_class = [0u32; 65];
        let class = |i: usize| (u64::BITS - cost(i).leading_zeros()) as usize;
        for (i, &length) in lengths.iter().enumerate() {
            starts.push(tiles);
            let count = tiles_of(length as usize, size) as u32;
            tiles += count;
            of_class[class(i)] += count;
        }
        starts.push(tiles);
        let mut next = [0u32; 65];
        let mut at = 0;
        for class in (0..65).rev() {
            next[class] = at;
            at += of_class[class];
        }
        let mut items = vec![0u32; tiles as usize * 2];
        for (i, pair) in starts.windows(2).enumerate() {
            let slot = &mut next[class(i)];
            for tile in 0..pair[1] - pair[0] {
                items[*slot as usize * 2] = i as u32;
                items[*slot as usize * 2 + 1] = tile * size as u32;
                *slot += 1;
            }
        }
        TileList {
            items: Words::new(items),
            starts: Words::new(starts),
            tiles,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_value_once_and_costly_ones_come_first() {
        let lengths = [0, 5, 1000, 448, 449, 3];
        let list = TileList::new(&lengths, 448, |i| u64::from(lengths[i]));
        assert_eq!(list.starts.data(), [0, 0, 1, 4, 5, 7, 8]);
        assert_eq!(list.tiles, 8);
        let mut seen: Vec<(u32, u32)> = list.items.data().chunks(2).map(|c| (c[0], c[1])).collect();
        assert_eq!(seen[..3], [(2, 0), (2, 448), (2, 896)]);
        seen.sort_unstable();
        assert_eq!(
            seen,
            [
                (1, 0),
                (2, 0),
                (2, 448),
                (2, 896),
                (3, 0),
                (4, 0),
                (4, 448),
                (5, 0)
            ]
        );
    }
}
