//! Gradients whose values are known.

use std::sync::Arc;

use libtest_mimic::Trial;
use vsla::program::Program;
use vsla::scalar::Float;
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
        2.0, 2.0, 1.5, -1.5, nan, nan, -2.0, 2.0, 0.0, 0.0, nan, -1.0, nan, nan, 0.0, 0.0, 0.0,
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
