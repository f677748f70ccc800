//! The order of values for maxima and minima: NaN above all, −0 just below 0.

use half::f16;

use crate::ragged::Scalar;

/// The bits of an infinite f32.
const INFINITE: u32 = f32::INFINITY.to_bits();

/// Maps values to integer keys of the same order; NaN has the largest key.
pub(crate) trait Keyed: Scalar {
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

    /// The highest key of some values.
    fn highest_key(values: &[Self]) -> i32 {
        let keys = values.iter().map(|x| x.key());
        keys.fold(Self::LOWEST, i32::max)
    }

    /// The same in reversed order.
    fn highest_reversed_key(values: &[Self]) -> i32 {
        let keys = values.iter().map(|x| x.reversed_key());
        keys.fold(Self::LOWEST, i32::max)
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

/// Values that are compared independently, which the compiler vectorizes.
const LANES: usize = 16;

/// The largest `of` a value: NaN if one is NaN, and of zeros either.
#[inline(always)]
pub(crate) fn largest(values: &[f32], size_of: impl Fn(f32) -> f32) -> f32 {
    let (mut top, mut nan) = ([f32::NEG_INFINITY; LANES], [0; LANES]);
    let mut take = |chunk: &[f32]| {
        for ((top, nan), &x) in top.iter_mut().zip(&mut nan).zip(chunk) {
            let x = size_of(x);
            *top = if x > *top { x } else { *top };
            *nan |= u32::from(x.is_nan());
        }
    };
    let (chunks, rest) = values.as_chunks::<LANES>();
    chunks.iter().for_each(|chunk| take(chunk));
    take(rest);
    match nan.contains(&1) {
        true => f32::NAN,
        false => top.into_iter().fold(f32::NEG_INFINITY, f32::max),
    }
}

/// The highest key of `of` a value. Floats are compared faster than their keys.
#[inline(always)]
fn highest(values: &[f32], size_of: impl Fn(f32) -> f32 + Copy) -> i32 {
    let top = largest(values, size_of);
    // Zeros are equal as floats, not as keys.
    match top == 0.0 && values.iter().all(|&x| size_of(x).to_bits() != 0) {
        true => (-0.0f32).key(),
        false => (top + 0.0).key(),
    }
}

impl Keyed for f32 {
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

    fn highest_key(values: &[f32]) -> i32 {
        highest(values, |x| x)
    }

    fn highest_reversed_key(values: &[f32]) -> i32 {
        highest(values, |x| -x)
    }

    fn canonical(self) -> f32 {
        // −0 + 0 is 0; nothing else changes.
        self + 0.0
    }
}

impl Keyed for f16 {
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

impl Keyed for i32 {
    const LOWEST: i32 = i32::MIN;

    fn key(self) -> i32 {
        self
    }

    fn of_key(key: i32) -> i32 {
        key
    }
}

impl Keyed for u32 {
    const LOWEST: i32 = i32::MIN;

    fn key(self) -> i32 {
        (self ^ 1 << 31) as i32
    }

    fn of_key(key: i32) -> u32 {
        key as u32 ^ 1 << 31
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn the_highest_key_is_that_of_a_value() {
        let special = [
            -0.0,
            0.0,
            f32::NAN,
            -f32::NAN,
            1.0,
            -1.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
        ];
        for (x, y) in special.iter().flat_map(|&x| special.map(|y| (x, y))) {
            for rest in [-0.0, 0.0, f32::NEG_INFINITY, f32::INFINITY] {
                for (length, at) in [(2, 1), (20, 3), (40, 39)] {
                    let mut values = vec![rest; length];
                    (values[0], values[at]) = (x, y);
                    let keys = values.iter().map(|x| x.key()).max();
                    assert_eq!(Some(f32::highest_key(&values)), keys, "{values:?}");
                    let keys = values.iter().map(|x| x.reversed_key()).max();
                    assert_eq!(Some(f32::highest_reversed_key(&values)), keys, "{values:?}");
                }
            }
        }
        assert_eq!(f32::highest_key(&[]), f32::LOWEST);
        assert_eq!(f32::highest_reversed_key(&[]), f32::LOWEST);
    }
}
