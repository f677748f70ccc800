//! Pooling over windows.

use super::Tensor;
use crate::Result;
use crate::ops::pooling::{Extents, Kind, Pool};
use crate::ragged::{Factor, Float};

impl<T: Factor> Tensor<T> {
    /// The largest value of every window along the last one or two axes; adjacent windows do not overlap.
    ///
    /// y\[i, j\] = max over 0 ≤ k < a, 0 ≤ l < b of x\[i a + k, j b + l\], for a window `[a, b]`; likewise for one axis
    /// and a window `[a]`. PyTorch calls it `max_pool1d` and `max_pool2d`, without padding.
    ///
    /// Shapes: each element by its own extents. An extent n becomes ⌊n / a⌋, and 0 if the window is longer than the
    /// element; values that do not fill a window are not read. Axes before those of the window keep their extents: each
    /// index along them is pooled separately. [`pooling`](Self::pooling) has strides.
    ///
    /// Real types and f16, exactly. As for [`max`](Tensor::max), a window with a NaN gives NaN (without its payload),
    /// and −0 is smaller than 0. NaN and infinity affect only the windows that contain them. An element without values
    /// has no results.
    ///
    /// Cost: one dispatch; values read once from memory, results written once. Each result takes one operation for each
    /// value of its window. Large windows that overlap, of at least 128 times as many values as the product of the
    /// strides, are put together in passes over the element instead: 4 to 7 operations for each value of the element
    /// and each factor of 4 in an extent, with scratch memory for up to three times the element.
    ///
    /// Does not respect equivalence: trailing zeros may add windows, or be the largest values of one.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let images = Ragged::from_shapes((1..=19).collect(), 2, [Shape::new(&[2, 5])?, Shape::new(&[3, 3])?])?;
    /// let x = Device::cpu().upload(&images)?.max_pool(&[2, 2])?.download_blocking()?;
    /// assert_eq!(x.shape(0).extents(), [1, 2]);
    /// assert_eq!(x.to_vecs()?, [vec![7, 9], vec![15]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Pooling::max`].
    pub fn max_pool(&self, window: &[usize]) -> Result<Tensor<T>> {
        self.pooling(window).max()
    }

    /// Pooling with options: windows of these extents along the last axes.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 5.0, 2.0, 4.0], vec![3.0]])?)?;
    /// let y = x.pooling(&[2]).stride(&[1]).max()?.download_blocking()?;
    /// assert_eq!(y.to_vecs()?, [vec![5.0, 5.0, 4.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn pooling(&self, window: &[usize]) -> Pooling<'_, T> {
        Pooling {
            tensor: self,
            window: Extents::new(window),
            strides: None,
        }
    }
}

impl<T: Float> Tensor<T> {
    /// The mean of every window along the last one or two axes; adjacent windows do not overlap.
    ///
    /// y\[i, j\] = Σ x\[i a + k, j b + l\] / (a b) over 0 ≤ k < a, 0 ≤ l < b, for a window `[a, b]`; likewise for one
    /// axis and a window `[a]`. PyTorch calls it `avg_pool1d` and `avg_pool2d`, without padding.
    ///
    /// Shapes and costs are those of [`max_pool`](Self::max_pool). For the mean of a whole element, of any length,
    /// use [`mean`](Tensor::mean), which shares the sum among invocations.
    ///
    /// Types f32, and f16, which is computed in f32 and rounded once. The error is at most (a + b + 5) 2⁻²⁴ times the
    /// mean absolute value of the window, and (3 log₂(a b) + 11) 2⁻²⁴ times for large windows that overlap, as
    /// [`max_pool`](Self::max_pool) defines them; for f16, add half a unit in the last place of the result. Sums beyond
    /// the range of f32 are infinite. A window with a NaN gives NaN; NaN and infinity affect only the windows that
    /// contain them. An element without values has no results.
    ///
    /// Does not respect equivalence: trailing zeros may add windows.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 5.0, 2.0, 4.0, 9.0], vec![3.0]])?)?;
    /// assert_eq!(x.mean_pool(&[2])?.download_blocking()?.to_vecs()?, [vec![3.0, 3.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Pooling::max`].
    pub fn mean_pool(&self, window: &[usize]) -> Result<Tensor<T>> {
        self.pooling(window).mean()
    }
}

/// Pooling with a window and strides. Made by [`Tensor::pooling`].
///
/// An extent n becomes ⌊(n − w) / s⌋ + 1 for a window of extent w and a stride of s, and 0 if n < w.
///
/// ```
/// # use vsla::{Device, Ragged};
/// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0, 4.0, 5.0], vec![6.0]])?)?;
/// let y = x.pooling(&[3]).stride(&[2]).mean()?.download_blocking()?;
/// assert_eq!(y.to_vecs()?, [vec![2.0, 4.0], vec![]]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pooling<'a, T: Factor> {
    tensor: &'a Tensor<T>,
    window: Extents,
    strides: Option<Extents>,
}

impl<T: Factor> Pooling<'_, T> {
    /// Begins a window every s-th value: one stride for each axis of the window. Without it, the strides are the
    /// window's extents.
    ///
    /// Windows overlap if the stride is smaller than the window, and values between them are not read if it is larger.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let image = Ragged::from_shapes((1..=9).collect(), 2, [Shape::new(&[3, 3])?])?;
    /// let x = Device::cpu().upload(&image)?;
    /// let y = x.pooling(&[2, 2]).stride(&[1, 1]).max()?.download_blocking()?;
    /// assert_eq!(y.values(), [5, 6, 8, 9]);
    /// assert_eq!(x.pooling(&[2, 2]).stride(&[1, 0]).max().unwrap_err().kind(), "stride");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    #[must_use]
    pub fn stride(&self, strides: &[usize]) -> Self {
        Pooling {
            strides: Some(Extents::new(strides)),
            ..self.clone()
        }
    }

    /// The largest value of every window, as [`Tensor::max_pool`] describes.
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for a window of other than one or two axes, and for an extent of 0;
    /// [`Rank`](crate::Error::Rank) if the window has more axes than the elements; [`Stride`](crate::Error::Stride) for
    /// a stride of 0, and if there are not as many strides as the window has axes.
    pub fn max(&self) -> Result<Tensor<T>> {
        self.run(Kind::Max)
    }

    fn run(&self, kind: Kind) -> Result<Tensor<T>> {
        let op = Pool {
            kind,
            dtype: T::DTYPE,
            window: self.window,
            strides: self.strides,
        };
        self.tensor.unary(op, &[])
    }
}

impl<T: Float> Pooling<'_, T> {
    /// The mean of every window, as [`Tensor::mean_pool`] describes.
    ///
    /// # Errors
    /// Those of [`max`](Self::max).
    pub fn mean(&self) -> Result<Tensor<T>> {
        self.run(Kind::Mean)
    }
}
