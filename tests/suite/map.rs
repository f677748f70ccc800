//! Maps: scaling and copying.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged};

use crate::support::bench::Bench;
use crate::support::compare::{assert_exact, assert_identical, assert_within};
use crate::support::corpus;
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected, Operation, download, golden, one, upload};
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = || [corpus::all(), corpus::boxes()].concat();
    let mut trials = Operation::new()
        .with(scale::<f32>())
        .with(scale::<i32>())
        .with(scale::<u32>())
        .trials(bench, "scale", cases());
    trials.extend(
        Operation::new()
            .with(copy::<f32>())
            .with(copy::<i32>())
            .with(copy::<u32>())
            .trials(bench, "copy", cases()),
    );
    trials.extend(
        Operation::new()
            .with(neg::<f32>())
            .with(neg::<i32>())
            .with(neg::<u32>())
            .trials(bench, "neg", cases()),
    );
    trials.extend(bench.on_each_device("neg::flips_the_sign", neg_flips_the_sign));
    trials.extend(bench.on_each_device("scale::goldens", scale_goldens));
    for factor in FACTORS {
        let name = format!("scale::by_{factor:e}");
        trials.extend(bench.on_each_device(&name, move |device| scale_by(device, factor)));
    }
    trials.extend(bench.on_each_device("copy::keeps_bits", copy_keeps_bits));
    trials.extend(bench.on_each_device("copy::outlives_its_source", copy_outlives_its_source));
    trials.extend(bench.on_each_device("full", full));
    trials
}

const FACTORS: [f32; 6] = [0.0, 1.0, -0.1, 1e-30, 1e30, 3.333_333_3];

fn scale<T: Number>() -> Binary<T, T> {
    Binary {
        name: "scale",
        run: |x, _| x.scale(T::FACTOR),
        paired: None,
        expected: Some(|a, _, _| {
            Expected::rounded::<T>(reference::scale(&widened(a), T::FACTOR.widen()))
        }),
        spreads: false,
        series_only: false,
    }
}

fn neg<T: Number>() -> Binary<T, T> {
    Binary {
        name: "neg",
        run: |x, _| x.neg(),
        paired: None,
        expected: Some(|a, _, _| Expected::exact::<T>(reference::neg(&widened(a)))),
        spreads: false,
        series_only: false,
    }
}

fn copy<T: Number>() -> Binary<T, T> {
    Binary {
        name: "copy",
        run: |x, _| x.copy(),
        paired: None,
        expected: Some(|a, _, _| Expected::exact::<T>(widened(a))),
        spreads: false,
        series_only: false,
    }
}

fn scale_goldens(device: &Device) {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    golden::<f32, f32, 3>(
        device,
        |x, _| x.scale(-2.0),
        [
            (&[1., -2., 0.25], &[], &[-2., 4., -0.5]),
            (&[], &[], &[]),
            (&[nan, inf, -inf, 0.], &[], &[nan, -inf, inf, 0.]),
        ],
    );
    golden::<f32, f32, 1>(
        device,
        |x, _| x.scale(0.0),
        [(&[1., inf, nan], &[], &[0., nan, nan])],
    );
    golden::<f32, f32, 1>(
        device,
        |x, _| x.scale(f32::NAN),
        [(&[1., 0.], &[], &[nan, nan])],
    );
    golden::<i32, i32, 1>(
        device,
        |x, _| x.scale(-1),
        [(&[i32::MIN, 5], &[], &[i32::MIN, -5])],
    );
    golden::<u32, u32, 1>(
        device,
        |x, _| x.scale(1 << 31),
        [(&[2, 3], &[], &[0, 1 << 31])],
    );
}

/// Results above the range of f32 must be infinite, so magnitudes stay below it.
fn scale_by(device: &Device, factor: f32) {
    let layout = Layout::from_lengths([3, 0, 1000, 1, 257]).unwrap();
    let x = Ragged::random(&layout, corpus::SEED).unwrap();
    let expected = x
        .cast(|value| f64::from(value) * f64::from(factor))
        .unwrap();
    let bounds: Vec<f64> = expected
        .values()
        .iter()
        .map(|v| v.abs() * 2f64.powi(-24) + 2f64.powi(-126))
        .collect();
    let got = download(&upload(device, &x).scale(factor).unwrap());
    assert_within(format!("{factor} x"), &got, &expected, &bounds);
}

/// Negation changes the sign of every value, including zeros, NaNs with their payload, and subnormal numbers, and no
/// other bit.
fn neg_flips_the_sign(device: &Device) {
    let bits = [
        0,
        0x3F80_0000,
        0x7F80_0000,
        0x7FA0_0001,
        0xFFC0_0000,
        1,
        0x807F_FFFF,
    ];
    let x = Ragged::from_rows([bits.map(f32::from_bits)]).unwrap();
    let negated = x.cast(|x| f32::from_bits(x.to_bits() ^ 1 << 31)).unwrap();
    let got = download(&upload(device, &x).neg().unwrap());
    assert_identical("special bits", &got, &negated);
    golden::<i32, i32, 1>(
        device,
        |x, _| x.neg(),
        [(&[i32::MIN, 5, 0, -7], &[], &[i32::MIN, -5, 0, 7])],
    );
    golden::<u32, u32, 1>(
        device,
        |x, _| x.neg(),
        [(&[0, 1, 1 << 31], &[], &[0, u32::MAX, 1 << 31])],
    );
}

fn copy_keeps_bits(device: &Device) {
    let bits = [
        0x7FC0_0001,
        0x7FA0_0000,
        0xFFFF_FFFF,
        0x8000_0000,
        1,
        0x807F_FFFF,
        0x7F80_0000,
    ];
    let x = Ragged::from_rows([bits.map(f32::from_bits)]).unwrap();
    let got = download(&upload(device, &x).copy().unwrap());
    assert_identical("special bits", &got, &x);
}

fn copy_outlives_its_source(device: &Device) {
    let x = one(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let copied = upload(device, &x).copy().unwrap();
    // The next upload may receive the memory that was just released.
    let others: Vec<_> = (0..4)
        .map(|_| upload(device, &x.cast(|_| -1).unwrap()))
        .collect();
    assert_exact("the copy", &download(&copied), &x);
    drop(others);
}

fn full(device: &Device) {
    // One value more than whole quads, and one more than a whole workgroup.
    for last in [2, 4096 * 20 - 70_003] {
        let layout = Layout::from_lengths([3, 0, 70_000, last]).unwrap();
        let ones = device.full(&layout, 1.5f32).unwrap();
        assert_exact(
            "1.5",
            &download(&ones),
            &Ragged::full(&layout, 1.5).unwrap(),
        );
    }
    let nothing = Layout::from_lengths([]).unwrap();
    assert_exact(
        "nothing",
        &download(&device.full(&nothing, 7).unwrap()),
        &Ragged::full(&nothing, 7).unwrap(),
    );
}
