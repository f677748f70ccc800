//! The CPU kernel of chains: instruction by instruction over blocks of values that stay in a core's cache.

use bytemuck::{Pod, cast, cast_slice, cast_slice_mut};
use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::code::Step;
use super::{Chain, INPUTS, Instruction};
use crate::ops::ambient::Run as Combined;
use crate::ops::maps::Run;
use crate::plan::{CpuArgs, CpuKernel};
use crate::ragged::DType;

/// Values in a block. There is one for each instruction.
const BLOCK: usize = 512;
/// Values in one parallel task.
const TILE: usize = 1 << 14;

/// An instruction, and what the CPU does for it.
type Planned = (Instruction, Step);

pub(super) fn of(chain: &Chain) -> CpuKernel {
    let steps = chain.instructions.iter().map(|&it| (it, it.code.step()));
    let steps: Vec<Planned> = steps.collect();
    let outputs = chain.outputs.iter().map(|value| value - chain.inputs);
    let outputs: Vec<usize> = outputs.collect();
    let bytes = size_of_val(&steps[..]) + size_of_val(&outputs[..]);
    let kernel = match chain.dtype {
        DType::F16 => CpuKernel::new(move |args| run::<f16>(args, &steps, &outputs)),
        _ => CpuKernel::new(move |args| run::<f32>(args, &steps, &outputs)),
    };
    kernel.holding(bytes)
}

fn run<T: Stored>(args: &mut CpuArgs<'_>, steps: &[Planned], outputs: &[usize]) {
    let scalars = args.scalars;
    let mut inputs: [&[T]; INPUTS] = [&[]; INPUTS];
    for (values, input) in inputs.iter_mut().zip(args.inputs) {
        *values = cast_slice(input.bytes);
    }
    let inputs = &inputs[..args.inputs.len()];
    let total = inputs[0].len();
    let [y, rest @ ..] = &mut *args.outputs else {
        return;
    };
    let y: &mut [T] = &mut cast_slice_mut(y.words)[..total];
    let blocks = || Blocks::<T>(vec![[T::zeroed(); BLOCK]; steps.len()]);
    match rest {
        [] => y
            .par_chunks_mut(TILE)
            .enumerate()
            .for_each_init(blocks, |blocks, (tile, y)| {
                blocks.tile(steps, inputs, scalars, tile * TILE, [(outputs[0], y)]);
            }),
        [z, ..] => {
            let z: &mut [T] = &mut cast_slice_mut(z.words)[..total];
            let tiles = y.par_chunks_mut(TILE).zip(z.par_chunks_mut(TILE));
            tiles
                .enumerate()
                .for_each_init(blocks, |blocks, (tile, (y, z))| {
                    let results = [(outputs[0], y), (outputs[1], z)];
                    blocks.tile(steps, inputs, scalars, tile * TILE, results);
                });
        }
    }
}

/// The results of each instruction for some values.
struct Blocks<T>(Vec<[T; BLOCK]>);

impl<T: Stored> Blocks<T> {
    /// Computes the values from `from` on. A result has the number of its instruction.
    fn tile<const N: usize>(
        &mut self,
        steps: &[Planned],
        inputs: &[&[T]],
        scalars: &[u32],
        from: usize,
        mut results: [(usize, &mut [T]); N],
    ) {
        let total = results[0].1.len();
        let last = steps.len() - 1;
        for at in (0..total).step_by(BLOCK) {
            let n = BLOCK.min(total - at);
            for (i, (instruction, step)) in steps.iter().enumerate() {
                let (before, own) = self.0.split_at_mut(i);
                let value = |k: usize| match usize::from(instruction.values[k]) {
                    input if input < inputs.len() => &inputs[input][from + at..][..n],
                    value => &before[value - inputs.len()][..n],
                };
                // No instruction reads the last one's result.
                let result = results.iter_mut().find(|(of, _)| i == last && *of == last);
                let y = match result {
                    Some((_, result)) => &mut result[at..at + n],
                    None => &mut own[0][..n],
                };
                let scalar = |&i: &u8| cast(scalars.get(usize::from(i)).copied().unwrap_or(0));
                match *step {
                    Step::Copy => y.copy_from_slice(value(0)),
                    Step::Neg => T::negate(value(0), y),
                    Step::One(run) => {
                        T::one(run, value(0), y, instruction.scalars.each_ref().map(scalar));
                    }
                    Step::Two(run) => T::two(run, value(0), value(1), y),
                }
            }
            for (of, result) in results.iter_mut().filter(|(of, _)| *of != last) {
                result[at..at + n].copy_from_slice(&self.0[*of][..n]);
            }
        }
    }
}

/// A type of stored values; functions are computed in f32.
trait Stored: Pod + Send + Sync {
    fn negate(x: &[Self], y: &mut [Self]);
    fn one(run: Run<f32>, x: &[Self], y: &mut [Self], scalars: [f32; 2]);
    fn two(run: Combined<f32, f32>, x: &[Self], y: &[Self], result: &mut [Self]);
}

impl Stored for f32 {
    fn negate(x: &[f32], y: &mut [f32]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y = f32::from_bits(x.to_bits() ^ 1 << 31);
        }
    }

    fn one(run: Run<f32>, x: &[f32], y: &mut [f32], scalars: [f32; 2]) {
        run(x, y, scalars);
    }

    fn two(run: Combined<f32, f32>, x: &[f32], y: &[f32], result: &mut [f32]) {
        run(x, y, result);
    }
}

impl Stored for f16 {
    fn negate(x: &[f16], y: &mut [f16]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y = f16::from_bits(x.to_bits() ^ 1 << 15);
        }
    }

    fn one(run: Run<f32>, x: &[f16], y: &mut [f16], scalars: [f32; 2]) {
        let (mut from, mut to) = ([0.0; BLOCK], [0.0; BLOCK]);
        let (from, to) = (&mut from[..x.len()], &mut to[..x.len()]);
        x.convert_to_f32_slice(from);
        run(from, to, scalars);
        y.convert_from_f32_slice(to);
    }

    fn two(run: Combined<f32, f32>, x: &[f16], y: &[f16], result: &mut [f16]) {
        let [mut left, mut right, mut to] = [[0.0; BLOCK]; 3];
        let (left, right) = (&mut left[..x.len()], &mut right[..x.len()]);
        let to = &mut to[..x.len()];
        x.convert_to_f32_slice(left);
        y.convert_to_f32_slice(right);
        run(left, right, to);
        result.convert_from_f32_slice(to);
    }
}
