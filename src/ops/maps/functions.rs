//! Branch-free f32 functions for the CPU, computed only in `f32`, so that LLVM vectorizes loops over them. The shaders
//! use the same formulas; the table states the error bounds.
//!
//! Products and sums are not fused: without the CPU's FMA feature, `mul_add` is a function call. Constants are split so
//! that the products that must be exact are exact.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// 1.5 · 2²³: adding and then subtracting it rounds magnitudes below 2²² to the nearest integer, ties to even.
const MAGIC: f32 = 12_582_912.0;

/// The nearest integer, as float and as integer.
#[inline(always)]
pub(super) fn nearest(x: f32) -> (f32, i32) {
    let t = x + MAGIC;
    (
        t - MAGIC,
        (t.to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32),
    )
}

/// Clamps `x` to two bounds; NaN stays NaN.
#[inline(always)]
pub(super) fn between(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// x with the sign of `sign`.
#[inline(always)]
pub(super) fn signed_as(x: f32, sign: f32) -> f32 {
    f32::from_bits((x.to_bits() & 0x7FFF_FFFF) | (sign.to_bits() & 0x8000_0000))
}

/// The twelve leading bits of x: the product of two such numbers is exact.
#[inline(always)]
pub(super) fn head(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xFFFF_F000)
}

/// x 2ⁿ for |n| up to 252, rounded once where the result is subnormal.
#[inline(always)]
pub(super) fn scaled(x: f32, n: i32) -> f32 {
    let half = n >> 1;
    let power = |n: i32| f32::from_bits(((n + 127) as u32) << 23);
    x * power(half) * power(n - half)
}

/// Evaluates a polynomial by Horner's rule; coefficients from the highest power down.
#[inline(always)]
pub(super) fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut y = coefficients[0];
    for c in &coefficients[1..] {
        y = y * x + c;
    }
    y
}

/// (n, r, e^r − 1 − r) with x = n ln 2 + r.
#[inline(always)]
fn exp_parts(x: f32) -> (i32, f32, f32) {
    let (k, n) = nearest(x * std::f32::consts::LOG2_E);
    let r = (x - k * 0.693_359_4) + k * 2.121_944_4e-4;
    (n, r, exp_tail(r))
}

/// e^r − 1 − r for |r| up to ½ ln 2.
#[inline(always)]
pub(super) fn exp_tail(r: f32) -> f32 {
    let p = polynomial(
        r,
        [
            1.987_569_1e-4,
            1.398_2e-3,
            8.333_452e-3,
            4.166_579_6e-2,
            0.166_666_66,
            0.5,
        ],
    );
    p * r * r
}

/// c eˣ, multiplied by c before the result can underflow.
#[inline(always)]
pub(super) fn exp_times(c: f32, x: f32) -> f32 {
    let (n, r, p) = exp_parts(between(x, -150.0, 89.0));
    scaled(c * (1.0 + (r + p)), n)
}

#[inline(always)]
pub(super) fn rsqrt(x: f32) -> f32 {
    1.0 / x.sqrt()
}

#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    exp_times(1.0, x)
}

#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    let (k, n) = nearest(between(x, -151.0, 129.0));
    scaled(exp2_near(between(x, -151.0, 129.0) - k), n)
}

/// 2ʳ for |r| ≤ ½.
#[inline(always)]
fn exp2_near(r: f32) -> f32 {
    1.0 + r * polynomial(
        r,
        [
            1.535_336_2e-4,
            1.339_887_4e-3,
            9.618_437e-3,
            5.550_332_6e-2,
            0.240_226_48,
            std::f32::consts::LN_2,
        ],
    )
}

#[inline(always)]
pub(super) fn expm1(x: f32) -> f32 {
    let (n, r, p) = exp_parts(between(x, -18.0, 89.0));
    // Half of 2ⁿ, because 2¹²⁸ itself overflows to infinity.
    let half = f32::from_bits(((n + 126) as u32) << 23);
    let y = 2.0 * (half * (r + p) + (half - 0.5));
    if x.abs() < 2.0e-8 { x } else { y }
}

