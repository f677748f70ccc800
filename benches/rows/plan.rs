//! What it takes to plan convolutions of lengths never seen before, and to measure what they cost.

use std::time::{Duration, Instant};

use vsla::{ConvChoice, ConvMethod, CostTable, Layout, Pairing};

use crate::harness::{Bench, Outcome, Spec, Times, median};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if bench.wants("plan/choice") {
        choice(bench)?;
    }
    if bench.device.is_gpu() && bench.wants("plan/new-lengths") {
        new_lengths(bench)?;
    }
    if bench.wants("plan/calibrate") {
        calibrate(bench)?;
    }
    Ok(())
}

fn lengths(bench: &Bench, seed: u64) -> Vec<usize> {
    let elements = if bench.size.quick { 1000 } else { 100_000 };
    let mut rng = fastrand::Rng::with_seed(seed);
    let draw = |_| (4.0 * 1024f64.powf(rng.f64())) as usize;
    (0..elements).map(draw).collect()
}

fn data(bench: &Bench, what: &str) -> String {
    let elements = lengths(bench, 0).len();
    format!(
        "{what} {elements} lengths, log-uniform in 4..4096, new ones in each run, seeds 0 and up"
    )
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs after a first one; `run` is given a seed, and returns what it took.
fn repeated(
    bench: &mut Bench,
    mut run: impl FnMut(&Bench, u64) -> Outcome<Duration>,
) -> Outcome<(Duration, Times, [Duration; 2])> {
    let first = run(bench, 0)?;
    let (mut walls, reference) = bench.beside(|bench| {
        let runs = bench.size.runs.0.max(7) as u64;
        (1..=runs)
            .map(|seed| run(bench, seed))
            .collect::<Outcome<Vec<_>>>()
    })?;
    let runs = walls.len();
    let wall = median(&mut walls);
    let times = Times {
        device: None,
        in_row: None,
        wall,
        runs,
    };
    Ok((first, times, reference))
}

fn push(
    bench: &mut Bench,
    name: &'static str,
    data: String,
    (first, times, reference): (Duration, Times, [Duration; 2]),
    aim: (&'static str, f64),
    check: Result<String, String>,
) {
    let spec = Spec {
        name,
        data,
        bytes: 0,
        multiply_adds: 0,
        first,
        check,
    };
    let took = millis(times.wall);
    let row = bench
        .row(spec, times, reference)
        .at_most(aim.0, aim.1, took);
    bench.push(row);
}

/// The method of each pair and what all take, from lengths alone.
fn choice(bench: &mut Bench) -> Outcome<()> {
    let mut counted = true;
    let measured = repeated(bench, |bench, seed| {
        let layout = Layout::from_lengths(lengths(bench, seed))?;
        let began = Instant::now();
        let costs = bench.device.costs();
        let choice = ConvChoice::new(
            (&layout, &layout),
            Pairing::Elementwise,
            ConvMethod::Auto,
            costs,
        )?;
        let took = began.elapsed();
        let pairs: usize = choice.groups.iter().map(|group| group.pairs).sum();
        counted &= pairs == layout.len();
        Ok(took)
    })?;
    let check = match counted {
        true => Ok("every pair is in one group".to_owned()),
        false => Err("pairs are missing".to_owned()),
    };
    let data = data(bench, "ConvChoice::new of");
    push(bench, "plan/choice", data, measured, ("ms", 10.0), check);
    Ok(())
}

/// The call of `conv` for lengths never seen before: a method for each, the work lists, and recording it.
fn new_lengths(bench: &mut Bench) -> Outcome<()> {
    let mut kept = true;
    let mut known = None;
    let measured = repeated(bench, |bench, seed| {
        let layout = Layout::from_lengths(lengths(bench, seed))?;
        let x = bench.device.full(&layout, 1.0f32)?;
        bench.sync()?;
        let began = Instant::now();
        let y = x.conv(&x)?;
        let took = began.elapsed();
        bench.sync()?;
        drop(y);
        let pipelines = bench.device.info().pipelines;
        kept &= *known.get_or_insert(pipelines) == pipelines;
        Ok(took)
    })?;
    let check = match kept {
        true => Ok("no pipeline compiled".to_owned()),
        false => Err("a pipeline was compiled".to_owned()),
    };
    let data = data(bench, "host cost of a first conv of");
    push(
        bench,
        "plan/new-lengths",
        data,
        measured,
        ("ms", 2.0),
        check,
    );
    Ok(())
}

fn calibrate(bench: &mut Bench) -> Outcome<()> {
    let mut read = true;
    let measured = repeated(bench, |bench, _| {
        let began = Instant::now();
        let costs = bench.device.calibrate()?;
        let took = began.elapsed();
        read &= costs.to_string().parse::<CostTable>().as_ref() == Ok(&costs);
        Ok(took)
    })?;
    let check = match read {
        true => Ok("read back alike".to_owned()),
        false => Err("a table is not read back".to_owned()),
    };
    let data = "Device::calibrate, the kernels compiled".to_owned();
    push(
        bench,
        "plan/calibrate",
        data,
        measured,
        ("ms", 1000.0),
        check,
    );
    Ok(())
}
