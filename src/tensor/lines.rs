//! Reductions and normalizations along an axis or of whole elements: means, deviations, softmax, norms.

use super::Tensor;
use crate::Result;
use crate::ops::Op;
use crate::ops::lines::{Along, Function};
use crate::ragged::{DType, Float};

impl<T: Float> Tensor<T> {
    /// The mean `m = Σ x_i / n` of each element, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives NaN. Any rank. NaN and infinity propagate within their own element. Does not respect
    /// equivalence: the number of stored values counts. Error bound: |error| ≤ γ_h Σ|x_i| / n + 2⁻¹²⁶ with h ≤ 66 +
    /// ⌈log₂ n⌉ for n values up to 2²⁷. The CPU sums in f64; on a GPU the mean is infinite or NaN if a partial sum does
    /// not fit in an `f32`. f16 is computed in f32 and rounded once, which adds half a unit in the last place to the
    /// bound. Cost: values read once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 2.0, 6.0], vec![5.0]])?)?;
    /// assert_eq!(x.mean()?.download_blocking()?.to_vecs()?, [vec![3.0], vec![5.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn mean(&self) -> Result<Tensor<T>> {
        self.line(Function::Mean, None, 0.0)
    }

    /// The population variance `v = Σ (x_i − m)² / n` of each element about its [`mean`](Self::mean) m, as a batch of
    /// rank 1 and length 1.
    ///
    /// The divisor is n, not n − 1. An empty element gives NaN, and an element with one finite value gives 0.
    ///
    /// Values far from zero cost no accuracy: a second pass squares the differences from the mean, and the parts of
    /// long elements are combined as by Chan, Golub and LeVeque (1979). On a GPU the variance is infinite if a partial
    /// sum of `(x_i − m)²` does not fit in an `f32`, NaN if a partial sum of `x_i` does not, and squares below 2⁻¹²⁶
    /// may be flushed to 0. Any rank. NaN and infinity give NaN within their own element. Does not respect equivalence.
    /// Error bound: |error| ≤ γ_h v + (2⁻²³ max|x_i|)² + 2⁻¹²⁶, with h ≤ 72 + 4 ⌈log₂ n⌉ for n values up to 2²⁶. f16 is
    /// computed in f32 and rounded once, which adds half a unit in the last place to the bound. Cost: values read once
    /// from memory.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 3.0], vec![5.0]])?)?;
    /// assert_eq!(x.var()?.download_blocking()?.to_vecs()?, [vec![1.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`mean`](Self::mean).
    pub fn var(&self) -> Result<Tensor<T>> {
        self.line(Function::Var, None, 0.0)
    }

    /// The standard deviation of each element: the square root of its [`var`](Self::var).
    ///
    /// On a GPU, a standard deviation below about 2⁻⁶³ may therefore become 0. Otherwise it behaves like `var`, with a
    /// further rounding.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 5.0], vec![5.0]])?)?;
    /// assert_eq!(x.std()?.download_blocking()?.to_vecs()?, [vec![2.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`mean`](Self::mean).
    pub fn std(&self) -> Result<Tensor<T>> {
        self.line(Function::Std, None, 0.0)
    }

    /// `log Σ exp x_i` of each element, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives −∞, and so does an element whose values are all −∞. With the largest value M, it is
    /// computed as `M + log Σ exp(x_i − M)`, so nothing overflows. Any rank. An element with a NaN gives NaN;
    /// otherwise, one with ∞ gives ∞. Does not respect equivalence: a value of 0 adds 1 to the sum. Error bound:
    /// |error| ≤ γ_h + 2⁻²³ |result|, with h ≤ 72 + ⌈log₂ n⌉ for n values up to 2²⁴. f16 is computed in f32 and rounded
    /// once, which adds half a unit in the last place to the bound. Cost: values read once from memory.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1000.0f32, 1000.0], vec![]])?)?;
    /// let sums = x.log_sum_exp()?.download_blocking()?;
    /// assert_eq!(sums.to_vecs()?, [vec![1000.0 + 2.0f32.ln()], vec![f32::NEG_INFINITY]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`mean`](Self::mean).
    pub fn log_sum_exp(&self) -> Result<Tensor<T>> {
        self.line(Function::LogSumExp, None, 0.0)
    }

    /// The [`mean`](Self::mean) along an axis.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives NaN.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1.0f32, 2.0, 3.0, 4.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.mean_axis(0)?.download_blocking()?.row(0), [2.0, 3.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn mean_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.line(Function::Mean, Some(axis), 0.0)
    }

    /// The variance, [`var`](Self::var), along an axis.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives NaN. Cost:
    /// along the last axis, values read once; along other axes, once more, mostly from a cache.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1.0f32, 2.0, 3.0, 6.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.var_axis(0)?.download_blocking()?.row(0), [1.0, 4.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn var_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.line(Function::Var, Some(axis), 0.0)
    }

    /// The standard deviation, [`std`](Self::std), along an axis.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives NaN. Cost:
    /// that of [`var_axis`](Self::var_axis).
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1.0f32, 2.0, 3.0, 6.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.std_axis(0)?.download_blocking()?.row(0), [1.0, 2.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn std_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.line(Function::Std, Some(axis), 0.0)
    }

    /// [`log_sum_exp`](Self::log_sum_exp) along an axis.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives −∞. Cost: that
    /// of [`var_axis`](Self::var_axis).
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1.0f32, -200.0], 2, [Shape::new(&[1, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.log_sum_exp_axis(1)?.download_blocking()?.row(0), [1.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn log_sum_exp_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.line(Function::LogSumExp, Some(axis), 0.0)
    }

    /// Softmax along an axis: weights `exp(x_i − M) / Σ_j exp(x_j − M)` that sum to one, with M the largest value of
    /// the line.
    ///
    /// The shapes do not change.
    ///
    /// Each line has its own length: nothing is padded, and no mask is needed. A value of −∞ gets weight 0. A line with
    /// a NaN or ∞, or whose values are all −∞, gives NaN. Error bound: |error| ≤ (γ_h + 2⁻²² (1 + M − x_i)) y_i + 2⁻¹²⁶
    /// for a result y_i, with h ≤ 76 + ⌈log₂ n⌉ for lines of n values up to 2²⁴. Does not respect equivalence. f16 is
    /// computed in f32 and rounded once, which adds half a unit in the last place to the bound. Cost: values read once
    /// and written once; lines of more than 4,096 values are read twice. Along an axis other than the last one, lines
    /// of up to 4,096 values are read up to twice more, mostly from a cache.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![0.0f32, 0.0], vec![7.0], vec![]])?)?;
    /// assert_eq!(x.softmax(0)?.download_blocking()?.to_vecs()?, [vec![0.5, 0.5], vec![1.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn softmax(&self, axis: usize) -> Result<Tensor<T>> {
        self.line(Function::Softmax, Some(axis), 0.0)
    }

    /// The logarithm of [`softmax`](Self::softmax), `(x_i − M) − log Σ_j exp(x_j − M)`, along an axis.
    ///
    /// It stays finite where a weight is too small for `f32`. The shapes do not change.
    ///
    /// A line with a NaN or ∞, or whose values are all −∞, gives NaN. Error bound: |error| ≤ γ_h + 2⁻²³ |y_i| for a
    /// result y_i, with h ≤ 72 + ⌈log₂ n⌉ for lines of n values up to 2²⁴. Does not respect equivalence. f16 is
    /// computed in f32 and rounded once, which adds half a unit in the last place to the bound. Cost: that of
    /// `softmax`.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![0.0f32, 300.0], vec![7.0]])?)?;
    /// let logs = x.log_softmax(0)?.download_blocking()?;
    /// assert_eq!(logs.to_vecs()?, [vec![-300.0, 0.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sum_axis`](Self::sum_axis).
    pub fn log_softmax(&self, axis: usize) -> Result<Tensor<T>> {
        self.line(Function::LogSoftmax, Some(axis), 0.0)
    }

    /// Layer normalization along an axis, `(x_i − m) / √(v + epsilon)`, with m the mean and v the variance of the line.
    ///
    /// As in Ba, Kiros and Hinton (2016), without scale and shift. The shapes do not change.
    ///
    /// With an `epsilon` of 0, the result is meaningless if v is no larger than the error of [`var`](Self::var), as in
    /// a line of equal values, and NaN if v is computed as 0. A line with a NaN or an infinity gives NaN. Error bound
    /// elsewhere: |error| ≤ γ_h (1 + |y_i|) + 2⁻²³ |m| / √(v + epsilon) for a result y_i, with h ≤ 72 + 4 ⌈log₂ n⌉ for
    /// lines of n values up to 2²⁶. Does not respect equivalence. f16 is computed in f32 and rounded once, which adds
    /// half a unit in the last place to the bound. Cost: that of [`softmax`](Self::softmax).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 3.0], vec![7.0]])?)?;
    /// assert_eq!(x.layer_norm(0, 3.0)?.download_blocking()?.to_vecs()?, [vec![-0.5, 0.5], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an `epsilon` that is negative or not finite; those of
    /// [`sum_axis`](Self::sum_axis).
    pub fn layer_norm(&self, axis: usize, epsilon: f32) -> Result<Tensor<T>> {
        check_epsilon("layer_norm", epsilon)?;
        self.line(Function::LayerNorm, Some(axis), epsilon)
    }

    /// Root-mean-square normalization along an axis, `x_i / √(Σ x_j² / n + epsilon)`.
    ///
    /// As in Zhang and Sennrich (2019), without scale. The shapes do not change.
    ///
    /// With an `epsilon` of 0, a line of zeros gives NaN. On a GPU, a line whose partial sums of squares do not all fit
    /// in an `f32`, for example with values above 1.8·10¹⁹, gives 0, and NaN for its infinities; and squares below
    /// 2⁻¹²⁶ may be flushed to 0, so that with an `epsilon` of 0 a line of values below 10⁻¹⁹ may give infinities.
    /// Error bound elsewhere: |error| ≤ γ_h |y_i| + 2⁻¹²⁶ for a result y_i, with h ≤ 72 + ⌈log₂ n⌉ for lines of n
    /// values up to 2²⁶. Does not respect equivalence. f16 is computed in f32 and rounded once, which adds half a unit
    /// in the last place to the bound. Cost: that of [`softmax`](Self::softmax).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3.0f32, 4.0], vec![2.0]])?)?;
    /// let x = x.rms_norm(0, 0.0)?.download_blocking()?;
    /// assert_eq!(x.to_vecs()?, [vec![3.0 / 12.5f32.sqrt(), 4.0 / 12.5f32.sqrt()], vec![1.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`layer_norm`](Self::layer_norm).
    pub fn rms_norm(&self, axis: usize, epsilon: f32) -> Result<Tensor<T>> {
        check_epsilon("rms_norm", epsilon)?;
        self.line(Function::RmsNorm, Some(axis), epsilon)
    }

    /// Standardizes each element to mean 0 and variance 1: subtracts its [`mean`](Self::mean) and divides by its
    /// [standard deviation](Self::std).
    ///
    /// The shapes do not change.
    ///
    /// Any rank. An element of equal values gives NaN if its variance is computed as 0. Otherwise it behaves like
    /// [`layer_norm`](Self::layer_norm) with an `epsilon` of 0.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 3.0], vec![2.0, 2.0, 8.0, 8.0]])?)?;
    /// let z = x.standardize()?.download_blocking()?;
    /// assert_eq!(z.to_vecs()?, [vec![-1.0, 1.0], vec![-1.0, -1.0, 1.0, 1.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`mean`](Self::mean).
    pub fn standardize(&self) -> Result<Tensor<T>> {
        self.line(Function::LayerNorm, None, 0.0)
    }

    /// Group normalization: subtracts the mean of each group of adjacent channels and divides by √(v + epsilon), with v
    /// the group's variance. Channels are the first axis, and a group has all values of its channels.
    ///
    /// As in Wu and He (2018), without scale and shift. The shapes do not change.
    ///
    /// All groups of an element have the same number of channels. The error bound is that of
    /// [`layer_norm`](Self::layer_norm), over the values of a group. A group with a NaN or an infinity gives NaN. Does
    /// not respect equivalence. Cost: that of `layer_norm`; the groups are a view.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// // Two channels of two values, and of one.
    /// let shapes = [Shape::new(&[2, 2])?, Shape::new(&[2, 1])?];
    /// let x = Ragged::from_shapes(vec![1.0f32, 3.0, 5.0, 9.0, 7.0, 7.0], 2, shapes)?;
    /// let y = Device::cpu().upload(&x)?.group_norm(2, 0.0)?.download_blocking()?;
    /// assert_eq!(y.row(0), [-1.0, 1.0, -1.0, 1.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) with the first element whose number of channels is not a multiple of `groups`;
    /// [`Argument`](crate::Error::Argument) for no groups, and for an `epsilon` that is negative or not finite; those
    /// of [`mean`](Self::mean).
    pub fn group_norm(&self, groups: usize, epsilon: f32) -> Result<Tensor<T>> {
        const OP: &str = "group_norm";
        check_epsilon(OP, epsilon)?;
        let groups_of = crate::ops::lines::groups(OP, self.layout(), groups)?;
        let lines = self.reshape(&groups_of);
        let normalized = lines.and_then(|lines| lines.layer_norm(1, epsilon));
        let shaped = normalized.and_then(|lines| lines.reshape(self.layout()));
        shaped.map_err(|error| error.named(OP))
    }

    /// Divides each line along an axis by its Euclidean norm: `x_i / max(√Σ x_j², epsilon)`.
    ///
    /// PyTorch calls it `normalize`. The shapes do not change.
    ///
    /// A line of zeros stays zero, if `epsilon` is not 0; with an `epsilon` of 0 it gives NaN. On a GPU, a line whose
    /// partial sums of squares do not all fit in an `f32`, for example with values above 1.8·10¹⁹, gives 0, and NaN for
    /// its infinities; squares below 2⁻¹²⁶ may be flushed to 0, so that an `epsilon` below 10⁻¹⁹ may give infinities
    /// for a line of such values. A line with a NaN gives NaN. Error bound elsewhere: |error| ≤ γ_h |y_i| + 2⁻¹²⁶ for a
    /// result y_i, with h ≤ 72 + ⌈log₂ n⌉ for lines of n values up to 2²⁶. f16 is computed in f32 and rounded once,
    /// which adds half a unit in the last place to the bound. Respects equivalence of finite values: zeros stay zeros.
    /// Cost: that of [`softmax`](Self::softmax).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3.0f32, 4.0], vec![0.0]])?)?;
    /// let x = x.l2_normalize(0, 1e-12)?.download_blocking()?;
    /// assert_eq!(x.to_vecs()?, [vec![0.6, 0.8], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`layer_norm`](Self::layer_norm).
    pub fn l2_normalize(&self, axis: usize, epsilon: f32) -> Result<Tensor<T>> {
        check_epsilon("l2_normalize", epsilon)?;
        self.line(Function::L2Normalize, Some(axis), epsilon)
    }

    fn line(&self, function: Function, axis: Option<usize>, scalar: f32) -> Result<Tensor<T>> {
        let op = Op::Along(Along {
            function,
            axis,
            dtype: T::DTYPE,
            result: T::DTYPE,
        });
        self.unary(op, &[scalar.to_bits()])
    }

    /// [`log_sum_exp_axis`](Self::log_sum_exp_axis) as computed, in f32.
    pub(super) fn log_sums(&self, axis: usize) -> Result<Tensor<f32>> {
        let op = Op::Along(Along {
            function: Function::LogSumExp,
            axis: Some(axis),
            dtype: T::DTYPE,
            result: DType::F32,
        });
        self.unary(op, &[0])
    }
}

fn check_epsilon(op: &'static str, epsilon: f32) -> Result<()> {
    match epsilon >= 0.0 && epsilon.is_finite() {
        true => Ok(()),
        false => Err(crate::Error::argument(
            op,
            "an epsilon that is finite and not negative",
            epsilon,
        )),
    }
}
