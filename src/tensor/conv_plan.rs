//! Convolution with kernels whose spectra are computed once.

use num_complex::Complex32;

use super::run::Call;
use super::{Paired, Tensor};
use crate::Result;
use crate::error::Named;
use crate::ops::conv::cached_spectra::{Mode, Spectra};
use crate::ragged::{Layout, Pairs};

/// Kernels with precomputed spectra, and the pairing of signals with them, created by [`Paired::conv_plan`].
///
/// If many signals share kernels, or new signals use the same kernels again and again, a plan saves the transforms of
/// the kernels, and a GPU keeps a spectrum in registers for several signals. A plan always uses transforms, whatever
/// the lengths: the block length L for a kernel of n values depends only on n, and is at least 2 n and 512. On a GPU, L
/// is a power of two up to 8192, and longer kernels are cut into parts of 4096 values. Memory: about 8 bytes for every
/// value of L / 2, for each kernel or part.
///
/// ```
/// use vsla::{Device, Pairing, Ragged};
///
/// let device = Device::cpu();
/// let kernels = device.upload(&Ragged::from_rows([vec![1.0f32, 1.0], vec![0.0, 0.0, 2.0]])?)?;
/// let signals = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![4.0]])?)?;
/// let plan = signals.pair(&kernels, Pairing::AllToAll)?.conv_plan()?;
/// let echo = plan.causal(&signals)?.download_blocking()?;
/// let expected = [vec![1.0, 3.0, 5.0], vec![0.0, 0.0, 2.0], vec![4.0], vec![0.0]];
/// for (got, expected) in echo.iter().zip(&expected) {
///     assert!(got.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-5));
/// }
/// // New signals with the same kernels: the first pair now has 4 results.
/// let others = device.upload(&Ragged::from_rows([vec![1.0f32, 0.0, 1.0], vec![2.0, 3.0]])?)?;
/// assert_eq!(plan.conv(&others)?.layout().length(0), 4);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConvPlan {
    kernels: Layout,
    spectra: Tensor<Complex32>,
    pairs: Pairs,
    signals: usize,
}

impl Paired<'_, f32> {
    /// Transforms the elements of the right operand, to convolve those of the left operand with them: see [`ConvPlan`].
    ///
    /// Rank 1. Cost: one transform per kernel.
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless both batches have rank 1; [`SizeOverflow`](crate::Error::SizeOverflow),
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn conv_plan(&self) -> Result<ConvPlan> {
        let (signals, kernels) = self.layouts();
        let device = &self.left.device;
        let operands = [self.right.operand(), self.right.shapes(signals)];
        let spectra = Call::new(device, Spectra, &operands).one()?;
        Ok(ConvPlan {
            kernels: kernels.clone(),
            spectra,
            pairs: self.pairs.clone(),
            signals: signals.len(),
        })
    }
}

impl ConvPlan {
    /// The convolution of every pair, as [`conv`](Tensor::conv): m + n − 1 results, none if a side is empty.
    ///
    /// The signals may differ from those that the plan was made with, and may have any lengths, but there must be as
    /// many. Results are in the pairing's order. A NaN or an infinity spreads over the results of the blocks that it
    /// enters, within its own pair.
    ///
    /// Cost: two transforms of L values for every L − n + 1 results. On a GPU, a kernel in parts takes one transform
    /// for each part and one back for every 4096 results. Error: |error| ≤ 1.5 log₂ L · u · ‖a‖₂ ‖b‖₂, and √2 times
    /// that for a kernel in parts.
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize) unless there are as many signals as in the plan, and those of
    /// [`conv`](Tensor::conv).
    pub fn conv(&self, signals: &Tensor<f32>) -> Result<Tensor<f32>> {
        self.apply(signals, Mode::Full)
    }

    /// The first m results of every pair, where m is the length of the signal.
    ///
    /// Result q is `Σ_j a_{q−j} b_j` for j ≤ q: a causal filter. Otherwise it behaves like [`conv`](Self::conv).
    ///
    /// # Errors
    /// Those of [`conv`](Self::conv).
    pub fn causal(&self, signals: &Tensor<f32>) -> Result<Tensor<f32>> {
        self.apply(signals, Mode::Causal)
    }

    fn apply(&self, signals: &Tensor<f32>, mode: Mode) -> Result<Tensor<f32>> {
        let device = &self.spectra.device;
        signals.check_device(&self.spectra).named(mode.op())?;
        signals.layout.check_len(self.signals).named(mode.op())?;
        let kernels = self.spectra.shapes(&self.kernels);
        let operands = [signals.operand(), self.spectra.operand(), kernels];
        Call {
            pairs: Some(&self.pairs),
            ..Call::new(device, mode, &operands)
        }
        .one()
    }
}
