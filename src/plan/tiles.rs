//! Work lists: splitting elements of very different cost into tiles, most expensive first.

use std::sync::Arc;

use super::PlanBuffer;
use crate::{Error, Result, host};

/// The number of values per workgroup for a kernel that streams through a ragged batch and locates elements on the way.
///
/// Locating its first element costs a tile a few microseconds of latency regardless of its size. Larger tiles are
/// therefore better, as long as their elements mostly fit the kernel's tables and there are enough tiles for every core
/// of the device. The result is a power of two from 1024 to 4096; larger tiles gain nothing.
pub(crate) fn stream_tile(values: usize, elements: usize) -> usize {
    let average = values / elements.max(1);
    // Most tiles then contain no more elements than fit a table of 256.
    let by_table = 224 * average;
    // 2048 tiles: two rounds of eight tiles for each of 128 cores.
    let by_cores = values >> 11;
    let tile = by_table.min(by_cores).clamp(1 << 10, 1 << 12);
    1 << tile.ilog2()
}

/// Fixed-size tiles of the elements of a batch, for kernels whose work per element varies.
#[derive(Debug)]
pub(crate) struct TileList {
    /// `[element, first value within it]` for each tile, tiles of expensive elements first.
    pub items: Arc<PlanBuffer>,
    /// The index of each element's first tile, with tiles numbered in element order: `n + 1` words.
    pub starts: Arc<PlanBuffer>,
    /// The total number of tiles.
    pub tiles: u32,
}

/// The number of tiles of `size` values that cover `length` values.
pub(crate) fn tiles_of(length: usize, size: usize) -> usize {
    length.div_ceil(size)
}

impl TileList {
    /// Splits element `i` of `lengths` into tiles of `size` values; `cost(i)` is the work per tile.
    ///
    /// Sorts tiles by decreasing cost, to within a factor of two, so that the last workgroups to start are short. The
    /// order affects when a tile runs, never its result.
    pub(crate) fn new(
        lengths: &[u32],
        size: usize,
        cost: impl Fn(usize) -> u64,
    ) -> Result<TileList> {
        let mut starts = host::room(lengths.len() + 1)?;
        let mut tiles = 0u32;
        let mut of_class = [0u32; 65];
        let class = |i: usize| (u64::BITS - cost(i).leading_zeros()) as usize;
        for (i, &length) in lengths.iter().enumerate() {
            starts.push(tiles);
            let count = tiles_of(length as usize, size) as u32;
            let all = tiles.checked_add(count);
            tiles = all.ok_or_else(|| {
                Error::size_overflow(format!(
                    "a work list of at least {} tiles",
                    u64::from(tiles) + u64::from(count)
                ))
                .at(i)
            })?;
            of_class[class(i)] += count;
        }
        starts.push(tiles);
        let mut next = [0u32; 65];
        let mut at = 0;
        for class in (0..65).rev() {
            next[class] = at;
            at += of_class[class];
        }
        let mut items = host::zeroed::<u32>(tiles as usize * 2)?;
        for (i, pair) in starts.windows(2).enumerate() {
            let slot = &mut next[class(i)];
            for tile in 0..pair[1] - pair[0] {
                items[*slot as usize * 2] = i as u32;
                items[*slot as usize * 2 + 1] = tile * size as u32;
                *slot += 1;
            }
        }
        Ok(TileList {
            items: PlanBuffer::new(items),
            starts: PlanBuffer::new(starts),
            tiles,
        })
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn stream_tiles_grow_with_the_batch_and_shrink_with_its_elements() {
        assert_eq!(stream_tile(0, 0), 1024);
        assert_eq!(stream_tile(1 << 26, 40_000), 4096);
        assert_eq!(stream_tile(1 << 26, 1 << 23), 1024);
        assert_eq!(stream_tile(1 << 20, 1), 1024);
        assert_eq!(stream_tile(1 << 23, 100), 4096);
    }

    #[apply(unit_test)]
    fn tiles_cover_every_value_once_and_costly_ones_come_first() {
        let lengths = [0, 5, 1000, 448, 449, 3];
        let list = TileList::new(&lengths, 448, |i| u64::from(lengths[i])).unwrap();
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
