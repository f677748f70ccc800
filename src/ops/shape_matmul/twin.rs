//! The CPU's products of matrices of vectors, in parallel over the results and over the transforms of entries.
//!
//! Transforms run in the same turns as on a GPU, so the memory of spectra is bounded. A result sums its terms in the
//! order of j, whatever the turns are.

use rayon::prelude::*;
use realfft::num_complex::Complex32;

use super::spectral::{Part, turns};
use super::{Product, Products};
use crate::cpu::{IRFFT, RFFT};
use crate::ops::kit::{Arithmetic, par_chunks};
use crate::ops::{conv, kron};
use crate::plan::CpuArgs;
use crate::ragged::Layout;
use crate::{Result, host};

/// The entries of one operand.
#[derive(Clone, Copy)]
struct Entries<'a, T> {
    values: &'a [T],
    layout: &'a Layout,
}

impl<'a, T> Entries<'a, T> {
    fn get(self, entry: usize) -> &'a [T] {
        &self.values[self.layout.offsets().range(entry)]
    }
}

fn operand<'a, T: bytemuck::Pod>(args: &CpuArgs<'a>, side: usize) -> Entries<'a, T> {
    let (values, layout) = args.input::<T>(side);
    Entries { values, layout }
}

/// Calls `body(product, (i, k), values)` for every nonempty result, in parallel.
fn each<T: Send>(
    plan: &Products,
    values: &mut [T],
    body: impl Fn(&Product, (usize, usize), &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    let mut rest = &mut results(plan, values)?[..];
    let mut products = host::room(plan.products.len())?;
    for product in &plan.products {
        let (here, others) = rest.split_at_mut(product.rows * product.columns);
        products.push((product, here));
        rest = others;
    }
    par_chunks(&mut products, 1, 1, &|_, products| {
        let (product, results) = &mut products[0];
        par_chunks(results, 1, 1, &|at, results| match &mut *results[0] {
            [] => Ok(()),
            result => {
                let place = (at / product.columns, at % product.columns);
                body(product, place, result)
            }
        })
    })
}

/// The values of every result.
fn results<'a, T>(plan: &Products, mut values: &'a mut [T]) -> Result<Vec<&'a mut [T]>> {
    let lengths = plan.entries.lengths();
    host::exact(lengths.map(|length| values.split_off_mut(..length).unwrap_or_default()))
}

