//! Work lists for items with unequal amounts of work, in units of one invocation each: they map every unit to its item.

use crate::plan::PlanBuffer;
use crate::{Result, host};
use std::sync::Arc;

/// The work list that `shaders/lib/entries.wgsl` reads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Worklist {
    /// For each workgroup the index of its first entry, then the index of the last entry of all, then the entries:
    /// (first unit, item).
    items: Vec<u32>,
    pub units: u32,
    pub groups: u32,
}

impl Worklist {
    /// `things` are pairs (item, units), with at most 2³² − 1 units in all; a workgroup has `group` units.
    pub(crate) fn new(
        things: impl Iterator<Item = (u32, usize)>,
        group: usize,
    ) -> Result<Worklist> {
        let mut items = Vec::new();
        let mut entries = Vec::new();
        let mut units = 0usize;
        for (thing, count) in things {
            host::extend(&mut entries, [units as u32, thing])?;
            units += count;
            while items.len() * group < units {
                host::push(&mut items, (entries.len() / 2) as u32 - 1)?;
            }
        }
        let groups = items.len() as u32;
        let last = ((entries.len() / 2) as u32).saturating_sub(1);
        host::reserve(&mut items, 1 + entries.len())?;
        items.push(last);
        items.extend(entries);
        Ok(Worklist {
            items,
            units: units as u32,
            groups,
        })
    }

    /// Where the entries begin.
    pub(crate) fn entries(&self) -> u32 {
        self.groups + 1
    }

    pub(crate) fn words(self) -> Arc<PlanBuffer> {
        PlanBuffer::new(self.items)
    }
}

/// Items in order of decreasing cost, to within a factor of two, so that the last workgroups to start are short.
pub(crate) struct ByCost {
    things: [Vec<u32>; 64],
}

impl ByCost {
    pub(crate) fn push(&mut self, thing: u32, cost: u64) -> Result<()> {
        let alike = &mut self.things[cost.max(1).ilog2() as usize];
        host::push(alike, thing)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.things.iter().rev().flatten().copied()
    }

    pub(crate) fn new() -> ByCost {
        ByCost {
            things: std::array::from_fn(|_| Vec::new()),
        }
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn every_unit_is_in_the_entries_of_its_workgroup() {
        let counts = [1, 127, 2, 385, 1];
        let units = Worklist::new((0..).zip(counts), 128).unwrap();
        assert_eq!((units.units, units.groups, units.entries()), (516, 5, 6));
        assert_eq!(units.items[..6], [0, 2, 3, 3, 3, 4]);
        assert_eq!(units.items[6..], [0, 0, 1, 1, 128, 2, 130, 3, 515, 4]);
        let nothing = Worklist::new([].into_iter(), 128).unwrap();
        assert_eq!((nothing.units, nothing.groups), (0, 0));
    }

    #[apply(unit_test)]
    fn costly_things_come_first() {
        let mut costs = ByCost::new();
        for (thing, cost) in [(0, 5), (1, 0), (2, 1 << 40), (3, 7)] {
            costs.push(thing, cost).unwrap();
        }
        assert_eq!(costs.iter().collect::<Vec<_>>(), [2, 0, 3, 1]);
    }
}
