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

/// A product of block-sparse matrices with dense ones that is about to be made: `residual + f(scale · P + bias)`, where
/// P is `S B` or `A S`.
///
/// Made by [`BsrTensor::product`] and [`Tensor::product_bsr`], and what [`Product`](crate::product::Product) is to dense
/// products, rounding included: f16 is made of f32 once, last of all. Every value of the result is one, those of rows
/// without a block too. Cost: that of the product with sums in f32, and on a GPU a dispatch more that reads these and
/// writes the result, since the sums of a heavy row meet only when all are there: for 8192 × 8192 results in f32 537
/// MB, which takes an H100 200 µs. On the CPU nothing is stored in between.
///
/// ```
/// use vsla::{Bsr, Device, Ragged, Shape, Topology, product::Activation};
///
/// let device = Device::cpu();
/// // A pruned layer: y = relu(x wᵀ + bias), and its second row of weights has no block.
/// let topology = Topology::new([16, 8], [8, 8], &[(0, 0)])?;
/// let w = device.upload_bsr(&Bsr::new(&topology, vec![0.5f32; 64])?)?.transposed();
/// let x = device.upload(&Ragged::from_shapes(vec![1.0f32; 8], 2, [Shape::new(&[1, 8])?])?)?;
/// let bias = device.upload(&Ragged::from_rows([[[-3.0f32; 8], [2.0; 8]].concat()])?)?;
/// let y = x.product_bsr(&w).bias(&bias).activation(Activation::Relu).run()?;
/// assert_eq!(y.download_blocking()?.to_vecs(), [[[1.0f32; 8], [2.0; 8]].concat()]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
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

    /// Multiplies every sum by this factor, before all else.
    pub fn scale(mut self, factor: f32) -> Self {
        self.extras.scale = Some(factor);
        self
    }

    /// Adds to every row: one vector of n values for all products, or one for each right operand.
    pub fn bias(mut self, bias: &'a Tensor<T>) -> Self {
        self.extras.bias = Some(bias);
        self
    }

    /// Applies a function to every value, after scale and bias.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.extras.activation = activation;
        self
    }

    /// Adds matrices of the results' shapes, last of all.
    pub fn residual(mut self, residual: &'a Tensor<T>) -> Self {
        self.extras.residual = Some(residual);
        self
    }

    /// The products.
    ///
    /// # Errors
    /// Those of [`BsrTensor::matmul`]; of what the epilogue reads, those of [`Product::run`](crate::product::Product::run).
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
    /// The products as they are made, in `f32`, where [`run`](Self::run) rounds to `f16`.
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
    /// The product `S B` of the matrix with each dense one, still to be told more about: [`matmul`](Self::matmul) with
    /// an epilogue.
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
    /// The product `A S` of each dense matrix with the block-sparse one, still to be told more about:
    /// [`matmul_bsr`](Self::matmul_bsr) with an epilogue.
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
