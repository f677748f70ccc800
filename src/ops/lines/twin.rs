//! The twin. Sums are computed in f64, in parts of a fixed size, so that the bits do not depend on the number of
//! cores.

use half::f16;
use half::slice::HalfFloatSliceExt;
use num_complex::Complex32;

use super::Function;
use super::plan::Lines;
use crate::ops::kit::ordered::largest;
use crate::ops::kit::{join, par_chunks, par_elements, par_runs};
use crate::ops::maps::exp;
use crate::plan::CpuArgs;
use crate::ragged::Scalar;
use crate::{Result, host};

/// Values in a part of a line, the work of one thread.
const PART: usize = 1 << 16;
/// Values of a line that are converted to f32 and processed at once.
const BLOCK: usize = 256;
/// Independent partial sums of a block, which the compiler vectorizes.
const LANES: usize = 16;

/// A type of values, computed in f32.
pub(super) trait Value: Scalar {
    /// Converts every `step`-th value.
    fn widen(values: &[Self], step: usize, wide: &mut [f32]);
    /// Stores in every `step`-th place.
    fn narrow(wide: &[f32], step: usize, values: &mut [Self]);
}

impl Value for f32 {
    fn widen(values: &[f32], step: usize, wide: &mut [f32]) {
        match step {
            1 => wide.copy_from_slice(&values[..wide.len()]),
            _ => copy(wide.iter_mut().zip(values.iter().step_by(step)), |x| x),
        }
    }
    fn narrow(wide: &[f32], step: usize, values: &mut [f32]) {
        match step {
            1 => values[..wide.len()].copy_from_slice(wide),
            _ => copy(values.iter_mut().step_by(step).zip(wide), |x| x),
        }
    }
}

impl Value for f16 {
    fn widen(values: &[f16], step: usize, wide: &mut [f32]) {
        match step {
            1 => values[..wide.len()].convert_to_f32_slice(wide),
            _ => copy(
                wide.iter_mut().zip(values.iter().step_by(step)),
                f16::to_f32,
            ),
        }
    }
    fn narrow(wide: &[f32], step: usize, values: &mut [f16]) {
        match step {
            1 => values[..wide.len()].convert_from_f32_slice(wide),
            _ => copy(values.iter_mut().step_by(step).zip(wide), f16::from_f32),
        }
    }
}

fn copy<'a, T: Copy + 'a, R: 'a>(
    pairs: impl Iterator<Item = (&'a mut R, &'a T)>,
    convert: impl Fn(T) -> R,
) {
    pairs.for_each(|(to, from)| *to = convert(*from));
}

/// Sums in f64, in [`LANES`] parts.
fn sum(values: &[f32], term: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let mut add = |chunk: &[f32]| {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += term(f64::from(x));
        }
    };
    let (chunks, rest) = values.as_chunks::<LANES>();
    chunks.iter().for_each(|chunk| add(chunk));
    add(rest);
    lanes.iter().sum()
}

/// Statistics of a line, as in `lib/line_statistics.wgsl`, but with the mean itself. For functions of exponentials, the
/// count is that of the largest value, whose exponentials, each 1, are not in the sum.
#[derive(Clone, Copy, Debug)]
struct Statistics {
    first: f64,
    second: f64,
    count: f64,
}

impl Statistics {
    /// The statistics of one block, whose values it may overwrite.
    fn of(function: Function, values: &mut [f32]) -> Statistics {
        let mut count = values.len() as f64;
        let (first, second) = match function {
            Function::Mean => (sum(values, |x| x), 0.0),
            Function::RmsNorm | Function::L2Normalize => (sum(values, |x| x * x), 0.0),
            Function::Var | Function::Std | Function::LayerNorm => {
                let mean = sum(values, |x| x) / count.max(1.0);
                (mean, sum(values, |x| (x - mean) * (x - mean)))
            }
            Function::LogSumExp | Function::Softmax | Function::LogSoftmax => {
                let top = largest(values, |x| x);
                let shift = if top.is_finite() { top } else { 0.0 };
                values.iter_mut().for_each(|x| *x = exp(*x - shift));
                count = sum(values, |e| f64::from(u8::from(e == 1.0)));
                let below = sum(values, |e| if e == 1.0 { 0.0 } else { e });
                (f64::from(top), below)
            }
        };
        Statistics {
            first,
            second,
            count,
        }
    }

