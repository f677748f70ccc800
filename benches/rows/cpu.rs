//! The CPU device compared with hand-written loops: rayon over prepared slices.

use std::time::Instant;

use rayon::prelude::*;
use vsla::{Layout, Pairing, Ragged, Result, Tensor, conv::ConvMethod};

use super::correlate_max;
use crate::harness::data::check_add;
use crate::harness::lengths::{Zipf, until};
use crate::harness::{Bench, Check, Outcome, Spec, Summary, Times};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if bench.device.is_gpu() {
        return Ok(());
    }
    add_zipf(bench)?;
    add_small(bench)?;
    select(bench)?;
    conv_kernels(bench)?;
    conv_alike(bench)?;
    gestures(bench)
}

fn add_zipf(bench: &mut Bench) -> Outcome<()> {
    let (mut left, mut right) = (Zipf::new(1, 1.2, 65536), Zipf::new(2, 1.2, 65536));
    let left = until(bench.size.values, || left.draw());
    let right = (0..left.len()).map(|_| right.draw()).collect();
    let data = "Zipf s = 1.2 on 1..=65536, seeds 1 and 2";
    add(bench, "cpu/add-zipf", data, [left, right])
}

fn add_small(bench: &mut Bench) -> Outcome<()> {
    let lengths = uniform(bench.size.elements, [3, 4], [8..=24, 8..=24]);
    let data = "uniform 8..=24, seeds 3 and 4";
    add(bench, "cpu/add-small", data, lengths)
}

fn uniform(
    elements: usize,
    seeds: [u64; 2],
    ranges: [std::ops::RangeInclusive<usize>; 2],
) -> [Vec<usize>; 2] {
    std::array::from_fn(|i| {
        let mut rng = fastrand::Rng::with_seed(seeds[i]);
        (0..elements)
            .map(|_| rng.usize(ranges[i].clone()))
            .collect()
    })
}

/// The same job done by the library and by a loop.
pub(super) struct Job<'a> {
    pub name: &'static str,
    pub data: String,
    pub bytes: usize,
    pub multiply_adds: u64,
    pub check: Check,
    pub ours: &'a mut dyn FnMut() -> Result<()>,
    pub plain: &'a mut dyn FnMut(),
    /// The name of the other implementation, and the largest allowed ratio of our time to its time.
    pub target: (&'static str, f64),
}

pub(super) const PLAIN: (&str, f64) = ("x a plain loop", 1.3);

/// Runs the two in turn, so that other load on the machine affects both.
pub(super) fn compare(bench: &mut Bench, job: Job<'_>) -> Outcome<()> {
    let Job { ours, plain, .. } = job;
    let began = Instant::now();
    ours()?;
    let first = began.elapsed();
    let ((ours, plain), reference) = bench.beside(|bench| {
        let (mut of_ours, mut of_plain) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        let (least, most) = bench.size.runs;
        while of_ours.len() < least
            || (of_ours.len() < 4 * most && begun.elapsed() < bench.size.time * 2)
        {
            let began = Instant::now();
            ours()?;
            of_ours.push(began.elapsed());
            let began = Instant::now();
            plain();
            of_plain.push(began.elapsed());
        }
        Ok((of_ours, of_plain))
    })?;
    let times = Times::of_wall(Summary::of(ours));
    let plain = Summary::of(plain);
    let ratio = times.wall.as_secs_f64() / plain.as_secs_f64();
    let spec = Spec {
        name: job.name,
        data: job.data,
        bytes: job.bytes as u64,
        multiply_adds: job.multiply_adds,
        first,
        check: job.check,
    };
    let row = bench
        .row(spec, times, reference)
        .at_most(job.target.0, job.target.1, ratio)
        .note("µs for the other loop", plain.as_secs_f64() * 1e6);
    bench.push(row);
    Ok(())
}

/// The elements of a result as slices, to be written in parallel.
pub(super) fn cut<T>(mut values: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut slices = Vec::new();
    for length in lengths {
        let (slice, rest) = values.split_at_mut(length);
        slices.push(slice);
        values = rest;
    }
    slices
}

