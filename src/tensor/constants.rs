//! Scalars as operands: batches of one value that a device keeps.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::{Device, Storage, Tensor};
use crate::Result;
use crate::ragged::{DType, Layout, Scalar, words_of};

/// The most scalars that a device keeps.
const MOST: usize = 64;

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

    fn with<R>(&self, f: impl FnOnce(&mut Kept) -> R) -> R {
        // An update under the lock cannot stop halfway, so a poisoned lock still guards consistent values.
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Device {
    /// A batch of this one value, uploaded only if the device does not keep it already.
    pub(super) fn constant<T: Scalar>(&self, op: &'static str, value: T) -> Result<Tensor<T>> {
        let key = (T::DTYPE, words_of(value));
        let (layout, found) = self.constants().with(|kept| {
            let layout = match &kept.layout {
                Some(layout) => layout.clone(),
                None => kept.layout.insert(Layout::from_lengths([1])?).clone(),
            };
            Ok((layout, kept.values.get(&key).cloned()))
        })?;
        if let Some(storage) = found.filter(|storage| self.is_computed(storage)) {
            return Ok(Tensor::new(self, storage, 0, layout));
        }
        let made = self.upload_parts(&layout, &[value]);
        let made: Tensor<T> = made.map_err(|error| error.named(op))?;
        self.constants().with(|kept| {
            if kept.values.len() >= MOST {
                kept.values.clear();
            }
            kept.values.insert(key, made.storage.clone());
        });
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ragged::Ragged;

    #[test]
    fn scalars_are_kept_until_they_are_many() {
        let device = Device::cpu();
        let kept = || device.constants().with(|kept| kept.values.len());
        let x = device
            .upload(&Ragged::from_rows([[1.0f32]]).unwrap())
            .unwrap();
        for scalar in [0.0, -0.0, 2.0, 0.0] {
            x.add(scalar).unwrap();
        }
        assert_eq!(kept(), 3);
        for i in 0..1000 {
            x.add(i as f32).unwrap();
            assert!(kept() <= MOST);
        }
        device.trim();
        assert_eq!(kept(), 0);
    }
}
