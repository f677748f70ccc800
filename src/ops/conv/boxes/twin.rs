//! The CPU's convolution of boxes, row by row, by the methods of vectors.

use std::ops::Range;

use rayon::prelude::*;

use crate::ops::choice::{Choices, Meeting, Window};
use crate::ops::conv::{self, Engine, Workspace, each_pair};
use crate::ops::kit::{Arithmetic, par_tiles};
use crate::plan::CpuArgs;
use crate::{Error, Result, host};

/// Results of a long direct convolution per parallel task.
const TILE: usize = 1 << 14;
/// The number of rows whose sum is computed before it is added to the total; in [`a_row`], the number of products.
const BLOCK: usize = 128;

/// Convolves every pair directly.
pub(super) fn directly<T: Arithmetic>(
    args: &mut CpuArgs<'_>,
    window: &Window,
    reversed: bool,
) -> Result<()> {
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    let (c, layout) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |pair, within, out| {
        let (i, j) = pairs.get(pair);
        let meeting = window.meeting(a_layout, b_layout, (i, j));
        let a = &a[a_layout.offsets().range(i)];
        let b = &b[b_layout.offsets().range(j)];
        lines(&meeting, (a, b), reversed, within, out)
    })
}

/// Convolves each pair by its own method.
pub(super) fn mixed(
    args: &mut CpuArgs<'_>,
    window: &Window,
    choices: &Choices,
    reversed: bool,
) -> Result<()> {
    each_pair(args, choices, |engine, operands, workspace, out| {
        if out.is_empty() {
            return Ok(());
        }
        let (a, b) = operands.layouts;
        let meeting = window.meeting(a, b, operands.elements);
        if engine.transforms(operands.pair) {
            transformed(
                engine,
                operands.pair,
                &meeting,
                operands.values,
                reversed,
                workspace,
                out,
            )
        } else {
            let tiles = out.par_chunks_mut(TILE).enumerate();
            tiles.try_for_each(|(tile, out)| {
                let within = tile * TILE..tile * TILE + out.len();
                lines(&meeting, operands.values, reversed, within, out)
            })
        }
    })
}

/// Computes the kept results `within` of a pair, line by line.
fn lines<T: Arithmetic>(
    meeting: &Meeting,
    operands: (&[T], &[T]),
    reversed: bool,
    within: Range<usize>,
    mut out: &mut [T],
) -> Result<()> {
    let [_, rows, columns] = meeting.rows().map(|axis| axis.kept as usize);
    let mut at = within.start;
    let mut sums = Vec::new();
    while !out.is_empty() {
        let (line, column) = (at / columns, at % columns);
        let (head, tail) = out.split_at_mut((columns - column).min(out.len()));
        at += head.len();
        out = tail;
        let place = [line / rows, line % rows, column];
        a_line(meeting, operands, reversed, place, &mut sums, head)?;
    }
    Ok(())
}

/// Computes kept results of one line from `place` on, as a sum of convolutions of rows.
fn a_line<T: Arithmetic>(
    meeting: &Meeting,
    (a, b): (&[T], &[T]),
    reversed: bool,
    place: [usize; 3],
    sums: &mut Vec<T>,
    out: &mut [T],
) -> Result<()> {
    let axes = meeting.rows();
    let m = axes.map(|axis| axis.m as usize);
    let n = axes.map(|axis| axis.n as usize);
    let full = [0, 1, 2].map(|k| axes[k].first as usize + axes[k].stride as usize * place[k]);
    let taps = |k: usize| (full[k] + 1).saturating_sub(m[k])..n[k].min(full[k] + 1);
    let row = |t0: usize, t1: usize| {
        let x = ((full[0] - t0) * m[1] + full[1] - t1) * m[2];
        let (u0, u1) = match reversed {
            true => (n[0] - 1 - t0, n[1] - 1 - t1),
            false => (t0, t1),
        };
        (&a[x..x + m[2]], &b[(u0 * n[1] + u1) * n[2]..][..n[2]])
    };
    let stride = axes[2].stride as usize;
    let along = |operands, out: &mut [T]| match stride {
        1 => conv::directly(operands, reversed, full[2]..full[2] + out.len(), out),
        _ => {
            a_row(operands, reversed, full[2], stride, out);
            Ok(())
        }
    };
    if n[0] * n[1] == 1 {
        return along(row(0, 0), out);
    }
    // `block` is the sum of a block of rows, `values` one row.
    host::reserve(sums, (2 * out.len()).saturating_sub(sums.len()))?;
    sums.resize(2 * out.len(), T::default());
    let (block, values) = sums.split_at_mut(out.len());
    out.fill(T::default());
    block.fill(T::default());
    let mut added = 0;
    let add = |to: &mut [T], from: &[T]| {
        to.iter_mut()
            .zip(from)
            .for_each(|(to, &x)| *to = to.plus(x));
    };
    for t0 in taps(0) {
        for t1 in taps(1) {
            along(row(t0, t1), values)?;
            add(block, values);
            added += 1;
            if added == BLOCK {
                added = 0;
                add(out, block);
                block.fill(T::default());
            }
        }
    }
    add(out, block);
    Ok(())
}

