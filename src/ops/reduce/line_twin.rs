//! Reductions of lines on the CPU. Sums and products of floats are computed in f64. Where a line is split depends on
//! its length alone.

use std::convert::identity;

use half::f16;
use num_complex::{Complex32, Complex64};

use super::Reduction;
use crate::ops::kit::ordered::Keyed;
use crate::ops::kit::{join, par_chunks};
use crate::ops::lines::Lines;
use crate::plan::CpuArgs;
use crate::ragged::{DType, Scalar, f16_from_f64};

/// Independent accumulators of a contiguous line, which the compiler vectorizes.
const LANES: usize = 16;
/// Adjacent lines that are reduced together if their values are strided.
const TOGETHER: usize = 64;
/// Values of a line that justify a parallel task.
const PART: usize = 1 << 15;

/// A reduction, value by value: `nothing` is the accumulator of no values, `take` adds a value, given with its place in
/// the line, `join` combines two accumulators, and `result` makes the result of one.
#[derive(Clone, Copy)]
struct Fold<A, T, J, R> {
    nothing: A,
    take: T,
    join: J,
    result: R,
}

pub(super) fn run(reduction: Reduction, dtype: DType, axis: Option<usize>, args: &mut CpuArgs<'_>) {
    macro_rules! fold {
        ($type:ty, $nothing:expr, $take:expr, $join:expr, $result:expr) => {
            reduce::<$type, _, _>(
                args,
                axis,
                &Fold {
                    nothing: $nothing,
                    take: $take,
                    join: $join,
                    result: $result,
                },
            )
        };
    }
    // In f64 for floats, in u32 for integers, whose sums and products wrap.
    macro_rules! number {
        ($nothing:literal, $real:expr, $word:expr, $join:expr, $join_words:expr, $result:expr) => {
            match dtype {
                DType::F32 => fold!(
                    f32,
                    $nothing as f64,
                    |a: f64, x: f32, _| $real(a, f64::from(x)),
                    $join,
                    |a: f64| $result(a) as f32
                ),
                DType::F16 => fold!(
                    f16,
                    $nothing as f64,
                    |a: f64, x: f16, _| $real(a, x.to_f64()),
                    $join,
                    |a: f64| f16_from_f64($result(a))
                ),
                _ => {
                    let word = $word;
                    let take = |a: u32, x: u32, _| word(a, x);
                    fold!(u32, $nothing as u32, take, $join_words, identity)
                }
            }
        };
    }
    macro_rules! ordered {
        ($key:ident, $of_key:ident) => {
            match dtype {
                DType::F32 => ordered!(f32, $key, $of_key),
                DType::F16 => ordered!(f16, $key, $of_key),
                DType::I32 => ordered!(i32, $key, $of_key),
                _ => ordered!(u32, $key, $of_key),
            }
        };
        ($type:ty, $key:ident, $of_key:ident) => {
            fold!(
                $type,
                <$type>::LOWEST,
                |a: i32, x: $type, _| a.max(x.$key()),
                i32::max,
                <$type>::$of_key
            )
        };
    }
    macro_rules! place {
        ($key:ident) => {
            match dtype {
                DType::F32 => place!(f32, $key),
                DType::F16 => place!(f16, $key),
                DType::I32 => place!(i32, $key),
                _ => place!(u32, $key),
            }
        };
        ($type:ty, $key:ident) => {
            fold!(
                $type,
                (i32::MIN, u32::MAX),
                |a, x: $type, i| first_highest(a, (x.canonical().$key(), i)),
                first_highest,
                |(_, i): (i32, u32)| i
            )
        };
    }
    match reduction {
        Reduction::Sum if dtype == DType::C32 => fold!(
            Complex32,
            Complex64::default(),
            |a: Complex64, x: Complex32, _| a + Complex64::new(x.re.into(), x.im.into()),
            |a, b| a + b,
            |a: Complex64| Complex32::new(a.re as f32, a.im as f32)
        ),
        Reduction::Sum => number!(
            0,
            plus,
            u32::wrapping_add,
            plus,
            u32::wrapping_add,
            identity
        ),
        Reduction::Norm1 => number!(
            0,
            plus_size,
            |a: u32, x: u32| a.wrapping_add(magnitude(dtype, x)),
            plus,
            u32::wrapping_add,
            identity
        ),
        Reduction::Product => number!(
            1,
            times,
            u32::wrapping_mul,
            times,
            u32::wrapping_mul,
            identity
        ),
        // There is no norm2 of integers.
        Reduction::Norm2 => number!(
            0,
            plus_square,
            u32::wrapping_add,
            plus,
            u32::wrapping_add,
            f64::sqrt
        ),
        Reduction::NormMax => match dtype {
            DType::F16 => fold!(
                u16,
                0,
                |a: u16, x: u16, _| a.max(x & 0x7fff),
                u16::max,
                f16::from_bits
            ),
            _ => fold!(
                u32,
                0,
                |a: u32, x: u32, _| a.max(magnitude(dtype, x)),
                u32::max,
                identity
            ),
        },
        Reduction::Max => ordered!(key, of_key),
        Reduction::Min => ordered!(reversed_key, of_reversed_key),
        Reduction::ArgMax => place!(key),
        Reduction::ArgMin => place!(reversed_key),
        Reduction::Any => fold!(
            u32,
            0,
            |a: u32, x: u32, _| a | u32::from(x != 0),
            |a, b| a | b,
            identity
        ),
        Reduction::All => fold!(
            u32,
            1,
            |a: u32, x: u32, _| a & u32::from(x != 0),
            |a, b| a & b,
            identity
        ),
        Reduction::Box | Reduction::Bounds => unreachable!("a box is not reduced by lines"),
    }
}

