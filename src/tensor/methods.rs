//! Operations on one tensor, and element-by-element operations on two.

use super::functions::of_two;
use super::maps::word;
use super::{IntoSpread, Paired, Tensor};
use crate::error::Named;
use crate::ops::ambient::check_concat;
use crate::ops::linear::{Kind, Linear};
use crate::ragged::{Factor, Number, Pairs, Scalar};
use crate::{Result, host};

impl<T: Scalar> Tensor<T> {
    /// Pairs element i of this batch with element i of the other, for operation `op`.
    pub(super) fn zip<'a>(
        &'a self,
        op: &'static str,
        other: &'a Tensor<T>,
    ) -> Result<Paired<'a, T>> {
        self.check_device(other).named(op)?;
        Ok(Paired {
            left: self,
            right: other,
            pairs: Pairs::elementwise(&self.layout, &other.layout).named(op)?,
        })
    }

    pub(crate) fn map_by(&self, kind: Kind, scalars: &[u32]) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        self.unary(Linear { kind, dtype }, scalars)
    }

    /// Copies the values into memory of their own.
    ///
    /// A clone shares memory, and a view keeps the whole underlying buffer alive; a copy does neither. Bit patterns are
    /// preserved, including those of NaNs. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![3]])?)?;
    /// assert_eq!(x.elements(1..2)?.copy()?.download_blocking()?.to_vecs()?, [vec![3]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn copy(&self) -> Result<Tensor<T>> {
        self.map_by(Kind::Copy, &[])
    }

    /// Concatenates the elements of two batches along `axis`, element by element: `[a, b]`.
    ///
    /// The extent along `axis` is the sum, and along each other axis the larger of the two; positions that neither
    /// covers are zero. Bit patterns are preserved, including those of NaNs. Does not respect equivalence: b begins
    /// where the stored shape of a ends, so trailing zeros of a shift b. The extents of an element without values count
    /// too. Both batches must have the same rank. Cost: operands read once, result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![1, 2], vec![]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![3], vec![4, 5]])?)?;
    /// assert_eq!(a.concat(&b, 0)?.download_blocking()?.to_vecs()?, [vec![1, 2, 3], vec![4, 5]]);
    ///
    /// let square = Ragged::from_shapes(vec![1, 2, 3, 4], 2, [Shape::new(&[2, 2])?])?;
    /// let column = Ragged::from_shapes(vec![5, 6, 7], 2, [Shape::new(&[3, 1])?])?;
    /// let both = device.upload(&square)?.concat(&device.upload(&column)?, 1)?.download_blocking()?;
    /// assert_eq!(both.row(0), [1, 2, 5, 3, 4, 6, 0, 0, 7]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an axis that is not below the rank; those of [`add`](Tensor::add), and
    /// also
    /// [`SizeOverflow`](crate::Error::SizeOverflow) for an extent that does not fit.
    #[doc(alias("cat", "concatenate"))]
    pub fn concat(&self, other: &Tensor<T>, axis: usize) -> Result<Tensor<T>> {
        self.zip("concat", other)?.concat(axis)
    }

    /// Concatenates this batch and all others, in order, as [`concat`](Self::concat) does; without others, returns this
    /// batch.
    ///
    /// Neighbours are joined in pairs until one batch is left: with k batches, each value is read and written at most
    /// ⌈log₂ k⌉ times, in k − 1 dispatches.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let [a, b, c] = [vec![1], vec![2, 3], vec![4]].map(|row| Ragged::from_rows([row]));
    /// let (a, b, c) = (device.upload(&a?)?, device.upload(&b?)?, device.upload(&c?)?);
    /// assert_eq!(a.concat_all(&[&b, &c], 0)?.download_blocking()?.row(0), [1, 2, 3, 4]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`concat`](Self::concat). Wrong devices, batch sizes, ranks and axes are reported before any work
    /// starts.
    pub fn concat_all(&self, others: &[&Tensor<T>], axis: usize) -> Result<Tensor<T>> {
        let op = "concat_all";
        for other in others {
            self.check_device(other).named(op)?;
            self.layout.check_len(other.len()).named(op)?;
            check_concat(axis, &self.layout, &other.layout).named(op)?;
        }
        let mut all: Vec<Tensor<T>> = host::room(1 + others.len()).named(op)?;
        all.push(self.clone());
        all.extend(others.iter().map(|&other| other.clone()));
        while all.len() > 1 {
            let mut joined = host::room(all.len().div_ceil(2)).named(op)?;
            for two in all.chunks(2) {
                joined.push(match two {
                    [left, right] => left.concat(right, axis).named(op)?,
                    _ => two[0].clone(),
                });
            }
            all = joined;
        }
        Ok(all.swap_remove(0))
    }

    /// Places two elements along a diagonal, element by element: for matrices `[[a, 0], [0, b]]`.
    ///
    /// b begins where a ends, on every axis; all other positions are zero. Any rank, the same for both batches; at rank
    /// 1 it is [`concat`](Self::concat). Bit patterns are preserved. Does not respect equivalence: the stored shapes
    /// count, including those of elements without values. Cost: operands read once, result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_shapes(vec![1, 2], 2, [Shape::new(&[1, 2])?])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![3, 4], 2, [Shape::new(&[2, 1])?])?)?;
    /// let both = a.block_diag(&b)?.download_blocking()?;
    /// assert_eq!(both.shape(0), Shape::new(&[3, 3])?);
    /// assert_eq!(both.row(0), [1, 2, 0, 0, 0, 3, 0, 0, 4]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`add`](Tensor::add), and also [`SizeOverflow`](crate::Error::SizeOverflow) for an extent that does not
    /// fit.
    pub fn block_diag(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.zip("block_diag", other)?.block_diag()
    }
}

