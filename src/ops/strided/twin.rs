//! The strided copies on the CPU, row by row.

use std::ops::Range;

use bytemuck::Pod;

use super::{Merged, Reading};
use crate::ops::par_tiles;
use crate::plan::CpuArgs;
use crate::ragged::{DType, Layout, MAX_RANK};

type Made = Box<dyn Fn(&mut CpuArgs<'_>) + Send + Sync>;

/// The CPU kernel for values of this type, of which only the size matters.
pub(super) fn of(dtype: DType, merged: Merged) -> Made {
    match dtype {
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
        let axis = reading.axes[0];
        if axis.backwards {
            let x = &x[x.len() - within.end..x.len() - within.start];
            let back = out.iter_mut().zip(x.iter().rev());
            back.for_each(|(out, &value)| *out = value);
        } else {
            let width = match y_layout.rank() {
                1 => 1,
                _ => i64::from(y_layout.extents()[2 * element + 1]),
            };
            let shift = axis.shift.saturating_mul(width);
            run(out, shift.saturating_add(within.start as i64), x);
        }
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

/// How one element is read, for each axis of the result.
struct Steps {
    rank: usize,
    /// Where the result's first value is read; possibly outside the source.
    begin: i64,
    /// (extent, indices that have a source value, step in the source)
    axes: [(usize, Range<usize>, i64); MAX_RANK],
}

impl Steps {
    fn new(
        reading: &Reading,
        (x, from): (&Layout, usize),
        (y, element): (&Layout, usize),
    ) -> Steps {
        let (x, y) = (x.shape(from), y.shape(element));
        let mut steps = Steps {
            rank: x.rank(),
            begin: 0,
            axes: [const { (0, 0..0, 0) }; MAX_RANK],
        };
        let mut stride = 1i64;
        for (axis, &there) in reading.axes.iter().zip(x.extents()).rev() {
            let there = i64::from(there);
            let extent = i64::from(y.extents()[axis.along]);
            let (mut first, mut step) = (0, stride);
            let mut end = extent;
            if let Some(cut) = axis.cut {
                // A cut without values may begin anywhere.
                steps.begin = steps
                    .begin
                    .saturating_add(cut.first(there).saturating_mul(stride));
                step = stride.saturating_mul(cut.step);
            } else if axis.backwards {
                steps.begin += (there - 1).max(0) * stride;
                step = -stride;
            } else if there == 1 && reading.repeat {
                step = 0;
            } else {
                first = (-axis.shift).clamp(0, extent);
                end = (there - axis.shift).clamp(first, extent);
                steps.begin = steps
                    .begin
                    .saturating_add(axis.shift.saturating_mul(stride));
            }
            steps.axes[axis.along] = (extent as usize, first as usize..end as usize, step);
            stride = stride.saturating_mul(there);
        }
        steps
    }
}

/// Writes values `within` of an element, row by row.
fn boxes<T: Pod>(mut out: &mut [T], within: Range<usize>, x: &[T], steps: &Steps) {
    let last = steps.rank - 1;
    let (width, there, step) = &steps.axes[last];
    // The row, as indices along the other axes.
    let mut row = [0; MAX_RANK];
    let mut rest = within.start / width;
    for axis in (0..last).rev() {
        let extent = steps.axes[axis].0;
        (row[axis], rest) = (rest % extent, rest / extent);
    }
    let mut column = within.start % width;
    while !out.is_empty() {
        let (head, tail) = out.split_at_mut((width - column).min(out.len()));
        let outer = steps.axes[..last].iter().zip(&row);
        if outer.clone().all(|((_, there, _), k)| there.contains(k)) {
            let along = |(axis, k): (&(usize, Range<usize>, i64), &usize)| axis.2 * *k as i64;
            let begin = steps.begin + outer.map(along).sum::<i64>();
            let end = column + head.len();
            let from = there.start.clamp(column, end);
            let to = there.end.clamp(from, end);
            head[..from - column].fill(T::zeroed());
            head[to - column..].fill(T::zeroed());
            let some = &mut head[from - column..to - column];
            if !some.is_empty() {
                let first = begin + step * from as i64;
                match step {
                    1 => some.copy_from_slice(&x[first as usize..][..some.len()]),
                    0 => some.fill(x[first as usize]),
                    _ => {
                        let mut at = first;
                        for value in some {
                            *value = x[at as usize];
                            // A far step leads to no value.
                            at = at.wrapping_add(*step);
                        }
                    }
                }
            }
        } else {
            head.fill(T::zeroed());
        }
        out = tail;
        column = 0;
        for axis in (0..last).rev() {
            row[axis] += 1;
            if row[axis] < steps.axes[axis].0 {
                break;
            }
            row[axis] = 0;
        }
    }
}
