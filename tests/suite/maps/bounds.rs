//! Maps of floats against f64: values with all exponents, all values of f16, and special values.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use libtest_mimic::Trial;
use vsla::{
    Device, Ragged, Result, Tensor, f16,
    scalar::{DType, Float, MapInfo, f16_from_f64},
};

use crate::support::bench::Bench;
use crate::support::operation::{download, upload};

/// A type in which functions of floats are tested.
pub trait Value: Float {
    const NAN: Self;
    /// Digits after the first one, and the exponent of the smallest normal number.
    const DIGITS: i32;
    const LEAST: i32;
    const LARGEST: f64;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    fn samples() -> Vec<Self>;
}

impl Value for f32 {
    const NAN: f32 = f32::NAN;
    const DIGITS: i32 = 23;
    const LEAST: i32 = -126;
    const LARGEST: f64 = f32::MAX as f64;

    fn of(x: f64) -> f32 {
        x as f32
    }

    fn wide(self) -> f64 {
        self.into()
    }

    /// For each exponent, its first, its last and some other values; more values where functions change quickly.
    fn samples() -> Vec<f32> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut values: Vec<f32> = Vec::new();
        for sign in [0, 1u32 << 31] {
            for exponent in 0..=255u32 {
                let ends = [0, 1, 2, 0x40_0000, 0x7F_FFFE, 0x7F_FFFF];
                let between: Vec<u32> = (0..24).map(|_| rng.u32(..1 << 23)).collect();
                values.extend(
                    ends.iter()
                        .chain(&between)
                        .map(|mantissa| f32::from_bits(sign | exponent << 23 | mantissa)),
                );
            }
        }
        for span in [1e-3, 1.0, 4.0, 20.0, 120.0, 5000.0] {
            values.extend((0..4000).map(|_| (rng.f32() * 2.0 - 1.0) * span));
        }
        values.extend((0..4000).map(|_| 1.0 + (rng.f32() - 0.5) * 1e-3));
        values.extend((-300..300).map(|i| i as f32 * 0.5));
        // Near multiples of π / 2.
        values.extend((0..3000).map(|i| (f64::from(i) * PI / 2.0) as f32));
        values
    }
}

impl Value for f16 {
    const NAN: f16 = f16::NAN;
    const DIGITS: i32 = 10;
    const LEAST: i32 = -14;
    const LARGEST: f64 = 65504.0;

    fn of(x: f64) -> f16 {
        f16_from_f64(x)
    }

    fn wide(self) -> f64 {
        self.into()
    }

    fn samples() -> Vec<f16> {
        (0..=u16::MAX).map(f16::from_bits).collect()
    }
}

/// The spacing, at x, of numbers with this many digits.
fn unit(x: f64, digits: i32, least: i32) -> f64 {
    let exponent = if x == 0.0 {
        least
    } else {
        (((x.to_bits() >> 52) & 0x7FF) as i32 - 1023).max(least)
    };
    2f64.powi(exponent - digits)
}

type Reference = fn(f64, f64, f64) -> f64;

/// A map by its public name, for each type, with some pairs of scalars.
struct Row {
    name: &'static str,
    single: fn(&Tensor<f32>, f64, f64) -> Result<Tensor<f32>>,
    half: fn(&Tensor<f16>, f64, f64) -> Result<Tensor<f16>>,
    scalars: &'static [(f64, f64)],
    reference: Reference,
}

macro_rules! rows {
    ($($name:literal $scalars:expr, |$x:ident, $s:pat_param, $t:pat_param| $call:expr, $reference:expr;)*) => {
        const ROWS: &[Row] = &[$(Row {
            name: $name,
            single: |$x, $s, $t| $call,
            half: |$x, $s, $t| $call,
            scalars: $scalars,
            reference: $reference,
        }),*];
    };
}

const NONE: &[(f64, f64)] = &[(0.0, 0.0)];
const SOME: &[(f64, f64)] = &[(1.5, 0.0), (-0.3, 0.0), (1e-4, 0.0), (3e4, 0.0), (0.0, 0.0)];
const DIVISORS: &[(f64, f64)] = &[
    (1.5, 0.0),
    (-0.3, 0.0),
    (1e-4, 0.0),
    (3e4, 0.0),
    (f64::INFINITY, 0.0),
    (-2.0, 0.0),
    (6e-8, 0.0),
];

/// Converts a scalar to the tensor's type.
fn of<T: Value>(_: &Tensor<T>, s: f64) -> T {
    T::of(s)
}

