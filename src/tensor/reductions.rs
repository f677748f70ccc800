//! Reductions, and equality up to trailing zeros.

use super::{Paired, Tensor};
use crate::ops::Op;
use crate::ops::reduce::{PairReduction, Reduce, ReducePairs, Reduction};
use crate::ragged::{Real, Scalar};
use crate::{Result, host};

impl<T: Real> Tensor<T> {
    /// `Σ x_i`: one value an element, as a batch of rank 1 and length 1. 0 for an empty element.
    ///
    /// Any rank. Integers wrap; NaN propagates, inside its own element. Respects equivalence: trailing zeros add
    /// nothing. Error bound: |error| ≤ γ_h Σ|x_i| with h ≤ 64 + ⌈log₂ t⌉ for t values, and a GPU may take subnormal
    /// values as 0; exact while integers stay below 2²⁴. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![]])?)?;
    /// assert_eq!(x.sum()?.download_blocking()?.to_vecs(), [vec![6.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn sum(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Sum)
    }

    /// `Σ |x_i|`: one value an element, as a batch of rank 1 and length 1. 0 for an empty element.
    ///
    /// Any rank. Integers wrap, and so does |−2³¹|, which stays −2³¹; of u32 it is the [`sum`](Self::sum). NaN
    /// propagates, inside its own element. Respects equivalence: trailing zeros add nothing. Error bound: |error| ≤ γ_h
    /// ‖x‖₁ with h ≤ 64 + ⌈log₂ t⌉ for t values, and a GPU may take subnormal values as 0; exact while integers stay
    /// below 2²⁴. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, -2.0, 3.0], vec![]])?)?;
    /// assert_eq!(x.norm1()?.download_blocking()?.to_vecs(), [vec![6.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn norm1(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Norm1)
    }

    /// The largest value of each element, as a batch of rank 1 and length 1. For an empty element −∞, and of integers
    /// the type's least value.
    ///
    /// Any rank. An element with a NaN gives NaN. Of zeros, +0 is above −0. Exact. Does not respect equivalence: the
    /// values of the carried shape count, no zero beyond it. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![-1.0f32, -2.0], vec![]])?)?;
    /// assert_eq!(x.max()?.download_blocking()?.to_vecs(), [vec![-1.0], vec![f32::NEG_INFINITY]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn max(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Max)
    }

    /// Where the largest value of each element is: the index inside the element, row-major on the carried shape, as a
    /// batch of rank 1 and length 1. `u32::MAX` for an empty element.
    ///
    /// Any rank. Of equal values the lowest index; −0 equals 0. An element with a NaN gives the first one's index.
    /// Exact. Does not respect equivalence: the carried shape counts. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 7, 7], vec![]])?)?;
    /// assert_eq!(x.argmax()?.download_blocking()?.to_vecs(), [vec![1], vec![u32::MAX]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn argmax(&self) -> Result<Tensor<u32>> {
        self.reduce(Reduction::ArgMax)
    }

    /// The smallest value of each element, as a batch of rank 1 and length 1. For an empty element +∞, and of integers
    /// the type's greatest value.
    ///
    /// Any rank. An element with a NaN gives NaN. Of zeros, −0 is below +0. Exact. Does not respect equivalence: the
    /// values of the carried shape count, no zero beyond it. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![]])?)?;
    /// assert_eq!(x.min()?.download_blocking()?.to_vecs(), [vec![1.0], vec![f32::INFINITY]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn min(&self) -> Result<Tensor<T>> {
        self.reduce(Reduction::Min)
    }

    /// Where the smallest value of each element is: the index inside the element, row-major on the carried shape, as a
    /// batch of rank 1 and length 1. `u32::MAX` for an empty element.
    ///
    /// Any rank. Of equal values the lowest index; −0 equals 0. An element with a NaN gives the first one's index.
    /// Exact. Does not respect equivalence: the carried shape counts. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![7, 1, 1], vec![]])?)?;
    /// assert_eq!(x.argmin()?.download_blocking()?.to_vecs(), [vec![1], vec![u32::MAX]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum`](Self::sum).
    pub fn argmin(&self) -> Result<Tensor<u32>> {
        self.reduce(Reduction::ArgMin)
    }

    /// `Σ a_i b_i` over the box that both elements share, element by element: one value each, as a batch of rank 1 and
    /// length 1. 0 where that box is empty.
    ///
    /// Both batches need one rank. Integers wrap; a NaN in the shared box propagates, one outside it meets a missing
    /// entry and is not seen. Respects equivalence of finite values: trailing zeros add nothing. Error bound:
    /// |error| ≤ γ_h Σ|a_i b_i| with h ≤ 64 + ⌈log₂ t⌉ for t products, and a GPU may take subnormal values as 0, which makes NaN of
    /// an infinity times one of them; exact while integers stay below 2²⁴. Cost: the shared values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![4.0f32, 5.0], vec![6.0]])?)?;
    /// assert_eq!(a.dot(&b)?.download_blocking()?.to_vecs(), [vec![14.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize), [`Rank`](crate::Error::Rank), [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn dot(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.meet("dot", other)?.dot()
    }

    /// Whether elements are equal up to trailing zeros, element by element: equal wherever both have a value, and zero
    /// where only one has.
    ///
    /// Both batches need one rank, any shapes. Empty elements are equivalent to zeros and to each other. −0 equals 0;
    /// an element with a NaN is equivalent to nothing, itself included. Exact. A reading call: what was recorded runs,
    /// and one word an element comes back. Cost: values read once, and shared
    /// ones twice where boxes differ beyond their first axis.
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
        self.meet("equivalent", other)?.equivalent().await
    }

    /// [`equivalent`](Self::equivalent), blocking the thread.
    ///
    /// # Errors
    /// Those of [`dot`](Self::dot).
    pub fn equivalent_blocking(&self, other: &Tensor<T>) -> Result<Vec<bool>> {
        self.meet("equivalent", other)?.equivalent_blocking()
    }

    pub(super) fn reduce<U: Scalar>(&self, reduction: Reduction) -> Result<Tensor<U>> {
        let dtype = T::DTYPE;
        self.unary(Op::Reduce(Reduce { reduction, dtype }), &[])
    }
}

impl Tensor<f32> {
    /// `√Σ x_i²`: one value an element, as a batch of rank 1 and length 1. 0 for an empty element.
    ///
    /// Any rank. Squares neither overflow nor vanish: an element is scaled by a power of two first, so a norm comes out
    /// right wherever it is a normal number, and as ∞ above. An element with a NaN gives NaN, otherwise one with an
    /// infinity gives ∞. Respects equivalence: trailing zeros add nothing. Error bound: |error| ≤ (γ_h / 2 + 4u) ‖x‖
    /// with h ≤ 64 + ⌈log₂ t⌉ for t values and u = 2⁻²⁴; a GPU may take subnormal values as 0. Cost: values read once
    /// from memory, and once more from a cache.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3e30f32, 4e30], vec![]])?)?;
    /// assert_eq!(x.norm2()?.download_blocking()?.to_vecs(), [vec![5e30], vec![0.0]]);
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
