//! The reductions on the CPU: tiles of 512 values in 16 lanes, combined pairwise by halving.

use std::ops::Range;

use half::f16;

use super::boxes::{bounds, minimal};
use super::tree::{TILE, tree};
use super::{PairReduction, Reduction};
use crate::ops::kit::ordered::Keyed;
use crate::ops::kit::par_elements;
use crate::ops::kit::{Arithmetic, twin_of};
use crate::plan::CpuArgs;
use crate::ragged::{DType, Layout, Scalar, Shape};

type Twin = fn(&mut CpuArgs<'_>);

pub(super) fn of(reduction: Reduction, dtype: DType) -> Twin {
    match reduction {
        Reduction::Sum => twin_of!(dtype, sum),
        Reduction::Norm1 => twin_of!(dtype, norm1),
        Reduction::Norm2 => norm2,
        Reduction::Box if dtype == DType::F16 => minimal::<f16>,
        Reduction::Box => twin_of!(dtype, minimal),
        Reduction::Bounds => bounds,
        Reduction::Max => twin_of!(dtype, max),
        Reduction::ArgMax => twin_of!(dtype, argmax),
        Reduction::Min => twin_of!(dtype, min),
        Reduction::ArgMin => twin_of!(dtype, argmin),
        Reduction::Product | Reduction::NormMax | Reduction::Any | Reduction::All => {
            unreachable!("reduced by lines")
        }
    }
}

pub(super) fn of_pairs(reduction: PairReduction, dtype: DType) -> Twin {
    match reduction {
        PairReduction::Dot => twin_of!(dtype, dot),
        PairReduction::Equivalent => twin_of!(dtype, equivalent),
    }
}

/// Independent partial sums in a tile.
const LANES: usize = 16;

/// Writes `body(i)` for every element, or pair, `i` of the result.
fn each<U: Scalar>(args: &mut CpuArgs<'_>, values: usize, body: impl Fn(usize) -> U + Sync) {
    let results: &mut [U] = bytemuck::cast_slice_mut(args.outputs[0].words);
    let cost = values / results.len().max(1);
    par_elements(results, cost, |i, result| *result = body(i));
}

/// Sums the lanes by halving.
fn fold<T: Arithmetic>(mut lanes: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = lanes[l].plus(lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

fn sum<T: Arithmetic>(args: &mut CpuArgs<'_>) {
    sum_of(args, |x: T| x);
}

fn norm1<T: Arithmetic>(args: &mut CpuArgs<'_>) {
    sum_of(args, T::magnitude);
}

/// Sums `term(value)` over every element.
fn sum_of<T: Arithmetic>(args: &mut CpuArgs<'_>, term: impl Fn(T) -> T + Copy + Sync) {
    let (x, layout) = args.input::<T>(0);
    each(args, layout.total(), |i| {
        let row = &x[layout.offsets().range(i)];
        tree(row.len(), &|tile| sum_tile(&row[tile], term), &T::plus)
    });
}

fn sum_tile<T: Arithmetic>(x: &[T], term: impl Fn(T) -> T) -> T {
    let mut lanes = [T::default(); LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = lane.plus(term(x));
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = lane.plus(term(x));
    }
    fold(lanes)
}

fn dot_tile<T: Arithmetic>(x: &[T], y: &[T]) -> T {
    let mut lanes = [T::default(); LANES];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in xs.iter().zip(ys) {
        for (lane, (&x, &y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
            *lane = lane.plus(x.times(y));
        }
    }
    for (lane, (&x, &y)) in lanes.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *lane = lane.plus(x.times(y));
    }
    fold(lanes)
}

fn dot<T: Arithmetic>(args: &mut CpuArgs<'_>) {
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    // Counts an average left element for each pair.
    let values = a_layout.total().saturating_mul(pairs.len()) / a_layout.len().max(1);
    each(args, values, |p| {
        let (i, j) = pairs.get(p);
        let x = &a[a_layout.offsets().range(i)];
        let y = &b[b_layout.offsets().range(j)];
        let (x_shape, y_shape) = (a_layout.shape(i), b_layout.shape(j));
        if x_shape.rank() == 1 || x_shape == y_shape {
            let size = x.len().min(y.len());
            let tile = |r: Range<usize>| dot_tile(&x[r.clone()], &y[r]);
            return tree(size, &tile, &T::plus);
        }
        let both = Both::new(&x_shape, &y_shape);
        let tile = |r: Range<usize>| {
            let mut gathered = [[T::default(); TILE]; 2];
            let [xs, ys] = &mut gathered;
            let count = both.gather(r, (x, xs), (y, ys));
            dot_tile(&xs[..count], &ys[..count])
        };
        tree(both.size(), &tile, &T::plus)
    });
}

/// The intersection of two boxes.
struct Both<'a> {
    extents: Vec<u32>,
    x: &'a [u32],
    y: &'a [u32],
}

impl<'a> Both<'a> {
    fn new(x: &'a Shape, y: &'a Shape) -> Both<'a> {
        let both = x.extents().iter().zip(y.extents());
        Both {
            extents: both.map(|(m, n)| *m.min(n)).collect(),
            x: x.extents(),
            y: y.extents(),
        }
    }

    fn size(&self) -> usize {
        // The size of a nonempty operand fits 32 bits, and so does that of a box inside it. If an extent is 0, the
        // product is 0, whether or not it wraps.
        self.extents.iter().copied().fold(1, u32::wrapping_mul) as usize
    }

    /// Copies the values `range` of the intersection, in row-major order, out of both; returns their number.
    fn gather<T: Copy>(
        &self,
        range: Range<usize>,
        (x, xs): (&[T], &mut [T]),
        (y, ys): (&[T], &mut [T]),
    ) -> usize {
        let count = range.len();
        let width = *self.extents.last().unwrap_or(&0) as usize;
        let mut done = 0;
        while done < count {
            let (row, column) = ((range.start + done) / width, (range.start + done) % width);
            let take = (width - column).min(count - done);
            let (x_at, y_at) = self.row(row);
            xs[done..done + take].copy_from_slice(&x[x_at + column..][..take]);
            ys[done..done + take].copy_from_slice(&y[y_at + column..][..take]);
            done += take;
        }
        count
    }

    /// Where a row of the intersection begins in each box.
    fn row(&self, row: usize) -> (usize, usize) {
        let last = self.extents.len() - 1;
        let mut rest = row;
        let (mut x_at, mut x_stride) = (0, self.x[last] as usize);
        let (mut y_at, mut y_stride) = (0, self.y[last] as usize);
        for axis in (0..last).rev() {
            let along = rest % self.extents[axis] as usize;
            rest /= self.extents[axis] as usize;
            x_at += along * x_stride;
            y_at += along * y_stride;
            x_stride *= self.x[axis] as usize;
            y_stride *= self.y[axis] as usize;
        }
        (x_at, y_at)
    }
}

/// The bits of the largest magnitude, and the sum of the squares after scaling by its power of two.
type Norm = (u32, f32);

const INFINITE: u32 = 0x7f80_0000;

fn norm_exponent(magnitude: u32) -> u32 {
    (magnitude >> 23).max(1)
}

/// The power of two that scales the magnitude into 2 to 4; in range for every exponent.
fn norm_scale(magnitude: u32) -> f32 {
    f32::from_bits((255 - norm_exponent(magnitude)) << 23)
}

fn norm2(args: &mut CpuArgs<'_>) {
    let (x, layout) = args.input::<f32>(0);
    each(args, 2 * layout.total(), |i| {
        let row = &x[layout.offsets().range(i)];
        norm_result(tree(
            row.len(),
            &|tile| norm_tile(&row[tile]),
            &norm_combine,
        ))
    });
}

fn norm_tile(x: &[f32]) -> Norm {
    let magnitude = |x: &f32| x.to_bits() & 0x7fff_ffff;
    let top = x.iter().map(magnitude).fold(0, u32::max);
    let scale = norm_scale(top);
    let mut lanes = [0.0; LANES];
    let mut add = |chunk: &[f32]| {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            let x = scale * x;
            *lane += x * x;
        }
    };
    let (chunks, rest) = x.as_chunks::<LANES>();
    chunks.iter().for_each(|chunk| add(chunk));
    add(rest);
    (top, fold(lanes))
}

