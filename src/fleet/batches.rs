//! Host batches, and their parts on a device.

use std::ops::Range;

use crate::error::Named;
use crate::program::Value;
use crate::ragged::{Layout, Ragged, Scalar};
use crate::tensor::{Device, Tensor};
use crate::{Error, Result};

pub(super) mod sealed {
    use std::ops::Range;

    use crate::Result;
    use crate::program::Value;
    use crate::ragged::Layout;
    use crate::tensor::Device;

    pub trait Batches: Sync {
        /// The layout of the first batch.
        fn layout(&self) -> &Layout;

        /// Checks that another batch, the one on the left, has as many elements.
        fn check(&self, elements: usize) -> Result<()>;

        /// The bytes of a range of elements.
        fn bytes(&self, elements: Range<usize>) -> u64;

        /// Copies a range of elements to a device.
        fn upload(&self, device: &Device, elements: Range<usize>) -> Result<Self::Part>;

        /// The tensors of a part, as inputs of a program.
        fn inputs(part: &Self::Part) -> Vec<(&Layout, &dyn Value)>;

        type Part;
    }
}

/// The operands of [`Fleet::map`](super::Fleet::map) and [`DataParallel::step`](super::DataParallel::step): a batch,
/// `&x`, or up to four batches with as many elements, `(&x, &y)`, whose elements belong together. Sealed.
pub trait Batches: sealed::Batches<Part = Self::Parts> {
    /// What the function is given: a tensor, or as many tensors as there are batches.
    type Parts;
}

impl<T: Scalar> sealed::Batches for &Ragged<T> {
    type Part = Tensor<T>;

    fn layout(&self) -> &Layout {
        Ragged::layout(self)
    }

    fn check(&self, elements: usize) -> Result<()> {
        match self.len() == elements {
            true => Ok(()),
            false => Err(Error::batch_sizes(elements, self.len())),
        }
    }

    fn bytes(&self, elements: Range<usize>) -> u64 {
        let offsets = Ragged::layout(self).offsets().as_slice();
        let values = offsets[elements.end] - offsets[elements.start];
        u64::from(values) * T::DTYPE.size() as u64
    }

    fn upload(&self, device: &Device, elements: Range<usize>) -> Result<Tensor<T>> {
        let layout = Ragged::layout(self);
        let offsets = layout.offsets().as_slice();
        let [start, end] = [elements.start, elements.end].map(|at| offsets[at] as usize);
        let part = layout.part(elements).named("upload")?;
        device.upload_parts(&part, &self.values()[start..end])
    }

    fn inputs(part: &Tensor<T>) -> Vec<(&Layout, &dyn Value)> {
        vec![(part.layout(), part)]
    }
}

impl<T: Scalar> Batches for &Ragged<T> {
    type Parts = Tensor<T>;
}

macro_rules! tuples {
    ($(($($type:ident $at:tt),+))+) => {$(
        impl<$($type: Scalar),+> sealed::Batches for ($(&Ragged<$type>,)+) {
            type Part = ($(Tensor<$type>,)+);

            fn layout(&self) -> &Layout {
                self.0.layout()
            }

            fn check(&self, elements: usize) -> Result<()> {
                $(sealed::Batches::check(&self.$at, elements)?;)+
                Ok(())
            }

            fn bytes(&self, elements: Range<usize>) -> u64 {
                [$(sealed::Batches::bytes(&self.$at, elements.clone())),+].iter().sum()
            }

            fn upload(&self, device: &Device, elements: Range<usize>) -> Result<Self::Part> {
                Ok(($(sealed::Batches::upload(&self.$at, device, elements.clone())?,)+))
            }

            fn inputs(part: &Self::Part) -> Vec<(&Layout, &dyn Value)> {
                vec![$((part.$at.layout(), &part.$at as &dyn Value)),+]
            }
        }

        impl<$($type: Scalar),+> Batches for ($(&Ragged<$type>,)+) {
            type Parts = ($(Tensor<$type>,)+);
        }
    )+};
}

tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}
