//! Assigns lines to workgroups: several short lines to one, or one block of a long line.

use crate::ops::kit::worklist::Worklist;
use crate::ops::lines::Lines;
use crate::plan::{Constants, PlanBuffer, constants};
use crate::ragged::Layout;
use crate::{Result, host};
use std::sync::Arc;

/// Values that a workgroup sorts. Longer lines are cut into blocks of this many.
pub(super) const BLOCK: usize = 2048;
pub(super) const CUT: Constants = constants![BLOCK];
/// The length of the longest lines of each class, which determines the stages of the sorting network. More classes mean
/// less work in more dispatches.
const CAPACITIES: [usize; 6] = [8, 32, 128, 512, 1024, BLOCK];
/// The largest number of merges of a line with less than 2³² values, plus one.
const MERGES: usize = 22;

/// Lines that are sorted by the same network.
#[derive(Debug)]
pub(super) struct Class {
    pub capacity: usize,
    pub units: u32,
    pub entries: u32,
    pub groups: u32,
    pub words: Arc<PlanBuffer>,
    pub values: u64,
}

/// The lines that are cut into blocks.
#[derive(Debug)]
pub(super) struct Long {
    /// `[element, line, block, 0]` for each block; lines with more merges come first.
    pub items: Arc<PlanBuffer>,
    /// For each number m of merges, the number of blocks of lines with more than m.
    pub blocks: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub classes: Vec<Class>,
    pub long: Option<Long>,
    /// Σ n ⌈log₂ n⌉ over lines of n values.
    pub comparisons: u64,
}

/// How often the sorted blocks of a line are merged in pairs until one run is left.
pub(super) fn merges(values: usize) -> usize {
    values.div_ceil(BLOCK).max(1).next_power_of_two().ilog2() as usize
}

impl Plan {
    pub(super) fn new(x: &Layout, axis: Option<usize>) -> Result<Plan> {
        let mut classes: [Vec<(u32, usize)>; CAPACITIES.len()] = Default::default();
        let mut values = [0u64; CAPACITIES.len()];
        let mut long: [Vec<u32>; MERGES] = Default::default();
        let mut comparisons = 0u64;
        for element in 0..x.len() {
            let total = x.length(element) as u64;
            if total == 0 {
                continue;
            }
            let lines = Lines::of(x, element, axis);
            let depth = u64::from(lines.values.next_power_of_two().ilog2());
            comparisons += total * depth.max(1);
            let class = CAPACITIES.iter().position(|most| lines.values <= *most);
            if let Some(class) = class {
                values[class] += total;
                let unit = (element as u32, lines.number as usize);
                host::push(&mut classes[class], unit)?;
                continue;
            }
            let blocks = &mut long[merges(lines.values)];
            for line in 0..lines.number as u32 {
                for block in 0..lines.values.div_ceil(BLOCK) as u32 {
                    host::extend(blocks, [element as u32, line, block, 0])?;
                }
            }
        }
        let mut planned = Vec::new();
        for (class, elements) in classes.into_iter().enumerate() {
            if elements.is_empty() {
                continue;
            }
            let capacity = CAPACITIES[class];
            let units = Worklist::new(elements.into_iter(), BLOCK / capacity)?;
            planned.push(Class {
                capacity,
                units: units.units,
                entries: units.entries(),
                groups: units.groups,
                words: units.words(),
                values: values[class],
            });
        }
        let mut items = host::room(long.iter().map(Vec::len).sum())?;
        let mut blocks = Vec::new();
        for of in long.iter().rev() {
            items.extend_from_slice(of);
            if !items.is_empty() {
                blocks.push((items.len() / 4) as u32);
            }
        }
        // All these lines have a merge, so the last count, of lines with at least 0 merges, repeats the one before.
        blocks.pop();
        blocks.reverse();
        Ok(Plan {
            classes: planned,
            long: (!items.is_empty()).then(|| Long {
                items: PlanBuffer::new(items),
                blocks,
            }),
            comparisons,
        })
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn every_line_is_in_one_class_or_cut() {
        let x = Layout::from_lengths([3, 0, 9, 2048, 2049, 1, 9000]).unwrap();
        let plan = Plan::new(&x, Some(0)).unwrap();
        let classes = plan.classes.iter().map(|c| (c.capacity, c.units, c.values));
        assert_eq!(
            classes.collect::<Vec<_>>(),
            [(8, 2, 4), (32, 1, 9), (2048, 1, 2048)]
        );
        let long = plan.long.unwrap();
        let blocks: Vec<[u32; 3]> = long
            .items
            .data()
            .chunks(4)
            .map(|b| [b[0], b[1], b[2]])
            .collect();
        let expected = [
            [6, 0, 0],
            [6, 0, 1],
            [6, 0, 2],
            [6, 0, 3],
            [6, 0, 4],
            [4, 0, 0],
            [4, 0, 1],
        ];
        assert_eq!(blocks, expected);
        // Both lines have more than 0 merges; one has more than 1, and more than 2.
        assert_eq!(long.blocks, [7, 5, 5]);
        let merged = [0, 1, 2048, 2049, 4096, 4097, 8192, 8193].map(merges);
        assert_eq!(merged, [0, 0, 0, 1, 1, 2, 2, 3]);
    }
}
