//! Reductions and normalizations along an axis or of whole elements: means, deviations, softmax, norms.

use num_complex::Complex32;

use super::Tensor;
use crate::Result;
use crate::error::Named;
use crate::ops::lines::{Along, Function};
use crate::ragged::{DType, Float};

impl<T: Float> Tensor<T> {
    /// The mean `m = Σ x_i / n` of each element, as a batch of rank 1 and length 1.
    ///
    /// An empty element gives NaN. Any rank. NaN and infinity propagate within their own element. Does not respect
    /// equivalence: the number of stored values counts. Error bound: |error| ≤ γ_h Σ|x_i| / n + 2⁻¹²⁶ with h ≤ 66 +
    /// ⌈log₂ n⌉ for n values up to 2²⁷, also where their sum does not fit in an `f32`. f16 is computed in f32 and
    /// rounded once, which adds half a unit in the last place to the bound. Cost: values read once.
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
    /// long elements are combined as by Chan, Golub and LeVeque (1979). Values are scaled by a power of two, so that
    /// only the variance itself can overflow or underflow. Any rank. NaN and infinity give NaN within their own
    /// element. Does not respect equivalence. Error bound: |error| ≤ γ_h v + (2⁻²³ max|x_i|)² + 2⁻¹²⁶, with h ≤ 72 + 4
    /// ⌈log₂ n⌉ for n values up to 2²⁶. f16 is computed in f32 and rounded once, which adds half a unit in the last
    /// place to the bound. Cost: values read once from memory.
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
    /// It is in range wherever the values are, even if the variance is not: |error| ≤ γ_h s + 2⁻²³ max|x_i| + 2⁻¹²⁶ for
    /// a standard deviation s, with the h of `var`. Otherwise it behaves like `var`.
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
    /// |error| ≤ γ_h L + 2⁻²⁴ |result|, with L = log Σ exp(x_i − M) and h ≤ 170 + ⌈log₂ n⌉ for n values up to 2²⁴, plus
    /// n 2⁻¹²⁶. f16 is computed in f32 and rounded once, which adds half a unit in the last place to the bound. Cost:
    /// values read once from memory. The gradient is the [softmax](Self::softmax).
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
    /// A line with a NaN or ∞, or whose values are all −∞, gives NaN. Error bound: |error| ≤ γ_h |y_i| for a result
    /// y_i, plus n 2⁻¹²⁶, with h ≤ 170 + ⌈log₂ n⌉ for lines of n values up to 2²⁴: relative, also where a weight is
    /// nearly 1. Does not respect equivalence. f16 is computed in f32 and rounded once, which adds half a unit in the
    /// last place to the bound. Cost: that of `softmax`.
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
    /// With an `epsilon` of 0, the result is meaningless if √v is no larger than the error of [`std`](Self::std), as in
    /// a line of equal values, and NaN if v is computed as 0. A line with a NaN or an infinity gives NaN. Error bound
    /// elsewhere: |error| ≤ γ_h (1 + |y_i|) + 2⁻²³ |m| / √(v + epsilon) for a result y_i, with h ≤ 72 + 4 ⌈log₂ n⌉ for
    /// lines of n values up to 2²⁶. Does not respect equivalence. f16 is computed in f32 and rounded once, which adds
    /// half a unit in the last place to the bound. Cost: that of [`softmax`](Self::softmax).
    ///
    /// The gradient for a cotangent g with the mean ḡ is `(g_i − ḡ − y_i a) / √(v + epsilon)` with a = Σ g_j y_j / n.
    /// It is computed in f32, of the results y as they are stored. Those of f16 are rounded, which gives an error of at
    /// most 2⁻¹⁰ |y_i| Σ |g_j y_j| / (n √(v + epsilon)), beside half a unit in the last place of the gradient. The same
    /// holds for the other normalizations.
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
        check_epsilon(epsilon).named("layer_norm")?;
        self.line(Function::LayerNorm, Some(axis), epsilon)
    }

    /// Root-mean-square normalization along an axis, `x_i / √(Σ x_j² / n + epsilon)`.
    ///
    /// As in Zhang and Sennrich (2019), without scale. The shapes do not change.
    ///
    /// With an `epsilon` of 0, a line of zeros gives NaN. A line with a NaN gives NaN; otherwise, one with an infinity
    /// gives NaN for its infinities, and 0 for the rest. Squares neither overflow nor underflow, because their sum is
    /// kept at several scales. Error bound: |error| ≤ γ_h |y_i| + 2⁻¹²⁶ for a result y_i, with h ≤ 72 + ⌈log₂ n⌉ for
    /// lines of n values up to 2²⁶. A GPU may flush subnormal values to 0. Does not respect equivalence. f16 is
    /// computed in f32 and rounded once, which adds half a unit in the last place to the bound. Cost: that of
    /// [`softmax`](Self::softmax).
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
        check_epsilon(epsilon).named("rms_norm")?;
        self.line(Function::RmsNorm, Some(axis), epsilon)
    }

    /// Standardizes each element to mean 0 and variance 1: `(x_i − m) / √(v + epsilon)`, with m its
    /// [`mean`](Self::mean) and v its [variance](Self::var).
    ///
    /// The shapes do not change.
    ///
    /// Any rank. With an `epsilon` of 0, an element of equal values gives NaN if its variance is computed as 0; with a
    /// larger one it gives 0. It is [`layer_norm`](Self::layer_norm) of whole elements, with its error bound.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 3.0], vec![2.0, 2.0, 8.0, 8.0]])?)?;
    /// let z = x.standardize(0.0)?.download_blocking()?;
    /// assert_eq!(z.to_vecs()?, [vec![-1.0, 1.0], vec![-1.0, -1.0, 1.0, 1.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an `epsilon` that is negative or not finite; those of
    /// [`mean`](Self::mean).
    #[doc(alias("zscore"))]
    pub fn standardize(&self, epsilon: f32) -> Result<Tensor<T>> {
        check_epsilon(epsilon).named("standardize")?;
        self.line(Function::LayerNorm, None, epsilon)
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
        check_epsilon(epsilon).named(OP)?;
        let groups_of = crate::ops::lines::groups(self.layout(), groups).named(OP)?;
        let lines = self.reshape(&groups_of);
        let normalized = lines.and_then(|lines| lines.layer_norm(1, epsilon));
        let shaped = normalized.and_then(|lines| lines.reshape(self.layout()));
        shaped.named(OP)
    }

    /// Divides each line along an axis by its Euclidean norm: `x_i / max(√Σ x_j², epsilon)`.
    ///
    /// PyTorch calls it `normalize`. The shapes do not change.
    ///
    /// A line of zeros stays zero, if `epsilon` is not 0; with an `epsilon` of 0 it gives NaN. A line with a NaN gives
    /// NaN; otherwise, one with an infinity gives NaN for its infinities, and 0 for the rest. Squares neither overflow
    /// nor underflow, because their sum is kept at several scales. Error bound: |error| ≤ γ_h |y_i| + 2⁻¹²⁶ for a
    /// result y_i, with h ≤ 72 + ⌈log₂ n⌉ for lines of n values up to 2²⁶. A GPU may flush subnormal values to 0. f16
    /// is computed in f32 and rounded once, which adds half a unit in the last place to the bound. Respects equivalence
    /// of finite values: zeros stay zeros. Cost: that of [`softmax`](Self::softmax).
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
        check_epsilon(epsilon).named("l2_normalize")?;
        self.line(Function::L2Normalize, Some(axis), epsilon)
    }

    /// `√(v + epsilon)` with the variance v of each line: the divisor of [`layer_norm`](Self::layer_norm).
    pub(crate) fn deviation(&self, axis: usize, epsilon: f32) -> Result<Tensor<T>> {
        self.line(Function::Std, Some(axis), epsilon)
    }

    fn line(&self, function: Function, axis: Option<usize>, scalar: f32) -> Result<Tensor<T>> {
        let op = Along {
            function,
            axis,
            dtype: T::DTYPE,
            result: T::DTYPE,
        };
        self.unary(op, &[scalar.to_bits()])
    }

    /// [`log_sum_exp_axis`](Self::log_sum_exp_axis) before its two parts are added: the largest value, and the
    /// logarithm of the sum of exponentials of the differences from it, which is 0 if the largest value is not finite.
    pub(super) fn log_sums(&self, axis: usize) -> Result<Tensor<Complex32>> {
        let op = Along {
            function: Function::LogSumExp,
            axis: Some(axis),
            dtype: T::DTYPE,
            result: DType::C32,
        };
        self.unary(op, &[0])
    }
}

fn check_epsilon(epsilon: f32) -> Result<()> {
    match epsilon >= 0.0 && epsilon.is_finite() {
        true => Ok(()),
        false => Err(crate::Error::argument(
            "an epsilon that is finite and not negative",
            epsilon,
        )),
    }
}
