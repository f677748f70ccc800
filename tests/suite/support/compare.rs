//! The comparator: the only code that decides whether a result is correct.
//!
//! A comparator that cannot fail makes every test that uses it worthless. This one checks the layout before the values;
//! tests `!(difference <= bound)`, which NaN fails, rather than `difference > bound`, which NaN passes; and accepts a
//! NaN or an infinity only where exactly that is expected. `tests/suite/compare.rs` checks that it rejects wrong
//! results.

use std::fmt::{self, Display};

use rustfft::num_complex::Complex64;
use vsla::{Complex32, Layout, Ragged, f16, scalar::Scalar};

use super::reference::Sums;

/// The unit roundoff of f32.
pub const U: f64 = 1.0 / (1u64 << 24) as f64;

/// The smallest normal f32: the error per term on a GPU that flushes subnormals.
pub const TINY: f64 = f32::MIN_POSITIVE as f64;

/// Above this, not every integer is an f32, and integer-valued sums stop being exact.
pub const EXACT_LIMIT: f64 = (1u64 << 24) as f64;

/// γ_h = h·u / (1 − h·u): the bound on the relative error of `h` successive roundings.
pub fn gamma(h: f64) -> f64 {
    assert!(h * U < 0.5, "{h} roundings leave no digits to compare");
    h * U / (1.0 - h * U)
}

/// The error bound of a sum of `terms` terms that each pass through at most `h` roundings. `magnitude` is the sum of
/// the terms' absolute values.
pub fn sum_bound(h: f64, magnitude: f64, terms: usize) -> f64 {
    gamma(h) * magnitude + terms as f64 * TINY
}

/// The allowed depth of a reduction of `terms` terms: a tree, or any order if there are few terms.
pub fn reduction_depth(terms: usize) -> f64 {
    let tree = 64.0 + (terms.max(1) as f64).log2().ceil();
    tree.min(terms as f64)
}

/// The allowed depth of an inner product inside a convolution: each block is a chain, and the blocks form a chain,
/// whose first and last block may be partly filled.
pub fn product_depth(terms: usize) -> f64 {
    (38.0 + (terms as f64 / 128.0).ceil()).min(terms as f64)
}

/// The error bounds of FFT convolutions: 1.5 log₂ L · u · ‖a‖₂ ‖b‖₂, the same for all values of a pair.
///
/// GPU transforms have a length of at least 64.
pub fn normwise(
    sums: &Sums<f64>,
    a: &Ragged<f32>,
    b: &Ragged<f32>,
    pairs: &[(usize, usize)],
) -> Vec<f64> {
    let norm = |row: &[f32]| {
        row.iter()
            .map(|&v| f64::from(v).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let (left, right): (Vec<f64>, Vec<f64>) =
        (a.iter().map(norm).collect(), b.iter().map(norm).collect());
    let both = pairs.iter().zip(sums.values.iter());
    let bounds = both.flat_map(|(&(i, j), row)| {
        let length = row.len().next_power_of_two().max(64) as f64;
        let bound = 1.5 * length.log2() * U * left[i] * right[j] + length * TINY;
        std::iter::repeat_n(bound, row.len())
    });
    bounds.collect()
}

/// A value that the comparator can check.
pub trait Comparable: Scalar + Display {
    fn as_f64(self) -> f64;

    /// Equality of values: zeros are equal regardless of sign, and NaN equals NaN.
    fn same(self, other: Self) -> bool;
}

impl Comparable for f32 {
    fn as_f64(self) -> f64 {
        self.into()
    }

    fn same(self, other: f32) -> bool {
        self == other || (self.is_nan() && other.is_nan())
    }
}

impl Comparable for i32 {
    fn as_f64(self) -> f64 {
        self.into()
    }

    fn same(self, other: i32) -> bool {
        self == other
    }
}

impl Comparable for u32 {
    fn as_f64(self) -> f64 {
        self.into()
    }

    fn same(self, other: u32) -> bool {
        self == other
    }
}

impl Comparable for f16 {
    fn as_f64(self) -> f64 {
        self.into()
    }

    fn same(self, other: f16) -> bool {
        self == other || (self.is_nan() && other.is_nan())
    }
}

/// The statistics of a successful comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    pub values: usize,
    /// The largest |got − expected|.
    pub absolute: f64,
    /// The largest |got − expected| / |expected| where defined.
    pub relative: f64,
    /// The largest |got − expected| / bound: 1 is the limit. 0 for an exact comparison.
    pub used: f64,
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} values, worst absolute error {:.3e}, worst relative error {:.3e}, {:.3} of the bound",
            self.values, self.absolute, self.relative, self.used
        )
    }
}

