//! Gradients whose values are known.

use std::sync::Arc;

use libtest_mimic::Trial;
use vsla::program::Program;
use vsla::scalar::{Float, Scalar};
use vsla::{Device, Ragged, Result, Shape, Tensor, f16};

use super::{Run, cotangents};
use crate::support::bench::Bench;
use crate::support::compare::{Comparable, assert_exact};
use crate::support::operation::{download, rows, upload};

pub(super) fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("goldens", goldens),
        ("ties", ties),
        ("zeros", zeros),
        ("losses", losses),
        ("shares", shares),
        ("magnitudes", magnitudes),
        ("halves_of_norms", halves_of_norms),
    ])
}

fn check<const N: usize>(
    device: &Device,
    run: impl Fn(&[Tensor<f32>]) -> Result<Tensor<f32>> + Send + Sync + 'static,
    operands: [&[f32]; N],
    seed: &[f32],
    expected: [&[f32]; N],
) {
    let run: Run = Arc::new(run);
    let operands: Vec<Ragged<f32>> = operands.iter().map(|x| rows([x])).collect();
    let all = cotangents(device, &run, &operands, &rows([seed]));
    for (got, expected) in all.iter().zip(expected) {
        let near = |(got, expected): (&f32, &f32)| {
            (got - expected).abs() <= 1e-6 * expected.abs().max(0.1)
        };
        assert!(
            got.row(0).iter().zip(expected).all(near),
            "{:?}, not {expected:?}",
            got.row(0)
        );
    }
}

/// Those of the specification.
fn goldens(device: &Device) {
    check(
        device,
        |x| x[0].conv(&x[1]),
        [&[1.0, 2.0, 3.0], &[0.5, 1.5]],
        &[1.0, 10.0, 100.0, 1000.0],
        [&[15.5, 155.0, 1550.0], &[321.0, 3210.0]],
    );
    check(
        device,
        |x| x[0].kron(&x[1]),
        [&[2.0, 3.0], &[1.0, 0.0, -1.0]],
        &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        [&[-2.0, -2.0], &[14.0, 19.0, 24.0]],
    );
    check(
        device,
        |x| x[0].softmax(0),
        [&[1.0, 2.0, 3.0]],
        &[1.0, 0.0, -1.0],
        [&[0.141_817_1, 0.140_770_36, -0.282_587_45]],
    );
}

/// The first of several largest values is the one that counts.
fn ties(device: &Device) {
    check(
        device,
        |x| x[0].max(),
        [&[1.0, 3.0, 3.0]],
        &[5.0],
        [&[0.0, 5.0, 0.0]],
    );
    check(
        device,
        |x| x[0].min(),
        [&[1.0, 3.0, 1.0]],
        &[5.0],
        [&[5.0, 0.0, 0.0]],
    );
    check(
        device,
        |x| x[0].max_pool(&[2]),
        [&[3.0, 3.0, 0.0, 0.0, 7.0]],
        &[5.0, 6.0],
        [&[5.0, 0.0, 6.0, 0.0, 0.0]],
    );
    check(
        device,
        |x| x[0].maximum(&x[1]),
        [&[1.0, 4.0, 2.0, -7.0], &[1.0, 3.0, 5.0]],
        &[2.0, 3.0, 4.0, 9.0],
        [&[1.0, 3.0, 0.0, 9.0], &[1.0, 0.0, 4.0]],
    );
    check(
        device,
        |x| x[0].cummax(0),
        [&[1.0, 3.0, 3.0, 2.0, 4.0]],
        &[1.0, 2.0, 3.0, 4.0, 5.0],
        [&[1.0, 9.0, 0.0, 0.0, 5.0]],
    );
}

