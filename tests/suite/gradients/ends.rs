//! Gradients at the ends of the range, where a formula divides by a square, and of results that are NaN.

use std::sync::Arc;

use libtest_mimic::Trial;
use vsla::program::{Program, Recording};
use vsla::{Complex32, Device, Ragged, Result, Tensor};

use super::others::CONSTANT;
use super::{Run, cotangents, ran};
use crate::support::bench::Bench;
use crate::support::operation::{rows, upload};

pub(super) fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("ends_of_the_range", ends_of_the_range),
        ("at_zero", at_zero),
        ("not_numbers", not_numbers),
        ("constant", constant),
        ("same_second_order", same_second_order),
    ])
}

/// The cotangents of vectors, given that of the result.
fn of<const N: usize>(
    device: &Device,
    run: impl Fn(&[Tensor<f32>]) -> Result<Tensor<f32>> + Send + Sync + 'static,
    operands: [&[f32]; N],
    seed: &[f32],
) -> [Vec<f32>; N] {
    let run: Run = Arc::new(run);
    let operands: Vec<Ragged<f32>> = operands.iter().map(|x| rows([x])).collect();
    let all = cotangents(device, &run, &operands, &rows([seed]));
    all.iter()
        .map(|g| g.row(0).to_vec())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

/// Compares slopes up to some roundings; where a slope is infinite or subnormal, a device may flush.
#[track_caller]
fn near(what: &str, got: &[f32], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let right = match (expected as f32).is_infinite() {
            true => f64::from(got) == f64::from(expected as f32),
            false => (f64::from(got) - expected).abs() <= 4e-6 * expected.abs() + 2f64.powi(-126),
        };
        assert!(right, "{what}, value {i}: {got:e}, not {expected:e}");
    }
}

fn wide(x: &[f32]) -> impl Iterator<Item = f64> {
    x.iter().map(|&x| f64::from(x))
}

