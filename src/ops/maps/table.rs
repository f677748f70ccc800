//! The table of maps: each row defines a map's kernels, its twin, and the error bounds that its tests check.
//!
//! A row has the public name, which must be unique because errors, profiles and plans use it; the flag of its kernels;
//! the files of `shaders/lib` that its expression needs; the expression in WGSL, of `x` and the scalars `s` and `t`;
//! the same in Rust; and the bound. Anything longer than an expression is a function in a file of `shaders/lib`, and in
//! `functions.rs`. Rows of `SLOPES`, which only gradients use, have no method: `silu_slope` is the slope of `silu` at
//! x. A unit test compares them with f64 (`src/tensor/run/tests/slopes.rs`).
//!
//! A formula must account for the following:
//!
//! - WGSL promises little of its built-in functions: of `cos`, 2⁻¹¹ absolute, and only from −π to π; of `exp`, three
//!   units in the last place and two more for each unit of |x|; of a division, 2.5. Rows use only WGSL's `sqrt` and
//!   `inverseSqrt`, and its quotients if their error hardly counts. Everything else is a polynomial after a reduction
//!   of the argument, with the same coefficients on both devices.
//! - Compilers may reassociate sums of floats, and may fuse or not. Reductions are chains of `fma` whose constants have
//!   so few bits that products are exact without it, too. Values that must be exact in `powf` are cut by masks of bits.
//!   Large arguments of `sin` and `cos`, and `rem`, use integers.
//! - Compilers may assume that no value is NaN or infinite. The kernel preserves a NaN by its bits, whatever the row's
//!   expression returns for it. Infinite results are made of bits of an operand.
//! - A GPU may flush operands and results below 2⁻¹²⁶ to zero, so every bound has that much in addition. To keep
//!   intermediate values from being flushed, scale last (`exp_times`).
//! - The twin is a loop without a branch that LLVM vectorizes, also without the FMA, SSE4.1 or AVX features: no
//!   `mul_add`, no `floor`, no conversion to integers; instead, additions of 1.5 · 2²³.

use super::activations as a;
use super::cheap::{Abs, AddScalar, Cheap, Clamp, LeakyRelu, Relu, Square, SubFrom};
use super::functions::{self as f, NEAR};

/// How far a result may be from the exact one: `ulps` units in its last place, plus `absolute`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bound {
    pub ulps: f32,
    pub absolute: f32,
}

const EXACT: Bound = within(0.0);
/// A single operation, correctly rounded per IEEE 754.
const ROUNDED: Bound = within(0.5);

const fn within(ulps: f32) -> Bound {
    Bound {
        ulps,
        absolute: 0.0,
    }
}

/// Computes values from values of the same type and two scalars.
pub(crate) type Run<T> = fn(&[T], &mut [T], [T; 2]);

/// The twin of a map, which also determines its value types.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Function {
    /// f32, and f16 computed in f32.
    Float(Run<f32>),
    I32(Run<i32>),
    U32(Run<u32>),
}

/// One map.
#[derive(Debug)]
pub(crate) struct Map {
    /// The public operation.
    pub name: &'static str,
    /// The flag of its variants.
    pub flags: &'static [&'static str],
    /// Files of `shaders/lib` that the expression needs.
    pub uses: &'static [&'static str],
    /// The result as a WGSL expression of x and the scalars s and t.
    pub wgsl: &'static str,
    /// Whether the kernel passes NaN through, whatever the expression makes of it.
    pub keeps_nan: bool,
    pub twin: Function,
    pub bound: Bound,
}

/// The result of a row, or the operand if it is NaN.
#[inline(always)]
fn unless_nan(x: f32, result: f32) -> f32 {
    if x.is_nan() { x } else { result }
}

/// The result of a row that needs no such replacement on a CPU.
#[inline(always)]
fn as_is<T>(_: T, result: T) -> T {
    result
}

