//! Slopes of maps against f64: values with all exponents, all values of f16, and special values.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use half::f16;

use super::devices;
use crate::ops::maps::{Apply, Bound, bound};
use crate::ragged::Float;
use crate::{Device, Ragged};

type Reference = fn(f64, f64, f64) -> f64;

const NONE: &[(f32, f32)] = &[(0.0, 0.0)];

/// The name of a map, pairs of scalars, and the function in f64.
type Row = (&'static str, &'static [(f32, f32)], Reference);

const ROWS: &[Row] = &[
    ("relu_slope", NONE, |x, _, _| f64::from(x > 0.0)),
    (
        "leaky_relu_slope",
        &[(0.25, 0.0), (-3.0, 0.0)],
        |x, s, _| if x > 0.0 { 1.0 } else { s },
    ),
    (
        "clamp_slope",
        &[(-1.0, 2.5), (0.0, 0.0), (f32::NEG_INFINITY, 3.0)],
        |x, s, t| f64::from(s <= x && x <= t),
    ),
    ("tanh_slope", NONE, |x, _, _| 4.0 * slope(2.0 * x)),
    ("tanh_slope_by_result", NONE, |y, _, _| {
        (1.0 - y) * (1.0 + y)
    }),
    ("sigmoid_slope", NONE, |x, _, _| slope(x)),
    ("sigmoid_slope_by_result", NONE, |y, _, _| y * (1.0 - y)),
    ("silu_slope", NONE, |x, _, _| {
        let w = x.clamp(-1e3, 1e3);
        sigmoid(w) + w * slope(w)
    }),
    ("erf_slope", NONE, |x, _, _| {
        2.0 / PI.sqrt() * libm::exp(-x * x)
    }),
    ("gelu_slope", NONE, |x, _, _| {
        let w = x.clamp(-1e3, 1e3);
        0.5 * libm::erfc(-w * FRAC_1_SQRT_2) + w * libm::exp(-0.5 * w * w) / (2.0 * PI).sqrt()
    }),
    ("gelu_tanh_slope", NONE, |x, _, _| {
        let w = x.clamp(-1e3, 1e3);
        let c = (8.0 / PI).sqrt();
        let inner = c * (w + 0.044715 * w * w * w);
        sigmoid(inner) + w * c * (1.0 + 3.0 * 0.044715 * w * w) * slope(inner)
    }),
];

fn sigmoid(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    if x < 0.0 {
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + e)
    }
}

fn slope(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    e / (1.0 + e) / (1.0 + e)
}

#[apply(unit_test)]
fn slopes_are_within_their_bounds() {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut values: Vec<f32> = Vec::new();
    for exponent in 0..=255u32 {
        let ends = [0, 1, 0x40_0000, 0x7F_FFFF];
        let between: Vec<u32> = (0..24).map(|_| rng.u32(..1 << 23)).collect();
        let of_exponent = ends
            .iter()
            .chain(&between)
            .map(|bits| exponent << 23 | bits);
        values.extend(of_exponent.flat_map(|bits| [bits, bits | 1 << 31].map(f32::from_bits)));
    }
    for span in [1e-3, 1.0, 4.0, 20.0, 120.0] {
        values.extend((0..4000).map(|_| (rng.f32() * 2.0 - 1.0) * span));
    }
    values.extend((-300..300).map(|i| i as f32 * 0.5));
    let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    for device in devices() {
        for &(name, scalars, reference) in ROWS {
            for &(s, t) in scalars {
                let exact = |x: f64| reference(x, s.into(), t.into());
                check(device, name, (s, t), &values, f64::from, exact, 0.0);
                // Half a unit of f16: at least 2⁻²⁵, and at most 2⁻¹¹ of the result.
                check(
                    device,
                    name,
                    (s, t),
                    &halves,
                    f64::from,
                    exact,
                    2f64.powi(-11),
                );
            }
        }
    }
}

fn check<T: Float>(
    device: &Device,
    name: &'static str,
    (s, t): (f32, f32),
    values: &[T],
    wide: fn(T) -> f64,
    exact: impl Fn(f64) -> f64,
    half: f64,
) {
    let apply = Apply {
        name,
        dtype: T::DTYPE,
    };
    let Bound { ulps, absolute } = bound(name);
    let x = device
        .upload(&Ragged::from_rows([values]).unwrap())
        .unwrap();
    let y = x.unary::<T>(apply, &[s.to_bits(), t.to_bits()]);
    let y = y.unwrap().download_blocking().unwrap();
    for (&x, &y) in values.iter().zip(y.values()) {
        let (x, got) = (wide(x), wide(y));
        if x.is_nan() {
            assert!(got.is_nan(), "{name} of NaN: {got}");
            continue;
        }
        let exact = exact(x);
        let unit = 2f64.powi(exact.abs().log2().floor().clamp(-126.0, 127.0) as i32 - 23);
        let mut allowed = f64::from(ulps) * unit + f64::from(absolute) + 2f64.powi(-126);
        if ulps == 0.0 {
            allowed = 0.0;
        }
        if half > 0.0 {
            allowed += (half * (exact.abs() + allowed)).max(2f64.powi(-25));
        }
        let limit = if half > 0.0 { 65504.0 } else { f32::MAX.into() };
        let near = (got - exact).abs() <= allowed
            || got == exact
            || got.is_infinite() && got.signum() == exact.signum() && exact.abs() > limit;
        assert!(
            near,
            "{name}({s}, {t}) of {} {x:e}: {got:e}, not {exact:e}",
            T::DTYPE
        );
    }
}
