//! The twins of transforms: rustfft and realfft, element by element, in parallel.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use num_complex::Complex32;
use realfft::{ComplexToReal, RealToComplex};
use rustfft::Fft;

use super::Transform;
use crate::cpu::{FFT, IFFT, IRFFT, PlansInUse, RFFT};
use crate::ops::kit::{OfRun, join};
use crate::plan::{CpuArgs, Twin};
use crate::ragged::{Layout, Offsets};
use crate::{Result, host};

/// The twin of transforms of these lengths. It caches the list of distinct lengths; their plans are in use only
/// while it runs.
pub(super) fn of(transform: Transform, lengths: &Layout) -> Twin {
    let list = Lengths::new();
    let kernel = match transform {
        Transform::Forward => Twin::new(move |args| {
            let lengths = distinct(&list, args.inputs[0].layout)?;
            complex(args, &FFT.all(lengths)?, false)
        }),
        Transform::Inverse => Twin::new(move |args| {
            let lengths = distinct(&list, args.inputs[0].layout)?;
            complex(args, &IFFT.all(lengths)?, true)
        }),
        Transform::Real => Twin::new(move |args| {
            let lengths = distinct(&list, args.inputs[0].layout)?;
            real(args, &RFFT.all(lengths)?)
        }),
        Transform::RealInverse => Twin::new(move |args| {
            let lengths = distinct(&list, args.outputs[0].layout)?;
            real_inverse(args, &IRFFT.all(lengths)?)
        }),
    };
    // k distinct lengths have at least k²/2 values.
    let most = lengths.len().min((2 * lengths.total()).isqrt());
    kernel.holding(size_of::<usize>() * most)
}

/// The distinct lengths of a layout, in ascending order, listed on the first run.
type Lengths = OnceLock<Vec<usize>>;

fn distinct<'a>(list: &'a Lengths, layout: &Layout) -> Result<&'a [usize]> {
    if let Some(made) = list.get() {
        return Ok(made);
    }
    let mut seen = HashMap::new();
    for length in layout.lengths().filter(|&length| length > 0) {
        host::insert(&mut seen, length, ())?;
    }
    let mut lengths = host::exact(seen.into_keys())?;
    lengths.sort_unstable();
    Ok(list.get_or_init(|| lengths))
}

fn complex(
    args: &mut CpuArgs<'_>,
    plans: &PlansInUse<'_, dyn Fft<f32>>,
    inverse: bool,
) -> Result<()> {
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

fn real(args: &mut CpuArgs<'_>, plans: &PlansInUse<'_, dyn RealToComplex<f32>>) -> Result<()> {
    let (x, from) = args.input::<f32>(0);
    let (y, to) = args.output::<Complex32>(0);
    let to = to.offsets();
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

fn real_inverse(
    args: &mut CpuArgs<'_>,
    plans: &PlansInUse<'_, dyn ComplexToReal<f32>>,
) -> Result<()> {
    let (x, from) = args.input::<Complex32>(0);
    let (y, to) = args.output::<f32>(0);
    let to = to.offsets();
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
        host::reserve(buffer, len - buffer.len())?;
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
        body: &OfRun<'_, T>,
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
        // If the last element holds the middle, split before it.
        let cut = if cut == elements.end { cut - 1 } else { cut };
        let (head, tail) = values.split_at_mut(offsets[cut] as usize - start);
        let (head, tail) = join(
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