/// Compares values: floats by value (zeros are equal regardless of sign, and NaN equals NaN), integers by bits.
pub fn exact<T: Comparable>(got: &Ragged<T>, expected: &Ragged<T>) -> Result<Report, String> {
    same_layout(got, expected.layout())?;
    judge(got, &widened(expected), |i| {
        Allowed::Equal(got.values()[i].same(expected.values()[i]))
    })
}

/// Compares bits, including signs of zeros; all NaNs are equal, because nothing promises their signs and payloads. For
/// comparing two results of the library.
pub fn identical<T: Comparable>(got: &Ragged<T>, expected: &Ragged<T>) -> Result<Report, String> {
    same_layout(got, expected.layout())?;
    judge(got, &widened(expected), |i| {
        let (got, expected) = (&got.values()[i], &expected.values()[i]);
        let both_nan = got.as_f64().is_nan() && expected.as_f64().is_nan();
        Allowed::Equal(both_nan || bytemuck::bytes_of(got) == bytemuck::bytes_of(expected))
    })
}

/// Compares with `expected`, with a separate absolute bound for each value.
///
/// Where a NaN or an infinity is expected, only exactly that is accepted, and the bound is ignored.
pub fn within<T: Comparable>(
    got: &Ragged<T>,
    expected: &Ragged<f64>,
    bounds: &[f64],
) -> Result<Report, String> {
    same_layout(got, expected.layout())?;
    let wanted = expected.values();
    if bounds.len() != wanted.len() {
        return Err(format!(
            "the test is wrong: {} bounds for {} values",
            bounds.len(),
            wanted.len()
        ));
    }
    for (i, (value, bound)) in wanted.iter().zip(bounds).enumerate() {
        if value.is_finite() && !(bound.is_finite() && *bound >= 0.0) {
            return Err(format!(
                "the test is wrong: the bound of value {i} is {bound}"
            ));
        }
    }
    judge(got, wanted, |i| {
        if wanted[i].is_finite() {
            return Allowed::Within(bounds[i]);
        }
        let value = got.values()[i].as_f64();
        Allowed::Equal(value == wanted[i] || (value.is_nan() && wanted[i].is_nan()))
    })
}

/// [`exact`], but panics with the differences.
#[track_caller]
pub fn assert_exact<T: Comparable>(
    what: impl Display,
    got: &Ragged<T>,
    expected: &Ragged<T>,
) -> Report {
    unwrap(what, exact(got, expected))
}

/// [`identical`], but panics with the differences.
#[track_caller]
pub fn assert_identical<T: Comparable>(
    what: impl Display,
    got: &Ragged<T>,
    expected: &Ragged<T>,
) -> Report {
    unwrap(what, identical(got, expected))
}

/// [`within`], but panics with the differences.
#[track_caller]
pub fn assert_within<T: Comparable>(
    what: impl Display,
    got: &Ragged<T>,
    expected: &Ragged<f64>,
    bounds: &[f64],
) -> Report {
    unwrap(what, within(got, expected, bounds))
}

#[track_caller]
fn unwrap(what: impl Display, outcome: Result<Report, String>) -> Report {
    match outcome {
        Ok(report) => report,
        Err(message) => panic!("{what}: {message}"),
    }
}

/// Checks that the layouts agree exactly, and that the number of values matches the layout.
fn same_layout<T: Comparable>(got: &Ragged<T>, expected: &Layout) -> Result<(), String> {
    let layout = got.layout();
    if layout.rank() != expected.rank() {
        return Err(format!(
            "rank {} instead of {}",
            layout.rank(),
            expected.rank()
        ));
    }
    if layout.len() != expected.len() {
        return Err(format!(
            "{} elements instead of {}",
            layout.len(),
            expected.len()
        ));
    }
    for element in 0..expected.len() {
        let (shape, wanted) = (layout.shape(element), expected.shape(element));
        if shape != wanted {
            return Err(format!(
                "element {element} has shape {shape} instead of {wanted}"
            ));
        }
    }
    let (offsets, wanted) = (layout.offsets().as_slice(), expected.offsets().as_slice());
    if offsets.len() != wanted.len() {
        return Err(format!(
            "{} offsets instead of {}",
            offsets.len(),
            wanted.len()
        ));
    }
    if let Some(i) = (0..wanted.len()).find(|&i| offsets[i] != wanted[i]) {
        return Err(format!(
            "offset {i} is {} instead of {}",
            offsets[i], wanted[i]
        ));
    }
    if got.values().len() != expected.total() {
        return Err(format!(
            "{} values instead of {}",
            got.values().len(),
            expected.total()
        ));
    }
    Ok(())
}

