//! The highest correlation and its lag.

use libtest_mimic::Trial;
use vsla::{
    Device, Pairing, Ragged, Result, Tensor,
    conv::{ConvMethod, CorrelateMax},
};

use crate::sbd;
use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_exact, assert_within, normwise, product_depth};
use crate::support::corpus::{self, Case, Content};
use crate::support::number::widened;
use crate::support::operation::{Binary, Expected, Operation, download, golden, rows, run, upload};
use crate::support::property;
use crate::support::reference::{self, elementwise};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(value())
        .with(lag())
        .with_long_cases(Case::has_very_many_elements)
        .trials(bench, "", corpus::small());
    let by_fft = |corpus| {
        let operation = Operation::new().with(value_by_fft()).with(lag_by_fft());
        let operation = operation.with_long_cases(Case::has_very_many_elements);
        operation.trials(bench, "fft", corpus)
    };
    let mut on_cpu = by_fft(corpus::small());
    on_cpu.retain(|trial| trial.name().contains("::cpu::"));
    trials.extend(on_cpu);
    // Longer than the transform of one workgroup.
    let mut cases = corpus::small();
    cases.retain(|case| !case.name.starts_with("giant"));
    let mut on_gpu = by_fft(cases);
    on_gpu.retain(|trial| trial.name().contains("::gpu::"));
    trials.extend(on_gpu);
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("ties_take_the_lowest_lag", ties),
        ("ties_of_long_series", ties_of_long_series),
        ("nan_propagates", nan_propagates),
        ("empty_operands", empty_operands),
        ("is_the_max_of_correlate", is_the_max_of_correlate),
        ("finds_every_lag", finds_every_lag),
    ];
    trials.extend(bench.all_on_each_device(tests));
    for case in corpus::small() {
        if case.content != Content::Nonfinite {
            let name = format!("lags::{}", case.name);
            let many = case.has_very_many_elements();
            let test = move |device: &Device| lags(device, &case);
            trials.extend(bench.on_each_device_if_fast(many, &name, test));
        }
    }
    trials
}

/// Element by element, by one method. Its errors about unequal batches come from the pairing.
fn by(method: ConvMethod, x: &Tensor<f32>, y: &Tensor<f32>) -> Result<CorrelateMax> {
    x.pair(y, Pairing::Elementwise)?
        .convolution()
        .method(method)
        .correlate_max()
}

fn value_by_fft() -> Binary<f32, f32> {
    Binary {
        run: |x, y| Ok(by(ConvMethod::Fft, x, y)?.value),
        paired: Some(|pair| {
            Ok(pair
                .convolution()
                .method(ConvMethod::Fft)
                .correlate_max()?
                .value)
        }),
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

/// The lag, whose bits are compared; [`lags`] checks whether it is right.
fn lag_by_fft() -> Binary<f32, i32> {
    Binary {
        run: |x, y| Ok(by(ConvMethod::Fft, x, y)?.lag),
        paired: Some(|pair| {
            Ok(pair
                .convolution()
                .method(ConvMethod::Fft)
                .correlate_max()?
                .lag)
        }),
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
        paired: Some(|pair| {
            Ok(pair
                .convolution()
                .method(ConvMethod::Direct)
                .correlate_max()?
                .value)
        }),
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
        paired: Some(|pair| {
            Ok(pair
                .convolution()
                .method(ConvMethod::Direct)
                .correlate_max()?
                .lag)
        }),
        expected: Some(|a, b, pairs| {
            let (a, b) = (widened(a), widened(b));
            let magnitude = reference::correlate(&a, &b, pairs).largest_magnitude();
            Expected::places(reference::correlate_max(&a, &b, pairs).1, magnitude)
        }),
        spreads: true,
        series_only: true,
    }
}

/// If values change by at most ε, their maximum changes by at most ε.
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

const NAN: f32 = f32::NAN;

/// The result of each pair: value and lag, or distance and lag.
pub type Both = (Ragged<f32>, Ragged<i32>);

fn correlate_max(device: &Device, a: &Ragged<f32>, b: &Ragged<f32>) -> Both {
    let (a, b) = (upload(device, a), upload(device, b));
    let got = by(ConvMethod::Direct, &a, &b).unwrap();
    (download(&got.value), download(&got.lag))
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
    assert_exact("value", &value, &value.cast(|_| 3.0).unwrap());
    assert_exact("lag", &lag, &Ragged::from_rows(lags).unwrap());
}

/// Every correlation that includes a NaN is NaN, and the reported lag is the first such lag.
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
            .convolution()
            .method(ConvMethod::Direct)
            .correlate()
    };
    property::on(device, property::two_batches(), |(a, b)| {
        let small = |batch: &Ragged<i32>| batch.cast(|value| (value % 10) as f32).unwrap();
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

/// One spike against one spike, so that the best lag is known: the first, the last, and around every tile edge.
fn finds_every_lag(device: &Device) {
    let mut a = Vec::new();
    let mut b = Vec::new();
    let mut lags = Vec::new();
    for (m, n) in [
        (1, 1),
        (5, 3),
        (64, 64),
        (449, 33),
        (33, 449),
        (400, 50),
        (1025, 1000),
    ] {
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
    assert_exact("value", &value, &value.cast(|_| 4.0).unwrap());
    assert_exact("lag", &lag, &Ragged::from_rows(lags.clone()).unwrap());
    let (distance, lag) = sbd::sbd(device, &a, &b);
    assert_within(
        "distance",
        &distance,
        &distance.cast(|_| 0.0).unwrap(),
        &vec![1e-8; lags.len()],
    );
    assert_exact(
        "the distance's lag",
        &lag,
        &Ragged::from_rows(lags).unwrap(),
    );
}

/// Rounding may select another lag, but only if its correlation is equally high within the error bounds.
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
pub fn at_lag(correlation: &Ragged<f64>, right: usize, i: usize, lag: i32) -> f64 {
    let place = lag + right as i32 - 1;
    let row = correlation.row(i);
    assert!(
        (0..row.len() as i32).contains(&place),
        "element {i}: there is no lag {lag}"
    );
    row[place as usize]
}
