//! Numbers for values that others keep something of, and word to these when a value is gone.

use core::hash::{BuildHasher, Hash};
use core::sync::atomic::{AtomicU64, Ordering};
use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use hashbrown::DefaultHashBuilder;

/// What keeps something of values by their numbers, such as a device that has copies of them.
pub(crate) trait Keeper: Send + Sync {
    /// The value of this number is gone, and the number never comes back. Called without locks of this module.
    fn forget(&self, id: u64);
}

/// A number that no other value of this process has.
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

    /// Tells `keeper` when the value is gone.
    pub(crate) fn kept_by(&self, keeper: &Arc<dyn Keeper>) {
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
    /// Values whose keepers are still to be told; none while nobody is.
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
        // What a keeper drops may be the last of another value, and so on: one after the other, however many there are.
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

/// The hash that contents are compared by first. Its seed is the process's.
pub(crate) fn hash_of(contents: impl Hash) -> u64 {
    hasher().hash_one(contents)
}

/// What makes hashers.
pub(crate) fn hasher() -> &'static DefaultHashBuilder {
    static BUILDER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    &BUILDER
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps a value of its own for each that it is told of.
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

    #[test]
    fn a_long_chain_of_values_goes_without_recursion() {
        let chain = Arc::new(Chain::default());
        let keeper: Arc<dyn Keeper> = chain.clone();
        let first = Identity::new();
        first.kept_by(&keeper);
        let mut of = first.id();
        for _ in 0..20_000 {
            let next = Identity::new();
            next.kept_by(&keeper);
            next.kept_by(&keeper);
            let id = next.id();
            let mut all = chain.0.lock().unwrap();
            // The newest first, which is found at once.
            all.insert(0, (of, next));
            if all.len() > 200 {
                break;
            }
            of = id;
        }
        drop(first);
        assert!(chain.0.lock().unwrap().is_empty());
    }
}
