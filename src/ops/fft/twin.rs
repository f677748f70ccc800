//! The CPU's transforms: rustfft and realfft, element by element, in parallel.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use num_complex::Complex32;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};

use super::Transform;
use crate::plan::{Twin, TwinArgs};
use crate::ragged::{Layout, Offsets};

/// The twin of a transform. What was planned for the lengths stays with it.
pub(super) fn of(transform: Transform) -> Twin {
    match transform {
        Transform::Forward => {
            let plans = OnceLock::new();
            Twin::new(move |args| {
                complex(args, plans.get_or_init(|| fft_plans(args, false)), false)
            })
        }
        Transform::Inverse => {
            let plans = OnceLock::new();
            Twin::new(move |args| complex(args, plans.get_or_init(|| fft_plans(args, true)), true))
        }
        Transform::Real => {
            let plans = OnceLock::new();
            Twin::new(move |args| {
                let made = plans.get_or_init(|| {
                    let mut planner = RealFftPlanner::new();
                    planned(args.inputs[0].layout, |n| planner.plan_fft_forward(n))
                });
                real(args, made);
            })
        }
        Transform::RealInverse => {
            let plans = OnceLock::new();
            Twin::new(move |args| {
                let made = plans.get_or_init(|| {
                    let mut planner = RealFftPlanner::new();
                    planned(args.outputs[0].layout, |n| planner.plan_fft_inverse(n))
                });
                real_inverse(args, made);
            })
        }
    }
}

type Plans<P> = HashMap<usize, Arc<P>>;

/// The plan of every length there is.
fn planned<P: ?Sized>(layout: &Layout, mut make: impl FnMut(usize) -> Arc<P>) -> Plans<P> {
    let mut plans = HashMap::new();
    for length in layout.lengths().filter(|&length| length > 0) {
        plans.entry(length).or_insert_with(|| make(length));
    }
    plans
}

fn fft_plans(args: &TwinArgs<'_>, inverse: bool) -> Plans<dyn Fft<f32>> {
    let mut planner = FftPlanner::new();
    planned(args.inputs[0].layout, |n| match inverse {
        false => planner.plan_fft_forward(n),
        true => planner.plan_fft_inverse(n),
    })
}

fn complex(args: &mut TwinArgs<'_>, plans: &Plans<dyn Fft<f32>>, inverse: bool) {
    let (x, layout) = args.input::<Complex32>(0);
    let y: &mut [Complex32] = bytemuck::cast_slice_mut(args.outputs[0].words);
    par_elements(layout.offsets(), y, &|elements, y| {
        let mut scratch = Vec::new();
        each(layout.offsets(), elements, y, |_, range, y| {
            let plan = &plans[&y.len()];
            let room = room(&mut scratch, plan.get_immutable_scratch_len());
            plan.process_immutable_with_scratch(&x[range], y, room);
            if inverse {
                let n = y.len() as f32;
                y.iter_mut().for_each(|value| *value /= n);
            }
        });
    });
}

fn real(args: &mut TwinArgs<'_>, plans: &Plans<dyn RealToComplex<f32>>) {
    let (x, from) = args.input::<f32>(0);
    let output = &mut args.outputs[0];
    let to = output.layout.offsets();
    let y: &mut [Complex32] = bytemuck::cast_slice_mut(output.words);
    par_elements(to, y, &|elements, y| {
        let (mut copy, mut scratch) = (Vec::new(), Vec::new());
        each(to, elements, y, |element, _, y| {
            let x = &x[from.offsets().range(element)];
            let plan = &plans[&x.len()];
            // The plan works in its input.
            let input = room(&mut copy, x.len());
            input.copy_from_slice(x);
            let room = room(&mut scratch, plan.get_scratch_len());
            // Only wrong lengths are errors.
            let _ = plan.process_with_scratch(input, y, room);
        });
    });
}

fn real_inverse(args: &mut TwinArgs<'_>, plans: &Plans<dyn ComplexToReal<f32>>) {
    let (x, from) = args.input::<Complex32>(0);
    let output = &mut args.outputs[0];
    let to = output.layout.offsets();
    let y: &mut [f32] = bytemuck::cast_slice_mut(output.words);
    par_elements(to, y, &|elements, y| {
        let (mut copy, mut scratch) = (Vec::new(), Vec::new());
        each(to, elements, y, |element, _, y| {
            let x = &x[from.offsets().range(element)];
            let plan = &plans[&y.len()];
            let input = room(&mut copy, x.len());
            input.copy_from_slice(x);
            input[0].im = 0.0;
            if y.len().is_multiple_of(2) {
                input[y.len() / 2].im = 0.0;
            }
            let room = room(&mut scratch, plan.get_scratch_len());
            let _ = plan.process_with_scratch(input, y, room);
            let n = y.len() as f32;
            y.iter_mut().for_each(|value| *value /= n);
        });
    });
}

/// The first `len` values of a buffer that grows as needed.
fn room<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) -> &mut [T] {
    if buffer.len() < len {
        buffer.resize(len, T::default());
    }
    &mut buffer[..len]
}

/// Values that are worth a piece of parallel work.
const PIECE: usize = 1 << 14;

/// Calls `body` for ranges of elements that are not all empty, in parallel, with their values.
fn par_elements<T: Send>(
    offsets: &Offsets,
    values: &mut [T],
    body: &(impl Fn(Range<usize>, &mut [T]) + Sync),
) {
    fn split<T: Send>(
        offsets: &[u32],
        elements: Range<usize>,
        values: &mut [T],
        body: &(impl Fn(Range<usize>, &mut [T]) + Sync),
    ) {
        if values.is_empty() {
            return;
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
        // Where the last element alone is longer than the rest, it is cut off in front.
        let cut = if cut == elements.end { cut - 1 } else { cut };
        let (head, tail) = values.split_at_mut(offsets[cut] as usize - start);
        rayon::join(
            || split(offsets, elements.start..cut, head, body),
            || split(offsets, cut..elements.end, tail, body),
        );
    }
    let all = offsets.as_slice();
    split(all, 0..all.len() - 1, values, body);
}

/// Calls `body(element, its range in the batch, its values)` for each that is not empty.
fn each<T>(
    offsets: &Offsets,
    elements: Range<usize>,
    mut values: &mut [T],
    mut body: impl FnMut(usize, Range<usize>, &mut [T]),
) {
    for element in elements {
        let range = offsets.range(element);
        let (head, tail) = values.split_at_mut(range.len());
        if !head.is_empty() {
            body(element, range, head);
        }
        values = tail;
    }
}
