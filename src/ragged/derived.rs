//! A cache of device-independent data derived from a value, stored next to the value.

use core::any::{Any, TypeId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;

/// The number of cached entries. Enough for every form in which kernels read one topology.
const CAPACITY: usize = 16;

type Key = (TypeId, [u32; 2]);

/// A small cache of values of any type, keyed by type and two numbers. When full, it evicts the oldest entry.
#[derive(Default)]
pub(super) struct Derived(Mutex<Vec<(Key, Arc<dyn Any + Send + Sync>)>>);

impl Derived {
    /// The cached value for `numbers`, made now if it is missing. `make` runs without the lock; if two threads make the
    /// same value, the first one stored wins.
    pub(super) fn get_or_make<V: Any + Send + Sync>(
        &self,
        numbers: [u32; 2],
        make: impl FnOnce() -> Result<Arc<V>>,
    ) -> Result<Arc<V>> {
        let key = (TypeId::of::<V>(), numbers);
        if let Some(found) = find(&self.lock(), key) {
            return Ok(found);
        }
        let made = make()?;
        let mut all = self.lock();
        if let Some(found) = find(&all, key) {
            return Ok(found);
        }
        let oldest = (all.len() == CAPACITY).then(|| all.remove(0));
        all.push((key, made.clone()));
        // Dropping the evicted value notifies devices, which must not happen under this lock.
        drop(all);
        drop(oldest);
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Key, Arc<dyn Any + Send + Sync>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find<V: Any + Send + Sync>(
    all: &[(Key, Arc<dyn Any + Send + Sync>)],
    key: Key,
) -> Option<Arc<V>> {
    let found = all.iter().find(|(known, _)| *known == key)?;
    found.1.clone().downcast().ok()
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    /// Whether the value had to be made.
    fn made(all: &Derived, number: u32) -> bool {
        let mut made = false;
        let value = all.get_or_make([number, 0], || {
            made = true;
            Ok(Arc::new(number))
        });
        assert_eq!(value.as_deref(), Ok(&number));
        made
    }

    #[apply(unit_test)]
    fn the_oldest_value_goes_first() {
        let all = Derived::default();
        let capacity = CAPACITY as u32;
        assert!((0..capacity).all(|i| made(&all, i)));
        assert!(!made(&all, 0));
        assert!(made(&all, capacity));
        assert!(made(&all, 0) && !made(&all, 2));
        assert_eq!(all.lock().len(), CAPACITY);
    }

    #[apply(unit_test)]
    fn types_have_values_of_their_own_and_failures_are_not_kept() {
        let all = Derived::default();
        assert!(made(&all, 7));
        let other = all.get_or_make([7, 0], || Ok(Arc::new("seven")));
        assert_eq!(other.as_deref(), Ok(&"seven"));
        let lost = crate::Error::no_device("test");
        let failed = all.get_or_make::<u64>([7, 0], || Err(lost.clone()));
        assert_eq!(failed, Err(lost));
        assert_eq!(
            all.get_or_make([7, 0], || Ok(Arc::new(9u64))).as_deref(),
            Ok(&9)
        );
    }
}
