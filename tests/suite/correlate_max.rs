//! The highest correlation and its lag, and the shape-based distance made of it.

use fastrand::Rng;
use libtest_mimic::Trial;
use vsla::{ConvMethod, CorrelateMax, Device, Pairing, Ragged, Result, Tensor};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_exact, assert_within, normwise, product_depth};
use crate::support::corpus::{self, Case, Content, rng};
use crate::support::number::widened;
use crate::support::operation::{
    Binary, Expected, Operation, download, golden, pick, rows, run, upload,
};
use crate::support::property;
use crate::support::reference::{self, elementwise};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(value())
        .with(lag())
        .trials(bench, "", corpus::small());
    let by_fft = |corpus| {
        let operation = Operation::new().with(value_by_fft()).with(lag_by_fft());
        operation.trials(bench, "fft", corpus)
    };
    let mut on_cpu = by_fft(corpus::small());
    on_cpu.retain(|trial| trial.name().contains("::cpu::"));
    trials.extend(on_cpu);
    // Longer than what a workgroup transforms.
    let mut cases = corpus::small();
    cases.retain(|case| !case.name.starts_with("giant"));
    let mut on_gpu = by_fft(cases);
    on_gpu.retain(|trial| trial.name().contains("::gpu::"));
    trials.extend(on_gpu);
    trials.extend(
        Operation::new()
            .with(distance())
            .with(distance_lag())
            .trials(bench, "sbd", corpus::small()),
    );
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("ties_take_the_lowest_lag", ties),
        ("ties_of_long_series", ties_of_long_series),
        ("nan_propagates", nan_propagates),
        ("empty_operands", empty_operands),
        ("is_the_max_of_correlate", is_the_max_of_correlate),
        ("finds_every_lag", finds_every_lag),
        ("sbd::goldens", sbd_goldens),
        ("sbd::of_zeros_and_nothing", sbd_of_zeros_and_nothing),
        ("sbd::of_itself", sbd_of_itself),
        ("sbd::all_to_all", sbd_all_to_all),
        ("sbd::is_symmetric", sbd_is_symmetric),
        ("sbd::of_flat_peaks", sbd_of_flat_peaks),
    ];
    trials.extend(bench.all_on_each_device(tests));
    for case in corpus::small() {
        if case.content != Content::Nonfinite {
            let name = format!("lags::{}", case.name);
            trials.extend(bench.on_each_device(&name, move |device| lags(device, &case)));
        }
    }
    for family in FAMILIES {
        let name = format!("sbd::accuracy::{}", family.name);
        trials.extend(bench.on_each_device(&name, |device| accuracy(device, family)));
    }
    for x_scale in SCALES {
        for y_scale in SCALES {
            let name = format!("sbd::accuracy::scaled_{x_scale:e}_and_{y_scale:e}");
            trials.extend(
                bench.on_each_device(&name, move |device| sbd_scaled(device, x_scale, y_scale)),
            );
        }
    }
    trials
}

/// Element by element, by one method. Its errors about unequal batches come from the pairing.
fn by(method: ConvMethod, x: &Tensor<f32>, y: &Tensor<f32>) -> Result<CorrelateMax> {
    x.pair(y, Pairing::Elementwise)?
        .method(method)
        .correlate_max()
}

fn value_by_fft() -> Binary<f32, f32> {
    Binary {
        run: |x, y| Ok(by(ConvMethod::Fft, x, y)?.value),
        paired: Some(|pair| Ok(pair.method(ConvMethod::Fft).correlate_max()?.value)),
        expected: Some(|x, y, pairs| {
            let (a, b) = (widened(x), widened(y));
            let sums = reference::correlate(&a, &b, pairs);
            let (peaks, _) = reference::correlate_max(&a, &b, pairs);
            let bounds = normwise_peaks(&sums, x, y, pairs);
            Expected::inexact(peaks, bounds)
        }),
        ..value()
    }
}

