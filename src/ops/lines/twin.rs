//! The CPU kernel. Sums are computed in f64, in parts of a fixed size, so that the bits do not depend on the number of
//! cores.

use half::f16;
use rayon::prelude::*;

use super::Function;
use super::plan::Lines;
use crate::ops::maps::exp;
use crate::ops::{par_elements, par_runs};
use crate::plan::CpuArgs;
use crate::ragged::{Layout, Scalar};
use crate::{Result, host};

/// Values in a part of a line.
const PART: usize = 1 << 16;

/// A type of values, computed in f32.
pub(super) trait Value: Scalar {
    fn wide(self) -> f32;
    fn narrow(value: f32) -> Self;
}

impl Value for f32 {
    fn wide(self) -> f32 {
        self
    }
    fn narrow(value: f32) -> f32 {
        value
    }
}

impl Value for f16 {
    fn wide(self) -> f32 {
        self.to_f32()
    }
    fn narrow(value: f32) -> f16 {
        f16::from_f32(value)
    }
}

/// Statistics of a line, as in `lib/lines.wgsl`, but with the mean itself.
#[derive(Clone, Copy, Debug)]
struct Known {
    first: f64,
    second: f64,
    count: f64,
}

impl Known {
    /// The statistics of one part.
    fn of(function: Function, values: impl Iterator<Item = f32> + Clone) -> Known {
        let count = values.clone().count() as f64;
        let sum = |of: fn(f32) -> f64| values.clone().map(of).sum::<f64>();
        let (first, second) = match function {
            Function::Mean => (sum(f64::from), 0.0),
            Function::RmsNorm | Function::L2Normalize => {
                (sum(|x| f64::from(x) * f64::from(x)), 0.0)
            }
            Function::Var | Function::Std | Function::LayerNorm => {
                let mean = sum(f64::from) / count.max(1.0);
                let squares = values.map(|x| (f64::from(x) - mean) * (f64::from(x) - mean));
                (mean, squares.sum())
            }
            Function::LogSumExp | Function::Softmax | Function::LogSoftmax => {
                let top = values.clone().fold(f32::NEG_INFINITY, larger);
                let shift = if top.is_finite() { top } else { 0.0 };
                let exponentials = values.map(|x| f64::from(exp(x - shift)));
                (f64::from(top), exponentials.sum())
            }
        };
        Known {
            first,
            second,
            count,
        }
    }

    /// The statistics of two parts together.
    fn merge(self, other: Known, function: Function) -> Known {
        let count = self.count + other.count;
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
                let weight = |of: f64| match of as f32 == top {
                    true => 1.0,
                    false => (of - f64::from(top)).exp(),
                };
                let sum = self.second * weight(self.first) + other.second * weight(other.first);
                (f64::from(top), sum)
            }
        };
        Known {
            first,
            second,
            count,
        }
    }

    /// The result of a reduction over the line.
    fn reduced(self, function: Function) -> f32 {
        let value = match function {
            Function::Mean => self.first / self.count,
            Function::Var => self.second / self.count,
            Function::Std => (self.second / self.count).sqrt(),
            Function::LogSumExp if self.first.is_finite() => self.first + self.second.ln(),
            _ => self.first,
        };
        value as f32
    }

    /// The function that maps each value of the line.
    fn map(self, function: Function, added: f32) -> impl Fn(f32) -> f32 {
        let Known {
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
        let (log, none) = (second.ln() as f32, !first.is_finite());
        let top = first as f32;
        move |x| match function {
            Function::RmsNorm | Function::L2Normalize => (f64::from(x) / root) as f32,
            Function::LayerNorm => ((f64::from(x) - first) / root) as f32,
            _ if none => f32::NAN,
            Function::LogSoftmax => (x - top) - log,
            _ => exp(x - top) / second as f32,
        }
    }
}

