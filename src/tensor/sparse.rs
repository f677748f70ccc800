//! Block-sparse matrices on devices, and their plain products.

use super::products::target;
use super::{Device, Product, Tensor};
use crate::ops::Op;
use crate::ops::bsr::Sampled;
use crate::ops::matmul::Tier;
use crate::ragged::{Bsr, Float, Scalar, Topology};
use crate::{Error, Result};
use half::f16;

/// Block-sparse matrices on a device: a [`Topology`], and a [`Tensor`] with a set of values for each matrix.
///
/// Cheap to clone and immutable, as a tensor is. The three products of a layer, forward and both backward, share one
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
/// // The gradients, where that of y is y itself: dx = y w, and dw = yᵀ x where w has blocks.
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
    /// Copies block-sparse matrices to the device, the values of their blocks alone.
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
    /// The matrices that have these values, each element of the batch those of one: of whatever shape, as many as the
    /// blocks have. Copies nothing.
    ///
    /// ```
    /// use vsla::{BsrTensor, Device, Ragged, Topology};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([8, 16], [8, 8], &[(0, 1)])?;
    /// // Values that were computed on the device: a step of a gradient descent.
    /// let (w, gradient) = (Ragged::from_rows([[3.0f32; 64]])?, Ragged::from_rows([[2.0f32; 64]])?);
    /// let (w, gradient) = (device.upload(&w)?, device.upload(&gradient)?);
    /// let w = BsrTensor::new(&topology, w.sub(&gradient.scale(0.5)?)?)?;
    /// assert_eq!(w.download_blocking()?.set(0), [2.0; 64]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] with the first element of another length.
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

    /// Where the blocks of what is stored are.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The values of what is stored: for each matrix its blocks in row order, each row-major.
    pub fn values(&self) -> &Tensor<T> {
        &self.values
    }

    /// The number of matrices.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no matrix.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The transposes, over the same values: nothing is copied.
    pub fn transposed(&self) -> BsrTensor<T> {
        BsrTensor {
            transposed: !self.transposed,
            ..self.clone()
        }
    }

    /// Whether the matrices are the transposes of what is stored.
    pub fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// Brings what is stored back to the host.
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
    /// The product `S B` of the block-sparse matrix with each dense one: (m, k) times (k, n) gives (m, n).
    ///
    /// Rank 2. Matrix i meets element i of the batch, or the only matrix every element, which may have any number of
    /// columns each. Only blocks are read: rows without any give zeros, and a NaN or an infinity of a dense matrix is
    /// met by those rows alone that have a block there. Respects equivalence of the dense matrices, but their inner
    /// extent must be the block-sparse one's.
    ///
    /// Cost: 2 operations for each value of a block and each column; on a GPU a dispatch for operands of up to 32
    /// columns (in the native tier one up to 16 and one up to 32) and one for the others, whatever their number, and
    /// one more where a row of blocks has more than 1,920 columns in blocks, or 7,680 on cooperative matrices: so many,
    /// or up to 2,048 and 8,192, are a piece that is summed apart, in scratch memory after the first. Error: |error| ≤
    /// γ_h Σ|S_il B_lj| over the t stored columns of a row, with h = min(t, 512) + ⌈t / 480⌉; exact for integers below
    /// 2²⁴. A product's bits depend on the topology and its own factors only.
    ///
    /// Of [`f16`](struct@f16), sums are `f32` and rounded once, when they are whole, which takes a dispatch more: what
    /// is said of [`Tensor::matmul`] holds here too. [`matmul_f32`](BsrTensor::matmul_f32) does not round.
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
    /// [`Rank`](Error::Rank) unless the batch is of rank 2; [`InnerExtents`](Error::InnerExtents) with the first element that does not fit;
    /// [`BatchSize`](Error::BatchSize), [`DeviceMismatch`](Error::DeviceMismatch),
    /// [`SizeOverflow`](Error::SizeOverflow) with the element whose result does not fit, [`TooLarge`](Error::TooLarge),
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn matmul(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.product(other).run()
    }

    /// The same matrices, for products by kernels of that tier, which fail where the device has not what it needs. See
    /// [`Tier`].
    ///
    /// [`Tier::Native`] has kernels of its own, in which sets of invocations share a row's sum, for operands of up to 16 columns, and of up to 32 where
    /// blocks are 32, 64, 96 or 128 high; others, and [`sampled`](crate::product::Product::sampled) products, take those of the
    /// baseline. Both tiers keep the bound of [`matmul`](Self::matmul), and may add up in another order.
    ///
    /// By matrices, which multiply `f16` only, sums are chains of additions of s products, each cut instead of rounded,
    /// in the order of the blocks: |error| ≤ 4 γ_h Σ|S_il B_lj| over the t stored columns of a row, with h = s + ⌈t /
    /// s⌉, where s is 16 or 8, the side of the device's [`matrices`](crate::device::DeviceInfo::matrices). Blocks of eight rows
    /// use half of each matrix of 16, and are still served best by them: 48 TFLOP/s on an H100 at 10 % of 4096³, where
    /// `f32` by the kernels of any device has 17. Operands that do not begin at whole quads of words, or whose rows are
    /// not made of whole ones, and matrices that end inside a block are copied first: a dispatch more, and room for the
    /// copy. `Auto` goes by the device alone. The CPU has one way, which is both `Auto` and `Baseline`.
    ///
    /// # Errors
    /// Products fail with [`Unsupported`](Error::Unsupported) as [`Product::tier`](crate::product::Product::tier) says.
    pub fn tier(&self, tier: Tier) -> BsrTensor<T> {
        BsrTensor {
            tier,
            ..self.clone()
        }
    }
}

impl BsrTensor<f16> {
    /// [`matmul`](Self::matmul) as it is summed, in `f32`.
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
    /// The product `A S` of each dense matrix with the block-sparse one: (m, k) times (k, n) gives (m, n). With
    /// [`transposed`](BsrTensor::transposed) matrices it is a linear layer, `X Wᵀ`.
    ///
    /// In all else like [`BsrTensor::matmul`], of which it is the transpose: what holds there for columns holds here
    /// for rows.
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
    /// [`matmul_bsr`](Self::matmul_bsr) as it is summed, in `f32`.
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
    /// The blocks that a topology names of every product `A B`: sampled dense-dense multiplication. The other blocks
    /// are not computed.
    ///
    /// What a block has beyond the edge of the matrix is 0. Cost: 2·k operations for each value of a block; on a GPU a
    /// dispatch for rows of blocks of up to 32 columns and one for the others, whatever the number of products. Error
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
    /// [`Argument`](Error::Argument) where a scale, a bias, an activation, a residual or `ambient` was asked for;
    /// [`Shape`](Error::Shape) with the element that has not the topology's rows or columns;
    /// those of [`Tensor::matmul`].
    pub fn sampled(&self, topology: &Topology) -> Result<BsrTensor<T>> {
        self.sampled_as(topology)
    }

    fn sampled_as<R: Scalar>(&self, topology: &Topology) -> Result<BsrTensor<R>> {
        let pair = &self.pair;
        if !self.extras.is_none() || self.form.ambient {
            return Err(Error::Argument {
                op: "sampled",
                expected: "a plain product".to_owned(),
                got: "one with a scale, bias, activation or residual, or an ambient one".to_owned(),
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
    /// [`sampled`](Self::sampled) as it is summed, in `f32`.
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
