//! The order of values for maxima and minima: NaN above all, −0 just below 0.

use half::f16;

use crate::ragged::Scalar;

/// The bits of an infinite f32.
const INFINITE: u32 = f32::INFINITY.to_bits();

/// Maps values to integer keys of the same order; NaN has the largest key.
pub(super) trait Ordered: Scalar {
    /// The key of the lowest value; in reversed order, the key of the highest.
    const LOWEST: i32;

    fn key(self) -> i32;
    fn of_key(key: i32) -> Self;

    /// The key in reversed order; NaN still has the largest.
    fn reversed_key(self) -> i32 {
        !self.key()
    }

    fn of_reversed_key(key: i32) -> Self {
        Self::of_key(!key)
    }

    /// The value in canonical form: equal values have equal bits, so −0 becomes 0.
    fn canonical(self) -> Self {
        self
    }
}

/// Reverses the order of negative floats, whose bits grow with the magnitude. Its own inverse.
fn flip(bits: i32) -> i32 {
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

impl Ordered for f32 {
    const LOWEST: i32 = !(INFINITE as i32);

    fn key(self) -> i32 {
        let bits = self.to_bits();
        if bits & 0x7fff_ffff > INFINITE {
            i32::MAX
        } else {
            flip(bits as i32)
        }
    }

    fn of_key(key: i32) -> f32 {
        // The largest key is the bit pattern of a NaN.
        f32::from_bits(flip(key) as u32)
    }

    fn reversed_key(self) -> i32 {
        match self.key() {
            i32::MAX => i32::MAX,
            key => !key,
        }
    }

    fn of_reversed_key(key: i32) -> f32 {
        match key {
            i32::MAX => f32::NAN,
            key => f32::of_key(!key),
        }
    }

    fn canonical(self) -> f32 {
        // −0 + 0 is 0; nothing else changes.
        self + 0.0
    }
}

impl Ordered for f16 {
    const LOWEST: i32 = !0x7c00;

    fn key(self) -> i32 {
        let bits = i32::from(self.to_bits() as i16);
        if bits & 0x7fff > 0x7c00 {
            i32::MAX
        } else {
            bits ^ (bits >> 31 & 0x7fff)
        }
    }

    fn of_key(key: i32) -> f16 {
        match key {
            i32::MAX => f16::NAN,
            key => f16::from_bits((key ^ (key >> 31 & 0x7fff)) as u16),
        }
    }

    fn reversed_key(self) -> i32 {
        match self.key() {
            i32::MAX => i32::MAX,
            key => !key,
        }
    }

    fn of_reversed_key(key: i32) -> f16 {
        match key {
            i32::MAX => f16::NAN,
            key => f16::of_key(!key),
        }
    }

    fn canonical(self) -> f16 {
        match self.to_bits() {
            0x8000 => f16::ZERO,
            _ => self,
        }
    }
}

impl Ordered for i32 {
    const LOWEST: i32 = i32::MIN;

    fn key(self) -> i32 {
        self
    }

    fn of_key(key: i32) -> i32 {
        key
    }
}

impl Ordered for u32 {
    const LOWEST: i32 = i32::MIN;

    fn key(self) -> i32 {
        (self ^ 1 << 31) as i32
    }

    fn of_key(key: i32) -> u32 {
        key as u32 ^ 1 << 31
    }
}
