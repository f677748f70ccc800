//! The types of values that a device computes with.

use core::fmt;

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
}

impl DType {
    /// Rust's name of the type: `"f32"`, `"i32"`, `"u32"`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::I32 => "i32",
            DType::U32 => "u32",
        }
    }

    /// Bytes a value takes.
    pub const fn size(self) -> usize {
        match self {
            DType::F32 | DType::I32 | DType::U32 => 4,
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
}

/// A type that a device can compute with: `f32`, `i32` or `u32`. Sealed.
///
/// Host containers take any `Copy` type ([`Ragged<f64>`](crate::Ragged), for one); only what goes to a device is bound
/// to this trait.
pub trait Element:
    sealed::Sealed
    + bytemuck::Pod
    + Default
    + PartialEq
    + PartialOrd
    + fmt::Debug
    + fmt::Display
    + Send
    + Sync
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
