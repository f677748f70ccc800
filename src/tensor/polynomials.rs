//! Elements as polynomials, with the constant coefficient first.

use super::{Paired, Tensor};
use crate::Result;
use crate::ops::eval::Eval;
use crate::ragged::Factor;

impl<T: Factor> Tensor<T> {
    /// Evaluates each polynomial, `Σ_i c_i t^i`, at its own points, in any shape and number; the result has the shape
    /// of the points.
    ///
    /// An element of this batch, of rank 1, holds the coefficients of a polynomial, the constant coefficient first:
    /// [`conv`](Self::conv) is the product of polynomials, and [`add`](Self::add) their sum. Evaluation uses Horner's
    /// scheme, from the last coefficient on. Real types and f16. The empty polynomial is 0 everywhere, and an empty
    /// element of points gives an empty result. Integers wrap. NaN and infinite points give what the scheme gives:
    /// `[5]` is 5 everywhere, but an infinity times a coefficient of 0 is NaN. At finite points trailing zeros change
    /// nothing.
    ///
    /// Cost: one multiply-add for each coefficient and point. One invocation evaluates one point, coefficient by
    /// coefficient, so a polynomial of millions of coefficients takes milliseconds however few points it has. Error
    /// bound: with n coefficients, |error| ≤ γ_{2n} Σ|c_i| |t|^i, exact for integers below 2²⁴. f16 is computed in f32
    /// and rounded once, which adds half a unit in the last place.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// // 1 + 2 t + 3 t², and t − 1
    /// let polynomials = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![-1.0, 1.0]])?)?;
    /// let points = device.upload(&Ragged::from_rows([vec![0.0f32, 1.0, -2.0], vec![10.0]])?)?;
    /// let values = polynomials.eval(&points)?.download_blocking()?;
    /// assert_eq!(values.to_vecs()?, [vec![1.0, 6.0, 9.0], vec![9.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless the polynomials have rank 1; [`BatchSize`](crate::Error::BatchSize),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`SizeOverflow`](crate::Error::SizeOverflow),
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn eval(&self, points: &Tensor<T>) -> Result<Tensor<T>> {
        self.zip("eval", points)?.eval()
    }
}

impl<T: Factor> Paired<'_, T> {
    /// [`Tensor::eval`] of every pair: left polynomials at right points.
    ///
    /// # Errors
    /// Those of [`Tensor::eval`].
    pub fn eval(&self) -> Result<Tensor<T>> {
        self.run(Eval { dtype: T::DTYPE })
    }
}
