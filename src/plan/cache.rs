//! A device's plan cache, bounded in bytes.
//!
//! The cache key is the operation, the identities of its operands' layouts, the pairs and the costs that choices were
//! based on; anything else about the device that a plan depends on never changes. A plan is evicted when one of the
//! layouts in its key is dropped, when it is least recently used and the cache exceeds its limit, or when the cache is
//! cleared.

use core::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;

use super::launch::Plan;
use crate::ragged::{Keeper, Layout, Pairs, hash_of, hasher};
use crate::{Result, host};

/// The most bytes of plans on the host. Enough for a few dozen plans for batches of a million elements, which take as
/// long to plan as to run. A device's copies of plans are smaller.
const LIMIT: usize = 256 << 20;

/// A cache lookup.
pub(crate) struct Ask<'a, O> {
    pub op: O,
    pub inputs: &'a [&'a Layout],
    pub pairs: Option<&'a Pairs>,
    /// The device's [`CostTable::key`](super::CostTable::key).
    pub costs: u64,
}

impl<O: Hash> Ask<'_, O> {
    fn hash(&self) -> u64 {
        let mut state = hasher().build_hasher();
        self.op.hash(&mut state);
        for input in self.inputs {
            state.write_u64(input.id());
        }
        self.pairs.hash(&mut state);
        state.write_u64(self.costs);
        state.finish()
    }
}

struct Entry<O> {
    hash: u64,
    op: O,
    inputs: Vec<u64>,
    pairs: Option<Pairs>,
    costs: u64,
    plan: Arc<Plan>,
    bytes: usize,
    /// The value of the call counter at the last use.
    used: u64,
}

impl<O: Eq> Entry<O> {
    fn is(&self, hash: u64, ask: &Ask<'_, O>) -> bool {
        let ids = ask.inputs.iter().map(|input| input.id());
        self.hash == hash
            && self.costs == ask.costs
            && self.inputs.iter().copied().eq(ids)
            && self.op == ask.op
            && self.pairs.as_ref() == ask.pairs
    }
}

/// The cached plans of a device.
pub(crate) struct PlanCache<O> {
    state: Mutex<State<O>>,
    limit: usize,
}

struct State<O> {
    entries: Vec<Option<Entry<O>>>,
    free: Vec<u32>,
    by_hash: HashTable<u32>,
    /// The layouts in the keys of entries: `(id of the layout, entry)`, by the id.
    by_layout: HashTable<(u64, u32)>,
    bytes: usize,
    calls: u64,
    made: u64,
}

impl<O> Default for PlanCache<O> {
    fn default() -> PlanCache<O> {
        PlanCache::with_limit(LIMIT)
    }
}

