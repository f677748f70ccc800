//! Every recorded gesture against every other: 2,500 pairs of series of different lengths.

use std::time::Instant;

use rayon::prelude::*;
use vsla::{
    Pairing, Ragged, Result, Tensor,
    conv::{CorrelateMax, Sbd},
};

use crate::harness::{Bench, Check, Outcome, Spec, Summary};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let (correlate, sbd) = ("correlate_max/gestures", "sbd/gestures");
    if !bench.wants(correlate) && !bench.wants(sbd) {
        return Ok(());
    }
    let [x, y] = gestures()?;
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    if bench.wants(correlate) {
        let read = |CorrelateMax { value, lag, .. }| values(value, lag);
        let run = || a.pair(&b, Pairing::AllToAll)?.correlate_max();
        let check = |values: &[f32], lags: &[i32]| check(&x, &y, values, lags, false);
        row(bench, correlate, &[&x, &y], run, read, check)?;
    }
    if bench.wants(sbd) {
        let read = |Sbd { distance, lag, .. }| values(distance, lag);
        let run = || a.pair(&b, Pairing::AllToAll)?.sbd();
        let check = |values: &[f32], lags: &[i32]| check(&x, &y, values, lags, true);
        row(bench, sbd, &[&x, &y], run, read, check)?;
    }
    Ok(())
}

/// The recordings that come with the examples: test series and training series.
pub fn gestures() -> Outcome<[Ragged<f32>; 2]> {
    let series = |text: &str| -> Outcome<Ragged<f32>> {
        let data = text.lines().skip_while(|line| !line.starts_with("@data"));
        let rows = data.filter_map(|line| line.split_once(':'));
        let rows: Vec<Vec<f32>> = rows
            .map(|(values, _)| {
                values
                    .split(',')
                    .map(|value| value.trim().parse())
                    .collect()
            })
            .collect::<std::result::Result<_, _>>()?;
        Ok(Ragged::from_rows(rows)?)
    };
    Ok([
        series(include_str!(
            "../../examples/data/PickupGestureWiimoteZ_TEST.ts"
        ))?,
        series(include_str!(
            "../../examples/data/PickupGestureWiimoteZ_TRAIN.ts"
        ))?,
    ])
}

fn values(value: Tensor<f32>, lag: Tensor<i32>) -> Result<(Vec<f32>, Vec<i32>)> {
    let value = value.download_blocking()?.into_parts().1;
    Ok((value, lag.download_blocking()?.into_parts().1))
}

fn row<R>(
    bench: &mut Bench,
    name: &'static str,
    [x, y]: &[&Ragged<f32>; 2],
    run: impl Fn() -> Result<R>,
    read: impl Fn(R) -> Result<(Vec<f32>, Vec<i32>)>,
    check: impl Fn(&[f32], &[i32]) -> Check,
) -> Outcome<()> {
    let began = Instant::now();
    let (values, lags) = read(run()?)?;
    let first = began.elapsed();
    let check = check(&values, &lags);
    let (times, reference) = bench.beside(|bench| {
        let mut times = bench.times(&run)?;
        let mut walls = Vec::new();
        for _ in 0..times.wall.runs {
            let began = Instant::now();
            read(run()?)?;
            walls.push(began.elapsed());
        }
        times.wall = Summary::of(walls);
        Ok(times)
    })?;
    let spec = Spec {
        name,
        data: format!(
            "{} x {} series of {}..={} samples; wall time includes reading values and lags back",
            x.len(),
            y.len(),
            x.layout()
                .lengths()
                .chain(y.layout().lengths())
                .min()
                .unwrap_or(0),
            x.layout().max_length().max(y.layout().max_length()),
        ),
        bytes: 0,
        multiply_adds: x.values().len() as u64 * y.values().len() as u64,
        first,
        check,
    };
    let mut row = bench.row(spec, times, reference);
    if bench.device.is_gpu() && name.starts_with("correlate_max") {
        let micros = |time: std::time::Duration| time.as_secs_f64() * 1e6;
        row = row
            .at_most("µs device", 60.0, micros(times.best_known()))
            .at_most("µs wall", 500.0, micros(times.wall.median));
    }
    bench.push(row);
    Ok(())
}

/// Checks every pair in f64: the value, and that the lag is one of the best.
pub fn check(
    x: &Ragged<f32>,
    y: &Ragged<f32>,
    values: &[f32],
    lags: &[i32],
    distances: bool,
) -> Check {
    let pairs = x.len() * y.len();
    if (values.len(), lags.len()) != (pairs, pairs) {
        return Err(format!("{} values instead of {pairs}", values.len()));
    }
    let wrong = (0..pairs).into_par_iter().find_map_any(|pair| {
        let (x, y) = (&x[pair / y.len()], &y[pair % y.len()]);
        let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let scale = norm(x) * norm(y);
        let all = correlation(x, y);
        let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (expected, slack) = match distances {
            true => (1.0 - best / scale, 1e-6),
            false => (best, 1e-5 * scale),
        };
        let at = usize::try_from(lags[pair] + y.len() as i32 - 1).ok();
        let there = at.and_then(|at| all.get(at)).copied();
        let right = (f64::from(values[pair]) - expected).abs() <= slack
            && there.is_some_and(|there| there >= best - 1e-5 * scale);
        (!right).then(|| {
            format!(
                "pair {pair} is {} at lag {}, instead of {expected}",
                values[pair], lags[pair]
            )
        })
    });
    match wrong {
        None => Ok(format!("all {pairs} values and lags, in f64")),
        Some(problem) => Err(problem),
    }
}

/// The correlation at every lag, from −(length of y − 1) on.
fn correlation(x: &[f32], y: &[f32]) -> Vec<f64> {
    let mut all = vec![0.0; x.len() + y.len() - 1];
    for (i, &weight) in y.iter().rev().enumerate() {
        for (sum, &value) in all[i..].iter_mut().zip(x) {
            *sum += f64::from(weight) * f64::from(value);
        }
    }
    all
}