/// Rows of one kind of twin, whose expressions see x and the scalars.
macro_rules! rows {
    ($kind:ident $keep:ident $keeps_nan:literal: $($name:literal $flag:literal [$($uses:literal),*] $wgsl:literal,
        |$x:ident, $s:pat_param, $t:pat_param| $twin:expr, $bound:expr;)*) => {
        &[$(Map {
            name: $name,
            flags: &[$flag],
            uses: &[$($uses),*],
            wgsl: $wgsl,
            keeps_nan: $keeps_nan,
            twin: Function::$kind(|x, y, [$s, $t]| {
                for (y, &$x) in y.iter_mut().zip(x) {
                    *y = $keep($x, $twin);
                }
            }),
            bound: $bound,
        }),*]
    };
}

/// Sums and products, which are NaN where an operand is.
const ARITHMETIC: &[Map] = rows! { Float as_is false:
    "abs" "ABS" [] "abs(x)", |x, s, t| Abs::of(x, s, t), EXACT;
    "square" "SQUARE" [] "x * x", |x, s, t| Square::of(x, s, t), ROUNDED;
    "add_scalar" "ADD" [] "x + s", |x, s, t| AddScalar::of(x, s, t), ROUNDED;
    "sub_from" "SUB_FROM" [] "s - x", |x, s, t| SubFrom::of(x, s, t), ROUNDED;
};

/// Rows that are NaN for NaN where comparisons and arithmetic follow IEEE 754, as they do on a CPU.
const COMPARED: &[Map] = rows! { Float as_is true:
    "relu" "RELU" [] "select(0.0, x, x > 0.0)", |x, s, t| Relu::of(x, s, t), EXACT;
    "leaky_relu" "LEAKY_RELU" [] "select(s * x, x, x > 0.0)", |x, s, t| LeakyRelu::of(x, s, t), ROUNDED;
    "clamp" "CLAMP" [] "min(max(x, s), t)", |x, s, t| Clamp::of(x, s, t), EXACT;
    "div_scalar" "DIV" ["exp", "quotient"] "divided(x, s)", |x, s, _| x / s, within(2.0);
    "div_from" "DIV_FROM" ["exp", "quotient"] "divided(s, x)", |x, s, _| s / x, within(2.0);
    "reciprocal" "RECIPROCAL" ["exp", "quotient"] "divided(1.0, x)", |x, _, _| 1.0 / x, within(2.0);
    "sqrt" "SQRT" ["roots"] "sqrt_of(x)", |x, _, _| x.sqrt(), within(1.0);
    "rsqrt" "RSQRT" ["roots"] "rsqrt_of(x)", |x, _, _| f::rsqrt(x), within(2.0);
};

/// All other functions: whatever their expressions give for NaN, the result is the operand.
const FLOATS: &[Map] = rows! { Float unless_nan true:
    "sign" "SIGN" [] "select(signed_as(1.0, x), x, (bitcast<u32>(x) & 0x7fffffffu) == 0u)", |x, _, _| f::sign(x), EXACT;
    "floor" "FLOOR" [] "signed_as(floor(x), x)", |x, _, _| f::floor(x), EXACT;
    "ceil" "CEIL" [] "signed_as(ceil(x), x)", |x, _, _| f::ceil(x), EXACT;
    "round" "ROUND" [] "signed_as(round(x), x)", |x, _, _| f::round(x), EXACT;
    "rem" "REM" ["remainder"] "remainder(x, s)", |x, s, _| x % s, EXACT;
    "exp" "EXP" ["exp"] "exp_times(1.0, x)", |x, _, _| f::exp(x), within(2.0);
    "exp2" "EXP2" ["exp"] "exp2_of(x)", |x, _, _| f::exp2(x), within(2.0);
    "expm1" "EXPM1" ["exp"] "expm1_of(x)", |x, _, _| f::expm1(x), within(3.0);
    "log" "LOG" ["log"] "log_of(x)", |x, _, _| f::log(x), within(2.0);
    "log2" "LOG2" ["log"] "log2_of(x)", |x, _, _| f::log2(x), within(2.0);
    "log1p" "LOG1P" ["log"] "log1p_of(x)", |x, _, _| f::log1p(x), within(4.0);
    "powi" "POWI" ["exp", "quotient", "powi"] "powi_of(x, i32(s))", |x, s, _| f::powi(x, s as i32), within(9.0);
    "tanh" "TANH" ["exp", "sigmoid"] "tanh_of(x)", |x, _, _| f::tanh(x), within(4.0);
    "sigmoid" "SIGMOID" ["exp", "sigmoid"] "times_sigmoid(1.0, x)", |x, _, _| a::sigmoid(x), within(6.0);
    "silu" "SILU" ["exp", "sigmoid"] "silu_of(x)", |x, _, _| a::silu(x), within(6.0);
    "softplus" "SOFTPLUS" ["exp", "log", "softplus"] "softplus_of(x)", |x, _, _| f::softplus(x), within(5.0);
    "erf" "ERF" ["exp", "erf"] "erf_of(x)", |x, _, _| f::erf(x), within(3.0);
    "gelu" "GELU" ["gelu"] "signed_as(gelu(x), x)", |x, _, _| a::gelu(x), within(10.0);
    "gelu_tanh" "GELU_TANH" ["exp", "sigmoid"] "gelu_tanh_of(x)", |x, _, _| a::gelu_tanh(x),
        Bound { ulps: 6.0, absolute: 6.0e-8 };
};

