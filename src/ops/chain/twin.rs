//! The twin of chains: instruction by instruction over blocks of values that stay in a core's cache.

use std::cell::Cell;
use std::convert::Infallible;

use bytemuck::{Pod, cast, cast_slice, cast_slice_mut};
use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::code::Step;
use super::{Chain, INPUTS, Instruction};
use crate::ops::ambient::Run as Combined;
use crate::ops::maps::{Both, Cheap, Neg, Run, both_of};
use crate::plan::{CpuArgs, Twin};
use crate::ragged::DType;

/// Values in a block. Each instruction but the last has one.
const BLOCK: usize = 512;
/// Values in one parallel task.
const TILE: usize = 1 << 14;

/// A pass over a block, which computes one instruction or two.
struct Pass<T: Stored> {
    work: Work<T>,
    /// The first instruction.
    from: Instruction,
    /// The last instruction, whose result it stores, and its number.
    to: Instruction,
    number: usize,
}

enum Work<T: Stored> {
    Single(Step),
    /// Two maps whose results take longer to store than to compute, in one loop.
    Both(T::Both),
}

pub(super) fn of(chain: &Chain) -> Twin {
    match chain.dtype {
        DType::F16 => kernel::<f16>(chain),
        _ => kernel::<f32>(chain),
    }
}

fn kernel<T: Stored>(chain: &Chain) -> Twin {
    let passes = passes::<T>(chain);
    let outputs = chain.outputs.iter().map(|value| value - chain.inputs);
    let outputs: Vec<usize> = outputs.collect();
    let bytes = size_of_val(&passes[..]) + size_of_val(&outputs[..]);
    Twin::new(move |args| run(args, &passes, &outputs)).holding(bytes)
}

fn passes<T: Stored>(chain: &Chain) -> Vec<Pass<T>> {
    let mut passes: Vec<Pass<T>> = Vec::with_capacity(chain.instructions.len());
    for (number, &to) in chain.instructions.iter().enumerate() {
        let both = passes
            .last()
            .and_then(|before| together(chain, before, number));
        let (work, from) = match both.and_then(|both| Some((both, passes.pop()?.from))) {
            Some((both, from)) => (Work::Both(both), from),
            None => (Work::Single(to.code.step()), to),
        };
        passes.push(Pass {
            work,
            from,
            to,
            number,
        });
    }
    passes
}

/// Instruction `number` and the pass before it as one pass, if nothing else needs that pass's result.
fn together<T: Stored>(chain: &Chain, before: &Pass<T>, number: usize) -> Option<T::Both> {
    let result = chain.inputs + before.number;
    let reads = |it: &Instruction| it.left() == result || it.right() == Some(result);
    let (it, later) = chain.instructions[number..].split_first()?;
    let only = it.left() == result && !later.iter().any(reads) && !chain.outputs.contains(&result);
    let single = matches!(before.work, Work::Single(_));
    let both = || T::together(before.to.code.name(), it.code.name());
    (only && single).then(both).flatten()
}

fn run<T: Stored>(args: &mut CpuArgs<'_>, passes: &[Pass<T>], outputs: &[usize]) {
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
    // The last result needs no block.
    let last = passes.last().map_or(0, |pass| pass.number);
    match rest {
        [] => y.par_chunks_mut(TILE).enumerate().for_each(|(tile, y)| {
            let results = [(outputs[0], y)];
            with_blocks(last, |mut blocks| {
                blocks.tile(passes, inputs, scalars, tile * TILE, results);
            });
        }),
        [z, ..] => {
            let z: &mut [T] = &mut cast_slice_mut(z.words)[..total];
            let tiles = y.par_chunks_mut(TILE).zip(z.par_chunks_mut(TILE));
            tiles.enumerate().for_each(|(tile, (y, z))| {
                let results = [(outputs[0], y), (outputs[1], z)];
                with_blocks(last, |mut blocks| {
                    blocks.tile(passes, inputs, scalars, tile * TILE, results);
                });
            });
        }
    }
}

