//! Discrete Fourier transforms of vectors, each at its own length.
//!
//! How a length becomes a kernel is told in [`plan`].

mod kernels;
mod long;
mod passes;
mod plan;
mod smooth;
mod twin;

use std::sync::Arc;

use crate::plan::{Launch, Output, OutputLayout};
use crate::ragged::{CacheKey, DType, Layout};
use crate::{Error, Result};

pub(crate) use kernels::{BLUESTEIN, FILTER, KERNEL, REAL, TINY_KERNEL};
#[cfg(feature = "gpu")]
pub(crate) use kernels::{generate, generate_bluestein, generate_filter, generate_real};
pub(crate) use passes::KERNEL as PASS;
#[cfg(feature = "gpu")]
pub(crate) use passes::generate as generate_pass;
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
    fn op(self) -> &'static str {
        match self {
            Transform::Forward => "fft",
            Transform::Inverse => "ifft",
            Transform::Real => "rfft",
            Transform::RealInverse => "irfft",
        }
    }
}

fn key(transform: Transform, other: u64, memory: Option<u32>) -> CacheKey {
    CacheKey {
        what: transform.op(),
        other,
        device: 0,
        extra: memory.map_or(0, |memory| u64::from(memory) + 1),
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

fn check_rank(op: &'static str, layout: &Layout) -> Result<()> {
    if layout.rank() == 1 {
        return Ok(());
    }
    Err(Error::Rank {
        op,
        element: None,
        expected: "1".to_owned(),
        got: layout.rank(),
    })
}

/// Values of the spectrum of n real ones.
fn spectrum(n: usize) -> usize {
    if n == 0 { 0 } else { n / 2 + 1 }
}

/// The launch of a transform whose result has a shape of its own accord: all but [`Transform::RealInverse`].
///
/// `memory` is the workgroup memory of the GPU that it is for, in bytes; the CPU has none and runs no stages.
pub(crate) fn launch(transform: Transform, x: &Layout, memory: Option<u32>) -> Result<Arc<Launch>> {
    let op = transform.op();
    check_rank(op, x)?;
    x.cached(key(transform, 0, memory), || {
        if memory.is_some() {
            check_lengths(transform, x)?;
        }
        let ((stages, temps), result) = if transform == Transform::Real {
            let result = Layout::from_lengths(x.lengths().map(spectrum))?;
            let planned = plan::stages(transform, x, x, &result, memory);
            (planned, OutputLayout::of(result, &[x]))
        } else {
            (
                plan::stages(transform, x, x, x, memory),
                OutputLayout::Input(0),
            )
        };
        Ok(Arc::new(Launch {
            op,
            outputs: vec![Output::new(DType::C32, result)],
            temps,
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
    memory: Option<u32>,
) -> Result<Arc<Launch>> {
    let transform = Transform::RealInverse;
    let op = transform.op();
    check_rank(op, x)?;
    check_rank(op, result)?;
    if x.len() != result.len() {
        return Err(Error::BatchSize {
            op,
            left: x.len(),
            right: result.len(),
        });
    }
    x.cached(key(transform, result.id(), memory), || {
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
        if memory.is_some() {
            check_lengths(transform, result)?;
        }
        let (stages, temps) = plan::stages(transform, result, x, result, memory);
        Ok(Arc::new(Launch {
            op,
            outputs: vec![Output::new(DType::F32, OutputLayout::Input(1))],
            temps,
            stages,
            pairs: None,
            twin: twin::of(transform),
        }))
    })
}
