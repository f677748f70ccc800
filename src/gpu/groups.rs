//! A cache of bind groups by what they bind.
//!
//! There are two generations. A group that is used moves to the younger one; when that is full, it becomes the older
//! one, whose groups are dropped. So what all plans of a program have in common stays, and what binds the inputs and
//! outputs of a single run goes.

use std::collections::HashMap;

use hashbrown::DefaultHashBuilder;

use super::pool::{GpuBuffer, Pool};
use crate::plan::Access;

/// The most bindings of a kernel: the parameter block, and eight storage buffers.
const BINDINGS: usize = 9;

/// A range of a buffer that a kernel binds.
#[derive(Clone, Copy)]
pub(crate) struct Range<'a> {
    pub buffer: &'a GpuBuffer,
    pub offset: u64,
    pub bytes: u64,
}

impl<'a> Range<'a> {
    /// A buffer from its start to its bound.
    pub(crate) fn whole(buffer: &'a GpuBuffer) -> Range<'a> {
        Range {
            buffer,
            offset: 0,
            bytes: buffer.bound,
        }
    }
}

/// The bindings of a bind group. Pipelines with equal access share their layout.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    access: &'static [Access],
    /// Buffer, offset and size.
    ranges: [(u64, u64, u64); BINDINGS],
}

impl Key {
    /// The key of a pipeline with this access, and of its bindings.
    pub(crate) fn new<'a>(
        access: &'static [Access],
        ranges: impl Iterator<Item = Range<'a>>,
    ) -> Key {
        let mut key = Key {
            access,
            ranges: [(0, 0, 0); BINDINGS],
        };
        for (of_key, range) in key.ranges.iter_mut().zip(ranges) {
            *of_key = (range.buffer.id, range.offset, range.bytes);
        }
        key
    }

    fn binds(&self, buffers: &[u64]) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(buffer, _, _)| buffers.contains(buffer))
    }
}

/// `G` is a bind group, except in tests.
pub(crate) struct Groups<G> {
    young: HashMap<Key, G, DefaultHashBuilder>,
    old: HashMap<Key, G, DefaultHashBuilder>,
    /// How many of the buffers that the application held, and that were dropped, are forgotten.
    forgotten: u64,
}

impl<G> Default for Groups<G> {
    fn default() -> Groups<G> {
        Groups {
            young: HashMap::default(),
            old: HashMap::default(),
            forgotten: 0,
        }
    }
}

impl<G: Clone> Groups<G> {
    /// The group of this key, and whether it was made now. Each generation has at most `most` groups.
    pub(crate) fn get(&mut self, key: Key, most: usize, make: impl FnOnce() -> G) -> (G, bool) {
        if let Some(group) = self.young.get(&key) {
            return (group.clone(), false);
        }
        let (group, is_new) = match self.old.remove(&key) {
            Some(group) => (group, false),
            None => (make(), true),
        };
        if self.young.len() >= most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, group.clone());
        (group, is_new)
    }

    /// Drops the groups of buffers that the application held and that were dropped, which would keep memory alive that
    /// is no longer ours.
    pub(crate) fn forget(&mut self, pool: &Pool) {
        match pool.shared_gone_since(&mut self.forgotten) {
            Some(gone) if gone.is_empty() => (),
            Some(gone) => {
                self.young.retain(|key, _| !key.binds(&gone));
                self.old.retain(|key, _| !key.binds(&gone));
            }
            None => self.clear(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    fn key(buffer: u64, offset: u64, bytes: u64) -> Key {
        let mut key = Key::new(&[Access::Read], std::iter::empty());
        key.ranges[1] = (buffer, offset, bytes);
        key
    }

    /// Whether the group of a key is new.
    fn is_new(groups: &mut Groups<()>, key: Key) -> bool {
        groups.get(key, 10, || ()).1
    }

    #[apply(unit_test)]
    fn every_part_of_a_key_counts() {
        let mut groups = Groups::default();
        let other = Key {
            access: &[Access::Write],
            ..key(1, 0, 256)
        };
        for key in [
            key(1, 0, 256),
            key(2, 0, 256),
            key(1, 256, 256),
            key(1, 0, 512),
            other,
        ] {
            assert!(is_new(&mut groups, key.clone()));
            assert!(!is_new(&mut groups, key));
        }
    }

    /// What is used again and again stays, whatever else comes and goes, and what is not used goes.
    #[apply(unit_test)]
    fn used_groups_stay() {
        let mut groups = Groups::default();
        let common = |i: u64| key(1, 256 * i, 256);
        (0..5).for_each(|i| assert!(is_new(&mut groups, common(i))));
        for passing in 2..2000 {
            assert!(is_new(&mut groups, key(passing, 0, 256)));
            (0..5).for_each(|i| assert!(!is_new(&mut groups, common(i)), "{passing}"));
            assert!(groups.young.len() <= 10 && groups.old.len() <= 10);
        }
        assert!(is_new(&mut groups, key(2, 0, 256)));
        assert!(!is_new(&mut groups, key(1999, 0, 256)));
    }

    #[apply(unit_test)]
    fn groups_of_a_buffer_are_found_in_any_binding() {
        let mut key = key(7, 0, 256);
        key.ranges[8] = (9, 0, 256);
        assert!(key.binds(&[7]) && key.binds(&[3, 9]) && !key.binds(&[3, 8]));
    }
}
