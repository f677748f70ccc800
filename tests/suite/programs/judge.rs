//! How closely the results of two devices must agree.

mod frames;
mod lines;

use vsla::{conv::ConvMethod, scalar};

use super::batch::{Batch, Kind};
use super::op::{Binary, Entries, Op, Unary, Whole};
use super::values::Values;

/// The unit roundoff of f32.
const U: f64 = 1.0 / (1u64 << 24) as f64;
/// The largest depth of a sum in any operation here: products with an inner extent of 8,192 on 8 x 8 matrices, with a
/// documented bound of 4 γ_h.
const DEPTH: f64 = 4.0 * (8.0 + 8192.0 / 8.0);
/// The largest depth of sums of whole elements and along axes.
const DEPTH_OF_LINES: f64 = 66.0 + 14.0;
/// The largest depth of cumulative sums.
const DEPTH_OF_RUNS: f64 = 265.0;
/// The maximum sum of subnormal terms that are flushed to 0.
const SMALL: f64 = 8192.0 * f32::MIN_POSITIVE as f64;
/// From this magnitude on, sums may overflow on one device but not on another.
const LARGE: f64 = 1e37;
/// The maximum difference of transforms, relative to norms.
const NORMWISE: f64 = 2.0 * 2.0 * 1.5 * 14.0 * U + 2.0 * 232.0 * U;

/// The maximum difference of pooled means, relative to the largest value.
const LINES: f64 = 3e-5;

/// How closely two devices must agree.
pub enum Judge {
    Bits,
    /// One rounding, which is correct on both devices; subnormal results may be 0.
    Rounded,
    /// Sums of products, within a bound by the sum of their magnitudes and this depth; exact if all are small integers.
    Summed {
        exact: bool,
        depth: f64,
    },
    /// Sums by transforms: relative to the norms of the operands.
    Normwise,
    /// Transforms: relative to the norm of the result.
    Spectral,
    /// Within this distance, relative to 1 and the value.
    Near(f64),
    /// Functions of values: within this many units in the last place of f32, plus an absolute error.
    Units(f64, f64),
    /// Functions along axes: within the bound of each.
    Line(&'static str, usize, u8),
    /// Pooled means: relative to the largest value of the element.
    Pooled,
    /// Short-time Fourier transforms.
    Stft,
    Istft,
}

impl Judge {
    pub fn of(op: &Op, operands: &[&Batch]) -> Judge {
        let kind = operands.first().map(|batch| batch.kind());
        if matches!(kind, Some(Kind::I32 | Kind::U32)) {
            return Judge::Bits;
        }
        let summed = || Judge::summed(operands, DEPTH);
        match op {
            Op::Unary(unary) => match unary {
                Unary::Sum | Unary::Norm1 => Judge::summed(operands, DEPTH_OF_LINES),
                Unary::ScatterAdd(..) => summed(),
                Unary::Neg | Unary::Scale(_) => Judge::Rounded,
                Unary::Norm2 => Judge::Near(1e-5),
                Unary::Fft | Unary::Ifft | Unary::Rfft | Unary::Irfft(_) => Judge::Spectral,
                Unary::Fft2 | Unary::Ifft2 | Unary::Rfft2 | Unary::Irfft2(_) => Judge::Spectral,
                Unary::CrossEntropy(_) => Judge::Line("cross_entropy", 0, 0),
                Unary::Stft(..) => Judge::Stft,
                Unary::Istft(..) => Judge::Istft,
                Unary::Dropout { .. } => Judge::Units(1.0, 0.0),
                Unary::Created(made) if made.name == "linspace" => {
                    let [from, to] = made.numbers.map(|n| f64::from(n).abs());
                    Judge::Units(0.0, from.max(to) / 4.0 * 2f64.powi(-19))
                }
                _ => Judge::Bits,
            },
            Op::Binary(binary, _) => match binary {
                Binary::Add | Binary::Sub | Binary::Hadamard => Judge::Rounded,
                Binary::Kron | Binary::Outer => Judge::Rounded,
                Binary::Conv {
                    method: ConvMethod::Direct,
                    ..
                } => summed(),
                Binary::Conv { .. } | Binary::ConvPlan { .. } | Binary::CorrelateMax => {
                    Judge::Normwise
                }
                Binary::Dot | Binary::Eval => summed(),
                Binary::Matmul { .. } | Binary::ComplexMatmul { .. } => summed(),
                Binary::Sbd => Judge::Near(1e-5),
                Binary::Equivalent | Binary::Concat(_) | Binary::BlockDiag => Judge::Bits,
            },
            Op::Entries(Entries::Transpose, _) => Judge::Bits,
            Op::Entries(Entries::Add, _) => Judge::Rounded,
            Op::Entries(Entries::Conv, _) => Judge::Normwise,
            Op::Entries(Entries::Kron, _) | Op::Sparse(..) | Op::Sampled(..) => summed(),
            // Each addition is rounded by itself, in the same order.
            Op::Whole(Whole::SumBatch | Whole::SumGroups(..)) => Judge::Rounded,
            Op::Gather(..) | Op::Whole(_) | Op::Image(_) => Judge::Bits,
            Op::Values(Values::Line(name, axis, n)) => Judge::of_line(name, *axis, *n, operands),
            Op::Values(values) => Judge::of_values(values, operands[0].kind()),
        }
    }