/// Magnitudes of all sizes whose squares leave the range, and cotangents that bring the slopes back into it.
fn ends_of_the_range(device: &Device) {
    let mut points: Vec<[f32; 3]> = Vec::new();
    for exponent in [-36, -30, -20, -19, -10, 0, 10, 18, 19, 20, 30, 37] {
        let size = 10f32.powi(exponent);
        for g in [1.0, -1e-9, 3e9] {
            points.extend(
                [[3.0, 4.0, g], [-4.0, 3.0, g], [0.03, -1.0, g]]
                    .map(|[x, y, g]| [x * size, y * size, g]),
            );
        }
    }
    let part = |i: usize| points.iter().map(|point| point[i]).collect::<Vec<f32>>();
    let [x, y, g] = [part(0), part(1), part(2)];
    let of_points = |slope: fn(f64, f64) -> f64| -> Vec<f64> {
        let all = wide(&x).zip(wide(&y)).zip(wide(&g));
        all.map(|((x, y), g)| g * slope(x, y)).collect()
    };
    let squares = |x: f64, y: f64| x * x + y * y;
    let [of_y, of_x] = of(device, |v| v[0].atan2(&v[1]), [&y, &x], &g);
    near("atan2", &of_y, &of_points(|x, y| x / (x * x + y * y)));
    near("atan2", &of_x, &of_points(|x, y| -y / (x * x + y * y)));
    let [of_x, of_y] = of(device, |v| v[0].complex(&v[1])?.arg(), [&x, &y], &g);
    near("arg", &of_y, &of_points(|x, y| x / (x * x + y * y)));
    near("arg", &of_x, &of_points(|x, y| -y / (x * x + y * y)));
    let [of_x, of_y] = of(device, |v| v[0].complex(&v[1])?.abs(), [&x, &y], &g);
    near("abs", &of_x, &of_points(|x, y| x / (x * x + y * y).sqrt()));
    near("abs", &of_y, &of_points(|x, y| y / (x * x + y * y).sqrt()));
    // One vector for all rows, whose slopes are sums.
    for &[x, y, g] in &points {
        let (x, y, g) = (f64::from(x), f64::from(y), f64::from(g));
        let [slopes] = of(
            device,
            |v| v[0].norm2(),
            [&[x as f32, y as f32]],
            &[g as f32],
        );
        let size = squares(x, y).sqrt();
        near("norm2", &slopes, &[g * x / size, g * y / size]);
    }
    let sizes: Vec<f32> = x.iter().map(|x| x.abs()).collect();
    let of_sizes = |slope: fn(f64) -> f64| -> Vec<f64> {
        wide(&sizes)
            .zip(wide(&g))
            .map(|(x, g)| g * slope(x))
            .collect()
    };
    // Where neither the result nor the slope leaves the range.
    let [slopes] = of(device, |v| v[0].reciprocal(), [&sizes], &g);
    near("reciprocal", &slopes, &of_sizes(|x| -1.0 / (x * x)));
    let [slopes] = of(device, |v| v[0].rsqrt(), [&sizes], &g);
    near("rsqrt", &slopes, &of_sizes(|x| -0.5 * x.powf(-1.5)));
    let [slopes] = of(device, |v| v[0].sqrt(), [&sizes], &g);
    near("sqrt", &slopes, &of_sizes(|x| 0.5 / x.sqrt()));
    let [slopes] = of(device, |v| v[0].log2(), [&sizes], &g);
    near(
        "log2",
        &slopes,
        &of_sizes(|x| 1.0 / (x * std::f64::consts::LN_2)),
    );
    let [slopes] = of(device, |v| v[0].div_from(1.0), [&sizes], &g);
    near("div_from", &slopes, &of_sizes(|x| -1.0 / (x * x)));
    let least = f32::MIN_POSITIVE;
    let [slopes] = of(device, |v| v[0].log2(), [&[least]], &[1.0]);
    near(
        "log2",
        &slopes,
        &[1.0 / (f64::from(least) * std::f64::consts::LN_2)],
    );
    // Distances do not depend on sizes.
    for size in [1e-30f32, 1e-12, 1.0, 1e12, 1e30] {
        let [slopes, _] = of(
            device,
            |v| Ok(v[0].sbd(&v[1])?.distance),
            [&[3.0 * size, 4.0 * size], &[size, 0.0]],
            &[size],
        );
        near("sbd", &slopes, &[12.0 / 125.0, -9.0 / 125.0]);
    }
}

/// Where no direction is steepest, slopes are 0, and so are those of slopes.
fn at_zero(device: &Device) {
    let zero: &[f32] = &[0.0];
    let [y, x] = of(device, |v| v[0].atan2(&v[1]), [zero, zero], &[5.0]);
    assert_eq!([y, x], [[0.0], [0.0]], "atan2");
    let [x, y] = of(device, |v| v[0].complex(&v[1])?.arg(), [zero, zero], &[5.0]);
    assert_eq!([y, x], [[0.0], [0.0]], "arg");
    let [x, y] = of(device, |v| v[0].complex(&v[1])?.abs(), [zero, zero], &[5.0]);
    assert_eq!([y, x], [[0.0], [0.0]], "abs");
    type OfPoint = fn(&Tensor<Complex32>) -> Result<Tensor<f32>>;
    let functions: [(&str, OfPoint); 2] = [("arg", |z| z.arg()), ("abs", |z| z.abs())];
    for (name, function) in functions {
        let program = Program::new(device, move |r| {
            let z: Tensor<Complex32> = r.input()?;
            let [g] = r.gradients(&function(&z)?, [&z])?;
            let [h] = r.gradients(&g.abs_squared()?, [&z])?;
            r.output(&h.view_as_real()?)
        });
        let z = upload(device, &rows([&[Complex32::new(0.0, 0.0)]]));
        let plan = program.plan(&[z.layout()]).unwrap();
        let h = plan.run(&[&z]).unwrap().get::<f32>(0).unwrap();
        let h = h.download_blocking().unwrap();
        assert!(h.values().iter().all(|h| *h == 0.0), "{name}: {h:?}");
    }
}

