//! The element types and their properties for tests.

use fastrand::Rng;
use vsla::{Ragged, scalar::Real};

use super::compare::Comparable;
use super::reference::Arithmetic;

/// An element type, with the type in which the reference computes.
pub trait Number: Comparable + Real {
    type Wide: Arithmetic;
    const NAME: &'static str;
    /// A value that must leave no trace in any result.
    const POISON: Self;
    /// A factor for scaling: odd, so that integers lose no information, and small, so that floats stay exact.
    const FACTOR: Self;

    fn widen(self) -> Self::Wide;

    /// The reference's result as f64 for comparison. Every i32, u32 and f64 is exactly an f64.
    fn compared(wide: Self::Wide) -> f64;

    /// A random integer: within ±`limit` for floats, and over the whole range for integers, whose sums wrap.
    fn integer(rng: &mut Rng, limit: i32) -> Self;
}

impl Number for f32 {
    type Wide = f64;
    const NAME: &'static str = "f32";
    const POISON: f32 = f32::NAN;
    const FACTOR: f32 = -3.0;

    fn widen(self) -> f64 {
        self.into()
    }

    fn compared(wide: f64) -> f64 {
        wide
    }

    fn integer(rng: &mut Rng, limit: i32) -> f32 {
        rng.i32(-limit..=limit) as f32
    }
}

impl Number for i32 {
    type Wide = i32;
    const NAME: &'static str = "i32";
    const POISON: i32 = 0x5EAD_BEEF;
    const FACTOR: i32 = -3;

    fn widen(self) -> i32 {
        self
    }

    fn compared(wide: i32) -> f64 {
        wide.into()
    }

    fn integer(rng: &mut Rng, _: i32) -> i32 {
        rng.i32(..)
    }
}

impl Number for u32 {
    type Wide = u32;
    const NAME: &'static str = "u32";
    const POISON: u32 = 0xDEAD_BEEF;
    const FACTOR: u32 = 0x9E37_79B9;

    fn widen(self) -> u32 {
        self
    }

    fn compared(wide: u32) -> f64 {
        wide.into()
    }

    fn integer(rng: &mut Rng, _: i32) -> u32 {
        rng.u32(..)
    }
}

/// The batch converted to the reference's type.
pub fn widened<T: Number>(batch: &Ragged<T>) -> Ragged<T::Wide> {
    batch.cast(T::widen).unwrap()
}