/// The larger value; NaN if either is NaN.
fn larger(x: f32, y: f32) -> f32 {
    if x > y || x.is_nan() { x } else { y }
}

/// Statistics of a contiguous line. Where it is split depends only on its length.
fn known<T: Value>(function: Function, line: &[T]) -> Known {
    if line.len() <= PART {
        return Known::of(function, line.iter().map(|x| x.wide()));
    }
    let (left, right) = line.split_at(line.len().div_ceil(PART) / 2 * PART);
    let (left, right) = rayon::join(|| known(function, left), || known(function, right));
    left.merge(right, function)
}

/// The same for a strided line.
fn known_apart<T: Value>(function: Function, line: &[T], step: usize, count: usize) -> Known {
    let mut all: Option<Known> = None;
    for begin in (0..count.max(1)).step_by(PART) {
        let values = line.iter().skip(begin * step).step_by(step);
        let part = Known::of(
            function,
            values.take(PART.min(count - begin)).map(|x| x.wide()),
        );
        all = Some(all.map_or(part, |all| all.merge(part, function)));
    }
    all.unwrap_or_else(|| Known::of(function, std::iter::empty()))
}

pub(super) fn run<T: Value, R: Value>(
    function: Function,
    axis: Option<usize>,
    args: &mut CpuArgs<'_>,
) -> Result<()> {
    let (x, layout) = args.input::<T>(0);
    let added = args
        .scalars
        .first()
        .map_or(0.0, |&bits| f32::from_bits(bits));
    let output = &mut args.outputs[0];
    let out: &mut [R] = bytemuck::cast_slice_mut(output.words);
    // The last word may hold one extra half.
    let out = &mut out[..output.layout.total()];
    if function.reduces() {
        let ends = output.layout.offsets().as_slice();
        let cost = x.len() / out.len().max(1);
        par_elements(out, cost, |place, out| {
            let element = ends.partition_point(|&end| end as usize <= place) - 1;
            let line = place - ends[element] as usize;
            *out = R::narrow(reduce(function, axis, x, layout, element, line));
        });
        return Ok(());
    }
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

fn reduce<T: Value>(
    function: Function,
    axis: Option<usize>,
    x: &[T],
    layout: &Layout,
    element: usize,
    line: usize,
) -> f32 {
    let x = &x[layout.offsets().range(element)];
    let Lines { values, step, .. } = Lines::of(layout, element, axis);
    let begin = (line / step) * values * step + line % step;
    let known = match step {
        1 => known(function, &x[begin..begin + values]),
        _ => known_apart(function, &x[begin.min(x.len())..], step, values),
    };
    known.reduced(function)
}

/// Maps every value of an element.
fn map<T: Value, R: Value>(
    function: Function,
    added: f32,
    lines: Lines,
    x: &[T],
    out: &mut [R],
) -> Result<()> {
    let Lines { values, step, .. } = lines;
    if x.is_empty() {
        return Ok(());
    }
    let block = values * step;
    let few = (PART / block).max(1);
    let blocks = out.par_chunks_mut(block).zip(x.par_chunks(block));
    blocks.with_min_len(few).try_for_each(|(out, x)| {
        if step == 1 {
            let value = known(function, x).map(function, added);
            let parts = out.par_chunks_mut(PART).zip(x.par_chunks(PART));
            parts.for_each(|(out, x)| {
                out.iter_mut()
                    .zip(x)
                    .for_each(|(out, &x)| *out = R::narrow(value(x.wide())));
            });
            return Ok(());
        }
        let mut line = host::room(function.name(Some(0)), values)?;
        for begin in 0..step {
            line.clear();
            line.extend(x[begin..].iter().step_by(step).copied());
            let value = known(function, &line).map(function, added);
            let places = out[begin..].iter_mut().step_by(step);
            places
                .zip(&line)
                .for_each(|(out, &x)| *out = R::narrow(value(x.wide())));
        }
        Ok(())
    })
}
