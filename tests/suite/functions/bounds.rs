//! Functions of two floats against f64: values with all exponents, all f16 values, and special values.

use libtest_mimic::Trial;
use vsla::scalar::DType;
use vsla::{Device, Ragged, f16};

use super::{NAMES, called, of_floats};
use crate::maps::bounds::{Value as Samples, near};
use crate::support::bench::Bench;
use crate::support::corpus::rng;
use crate::support::operation::upload;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    NAMES
        .into_iter()
        .flat_map(|name| {
            bench.on_each_device(&format!("bounds::{name}"), move |device| {
                check::<f32>(device, name);
                check::<f16>(device, name);
            })
        })
        .collect()
}

/// All pairs of special values, then samples in several orders, and neighbours.
fn operands<T: Samples>() -> (Vec<T>, Vec<T>) {
    let special: Vec<T> = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        1e-4,
        -6.0,
        7.5,
        1e4,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        T::LARGEST,
        -T::LARGEST,
        2f64.powi(T::LEAST),
        -2f64.powi(T::LEAST),
        2f64.powi(T::LEAST - 1),
        -2f64.powi(T::LEAST - 2),
    ]
    .map(T::of)
    .to_vec();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for &left in &special {
        for &right in &special {
            x.push(left);
            y.push(right);
        }
    }
    let mut rng = rng("functions of floats");
    let samples = T::samples();
    for _ in 0..2 {
        let mut others = samples.clone();
        rng.shuffle(&mut others);
        x.extend(&samples);
        y.extend(others);
    }
    for &sample in samples.iter().step_by(3) {
        x.extend([sample; 2]);
        y.extend([sample, T::of(sample.wide() * 1.01)]);
    }
    for _ in 0..20_000 {
        x.push(T::of((rng.f64() - 0.5) * 20.0));
        y.push(T::of((rng.f64() - 0.5) * 20.0));
    }
    (x, y)
}

fn check<T: Samples + super::Value>(device: &Device, name: &str) {
    let bound = vsla::scalar::functions()
        .find(|row| row.name == name && row.dtype == T::DTYPE)
        .unwrap();
    let (x, y) = operands::<T>();
    let [a, b] = [&x, &y].map(|values| upload(device, &Ragged::from_rows([values]).unwrap()));
    let got = called(name, &a, (&b).into()).unwrap();
    let tiny = 2f64.powi(-126);
    let flushed = |v: f64| if v.abs() < tiny { 0f64.copysign(v) } else { v };
    // Exact functions are exact for subnormal numbers, too.
    let exact = matches!(
        name,
        "maximum"
            | "minimum"
            | "equal"
            | "not_equal"
            | "less"
            | "less_equal"
            | "greater"
            | "greater_equal"
            | "remainder"
    );
    for ((&x, &y), &got) in x.iter().zip(&y).zip(got.values()) {
        let (s, t) = (Samples::wide(x), Samples::wide(y));
        let expected = of_floats(name, s, t);
        let mut right = match exact {
            true => {
                let rounded = Samples::wide(T::of(expected));
                got.to_bits() == rounded.to_bits() || got.is_nan() && expected.is_nan()
            }
            false => near::<T>(&bound, expected, got),
        };
        if !exact && (s.abs() < tiny || t.abs() < tiny) {
            for (s, t) in [(flushed(s), t), (s, flushed(t)), (flushed(s), flushed(t))] {
                right |= near::<T>(&bound, of_floats(name, s, t), got);
            }
        }
        // A zero has the expected sign, unless it stands for a missing value.
        if expected == 0.0 && got == 0.0 && T::DTYPE == DType::F32 && s.abs() >= tiny {
            right &= got.is_sign_negative() == expected.is_sign_negative();
        }
        assert!(
            right,
            "{name}({x:?}, {y:?}) of {}: {got:e}, expected {expected:e}",
            T::DTYPE
        );
    }
}
