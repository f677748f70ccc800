//! Matrix products.

use super::product_options::Factors;
use super::{BsrTensor, Paired, Product, Tensor};
use crate::Result;
use crate::ragged::{Factor, Float, Scalar};

/// The right factor of a product: a reference to a [`Tensor`] of dense matrices or to a [`BsrTensor`].
#[derive(Clone, Copy, Debug)]
pub struct RightFactor<'a, T: Scalar>(Right<'a, T>);

#[derive(Clone, Copy, Debug)]
enum Right<'a, T: Scalar> {
    Dense(&'a Tensor<T>),
    Sparse(&'a BsrTensor<T>),
}

impl<'a, T: Scalar> From<&'a Tensor<T>> for RightFactor<'a, T> {
    fn from(dense: &'a Tensor<T>) -> Self {
        RightFactor(Right::Dense(dense))
    }
}

impl<'a, T: Float> From<&'a BsrTensor<T>> for RightFactor<'a, T> {
    fn from(sparse: &'a BsrTensor<T>) -> Self {
        RightFactor(Right::Sparse(sparse))
    }
}

impl<T: Factor> Tensor<T> {
    /// The matrix product `(A B)_ij = Σ_l A_il B_lj`, element by element: (m, k) times (k, n) gives (m, n), with
    /// extents that may differ from element to element.
    ///
    /// Rank 2. An extent of 0 reads nothing, and k = 0 gives zeros. Integers wrap. A NaN or an infinity in A spreads
    /// over its row of the result, and one in B over its column; no other product is affected. Respects equivalence for
    /// finite values, but inner extents must be equal; [`matmul_ambient`](Self::matmul_ambient) lets them differ. An
    /// element (0, 0), which has neither values nor extents, fits every other factor: (0, 0) times (k, n) is (0, n),
    /// and (m, k) times (0, 0) is (m, 0). This holds for all products of matrices.
    /// [`Paired::matmul`] multiplies one matrix with all, or listed pairs; [`product`](Self::product) multiplies
    /// transposes, and adds a bias, an activation or a residual. If `other` is a [`BsrTensor`], the products are those
    /// of [`BsrTensor::matmul`], with the block-sparse matrix on the right: rows of A take the place of columns.
    ///
    /// `f16` products are summed in `f32` and each complete sum is rounded once: ±65,504 times itself does not overflow
    /// during the sum, and a result from ±65,520 on becomes infinite. [`Product::to`](crate::product::Product::to)
    /// gives results that are not rounded. A GPU may flush subnormal factors to 0, so that an infinity times a
    /// subnormal gives NaN there.
    ///
    /// Cost: 2·m·k·n operations. On a GPU, there is one dispatch for each tile size (32, 64 and 128, and also 256 on
    /// cooperative matrices), whatever the number of products. In the baseline tier, one workgroup computes the whole
    /// sums of a tile, so a small product with an inner extent of a million takes about 40 ms (H100). In the native
    /// tier, many invocations share each sum: such a product takes a tenth of that time, and one more dispatch. `f16`
    /// results take one more dispatch and, on a GPU, space for the results in `f32`; on the CPU, `f16` operands take
    /// space in `f32`.
    ///
    /// Error: |error| ≤ γ_h Σ|A_il B_lj| with h = min(k, 512) + ⌈k / 512⌉, plus the rounding to `f16`; exact for
    /// integers below 2²⁴. `f16` on cooperative matrices has another bound, which
    /// [`Product::tier`](crate::product::Product::tier) states. The bits of an element depend only on its own factors.
    ///
    /// ```
    /// use vsla::{Device, Ragged, Shape};
    ///
    /// let device = Device::cpu();
    /// let a = Ragged::from_shapes(vec![1.0f32, 2.0, 5.0, 7.0], 2, [Shape::new(&[1, 2])?, Shape::new(&[2, 1])?])?;
    /// let b = vec![1.0f32, 0.0, 3.0, 4.0, 10.0];
    /// let b = Ragged::from_shapes(b, 2, [Shape::new(&[2, 2])?, Shape::new(&[1, 1])?])?;
    /// let c = device.upload(&a)?.matmul(&device.upload(&b)?)?.download_blocking()?;
    /// assert_eq!(c.to_vecs()?, [vec![7.0, 8.0], vec![50.0, 70.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless both batches have rank 2; [`InnerExtents`](crate::Error::InnerExtents) with
    /// the first pair whose inner extents differ; [`BatchSize`](crate::Error::BatchSize),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`SizeOverflow`](crate::Error::SizeOverflow) with the element
    /// whose result does not fit, [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn matmul<'a>(&'a self, other: impl Into<RightFactor<'a, T>>) -> Result<Tensor<T>> {
        self.product(other).run()
    }

    /// The matrix product for inner extents that may differ: missing entries are zero, so the inner sum stops at the
    /// smaller extent.
    ///
    /// Respects equivalence: trailing zero rows and columns change only the shape and, in the native tier's long sums,
    /// the rounding. Otherwise it behaves like [`matmul`](Self::matmul).
    ///
    /// ```
    /// use vsla::{Device, Ragged, Shape};
    ///
    /// let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_shapes(vec![1.0f32, 2.0], 2, [Shape::new(&[1, 2])?])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![3.0f32, 4.0], 2, [Shape::new(&[1, 2])?])?)?;
    /// assert_eq!(a.matmul_ambient(&b)?.download_blocking()?.to_vecs()?, [vec![3.0, 4.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`matmul`](Self::matmul), except for the inner extents.
    pub fn matmul_ambient(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.zip("matmul_ambient", other)?.matmul_ambient()
    }
}

