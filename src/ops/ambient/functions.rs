//! Branchless functions of two f32 for the CPU, so that LLVM vectorizes loops over them. The shaders use the same
//! formulas.

use num_complex::{Complex32, Complex64};

use crate::ops::maps::{any_cos, any_sin, nan_or};

/// Maps floats to integers in the same order, with −0 just below +0.
#[inline(always)]
fn order(x: f32) -> i32 {
    let bits = x.to_bits() as i32;
    bits ^ ((bits >> 31) & i32::MAX)
}

#[inline(always)]
pub(super) fn larger(x: f32, y: f32) -> f32 {
    nan_or(x, y, if order(x) > order(y) { x } else { y })
}

#[inline(always)]
pub(super) fn smaller(x: f32, y: f32) -> f32 {
    nan_or(x, y, if order(x) < order(y) { x } else { y })
}

/// 1 if x is infinite and 0 otherwise, with the sign of x.
#[inline(always)]
fn direction(x: f32) -> f32 {
    let size = if x.is_infinite() { 1.0f32 } else { 0.0 };
    size.copysign(x)
}

/// Infinity with the sign of x, or NaN for 0.
#[inline(always)]
fn endless(x: f32) -> f32 {
    if x == 0.0 {
        f32::NAN
    } else {
        f32::INFINITY.copysign(x)
    }
}

/// x / y in f64, whose range holds all intermediate results.
#[inline(always)]
pub(super) fn complex_quotient(x: Complex32, y: Complex32) -> Complex32 {
    let wide = |z: Complex32| Complex64::new(z.re.into(), z.im.into());
    let (a, b) = (wide(x), wide(y));
    let size = b.re * b.re + b.im * b.im;
    let near = Complex32::new(
        ((a.re * b.re + a.im * b.im) / size) as f32,
        ((a.im * b.re - a.re * b.im) / size) as f32,
    );
    let infinite = |z: Complex32| z.re.is_infinite() || z.im.is_infinite();
    let zero = y.re == 0.0 && y.im == 0.0;
    if x.is_nan() || y.is_nan() || infinite(x) && infinite(y) {
        return Complex32::new(f32::NAN, f32::NAN);
    }
    if infinite(y) {
        return Complex32::new(0.0, 0.0);
    }
    if zero || infinite(x) {
        let a = match infinite(x) {
            true => Complex32::new(direction(x.re), direction(x.im)),
            false => x,
        };
        let b = match zero {
            true => Complex32::new(1.0f32.copysign(y.re), 0.0),
            false => y,
        };
        return Complex32::new(
            endless(a.re * b.re + a.im * b.im),
            endless(a.im * b.re - a.re * b.im),
        );
    }
    near
}

/// The complex number with this absolute value and angle.
#[inline(always)]
pub(super) fn polar(size: f32, angle: f32) -> Complex32 {
    Complex32::new(size * any_cos(angle), size * any_sin(angle))
}