/// A result that is NaN has the slope of the value that it is, or slopes that are NaN; nothing else has a finite slope.
fn not_numbers(device: &Device) {
    let nan = f32::NAN;
    let line = [2.0, nan, 1.0, 3.0];
    let chosen = [0.0, 5.0, 0.0, 0.0];
    type OfLine = fn(&Tensor<f32>) -> Result<Tensor<f32>>;
    let functions: [(&str, OfLine); 7] = [
        ("max", Tensor::max),
        ("min", Tensor::min),
        ("norm_max", |x| x.norm_max()),
        ("median", Tensor::median),
        ("quantile", |x| x.quantile(0.3)),
        ("median_axis", |x| x.median_axis(0)),
        ("max_pool", |x| x.max_pool(&[4])),
    ];
    for (name, function) in functions {
        let [slopes] = of(device, move |v| function(&v[0]), [&line], &[5.0]);
        match name {
            // Times the sign of NaN.
            "norm_max" => assert!(slopes[1].is_nan() && slopes[0] == 0.0, "{name}: {slopes:?}"),
            _ => assert_eq!(slopes, chosen, "{name}"),
        }
    }
    for function in [Tensor::cummax, Tensor::cummin] {
        let [slopes] = of(
            device,
            move |v| function(&v[0], 0),
            [&line],
            &[1.0, 2.0, 3.0, 4.0],
        );
        assert_eq!(slopes, [1.0, 9.0, 0.0, 0.0], "cummax and cummin");
    }
    // Between infinities.
    let ends = [f32::INFINITY, f32::NEG_INFINITY];
    let [slopes] = of(device, |v| v[0].median(), [&ends], &[5.0]);
    assert_eq!(slopes, [5.0, 0.0], "median");
    // Functions of one value and of two.
    let functions: [(&str, OfLine); 9] = [
        ("relu", |x| x.relu()),
        ("leaky_relu", |x| x.leaky_relu(0.1)),
        ("clamp", |x| x.clamp(-1.0, 1.0)),
        ("abs", |x| x.abs()),
        ("sqrt", |x| x.sqrt()),
        ("softplus", |x| x.softplus()),
        ("gelu", |x| x.gelu()),
        ("maximum", |x| x.maximum(&x.scale(0.5)?)),
        ("norm2", |x| x.norm2()),
    ];
    for (name, function) in functions {
        let [slopes] = of(device, move |v| function(&v[0]), [&[nan]], &[1.0]);
        assert!(slopes[0].is_nan(), "{name}: {slopes:?}");
    }
    let [y, x] = of(
        device,
        |v| v[0].atan2(&v[1]),
        [&[nan, 1.0], &[1.0, nan]],
        &[1.0; 2],
    );
    assert!(
        y.iter().chain(&x).all(|slope| slope.is_nan()),
        "atan2: {y:?}, {x:?}"
    );
    // A window with a NaN, in both directions.
    let window = rows([&[1.0f32, nan]]);
    let x = upload(device, &rows([&[1.0f32, 2.0, 3.0, 4.0]]));
    let spectra = x.stft(&upload(device, &rows([&[1.0f32, 1.0]])), 2).unwrap();
    let back = spectra
        .istft(&upload(device, &window), 2, x.layout())
        .unwrap();
    let back = back.download_blocking().unwrap();
    assert!(
        back.values()[1].is_nan() && back.values()[3].is_nan(),
        "istft: {back:?}"
    );
}

