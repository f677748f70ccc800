//! twins of value-by-value functions: pairs row by row in three runs (both operands present, one, none), and
//! spread operands chunk by chunk.

use bytemuck::Pod;
use half::f16;
use half::slice::HalfFloatSliceExt;

use super::spread::{FEW, Mode, SHORT, spread};
use super::table::{Function, Missing, Row};
use crate::ops::kit::par_tiles;
use crate::plan::CpuArgs;
use crate::ragged::{DType, MAX_RANK};

/// A traversal of a launch's operands that applies a function from values of one type to values of another.
trait Walk {
    fn two<T: Pod + Send + Sync, R: Pod + Send + Sync>(
        self,
        args: &mut CpuArgs<'_>,
        run: impl Fn(&[T], &[T], &mut [R]) + Sync,
    );
}

/// Runs the traversal with the row's function for values of a type.
fn by_type(args: &mut CpuArgs<'_>, row: &Row, kernel_type: DType, walk: impl Walk) {
    match row.function {
        Function::Float(run) if kernel_type == DType::F16 => walk.two(args, halves(run)),
        Function::FloatMask(run) if kernel_type == DType::F16 => {
            walk.two(args, |x: &[f16], y: &[f16], r: &mut [u32]| {
                in_chunks(x, y, r, run);
            });
        }
        Function::Float(run) => walk.two(args, run),
        Function::I32(run) => walk.two(args, run),
        Function::U32Order(run) if kernel_type == DType::U8 => {
            walk.two(args, |x: &[u8], y: &[u8], r: &mut [u8]| {
                widened(x, y, r, |x, y, r| narrowed(r, |wide| run(x, y, wide)));
            });
        }
        Function::U32Mask(run) if kernel_type == DType::U8 => {
            walk.two(args, |x: &[u8], y: &[u8], r: &mut [u32]| {
                widened(x, y, r, run)
            });
        }
        Function::U32(run) | Function::U32Order(run) | Function::U32Mask(run) => {
            walk.two(args, run)
        }
        Function::FloatMask(run) => walk.two(args, run),
        Function::I32Mask(run) => walk.two(args, run),
        Function::Complex(run) => walk.two(args, run),
        Function::FloatComplex(run) => walk.two(args, run),
        // `combine_spread` handles these itself.
        Function::FloatThree(_) | Function::U32Three(_) | Function::Choice => {}
    }
}

/// A function of halves, computed in f32.
fn halves(run: fn(&[f32], &[f32], &mut [f32])) -> impl Fn(&[f16], &[f16], &mut [f16]) + Sync {
    move |x, y, r| {
        in_chunks(x, y, r, |x, y, r: &mut [f16]| match r.len() <= SHORT {
            true => rounded::<SHORT>(r, |wide| run(x, y, wide)),
            false => rounded::<FEW>(r, |wide| run(x, y, wide)),
        });
    }
}

/// Rounds at most N values that `make` computes in f32.
fn rounded<const N: usize>(r: &mut [f16], make: impl FnOnce(&mut [f32])) {
    let mut wide = [0.0; N];
    let wide = &mut wide[..r.len()];
    make(wide);
    r.convert_from_f32_slice(wide);
}

/// Converts both operands to f32 in chunks that stay in a core's cache.
fn in_chunks<R>(x: &[f16], y: &[f16], r: &mut [R], run: impl FnMut(&[f32], &[f32], &mut [R])) {
    // Short inputs use short buffers, because a buffer is cleared even where it is unused.
    match r.len() <= SHORT {
        true => in_chunks_of::<SHORT, R>(x, y, r, run),
        false => in_chunks_of::<FEW, R>(x, y, r, run),
    }
}

fn in_chunks_of<const N: usize, R>(
    x: &[f16],
    y: &[f16],
    r: &mut [R],
    mut run: impl FnMut(&[f32], &[f32], &mut [R]),
) {
    let (mut left, mut right) = ([0.0; N], [0.0; N]);
    for ((x, y), r) in x.chunks(N).zip(y.chunks(N)).zip(r.chunks_mut(N)) {
        let (left, right) = (&mut left[..x.len()], &mut right[..y.len()]);
        x.convert_to_f32_slice(left);
        y.convert_to_f32_slice(right);
        run(left, right, r);
    }
}