fn widened<T: Comparable>(batch: &Ragged<T>) -> Vec<f64> {
    batch.values().iter().map(|value| value.as_f64()).collect()
}

/// What the comparator accepts for a value.
enum Allowed {
    /// Only the expected value; whether it is equal.
    Equal(bool),
    /// Any value within this distance of the expected one.
    Within(f64),
}

/// The number of mismatches that a message lists.
const LISTED: usize = 5;

/// Checks every value. The layouts must agree.
fn judge<T: Comparable>(
    got: &Ragged<T>,
    expected: &[f64],
    allowed: impl Fn(usize) -> Allowed,
) -> Result<Report, String> {
    let mut report = Report {
        values: expected.len(),
        ..Report::default()
    };
    let mut wrong = 0;
    let mut listed = String::new();
    for (i, (&value, &wanted)) in got.values().iter().zip(expected).enumerate() {
        // An expected NaN or infinity has no error; an unexpected one has an infinite error.
        let difference = match (value.as_f64() - wanted).abs() {
            _ if value.as_f64() == wanted || (value.as_f64().is_nan() && wanted.is_nan()) => 0.0,
            difference if difference.is_nan() => f64::INFINITY,
            difference => difference,
        };
        report.absolute = report.absolute.max(difference);
        if difference > 0.0 {
            report.relative = report.relative.max(difference / wanted.abs());
        }
        let (right, bound) = match allowed(i) {
            Allowed::Equal(right) => (right, 0.0),
            Allowed::Within(bound) => (difference <= bound, bound),
        };
        if bound > 0.0 {
            report.used = report.used.max(difference / bound);
        }
        if !right {
            wrong += 1;
            if wrong <= LISTED {
                let (element, index) = place(got.layout(), i);
                listed += &format!(
                    "\n  element {element}, index {index}: got {value:?}, expected {wanted:?}, \
                     difference {difference:.3e}, allowed {bound:.3e}"
                );
            }
        }
    }
    if wrong == 0 {
        return Ok(report);
    }
    Err(format!(
        "{wrong} values differ ({report}); the first:{listed}"
    ))
}

/// The element that contains value `i` of the batch, and the value's index within the element.
fn place(layout: &Layout, i: usize) -> (usize, usize) {
    let offsets = layout.offsets().as_slice();
    let element = offsets.partition_point(|&offset| offset as usize <= i) - 1;
    (element, i - offsets[element] as usize)
}

/// Compares each element in the 2-norm: ‖got − expected‖ ≤ bound(length) ‖expected‖.
///
/// For transforms, whose errors spread over all values.
pub fn spectral(
    got: &Ragged<Complex32>,
    expected: &Ragged<Complex64>,
    bound: impl Fn(usize) -> f64,
) -> Result<Report, String> {
    let (layout, wanted) = (got.layout(), expected.layout());
    if layout != wanted {
        return Err(format!("{layout:?} instead of {wanted:?}"));
    }
    let mut report = Report {
        values: wanted.total(),
        ..Report::default()
    };
    for (element, (got, expected)) in got.iter().zip(expected).enumerate() {
        let norm = |values: &mut dyn Iterator<Item = Complex64>| {
            values.map(|z| z.norm_sqr()).sum::<f64>().sqrt()
        };
        let wide = got.iter().map(|z| Complex64::new(z.re.into(), z.im.into()));
        let error = norm(&mut wide.zip(expected).map(|(got, expected)| got - expected));
        let size = norm(&mut expected.iter().copied());
        let allowed = bound(expected.len()) * size + expected.len() as f64 * TINY;
        if !(allowed.is_finite() && size > 0.0 || expected.is_empty()) {
            return Err(format!(
                "the test is wrong: element {element} allows {allowed:e} of {size:e}"
            ));
        }
        // NaN exceeds every bound.
        if error.is_nan() || error > allowed {
            return Err(format!(
                "element {element} of {} values is off by {error:.3e}, relative {:.3e}, allowed {allowed:.3e}: {:.4?}",
                expected.len(),
                error / size,
                &got[..got.len().min(4)],
            ));
        }
        if !expected.is_empty() {
            report.absolute = report.absolute.max(error);
            report.relative = report.relative.max(error / size);
            report.used = report.used.max(error / allowed);
        }
    }
    Ok(report)
}

/// [`spectral`], but panics with the differences.
#[track_caller]
pub fn assert_spectral(
    what: impl Display,
    got: &Ragged<Complex32>,
    expected: &Ragged<Complex64>,
    bound: impl Fn(usize) -> f64,
) -> Report {
    unwrap(what, spectral(got, expected, bound))
}