fn add(
    bench: &mut Bench,
    name: &'static str,
    data: &str,
    [left, right]: [Vec<usize>; 2],
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let x = Ragged::random(&Layout::from_lengths(left)?, 11)?;
    let y = Ragged::random(&Layout::from_lengths(right)?, 12)?;
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let sum = a.add(&b)?;
    let check = check_add(&x, &y, &sum.download_blocking()?);
    let layout = sum.layout().clone();
    drop(sum);
    let mut out = vec![1.0f32; layout.total()];
    let mut slices = cut(&mut out, layout.lengths());
    let mut plain = || {
        let elements = slices.par_iter_mut().enumerate();
        elements.for_each(|(i, sum)| {
            let (x, y) = (&x[i], &y[i]);
            let both = x.len().min(y.len());
            for ((sum, x), y) in sum.iter_mut().zip(x).zip(y) {
                *sum = x + y;
            }
            let longer = if x.len() > both { x } else { y };
            sum[both..].copy_from_slice(&longer[both..]);
        });
    };
    let values = x.values().len() + y.values().len() + layout.total();
    let job = Job {
        name,
        data: format!("{data}; {} elements", x.len()),
        bytes: (values + 3 * (x.len() + 1)) * 4,
        multiply_adds: 0,
        check,
        ours: &mut || a.add(&b).map(drop),
        plain: &mut plain,
        target: PLAIN,
    };
    compare(bench, job)
}

/// Keeps the particles of each event whose first value is above a cut.
fn select(bench: &mut Bench) -> Outcome<()> {
    let name = "cpu/select-particles";
    if !bench.wants(name) {
        return Ok(());
    }
    let events = bench.size.elements.min(200_000);
    let [lengths, _] = uniform(events, [5, 6], [0..=10, 0..=0]);
    let layout = Layout::from_lengths(lengths)?;
    let columns: [Ragged<f32>; 3] = [
        Ragged::random(&layout, 13)?,
        Ragged::random(&layout, 14)?,
        Ragged::random(&layout, 15)?,
    ];
    let mut tensors = Vec::new();
    for column in &columns {
        tensors.push(bench.device.upload(column)?);
    }
    let kept = || -> Result<Vec<Tensor<f32>>> {
        let flags = tensors[0].greater(0.4)?;
        tensors
            .iter()
            .map(|column| column.compact_blocking(&flags, 0))
            .collect()
    };
    let loops = || {
        let mut lengths = Vec::with_capacity(events);
        let mut out: [Vec<f32>; 3] = Default::default();
        for event in 0..events {
            let before = out[0].len();
            for (i, &first) in columns[0][event].iter().enumerate() {
                if first > 0.4 {
                    let all = out.iter_mut().zip(&columns);
                    all.for_each(|(out, column)| out.push(column[event][i]));
                }
            }
            lengths.push(out[0].len() - before);
        }
        (lengths, out)
    };
    let (lengths, expected) = loops();
    let mut check = Ok(format!(
        "{} particles of {}",
        expected[0].len(),
        layout.total()
    ));
    for (got, expected) in kept()?.iter().zip(&expected) {
        if !got.layout().lengths().eq(lengths.iter().copied())
            || got.download_blocking()?.values() != *expected
        {
            check = Err("other particles than the loop selects".to_owned());
        }
    }
    let job = Job {
        name,
        data: format!(
            "3 columns of {events} events of 0..=10 particles, seed 5; the loop runs on one core"
        ),
        bytes: 4 * (3 * layout.total() + 3 * expected[0].len()),
        multiply_adds: 0,
        check,
        ours: &mut || kept().map(drop),
        plain: &mut || drop(std::hint::black_box(loops())),
        target: PLAIN,
    };
    compare(bench, job)
}

fn conv_kernels(bench: &mut Bench) -> Outcome<()> {
    let lengths = uniform(bench.size.elements / 256, [51, 52], [64..=4096, 3..=31]);
    let data = "signals uniform 64..=4096, kernels uniform 3..=31, seeds 51 and 52";
    conv(bench, "cpu/conv-kernels", data, lengths)
}

fn conv_alike(bench: &mut Bench) -> Outcome<()> {
    let lengths = uniform(bench.size.elements / 512, [53, 54], [1..=512, 1..=512]);
    let data = "both uniform 1..=512, seeds 53 and 54";
    conv(bench, "cpu/conv-alike", data, lengths)
}

fn conv(
    bench: &mut Bench,
    name: &'static str,
    data: &str,
    [left, right]: [Vec<usize>; 2],
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let multiply_adds = left.iter().zip(&right).map(|(m, n)| (m * n) as u64).sum();
    let x = Ragged::random(&Layout::from_lengths(left)?, 55)?;
    let y = Ragged::random(&Layout::from_lengths(right)?, 56)?;
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let product = a.conv(&b)?;
    let layout = product.layout().clone();
    let product = product.download_blocking()?;
    let mut out = vec![1.0f32; layout.total()];
    let mut slices = cut(&mut out, layout.lengths());
    let mut plain = || {
        let elements = slices.par_iter_mut().enumerate();
        elements.for_each(|(i, product)| {
            let (x, y) = (&x[i], &y[i]);
            let (short, long) = if x.len() < y.len() { (x, y) } else { (y, x) };
            product.fill(0.0);
            for (j, weight) in short.iter().enumerate() {
                for (sum, value) in product[j..].iter_mut().zip(long) {
                    *sum += weight * value;
                }
            }
        });
    };
    let job = Job {
        name,
        data: format!("{data}; {} pairs", x.len()),
        bytes: (x.values().len() + y.values().len() + layout.total()) * 4,
        multiply_adds,
        check: check_conv(&a, &b, &product)?,
        ours: &mut || a.conv(&b).map(drop),
        plain: &mut plain,
        target: PLAIN,
    };
    compare(bench, job)
}