fn plus(a: f64, x: f64) -> f64 {
    a + x
}

fn plus_size(a: f64, x: f64) -> f64 {
    a + x.abs()
}

fn plus_square(a: f64, x: f64) -> f64 {
    a + x * x
}

fn times(a: f64, x: f64) -> f64 {
    a * x
}

/// The magnitude of a value of one word, as bits.
fn magnitude(dtype: DType, bits: u32) -> u32 {
    match dtype {
        DType::F32 => bits & 0x7fff_ffff,
        DType::I32 => (bits as i32).unsigned_abs(),
        _ => bits,
    }
}

/// The higher key, or of equal keys the one that comes first.
fn first_highest(a: (i32, u32), b: (i32, u32)) -> (i32, u32) {
    match b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) {
        true => b,
        false => a,
    }
}

fn reduce<T, A, R>(
    args: &mut CpuArgs<'_>,
    axis: Option<usize>,
    fold: &Fold<
        A,
        impl Fn(A, T, u32) -> A + Copy + Sync,
        impl Fn(A, A) -> A + Copy + Sync,
        impl Fn(A) -> R + Copy + Sync,
    >,
) where
    T: bytemuck::Pod + Sync,
    A: Copy + Send + Sync,
    R: Scalar,
{
    let (x, layout) = args.input::<T>(0);
    let output = &mut args.outputs[0];
    let ends = output.layout.offsets().as_slice();
    let out: &mut [R] = bytemuck::cast_slice_mut(output.words);
    // The last word may hold one extra half.
    let out = &mut out[..output.layout.total()];
    let average = x.len() / out.len().max(1);
    let fewest = match Lines::are_contiguous(layout, axis) {
        true => 1,
        false => TOGETHER,
    };
    let chunk = (PART / average.max(1)).max(fewest);
    // The body never fails.
    let _ = par_chunks(out, chunk, 1, &|begin, mut out| {
        let mut place = begin;
        let mut element = ends.partition_point(|&end| end as usize <= place) - 1;
        while !out.is_empty() {
            let within = (ends[element] as usize, ends[element + 1] as usize);
            let x = &x[layout.offsets().range(element)];
            let Lines { values, step, .. } = Lines::of(layout, element, axis);
            while place < within.1 && !out.is_empty() {
                let line = place - within.0;
                let (block, column) = (line / step, line % step);
                let x = &x[block * values * step..][..values * step];
                let count = match step {
                    1 => 1,
                    _ => (step - column).min(out.len()).min(TOGETHER),
                };
                let (head, tail) = out.split_at_mut(count);
                match step {
                    1 => head[0] = (fold.result)(contiguous(fold, x, 0)),
                    _ => {
                        let parts = strided(fold, x, (step, column, count), 0..values);
                        for (out, part) in head.iter_mut().zip(parts) {
                            *out = (fold.result)(part);
                        }
                    }
                }
                place += count;
                out = tail;
            }
            element += 1;
        }
        Ok(())
    });
}

/// Reduces a contiguous line, or a part of it that begins at `first`.
fn contiguous<T: Copy + Sync, A: Copy + Send + Sync, R>(
    fold: &Fold<
        A,
        impl Fn(A, T, u32) -> A + Copy + Sync,
        impl Fn(A, A) -> A + Copy + Sync,
        impl Fn(A) -> R + Copy + Sync,
    >,
    x: &[T],
    first: usize,
) -> A {
    if x.len() > PART {
        let middle = x.len().div_ceil(PART) / 2 * PART;
        let (left, right) = x.split_at(middle);
        let (left, right) = join(
            || contiguous(fold, left, first),
            || contiguous(fold, right, first + middle),
        );
        return (fold.join)(left, right);
    }
    let take = |part: A, (i, &x): (usize, &T)| (fold.take)(part, x, (first + i) as u32);
    if x.len() < 2 * LANES {
        return x.iter().enumerate().fold(fold.nothing, take);
    }
    let mut lanes = [fold.nothing; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for (number, chunk) in chunks.iter().enumerate() {
        for (i, (lane, x)) in lanes.iter_mut().zip(chunk).enumerate() {
            *lane = take(*lane, (number * LANES + i, x));
        }
    }
    let rest = rest.iter().enumerate();
    let last = rest.fold(fold.nothing, |part, (i, x)| {
        take(part, (chunks.len() * LANES + i, x))
    });
    lanes.into_iter().fold(last, fold.join)
}

/// Reduces `count` adjacent lines from column `column` of a matrix with rows of `step` values.
fn strided<T: Copy + Sync, A: Copy + Send + Sync, R>(
    fold: &Fold<
        A,
        impl Fn(A, T, u32) -> A + Copy + Sync,
        impl Fn(A, A) -> A + Copy + Sync,
        impl Fn(A) -> R + Copy + Sync,
    >,
    x: &[T],
    (step, column, count): (usize, usize, usize),
    rows: std::ops::Range<usize>,
) -> [A; TOGETHER] {
    let columns = (step, column, count);
    if rows.len() > PART {
        let middle = rows.start + rows.len().div_ceil(PART) / 2 * PART;
        let (mut left, right) = join(
            || strided(fold, x, columns, rows.start..middle),
            || strided(fold, x, columns, middle..rows.end),
        );
        for (left, right) in left.iter_mut().zip(right) {
            *left = (fold.join)(*left, right);
        }
        return left;
    }
    let mut parts = [fold.nothing; TOGETHER];
    for row in rows {
        let values = &x[row * step + column..][..count];
        for (part, &x) in parts.iter_mut().zip(values) {
            *part = (fold.take)(*part, x, row as u32);
        }
    }
    parts
}
