//! Discrete Fourier transforms of vectors, each at its own length.
//!
//! [`plan`] documents which kernel transforms which length.
//!
//! An inverse transform is the forward one with real and imaginary parts exchanged on input and output, so there are no
//! inverse kernels. Items at equal distances are computed from their number, and not read from the work list.
//!
//! **Real values.** With z_j = x_2j + i x_(2j+1), the spectrum X of n = 2 h values follows from Z, the transform of h
//! values: X_k from Z_k and Z_(h−k) (`shaders/lib/fft_halves.wgsl`). Neither direction needs a pass of its own for this
//! step. Backward, X is merged into Z while it is read. Forward, Z is split before it is written: in one workgroup, the
//! mirrored value comes through workgroup memory; in passes, the last one processes column b together with column h −
//! b, modulo their number (`HALVES`), so that both values of a pair are in one workgroup. Every even length, with every
//! method, thus moves and computes half of what as many complex values do. Odd lengths are complex transforms whose
//! imaginary parts are not read.

mod items;
mod kernels;
mod long;
mod plan;
pub(crate) mod planes;
mod smooth;
mod stages;
mod twin;

use crate::ops::operation::{FftLimits, Operation, PlanRequest};
use crate::plan::{Dispatch, Kernel, Launch, Offset, OutputLayout, Param, Plan, Slot, cost_of};
use crate::ragged::{DType, Layout};
use crate::{Error, Result};

/// The kind of transform. The result of [`RealInverse`](Transform::RealInverse) has the layout of operand 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Transform {
    Forward,
    /// With the factor 1/n.
    Inverse,
    /// Of n real values, to the first ⌊n/2⌋ + 1 results.
    Real,
    /// The inverse of `Real`, with the factor 1/n.
    RealInverse,
}

impl Transform {
    fn is_real(self) -> bool {
        matches!(self, Transform::Real | Transform::RealInverse)
    }

    fn op(self) -> &'static str {
        match self {
            Transform::Forward => "fft",
            Transform::Inverse => "ifft",
            Transform::Real => "rfft",
            Transform::RealInverse => "irfft",
        }
    }
}

/// Checks that the GPU kernels support all lengths; the CPU transforms any length.
fn check_lengths(transform: Transform, n: &Layout) -> Result<()> {
    match plan::too_long(transform, n) {
        None => Ok(()),
        Some((element, longest)) => Err(Error::too_large(
            transform.op(),
            "the transform",
            (n.length(element) * DType::C32.size()) as u64,
            (longest * DType::C32.size()) as u64,
        )
        .at(element)),
    }
}

/// The length of the spectrum of n real values.
fn spectrum(n: usize) -> usize {
    if n == 0 { 0 } else { n / 2 + 1 }
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
    let op = transform.op();
    x.check_rank(op, 1)?;
    if room.is_some() {
        check_lengths(transform, x)?;
    }
    let (gpu, result) = if transform == Transform::Real {
        let mut offsets = Offset::new(op, x.len())?;
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
    Ok(Launch::of(op, DType::C32, result, gpu, work, twin))
}

fn inverse(x: &Layout, result: &Layout, room: Option<FftLimits>) -> Result<Launch> {
    let transform = Transform::RealInverse;
    let op = transform.op();
    x.check_rank(op, 1)?;
    result.check_rank(op, 1)?;
    x.check_len(op, result.len())?;
    x.check_lengths(op, result.lengths().map(spectrum))?;
    if room.is_some() {
        check_lengths(transform, result)?;
    }
    let gpu = plan::dispatches(transform, result, x, result, room)?;
    let work = plan::work(transform, result).max(cost_of(&gpu.0));
    let (layout, twin) = (OutputLayout::Input(1), twin::of(transform, result));
    Ok(Launch::of(op, DType::F32, layout, gpu, work, twin))
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
