//! The expected result of an operation, and its tolerance.

use vsla::{Ragged, scalar::DType};

use super::pick;
use crate::support::compare::{Comparable, EXACT_LIMIT, assert_within};
use crate::support::number::Number;
use crate::support::reference::Sums;

/// The reference's result for an operation.
pub struct Expected {
    values: Ragged<f64>,
    bounds: Vec<f64>,
    exactness: Exactness,
}

/// When a result must be exactly equal to the reference's.
enum Exactness {
    /// For all inputs.
    Always,
    /// For integer-valued inputs whose sums of absolute values stay below 2²⁴; `magnitude` is the largest sum.
    Integers { magnitude: f64 },
    /// The same, but for other inputs the result is not compared at all, since it depends on rounding.
    OnlyIntegers { magnitude: f64 },
    /// Never: roots and quotients.
    Never,
}

impl Expected {
    /// Values that involve no rounding.
    pub fn exact<T: Number>(values: Ragged<T::Wide>) -> Expected {
        Expected::always(values.cast(T::compared).unwrap())
    }

    /// Indices.
    pub fn indices(values: Ragged<u32>) -> Expected {
        Expected::always(values.cast(f64::from).unwrap())
    }

    fn always(values: Ragged<f64>) -> Expected {
        Expected {
            bounds: vec![0.0; values.values().len()],
            values,
            exactness: Exactness::Always,
        }
    }

    /// Sums that are added with trees of depth `depth(terms)`.
    pub fn sums<T: Number>(sums: Sums<T::Wide>, depth: impl Fn(usize) -> f64) -> Expected {
        if T::DTYPE != DType::F32 {
            return Expected::exact::<T>(sums.values);
        }
        Expected {
            bounds: sums.bounds(depth),
            exactness: Exactness::Integers {
                magnitude: sums.largest_magnitude(),
            },
            values: sums.values.cast(T::compared).unwrap(),
        }
    }

    /// Values with given bounds, of sums whose absolute values add up to `magnitude`.
    pub fn bounded(values: Ragged<f64>, bounds: Vec<f64>, magnitude: f64) -> Expected {
        Expected {
            values,
            bounds,
            exactness: Exactness::Integers { magnitude },
        }
    }

    /// Positions of maxima, which can change through rounding.
    pub fn places(values: Ragged<i32>, magnitude: f64) -> Expected {
        Expected {
            bounds: vec![0.0; values.values().len()],
            values: values.cast(f64::from).unwrap(),
            exactness: Exactness::OnlyIntegers { magnitude },
        }
    }

    /// Values that are rounded exactly once.
    pub fn rounded<T: Number>(values: Ragged<T::Wide>) -> Expected {
        let values = values.cast(T::compared).unwrap();
        let largest = values.values().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        if T::DTYPE != DType::F32 {
            return Expected::always(values);
        }
        Expected {
            bounds: once_rounded(values.values()),
            values,
            exactness: Exactness::Integers { magnitude: largest },
        }
    }

    /// Values that are never exact, with a bound for each.
    pub fn inexact(values: Ragged<f64>, bounds: Vec<f64>) -> Expected {
        Expected {
            values,
            bounds,
            exactness: Exactness::Never,
        }
    }

    /// Checks the result for integer-valued operands.
    #[track_caller]
    pub(super) fn check_integers<R: Comparable>(&self, what: &str, got: &Ragged<R>) {
        let none = vec![0.0; self.bounds.len()];
        match self.exactness {
            Exactness::Always => assert_within(what, got, &self.values, &none),
            Exactness::Integers { magnitude } | Exactness::OnlyIntegers { magnitude } => {
                assert!(
                    magnitude < EXACT_LIMIT,
                    "{what}: the test is wrong: {magnitude}"
                );
                assert_within(what, got, &self.values, &none)
            }
            Exactness::Never => assert_within(what, got, &self.values, &self.bounds),
        };
    }

    /// Checks the result for any operands.
    #[track_caller]
    pub(super) fn check<R: Comparable>(&self, what: &str, got: &Ragged<R>) {
        if !matches!(self.exactness, Exactness::OnlyIntegers { .. }) {
            assert_within(what, got, &self.values, &self.bounds);
        }
    }

    /// Like [`check`](Self::check), but accepts any non-finite value where one is expected, even if it has spread over
    /// its element.
    #[track_caller]
    pub(super) fn check_spread<R: Comparable>(&self, what: &str, got: &Ragged<R>) {
        if matches!(self.exactness, Exactness::OnlyIntegers { .. }) {
            return;
        }
        let clean: Vec<usize> = (0..self.values.len())
            .filter(|&i| self.values.row(i).iter().all(|value| value.is_finite()))
            .collect();
        assert_eq!(got.layout(), self.values.layout(), "{what}");
        let bounds = Ragged::from_parts(self.values.layout().clone(), self.bounds.clone()).unwrap();
        let bounds = pick(&bounds, &clean);
        assert_within(
            what,
            &pick(got, &clean),
            &pick(&self.values, &clean),
            bounds.values(),
        );
        for (i, (&value, expected)) in got.values().iter().zip(self.values.values()).enumerate() {
            let lost = value.as_f64().is_finite() && !expected.is_finite();
            assert!(!lost, "{what}: value {i} is {value} instead of {expected}");
        }
    }
}

/// The bounds of values that are rounded once and may be flushed to zero.
fn once_rounded(values: &[f64]) -> Vec<f64> {
    let bound =
        |value: &f64| value.abs() * crate::support::compare::U + crate::support::compare::TINY;
    values.iter().map(bound).collect()
}
