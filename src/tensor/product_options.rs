//! The builder of matrix products, dense and block-sparse.

use std::marker::PhantomData;

use super::operand::Operand;
use super::run::Call;
use super::{BsrTensor, Tensor};
use crate::error::Named;
use crate::ops::Op;
use crate::ops::bsr::{self, BsrMatmul, Sampled};
use crate::ops::matmul::tiles::{NATIVE_INVOCATIONS, NATIVE_MEMORY};
use crate::ops::matmul::{
    Activation, BIAS, Epilogue, Form, Matmul, RESIDUAL, Target, Tier, whose_bias,
};
use crate::ragged::{DType, Factor, Float, Pairs, Scalar, Topology};
use crate::{Error, Result};

/// A builder for matrix products, `residual + f(scale · A B + bias)`, with results of type `R`.
///
/// Created by [`Tensor::product`] and [`BsrTensor::product`], whose factors are paired element by element, and by
/// [`Paired::product`](super::Paired::product). Either factor may be block-sparse ([`BsrTensor`]). An option that the
/// factors do not allow is an error of [`run`](Self::run), before any work.
///
/// | option | two dense factors | a block-sparse factor |
/// | --- | --- | --- |
/// | [`scale`](Self::scale), [`bias`](Self::bias) | f32, f16 | f32, f16 |
/// | [`activation`](Self::activation), [`residual`](Self::residual) | f32, f16 | f32, f16 |
/// | [`transpose_left`](Self::transpose_left) | yes | the block-sparse one |
/// | [`transpose_right`](Self::transpose_right) | yes | the block-sparse one |
/// | [`ambient`](Self::ambient) | yes | no |
/// | [`tier`](Self::tier) | yes | yes |
/// | [`to`](Self::to) | of f16, `f32` | of f16, `f32` |
/// | [`run`](Self::run) | yes | yes |
/// | [`sampled`](Self::sampled) | without scale, bias, activation, residual and `ambient` | no |
///
/// The epilogue of two dense factors is applied while results are in registers: nothing is stored in between, and no
/// transpose is copied. With a block-sparse factor, a GPU takes one more dispatch, which reads the sums and writes the
/// result, because the sums of a heavy row are combined only when all of them are done: for 8192 × 8192 results in f32
/// it moves 537 MB, which takes an H100 200 µs. The epilogue applies to every value of the result, including rows
/// without a block. `f16` is rounded once, at the very end.
///
/// ```
/// use vsla::{Bsr, Device, Pairing, Ragged, Shape, Topology, product::Activation};
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
/// assert_eq!(y.download_blocking()?.to_vecs()?, [vec![0.0; 2], vec![0.0], vec![0.0; 3]]);
///
/// // A pruned layer, whose weights have no block in the second block row.
/// let topology = Topology::new([16, 8], [8, 8], &[(0, 0)])?;
/// let w = device.upload_bsr(&Bsr::new(&topology, vec![0.5f32; 64])?)?;
/// let x = device.upload(&Ragged::from_shapes(vec![1.0f32; 8], 2, [Shape::new(&[1, 8])?])?)?;
/// let bias = device.upload(&Ragged::from_rows([[[-3.0f32; 8], [2.0; 8]].concat()])?)?;
/// let y = x.product(&w).transpose_right().bias(&bias).activation(Activation::Relu).run()?;
/// assert_eq!(y.download_blocking()?.to_vecs()?, [[[1.0f32; 8], [2.0; 8]].concat()]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "does nothing until `run` is called"]
pub struct Product<'a, T: Scalar, R: Scalar = T> {
    factors: Factors<'a, T>,
    transposed: [bool; 2],
    ambient: bool,
    tier: Tier,
    epilogue: Extras<'a, T>,
    result: PhantomData<R>,
}

/// `residual + f(scale · sum + bias)`.
#[derive(Clone, Copy, Debug)]
struct Extras<'a, T: Scalar> {
    scale: Option<f32>,
    bias: Option<&'a Tensor<T>>,
    activation: Activation,
    residual: Option<&'a Tensor<T>>,
}

/// The factors of products.
#[derive(Clone, Debug)]
pub(super) enum Factors<'a, T: Scalar> {
    Dense {
        left: &'a Tensor<T>,
        right: &'a Tensor<T>,
        /// The pairs, already checked; `None` for element by element.
        pairs: Option<Pairs>,
    },
    Sparse {
        sparse: &'a BsrTensor<T>,
        dense: &'a Tensor<T>,
        dense_left: bool,
    },
}