/// (k, f) with x = 2ᵏ (1 + f) and 1 + f in √½ … √2.
#[inline(always)]
fn log_parts(x: f32) -> (f32, f32) {
    let tiny = x < f32::MIN_POSITIVE;
    let bits = (if tiny { x * 8_388_608.0 } else { x }).to_bits() as i32;
    let k = bits.wrapping_sub(0x3F35_04F3) >> 23;
    let m = f32::from_bits(bits.wrapping_sub(k << 23) as u32);
    let k = k as f32 - if tiny { 23.0 } else { 0.0 };
    (k, m - 1.0)
}

/// log(1 + f) − f for √½ ≤ 1 + f ≤ √2.
#[inline(always)]
fn log_tail(f: f32) -> f32 {
    let z = f * f;
    let p = polynomial(
        f,
        [
            7.037_683_6e-2,
            -0.115_146_1,
            0.116_769_984,
            -0.124_201_41,
            0.142_493_23,
            -0.166_680_58,
            0.200_007_15,
            -0.249_999_94,
            0.333_333_3,
        ],
    );
    f * z * p - 0.5 * z
}

/// Patches the logarithm's special cases: ∞ at ∞, −∞ at zero, NaN below zero.
#[inline(always)]
fn log_ends(x: f32, y: f32) -> f32 {
    let y = if x == f32::INFINITY { x } else { y };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x < 0.0 { f32::NAN } else { y }
}

#[inline(always)]
pub(super) fn log(x: f32) -> f32 {
    let (k, f) = log_parts(x);
    log_ends(x, f + (log_tail(f) - k * 2.121_944_4e-4) + k * 0.693_359_4)
}

#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    // log₂ e − 1.
    const MORE: f32 = 0.442_695_04;
    let (k, f) = log_parts(x);
    let y = log_tail(f);
    log_ends(x, (y * MORE + f * MORE) + y + f + k)
}

#[inline(always)]
pub(super) fn log1p(x: f32) -> f32 {
    let near = x > -0.292_893_2 && x < 0.414_213_56;
    let u = 1.0 + x;
    let (k, f) = log_parts(u);
    let (k, f) = if near { (0.0, x) } else { (k, f) };
    let y = f + (log_tail(f) - k * 2.121_944_4e-4) + k * 0.693_359_4;
    let y = log_ends(u, y);
    if x.abs() < 2.0e-8 { x } else { y }
}

#[inline(always)]
pub(super) fn sign(x: f32) -> f32 {
    if x == 0.0 { x } else { signed_as(1.0, x) }
}

/// The nearest integer to |x|, and whether x is small enough to have a fractional part.
#[inline(always)]
fn rounded(x: f32) -> (f32, bool) {
    let size = x.abs();
    ((size + 8_388_608.0) - 8_388_608.0, size < 8_388_608.0)
}

#[inline(always)]
pub(super) fn round(x: f32) -> f32 {
    let (r, fraction) = rounded(x);
    if fraction { signed_as(r, x) } else { x }
}

#[inline(always)]
pub(super) fn floor(x: f32) -> f32 {
    let r = round(x);
    let y = r - if r > x { 1.0 } else { 0.0 };
    signed_as(y, x)
}

#[inline(always)]
pub(super) fn ceil(x: f32) -> f32 {
    let r = round(x);
    let y = r + if r < x { 1.0 } else { 0.0 };
    signed_as(y, x)
}

/// Largest magnitude for which `sin` and `cos` take the fast path.
pub(super) const NEAR: f32 = 4096.0;

/// (r, q) with x = q π/2 + r, for |x| up to [`NEAR`].
#[inline(always)]
fn reduced(x: f32) -> (f32, i32) {
    let (k, q) = nearest(x * std::f32::consts::FRAC_2_PI);
    let r = ((x - k * 1.570_312_5) - k * 4.837_513e-4) - k * 7.549_789_6e-8;
    (r, q)
}

#[inline(always)]
fn quarter(r: f32, q: i32) -> f32 {
    let z = r * r;
    let s = r + r * z * polynomial(z, [-1.951_529_6e-4, 8.332_161e-3, -0.166_666_55]);
    let c =
        1.0 - 0.5 * z + z * z * polynomial(z, [2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]);
    let y = if q & 1 != 0 { c } else { s };
    f32::from_bits(y.to_bits() ^ ((q as u32 & 2) << 30))
}

