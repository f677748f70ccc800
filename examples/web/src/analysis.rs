//! What the page shows of signals of different lengths.

use std::time::Duration;

use vsla::{Device, Pairing, Ragged, Result};

/// The results for each signal.
pub struct Analysis {
    pub convolved: Ragged<f32>,
    /// The magnitudes of the spectra, up to half the sampling rate.
    pub spectra: Ragged<f32>,
    /// The shape-based distances of all pairs, row by row.
    pub distances: Ragged<f32>,
    /// How far the second signal of each pair is shifted.
    pub lags: Ragged<i32>,
    /// What the kernels took, on a device that measures it.
    pub device_time: Option<Duration>,
}

/// Convolves all signals with a kernel, transforms them, and compares each with each.
pub async fn analyse(device: &Device, signals: &Ragged<f32>, kernel: Vec<f32>) -> Result<Analysis> {
    let x = device.upload(signals)?;
    let kernel = device.upload(&Ragged::from_rows([kernel])?)?;
    let (results, profile) = device
        .profile(|| {
            Ok((
                kernel.pair(&x, Pairing::OneToAll)?.conv()?,
                x.rfft()?.abs()?,
                x.pair(&x, Pairing::AllToAll)?.sbd()?,
            ))
        })
        .await?;
    let (convolved, spectra, compared) = results?;
    Ok(Analysis {
        convolved: convolved.download().await?,
        spectra: spectra.download().await?,
        distances: compared.distance.download().await?,
        lags: compared.lag.download().await?,
        device_time: profile.device_time,
    })
}