impl<'a, T: Factor> Product<'a, T> {
    pub(super) fn new(factors: Factors<'a, T>) -> Product<'a, T> {
        Product {
            factors,
            transposed: [false; 2],
            ambient: false,
            tier: Tier::Auto,
            epilogue: Extras {
                scale: None,
                bias: None,
                activation: Activation::Identity,
                residual: None,
            },
            result: PhantomData,
        }
    }

    /// Gives results in the type that `T` is summed in, without rounding: `f32` for `f16`.
    ///
    /// ```
    /// use vsla::{Device, Ragged, Shape, f16};
    ///
    /// let device = Device::cpu();
    /// let large = Ragged::from_shapes(vec![f16::MAX; 2], 2, [Shape::new(&[1, 2])?])?;
    /// let x = device.upload(&large)?;
    /// let square = x.product(&x).transpose_right();
    /// assert_eq!(square.run()?.download_blocking()?.values(), [f16::INFINITY]);
    /// assert_eq!(square.to::<f32>().run()?.download_blocking()?.values(), [2.0 * 65504.0 * 65504.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn to<R: Scalar>(self) -> Product<'a, T, R>
    where
        T: Factor<Sum = R>,
    {
        Product {
            factors: self.factors,
            transposed: self.transposed,
            ambient: self.ambient,
            tier: self.tier,
            epilogue: self.epilogue,
            result: PhantomData,
        }
    }
}

impl<'a, T: Factor, R: Scalar> Product<'a, T, R> {
    /// Uses the transposes of the left matrices, which are stored as (k, m), without copying.
    ///
    /// # Errors
    /// [`run`](Self::run) fails with [`Argument`](Error::Argument) if the left factor is dense and the right one is
    /// not.
    pub fn transpose_left(mut self) -> Self {
        self.transposed[0] = true;
        self
    }

    /// Uses the transposes of the right matrices, which are stored as (n, k), without copying.
    ///
    /// # Errors
    /// [`run`](Self::run) fails with [`Argument`](Error::Argument) if the right factor is dense and the left one is
    /// not.
    pub fn transpose_right(mut self) -> Self {
        self.transposed[1] = true;
        self
    }

    /// Selects the tier of kernels that compute the products: see [`Tier`].
    ///
    /// On cooperative matrices, which multiply only `f16`, a sum is a chain of ⌈k / s⌉ additions of s products, each
    /// truncated rather than rounded: |error| ≤ 4 γ_h Σ|A_il B_lj| with h = s + ⌈k / s⌉, where s is 16 or 8, the side
    /// of the device's [`matrices`](crate::device::DeviceInfo::matrices). The other tiers keep the bound of
    /// [`Tensor::matmul`] or [`BsrTensor::matmul`], and may add in another order. `Auto` depends only on the device, so
    /// the bits of an element depend only on its factors and on the device.
    ///
    /// With a block-sparse factor, k above is the number t of stored columns of a row, and:
    ///
    /// - [`Tier::Native`] uses separate kernels for operands of up to 16 columns, and of up to 32 columns if blocks are
    ///   32, 64, 96 or 128 high. In these kernels, sets of invocations share the sum of a row. Other operands, and
    ///   [`sampled`](Self::sampled) products, use the baseline kernels.
    /// - On cooperative matrices, blocks of eight rows use only half of each 16 × 16 matrix, but this tier is still the
    ///   fastest for them: 48 TFLOP/s on an H100 for 4096³ at a density of 10 %, where `f32` on the baseline kernels
    ///   reaches 17. An operand is first copied, which takes one more dispatch and space for the copy, if it does not
    ///   begin at a multiple of four words, if its rows are not a multiple of four words long, or if the matrix ends
    ///   inside a block.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape, f16, product::Tier};
    /// # let device = Device::cpu();
    /// let one = device.upload(&Ragged::from_shapes(vec![f16::ONE], 2, [Shape::new(&[1, 1])?])?)?;
    /// let product = one.product(&one);
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
    /// [`run`](Self::run) fails with [`Unsupported`](Error::Unsupported), which says what is missing: for
    /// [`Tier::Native`] and [`Tier::Matrix`] if the device lacks what they need, for [`Tier::Matrix`] with types other
    /// than `f16`, and for both on the CPU.
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }

    /// Allows different inner extents, as [`Tensor::matmul_ambient`] does.
    ///
    /// # Errors
    /// [`run`](Self::run) fails with [`Argument`](Error::Argument) if a factor is block-sparse.
    pub fn ambient(mut self) -> Self {
        self.ambient = true;
        self
    }

    /// Computes the products.
    ///
    /// # Errors
    /// Those of [`Tensor::matmul`] or [`BsrTensor::matmul`]; [`Argument`](Error::Argument) for an option that a
    /// block-sparse factor does not allow. Errors of the bias are reported under the name `bias`:
    /// [`Argument`](Error::Argument) for a wrong number of vectors, [`Rank`](Error::Rank), [`Length`](Error::Length)
    /// with the vector, [`DeviceMismatch`](Error::DeviceMismatch). Errors of the residual are reported under the name
    /// `residual`: [`ElementCount`](Error::ElementCount), [`Shape`](Error::Shape) with the pair,
    /// [`DeviceMismatch`](Error::DeviceMismatch).
    pub fn run(&self) -> Result<Tensor<R>> {
        match self.factors {
            Factors::Dense {
                left,
                right,
                ref pairs,
            } => self.dense(left, right, pairs.as_ref()),
            Factors::Sparse {
                sparse,
                dense,
                dense_left,
            } => self.sparse(sparse, dense, dense_left),
        }
    }

