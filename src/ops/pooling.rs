//! Pooling: the largest value, or the mean, of every window along the last one or two axes; and differences, whose
//! windows are two neighbours.
//!
//! The windows have the positions of a valid correlation, every s-th of them along each axis. They are read in place,
//! and never copied.
//!
//! Cost: one dispatch. The values are read from memory once and the results written once, because windows that share
//! values run at the same time and read them from a cache. Each result takes one operation for each value of its
//! window.

use std::ops::Range;

use half::f16;

use super::ordered::Keyed;
use super::{par_tiles, strided};
use crate::plan::{
    CpuArgs, CpuKernel, Dispatch, Interface, Kernel, Launch, Param, Slot, Variant, params, slots,
    stream_tile,
};
use crate::ragged::{DType, Layout, Scalar};
use crate::{Error, Result};

slots! {
    struct Slots { x: Read, x_meta: Read, c: Write, c_meta: Read }
}

params! {
    struct Params {
        total, elements, tile, x_base, rank, window_rows, window_columns, stride_rows, stride_columns,
    }
}

macro_rules! variants {
    ($($dtype:ident $($flag:literal)+),*) => {
        &[$(Variant::of(DType::$dtype, &[$($flag),+])),*]
    };
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "pooling",
    source: include_str!("../../shaders/pooling.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![
        F32 "MAX", I32 "MAX", U32 "MAX", F16 "MAX", F32 "MAX" "PLACE",
        F32 "MEAN", F16 "MEAN",
        F32 "DIFF", U32 "DIFF", F16 "DIFF"
    ],
};

/// The largest number of axes of a window.
const AXES: usize = 2;
/// Results of a workgroup with large windows, one for each invocation.
const FEW: usize = 256;
/// The number of values from which a window is large.
const LARGE: u64 = 32;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// The largest value. NaN is larger than any number, and −0 is smaller than 0.
    Max,
    /// The index, in its element, of the largest value, or of the first of several, as u32. Only for f32.
    Place,
    Mean,
    /// The last value minus the first.
    Diff,
}

/// One number for each axis of a window, as the caller gave them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Extents {
    /// How many were given, which may be 0 or above [`AXES`].
    given: usize,
    first: [usize; AXES],
}

impl Extents {
    pub(crate) fn new(extents: &[usize]) -> Extents {
        let mut first = [1; AXES];
        let kept = extents.len().min(AXES);
        first[..kept].copy_from_slice(&extents[..kept]);
        Extents {
            given: extents.len(),
            first,
        }
    }

    fn contains_zero(&self) -> bool {
        self.first.contains(&0)
    }

    /// Rows and columns. A window of one axis has one row.
    fn both(&self) -> [u64; AXES] {
        let [a, b] = self.first.map(|extent| extent as u64);
        if self.given == 1 { [1, a] } else { [a, b] }
    }
}

/// Pooling of values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Pool {
    pub kind: Kind,
    pub dtype: DType,
    pub window: Extents,
    /// `None` stands for the window's extents.
    pub strides: Option<Extents>,
}

/// An extent or a stride as a kernel parameter. Numbers that do not fit are longer than any element, so no window has a
/// second position.
fn narrow(extent: u64) -> u32 {
    u32::try_from(extent).unwrap_or(u32::MAX)
}

