//! Functions along axes: the documented bound of each, twice, because both devices may be wrong by it.

use super::super::batch::Batch;
use super::super::lines::{EPSILON, groups, log_of_exponentials};
use super::{LARGE, SMALL, U};

/// Judges results of floats. The name, the axis and the number are those of [`Values::Line`].
///
/// [`Values::Line`]: super::super::values::Values::Line
pub fn judge(
    (name, axis, n): (&str, usize, u8),
    operand: &Batch,
    here: &Batch,
    there: &Batch,
) -> Result<(), String> {
    let (values, x, y) = (operand.wide(), here.wide(), there.wide());
    let half = matches!(here, Batch::F16(_));
    let (layout, of_results) = (operand.layout(), here.layout());
    let is_map = !name.ends_with("_axis") && !is_of_elements(name);
    for element in 0..layout.len() {
        let from = layout.offsets().range(element).start;
        let to = of_results.offsets().range(element).start;
        let extents: Vec<usize> = layout
            .shape(element)
            .extents()
            .iter()
            .map(|&n| n as usize)
            .collect();
        for (number, places) in lines(name, axis, n, &extents).iter().enumerate() {
            let line: Vec<f64> = places.iter().map(|&place| values[from + place]).collect();
            let bound = Bound::new(name, &line);
            let results = if is_map { places.clone() } else { vec![number] };
            for (at, place) in results.into_iter().enumerate() {
                let (x, y) = (x[to + place], y[to + place]);
                if x == y || x.is_nan() && y.is_nan() {
                    continue;
                }
                let size = x.abs().min(y.abs());
                let large = if half { 60000.0 } else { LARGE };
                let Some(error) = bound.error(size, line.get(at).copied().unwrap_or(0.0), at)
                else {
                    continue;
                };
                if size >= large && x.signum() == y.signum() {
                    continue;
                }
                let rounded = match half {
                    true => size * 2f64.powi(-10) + 2f64.powi(-23),
                    false => 0.0,
                };
                let allowed = 2.0 * error + SMALL + rounded;
                // A NaN is not below any value.
                let fine = (x - y).abs() <= allowed;
                if !fine {
                    return Err(format!(
                        "{name}, value {place} of element {element} is {x:e} here and {y:e} there, allowed {allowed:e}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Functions with one result for each element.
fn is_of_elements(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "prod",
        "norm2",
        "mean",
        "var",
        "std",
        "log_sum_exp",
        "quantile",
        "median",
    ];
    NAMES.contains(&name) || name == "cross_entropy"
}

/// The places of the values of each line of an element.
fn lines(name: &str, axis: usize, n: u8, extents: &[usize]) -> Vec<Vec<usize>> {
    let size = extents.iter().product();
    let [outer, extent, inner] = match name {
        "group_norm" => [groups(n), size / groups(n), 1],
        "standardize" => [1, size, 1],
        "cross_entropy" => {
            let (last, rows) = extents.split_last().expect("an axis");
            [rows.iter().product(), *last, 1]
        }
        _ if is_of_elements(name) => [1, size, 1],
        _ => [
            extents[..axis].iter().product(),
            extents[axis],
            extents[axis + 1..].iter().product(),
        ],
    };
    let line = |line: usize| {
        let first = line / inner * extent * inner + line % inner;
        (0..extent).map(|i| first + i * inner).collect()
    };
    (0..outer * inner).map(line).collect()
}

/// What the bound of a line depends on.
struct Bound<'a> {
    name: &'a str,
    line: &'a [f64],
    /// The largest finite magnitude, the largest value, and the sum of magnitudes.
    largest: f64,
    most: f64,
    magnitude: f64,
    mean: f64,
    variance: f64,
    /// How many running products no partial product makes too large or too small.
    products: usize,
}

fn gamma(h: f64) -> f64 {
    h * U / (1.0 - h * U)
}

impl Bound<'_> {
    fn new<'a>(name: &'a str, line: &'a [f64]) -> Bound<'a> {
        let n = line.len() as f64;
        let finite = || line.iter().filter(|v| v.is_finite());
        let mean = line.iter().sum::<f64>() / n;
        Bound {
            name,
            line,
            largest: finite().fold(0.0, |most, v| most.max(v.abs())),
            most: line.iter().fold(f64::NEG_INFINITY, |most, &v| most.max(v)),
            magnitude: line.iter().map(|v| v.abs()).sum(),
            mean,
            variance: line.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n,
            products: products(line),
        }
    }

    /// The bound for a result of this size, whose own value is `value`, the `at`-th of the line; `None` if the
    /// documentation promises nothing.
    fn error(&self, size: f64, value: f64, at: usize) -> Option<f64> {
        let tiny = self.line.len() as f64 * f64::from(f32::MIN_POSITIVE);
        Some(match self.name.trim_end_matches("_axis") {
            "prod" => {
                // Of any subset.
                let of = |is: fn(f64) -> bool| {
                    let factors = self.line.iter().map(|v| v.abs()).filter(|&v| is(v));
                    factors.map(f64::log2).sum::<f64>()
                };
                let fits = of(|v| v > 1.0) < 127.9 && of(|v| v > 0.0 && v < 1.0) > -125.9;
                fits.then(|| gamma(self.line.len() as f64) * size)?
            }
            "cumprod" => (at < self.products).then(|| gamma(at as f64) * size)?,
            "norm2" => (gamma(80.0) / 2.0 + 4.0 * U) * size,
            "mean" => gamma(80.0) * self.magnitude / self.line.len() as f64,
            "var" => gamma(130.0) * size + (2.0 * U * self.largest).powi(2),
            "std" => gamma(130.0) * size + 2.0 * U * self.largest,
            "log_sum_exp" => {
                gamma(190.0) * log_of_exponentials(self.line, self.most) + U * size + tiny
            }
            "log_softmax" | "cross_entropy" => gamma(190.0) * size + tiny,
            "softmax" => (gamma(90.0) + 4.0 * U * (1.0 + self.most - value)) * size,
            "layer_norm" | "group_norm" | "standardize" => self.normalized(size, EPSILON.into()),
            "rms_norm" | "l2_normalize" => gamma(90.0) * size,
            "quantile" | "median" => 4.0 * U * self.largest,
            other => unreachable!("{other}"),
        })
    }

    fn normalized(&self, size: f64, epsilon: f64) -> f64 {
        let ratio = self.mean.abs() / (self.variance + epsilon).sqrt();
        gamma(130.0) * (1.0 + size) + 2.0 * U * ratio
    }
}

/// For how many of the first values the product of every run without zeros is a normal number.
fn products(line: &[f64]) -> usize {
    // The logarithm of the product since the last zero, and its extremes.
    let (mut sum, mut least, mut most) = (0.0f64, 0.0f64, 0.0f64);
    for (i, v) in line.iter().enumerate() {
        if *v == 0.0 {
            (sum, least, most) = (0.0, 0.0, 0.0);
            continue;
        }
        sum += v.abs().log2();
        // Not for NaN, either.
        let fits = sum - least < 127.9 && sum - most > -125.9;
        if !fits {
            return i;
        }
        (least, most) = (least.min(sum), most.max(sum));
    }
    line.len()
}
