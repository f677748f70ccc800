//! Maps of floats against the references of their rows in the catalogue: values with all exponents, all values of f16,
//! and special values.

use std::collections::BTreeSet;
use std::f64::consts::PI;

use catalogue::{Batch, Operation, Reference};
use libtest_mimic::Trial;
use serde_json::{Value as Json, json};
use vsla::{
    Device, Ragged, f16,
    scalar::{DType, Float, MapInfo, f16_from_f64},
};

use crate::rows::ask;
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
    /// The batch of an answer.
    fn batch(of: Batch) -> Ragged<Self>;
}

impl Value for f32 {
    const NAN: f32 = f32::NAN;
    const DIGITS: i32 = 23;
    const LEAST: i32 = -126;
    const LARGEST: f64 = f32::MAX as f64;

    fn of(x: f64) -> f32 {
        x as f32
    }

    fn batch(of: Batch) -> Ragged<f32> {
        match of {
            Batch::F32(batch) => batch,
            other => panic!("{other:?}"),
        }
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

    fn batch(of: Batch) -> Ragged<f16> {
        match of {
            Batch::F16(batch) => batch,
            other => panic!("{other:?}"),
        }
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

const EXPONENTS: &[(f64, f64)] = &[
    (0.5, 0.0),
    (-1.5, 0.0),
    (3.0, 0.0),
    (1000.25, 0.0),
    (-7.0, 0.0),
    (1e-3, 0.0),
    (0.0, 0.0),
    (f64::INFINITY, 0.0),
    (65537.0, 0.0),
];
/// Whole exponents, of which those up to 8 are products.
const POWERS: &[(f64, f64)] = &[
    (1.0, 0.0),
    (2.0, 0.0),
    (3.0, 0.0),
    (4.0, 0.0),
    (5.0, 0.0),
    (6.0, 0.0),
    (7.0, 0.0),
    (8.0, 0.0),
    (9.0, 0.0),
    (-1.0, 0.0),
    (-2.0, 0.0),
    (-3.0, 0.0),
    (-4.0, 0.0),
    (-5.0, 0.0),
    (-6.0, 0.0),
    (-7.0, 0.0),
    (-8.0, 0.0),
    (0.0, 0.0),
    (-12.0, 0.0),
];

/// A map of floats, and its row in the catalogue.
#[derive(Clone)]
struct Map {
    /// Its name in the library's table.
    name: &'static str,
    row: &'static Operation,
    reference: fn(f64, [f64; 2]) -> f64,
}

impl Map {
    fn all() -> Vec<Map> {
        let table: BTreeSet<&str> = vsla::scalar::maps().map(|map| map.name).collect();
        let of_row = |row: &'static Operation| {
            let Reference::Map(reference) = row.reference else {
                return Vec::new();
            };
            let names = row.methods.iter().map(|(method, _)| *method);
            let names = names.chain([row.name]).filter(|name| table.contains(name));
            let map = |name| Map {
                name,
                row,
                reference,
            };
            names.map(map).collect()
        };
        catalogue::operations().flat_map(of_row).collect()
    }

    /// The options after the type and the rank.
    fn options(&self) -> impl Iterator<Item = &'static str> {
        self.row.options.iter().skip(2).map(|option| option.name)
    }

    /// Pairs of values of the options.
    fn scalars(&self) -> &'static [(f64, f64)] {
        match self.name {
            "clamp" => &[(-1.0, 2.5), (0.0, 0.0), (-f64::INFINITY, 3.0)],
            "powf" => EXPONENTS,
            "powi" => POWERS,
            "div_scalar" | "div_from" | "rem" => DIVISORS,
            _ if self.options().next().is_none() => NONE,
            _ => SOME,
        }
    }

    fn run<T: Value>(&self, device: &Device, x: &[T], scalars: [f64; 2]) -> Ragged<T> {
        if self.name == "powf" {
            // Requests with whole exponents are for `powi`.
            let x = upload(device, &Ragged::from_rows([x]).unwrap());
            return download(&x.powf(scalars[0] as f32).unwrap());
        }
        let number = |x: f64| match x.is_finite() {
            true => Json::from(x),
            false => x.to_string().to_lowercase().into(),
        };
        let x: Vec<Json> = x.iter().map(|x| number(x.wide())).collect();
        let mut request = json!({ "op": self.row.name, "args": [[x]], "options": {} });
        request["options"]["dtype"] = T::DTYPE.name().into();
        for (option, scalar) in self.options().zip(scalars) {
            request["options"][option] = number(scalar);
        }
        T::batch(ask(device, &request).unwrap().batches().remove(0))
    }
}

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![bench.host("bounds::every_row_is_tested", every_row_is_tested)];
    for map in Map::all() {
        let name = format!("bounds::{}", map.name);
        trials.extend(bench.on_each_device(&name, move |device| {
            check::<f32>(device, &map);
            check::<f16>(device, &map);
        }));
    }
    trials
}

fn every_row_is_tested() {
    let floats = vsla::scalar::maps().filter(|map| matches!(map.dtype, DType::F32 | DType::F16));
    let floats: BTreeSet<&str> = floats.map(|map| map.name).collect();
    let tested: BTreeSet<&str> = Map::all().iter().map(|map| map.name).collect();
    assert_eq!(floats, tested);
}

fn check<T: Value>(device: &Device, map: &Map) {
    let bound = vsla::scalar::maps()
        .find(|row| row.name == map.name && row.dtype == T::DTYPE)
        .unwrap();
    let values = T::samples();
    let tiny = 2f64.powi(-126);
    let flushed = |v: f64| if v.abs() < tiny { 0f64.copysign(v) } else { v };
    for &(s, t) in map.scalars() {
        // Scalars have the operand's type.
        let (s, t) = (T::of(s).wide(), T::of(t).wide());
        if map.name == "rem" && s == 0.0 {
            continue;
        }
        let of = |x, s| (map.reference)(x, [s, t]);
        // Odd functions and similar ones, whose zeros keep their sign, unless it may be that of a scalar.
        let keeps = |x: f64| of(x, s).to_bits() == x.to_bits();
        let is_alone = map.options().next().is_none() || s != 0.0;
        let keeps_zeros = is_alone && keeps(0.0) && keeps(-0.0);
        let y = map.run(device, &values, [s, t]);
        for (&x, &y) in values.iter().zip(y.values()) {
            let (wide, got) = (x.wide(), y.wide());
            let mut right = near::<T>(&bound, of(wide, s), got);
            if wide.abs() < tiny || s.abs() < tiny {
                right |= near::<T>(&bound, of(flushed(wide), s), got);
                right |= near::<T>(&bound, of(wide, flushed(s)), got);
            }
            assert!(
                right,
                "{}({s}, {t}) of {} {x} ({wide:e}): {got:e}, expected {:e}",
                map.name,
                T::DTYPE,
                of(wide, s)
            );
            if wide == 0.0 && keeps_zeros {
                assert_eq!(got.to_bits(), wide.to_bits(), "{} of {x}", map.name);
            }
        }
    }
    let (s, t) = map.scalars()[0];
    let y = map.run(device, &[T::NAN, T::of(1.0)], [s, t]);
    assert!(
        y.values()[0].wide().is_nan() && !y.values()[1].wide().is_nan(),
        "{}",
        map.name
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
