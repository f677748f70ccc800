//! Synthetic input if no files are given: plucked strings, and rooms of decaying noise.

use fastrand::Rng;

use crate::wav::{Format, Sound};

const RATE: u32 = 44_100;

/// Three sounds: 2.0, 3.1 and 1.4 seconds, the second in stereo.
pub fn strings() -> Vec<Sound> {
    let chord = |frequencies: &[f64], seconds: f64, seed: u64| {
        let mut all = vec![0.0; (seconds * f64::from(RATE)) as usize];
        for (i, &frequency) in frequencies.iter().enumerate() {
            // One string after another.
            let start = i * RATE as usize / 8;
            let string = plucked(frequency, all.len() - start, seed + i as u64);
            all[start..]
                .iter_mut()
                .zip(string)
                .for_each(|(sum, v)| *sum += v);
        }
        let peak = all.iter().fold(0.0, |peak: f32, v| peak.max(v.abs()));
        all.iter_mut().for_each(|v| *v *= 0.9 / peak);
        all
    };
    let (low, high) = (
        [110.0, 164.81, 220.0, 277.18],
        [220.0, 329.63, 440.0, 554.37],
    );
    vec![
        sound("string", vec![chord(&[146.83], 2.0, 1)]),
        sound("chord", vec![chord(&low, 3.1, 2), chord(&high, 3.1, 9)]),
        sound("high", vec![chord(&[659.26, 880.0], 1.4, 20)]),
    ]
}

/// Three responses: 0.25, 0.9 and 2.3 seconds, the last in stereo.
pub fn rooms() -> Vec<Sound> {
    vec![
        sound("box", vec![noise(0.25, 0.04, 100)]),
        sound("room", vec![noise(0.9, 0.15, 101)]),
        sound("hall", vec![noise(2.3, 0.45, 102), noise(2.3, 0.45, 103)]),
    ]
}

fn sound(name: &str, channels: Vec<Vec<f32>>) -> Sound {
    Sound {
        name: name.to_owned(),
        rate: RATE,
        format: Format::Integer(16),
        channels,
    }
}

/// A Karplus–Strong string: noise in a delay line of one period, averaged on each pass.
fn plucked(frequency: f64, samples: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::with_seed(seed);
    let period = (f64::from(RATE) / frequency).round() as usize;
    let mut line: Vec<f32> = (0..period).map(|_| rng.f32() * 2.0 - 1.0).collect();
    (0..samples)
        .map(|i| {
            let (here, next) = (i % period, (i + 1) % period);
            let value = line[here];
            line[here] = 0.498 * (line[here] + line[next]);
            value
        })
        .collect()
}

/// The direct sound, then noise whose amplitude falls to 1/e in `decay` seconds.
fn noise(seconds: f64, decay: f64, seed: u64) -> Vec<f32> {
    let mut rng = Rng::with_seed(seed);
    let samples = (seconds * f64::from(RATE)) as usize;
    let mut response: Vec<f32> = (0..samples)
        .map(|i| {
            let time = i as f64 / f64::from(RATE);
            (0.2 * (rng.f64() * 2.0 - 1.0) * (-time / decay).exp()) as f32
        })
        .collect();
    response[0] = 1.0;
    response
}
