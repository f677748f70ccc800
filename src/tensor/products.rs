//! Matrix products.

use super::extras::Extras;
use super::{Paired, Tensor};
use crate::ops::Op;
use crate::ops::matmul::tiles::{NATIVE_INVOCATIONS, NATIVE_MEMORY};
use crate::ops::matmul::{Activation, Form, Matmul, Target, Tier};
use crate::ragged::{DType, Factor, Float, Scalar};
use crate::{Error, Result};
use half::f16;

impl<T: Factor> Tensor<T> {
    /// The matrix product `(A B)_ij = Σ_l A_il B_lj`, element by element: (m, k) times (k, n) gives (m, n), with
    /// extents that may differ from element to element.
    ///
    /// Rank 2. An extent of 0 reads nothing, and k = 0 gives zeros. Integers wrap. A NaN or an infinity in A spreads
    /// over its row of the result, and one in B over its column; no other product is affected. Respects equivalence for
    /// finite values, but inner extents must be equal; [`matmul_ambient`](Self::matmul_ambient) lets them differ.
    /// [`Paired::matmul`] multiplies one matrix with all, or listed pairs; [`Paired::product`] multiplies transposes,
    /// and adds a bias, an activation or a residual.
    ///
    /// `f16` products are summed in `f32` and each complete sum is rounded once: ±65,504 times itself does not overflow
    /// during the sum, and a result from ±65,520 on becomes infinite. [`Product::run_f32`] does not round. A GPU may
    /// flush subnormal factors to 0, so that an infinity times a subnormal gives NaN there.
    ///
    /// Cost: 2·m·k·n operations. On a GPU there is one dispatch for each tile size (32, 64 and 128, and also 256 on
    /// cooperative matrices), whatever the number of products. One workgroup computes the whole sum of a tile, so a
    /// small product takes about 40 ms per million of its inner extent (H100). The native tier takes a tenth of that,
    /// plus one dispatch for such products, because many invocations share a sum. `f16` results take one more dispatch
    /// and, on a GPU, space for the results in `f32`; on the CPU, `f16` operands take space in `f32`.
    ///
    /// Error: |error| ≤ γ_h Σ|A_il B_lj| with h = min(k, 512) + ⌈k / 512⌉, plus the rounding to `f16`; exact for
    /// integers below 2²⁴. `f16` on cooperative matrices has another bound, see [`Product::tier`]. The bits of an
    /// element depend only on its own factors.
    ///
    /// ```
    /// use vsla::{Device, Ragged, Shape};
    ///
    /// let device = Device::cpu();
    /// let a = Ragged::from_shapes(vec![1.0f32, 2.0, 5.0, 7.0], 2, [Shape::new(&[1, 2])?, Shape::new(&[2, 1])?])?;
    /// let b = Ragged::from_shapes(vec![1.0f32, 0.0, 3.0, 4.0, 10.0], 2, [Shape::new(&[2, 2])?, Shape::new(&[1, 1])?])?;
    /// let c = device.upload(&a)?.matmul(&device.upload(&b)?)?.download_blocking()?;
    /// assert_eq!(c.to_vecs(), [vec![7.0, 8.0], vec![50.0, 70.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless both batches have rank 2; [`InnerExtents`](crate::Error::InnerExtents) with
    /// the first pair whose inner extents differ; [`BatchSize`](crate::Error::BatchSize),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`SizeOverflow`](crate::Error::SizeOverflow) with the element
    /// whose result does not fit, [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn matmul(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.meet("matmul", other)?.matmul()
    }

    /// The matrix product for inner extents that may differ: missing entries are zero, so the inner sum stops at the
    /// smaller extent.
    ///
    /// Respects equivalence: trailing zero rows and columns change only the shape and, in the native tier's long sums,
    /// the rounding. Otherwise like [`matmul`](Self::matmul).
    ///
    /// ```
    /// use vsla::{Device, Ragged, Shape};
    ///
    /// let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_shapes(vec![1.0f32, 2.0], 2, [Shape::new(&[1, 2])?])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![3.0f32, 4.0], 2, [Shape::new(&[1, 2])?])?)?;
    /// assert_eq!(a.matmul_ambient(&b)?.download_blocking()?.to_vecs(), [vec![3.0, 4.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`matmul`](Self::matmul), except for the inner extents.
    pub fn matmul_ambient(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.meet("matmul_ambient", other)?.matmul_ambient()
    }
}

