//! The period of an element along an axis.

use super::Tensor;
use crate::Result;
use crate::ops::period::Period;
use crate::ragged::Pixel;

impl<T: Pixel> Tensor<T> {
    /// The period of each element along an axis: the smallest p of 1 or more such that slice i + p equals slice i for
    /// all i, as a batch of rank 1 and length 1.
    ///
    /// Along axis 0 of an image, a slice is a row. If nothing repeats, it is the extent; an incomplete repetition at
    /// the end counts, so 1 2 1 2 1 has a period of 2. An element without slices gives 0. Any rank. Does not respect
    /// equivalence: a trailing zero may break the pattern. Cost: in one dispatch, at most two comparisons for each
    /// value. Each element is handled by one workgroup, slice by slice, so few large ones do not fill a GPU.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let image = Ragged::from_shapes(vec![1, 1, 2, 2, 1, 1], 2, [Shape::new(&[3, 2])?])?;
    /// let x = Device::cpu().upload(&image)?;
    /// assert_eq!(x.period(0)?.download_blocking()?.values(), [2]);
    /// assert_eq!(x.period(1)?.download_blocking()?.values(), [1]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an axis that is not below the rank;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn period(&self, axis: usize) -> Result<Tensor<u32>> {
        self.unary(Period { axis }, &[])
    }
}
