//! The shape-based distance, derived from the highest correlation: how similar two series are at their best lag.

use libtest_mimic::Trial;
use vsla::{Device, Pairing, Ragged};

use crate::correlate_max::{Both, at_lag};
use crate::support::bench::{Bench, DeviceTest, is_hurried};
use crate::support::compare::{assert_exact, assert_within};
use crate::support::corpus::{self, Case, Content, rng};
use crate::support::number::widened;
use crate::support::operation::{Binary, Expected, Operation, download, pick, rows, upload};
use crate::support::reference::{self, elementwise};

mod families;
use families::{FAMILIES, Family, LENGTHS, SCALES, bump, noise, with_noise};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(distance())
        .with(distance_lag())
        .with_long_cases(Case::has_very_many_elements)
        .trials(bench, "", corpus::small());
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("of_zeros_and_nothing", of_zeros_and_nothing),
        ("of_itself", of_itself),
        ("of_one_large_value", of_one_large_value),
        ("all_to_all", all_to_all),
        ("is_symmetric", is_symmetric),
        ("of_flat_peaks", of_flat_peaks),
    ];
    trials.extend(bench.all_on_each_device(tests));
    for family in FAMILIES {
        let name = format!("accuracy::{}", family.name);
        trials.extend(bench.on_each_device(&name, |device| accuracy(device, family)));
    }
    for x_scale in SCALES {
        for y_scale in SCALES {
            let name = format!("accuracy::scaled_{x_scale:e}_and_{y_scale:e}");
            trials.extend(
                bench.on_each_device(&name, move |device| scaled(device, x_scale, y_scale)),
            );
        }
    }
    trials
}

fn distance() -> Binary<f32, f32> {
    Binary {
        name: "sbd",
        run: |x, y| Ok(x.sbd(y)?.distance),
        paired: Some(|pair| Ok(pair.sbd()?.distance)),
        expected: Some(|a, b, pairs| {
            let (distances, _) = reference::sbd(&widened(a), &widened(b), pairs);
            let bounds = bounds_of(&distances);
            Expected::inexact(distances, bounds)
        }),
        spreads: true,
        series_only: true,
    }
}

/// The lag, whose bits are compared; [`accuracy`] checks whether it is right.
fn distance_lag() -> Binary<f32, i32> {
    Binary {
        name: "sbd",
        run: |x, y| Ok(x.sbd(y)?.lag),
        paired: Some(|pair| Ok(pair.sbd()?.lag)),
        expected: None,
        spreads: true,
        series_only: true,
    }
}

/// 1e-6, or 1e-8 if two series are nearly equal, because then only the distance distinguishes them.
fn bounds_of(distances: &Ragged<f64>) -> Vec<f64> {
    let bound = |&distance: &f64| if distance < 1e-4 { 1e-8 } else { 1e-6 };
    distances.values().iter().map(bound).collect()
}

pub fn sbd(device: &Device, a: &Ragged<f32>, b: &Ragged<f32>) -> Both {
    let got = upload(device, a).sbd(&upload(device, b)).unwrap();
    (download(&got.distance), download(&got.lag))
}

fn goldens(device: &Device) {
    let a = rows([
        &[0., 0., 3., 4.][..],
        &[1., 1.],
        &[1., 0.],
        &[1.],
        &[2.; 100],
    ]);
    let b = rows([&[3., 4.][..], &[-1., -1.], &[3., 4.], &[-5.], &[7.; 25]]);
    let (distance, lag) = sbd(device, &a, &b);
    let expected = rows([&[0.], &[1.5], &[0.2], &[2.], &[0.5]]);
    assert_within("distance", &distance, &expected, &bounds_of(&expected));
    assert_eq!(lag.values()[..4], [2, -1, -1, 0]);
}

fn of_zeros_and_nothing(device: &Device) {
    let a = rows([
        &[][..],
        &[1.],
        &[],
        &[0., 0.],
        &[1., 2.],
        &[0.],
        &[1.],
        &[0.; 500],
    ]);
    let b = rows([
        &[1., 2.][..],
        &[],
        &[],
        &[1.],
        &[0.; 70],
        &[0.],
        &[1.],
        &[0.; 300],
    ]);
    let (distance, lag) = sbd(device, &a, &b);
    let expected = rows([&[1.], &[1.], &[1.], &[1.], &[1.], &[1.], &[0.], &[1.]]);
    assert_exact("distance", &distance, &expected);
    // If all lags are equally good, the lowest is reported; for empty series there is none.
    let none = i32::MIN;
    let expected = rows([&[none], &[none], &[none], &[0], &[-69], &[0], &[0], &[-299]]);
    assert_exact("lag", &lag, &expected);
}

fn of_itself(device: &Device) {
    for case in corpus::small() {
        // Every element is paired with one of its own length, so long elements would take too long.
        let too_many = is_hurried(device) && case.has_very_many_elements();
        if case.content != Content::Plain || case.layouts().0.max_length() > 2000 || too_many {
            continue;
        }
        let (a, _) = case.floats();
        let (distance, lag) = sbd(device, &a, &a);
        let expected: Vec<[f64; 1]> = a
            .iter()
            .map(|row| [if row.is_empty() { 1.0 } else { 0.0 }])
            .collect();
        let expected = Ragged::from_rows(expected).unwrap();
        let bounds = vec![1e-8; a.len()];
        assert_within(&case.name, &distance, &expected, &bounds);
        let no_shift = a
            .iter()
            .map(|row| [if row.is_empty() { i32::MIN } else { 0 }]);
        let no_shift = Ragged::from_rows(no_shift.collect::<Vec<_>>()).unwrap();
        assert_exact(&case.name, &lag, &no_shift);
    }
}