/// What does not change with its operand has a gradient of 0.
fn constant(device: &Device) {
    let x = upload(device, &rows([&[0.4f32, -2.0], &[3.0]]));
    type Record = Box<dyn Fn(&mut Recording, &Tensor<f32>) -> Result<Tensor<f32>> + Send + Sync>;
    let zeros = |what: &str, record: Record| {
        let program = Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let g = record(r, &x)?;
            r.output(&g)
        });
        let got = ran(&program, std::slice::from_ref(&x)).remove(0);
        assert_eq!(got.layout(), x.layout(), "{what}");
        assert_eq!(got.values(), [0.0; 3], "{what}");
    };
    let of = |r: &mut Recording, y: Tensor<f32>, x: &Tensor<f32>| r.gradients(&y, [x]).map(|[g]| g);
    for (name, function) in CONSTANT {
        zeros(name, Box::new(move |r, x| of(r, function(x)?, x)));
    }
    zeros("powf", Box::new(move |r, x| of(r, x.powf(0.0)?, x)));
    zeros("powi", Box::new(move |r, x| of(r, x.powi(0)?.square()?, x)));
    // Second derivatives.
    let twice = |r: &mut Recording, y: Tensor<f32>, x: &Tensor<f32>| {
        let [g] = r.gradients(&y, [x])?;
        r.gradients(&g, [x]).map(|[g]| g)
    };
    zeros("relu", Box::new(move |r, x| twice(r, x.relu()?, x)));
    zeros(
        "clamp",
        Box::new(move |r, x| twice(r, x.clamp(-1.0, 1.0)?, x)),
    );
    zeros("abs", Box::new(move |r, x| twice(r, x.abs()?, x)));
    zeros("sum", Box::new(move |r, x| twice(r, x.sum()?, x)));
    zeros("itself", Box::new(move |r, x| twice(r, x.clone(), x)));
    zeros("max", Box::new(move |r, x| twice(r, x.max()?, x)));
    zeros("scale", Box::new(move |r, x| twice(r, x.scale(3.0)?, x)));
    zeros("rem", Box::new(move |r, x| twice(r, x.rem(2.0)?, x)));
    // Halves and complex numbers in between.
    zeros(
        "halves",
        Box::new(move |r, x| {
            let half = x.to::<vsla::f16>()?.floor()?.to::<f32>()?;
            of(r, half, x)
        }),
    );
    zeros(
        "parts",
        Box::new(move |r, x| of(r, x.sign()?.complex(x)?.real()?, x)),
    );
    // One operand of two, of which the other has another gradient.
    let program = Program::new(device, |r| {
        let (x, y): (Tensor<f32>, Tensor<f32>) = (r.input()?, r.input()?);
        let [of_x, of_y] = r.gradients(&x.floor()?.hadamard(&y)?, [&x, &y])?;
        r.output(&of_x)?;
        r.output(&of_y)
    });
    let got = ran(&program, &[x.clone(), x.clone()]);
    assert_eq!(got[0].values(), [0.0; 3]);
    assert_eq!(got[1].values(), [0.0, -2.0, 3.0]);
}

/// Values that are computed again change no bit of second derivatives, wherever they are used.
fn same_second_order(device: &Device) {
    let program = |again: bool| {
        Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let part = |x: &Tensor<f32>| -> Result<[Tensor<f32>; 2]> {
                let (y, z) = (x.sin()?, x.hadamard(x)?);
                let both = y.hadamard(&z)?.add(&y.exp()?)?;
                Ok([both.hadamard(&y)?.softmax(0)?, both])
            };
            let [y, z] = match again {
                true => r.recompute(|_| part(&x))?,
                false => part(&x)?,
            };
            let first = r.gradients(&y.hadamard(&z)?.square()?, [&x, &z])?;
            let both = first[0].hadamard(&first[1])?;
            for g in first {
                r.output(&g)?;
            }
            // With respect to a value within the part, too.
            for g in r.gradients(&both, [&x, &z])? {
                r.output(&g)?;
            }
            Ok(())
        })
    };
    let x = Ragged::from_fn(&super::v([44, 70]), |e, i| {
        ((3 * e + 7 * i) % 23) as f32 * 0.1 - 1.0
    });
    let x = upload(device, &x.unwrap());
    let [kept, made] = [false, true].map(|again| ran(&program(again), std::slice::from_ref(&x)));
    for (kept, made) in kept.iter().zip(&made) {
        let bits = |g: &Ragged<f32>| g.values().iter().map(|g| g.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(kept), bits(made));
    }
}