/// The bits of the lag; [`lags`] says whether it is right.
fn lag_by_fft() -> Binary<f32, i32> {
    Binary {
        run: |x, y| Ok(by(ConvMethod::Fft, x, y)?.lag),
        paired: Some(|pair| Ok(pair.method(ConvMethod::Fft).correlate_max()?.lag)),
        expected: None,
        ..lag()
    }
}

fn normwise_peaks(
    sums: &reference::Sums<f64>,
    a: &Ragged<f32>,
    b: &Ragged<f32>,
    pairs: &[(usize, usize)],
) -> Vec<f64> {
    let bounds = normwise(sums, a, b, pairs);
    largest_of_each(sums, bounds)
}

fn value() -> Binary<f32, f32> {
    Binary {
        name: "pair",
        run: |x, y| Ok(by(ConvMethod::Direct, x, y)?.value),
        paired: Some(|pair| Ok(pair.method(ConvMethod::Direct).correlate_max()?.value)),
        expected: Some(|a, b, pairs| {
            let (a, b) = (widened(a), widened(b));
            let sums = reference::correlate(&a, &b, pairs);
            let (peaks, _) = reference::correlate_max(&a, &b, pairs);
            let bounds = peak_bounds(&sums);
            Expected::bounded(peaks, bounds, sums.largest_magnitude())
        }),
        spreads: true,
        series_only: true,
    }
}

fn lag() -> Binary<f32, i32> {
    Binary {
        name: "pair",
        run: |x, y| Ok(by(ConvMethod::Direct, x, y)?.lag),
        paired: Some(|pair| Ok(pair.method(ConvMethod::Direct).correlate_max()?.lag)),
        expected: Some(|a, b, pairs| {
            let (a, b) = (widened(a), widened(b));
            let magnitude = reference::correlate(&a, &b, pairs).largest_magnitude();
            Expected::places(reference::correlate_max(&a, &b, pairs).1, magnitude)
        }),
        spreads: true,
        series_only: true,
    }
}

/// The maximum of values moves no further than the value that moves furthest.
fn peak_bounds(sums: &reference::Sums<f64>) -> Vec<f64> {
    largest_of_each(sums, sums.bounds(product_depth))
}

fn largest_of_each(sums: &reference::Sums<f64>, bounds: Vec<f64>) -> Vec<f64> {
    let bounds = Ragged::from_parts(sums.values.layout().clone(), bounds).unwrap();
    bounds
        .iter()
        .map(|row| {
            row.iter()
                .fold(0.0, |largest: f64, &bound| largest.max(bound))
        })
        .collect()
}

fn distance() -> Binary<f32, f32> {
    Binary {
        name: "sbd",
        run: |x, y| Ok(x.sbd(y)?.distance),
        paired: Some(|pair| Ok(pair.sbd()?.distance)),
        expected: Some(|a, b, pairs| {
            let (distances, _) = reference::sbd(&widened(a), &widened(b), pairs);
            let bounds = sbd_bounds(&distances);
            Expected::inexact(distances, bounds)
        }),
        spreads: true,
        series_only: true,
    }
}

/// The bits of the lag, for what compares bits; [`accuracy`] says whether it is right.
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

/// 1e-6, and 1e-8 where two series are nearly the same: there the distance is all that tells them apart.
fn sbd_bounds(distances: &Ragged<f64>) -> Vec<f64> {
    let bound = |&distance: &f64| if distance < 1e-4 { 1e-8 } else { 1e-6 };
    distances.values().iter().map(bound).collect()
}

const NAN: f32 = f32::NAN;

/// What comes of each pair: value and lag, or distance and lag.
type Both = (Ragged<f32>, Ragged<i32>);

fn correlate_max(device: &Device, a: &Ragged<f32>, b: &Ragged<f32>) -> Both {
    let (a, b) = (upload(device, a), upload(device, b));
    let got = by(ConvMethod::Direct, &a, &b).unwrap();
    (download(&got.value), download(&got.lag))
}

