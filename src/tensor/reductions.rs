//! Reductions, and equality up to trailing zeros.

use super::{Paired, Tensor};
use crate::ops::Op;
use crate::ops::reduce::{PairReduction, Reduce, ReducePairs, Reduction};
use crate::ragged::{Real, Scalar};
use crate::{Result, host};

impl<T: Real> Tensor<T> {
    /// Sums each element, `Σ x_i`: one value per element, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives 0. Any rank. Integers wrap; a NaN propagates within its own element. Respects
    /// equivalence: trailing zeros add nothing. Error bound: |error| ≤ γ_h Σ|x_i| with h ≤ 64 + ⌈log₂ t⌉ for t values,
    /// and a GPU may flush subnormal values to 0; exact for integers below 2²⁴. Cost: values read once.
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

    /// Sums the absolute values of each element, `Σ |x_i|`: one value per element, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives 0. Any rank. Integers wrap, and so does |−2³¹|, which stays −2³¹; for u32 this is the
    /// [`sum`](Self::sum). A NaN propagates within its own element. Respects equivalence: trailing zeros add nothing.
    /// Error bound: |error| ≤ γ_h ‖x‖₁ with h ≤ 64 + ⌈log₂ t⌉ for t values, and a GPU may flush subnormal values to 0;
    /// exact for integers below 2²⁴. Cost: values read once.
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

    /// [`equivalent`](Self::equivalent), blocking the thread.
    ///
    /// # Errors
    /// Those of [`dot`](Self::dot).
    pub fn equivalent_blocking(&self, other: &Tensor<T>) -> Result<Vec<bool>> {
        self.zip("equivalent", other)?.equivalent_blocking()
    }

    pub(super) fn reduce<U: Scalar>(&self, reduction: Reduction) -> Result<Tensor<U>> {
        let dtype = T::DTYPE;
        self.unary(Op::Reduce(Reduce { reduction, dtype }), &[])
    }
}

impl Tensor<f32> {
    /// The Euclidean norm of each element, `√Σ x_i²`, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives 0. Any rank. Squares neither overflow nor underflow, because each element is first scaled
    /// by a power of two: the result is accurate wherever the norm is a normal number, and ∞ where it is too large. An
    /// element with a NaN gives NaN, otherwise one with an infinity gives ∞. Respects equivalence: trailing zeros add
    /// nothing. Error bound: |error| ≤ (γ_h / 2 + 4u) ‖x‖ with h ≤ 64 + ⌈log₂ t⌉ for t values and u = 2⁻²⁴; a GPU may
    /// flush subnormal values to 0. Cost: values read once from memory, and once more from a cache.
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
    pub fn norm2(&self) -> Result<Tensor<f32>> {
        self.reduce(Reduction::Norm2)
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
        let words: Tensor<u32> = self.reduce(PairReduction::Equivalent)?;
        truths(words.download().await?.values())
    }

    /// [`equivalent`](Self::equivalent), blocking the thread.
    ///
    /// # Errors
    /// Those of [`Tensor::dot`].
    pub fn equivalent_blocking(&self) -> Result<Vec<bool>> {
        let words: Tensor<u32> = self.reduce(PairReduction::Equivalent)?;
        truths(words.download_blocking()?.values())
    }

    fn reduce<U: Scalar>(&self, reduction: PairReduction) -> Result<Tensor<U>> {
        let dtype = T::DTYPE;
        self.run(Op::ReducePairs(ReducePairs { reduction, dtype }))
    }
}

fn truths(words: &[u32]) -> Result<Vec<bool>> {
    host::exact("equivalent", words.iter().map(|&word| word != 0))
}
