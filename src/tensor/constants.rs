//! Batches of one value that a device keeps: scalars that were operands.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::Storage;
use crate::Result;
use crate::ragged::{DType, Layout, Scalar, words_of};

/// The most scalars that a device keeps.
pub(super) const MOST: usize = 64;

/// The scalars that were operands, by their type and bits.
#[derive(Default)]
pub(super) struct Constants(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The layout of all: one layout has one copy on a GPU, and one plan for each operation.
    layout: Option<Layout>,
    values: HashMap<(DType, [u32; 2]), Storage>,
}

impl Constants {
    pub(super) fn clear(&self) {
        self.with(|kept| kept.values.clear());
    }

    #[cfg(feature = "testing")]
    pub(super) fn len(&self) -> usize {
        self.with(|kept| kept.values.len())
    }

    /// The layout of a scalar, and this scalar if it is kept.
    pub(super) fn find<T: Scalar>(&self, value: T) -> Result<(Layout, Option<Storage>)> {
        self.with(|kept| {
            let layout = match &kept.layout {
                Some(layout) => layout.clone(),
                None => kept.layout.insert(Layout::from_lengths([1])?).clone(),
            };
            Ok((layout, kept.values.get(&key(value)).cloned()))
        })
    }

    pub(super) fn keep<T: Scalar>(&self, value: T, storage: Storage) {
        self.with(|kept| {
            if kept.values.len() >= MOST {
                kept.values.clear();
            }
            kept.values.insert(key(value), storage);
        });
    }

    fn with<R>(&self, f: impl FnOnce(&mut Kept) -> R) -> R {
        // An update under the lock cannot stop halfway, so a poisoned lock still guards consistent values.
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn key<T: Scalar>(value: T) -> (DType, [u32; 2]) {
    (T::DTYPE, words_of(value))
}
