//! Reductions of elements and along axes, and equality up to trailing zeros.

use super::{Paired, Tensor};
use crate::error::Named;
use crate::ops::reduce::{PairReduction, Reduce, ReducePairs, Reduction};
use crate::ragged::{Factor, Float, Number, Ordered, Real, Scalar};
use crate::{Result, host};

impl<T: Number> Tensor<T> {
    /// Sums each element, `Σ x_i`: one value per element, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives 0. Any rank. Integers wrap, f16 is summed in f32 and rounded once, and complex numbers
    /// are summed part by part; a NaN propagates within its own element. Respects equivalence: trailing zeros add
    /// nothing. Error bound: |error| ≤ γ_h Σ|x_i| with h ≤ 66 + ⌈log₂ t⌉ for t values up to 2²⁷; for f16, add half a
    /// unit in the last place of the result. A GPU may flush subnormal values to 0. In f32, sums of whole numbers are
    /// exact while Σ|x_i| is below 2²⁴. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![]])?)?;
    /// assert_eq!(x.sum()?.download_blocking()?.to_vecs()?, [vec![6.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn sum(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Sum)
    }

    /// Sums along an axis, `Σ x_i`.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each, as with [`sum`](Self::sum).
    ///
    /// An empty line gives 0. NaN and infinity stay within their line. Types, equivalence, error bound and cost are
    /// those of `sum`.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.sum_axis(0)?.download_blocking()?.row(0), [5, 7, 9]);
    /// assert_eq!(x.sum_axis(1)?.download_blocking()?.row(0), [6, 15]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an axis that is not below the rank;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) with the first element that has too many lines; and those of
    /// [`sum`](Self::sum).
    pub fn sum_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.reduce_along(Reduction::Sum, Some(axis))
    }
}

impl<T: Factor> Tensor<T> {
    /// The product of the values of each element, `Π x_i`, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives 1. Any rank. Integers wrap, and f16 is multiplied in f32 and rounded once; a NaN
    /// propagates within its own element. Does not respect equivalence: a trailing zero makes the product 0. Error
    /// bound: |error| ≤ γ_n |result| for n values; for f16, add half a unit in the last place. On a GPU, this holds as
    /// long as no product of a subset of the values overflows `f32` or is below 2⁻¹²⁶ in magnitude; such a product may
    /// make the result 0, infinite or NaN. The CPU multiplies in f64. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![2.0f32, -3.0], vec![]])?)?;
    /// assert_eq!(x.prod()?.download_blocking()?.to_vecs()?, [vec![-6.0], vec![1.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn prod(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Product)
    }

    /// The products along an axis, `Π x_i`: [`prod`](Self::prod) of each line.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives 1. NaN and
    /// infinity stay within their line.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.prod_axis(1)?.download_blocking()?.row(0), [6, 120]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn prod_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.reduce_along(Reduction::Product, Some(axis))
    }

    /// Sums the absolute values of each element, `Σ |x_i|`: one value per element, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives 0. Any rank. Integers wrap, and so does |−2³¹|, which stays −2³¹; for u32 this is the
    /// [`sum`](Self::sum). A NaN propagates within its own element. Respects equivalence: trailing zeros add nothing.
    /// Error bound: that of `sum`. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, -2.0, 3.0], vec![]])?)?;
    /// assert_eq!(x.norm1()?.download_blocking()?.to_vecs()?, [vec![6.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn norm1(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Norm1)
    }

    /// The sums of the absolute values along an axis: [`norm1`](Self::norm1) of each line.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives 0. NaN and
    /// infinity stay within their line.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1.0f32, -2.0, 3.0, -4.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.norm1_axis(1)?.download_blocking()?.row(0), [3.0, 7.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn norm1_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.reduce_along(Reduction::Norm1, Some(axis))
    }

    /// The maximum norm of each element, `max |x_i|`, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives 0. Any rank. An element with a NaN gives NaN. For i32, |−2³¹| wraps to −2³¹, which here
    /// counts as the largest magnitude. Exact, but a GPU may flush subnormal f16 values to 0. Respects equivalence:
    /// trailing zeros are never larger. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, -5, 3], vec![]])?)?;
    /// assert_eq!(x.norm_max()?.download_blocking()?.to_vecs()?, [vec![5], vec![0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn norm_max(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::NormMax)
    }

    /// The largest absolute values along an axis: [`norm_max`](Self::norm_max) of each line.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives 0. NaN and
    /// infinity stay within their line.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1.0f32, -2.0, 3.0, -4.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.norm_max_axis(0)?.download_blocking()?.row(0), [3.0, 4.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn norm_max_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.reduce_along(Reduction::NormMax, Some(axis))
    }
}

