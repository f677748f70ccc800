//! Convolutions of batches with very different lengths, each element with another of its own length.

use std::time::Duration;

use rayon::prelude::*;
use vsla::{Layout, Pairing, Ragged, Result, Tensor, conv::ConvMethod};

use crate::harness::lengths::{self, ATTENTION, FAR_APART, MIXED, SENSORS};
use crate::harness::{Bench, Check, Outcome, Spec};

/// A row: name, lengths of a round, rounds, and the target device time in microseconds.
type Sets = (&'static str, &'static [usize], usize, f64);

const SETS: &[Sets] = &[
    ("conv/mixed-1k", &MIXED, 1000, 10.0),
    ("conv/far-apart-1k", &FAR_APART, 1000, 35.0),
    ("conv/mixed-50k", &MIXED, 50_000, 400.0),
    ("conv/far-apart-50k", &FAR_APART, 50_000, 1600.0),
    ("conv/attention-50k", &ATTENTION, 50_000, 530.0),
    ("conv/sensors-50k", &SENSORS, 50_000, 270.0),
];
/// The most that a mixed batch may cost, relative to the cost of its lengths on their own.
const OF_GROUPS: f64 = 1.15;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for &(name, set, rounds, target) in SETS {
        if bench.wants(name) {
            let rounds = if bench.size.quick { 10 } else { rounds };
            let lengths: Vec<usize> = set
                .iter()
                .copied()
                .cycle()
                .take(set.len() * rounds)
                .collect();
            let data = format!("{set:?} x {rounds}");
            // Small batches cost about one dispatch, so the cost of their lengths on their own says nothing.
            let groups = if rounds >= 50_000 { set } else { &[] };
            row(bench, name, data, lengths, groups, Some(target))?;
        }
    }
    let name = "conv/log-uniform";
    if bench.wants(name) {
        let elements = if bench.size.quick { 50 } else { 100_000 };
        let lengths = lengths::log_uniform(31, elements);
        let data = format!("{elements} lengths, log-uniform in 4..4096, seed 31");
        row(bench, name, data, lengths, &[], Some(700.0))?;
    }
    for (name, what, lengths) in [
        (
            "conv/gestures",
            "recordings of an accelerometer",
            lengths::gestures as fn() -> _,
        ),
        ("conv/vowels", "recordings of vowels", lengths::vowels),
    ] {
        if bench.wants(name) {
            let rounds = if bench.size.quick { 1 } else { 500 };
            let lengths: Vec<usize> = lengths();
            let data = format!("the lengths of {} {what} x {rounds}", lengths.len());
            row(bench, name, data, lengths.repeat(rounds), &[], None)?;
        }
    }
    DRAWN.iter().try_for_each(|row| drawn(bench, row))
}

/// Pairs of different lengths, drawn from ranges: name, pairs, left and right range, and the method.
type Drawn = (
    &'static str,
    usize,
    [std::ops::RangeInclusive<usize>; 2],
    ConvMethod,
);

const DRAWN: [Drawn; 5] = [
    (
        "conv/direct-tiny",
        1 << 20,
        [8..=24, 8..=24],
        ConvMethod::Direct,
    ),
    (
        "conv/direct-short",
        1 << 19,
        [1..=64, 1..=64],
        ConvMethod::Direct,
    ),
    (
        "conv/direct-kernels",
        1 << 14,
        [64..=4096, 3..=31],
        ConvMethod::Direct,
    ),
    (
        "conv/blocks",
        64,
        [1 << 20..=1 << 20, 100..=2000],
        ConvMethod::Auto,
    ),
    (
        "conv/long",
        256,
        [16_000..=64_000, 16_000..=64_000],
        ConvMethod::Auto,
    ),
];

fn drawn(bench: &mut Bench, row: &Drawn) -> Outcome<()> {
    let &(name, pairs, ref ranges, method) = row;
    if !bench.wants(name) {
        return Ok(());
    }
    // Software GPUs and the CPU run a fraction.
    let pairs = match bench.size.quick || !bench.device.is_gpu() {
        true => (pairs >> 12).max(1),
        false => pairs,
    };
    let mut rng = fastrand::Rng::with_seed(36);
    let mut operand = |range: &std::ops::RangeInclusive<usize>, seed| -> Outcome<_> {
        let layout = Layout::from_lengths((0..pairs).map(|_| rng.usize(range.clone())))?;
        let values = Ragged::random(&layout, seed)?;
        let tensor = bench.device.upload(&values)?;
        Ok((values, tensor))
    };
    let ((x, a), (y, b)) = (operand(&ranges[0], 37)?, operand(&ranges[1], 38)?);
    let pair = a
        .pair(&b, Pairing::Elementwise)?
        .convolution()
        .method(method);
    let (c, first) = bench.first(|| pair.conv())?;
    let some: Vec<usize> = (0..pairs).step_by((pairs / 4).max(1)).collect();
    let got = some
        .iter()
        .map(|&i| Ok(c.elements(i..i + 1)?.download_blocking()?.into_parts().1))
        .collect::<Result<Vec<_>>>()?;
    let mut both = some.iter().zip(&got);
    let check = match both.find(|&(&i, got)| !is_product(x.row(i), y.row(i), got)) {
        None => Ok(format!("{} elements, in f64", some.len())),
        Some((i, _)) => Err(format!("pair {i} is off")),
    };
    let multiply_adds = match method {
        ConvMethod::Direct => {
            let pairs = x.layout().lengths().zip(y.layout().lengths());
            pairs.map(|(m, n)| (m * n) as u64).sum()
        }
        _ => 0,
    };
    let values = x.values().len() + y.values().len() + c.layout().total();
    let result = c.layout().clone();
    drop((x, y, c));
    let spec = Spec {
        name,
        data: format!(
            "{pairs} pairs, uniform {:?} and {:?}, seed 36",
            ranges[0], ranges[1]
        ),
        bytes: 4 * values as u64,
        multiply_adds,
        first,
        check,
    };
    let row = bench.measure(spec, || pair.conv())?;
    let row = row.reads::<f32>(a.layout()).reads::<f32>(b.layout());
    bench.push(row.writes::<f32>(&result));
    Ok(())
}