    fn dense(
        &self,
        left: &Tensor<T>,
        right: &Tensor<T>,
        pairs: Option<&Pairs>,
    ) -> Result<Tensor<R>> {
        let mut form = Form {
            transposed: self.transposed,
            ambient: self.ambient,
            epilogue: Epilogue::default(),
        };
        let op = form.op();
        let pairs = paired(op, left, right, pairs)?;
        let mut inputs = vec![left.operand(), right.operand()];
        form.epilogue = self.epilogue(right.len(), left, &mut inputs)?;
        let matmul = Matmul {
            form,
            dtype: T::DTYPE,
            result: R::DTYPE,
            target: target(op, self.tier, [left, right])?,
        };
        self.call(matmul, left, Some(&pairs), &inputs)
    }

    fn sparse(
        &self,
        sparse: &BsrTensor<T>,
        dense: &Tensor<T>,
        dense_left: bool,
    ) -> Result<Tensor<R>> {
        let op = bsr::OP;
        let [of_dense, of_sparse] = match dense_left {
            true => self.transposed,
            false => [self.transposed[1], self.transposed[0]],
        };
        let refused = |expected: &str, got: &str| {
            let (expected, got) = (expected.to_owned(), got.to_owned());
            Err(Error::argument(expected, got).named(op))
        };
        if self.ambient {
            return refused("two dense factors", "ambient() with a block-sparse one");
        }
        if of_dense {
            let expected = "transpose(&[1, 0]) of the dense factor";
            return refused(
                expected,
                match dense_left {
                    true => "transpose_left()",
                    false => "transpose_right()",
                },
            );
        }
        let (values, right) = (&sparse.values, [dense.len(), sparse.len()]);
        match dense_left {
            true => dense.check_device(values).named(op)?,
            false => values.check_device(dense).named(op)?,
        }
        let mut inputs = vec![values.operand(), dense.operand()];
        let right = right[usize::from(dense_left)];
        let product = BsrMatmul {
            form: bsr::Form {
                transposed: sparse.transposed != of_sparse,
                dense_left,
                epilogue: self.epilogue(right, dense, &mut inputs)?,
            },
            topology: sparse.topology.clone(),
            dtype: T::DTYPE,
            result: R::DTYPE,
            target: target(op, self.tier, [values, dense])?,
        };
        self.call(product, dense, None, &inputs)
    }

    /// The epilogue as plans describe it. Checks the bias against the number of right factors, and adds the bias and
    /// the residual to the inputs.
    fn epilogue<'b>(
        &'b self,
        right: usize,
        factor: &Tensor<T>,
        inputs: &mut Vec<Operand<'b>>,
    ) -> Result<Epilogue> {
        let extras = &self.epilogue;
        let mut epilogue = Epilogue {
            scale: extras.scale.is_some(),
            activation: extras.activation,
            bias: None,
            residual: extras.residual.is_some(),
        };
        if let Some(bias) = extras.bias {
            factor.check_device(bias).named(BIAS)?;
            epilogue.bias = Some(whose_bias(&bias.layout, right)?);
            inputs.push(bias.operand());
        }
        if let Some(residual) = extras.residual {
            factor.check_device(residual).named(RESIDUAL)?;
            inputs.push(residual.operand());
        }
        Ok(epilogue)
    }

    fn call(
        &self,
        op: impl Into<Op>,
        factor: &Tensor<T>,
        pairs: Option<&Pairs>,
        inputs: &[Operand<'_>],
    ) -> Result<Tensor<R>> {
        let scalar = self.epilogue.scale.map(f32::to_bits);
        Call {
            pairs,
            scalars: scalar.as_slice(),
            ..Call::new(&factor.device, op, inputs)
        }
        .one()
    }
}

impl<'a, T: Float, R: Scalar> Product<'a, T, R> {
    /// Multiplies every sum by this factor, before the other options apply.
    pub fn scale(mut self, factor: f32) -> Self {
        self.epilogue.scale = Some(factor);
        self
    }

    /// Adds a vector of n values to every row: the same vector for all products, or one for each right operand.
    pub fn bias(mut self, bias: &'a Tensor<T>) -> Self {
        self.epilogue.bias = Some(bias);
        self
    }

