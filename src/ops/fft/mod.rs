//! Discrete Fourier transforms of vectors, each at its own length.
//!
//! How a length becomes a kernel is told in [`plan`].

mod kernels;
mod long;
mod plan;
pub(crate) mod planes;
mod smooth;
mod twin;

use std::sync::Arc;

use crate::plan::{Launch, Offset, Output, OutputLayout, Slot, Stage, Word, cost_of};
use crate::ragged::{CacheKey, DType, Layout};
use crate::{Error, Result};

pub(crate) use kernels::{BLUESTEIN, FILTER, KERNEL, REAL, TINY_KERNEL};
#[cfg(feature = "gpu")]
pub(crate) use kernels::{generate, generate_bluestein, generate_filter, generate_real};
pub(crate) use plan::HALF;
pub(crate) use smooth::KERNEL as SMOOTH;
#[cfg(feature = "gpu")]
pub(crate) use smooth::generate as generate_smooth;

/// Which transform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transform {
    Forward,
    /// With the factor 1/n.
    Inverse,
    /// Of n real values: the first ⌊n/2⌋ + 1 results.
    Real,
    /// Its inverse, with the factor.
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

/// What a GPU has for transforms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes of workgroup memory.
    workgroup: u32,
    /// Words of a scratch buffer at most.
    scratch: u64,
    /// Bytes of a tensor at most.
    binding: u64,
}

impl Room {
    /// From bytes of workgroup memory and of a binding.
    pub(crate) fn new(workgroup: u32, binding: u64) -> Room {
        Room {
            workgroup,
            scratch: long::SCRATCH.min(binding / 4),
            binding,
        }
    }

    /// A number that plans for other rooms do not have.
    pub(crate) fn key(self) -> u64 {
        u64::from(self.workgroup) << 32 | self.scratch
    }

    /// Words of a scratch buffer at most.
    pub(crate) fn scratch(self) -> u64 {
        self.scratch
    }

    /// Bytes of a tensor at most.
    pub(crate) fn binding(self) -> u64 {
        self.binding
    }
}

fn key(transform: Transform, other: u64, room: Option<Room>) -> CacheKey {
    CacheKey {
        what: transform.op(),
        other,
        device: 0,
        extra: room.map_or(0, Room::key),
    }
}

/// The CPU transforms any length; the kernels do not.
fn check_lengths(transform: Transform, n: &Layout) -> Result<()> {
    match plan::too_long(transform, n) {
        None => Ok(()),
        Some((element, longest)) => Err(Error::TooLarge {
            op: transform.op(),
            element: Some(element),
            what: "transform".to_owned(),
            bytes: (n.length(element) * DType::C32.size()) as u64,
            limit: (longest * DType::C32.size()) as u64,
        }),
    }
}

fn check_rank(op: &'static str, layout: &Layout, rank: usize) -> Result<()> {
    if layout.rank() == rank {
        return Ok(());
    }
    Err(Error::Rank {
        op,
        element: None,
        expected: rank.to_string(),
        got: layout.rank(),
    })
}

/// Values of the spectrum of n real ones.
fn spectrum(n: usize) -> usize {
    if n == 0 { 0 } else { n / 2 + 1 }
}

/// The launch of a transform whose result has a shape of its own accord: all but [`Transform::RealInverse`].
///
/// `room` is of the GPU that it is for; the CPU needs none and runs no stages.
pub(crate) fn launch(transform: Transform, x: &Layout, room: Option<Room>) -> Result<Arc<Launch>> {
    let op = transform.op();
    check_rank(op, x, 1)?;
    x.cached(key(transform, 0, room), || {
        if room.is_some() {
            check_lengths(transform, x)?;
        }
        let ((stages, temps), result) = if transform == Transform::Real {
            let mut offsets = Offset::new(op, x.len())?;
            for n in x.lengths() {
                offsets.push(spectrum(n) as u64)?;
            }
            let result = Layout::from_offsets(offsets.finish());
            let planned = plan::stages(transform, x, x, &result, room)?;
            (planned, OutputLayout::of(result, &[x]))
        } else {
            (
                plan::stages(transform, x, x, x, room)?,
                OutputLayout::Input(0),
            )
        };
        Ok(Arc::new(Launch {
            op,
            outputs: vec![Output::new(DType::C32, result)],
            temps,
            work: plan::work(transform, x).max(cost_of(&stages)),
            stages,
            pairs: None,
            twin: twin::of(transform),
        }))
    })
}

/// The launch of [`Transform::RealInverse`] with results of this layout, which must be its second operand's.
pub(crate) fn launch_inverse(
    x: &Layout,
    result: &Layout,
    room: Option<Room>,
) -> Result<Arc<Launch>> {
    let transform = Transform::RealInverse;
    let op = transform.op();
    check_rank(op, x, 1)?;
    check_rank(op, result, 1)?;
    if x.len() != result.len() {
        return Err(Error::BatchSize {
            op,
            left: x.len(),
            right: result.len(),
            pairing: false,
        });
    }
    x.cached(key(transform, result.id(), room), || {
        let wrong = x.lengths().zip(result.lengths().map(spectrum));
        if let Some((element, (got, expected))) = wrong
            .enumerate()
            .find(|(_, (got, expected))| got != expected)
        {
            return Err(Error::Length {
                op,
                element,
                expected,
                got,
            });
        }
        if room.is_some() {
            check_lengths(transform, result)?;
        }
        let (stages, temps) = plan::stages(transform, result, x, result, room)?;
        Ok(Arc::new(Launch {
            op,
            outputs: vec![Output::new(DType::F32, OutputLayout::Input(1))],
            temps,
            work: plan::work(transform, result).max(cost_of(&stages)),
            stages,
            pairs: None,
            twin: twin::of(transform),
        }))
    })
}

/// The stages of transforms of elements of the lengths `n` inside another operation, from its scratch buffer `x` to `y`, in which
/// they lie as `from` and `to` say. Scratch buffers of their own, whose words come too, begin at `own`.
pub(crate) fn inside(
    transform: Transform,
    n: &Layout,
    [from, to]: [&Layout; 2],
    room: Room,
    [x, y]: [usize; 2],
    own: usize,
) -> Result<(Vec<Stage>, Vec<u64>)> {
    let (mut stages, words) = plan::stages(transform, n, from, to, Some(room))?;
    for stage in &mut stages {
        for slot in &mut stage.slots {
            match slot {
                Slot::Input(_) => *slot = Slot::Temp(x),
                Slot::Output(_) => *slot = Slot::Temp(y),
                Slot::Temp(i) => *i += own,
                _ => {}
            }
        }
        for word in &mut stage.params {
            if let Word::InputBase(_) = word {
                *word = Word::U32(0);
            }
        }
    }
    Ok((stages, words))
}