rows! {
    "abs" NONE, |x, _, _| x.abs(), |x, _, _| x.abs();
    "sign" NONE, |x, _, _| x.sign(), |x, _, _| if x == 0.0 { x } else { x.signum() };
    "square" NONE, |x, _, _| x.square(), |x, _, _| x * x;
    "relu" NONE, |x, _, _| x.relu(), |x, _, _| if x.is_nan() { x } else { x.max(0.0) };
    "leaky_relu" SOME, |x, s, _| x.leaky_relu(s as f32), |x, s, _| if x > 0.0 { x } else { s * x };
    "clamp" &[(-1.0, 2.5), (0.0, 0.0), (-f64::INFINITY, 3.0)],
        |x, s, t| x.clamp(of(x, s), of(x, t)), |x, s, t| x.clamp(s, t);
    "floor" NONE, |x, _, _| x.floor(), |x, _, _| x.floor();
    "ceil" NONE, |x, _, _| x.ceil(), |x, _, _| x.ceil();
    "round" NONE, |x, _, _| x.round(), |x, _, _| x.round_ties_even();
    "add_scalar" SOME, |x, s, _| x.add_scalar(of(x, s)), |x, s, _| x + s;
    "sub_from" SOME, |x, s, _| x.sub_from(of(x, s)), |x, s, _| s - x;
    "div_scalar" DIVISORS, |x, s, _| x.div_scalar(of(x, s)), |x, s, _| x / s;
    "div_from" DIVISORS, |x, s, _| x.div_from(of(x, s)), |x, s, _| s / x;
    "rem" DIVISORS, |x, s, _| x.rem(of(x, s)), |x, s, _| x % s;
    "reciprocal" NONE, |x, _, _| x.reciprocal(), |x, _, _| 1.0 / x;
    "sqrt" NONE, |x, _, _| x.sqrt(), |x, _, _| x.sqrt();
    "rsqrt" NONE, |x, _, _| x.rsqrt(), |x, _, _| 1.0 / x.sqrt();
    "exp" NONE, |x, _, _| x.exp(), |x, _, _| libm::exp(x);
    "exp2" NONE, |x, _, _| x.exp2(), |x, _, _| libm::exp2(x);
    "expm1" NONE, |x, _, _| x.expm1(), |x, _, _| libm::expm1(x);
    "log" NONE, |x, _, _| x.log(), |x, _, _| libm::log(x);
    "log2" NONE, |x, _, _| x.log2(), |x, _, _| libm::log2(x);
    "log1p" NONE, |x, _, _| x.log1p(), |x, _, _| libm::log1p(x);
    "powf" &[
        (0.5, 0.0), (-1.5, 0.0), (3.0, 0.0), (1000.25, 0.0), (-7.0, 0.0), (1e-3, 0.0), (0.0, 0.0),
        (f64::INFINITY, 0.0), (65537.0, 0.0),
    ],
        |x, s, _| x.powf(s as f32), |x, s, _| libm::pow(x, f64::from(s as f32));
    "powi" &[
        (1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0), (5.0, 0.0), (6.0, 0.0), (7.0, 0.0), (8.0, 0.0), (9.0, 0.0),
        (-1.0, 0.0), (-2.0, 0.0), (-3.0, 0.0), (-4.0, 0.0), (-5.0, 0.0), (-6.0, 0.0), (-7.0, 0.0), (-8.0, 0.0),
        (0.0, 0.0), (-12.0, 0.0),
    ],
        |x, s, _| x.powi(s as i32), |x, s, _| libm::pow(x, s);
    "tanh" NONE, |x, _, _| x.tanh(), |x, _, _| libm::tanh(x);
    "sigmoid" NONE, |x, _, _| x.sigmoid(), |x, _, _| sigmoid(x);
    "silu" NONE, |x, _, _| x.silu(), |x, _, _| if x < -1e3 { -0.0 } else { x * sigmoid(x) };
    "softplus" NONE, |x, _, _| x.softplus(),
        |x, _, _| if x.is_nan() { x } else { x.max(0.0) + libm::log1p(libm::exp(-x.abs())) };
    "erf" NONE, |x, _, _| x.erf(), |x, _, _| libm::erf(x);
    "gelu" NONE, |x, _, _| x.gelu(), |x, _, _| if x < -1e3 { -0.0 } else { 0.5 * x * libm::erfc(-x * FRAC_1_SQRT_2) };
    "gelu_tanh" NONE, |x, _, _| x.gelu_tanh(),
        |x, _, _| if x < -1e3 { -0.0 } else { x * sigmoid((8.0 / PI).sqrt() * (x + 0.044715 * x.powi(3))) };
    "sin" NONE, |x, _, _| x.sin(), |x, _, _| libm::sin(x);
    "cos" NONE, |x, _, _| x.cos(), |x, _, _| libm::cos(x);
}

