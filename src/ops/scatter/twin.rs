//! The sums on the CPU, in the same order as the kernel.

use std::ops::Range;
use std::sync::OnceLock;

use half::f16;
use rayon::prelude::*;

use super::{FAN, Tables};
use crate::ops::{Arithmetic, par_tiles};
use crate::plan::CpuArgs;
use crate::{Result, host};

const OP: &str = "scatter_add";
/// The largest number of values of an element that fits a cache. The sums of such an element are accumulated in the
/// order of the sources.
const NEAR: usize = 1 << 16;
/// The largest number of sources that are summed in a single chain.
const CHAIN: u32 = 8;

/// The sources of every element in memory order, each with its row in the element, or `u32::MAX` for a row with more
/// than `CHAIN` sources. Only the CPU needs them, so they are built when it first runs.
pub(super) type BySource = OnceLock<Vec<[u32; 2]>>;

pub(super) fn add_up<T: Arithmetic + Term<Sum = T>>(
    args: &mut CpuArgs<'_>,
    tables: &Tables,
    by_source: &BySource,
) -> Result<()> {
    let (y, _) = args.input::<T>(0);
    let (c, layout) = args.output::<T>(0);
    let offsets = layout.offsets();
    let [elements, starts, sources] =
        [&tables.elements, &tables.starts, &tables.sources].map(|words| words.data());
    let rows = Rows { y, starts, sources };
    let element_of = |i: usize| {
        let [first, width] = [0, 1].map(|k| elements[2 * i + k] as usize);
        let size = offsets.length(i);
        (first, width, size, size / width.max(1))
    };
    let by_source = match by_source.get() {
        Some(made) => made,
        None => {
            let elements = (0..offsets.len()).map(|i| {
                let (first, _, size, rows) = element_of(i);
                (first, rows, size <= NEAR)
            });
            let made = rows.by_source(elements)?;
            by_source.get_or_init(|| made)
        }
    };
    par_tiles(offsets, c, |element, within, out| {
        let (first, width, size, count) = element_of(element);
        let (row, k) = (first + within.start / width, within.start % width);
        if size > NEAR {
            return rows.put(row, k, width, out);
        }
        // The first and the last row may extend into other tiles.
        let begun = ((width - k) % width).min(out.len());
        let (begun, whole) = out.split_at_mut(begun);
        rows.put(row, k, width, begun);
        let row = row + usize::from(k > 0);
        let (whole, ended) = whole.split_at_mut(whole.len() / width * width);
        rows.put(row + whole.len() / width, 0, width, ended);
        let all = starts[first] as usize..starts[first + count] as usize;
        rows.put_near(row, first, width, &by_source[all], whole);
    });
    Ok(())
}

/// The same with halves, which are summed in f32 and rounded once.
pub(super) fn add_halves(
    args: &mut CpuArgs<'_>,
    tables: &Tables,
    _by_source: &BySource,
) -> Result<()> {
    let (y, _) = args.input::<f16>(0);
    let output = &mut args.outputs[0];
    let offsets = output.layout.offsets();
    let c: &mut [f16] = bytemuck::cast_slice_mut(output.words);
    // The last word may hold one extra half.
    let c = &mut c[..output.layout.total()];
    let [elements, starts, sources] =
        [&tables.elements, &tables.starts, &tables.sources].map(|words| words.data());
    let rows = Rows { y, starts, sources };
    par_tiles(offsets, c, |element, within, mut out| {
        let [first, width] = [0, 1].map(|k| elements[2 * element + k] as usize);
        let (mut row, mut k) = (first + within.start / width, within.start % width);
        while !out.is_empty() {
            let (part, rest) = out.split_at_mut((width - k).min(out.len()));
            match rows.of(row) {
                [] => part.fill(f16::ZERO),
                sources => Sum { y, sources }.put(k, part),
            }
            (row, k) = (row + 1, 0);
            out = rest;
        }
        Ok(())
    })
}

/// A type of values, and the type in which they are summed.
pub(super) trait Term: Copy {
    type Sum: Arithmetic;
    fn wide(self) -> Self::Sum;
    fn narrow(sum: Self::Sum) -> Self;
}

impl Term for f16 {
    type Sum = f32;

    fn wide(self) -> f32 {
        self.to_f32()
    }

    fn narrow(sum: f32) -> f16 {
        f16::from_f32(sum)
    }
}

macro_rules! as_they_are {
    ($($t:ty),*) => {$(
        impl Term for $t {
            type Sum = $t;

            fn wide(self) -> $t {
                self
            }

            fn narrow(sum: $t) -> $t {
                sum
            }
        }
    )*};
}
as_they_are!(f32, i32, u32);

/// The source lists of all rows, and the values that they refer to.
struct Rows<'a, T> {
    y: &'a [T],
    starts: &'a [u32],
    sources: &'a [u32],
}