fn norm_combine(x: Norm, y: Norm) -> Norm {
    let (high, low) = if x.0 < y.0 { (y, x) } else { (x, y) };
    let apart = norm_exponent(high.0) - norm_exponent(low.0);
    // 2 to the power of -2 · `apart`; below the smallest normal number the smaller sum contributes nothing.
    let scale = match apart {
        0..=63 => f32::from_bits((127 - 2 * apart) << 23),
        _ => 0.0,
    };
    (high.0, high.1 + low.1 * scale)
}

fn norm_result((top, squares): Norm) -> f32 {
    // If the magnitude is infinite or NaN, so is the norm, and the sum is meaningless.
    match top {
        0 => 0.0,
        INFINITE => f32::INFINITY,
        nan if nan > INFINITE => f32::NAN,
        _ => 0.5 * squares.sqrt() * f32::from_bits(norm_exponent(top) << 23),
    }
}

fn max<T: Keyed>(args: &mut CpuArgs<'_>) {
    highest(args, T::highest_key, T::of_key);
}

fn min<T: Keyed>(args: &mut CpuArgs<'_>) {
    highest(args, T::highest_reversed_key, T::of_reversed_key);
}

/// The value with the highest key.
fn highest<T: Keyed>(
    args: &mut CpuArgs<'_>,
    highest_key: impl Fn(&[T]) -> i32 + Sync,
    of_key: impl Fn(i32) -> T + Sync,
) {
    let (x, layout) = args.input::<T>(0);
    each(args, layout.total(), |i| {
        let row = &x[layout.offsets().range(i)];
        of_key(tree(row.len(), &|tile| highest_key(&row[tile]), &i32::max))
    });
}

