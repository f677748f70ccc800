//! Scales series to a range where squares neither overflow nor vanish.

/// The series times the power of two that scales its largest magnitude into [1, 2). A series of zeros is unchanged.
///
/// The shape-based distance does not depend on the scale, and a power of two changes no digit. So values of 1e300,
/// which do not fit f32, and sums of their squares, which do not fit f64, cost no accuracy. (Only digits below 2⁻¹⁰²²
/// of the largest value can be lost.)
pub fn by_power_of_two(values: &[f64]) -> Vec<f64> {
    let largest = values.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
    if largest == 0.0 {
        return values.to_vec();
    }
    // In two steps: 2¹⁰⁷⁴, which scales the smallest subnormal to 1, does not fit f64.
    let exponent = -exponent(largest);
    let (first, second) = (exponent / 2, exponent - exponent / 2);
    let (first, second) = (power_of_two(first), power_of_two(second));
    values.iter().map(|v| v * first * second).collect()
}

/// ⌊log₂ v⌋ of a positive finite number.
fn exponent(v: f64) -> i32 {
    const TWO_64: f64 = 18_446_744_073_709_551_616.0;
    if v < f64::MIN_POSITIVE {
        return exponent(v * TWO_64) - 64;
    }
    (v.to_bits() >> 52) as i32 - 1023
}

/// 2ᵉ for an exponent within f64's normal range.
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_magnitude_lands_between_one_and_two() {
        for v in [1.0, 1.999, 2.0, 0.3, 5e-324, 1e-310, 1e-30, 1e300, f64::MAX] {
            for v in [v, -v] {
                let scaled = by_power_of_two(&[v, v / 2.0, 0.0]);
                assert!((1.0..2.0).contains(&scaled[0].abs()), "{v}: {scaled:?}");
            }
        }
    }

    #[test]
    fn no_digit_changes() {
        let values = [0.1, -7.3e10, 1e-40];
        let scaled = by_power_of_two(&values);
        for (v, s) in values.iter().zip(&scaled) {
            assert_eq!(v / values[1], s / scaled[1]);
            assert_eq!(v.to_bits() << 12, s.to_bits() << 12, "same mantissa");
        }
    }

    #[test]
    fn zeros_stay_zeros() {
        assert_eq!(by_power_of_two(&[0.0, -0.0]), [0.0, 0.0]);
        assert!(by_power_of_two(&[]).is_empty());
    }
}
