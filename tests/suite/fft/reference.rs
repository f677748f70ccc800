//! Transforms in f64, and error bounds for the library's transforms.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex64;
use vsla::Complex32;

use crate::support::compare::U;
use crate::support::corpus::rng;

pub(super) fn wide(z: Complex32) -> Complex64 {
    Complex64::new(z.re.into(), z.im.into())
}

/// How much of the documented bound random values reach, if there are not many of them: its other third is for the
/// worst values.
pub(super) const REACHED: f64 = 2.0 / 3.0;

/// The documented bound of the relative error in the 2-norm, times [`REACHED`].
pub(super) fn bound(n: usize) -> f64 {
    let stages = U * (1.0 + 0.25 * (n.max(1) as f64).log2());
    if by_stages(n) { stages } else { 2.0 * stages }
}

/// Whether a length is transformed by stages, and by nothing else.
pub(super) fn by_stages(n: usize) -> bool {
    let mut left = n.max(1);
    for factor in [2, 3, 5, 7] {
        while left.is_multiple_of(factor) {
            left /= factor;
        }
    }
    left == 1 && (SMOOTH.contains(&n) || n.is_power_of_two() && n >= 32)
}

/// Of these, products of 2, 3, 5 and 7 are transformed by stages.
pub(super) const SMOOTH: core::ops::RangeInclusive<usize> = 65..=2048;

/// The transform in f64: the definition where that is quick.
pub(super) fn transform(x: &[Complex64], inverse: bool) -> Vec<Complex64> {
    if x.len() <= 64 {
        return definition(x, inverse);
    }
    let mut y = x.to_vec();
    let mut planner = FftPlanner::new();
    if inverse {
        planner.plan_fft_inverse(x.len()).process(&mut y);
        y.iter_mut().for_each(|z| *z /= x.len() as f64);
    } else {
        planner.plan_fft_forward(x.len()).process(&mut y);
    }
    y
}

fn definition(x: &[Complex64], inverse: bool) -> Vec<Complex64> {
    let n = x.len();
    let sign = if inverse { 1.0 } else { -1.0 };
    let scale = if inverse { 1.0 / n as f64 } else { 1.0 };
    let point = |m: usize| {
        Complex64::from_polar(
            scale,
            sign * core::f64::consts::TAU * (m % n) as f64 / n as f64,
        )
    };
    let value = |k| (0..n).map(|j| x[j] * point(j * k)).sum();
    (0..n).map(value).collect()
}

pub(super) fn reference_agrees_with_the_definition() {
    for n in [65, 128, 331] {
        for inverse in [false, true] {
            let mut rng = rng("fft reference");
            let x: Vec<_> = (0..n)
                .map(|_| Complex64::new(rng.f64() - 0.5, rng.f64() - 0.5))
                .collect();
            let (fast, slow) = (transform(&x, inverse), definition(&x, inverse));
            let error = |(a, b): (&Complex64, &Complex64)| (a - b).norm();
            let worst = fast.iter().zip(&slow).map(error).fold(0.0, f64::max);
            assert!(worst < 1e-11, "{n}: {worst:e}");
        }
    }
}
