//! Device copies of host data: layout metadata, plan buffers and tables.
//!
//! A copy is cached under the identity of its layout or plan buffer, and lives as long as that does. Copies can be made
//! again, so unused ones are released when memory is short.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hashbrown::DefaultHashBuilder;

use super::pool::GpuBuffer;
use crate::Result;
use crate::ragged::{Identity, Keeper};

/// A slot for a copy; may be empty.
#[derive(Default)]
pub(crate) struct Copied {
    buffer: Mutex<Option<Arc<GpuBuffer>>>,
    /// The submission that was being recorded at the last use.
    used: AtomicU64,
}

impl Copied {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<GpuBuffer>>> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The copy, created if missing. If two threads create it at once, the first one stays.
    pub(crate) fn get(
        &self,
        now: u64,
        is_there: impl Fn(&GpuBuffer) -> bool,
        make: impl FnOnce() -> Result<Arc<GpuBuffer>>,
    ) -> Result<Arc<GpuBuffer>> {
        self.used.store(now, Ordering::Relaxed);
        let found =
            |place: &Option<Arc<GpuBuffer>>| place.clone().filter(|buffer| is_there(buffer));
        if let Some(buffer) = found(&self.lock()) {
            return Ok(buffer);
        }
        // Not under the lock: uploads may wait for the device.
        let made = make()?;
        let mut place = self.lock();
        if let Some(first) = found(&place) {
            return Ok(first);
        }
        let gone = place.replace(made.clone());
        // Dropped outside this lock because the drop takes the pool's lock.
        drop(place);
        drop(gone);
        Ok(made)
    }

    /// Releases the copy unless it is in use.
    fn give_up(&self) -> bool {
        let mut buffer = self.lock();
        // Every user clones the buffer under this lock.
        if buffer.as_ref().is_none_or(|b| Arc::strong_count(b) > 1) {
            return false;
        }
        let gone = buffer.take();
        // Dropped outside this lock because the drop takes the pool's lock.
        drop(buffer);
        drop(gone);
        true
    }
}

/// All slots of a device.
#[derive(Default)]
pub(crate) struct Copies(Mutex<Places>);

#[derive(Default)]
struct Places {
    /// The slots of layouts and plan buffers, by identity.
    by_identity: HashMap<u64, Arc<Copied>, DefaultHashBuilder>,
    places: Vec<Weak<Copied>>,
    /// The number of slots at which dead ones are removed.
    sweep_at: usize,
}

impl Copies {
    /// An empty slot for a new copy.
    pub(crate) fn place(&self) -> Arc<Copied> {
        self.lock().place()
    }

    /// The slot for this identity, cached until the identity is dropped.
    pub(crate) fn of(self: &Arc<Self>, identity: &Identity) -> Arc<Copied> {
        let mut all = self.lock();
        if let Some(found) = all.by_identity.get(&identity.id()) {
            return found.clone();
        }
        let place = all.place();
        all.by_identity.insert(identity.id(), place.clone());
        drop(all);
        let keeper: Arc<dyn Keeper> = self.clone();
        identity.notify_on_drop(&keeper);
        place
    }

    /// Releases unused copies, least recently used first, until `enough`. True if any was released.
    pub(crate) fn give_up(&self, mut enough: impl FnMut() -> bool) -> bool {
        let mut all: Vec<Arc<Copied>> = {
            let all = self.lock();
            all.places.iter().filter_map(Weak::upgrade).collect()
        };
        // Read once for each, because other threads use copies meanwhile, and a sort panics if its order changes.
        all.sort_by_cached_key(|place| place.used.load(Ordering::Relaxed));
        let mut any = false;
        for place in all {
            if enough() {
                break;
            }
            any |= place.give_up();
        }
        any
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    fn place(&mut self) -> Arc<Copied> {
        let place = Arc::new(Copied::default());
        if self.places.len() >= self.sweep_at {
            self.places.retain(|place| place.strong_count() > 0);
            self.sweep_at = (2 * self.places.len()).max(64);
        }
        self.places.push(Arc::downgrade(&place));
        place
    }
}

impl Keeper for Copies {
    fn forget(&self, id: u64) {
        let gone = self.lock().by_identity.remove(&id);
        // Dropped outside this lock because the drop takes the pool's lock.
        drop(gone);
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::Error;

    /// Copies are released while other threads use them, which changes the order in which they were used.
    #[apply(unit_test)]
    fn released_while_they_are_used() {
        let copies = Copies::default();
        let places: Vec<_> = (0..1000).map(|_| copies.place()).collect();
        std::thread::scope(|scope| {
            let users = (0..2).map(|seed| {
                let places = &places;
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    for _ in 0..300_000 {
                        let place = &places[rng.usize(..places.len())];
                        let none = || Err(Error::unsupported("no copy").named("test"));
                        assert!(place.get(rng.u64(..), |_| true, none).is_err());
                    }
                })
            });
            let users: Vec<_> = users.collect();
            while users.iter().any(|user| !user.is_finished()) {
                assert!(!copies.give_up(|| false));
            }
        });
    }
}
