//! The CPU's convolution by transforms, of whole operands or of blocks of the longer one.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use realfft::num_complex::Complex32;
use realfft::{ComplexToReal, RealToComplex};

use super::directly;
use crate::cpu::{IRFFT, RFFT, Workspace};
use crate::ops::choice::{Choice, Choices};
use crate::{Result, host};

/// Results of a long direct convolution per parallel task.
const TILE: usize = 1 << 14;

/// The forward and inverse transform of one length.
struct RealFft {
    forward: Arc<dyn RealToComplex<f32>>,
    inverse: Arc<dyn ComplexToReal<f32>>,
}

impl RealFft {
    fn new(length: usize) -> RealFft {
        RealFft {
            forward: RFFT.of(length),
            inverse: IRFFT.of(length),
        }
    }
}

/// The methods of all pairs, and the transforms that they need.
pub(crate) struct Engine<'a> {
    choices: &'a Choices,
    transforms: Vec<RealFft>,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(choices: &'a Choices) -> Engine<'a> {
        let lengths = choices.lengths.par_iter();
        Engine {
            choices,
            transforms: lengths
                .map(|&length| RealFft::new(length as usize))
                .collect(),
        }
    }

    fn fft(&self, length: u32) -> &RealFft {
        // `lengths` lists the length of every choice.
        let place = self.choices.lengths.partition_point(|&l| l < length);
        &self.transforms[place]
    }

    /// Whether a pair is convolved by transforms.
    pub(crate) fn transforms(&self, pair: usize) -> bool {
        self.choices.get(pair) != Choice::Direct
    }

    /// Computes all of `a * b`, or of `a * reverse(b)`, by the method chosen for this pair.
    pub(crate) fn convolve(
        &self,
        pair: usize,
        (a, b): (&[f32], &[f32]),
        reversed: bool,
        workspace: &mut Workspace,
        out: &mut [f32],
    ) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        match self.choices.get(pair) {
            Choice::Direct => out
                .par_chunks_mut(TILE)
                .enumerate()
                .try_for_each(|(tile, out)| {
                    let within = tile * TILE..tile * TILE + out.len();
                    directly((a, b), reversed, within, out)
                }),
            Choice::Fft { length } => whole(self.fft(length), (a, b), reversed, workspace, out),
            Choice::OverlapSave { length } => {
                blocks(self.fft(length), (a, b), reversed, workspace, out)
            }
        }
    }
}

impl Workspace {
    /// Grows the buffers for transforms of one length.
    fn fit(&mut self, fft: &RealFft) -> Result<()> {
        fn grow<T: Clone>(values: &mut Vec<T>, length: usize, zero: T) -> Result<()> {
            if values.len() < length {
                host::reserve(values, length - values.len())?;
                values.resize(length, zero);
            }
            Ok(())
        }
        let length = fft.forward.len();
        grow(&mut self.values, length, 0.0)?;
        grow(&mut self.spectrum, length / 2 + 1, Complex32::ZERO)?;
        grow(&mut self.taps, length / 2 + 1, Complex32::ZERO)?;
        let scratch = fft.forward.get_scratch_len();
        let scratch = scratch.max(fft.inverse.get_scratch_len());
        grow(&mut self.scratch, scratch, Complex32::ZERO)
    }

    /// The input of the forward transform, or the output of the inverse.
    fn values(&mut self, fft: &RealFft) -> &mut [f32] {
        &mut self.values[..fft.forward.len()]
    }

    /// Transforms the values into the spectrum.
    fn transform(&mut self, fft: &RealFft) {
        let values = &mut self.values[..fft.forward.len()];
        let spectrum = &mut self.spectrum[..values.len() / 2 + 1];
        let done = fft
            .forward
            .process_with_scratch(values, spectrum, &mut self.scratch);
        debug_assert!(done.is_ok(), "{done:?}");
    }

    /// Multiplies the spectrum by that of the taps, and transforms the product back.
    fn multiply_back(&mut self, fft: &RealFft, taps: &[Complex32]) {
        let values = &mut self.values[..fft.forward.len()];
        let spectrum = &mut self.spectrum[..values.len() / 2 + 1];
        let scale = 1.0 / values.len() as f32;
        for (x, y) in spectrum.iter_mut().zip(taps) {
            *x = *x * y * scale;
        }
        // The first and the last value are real. An infinite input makes their imaginary parts NaN, which the inverse
        // rejects.
        let last = spectrum.len() - 1;
        spectrum[0].im = 0.0;
        spectrum[last].im = 0.0;
        let done = fft
            .inverse
            .process_with_scratch(spectrum, values, &mut self.scratch);
        debug_assert!(done.is_ok(), "{done:?}");
    }
}

/// Convolution by transforms of one length with kernels whose spectra are cached.
pub(super) struct OverlapSave(RealFft);

