//! What was worked out from a layout, kept beside it.

use core::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;

/// Enough for the operations that one batch meets in a loop, and little enough to search in order.
const CAPACITY: usize = 16;

/// Which of a layout's derived values: what it is, and everything it depends on beside the layout itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CacheKey {
    /// What the value is, `"conv plan"` for one. One name stands for one type.
    pub what: &'static str,
    /// The other operand's [`Layout::id`](super::Layout::id), or 0.
    pub other: u64,
    /// The device, or 0 for values that no device owns.
    pub device: u64,
    /// Anything else: flags, a pairing's [`Pairs::key`](super::Pairs::key).
    pub extra: u64,
}

type Entry = (CacheKey, Arc<dyn Any + Send + Sync>);

/// A bounded map from keys to values of any type. The least recently used value goes first.
#[derive(Default)]
pub(super) struct Cache(Mutex<VecDeque<Entry>>);

impl Cache {
    /// The value of `key`, made now if it is not there.
    ///
    /// `make` runs without the lock, so it may plan, compile or use the same cache. When two threads make the same
    /// value at once, both get the one that was stored first.
    pub fn get_or_make<V: Any + Send + Sync>(
        &self,
        key: CacheKey,
        make: impl FnOnce() -> Result<Arc<V>>,
    ) -> Result<Arc<V>> {
        if let Some(found) = find(&mut self.lock(), key) {
            return Ok(found);
        }
        let made = make()?;

        let mut entries = self.lock();
        if let Some(found) = find(&mut entries, key) {
            return Ok(found);
        }
        entries.push_back((key, made.clone()));
        let evicted = if entries.len() > CAPACITY {
            entries.pop_front()
        } else {
            None
        };
        // A value may own device memory, whose release takes locks of its own: not under this one.
        drop(entries);
        drop(evicted);
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        // No code that could panic half-way runs under the lock, so a poisoned cache is still whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds a value and marks it as the most recently used.
fn find<V: Any + Send + Sync>(entries: &mut VecDeque<Entry>, key: CacheKey) -> Option<Arc<V>> {
    let at = entries.iter().position(|(k, _)| *k == key)?;
    let value = Arc::clone(&entries[at].1).downcast::<V>().ok()?;
    if at + 1 != entries.len() {
        let entry = entries.remove(at)?;
        entries.push_back(entry);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(extra: u64) -> CacheKey {
        CacheKey {
            what: "test",
            other: 0,
            device: 0,
            extra,
        }
    }

    /// Whether the value had to be made.
    fn made(cache: &Cache, extra: u64) -> bool {
        let mut made = false;
        let value = cache.get_or_make(key(extra), || {
            made = true;
            Ok(Arc::new(extra))
        });
        assert_eq!(value.as_deref(), Ok(&extra));
        made
    }

    #[test]
    fn the_least_recently_used_value_goes_first() {
        let cache = Cache::default();
        let capacity = CAPACITY as u64;
        assert!((0..capacity).all(|i| made(&cache, i)));
        assert!(!made(&cache, 0), "a full cache keeps everything");
        assert!(made(&cache, capacity));
        assert_eq!(cache.lock().len(), CAPACITY, "the cache is bounded");
        assert!(!made(&cache, 0), "a value in use stays");
        assert!(made(&cache, 1), "the oldest unused value went");
    }

    #[test]
    fn a_failure_is_returned_and_not_stored() {
        let cache = Cache::default();
        let lost = crate::Error::NoDevice {
            reason: "test".into(),
        };
        let failed = cache.get_or_make::<u64>(key(7), || Err(lost.clone()));
        assert_eq!(failed, Err(lost));
        assert!(made(&cache, 7));
    }

    #[test]
    fn making_a_value_may_use_the_cache_and_release_it() {
        let cache = Cache::default();
        let value = cache.get_or_make(key(1), || {
            assert!(made(&cache, 2));
            assert!(made(&cache, 1), "another thread's value, stored first");
            Ok(Arc::new(99_u64))
        });
        assert_eq!(value.as_deref(), Ok(&1));
    }
}
