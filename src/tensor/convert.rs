//! Conversions between number types.

use half::f16;

use super::Tensor;
use crate::Result;
use crate::ops::Op;
use crate::ops::cast::Cast;
use crate::ops::convert::Convert;
use crate::ragged::Scalar;

impl Tensor<f32> {
    /// Rounds every value to the nearest `f16`, ties to even: half the memory, 11 bits of precision.
    ///
    /// From ±65,520 on, the result is ±∞. Below 2⁻¹⁴ precision is lost, and below 2⁻²⁵ the result is 0. NaN stays NaN
    /// and keeps its sign. Every device gives the same bits. Cost: values read once, written once.
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
        self.unary(Op::Convert(Convert::ToF16), &[])
    }
}

impl Tensor<f16> {
    /// Converts every value to `f32`, exactly.
    ///
    /// Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, f16};
    /// let x = Device::cpu().upload(&Ragged::from_rows([[f16::MAX, f16::EPSILON]])?)?;
    /// assert_eq!(x.to_f32()?.download_blocking()?.row(0), [65504.0, 0.0009765625]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge) above the device's binding limit,
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn to_f32(&self) -> Result<Tensor<f32>> {
        self.unary(Op::Convert(Convert::ToF32), &[])
    }
}

/// Conversions by `ops::cast`: source type, method, target type, description, example.
macro_rules! casts {
    ($($from:ident fn $method:ident() $to:ident $what:literal $x:literal => $y:literal;)*) => {$(
        impl Tensor<$from> {
            #[doc = $what]
            ///
            /// Every device gives the same result. Cost: values read once, written once.
            ///
            /// ```
            /// # use vsla::{Device, Ragged, f16};
            #[doc = concat!("let x = Device::cpu().upload(&Ragged::from_rows([vec!", $x, ", vec![]])?)?;")]
            #[doc = concat!("assert_eq!(x.", stringify!($method), "()?.download_blocking()?.to_vecs(), [vec!", $y, ", vec![]]);")]
            /// # Ok::<(), vsla::Error>(())
            /// ```
            ///
            /// # Errors
            /// [`TooLarge`](crate::Error::TooLarge) above the device's binding limit,
            /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
            pub fn $method(&self) -> Result<Tensor<$to>> {
                let (from, to) = (<$from as Scalar>::DTYPE, <$to as Scalar>::DTYPE);
                self.unary(Op::Cast(Cast { from, to }), &[])
            }
        }
    )*};
}

casts! {
    f32 fn to_i32() i32 "Truncates every value to an `i32`, saturating at the ends of its range; NaN gives 0. Like Rust's `as`."
        "[-1.9f32, 3e9, f32::NAN]" => "[-1, i32::MAX, 0]";
    f32 fn to_u32() u32 "Truncates every value to a `u32`, saturating at the ends of its range; NaN gives 0. Like Rust's `as`."
        "[1.9f32, -3.0, f32::INFINITY]" => "[1, 0, u32::MAX]";
    f16 fn to_i32() i32 "Truncates every value to an `i32`; infinities saturate, and NaN gives 0. Like Rust's `as`."
        "[f16::NEG_INFINITY, f16::MAX]" => "[i32::MIN, 65504]";
    f16 fn to_u32() u32 "Truncates every value to a `u32`, saturating at the ends of its range; NaN gives 0. Like Rust's `as`."
        "[f16::NEG_ONE, f16::MAX]" => "[0, 65504]";
    u32 fn to_i32() i32 "Converts every value to an `i32`; larger values give 2³¹ − 1 and do not wrap."
        "[7u32, u32::MAX]" => "[7, i32::MAX]";
    i32 fn to_u32() u32 "Converts every value to a `u32`; negative values give 0 and do not wrap."
        "[7i32, -7]" => "[7, 0]";
    i32 fn to_f32() f32 "Converts every value to the nearest `f32`, ties to even; exact up to 2²⁴."
        "[-7i32, (1 << 24) + 1]" => "[-7.0, 16777216.0]";
    u32 fn to_f32() f32 "Converts every value to the nearest `f32`, ties to even; exact up to 2²⁴."
        "[7u32, (1 << 24) + 3]" => "[7.0, 16777220.0]";
    i32 fn to_f16() f16 "Converts every value to the nearest `f16`, ties to even; exact up to 2,048, and infinite from ±65,520 on."
        "[-7i32, 2049, 1 << 20]" => "[f16::from_f32(-7.0), f16::from_f32(2048.0), f16::INFINITY]";
    u32 fn to_f16() f16 "Converts every value to the nearest `f16`, ties to even; exact up to 2,048, and infinite from 65,520 on."
        "[7u32, 2051, 1 << 20]" => "[f16::from_f32(7.0), f16::from_f32(2052.0), f16::INFINITY]";
}