impl<'a, T: Factor> Paired<'a, T> {
    /// [`Tensor::matmul`] of every pair.
    ///
    /// A list of pairs gives a grouped product: rows of one batch, each group with its own weights. Keep the
    /// [`PairList`](crate::batch::PairList) to repeat the product.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, Shape, batch::PairList};
    ///
    /// let device = Device::cpu();
    /// // Groups of two rows and of one row, and the weights of two experts.
    /// let rows = [Shape::new(&[2, 1])?, Shape::new(&[1, 1])?];
    /// let x = device.upload(&Ragged::from_shapes(vec![1.0f32, 2.0, 3.0], 2, rows)?)?;
    /// let weights = [Shape::new(&[1, 2])?, Shape::new(&[1, 1])?];
    /// let w = device.upload(&Ragged::from_shapes(vec![1.0f32, -1.0, 10.0], 2, weights)?)?;
    /// let of_expert = PairList::new([(0, 1), (1, 0)])?;
    /// let y = x.pair(&w, Pairing::List(&of_expert))?.matmul()?;
    /// assert_eq!(y.download_blocking()?.to_vecs()?, [vec![10.0, 20.0], vec![3.0, -3.0]]);
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
}

impl<T: Float> BsrTensor<T> {
    /// Multiplies the block-sparse matrix with each dense one, `S B`: (m, k) times (k, n) gives (m, n).
    ///
    /// Rank 2. Matrix i is paired with element i of the batch, and a single matrix with every element; each element may
    /// have any number of columns. Only blocks are read: rows without a block give zeros, and a NaN or an infinity of a
    /// dense matrix reaches only the rows that have a block there. Respects equivalence of the dense matrices, but
    /// their inner extent must equal the block-sparse matrix's.
    ///
    /// Cost: 2 operations for each value of a block and each column. On a GPU, all operands of up to 32 columns share
    /// one dispatch (in the native tier, one for up to 16 columns and one for up to 32), and all wider operands share
    /// another one. A block row with more than 1,920 stored columns (7,680 on cooperative matrices) is cut into pieces
    /// of 1,920 to 2,048 columns (7,680 to 8,192). The first piece writes to the result and the others to scratch
    /// buffers, which one more dispatch adds.
    ///
    /// Error: |error| ≤ γ_h Σ|S_il B_lj| over the t stored columns of a row, with h = min(t, 512) + ⌈t / 480⌉; exact
    /// for integers below 2²⁴. The bits of a product depend only on the topology and its own factors.
    ///
    /// [`f16`](struct@crate::f16) products are summed in `f32` and each complete sum is rounded once, which takes one
    /// more dispatch; the remarks on `f16` in [`Tensor::matmul`] apply here too.
    /// [`Product::to`](crate::product::Product::to) gives results that are not rounded.
    ///
    /// ```
    /// use vsla::{Bsr, Device, Ragged, Shape, Topology};
    ///
    /// let device = Device::cpu();
    /// let topology = Topology::new([16, 8], [8, 8], &[(1, 0)])?;
    /// let s = device.upload_bsr(&Bsr::new(&topology, vec![2.0f32; 64])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![1.0f32; 8], 2, [Shape::new(&[8, 1])?])?)?;
    /// let expected = [[0.0f32; 8], [16.0; 8]].concat();
    /// assert_eq!(s.matmul(&b)?.download_blocking()?.to_vecs()?, [expected]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless the batch has rank 2; [`InnerExtents`](crate::Error::InnerExtents) with the
    /// first element that does not fit; [`BatchSize`](crate::Error::BatchSize),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch); [`SizeOverflow`](crate::Error::SizeOverflow) with the element
    /// whose result does not fit; [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    #[doc(alias("mm"))]
    pub fn matmul(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.product(other).run()
    }
}

impl<T: Factor> Tensor<T> {
    /// Builds the matrix product `A B`, element by element, with options to set before it runs: see [`Product`].
    ///
    /// ```
    /// use vsla::{Device, Ragged, Shape};
    ///
    /// let device = Device::cpu();
    /// let x = Ragged::from_shapes(vec![1.0f32, 2.0, 3.0, 4.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = device.upload(&x)?;
    /// let gram = x.product(&x).transpose_left().run()?;
    /// assert_eq!(gram.download_blocking()?.values(), [10.0, 14.0, 14.0, 20.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn product<'a>(&'a self, other: impl Into<RightFactor<'a, T>>) -> Product<'a, T> {
        Product::new(match other.into().0 {
            Right::Dense(right) => Factors::Dense {
                left: self,
                right,
                pairs: None,
            },
            Right::Sparse(sparse) => Factors::Sparse {
                sparse,
                dense: self,
                dense_left: true,
            },
        })
    }
}

impl<'a, T: Factor> Paired<'a, T> {
    /// Builds the matrix product of every pair, with options to set before it runs: see [`Product`].
    pub fn product(&self) -> Product<'a, T> {
        Product::new(Factors::Dense {
            left: self.left,
            right: self.right,
            pairs: Some(self.pairs.clone()),
        })
    }
}

impl<T: Float> BsrTensor<T> {
    /// Builds the product `S B` of the matrix with each dense one, with options to set before it runs: see [`Product`].
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
    pub fn product<'a>(&'a self, other: &'a Tensor<T>) -> Product<'a, T> {
        Product::new(Factors::Sparse {
            sparse: self,
            dense: other,
            dense_left: false,
        })
    }
}
