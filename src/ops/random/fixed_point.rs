//! Converts random words to floats by integer arithmetic, so that every device computes the same bits.

use crate::ragged::DType;

/// (±m · scale + offset) · 2^exponent for words m.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affine {
    pub scale: u32,
    pub offset: i64,
    pub exponent: i32,
}

/// The number of significant bits of a floating-point type, and the exponent of its smallest positive number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Format {
    digits: u32,
    least: i32,
}

impl Format {
    pub(super) fn of(dtype: DType) -> Format {
        let (digits, least) = if dtype == DType::F16 {
            (11, -24)
        } else {
            (24, -149)
        };
        Format { digits, least }
    }

    /// The bits of infinity.
    fn infinite(self) -> u32 {
        // The exponent's bits are all ones: 2 b + 1, where b = 2 − least − digits is the bias.
        ((2 - self.least - self.digits as i32) as u32 * 2 + 1) << (self.digits - 1)
    }

    fn sign(self) -> u32 {
        if self.digits == 11 { 1 << 15 } else { 1 << 31 }
    }

    /// A key in the order of floats; the key of −0 is one below that of 0.
    pub(super) fn key(self, bits: u32) -> u32 {
        let sign = self.sign();
        match bits >= sign {
            true => bits ^ (sign | (sign - 1)),
            false => bits ^ sign,
        }
    }

    /// The float of a key.
    pub(super) fn of_key(self, key: u32) -> u32 {
        let sign = self.sign();
        match key >= sign {
            true => key ^ sign,
            false => key ^ (sign | (sign - 1)),
        }
    }
}

/// The power of two with this exponent, which is within the range of f64.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

impl Affine {
    /// The function ±m · scale + offset, where neither term exceeds twice `most` in magnitude.
    pub(crate) fn new(scale: f64, offset: f64, most: f64) -> Affine {
        // Products and sums stay below 2⁶³. All arguments come from f32, so f64 is far from its limits.
        let of_most = (most.to_bits() >> 52) as i32 - 1023;
        let exponent = if most == 0.0 { 0 } else { of_most - 60 };
        let unit = power(-exponent);
        Affine {
            scale: (scale * unit).round() as u32,
            offset: (offset * unit).round() as i64,
            exponent,
        }
    }

    /// The bits of the value at ±m, rounded down if `down`, and otherwise to the nearest, ties to even.
    pub(super) fn at(self, m: u32, negative: bool, format: Format, down: bool) -> u32 {
        let product = i64::from(m) * i64::from(self.scale);
        let sum = self.offset + if negative { -product } else { product };
        let (size, negative) = (sum.unsigned_abs(), sum < 0);
        if size == 0 {
            return 0;
        }
        let zeros = size.leading_zeros();
        let last = self.exponent - zeros as i32;
        let place = (last + (64 - format.digits as i32)).max(format.least);
        let cut = (place - last) as u32;
        let size = u128::from(size << zeros);
        // Of a number far below the smallest one, it only matters that it is not zero.
        let (digits, rest, half) = match cut < 100 {
            true => (
                (size >> cut) as u32,
                size & ((1 << cut) - 1),
                1u128 << (cut - 1),
            ),
            false => (0, 1, 2),
        };
        let up = match down {
            true => negative && rest != 0,
            false => rest > half || (rest == half && digits % 2 == 1),
        };
        let exponent = ((place - format.least) as u32) << (format.digits - 1);
        let bits = (exponent + digits + u32::from(up)).min(format.infinite());
        bits | if negative { format.sign() } else { 0 }
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use half::f16;

    const SINGLE: Format = Format {
        digits: 24,
        least: -149,
    };
    const HALF: Format = Format {
        digits: 11,
        least: -24,
    };

    #[apply(unit_test)]
    fn formats() {
        assert_eq!(SINGLE.infinite(), f32::INFINITY.to_bits());
        assert_eq!(HALF.infinite(), u32::from(f16::INFINITY.to_bits()));
        for format in [SINGLE, HALF] {
            let values = [format.sign() | 1, format.sign(), 0, 1, format.infinite()];
            assert!(values.is_sorted_by_key(|bits| format.key(*bits)));
            assert!(values.map(|bits| format.of_key(format.key(bits))) == values);
        }
    }

    /// Every exponent, ties among them, against conversions of the hardware.
    #[apply(unit_test)]
    fn rounds_to_the_nearest() {
        let mut random = fastrand::Rng::with_seed(11);
        for exponent in -230..100 {
            for _ in 0..200 {
                let scale = random.u32(0..1 << 30);
                let offset = random.i64(-1 << 60..1 << 60) >> random.u32(0..60) & !0xff;
                let affine = Affine {
                    scale: scale & !0xff,
                    offset,
                    exponent,
                };
                let m = random.u32(..) >> random.u32(8..32);
                let negative = random.bool();
                let product = i64::from(m) * i64::from(affine.scale);
                let sum = offset + if negative { -product } else { product };
                // Ten digits fewer than f64 has, so that products with powers of two are exact.
                let trailing = sum.unsigned_abs();
                if trailing != 0 && 64 - trailing.leading_zeros() - trailing.trailing_zeros() > 52 {
                    continue;
                }
                let exact = sum as f64 * power(exponent);
                let single = affine.at(m, negative, SINGLE, false);
                assert_eq!(f32::from_bits(single), exact as f32, "{affine:?} {m}");
                let half = affine.at(m, negative, HALF, false) as u16;
                assert_eq!(f16::from_bits(half), crate::ragged::f16_from_f64(exact));
                if exact.abs() > f64::from(f32::MAX) {
                    continue;
                }
                let below = f32::from_bits(affine.at(m, negative, SINGLE, true));
                assert!(f64::from(below) <= exact && f64::from(below.next_up()) > exact);
            }
        }
    }
}