/// Where a derivative is not unique, or a formula divides by 0.
fn zeros(device: &Device) {
    check(
        device,
        |x| x[0].relu(),
        [&[0.0, -1.0, 2.0]],
        &[5.0; 3],
        [&[0.0, 0.0, 5.0]],
    );
    check(
        device,
        |x| x[0].abs(),
        [&[0.0, -1.0, 2.0]],
        &[5.0; 3],
        [&[0.0, -5.0, 5.0]],
    );
    check(
        device,
        |x| x[0].norm2(),
        [&[0.0, 0.0]],
        &[5.0],
        [&[0.0, 0.0]],
    );
    check(device, |x| x[0].std(), [&[2.0, 2.0]], &[5.0], [&[0.0, 0.0]]);
    check(
        device,
        |x| x[0].l2_normalize(0, 1.0),
        [&[0.0, 0.0]],
        &[5.0, 2.0],
        [&[5.0, 2.0]],
    );
    check(
        device,
        |x| x[0].pow(&x[1]),
        [&[0.0, 2.0], &[0.0, 0.0]],
        &[1.0, 1.0],
        [&[0.0, 0.0], &[0.0, std::f32::consts::LN_2]],
    );
    check(
        device,
        |x| x[0].prod(),
        [&[2.0, 0.0, 3.0]],
        &[5.0],
        [&[0.0, 30.0, 0.0]],
    );
    check(
        device,
        |x| x[0].prod(),
        [&[2.0, 0.0, 0.0]],
        &[5.0],
        [&[0.0, 0.0, 0.0]],
    );
    check(
        device,
        |x| x[0].cumprod(0),
        [&[2.0, 0.0, 3.0, 4.0]],
        &[1.0, 10.0, 100.0, 1000.0],
        [&[1.0, 24620.0, 0.0, 0.0]],
    );
    check(
        device,
        |x| Ok(x[0].sbd(&x[1])?.distance),
        [&[0.0, 0.0], &[1.0, 2.0]],
        &[5.0],
        [&[0.0, 0.0], &[0.0, 0.0]],
    );
    check(
        device,
        |x| x[0].complex(&x[1])?.abs(),
        [&[0.0, 3.0], &[0.0, 4.0]],
        &[5.0, 5.0],
        [&[0.0, 3.0], &[0.0, 4.0]],
    );
}

/// Gradients of logarithms of sums are weights that sum to 1, however large the values are.
fn shares(device: &Device) {
    for size in [1e5f32, 1e8, 1e30] {
        let third = 1.0 / 3.0;
        let x = [size; 3];
        check(device, |x| x[0].log_sum_exp(), [&x], &[6.0], [&[2.0; 3]]);
        check(
            device,
            |x| x[0].log_sum_exp_axis(0),
            [&x],
            &[6.0],
            [&[2.0; 3]],
        );
        check(
            device,
            |x| x[0].log_softmax(0),
            [&x],
            &[1.0, 0.0, 0.0],
            [&[2.0 * third, -third, -third]],
        );
        check(
            device,
            |x| x[0].softmax(0),
            [&x],
            &[9.0, 0.0, 0.0],
            [&[2.0, -1.0, -1.0]],
        );
        check(
            device,
            |x| {
                let targets = Ragged::from_rows([[1u32]])?;
                x[0].cross_entropy(&x[0].device().upload(&targets)?)
            },
            [&x],
            &[3.0],
            [&[1.0, -2.0, 1.0]],
        );
    }
}

