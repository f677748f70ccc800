//! Properties that must hold after a program has run.

use vsla::{Bsr, Device, Ragged, conv::ConvMethod, f16};

use super::batch::{Batch, Kind};
use super::op::{Binary, Entries, Op, Sparse, Unary};
use super::{Run, Step};

/// The unit roundoff of f32.
const U: f64 = 1.0 / (1u64 << 24) as f64;
/// The largest depth of a sum in any operation here: products with an inner extent of 8,192 on 8 x 8 matrices, with a
/// documented bound of 4 γ_h.
const DEPTH: f64 = 4.0 * (8.0 + 8192.0 / 8.0);
/// The maximum sum of subnormal terms that are flushed to 0.
const SMALL: f64 = 8192.0 * f32::MIN_POSITIVE as f64;
/// From this magnitude on, sums may overflow on one device but not on another.
const LARGE: f64 = 1e37;
/// The maximum difference of transforms, relative to norms.
const NORMWISE: f64 = 2.0 * 2.0 * 1.5 * 14.0 * U + 2.0 * 232.0 * U;

/// Elements of each operation that are made alone.
const ALONE: usize = 2;

impl Run {
    fn operands(&self, step: &Step) -> Vec<&Batch> {
        step.operands.iter().map(|&at| &self.batches[at]).collect()
    }
}