/// Widens both operands to u32, in chunks that stay in a core's cache.
fn widened<R>(x: &[u8], y: &[u8], r: &mut [R], run: impl Fn(&[u32], &[u32], &mut [R])) {
    let (mut left, mut right) = ([0; SHORT], [0; SHORT]);
    for ((x, y), r) in x
        .chunks(SHORT)
        .zip(y.chunks(SHORT))
        .zip(r.chunks_mut(SHORT))
    {
        let (left, right) = (&mut left[..x.len()], &mut right[..y.len()]);
        for (wide, &byte) in left.iter_mut().zip(x).chain(right.iter_mut().zip(y)) {
            *wide = byte.into();
        }
        run(left, right, r);
    }
}

/// Narrows at most SHORT bytes that `make` computes as u32.
fn narrowed(r: &mut [u8], make: impl FnOnce(&mut [u32])) {
    let mut wide = [0; SHORT];
    let wide = &mut wide[..r.len()];
    make(wide);
    for (byte, &wide) in r.iter_mut().zip(&*wide) {
        *byte = wide as u8;
    }
}

/// Computes a row of the table for every pair; `same`: pairs of elements of equal shapes, in order.
pub(super) fn combine(args: &mut CpuArgs<'_>, row: &Row, kernel_type: DType, same: bool) {
    match same {
        true => by_type(args, row, kernel_type, SpreadTwo(&[Mode::Whole; 3])),
        false => by_type(args, row, kernel_type, Ambient(row.missing)),
    }
}

struct Ambient(Missing);

impl Walk for Ambient {
    fn two<T: Pod + Send + Sync, R: Pod + Send + Sync>(
        self,
        args: &mut CpuArgs<'_>,
        run: impl Fn(&[T], &[T], &mut [R]) + Sync,
    ) {
        let (a, a_layout) = args.input::<T>(0);
        let (b, b_layout) = args.input::<T>(1);
        let pairs = args.pairs();
        let (c, layout) = args.output::<R>(0);
        let rank = layout.rank();
        let rows = Rows {
            missing: self.0,
            run,
        };
        par_tiles(layout.offsets(), c, |element, within, out| {
            let (i, j) = pairs.get(element);
            let x = &a[a_layout.offsets().range(i)];
            let y = &b[b_layout.offsets().range(j)];
            if rank == 1 || a_layout.shape(i) == b_layout.shape(j) {
                rows.row(out, within.start, x, y);
            } else {
                let (shape, x_shape, y_shape) =
                    (layout.shape(element), a_layout.shape(i), b_layout.shape(j));
                rows.boxes(
                    out,
                    within.start,
                    shape.extents(),
                    (x, x_shape.extents()),
                    (y, y_shape.extents()),
                );
            }
        });
    }
}

/// A function, and how it treats missing entries.
struct Rows<F> {
    missing: Missing,
    run: F,
}

/// The number of missing entries that are processed at once, as zeros.
const ZEROS: usize = 64;
/// No value has more bytes.
static ZERO_VALUES: [u64; ZEROS] = [0; ZEROS];