impl<T: Ordered> Tensor<T> {
    /// The largest value of each element, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives −∞, or the least value of an integer type. Any rank. An element with a NaN gives NaN. +0
    /// is greater than −0. Exact. Does not respect equivalence: only stored values count, not the zeros beyond them.
    /// Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![-1.0f32, -2.0], vec![]])?)?;
    /// assert_eq!(x.max()?.download_blocking()?.to_vecs()?, [vec![-1.0], vec![f32::NEG_INFINITY]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn max(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Max)
    }

    /// The largest value of each line along an axis.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each, as with [`max`](Self::max).
    ///
    /// An empty line gives −∞, or the least value of an integer type. A line with a NaN gives NaN, and −0 is smaller
    /// than +0. Nothing is rounded, but a GPU may flush subnormal numbers to 0. NaN and infinity stay within their
    /// line. Does not respect equivalence. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1, 5, 3, 4, 2, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.max_axis(0)?.download_blocking()?.row(0), [4, 5, 6]);
    /// assert_eq!(x.max_axis(1)?.download_blocking()?.row(0), [5, 6]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn max_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.reduce_along(Reduction::Max, Some(axis))
    }

    /// The index of the largest value of each element, as a batch of rank 1 and length 1.
    ///
    /// The index is row-major within the element's stored shape; an empty element gives `u32::MAX`. Any rank. Among
    /// equal values the lowest index wins; −0 equals 0. An element with NaNs gives the index of the first NaN. Exact.
    /// Does not respect equivalence: the stored shape counts. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 7, 7], vec![]])?)?;
    /// assert_eq!(x.argmax()?.download_blocking()?.to_vecs()?, [vec![1], vec![u32::MAX]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn argmax(&self) -> Result<Tensor<u32>> {
        self.reduce(Reduction::ArgMax)
    }

    /// The position of the largest value of each line along an axis: its index on that axis.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one index each, as with [`argmax`](Self::argmax).
    ///
    /// An empty line gives `u32::MAX`. Among equal values the lowest index wins; −0 equals 0. A line with NaNs gives
    /// the index of the first NaN. Exact, but a GPU may take subnormal numbers for 0. NaN and infinity stay within
    /// their line. Does not respect equivalence. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1, 5, 3, 4, 2, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.argmax_axis(0)?.download_blocking()?.row(0), [1, 0, 1]);
    /// assert_eq!(x.argmax_axis(1)?.download_blocking()?.row(0), [1, 2]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn argmax_axis(&self, axis: usize) -> Result<Tensor<u32>> {
        self.reduce_along(Reduction::ArgMax, Some(axis))
    }

    /// The smallest value of each element, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives +∞, or the greatest value of an integer type. Any rank. An element with a NaN gives NaN.
    /// −0 is less than +0. Exact. Does not respect equivalence: only stored values count, not the zeros beyond them.
    /// Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![]])?)?;
    /// assert_eq!(x.min()?.download_blocking()?.to_vecs()?, [vec![1.0], vec![f32::INFINITY]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn min(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Min)
    }

    /// The smallest value of each line along an axis.
    ///
    /// An empty line gives ∞, or the greatest value of an integer type. A line with a NaN gives NaN. Otherwise it
    /// behaves like [`max_axis`](Self::max_axis).
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1, 5, 3, 4, 2, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.min_axis(0)?.download_blocking()?.row(0), [1, 2, 3]);
    /// assert_eq!(x.min_axis(1)?.download_blocking()?.row(0), [1, 2]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn min_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.reduce_along(Reduction::Min, Some(axis))
    }

    /// The index of the smallest value of each element, as a batch of rank 1 and length 1.
    ///
    /// The index is row-major within the element's stored shape; an empty element gives `u32::MAX`. Any rank. Among
    /// equal values the lowest index wins; −0 equals 0. An element with NaNs gives the index of the first NaN. Exact.
    /// Does not respect equivalence: the stored shape counts. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![7, 1, 1], vec![]])?)?;
    /// assert_eq!(x.argmin()?.download_blocking()?.to_vecs()?, [vec![1], vec![u32::MAX]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn argmin(&self) -> Result<Tensor<u32>> {
        self.reduce(Reduction::ArgMin)
    }

    /// The position of the smallest value of each line along an axis: its index on that axis, and `u32::MAX` for an
    /// empty line.
    ///
    /// Otherwise it behaves like [`argmax_axis`](Self::argmax_axis).
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1, 5, 3, 4, 2, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.argmin_axis(0)?.download_blocking()?.row(0), [0, 1, 0]);
    /// assert_eq!(x.argmin_axis(1)?.download_blocking()?.row(0), [0, 1]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn argmin_axis(&self, axis: usize) -> Result<Tensor<u32>> {
        self.reduce_along(Reduction::ArgMin, Some(axis))
    }
}

