//! Pooling on the CPU.

use std::ops::Range;

use half::f16;

use super::passes::{self, Pass};
use super::{AXES, Kind, Pool, Windows};
use crate::ops::kit::ordered::Keyed;
use crate::ops::kit::par_tiles;
use crate::ops::strided;
use crate::plan::CpuArgs;
use crate::ragged::{DType, Layout, Scalar};
use crate::{Result, host};

pub(super) fn run(args: &mut CpuArgs<'_>, pool: Pool, windows: Windows) -> Result<()> {
    match (pool.kind, pool.dtype) {
        (Kind::Max, DType::F32) => max::<f32>(args, windows),
        (Kind::Max, DType::I32) => max::<i32>(args, windows),
        (Kind::Max, DType::U32) => max::<u32>(args, windows),
        (Kind::Max, DType::F16) => max::<f16>(args, windows),
        (Kind::Place, _) => {
            let first = |top: (i32, u32), next: (i32, u32)| if next.0 > top.0 { next } else { top };
            let part = |x: f32, place: usize| (x.key(), place as u32);
            pooled(args, windows, (i32::MIN, 0), part, first, |top| top.1)
        }
        (Kind::Mean, DType::F32) => mean(args, windows, |x: f32| x, |x| x),
        (Kind::Mean, DType::F16) => mean(args, windows, f16::to_f32, f16::from_f32),
        (Kind::Diff, DType::F32) => diff(args, windows, |x: f32, y| x - y),
        (Kind::Diff, DType::I32) => diff(args, windows, i32::wrapping_sub),
        (Kind::Diff, DType::U32) => diff(args, windows, u32::wrapping_sub),
        (Kind::Diff, DType::F16) => diff(args, windows, |x: f16, y| {
            f16::from_f32(x.to_f32() - y.to_f32())
        }),
        // The methods' bounds exclude other types.
        _ => unreachable!("no pooling"),
    }
}

fn max<T: Keyed>(args: &mut CpuArgs<'_>, windows: Windows) -> Result<()> {
    let key = |x: T, _| x.key();
    pooled(args, windows, T::LOWEST, key, i32::max, T::of_key)
}

/// The mean, computed in f32 from the sums of rows.
fn mean<T: Scalar>(
    args: &mut CpuArgs<'_>,
    windows: Windows,
    wide: fn(T) -> f32,
    narrow: fn(f32) -> T,
) -> Result<()> {
    let count = (windows.extents[0] * windows.extents[1]) as f32;
    let (value, sum) = (|x: T, _| wide(x), |x: f32, y| x + y);
    pooled(args, windows, 0.0, value, sum, |sum| narrow(sum / count))
}

fn diff<T: Scalar>(args: &mut CpuArgs<'_>, windows: Windows, minus: fn(T, T) -> T) -> Result<()> {
    let (x, layout) = args.input::<T>(0);
    let [down, along] = windows.extents.map(|extent| extent - 1);
    each(args, (x, layout), windows, |x, begin, width| {
        minus(x[begin + down * width + along], x[begin])
    });
    Ok(())
}

