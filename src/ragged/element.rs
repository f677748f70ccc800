//! The value types that a device can store and compute with.

use core::fmt;

use half::f16;
use num_complex::Complex32;

/// The type of a batch's values, as a runtime value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit floating point.
    F32,
    /// 32-bit two's complement integers; arithmetic wraps.
    I32,
    /// 32-bit unsigned integers; arithmetic wraps.
    U32,
    /// Complex numbers: two `f32`, the real part followed by the imaginary part.
    C32,
    /// 16-bit floating point (IEEE 754 binary16). A storage type: computation is in `f32`.
    F16,
    /// 8-bit unsigned integers. A storage type, mainly for images: there is no arithmetic on it.
    U8,
}

impl DType {
    /// A short name: `"f32"`, `"i32"`, `"u32"`, `"c32"`, `"f16"` and `"u8"`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::C32 => "c32",
            DType::F16 => "f16",
            DType::U8 => "u8",
        }
    }

    /// The size of a value in bytes.
    pub const fn size(self) -> usize {
        match self {
            DType::U8 => 1,
            DType::F16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::C32 => 8,
        }
    }

    /// The number of 32-bit words that `values` values take, rounded up. Buffer sizes are counted in words.
    pub(crate) const fn words(self, values: usize) -> usize {
        (values * self.size()).div_ceil(4)
    }

    /// Whether values of this type have gradients.
    pub(crate) const fn is_smooth(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::C32)
    }

    /// The size in bytes of the unit of buffer offsets: a 32-bit word, a 16-bit half for `f16`, or a byte for `u8`.
    pub(crate) const fn unit(self) -> usize {
        match self {
            DType::U8 => 1,
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

/// Converts to the nearest `f16`, rounding once, with ties to even.
///
/// Magnitudes from 65,504 to below 65,520 become 65,504; from 65,520 on they become infinite. Magnitudes up to 2⁻²⁵
/// become 0; other subnormal results are multiples of 2⁻²⁴. Signs are preserved, and NaN stays NaN. (`f16::from_f64`
/// rounds twice, or drops bits, and turns 2049.0000001 into 2048.)
///
/// ```
/// use vsla::{Ragged, f16, scalar::f16_from_f64};
///
/// let wide = Ragged::from_rows([vec![2049.0000001, 65_519.999_999], vec![-65_520.0]])?;
/// let narrow = wide.cast(f16_from_f64)?;
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
    // Round to odd: truncate towards zero and set the last bit to stand for the discarded bits, so that the second
    // rounding, to fewer bits, knows on which side of a tie the value lies.
    let cut = near.to_bits() - u32::from(apart.abs() > value.abs());
    f16::from_f32(f32::from_bits(cut | 1))
}

/// The bits of a value as kernels take them: in two words, of which all types but complex numbers need one.
pub(crate) fn words_of<T: Scalar>(value: T) -> [u32; 2] {
    match T::DTYPE {
        DType::C32 => bytemuck::cast(value),
        DType::F16 => [bytemuck::cast::<T, u16>(value).into(), 0],
        DType::U8 => [bytemuck::cast::<T, u8>(value).into(), 0],
        DType::F32 | DType::I32 | DType::U32 => [bytemuck::cast(value), 0],
    }
}

/// Implements a trait without items for these types.
macro_rules! types {
    ($trait:ident: $($type:ty),+) => { $(impl $trait for $type {})+ };
}

mod sealed {
    pub trait Sealed {}

    types!(Sealed: f32, i32, u32, num_complex::Complex32, half::f16, u8);
}

/// A type of values that a device can hold: `f32`, `i32`, `u32`, `u8`, [`f16`](struct@f16) or [`Complex32`]. Sealed.
///
/// Host containers take any `Copy` type, such as [`Ragged<f64>`](crate::Ragged); only values sent to a device need this
/// trait.
#[diagnostic::on_unimplemented(
    message = "devices do not compute with values of type `{Self}`",
    note = "the types are f32, i32, u32, u8, f16 and Complex32",
    note = "`Ragged::cast` converts a batch, as in `batch.cast(|x| x as f32)?`"
)]
pub trait Scalar:
    sealed::Sealed + bytemuck::Pod + Default + PartialEq + fmt::Debug + fmt::Display + Send + Sync
{
    /// The type as a value.
    const DTYPE: DType;
}

macro_rules! dtypes {
    ($($type:ident $dtype:ident),+) => {
        $(impl Scalar for $type { const DTYPE: DType = DType::$dtype; })+
    };
}
dtypes!(f32 F32, i32 I32, u32 U32, Complex32 C32, f16 F16, u8 U8);

/// A type of real numbers: `f32`, `i32` or `u32`.
///
/// Convolutions, inner products and tests for equivalence are defined on these types. Most other operations also take
/// `f16`, which is computed in `f32`; their values are of a type [`Factor`], or [`Float`] if integers are excluded.
pub trait Real: Factor {}

types!(Real: f32, i32, u32);

/// A type of numbers that can be added, multiplied and divided: `f32`, `i32`, `u32`, [`f16`](struct@f16) or
/// [`Complex32`].
///
/// Functions of two operands such as [`add`](crate::Tensor::add) and [`div`](crate::Tensor::div) are defined on these
/// types.
pub trait Number: Scalar {}

types!(Number: f32, i32, u32, f16, Complex32);

/// A type of values that have an order: `f32`, `i32`, `u32`, `u8` or [`f16`](struct@f16).
///
/// Comparisons, [`max`](crate::Tensor::max), [`sort`](crate::Tensor::sort) and conversions with
/// [`to`](crate::Tensor::to) are defined on these types.
pub trait Ordered: Scalar + PartialOrd {}

types!(Ordered: f32, i32, u32, f16, u8);

/// A type that can be multiplied in matrix products and compared: `f32`, `i32`, `u32` or [`f16`](struct@f16).
pub trait Factor: Number + Ordered {
    /// The type in which products are summed: `f32` for [`f16`](struct@f16), otherwise the type itself.
    type Sum: Factor;
}

macro_rules! sums {
    ($($type:ident $sum:ident),+) => { $(impl Factor for $type { type Sum = $sum; })+ };
}
sums!(f32 f32, i32 i32, u32 u32, f16 f32);

/// A floating-point type: `f32` or [`f16`](struct@f16).
///
/// Functions such as [`exp`](crate::Tensor::exp) and matrix products with scale and bias are defined on these types.
pub trait Float: Factor {}

types!(Float: f32, f16);

/// A type of the cells of images, and of labels: `u8`, `i32` or `u32`.
///
/// Operations on images such as [`label`](crate::Tensor::label) and [`dilate`](crate::Tensor::dilate) are defined on
/// these types. Images of `u8` take a quarter of the memory.
pub trait Pixel: Ordered {}

types!(Pixel: u8, i32, u32);

/// A type of integers with arithmetic: `i32` or `u32`.
pub trait Integer: Real + Pixel {}

types!(Integer: i32, u32);
