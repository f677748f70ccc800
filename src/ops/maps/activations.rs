//! Activation functions and their slopes on the CPU, like `functions.rs`.

use super::functions::{
    between, exp, exp_tail, exp_times, head, nearest, polynomial, scaled, signed_as,
};

#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    times_sigmoid(1.0, x)
}

/// c σ(t).
#[inline(always)]
fn times_sigmoid(c: f32, t: f32) -> f32 {
    let part = c / (1.0 + exp(-t.abs()));
    if t < 0.0 { exp_times(part, t) } else { part }
}

#[inline(always)]
pub(super) fn silu(x: f32) -> f32 {
    // Infinity times 0 would be NaN.
    times_sigmoid(between(x, -200.0, f32::INFINITY), x)
}

#[inline(always)]
pub(super) fn gelu_tanh(x: f32) -> f32 {
    let c = between(x, -20.0, f32::INFINITY);
    let w = between(x, -20.0, 20.0);
    times_sigmoid(c, w * (1.595_769 + 0.071_354_814 * (w * w)))
}

/// c e^(rest − h), where h has few enough bits for the reduction to be exact, and `rest` is small.
#[inline(always)]
fn exp_minus(c: f32, h: f32, rest: f32) -> f32 {
    let (k, n) = nearest((rest - h) * std::f32::consts::LOG2_E);
    let r = ((-h - k * 0.693_359_4) + k * 2.121_944_4e-4) + rest;
    scaled(c * (1.0 + (r + exp_tail(r))), n)
}

/// (h, rest) with x² / 2 = h + rest: half the square of a 12-bit number is exact, and the rest is small.
#[inline(always)]
fn half_square(x: f32) -> (f32, f32) {
    let high = head(x);
    (0.5 * high * high, 0.5 * (x - high) * (x + high))
}

/// c Φ(−|x|) for |x| up to 14.5, by the formula of `shaders/lib/gelu.wgsl`.
#[inline(always)]
fn normal_tail(c: f32, x: f32) -> f32 {
    let z = 0.353_553_4 * x.abs();
    let t = 1.0 / (z + 1.0);
    let p = polynomial(
        z * t,
        [
            -0.029_568_85,
            0.094_095_25,
            -0.074_687_77,
            -0.011_451_853,
            -0.059_527_895,
            0.107_446_395,
            0.243_112_82,
            -0.628_375_1,
            0.5,
        ],
    );
    let (h, rest) = half_square(x);
    exp_minus(c * t * p, h, -rest)
}

/// x Φ(x).
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let w = between(x, -14.5, 14.5);
    let tail = normal_tail(w, w);
    let y = if x < 0.0 { tail } else { x - tail };
    let y = if x > 14.5 { x } else { y };
    signed_as(if x < -14.5 { 0.0 } else { y }, x)
}

/// The sigmoid of t, and c times its slope.
#[inline(always)]
fn logistic(c: f32, t: f32) -> (f32, f32) {
    let e = exp(-t.abs());
    let d = 1.0 / (1.0 + e);
    (
        if t < 0.0 { e * d } else { d },
        exp_times(c, -t.abs()) * d * d,
    )
}

#[inline(always)]
pub(super) fn sigmoid_slope(x: f32) -> f32 {
    logistic(1.0, x).1
}

#[inline(always)]
pub(super) fn tanh_slope(x: f32) -> f32 {
    logistic(4.0, 2.0 * x).1
}

#[inline(always)]
pub(super) fn silu_slope(x: f32) -> f32 {
    // Infinity times 0 would be NaN.
    let w = between(x, -100.0, 100.0);
    let (value, slope) = logistic(1.0, w);
    value + w * slope
}

#[inline(always)]
pub(super) fn gelu_tanh_slope(x: f32) -> f32 {
    let w = between(x, -20.0, 20.0);
    let (value, slope) = logistic(1.0, w * (1.595_769 + 0.071_354_814 * (w * w)));
    value + w * (1.595_769 + 0.214_064_44 * (w * w)) * slope
}

/// 2/√π e^(−x²).
#[inline(always)]
pub(super) fn erf_slope(x: f32) -> f32 {
    exp_times(std::f32::consts::FRAC_2_SQRT_PI, -x * x)
}

/// Φ(x) + x φ(x).
#[inline(always)]
pub(super) fn gelu_slope(x: f32) -> f32 {
    let w = between(x, -14.5, 14.5);
    let (h, rest) = half_square(w);
    let density = exp_minus(0.398_942_3, h, -rest);
    let tail = normal_tail(1.0, w);
    w * density + if w < 0.0 { tail } else { 1.0 - tail }
}
