//! Rules of Fourier transforms and frames. The cotangent of a complex value is that of its real part, plus i times that
//! of its imaginary part.

use num_complex::Complex32;

use super::parts::{layout, one};
use super::rule::{Applied, Cotangent, Cotangents, GRADIENTS, Rule};
use crate::error::Named;
use crate::ops::fft::Transform;
use crate::ops::frames::{Frames, LEAST};
use crate::ragged::{Layout, Ragged};
use crate::tensor::{Tensor, frames_of};
use crate::{Result, host};

impl Rule for Transform {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        transformed(applied, *self, g)
    }
}

impl Rule for Frames {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        framed(applied, *self, &applied.floats(g)?)
    }
}

fn transformed(applied: &Applied<'_>, transform: Transform, g: &Cotangent) -> Result<Cotangents> {
    let x = applied.layout(0);
    // The number of values of each element, as weights of all values.
    let lengths = |of: &Layout, weight: fn(f32) -> f32| {
        let weights = of.lengths().map(|n| weight(n as f32));
        applied.uploaded(host::exact(weights).named(GRADIENTS)?)
    };
    match transform {
        Transform::Forward => {
            let g = applied.complex(g)?.ifft()?;
            weighted(&g, &lengths(x, |n| n)?)
        }
        Transform::Inverse => {
            let g = applied.complex(g)?.fft()?;
            weighted(&g, &lengths(x, |n| 1.0 / n)?)
        }
        // In the full spectrum of n real values, each frequency of the half spectrum occurs twice, except the first
        // and, for even n, the last.
        Transform::Real => {
            let g = applied.complex(g)?;
            let inner = |n: usize| 0.5 * n as f32;
            let g = by_frequency(applied, &g, x, |n| n as f32, inner)?;
            one(g.irfft(x)?)
        }
        Transform::RealInverse => {
            let g = applied.floats(g)?;
            let inner = |n: usize| 2.0 / n as f32;
            one(by_frequency(
                applied,
                &g.rfft()?,
                g.layout(),
                |n| 1.0 / n as f32,
                inner,
            )?)
        }
    }
}

/// Both parts of all values of an element, times its weight.
fn weighted(g: &Tensor<Complex32>, weights: &Tensor<f32>) -> Result<Cotangents> {
    one(g
        .view_as_real()?
        .hadamard(weights.each())?
        .view_as_complex()?)
}

/// Spectra of n real values, times a weight at the frequencies that occur once and another one at those that occur
/// twice.
fn by_frequency(
    applied: &Applied<'_>,
    g: &Tensor<Complex32>,
    of: &Layout,
    once: fn(usize) -> f32,
    twice: impl Fn(usize) -> f32,
) -> Result<Tensor<Complex32>> {
    let mut weights = host::room(g.layout().total()).named(GRADIENTS)?;
    for (n, values) in of.lengths().zip(g.layout().lengths()) {
        let weight = |k: usize| match k == 0 || 2 * k == n {
            true => once(n),
            false => twice(n),
        };
        weights.extend((0..values).map(weight));
    }
    let weights = applied
        .device()
        .upload(&Ragged::from_parts(g.layout().clone(), weights)?)?;
    g.view_as_real()?
        .hadamard(weights.along(0))?
        .view_as_complex()
}

fn framed(applied: &Applied<'_>, frames: Frames, g: &Tensor<f32>) -> Result<Cotangents> {
    let (x, window) = (applied.operand::<f32>(0)?, applied.operand::<f32>(1)?);
    let ones = applied.device().full(window.layout(), 1.0f32)?;
    // The sum over all frames of all elements, for each place of the window.
    let over_frames = |g: &Tensor<f32>| -> Result<Tensor<f32>> {
        let size = window.layout().total();
        let rows = layout(1, 2, |_, axis| [g.layout().total() / size, size][axis])?;
        g.view_as(&rows)?.sum_axis(0)?.view_as(window.layout())
    };
    match frames {
        Frames::Cut { hop } => {
            let of_x =
                applied.wanted(0, || frames_of(g, &window, Frames::Sum { hop }, x.layout()))?;
            let of_window =
                applied.wanted(1, || over_frames(&g.hadamard(&cut(&x, &ones, hop)?)?))?;
            Ok(vec![of_x, of_window])
        }
        Frames::Sum { hop } => {
            let of_x = applied.wanted(0, || cut(g, &window, hop))?;
            let of_window =
                applied.wanted(1, || over_frames(&x.hadamard(&cut(g, &ones, hop)?)?))?;
            Ok(vec![of_x, of_window])
        }
        Frames::Add { hop } => {
            // Sums of frames times the window, over those of the window's squares.
            let every = applied.device().full(g.layout(), 1.0f32)?;
            let squares = frames_of(
                &cut(&every, &window, hop)?,
                &window,
                Frames::Sum { hop },
                g.layout(),
            )?;
            let least = applied.filled(g.len(), LEAST)?;
            let share = applied.divided_unless(&squares.less_equal(least.each())?, g, &squares)?;
            let of_x = applied.wanted(0, || cut(&share, &window, hop))?;
            let of_window = applied.wanted(1, || {
                let of_sums = x.hadamard(&cut(&share, &ones, hop)?)?;
                let of_squares = cut(
                    &share.hadamard(&applied.result(0)?)?.scale(2.0)?,
                    &window,
                    hop,
                )?;
                over_frames(&of_sums.sub(&of_squares)?)
            })?;
            Ok(vec![of_x, of_window])
        }
    }
}

/// The frames of vectors, times a window.
fn cut(x: &Tensor<f32>, window: &Tensor<f32>, hop: u32) -> Result<Tensor<f32>> {
    frames_of(x, window, Frames::Cut { hop }, x.layout())
}
