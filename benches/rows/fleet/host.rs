//! From host to host: convolutions of long signals, copies, and what a fleet adds to a call.

use std::time::Instant;

use vsla::fleet::{Cost, Fleet};
use vsla::{Device, Layout, Pairing, Ragged, Result, Tensor};

use super::{Equals, all, bytes, on_each, runs, same, timed};
use crate::harness::{Bench, Check, Outcome, Spec, Summary, Times, lengths};

/// Values of the filter.
const TAPS: usize = 255;
/// The least and the most values of a signal.
const SIGNAL: [usize; 2] = [1 << 10, 1 << 16];

pub fn rows(bench: &mut Bench, equals: &mut Equals) -> Outcome<()> {
    if bench.wants("fleet/host-conv") {
        convolutions(bench, equals, "fleet/host-conv")?;
    }
    if bench.wants("fleet/host-copy") {
        copies(bench, equals, "fleet/host-copy")?;
    }
    if bench.wants("fleet/overhead") {
        overhead(bench, "fleet/overhead")?;
    }
    Ok(())
}

/// Signals of at least so many values together, every octave of lengths as probable as any other.
fn signals(total: usize) -> Result<Ragged<f32>> {
    let mut rng = fastrand::Rng::with_seed(101);
    let [least, most] = SIGNAL.map(|length| length as f64);
    let draw = || (least * (most / least).powf(rng.f64())) as usize;
    Ragged::random(&Layout::from_lengths(lengths::until(total, draw))?, 102)
}

fn about(x: &Ragged<f32>) -> String {
    let [least, most] = SIGNAL;
    format!(
        "{} signals of {least} to {most} values, log-uniform, {} in all, seeds 101 and 102",
        x.len(),
        x.values().len()
    )
}

/// More than 1 GB on a GPU.
fn large(bench: &Bench) -> Result<Ragged<f32>> {
    let values = bench.size.values;
    signals(match bench.size.quick || !bench.device.is_gpu() {
        true => values / 4,
        false => 4 * values,
    })
}

fn filter() -> Result<Ragged<f32>> {
    Ragged::random(&Layout::from_lengths([TAPS])?, 103)
}

fn filtered(part: &Tensor<f32>, filter: &Tensor<f32>) -> Result<Tensor<f32>> {
    part.pair(filter, Pairing::AllToOne)?.conv()
}

fn convolutions(bench: &mut Bench, equals: &mut Equals, name: &'static str) -> Outcome<()> {
    let fleets = equals.fleets(bench, None)?;
    let (x, filter) = (large(bench)?, filter()?);
    let filters = all(&fleets).replicate(&filter)?;
    let device = bench.device.clone();
    let in_turn = || filtered(&device.upload(&x)?, filters.on(&device)?)?.download_blocking();
    let began = Instant::now();
    let expected = in_turn()?;
    let first = began.elapsed();
    let right = checked(&x, &filter, &expected);
    let ((turns, mut walls), reference) = bench.beside(|bench| {
        let turns = timed(runs(bench), &expected, in_turn)?;
        let walls = on_each(bench, &fleets, &expected, |fleet| {
            fleet.map(&x, Cost::values(), |on, part| {
                filtered(part, filters.on(on)?)
            })
        })?;
        Ok((turns, walls))
    })?;
    let (turn, as_before) = turns;
    let traffic = [bytes(&x), bytes(&expected)];
    walls.check = right.and(as_before).and(walls.check);
    let data = format!("{}, each with one filter of {TAPS}", about(&x));
    let row = walls.row(bench, (name, data), (first, reference), Some(traffic));
    let row = row.note("ms in turn on 1", 1e3 * turn.as_secs_f64());
    let gain = turn.as_secs_f64() / walls.of[0].1.as_secs_f64();
    let row = match bench.device.is_gpu() {
        true => row.at_least("× upload, call and download in turn", 1.3, gain),
        false => row,
    };
    bench.push(row);
    Ok(())
}