impl OverlapSave {
    pub(super) fn new(length: usize) -> OverlapSave {
        OverlapSave(RealFft::new(length))
    }

    /// The spectrum of a kernel.
    pub(super) fn spectrum(
        &self,
        kernel: &[f32],
        workspace: &mut Workspace,
        out: &mut [Complex32],
    ) -> Result<()> {
        workspace.fit(&self.0)?;
        place(workspace.values(&self.0), kernel, false);
        workspace.transform(&self.0);
        out.copy_from_slice(&workspace.spectrum[..out.len()]);
        Ok(())
    }

    /// Computes the first results of `a * kernel`, as many as `out` holds, in parallel blocks. The kernel has
    /// `wrapped + 1` values.
    pub(super) fn blocks(
        &self,
        a: &[f32],
        spectrum: &[Complex32],
        wrapped: usize,
        out: &mut [f32],
    ) -> Result<()> {
        let step = self.0.forward.len() - wrapped;
        out.par_chunks_mut(step)
            .enumerate()
            .try_for_each(|(block, out)| {
                Workspace::with(|workspace| {
                    workspace.fit(&self.0)?;
                    let first = (block * step) as isize - wrapped as isize;
                    stretch(workspace.values(&self.0), a, false, first);
                    workspace.transform(&self.0);
                    workspace.multiply_back(&self.0, spectrum);
                    out.copy_from_slice(&workspace.values[wrapped..][..out.len()]);
                    Ok(())
                })
            })
    }
}

/// Copies `x`, or its reverse, to the front of `values`, and fills the rest with zeros.
fn place(values: &mut [f32], x: &[f32], reversed: bool) {
    let (front, rest) = values.split_at_mut(x.len());
    if reversed {
        front
            .iter_mut()
            .zip(x.iter().rev())
            .for_each(|(v, &x)| *v = x);
    } else {
        front.copy_from_slice(x);
    }
    rest.fill(0.0);
}

/// Computes all of `a * b`, or of `a * reverse(b)`, by transforms that are long enough for all results.
fn whole(
    fft: &RealFft,
    (a, b): (&[f32], &[f32]),
    reversed: bool,
    workspace: &mut Workspace,
    out: &mut [f32],
) -> Result<()> {
    workspace.fit(fft)?;
    place(workspace.values(fft), b, reversed);
    workspace.transform(fft);
    std::mem::swap(&mut workspace.spectrum, &mut workspace.taps);
    place(workspace.values(fft), a, false);
    workspace.transform(fft);
    let taps = std::mem::take(&mut workspace.taps);
    workspace.multiply_back(fft, &taps);
    workspace.taps = taps;
    out.copy_from_slice(&workspace.values[..out.len()]);
    Ok(())
}

/// Computes all of `a * b`, or of `a * reverse(b)`, in parallel blocks of the longer operand.
///
/// For n taps, the first n − 1 results of a block's transform wrap around. They belong to the block before it, and are
/// dropped.
fn blocks(
    fft: &RealFft,
    (a, b): (&[f32], &[f32]),
    reversed: bool,
    workspace: &mut Workspace,
    out: &mut [f32],
) -> Result<()> {
    let (x, y, x_reversed, y_reversed) = if b.len() > a.len() {
        (b, a, reversed, false)
    } else {
        (a, b, false, reversed)
    };
    workspace.fit(fft)?;
    place(workspace.values(fft), y, y_reversed);
    workspace.transform(fft);
    let taps = &workspace.spectrum;
    let wrapped = y.len() - 1;
    let step = fft.forward.len() - wrapped;
    let block = |(block, out): (usize, &mut [f32])| {
        Workspace::with(|workspace| {
            workspace.fit(fft)?;
            // The block's values of x begin `wrapped` places before its results, possibly before x begins.
            let first = (block * step) as isize - wrapped as isize;
            stretch(workspace.values(fft), x, x_reversed, first);
            workspace.transform(fft);
            workspace.multiply_back(fft, taps);
            out.copy_from_slice(&workspace.values[wrapped..][..out.len()]);
            Ok(())
        })
    };
    out.par_chunks_mut(step).enumerate().try_for_each(block)
}

/// Copies values `first ..` of x, or of its reverse, to `values`; zeros outside x.
fn stretch(values: &mut [f32], x: &[f32], reversed: bool, first: isize) {
    let before = first.min(0).unsigned_abs().min(values.len());
    let from = first.max(0) as usize;
    let there: Range<usize> = from.min(x.len())..(from + values.len() - before).min(x.len());
    values[..before].fill(0.0);
    let values = &mut values[before..];
    if reversed {
        let backwards = &x[x.len() - there.end..x.len() - there.start];
        place(values, backwards, true);
    } else {
        place(values, &x[there], false);
    }
}