const OTHER_FLOATS: &[Map] = &[
    Map {
        name: "powf",
        flags: &["POWF"],
        uses: &["exp", "log", "power"],
        wgsl: "pow_of(x, s)",
        // NaN⁰ is 1.
        keeps_nan: false,
        twin: Function::Float(|x, y, [s, _]| {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = f::pow(x, s);
            }
        }),
        bound: within(8.0),
    },
    Map {
        name: "sin",
        flags: &["SIN"],
        uses: &["trig"],
        wgsl: "sin_of(x)",
        keeps_nan: true,
        twin: Function::Float(|x, y, _| turning(x, y, f::sin, libm::sinf)),
        bound: TURNED,
    },
    Map {
        name: "cos",
        flags: &["COS"],
        uses: &["trig"],
        wgsl: "cos_of(x)",
        keeps_nan: true,
        twin: Function::Float(|x, y, _| turning(x, y, f::cos, libm::cosf)),
        bound: TURNED,
    },
];

/// Near a zero of the function other than x = 0, few digits of x are left after range reduction.
const TURNED: Bound = Bound {
    ulps: 2.0,
    absolute: 6.0e-8,
};

/// Computes all values the fast way, then recomputes those too large for it.
#[inline(always)]
fn turning(x: &[f32], y: &mut [f32], quick: impl Fn(f32) -> f32, slow: fn(f32) -> f32) {
    let mut all_near = true;
    for (y, &x) in y.iter_mut().zip(x) {
        *y = quick(x);
        all_near &= x.abs() <= NEAR;
    }
    if !all_near {
        for (y, &x) in y.iter_mut().zip(x) {
            if x.abs() > NEAR {
                *y = slow(x);
            }
        }
    }
}

/// The slopes of other rows at x, for gradients; in `_by_result` rows, x is the other row's result instead. At 0, the
/// slope of `relu` and `leaky_relu` is that of negative values; at the bounds of `clamp`, it is 1.
const SLOPES: &[Map] = rows! { Float unless_nan true:
    "relu_slope" "RELU_SLOPE" [] "select(0.0, 1.0, bitcast<i32>(x) > 0)", |x, _, _| if x > 0.0 { 1.0 } else { 0.0 },
        EXACT;
    "leaky_relu_slope" "LEAKY_RELU_SLOPE" [] "select(s, 1.0, bitcast<i32>(x) > 0)",
        |x, s, _| if x > 0.0 { 1.0 } else { s }, EXACT;
    "clamp_slope" "CLAMP_SLOPE" ["compare"] "select(1.0, 0.0, is_less(x, s) || is_less(t, x))",
        |x, s, t| if x < s || x > t { 0.0 } else { 1.0 }, EXACT;
    "tanh_slope" "TANH_SLOPE" ["exp", "slopes"] "tanh_slope(x)", |x, _, _| a::tanh_slope(x), within(8.0);
    "tanh_slope_by_result" "TANH_SLOPE_BY_RESULT" [] "(1.0 - x) * (1.0 + x)", |x, _, _| (1.0 - x) * (1.0 + x),
        within(2.0);
    "sigmoid_slope" "SIGMOID_SLOPE" ["exp", "slopes"] "logistic(1.0, x).y", |x, _, _| a::sigmoid_slope(x), within(8.0);
    "sigmoid_slope_by_result" "SIGMOID_SLOPE_BY_RESULT" [] "x * (1.0 - x)", |x, _, _| x * (1.0 - x), within(2.0);
    "silu_slope" "SILU_SLOPE" ["exp", "slopes"] "silu_slope(x)", |x, _, _| a::silu_slope(x), NEARLY;
    "erf_slope" "ERF_SLOPE" ["exp"] "exp_times(1.12837917, -x * x)", |x, _, _| a::erf_slope(x), NEARLY;
    "gelu_slope" "GELU_SLOPE" ["gelu", "gelu_slope"] "gelu_slope(x)", |x, _, _| a::gelu_slope(x), NEARLY;
    "gelu_tanh_slope" "GELU_TANH_SLOPE" ["exp", "slopes"] "gelu_tanh_slope(x)", |x, _, _| a::gelu_tanh_slope(x), NEARLY;
};