fn sbd(device: &Device, a: &Ragged<f32>, b: &Ragged<f32>) -> Both {
    let got = upload(device, a).sbd(&upload(device, b)).unwrap();
    (download(&got.distance), download(&got.lag))
}

fn goldens(device: &Device) {
    /// Two series, the value and the lag.
    type Case = (
        &'static [f32],
        &'static [f32],
        &'static [f32],
        &'static [i32],
    );
    let cases: [Case; 6] = [
        (&[0., 0., 1., 2.], &[1., 2.], &[5.], &[2]),
        (&[1., 2.], &[0., 0., 1., 2.], &[5.], &[-2]),
        (&[1., 2., 3.], &[10., 20.], &[80.], &[1]),
        (&[-1.], &[2.], &[-2.], &[0]),
        (&[-1., -2.], &[1., 1.], &[-1.], &[-1]),
        (&[3.], &[1., 2., 3., 1.], &[9.], &[-2]),
    ];
    golden(
        device,
        |x: &Tensor<f32>, y| Ok(x.correlate_max(y)?.value),
        cases.map(|(a, b, value, _)| (a, b, value)),
    );
    golden(
        device,
        |x: &Tensor<f32>, y| Ok(x.correlate_max(y)?.lag),
        cases.map(|(a, b, _, lag)| (a, b, lag)),
    );
}

fn ties(device: &Device) {
    golden::<f32, i32, 5>(
        device,
        |x, y| Ok(x.correlate_max(y)?.lag),
        [
            (&[1., 0., 1., 0., 1.], &[1.], &[0]),
            (&[1., 0., 0., 1.], &[1., 0.], &[0]),
            (&[0., 0., 0.], &[0., 0.], &[-1]),
            (&[-1., -1.], &[1., 1., 0.], &[-2]),
            (&[2., 2., 2., 2.], &[1., 1.], &[0]),
        ],
    );
}

/// Two equal peaks far apart, so that different threads and tiles hold them.
fn ties_of_long_series(device: &Device) {
    let mut a = Vec::new();
    let mut b = Vec::new();
    let mut lags = Vec::new();
    for (length, first, second) in [
        (100, 10, 90),
        (1000, 447, 448),
        (1000, 255, 256),
        (5000, 100, 4900),
        (5000, 0, 4999),
    ] {
        let mut series = vec![0.0; length];
        (series[first], series[second]) = (3.0, 3.0);
        a.push(series);
        b.push(vec![0.0, 1.0]);
        lags.push(vec![first as i32 - 1]);
    }
    let [a, b] = [a, b].map(|rows| Ragged::from_rows(rows).unwrap());
    let (value, lag) = correlate_max(device, &a, &b);
    assert_exact("value", &value, &value.cast(|_| 3.0));
    assert_exact("lag", &lag, &Ragged::from_rows(lags).unwrap());
}

/// Every entry that NaN reaches is NaN; the lag is the first of them.
fn nan_propagates(device: &Device) {
    let a = rows([&[1., NAN, 1.][..], &[9., 9., 9., 9., NAN], &[1., 2.], &[5.]]);
    let b = rows([&[1., 1.][..], &[1., 1.], &[NAN], &[2.]]);
    let (value, lag) = correlate_max(device, &a, &b);
    assert_exact("value", &value, &rows([&[NAN][..], &[NAN], &[NAN], &[10.]]));
    assert_exact("lag", &lag, &rows([&[0], &[3], &[0], &[0]]));
}

fn empty_operands(device: &Device) {
    let a = rows([&[][..], &[1.], &[], &[2.]]);
    let b = rows([&[1., 2.][..], &[], &[], &[3.]]);
    let (value, lag) = correlate_max(device, &a, &b);
    let none = f32::NEG_INFINITY;
    assert_exact("value", &value, &rows([&[none], &[none], &[none], &[6.]]));
    assert_exact(
        "lag",
        &lag,
        &rows([&[i32::MIN], &[i32::MIN], &[i32::MIN], &[0]]),
    );
}

