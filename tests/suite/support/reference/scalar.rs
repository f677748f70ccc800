//! The number types of the reference.

/// The reference's arithmetic: f64, or wrapping integers.
pub trait Arithmetic: Copy + PartialEq + Default {
    const LOWEST: Self;
    const HIGHEST: Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn magnitude(self) -> f64;
    /// Whether a search for the maximum moves from `self` to `other`. NaN is above everything, and the first NaN wins.
    fn yields_to(self, other: Self) -> bool;
    /// The same in a search for the minimum.
    fn gives_way_to(self, other: Self) -> bool;
}

impl Arithmetic for f64 {
    const LOWEST: f64 = f64::NEG_INFINITY;
    const HIGHEST: f64 = f64::INFINITY;

    #[inline(always)]
    fn plus(self, other: f64) -> f64 {
        self + other
    }

    fn minus(self, other: f64) -> f64 {
        self - other
    }

    #[inline(always)]
    fn times(self, other: f64) -> f64 {
        self * other
    }

    #[inline(always)]
    fn magnitude(self) -> f64 {
        self.abs()
    }

    fn yields_to(self, other: f64) -> bool {
        !self.is_nan() && (other.is_nan() || other > self)
    }

    fn gives_way_to(self, other: f64) -> bool {
        !self.is_nan() && (other.is_nan() || other < self)
    }
}

macro_rules! wrapping {
    ($($integer:ty),*) => {$(
        impl Arithmetic for $integer {
            const LOWEST: $integer = <$integer>::MIN;
            const HIGHEST: $integer = <$integer>::MAX;

            #[inline(always)]
            fn plus(self, other: $integer) -> $integer {
                self.wrapping_add(other)
            }

            fn minus(self, other: $integer) -> $integer {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: $integer) -> $integer {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn magnitude(self) -> f64 {
                (self as f64).abs()
            }

            fn yields_to(self, other: $integer) -> bool {
                other > self
            }

            fn gives_way_to(self, other: $integer) -> bool {
                other < self
            }
        }
    )*};
}

wrapping!(i32, u32);
