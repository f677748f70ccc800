//! Arithmetic and maps of complex values within their documented bounds, for values of all exponents, and quotients of
//! zeros, infinities and NaN.

use libtest_mimic::Trial;
use num_complex::Complex64;
use vsla::{Complex32, Device, scalar::DType};

use super::arithmetic::{TWO, called, reference, wide};
use crate::support::bench::Bench;
use crate::support::corpus::rng;
use crate::support::operation::{download, one, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("bounds", bounds),
        ("polar_bounds", polar_bounds),
        ("quotients_at_the_ends", quotients_at_the_ends),
    ])
}

/// Floats of all exponents, all normal.
fn samples(count: usize, seed: &str) -> Vec<f32> {
    let mut rng = rng(seed);
    let mut sample = || f32::from_bits(rng.u32(..) & 0x807f_ffff | rng.u32(1..255) << 23);
    (0..count).map(|_| sample()).collect()
}

/// Complex numbers of all exponents, with parts that are alike, or zero, or quite different.
fn numbers(seed: &str) -> Vec<Complex32> {
    let mut rng = rng(seed);
    let base = samples(4000, seed);
    let mut all = Vec::new();
    for &re in &base {
        let im = match rng.u32(..4) {
            0 => 0.0,
            1 => re * rng.f32(),
            2 => re * 1.25,
            _ => base[rng.usize(..base.len())],
        };
        let im = if im.is_normal() { im } else { 0.0 };
        all.push(match rng.bool() {
            true => Complex32::new(re, im),
            false => Complex32::new(im, re),
        });
    }
    all
}

const TINY: f64 = 2.35e-38;
/// Sizes from which results may overflow.
const LARGE: f64 = 1.7e38;

/// A unit in the last place of an f32 of this size.
fn unit(size: f64) -> f64 {
    let exponent = if size > 0.0 {
        size.log2().floor() as i32
    } else {
        -126
    };
    2f64.powi(exponent.max(-126) - 23)
}

#[track_caller]
fn within(what: &str, got: f64, exact: f64, size: f64, ulps: f32) {
    let allowed = f64::from(ulps) * unit(size) + TINY;
    let error = (got - exact).abs();
    assert!(
        error <= allowed,
        "{what}: {got:e}, expected {exact:e} ± {allowed:e}"
    );
}

/// The documented bound of a row.
fn ulps(name: &str) -> f32 {
    let all: Vec<_> = vsla::scalar::maps()
        .chain(vsla::scalar::functions())
        .filter(|row| row.name == name)
        .collect();
    let complex = all.iter().find(|row| row.dtype == DType::C32);
    complex.unwrap_or(&all[0]).ulps
}

fn bounds(device: &Device) {
    let a = numbers("x");
    let mut b = numbers("y");
    // Results of which a part is nearly cancelled, and of usual sizes.
    for (i, y) in b.iter_mut().enumerate() {
        let x = a[i];
        match i % 4 {
            0 if y.re.abs() > 1e-18 && y.re.abs() < 1e18 => {
                *y = Complex32::new(x.im, x.re * 1.000_001)
            }
            1 => *y = x * 1.000_001,
            _ => {}
        }
    }
    let sound = |z: &Complex32| {
        [z.re, z.im]
            .iter()
            .all(|part| part.is_normal() || *part == 0.0)
    };
    let pairs = a.into_iter().zip(b).filter(|(x, y)| sound(x) && sound(y));
    let (a, b): (Vec<_>, Vec<_>) = pairs.collect();
    assert!(a.len() > 3000);
    let [x, y] = [&a, &b].map(|values| upload(device, &one(&[values.len()], values)));
    for name in TWO {
        let got = download(&called(name, &x, &y).unwrap());
        for ((&x, &y), &got) in a.iter().zip(&b).zip(got.values()) {
            let exact = reference(name, Some(x), Some(y));
            let sizes = wide(x).norm() * wide(y).norm();
            let size = |part: f64| match name {
                "hadamard" => sizes,
                "div" => exact.norm(),
                _ => part.abs(),
            };
            if size(exact.re).max(size(exact.im)) > LARGE || name == "div" && y.norm() == 0.0 {
                continue;
            }
            let what = format!("{name} of {x:e} and {y:e}");
            within(&what, got.re.into(), exact.re, size(exact.re), ulps(name));
            within(&what, got.im.into(), exact.im, size(exact.im), ulps(name));
        }
    }
    let s = Complex32::new(0.75, -1.3);
    let turned = download(&x.scale_complex(s).unwrap());
    let (half, sizes) = (
        download(&x.scale(0.3).unwrap()),
        download(&x.abs().unwrap()),
    );
    let (squares, angles) = (
        download(&x.abs_squared().unwrap()),
        download(&x.arg().unwrap()),
    );
    for (i, &z) in a.iter().enumerate() {
        let (exact, what) = (wide(z), format!("{z:e}"));
        if exact.norm() < LARGE / 2.0 {
            let expected = exact * wide(s);
            let size = exact.norm() * wide(s).norm();
            let got = turned.values()[i];
            within(
                &what,
                got.re.into(),
                expected.re,
                size,
                ulps("scale_complex"),
            );
            within(
                &what,
                got.im.into(),
                expected.im,
                size,
                ulps("scale_complex"),
            );
        }
        let got = half.values()[i];
        let expected = exact * f64::from(0.3f32);
        within(&what, got.re.into(), expected.re, expected.re.abs(), 0.5);
        within(&what, got.im.into(), expected.im, expected.im.abs(), 0.5);
        let size = exact.re.hypot(exact.im);
        if size <= f32::MAX.into() {
            within(&what, sizes.values()[i].into(), size, size, ulps("abs"));
        }
        if size * size < LARGE {
            within(
                &what,
                squares.values()[i].into(),
                size * size,
                size * size,
                ulps("abs_squared"),
            );
        }
        let angle = exact.im.atan2(exact.re);
        within(
            &what,
            angles.values()[i].into(),
            angle,
            angle.abs(),
            ulps("arg"),
        );
    }
}

