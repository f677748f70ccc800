//! Products of block-sparse matrices with an epilogue.

use super::extras::Extras;
use super::products::target;
use super::{BsrTensor, Tensor};
use crate::Result;
use crate::ops::Op;
use crate::ops::bsr::{BsrMatmul, Form, OP};
use crate::ops::matmul::Activation;
use crate::ragged::{Float, Scalar};
use half::f16;

/// A builder for the product of block-sparse matrices with dense ones, `residual + f(scale · P + bias)`, where P is
/// `S B` or `A S`.
///
/// Created by [`BsrTensor::product`] and [`Tensor::product_bsr`]. It is the counterpart of
/// [`Product`](crate::product::Product) for dense matrices, including the rounding: f32 is rounded to f16 once, at the
/// very end. The epilogue applies to every value of the result, including rows without a block.
///
/// Cost: that of the product with sums in f32. On a GPU one more dispatch reads these sums and writes the result,
/// because the sums of a heavy row are combined only when all of them are done: for 8192 × 8192 results in f32 it moves
/// 537 MB, which takes an H100 200 µs. On the CPU nothing is stored in between.
///
/// ```
/// use vsla::{Bsr, Device, Ragged, Shape, Topology, product::Activation};
///
/// let device = Device::cpu();
/// // A pruned layer, y = relu(x wᵀ + bias), whose second block row of weights has no block.
/// let topology = Topology::new([16, 8], [8, 8], &[(0, 0)])?;
/// let w = device.upload_bsr(&Bsr::new(&topology, vec![0.5f32; 64])?)?.transposed();
/// let x = device.upload(&Ragged::from_shapes(vec![1.0f32; 8], 2, [Shape::new(&[1, 8])?])?)?;
/// let bias = device.upload(&Ragged::from_rows([[[-3.0f32; 8], [2.0; 8]].concat()])?)?;
/// let y = x.product_bsr(&w).bias(&bias).activation(Activation::Relu).run()?;
/// assert_eq!(y.download_blocking()?.to_vecs(), [[[1.0f32; 8], [2.0; 8]].concat()]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "does nothing until `run` is called"]
pub struct BsrProduct<'a, T: Scalar> {
    sparse: &'a BsrTensor<T>,
    dense: &'a Tensor<T>,
    dense_left: bool,
    extras: Extras<'a, T>,
}

impl<'a, T: Float> BsrProduct<'a, T> {
    pub(super) fn new(
        sparse: &'a BsrTensor<T>,
        dense: &'a Tensor<T>,
        dense_left: bool,
    ) -> BsrProduct<'a, T> {
        BsrProduct {
            sparse,
            dense,
            dense_left,
            extras: Extras::none(),
        }
    }

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

    /// Computes the products.
    ///
    /// # Errors
    /// Those of [`BsrTensor::matmul`], and for the operands of the epilogue those of
    /// [`Product::run`](crate::product::Product::run).
    pub fn run(&self) -> Result<Tensor<T>> {
        self.run_as()
    }

    fn run_as<R: Scalar>(&self) -> Result<Tensor<R>> {
        let (sparse, dense) = (self.sparse, self.dense);
        sparse.values.check_device(OP, dense)?;
        let mut inputs = vec![sparse.values.operand(), dense.operand()];
        let right = match self.dense_left {
            true => sparse.len(),
            false => dense.len(),
        };
        let epilogue = self.extras.epilogue(dense, right, &mut inputs)?;
        let form = Form {
            transposed: sparse.transposed,
            dense_left: self.dense_left,
            epilogue,
        };
        let product = BsrMatmul {
            form,
            topology: sparse.topology.clone(),
            dtype: T::DTYPE,
            result: R::DTYPE,
            target: target(OP, sparse.tier, [&sparse.values, dense])?,
        };
        self.extras.run(Op::Bsr(product), dense, None, inputs)
    }
}

impl BsrProduct<'_, f16> {
    /// Computes the products in `f32`, as they are summed, where [`run`](Self::run) rounds to `f16`.
    ///
    /// ```
    /// use vsla::{Bsr, Device, Ragged, Shape, Topology, f16};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([8, 8], [8, 8], &[(0, 0)])?;
    /// let s = device.upload_bsr(&Bsr::new(&topology, vec![f16::MAX; 64])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![f16::ONE; 8], 2, [Shape::new(&[8, 1])?])?)?;
    /// let half = s.product(&b).scale(0.5);
    /// assert_eq!(half.run_f32()?.download_blocking()?.values(), [4.0 * 65504.0; 8]);
    /// assert_eq!(half.run()?.download_blocking()?.values(), [f16::INFINITY; 8]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_f32(&self) -> Result<Tensor<f32>> {
        self.run_as()
    }
}

impl<T: Float> BsrTensor<T> {
    /// Builds the product `S B` of the matrix with each dense one: [`matmul`](Self::matmul) with an epilogue.
    ///
    /// ```
    /// use vsla::{Bsr, Device, Ragged, Shape, Topology};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([8, 8], [8, 8], &[(0, 0)])?;
    /// let s = device.upload_bsr(&Bsr::new(&topology, vec![2.0f32; 64])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![1.0f32; 8], 2, [Shape::new(&[8, 1])?])?)?;
    /// let scaled = s.product(&b).scale(0.5).run()?;
    /// assert_eq!(scaled.download_blocking()?.values(), [8.0; 8]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn product<'a>(&'a self, other: &'a Tensor<T>) -> BsrProduct<'a, T> {
        BsrProduct::new(self, other, false)
    }
}

impl<T: Float> Tensor<T> {
    /// Builds the product `A S` of each dense matrix with the block-sparse one: [`matmul_bsr`](Self::matmul_bsr) with
    /// an epilogue.
    ///
    /// ```
    /// use vsla::{Bsr, Device, Ragged, Shape, Topology};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([8, 8], [8, 8], &[(0, 0)])?;
    /// let s = device.upload_bsr(&Bsr::new(&topology, vec![2.0f32; 64])?)?;
    /// let a = device.upload(&Ragged::from_shapes(vec![1.0f32; 8], 2, [Shape::new(&[1, 8])?])?)?;
    /// let with_itself = a.product_bsr(&s).residual(&a).run()?;
    /// assert_eq!(with_itself.download_blocking()?.values(), [17.0; 8]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn product_bsr<'a>(&'a self, other: &'a BsrTensor<T>) -> BsrProduct<'a, T> {
        BsrProduct::new(other, self, true)
    }
}