/// For slopes that have few correct digits where they are small.
const NEARLY: Bound = Bound {
    ulps: 6.0,
    absolute: 1.2e-7,
};

/// i32 rows where the sign matters; everything else uses the u32 rows.
const I32: &[Map] = rows! { I32 as_is false:
    "abs" "ABS" [] "abs(x)", |x, _, _| x.wrapping_abs(), EXACT;
    "sign" "SIGN" [] "sign(x)", |x, _, _| x.signum(), EXACT;
    "clamp" "CLAMP" [] "min(max(x, s), t)", |x, s, t| x.max(s).min(t), EXACT;
    // The least integer divided by -1 overflows, which traps on some processors.
    "div_scalar" "DIV" [] "select(x / select(s, 1, s == -1), -x, s == -1)", |x, s, _| x.wrapping_div(s), EXACT;
    "rem" "REM" [] "select(x % select(s, 1, s == -1), 0, s == -1)", |x, s, _| x.wrapping_rem(s), EXACT;
    "shift_right" "SHIFT_RIGHT" [] "x >> u32(s)", |x, s, _| x.wrapping_shr(s as u32), EXACT;
};

const U32: &[Map] = rows! { U32 as_is false:
    "abs" "ABS" [] "x", |x, _, _| x, EXACT;
    "sign" "SIGN" [] "min(x, 1u)", |x, _, _| x.min(1), EXACT;
    "clamp" "CLAMP" [] "min(max(x, s), t)", |x, s, t| x.max(s).min(t), EXACT;
    "square" "SQUARE" [] "x * x", |x, _, _| x.wrapping_mul(x), EXACT;
    "add_scalar" "ADD" [] "x + s", |x, s, _| x.wrapping_add(s), EXACT;
    "sub_from" "SUB_FROM" [] "s - x", |x, s, _| s.wrapping_sub(x), EXACT;
    "div_scalar" "DIV" [] "x / s", |x, s, _| x.wrapping_div(s), EXACT;
    "rem" "REM" [] "x % s", |x, s, _| x.wrapping_rem(s), EXACT;
    "bit_and" "AND" [] "x & s", |x, s, _| x & s, EXACT;
    "bit_or" "OR" [] "x | s", |x, s, _| x | s, EXACT;
    "bit_xor" "XOR" [] "x ^ s", |x, s, _| x ^ s, EXACT;
    "bit_not" "NOT" [] "~x", |x, _, _| !x, EXACT;
    "shift_left" "SHIFT_LEFT" [] "x << s", |x, s, _| x.wrapping_shl(s), EXACT;
    "shift_right" "SHIFT_RIGHT" [] "x >> s", |x, s, _| x.wrapping_shr(s), EXACT;
};

/// All rows.
pub(crate) const MAPS: &[&[Map]] = &[ARITHMETIC, COMPARED, FLOATS, OTHER_FLOATS, SLOPES, I32, U32];

/// The rows that are methods of tensors.
pub(crate) const METHODS: &[&[Map]] = &[ARITHMETIC, COMPARED, FLOATS, OTHER_FLOATS, I32, U32];
