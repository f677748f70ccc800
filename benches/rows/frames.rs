//! Spectra of frames of signals of different lengths, and the signals from them, compared with a copy of as many bytes.

use std::f64::consts::TAU;

use vsla::{Complex32, Layout, Ragged};

use crate::harness::lengths::until;
use crate::harness::{Bench, Check, Outcome, Spec};

/// Speech at 16 kHz: frames of 25 ms, every 10 ms.
const SIZE: usize = 400;
const HOP: usize = 160;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let names = match bench.device.is_gpu() {
        true => ["stft/speech", "istft/speech"],
        false => ["cpu/stft-speech", "cpu/istft-speech"],
    };
    if !names.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let mut random = fastrand::Rng::with_seed(81);
    let mut lengths = Vec::new();
    // Spectra take five times the bytes of the signals.
    until(bench.size.values / 4, || {
        let length = random.usize(16_000..=160_000).min(bench.size.values / 16);
        lengths.push(length);
        length
    });
    let data = format!(
        "{} signals of 16,000 to 160,000 values, seed 81; frames of 400, every 160",
        lengths.len()
    );
    let x = Ragged::random(&Layout::from_lengths(lengths)?, 82)?;
    let (signals, hann) = (bench.device.upload(&x)?, bench.device.hann(SIZE)?);
    let (spectra, first) = bench.first(|| signals.stft(&hann, HOP))?;
    let bytes = (4 * x.values().len() + 8 * spectra.layout().total()) as u64;
    if bench.wants(names[0]) {
        let spec = Spec {
            name: names[0],
            data: data.clone(),
            bytes,
            multiply_adds: 0,
            first,
            check: spectra_check(&x, &spectra.download_blocking()?),
        };
        let row = bench.measure(spec, || signals.stft(&hann, HOP))?;
        let row = row
            .reads::<f32>(signals.layout())
            .writes::<Complex32>(spectra.layout());
        bench.push(row);
    }
    if bench.wants(names[1]) {
        let run = || spectra.istft(&hann, HOP, signals.layout());
        let (back, first) = bench.first(run)?;
        let spec = Spec {
            name: names[1],
            data,
            bytes,
            multiply_adds: 0,
            first,
            check: back_check(&x, &back.download_blocking()?),
        };
        let row = bench.measure(spec, run)?;
        bench.push(row);
    }
    Ok(())
}

/// Some values of some frames, by the definition in f64.
fn spectra_check(x: &Ragged<f32>, spectra: &Ragged<Complex32>) -> Check {
    const BINS: usize = SIZE / 2 + 1;
    let mut worst = 0.0f64;
    for element in (0..x.len()).step_by(x.len().div_ceil(20)) {
        let frames = spectra.row(element).len() / BINS;
        for t in (0..frames).step_by(frames.div_ceil(10).max(1)) {
            for k in [0, 1, 77, BINS - 1] {
                let (mut re, mut im) = (0.0, 0.0);
                for j in 0..SIZE {
                    let w = (TAU * j as f64 / (2.0 * SIZE as f64)).sin().powi(2);
                    let value = w * f64::from(x.row(element)[t * HOP + j]);
                    let angle = TAU * ((j * k) % SIZE) as f64 / SIZE as f64;
                    (re, im) = (re + value * angle.cos(), im - value * angle.sin());
                }
                let got = spectra.row(element)[t * BINS + k];
                worst = worst.max((f64::from(got.re) - re).hypot(f64::from(got.im) - im));
            }
        }
    }
    match worst <= 1e-4 {
        true => Ok(format!("values of 200 frames within {worst:.1e}")),
        false => Err(format!("a value is off by {worst:.1e}")),
    }
}

/// All values but those at the ends.
fn back_check(x: &Ragged<f32>, back: &Ragged<f32>) -> Check {
    let mut worst = 0.0f32;
    for element in 0..x.len() {
        let inner = SIZE..x.row(element).len().saturating_sub(SIZE);
        let pairs = inner.map(|i| (x.row(element)[i], back.row(element)[i]));
        worst = pairs.fold(worst, |worst, (x, y)| worst.max((x - y).abs()));
    }
    match worst <= 1e-5 {
        true => Ok(format!("all inner values within {worst:.1e}")),
        false => Err(format!("a value is off by {worst:.1e}")),
    }
}
