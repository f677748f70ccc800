//! Process-wide unique ids for values that caches refer to, and notification of these caches when a value is dropped.

use core::hash::{BuildHasher, Hash};
use core::sync::atomic::{AtomicU64, Ordering};
use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use hashbrown::DefaultHashBuilder;

/// Holds data about values by their ids, such as a device that has copies of them.
pub(crate) trait Keeper: Send + Sync {
    /// Called after the value with this id is dropped; ids are never reused. Called without holding locks of this
    /// module.
    fn forget(&self, id: u64);
}

/// An id that no other value in this process has.
pub(crate) struct Identity {
    id: u64,
    keepers: Mutex<Vec<Weak<dyn Keeper>>>,
}

impl Identity {
    pub(crate) fn new() -> Identity {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Identity {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            keepers: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Notifies `keeper` when the value is dropped.
    pub(crate) fn notify_on_drop(&self, keeper: &Arc<dyn Keeper>) {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &Weak<dyn Keeper>| {
            core::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(keeper)) && known.strong_count() > 0
        };
        if !keepers.iter().any(is_it) {
            keepers.retain(|known| known.strong_count() > 0);
            keepers.push(Arc::downgrade(keeper));
        }
    }
}

type Gone = Vec<(Vec<Weak<dyn Keeper>>, u64)>;

thread_local! {
    /// Dropped values whose keepers are yet to be notified; `None` unless this thread is notifying keepers.
    static GONE: RefCell<Option<Gone>> = const { RefCell::new(None) };
}

impl Drop for Identity {
    fn drop(&mut self) {
        let keepers = self
            .keepers
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if keepers.is_empty() {
            return;
        }
        // A keeper may drop the last reference to another value, whose keepers may do the same. Queue these values
        // instead of recursing, so that long chains do not overflow the stack.
        let mut own = Some((std::mem::take(keepers), self.id));
        let begun = GONE.try_with(|gone| match &mut *gone.borrow_mut() {
            Some(gone) => {
                gone.extend(own.take());
                false
            }
            none => {
                *none = Some(Vec::new());
                true
            }
        });
        while let Some((keepers, id)) = own {
            for keeper in keepers.iter().filter_map(Weak::upgrade) {
                keeper.forget(id);
            }
            own = match begun {
                Ok(true) => GONE.with(|gone| gone.borrow_mut().as_mut().and_then(Vec::pop)),
                _ => None,
            };
        }
        if let Ok(true) = begun {
            GONE.with(|gone| *gone.borrow_mut() = None);
        }
    }
}

/// The hash used to find candidates before contents are compared. Its seed is random per process.
pub(crate) fn hash_of(contents: impl Hash) -> u64 {
    hasher().hash_one(contents)
}

/// The process-wide hasher builder.
pub(crate) fn hasher() -> &'static DefaultHashBuilder {
    static BUILDER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    &BUILDER
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    /// Holds one more value for every value that it is notified about.
    #[derive(Default)]
    struct Chain(Mutex<Vec<(u64, Identity)>>);

    impl Keeper for Chain {
        fn forget(&self, id: u64) {
            let mut all = self.0.lock().unwrap();
            let gone: Vec<_> = all.extract_if(.., |(of, _)| *of == id).collect();
            drop(all);
            drop(gone);
        }
    }

    #[apply(unit_test)]
    fn a_long_chain_of_values_goes_without_recursion() {
        let chain = Arc::new(Chain::default());
        let keeper: Arc<dyn Keeper> = chain.clone();
        let first = Identity::new();
        first.notify_on_drop(&keeper);
        let mut identity = first.id();
        for _ in 0..20_000 {
            let next = Identity::new();
            next.notify_on_drop(&keeper);
            next.notify_on_drop(&keeper);
            let id = next.id();
            let mut all = chain.0.lock().unwrap();
            // Insert at the front, where the search finds it immediately.
            all.insert(0, (identity, next));
            if all.len() > 200 {
                break;
            }
            identity = id;
        }
        drop(first);
        assert!(chain.0.lock().unwrap().is_empty());
    }
}
