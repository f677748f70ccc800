//! Convolution with kernels that are transformed once.

use num_complex::Complex32;

use super::run::Call;
use super::{Paired, Tensor};
use crate::ops::Op;
use crate::ops::conv::cached_spectra::{Mode, Spectra};
use crate::ragged::{Layout, Pairs};
use crate::{Error, Result};

/// Kernels whose spectra are kept, and which signal meets which: what [`Paired::conv_plan`] makes.
///
/// Where kernels are shared by many signals, or meet new signals again and again, it saves their transforms, and a GPU
/// keeps a spectrum in registers for several signals. Always by transforms, whatever the lengths: a kernel of n values
/// takes blocks of a length L of its own, at least 2 n and 512; on a GPU a power of two up to 8192, and longer kernels
/// are cut into parts of 4096 values. Memory: about 8 bytes for every value of L / 2, for each kernel or part.
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
/// // New signals, with the same kernels: 4 results of the first pair now.
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
    /// Transforms the right operand's elements, for convolutions of the left one's with them: see [`ConvPlan`].
    ///
    /// Rank 1. Cost: a transform a kernel.
    ///
    /// # Errors
    /// [`Rank`](Error::Rank) unless both are of rank 1; [`SizeOverflow`](Error::SizeOverflow),
    /// [`TooLarge`](Error::TooLarge), [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn conv_plan(&self) -> Result<ConvPlan> {
        let (signals, kernels) = self.layouts();
        let device = &self.left.device;
        let operands = [self.right.operand(), self.right.shapes(signals)];
        let spectra = Call::new(device, Op::Spectra(Spectra), &operands).one()?;
        Ok(ConvPlan {
            kernels: kernels.clone(),
            spectra,
            pairs: self.pairs.clone(),
            signals: signals.len(),
        })
    }
}

impl ConvPlan {
    /// [`conv`](Tensor::conv) of every pair: m + n − 1 results, none where a side is empty.
    ///
    /// The signals may be others than those that the plan was made with, of any lengths, but as many. In the pairing's
    /// order. A NaN or an infinity spreads over the results of the blocks that it meets, of its own pair.
    ///
    /// Cost: two transforms of L values for every L − n + 1 results (four on a GPU, for every 4096 and a part, where
    /// the kernel is longer: one for each part and one back). Error: |error| ≤ 1.5 log₂ L · u · ‖a‖₂ ‖b‖₂, √2 times
    /// that for a kernel in parts.
    ///
    /// # Errors
    /// [`BatchSize`](Error::BatchSize) where there are more or fewer signals than in the plan, and those of
    /// [`conv`](Tensor::conv).
    pub fn conv(&self, signals: &Tensor<f32>) -> Result<Tensor<f32>> {
        self.apply(signals, Mode::Full)
    }

    /// The first m results of every pair, m the length of the signal: result q is `Σ_j a_{q−j} b_j` for j ≤ q, a filter
    /// that only looks back. In all else like [`conv`](Self::conv).
    ///
    /// # Errors
    /// Those of [`conv`](Self::conv).
    pub fn causal(&self, signals: &Tensor<f32>) -> Result<Tensor<f32>> {
        self.apply(signals, Mode::Causal)
    }

    fn apply(&self, signals: &Tensor<f32>, mode: Mode) -> Result<Tensor<f32>> {
        let device = &self.spectra.device;
        signals.check_device(mode.op(), &self.spectra)?;
        if signals.len() != self.signals {
            return Err(Error::BatchSize {
                op: mode.op(),
                left: signals.len(),
                right: self.signals,
                pairing: false,
            });
        }
        let kernels = self.spectra.shapes(&self.kernels);
        let operands = [signals.operand(), self.spectra.operand(), kernels];
        Call {
            pairs: Some(&self.pairs),
            ..Call::new(device, Op::CachedSpectra(mode), &operands)
        }
        .one()
    }
}
