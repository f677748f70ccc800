//! Arithmetic of twins.

use crate::ragged::Real;

/// Arithmetic on values of an element type; integers wrap.
pub(crate) trait Arithmetic: Real {
    /// The additive identity: adding it to a value changes no bit of the value.
    const NOTHING: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// The absolute value; `i32::MIN` wraps to itself.
    fn magnitude(self) -> Self;
}

impl Arithmetic for f32 {
    const NOTHING: f32 = -0.0;
    #[inline(always)]
    fn plus(self, other: f32) -> f32 {
        self + other
    }
    #[inline(always)]
    fn times(self, other: f32) -> f32 {
        self * other
    }
    fn magnitude(self) -> f32 {
        self.abs()
    }
}

macro_rules! wrapping {
    ($($t:ty: $magnitude:expr),*) => {$(
        impl Arithmetic for $t {
            const NOTHING: $t = 0;
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, other: $t) -> $t {
                self.wrapping_mul(other)
            }
            fn magnitude(self) -> $t {
                $magnitude(self)
            }
        }
    )*};
}
wrapping!(i32: i32::wrapping_abs, u32: |x| x);
