//! The sums on the CPU, in the order of the kernel.

use std::ops::Range;

use super::{FAN, Tables};
use crate::ops::{Arithmetic, par_tiles};
use crate::plan::TwinArgs;

pub(super) fn add_up<T: Arithmetic>(args: &mut TwinArgs<'_>, tables: &Tables) {
    let [elements, starts, sources] =
        [&tables.elements, &tables.starts, &tables.sources].map(|words| words.data());
    let (y, _) = args.input::<T>(0);
    let output = &mut args.outputs[0];
    let c: &mut [T] = bytemuck::cast_slice_mut(output.words);
    par_tiles(output.layout.offsets(), c, |element, within, mut out| {
        let [first, width] = [0, 1].map(|i| elements[2 * element + i] as usize);
        let (mut row, mut k) = (first + within.start / width, within.start % width);
        while !out.is_empty() {
            let (part, rest) = out.split_at_mut((width - k).min(out.len()));
            let sources = &sources[starts[row] as usize..starts[row + 1] as usize];
            match sources {
                [] => part.fill(T::default()),
                // Eight or fewer are one chain.
                [source, more @ ..] if more.len() < 8 => {
                    part.copy_from_slice(&y[*source as usize + k..][..part.len()]);
                    for &source in more {
                        let source = &y[source as usize + k..][..part.len()];
                        for (sum, &value) in part.iter_mut().zip(source) {
                            *sum = sum.plus(value);
                        }
                    }
                }
                _ => Sum { y, sources }.put(k, part),
            }
            (row, k) = (row + 1, 0);
            out = rest;
        }
    });
}

/// Values of a row that are added up together.
const WIDE: usize = 16;

/// A row of the result, as the kernel adds it up.
struct Sum<'a, T> {
    y: &'a [T],
    sources: &'a [u32],
}

impl<T: Arithmetic> Sum<'_, T> {
    /// The values from k on.
    fn put(&self, mut k: usize, out: &mut [T]) {
        let mut chunks = out.chunks_exact_mut(WIDE);
        for chunk in &mut chunks {
            chunk.copy_from_slice(&self.of::<WIDE>(k));
            k += WIDE;
        }
        for value in chunks.into_remainder() {
            [*value] = self.of::<1>(k);
            k += 1;
        }
    }

    /// Values k .. k + W.
    fn of<const W: usize>(&self, k: usize) -> [T; W] {
        let mut cuts = 0;
        let mut count = self.sources.len();
        while count > FAN {
            count = count.div_ceil(FAN);
            cuts += 1;
        }
        self.terms(cuts, 0..count, k)
    }

    /// The sum of these terms, by eights.
    fn terms<const W: usize>(&self, cuts: u32, terms: Range<usize>, k: usize) -> [T; W] {
        let mut all = [T::default(); W];
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

    /// A source, or where sources were cut, the sum of up to 64 terms that were cut once less.
    fn term<const W: usize>(&self, cuts: u32, term: usize, k: usize) -> [T; W] {
        let Some(less) = cuts.checked_sub(1) else {
            let mut values = [T::default(); W];
            values.copy_from_slice(&self.y[self.sources[term] as usize + k..][..W]);
            return values;
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