fn is_the_max_of_correlate(device: &Device) {
    let directly = |x: &Tensor<f32>, y: &Tensor<f32>| {
        x.pair(y, Pairing::Elementwise)?
            .method(ConvMethod::Direct)
            .correlate()
    };
    property::on(device, property::two_batches(), |(a, b)| {
        let small = |batch: &Ragged<i32>| batch.cast(|value| (value % 10) as f32);
        let (a, b) = (small(&a), small(&b));
        let (value, lag) = correlate_max(device, &a, &b);
        let max = run(device, &a, &b, |x, y| directly(x, y)?.max());
        assert_exact("value", &value, &max);
        let place = run(device, &a, &b, |x, y| directly(x, y)?.argmax());
        for (i, row) in b.iter().enumerate() {
            let expected = match place.values()[i] {
                u32::MAX => i32::MIN,
                place => place as i32 - (row.len() as i32 - 1),
            };
            assert_eq!(lag.values()[i], expected);
        }
    });
}

/// One spike against one spike, so that the answer is at a chosen lag, first, last and around every tile edge.
fn finds_every_lag(device: &Device) {
    let mut a = Vec::new();
    let mut b = Vec::new();
    let mut lags = Vec::new();
    for (m, n) in [(1, 1), (5, 3), (64, 64), (449, 33), (33, 449), (1025, 1000)] {
        for at in [0, m / 3, m - 1] {
            for by in [0, n / 2, n - 1] {
                let spike = |length: usize, place: usize| {
                    let mut series = vec![0.0f32; length];
                    series[place] = 2.0;
                    series
                };
                a.push(spike(m, at));
                b.push(spike(n, by));
                lags.push([at as i32 - by as i32]);
            }
        }
    }
    let [a, b] = [a, b].map(|rows| Ragged::from_rows(rows).unwrap());
    let (value, lag) = correlate_max(device, &a, &b);
    assert_exact("value", &value, &value.cast(|_| 4.0));
    assert_exact("lag", &lag, &Ragged::from_rows(lags.clone()).unwrap());
    let (distance, lag) = sbd(device, &a, &b);
    assert_within(
        "distance",
        &distance,
        &distance.cast(|_| 0.0),
        &vec![1e-8; lags.len()],
    );
    assert_exact(
        "the distance's lag",
        &lag,
        &Ragged::from_rows(lags).unwrap(),
    );
}

/// Rounding may prefer another lag, but only one whose correlation is as high within the bounds.
fn lags(device: &Device, case: &Case) {
    let (x, y) = case.floats();
    let (a, b) = (widened(&x), widened(&y));
    let sums = reference::correlate(&a, &b, &elementwise(a.len()));
    let (peaks, _) = reference::correlate_max(&a, &b, &elementwise(a.len()));
    let direct = peak_bounds(&sums);
    let normwise = normwise_peaks(&sums, &x, &y, &elementwise(a.len()));
    let either: Vec<f64> = direct.iter().zip(normwise).map(|(x, y)| x.max(y)).collect();
    let (x, y) = (upload(device, &x), upload(device, &y));
    for (method, bounds) in [(ConvMethod::Direct, direct), (ConvMethod::Auto, either)] {
        let lag = download(&by(method, &x, &y).unwrap().lag);
        near_the_peak((&sums, &b), &peaks, &lag, &bounds);
    }
}

fn near_the_peak(
    (sums, b): (&reference::Sums<f64>, &Ragged<f64>),
    peaks: &Ragged<f64>,
    lag: &Ragged<i32>,
    bounds: &[f64],
) {
    for (i, bound) in bounds.iter().enumerate() {
        let lag = lag.values()[i];
        if sums.values.row(i).is_empty() {
            assert_eq!(lag, i32::MIN, "element {i}");
            continue;
        }
        let peak = peaks.values()[i];
        let there = at_lag(&sums.values, b.row(i).len(), i, lag);
        assert!(
            peak - there <= 2.0 * bound,
            "element {i}: {there} at lag {lag} instead of {peak}"
        );
    }
}