    /// The statistics of two parts together.
    fn merge(self, other: Statistics, function: Function) -> Statistics {
        let mut count = self.count + other.count;
        let (first, second) = match function {
            Function::Mean | Function::RmsNorm | Function::L2Normalize => {
                (self.first + other.first, 0.0)
            }
            Function::Var | Function::Std | Function::LayerNorm => {
                let apart = other.first - self.first;
                let share = other.count / count;
                (
                    self.first + apart * share,
                    self.second + other.second + apart * apart * self.count * share,
                )
            }
            Function::LogSumExp | Function::Softmax | Function::LogSoftmax => {
                let top = larger(self.first as f32, other.first as f32);
                let below_top = |part: Statistics| match part.first as f32 == top {
                    true => (part.second, part.count),
                    false => {
                        let weight = (part.first - f64::from(top)).exp();
                        ((part.second + part.count) * weight, 0.0)
                    }
                };
                let (left, right) = (below_top(self), below_top(other));
                count = left.1 + right.1;
                (f64::from(top), left.0 + right.0)
            }
        };
        Statistics {
            first,
            second,
            count,
        }
    }

    /// The result of a reduction over the line.
    fn reduced(self, function: Function, added: f32) -> f32 {
        let value = match function {
            Function::Mean => self.first / self.count,
            Function::Var => self.second / self.count,
            Function::Std => (self.second / self.count + f64::from(added)).sqrt(),
            _ => self.first + self.log(),
        };
        value as f32
    }

    /// The logarithm of a sum of exponentials of differences; 0 beside a maximum that is not finite.
    fn log(self) -> f64 {
        if self.first.is_finite() {
            (self.count - 1.0 + self.second).ln_1p()
        } else {
            0.0
        }
    }

    /// The function that maps values of the line.
    fn map(self, function: Function, added: f32) -> impl Fn(&mut [f32]) {
        let log = self.log() as f32;
        let Statistics {
            first,
            second,
            count,
        } = self;
        let root = match function {
            Function::RmsNorm => (first / count + f64::from(added)).sqrt(),
            // A NaN norm is not replaced.
            Function::L2Normalize if first.sqrt() < f64::from(added) => f64::from(added),
            Function::L2Normalize => first.sqrt(),
            _ => (second / count + f64::from(added)).sqrt(),
        };
        let middle = match function {
            Function::LayerNorm => first,
            _ => 0.0,
        };
        let scale = 1.0 / root;
        let (top, sum) = (first as f32, (second + count) as f32);
        move |values| {
            let values = values.iter_mut();
            match function {
                Function::RmsNorm | Function::L2Normalize | Function::LayerNorm => {
                    values.for_each(|x| *x = ((f64::from(*x) - middle) * scale) as f32);
                }
                _ if !first.is_finite() => values.for_each(|x| *x = f32::NAN),
                Function::LogSoftmax => values.for_each(|x| *x = (*x - top) - log),
                _ => values.for_each(|x| *x = exp(*x - top) / sum),
            }
        }
    }
}

/// The larger value; NaN if either is NaN.
fn larger(x: f32, y: f32) -> f32 {
    if x > y || x.is_nan() { x } else { y }
}

/// Statistics of a line of `count` values, every `step`-th of `x`. Where it is split depends on its length alone.
fn known<T: Value>(function: Function, x: &[T], step: usize, count: usize) -> Statistics {
    if count > PART {
        let half = count.div_ceil(PART) / 2 * PART;
        let (left, right) = join(
            || known(function, x, step, half),
            || known(function, &x[half * step..], step, count - half),
        );
        return left.merge(right, function);
    }
    let mut block = [0.0; BLOCK];
    let mut statistics_from = |begin: usize| {
        let block = &mut block[..BLOCK.min(count - begin)];
        T::widen(&x[begin * step..], step, block);
        Statistics::of(function, block)
    };
    let first = statistics_from(0);
    let more = (BLOCK..count).step_by(BLOCK);
    more.fold(first, |all, begin| {
        all.merge(statistics_from(begin), function)
    })
}

