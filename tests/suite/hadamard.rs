//! Element-wise products.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged};

use crate::support::bench::Bench;
use crate::support::compare::{assert_exact, assert_identical};
use crate::support::corpus;
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected, Operation, download, golden, one, run, upload};
use crate::support::property;
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(hadamard::<f32>())
        .with(hadamard::<i32>())
        .with(hadamard::<u32>())
        .trials(bench, "", [corpus::all(), corpus::boxes()].concat());
    trials.extend(bench.all_on_each_device(&[
        ("goldens", goldens),
        ("missing_partners_give_zero", what_meets_nothing),
        ("boxes_that_cross", boxes_that_cross),
        ("commutes", commutes),
        ("trailing_zeros_add_zeros", trailing_zeros),
        ("subnormal_numbers", subnormal_numbers),
    ]));
    trials
}

/// An infinity times a subnormal number is infinite on the CPU. On a GPU, it may also be NaN, because a GPU may flush
/// the subnormal number to 0. No other result is allowed.
fn subnormal_numbers(device: &Device) {
    let small = f32::from_bits(0x0040_0000);
    let x = upload(device, &one(&[1, 1], &[f32::INFINITY]));
    let y = upload(device, &one(&[1, 1], &[small]));
    for (what, got) in [
        ("hadamard", x.hadamard(&y)),
        ("scale", x.scale(small)),
        ("dot", x.dot(&y)),
        ("matmul", x.matmul(&y)),
        ("conv", x.conv(&y)),
        ("kron", x.kron(&y)),
    ] {
        let got = download(&got.unwrap()).values()[0];
        let nan = device.is_gpu() && got.is_nan();
        assert!(got == f32::INFINITY || nan, "{what}: {got}");
    }
    // Operations that only move values preserve subnormal numbers on every device.
    for kept in [
        y.copy(),
        y.neg().and_then(|y| y.neg()),
        y.transpose(&[1, 0]),
    ] {
        assert_eq!(download(&kept.unwrap()).values(), [small]);
    }
}

fn hadamard<T: Number>() -> Binary<T, T> {
    Binary {
        name: "hadamard",
        run: |x, y| x.hadamard(y),
        paired: Some(|pair| pair.hadamard()),
        expected: Some(|a, b, pairs| {
            Expected::rounded::<T>(reference::hadamard(&widened(a), &widened(b), pairs))
        }),
        spreads: false,
        series_only: false,
    }
}

fn goldens(device: &Device) {
    golden::<f32, f32, 6>(
        device,
        |x, y| x.hadamard(y),
        [
            (&[2., 3.], &[4., 5., 6.], &[8., 15., 0.]),
            (&[4., 5., 6.], &[2., 3.], &[8., 15., 0.]),
            (&[], &[7., 8.], &[0., 0.]),
            (&[7., 8.], &[], &[0., 0.]),
            (&[], &[], &[]),
            (&[1., 2., 3.], &[5.], &[5., 0., 0.]),
        ],
    );
    golden::<i32, i32, 1>(
        device,
        |x, y| x.hadamard(y),
        [(&[i32::MIN, 1 << 16], &[-1, 1 << 16, 7], &[i32::MIN, 0, 0])],
    );
    golden::<u32, u32, 1>(
        device,
        |x, y| x.hadamard(y),
        [(&[u32::MAX, 3], &[u32::MAX, 5], &[1, 15])],
    );
}

/// A NaN times a value is NaN; a missing entry gives +0, whatever the other value.
fn what_meets_nothing(device: &Device) {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    golden::<f32, f32, 5>(
        device,
        |x, y| x.hadamard(y),
        [
            (
                &[nan, 1., nan, inf, -inf],
                &[1., nan],
                &[nan, nan, 0., 0., 0.],
            ),
            (&[inf, -inf], &[0., 2., nan, inf], &[nan, -inf, 0., 0.]),
            (&[], &[nan, inf], &[0., 0.]),
            (&[-2., -3., -4.], &[0.5], &[-1., 0., 0.]),
            (&[f32::MAX, -1e-30], &[f32::MAX, 1e-30], &[inf, -0.]),
        ],
    );
    // At every position of a quad and of a tile, in long elements and in short ones between them.
    let lengths = [2500, 3, 4, 0, 7, 1, 3000, 5, 70];
    let layout = |less: usize| {
        let lengths = lengths.iter().enumerate();
        Layout::from_lengths(lengths.map(|(i, &length)| length - length.min(less * (i % 3))))
    };
    for less in 0..6 {
        let a = Ragged::full(&layout(0).unwrap(), -1.0).unwrap();
        let b = layout(less).unwrap();
        let poisoned = Ragged::from_fn(a.layout(), |element, i| match i < b.length(element) {
            true => -1.0,
            false => nan,
        })
        .unwrap();
        let expected = poisoned
            .cast(|value| if value.is_nan() { 0.0 } else { 1.0f32 })
            .unwrap();
        let b = Ragged::full(&b, -1.0f32).unwrap();
        for (x, y) in [(&poisoned, &b), (&b, &poisoned)] {
            let got = run(device, x, y, |x, y| x.hadamard(y));
            assert_identical(format!("{less} less"), &got, &expected);
        }
    }
}

fn boxes_that_cross(device: &Device) {
    let nan = f32::NAN;
    let (a, b) = (
        one(&[3, 2], &[1., 2., nan, nan, nan, nan]),
        one(&[1, 4], &[10., -10., nan, nan]),
    );
    let product = [[10., -20., 0., 0.], [0.; 4], [0.; 4]].concat();
    for (x, y) in [(&a, &b), (&b, &a)] {
        let got = run(device, x, y, |x, y| x.hadamard(y));
        assert_identical("3×2 ⊙ 1×4", &got, &one(&[3, 4], &product));
    }
    let (a, b) = (
        one(&[1, 2, 3], &[1., 2., nan, 3., 4., nan]),
        one(
            &[2, 3, 2],
            &[1., 10., 100., 1e3, nan, nan, nan, nan, nan, nan, nan, nan],
        ),
    );
    let mut product = [0.0; 18];
    (product[0], product[1], product[3], product[4]) = (1., 20., 300., 4e3);
    for (x, y) in [(&a, &b), (&b, &a)] {
        let got = run(device, x, y, |x, y| x.hadamard(y));
        assert_identical("1×2×3 ⊙ 2×3×2", &got, &one(&[2, 3, 3], &product));
    }
    let (a, b) = (one::<f32>(&[3, 0], &[]), one(&[0, 2], &[]));
    let got = run(device, &a, &b, |x, y| x.hadamard(y));
    assert_identical("3×0 ⊙ 0×2", &got, &one(&[3, 2], &[0.; 6]));
}

fn commutes(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let product = run(device, &a, &b, |x, y| x.hadamard(y));
        let swapped = run(device, &b, &a, |x, y| x.hadamard(y));
        assert_exact("b ⊙ a", &swapped, &product);
    });
}

/// For finite values, operands that are equal up to trailing zeros give results that are equal up to trailing zeros.
fn trailing_zeros(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let product = run(device, &a, &b, |x, y| x.hadamard(y));
        let wider = run(device, &a, &b.cast(|_| 0).unwrap(), |x, y| x.add(y));
        let same = run(device, &wider, &b, |x, y| x.hadamard(y));
        assert_exact("of the wider one", &same, &product);
    });
}