impl Pool {
    fn op(self) -> &'static str {
        match self.kind {
            Kind::Max | Kind::Place => "max_pool",
            Kind::Mean => "mean_pool",
            Kind::Diff => "diff",
        }
    }

    /// The extents of the window and its strides along an axis of elements of this rank.
    pub(crate) fn along(self, rank: usize, axis: usize) -> (usize, usize) {
        let back = rank - axis;
        if back > self.window.given {
            return (1, 1);
        }
        let of = |extents: Extents| narrow(extents.both()[AXES - back]) as usize;
        (of(self.window), of(self.strides.unwrap_or(self.window)))
    }

    /// The operation that finds the places of the largest values, for values converted to f32.
    pub(crate) fn places(self) -> Pool {
        Pool {
            kind: Kind::Place,
            dtype: DType::F32,
            ..self
        }
    }

    fn check(self, x: &Layout) -> Result<()> {
        let op = self.op();
        let argument = |expected: &str, got: usize| Err(Error::argument(op, expected, got));
        let axes = self.window.given;
        if !(1..=AXES).contains(&axes) {
            return argument("a window of 1 or 2 extents", axes);
        }
        if self.window.contains_zero() {
            return argument("window extents of 1 or more", 0);
        }
        if axes > x.rank() {
            return Err(Error::rank(
                op,
                format!("at least {axes}, as in the window"),
                x.rank(),
            ));
        }
        let Some(strides) = self.strides else {
            return Ok(());
        };
        let wrong = |expected: String, got: usize| Err(Error::Stride { op, expected, got });
        if strides.given != axes {
            let expected = format!("a stride for each axis of the window, {axes} in all");
            return wrong(expected, strides.given);
        }
        match strides.contains_zero() {
            true => wrong("strides of 1 or more".to_owned(), 0),
            false => Ok(()),
        }
    }

    pub(crate) fn launch(self, x: &Layout) -> Result<Launch> {
        self.check(x)?;
        let (op, dtype, rank) = (self.op(), self.dtype, x.rank());
        let window = self.window.both();
        let strides = self.strides.unwrap_or(self.window).both();
        let axes = self.window.given;
        let y = strided::layout(op, x.len(), rank, |element, axis| {
            let extent = strided::extent_of(x, element, axis);
            // The place of the axis among the axes of the window, from the end.
            match rank - axis {
                back if back > axes => extent,
                back => positions(extent, window[AXES - back], strides[AXES - back]),
            }
        })?;
        let total = y.total();
        let values = window[0].saturating_mul(window[1]);
        let tile = match values < LARGE {
            true => stream_tile(total, y.len()),
            false => FEW,
        };
        let cost = values.saturating_mul(total as u64);
        let flags: &[&str] = match self.kind {
            Kind::Max => &["MAX"],
            Kind::Place => &["MAX", "PLACE"],
            Kind::Mean => &["MEAN"],
            Kind::Diff => &["DIFF"],
        };
        let kernel_type = match (self.kind, dtype) {
            // Differences of integers do not depend on the sign.
            (Kind::Diff, DType::I32) => DType::U32,
            _ => dtype,
        };
        let [total_param, elements, tile_param] = [total, y.len(), tile].map(|n| n as u32);
        let number = Param::U32;
        let dispatch = Dispatch::new(
            (&KERNEL, KERNEL.variant(kernel_type, flags)),
            Slots {
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
                c: Slot::Output(0),
                c_meta: Slot::Meta(y.clone()),
            },
            Params {
                total: number(total_param),
                elements: number(elements),
                tile: number(tile_param),
                x_base: Param::InputBase(0),
                rank: number(rank as u32),
                window_rows: number(narrow(window[0])),
                window_columns: number(narrow(window[1])),
                stride_rows: number(narrow(strides[0])),
                stride_columns: number(narrow(strides[1])),
            },
            total.div_ceil(tile) as u32,
            cost,
        );
        let placed = Windows {
            extents: window.map(|extent| narrow(extent) as usize),
            strides: strides.map(|stride| narrow(stride) as usize),
        };
        let twin = CpuKernel::new(move |args| match (self.kind, dtype) {
            (Kind::Max, DType::F32) => max::<f32>(args, placed),
            (Kind::Max, DType::I32) => max::<i32>(args, placed),
            (Kind::Max, DType::U32) => max::<u32>(args, placed),
            (Kind::Max, DType::F16) => max::<f16>(args, placed),
            (Kind::Place, _) => places(args, placed),
            (Kind::Mean, DType::F32) => mean(args, placed, |x: f32| x, |x| x),
            (Kind::Mean, DType::F16) => mean(args, placed, f16::to_f32, f16::from_f32),
            (Kind::Diff, DType::F32) => diff(args, placed, |x: f32, y| x - y),
            (Kind::Diff, DType::I32) => diff(args, placed, i32::wrapping_sub),
            (Kind::Diff, DType::U32) => diff(args, placed, u32::wrapping_sub),
            (Kind::Diff, DType::F16) => diff(args, placed, |x: f16, y| {
                f16::from_f32(x.to_f32() - y.to_f32())
            }),
            // The methods' bounds exclude other types.
            _ => unreachable!("no pooling"),
        });
        let result = match self.kind {
            Kind::Place => DType::U32,
            _ => dtype,
        };
        Ok(Launch::new(op, result, y, dispatch, twin))
    }
}