/// Computes a result by the definition: sums the products one j after the other.
fn sum<T: Arithmetic, const KRON: bool>(
    [a, b]: [Entries<'_, T>; 2],
    product: &Product,
    (i, k): (usize, usize),
    out: &mut [T],
) -> Result<()> {
    out.fill(T::default());
    let mut term = host::zeroed::<T>(out.len())?;
    for (x, y) in product.terms(i, k) {
        let (x, y) = (a.get(x), b.get(y));
        if x.is_empty() || y.is_empty() {
            continue;
        }
        let length = if KRON {
            x.len() * y.len()
        } else {
            conv::result_length(x.len(), y.len())
        };
        let term = &mut term[..length];
        if KRON {
            kron::row(term, 0, (x, y), T::times);
        } else {
            conv::directly((x, y), false, 0..length, term)?;
        }
        for (sum, &term) in out.iter_mut().zip(&*term) {
            *sum = sum.plus(term);
        }
    }
    Ok(())
}

/// Computes every result by the definition.
pub(super) fn direct<T: Arithmetic, const KRON: bool>(
    args: &mut CpuArgs<'_>,
    plan: &Products,
) -> Result<()> {
    let operands = [operand::<T>(args, 0), operand::<T>(args, 1)];
    let values: &mut [T] = bytemuck::cast_slice_mut(args.outputs[0].words);
    each(plan, values, |product, at, out| {
        sum::<T, KRON>(operands, product, at, out)
    })
}

/// The largest number of words of the spectra of a turn, and of its sums: 128 MiB each.
const TURN: u64 = 1 << 25;

/// Computes every result by the method that the plan chose.
pub(super) fn spectral(args: &mut CpuArgs<'_>, plan: &Products) -> Result<()> {
    let operands = [operand::<f32>(args, 0), operand::<f32>(args, 1)];
    let values: &mut [f32] = bytemuck::cast_slice_mut(args.outputs[0].words);
    each(plan, values, |product, (i, k), out| {
        match plan.lengths[product.result(i, k)] {
            0 => sum::<f32, false>(operands, product, (i, k), out),
            _ => Ok(()),
        }
    })?;
    if plan.lengths.iter().all(|&length| length == 0) {
        return Ok(());
    }
    let mut results = results(plan, values)?;
    // Sums are charged to the budget while they wait for the next turn.
    let (mut sums, mut held, mut spectra) = (Vec::new(), None, Spectra::default());
    // An eighth of the remaining budget for spectra, and another eighth for sums.
    let most = TURN.min(host::left() / 32);
    turns(plan, most, |parts| {
        spectra.make(parts, operands)?;
        if !parts[0].goes_on() {
            sums.clear();
            for (part, Part { block, .. }) in parts.iter().enumerate() {
                for (row, &i) in block.rows.iter().enumerate() {
                    for (column, &k) in block.columns.iter().enumerate() {
                        let result = block.product.result(i, k);
                        if plan.lengths[result] == block.length {
                            let sum = Sum {
                                part,
                                at: [row, column],
                                values: Vec::new(),
                                out: std::mem::take(&mut results[result]),
                            };
                            host::push(&mut sums, sum)?;
                        }
                    }
                }
            }
        }
        if !parts[0].goes_on() && !parts[0].ends() {
            held = Some(host::hold(4 * parts[0].block.needs()[0])?);
        }
        sums.par_iter_mut()
            .try_for_each(|sum| sum.go_on(&parts[sum.part], operands, &spectra))?;
        if parts[0].ends() {
            held = None;
        }
        Ok(())
    })
}

/// The spectra of a turn's entries, charged to the budget.
#[derive(Default)]
struct Spectra {
    values: Vec<Complex32>,
    held: Option<host::Held>,
    /// Where those of each part begin.
    begins: Vec<usize>,
}

impl Spectra {
    /// Computes the spectra of the parts: for each of their rows, those of all j, and then for each of their columns.
    fn make(&mut self, parts: &[Part<'_>], operands: [Entries<'_, f32>; 2]) -> Result<()> {
        self.begins.clear();
        let mut end = 0;
        for part in parts {
            host::push(&mut self.begins, end)?;
            end += lines(part) * part.inner.len() * frequencies(part);
        }
        if self.values.len() < end {
            (self.values, self.held) = (Vec::new(), None);
            self.held = Some(host::hold((size_of::<Complex32>() * end) as u64)?);
            self.values = host::zeroed_held(end)?;
        }
        let mut rest = &mut self.values[..end];
        let mut all = host::room(parts.len())?;
        for part in parts {
            let (here, others) =
                rest.split_at_mut(lines(part) * part.inner.len() * frequencies(part));
            all.push((part, here));
            rest = others;
        }
        all.into_par_iter().try_for_each(|(part, spectra)| {
            let (inner, length) = (&part.inner, part.block.length as usize);
            let fft = RFFT.of(length);
            let spectra = spectra.par_chunks_exact_mut(frequencies(part)).enumerate();
            spectra.try_for_each(|(at, spectrum)| {
                let (line, j) = (at / inner.len(), inner.start + at % inner.len());
                let (side, entry) = entry(part, line, j);
                let x = operands[side].get(entry);
                // An entry that is longer than the transform is paired only with empty entries here.
                if x.is_empty() || x.len() > length {
                    return Ok(());
                }
                let mut values = host::zeroed(length)?;
                values[..x.len()].copy_from_slice(x);
                let mut scratch = host::zeroed(fft.get_scratch_len())?;
                let done = fft.process_with_scratch(&mut values, spectrum, &mut scratch);
                debug_assert!(done.is_ok(), "{done:?}");
                Ok(())
            })
        })
    }

    fn get(&self, number: usize, part: &Part<'_>, line: usize, j: usize) -> &[Complex32] {
        let frequencies = frequencies(part);
        let at = line * part.inner.len() + j - part.inner.start;
        &self.values[self.begins[number] + at * frequencies..][..frequencies]
    }
}

/// The number of rows and columns of a part.
fn lines(part: &Part<'_>) -> usize {
    part.block.rows.len() + part.block.columns.len()
}

fn frequencies(part: &Part<'_>) -> usize {
    part.block.length as usize / 2 + 1
}

/// The side and the number of entry j of a line of the part. Lines are its rows, followed by its columns.
fn entry(part: &Part<'_>, line: usize, j: usize) -> (usize, usize) {
    let (block, product) = (&part.block, part.block.product);
    match line.checked_sub(block.rows.len()) {
        None => (0, product.a + block.rows[line] * product.inner + j),
        Some(column) => (1, product.b + j * product.columns + block.columns[column]),
    }
}

/// A result that is computed by transforms.
struct Sum<'a> {
    /// The number of its part in the turn.
    part: usize,
    /// Its row and its column in the part.
    at: [usize; 2],
    /// The sums of spectra, between turns.
    values: Vec<Complex32>,
    out: &'a mut [f32],
}

impl Sum<'_> {
    /// Adds the terms of a turn; after the last turn, transforms the sums.
    fn go_on(
        &mut self,
        part: &Part<'_>,
        operands: [Entries<'_, f32>; 2],
        spectra: &Spectra,
    ) -> Result<()> {
        let mut sums = std::mem::take(&mut self.values);
        if !part.goes_on() {
            sums = host::zeroed(frequencies(part))?;
        }
        let lines = [self.at[0], part.block.rows.len() + self.at[1]];
        for j in part.inner.clone() {
            let empty = lines.iter().any(|&line| {
                let (side, entry) = entry(part, line, j);
                operands[side].get(entry).is_empty()
            });
            if empty {
                continue;
            }
            let [x, y] = lines.map(|line| spectra.get(self.part, part, line, j));
            for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
                *sum += x * y;
            }
        }
        if !part.ends() {
            self.values = sums;
            return Ok(());
        }
        let length = part.block.length as usize;
        let fft = IRFFT.of(length);
        // The first and the last sum are real. An infinite input makes their imaginary parts NaN, which the inverse
        // rejects.
        let last = sums.len() - 1;
        sums[0].im = 0.0;
        sums[last].im = 0.0;
        let mut values = host::zeroed(length)?;
        let mut scratch = host::zeroed(fft.get_scratch_len())?;
        let done = fft.process_with_scratch(&mut sums, &mut values, &mut scratch);
        debug_assert!(done.is_ok(), "{done:?}");
        let factor = 1.0 / length as f32;
        for (out, value) in self.out.iter_mut().zip(values) {
            *out = value * factor;
        }
        Ok(())
    }
}
