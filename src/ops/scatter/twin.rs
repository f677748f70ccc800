//! The sums on the CPU, in the same order as the kernel.

use std::ops::Range;
use std::sync::OnceLock;

use half::f16;
use rayon::prelude::*;

use super::{FAN, Tables};
use crate::ops::kit::{Arithmetic, par_runs, par_tiles};
use crate::plan::CpuArgs;
use crate::ragged::{Indices, Pairs};
use crate::{Result, host};

/// The largest number of values of an element that fits a cache. The sums of such an element are accumulated in the
/// order of the sources.
const NEAR: usize = 1 << 16;
/// The largest number of sources that are summed in a single chain.
const CHAIN: u32 = 8;
/// Values in a task of a larger element.
const TILE: usize = 1 << 14;

/// The lists of indices of every element.
pub(super) struct ByElement {
    indices: Indices,
    pairs: Pairs,
    /// The pairs in the order of their elements, unless pair i belongs to element i. Only the CPU needs them, so they
    /// are sorted when it first runs.
    sorted: OnceLock<Vec<u32>>,
}

impl ByElement {
    pub(super) fn new(indices: &Indices, pairs: &Pairs) -> ByElement {
        ByElement {
            indices: indices.clone(),
            pairs: pairs.clone(),
            sorted: OnceLock::new(),
        }
    }

    /// The bytes that it takes, in all.
    pub(super) fn bytes(&self) -> usize {
        let sorted = match self.pairs.is_elementwise() {
            true => 0,
            false => 4 * self.pairs.len(),
        };
        sorted + size_of_val(self.indices.values()) + self.indices.lists().bytes()
    }

    fn sorted(&self) -> Result<&[u32]> {
        if let Some(sorted) = self.sorted.get() {
            return Ok(sorted);
        }
        let pairs = match self.pairs.is_elementwise() {
            true => 0,
            false => self.pairs.len() as u32,
        };
        let mut sorted = host::room(pairs as usize)?;
        sorted.extend(0..pairs);
        sorted.sort_unstable_by_key(|&pair| (self.pairs.get(pair as usize).0, pair));
        Ok(self.sorted.get_or_init(|| sorted))
    }

    /// The pairs of an element, in ascending order, and their lists.
    fn lists<'a>(
        &'a self,
        sorted: &'a [u32],
        element: usize,
    ) -> impl Iterator<Item = (usize, &'a [u32])> {
        let one = self.pairs.is_elementwise().then_some(element);
        let place =
            |element| sorted.partition_point(|&pair| self.pairs.get(pair as usize).0 < element);
        let more = &sorted[place(element)..place(element + 1)];
        let pairs = one
            .into_iter()
            .chain(more.iter().map(|&pair| pair as usize));
        pairs.map(|pair| (pair, self.indices.list(self.pairs.get(pair).1)))
    }
}

pub(super) fn add_up<T: Arithmetic + Term<Sum = T>>(
    args: &mut CpuArgs<'_>,
    tables: &Tables,
    by_element: &ByElement,
) -> Result<()> {
    let (y, y_layout) = args.input::<T>(0);
    let (c, layout) = args.output::<T>(0);
    let [elements, starts, sources] =
        [&tables.elements, &tables.starts, &tables.sources].map(|words| words.data());
    let rows = Rows { y, starts, sources };
    let sorted = by_element.sorted()?;
    par_runs(layout.offsets(), c, &|run, mut values| {
        for element in run {
            let (out, rest) = values.split_at_mut(layout.length(element));
            values = rest;
            let [first, width] = [0, 1].map(|k| elements[2 * element + k] as usize);
            let Some(count) = out.len().checked_div(width) else {
                continue;
            };
            let all = (starts[first + count] - starts[first]) as usize;
            if out.len() > NEAR || all > CHAIN as usize * count {
                let tiles = out.par_chunks_mut(TILE).enumerate();
                tiles.for_each(|(tile, out)| {
                    let at = tile * TILE;
                    rows.put(first + at / width, at % width, width, out);
                });
                continue;
            }
            let lists = by_element.lists(sorted, element);
            let lists = lists.map(|(pair, list)| (list, &y[y_layout.offsets().range(pair)]));
            rows.put_near(first, width, lists, out);
        }
        Ok(())
    })
}

/// The same with halves, which are summed in f32 and rounded once.
pub(super) fn add_halves(
    args: &mut CpuArgs<'_>,
    tables: &Tables,
    _by_element: &ByElement,
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
    /// Writes an element whose first row is `first`, given the lists of its indices and the rows that they add.
    fn put_near<'a>(
        &self,
        first: usize,
        width: usize,
        lists: impl Iterator<Item = (&'a [u32], &'a [T])>,
        out: &mut [T],
    ) where
        T: 'a,
    {
        let count = out.len() / width;
        let starts = &self.starts[first..=first + count];
        let added = || {
            let ends = starts[1..].iter().zip(starts);
            ends.map(|(end, start)| end - start)
        };
        // Selects instead of branching: which rows have no sources is often random.
        let begun = |added| match added {
            0 => T::default(),
            _ => T::NOTHING,
        };
        match width {
            1 => (out.iter_mut().zip(added())).for_each(|(sum, added)| *sum = begun(added)),
            _ => (out.chunks_exact_mut(width).zip(added()))
                .for_each(|(sums, added)| sums.fill(begun(added))),
        }
        for (list, y) in lists {
            if width == 1 {
                for (&row, &value) in list.iter().zip(y) {
                    if let Some(sum) = out.get_mut(row as usize) {
                        *sum = sum.plus(value);
                    }
                }
                continue;
            }
            for (&row, source) in list.iter().zip(y.chunks_exact(width)) {
                if (row as usize) < count {
                    let sum = &mut out[row as usize * width..][..width];
                    for (sum, &value) in sum.iter_mut().zip(source) {
                        *sum = sum.plus(value);
                    }
                }
            }
        }
        if added().fold(false, |any, added| any | (added > CHAIN)) {
            for (i, (added, out)) in added().zip(out.chunks_exact_mut(width)).enumerate() {
                if added > CHAIN {
                    let sources = self.of(first + i);
                    Sum { y: self.y, sources }.put(0, out);
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
