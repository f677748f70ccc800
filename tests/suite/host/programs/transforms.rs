//! Fourier transforms, of vectors, matrices and frames.

use vsla::{Complex32, Device, Ragged, Result};

use super::values::*;

pub fn transforms(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    // Transforms by the definition, in stages, and by a convolution; on a GPU, also in passes.
    let long = [67, 71, 67, 96, 128, 1000, 2048];
    let more = [9014, 1 << 15, 4507];
    let long: &[usize] = if device.is_gpu() {
        &[&long[..], &more].concat()
    } else {
        &long
    };
    let x = series(device, n, 0, long)?;
    let spectra = x.rfft()?;
    sum.add(spectra.irfft(x.layout())?)?;
    sum.add(spectra)?;
    let layout = x.layout();
    let values = listed(layout.total(), |i| Complex32::new(number(i), number(i + 1)))?;
    let x = uploaded(device, &Ragged::from_parts(layout.clone(), values)?)?;
    sum.add(x.fft()?.ifft()?)?;
    sum.value()
}

pub fn planes(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = matrices(device, n / 2, |i| [i % 5, i % 7])?;
    let spectra = x.rfft2()?;
    sum.add(spectra.irfft2(x.layout())?)?;
    sum.add(spectra.fft2()?.ifft2()?)?;
    sum.value()
}

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