impl<O> PlanCache<O> {
    fn with_limit(limit: usize) -> PlanCache<O> {
        PlanCache {
            state: Mutex::new(State {
                entries: Vec::new(),
                free: Vec::new(),
                by_hash: HashTable::new(),
                by_layout: HashTable::new(),
                bytes: 0,
                calls: 0,
                made: 0,
            }),
            limit,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<O>> {
        // No code under the lock can panic halfway through an update, so a poisoned cache is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of plans made so far.
    pub(crate) fn made(&self) -> u64 {
        self.lock().made
    }

    /// Drops all plans from the cache. Plans in use stay alive.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.by_hash.clear();
        state.by_layout.clear();
        state.free.clear();
        state.bytes = 0;
        let gone = std::mem::take(&mut state.entries);
        // A plan may own device memory, whose release takes other locks, and may hold the last reference to a layout.
        // Drop plans without holding this lock.
        drop(state);
        drop(gone);
    }
}

impl<O: Eq + Hash + Send + 'static> PlanCache<O> {
    /// The requested plan, made now if it is not cached.
    ///
    /// `make` runs without the lock. If two threads make the same plan at once, both get the plan that was stored
    /// first.
    pub(crate) fn get_or_make(
        self: &Arc<Self>,
        ask: Ask<'_, O>,
        make: impl FnOnce(&O) -> Result<Plan>,
    ) -> Result<Arc<Plan>> {
        // Hashing compares new layouts with known ones, so it happens before taking the lock.
        let hash = ask.hash();
        if let Some(found) = self.lock().find(hash, &ask) {
            return Ok(found);
        }
        let mut plan = make(&ask.op)?;
        plan.settle(ask.inputs);
        let plan = Arc::new(plan);
        let keeper: Arc<dyn Keeper> = self.clone();
        for input in ask.inputs {
            input.identity().notify_on_drop(&keeper);
        }
        let mut state = self.lock();
        state.made += 1;
        if let Some(found) = state.find(hash, &ask) {
            return Ok(found);
        }
        // Without memory for the entry, the plan is not cached.
        let ids = ask.inputs.iter().map(|input| input.id());
        let Ok(inputs) = host::exact(ids) else {
            return Ok(plan);
        };
        if state.reserve(inputs.len()).is_none() {
            return Ok(plan);
        }
        let entry = Entry {
            hash,
            inputs,
            pairs: ask.pairs.cloned(),
            costs: ask.costs,
            bytes: size_of::<Entry<O>>() + plan.bytes() + ask.pairs.map_or(0, Pairs::bytes),
            plan: plan.clone(),
            op: ask.op,
            used: state.calls,
        };
        let gone = state.insert(entry, self.limit);
        drop(state);
        drop(gone);
        Ok(plan)
    }
}

impl<O: Send> Keeper for PlanCache<O> {
    fn forget(&self, id: u64) {
        let mut state = self.lock();
        let mut gone = Vec::new();
        let hash = hash_of(id);
        while let Some(&(_, slot)) = state.by_layout.find(hash, |(of, _)| *of == id)
            && let Some(entry) = state.remove(slot)
        {
            gone.push(entry);
        }
        drop(state);
        drop(gone);
    }
}

impl<O: Eq> State<O> {
    /// Finds a plan and marks it most recently used.
    fn find(&mut self, hash: u64, ask: &Ask<'_, O>) -> Option<Arc<Plan>> {
        self.calls += 1;
        let entries = &self.entries;
        let is_it = |slot: &u32| {
            let entry = entries[*slot as usize].as_ref();
            entry.is_some_and(|entry| entry.is(hash, ask))
        };
        let slot = *self.by_hash.find(hash, is_it)?;
        let entry = self.entries[slot as usize].as_mut()?;
        entry.used = self.calls;
        Some(entry.plan.clone())
    }
}

impl<O> State<O> {
    /// Makes room for an entry of this many layouts, if there is memory.
    fn reserve(&mut self, layouts: usize) -> Option<()> {
        let State {
            entries,
            by_hash,
            by_layout,
            ..
        } = self;
        let hash = |slot: &u32| {
            entries[*slot as usize]
                .as_ref()
                .map_or(0, |entry| entry.hash)
        };
        by_hash.try_reserve(1, hash).ok()?;
        by_layout.try_reserve(layouts, |(id, _)| hash_of(id)).ok()?;
        entries.try_reserve(1).ok()
    }

