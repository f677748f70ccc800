//! Comparisons of batches by the traits of the `approx` crate. Not in `io`, because they convert nothing.

use approx::{AbsDiffEq, RelativeEq, UlpsEq};

use super::Ragged;

/// Available with the feature `approx`.
///
/// Two batches are equal if their layouts are equal and each value equals its counterpart, by the same comparison of
/// `T`. The layouts must be the same: `[1.0]` does not equal `[1.0, 0.0]`. Batches without values are equal if their
/// layouts are. Works for `f32`, `f64`, integers and complex numbers, whose parts are compared one by one; compare
/// batches of [`f16`](struct@crate::f16) as `f32`, after `batch.cast(f32::from)?`. Reads the values once, up to the
/// first that differs.
///
/// ```
/// use approx::{assert_abs_diff_eq, assert_relative_eq, assert_relative_ne, assert_ulps_eq};
/// use vsla::{Device, Ragged};
///
/// let device = Device::cpu();
/// let x = Ragged::from_rows([vec![0.1f32, 0.2], vec![], vec![3.0]])?;
/// let y = device.upload(&x)?;
/// let sum = y.add(&y)?.add(&y)?.download_blocking()?;
/// let expected = Ragged::from_rows([vec![0.3f32, 0.6], vec![], vec![9.0]])?;
/// assert_relative_eq!(sum, expected, max_relative = 1e-6);
/// assert_abs_diff_eq!(sum, expected, epsilon = 1e-6);
/// assert_ulps_eq!(sum, expected, max_ulps = 2);
/// assert_relative_ne!(sum, x);
/// # Ok::<(), vsla::Error>(())
/// ```
///
/// # NaN and infinities
/// As for single values: NaN equals nothing, not even itself. An infinity equals itself in `relative_eq` and `ulps_eq`,
/// but not in `abs_diff_eq`, because ∞ − ∞ is NaN. In `ulps_eq`, an infinity is one unit from the largest finite
/// number.
impl<T: Copy + AbsDiffEq<Epsilon: Clone>> AbsDiffEq for Ragged<T> {
    type Epsilon = T::Epsilon;

    fn default_epsilon() -> T::Epsilon {
        T::default_epsilon()
    }

    fn abs_diff_eq(&self, other: &Self, epsilon: T::Epsilon) -> bool {
        all(self, other, |a, b| a.abs_diff_eq(b, epsilon.clone()))
    }
}

/// Available with the feature `approx`; described at `AbsDiffEq`.
impl<T: Copy + RelativeEq<Epsilon: Clone>> RelativeEq for Ragged<T> {
    fn default_max_relative() -> T::Epsilon {
        T::default_max_relative()
    }

    fn relative_eq(&self, other: &Self, epsilon: T::Epsilon, max_relative: T::Epsilon) -> bool {
        all(self, other, |a, b| {
            a.relative_eq(b, epsilon.clone(), max_relative.clone())
        })
    }
}

/// Available with the feature `approx`; described at `AbsDiffEq`.
impl<T: Copy + UlpsEq<Epsilon: Clone>> UlpsEq for Ragged<T> {
    fn default_max_ulps() -> u32 {
        T::default_max_ulps()
    }

    fn ulps_eq(&self, other: &Self, epsilon: T::Epsilon, max_ulps: u32) -> bool {
        all(self, other, |a, b| a.ulps_eq(b, epsilon.clone(), max_ulps))
    }
}

/// Whether the layouts are equal, and all values are by a comparison.
fn all<T: Copy>(a: &Ragged<T>, b: &Ragged<T>, equal: impl Fn(&T, &T) -> bool) -> bool {
    a.layout() == b.layout() && a.values().iter().zip(b.values()).all(|(a, b)| equal(a, b))
}

#[cfg(feature = "testing")]
mod tests {
    use approx::{abs_diff_eq, assert_abs_diff_eq, relative_eq, ulps_eq};
    use num_complex::Complex32;