impl<T: Real> Tensor<T> {
    /// The dot product `Σ a_i b_i` over the box that both elements share, element by element, as a batch of rank 1 and
    /// length 1.
    ///
    /// The result is 0 where the shared box is empty. Both batches must have the same rank. Integers wrap. A NaN in the
    /// shared box propagates; a NaN outside it is paired with a missing entry and has no effect. Respects equivalence
    /// for finite values: trailing zeros add nothing. Error bound: |error| ≤ γ_h Σ|a_i b_i| with h ≤ 64 + ⌈log₂ t⌉ for
    /// t products. A GPU may flush subnormal values to 0, so that an infinity times a subnormal gives NaN. Exact for
    /// integers below 2²⁴. Cost: the shared values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![4.0f32, 5.0], vec![6.0]])?)?;
    /// assert_eq!(a.dot(&b)?.download_blocking()?.to_vecs()?, [vec![14.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize), [`Rank`](crate::Error::Rank),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn dot(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.zip("dot", other)?.dot()
    }

    /// Whether elements are equal up to trailing zeros, element by element: equal wherever both have a value, and zero
    /// wherever only one has.
    ///
    /// Both batches must have the same rank; shapes may differ. Empty elements are equivalent to zeros and to each
    /// other. −0 equals 0. An element with a NaN is equivalent to nothing, not even itself. Exact. This call reads back
    /// from the device: it runs the recorded work and returns one word per element. Cost: values read once, and shared
    /// values twice where the shapes differ beyond their first axis.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![1, 2, 0, 0], vec![]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![1, 2], vec![0, 3]])?)?;
    /// # pollster::block_on(async {
    /// assert_eq!(a.equivalent(&b).await?, [true, false]);
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`dot`](Self::dot).
    pub async fn equivalent(&self, other: &Tensor<T>) -> Result<Vec<bool>> {
        self.zip("equivalent", other)?.equivalent().await
    }

    /// The blocking form of [`equivalent`](Self::equivalent).
    ///
    /// # Errors
    /// Those of [`dot`](Self::dot).
    pub fn equivalent_blocking(&self, other: &Tensor<T>) -> Result<Vec<bool>> {
        self.zip("equivalent", other)?.equivalent_blocking()
    }
}

impl<T: Scalar> Tensor<T> {
    pub(super) fn reduce<U: Scalar>(&self, reduction: Reduction) -> Result<Tensor<U>> {
        self.reduce_along(reduction, None)
    }

    fn reduce_along<U: Scalar>(
        &self,
        reduction: Reduction,
        axis: Option<usize>,
    ) -> Result<Tensor<U>> {
        let op = Reduce {
            reduction,
            dtype: T::DTYPE,
            axis,
        };
        self.unary(op, &[])
    }
}

