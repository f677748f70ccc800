//! The CPU kernels of transforms: rustfft and realfft, element by element, in parallel.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use num_complex::Complex32;
use rayon::prelude::*;
use realfft::{ComplexToReal, RealToComplex};
use rustfft::Fft;

use super::Transform;
use crate::cpu::{FFT, IFFT, IRFFT, Plans, RFFT};
use crate::plan::{CpuArgs, CpuKernel};
use crate::ragged::{Layout, Offsets};
use crate::{Result, host};

/// The CPU kernel of a transform. It caches the plans of its lengths.
pub(super) fn of(transform: Transform) -> CpuKernel {
    match transform {
        Transform::Forward => {
            let plans = OnceLock::new();
            CpuKernel::new(move |args| {
                let plans = once(&plans, &FFT, args.inputs[0].layout)?;
                complex(args, plans, false)
            })
        }
        Transform::Inverse => {
            let plans = OnceLock::new();
            CpuKernel::new(move |args| {
                let plans = once(&plans, &IFFT, args.inputs[0].layout)?;
                complex(args, plans, true)
            })
        }
        Transform::Real => {
            let plans = OnceLock::new();
            CpuKernel::new(move |args| {
                let plans = once(&plans, &RFFT, args.inputs[0].layout)?;
                real(args, plans)
            })
        }
        Transform::RealInverse => {
            let plans = OnceLock::new();
            CpuKernel::new(move |args| {
                let plans = once(&plans, &IRFFT, args.outputs[0].layout)?;
                real_inverse(args, plans)
            })
        }
    }
}

/// The plans of all lengths of a layout, sorted by length.
struct ByLength<P: ?Sized>(Vec<(usize, Arc<P>)>);

impl<P: ?Sized + Send + Sync> ByLength<P> {
    fn new(plans: &Plans<P>, layout: &Layout) -> Result<ByLength<P>> {
        let mut distinct = HashMap::new();
        for length in layout.lengths().filter(|&length| length > 0) {
            host::insert(OP, &mut distinct, length, ())?;
        }
        let mut lengths = host::exact(OP, distinct.into_keys())?;
        lengths.sort_unstable();
        let mut all = host::room(OP, lengths.len())?;
        let planned = lengths.into_par_iter().map(|n| (n, plans.of(n)));
        planned.collect_into_vec(&mut all);
        Ok(ByLength(all))
    }

    /// The plan of a length of the layout.
    fn of(&self, length: usize) -> &P {
        let place = self.0.partition_point(|(other, _)| *other < length);
        &self.0[place].1
    }
}

/// The plans of a CPU kernel, created when it first runs.
fn once<'a, P: ?Sized + Send + Sync>(
    cached: &'a OnceLock<ByLength<P>>,
    plans: &Plans<P>,
    layout: &Layout,
) -> Result<&'a ByLength<P>> {
    match cached.get() {
        Some(made) => Ok(made),
        None => {
            let made = ByLength::new(plans, layout)?;
            Ok(cached.get_or_init(|| made))
        }
    }
}

/// A placeholder in errors: the launch replaces it by the name of the operation.
const OP: &str = "fft";

fn complex(args: &mut CpuArgs<'_>, plans: &ByLength<dyn Fft<f32>>, inverse: bool) -> Result<()> {
    let (x, layout) = args.input::<Complex32>(0);
    let y: &mut [Complex32] = bytemuck::cast_slice_mut(args.outputs[0].words);
    par_elements(layout.offsets(), y, &|elements, y| {
        let mut scratch = Vec::new();
        each(layout.offsets(), elements, y, |_, range, y| {
            let plan = plans.of(y.len());
            let room = room(&mut scratch, plan.get_immutable_scratch_len())?;
            plan.process_immutable_with_scratch(&x[range], y, room);
            if inverse {
                let n = y.len() as f32;
                y.iter_mut().for_each(|value| *value /= n);
            }
            Ok(())
        })
    })
}

