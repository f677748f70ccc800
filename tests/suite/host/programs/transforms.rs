//! Transforms of frames.

use vsla::{Device, Result};

use super::values::*;

pub fn frames(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = series(device, n, 0, &[300, 2000])?;
    // The last window is as long as the batch, and longer than most elements.
    for (size, hop) in [(4, 1), (24, 7), (n, 500)] {
        let window = device.hann(size)?;
        let spectra = x.stft(&window, hop)?;
        sum.add(spectra.istft(&window, hop, x.layout())?)?;
        sum.add(spectra)?;
    }
    sum.value()
}