/// Wherever the largest value is, the squares of a series are in the range of f32.
fn of_one_large_value(device: &Device) {
    let mut random = rng("one large value");
    let series = [0, 63, 64, 127, 128, 255, 256, 299].map(|at| {
        let mut series = noise(&mut random, 300);
        series[at] = 1e30;
        series
    });
    let x = Ragged::from_rows(series).unwrap();
    let (distance, lag) = sbd(device, &x, &x);
    assert!(
        distance.values().iter().all(|&d| d.abs() <= 1e-6),
        "{distance}"
    );
    assert_eq!(lag.values(), [0; 8]);
}

fn all_to_all(device: &Device) {
    let mut random = rng("all to all");
    let series: Vec<Vec<f32>> = (0..12).map(|i| noise(&mut random, 5 + 9 * i)).collect();
    let a = Ragged::from_rows(series).unwrap();
    let x = upload(device, &a);
    let got = x.pair(&x, Pairing::AllToAll).unwrap().sbd().unwrap();
    let pairs = reference::pairs(Pairing::AllToAll, 12, 12);
    let (expected, _) = reference::sbd(&widened(&a), &widened(&a), &pairs);
    let distance = download(&got.distance);
    assert_within("distances", &distance, &expected, &bounds_of(&expected));
    let lag = download(&got.lag);
    for i in 0..12 {
        assert_eq!(lag.values()[13 * i], 0, "series {i} with itself");
    }
}

/// Half waves, and the same waves shifted by half a sample: the best lag is better than its neighbours by hardly more
/// than f32 resolves, but the distance at a neighbour exceeds the bound.
fn of_flat_peaks(device: &Device) {
    let waves = |later: f64| {
        let rows = (0..24).map(|i| {
            let n = 4096 - 37 * i;
            let at = |k: usize| k as f64 + 0.5 + later * (0.02 * i as f64);
            (0..n)
                .map(|k| (std::f64::consts::PI * at(k) / n as f64).sin() as f32)
                .collect::<Vec<_>>()
        });
        Ragged::from_rows(rows).unwrap()
    };
    let expected = check(device, "flat peaks", &waves(0.0), &waves(1.0));
    assert!(expected.values().iter().all(|distance| *distance < 1e-6));
}

/// Swapping the series negates the lag and does not change the distance.
fn is_symmetric(device: &Device) {
    let (a, b) = corpus::small()
        .into_iter()
        .find(|case| case.name == "primes")
        .unwrap()
        .floats();
    let (forwards, lag) = sbd(device, &a, &b);
    let (backwards, swapped_lag) = sbd(device, &b, &a);
    let bounds = vec![1e-6; a.len()];
    assert_within("distance", &backwards, &widened(&forwards), &bounds);
    assert_exact("lag", &swapped_lag, &lag.cast(|lag| -lag).unwrap());
}

fn accuracy(device: &Device, family: &Family) {
    let mut random = rng(family.name);
    let (x, y): (Vec<_>, Vec<_>) = LENGTHS
        .map(|n| (family.make)(&mut random, n))
        .into_iter()
        .unzip();
    let [x, y] = [x, y].map(|rows| Ragged::from_rows(rows).unwrap());
    let expected = check(device, family.name, &x, &y);
    for (&distance, n) in expected.values().iter().zip(LENGTHS) {
        // A small allowance for the rounding of f64.
        let range = family.distances.start - 1e-14..family.distances.end;
        assert!(
            range.contains(&distance),
            "the test is wrong: {distance} at length {n}"
        );
    }
}

/// Scaling changes no distance, up to both ends of the range of f32.
fn scaled(device: &Device, x_scale: f32, y_scale: f32) {
    let mut random = rng("scaled");
    let mut x = Vec::new();
    let mut y = Vec::new();
    for n in [1, 2, 50, 449, 1000] {
        let (near, same) = with_noise(&mut random, n, 1e-3);
        x.extend([
            near,
            noise(&mut random, n),
            vec![1.0; n],
            bump(n, n as f64 / 2.0, n as f64 / 20.0),
        ]);
        y.extend([
            same,
            noise(&mut random, n),
            vec![1.0; n],
            bump(n, n as f64 / 3.0, n as f64 / 20.0),
        ]);
    }
    let scaled = |rows: Vec<Vec<f32>>, scale: f32| {
        Ragged::from_rows(rows)
            .unwrap()
            .cast(|v| v * scale)
            .unwrap()
    };
    check(device, "scaled", &scaled(x, x_scale), &scaled(y, y_scale));
}

/// Checks that distances are within their bounds, and that the correlations at the lags are as high within the bounds.
/// Returns the reference's distances.
#[track_caller]
fn check(device: &Device, what: &str, x: &Ragged<f32>, y: &Ragged<f32>) -> Ragged<f64> {
    let pairs = elementwise(x.len());
    let (a, b) = (widened(x), widened(y));
    let (expected, _) = reference::sbd(&a, &b, &pairs);
    let bounds = bounds_of(&expected);
    let (distance, lag) = sbd(device, x, y);
    let correlation = reference::correlate(&a, &b, &pairs).values;
    let norm = |batch: &Ragged<f64>, i: usize| reference::norm2(&pick(batch, &[i])).values()[0];
    for (i, bound) in bounds.iter().enumerate() {
        let norms = norm(&a, i) * norm(&b, i);
        if norms == 0.0 {
            continue;
        }
        let there = 1.0 - at_lag(&correlation, y.row(i).len(), i, lag.values()[i]) / norms;
        assert!(
            there - expected.values()[i] <= 2.0 * bound,
            "{what}, element {i}: lag {} gives {there} instead of {}",
            lag.values()[i],
            expected.values()[i]
        );
    }
    assert_within(what, &distance, &expected, &bounds);
    expected
}
