//! Divides the values of a batch among workgroups.

use std::sync::Arc;

use crate::plan::{Constants, PlanBuffer, constants};
use crate::ragged::Layout;
use crate::{Result, host};

/// Counters in workgroup memory: 16 KiB, which every device has.
const COUNTERS: usize = 4096;
/// Marks a part of an element.
const CUT: u32 = 1 << 31;
pub(super) const CUTS: Constants = constants![COUNTERS, CUT];
/// The smallest and the largest number of values of a tile.
const TILES: [usize; 2] = [1 << 12, 1 << 15];
/// Workgroups among which a batch is divided, if it is large enough: two rounds of eight for each of 128 cores.
const GROUPS: usize = 1 << 11;

/// What each workgroup counts.
#[derive(Debug)]
pub(super) struct Items {
    /// `[first element, elements or CUT | 1, first value, end of the values]` for each workgroup.
    pub words: Arc<PlanBuffer>,
    pub groups: u32,
    /// Whether workgroups add to counts, instead of writing them.
    pub need_zeros: bool,
}

/// Divides a batch whose elements have this many bins each. The division does not affect the counts.
pub(super) fn items(x: &Layout, bins: usize) -> Result<Items> {
    let tile = (x.total() / GROUPS).next_power_of_two();
    let tile = tile.clamp(TILES[0], TILES[1]) as u32;
    // A workgroup has at least one element, even if its counters do not fit.
    let most = (COUNTERS / bins).max(1);
    let mut words = Vec::new();
    let mut need_zeros = bins > COUNTERS;
    let ends = x.offsets().as_slice();
    let mut first = 0;
    while first < x.len() {
        let begin = ends[first];
        let (one, of_tile) = (ends[first + 1], begin.saturating_add(tile));
        if one > of_tile {
            need_zeros = true;
            for begin in (begin..one).step_by(tile as usize) {
                let end = begin.saturating_add(tile).min(one);
                host::extend(&mut words, [first as u32, CUT | 1, begin, end])?;
            }
            first += 1;
            continue;
        }
        let candidates = &ends[first + 1..x.len().min(first + most) + 1];
        let elements = candidates.partition_point(|&end| end <= of_tile);
        let end = ends[first + elements];
        host::extend(&mut words, [first as u32, elements as u32, begin, end])?;
        first += elements;
    }
    let groups = (words.len() / 4) as u32;
    Ok(Items {
        words: PlanBuffer::new(words),
        groups,
        need_zeros,
    })
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    fn of(lengths: &[usize], bins: usize) -> (Vec<[u32; 4]>, bool) {
        let x = Layout::from_lengths(lengths.iter().copied()).unwrap();
        let items = items(&x, bins).unwrap();
        let words = items.words.data().chunks(4);
        let words: Vec<_> = words.map(|w| [w[0], w[1], w[2], w[3]]).collect();
        assert_eq!(words.len(), items.groups as usize);
        (words, items.need_zeros)
    }

    #[apply(unit_test)]
    fn short_elements_share_a_workgroup_and_long_ones_are_cut() {
        let (items, need_zeros) = of(&[3, 0, 4000, 100, 9000, 5], 10);
        let expected = [
            [0, 3, 0, 4003],
            [3, 1, 4003, 4103],
            [4, CUT | 1, 4103, 8199],
            [4, CUT | 1, 8199, 12_295],
            [4, CUT | 1, 12_295, 13_103],
            [5, 1, 13_103, 13_108],
        ];
        assert_eq!((items, need_zeros), (expected.to_vec(), true));
    }

    #[apply(unit_test)]
    fn no_workgroup_has_more_counters_than_fit() {
        assert_eq!(
            of(&[0; 5], 2048).0,
            [[0, 2, 0, 0], [2, 2, 0, 0], [4, 1, 0, 0]]
        );
        assert_eq!(
            of(&[1; 3], 2049).0,
            [[0, 1, 0, 1], [1, 1, 1, 2], [2, 1, 2, 3]]
        );
        assert!(!of(&[4096], COUNTERS).1);
        assert!(of(&[1], COUNTERS + 1).1);
        assert_eq!(of(&[], 1).0, [[0; 4]; 0]);
    }

    #[apply(unit_test)]
    fn larger_batches_have_larger_tiles() {
        let (items, _) = of(&[1 << 26], 256);
        assert_eq!((items.len(), items[1][3]), (1 << 11, 1 << 16));
    }
}