/// A normalization, its calls, and its gradient in f64, for an epsilon of 0: the divisor, and the results.
type Norm = (&'static str, fn(&Tensor<f32>) -> Result<Tensor<f32>>);

const NORMS: [Norm; 5] = [
    ("layer_norm", |x| x.layer_norm(0, 0.0)),
    ("standardize", |x| x.standardize(0.0)),
    ("group_norm", |x| x.group_norm(1, 0.0)),
    ("rms_norm", |x| x.rms_norm(0, 0.0)),
    ("l2_normalize", |x| x.l2_normalize(0, 0.0)),
];

/// The gradient of a normalization at x, given g, and what an error in the results contributes to it.
fn of_norm(name: &str, x: &[f64], g: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n = x.len() as f64;
    let mean = |values: &dyn Fn(usize) -> f64| (0..x.len()).map(values).sum::<f64>() / n;
    let moves = !["rms_norm", "l2_normalize"].contains(&name);
    let middle = if moves { mean(&|i| x[i]) } else { 0.0 };
    let shift = if moves { mean(&|i| g[i]) } else { 0.0 };
    let squares = mean(&|i| (x[i] - middle).powi(2));
    // y = (x − middle) / root, and its component along g.
    let (root, count) = match name {
        "l2_normalize" => ((n * squares).sqrt(), n),
        _ => (squares.sqrt(), 1.0),
    };
    let y = |i: usize| (x[i] - middle) / root;
    let along = count * mean(&|i| g[i] * y(i));
    let sizes = count * mean(&|i| (g[i] * y(i)).abs());
    let of = |i: usize| (g[i] - shift - y(i) * along) / root;
    let error = |i: usize| (y(i).abs() * sizes / root).abs();
    (
        (0..x.len()).map(of).collect(),
        (0..x.len()).map(error).collect(),
    )
}

/// Values whose squares overflow or vanish.
fn magnitudes(device: &Device) {
    let (line, g) = ([3.0f32, 4.0, -1.0, 0.5, 2.0], [1.0f32, 0.0, 2.0, -1.0, 0.5]);
    for scale in [1e-30f32, 1e-20, 1.0, 1e20, 1e30, 3e37] {
        let x = line.map(|x| x * scale);
        let wide = x.map(f64::from);
        for (name, of) in NORMS {
            let run: Run = Arc::new(move |x: &[Tensor<f32>]| of(&x[0]));
            let got = &cotangents(device, &run, &[rows([&x[..]])], &rows([&g[..]]))[0];
            let (expected, sizes) = of_norm(name, &wide, &g.map(f64::from));
            for ((&got, expected), size) in got.values().iter().zip(expected).zip(sizes) {
                let error = (f64::from(got) - expected).abs();
                let allowed = 1e-5 * (expected.abs() + size) + f64::from(f32::MIN_POSITIVE);
                assert!(error <= allowed, "{name} at {scale}: {got}, not {expected}");
            }
        }
        // dσ = (x − m) / (n σ), and d‖x‖ = x / ‖x‖.
        let ((norms, _), count) = (of_norm("layer_norm", &wide, &[0.0; 5]), 5.0);
        assert_eq!(norms, [0.0; 5]);
        let mean = wide.iter().sum::<f64>() / count;
        let sigma = (wide.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        let norm = wide.iter().map(|x| x * x).sum::<f64>().sqrt();
        let of_std = wide.map(|x| ((x - mean) / sigma / count) as f32);
        let of_norm = wide.map(|x| (x / norm) as f32);
        check(device, |x| x[0].std(), [&x], &[1.0], [&of_std]);
        check(device, |x| x[0].norm2(), [&x], &[1.0], [&of_norm]);
    }
    let near = |got: f32, expected: f32| (got / expected - 1.0).abs() < 1e-5;
    let run: Run = Arc::new(|x: &[Tensor<f32>]| x[0].rms_norm(0, 0.0));
    let got = &cotangents(
        device,
        &run,
        &[rows([&[3e20f32, 4e20]])],
        &rows([&[1.0f32, 0.0]]),
    )[0];
    let values = got.values();
    assert!(
        near(values[0], 1.810_193_4e-21) && near(values[1], -1.357_645e-21),
        "{got}"
    );
}

/// The documented bound of gradients of f16, which use the rounded results.
fn halves_of_norms(device: &Device) {
    let count = 200;
    let value = |i: usize| f16::from_f32(((i * 37 % 101) as f32 - 30.0) / 16.0);
    let seed = |i: usize| ((i * 53 % 97) as f32 - 48.0) / 32.0;
    let x = one_row((0..count).map(value));
    let g = one_row((0..count).map(|i| f16::from_f32(seed(i))));
    let wide = |x: &Ragged<f16>| x.values().iter().map(|&x| x.into()).collect::<Vec<f64>>();
    type OfHalves = fn(&Tensor<f16>) -> Result<Tensor<f16>>;
    let norms: [(&str, OfHalves); 4] = [
        ("layer_norm", |x| x.layer_norm(0, 0.0)),
        ("standardize", |x| x.standardize(0.0)),
        ("rms_norm", |x| x.rms_norm(0, 0.0)),
        ("l2_normalize", |x| x.l2_normalize(0, 0.0)),
    ];
    for (name, of) in norms {
        let program = Program::new(device, move |r| {
            let (x, g): (Tensor<f16>, Tensor<f32>) = (r.input()?, r.input()?);
            let y = of(&x)?.to::<f32>()?;
            let all = r.gradients_from(&[(&y, &g)], &[&x])?;
            r.output(&all[0])
        });
        let (on, seeds) = (
            upload(device, &x),
            upload(device, &g.cast(f16::to_f32).unwrap()),
        );
        let plan = program.plan(&[on.layout(), seeds.layout()]).unwrap();
        let got = download(&plan.run(&[&on, &seeds]).unwrap().get::<f16>(0).unwrap());
        let (expected, sizes) = of_norm(name, &wide(&x), &wide(&g));
        for ((&got, expected), size) in got.values().iter().zip(expected).zip(sizes) {
            let error = (f64::from(got) - expected).abs();
            let allowed = 2f64.powi(-10) * size
                + 2f64.powi(-11) * (expected.abs() + 2f64.powi(-10) * size)
                + 2f64.powi(-25)
                + 1e-5 * size;
            assert!(
                error <= allowed,
                "{name}: {got}, not {expected}, allowed {allowed}"
            );
        }
    }
}

fn one_row<T: Scalar>(values: impl Iterator<Item = T>) -> Ragged<T> {
    Ragged::from_rows([values.collect::<Vec<T>>()]).unwrap()
}

/// Of `cross_entropy`: weights times (softmax − one_hot), for halves, too. Targets out of range, NaN and infinity stay
/// in their rows.
fn losses(device: &Device) {
    losses_of(device, |x| x);
    losses_of(device, f16::from_f32);
}

fn losses_of<T: Comparable + Float>(device: &Device, of_type: fn(f32) -> T) {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let shapes = [[1, 3], [8, 2], [3, 0], [1, 1]].map(|shape| Shape::new(&shape).unwrap());
    let of_shapes = |values: &[f32], first: usize| {
        let batch = Ragged::from_shapes(values.to_vec(), 2, shapes[first..].to_vec()).unwrap();
        batch.cast(of_type).unwrap()
    };
    // The operands of the losses are views, which begin after the first element.
    let all = of_shapes(
        &[
            9.0, 9.0, 9.0, // Before the views.
            0.0, 0.0, // A target out of range.
            0.0, 0.0, // A good one.
            nan, 0.0, // NaN beside the target.
            -inf, 0.0, // A target that is impossible.
            0.0, -inf, // An impossible class beside the target.
            inf, 0.0, // ∞ beside the target.
            -inf, -inf, // Nothing possible.
            0.0, 0.0, // A weight of 0.
            9.0,
        ],
        0,
    );
    let targets = rows([
        &[1u32][..],
        &[2, 1, 1, 0, 0, 1, 0, 0],
        &[0, 1, u32::MAX],
        &[0],
    ]);
    let weights = [
        &[8.0f32][..],
        &[4.0, 3.0, 1.0, 2.0, 5.0, 1.0, 1.0, 0.0],
        &[1.0; 3],
        &[7.0],
    ];
    let weights = rows(weights);
    let expected = [
        nan, nan, 1.5, -1.5, nan, nan, -2.0, 2.0, 0.0, 0.0, nan, -1.0, nan, nan, 0.0, 0.0, 0.0,
    ];
    let expected = of_shapes(&expected, 1);
    let program = Program::new(device, |r| {
        let (x, targets, weights): (Tensor<T>, Tensor<u32>, Tensor<f32>) =
            (r.input()?, r.input()?, r.input()?);
        let (x, targets) = (x.elements(1..4)?, targets.elements(1..4)?);
        let weights = weights.elements(1..4)?;
        let losses = x.cross_entropy(&targets)?.to::<f32>()?;
        let slopes = r.gradients_from(&[(&losses, &weights)], &[&x])?;
        r.output(&slopes[0])
    });
    let (x, targets, weights) = (
        upload(device, &all),
        upload(device, &targets),
        upload(device, &weights),
    );
    let plan = program
        .plan(&[x.layout(), targets.layout(), weights.layout()])
        .unwrap();
    let got = plan
        .run(&[&x, &targets, &weights])
        .unwrap()
        .get::<T>(0)
        .unwrap();
    assert_exact(T::DTYPE, &download(&got), &expected);
    // No others than the losses' own operations, and the slopes.
    let slopes = plan
        .report()
        .steps
        .iter()
        .filter(|step| step.op == "cross_entropy_slopes");
    assert_eq!(slopes.count(), 1);
}