fn argmax<T: Keyed>(args: &mut CpuArgs<'_>) {
    place_of_highest(args, |x: T| x.canonical().key());
}

fn argmin<T: Keyed>(args: &mut CpuArgs<'_>) {
    place_of_highest(args, |x: T| x.canonical().reversed_key());
}

fn place_of_highest<T: Keyed>(args: &mut CpuArgs<'_>, key: impl Fn(T) -> i32 + Copy + Sync) {
    let (x, layout) = args.input::<T>(0);
    each(args, layout.total(), |i| {
        let row = &x[layout.offsets().range(i)];
        // The largest key and where its tile starts; that tile is scanned again for the index.
        let tile = |tile: Range<usize>| {
            let keys = row[tile.clone()].iter().map(|&x| key(x));
            (keys.fold(i32::MIN, i32::max), tile.start)
        };
        // The left part has the lower indices, so it wins ties.
        let combine = |x: (i32, usize), y: (i32, usize)| if y.0 > x.0 { y } else { x };
        let (top, start) = tree(row.len(), &tile, &combine);
        let first = row[start..].iter().position(|&x| key(x) == top);
        first.map_or(u32::MAX, |first| (start + first) as u32)
    });
}

fn equivalent<T: Arithmetic>(args: &mut CpuArgs<'_>) {
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    let side = |layout: &Layout| layout.total().saturating_mul(pairs.len()) / layout.len().max(1);
    each(args, side(a_layout).saturating_add(side(b_layout)), |p| {
        let (i, j) = pairs.get(p);
        let x = &a[a_layout.offsets().range(i)];
        let y = &b[b_layout.offsets().range(j)];
        let (x_shape, y_shape) = (a_layout.shape(i), b_layout.shape(j));
        let equal = if x_shape.rank() == 1 || x_shape == y_shape {
            equal_rows(x, y)
        } else {
            let (x_extents, y_extents) = (x_shape.extents(), y_shape.extents());
            // Rows that both boxes have must match; rows that only one box has must be zero.
            rows_match(x, x_extents, y, y_extents, equal_rows)
                && rows_match(y, y_extents, x, x_extents, |row, other| {
                    !other.is_empty() || equal_rows(row, &[])
                })
        };
        u32::from(equal)
    });
}

/// Whether both are equal, and the excess of the longer one is zero.
fn equal_rows<T: Arithmetic>(x: &[T], y: &[T]) -> bool {
    let both = x.len().min(y.len());
    let zero = |rest: &[T]| {
        let tile = |tile: Range<usize>| rest[tile].iter().all(|x| *x == T::default());
        tree(rest.len(), &tile, &|x, y| x && y)
    };
    let tile = |tile: Range<usize>| x[tile.clone()] == y[tile];
    tree(both, &tile, &|x, y| x && y) && zero(&x[both..]) && zero(&y[both..])
}

/// Whether `test(row, other's row)` holds for every row of a box; the other's row is empty if it does not exist.
fn rows_match<T>(
    x: &[T],
    x_extents: &[u32],
    y: &[T],
    y_extents: &[u32],
    test: impl Fn(&[T], &[T]) -> bool,
) -> bool {
    let last = x_extents.len() - 1;
    let (width, y_width) = (x_extents[last] as usize, y_extents[last] as usize);
    if x.is_empty() {
        return true;
    }
    x.chunks_exact(width).enumerate().all(|(row, values)| {
        let (mut rest, mut at, mut stride) = (row, 0, y_width);
        let mut inside = !y.is_empty();
        for axis in (0..last).rev() {
            let along = rest % x_extents[axis] as usize;
            rest /= x_extents[axis] as usize;
            inside &= along < y_extents[axis] as usize;
            at += along * stride;
            stride = stride.wrapping_mul(y_extents[axis] as usize);
        }
        test(values, if inside { &y[at..at + y_width] } else { &[] })
    })
}
