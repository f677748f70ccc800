//! Elementwise combination on the CPU: each row has up to three runs, with two operands, one and none.

use super::Ambient;
use crate::ops::{Arithmetic, par_tiles};
use crate::plan::CpuArgs;
use crate::ragged::MAX_RANK;

const SUB: u32 = Ambient::Sub as u32;
const HADAMARD: u32 = Ambient::Hadamard as u32;

/// The operation with number `OP`, for every pair.
pub(super) fn combine<T: Arithmetic, const OP: u32>(args: &mut CpuArgs<'_>) {
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    let output = &mut args.outputs[0];
    let c: &mut [T] = bytemuck::cast_slice_mut(output.words);
    let rank = output.layout.rank();
    par_tiles(output.layout.offsets(), c, |element, within, out| {
        let (i, j) = pairs.get(element);
        let x = &a[a_layout.offsets().range(i)];
        let y = &b[b_layout.offsets().range(j)];
        if rank == 1 || a_layout.shape(i) == b_layout.shape(j) {
            combine_rows::<T, OP>(out, within.start, x, y);
        } else {
            let (shape, x_shape, y_shape) = (
                output.layout.shape(element),
                a_layout.shape(i),
                b_layout.shape(j),
            );
            combine_boxes::<T, OP>(
                out,
                within.start,
                shape.extents(),
                (x, x_shape.extents()),
                (y, y_shape.extents()),
            );
        }
    });
}

/// `out[k] = x[from + k] ∘ y[from + k]`, in three runs: both operands present, one present, none.
fn combine_rows<T: Arithmetic, const OP: u32>(out: &mut [T], from: usize, x: &[T], y: &[T]) {
    let combine = |x: T, y: T| match OP {
        SUB => x.minus(y),
        HADAMARD => x.times(y),
        _ => x.plus(y),
    };
    let mut x = x.get(from..).unwrap_or(&[]);
    let mut y = y.get(from..).unwrap_or(&[]);
    let both = x.len().min(y.len()).min(out.len());
    if OP == HADAMARD {
        // Unpaired values are not read: a NaN times a missing zero is zero.
        (x, y) = (&x[..both], &y[..both]);
    }
    let (head, tail) = out.split_at_mut(both);
    for ((o, &x), &y) in head.iter_mut().zip(x).zip(y) {
        *o = combine(x, y);
    }
    let (x, y) = (&x[both..], &y[both..]);
    let one = x.len().max(y.len()).min(tail.len());
    let (one, none) = tail.split_at_mut(one);
    if x.len() > y.len() {
        for (o, &x) in one.iter_mut().zip(x) {
            *o = combine(x, T::default());
        }
    } else {
        for (o, &y) in one.iter_mut().zip(y) {
            *o = combine(T::default(), y);
        }
    }
    none.fill(T::default());
}

/// The same for boxes, row by row along the last axis.
fn combine_boxes<T: Arithmetic, const OP: u32>(
    out: &mut [T],
    from: usize,
    extents: &[u32],
    (x, x_extents): (&[T], &[u32]),
    (y, y_extents): (&[T], &[u32]),
) {
    let last = extents.len() - 1;
    let width = extents[last] as usize;
    let mut out = out;
    let mut at = from;
    while !out.is_empty() {
        let take = (width - at % width).min(out.len());
        let (head, tail) = out.split_at_mut(take);
        let row = at / width;
        let x_row = row_of(row, extents, &[0; MAX_RANK], x_extents, x);
        let y_row = row_of(row, extents, &[0; MAX_RANK], y_extents, y);
        combine_rows::<T, OP>(head, at % width, x_row, y_row);
        out = tail;
        at += take;
    }
}

/// Row `row` of the ambient box within a smaller box placed at `begins`; empty if the row lies outside.
pub(super) fn row_of<'a, T>(
    row: usize,
    ambient: &[u32],
    begins: &[u32; MAX_RANK],
    extents: &[u32],
    values: &'a [T],
) -> &'a [T] {
    let last = ambient.len() - 1;
    let width = extents[last] as usize;
    let (mut rest, mut at, mut stride) = (row, 0, width);
    for axis in (0..last).rev() {
        // An index before `begins` wraps around, which also counts as outside.
        let along = (rest % ambient[axis] as usize).wrapping_sub(begins[axis] as usize);
        rest /= ambient[axis] as usize;
        if along >= extents[axis] as usize {
            return &[];
        }
        at += along * stride;
        stride *= extents[axis] as usize;
    }
    values.get(at..at + width).unwrap_or(&[])
}