impl<F> Rows<F> {
    /// `out[k] = f(x[from + k], y[from + k])`, in three runs: both operands present, one, none.
    fn row<T: Pod, R: Pod>(&self, out: &mut [R], from: usize, x: &[T], y: &[T])
    where
        F: Fn(&[T], &[T], &mut [R]),
    {
        let x = x.get(from..).unwrap_or(&[]);
        let y = y.get(from..).unwrap_or(&[]);
        let both = x.len().min(y.len()).min(out.len());
        let (head, tail) = out.split_at_mut(both);
        if both > 0 {
            (self.run)(&x[..both], &y[..both], head);
        }
        if tail.is_empty() {
            return;
        }
        let (x, y) = (&x[both..], &y[both..]);
        let one = x.len().max(y.len()).min(tail.len());
        let (one, none) = tail.split_at_mut(one);
        match self.missing {
            Missing::Overlap | Missing::Product => {
                one.fill(R::zeroed());
                none.fill(R::zeroed());
            }
            Missing::Alone => {
                let there = if x.len() > y.len() { x } else { y };
                // Functions of this kind return the operands' type.
                one.copy_from_slice(bytemuck::cast_slice(&there[..one.len()]));
                none.fill(R::zeroed());
            }
            Missing::Zero => {
                let zeros: &[T] = &bytemuck::cast_slice(&ZERO_VALUES)[..ZEROS];
                let left = x.len() > y.len();
                let there = if left { x } else { y };
                for (out, there) in one.chunks_mut(ZEROS).zip(there.chunks(ZEROS)) {
                    let (there, zeros) = (&there[..out.len()], &zeros[..out.len()]);
                    match left {
                        true => (self.run)(there, zeros, out),
                        false => (self.run)(zeros, there, out),
                    }
                }
                for out in none.chunks_mut(ZEROS) {
                    (self.run)(&zeros[..out.len()], &zeros[..out.len()], out);
                }
            }
        }
    }

    /// The same for boxes, row by row along the last axis.
    fn boxes<T: Pod, R: Pod>(
        &self,
        out: &mut [R],
        from: usize,
        extents: &[u32],
        (x, x_extents): (&[T], &[u32]),
        (y, y_extents): (&[T], &[u32]),
    ) where
        F: Fn(&[T], &[T], &mut [R]),
    {
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
            self.row(head, at % width, x_row, y_row);
            out = tail;
            at += take;
        }
    }
}

/// Row `row` of the ambient box, in a smaller box that begins at `begins` inside it; empty if the row is outside.
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
        // Before the beginning, the difference wraps around to a value outside.
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

/// Computes a row of the table for operands some of which are spread.
pub(super) fn combine_spread(
    args: &mut CpuArgs<'_>,
    (row, kernel_type): (&Row, DType),
    modes: &[Mode; 3],
) {
    match row.function {
        Function::FloatThree(run) if kernel_type == DType::F16 => {
            spread(args, modes, |x: &[f16], y: &[f16], z: &[f16], r| {
                // `spread` passes at most FEW values.
                let mut third = [0.0; FEW];
                let third = &mut third[..r.len()];
                z.convert_to_f32_slice(third);
                in_chunks(x, y, r, |x, y, r: &mut [f16]| {
                    rounded::<FEW>(r, |wide| run(x, y, third, wide));
                });
            });
        }
        Function::FloatThree(run) => spread(args, modes, run),
        Function::U32Three(run) => spread(args, modes, run),
        Function::Choice if kernel_type == DType::F16 => spread(args, modes, choose::<u16>),
        Function::Choice if kernel_type == DType::U8 => spread(args, modes, choose::<u8>),
        Function::Choice => spread(args, modes, choose::<u32>),
        _ => by_type(args, row, kernel_type, SpreadTwo(modes)),
    }
}

/// `x` where the mask is not 0, and `y` elsewhere.
fn choose<T: Copy>(mask: &[u32], x: &[T], y: &[T], r: &mut [T]) {
    for (((r, &mask), &x), &y) in r.iter_mut().zip(mask).zip(x).zip(y) {
        *r = if mask != 0 { x } else { y };
    }
}

struct SpreadTwo<'a>(&'a [Mode; 3]);

impl Walk for SpreadTwo<'_> {
    fn two<T: Pod + Send + Sync, R: Pod + Send + Sync>(
        self,
        args: &mut CpuArgs<'_>,
        run: impl Fn(&[T], &[T], &mut [R]) + Sync,
    ) {
        spread(args, self.0, |x: &[T], y: &[T], _: &[T], r: &mut [R]| {
            run(x, y, r);
        });
    }
}