/// Compares results with f64, each pair within the bound of its chosen method.
pub(super) fn check_conv(
    a: &Tensor<f32>,
    b: &Tensor<f32>,
    product: &Ragged<f32>,
) -> Outcome<Check> {
    let (x, y) = (a.download_blocking()?, b.download_blocking()?);
    // A pair's choice depends on its own lengths alone, so a batch of one makes the same choice.
    let choices = (0..x.len()).map(|i| {
        let (a, b) = (a.elements(i..i + 1)?, b.elements(i..i + 1)?);
        let choice = a.pair(&b, Pairing::Elementwise)?.conv_choice()?;
        Ok((choice.groups[0].method, choice.groups[0].length))
    });
    let choices = choices.collect::<Result<Vec<_>>>()?;
    let wrong = (0..x.len()).into_par_iter().find_any(|&i| {
        let (x, y) = (&x[i], &y[i]);
        let mut exact = vec![(0.0, 0.0); x.len() + y.len() - 1];
        for (j, &weight) in y.iter().enumerate() {
            for ((sum, size), &value) in exact[j..].iter_mut().zip(x) {
                let term = f64::from(weight) * f64::from(value);
                *sum += term;
                *size += term.abs();
            }
        }
        let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let u = f64::from(f32::EPSILON) / 2.0;
        // The direct method rounds once for each product; transforms have the same bound for all values of a pair.
        let (of_size, of_pair) = match choices[i].1 {
            None => ((x.len().min(y.len()) as f64 + 1.0) * 2.0 * u, 0.0),
            Some(length) => (0.0, 1.5 * (length as f64).log2() * u * norm(x) * norm(y)),
        };
        let right = |(&got, &(sum, size)): (&f32, &(f64, f64))| {
            (f64::from(got) - sum).abs() <= of_size * size + of_pair
        };
        product[i].len() != exact.len() || !product[i].iter().zip(&exact).all(right)
    });
    let direct = choices
        .iter()
        .filter(|choice| choice.0 == ConvMethod::Direct);
    let direct = direct.count();
    Ok(match wrong {
        None => Ok(format!(
            "all {} values, in f64; {direct} pairs direct, {} by transforms",
            product.values().len(),
            choices.len() - direct
        )),
        Some(i) => Err(format!("pair {i} is not the convolution")),
    })
}

fn gestures(bench: &mut Bench) -> Outcome<()> {
    let name = "cpu/correlate_max";
    if !bench.wants(name) {
        return Ok(());
    }
    let [x, y] = correlate_max::gestures()?;
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let best = a.pair(&b, Pairing::AllToAll)?.correlate_max()?;
    let check = correlate_max::check(
        &x,
        &y,
        best.value.download_blocking()?.values(),
        best.lag.download_blocking()?.values(),
        false,
    );
    let mut results = vec![(0.0f32, 0i32); x.len() * y.len()];
    let mut plain = || {
        let pairs = results.par_iter_mut().enumerate();
        pairs.for_each_init(Vec::new, |all, (pair, best)| {
            let (x, y) = (&x[pair / y.len()], &y[pair % y.len()]);
            all.clear();
            all.resize(x.len() + y.len() - 1, 0.0f32);
            for (i, weight) in y.iter().rev().enumerate() {
                for (sum, value) in all[i..].iter_mut().zip(x) {
                    *sum += weight * value;
                }
            }
            *best = (f32::NEG_INFINITY, 0);
            for (i, &sum) in all.iter().enumerate() {
                if sum > best.0 {
                    *best = (sum, i as i32 + 1 - y.len() as i32);
                }
            }
        });
    };
    let job = Job {
        name,
        data: "the gestures' 2,500 pairs".to_owned(),
        bytes: 0,
        multiply_adds: x.values().len() as u64 * y.values().len() as u64,
        check,
        ours: &mut || {
            let pair = a.pair(&b, Pairing::AllToAll)?;
            pair.correlate_max().map(drop)
        },
        plain: &mut plain,
        target: PLAIN,
    };
    compare(bench, job)
}
