//! Convolution with cached spectra.

use libtest_mimic::Trial;
use vsla::{Device, Error, Layout, Pairing, Ragged};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_within, normwise};
use crate::support::corpus::{self, Case};
use crate::support::number::widened;
use crate::support::operation::{Binary, Expected, Operation, download, pair_list, rows, upload};
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(planned())
        .with_long_cases(Case::has_very_many_elements)
        .trials(bench, "", corpus::small());
    let tests: &[DeviceTest] = &[
        ("shared_kernels", shared_kernels),
        ("long_kernels", long_kernels),
        ("the_same_alone", the_same_alone),
        ("poison_stays", poison_stays),
        ("refusals", refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

fn planned() -> Binary<f32, f32> {
    Binary {
        name: "pair",
        run: |x, y| x.pair(y, Pairing::Elementwise)?.conv_plan()?.conv(x),
        paired: None,
        expected: Some(|a, b, pairs| {
            let sums = reference::conv(&widened(a), &widened(b), pairs);
            let bounds = normwise(&sums, a, b, pairs);
            Expected::inexact(sums.values, bounds)
        }),
        spreads: true,
        series_only: true,
    }
}

fn random(lengths: &[usize], seed: u64) -> Ragged<f32> {
    Ragged::random(
        &Layout::from_lengths(lengths.iter().copied()).unwrap(),
        seed,
    )
    .unwrap()
}

/// Compares both modes for these pairs with f64.
fn both_modes(device: &Device, x: &Ragged<f32>, y: &Ragged<f32>, pairs: &[(u32, u32)]) {
    let (signals, kernels) = (upload(device, x), upload(device, y));
    let pair = signals
        .pair(&kernels, Pairing::List(&pair_list(pairs)))
        .unwrap();
    let plan = pair.conv_plan().unwrap();
    let pairs: Vec<(usize, usize)> = pairs
        .iter()
        .map(|&(i, j)| (i as usize, j as usize))
        .collect();
    let sums = reference::conv(&widened(x), &widened(y), &pairs);
    let bounds = normwise(&sums, x, y, &pairs);
    let full = download(&plan.conv(&signals).unwrap());
    assert_within("conv", &full, &sums.values, &bounds);
    let causal = download(&plan.causal(&signals).unwrap());
    for (p, &(i, j)) in pairs.iter().enumerate() {
        let expected = if y.row(j).is_empty() {
            0
        } else {
            x.row(i).len()
        };
        assert_eq!(causal.row(p), &full.row(p)[..expected], "pair {p}");
    }
}

/// Several signals per kernel, in one block and in many, in any order.
fn shared_kernels(device: &Device) {
    let signals = [1024, 0, 1, 100, 257, 700, 2049, 3000, 1024, 255];
    let kernels = [1024, 1, 0, 256, 257, 512, 3];
    let mut pairs: Vec<(u32, u32)> = (0..10).map(|i| (i, 0)).collect();
    pairs.extend((0..30).map(|p| (p * 7 % 10, p % 7)));
    both_modes(device, &random(&signals, 1), &random(&kernels, 2), &pairs);
}

/// Kernels of two and three parts on a GPU, applied to shorter and longer signals.
fn long_kernels(device: &Device) {
    let signals = [9000, 1, 4096, 4097, 5000];
    let kernels = [4096, 4097, 8193, 2000];
    let pairs = [
        (0, 1),
        (1, 1),
        (2, 2),
        (3, 2),
        (0, 2),
        (4, 0),
        (0, 3),
        (2, 1),
    ];
    both_modes(device, &random(&signals, 3), &random(&kernels, 4), &pairs);
}

/// A pair's bits depend neither on the rest of the batch nor on which pairs share its kernel.
fn the_same_alone(device: &Device) {
    let signals = upload(device, &random(&[600, 300, 900, 600, 50], 5));
    let kernels = upload(device, &random(&[300, 600], 6));
    let pairs = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (0, 1), (2, 1)];
    let pair = signals
        .pair(&kernels, Pairing::List(&pair_list(pairs)))
        .unwrap();
    let plan = pair.conv_plan().unwrap();
    let all = download(&plan.conv(&signals).unwrap());
    for (p, &pair) in pairs.iter().enumerate() {
        let pair = signals
            .pair(&kernels, Pairing::List(&pair_list([pair])))
            .unwrap();
        let alone = download(&pair.conv_plan().unwrap().conv(&signals).unwrap());
        assert_eq!(all.row(p), alone.row(0), "pair {p}");
    }
}

/// A plan outlives the signals for which it was made, and works with others.
fn poison_stays(device: &Device) {
    let kernels = upload(device, &random(&[300, 300], 7));
    let plan = {
        let first = upload(device, &random(&[10, 10, 10], 8));
        let pair = first.pair(&kernels, Pairing::AllToAll).unwrap();
        pair.conv_plan().unwrap()
    };
    let clean = random(&[400, 400, 400], 9);
    let mut values = clean.values().to_vec();
    values[500] = f32::NAN;
    let poisoned = Ragged::from_parts(clean.layout().clone(), values).unwrap();
    let clean = download(&plan.conv(&upload(device, &clean)).unwrap());
    let got = download(&plan.conv(&upload(device, &poisoned)).unwrap());
    for p in [0, 1, 4, 5] {
        assert_eq!(got.row(p), clean.row(p), "pair {p}");
    }
    for p in [2, 3] {
        assert!(got.row(p)[100].is_nan(), "pair {p}");
    }
}

fn refusals(device: &Device) {
    let signals = upload(device, &rows([&[1.0f32, 2.0], &[3.0]]));
    let kernels = upload(device, &rows([&[1.0f32]]));
    let plan = signals
        .pair(&kernels, Pairing::AllToAll)
        .unwrap()
        .conv_plan()
        .unwrap();
    let error = plan.causal(&kernels).unwrap_err();
    assert!(
        matches!(
            error,
            Error::BatchSize {
                op: "ConvPlan::causal",
                left: 1,
                right: 2,
                pairing: false,
                ..
            }
        ),
        "{error}"
    );
    let other = upload(&Device::cpu(), &rows([&[1.0f32, 2.0], &[3.0]]));
    match plan.conv(&other) {
        Err(error) => assert!(matches!(error, Error::DeviceMismatch { .. }), "{error}"),
        // All handles of the CPU are one device.
        Ok(_) => assert!(!signals.device().is_gpu()),
    }
    let flat = signals
        .pair(&signals, Pairing::Elementwise)
        .unwrap()
        .conv_plan();
    assert!(flat.is_ok());
}