thread_local! {
    /// Memory for blocks, of the longest chain so far, so that a run of a small batch allocates nothing.
    static BLOCKS: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with blocks for `last` instructions.
fn with_blocks<T: Stored>(last: usize, f: impl FnOnce(Blocks<'_, T>)) {
    let mut words = BLOCKS.take();
    if words.len() < last * BLOCK {
        words.resize(last * BLOCK, 0);
    }
    f(Blocks(&mut cast_slice_mut(&mut words)[..last * BLOCK]));
    BLOCKS.set(words);
}

/// The results of each instruction for some values, in blocks of `BLOCK`.
struct Blocks<'a, T>(&'a mut [T]);

impl<T: Stored> Blocks<'_, T> {
    /// Computes the values from `from` on. Each result is given with the number of its instruction.
    fn tile<const N: usize>(
        &mut self,
        passes: &[Pass<T>],
        inputs: &[&[T]],
        scalars: &[u32],
        from: usize,
        mut results: [(usize, &mut [T]); N],
    ) {
        let total = results[0].1.len();
        let last = self.0.len() / BLOCK;
        for at in (0..total).step_by(BLOCK) {
            let n = BLOCK.min(total - at);
            for pass in passes {
                let (before, own) = self.0.split_at_mut(pass.number * BLOCK);
                let value = |k: usize| match usize::from(pass.from.values[k]) {
                    input if input < inputs.len() => &inputs[input][from + at..][..n],
                    value => &before[(value - inputs.len()) * BLOCK..][..n],
                };
                let y = match own.get_mut(..n) {
                    Some(own) => own,
                    // The last result.
                    None => match results.iter_mut().find(|(of, _)| *of == last) {
                        Some((_, result)) => &mut result[at..at + n],
                        None => return,
                    },
                };
                let scalar = |&i: &u8| cast(scalars.get(usize::from(i)).copied().unwrap_or(0));
                let scalars_of = |it: &Instruction| it.scalars.each_ref().map(scalar);
                match pass.work {
                    Work::Single(Step::Copy) => y.copy_from_slice(value(0)),
                    Work::Single(Step::Neg) => T::negate(value(0), y),
                    Work::Single(Step::One(run)) => T::one(run, value(0), y, scalars_of(&pass.to)),
                    Work::Single(Step::Two(run)) => T::two(run, value(0), value(1), y),
                    Work::Both(run) => {
                        T::both(
                            run,
                            value(0),
                            y,
                            [scalars_of(&pass.from), scalars_of(&pass.to)],
                        );
                    }
                }
            }
            for (of, result) in results.iter_mut().filter(|(of, _)| *of != last) {
                result[at..at + n].copy_from_slice(&self.0[*of * BLOCK..][..n]);
            }
        }
    }
}

/// A type of stored values; functions are computed in f32.
trait Stored: Pod + Send + Sync {
    /// Two maps in one pass.
    type Both: Copy + Send + Sync + 'static;

    fn together(first: &str, second: &str) -> Option<Self::Both>;

    fn negate(x: &[Self], y: &mut [Self]);
    fn one(run: Run<f32>, x: &[Self], y: &mut [Self], scalars: [f32; 2]);
    fn two(run: Combined<f32, f32>, x: &[Self], y: &[Self], result: &mut [Self]);
    fn both(run: Self::Both, x: &[Self], y: &mut [Self], scalars: [[f32; 2]; 2]);
}

impl Stored for f32 {
    type Both = Both;

    fn together(first: &str, second: &str) -> Option<Both> {
        both_of(first, second)
    }

    fn negate(x: &[f32], y: &mut [f32]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = Neg::of(x, 0.0, 0.0);
        }
    }

    fn one(run: Run<f32>, x: &[f32], y: &mut [f32], scalars: [f32; 2]) {
        run(x, y, scalars);
    }

    fn two(run: Combined<f32, f32>, x: &[f32], y: &[f32], result: &mut [f32]) {
        run(x, y, result);
    }

    fn both(run: Both, x: &[f32], y: &mut [f32], scalars: [[f32; 2]; 2]) {
        run(x, y, scalars);
    }
}

impl Stored for f16 {
    /// None exist, because the first result would have to be rounded.
    type Both = Infallible;

    fn together(_: &str, _: &str) -> Option<Infallible> {
        None
    }

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

    fn both(run: Infallible, _: &[f16], _: &mut [f16], _: [[f32; 2]; 2]) {
        match run {}
    }
}
