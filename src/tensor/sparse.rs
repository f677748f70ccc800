//! Block-sparse matrices on devices, and their products without an epilogue.

use super::products::target;
use super::{Device, Product, Tensor};
use crate::ops::Op;
use crate::ops::bsr::Sampled;
use crate::ops::matmul::Tier;
use crate::ragged::{Bsr, Float, Scalar, Topology};
use crate::{Error, Result};
use half::f16;

/// Block-sparse matrices on a device: a [`Topology`], and a [`Tensor`] with one element of values for each matrix.
///
/// Cheap to clone and immutable, like a tensor. The three products of a layer, forward and both backward, share one
/// topology:
///
/// ```
/// use vsla::{Bsr, Device, Pairing, Ragged, Shape, Topology};
///
/// let device = Device::cpu();
/// let topology = Topology::new([8, 16], [8, 8], &[(0, 1)])?;
/// let w = device.upload_bsr(&Bsr::new(&topology, vec![0.5f32; 64])?)?;
/// let x = device.upload(&Ragged::from_shapes(vec![1.0f32; 3 * 16], 2, [Shape::new(&[3, 16])?])?)?;
/// let y = x.matmul_bsr(&w.transposed())?;
/// assert_eq!(y.download_blocking()?.values(), [4.0; 3 * 8]);
/// // The gradients, taking y as its own gradient: dx = y w, and dw = yᵀ x where w has blocks.
/// let dx = y.matmul_bsr(&w)?;
/// assert_eq!(dx.download_blocking()?.row(0)[..16], [vec![0.0; 8], vec![16.0; 8]].concat());
/// let dw = y.pair(&x, Pairing::Elementwise)?.product().transpose_left().sampled(&topology)?;
/// assert_eq!(dw.download_blocking()?.set(0), [12.0; 64]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BsrTensor<T: Scalar> {
    pub(super) topology: Topology,
    pub(super) values: Tensor<T>,
    pub(super) transposed: bool,
    pub(super) tier: Tier,
}

impl Device {
    /// Copies block-sparse matrices to the device; only the values of their blocks are stored.
    ///
    /// ```
    /// use vsla::{Bsr, Device, Topology};
    ///
    /// let device = Device::cpu();
    /// let bsr = Bsr::new(&Topology::causal([32, 32], [8, 8])?, vec![1u32; 10 * 64])?;
    /// let there = device.upload_bsr(&bsr)?;
    /// assert_eq!(there.values().layout().total(), 640);
    /// assert_eq!(there.download_blocking()?, bsr);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    pub fn upload_bsr<T: Scalar>(&self, bsr: &Bsr<T>) -> Result<BsrTensor<T>> {
        BsrTensor::new(bsr.topology(), self.upload(bsr.values())?)
    }
}

impl<T: Scalar> BsrTensor<T> {
    /// Creates the matrices from their values, without copying.
    ///
    /// Each element of the batch is one matrix, and has as many values as its blocks; its shape does not matter.
    ///
    /// ```
    /// use vsla::{BsrTensor, Device, Ragged, Topology};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([8, 16], [8, 8], &[(0, 1)])?;
    /// // Values computed on the device: one step of gradient descent.
    /// let (w, gradient) = (Ragged::from_rows([[3.0f32; 64]])?, Ragged::from_rows([[2.0f32; 64]])?);
    /// let (w, gradient) = (device.upload(&w)?, device.upload(&gradient)?);
    /// let w = BsrTensor::new(&topology, w.sub(&gradient.scale(0.5)?)?)?;
    /// assert_eq!(w.download_blocking()?.set(0), [2.0; 64]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] with the first element that has another number of values.
    pub fn new(topology: &Topology, values: Tensor<T>) -> Result<BsrTensor<T>> {
        let expected = topology.set();
        let wrong = values
            .layout
            .lengths()
            .position(|length| length != expected);
        if let Some(element) = wrong {
            return Err(Error::Length {
                op: "bsr",
                element,
                expected,
                got: values.layout.length(element),
            });
        }
        Ok(BsrTensor {
            topology: topology.clone(),
            values,
            transposed: false,
            tier: Tier::Auto,
        })
    }