/// Bytes of the operands and the result.
fn bytes_of(lengths: &[usize]) -> u64 {
    lengths.iter().map(|&n| 4 * (4 * n as u64 - 1)).sum()
}

fn operands(bench: &Bench, lengths: &[usize]) -> Result<[(Ragged<f32>, Tensor<f32>); 2]> {
    let layout = Layout::from_lengths(lengths.iter().copied())?;
    let operand = |seed| {
        let values = Ragged::random(&layout, seed)?;
        let tensor = bench.device.upload(&values)?;
        Ok((values, tensor))
    };
    Ok([operand(32)?, operand(33)?])
}

fn row(
    bench: &mut Bench,
    name: &'static str,
    data: String,
    lengths: Vec<usize>,
    groups: &[usize],
    target: Option<f64>,
) -> Outcome<()> {
    let [(x, a), (y, b)] = operands(bench, &lengths)?;
    let (c, first) = bench.first(|| a.conv(&b))?;
    let predicted = a.pair(&b, Pairing::Elementwise)?.conv_choice()?.predicted;
    let check = check(&x, &y, &c)?;
    let result = c.layout().clone();
    drop((x, y, c));
    let bytes = bytes_of(&lengths);
    let spec = Spec {
        name,
        data,
        bytes,
        multiply_adds: 0,
        first,
        check,
    };
    let mut row = bench.measure(spec, || a.conv(&b))?;
    let of_predicted = row.times.best_known().as_secs_f64() / predicted.as_secs_f64();
    row = row.note("of the predicted time", of_predicted);
    row = row
        .reads::<f32>(a.layout())
        .reads::<f32>(b.layout())
        .writes::<f32>(&result);
    drop((a, b));
    if bench.device.is_gpu() {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let took = micros(row.times.best_known());
        if let Some(target) = target {
            row = row.at_most("µs device", target, took);
        }
        if !groups.is_empty() && !bench.size.quick {
            let mut alone = 0.0;
            for &length in groups {
                alone += share(groups, length) * micros(group(bench, length, bytes)?);
            }
            row = row.at_most("of its lengths alone", OF_GROUPS, took / alone);
        }
    }
    bench.push(row);
    Ok(())
}

/// The share of the bytes that belongs to elements of this length.
fn share(groups: &[usize], length: usize) -> f64 {
    bytes_of(&[length]) as f64 / bytes_of(groups) as f64
}

/// The time of a batch of `bytes` bytes in which all elements have one length.
fn group(bench: &mut Bench, length: usize, bytes: u64) -> Outcome<Duration> {
    let elements = bytes / bytes_of(&[length]);
    let [(_, a), (_, b)] = operands(bench, &vec![length; elements as usize])?;
    let (times, _) = bench.beside(|bench| bench.times(|| a.conv(&b)))?;
    Ok(times.best_known())
}

/// Compares some of the results with sums in f64.
fn check(x: &Ragged<f32>, y: &Ragged<f32>, c: &Tensor<f32>) -> Outcome<Check> {
    let step = (x.len() / 40).max(1);
    // Some adjacent results, and some throughout.
    let some: Vec<usize> = (0..x.len().min(10))
        .chain((10..x.len()).step_by(step))
        .collect();
    let got = some
        .iter()
        .map(|&i| Ok(c.elements(i..i + 1)?.download_blocking()?.into_parts().1))
        .collect::<Result<Vec<_>>>()?;
    let wrong = some.par_iter().zip(got).find_map_any(|(&i, got)| {
        (got.len() != 2 * x.row(i).len() - 1 || !is_product(x.row(i), y.row(i), &got)).then_some(i)
    });
    Ok(match wrong {
        None => Ok(format!("{} elements, in f64", some.len())),
        Some(i) => Err(format!("element {i} of {} values is off", x.row(i).len())),
    })
}

/// Whether `got` is a prefix of x * y, compared in f64 within the error bound of transforms.
pub(super) fn is_product(x: &[f32], y: &[f32], got: &[f32]) -> bool {
    let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let log = ((x.len() + y.len() - 1) as f64).log2().max(6.0);
    let bound = 1.5 * log * norm(x) * norm(y) / f64::from(1u32 << 24);
    let near = |(q, &got): (usize, &f32)| {
        let (first, end) = ((q + 1).saturating_sub(y.len()), x.len().min(q + 1));
        let values = y[q + 1 - end..=q - first].iter().rev();
        let products = x[first..end].iter().zip(values);
        let sum: f64 = products.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
        (sum - f64::from(got)).abs() <= bound
    };
    got.par_iter().enumerate().all(near)
}