fn real(args: &mut CpuArgs<'_>, plans: &ByLength<dyn RealToComplex<f32>>) -> Result<()> {
    let (x, from) = args.input::<f32>(0);
    let output = &mut args.outputs[0];
    let to = output.layout.offsets();
    let y: &mut [Complex32] = bytemuck::cast_slice_mut(output.words);
    par_elements(to, y, &|elements, y| {
        let (mut copy, mut scratch) = (Vec::new(), Vec::new());
        each(to, elements, y, |element, _, y| {
            let x = &x[from.offsets().range(element)];
            let plan = plans.of(x.len());
            // The plan overwrites its input.
            let input = room(&mut copy, x.len())?;
            input.copy_from_slice(x);
            let room = room(&mut scratch, plan.get_scratch_len())?;
            // The only errors are wrong lengths.
            let _ = plan.process_with_scratch(input, y, room);
            Ok(())
        })
    })
}

fn real_inverse(args: &mut CpuArgs<'_>, plans: &ByLength<dyn ComplexToReal<f32>>) -> Result<()> {
    let (x, from) = args.input::<Complex32>(0);
    let output = &mut args.outputs[0];
    let to = output.layout.offsets();
    let y: &mut [f32] = bytemuck::cast_slice_mut(output.words);
    par_elements(to, y, &|elements, y| {
        let (mut copy, mut scratch) = (Vec::new(), Vec::new());
        each(to, elements, y, |element, _, y| {
            let x = &x[from.offsets().range(element)];
            let plan = plans.of(y.len());
            let input = room(&mut copy, x.len())?;
            input.copy_from_slice(x);
            input[0].im = 0.0;
            if y.len().is_multiple_of(2) {
                input[y.len() / 2].im = 0.0;
            }
            let room = room(&mut scratch, plan.get_scratch_len())?;
            let _ = plan.process_with_scratch(input, y, room);
            let n = y.len() as f32;
            y.iter_mut().for_each(|value| *value /= n);
            Ok(())
        })
    })
}

/// The first `len` values of a buffer, which grows as needed.
fn room<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) -> Result<&mut [T]> {
    if buffer.len() < len {
        host::reserve(OP, buffer, len - buffer.len())?;
        buffer.resize(len, T::default());
    }
    Ok(&mut buffer[..len])
}

/// Values per parallel task.
const PIECE: usize = 1 << 14;

/// Calls `body` in parallel for ranges of elements and their values; skips ranges without values.
fn par_elements<T: Send>(
    offsets: &Offsets,
    values: &mut [T],
    body: &(impl Fn(Range<usize>, &mut [T]) -> Result<()> + Sync),
) -> Result<()> {
    fn split<T: Send>(
        offsets: &[u32],
        elements: Range<usize>,
        values: &mut [T],
        body: &(impl Fn(Range<usize>, &mut [T]) -> Result<()> + Sync),
    ) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let start = offsets[elements.start] as usize;
        // The element that holds the middle value goes left.
        let middle = start + (values.len() - 1) / 2;
        let ends = &offsets[elements.start + 1..=elements.end];
        let left = ends.partition_point(|&end| end as usize <= middle) + 1;
        let cut = elements.start + left;
        if values.len() <= PIECE || (cut == elements.end && left == 1) {
            return body(elements, values);
        }
        // If the last element holds the middle, split in front of it.
        let cut = if cut == elements.end { cut - 1 } else { cut };
        let (head, tail) = values.split_at_mut(offsets[cut] as usize - start);
        let (head, tail) = rayon::join(
            || split(offsets, elements.start..cut, head, body),
            || split(offsets, cut..elements.end, tail, body),
        );
        head.and(tail)
    }
    let all = offsets.as_slice();
    split(all, 0..all.len() - 1, values, body)
}

/// Calls `body(element, its range in the batch, its values)` for each nonempty element.
fn each<T>(
    offsets: &Offsets,
    elements: Range<usize>,
    mut values: &mut [T],
    mut body: impl FnMut(usize, Range<usize>, &mut [T]) -> Result<()>,
) -> Result<()> {
    for element in elements {
        let range = offsets.range(element);
        let (head, tail) = values.split_at_mut(range.len());
        if !head.is_empty() {
            body(element, range, head)?;
        }
        values = tail;
    }
    Ok(())
}