    /// Applies a function to every value, after the scale and the bias.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.epilogue.activation = activation;
        self
    }

    /// Adds matrices of the results' shapes, after everything else.
    pub fn residual(mut self, residual: &'a Tensor<T>) -> Self {
        self.epilogue.residual = Some(residual);
        self
    }

    /// Computes only the blocks of every product `A B` that a topology lists: sampled dense-dense multiplication.
    ///
    /// The part of a block beyond the edge of the matrix is 0. Cost: 2·k operations for each value of a block; on a GPU
    /// one dispatch for block rows of up to 32 columns and one for the others, whatever the number of products. Error
    /// bound, NaN and `f16` as for [`Tensor::matmul`].
    ///
    /// ```
    /// use vsla::{Device, Ragged, Shape, Topology};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([16, 16], [8, 8], &[(1, 0)])?;
    /// let column = Ragged::from_shapes((0..16).map(|i| i as f32).collect(), 2, [Shape::new(&[16, 1])?])?;
    /// let x = device.upload(&column)?;
    /// let squares = x.product(&x).transpose_right().sampled(&topology)?;
    /// let squares = squares.download_blocking()?.to_dense()?;
    /// assert_eq!((squares.row(0)[9 * 16 + 7], squares.row(0)[7 * 16 + 9]), (63.0, 0.0));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) if a factor is block-sparse, or a scale, a bias, an activation, a residual or
    /// `ambient` was set; [`Shape`](Error::Shape) with the element whose rows or columns differ from the topology's;
    /// those of [`Tensor::matmul`].
    pub fn sampled(&self, topology: &Topology) -> Result<BsrTensor<R>> {
        let op = "sampled";
        let refused =
            |got: &str| Error::argument("a plain product of dense matrices", got).named(op);
        let Extras {
            scale,
            bias,
            activation,
            residual,
        } = self.epilogue;
        let plain = scale.is_none() && bias.is_none() && residual.is_none();
        if !plain || activation != Activation::Identity || self.ambient {
            let got = "a product with a scale, bias, activation or residual, or an ambient product";
            return Err(refused(got));
        }
        let Factors::Dense {
            left,
            right,
            ref pairs,
        } = self.factors
        else {
            return Err(refused("a product with a block-sparse factor"));
        };
        let pairs = paired(op, left, right, pairs.as_ref())?;
        let sampled = Sampled {
            topology: topology.clone(),
            transposed: self.transposed,
            dtype: T::DTYPE,
            result: R::DTYPE,
            target: target(op, self.tier, [left, right])?,
        };
        let inputs = [left.operand(), right.operand()];
        let values = self.call(sampled, left, Some(&pairs), &inputs)?;
        BsrTensor::new(topology, values)
    }
}

/// The given pairs, or those of element by element.
fn paired<T: Scalar>(
    op: &'static str,
    left: &Tensor<T>,
    right: &Tensor<T>,
    pairs: Option<&Pairs>,
) -> Result<Pairs> {
    match pairs {
        Some(pairs) => Ok(pairs.clone()),
        None => Ok(left.zip(op, right)?.pairs),
    }
}

/// The target that a product of these operands is planned for.
fn target<T: Scalar>(op: &'static str, tier: Tier, operands: [&Tensor<T>; 2]) -> Result<Target> {
    let device = &operands[0].device;
    let matrices = device.matrices().filter(|_| T::DTYPE == DType::F16);
    let lacks = |what| Err(Error::unsupported(what).named(op));
    match (tier, matrices) {
        (Tier::Auto | Tier::Matrix, Some(matrices)) => Ok(Target::Matrix {
            matrices,
            quads: operands.iter().all(|operand| operand.begins_at(8)),
        }),
        (Tier::Matrix, None) if T::DTYPE != DType::F16 => lacks(format!(
            "the matrix tier multiplies only f16, not {}; use Tier::Auto",
            T::DTYPE
        )),
        (Tier::Matrix, None) => lacks(format!(
            "the matrix tier needs cooperative matrices of 16 x 16 or 8 x 8 f16 values with f32 sums, which {} lacks; \
             use Tier::Auto",
            device.name()
        )),
        // In software, sets of invocations that share a sum only add work.
        (Tier::Auto, _) if device.is_software() => Ok(Target::Baseline),
        (Tier::Auto | Tier::Native, _) if device.is_native() => Ok(Target::Native),
        (Tier::Native, _) => lacks(format!(
            "the native tier needs {NATIVE_INVOCATIONS} invocations and {NATIVE_MEMORY} bytes of memory per \
             workgroup, but {} has {}",
            device.name(),
            match device.info().limits {
                Some(found) => format!("{} and {}", found.invocations, found.workgroup_memory),
                None => "only one tier".to_owned(),
            }
        )),
        _ if device.is_gpu() => Ok(Target::Baseline),
        _ => Ok(Target::Cpu),
    }
}