    fn summed(operands: &[&Batch], depth: f64) -> Judge {
        let exact = operands
            .iter()
            .all(|batch| batch.wide().iter().all(|v| v.fract() == 0.0));
        Judge::Summed { exact, depth }
    }

    fn of_line(name: &'static str, axis: usize, n: u8, operands: &[&Batch]) -> Judge {
        match name.trim_end_matches("_axis") {
            "sum" | "norm1" => Judge::summed(operands, DEPTH_OF_LINES),
            "cumsum" => Judge::summed(operands, DEPTH_OF_RUNS),
            "diff" => Judge::Rounded,
            "norm_max" | "max" | "argmax" | "min" | "argmin" => Judge::Bits,
            _ if is_order(name) => Judge::Bits,
            _ => Judge::Line(name, axis, n),
        }
    }

    fn of_values(values: &Values, kind: Kind) -> Judge {
        let dtype = match kind {
            Kind::F16 => scalar::DType::F16,
            Kind::C32 => scalar::DType::C32,
            _ => scalar::DType::F32,
        };
        let row = match values {
            Values::Map(name, _) => {
                scalar::maps().find(|row| row.name == *name && row.dtype == dtype)
            }
            Values::Function(name, _) | Values::Spread(name, ..) => {
                scalar::functions().find(|row| row.name == *name && row.dtype == dtype)
            }
            Values::Pool("mean_pool", _) => return Judge::Pooled,
            Values::Pool(..) => return Judge::Bits,
            // Both the product and the sum are rounded.
            Values::Three("mul_add", _) => return Judge::Rounded,
            Values::Cast(_) | Values::Three(..) | Values::Line(..) => return Judge::Bits,
        };
        let row = row.expect("a row of the table");
        match row.ulps <= 0.5 {
            true => Judge::Rounded,
            false => Judge::Units(row.ulps.into(), row.absolute.into()),
        }
    }

