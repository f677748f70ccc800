//! Kronecker and outer products.

use super::{Paired, Tensor};
use crate::Result;
use crate::ops::kron::{self, Kind};
use crate::ragged::Factor;

impl<T: Factor> Tensor<T> {
    /// The Kronecker product `(a ⊗ b)_{i·n+j} = a_i b_j`, where n is the stored extent of b, on every axis, element by
    /// element: extents m·n.
    ///
    /// Real types and f16. Both batches must have the same rank, 1 to 8. If either element is empty, the result is
    /// empty, of shape (0, …, 0). Integers wrap. A NaN or an infinity reaches only the products that it is a factor of.
    /// Each value is one product, rounded once.
    ///
    /// **What holds.** The product is associative, and its unit is `[1]`, of shape (1, …, 1). No product of nonzero
    /// elements is zero. It distributes over sums on the left, `(a + b) ⊗ c = a ⊗ c + b ⊗ c`, so trailing zeros of a
    /// only add trailing zeros.
    ///
    /// **What does not hold.** The stored shape of the right operand counts, so equivalence is *not* respected there: a
    /// trailing zero of b moves values of the result. Nor does the product distribute over sums on the right, because a
    /// sum takes the larger shape. It is therefore not well defined on classes of equivalent elements;
    /// [`outer`](Self::outer) is.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// # let batch = |row: &[i32]| device.upload(&Ragged::from_rows([row])?);
    /// let a = batch(&[1, 2])?;
    /// let row = |x: vsla::Tensor<i32>| Ok::<_, vsla::Error>(x.download_blocking()?.row(0).to_vec());
    /// assert_eq!(row(a.kron(&batch(&[3, 4])?)?)?, [3, 4, 6, 8]);
    ///
    /// // [3] and [3, 0] are equivalent; the products are not.
    /// assert_eq!(row(a.kron(&batch(&[3])?)?)?, [3, 6]);
    /// assert_eq!(row(a.kron(&batch(&[3, 0])?)?)?, [3, 0, 6, 0]);
    ///
    /// // The product does not distribute over a sum on the right.
    /// let (x, y) = (batch(&[3])?, batch(&[0, 1])?);
    /// assert_eq!(row(a.kron(&x.add(&y)?)?)?, [3, 1, 6, 2]);
    /// assert_eq!(row(a.kron(&x)?.add(&a.kron(&y)?)?)?, [3, 7, 0, 2]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// Cost: operands read once, result written once, and the writes dominate. Results grow fast: the product of two
    /// elements of 65,536 values has one value more than 32-bit indices can address.
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize), [`Rank`](crate::Error::Rank),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch); [`SizeOverflow`](crate::Error::SizeOverflow) with the pair
    /// whose result brings the batch above 2³² − 1 values, and [`TooLarge`](crate::Error::TooLarge) with the first
    /// result beyond the device's binding limit, both before any work; [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn kron(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.zip("kron", other)?.kron()
    }

    /// The outer product `outer(x, y)[i…, j…] = x[i…] y[j…]`, element by element: the result has the shape of x
    /// followed by that of y.
    ///
    /// Real types and f16. The ranks may differ; they add up to at most 8. If either element is empty, the result is
    /// empty, of shape (0, …, 0). Integers wrap. A NaN or an infinity reaches only the products that it is a factor of.
    /// Each value is one product, rounded once.
    ///
    /// Respects equivalence for finite values on both sides: a trailing zero only adds trailing zeros. Associative and
    /// bilinear: it distributes over sums on both sides. For vectors, the values are those of [`kron`](Self::kron),
    /// arranged in rows.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([[1, 2]])?)?;
    /// let y = device.upload(&Ragged::from_rows([[3, 0, 4]])?)?;
    /// let outer = x.outer(&y)?.download_blocking()?;
    /// assert_eq!(outer.shape(0), Shape::new(&[2, 3])?);
    /// assert_eq!(outer.row(0), [3, 0, 4, 6, 0, 8]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// Cost: operands read once, result written once.
    ///
    /// # Errors
    /// Those of [`kron`](Self::kron), with [`Rank`](crate::Error::Rank) if the ranks add up to more than 8.
    pub fn outer(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.zip("outer", other)?.outer()
    }
}

impl<T: Factor> Paired<'_, T> {
    /// [`Tensor::kron`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::kron`].
    pub fn kron(&self) -> Result<Tensor<T>> {
        let (kind, dtype) = (Kind::Kron, T::DTYPE);
        self.run(kron::Kron { kind, dtype })
    }

    /// [`Tensor::outer`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::outer`].
    pub fn outer(&self) -> Result<Tensor<T>> {
        let (kind, dtype) = (Kind::Outer, T::DTYPE);
        self.run(kron::Kron { kind, dtype })
    }
}