/// The number of positions of a window along an axis.
fn positions(extent: u64, window: u64, stride: u64) -> u64 {
    match extent.checked_sub(window) {
        Some(rest) => rest / stride + 1,
        None => 0,
    }
}

/// Windows of rows and columns.
#[derive(Clone, Copy)]
struct Windows {
    extents: [usize; AXES],
    strides: [usize; AXES],
}

fn max<T: Keyed>(args: &mut CpuArgs<'_>, windows: Windows) {
    each(args, windows, |rows: Rows<'_, T>| {
        let top = |top: i32, row: &[T]| row.iter().map(|x| x.key()).fold(top, i32::max);
        T::of_key(rows.fold(T::LOWEST, top))
    });
}

fn places(args: &mut CpuArgs<'_>, windows: Windows) {
    each(args, windows, |rows: Rows<'_, f32>| {
        let (mut top, mut place) = (i32::MIN, 0);
        for row in 0..rows.extents[0] {
            let begin = rows.begin + row * rows.width;
            for (k, x) in rows.x[begin..][..rows.extents[1]].iter().enumerate() {
                if x.key() > top {
                    (top, place) = (x.key(), begin + k);
                }
            }
        }
        place as u32
    });
}

/// The mean, computed in f32 from the sums of rows.
fn mean<T: Scalar>(
    args: &mut CpuArgs<'_>,
    windows: Windows,
    wide: fn(T) -> f32,
    narrow: fn(f32) -> T,
) {
    let count = (windows.extents[0] * windows.extents[1]) as f32;
    each(args, windows, |rows: Rows<'_, T>| {
        let row = |sum: f32, row: &[T]| sum + row.iter().fold(0.0, |sum, &x| sum + wide(x));
        narrow(rows.fold(0.0, row) / count)
    });
}

fn diff<T: Scalar>(args: &mut CpuArgs<'_>, windows: Windows, minus: fn(T, T) -> T) {
    each(args, windows, |rows: Rows<'_, T>| {
        let [down, along] = rows.extents.map(|extent| extent - 1);
        let end = rows.begin + down * rows.width + along;
        minus(rows.x[end], rows.x[rows.begin])
    });
}

/// The rows of one window.
struct Rows<'a, T> {
    x: &'a [T],
    begin: usize,
    width: usize,
    extents: [usize; AXES],
}

impl<T> Rows<'_, T> {
    fn fold<A>(&self, first: A, mut with: impl FnMut(A, &[T]) -> A) -> A {
        let mut all = first;
        for row in 0..self.extents[0] {
            all = with(
                all,
                &self.x[self.begin + row * self.width..][..self.extents[1]],
            );
        }
        all
    }
}

/// Writes `of(rows)` for every window.
fn each<T: Scalar, R: Scalar>(
    args: &mut CpuArgs<'_>,
    windows: Windows,
    of: impl Fn(Rows<'_, T>) -> R + Sync,
) {
    let (x, x_layout) = args.input::<T>(0);
    let (y, layout) = args.output::<R>(0);
    let Windows { extents, strides } = windows;
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
                [if layout.rank() == 1 { 1 } else { back(2) }, back(1)]
            };
            let ([x_rows, x_width], [rows, width]) = (plane(x_layout), plane(layout));
            let (mut row, mut column) = (within.start / width, within.start % width);
            while !out.is_empty() {
                let (head, tail) = out.split_at_mut((width - column).min(out.len()));
                let x_row = row / rows * x_rows + row % rows * strides[0];
                for (k, out) in head.iter_mut().enumerate() {
                    *out = of(Rows {
                        x,
                        begin: x_row * x_width + (column + k) * strides[1],
                        width: x_width,
                        extents,
                    });
                }
                (out, row, column) = (tail, row + 1, 0);
            }
        },
    );
}