    pub fn judge(
        &self,
        op: &Op,
        operands: &[&Batch],
        number: usize,
        here: &Batch,
        there: &Batch,
        magnitudes: Option<&Batch>,
    ) -> Result<(), String> {
        let (x, y) = (here.wide(), there.wide());
        let both = || x.iter().copied().zip(y.iter().copied()).enumerate();
        let alike = |x: f64, y: f64| x == y || x.is_nan() && y.is_nan();
        // A NaN is not below any value.
        let below = |v: f64, bound: f64| v <= bound;
        let wrong = |i: usize, allowed: f64| {
            Err(format!(
                "value {i} is {:e} here and {:e} there, allowed {allowed:e}",
                x[i], y[i]
            ))
        };
        if number == 1 && matches!(op, Op::Binary(Binary::CorrelateMax | Binary::Sbd, _)) {
            return lags(op, operands, &x, &y);
        }
        // A GPU may flush a subnormal operand to zero, which may be on the other side of a step or a pole.
        let line = match op {
            Op::Values(Values::Line(name, ..)) => !is_order(name),
            _ => false,
        };
        let normal = match operands.first().map(|batch| batch.kind()) {
            Some(Kind::F16) if line => 2f64.powi(-14),
            _ => f32::MIN_POSITIVE.into(),
        };
        let subnormal = |v: f64| v != 0.0 && v.abs() < normal;
        let values = match op {
            Op::Values(values) => matches!(
                values,
                Values::Map(..) | Values::Function(..) | Values::Spread(..)
            ),
            _ => false,
        };
        if (line || values)
            && operands
                .iter()
                .any(|batch| batch.wide().into_iter().any(subnormal))
        {
            return Ok(());
        }
        match self {
            Judge::Bits => match here.same(there) {
                true => Ok(()),
                false => Err("their bits differ".to_owned()),
            },
            Judge::Rounded => {
                let small = |v: f64| v.abs() <= SMALL;
                match both().find(|&(_, (x, y))| !(alike(x, y) || small(x) && small(y))) {
                    Some((i, _)) => wrong(i, 0.0),
                    None => Ok(()),
                }
            }
            Judge::Near(bound) => {
                let large = operands
                    .iter()
                    .any(|batch| batch.wide().iter().any(|v| !below(v.abs(), 1e15)));
                for (i, (x, y)) in both() {
                    let allowed = bound * x.abs().max(1.0);
                    if !alike(x, y) && !below((x - y).abs(), allowed) && !large {
                        return wrong(i, allowed);
                    }
                }
                Ok(())
            }
            Judge::Units(ulps, absolute) => {
                let half = matches!(here, Batch::F16(_));
                let large = if half { 60000.0 } else { LARGE };
                let (x_values, y_values) = (&x, &y);
                // Of both parts of a complex result.
                let sizes = |v: &[f64], i: usize| match here {
                    Batch::C32(_) => v[i - i % 2].hypot(v[i - i % 2 + 1]),
                    _ => v[i].abs(),
                };
                for (i, (x, y)) in both() {
                    let size = sizes(x_values, i).max(sizes(y_values, i));
                    if matches!(here, Batch::C32(_)) && !below(size, LARGE) {
                        // Intermediate results may overflow, where a fused operation does not.
                        continue;
                    }
                    let rounded = if half {
                        size * 2f64.powi(-10) + 2f64.powi(-24)
                    } else {
                        0.0
                    };
                    let allowed = 2.0 * (ulps * 2.0 * U * size + absolute) + SMALL + rounded;
                    let overflows = x.abs().min(y.abs()) >= large && x.signum() == y.signum();
                    if !alike(x, y) && !below((x - y).abs(), allowed) && !overflows {
                        return wrong(i, allowed);
                    }
                }
                Ok(())
            }
            Judge::Line(name, axis, n) => lines::judge((name, *axis, *n), operands[0], here, there),
            Judge::Stft => frames::spectra(here, there),
            Judge::Istft => match op {
                Op::Unary(Unary::Istft(window, hop, _)) => {
                    frames::vectors(operands[0], window, *hop, here, there)
                }
                other => unreachable!("{other:?}"),
            },
            Judge::Pooled => {
                let (operand, layout) = (operands[0].wide(), here.layout());
                let half = matches!(here, Batch::F16(_));
                for element in 0..layout.len() {
                    let values = &operand[operands[0].layout().offsets().range(element)];
                    let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
                    if !values.iter().all(|v| v.abs() < 1e15) {
                        continue;
                    }
                    for i in layout.offsets().range(element) {
                        let rounded = match half {
                            true => x[i].abs() * 2f64.powi(-10) + 2f64.powi(-24),
                            false => 0.0,
                        };
                        let allowed = LINES * (x[i].abs() + largest.max(1.0)) + SMALL + rounded;
                        if !alike(x[i], y[i]) && !below((x[i] - y[i]).abs(), allowed) {
                            return wrong(i, allowed);
                        }
                    }
                }
                Ok(())
            }
            Judge::Summed { exact, depth } => {
                let magnitudes = magnitudes.expect("allocated for this").wide();
                let half = matches!(here, Batch::F16(_));
                let most = magnitudes
                    .iter()
                    .fold(0.0f64, |most, &v| if v > most { v } else { most });
                let exact = *exact && most < 1.0 / U && !magnitudes.iter().any(|v| v.is_nan());
                let horner = match op {
                    Op::Binary(Binary::Eval, _) => 2.0 * operands[0].layout().max_length() as f64,
                    _ => 0.0,
                };
                let large = if half { 65000.0 } else { LARGE };
                for (i, (x, y)) in both() {
                    // Those of complex numbers have no imaginary parts.
                    let complex = matches!(here, Batch::C32(_));
                    let magnitude = magnitudes[if complex { i - i % 2 } else { i }];
                    if alike(x, y) || !below(magnitude, large) {
                        continue;
                    }
                    let rounded = if half {
                        x.abs() * 2f64.powi(-10) + 2f64.powi(-24)
                    } else {
                        0.0
                    };
                    let allowed = 2.0 * (depth + horner) * U * magnitude + SMALL + rounded;
                    if exact || !below((x - y).abs(), allowed) {
                        return wrong(i, if exact { 0.0 } else { allowed });
                    }
                }
                Ok(())
            }
            Judge::Normwise => {
                let bound = normwise(op, operands);
                let layout = here.layout();
                for element in 0..layout.len() {
                    let allowed = NORMWISE * bound(element) + SMALL;
                    for i in layout.offsets().range(element) {
                        let fine = alike(x[i], y[i]) || (x[i] - y[i]).abs() <= allowed;
                        if allowed < LARGE && !fine {
                            return wrong(i, allowed);
                        }
                    }
                }
                Ok(())
            }
            Judge::Spectral => {
                let layout = here.layout();
                let parts = if here.kind() == Kind::C32 { 2 } else { 1 };
                for element in 0..layout.len() {
                    let range = layout.offsets().range(element);
                    let range = range.start * parts..range.end * parts;
                    let size = norm(&x[range.clone()]).max(norm(&y[range.clone()]));
                    let difference: Vec<f64> = range.clone().map(|i| x[i] - y[i]).collect();
                    let allowed = NORMWISE * size + SMALL;
                    if size < LARGE && !below(norm(&difference), allowed) {
                        return wrong(range.start, allowed);
                    }
                }
                Ok(())
            }
        }
    }
}

/// Functions along axes that only compare and move values.
fn is_order(name: &str) -> bool {
    ["sort", "argsort", "top_k", "cummax", "cummin"]
        .iter()
        .any(|order| name.starts_with(order))
}

/// ‖a‖₂ ‖b‖₂ of the operands of an element of the result.
fn normwise(op: &Op, operands: &[&Batch]) -> impl Fn(usize) -> f64 {
    let norms = |batch: &Batch| -> Vec<f64> {
        let (values, layout) = (batch.wide(), batch.layout());
        let elements = 0..layout.len();
        elements
            .map(|i| norm(&values[layout.offsets().range(i)]))
            .collect()
    };
    let (a, b) = (norms(operands[0]), norms(operands[1]));
    let pairs = match op {
        Op::Binary(_, meeting) => meeting.pairs(a.len(), b.len()),
        _ => Vec::new(),
    };
    // In matrices of vectors, any entries may have been multiplied.
    let any: f64 = a.iter().sum::<f64>() * b.iter().sum::<f64>();
    move |pair| match pairs.get(pair) {
        Some(&(i, j)) => a[i] * b[j],
        None => any,
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The values at two lags of one pair must be equal within the error of the method.
fn lags(op: &Op, operands: &[&Batch], x: &[f64], y: &[f64]) -> Result<(), String> {
    let [a, b] = [operands[0], operands[1]].map(|batch| (batch.wide(), batch.layout()));
    let Op::Binary(_, meeting) = op else {
        return Ok(());
    };
    let bound = normwise(op, operands);
    for (pair, (i, j)) in meeting.pairs(a.1.len(), b.1.len()).into_iter().enumerate() {
        let (left, right) = (&a.0[a.1.offsets().range(i)], &b.0[b.1.offsets().range(j)]);
        let [here, there] = [x[pair], y[pair]];
        let finite = left.iter().chain(right).all(|v| v.abs() < 1e15);
        if here == there || !finite {
            continue;
        }
        let at = |lag: f64| -> f64 {
            let product = |(t, v): (usize, &f64)| {
                let from = t as i64 + lag as i64;
                left.get(usize::try_from(from).ok()?).map(|u| u * v)
            };
            right.iter().enumerate().filter_map(product).sum()
        };
        let (difference, allowed) = ((at(here) - at(there)).abs(), NORMWISE * bound(pair) + SMALL);
        if difference > allowed {
            return Err(format!(
                "pair {pair} has lag {here} here and {there} there, whose values differ by {difference:e}, \
                 allowed {allowed:e}"
            ));
        }
    }
    Ok(())
}