    /// Adds an entry, for which there is room, and returns the entries evicted to keep the limit.
    fn insert(&mut self, entry: Entry<O>, limit: usize) -> Vec<Entry<O>> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() as u32 - 1
        });
        for &id in &entry.inputs {
            let one = (id, slot);
            self.by_layout
                .insert_unique(hash_of(id), one, |(id, _)| hash_of(id));
        }
        self.bytes += entry.bytes;
        let (hash, inserted) = (entry.hash, slot);
        self.entries[slot as usize] = Some(entry);
        let entries = &self.entries;
        self.by_hash.insert_unique(hash, slot, |slot| {
            entries[*slot as usize]
                .as_ref()
                .map_or(0, |entry| entry.hash)
        });
        if self.bytes <= limit {
            return Vec::new();
        }
        // Evict below the limit, so that the next insertions need not sort all entries again.
        let mut by_use: Vec<(u64, u32)> = self
            .entries
            .iter()
            .zip(0..)
            .filter_map(|(entry, slot)| Some((entry.as_ref()?.used, slot)))
            .filter(|(_, slot)| *slot != inserted)
            .collect();
        by_use.sort_unstable();
        let mut gone = Vec::new();
        for (_, slot) in by_use {
            if self.bytes <= limit - limit / 16 {
                break;
            }
            gone.extend(self.remove(slot));
        }
        gone
    }

    fn remove(&mut self, slot: u32) -> Option<Entry<O>> {
        let entry = self.entries[slot as usize].take()?;
        if let Ok(found) = self.by_hash.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        for &id in &entry.inputs {
            let one = (id, slot);
            if let Ok(found) = self
                .by_layout
                .find_entry(hash_of(id), |other| *other == one)
            {
                found.remove();
            }
        }
        self.bytes -= entry.bytes;
        self.free.push(slot);
        Some(entry)
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::plan::OutputLayout;

    fn layout(length: usize) -> Layout {
        Layout::from_lengths([length, 7]).unwrap()
    }

    /// Whether the plan had to be made.
    fn made(cache: &Arc<PlanCache<u32>>, op: u32, inputs: &[&Layout]) -> bool {
        let before = cache.made();
        let ask = Ask {
            op,
            inputs,
            pairs: None,
            costs: 0,
        };
        cache
            .get_or_make(ask, |_| Ok(Plan::view(OutputLayout::Input(0), 0)))
            .unwrap();
        cache.made() > before
    }

    fn sizes(cache: &PlanCache<u32>) -> (usize, usize, usize) {
        let state = cache.lock();
        let there = state.entries.iter().flatten().count();
        assert_eq!(there, state.by_hash.len());
        (there, state.by_layout.len(), state.bytes)
    }

    #[apply(unit_test)]
    fn equal_layouts_are_one() {
        let cache = Arc::new(PlanCache::default());
        let (a, b) = (layout(3), layout(4));
        assert!(made(&cache, 1, &[&a, &b]));
        assert!(!made(&cache, 1, &[&a.clone(), &layout(4)]));
        assert!(made(&cache, 2, &[&a, &b]) && made(&cache, 1, &[&b, &a]) && made(&cache, 1, &[&a]));
        // `later` refers to the first layout with its contents and keeps it alive.
        let later = layout(3);
        assert!(!made(&cache, 1, &[&later]));
        drop(a);
        assert!(!made(&cache, 1, &[&later]));
    }

    /// Only a sample of a large layout is hashed, so most of these have equal hashes.
    #[apply(unit_test)]
    fn large_layouts_are_compared() {
        let layout_of = |longer: usize| {
            let length = |i| 1 + usize::from(i == longer) + 2 * usize::from(i == longer + 1);
            Layout::from_shapes(2, (0..20_000).map(|i| Shape::new(&[length(i), 1]).unwrap()))
                .unwrap()
        };
        let layouts: Vec<Layout> = (0..200).map(|i| layout_of(97 * i)).collect();
        let ids: std::collections::HashSet<u64> = layouts.iter().map(Layout::id).collect();
        assert_eq!(ids.len(), layouts.len());
        for (i, layout) in layouts.iter().enumerate() {
            assert_eq!(layout_of(97 * i).id(), layout.id());
        }
    }

    #[apply(unit_test)]
    fn a_plan_goes_with_any_of_its_layouts() {
        let cache = Arc::new(PlanCache::default());
        let (a, b) = (layout(31), layout(41));
        assert!(made(&cache, 1, &[&a, &b]) && made(&cache, 2, &[&b]) && made(&cache, 3, &[&a, &a]));
        assert_eq!(sizes(&cache).0, 3);
        drop(a);
        assert_eq!(sizes(&cache).0, 1);
        assert!(!made(&cache, 2, &[&b]));
        drop(b);
        assert_eq!(sizes(&cache), (0, 0, 0));
    }

    #[apply(unit_test)]
    fn the_least_recently_used_go_first() {
        let one = size_of::<Entry<u32>>() + Plan::view(OutputLayout::Input(0), 0).bytes();
        let cache = Arc::new(PlanCache::with_limit(16 * one));
        let a = layout(5);
        assert!((0..16).all(|op| made(&cache, op, &[&a])));
        assert!(!made(&cache, 0, &[&a]), "a full cache evicts nothing");
        assert!(made(&cache, 16, &[&a]));
        assert!(sizes(&cache).2 <= 16 * one);
        assert!(!made(&cache, 0, &[&a]), "a plan in use stays");
        assert!(!made(&cache, 16, &[&a]), "the newest plan stays");
        assert!(made(&cache, 1, &[&a]), "the oldest plan is evicted");
        cache.clear();
        assert_eq!(sizes(&cache), (0, 0, 0));
        assert!(made(&cache, 0, &[&a]));
    }

    #[apply(unit_test)]
    fn a_failure_is_returned_and_not_stored() {
        let cache = Arc::new(PlanCache::<u32>::default());
        let a = layout(6);
        let lost = crate::Error::no_device("test");
        let ask = Ask {
            op: 1,
            inputs: &[&a],
            pairs: None,
            costs: 0,
        };
        let failed = cache.get_or_make(ask, |_| Err(lost.clone()));
        assert_eq!(failed.err(), Some(lost));
        assert!(made(&cache, 1, &[&a]));
    }
}
