//! The launches of transforms.

use super::{Transform, kernels, plan, smooth, spectrum, twin};
use crate::ops::operation::{FftLimits, Operation, PlanRequest};
use crate::plan::{Dispatch, Kernel, Launch, Offset, OutputLayout, Param, Plan, Slot, cost_of};
use crate::ragged::{DType, Layout};
use crate::{Error, Result};

/// Checks that the GPU kernels support all lengths; the CPU transforms any length.
fn check_lengths(transform: Transform, n: &Layout) -> Result<()> {
    match plan::too_long(transform, n) {
        None => Ok(()),
        Some((element, longest)) => Err(Error::too_large(
            "the transform",
            (n.length(element) * DType::C32.size()) as u64,
            (longest * DType::C32.size()) as u64,
        )
        .at(element)),
    }
}

impl Operation for Transform {
    const KERNELS: &[&Kernel] = &[
        &kernels::KERNEL,
        &kernels::TINY_KERNEL,
        &kernels::FILTER,
        &smooth::KERNEL,
        &kernels::REAL,
        &kernels::BLUESTEIN,
    ];

    fn name(&self) -> &'static str {
        self.op()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let room = request.device.room;
        let launch = match *self {
            Transform::RealInverse => inverse(inputs[0], inputs[1], room)?,
            other => forward(other, inputs[0], room)?,
        };
        Ok(launch.into())
    }
}

fn forward(transform: Transform, x: &Layout, room: Option<FftLimits>) -> Result<Launch> {
    x.check_rank(1)?;
    if room.is_some() {
        check_lengths(transform, x)?;
    }
    let (gpu, result) = if transform == Transform::Real {
        let mut offsets = Offset::new(x.len())?;
        for n in x.lengths() {
            offsets.push(spectrum(n) as u64)?;
        }
        let result = Layout::from_offsets(offsets.finish());
        let planned = plan::dispatches(transform, x, x, &result, room)?;
        (planned, OutputLayout::New(result))
    } else {
        (
            plan::dispatches(transform, x, x, x, room)?,
            OutputLayout::Input(0),
        )
    };
    let work = plan::work(transform, x).max(cost_of(&gpu.0));
    let twin = twin::of(transform, x);
    Ok(Launch::of(DType::C32, result, gpu, work, twin))
}

fn inverse(x: &Layout, result: &Layout, room: Option<FftLimits>) -> Result<Launch> {
    let transform = Transform::RealInverse;
    x.check_rank(1)?;
    result.check_rank(1)?;
    x.check_len(result.len())?;
    x.check_lengths(result.lengths().map(spectrum))?;
    if room.is_some() {
        check_lengths(transform, result)?;
    }
    let gpu = plan::dispatches(transform, result, x, result, room)?;
    let work = plan::work(transform, result).max(cost_of(&gpu.0));
    let (layout, twin) = (OutputLayout::Input(1), twin::of(transform, result));
    Ok(Launch::of(DType::F32, layout, gpu, work, twin))
}

/// The dispatches of transforms inside another operation, and the words of their own scratch buffers.
///
/// They transform elements of the lengths `n` from the operation's scratch buffer `x` to `y`, with the layouts `from`
/// and `to`. Their own scratch buffers begin at `own`.
pub(crate) fn inside(
    transform: Transform,
    n: &Layout,
    [from, to]: [&Layout; 2],
    room: FftLimits,
    [x, y]: [usize; 2],
    own: usize,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let (mut dispatches, words) = plan::dispatches(transform, n, from, to, Some(room))?;
    for dispatch in &mut dispatches {
        for slot in &mut dispatch.slots {
            match slot {
                Slot::Input(_) => *slot = Slot::Scratch(x),
                Slot::Output(_) => *slot = Slot::Scratch(y),
                Slot::Scratch(i) => *i += own,
                _ => {}
            }
        }
        for word in &mut dispatch.params {
            if let Param::InputBase(_) = word {
                *word = Param::U32(0);
            }
        }
    }
    Ok((dispatches, words))
}