/// `result` of the parts of every window's values, where `joined` makes one part of two neighbours. A part is that of a
/// value and of its place in the element; `least` joined with another one is that one.
fn pooled<T: Scalar, P: Copy + Send + Sync, R: Scalar>(
    args: &mut CpuArgs<'_>,
    windows: Windows,
    least: P,
    part: impl Fn(T, usize) -> P + Sync,
    joined: impl Fn(P, P) -> P + Sync,
    result: impl Fn(P) -> R + Sync,
) -> Result<()> {
    let (x, layout) = args.input::<T>(0);
    if !windows.in_passes {
        let [rows, columns] = windows.extents;
        each(args, (x, layout), windows, |x, begin, width| {
            let of_row = |row: usize| {
                let begin = begin + row * width;
                let values = x[begin..][..columns].iter().zip(begin..);
                values.fold(least, |all, (&x, place)| joined(all, part(x, place)))
            };
            result((0..rows).fold(least, |all, row| joined(all, of_row(row))))
        });
        return Ok(());
    }
    let mut parts = host::filled(least, x.len())?;
    par_tiles(layout.offsets(), &mut parts, |element, within, out| {
        let x = &x[layout.offsets().range(element)][within.clone()];
        for ((out, &x), place) in out.iter_mut().zip(x).zip(within) {
            *out = part(x, place);
        }
    });
    for (axis, extent) in windows.extents.into_iter().enumerate().rev() {
        if extent > 1 {
            parts = reduced(layout, (parts, least), (axis, extent), &joined)?;
        }
    }
    each(args, (&parts, layout), windows, |parts, begin, _| {
        result(parts[begin])
    });
    Ok(())
}

/// The parts of windows of this extent along an axis, made of single values, or of windows along the other axis.
fn reduced<P: Copy + Send + Sync>(
    layout: &Layout,
    (base, least): (Vec<P>, P),
    (axis, extent): (usize, usize),
    joined: &(impl Fn(P, P) -> P + Sync),
) -> Result<Vec<P>> {
    let [mut parts, mut next] = [Vec::new(), host::filled(least, base.len())?];
    for Pass { covered, singles } in passes::along(extent as u64) {
        let [covered, singles] = [covered, singles].map(|n| n as usize);
        par_tiles(
            layout.offsets(),
            &mut next,
            |element, within, out: &mut [P]| {
                let step = match axis {
                    0 => strided::extent_of(layout, element, layout.rank() - 1) as usize,
                    _ => 1,
                };
                out.fill(least);
                let mut join = |all: &[P], count: usize, first: usize, apart: usize| {
                    let range = layout.offsets().range(element);
                    for k in 0..count {
                        let from = within.start + (first + k * apart) * step;
                        // Beyond the element there is no window.
                        let more = all[range.clone()].get(from..).unwrap_or_default();
                        for (out, &more) in out.iter_mut().zip(more) {
                            *out = joined(*out, more);
                        }
                    }
                };
                if covered > 0 {
                    join(&parts, 4, 0, covered);
                }
                join(&base, singles, 4 * covered, 1);
            },
        );
        (parts, next) = match parts.is_empty() {
            true => (next, host::filled(least, base.len())?),
            false => (next, parts),
        };
    }
    Ok(parts)
}

/// Writes `of(values, begin, width)` for every window, which begins at this index of its element, in rows of `width`
/// values.
fn each<T: Copy + Sync, R: Scalar>(
    args: &mut CpuArgs<'_>,
    (x, x_layout): (&[T], &Layout),
    windows: Windows,
    of: impl Fn(&[T], usize, usize) -> R + Sync,
) {
    let (y, layout) = args.output::<R>(0);
    let strides = windows.strides;
    par_tiles(
        layout.offsets(),
        y,
        |element, within: Range<usize>, mut out: &mut [R]| {
            let x = &x[x_layout.offsets().range(element)];
            // The rows of a plane, and their width.
            let plane = |layout: &Layout| {
                let back = |back: usize| {
                    strided::extent_of(layout, element, layout.rank() - back) as usize
                };
                [if layout.rank() == 1 { 1 } else { back(AXES) }, back(1)]
            };
            let ([x_rows, x_width], [rows, width]) = (plane(x_layout), plane(layout));
            let (mut row, mut column) = (within.start / width, within.start % width);
            while !out.is_empty() {
                let (head, tail) = out.split_at_mut((width - column).min(out.len()));
                let x_row = row / rows * x_rows + row % rows * strides[0];
                for (k, out) in head.iter_mut().enumerate() {
                    *out = of(x, x_row * x_width + (column + k) * strides[1], x_width);
                }
                (out, row, column) = (tail, row + 1, 0);
            }
        },
    );
}
