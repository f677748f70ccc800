//! Splits elements by their own size only, so that no result depends on other elements.

use std::sync::Arc;

use crate::plan::{Constants, PlanBuffer, constants};
use crate::{Error, Result, host};

/// Invocations of a workgroup.
pub(super) const WG: usize = 256;
/// An element of up to this many values takes one invocation.
pub(super) const SHORT: usize = 32;
/// Invocations that share an element of up to `MIDDLE` values.
pub(super) const LANES_EACH: usize = 32;
/// An element of more values is cut into tiles.
const MIDDLE: u64 = 1024;
/// Values of a tile.
pub(super) const TILE: u64 = 4096;
/// Words per item of `Classes::tiles`, and per item of `Classes::finish`.
pub(super) const TILE_WORDS: usize = 3;
pub(super) const FINISH_WORDS: usize = 3;
/// The slot of a tile that is the only one of its element.
const NO_SLOT: u32 = u32::MAX;
pub(super) const CUT: Constants = constants![WG, SHORT, LANES_EACH, TILE, NO_SLOT];

/// The elements of a batch classified by size, with the work lists of the kernels.
#[derive(Debug, Default)]
pub(super) struct Classes {
    pub elements: usize,
    /// Values of all elements, or an upper bound.
    pub values: u64,
    /// Number of elements of up to `SHORT` values.
    pub short: usize,
    /// Number of longer elements of up to `MIDDLE` values.
    pub middle: usize,
    pub middle_values: u64,
    /// Indices of the middle elements, unless they are the whole batch.
    pub middle_items: Option<Arc<PlanBuffer>>,
    /// `[element, first value, slot]` for each tile of the longer elements.
    pub tiles: Option<Arc<PlanBuffer>>,
    /// `[element, first slot, slots]` for each element of several tiles.
    pub finish: Option<Arc<PlanBuffer>>,
    /// Total number of slots.
    pub parts: u32,
}

impl Classes {
    /// Elements that all have at most `most` values, which is short.
    pub(super) fn all_short(elements: usize, most: u64) -> Classes {
        Classes {
            elements,
            short: elements,
            values: most.saturating_mul(elements as u64),
            ..Classes::default()
        }
    }

    /// Classifies elements of these sizes in one pass.
    pub(super) fn new(sizes: impl Iterator<Item = u64>) -> Result<Classes> {
        let mut classes = Classes::default();
        let (mut middle, mut tiles, mut finish) = (Vec::new(), Vec::new(), Vec::new());
        for (element, size) in sizes.enumerate() {
            classes.elements += 1;
            classes.values = classes.values.saturating_add(size);
            let element = element as u32;
            if size <= SHORT as u64 {
                classes.short += 1;
            } else if size <= MIDDLE {
                classes.middle_values += size;
                host::push(&mut middle, element)?;
            } else if size <= TILE {
                host::extend(&mut tiles, [element, 0, NO_SLOT])?;
            } else {
                let first = classes.parts;
                let count = size.div_ceil(TILE) as u32;
                let parts = first.checked_add(count);
                classes.parts = parts.ok_or_else(|| {
                    Error::size_overflow(format!(
                        "a work list of at least {} tiles",
                        u64::from(first) + u64::from(count)
                    ))
                    .at(element as usize)
                })?;
                host::reserve(&mut tiles, TILE_WORDS * count as usize)?;
                for tile in 0..count {
                    // Only the values of two boxes together can exceed 32 bits. No GPU holds such boxes, so only the
                    // twin runs.
                    let at = u64::from(tile) * TILE;
                    tiles.extend([element, at as u32, first + tile]);
                }
                host::extend(&mut finish, [element, first, count])?;
            }
        }
        let words = |items: Vec<u32>| (!items.is_empty()).then(|| PlanBuffer::new(items));
        classes.middle = middle.len();
        if classes.middle < classes.elements {
            classes.middle_items = words(middle);
        }
        classes.tiles = words(tiles);
        classes.finish = words(finish);
        Ok(classes)
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn every_element_has_one_class_and_every_value_one_tile() {
        let classes = Classes::new([0, 32, 33, 1024, 1025, 4096, 4097, 9000].into_iter()).unwrap();
        assert_eq!((classes.elements, classes.short), (8, 2));
        assert_eq!((classes.middle, classes.middle_values), (2, 1057));
        let data = |words: &Option<Arc<PlanBuffer>>| words.as_ref().map(|w| w.data().to_vec());
        assert_eq!(data(&classes.middle_items), Some(vec![2, 3]));
        let tiles = [
            [4, 0, NO_SLOT],
            [5, 0, NO_SLOT],
            [6, 0, 0],
            [6, 4096, 1],
            [7, 0, 2],
            [7, 4096, 3],
            [7, 8192, 4],
        ];
        assert_eq!(data(&classes.tiles), Some(tiles.concat()));
        assert_eq!(data(&classes.finish), Some(vec![6, 0, 2, 7, 2, 3]));
        assert_eq!(classes.parts, 5);
    }

    #[apply(unit_test)]
    fn a_batch_of_one_class_needs_no_list() {
        let classes = Classes::new([40, 50].into_iter()).unwrap();
        assert_eq!((classes.middle, classes.short), (2, 0));
        assert!(classes.middle_items.is_none() && classes.tiles.is_none());
        let none = Classes::new(std::iter::empty()).unwrap();
        assert_eq!((none.elements, none.short, none.middle), (0, 0, 0));
    }
}
