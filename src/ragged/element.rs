//! The types of values that a device stores and computes with.

use core::fmt;

use half::f16;
use num_complex::Complex32;

/// The type of a batch's values, as a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit floating point.
    F32,
    /// 32-bit two's complement integers; arithmetic wraps.
    I32,
    /// 32-bit unsigned integers; arithmetic wraps.
    U32,
    /// Complex numbers: two `f32`, the real part and then the imaginary one.
    C32,
    /// 16-bit floating point (IEEE 754 binary16), for storage: what is computed is computed in `f32`.
    F16,
}

impl DType {
    /// A short name: `"f32"`, `"i32"`, `"u32"`, `"c32"` and `"f16"`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::C32 => "c32",
            DType::F16 => "f16",
        }
    }

    /// Bytes a value takes.
    pub const fn size(self) -> usize {
        match self {
            DType::F16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::C32 => 8,
        }
    }

    /// 32-bit words that so many values take, the last one perhaps in part: what buffers are counted in.
    pub(crate) const fn words(self, values: usize) -> usize {
        (values * self.size()).div_ceil(4)
    }

    /// Bytes of what places in a buffer are counted in: a 32-bit word, or a 16-bit half of one.
    pub(crate) const fn unit(self) -> usize {
        match self {
            DType::F16 => 2,
            _ => 4,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for u32 {}
    impl Sealed for num_complex::Complex32 {}
    impl Sealed for half::f16 {}
}

/// A type of values that a device can hold: `f32`, `i32`, `u32`, [`f16`](struct@f16) or [`Complex32`]. Sealed.
///
/// Host containers take any `Copy` type ([`Ragged<f64>`](crate::Ragged), for one); only what goes to a device is bound
/// to this trait.
pub trait Element:
    sealed::Sealed + bytemuck::Pod + Default + PartialEq + fmt::Debug + fmt::Display + Send + Sync
{
    /// The type as a value.
    const DTYPE: DType;
}

impl Element for f32 {
    const DTYPE: DType = DType::F32;
}

impl Element for i32 {
    const DTYPE: DType = DType::I32;
}

impl Element for u32 {
    const DTYPE: DType = DType::U32;
}

impl Element for Complex32 {
    const DTYPE: DType = DType::C32;
}

impl Element for f16 {
    const DTYPE: DType = DType::F16;
}

/// A type of real numbers: `f32`, `i32` or `u32`. Arithmetic, reductions and convolutions are defined on these; complex
/// values are for transforms, and `f16` is for storage and matrix products.
pub trait Real: Factor + PartialOrd {}

impl Real for f32 {}

impl Real for i32 {}

impl Real for u32 {}

/// A type of the values of matrices that are multiplied: `f32`, `i32`, `u32` or [`f16`](struct@f16).
pub trait Factor: Element {}

impl Factor for f32 {}

impl Factor for i32 {}

impl Factor for u32 {}

impl Factor for f16 {}

/// A type of floating-point numbers that matrix products can scale, add a bias to and apply functions to: `f32` or [`f16`](struct@f16).
pub trait Float: Factor {}

impl Float for f32 {}

impl Float for f16 {}
