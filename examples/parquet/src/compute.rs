//! The computation: one call for each operation, whatever the lengths of the series.

use vsla::batch::Side;
use vsla::conv::ConvMode;
use vsla::{Device, Pairing, Ragged, Result, Tensor};

pub struct Job {
    device: Device,
    /// The weights of a mean over neighbours.
    window: Tensor<f32>,
}

impl Job {
    pub fn new(device: &Device, width: usize) -> Result<Job> {
        let window = Ragged::from_rows([hann(width)])?.cast(|weight| weight as f32)?;
        Ok(Job {
            device: device.clone(),
            window: device.upload(&window)?,
        })
    }

    /// The smoothed series, and the amplitudes of their frequencies.
    pub fn run(&self, series: &Ragged<f32>) -> Result<(Ragged<f32>, Ragged<f32>)> {
        let x = self.device.upload(series)?;
        // Near the ends of a series, the window covers less of it: the sum of those weights is the divisor.
        let ones = self.device.full(x.layout(), 1.0f32)?;
        let smooth = self.sums(&x)?.div(&self.sums(&ones)?)?;
        let centred = x.sub(x.mean()?.each())?;
        let spectrum = centred.rfft()?.abs()?;
        Ok((smooth.download_blocking()?, spectrum.download_blocking()?))
    }

    /// The weighted sums around each sample.
    fn sums(&self, x: &Tensor<f32>) -> Result<Tensor<f32>> {
        let pairs = x.pair(&self.window, Pairing::AllToAll)?;
        // A series may be shorter than the window.
        let same = pairs.convolution().mode(ConvMode::Same);
        same.side(Side::Left).conv()
    }
}

/// A Hann window without its zeros.
pub fn hann(width: usize) -> Vec<f64> {
    let step = std::f64::consts::PI / (width + 1) as f64;
    (1..=width)
        .map(|j| (step * j as f64).sin().powi(2))
        .collect()
}
