//! Which invocations go through which line: by its length and step alone, so that a neighbour never changes a result.

use crate::ops::units::Units;
use crate::plan::Words;
use crate::ragged::Layout;
use crate::{Error, Result, host};
use std::sync::Arc;

/// `WG` of the shader: invocations of a workgroup.
pub(super) const WORKGROUP: usize = 256;
/// `TILE` of the shader: values of a tile. Longer lines are cut.
pub(super) const TILE: usize = 8192;
/// Invocations that share a line, and the values of the longest such line whose values lie side by side.
const CLASSES: [(usize, usize); 3] = [(8, 64), (32, 512), (256, TILE)];
/// The same where they lie apart. Then neighbouring invocations go through neighbouring lines.
const APART: [(usize, usize); 2] = [(1, 256), (32, TILE)];

/// The lines of an element: how many, of how many values, and how far apart these lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lines {
    pub number: u64,
    pub values: usize,
    pub step: usize,
}

impl Lines {
    /// Those along `axis`, or the whole element as one.
    pub(super) fn of(x: &Layout, element: usize, axis: Option<usize>) -> Lines {
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

    /// Invocations to a line; `None` where it is cut into tiles.
    fn lanes(self) -> Option<usize> {
        let classes: &[_] = if self.step == 1 { &CLASSES } else { &APART };
        let class = classes.iter().find(|(_, longest)| self.values <= *longest);
        class.map(|(lanes, _)| *lanes)
    }
}

/// Lines that so many invocations each go through.
#[derive(Debug)]
pub(super) struct Class {
    pub lanes: usize,
    pub units: u32,
    pub entries: u32,
    pub groups: u32,
    pub words: Arc<Words>,
    pub values: u64,
}

/// The lines that are cut.
#[derive(Debug)]
pub(super) struct Long {
    pub tiles: u32,
    /// `[element, line, tile, number among these]` for each tile.
    pub items: Arc<Words>,
    pub number: u32,
    /// `[first tile, tiles, place of the result]` for each line.
    pub finish: Arc<Words>,
}

/// All lines of a batch.
#[derive(Debug)]
pub(super) struct Plan {
    pub classes: Vec<Class>,
    pub long: Option<Long>,
}

impl Plan {
    /// `result`: the layout of one value a line; without it, lines without values have no work.
    pub(super) fn new(
        op: &'static str,
        x: &Layout,
        axis: Option<usize>,
        result: Option<&Layout>,
    ) -> Result<Plan> {
        const LANES: [usize; 4] = [1, 8, 32, 256];
        let mut classes: [Vec<(u32, usize)>; LANES.len()] = Default::default();
        let mut values = [0u64; LANES.len()];
        let (mut items, mut finish) = (Vec::new(), Vec::new());
        let (mut tiles, mut number) = (0u32, 0u32);
        for element in 0..x.len() {
            let lines = Lines::of(x, element, axis);
            if result.is_none() && x.length(element) == 0 {
                continue;
            }
            if let Some(lanes) = lines.lanes() {
                let class = LANES.partition_point(|&fewer| fewer < lanes);
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
                tiles = more.ok_or_else(|| Error::SizeOverflow {
                    op,
                    element: Some(element),
                    what: format!("{} tiles so far", u64::from(tiles) + each as u64),
                })?;
                number += 1;
            }
        }
        let mut planned = Vec::new();
        for ((lanes, elements), values) in LANES.into_iter().zip(classes).zip(values) {
            if elements.is_empty() {
                continue;
            }
            let units = Units::new(op, elements.into_iter(), WORKGROUP / lanes)?;
            planned.push(Class {
                lanes,
                units: units.units,
                entries: units.entries(),
                groups: units.groups,
                words: units.words(),
                values,
            });
        }
        let long = (number > 0).then(|| Long {
            tiles,
            items: Words::new(items),
            number,
            finish: Words::new(finish),
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
        let shapes = [[3, 64], [2, 65], [1, 8193], [4, 0], [5, 513]];
        let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
        let x = Layout::from_shapes(2, shapes).unwrap();
        let result = Layout::from_lengths([3, 2, 1, 4, 5]).unwrap();
        let plan = Plan::new("softmax", &x, Some(1), Some(&result)).unwrap();
        let found: Vec<_> = plan.classes.iter().map(|c| (c.lanes, c.units)).collect();
        assert_eq!(found, [(8, 7), (32, 2), (256, 5)]);
        let long = plan.long.unwrap();
        assert_eq!((long.tiles, long.number), (2, 1));
        assert_eq!(long.items.data(), [2, 0, 0, 0, 2, 0, 1, 0]);
        assert_eq!(long.finish.data(), [0, 2, 5]);
        // Without results of their own, lines without values are left out; columns are lines that lie apart.
        let plan = Plan::new("softmax", &x, Some(0), None).unwrap();
        let found: Vec<_> = plan.classes.iter().map(|c| (c.lanes, c.units)).collect();
        assert_eq!(found, [(1, 64 + 65 + 8193 + 513)]);
        assert!(plan.long.is_none());
    }
}