pub(super) fn run<T: Value>(
    function: Function,
    axis: Option<usize>,
    args: &mut CpuArgs<'_>,
) -> Result<()> {
    let added = args
        .scalars
        .first()
        .map_or(0.0, |&bits| f32::from_bits(bits));
    if function.reduces() {
        reduce::<T, T>(function, axis, args, |known, out| {
            let out = std::slice::from_mut(out);
            T::narrow(&[known.reduced(function, added)], 1, out);
        });
        return Ok(());
    }
    let (x, layout) = args.input::<T>(0);
    let (out, _) = args.output::<T>(0);
    par_runs(layout.offsets(), out, &|run, values| {
        let mut values = values;
        for element in run {
            let lines = Lines::of(layout, element, axis);
            let (out, rest) = values.split_at_mut(layout.length(element));
            values = rest;
            map(
                function,
                added,
                lines,
                &x[layout.offsets().range(element)],
                out,
            )?;
        }
        Ok(())
    })
}

/// The maximum of each line, and the logarithm of the sum of exponentials of the differences from it.
pub(super) fn parts<T: Value>(axis: Option<usize>, args: &mut CpuArgs<'_>) -> Result<()> {
    let function = Function::LogSumExp;
    reduce::<T, Complex32>(function, axis, args, |known, out| {
        *out = Complex32::new(known.first as f32, known.log() as f32);
    });
    Ok(())
}

/// Makes a result of the statistics of each line.
fn reduce<T: Value, R: Scalar>(
    function: Function,
    axis: Option<usize>,
    args: &mut CpuArgs<'_>,
    put: impl Fn(Statistics, &mut R) + Sync,
) {
    let (x, layout) = args.input::<T>(0);
    let (out, of_out) = args.output::<R>(0);
    let ends = of_out.offsets().as_slice();
    let cost = x.len() / out.len().max(1);
    par_elements(out, cost, |place, out| {
        let element = ends.partition_point(|&end| end as usize <= place) - 1;
        let line = place - ends[element] as usize;
        let x = &x[layout.offsets().range(element)];
        let Lines { values, step, .. } = Lines::of(layout, element, axis);
        let begin = (line / step) * values * step + line % step;
        put(known(function, &x[begin.min(x.len())..], step, values), out);
    });
}

/// Maps every value of an element.
fn map<T: Value>(
    function: Function,
    added: f32,
    lines: Lines,
    x: &[T],
    out: &mut [T],
) -> Result<()> {
    let Lines { values, step, .. } = lines;
    if x.is_empty() {
        return Ok(());
    }
    let block = values * step;
    let few = (PART / block).max(1);
    par_chunks(out, block, few, &|begin, out| {
        let x = &x[begin..begin + out.len()];
        if step == 1 {
            let change = known(function, x, 1, values).map(function, added);
            return par_chunks(out, PART, 1, &|begin, out| {
                each_block(&x[begin..begin + out.len()], out, 1, &change);
                Ok(())
            });
        }
        let mut line = host::room(values)?;
        for begin in 0..step {
            line.clear();
            line.extend(x[begin..].iter().step_by(step).copied());
            let change = known(function, &line, 1, values).map(function, added);
            each_block(&line, &mut out[begin..], step, change);
        }
        Ok(())
    })
}

/// Changes the values block by block, and stores them in every `step`-th place.
fn each_block<T: Value>(x: &[T], out: &mut [T], step: usize, change: impl Fn(&mut [f32])) {
    let mut block = [0.0; BLOCK];
    for (x, out) in x.chunks(BLOCK).zip(out.chunks_mut(BLOCK * step)) {
        let block = &mut block[..x.len()];
        T::widen(x, 1, block);
        change(block);
        T::narrow(block, step, out);
    }
}