impl<'a, T: Factor> Paired<'a, T> {
    /// [`Tensor::matmul`] of every pair.
    ///
    /// A list of pairs gives a grouped product: rows of one batch, each group with its own weights. A list is planned
    /// once for each [`pair`](Tensor::pair) call, so reuse the `Paired` value to repeat the product.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, Shape};
    ///
    /// let device = Device::cpu();
    /// // Groups of two rows and of one row, and the weights of two experts.
    /// let rows = [Shape::new(&[2, 1])?, Shape::new(&[1, 1])?];
    /// let x = device.upload(&Ragged::from_shapes(vec![1.0f32, 2.0, 3.0], 2, rows)?)?;
    /// let weights = [Shape::new(&[1, 2])?, Shape::new(&[1, 1])?];
    /// let w = device.upload(&Ragged::from_shapes(vec![1.0f32, -1.0, 10.0], 2, weights)?)?;
    /// let y = x.pair(&w, Pairing::List(&[(0, 1), (1, 0)]))?.matmul()?;
    /// assert_eq!(y.download_blocking()?.to_vecs(), [vec![10.0, 20.0], vec![3.0, -3.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Tensor::matmul`].
    pub fn matmul(&self) -> Result<Tensor<T>> {
        self.product().run()
    }

    /// [`Tensor::matmul_ambient`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::matmul_ambient`].
    pub fn matmul_ambient(&self) -> Result<Tensor<T>> {
        self.product().ambient().run()
    }

    /// Builds a matrix product of every pair, with options to set before it runs.
    pub fn product(&self) -> Product<'a, T> {
        Product {
            pair: self.clone(),
            form: Form::default(),
            tier: Tier::Auto,
            extras: Extras::none(),
        }
    }
}

/// A builder for the matrix product of pairs, `residual + f(scale · A B + bias)`.
///
/// Created by [`Paired::product`]. The epilogue is applied while results are in registers: nothing is stored in
/// between, and no transpose is copied.
///
/// ```
/// use vsla::{Device, Pairing, Ragged, Shape, product::Activation};
///
/// let device = Device::cpu();
/// // A layer: the rows of three sentences times the transpose of one weight matrix.
/// let rows = [Shape::new(&[2, 2])?, Shape::new(&[1, 2])?, Shape::new(&[3, 2])?];
/// let x = Ragged::from_shapes((0..12).map(|i| i as f32).collect(), 2, rows)?;
/// let w = Ragged::from_shapes(vec![1.0f32, -1.0], 2, [Shape::new(&[1, 2])?])?;
/// let (x, w) = (device.upload(&x)?, device.upload(&w)?);
/// let bias = device.upload(&Ragged::from_rows([vec![0.5f32]])?)?;
/// let all = x.pair(&w, Pairing::AllToAll)?;
/// let y = all.product().transpose_right().bias(&bias).activation(Activation::Relu).run()?;
/// assert_eq!(y.download_blocking()?.to_vecs(), [vec![0.0; 2], vec![0.0], vec![0.0; 3]]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct Product<'a, T: Scalar> {
    pub(super) pair: Paired<'a, T>,
    pub(super) form: Form,
    pub(super) tier: Tier,
    pub(super) extras: Extras<'a, T>,
}

/// The target that a product of these operands is planned for.
pub(super) fn target<T: Scalar>(
    op: &'static str,
    tier: Tier,
    operands: [&Tensor<T>; 2],
) -> Result<Target> {
    let device = &operands[0].device;
    let matrices = device.matrices().filter(|_| T::DTYPE == DType::F16);
    let lacks = |what| Err(Error::Unsupported { op, what });
    match (tier, matrices) {
        (Tier::Auto | Tier::Matrix, Some(matrices)) => Ok(Target::Matrix {
            matrices,
            quads: operands.iter().all(|operand| operand.base % 8 == 0),
        }),
        (Tier::Matrix, None) if T::DTYPE != DType::F16 => lacks(format!(
            "the tier of matrices: cooperative ones multiply f16, and not {}",
            T::DTYPE
        )),
        (Tier::Matrix, None) => lacks(format!(
            "the tier of matrices: {} has no cooperative ones of f16, 16 x 16 or 8 x 8, that add up in f32",
            device.name()
        )),
        (Tier::Auto | Tier::Native, _) if device.is_native() => Ok(Target::Native),
        (Tier::Native, _) => lacks(format!(
            "the native tier, which needs {NATIVE_INVOCATIONS} invocations and {NATIVE_MEMORY} bytes of memory a workgroup: {} has {}",
            device.name(),
            match device.info().limits {
                Some(found) => format!("{} and {}", found.invocations, found.workgroup_memory),
                None => "one way for all".to_owned(),
            }
        )),
        _ if device.is_gpu() => Ok(Target::Baseline),
        _ => Ok(Target::Cpu),
    }
}