#[inline(always)]
pub(super) fn sin(x: f32) -> f32 {
    let (r, q) = reduced(x);
    let y = quarter(r, q);
    if x.abs() < 2.0e-4 { x } else { y }
}

#[inline(always)]
pub(super) fn cos(x: f32) -> f32 {
    let (r, q) = reduced(x);
    quarter(r, q.wrapping_add(1))
}

/// The sine of any number.
#[inline(always)]
pub(crate) fn any_sin(x: f32) -> f32 {
    if x.abs() <= NEAR {
        sin(x)
    } else {
        libm::sinf(x)
    }
}

/// The cosine of any number.
#[inline(always)]
pub(crate) fn any_cos(x: f32) -> f32 {
    if x.abs() <= NEAR {
        cos(x)
    } else {
        libm::cosf(x)
    }
}

#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let z = x * x;
    let near = x + x
        * z
        * polynomial(
            z,
            [
                -5.704_988_7e-3,
                2.063_909e-2,
                -5.373_971_5e-2,
                0.133_314_42,
                -0.333_332_8,
            ],
        );
    let far = 1.0 - 2.0 / (exp(between(2.0 * size, 0.0, 20.0)) + 1.0);
    signed_as(if size < 0.625 { near } else { far }, x)
}

#[inline(always)]
pub(super) fn softplus(x: f32) -> f32 {
    let above = if x > 0.0 { x } else { 0.0 };
    let e = exp(-x.abs());
    let (k, f) = log_parts(1.0 + e);
    let near = e < 0.414_213_56;
    let (k, f) = if near { (0.0, e) } else { (k, f) };
    above + (f + (log_tail(f) - k * 2.121_944_4e-4) + k * 0.693_359_4)
}

#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let z = x * x;
    let near = x + x * polynomial(
        z,
        [
            -5.941_219e-4,
            4.983_469e-3,
            -2.676_002_8e-2,
            0.112_816_36,
            -0.376_124_77,
            0.128_379_15,
        ],
    );
    // −log(1 − erf x), a polynomial without constant term.
    let t = between(x.abs(), 0.0, 4.2);
    let q = t * polynomial(
        t,
        [
            -2.145_949e-4,
            3.219_974_4e-3,
            -2.290_602_8e-2,
            0.105_286_85,
            0.635_699_4,
            1.128_52,
        ],
    );
    let far = 1.0 - exp(-q);
    if x.abs() < 0.93 {
        near
    } else {
        signed_as(far, x)
    }
}

/// xʸ for positive, finite x. The exponent of 2 is accurate to 2⁻³⁰, held as the sum of two floats.
#[inline(always)]
fn power(x: f32, y: f32) -> f32 {
    // 2 / ln 2.
    const C: f32 = 2.885_39;
    const C_HEAD: f32 = 2.884_765_6;
    const C_TAIL: f32 = 6.244_568e-4;
    let (k, f) = log_parts(x);
    let m = f + 1.0;
    // s = f / (2 + f), as a sum of two floats: log₂ m = C (s + s³/3 + s⁵/5 + …).
    let s = f / (m + 1.0);
    let s_head = head(s);
    let m_head = head(m);
    let rest = ((f - s_head) - s_head * m_head) - s_head * (m - m_head);
    let s_tail = rest / (m + 1.0);
    let z = s * s;
    let cubic = C
        * s
        * z
        * polynomial(
            z,
            [0.090_909_09, 0.111_111_11, 0.142_857_15, 0.2, 0.333_333_34],
        );
    let log_head = head(C * s + cubic);
    let log_tail = (C_HEAD * s_head - log_head) + (C_HEAD * s_tail + (C_TAIL * s + cubic));
    // w = k + log₂ m, then y w, each as a sum of two floats.
    let w_head = head(k + (log_head + log_tail));
    let w_tail = ((k - w_head) + log_head) + log_tail;
    let y_head = head(y);
    let large = y_head * w_head;
    let small = (y - y_head) * w_head + y * w_tail;
    // Beyond these bounds the result is 0 or ∞ anyway.
    let large = between(large, -160.0, 140.0);
    let small = between(small, -1.0, 1.0);
    let (t, n) = nearest(large + small);
    scaled(exp2_near((large - t) + small), n)
}