/// Makes single elements of every operation's results on their own, which must give the same bits.
///
/// # Errors
/// A description of the first that does not.
pub fn check_alone(run: &Run, device: &Device) -> Result<(), String> {
    for step in &run.steps {
        let Ok(results) = &step.results else {
            continue;
        };
        if results.is_empty() {
            continue;
        }
        let operands = run.operands(step);
        let lengths: Vec<usize> = operands.iter().map(|batch| batch.layout().len()).collect();
        let elements = run.batches[results.start].layout().len();
        let last = elements.saturating_sub(ALONE.min(elements));
        for pair in (last..elements)
            .rev()
            .step_by(2)
            .chain((elements > 2).then_some(0))
        {
            let Some((op, chosen)) = step.op.alone(pair, &lengths) else {
                break;
            };
            let upload = |(batch, &i): (&&Batch, &usize)| batch.element(i).upload(device);
            let alone: Result<Vec<_>, _> = operands.iter().zip(&chosen).map(upload).collect();
            let alone = alone.map_err(|error| error.to_string())?;
            let made = op.apply(device, &alone.iter().collect::<Vec<_>>());
            let made = made.map_err(|error| format!("alone, {:?} gives {error}", brief(&op)))?;
            for (value, at) in made.iter().zip(results.clone()) {
                let value = value.download().map_err(|error| error.to_string())?;
                let expected = run.batches[at].element(pair);
                if !value.same(&expected) {
                    return Err(format!(
                        "element {pair} of {} differs alone: {} and not {}",
                        brief(&op),
                        shown(&value),
                        shown(&expected),
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Repeats every operation on another device, with the same operands: integers and other exact results must be equal,
/// other floats must be within the documented bounds.
///
/// # Errors
/// A description of the first result that is not.
pub fn check_against(run: &Run, other: &Device) -> Result<(), String> {
    for step in &run.steps {
        let operands = run.operands(step);
        let apply = |op: &Op, operands: &[Batch]| {
            let values: Result<Vec<_>, _> =
                operands.iter().map(|batch| batch.upload(other)).collect();
            let values = op.apply(other, &values?.iter().collect::<Vec<_>>())?;
            values
                .iter()
                .map(|value| value.download())
                .collect::<vsla::Result<Vec<_>>>()
        };
        let owned: Vec<Batch> = operands.iter().map(|&batch| batch.clone()).collect();
        let made = apply(&step.op, &owned);
        let (results, made) = match (&step.results, made) {
            (Ok(results), Ok(made)) => (results.clone(), made),
            (Err(here), Err(there)) if here.kind() == there.kind() => continue,
            (here, there) => {
                return Err(format!(
                    "{} gives {} here and {} there",
                    brief(&step.op),
                    outcome(here),
                    outcome(&there)
                ));
            }
        };
        if results.len() != made.len() {
            return Err(format!(
                "{} gives {} results and {}",
                brief(&step.op),
                results.len(),
                made.len()
            ));
        }
        let judge = Judge::of(&step.op, &operands);
        // The sums of absolute values, by the same operation.
        let magnitudes = match judge {
            Judge::Summed { .. } => {
                let abs: Vec<Batch> = operands.iter().map(|batch| batch.abs()).collect();
                let made = apply(&abs_op(&step.op), &abs);
                made.map_err(|error| format!("{} of magnitudes: {error}", brief(&step.op)))?
            }
            _ => Vec::new(),
        };
        for (number, (at, there)) in results.zip(&made).enumerate() {
            let here = &run.batches[at];
            let judged = match here.layout() == there.layout() {
                false => Err("their shapes differ".to_owned()),
                true => judge.judge(
                    &step.op,
                    &operands,
                    number,
                    here,
                    there,
                    magnitudes.get(number),
                ),
            };
            judged.map_err(|why| {
                format!(
                    "{}: {why}: {} here and {} there",
                    brief(&step.op),
                    shown(here),
                    shown(there)
                )
            })?;
        }
    }
    Ok(())
}

/// How closely two devices must agree.
enum Judge {
    Bits,
    /// One rounding, which is right on both; subnormal results may be 0.
    Rounded,
    /// Sums of products, within a bound by the sum of their magnitudes; exact if all are small integers.
    Summed {
        exact: bool,
    },
    /// By transforms, relative to the norms of the operands.
    Normwise,
    /// A transform, relative to its result's norm.
    Spectral,
    /// So near, relative to 1 and the value.
    Near(f64),
}

impl Judge {
    fn of(op: &Op, operands: &[&Batch]) -> Judge {
        let kind = operands.first().map(|batch| batch.kind());
        if matches!(kind, Some(Kind::I32 | Kind::U32)) {
            return Judge::Bits;
        }
        let summed = || Judge::Summed {
            exact: operands
                .iter()
                .all(|batch| batch.wide().iter().all(|v| v.fract() == 0.0)),
        };
        match op {
            Op::Unary(unary) => match unary {
                Unary::Sum | Unary::Norm1 | Unary::ScatterAdd(..) => summed(),
                Unary::Neg | Unary::Scale(_) => Judge::Rounded,
                Unary::Norm2 => Judge::Near(1e-5),
                Unary::Fft | Unary::Ifft | Unary::Rfft | Unary::Irfft(_) => Judge::Spectral,
                Unary::Fft2 | Unary::Ifft2 | Unary::Rfft2 | Unary::Irfft2(_) => Judge::Spectral,
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
                Binary::Dot | Binary::Eval | Binary::Matmul { .. } => summed(),
                Binary::Sbd => Judge::Near(1e-5),
                Binary::Equivalent | Binary::Concat(_) | Binary::BlockDiag => Judge::Bits,
            },
            Op::Entries(Entries::Transpose, _) => Judge::Bits,
            Op::Entries(Entries::Add, _) => Judge::Rounded,
            Op::Entries(Entries::Conv, _) => Judge::Normwise,
            Op::Entries(Entries::Kron, _) | Op::Sparse(..) | Op::Sampled(..) => summed(),
            Op::Gather(..) | Op::Whole(_) => Judge::Bits,
        }
    }

    fn judge(
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
        // A NaN is below nothing.
        let below = |v: f64, bound: f64| v <= bound;
        let wrong = |i: usize, allowed: f64| {
            Err(format!(
                "value {i} is {:e} here and {:e} there, allowed {allowed:e}",
                x[i], y[i]
            ))
        };
        // Lags: of the largest value, which two devices may see at different ones of nearly equal ones.
        if number == 1 && matches!(op, Op::Binary(Binary::CorrelateMax | Binary::Sbd, _)) {
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
            Judge::Summed { exact } => {
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
                    let magnitude = magnitudes[i];
                    if alike(x, y) || !below(magnitude, large) {
                        continue;
                    }
                    let rounded = if half {
                        x.abs() * 2f64.powi(-10) + 2f64.powi(-24)
                    } else {
                        0.0
                    };
                    let allowed = 2.0 * (DEPTH + horner) * U * magnitude + SMALL + rounded;
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
    // Of matrices of vectors, anything may have met anything.
    let any: f64 = a.iter().sum::<f64>() * b.iter().sum::<f64>();
    move |pair| match pairs.get(pair) {
        Some(&(i, j)) => a[i] * b[j],
        None => any,
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The operation on absolute values, with all that it holds.
fn abs_op(op: &Op) -> Op {
    let mut op = op.clone();
    fn abs(batch: &mut Ragged<f32>) {
        batch.values_mut().iter_mut().for_each(|v| *v = v.abs());
    }
    fn bsr<T: Copy>(bsr: &Bsr<T>, abs: impl Fn(T) -> T) -> Bsr<T> {
        let values = bsr.values().cast(abs).into_parts().1;
        Bsr::from_sets(bsr.topology(), bsr.len(), values).expect("as many")
    }
    let half = |v: f16| f16::from_f32(v.to_f32().abs());
    match &mut op {
        Op::Binary(Binary::Matmul { bias, residual, .. }, _) => {
            bias.iter_mut().chain(residual).for_each(abs);
        }
        Op::Sparse(Sparse::F32(matrices, dense), _) => {
            *matrices = bsr(matrices, f32::abs);
            abs(dense);
        }
        Op::Sparse(Sparse::F16(matrices, dense), _) => {
            *matrices = bsr(matrices, half);
            *dense = dense.cast(half);
        }
        Op::Sampled(_, factors) => factors.iter_mut().for_each(abs),
        _ => {}
    }
    op
}

/// An operation in a line.
fn brief(op: &Op) -> String {
    let text = match op {
        Op::Sparse(sparse, form) => match sparse {
            Sparse::F32(bsr, dense) => format!("Sparse f32 {form:?} {bsr:?} {:?}", dense.layout()),
            Sparse::F16(bsr, dense) => format!("Sparse f16 {form:?} {bsr:?} {:?}", dense.layout()),
        },
        Op::Sampled(topology, _) => format!("Sampled {topology:?}"),
        other => format!("{other:?}"),
    };
    text.chars().take(400).collect()
}

fn shown(batch: &Batch) -> String {
    format!("{batch:?}").chars().take(300).collect()
}

fn outcome<T>(outcome: &Result<T, vsla::Error>) -> String {
    match outcome {
        Ok(_) => "a result".to_owned(),
        Err(error) => error.to_string(),
    }
}