/// Computes results `first`, `first + stride`, … of the convolution of two rows.
fn a_row<T: Arithmetic>(
    (x, y): (&[T], &[T]),
    reversed: bool,
    first: usize,
    stride: usize,
    out: &mut [T],
) {
    for (q, out) in out.iter_mut().enumerate() {
        let full = first + q * stride;
        let taps = (full + 1).saturating_sub(x.len())..y.len().min(full + 1);
        // The values of x that the taps are multiplied by, last to first.
        let values = &x[full + 1 - taps.end..full + 1 - taps.start];
        let blocks = values.rchunks(BLOCK).zip(taps.step_by(BLOCK));
        *out = blocks.fold(T::default(), |sum, (values, from)| {
            let taps = from..from + values.len();
            let products = |taps: &mut dyn Iterator<Item = &T>| {
                let both = values.iter().rev().zip(taps);
                both.fold(T::default(), |sum, (&x, &y)| sum.plus(x.times(y)))
            };
            sum.plus(match reversed {
                true => products(&mut y[y.len() - taps.end..y.len() - taps.start].iter().rev()),
                false => products(&mut y[taps].iter()),
            })
        });
    }
}

/// Computes all kept results of a pair from the convolution of the operands as vectors.
fn transformed(
    engine: &Engine<'_>,
    pair: usize,
    meeting: &Meeting,
    (a, b): (&[f32], &[f32]),
    reversed: bool,
    workspace: &mut Workspace,
    out: &mut [f32],
) -> Result<()> {
    let flat = meeting.flat();
    let axes = meeting.rows();
    let begin = |plane: usize, row: usize| plane * flat.plane as usize + row * flat.row as usize;
    let lay_out = |values: &[f32], length: u64, extents: [u32; 3]| {
        let mut vector = host::zeroed::<f32>(length as usize)?;
        let [_, rows, columns] = extents.map(|extent| extent as usize);
        for (line, values) in values.chunks_exact(columns).enumerate() {
            let at = begin(line / rows, line % rows);
            vector[at..at + columns].copy_from_slice(values);
        }
        Ok::<_, Error>(vector)
    };
    let mut whole = host::zeroed((flat.m + flat.n - 1) as usize)?;
    if axes[0].m == 1 && axes[1].m == 1 && axes[0].n == 1 && axes[1].n == 1 {
        engine.convolve(pair, (a, b), reversed, workspace, &mut whole)?;
    } else {
        let x = lay_out(a, flat.m, axes.map(|axis| axis.m))?;
        let y = lay_out(b, flat.n, axes.map(|axis| axis.n))?;
        engine.convolve(pair, (&x, &y), reversed, workspace, &mut whole)?;
    }
    let [_, rows, columns] = axes.map(|axis| axis.kept as usize);
    for (line, out) in out.chunks_exact_mut(columns).enumerate() {
        let at = |k: usize, place: usize| axes[k].first as usize + axes[k].stride as usize * place;
        let kept = &whole[begin(at(0, line / rows), at(1, line % rows)) + axes[2].first as usize..];
        let kept = kept.iter().step_by(axes[2].stride as usize);
        out.iter_mut()
            .zip(kept)
            .for_each(|(out, &value)| *out = value);
    }
    Ok(())
}
