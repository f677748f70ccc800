//! Conversions between number types.

use super::Tensor;
use crate::Result;
use crate::ops::Op;
use crate::ops::convert::Convert;
use crate::ops::convert::cast::Cast;
use crate::ragged::{DType, Ordered};

impl<T: Ordered> Tensor<T> {
    /// Converts every value to type `R`.
    ///
    /// | from | to | result |
    /// | --- | --- | --- |
    /// | f32 | f16 | the nearest, ties to even: ±∞ from ±65,520 on, less precise below 2⁻¹⁴, 0 below 2⁻²⁵ |
    /// | f16 | f32 | exact |
    /// | f32, f16 | i32, u32 | without its fraction, saturating at the ends of the range; 0 for NaN: Rust's `as` |
    /// | i32, u32 | f32 | the nearest, ties to even; exact up to 2²⁴ |
    /// | i32, u32 | f16 | the nearest, ties to even; exact up to 2,048, and infinite from ±65,520 on |
    /// | u32 | i32 | 2³¹ − 1 for larger values, which do not wrap |
    /// | i32 | u32 | 0 for negative values, which do not wrap |
    /// | u8 | f32, f16, i32, u32 | exact |
    /// | f32, f16 | u8 | without its fraction, saturating at 0 and 255; 0 for NaN: Rust's `as` |
    /// | i32, u32 | u8 | 255 for larger values and 0 for negative ones, which do not wrap |
    ///
    /// NaN stays NaN between floats and keeps its sign. A tensor that has type `R` already is shared and not copied.
    /// Every device gives the same bits. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, f16};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, -1.9, 1e5], vec![]])?)?;
    /// let halves = x.to::<f16>()?;
    /// let expected = [f16::ONE, f16::from_f32(-1.9), f16::INFINITY];
    /// assert_eq!(halves.download_blocking()?.row(0), expected);
    /// assert_eq!(halves.to::<f32>()?.download_blocking()?.row(0), expected.map(f16::to_f32));
    /// assert_eq!(x.to::<i32>()?.download_blocking()?.row(0), [1, -1, 100_000]);
    /// assert_eq!(x.to::<i32>()?.to::<u32>()?.download_blocking()?.row(0), [1, 0, 100_000]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge) above the device's binding limit,
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn to<R: Ordered>(&self) -> Result<Tensor<R>> {
        let op: Op = match (T::DTYPE, R::DTYPE) {
            (from, to) if from == to => {
                let (storage, layout) = (self.storage.clone(), self.layout.clone());
                return Ok(Tensor::new(&self.device, storage, self.base, layout));
            }
            (DType::F32, DType::F16) => Convert::ToF16.into(),
            (DType::F16, DType::F32) => Convert::ToF32.into(),
            (from, to) => Cast { from, to }.into(),
        };
        self.unary(op, &[])
    }
}