/// xʸ with the special cases of IEEE 754: x⁰ and 1ʸ are 1, even for NaN.
#[inline(always)]
pub(crate) fn pow(x: f32, y: f32) -> f32 {
    let size = x.abs();
    let end = size.to_bits().wrapping_sub(1) >= 0x7F7F_FFFF;
    let base = if end { 1.5 } else { size };
    let long = y.abs() > 3.0e10;
    // Large enough to overflow or underflow for every base other than 1, and even.
    let exponent = if long { signed_as(3.0e10, y) } else { y };
    let value = power(base, exponent);
    // Whether y is an integer, and whether it is odd.
    let (near, fraction) = rounded(y);
    let integer = !fraction || near == y.abs();
    let odd = integer && y.abs() < 16_777_216.0 && half_is_broken(y);
    // |x| is 0, ∞ or NaN.
    let ends = if (size == 0.0) == (y < 0.0) {
        f32::INFINITY
    } else {
        0.0
    };
    let value = if end { ends } else { value };
    let value = if size == 1.0 { 1.0 } else { value };
    let value = if odd { signed_as(value, x) } else { value };
    let value = if x < 0.0 && x != f32::NEG_INFINITY && !integer {
        f32::NAN
    } else {
        value
    };
    let value = if x.is_nan() || y.is_nan() {
        x + y
    } else {
        value
    };
    if y == 0.0 || x == 1.0 { 1.0 } else { value }
}

/// For integers below 2²⁴: whether half of y is not an integer.
#[inline(always)]
fn half_is_broken(y: f32) -> bool {
    let half = 0.5 * y.abs();
    (half + 8_388_608.0) - 8_388_608.0 != half
}

/// The largest |n| that `powi` handles, by multiplications.
pub(crate) const MULTIPLIED: u32 = 8;

/// xⁿ by multiplications in f64, whose range and digits all intermediate results fit, |n| ≤ 8.
#[inline(always)]
pub(super) fn powi(x: f32, n: i32) -> f32 {
    let x = f64::from(x);
    let size = n.unsigned_abs();
    let square = x * x;
    let fourth = square * square;
    let mut y = 1.0;
    y *= if size & 1 != 0 { x } else { 1.0 };
    y *= if size & 2 != 0 { square } else { 1.0 };
    y *= if size & 4 != 0 { fourth } else { 1.0 };
    y = if size == 8 { fourth * fourth } else { y };
    (if n < 0 { 1.0 / y } else { y }) as f32
}

/// The operand that is NaN (the left one if both are), or else `value`.
#[inline(always)]
pub(crate) fn nan_or(x: f32, y: f32, value: f32) -> f32 {
    let value = if y.is_nan() { y } else { value };
    if x.is_nan() { x } else { value }
}

/// The angle of the point (x, y), from −π to π, with the special cases of IEEE 754.
#[inline(always)]
pub(crate) fn atan2(y: f32, x: f32) -> f32 {
    let (a, b) = (y.abs(), x.abs());
    let (low, high) = if a > b { (b, a) } else { (a, b) };
    // Avoids 0 / 0, ∞ / ∞ and sums that overflow.
    let high = if high == 0.0 { 1.0 } else { high };
    let both = low == f32::INFINITY;
    let (low, high) = if both { (1.0, 1.0) } else { (low, high) };
    let scale = if high > 1.0e37 { 0.0625 } else { 1.0 };
    let (low, high) = (low * scale, high * scale);
    // Above tan π/8, measures the angle from π/4.
    let far = low > 0.414_213_57 * high;
    let t = if far { low - high } else { low } / if far { high + low } else { high };
    let z = t * t;
    let p = ((8.053_745e-2 * z - 0.138_776_85) * z + 0.199_777_1) * z - 0.333_329_5;
    let r = t + t * z * p;
    let r = if far {
        FRAC_PI_4 + (r - 2.185_569_4e-8)
    } else {
        r
    };
    let r = if a > b {
        FRAC_PI_2 - (r + 4.371_139e-8)
    } else {
        r
    };
    let r = if x.is_sign_negative() {
        PI - (r + 8.742_278e-8)
    } else {
        r
    };
    nan_or(
        y,
        x,
        f32::from_bits(r.to_bits() | (y.to_bits() & 0x8000_0000)),
    )
}