impl<T: Number> Tensor<T> {
    /// Adds two batches, `a + b`, element by element; missing entries are zero.
    ///
    /// Each result has the ambient shape: the smallest box that holds both elements.
    ///
    /// An extent of 1 is not special: `[1, 2, 3] + [5] = [6, 2, 3]`. Both batches must have the same rank. Integers
    /// wrap; NaN propagates. Respects equivalence: trailing zeros change nothing. `other` may be a scalar, or spread
    /// over the elements of this batch: see [`Spread`](crate::batch::Spread). `f16` is computed in `f32` and rounded;
    /// each part of a complex sum is rounded. Cost: operands read once, result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![1, 2, 3], vec![]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![5], vec![7]])?)?;
    /// assert_eq!(a.add(&b)?.download_blocking()?.to_vecs()?, [vec![6, 2, 3], vec![7]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize), [`Rank`](crate::Error::Rank),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`SizeOverflow`](crate::Error::SizeOverflow) with the element whose result does not fit,
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn add<'a>(&self, other: impl IntoSpread<'a, T>) -> Result<Tensor<T>> {
        of_two("add", self.into(), other.into())
    }

    /// Subtracts two batches, `a − b`, element by element; otherwise it behaves like [`add`](Self::add).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![5.0f32, 3.0, 2.0]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![2.0f32, 1.0, 2.0, 4.0]])?)?;
    /// assert_eq!(a.sub(&b)?.download_blocking()?.to_vecs()?, [vec![3.0, 2.0, 0.0, -4.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`add`](Self::add).
    pub fn sub<'a>(&self, other: impl IntoSpread<'a, T>) -> Result<Tensor<T>> {
        of_two("sub", self.into(), other.into())
    }

    /// Multiplies two batches value by value, `a ⊙ b`, element by element; the result is zero outside the overlap.
    ///
    /// Each result has the ambient shape: the smallest box that holds both elements.
    ///
    /// The result is zero outside the overlap by definition: a NaN or an infinity paired with a missing entry gives 0.
    /// For finite values the product therefore respects equivalence: trailing zeros only add trailing zeros. A NaN
    /// paired with a stored trailing zero, however, gives NaN. Both batches must have the same rank, and an extent of 1
    /// is not special. If one element is empty, the result is zeros in the shape of the other. Integers wrap. Each f32
    /// product is rounded once; a GPU may flush subnormal values to 0, so that an infinity times a subnormal gives NaN.
    /// Complex products are described [here](#complex-numbers). Cost: operands read once, result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![2.0f32, 3.0], vec![1.0]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![4.0f32, 5.0, f32::NAN], vec![]])?)?;
    /// assert_eq!(a.hadamard(&b)?.download_blocking()?.to_vecs()?, [vec![8.0, 15.0, 0.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`add`](Self::add).
    #[doc(alias("multiply"))]
    pub fn hadamard<'a>(&self, other: impl IntoSpread<'a, T>) -> Result<Tensor<T>> {
        of_two("hadamard", self.into(), other.into())
    }
}

impl<T: Factor> Tensor<T> {
    /// Negates every value, `−x`; the layout is unchanged.
    ///
    /// Respects equivalence. Flips the sign of a float, including zero, infinity and NaN. Integers wrap: the least i32
    /// is its own negative, and u32 gives 2³² − x. Exact. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, -2, i32::MIN], vec![]])?)?;
    /// assert_eq!(x.neg()?.download_blocking()?.to_vecs()?, [vec![-1, 2, i32::MIN], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn neg(&self) -> Result<Tensor<T>> {
        self.map_by(Kind::Neg, &[])
    }

    /// Multiplies every value by a factor, `factor · x`; the layout is unchanged.
    ///
    /// Respects equivalence. Integers wrap; f16 is multiplied in f32 and rounded once. NaN and 0 · ∞ give NaN; on a GPU
    /// that flushes subnormal values to 0, so does a subnormal times ∞. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, -2.0], vec![]])?)?;
    /// assert_eq!(x.scale(0.5)?.download_blocking()?.to_vecs()?, [vec![0.5, -1.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn scale(&self, factor: T) -> Result<Tensor<T>> {
        self.map_by(Kind::Scale, &[word(factor)])
    }
}
