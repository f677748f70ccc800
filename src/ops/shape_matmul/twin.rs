//! The CPU's products of matrices of vectors, in parallel over the results and over the transforms of entries.

use std::collections::HashMap;

use rayon::prelude::*;
use realfft::num_complex::Complex32;

use super::{Product, Products};
use crate::cpu::{IRFFT, RFFT};
use crate::ops::{Arithmetic, conv, kron};
use crate::plan::CpuArgs;
use crate::ragged::Layout;
use crate::{Error, Result, host};

/// A placeholder in errors: the launch replaces it by its own name.
const OP: &str = "conv_matmul";

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

/// Calls `body(product, prepared, (i, k), values)` for every nonempty result, in parallel. `prepare(product)` runs once
/// per product, before its results.
fn each<T: Send, P: Sync>(
    plan: &Products,
    mut values: &mut [T],
    prepare: impl Fn(&Product) -> Result<P> + Sync,
    body: impl Fn(&Product, &P, (usize, usize), &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    let offsets = plan.entries.offsets();
    let mut products = host::room(OP, plan.products.len())?;
    for product in &plan.products {
        let results = product.results().map(|at| {
            let length = offsets.length(product.result(at.0, at.1));
            let (result, rest) = std::mem::take(&mut values).split_at_mut(length);
            values = rest;
            (at, result)
        });
        let mut all = host::room(OP, product.rows * product.columns)?;
        all.extend(results);
        products.push((product, all));
    }
    products.into_par_iter().try_for_each(|(product, results)| {
        let prepared = prepare(product)?;
        results.into_par_iter().try_for_each(|(at, result)| {
            if result.is_empty() {
                return Ok(());
            }
            body(product, &prepared, at, result)
        })
    })
}

/// Computes a result by the definition: sums the products one j after the other.
fn sum<T: Arithmetic, const KRON: bool>(
    [a, b]: [Entries<'_, T>; 2],
    product: &Product,
    (i, k): (usize, usize),
    out: &mut [T],
) -> Result<()> {
    out.fill(T::default());
    let mut term = host::zeroed::<T>(OP, out.len())?;
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
            kron::row(term, 0, x, y);
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
    each(
        plan,
        values,
        |_| Ok(()),
        |product, (), at, out| sum::<T, KRON>(operands, product, at, out),
    )
}

/// Spectra of entries, by side, entry and length.
type Spectra = HashMap<(usize, usize, u32), Vec<Complex32>>;

/// Computes every result by the method that the plan chose.
pub(super) fn spectral(args: &mut CpuArgs<'_>, plan: &Products) -> Result<()> {
    let operands = [operand::<f32>(args, 0), operand::<f32>(args, 1)];
    let values: &mut [f32] = bytemuck::cast_slice_mut(args.outputs[0].words);
    let prepare = |product: &Product| spectra(operands, plan, product);
    each(
        plan,
        values,
        prepare,
        |product, spectra, (i, k), out| match plan.lengths[product.result(i, k)] {
            0 => sum::<f32, false>(operands, product, (i, k), out),
            length => transformed(spectra, product, (i, k), length, out),
        },
    )
}

/// The spectra that a product needs, each computed once.
fn spectra(operands: [Entries<'_, f32>; 2], plan: &Products, product: &Product) -> Result<Spectra> {
    let mut request = HashMap::new();
    for (i, k) in product.results() {
        let length = plan.lengths[product.result(i, k)];
        if length == 0 {
            continue;
        }
        for (x, y) in product.terms(i, k) {
            if !operands[0].get(x).is_empty() && !operands[1].get(y).is_empty() {
                host::insert(OP, &mut request, (0, x, length), Vec::new())?;
                host::insert(OP, &mut request, (1, y, length), Vec::new())?;
            }
        }
    }
    request
        .par_iter_mut()
        .try_for_each(|(&(side, entry, length), spectrum)| {
            *spectrum = forward(length, operands[side].get(entry))?;
            Ok::<_, Error>(())
        })?;
    Ok(request)
}

fn forward(length: u32, x: &[f32]) -> Result<Vec<Complex32>> {
    let fft = RFFT.of(length as usize);
    let mut values = host::zeroed(OP, length as usize)?;
    values[..x.len()].copy_from_slice(x);
    let mut spectrum = host::zeroed(OP, length as usize / 2 + 1)?;
    let mut scratch = host::zeroed(OP, fft.get_scratch_len())?;
    let done = fft.process_with_scratch(&mut values, &mut spectrum, &mut scratch);
    debug_assert!(done.is_ok(), "{done:?}");
    Ok(spectrum)
}

fn transformed(
    spectra: &Spectra,
    product: &Product,
    (i, k): (usize, usize),
    length: u32,
    out: &mut [f32],
) -> Result<()> {
    let fft = IRFFT.of(length as usize);
    let mut sums = host::zeroed::<Complex32>(OP, length as usize / 2 + 1)?;
    for (x, y) in product.terms(i, k) {
        let both = [(0, x), (1, y)].map(|(side, entry)| spectra.get(&(side, entry, length)));
        if let [Some(x), Some(y)] = both {
            for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
                *sum += x * y;
            }
        }
    }
    // Both are sums of real values. An infinite input makes their imaginary parts NaN, which the inverse rejects.
    let last = sums.len() - 1;
    sums[0].im = 0.0;
    sums[last].im = 0.0;
    let mut values = host::zeroed(OP, length as usize)?;
    let mut scratch = host::zeroed(OP, fft.get_scratch_len())?;
    let done = fft.process_with_scratch(&mut sums, &mut values, &mut scratch);
    debug_assert!(done.is_ok(), "{done:?}");
    let factor = 1.0 / length as f32;
    for (out, value) in out.iter_mut().zip(values) {
        *out = value * factor;
    }
    Ok(())
}