    /// The positions of the stored blocks.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The stored values: for each matrix its blocks in row order, each block row-major.
    pub fn values(&self) -> &Tensor<T> {
        &self.values
    }

    /// The number of matrices.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no matrices.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the transposes, over the same values, without copying.
    pub fn transposed(&self) -> BsrTensor<T> {
        BsrTensor {
            transposed: !self.transposed,
            ..self.clone()
        }
    }

    /// Whether the matrices are the transposes of the stored ones.
    pub fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// Copies the stored matrices to the host.
    ///
    /// # Errors
    /// [`DeviceLost`](Error::DeviceLost), [`OutOfMemory`](Error::OutOfMemory).
    pub async fn download(&self) -> Result<Bsr<T>> {
        let values = self.values.download().await?.into_parts().1;
        Bsr::from_sets(&self.topology, self.len(), values)
    }

    /// [`download`](Self::download), blocking the thread.
    ///
    /// # Errors
    /// Those of [`download`](Self::download).
    pub fn download_blocking(&self) -> Result<Bsr<T>> {
        let values = self.values.download_blocking()?.into_parts().1;
        Bsr::from_sets(&self.topology, self.len(), values)
    }
}

impl<T: Float> BsrTensor<T> {
    /// Multiplies the block-sparse matrix with each dense one, `S B`: (m, k) times (k, n) gives (m, n).
    ///
    /// Rank 2. Matrix i is paired with element i of the batch, and a single matrix with every element; each element may
    /// have any number of columns. Only blocks are read: rows without a block give zeros, and a NaN or an infinity of a
    /// dense matrix reaches only the rows that have a block there. Respects equivalence of the dense matrices, but
    /// their inner extent must equal the block-sparse matrix's.
    ///
    /// Cost: 2 operations for each value of a block and each column. On a GPU there is one dispatch for operands of up
    /// to 32 columns (in the native tier one for up to 16 and one for up to 32) and one for the others, whatever their
    /// number. There is one more dispatch if a block row has more than 1,920 stored columns, or 7,680 on cooperative
    /// matrices: pieces of that many columns, or up to 2,048 and 8,192, are summed separately, all but the first into
    /// scratch buffers.
    ///
    /// Error: |error| ≤ γ_h Σ|S_il B_lj| over the t stored columns of a row, with h = min(t, 512) + ⌈t / 480⌉; exact
    /// for integers below 2²⁴. The bits of a product depend only on the topology and its own factors.
    ///
    /// [`f16`](struct@f16) products are summed in `f32` and each complete sum is rounded once, which takes one more
    /// dispatch; the remarks on `f16` in [`Tensor::matmul`] apply here too. [`matmul_f32`](BsrTensor::matmul_f32) does
    /// not round.
    ///
    /// ```
    /// use vsla::{Bsr, Device, Ragged, Shape, Topology};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([16, 8], [8, 8], &[(1, 0)])?;
    /// let s = device.upload_bsr(&Bsr::new(&topology, vec![2.0f32; 64])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![1.0f32; 8], 2, [Shape::new(&[8, 1])?])?)?;
    /// let expected = [[0.0f32; 8], [16.0; 8]].concat();
    /// assert_eq!(s.matmul(&b)?.download_blocking()?.to_vecs(), [expected]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](Error::Rank) unless the batch has rank 2; [`InnerExtents`](Error::InnerExtents) with the first element
    /// that does not fit; [`BatchSize`](Error::BatchSize), [`DeviceMismatch`](Error::DeviceMismatch),
    /// [`SizeOverflow`](Error::SizeOverflow) with the element whose result does not fit, [`TooLarge`](Error::TooLarge),
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn matmul(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.product(other).run()
    }

