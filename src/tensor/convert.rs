//! Between f32 and f16.

use half::f16;

use super::Tensor;
use crate::Result;
use crate::ops::convert;

impl Tensor<f32> {
    /// Every value rounded to the nearest `f16`, ties to even: half the memory, 11 bits of precision.
    ///
    /// From ±65,520 on the result is ±∞; below 2⁻¹⁴ precision is lost, and below 2⁻²⁵ everything. NaN stays NaN, of its sign. The
    /// same bits on every device. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, f16};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 0.1, 1e5], vec![]])?)?;
    /// let y = x.to_f16()?.download_blocking()?;
    /// assert_eq!(y.to_vecs(), [vec![f16::ONE, f16::from_f32(0.1), f16::INFINITY], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn to_f16(&self) -> Result<Tensor<f16>> {
        self.unary(&*convert::to_f16(&self.layout)?, &[])
    }
}

impl Tensor<f16> {
    /// Every value as an `f32`, exactly. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, f16};
    /// let x = Device::cpu().upload(&Ragged::from_rows([[f16::MAX, f16::EPSILON]])?)?;
    /// assert_eq!(x.to_f32()?.download_blocking()?.row(0), [65504.0, 0.0009765625]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge) above the device's binding limit, [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn to_f32(&self) -> Result<Tensor<f32>> {
        self.unary(&*convert::to_f32(&self.layout)?, &[])
    }
}