    use super::*;
    use crate::ragged::Shape;

    fn rows<T: Copy>(rows: &[&[T]]) -> Ragged<T> {
        Ragged::from_rows(rows).unwrap()
    }

    /// The three comparisons with their default tolerances.
    fn equal<T>(a: &Ragged<T>, b: &Ragged<T>) -> [bool; 3]
    where
        T: Copy + RelativeEq<Epsilon: Clone> + UlpsEq,
    {
        [abs_diff_eq!(a, b), relative_eq!(a, b), ulps_eq!(a, b)]
    }

    #[apply(unit_test)]
    fn layouts_must_agree() {
        let a = rows(&[&[1.0f32, 2.0], &[]]);
        assert_eq!(equal(&a, &a), [true; 3]);
        for other in [
            rows(&[&[1.0], &[2.0]]),
            rows(&[&[1.0, 2.0]]),
            rows(&[&[1.0, 2.0, 0.0], &[]]),
        ] {
            assert_eq!(equal(&a, &other), [false; 3], "{other}");
        }
        let matrix = |extents| {
            Ragged::from_shapes(Vec::<f32>::new(), 2, [Shape::new(extents).unwrap()]).unwrap()
        };
        assert_eq!(equal(&matrix(&[0, 3]), &matrix(&[0, 3])), [true; 3]);
        assert_eq!(equal(&matrix(&[0, 3]), &matrix(&[0, 2])), [false; 3]);
    }

    #[apply(unit_test)]
    fn each_comparison_has_its_tolerance() {
        let (a, b) = (rows(&[&[1000.0f64], &[1.0]]), rows(&[&[1001.0], &[1.0]]));
        assert_eq!(equal(&a, &b), [false; 3]);
        assert!(abs_diff_eq!(a, b, epsilon = 1.0) && !abs_diff_eq!(a, b, epsilon = 0.5));
        assert!(
            relative_eq!(a, b, max_relative = 1e-3) && !relative_eq!(a, b, max_relative = 9e-4)
        );
        assert!(relative_eq!(a, b, epsilon = 1.0));
        let next = rows(&[&[1000.0f64.next_up().next_up()], &[1.0]]);
        assert!(ulps_eq!(a, next, max_ulps = 2) && !ulps_eq!(a, next, max_ulps = 1));
        // The last value counts as well as the first.
        assert!(!abs_diff_eq!(a, rows(&[&[1000.0], &[1.5]]), epsilon = 0.25));
    }

    #[apply(unit_test)]
    fn special_values_are_those_of_the_crate() {
        let batch_of = |value: f32| rows(&[&[1.0, value]]);
        let infinite = batch_of(f32::INFINITY);
        assert_eq!(equal(&batch_of(f32::NAN), &batch_of(f32::NAN)), [false; 3]);
        assert_eq!(equal(&infinite, &infinite), [false, true, true]);
        assert_eq!(equal(&infinite, &batch_of(f32::NEG_INFINITY)), [false; 3]);
        assert_eq!(equal(&infinite, &batch_of(f32::MAX)), [false, false, true]);
        assert_eq!(equal(&batch_of(0.0), &batch_of(-0.0)), [true; 3]);
    }

    #[apply(unit_test)]
    fn integers_and_complex_numbers() {
        assert_abs_diff_eq!(rows(&[&[1u32, 5]]), rows(&[&[2, 4]]), epsilon = 1);
        assert!(!abs_diff_eq!(rows(&[&[-1i32]]), rows(&[&[1]]), epsilon = 1));
        let complex = |im| rows(&[&[Complex32::new(1.0, im)]]);
        assert_eq!(equal(&complex(2.0), &complex(2.0)), [true; 3]);
        assert_eq!(equal(&complex(2.0), &complex(2.1)), [false; 3]);
        assert!(abs_diff_eq!(complex(2.0), complex(2.1), epsilon = 0.2));
    }
}