    /// Returns the same matrices, with the tier of kernels for their products: see [`Tier`].
    ///
    /// A product fails if the device lacks what its tier needs.
    ///
    /// [`Tier::Native`] has its own kernels, in which sets of invocations share the sum of a row, for operands of up to
    /// 16 columns, and of up to 32 where blocks are 32, 64, 96 or 128 high. Other operands, and
    /// [`sampled`](crate::product::Product::sampled) products, use the baseline kernels. Both tiers keep the bound of
    /// [`matmul`](Self::matmul), and may add in another order.
    ///
    /// On cooperative matrices, which multiply only `f16`, sums are chains of additions of s products, each truncated
    /// rather than rounded, in the order of the blocks: |error| ≤ 4 γ_h Σ|S_il B_lj| over the t stored columns of a
    /// row, with h = s + ⌈t / s⌉, where s is 16 or 8, the side of the device's
    /// [`matrices`](crate::device::DeviceInfo::matrices). Blocks of eight rows use only half of each 16 × 16 matrix,
    /// and yet this tier is the fastest for them: 48 TFLOP/s on an H100 at 10 % of 4096³, where `f32` by the baseline
    /// kernels reaches 17. Operands that do not begin on a multiple of four words, operands whose rows are not a
    /// multiple of four words long, and matrices that end inside a block are copied first, which takes one more
    /// dispatch and space for the copy. `Auto` depends only on the device. The CPU has one implementation, which is
    /// both `Auto` and `Baseline`.
    ///
    /// # Errors
    /// Products fail with [`Unsupported`](Error::Unsupported) under the conditions of
    /// [`Product::tier`](crate::product::Product::tier).
    pub fn tier(&self, tier: Tier) -> BsrTensor<T> {
        BsrTensor {
            tier,
            ..self.clone()
        }
    }
}

impl BsrTensor<f16> {
    /// [`matmul`](Self::matmul) with results in `f32`, as they are summed.
    ///
    /// ```
    /// use vsla::{Bsr, Device, Ragged, Shape, Topology, f16};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([8, 8], [8, 8], &[(0, 0)])?;
    /// let s = device.upload_bsr(&Bsr::new(&topology, vec![f16::MAX; 64])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![f16::ONE; 8], 2, [Shape::new(&[8, 1])?])?)?;
    /// assert_eq!(s.matmul_f32(&b)?.download_blocking()?.values(), [8.0 * 65504.0; 8]);
    /// assert_eq!(s.matmul(&b)?.download_blocking()?.values(), [f16::INFINITY; 8]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`matmul`](Self::matmul).
    pub fn matmul_f32(&self, other: &Tensor<f16>) -> Result<Tensor<f32>> {
        self.product(other).run_f32()
    }
}

impl<T: Float> Tensor<T> {
    /// Multiplies each dense matrix with the block-sparse one, `A S`: (m, k) times (k, n) gives (m, n).
    ///
    /// With [`transposed`](BsrTensor::transposed) matrices it is a linear layer, `X Wᵀ`.
    ///
    /// Otherwise like [`BsrTensor::matmul`], of which it is the transpose: rows take the place of columns.
    ///
    /// ```
    /// use vsla::{Bsr, Device, Ragged, Shape, Topology};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([8, 16], [8, 8], &[(0, 1)])?;
    /// let s = device.upload_bsr(&Bsr::new(&topology, vec![2.0f32; 64])?)?;
    /// let a = device.upload(&Ragged::from_shapes(vec![1.0f32; 8], 2, [Shape::new(&[1, 8])?])?)?;
    /// let expected = [[0.0f32; 8], [16.0; 8]].concat();
    /// assert_eq!(a.matmul_bsr(&s)?.download_blocking()?.to_vecs(), [expected]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`BsrTensor::matmul`].
    pub fn matmul_bsr(&self, other: &BsrTensor<T>) -> Result<Tensor<T>> {
        self.product_bsr(other).run()
    }
}