fn polar_bounds(device: &Device) {
    let sizes = samples(3000, "sizes");
    let mut rng = rng("angles");
    let all = samples(3000, "angles of all exponents");
    let near = |i: usize| {
        if i.is_multiple_of(2) {
            all[i]
        } else {
            (rng.f32() - 0.5) * 20.0
        }
    };
    let angles: Vec<f32> = (0..3000).map(near).collect();
    let [r, t] = [&sizes, &angles].map(|values| upload(device, &one(&[3000], values)));
    let got = download(&r.polar(&t).unwrap());
    for ((&r, &t), got) in sizes.iter().zip(&angles).zip(got.values()) {
        let (size, angle) = (f64::from(r), f64::from(t));
        let what = format!("{r:e} at {t:e}");
        within(
            &what,
            got.re.into(),
            size * angle.cos(),
            size.abs(),
            ulps("polar"),
        );
        within(
            &what,
            got.im.into(),
            size * angle.sin(),
            size.abs(),
            ulps("polar"),
        );
    }
    let r = upload(device, &rows([&[f32::NAN, 1.0, 1.0, 0.0]]));
    let t = upload(device, &rows([&[1.0, f32::NAN, f32::INFINITY, 2.0]]));
    let got = download(&r.polar(&t).unwrap());
    let nan = |z: &Complex32| z.re.is_nan() && z.im.is_nan();
    assert!(got.row(0)[..3].iter().all(nan), "{got:?}");
    assert_eq!(got.row(0)[3].norm(), 0.0);
}

/// What is documented for zeros, infinities and NaN, in terms of the parts' special values.
fn special_quotient(x: Complex32, y: Complex32) -> Option<Complex64> {
    let infinite = |z: Complex32| z.re.is_infinite() || z.im.is_infinite();
    let (nan, zero) = (Complex64::new(f64::NAN, f64::NAN), Complex32::default());
    if x.is_nan() || y.is_nan() || infinite(x) && infinite(y) || x == zero && y == zero {
        return Some(nan);
    }
    if infinite(y) {
        return Some(Complex64::default());
    }
    if !infinite(x) && y != zero {
        return None;
    }
    let direction = |v: f32| f64::from(v.signum()) * f64::from(u8::from(v.is_infinite()));
    let a = match infinite(x) {
        true => Complex64::new(direction(x.re), direction(x.im)),
        false => wide(x),
    };
    let b = match y == zero {
        true => Complex64::new(f64::from(y.re.signum()), 0.0),
        false => wide(y),
    };
    let quotient = a * b.conj();
    let end = |v: f64| {
        if v == 0.0 {
            f64::NAN
        } else {
            v * f64::INFINITY
        }
    };
    Some(Complex64::new(end(quotient.re), end(quotient.im)))
}

fn quotients_at_the_ends(device: &Device) {
    let parts = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.5,
        -3e38,
        3e38,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
    ];
    let values: Vec<Complex32> = parts
        .iter()
        .flat_map(|&re| parts.map(|im| Complex32::new(re, im)))
        .collect();
    let n = values.len();
    let left = values.iter().flat_map(|&x| vec![x; n]).collect::<Vec<_>>();
    let right = values.repeat(n);
    let [x, y] = [&left, &right].map(|values| upload(device, &one(&[n * n], values)));
    let got = download(&x.div(&y).unwrap());
    let mut special = 0;
    for ((&x, &y), &got) in left.iter().zip(&right).zip(got.values()) {
        let what = format!("{x} / {y}: {got}");
        if let Some(expected) = special_quotient(x, y) {
            let same = |got: f32, expected: f64| {
                f64::from(got) == expected || got.is_nan() && expected.is_nan()
            };
            let right = same(got.re, expected.re) && same(got.im, expected.im);
            assert!(right, "{what}, expected {expected}");
            special += 1;
            continue;
        }
        let exact = reference("div", Some(x), Some(y));
        if exact.norm() < LARGE {
            within(&what, got.re.into(), exact.re, exact.norm(), ulps("div"));
            within(&what, got.im.into(), exact.im, exact.norm(), ulps("div"));
        } else {
            assert!(!got.is_nan(), "{what}");
        }
    }
    assert!(special > 4000 && special < n * n);
}
