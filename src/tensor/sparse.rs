//! Block-sparse matrices on devices.

use super::{Device, Tensor};
use crate::Result;
use crate::error::Named;
use crate::ragged::{Bsr, Scalar, Topology};

/// Block-sparse matrices on a device: a [`Topology`], and a [`Tensor`] with one element of values for each matrix.
///
/// Cheap to clone and immutable, like a tensor. The three products of a layer, forward and both backward, share one
/// topology:
///
/// ```
/// use vsla::{Bsr, Device, Ragged, Shape, Topology};
///
/// let device = Device::cpu();
/// let topology = Topology::new([8, 16], [8, 8], &[(0, 1)])?;
/// let w = device.upload_bsr(&Bsr::new(&topology, vec![0.5f32; 64])?)?;
/// let x = device.upload(&Ragged::from_shapes(vec![1.0f32; 3 * 16], 2, [Shape::new(&[3, 16])?])?)?;
/// let y = x.matmul(&w.transpose())?;
/// assert_eq!(y.download_blocking()?.values(), [4.0; 3 * 8]);
/// // The gradients, for a cotangent of y that equals y: dx = y w, and dw = yᵀ x where w has blocks.
/// let dx = y.matmul(&w)?;
/// assert_eq!(dx.download_blocking()?.row(0)[..16], [vec![0.0; 8], vec![16.0; 8]].concat());
/// let dw = y.product(&x).transpose_left().sampled(&topology)?;
/// assert_eq!(dw.download_blocking()?.set(0), [12.0; 64]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BsrTensor<T: Scalar> {
    pub(super) topology: Topology,
    pub(super) values: Tensor<T>,
    pub(super) transposed: bool,
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
    /// [`Error::Length`](crate::Error::Length) with the first element that has another number of values.
    pub fn new(topology: &Topology, values: Tensor<T>) -> Result<BsrTensor<T>> {
        let expected = std::iter::repeat(topology.set());
        values.layout.check_lengths(expected).named("bsr")?;
        Ok(BsrTensor {
            topology: topology.clone(),
            values,
            transposed: false,
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
    pub fn transpose(&self) -> BsrTensor<T> {
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
    /// [`DeviceLost`](crate::Error::DeviceLost), [`OutOfMemory`](crate::Error::OutOfMemory).
    pub async fn download(&self) -> Result<Bsr<T>> {
        let values = self.values.download().await?.into_parts().1;
        Bsr::from_sets(&self.topology, self.len(), values)
    }

    /// The blocking form of [`download`](Self::download).
    ///
    /// # Errors
    /// Those of [`download`](Self::download).
    pub fn download_blocking(&self) -> Result<Bsr<T>> {
        let values = self.values.download_blocking()?.into_parts().1;
        Bsr::from_sets(&self.topology, self.len(), values)
    }
}