impl<T: Float> Tensor<T> {
    /// The Euclidean norm of each element, `√Σ x_i²`, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives 0. Any rank. Squares neither overflow nor underflow, because each element is first scaled
    /// by a power of two: the result is accurate wherever the norm is a normal number, and ∞ where it is too large. An
    /// element with a NaN gives NaN, otherwise one with an infinity gives ∞. Respects equivalence: trailing zeros add
    /// nothing. Error bound: |error| ≤ (γ_h / 2 + 4u) ‖x‖ with h ≤ 66 + ⌈log₂ t⌉ for t values up to 2²⁷ and u = 2⁻²⁴;
    /// f16 is computed in f32 and rounded once. A GPU may flush subnormal values to 0. Cost: values read once from
    /// memory, and once more from a cache.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3e30f32, 4e30], vec![]])?)?;
    /// assert_eq!(x.norm2()?.download_blocking()?.to_vecs()?, [vec![5e30], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn norm2(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Norm2)
    }

    /// The Euclidean norms along an axis: [`norm2`](Self::norm2) of each line.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives 0. NaN and
    /// infinity stay within their line.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![3.0f32, 4.0, 0.0, -2.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.norm2_axis(1)?.download_blocking()?.row(0), [5.0, 2.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Tensor::sum_axis).
    pub fn norm2_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.reduce_along(Reduction::Norm2, Some(axis))
    }
}

impl Tensor<u32> {
    /// Whether any value of each element is nonzero: 1 or 0, as a batch of rank 1 and length 1.
    ///
    /// Meant for the masks that comparisons such as [`less`](Self::less) return. An empty element gives 0. Any rank.
    /// Exact. Respects equivalence: trailing zeros change nothing. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![0u32, 3], vec![0, 0], vec![]])?)?;
    /// assert_eq!(x.any()?.download_blocking()?.values(), [1, 0, 0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn any(&self) -> Result<Tensor<u32>> {
        self.reduce(Reduction::Any)
    }

    /// Whether any value of each line along an axis is nonzero: [`any`](Self::any) of each line.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives 0.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![0u32, 1, 0, 0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.any_axis(0)?.download_blocking()?.row(0), [0, 1]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn any_axis(&self, axis: usize) -> Result<Tensor<u32>> {
        self.reduce_along(Reduction::Any, Some(axis))
    }

    /// Whether all values of each element are nonzero: 1 or 0, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives 1. Any rank. Exact. Does not respect equivalence: a trailing zero makes it 0. Cost:
    /// values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![0u32, 3], vec![1, 2], vec![]])?)?;
    /// assert_eq!(x.all()?.download_blocking()?.values(), [0, 1, 1]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn all(&self) -> Result<Tensor<u32>> {
        self.reduce(Reduction::All)
    }

    /// Whether all values of each line along an axis are nonzero: [`all`](Self::all) of each line.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives 1.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![2u32, 1, 0, 1], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.all_axis(0)?.download_blocking()?.row(0), [0, 1]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn all_axis(&self, axis: usize) -> Result<Tensor<u32>> {
        self.reduce_along(Reduction::All, Some(axis))
    }
}

impl<T: Real> Paired<'_, T> {
    /// [`Tensor::dot`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::dot`].
    pub fn dot(&self) -> Result<Tensor<T>> {
        self.reduce(PairReduction::Dot)
    }

    /// [`Tensor::equivalent`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::dot`].
    pub async fn equivalent(&self) -> Result<Vec<bool>> {
        let words = self.equal_or_not()?;
        truths(words.download().await?.values())
    }

    /// The blocking form of [`equivalent`](Self::equivalent).
    ///
    /// # Errors
    /// Those of [`Tensor::dot`].
    pub fn equivalent_blocking(&self) -> Result<Vec<bool>> {
        let words = self.equal_or_not()?;
        truths(words.download_blocking()?.values())
    }

    fn equal_or_not(&self) -> Result<Tensor<u32>> {
        self.left.check_readable().named("equivalent")?;
        self.right.check_readable().named("equivalent")?;
        self.reduce(PairReduction::Equivalent)
    }
}

impl<T: Scalar> Paired<'_, T> {
    pub(super) fn reduce<U: Scalar>(&self, reduction: PairReduction) -> Result<Tensor<U>> {
        let dtype = T::DTYPE;
        self.run(ReducePairs { reduction, dtype })
    }
}

fn truths(words: &[u32]) -> Result<Vec<bool>> {
    host::exact(words.iter().map(|&word| word != 0)).named("equivalent")
}
