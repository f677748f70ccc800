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

/// The nearest `f16`, and of two that are equally near the one whose last bit is 0: rounded once.
///
/// What is nearer to 65,504 than 65,520 is gives that, and all beyond becomes infinite; up to 2⁻²⁵ it is 0, and between
/// a multiple of 2⁻²⁴. Signs stay, and NaN stays NaN. (`f16::from_f64` rounds twice, or drops bits, and makes 2048 of
/// 2049.0000001.)
///
/// ```
/// use vsla::{Ragged, f16, scalar::f16_from_f64};
///
/// let wide = Ragged::from_rows([vec![2049.0000001, 65_519.999_999], vec![-65_520.0]])?;
/// let narrow = wide.cast(f16_from_f64);
/// assert_eq!(narrow.row(0), [f16::from_f32(2050.0), f16::MAX]);
/// assert_eq!(narrow.row(1), [f16::NEG_INFINITY]);
/// # Ok::<(), vsla::Error>(())
/// ```
pub fn f16_from_f64(value: f64) -> f16 {
    let near = value as f32;
    let apart = f64::from(near);
    if apart == value || value.is_nan() {
        return f16::from_f32(near);
    }
    // Towards zero, with the last bit for all that is left out: a second rounding, to fewer bits, then sees on which
    // side it is.
    let cut = near.to_bits() - u32::from(apart.abs() > value.abs());
    f16::from_f32(f32::from_bits(cut | 1))
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
pub trait Scalar:
    sealed::Sealed + bytemuck::Pod + Default + PartialEq + fmt::Debug + fmt::Display + Send + Sync
{
    /// The type as a value.
    const DTYPE: DType;
}

impl Scalar for f32 {
    const DTYPE: DType = DType::F32;
}

impl Scalar for i32 {
    const DTYPE: DType = DType::I32;
}

impl Scalar for u32 {
    const DTYPE: DType = DType::U32;
}

impl Scalar for Complex32 {
    const DTYPE: DType = DType::C32;
}

impl Scalar for f16 {
    const DTYPE: DType = DType::F16;
}

/// A type of real numbers: `f32`, `i32` or `u32`. Arithmetic, reductions and convolutions are defined on these; complex
/// values are for transforms, and `f16` is for storage and matrix products.
pub trait Real: Factor {}

impl Real for f32 {}

impl Real for i32 {}

impl Real for u32 {}

/// A type of the values of matrices that are multiplied, and of numbers that are compared: `f32`, `i32`, `u32` or
/// [`f16`](struct@f16).
pub trait Factor: Scalar + PartialOrd {}

impl Factor for f32 {}

impl Factor for i32 {}

impl Factor for u32 {}

impl Factor for f16 {}

/// A type of floating-point numbers, of which there are functions such as [`exp`](crate::Tensor::exp), and products
/// with scale and bias: `f32` or [`f16`](struct@f16).
pub trait Float: Factor {}

impl Float for f32 {}

impl Float for f16 {}

/// A type of integers: `i32` or `u32`.
pub trait Integer: Real {}

impl Integer for i32 {}

impl Integer for u32 {}
