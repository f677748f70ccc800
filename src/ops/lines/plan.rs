//! Assigns invocations to lines: by a line's length and step alone, so that a neighbour never changes a result.

use crate::ops::worklist::Worklist;
use crate::plan::{Constants, PlanBuffer, constants};
use crate::ragged::Layout;
use crate::{Error, Result, host};
use std::sync::Arc;

/// `WG` of the shader: invocations of a workgroup.
pub(super) const WG: usize = 256;
/// `TILE` of the shader: values of a tile. Longer lines are cut.
pub(super) const TILE: usize = HELD * WG;
pub(super) const CUT: Constants = constants![WG, TILE];
/// Values that an invocation holds of a contiguous line.
const HELD: usize = 16;
/// (Invocations per line, longest line) for contiguous lines. Each class is a dispatch that waits for the one before,
/// so more classes would cost more than some idle invocations do.
const BESIDE: [(usize, usize); 4] = [(4, 4 * HELD), (32, 32 * HELD), (64, 64 * HELD), (256, TILE)];
/// The same for strided lines.
const APART: [(usize, usize); 2] = [(8, 1024), (32, TILE)];

/// One class for each power of two up to the invocations of a workgroup.
const CLASSES: usize = WG.ilog2() as usize + 1;

/// The lines of an element: their number, the values in each, and the step between those.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ops) struct Lines {
    pub number: u64,
    pub values: usize,
    pub step: usize,
}

impl Lines {
    /// The lines along `axis`, or the whole element as one line.
    pub(in crate::ops) fn of(x: &Layout, element: usize, axis: Option<usize>) -> Lines {
        let Some(axis) = axis.filter(|_| x.rank() > 1) else {
            return Lines {
                number: 1,
                values: x.length(element),
                step: 1,
            };
        };
        let shape = x.shape(element);
        let product = |extents: &[u32]| {
            let extents = extents.iter().map(|&extent| u64::from(extent));
            extents.fold(1, u64::saturating_mul)
        };
        let (before, after) = (&shape.extents()[..axis], &shape.extents()[axis + 1..]);
        let step = product(after);
        Lines {
            number: product(before).saturating_mul(step),
            values: shape.extents()[axis] as usize,
            step: step as usize,
        }
    }

    /// Invocations per line; `None` if the line is cut into tiles.
    fn lanes(self) -> Option<usize> {
        if self.step > 1 {
            let class = APART.iter().find(|(_, longest)| self.values <= *longest);
            return class.map(|(lanes, _)| *lanes);
        }
        let class = BESIDE.iter().find(|(_, longest)| self.values <= *longest);
        class.map(|(lanes, _)| *lanes)
    }
}

/// Lines that have the same number of invocations each.
#[derive(Debug)]
pub(super) struct Class {
    pub lanes: usize,
    /// Whether their values are strided.
    pub apart: bool,
    pub units: u32,
    pub entries: u32,
    pub groups: u32,
    pub words: Arc<PlanBuffer>,
    pub values: u64,
}

/// The lines that are cut into tiles.
#[derive(Debug)]
pub(super) struct Long {
    pub tiles: u32,
    /// `[element, line, tile, number among these lines]` for each tile.
    pub items: Arc<PlanBuffer>,
    pub number: u32,
    /// `[first tile, tiles, index of the result]` for each line.
    pub finish: Arc<PlanBuffer>,
}

/// All lines of a batch.
#[derive(Debug)]
pub(super) struct Plan {
    pub classes: Vec<Class>,
    pub long: Option<Long>,
}

impl Plan {
    /// `result` is the layout of one value per line; without it, lines without values need no work.
    pub(super) fn new(
        op: &'static str,
        x: &Layout,
        axis: Option<usize>,
        result: Option<&Layout>,
    ) -> Result<Plan> {
        // Indexed by the logarithm of the invocations per line; strided lines follow the contiguous ones.
        let mut classes: [Vec<(u32, usize)>; 2 * CLASSES] = Default::default();
        let mut values = [0u64; 2 * CLASSES];
        let (mut items, mut finish) = (Vec::new(), Vec::new());
        let (mut tiles, mut number) = (0u32, 0u32);
        for element in 0..x.len() {
            let lines = Lines::of(x, element, axis);
            if result.is_none() && x.length(element) == 0 {
                continue;
            }
            if let Some(lanes) = lines.lanes() {
                let apart = if lines.step > 1 { CLASSES } else { 0 };
                let class = apart + lanes.ilog2() as usize;
                values[class] += lines.number * lines.values.max(1) as u64;
                let unit = (element as u32, lines.number as usize);
                host::push(op, &mut classes[class], unit)?;
                continue;
            }
            let each = lines.values.div_ceil(TILE);
            for line in 0..lines.number {
                let place = match result {
                    Some(result) => result.offsets().as_slice()[element] + line as u32,
                    None => number,
                };
                host::extend(op, &mut finish, [tiles, each as u32, place])?;
                for tile in 0..each {
                    let item = [element as u32, line as u32, tile as u32, number];
                    host::extend(op, &mut items, item)?;
                }
                let more = tiles.checked_add(each as u32);
                tiles = more.ok_or_else(|| {
                    Error::size_overflow(
                        op,
                        format!(
                            "a work list of at least {} tiles",
                            u64::from(tiles) + each as u64
                        ),
                    )
                    .at(element)
                })?;
                number += 1;
            }
        }
        let mut planned = Vec::new();
        for (class, (elements, values)) in classes.into_iter().zip(values).enumerate() {
            if elements.is_empty() {
                continue;
            }
            let lanes = 1 << (class % CLASSES);
            let units = Worklist::new(op, elements.into_iter(), WG / lanes)?;
            planned.push(Class {
                lanes,
                apart: class >= CLASSES,
                units: units.units,
                entries: units.entries(),
                groups: units.groups,
                words: units.words(),
                values,
            });
        }
        let long = (number > 0).then(|| Long {
            tiles,
            items: PlanBuffer::new(items),
            number,
            finish: PlanBuffer::new(finish),
        });
        Ok(Plan {
            classes: planned,
            long,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ragged::Shape;

    #[test]
    fn every_line_is_in_one_class_or_cut() {
        let shapes = [[3, 128], [2, 129], [1, 4097], [4, 0], [5, 513]];
        let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
        let x = Layout::from_shapes(2, shapes).unwrap();
        let result = Layout::from_lengths([3, 2, 1, 4, 5]).unwrap();
        let found = |plan: &Plan| -> Vec<_> {
            let classes = plan.classes.iter();
            classes.map(|c| (c.lanes, c.apart, c.units)).collect()
        };
        let plan = Plan::new("softmax", &x, Some(1), Some(&result)).unwrap();
        let expected = [(4, false, 4), (32, false, 5), (64, false, 5)];
        assert_eq!(found(&plan), expected);
        let long = plan.long.unwrap();
        assert_eq!((long.tiles, long.number), (2, 1));
        assert_eq!(long.items.data(), [2, 0, 0, 0, 2, 0, 1, 0]);
        assert_eq!(long.finish.data(), [0, 2, 5]);
        // Without results of their own, lines without values are left out; columns are strided lines.
        let plan = Plan::new("softmax", &x, Some(0), None).unwrap();
        assert_eq!(found(&plan), [(8, true, 128 + 129 + 4097 + 513)]);
        assert!(plan.long.is_none());
    }
}
