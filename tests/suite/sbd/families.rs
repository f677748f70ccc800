//! Pairs of series that are difficult for f32.

use fastrand::Rng;

/// Two series.
pub type Series = (Vec<f32>, Vec<f32>);

/// Families of pairs of series that are hard for f32.
pub struct Family {
    pub name: &'static str,
    /// The two series, of about this length.
    pub make: fn(&mut Rng, usize) -> Series,
    /// The expected range of the family's distances, so that a family cannot be easier than its name says.
    pub distances: std::ops::Range<f64>,
}

pub const LENGTHS: [usize; 10] = [16, 33, 64, 200, 447, 448, 449, 1000, 2048, 4096];

pub const SCALES: [f32; 7] = [1e-40, 1e-30, 1e-12, 1.0, 1e12, 1e30, 2e38];

pub const FAMILIES: &[Family] = &[
    Family {
        name: "noise",
        make: |rng, n| (noise(rng, n), noise(rng, n)),
        distances: 0.1..1.1,
    },
    Family {
        name: "noise_and_its_negative",
        make: |rng, n| {
            let x = noise(rng, n);
            let y = x.iter().map(|v| -v).collect();
            (x, y)
        },
        distances: 0.1..2.1,
    },
    Family {
        name: "shifted_bumps",
        make: |rng, n| {
            let width = n as f64 / 16.0;
            let shift = rng.usize(1..=n / 8) as f64;
            (
                bump(n, n as f64 / 2.0, width),
                bump(n, n as f64 / 2.0 - shift, width),
            )
        },
        distances: 0.0..1e-4,
    },
    Family {
        name: "shifted_bumps_between_samples",
        make: |rng, n| {
            let width = n as f64 / 14.0;
            let shift = rng.f64() * n as f64 / 10.0;
            (
                bump(n, n as f64 / 2.0, width),
                bump(n, n as f64 / 2.0 - shift, width),
            )
        },
        distances: 0.0..1e-1,
    },
    Family {
        name: "stretched_bumps",
        make: |_, n| {
            let centre = n as f64 / 2.0;
            (
                bump(n, centre, n as f64 / 12.0),
                bump(n, centre, n as f64 / 12.0 * 1.004),
            )
        },
        distances: 0.0..1e-4,
    },
    Family {
        name: "long_waves",
        make: |_, n| {
            let wave = |phase: f64, periods: f64| {
                let angle =
                    move |i: usize| phase + std::f64::consts::TAU * periods * i as f64 / n as f64;
                (0..n).map(|i| angle(i).sin() as f32).collect()
            };
            (wave(0.0, 1.0), wave(0.05, 1.0))
        },
        distances: 0.0..0.5,
    },
    Family {
        name: "noise_of_1e-2_added",
        make: |rng, n| with_noise(rng, n, 1e-2),
        distances: 1e-7..1e-3,
    },
    Family {
        name: "noise_of_1e-3_added",
        make: |rng, n| with_noise(rng, n, 1e-3),
        distances: 1e-9..1e-5,
    },
    Family {
        name: "noise_of_1e-4_added",
        make: |rng, n| with_noise(rng, n, 1e-4),
        distances: 0.0..1e-7,
    },
    Family {
        name: "noise_of_1e-6_added",
        make: |rng, n| with_noise(rng, n, 1e-6),
        distances: 0.0..1e-10,
    },
    Family {
        name: "last_bits_changed",
        make: |rng, n| {
            let x = noise(rng, n);
            let y = x
                .iter()
                .map(|v| if rng.bool() { v.next_up() } else { *v })
                .collect();
            (x, y)
        },
        distances: 0.0..1e-10,
    },
    Family {
        name: "scaled_and_delayed",
        make: |rng, n| {
            let x = bump_with_noise(rng, n);
            let delay = rng.usize(1..n / 2);
            let mut y = vec![0.0; delay];
            // Not a power of two, so that every value is rounded again.
            y.extend(x.iter().map(|v| v * 3.7));
            (x, y)
        },
        distances: 0.0..1e-10,
    },
    Family {
        name: "offset_by_1000",
        make: |rng, n| {
            let around = |rng: &mut Rng| noise(rng, n).iter().map(|v| 1000.0 + v).collect();
            (around(rng), around(rng))
        },
        distances: 1e-8..1e-5,
    },
    Family {
        name: "offset_and_negated",
        make: |rng, n| {
            let around = |rng: &mut Rng, sign: f32| {
                noise(rng, n).iter().map(|v| sign * (50.0 + v)).collect()
            };
            (around(rng, 1.0), around(rng, -1.0))
        },
        distances: 0.9..2.1,
    },
    Family {
        name: "ramps",
        make: |_, n| {
            let ramp = |from: usize| (0..n).map(|i| (i + from) as f32).collect();
            (ramp(0), ramp(3))
        },
        distances: 0.0..0.1,
    },
    Family {
        name: "constants_of_near_lengths",
        make: |_, n| (vec![0.1; n], vec![0.3; n - n / 100]),
        distances: 0.0..0.1,
    },
    Family {
        name: "a_spike_on_a_plateau",
        make: |rng, n| {
            let mut x = vec![1.0; n];
            let mut y = vec![1.0; n];
            x[rng.usize(0..n)] = 1000.0;
            y[rng.usize(0..n)] = 1000.0;
            (x, y)
        },
        distances: 0.0..0.1,
    },
    Family {
        name: "steps",
        make: |_, n| {
            let step = |at: usize| (0..n).map(|i| if i < at { 0.0 } else { 1.0 }).collect();
            (step(n / 2), step(n / 3))
        },
        distances: 0.0..0.5,
    },
    Family {
        name: "a_short_series_in_a_long_one",
        make: |rng, n| {
            let y = noise(rng, n / 4);
            let mut x = noise(rng, n).iter().map(|v| v * 1e-3).collect::<Vec<_>>();
            let at = rng.usize(0..n / 2);
            x[at..at + y.len()].copy_from_slice(&y);
            (x, y)
        },
        distances: 0.0..1e-4,
    },
    Family {
        name: "wide_magnitudes",
        make: |rng, n| {
            let wide = |rng: &mut Rng| {
                let value = |rng: &mut Rng| (rng.f32() - 0.5) * 10f32.powf(rng.f32() * 12.0 - 6.0);
                (0..n).map(|_| value(rng)).collect()
            };
            (wide(rng), wide(rng))
        },
        distances: 0.0..1.1,
    },
];

pub fn noise(rng: &mut Rng, n: usize) -> Vec<f32> {
    (0..n).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

pub fn bump(n: usize, centre: f64, width: f64) -> Vec<f32> {
    (0..n)
        .map(|i| (-((i as f64 - centre) / width).powi(2) / 2.0).exp() as f32)
        .collect()
}

pub fn bump_with_noise(rng: &mut Rng, n: usize) -> Vec<f32> {
    let bump = bump(n, n as f64 / 3.0, n as f64 / 10.0);
    bump.iter()
        .zip(noise(rng, n))
        .map(|(v, e)| v + 0.1 * e)
        .collect()
}

/// A series, and the same series with noise of this magnitude.
pub fn with_noise(rng: &mut Rng, n: usize, size: f32) -> Series {
    let x = bump_with_noise(rng, n);
    let y = x
        .iter()
        .zip(noise(rng, n))
        .map(|(v, e)| v + size * e)
        .collect();
    (x, y)
}
