//! Tiles of matrix products: a table for each way to multiply, and which of its tiles a product takes.
//!
//! The choice is a function of the product's own shape and of the table, so that neighbours change no bit. Tables are
//! written from measurements; `docs/performance.md` has those.

mod dense;
mod sparse;

pub(crate) use dense::{DENSE, DenseTile, NATIVE, NATIVE_INVOCATIONS, NATIVE_MEMORY, native_tiles};
pub(crate) use sparse::{NARROW, SPARSE, SPARSE_NATIVE, SparseTile, WIDE};

use dense::{DENSE_EIGHT, DENSE_SIXTEEN};
use sparse::{SPARSE_EIGHT, SPARSE_SIXTEEN};

/// The cooperative matrices of a device, of f16 and with sums in f32: square, and as deep as they are wide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Matrices {
    Eight,
    Sixteen,
}

impl Matrices {
    pub(crate) fn side(self) -> u32 {
        match self {
            Matrices::Eight => 8,
            Matrices::Sixteen => 16,
        }
    }

    /// Those that a variant with these flags is for.
    pub(crate) fn of(flags: &[&str]) -> Matrices {
        match flags.contains(&"EIGHT") {
            true => Matrices::Eight,
            false => Matrices::Sixteen,
        }
    }

    pub(crate) fn dense(self) -> &'static [DenseTile] {
        match self {
            Matrices::Eight => &DENSE_EIGHT,
            Matrices::Sixteen => &DENSE_SIXTEEN,
        }
    }

    pub(crate) fn sparse(self) -> &'static [SparseTile] {
        match self {
            Matrices::Eight => &SPARSE_EIGHT,
            Matrices::Sixteen => &SPARSE_SIXTEEN,
        }
    }

    /// Multiply-adds that take as long as one that is done for itself.
    pub(crate) fn rate(self) -> u64 {
        match self {
            Matrices::Eight => 1,
            Matrices::Sixteen => 8,
        }
    }
}