/// The correlation of pair `i` at a lag.
#[track_caller]
fn at_lag(correlation: &Ragged<f64>, right: usize, i: usize, lag: i32) -> f64 {
    let place = lag + right as i32 - 1;
    let row = correlation.row(i);
    assert!(
        (0..row.len() as i32).contains(&place),
        "element {i}: there is no lag {lag}"
    );
    row[place as usize]
}

fn sbd_goldens(device: &Device) {
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
    assert_within("distance", &distance, &expected, &sbd_bounds(&expected));
    assert_eq!(lag.values()[..4], [2, -1, -1, 0]);
}

fn sbd_of_zeros_and_nothing(device: &Device) {
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
    // Where every lag is as good as any other the lowest is taken; between nothing there is none.
    let none = i32::MIN;
    let expected = rows([&[none], &[none], &[none], &[0], &[-69], &[0], &[0], &[-299]]);
    assert_exact("lag", &lag, &expected);
}

fn sbd_of_itself(device: &Device) {
    for case in corpus::small() {
        // Every element meets one of its own length, so the long ones would take too long.
        if case.content != Content::Plain || case.layouts().0.max_length() > 2000 {
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

fn sbd_all_to_all(device: &Device) {
    let mut random = rng("all to all");
    let series: Vec<Vec<f32>> = (0..12).map(|i| noise(&mut random, 5 + 9 * i)).collect();
    let a = Ragged::from_rows(series).unwrap();
    let x = upload(device, &a);
    let got = x.pair(&x, Pairing::AllToAll).unwrap().sbd().unwrap();
    let pairs = reference::pairs(Pairing::AllToAll, 12, 12);
    let (expected, _) = reference::sbd(&widened(&a), &widened(&a), &pairs);
    let distance = download(&got.distance);
    assert_within("distances", &distance, &expected, &sbd_bounds(&expected));
    let lag = download(&got.lag);
    for i in 0..12 {
        assert_eq!(lag.values()[13 * i], 0, "series {i} with itself");
    }
}

/// Swapping the series turns the lag around and leaves the distance.
/// Half waves and the same waves between the samples: the best lag is ahead of its neighbours by hardly more than f32
/// can tell, but the distance at a neighbour is beyond the bound.
fn sbd_of_flat_peaks(device: &Device) {
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
    let expected = check_sbd(device, "flat peaks", &waves(0.0), &waves(1.0));
    assert!(expected.values().iter().all(|distance| *distance < 1e-6));
}

fn sbd_is_symmetric(device: &Device) {
    let (a, b) = corpus::small()
        .into_iter()
        .find(|case| case.name == "primes")
        .unwrap()
        .floats();
    let (forwards, lag) = sbd(device, &a, &b);
    let (backwards, turned) = sbd(device, &b, &a);
    let bounds = vec![1e-6; a.len()];
    assert_within("distance", &backwards, &widened(&forwards), &bounds);
    assert_exact("lag", &turned, &lag.cast(|lag| -lag));
}

/// Two series.
type Series = (Vec<f32>, Vec<f32>);

/// Pairs of series that are hard for f32, one family after the other.
struct Family {
    name: &'static str,
    /// The two series, of about this length.
    make: fn(&mut Rng, usize) -> Series,
    /// What the distances of the family are like, lest a family be easier than its name.
    distances: std::ops::Range<f64>,
}

const LENGTHS: [usize; 10] = [16, 33, 64, 200, 447, 448, 449, 1000, 2048, 4096];
const SCALES: [f32; 7] = [1e-40, 1e-30, 1e-12, 1.0, 1e12, 1e30, 2e38];

const FAMILIES: &[Family] = &[
    Family {
        name: "noise",
        make: |rng, n| (noise(rng, n), noise(rng, n)),
        distances: 0.1..1.1,
    },
    Family {
        name: "noise_and_its_negative",
        make: |rng, n| {
            let x = noise(rng, n);
            let y = x.iter().map(|v| -v).collect();
            (x, y)
        },
        distances: 0.1..2.1,
    },
    Family {
        name: "shifted_bumps",
        make: |rng, n| {
            let width = n as f64 / 16.0;
            let shift = rng.usize(1..=n / 8) as f64;
            (
                bump(n, n as f64 / 2.0, width),
                bump(n, n as f64 / 2.0 - shift, width),
            )
        },
        distances: 0.0..1e-4,
    },
    Family {
        name: "shifted_bumps_between_samples",
        make: |rng, n| {
            let width = n as f64 / 14.0;
            let shift = rng.f64() * n as f64 / 10.0;
            (
                bump(n, n as f64 / 2.0, width),
                bump(n, n as f64 / 2.0 - shift, width),
            )
        },
        distances: 0.0..1e-1,
    },
    Family {
        name: "stretched_bumps",
        make: |_, n| {
            let centre = n as f64 / 2.0;
            (
                bump(n, centre, n as f64 / 12.0),
                bump(n, centre, n as f64 / 12.0 * 1.004),
            )
        },
        distances: 0.0..1e-4,
    },
    Family {
        name: "long_waves",
        make: |_, n| {
            let wave = |phase: f64, periods: f64| {
                let angle =
                    move |i: usize| phase + std::f64::consts::TAU * periods * i as f64 / n as f64;
                (0..n).map(|i| angle(i).sin() as f32).collect()
            };
            (wave(0.0, 1.0), wave(0.05, 1.0))
        },
        distances: 0.0..0.5,
    },
    Family {
        name: "noise_of_1e-2_added",
        make: |rng, n| with_noise(rng, n, 1e-2),
        distances: 1e-7..1e-3,
    },
    Family {
        name: "noise_of_1e-3_added",
        make: |rng, n| with_noise(rng, n, 1e-3),
        distances: 1e-9..1e-5,
    },
    Family {
        name: "noise_of_1e-4_added",
        make: |rng, n| with_noise(rng, n, 1e-4),
        distances: 0.0..1e-7,
    },
    Family {
        name: "noise_of_1e-6_added",
        make: |rng, n| with_noise(rng, n, 1e-6),
        distances: 0.0..1e-10,
    },
    Family {
        name: "last_bits_changed",
        make: |rng, n| {
            let x = noise(rng, n);
            let y = x
                .iter()
                .map(|v| if rng.bool() { v.next_up() } else { *v })
                .collect();
            (x, y)
        },
        distances: 0.0..1e-10,
    },
    Family {
        name: "scaled_and_delayed",
        make: |rng, n| {
            let x = bump_with_noise(rng, n);
            let delay = rng.usize(1..n / 2);
            let mut y = vec![0.0; delay];
            // Not a power of two: every value is rounded again.
            y.extend(x.iter().map(|v| v * 3.7));
            (x, y)
        },
        distances: 0.0..1e-10,
    },
    Family {
        name: "offset_by_1000",
        make: |rng, n| {
            let around = |rng: &mut Rng| noise(rng, n).iter().map(|v| 1000.0 + v).collect();
            (around(rng), around(rng))
        },
        distances: 1e-8..1e-5,
    },
    Family {
        name: "offset_and_negated",
        make: |rng, n| {
            let around = |rng: &mut Rng, sign: f32| {
                noise(rng, n).iter().map(|v| sign * (50.0 + v)).collect()
            };
            (around(rng, 1.0), around(rng, -1.0))
        },
        distances: 0.9..2.1,
    },
    Family {
        name: "ramps",
        make: |_, n| {
            let ramp = |from: usize| (0..n).map(|i| (i + from) as f32).collect();
            (ramp(0), ramp(3))
        },
        distances: 0.0..0.1,
    },
    Family {
        name: "constants_of_near_lengths",
        make: |_, n| (vec![0.1; n], vec![0.3; n - n / 100]),
        distances: 0.0..0.1,
    },
    Family {
        name: "a_spike_on_a_plateau",
        make: |rng, n| {
            let mut x = vec![1.0; n];
            let mut y = vec![1.0; n];
            x[rng.usize(0..n)] = 1000.0;
            y[rng.usize(0..n)] = 1000.0;
            (x, y)
        },
        distances: 0.0..0.1,
    },
    Family {
        name: "steps",
        make: |_, n| {
            let step = |at: usize| (0..n).map(|i| if i < at { 0.0 } else { 1.0 }).collect();
            (step(n / 2), step(n / 3))
        },
        distances: 0.0..0.5,
    },
    Family {
        name: "a_short_series_in_a_long_one",
        make: |rng, n| {
            let y = noise(rng, n / 4);
            let mut x = noise(rng, n).iter().map(|v| v * 1e-3).collect::<Vec<_>>();
            let at = rng.usize(0..n / 2);
            x[at..at + y.len()].copy_from_slice(&y);
            (x, y)
        },
        distances: 0.0..1e-4,
    },
    Family {
        name: "wide_magnitudes",
        make: |rng, n| {
            let wide = |rng: &mut Rng| {
                let value = |rng: &mut Rng| (rng.f32() - 0.5) * 10f32.powf(rng.f32() * 12.0 - 6.0);
                (0..n).map(|_| value(rng)).collect()
            };
            (wide(rng), wide(rng))
        },
        distances: 0.0..1.1,
    },
];

fn noise(rng: &mut Rng, n: usize) -> Vec<f32> {
    (0..n).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

fn bump(n: usize, centre: f64, width: f64) -> Vec<f32> {
    (0..n)
        .map(|i| (-((i as f64 - centre) / width).powi(2) / 2.0).exp() as f32)
        .collect()
}

fn bump_with_noise(rng: &mut Rng, n: usize) -> Vec<f32> {
    let bump = bump(n, n as f64 / 3.0, n as f64 / 10.0);
    bump.iter()
        .zip(noise(rng, n))
        .map(|(v, e)| v + 0.1 * e)
        .collect()
}

/// A series and itself with noise of this size on it.
fn with_noise(rng: &mut Rng, n: usize, size: f32) -> Series {
    let x = bump_with_noise(rng, n);
    let y = x
        .iter()
        .zip(noise(rng, n))
        .map(|(v, e)| v + size * e)
        .collect();
    (x, y)
}

fn accuracy(device: &Device, family: &Family) {
    let mut random = rng(family.name);
    let (x, y): (Vec<_>, Vec<_>) = LENGTHS
        .map(|n| (family.make)(&mut random, n))
        .into_iter()
        .unzip();
    let [x, y] = [x, y].map(|rows| Ragged::from_rows(rows).unwrap());
    let expected = check_sbd(device, family.name, &x, &y);
    for (&distance, n) in expected.values().iter().zip(LENGTHS) {
        // A hair for what f64 itself rounds.
        let range = family.distances.start - 1e-14..family.distances.end;
        assert!(
            range.contains(&distance),
            "the test is wrong: {distance} at length {n}"
        );
    }
}

/// Scaling changes no distance, at both ends of the range of f32.
fn sbd_scaled(device: &Device, x_scale: f32, y_scale: f32) {
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
    let scaled =
        |rows: Vec<Vec<f32>>, scale: f32| Ragged::from_rows(rows).unwrap().cast(|v| v * scale);
    check_sbd(device, "scaled", &scaled(x, x_scale), &scaled(y, y_scale));
}

/// The distances within their bounds, and lags whose correlation is as high within them. Returns the reference's
/// distances.
#[track_caller]
fn check_sbd(device: &Device, what: &str, x: &Ragged<f32>, y: &Ragged<f32>) -> Ragged<f64> {
    let pairs = elementwise(x.len());
    let (a, b) = (widened(x), widened(y));
    let (expected, _) = reference::sbd(&a, &b, &pairs);
    let bounds = sbd_bounds(&expected);
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
