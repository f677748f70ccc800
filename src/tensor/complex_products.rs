//! Matrix products of complex numbers.
//!
//! Let B' have the rows of B and of iB alternately. Then the floats of A B, as stored, are the real product of the
//! floats of A and those of B': the real part of a value of A multiplies a row of B (re, im, re, im, …), and its
//! imaginary part the same row of iB (−im, re, −im, re, …). So A and the result are used as views, without a copy, and
//! one real product does all of the work.

use num_complex::Complex32;

use super::{Paired, Tensor};
use crate::error::Named;
use crate::ops::matmul::meet;
use crate::ops::strided::{Fold, View};
use crate::ragged::Scalar;
use crate::{Error, Result};

const OP: &str = "matmul";

impl<T: Scalar> Tensor<T> {
    /// The same values in other matrices, as a view.
    fn folded<U: Scalar>(&self, fold: Fold) -> Result<Tensor<U>> {
        self.unary(View::Fold(fold), &[])
    }
}

/// The matrices B' of matrices B: complex matrices as real right factors.
fn turned(b: &Tensor<Complex32>) -> Result<Tensor<f32>> {
    let rows = b.folded::<Complex32>(Fold::Apart)?;
    let turned = rows.scale_complex(Complex32::I)?;
    rows.concat(&turned, 1)?.folded(Fold::Turned)
}

impl Tensor<Complex32> {
    /// The matrix product of complex matrices, `(A B)_ij = Σ_l A_il B_lj`, element by element: (m, k) times (k, n)
    /// gives (m, n), with extents that may differ from element to element.
    ///
    /// Rank 2. If m or n is 0, the result is empty; if only k is 0, it is zero. Nothing is conjugated: see
    /// [`conj`](Tensor::conj) and [`transpose`](Tensor::transpose). A NaN or an infinity in A affects only its row of
    /// the result, and one in B only its column; there, infinities mostly give NaN. Respects equivalence for finite
    /// values, but inner extents must be equal. [`Paired::matmul`] multiplies one matrix with all, or listed pairs.
    ///
    /// Error bound of each part: γ_h Σ|A_il| |B_lj| with h = min(2k, 512) + ⌈2k / 512⌉; sums of integers are exact
    /// below 2²⁴. The bits of an element depend only on its own factors. Cost: 8·m·k·n operations, in the dispatches of
    /// one product of (m, 2k) and (2k, 2n) floats, and two dispatches that write the right factor three times in all; A
    /// and the result are not copied.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let (i, one) = (Complex32::I, Complex32::ONE);
    /// let a = device.upload(&Ragged::from_shapes(vec![one, i], 2, [Shape::new(&[1, 2])?])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![one, i, i, 2.0 * i], 2, [Shape::new(&[2, 2])?])?)?;
    /// // 1 · 1 + i · i, and 1 · i + i · 2i.
    /// assert_eq!(a.matmul(&b)?.download_blocking()?.values(), [Complex32::ZERO, i - 2.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](Error::Rank) unless both batches have rank 2; [`InnerExtents`](Error::InnerExtents) with the first pair
    /// whose inner extents differ; [`BatchSize`](Error::BatchSize), [`DeviceMismatch`](Error::DeviceMismatch),
    /// [`SizeOverflow`](Error::SizeOverflow), [`TooLarge`](Error::TooLarge), [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn matmul(&self, other: &Tensor<Complex32>) -> Result<Tensor<Complex32>> {
        self.zip(OP, other)?.matmul()
    }
}

impl Paired<'_, Complex32> {
    /// [`Tensor::matmul`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::matmul`].
    pub fn matmul(&self) -> Result<Tensor<Complex32>> {
        self.check_inner_extents()?;
        let product = || {
            let left: Tensor<f32> = self.left.folded(Fold::Parts)?;
            let right = turned(self.right)?;
            let real = Paired {
                left: &left,
                right: &right,
                pairs: self.pairs.clone(),
            };
            real.matmul()?.folded(Fold::Values)
        };
        product().named(OP)
    }

    fn check_inner_extents(&self) -> Result<()> {
        let (a, b) = self.layouts();
        a.check_rank(2).named(OP)?;
        b.check_rank(2).named(OP)?;
        // Where all are equal, there is no need to look at every pair.
        let (of_a, of_b) = (a.extent_bounds(1), b.extent_bounds(0));
        if of_a.0 == of_a.1 && of_a == of_b {
            return Ok(());
        }
        for pair in 0..self.len() {
            let (i, j) = self.pairs.get(pair);
            let [of_a, of_b] =
                [(a, i), (b, j)].map(|(x, i)| [0, 1].map(|k| x.extents()[2 * i + k]));
            if !meet(of_a, of_b) {
                return Err(
                    Error::inner_extents(pair, of_a[1] as usize, of_b[0] as usize, None).named(OP),
                );
            }
        }
        Ok(())
    }
}