fn sigmoid(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    if x < 0.0 {
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + e)
    }
}

/// Odd functions and similar ones, whose zeros keep their sign.
const KEEP_ZEROS: &[&str] = &[
    "sign",
    "floor",
    "ceil",
    "round",
    "sqrt",
    "expm1",
    "log1p",
    "tanh",
    "silu",
    "erf",
    "gelu",
    "gelu_tanh",
    "sin",
    "rem",
];

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![bench.host("bounds::every_row_is_tested", every_row_is_tested)];
    for row in ROWS {
        trials.extend(
            bench.on_each_device(&format!("bounds::{}", row.name), |device| {
                check(device, row, row.single);
                check(device, row, row.half);
            }),
        );
    }
    trials
}

fn every_row_is_tested() {
    let floats = vsla::scalar::maps().filter(|map| matches!(map.dtype, DType::F32 | DType::F16));
    let names: Vec<&str> = floats.map(|map| map.name).collect();
    assert_eq!(names.len(), 2 * ROWS.len());
    for row in ROWS {
        assert_eq!(
            names.iter().filter(|name| **name == row.name).count(),
            2,
            "{}",
            row.name
        );
    }
}

fn check<T: Value>(device: &Device, row: &Row, run: fn(&Tensor<T>, f64, f64) -> Result<Tensor<T>>) {
    let bound = vsla::scalar::maps()
        .find(|map| map.name == row.name && map.dtype == T::DTYPE)
        .unwrap();
    let values = T::samples();
    let x = upload(device, &Ragged::from_rows([&values]).unwrap());
    for &(s, t) in row.scalars {
        // Scalars have the operand's type.
        let (s, t) = (T::of(s).wide(), T::of(t).wide());
        if row.name == "rem" && s == 0.0 {
            continue;
        }
        let y = download(&run(&x, s, t).unwrap());
        for (&x, &y) in values.iter().zip(y.values()) {
            let (wide, got) = (x.wide(), y.wide());
            let mut right = near::<T>(&bound, (row.reference)(wide, s, t), got);
            if wide.abs() < 2f64.powi(-126) || s.abs() < 2f64.powi(-126) {
                let flushed = |v: f64| {
                    if v.abs() < 2f64.powi(-126) {
                        0f64.copysign(v)
                    } else {
                        v
                    }
                };
                right |= near::<T>(&bound, (row.reference)(flushed(wide), s, t), got);
                right |= near::<T>(&bound, (row.reference)(wide, flushed(s), t), got);
            }
            assert!(
                right,
                "{}({s}, {t}) of {} {x} ({wide:e}): {got:e}, expected {:e}",
                row.name,
                T::DTYPE,
                (row.reference)(wide, s, t)
            );
            if wide == 0.0 && KEEP_ZEROS.contains(&row.name) {
                assert_eq!(got.to_bits(), wide.to_bits(), "{} of {x}", row.name);
            }
        }
    }
    let nan = upload(device, &Ragged::from_rows([[T::NAN, T::of(1.0)]]).unwrap());
    let (s, t) = row.scalars[0];
    let y = download(&run(&nan, s, t).unwrap());
    assert!(
        y.values()[0].wide().is_nan() && !y.values()[1].wide().is_nan(),
        "{}",
        row.name
    );
}

/// Whether `got` is within the documented error of the exact result.
pub fn near<T: Value>(bound: &MapInfo, exact: f64, got: f64) -> bool {
    if exact.is_nan() || got.is_nan() {
        return exact.is_nan() && got.is_nan();
    }
    if exact.is_infinite() {
        return got == exact;
    }
    let tiny = 2f64.powi(-126);
    let mut allowed =
        f64::from(bound.ulps) * unit(exact, 23, -126) + f64::from(bound.absolute) + tiny;
    if bound.ulps == 0.0 {
        // The only additional error is a subnormal number that a GPU flushes to zero.
        allowed = if exact.abs() < tiny { exact.abs() } else { 0.0 };
    }
    if T::DTYPE == DType::F16 {
        allowed += 0.5 * unit(exact, T::DIGITS, T::LEAST);
        // The result may be rounded in the unit of the next exponent.
        allowed *= 1.0 + 2f64.powi(-10);
    }
    if got.is_infinite() {
        // From half a unit above the largest number on, results are infinite.
        let limit = T::LARGEST + 0.5 * unit(T::LARGEST, T::DIGITS, T::LEAST);
        return got.signum() == exact.signum() && exact.abs() + allowed >= limit;
    }
    (got - exact).abs() <= allowed
}
