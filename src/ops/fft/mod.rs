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
mod launch;
mod long;
mod plan;
pub(crate) mod planes;
mod smooth;
mod stages;
mod twin;

pub(crate) use launch::inside;

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

/// The length of the spectrum of n real values.
fn spectrum(n: usize) -> usize {
    if n == 0 { 0 } else { n / 2 + 1 }
}