/// Compares some signals with f64.
fn checked(x: &Ragged<f32>, filter: &Ragged<f32>, got: &Ragged<f32>) -> Check {
    let some = [0, x.len() / 2, x.len() - 1];
    let is_wrong =
        |&i: &usize| !super::super::conv::is_product(x.row(i), filter.row(0), got.row(i));
    match some.into_iter().find(is_wrong) {
        None => Ok(String::new()),
        Some(i) => Err(format!("signal {i} is off")),
    }
}

/// The function does nothing that takes long, so the bus is all that counts.
fn copies(bench: &mut Bench, equals: &mut Equals, name: &'static str) -> Outcome<()> {
    let fleets = equals.fleets(bench, None)?;
    let x = large(bench)?;
    let copied = |fleet: &Fleet| fleet.map(&x, Cost::values(), |_, part| part.copy());
    let began = Instant::now();
    copied(&fleets[0])?;
    let first = began.elapsed();
    let devices = all(&fleets).devices();
    let others: Vec<Fleet> = devices[1..]
        .iter()
        .map(|device| Fleet::of([device.clone()]))
        .collect::<Result<_>>()?;
    let ((mut walls, alone), reference) = bench.beside(|bench| {
        let walls = on_each(bench, &fleets, &x, copied)?;
        let alone = others.iter().map(|fleet| timed(2, &x, || copied(fleet)));
        Ok((walls, alone.collect::<Outcome<Vec<_>>>()?))
    })?;
    let traffic = [bytes(&x); 2];
    let right = alone
        .iter()
        .try_for_each(|(_, check)| check.clone().map(drop));
    walls.check = right.and(walls.check);
    let mut row = walls.row(bench, (name, about(&x)), (first, reference), Some(traffic));
    for (i, (wall, _)) in alone.iter().enumerate() {
        let rate = 1e-9 * traffic[0] as f64 / wall.as_secs_f64();
        row = row.note(format!("GB/s each way of device {} alone", i + 1), rate);
    }
    bench.push(row);
    Ok(())
}

/// A batch that is a single range, as a call and through a fleet of one device, by turns.
fn overhead(bench: &mut Bench, name: &'static str) -> Outcome<()> {
    let fleet = Fleet::of([bench.device.clone()])?;
    let (x, filter) = (signals(bench.size.values / 16)?, filter()?);
    let filters = fleet.replicate(&filter)?;
    let device = bench.device.clone();
    let direct = || filtered(&device.upload(&x)?, filters.on(&device)?)?.download_blocking();
    let on = |on: &Device, part: &Tensor<f32>| filtered(part, filters.on(on)?);
    let through = || fleet.map(&x, Cost::values(), on);
    let began = Instant::now();
    let expected = direct()?;
    let first = began.elapsed();
    let mut check = checked(&x, &filter, &expected).and(same(&through()?, &expected));
    let runs = bench.size.runs.1;
    let (walls, reference) = bench.beside(|_| {
        let mut walls = [Vec::new(), Vec::new()];
        for run in 0..2 * runs {
            let began = Instant::now();
            let got = match run % 2 {
                0 => direct()?,
                _ => through()?,
            };
            walls[run % 2].push(began.elapsed());
            check = check.clone().and_then(|_| same(&got, &expected));
        }
        Ok(walls.map(Summary::of))
    })?;
    let [direct, through] = walls;
    let spec = Spec {
        name,
        data: format!(
            "{}, each with one filter of {TAPS}, in one range",
            about(&x)
        ),
        bytes: bytes(&x) + bytes(&expected),
        multiply_adds: 0,
        first,
        check,
    };
    let ratio = through.as_secs_f64() / direct.as_secs_f64();
    let row = bench
        .row(spec, Times::of_wall(through), reference)
        .note("µs of the direct call", 1e6 * direct.as_secs_f64())
        .at_most("× the direct call", 1.02, ratio);
    bench.push(row);
    Ok(())
}
