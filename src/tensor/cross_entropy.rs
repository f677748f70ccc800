//! Labels: one-hot rows, and the cross-entropy of scores.

use num_complex::Complex32;

use super::Tensor;
use super::create::one;
use super::run::Call;
use crate::Result;
use crate::error::Named;
use crate::ops::cross_entropy::CrossEntropy;
use crate::ops::one_hot::OneHot;
use crate::ops::strided::View;
use crate::ragged::{Factor, Float};

impl Tensor<u32> {
    /// A row for each index, with 1 at that index and zeros elsewhere: `c[.., k]` is 1 if x is k, for 0 ≤ k < `depth`.
    ///
    /// An element of shape s becomes one of shape (s, depth). An index of `depth` or more gives a row of zeros and no
    /// error, as for [`gather`](Tensor::gather), because indices are never read on the host. The result is f32, i32,
    /// u32 or f16, and exact. PyTorch calls it `one_hot`. Does not respect equivalence: the index 0 has a row with a 1.
    /// An empty element has no rows. Cost: indices read once, the result written once. To select rows of a matrix,
    /// [`gather`](Tensor::gather) is faster than a product with one-hot rows.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let labels = Device::cpu().upload(&Ragged::from_rows([vec![2u32, 0, 7], vec![]])?)?;
    /// let rows = labels.one_hot::<f32>(3)?.download_blocking()?;
    /// assert_eq!((rows.shape(0), rows.shape(1)), (Shape::new(&[3, 3])?, Shape::new(&[0, 3])?));
    /// assert_eq!(rows.row(0), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) for elements of rank 8; [`SizeOverflow`](crate::Error::SizeOverflow) with the
    /// element whose result does not fit; [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn one_hot<T: Factor>(&self, depth: usize) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        self.unary(OneHot { dtype, depth }, &[one(dtype)])
    }
}

impl<T: Float> Tensor<T> {
    /// The cross-entropy of each row of scores (logits) and its target: `log Σ_k exp x_k − x_t` for the row's target t,
    /// which is −log of the probability that [`softmax`](Tensor::softmax) gives it.
    ///
    /// Rows lie along the last axis. Elements of shape (s, k) have targets of shape s, and so is the result; a vector
    /// is one row, with one target. Reduce it with [`mean`](Tensor::mean) or [`sum`](Tensor::sum). The gradient of a
    /// loss with respect to its row is `softmax(x) − one_hot(t)`, and NaN for the whole row if its target is not below
    /// the row's length. PyTorch calls it `cross_entropy`, with `reduction="none"`.
    ///
    /// Large scores do not overflow, because the largest one is subtracted first. A target that is not below the row's
    /// length gives NaN and no error, because targets are never read on the host; in particular, a row without scores
    /// gives NaN. A NaN in a row gives NaN. A score of ∞ gives ∞, or NaN if it is the target's own; a target's score of
    /// −∞ gives ∞, or NaN if all scores of the row are −∞. Other rows are not affected. With the largest score M, it is
    /// computed as `log Σ_k exp(x_k − M) + (M − x_t)`. Error bound: |error| ≤ γ_h y for a loss y, plus n 2⁻¹²⁶, with
    /// h ≤ 170 + ⌈log₂ n⌉ for rows of n scores up to 2²⁴, whatever the size of the scores is. f16 is computed in f32,
    /// logarithm included, and each loss is rounded once. Does not respect equivalence: a score of 0 counts.
    ///
    /// Cost: that of [`log_sum_exp_axis`](Tensor::log_sum_exp_axis), which reads the scores once from memory; then, for
    /// each row, its target, the target's score and the logarithm are read, and the result is written.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let scores = Ragged::from_shapes(vec![2.0f32, 2.0, 1.0, 9.0, -80.0, 1.0], 2, [Shape::new(&[2, 3])?])?;
    /// let targets = device.upload(&Ragged::from_rows([vec![0u32, 0]])?)?;
    /// let loss = device.upload(&scores)?.cross_entropy(&targets)?.download_blocking()?;
    /// assert!((loss.row(0)[0] - 0.861_995).abs() < 1e-6 && (loss.row(0)[1] - 0.000_335).abs() < 1e-6);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize) and [`Rank`](crate::Error::Rank) unless the targets are a batch of as
    /// many elements with one axis fewer (of rank 1 for vectors); [`Shape`](crate::Error::Shape) with the first element
    /// that does not have a target for each row; [`DeviceMismatch`](crate::Error::DeviceMismatch); those of
    /// [`log_sum_exp_axis`](Tensor::log_sum_exp_axis).
    pub fn cross_entropy(&self, targets: &Tensor<u32>) -> Result<Tensor<T>> {
        let op = "cross_entropy";
        self.check_device(targets).named(op)?;
        let targets: Tensor<u32> = targets.run_with_layout(View::Targets, &self.layout)?;
        let sums = self.log_sums(self.layout.rank() - 1).named(op)?;
        let operands = [self.operand(), targets.operand(), sums.operand()];
        let dtype = T::DTYPE;
        let slopes = false;
        let op = CrossEntropy { dtype, slopes };
        Call::new(&self.device, op, &operands).one()
    }

    /// The gradient of the losses times these weights, one for each row: `w (softmax(x) − one_hot(t))`, given the
    /// `log_sums` of the rows. The targets are those of a [`cross_entropy`](Self::cross_entropy).
    ///
    /// A row with a NaN or ∞, or with only −∞, gives NaN wherever exp(x − sum) is NaN, and a row gives NaN if its
    /// target is not below its length.
    pub(crate) fn cross_entropy_slopes(
        &self,
        targets: &Tensor<u32>,
        sums: &Tensor<Complex32>,
        weights: &Tensor<f32>,
    ) -> Result<Tensor<T>> {
        let others = [targets.operand(), sums.operand(), weights.operand()];
        let [targets, sums, weights] = others;
        let operands = [self.operand(), targets, sums, weights];
        let (dtype, slopes) = (T::DTYPE, true);
        let op = CrossEntropy { dtype, slopes };
        Call::new(&self.device, op, &operands).one()
    }
}