impl<T> Rows<'_, T> {
    fn of(&self, row: usize) -> &[u32] {
        &self.sources[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

impl<T: Arithmetic + Term<Sum = T>> Rows<'_, T> {
    /// Builds [`BySource`] for elements given as (first row, rows, whether a cache holds them).
    fn by_source(
        &self,
        elements: impl Iterator<Item = (usize, usize, bool)>,
    ) -> Result<Vec<[u32; 2]>> {
        let mut all = host::zeroed::<[u32; 2]>(OP, self.sources.len())?;
        let mut rest = &mut all[..];
        let mut pieces = Vec::new();
        for (first, rows, near) in elements {
            let count = (self.starts[first + rows] - self.starts[first]) as usize;
            let piece = rest.split_off_mut(..count);
            if let Some(piece) = piece.filter(|_| near && count > 0) {
                host::push(OP, &mut pieces, (first, piece))?;
            }
        }
        pieces.into_par_iter().for_each(|(first, piece)| {
            let (mut row, mut at) = (first, 0);
            while at < piece.len() {
                let sources = self.of(row);
                let named = match sources.len() <= CHAIN as usize {
                    true => (row - first) as u32,
                    false => u32::MAX,
                };
                for &source in sources {
                    piece[at] = [source, named];
                    at += 1;
                }
                row += 1;
            }
            piece.sort_unstable();
        });
        Ok(all)
    }

    /// Writes whole rows from `row` on, of the element that begins with row `first` and has these sources.
    fn put_near(
        &self,
        row: usize,
        first: usize,
        width: usize,
        by_source: &[[u32; 2]],
        out: &mut [T],
    ) {
        let count = (out.len() / width) as u32;
        let skipped = (row - first) as u32;
        out.fill(T::NOTHING);
        if width == 1 {
            for &[source, of] in by_source {
                if let Some(sum) = out.get_mut(of.wrapping_sub(skipped) as usize) {
                    *sum = sum.plus(self.y[source as usize]);
                }
            }
        } else {
            for &[source, of] in by_source {
                let of = of.wrapping_sub(skipped);
                if of < count {
                    let source = &self.y[source as usize..][..width];
                    let sum = &mut out[of as usize * width..][..width];
                    for (sum, &value) in sum.iter_mut().zip(source) {
                        *sum = sum.plus(value);
                    }
                }
            }
        }
        let starts = self.starts[row..=row + count as usize].windows(2);
        for (i, list) in starts.enumerate() {
            match list[1] - list[0] {
                0 => out[i * width..][..width].fill(T::default()),
                1..=CHAIN => {}
                _ => {
                    let sources = self.of(row + i);
                    Sum { y: self.y, sources }.put(0, &mut out[i * width..][..width]);
                }
            }
        }
    }

    /// Writes values of consecutive rows, starting at value k of `row`.
    fn put(&self, mut row: usize, mut k: usize, width: usize, mut out: &mut [T]) {
        let y = self.y;
        while !out.is_empty() {
            let (part, rest) = out.split_at_mut((width - k).min(out.len()));
            match self.of(row) {
                [] => part.fill(T::default()),
                [source, more @ ..] if more.len() < CHAIN as usize => {
                    part.copy_from_slice(&y[*source as usize + k..][..part.len()]);
                    for &source in more {
                        let source = &y[source as usize + k..][..part.len()];
                        for (sum, &value) in part.iter_mut().zip(source) {
                            *sum = sum.plus(value);
                        }
                    }
                }
                sources => Sum { y, sources }.put(k, part),
            }
            (row, k) = (row + 1, 0);
            out = rest;
        }
    }
}

/// Values of a row that are summed together.
const WIDE: usize = 16;

/// One row of the result, summed in the order of the kernel.
struct Sum<'a, T> {
    y: &'a [T],
    sources: &'a [u32],
}

impl<T: Term> Sum<'_, T> {
    /// Writes the values from k on.
    fn put(&self, mut k: usize, out: &mut [T]) {
        let mut chunks = out.chunks_exact_mut(WIDE);
        for chunk in &mut chunks {
            chunk.copy_from_slice(&self.of::<WIDE>(k).map(T::narrow));
            k += WIDE;
        }
        for value in chunks.into_remainder() {
            [*value] = self.of::<1>(k).map(T::narrow);
            k += 1;
        }
    }

    /// Values k .. k + W.
    fn of<const W: usize>(&self, k: usize) -> [T::Sum; W] {
        let mut cuts = 0;
        let mut count = self.sources.len();
        while count > FAN {
            count = count.div_ceil(FAN);
            cuts += 1;
        }
        self.terms(cuts, 0..count, k)
    }

    /// Sums these terms in groups of eight.
    fn terms<const W: usize>(&self, cuts: u32, terms: Range<usize>, k: usize) -> [T::Sum; W] {
        let mut all = [T::Sum::default(); W];
        for first in terms.clone().step_by(8) {
            let mut eight = self.term(cuts, first, k);
            for term in first + 1..(first + 8).min(terms.end) {
                plus(&mut eight, &self.term(cuts, term, k));
            }
            if first == terms.start {
                all = eight;
            } else {
                plus(&mut all, &eight);
            }
        }
        all
    }

    /// A source or, if the sources were cut, the sum of up to 64 terms of the level below.
    fn term<const W: usize>(&self, cuts: u32, term: usize, k: usize) -> [T::Sum; W] {
        let Some(less) = cuts.checked_sub(1) else {
            let source = &self.y[self.sources[term] as usize + k..][..W];
            return std::array::from_fn(|i| source[i].wide());
        };
        let count = self.sources.len().div_ceil(FAN.pow(less));
        self.terms(less, term * FAN..((term + 1) * FAN).min(count), k)
    }
}

fn plus<T: Arithmetic, const W: usize>(sum: &mut [T; W], more: &[T; W]) {
    for (sum, &more) in sum.iter_mut().zip(more) {
        *sum = sum.plus(more);
    }
}
