//! The strided copies on the CPU, row by row.

use std::ops::Range;

use bytemuck::Pod;

use super::{Merged, Read, Reading};
use crate::ops::kit::par_tiles;
use crate::plan::CpuArgs;
use crate::ragged::{DType, Layout, MAX_RANK};

type Made = Box<dyn Fn(&mut CpuArgs<'_>) + Send + Sync>;

/// The twin for values of this type. It depends only on the size of the type.
pub(super) fn of(dtype: DType, merged: Merged) -> Made {
    match dtype {
        DType::U8 => Box::new(move |args| twin::<u8>(args, &merged)),
        DType::F16 => Box::new(move |args| twin::<u16>(args, &merged)),
        DType::C32 => Box::new(move |args| twin::<[u32; 2]>(args, &merged)),
        _ => Box::new(move |args| twin::<u32>(args, &merged)),
    }
}

fn twin<T: Pod + Send + Sync>(args: &mut CpuArgs<'_>, merged: &Merged) {
    let (x, own) = args.input::<T>(0);
    let output = &mut args.outputs[0];
    let x_layout = merged.x.as_ref().unwrap_or(own);
    let y_layout = merged.y.as_ref().unwrap_or(output.layout);
    let y: &mut [T] = bytemuck::cast_slice_mut(output.words);
    let y = &mut y[..y_layout.total()];
    let reading = &merged.reading;
    par_tiles(y_layout.offsets(), y, |element, within, out| {
        let from = reading.source(element);
        if from >= x_layout.len() {
            return out.fill(T::zeroed());
        }
        let x = &x[x_layout.offsets().range(from)];
        if !merged.runs {
            return boxes(
                out,
                within,
                x,
                &Steps::new(reading, (x_layout, from), (y_layout, element)),
            );
        }
        let shift = match reading.axes[0].read {
            Read::Backwards => {
                let x = &x[x.len() - within.end..x.len() - within.start];
                let back = out.iter_mut().zip(x.iter().rev());
                return back.for_each(|(out, &value)| *out = value);
            }
            Read::ToEnd => x.len() as i64 - y_layout.length(element) as i64,
            Read::Centred => (x.len() as i64 - y_layout.length(element) as i64) / 2,
            Read::From(shift) => {
                let width = match y_layout.rank() {
                    1 => 1,
                    _ => i64::from(y_layout.extents()[2 * element + 1]),
                };
                shift.saturating_mul(width)
            }
            Read::Cut(_) | Read::Place(_) => unreachable!("not a run"),
        };
        run(out, shift.saturating_add(within.start as i64), x);
    });
}

/// `out[k] = x[from + k]`, or zero outside `x`.
fn run<T: Pod>(out: &mut [T], from: i64, x: &[T]) {
    let before = from.saturating_neg().clamp(0, out.len() as i64) as usize;
    let (none, rest) = out.split_at_mut(before);
    none.fill(T::zeroed());
    let x =
        usize::try_from(from + before as i64).map_or(&[][..], |from| x.get(from..).unwrap_or(&[]));
    let there = x.len().min(rest.len());
    let (some, none) = rest.split_at_mut(there);
    some.copy_from_slice(&x[..there]);
    none.fill(T::zeroed());
}

/// How one element is read along an axis of the result.
#[derive(Clone)]
struct Walk {
    extent: usize,
    /// The indices with source values are the first of this range and every `apart`-th from there on.
    there: Range<usize>,
    apart: usize,
    /// The distance between these values in the source.
    step: i64,
}

impl Walk {
    /// The number of source values before index k, which must be in the range, if k has a source value itself.
    fn before(&self, k: usize) -> Option<usize> {
        let past = k - self.there.start;
        match self.apart {
            1 => Some(past),
            apart => past.is_multiple_of(apart).then(|| past / apart),
        }
    }
}

/// How one element is read.
struct Steps {
    rank: usize,
    /// The index of the first value that is read, along all axes.
    begin: i64,
    /// For each axis of the result.
    axes: [Walk; MAX_RANK],
}

impl Steps {
    fn new(
        reading: &Reading,
        (x, from): (&Layout, usize),
        (y, element): (&Layout, usize),
    ) -> Steps {
        const NONE: Walk = Walk {
            extent: 0,
            there: 0..0,
            apart: 1,
            step: 0,
        };
        let (x, y) = (x.shape(from), y.shape(element));
        let mut steps = Steps {
            rank: x.rank(),
            begin: 0,
            axes: [NONE; MAX_RANK],
        };
        let mut stride = 1i64;
        for (axis, &there) in reading.axes.iter().zip(x.extents()).rev() {
            let there = i64::from(there);
            let extent = i64::from(y.extents()[axis.along]);
            // Indices with source values, the source index of the first, and the distances in result and source.
            let from = |shift: i64| {
                let first = (-shift).clamp(0, extent);
                (first..(there - shift).clamp(first, extent), shift + first)
            };
            let (mut apart, mut step) = (1, 1);
            let (range, at) = match axis.read {
                _ if there == 1 && reading.repeat => {
                    step = 0;
                    (0..extent, 0)
                }
                Read::From(shift) => from(shift),
                Read::ToEnd => from(there - extent),
                Read::Centred => from((there - extent) / 2),
                Read::Backwards => {
                    step = -1;
                    (0..extent, (there - 1).max(0))
                }
                Read::Cut(cut) => {
                    step = cut.step;
                    (0..extent, cut.first(there))
                }
                Read::Place(_) if there == 0 => (0..0, 0),
                Read::Place(cut) => {
                    let (first, last) = cut.ends(extent, there);
                    (apart, step) = (cut.step.unsigned_abs(), cut.step.signum());
                    let at = if step > 0 { 0 } else { there - 1 };
                    (first.min(last)..first.max(last) + 1, at)
                }
            };
            // Nothing is read from an empty range, which may begin anywhere.
            if !range.is_empty() {
                steps.begin = steps.begin.saturating_add(at.saturating_mul(stride));
            }
            steps.axes[axis.along] = Walk {
                extent: extent as usize,
                there: range.start as usize..range.end as usize,
                apart: usize::try_from(apart).unwrap_or(usize::MAX),
                step: step.saturating_mul(stride),
            };
            stride = stride.saturating_mul(there);
        }
        steps
    }
}

/// Writes values `within` of an element, row by row.
fn boxes<T: Pod>(mut out: &mut [T], within: Range<usize>, x: &[T], steps: &Steps) {
    let last = steps.rank - 1;
    let width = steps.axes[last].extent;
    // The row, as indices along the other axes.
    let mut row = [0; MAX_RANK];
    let mut rest = within.start / width;
    for axis in (0..last).rev() {
        let extent = steps.axes[axis].extent;
        (row[axis], rest) = (rest % extent, rest / extent);
    }
    let mut column = within.start % width;
    while !out.is_empty() {
        let (head, tail) = out.split_at_mut((width - column).min(out.len()));
        let mut outer = steps.axes[..last].iter().zip(&row);
        let begin = outer.try_fold(steps.begin, |begin, (axis, &k)| {
            let before = axis.there.contains(&k).then(|| axis.before(k))??;
            Some(begin + axis.step * before as i64)
        });
        match begin {
            Some(begin) => part(head, column, x, begin, &steps.axes[last]),
            None => head.fill(T::zeroed()),
        }
        out = tail;
        column = 0;
        for axis in (0..last).rev() {
            row[axis] += 1;
            if row[axis] < steps.axes[axis].extent {
                break;
            }
            row[axis] = 0;
        }
    }
}

/// Writes a part of a row from `column` on, whose first source value is at `begin`.
fn part<T: Pod>(out: &mut [T], column: usize, x: &[T], begin: i64, axis: &Walk) {
    let Walk {
        there, apart, step, ..
    } = axis;
    let end = column + out.len();
    let from = there.start.clamp(column, end);
    let to = there.end.clamp(from, end);
    out[..from - column].fill(T::zeroed());
    out[to - column..].fill(T::zeroed());
    let some = &mut out[from - column..to - column];
    // The next index with a source value.
    let before = (from - there.start.min(from)).div_ceil(*apart);
    let next = before.saturating_mul(*apart).saturating_add(there.start);
    if next >= to {
        return some.fill(T::zeroed());
    }
    let first = begin + step * before as i64;
    match (step, apart) {
        (1, 1) => some.copy_from_slice(&x[first as usize..][..some.len()]),
        (0, 1) => some.fill(x[first as usize]),
        _ => {
            if *apart > 1 {
                some.fill(T::zeroed());
            }
            let mut at = first;
            for value in some[next - from..].iter_mut().step_by(*apart) {
                *value = x[at as usize];
                // A step that wraps leads to no value.
                at = at.wrapping_add(*step);
            }
        }
    }
}