impl<'a, T: Factor> Product<'a, T> {
    /// Multiplies the transposes of the left matrices, which are (k, m), without copying.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, Shape};
    ///
    /// let device = Device::cpu();
    /// let x = Ragged::from_shapes(vec![1.0f32, 2.0, 3.0, 4.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = device.upload(&x)?;
    /// let gram = x.pair(&x, Pairing::Elementwise)?.product().transpose_left().run()?;
    /// assert_eq!(gram.download_blocking()?.values(), [10.0, 14.0, 14.0, 20.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn transpose_left(mut self) -> Self {
        self.form.transposed[0] = true;
        self
    }

    /// Multiplies by the transposes of the right matrices, which are (n, k), without copying.
    pub fn transpose_right(mut self) -> Self {
        self.form.transposed[1] = true;
        self
    }

    /// Selects the tier of kernels that compute the products: see [`Tier`].
    ///
    /// On cooperative matrices, which multiply only `f16`, a sum is a chain of ⌈k / s⌉ additions of s products, each
    /// truncated rather than rounded: |error| ≤ 4 γ_h Σ|A_il B_lj| with h = s + ⌈k / s⌉, where s is 16 or 8, the side
    /// of the device's [`matrices`](crate::device::DeviceInfo::matrices). The other tiers keep the bound of
    /// [`Tensor::matmul`], and may add in another order. `Auto` depends only on the device, so the bits of an element
    /// depend only on its factors and on the device.
    ///
    /// ```
    /// # use vsla::{Device, Pairing, Ragged, Shape, f16, product::Tier};
    /// # let device = Device::cpu();
    /// let one = device.upload(&Ragged::from_shapes(vec![f16::ONE], 2, [Shape::new(&[1, 1])?])?)?;
    /// let product = one.pair(&one, Pairing::Elementwise)?.product();
    /// for tier in [Tier::Native, Tier::Matrix] {
    ///     match product.clone().tier(tier).run() {
    ///         Ok(_) => println!("{} has {tier:?}", device.info()),
    ///         Err(error) => assert_eq!(error.kind(), "unsupported"),
    ///     }
    /// }
    /// assert_eq!(product.tier(Tier::Baseline).run()?.download_blocking()?.values(), [f16::ONE]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`run`](Self::run) fails with [`Unsupported`](crate::Error::Unsupported), which says what is missing: for
    /// [`Tier::Native`] and [`Tier::Matrix`] if the device lacks what they need, for [`Tier::Matrix`] with types other
    /// than `f16`, and for both on the CPU.
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }

    /// Allows different inner extents, as [`Tensor::matmul_ambient`] does.
    pub fn ambient(mut self) -> Self {
        self.form.ambient = true;
        self
    }

    /// Computes the products.
    ///
    /// # Errors
    /// Those of [`Tensor::matmul`]. Errors in the bias are reported under the name `bias`:
    /// [`Argument`](crate::Error::Argument) for a wrong number of vectors, [`Rank`](crate::Error::Rank),
    /// [`Length`](crate::Error::Length) with the vector, [`DeviceMismatch`](crate::Error::DeviceMismatch). Errors in
    /// the residual are reported under the name `residual`: [`ElementCount`](crate::Error::ElementCount),
    /// [`Shape`](crate::Error::Shape) with the pair, [`DeviceMismatch`](crate::Error::DeviceMismatch).
    pub fn run(&self) -> Result<Tensor<T>> {
        self.run_as()
    }

    fn run_as<R: Scalar>(&self) -> Result<Tensor<R>> {
        let Paired {
            left, right, pairs, ..
        } = &self.pair;
        let mut form = self.form;
        let op = form.op();
        let mut inputs = Vec::from(self.pair.operands());
        form.epilogue = self.extras.epilogue(left, right.len(), &mut inputs)?;
        let matmul = Matmul {
            form,
            dtype: T::DTYPE,
            result: R::DTYPE,
            target: target(op, self.tier, [left, right])?,
        };
        self.extras
            .run(Op::Matmul(matmul), left, Some(pairs), inputs)
    }
}

impl Product<'_, f16> {
    /// Computes the products in `f32`, as they are summed, where [`run`](Self::run) rounds to `f16`.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, Shape, f16};
    ///
    /// let device = Device::cpu();
    /// let large = Ragged::from_shapes(vec![f16::MAX; 2], 2, [Shape::new(&[1, 2])?])?;
    /// let x = device.upload(&large)?;
    /// let pair = x.pair(&x, Pairing::Elementwise)?;
    /// let square = pair.product().transpose_right();
    /// assert_eq!(square.run_f32()?.download_blocking()?.values(), [2.0 * 65504.0 * 65504.0]);
    /// assert_eq!(square.run()?.download_blocking()?.values(), [f16::INFINITY]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_f32(&self) -> Result<Tensor<f32>> {
        self.run_as()
    }
}

impl<'a, T: Float> Product<'a, T> {
    /// Multiplies every sum by this factor, before the other options apply.
    pub fn scale(mut self, factor: f32) -> Self {
        self.extras.scale = Some(factor);
        self
    }

    /// Adds a vector of n values to every row: the same vector for all products, or one for each right operand.
    pub fn bias(mut self, bias: &'a Tensor<T>) -> Self {
        self.extras.bias = Some(bias);
        self
    }

    /// Applies a function to every value, after the scale and the bias.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.extras.activation = activation;
        self
    }

    /// Adds matrices of the results' shapes, after everything else.
    pub fn residual(mut self, residual: &'a Tensor<T>) -> Self {
        self.extras.residual = Some(residual);
        self
    }
}