impl Tensor<f16> {
    /// [`matmul_bsr`](Self::matmul_bsr) with results in `f32`, as they are summed.
    ///
    /// ```
    /// use vsla::{Bsr, Device, Ragged, Shape, Topology, f16};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([8, 8], [8, 8], &[(0, 0)])?;
    /// let s = device.upload_bsr(&Bsr::new(&topology, vec![f16::MAX; 64])?)?;
    /// let a = device.upload(&Ragged::from_shapes(vec![f16::ONE; 8], 2, [Shape::new(&[1, 8])?])?)?;
    /// assert_eq!(a.matmul_bsr_f32(&s)?.download_blocking()?.values(), [8.0 * 65504.0; 8]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`BsrTensor::matmul`].
    pub fn matmul_bsr_f32(&self, other: &BsrTensor<f16>) -> Result<Tensor<f32>> {
        self.product_bsr(other).run_f32()
    }
}

impl<T: Float> Product<'_, T> {
    /// Computes only the blocks of every product `A B` that a topology lists: sampled dense-dense multiplication.
    ///
    /// The part of a block beyond the edge of the matrix is 0. Cost: 2·k operations for each value of a block; on a GPU
    /// one dispatch for block rows of up to 32 columns and one for the others, whatever the number of products. Error
    /// bound, NaN and `f16` as for [`Tensor::matmul`]; [`sampled_f32`](Product::sampled_f32) does not round.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, Shape, Topology};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([16, 16], [8, 8], &[(1, 0)])?;
    /// let column = Ragged::from_shapes((0..16).map(|i| i as f32).collect(), 2, [Shape::new(&[16, 1])?])?;
    /// let x = device.upload(&column)?;
    /// let squares = x.pair(&x, Pairing::Elementwise)?.product().transpose_right().sampled(&topology)?;
    /// let squares = squares.download_blocking()?.to_dense()?;
    /// assert_eq!((squares.row(0)[9 * 16 + 7], squares.row(0)[7 * 16 + 9]), (63.0, 0.0));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) if a scale, a bias, an activation, a residual or `ambient` was set;
    /// [`Shape`](Error::Shape) with the element whose rows or columns differ from the topology's; those of
    /// [`Tensor::matmul`].
    pub fn sampled(&self, topology: &Topology) -> Result<BsrTensor<T>> {
        self.sampled_as(topology)
    }

    fn sampled_as<R: Scalar>(&self, topology: &Topology) -> Result<BsrTensor<R>> {
        let pair = &self.pair;
        if !self.extras.is_none() || self.form.ambient {
            return Err(Error::Argument {
                op: "sampled",
                expected: "a plain product".to_owned(),
                got: "a product with a scale, bias, activation or residual, or an ambient product"
                    .to_owned(),
            });
        }
        let (left, right) = (pair.left, pair.right);
        let sampled = Sampled {
            topology: topology.clone(),
            transposed: self.form.transposed,
            dtype: T::DTYPE,
            result: R::DTYPE,
            target: target("sampled", self.tier, [left, right])?,
        };
        let values = pair.run(Op::Sampled(sampled))?;
        BsrTensor::new(topology, values)
    }
}

impl Product<'_, f16> {
    /// [`sampled`](Self::sampled) with results in `f32`, as they are summed.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, Shape, Topology, f16};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([8, 8], [8, 8], &[(0, 0)])?;
    /// let x = device.upload(&Ragged::from_shapes(vec![f16::MAX; 8], 2, [Shape::new(&[8, 1])?])?)?;
    /// let pair = x.pair(&x, Pairing::Elementwise)?;
    /// let squares = pair.product().transpose_right().sampled_f32(&topology)?;
    /// assert_eq!(squares.download_blocking()?.set(0), [65504.0 * 65504.0; 64]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sampled`](Self::sampled).
    pub fn sampled_f32(&self, topology: &Topology) -> Result<BsrTensor<f32>> {
        self.sampled_as(topology)
    }
}
