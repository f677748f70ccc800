//! Cuts the rows of blocks of a topology into pieces, once for each topology.

use std::sync::Arc;

use crate::plan::PlanBuffer;
use crate::ragged::Topology;
use crate::{Result, host};

/// The largest depth that is summed at a time.
pub(super) const BLOCK: u32 = 512;

/// Blocks that are summed at a time: a depth of 480 to 512.
pub(super) fn chunk(block_wide: u32) -> u32 {
    BLOCK / block_wide
}

/// The plan buffer of a topology for products by rows, or by columns.
pub(super) struct Rows {
    pub words: Arc<PlanBuffer>,
    /// Where the pieces begin, in pairs of words, and their number.
    pub pieces_at: u32,
    pub pieces: u32,
    /// Number of pieces, all at the front, that are more than twice as long as the mean.
    pub long: u32,
    /// Blocks of the longest piece, and of all pieces.
    pub longest: u32,
    pub blocks: usize,
    /// Where the cut rows begin, and their number.
    pub heavy_at: u32,
    pub heavy: u32,
    /// Pieces that are not the first of their row.
    pub slots: u32,
}

/// Cuts rows into pieces of at most `chunks` chunks of blocks. The longest pieces come first, so that the last
/// workgroups to start are short.
pub(super) fn rows(topology: &Topology, by_columns: bool, chunks: u32) -> Result<Arc<Rows>> {
    topology.derived([by_columns.into(), chunks], || {
        let order = topology.order(by_columns);
        let wide = topology.block()[usize::from(!by_columns)] as u32;
        let most = (chunks * chunk(wide)) as usize;
        let mut words = host::copied(order.entries.as_flattened())?;
        let (mut pieces, mut heavy) = (Vec::new(), Vec::new());
        let mut slots = 0;
        for (row, ends) in order.offsets.windows(2).enumerate() {
            let (begin, end) = (ends[0], ends[1]);
            let row = row as u32;
            let first = [begin, end.min(begin + most as u32), row, 0];
            host::push(&mut pieces, first)?;
            let others = ((end - begin) as usize).div_ceil(most).saturating_sub(1) as u32;
            if others > 0 {
                host::extend(&mut heavy, [row, others, slots, 0])?;
            }
            for other in 1..=others {
                let begin = begin + other * most as u32;
                slots += 1;
                let other = [begin, end.min(begin + most as u32), row, slots];
                host::push(&mut pieces, other)?;
            }
        }
        // Ties keep the original order; unlike a stable sort, this allocates no memory.
        pieces.sort_unstable_by_key(|&[begin, end, row, _]| {
            (std::cmp::Reverse(end - begin), row, begin)
        });
        let is_long = |[begin, end, ..]: &[u32; 4]| {
            let length = (end - begin) as usize;
            length * pieces.len() > 2 * order.entries.len()
        };
        let long = pieces.partition_point(is_long) as u32;
        let pieces_at = words.len() as u32 / 2;
        host::reserve(&mut words, 4 * pieces.len() + heavy.len())?;
        words.extend(pieces.as_flattened());
        let heavy_at = words.len() as u32 / 2;
        words.extend(&heavy);
        Ok(Arc::new(Rows {
            words: PlanBuffer::new(words),
            pieces_at,
            pieces: pieces.len() as u32,
            long,
            longest: pieces.first().map_or(0, |[begin, end, ..]| end - begin),
            blocks: order.entries.len(),
            heavy_at,
            heavy: heavy.len() as u32 / 4,
            slots,
        }))
    })
}

/// The plan buffer of a topology whose blocks are the results.
pub(super) struct SampledRows {
    pub words: Arc<PlanBuffer>,
    /// For wide and for narrow tiles: where the pieces begin, in pairs of words, and their number.
    pub pieces: [(u32, u32); 2],
}

/// Cuts rows into pieces of as many adjacent blocks as fit a tile of `columns` columns. Rows of at most `narrow_wide`
/// columns are listed for narrow tiles.
pub(super) fn sampled_rows(
    topology: &Topology,
    columns: u32,
    narrow_wide: u32,
) -> Result<Arc<SampledRows>> {
    topology.derived([columns, narrow_wide], || {
        let order = topology.order(false);
        let wide = topology.block()[1] as u32;
        let mut words = host::copied(order.entries.as_flattened())?;
        let mut pieces = [(0, 0); 2];
        for (narrow, pieces) in [false, true].into_iter().zip(&mut pieces) {
            let first = words.len() / 2;
            for (row, ends) in order.offsets.windows(2).enumerate() {
                if narrow != ((ends[1] - ends[0]).saturating_mul(wide) <= narrow_wide) {
                    continue;
                }
                for begin in (ends[0]..ends[1]).step_by((columns / wide) as usize) {
                    let end = ends[1].min(begin + columns / wide);
                    host::extend(&mut words, [begin, end, row as u32, 0])?;
                }
            }
            *pieces = (first as u32, ((words.len() / 2 - first) / 2) as u32);
        }
        Ok(Arc::new(SampledRows {
            words: PlanBuffer::new(words),
            pieces,
        }))
    })
}

/// Number of tiles of `columns` columns that cover the blocks of a product.
pub(super) fn sampled_tiles(topology: &Topology, columns: u32) -> u64 {
    let at_once = columns / topology.block()[1] as u32;
    let tiles = |blocks: u32| u64::from(blocks.div_ceil(at_once));
    topology.order(false).counts().map(tiles).sum()
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    /// Every block is in one piece, and every later piece of a row has a slot of its own.
    #[apply(unit_test)]
    fn pieces_cover_every_block_once() {
        let shape = [64 * 16, 700 * 48];
        let block = [16, 48];
        let places = (0..64u32).flat_map(|row| {
            let stored = [0, 1, 40, 41, 700][row as usize % 5];
            (0..stored).map(move |column| (row, column))
        });
        let topology = Topology::from_unsorted(shape, block, places).unwrap();
        for (by_columns, chunks) in [(false, 4), (true, 4), (false, 16), (true, 16)] {
            let rows = rows(&topology, by_columns, chunks).unwrap();
            let words = rows.words.data();
            let pieces = words[2 * rows.pieces_at as usize..2 * rows.heavy_at as usize].chunks(4);
            let long = pieces.clone().filter(|piece| {
                (piece[1] - piece[0]) as usize * rows.pieces as usize > 2 * topology.len()
            });
            assert_eq!(rows.long as usize, long.count());
            let mut met = vec![0; topology.len()];
            let mut slots = vec![0; rows.slots as usize + 1];
            for piece in pieces {
                let row = topology.order(by_columns).offsets[piece[2] as usize..].to_vec();
                assert!(row[0] <= piece[0] && piece[1] <= row[1]);
                met[piece[0] as usize..piece[1] as usize]
                    .iter_mut()
                    .for_each(|met| *met += 1);
                slots[piece[3] as usize] += 1;
            }
            assert!(met.iter().all(|&met| met == 1));
            assert!(slots[1..].iter().all(|&slot| slot == 1));
            assert_eq!(slots[0] as usize, topology.grid()[usize::from(by_columns)]);
            let heavy = if chunks == 4 { 25 } else { 12 };
            assert!(
                by_columns || rows.heavy == heavy,
                "the rows with 41 and with 700 blocks"
            );
        }
    }
}
