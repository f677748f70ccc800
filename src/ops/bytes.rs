//! Operations without a kernel for bytes: their operands are converted to integers of 32 bits before, and their results
//! to bytes after.
//!
//! Cost: that of the operation, and 5 bytes for each value of an operand or a result of bytes, in a dispatch for each
//! of these. Scratch: 4 bytes for each such value.

use bytemuck::{cast_slice, cast_slice_mut};

use super::convert::cast::Cast;
use crate::host;
use crate::ops::kit::par_map;
use crate::plan::{CpuArgs, CpuInput, CpuOutput, Launch, Param, Slot, Twin, cost_of};
use crate::ragged::{DType, Layout};

/// The launch of an operation over u32, with bytes for operand i if bit i of `operands` is set, and for results in the
/// same way.
pub(super) fn in_words(
    mut launch: Launch,
    inputs: &[&Layout],
    [operands, results]: [u32; 2],
) -> Launch {
    let mut before = Vec::new();
    for (i, layout) in inputs.iter().enumerate() {
        if is_set(operands, i) {
            let words = Slot::Scratch(launch.scratch.len());
            launch.scratch.push(layout.total() as u64);
            for dispatch in &mut launch.dispatches {
                replace(&mut dispatch.slots, &Slot::Input(i), &words);
                for param in &mut dispatch.params {
                    if matches!(param, Param::InputBase(input) if *input == i) {
                        *param = Param::U32(0);
                    }
                }
            }
            before.push(WIDEN.dispatch(layout.total(), Slot::Input(i), Param::InputBase(i), words));
        }
    }
    let mut after = Vec::new();
    for (i, output) in launch.outputs.iter_mut().enumerate() {
        if is_set(results, i) {
            let total = output.layout.get(|input| inputs[input]).total();
            let words = Slot::Scratch(launch.scratch.len());
            launch.scratch.push(total as u64);
            for dispatch in &mut launch.dispatches {
                replace(&mut dispatch.slots, &Slot::Output(i), &words);
            }
            output.dtype = DType::U8;
            after.push(NARROW.dispatch(total, words, Param::U32(0), Slot::Output(i)));
        }
    }
    launch.work = launch
        .work
        .saturating_add(cost_of(&before))
        .saturating_add(cost_of(&after));
    launch.dispatches.splice(0..0, before);
    launch.dispatches.extend(after);
    launch.twin = narrowed(widened(launch.twin, operands), results);
    launch
}

const WIDEN: Cast = Cast {
    from: DType::U8,
    to: DType::U32,
};
const NARROW: Cast = Cast {
    from: DType::U32,
    to: DType::U8,
};

fn replace(slots: &mut [Slot], from: &Slot, to: &Slot) {
    for slot in slots {
        match (&*slot, from) {
            (Slot::Input(i), Slot::Input(j)) | (Slot::Output(i), Slot::Output(j)) if i == j => {
                *slot = to.clone();
            }
            _ => {}
        }
    }
}

/// The twin of an operation over u32, for these operands of bytes.
pub(super) fn widened(kernel: Twin, operands: u32) -> Twin {
    let held = kernel.bytes();
    let run = move |args: &mut CpuArgs<'_>| {
        let mut wide = Vec::with_capacity(args.inputs.len());
        for (i, input) in args.inputs.iter().enumerate() {
            let mut words = Vec::new();
            if is_set(operands, i) {
                words = host::zeroed::<u32>(input.layout.total())?;
                par_map(&input.bytes[..words.len()], &mut words, u32::from);
            }
            wide.push(words);
        }
        let inputs: Vec<CpuInput<'_>> = args
            .inputs
            .iter()
            .zip(&wide)
            .enumerate()
            .map(|(i, (input, words))| CpuInput {
                bytes: match is_set(operands, i) {
                    true => cast_slice(words),
                    false => input.bytes,
                },
                layout: input.layout,
            })
            .collect();
        let outputs = args.outputs.iter_mut().map(|output| CpuOutput {
            words: &mut *output.words,
            layout: output.layout,
        });
        kernel.run(&mut CpuArgs {
            inputs: &inputs,
            outputs: &mut outputs.collect::<Vec<_>>(),
            scalars: args.scalars,
            pairs: args.pairs,
        })
    };
    Twin::new(run).holding(held)
}

/// The same for these results.
fn narrowed(kernel: Twin, results: u32) -> Twin {
    let held = kernel.bytes();
    let of = move |args: &mut CpuArgs<'_>| {
        let mut wide = Vec::with_capacity(args.outputs.len());
        for (i, output) in args.outputs.iter().enumerate() {
            let total = match is_set(results, i) {
                true => output.layout.total(),
                false => 0,
            };
            wide.push(host::zeroed::<u32>(total)?);
        }
        let mut outputs: Vec<CpuOutput<'_>> = args
            .outputs
            .iter_mut()
            .zip(&mut wide)
            .enumerate()
            .map(|(i, (output, words))| CpuOutput {
                words: match is_set(results, i) {
                    true => words,
                    false => &mut *output.words,
                },
                layout: output.layout,
            })
            .collect();
        kernel.run(&mut CpuArgs {
            inputs: args.inputs,
            outputs: &mut outputs,
            scalars: args.scalars,
            pairs: args.pairs,
        })?;
        for (i, (output, words)) in args.outputs.iter_mut().zip(&wide).enumerate() {
            if is_set(results, i) {
                let bytes: &mut [u8] = cast_slice_mut(output.words);
                par_map(words, &mut bytes[..words.len()], |value| value as u8);
            }
        }
        Ok(())
    };
    Twin::new(of).holding(held)
}

fn is_set(bits: u32, i: usize) -> bool {
    bits >> i & 1 == 1
}
