//! Recorded programs: the host time of a run and of planning, and fused maps.

use std::time::Instant;

#[allow(dead_code, unused_imports, reason = "the example uses all of it")]
#[path = "../../examples/common/adam.rs"]
mod adam;
#[allow(dead_code, unused_imports, reason = "the example uses all of it")]
#[path = "../../examples/vowels/net.rs"]
mod net;

use rayon::prelude::*;
use vsla::program::{Passes, Plan, Program, Recording};
use vsla::{Layout, Pairing, Ragged, Result, Shape, Tensor};

use super::cpu::{Job, compare};
use crate::harness::data::check_equal;
use crate::harness::lengths;
use crate::harness::{Bench, Outcome, Spec, Summary, Times};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for (name, passes) in [
        ("program/small", Passes::default()),
        (
            "program/small-unfused",
            Passes {
                fuse: false,
                ..Passes::default()
            },
        ),
    ] {
        if bench.wants(name) {
            small(bench, name, passes)?;
        }
    }
    if bench.wants("program/plan") {
        plan(bench)?;
    }
    for (name, values) in [
        ("program/maps-5", 1 << 26),
        ("program/maps-5-small", 1_000_000),
    ] {
        if bench.wants(name) {
            maps(bench, name, values)?;
        }
    }
    if !bench.device.is_gpu() && bench.wants("cpu/chain-by-hand") {
        by_hand(bench)?;
    }
    if bench.wants("program/conv-layer") {
        conv_layer(bench)?;
    }
    if bench.wants("program/vowels-step") {
        vowels_step(bench)?;
    }
    Ok(())
}

/// Operations of a small program.
const SMALL: usize = 100;

fn operations(x: &Tensor<f32>) -> Result<Tensor<f32>> {
    (0..SMALL / 4).try_fold(x.clone(), |x, _| {
        let y = x.scale(0.999)?.tanh()?;
        x.add(&y)?.scale(0.5)
    })
}

/// The host time of a run of many small operations.
fn small(bench: &mut Bench, name: &'static str, passes: Passes) -> Outcome<()> {
    let start = Ragged::random(&Layout::from_lengths([4096])?, 21)?;
    let x = bench.device.upload(&start)?;
    let program = Program::with_passes(&bench.device, passes, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&operations(&x)?)
    });
    let plan = program.plan(&[x.layout()])?;
    let run = |plan: &Plan| -> Result<Tensor<f32>> { plan.run(&[&x])?.get(0) };
    let (result, first) = bench.first(|| run(&plan))?;
    let expected = operations(&x)?.download_blocking()?;
    let check = check_equal(result.download_blocking()?.values(), expected.values());
    drop(result);
    let many = bench.size.many / 50;
    let ((times, host), reference) = bench.beside(|bench| {
        let mut walls = Vec::new();
        let mut hosts = Vec::new();
        for _ in 0..7 {
            let began = Instant::now();
            for _ in 0..many {
                run(&plan)?;
            }
            hosts.push(began.elapsed() / (many * SMALL) as u32);
            bench.sync()?;
            walls.push(began.elapsed() / (many * SMALL) as u32);
        }
        let times = bench.times(|| run(&plan))?;
        let times = Times {
            device: times.device.map(|time| time.scaled(1.0 / SMALL as f64)),
            wall: Summary::of(walls),
            in_row: None,
            peak: times.peak,
        };
        Ok((times, Summary::of(hosts)))
    })?;
    let spec = Spec {
        name,
        data: format!(
            "{SMALL} recorded operations on 4096 values, seed 21: scale, tanh, add, scale; times are of one"
        ),
        bytes: 0,
        multiply_adds: 0,
        first,
        check,
    };
    let host = host.as_secs_f64() * 1e6;
    let row = bench.row(spec, times, reference);
    let row = row.note("dispatches", plan.report().dispatches as f64);
    let row = match bench.device.is_gpu() {
        true => row.at_most("host µs each", 1.2, host),
        false => row.note("host µs each", host),
    };
    bench.push(row);
    Ok(())
}

/// The time to plan a program for lengths never seen before.
fn plan(bench: &mut Bench) -> Outcome<()> {
    let program = Program::new(&bench.device, |r| {
        let x: Tensor<f32> = r.input()?;
        let y = (0..SMALL / 5).try_fold(x, |x, _| {
            let mean = x.mean()?;
            x.sub(mean.each())?.scale(0.5)?.add(&x.flip(&[0])?)
        })?;
        r.output(&y)
    });
    let mut rng = fastrand::Rng::with_seed(41);
    let mut batch = || Layout::from_lengths((0..64).map(|_| 1 + rng.usize(..256)));
    program.plan(&[&batch()?])?;
    bench.sync()?;
    let (walls, reference) = bench.beside(|bench| {
        let runs = bench.size.runs.1.max(7);
        let mut walls = Vec::new();
        for _ in 0..runs {
            let layout = batch()?;
            let began = Instant::now();
            let plan = program.plan(&[&layout])?;
            walls.push(began.elapsed());
            drop(plan);
            bench.sync()?;
        }
        Ok(walls)
    })?;
    let layout = batch()?;
    let x = bench.device.upload(&Ragged::random(&layout, 3)?)?;
    let (result, first) = bench.first(|| program.plan(&[&layout])?.run(&[&x])?.get::<f32>(0))?;
    let expected = (0..SMALL / 5).try_fold(x.clone(), |x, _| {
        let mean = x.mean()?;
        x.sub(mean.each())?.scale(0.5)?.add(&x.flip(&[0])?)
    })?;
    let check = check_equal(
        result.download_blocking()?.values(),
        expected.download_blocking()?.values(),
    );
    let times = Times::of_wall(Summary::of(walls));
    let spec = Spec {
        name: "program/plan",
        data: format!(
            "{SMALL} operations planned for 64 lengths never seen before, uniform 1..=256, seed 41"
        ),
        bytes: 0,
        multiply_adds: 0,
        first,
        check,
    };
    let took = times.wall.as_secs_f64() * 1e6;
    let growths = program.counters().growths as f64;
    let row = bench.row(spec, times, reference).at_most("µs", 300.0, took);
    bench.push(row.note("arena grew", growths));
    Ok(())
}

fn five(x: &Tensor<f32>) -> Result<Tensor<f32>> {
    x.scale(1.5)?
        .add_scalar(0.25)?
        .relu()?
        .square()?
        .sub_from(1.0)
}

/// Five maps in one pass over memory, beside one map.
fn maps(bench: &mut Bench, name: &'static str, values: usize) -> Outcome<()> {
    let values = values.min(bench.size.values);
    let host = Ragged::random(&Layout::from_lengths([values])?, 22)?;
    let x = bench.device.upload(&host)?;
    let program = Program::new(&bench.device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&five(&x)?)
    });
    let plan = program.plan(&[x.layout()])?;
    let run = || plan.run(&[&x])?.get::<f32>(0);
    let (result, first) = bench.first(run)?;
    let check = check_equal(
        result.download_blocking()?.values(),
        five(&x)?.download_blocking()?.values(),
    );
    drop(result);
    let (one, _) = bench.beside(|bench| bench.times(|| x.relu()))?;
    let spec = Spec {
        name,
        data: format!(
            "scale, add, relu, square and subtract, recorded, over {values} values, seed 22"
        ),
        bytes: 8 * values as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let row = bench.measure(spec, run)?;
    let ratio = row.times.best_known().as_secs_f64() / one.best_known().as_secs_f64();
    let row = row.note("dispatches", plan.report().dispatches as f64);
    // With so few values, the time is that of a dispatch, of which a chain has one.
    let row = match name == "program/maps-5-small" && bench.device.is_gpu() {
        true => {
            let took = row.times.best_known().as_secs_f64() * 1e6;
            row.note("times one map", ratio).at_most("µs", 4.0, took)
        }
        false => row.at_most("times one map", 1.1, ratio),
    };
    bench.push(row);
    Ok(())
}

/// Five recorded maps on the CPU, beside one loop over the values that does the same.
fn by_hand(bench: &mut Bench) -> Outcome<()> {
    let values = bench.size.values;
    let host = Ragged::random(&Layout::from_lengths([values])?, 23)?;
    let x = bench.device.upload(&host)?;
    let program = Program::new(&bench.device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&five(&x)?)
    });
    let plan = program.plan(&[x.layout()])?;
    let mut out = vec![0.0f32; values];
    let hand = |out: &mut [f32]| {
        let pieces = out
            .par_chunks_mut(1 << 14)
            .zip(host.values().par_chunks(1 << 14));
        pieces.for_each(|(out, x)| {
            for (y, &x) in out.iter_mut().zip(x) {
                let z = (1.5 * x + 0.25).max(0.0);
                *y = 1.0 - z * z;
            }
        });
    };
    hand(&mut out);
    let got = plan.run(&[&x])?.get::<f32>(0)?.download_blocking()?;
    let job = Job {
        name: "cpu/chain-by-hand",
        data: format!(
            "scale, add, relu, square and subtract, recorded, over {values} values, seed 23"
        ),
        bytes: 8 * values,
        multiply_adds: 0,
        check: check_equal(got.values(), &out),
        ours: &mut || plan.run(&[&x]).map(drop),
        plain: &mut || hand(&mut out),
        target: ("x by hand", 1.2),
    };
    compare(bench, job)
}

/// A ragged convolution with one filter each, and its gradients.
fn conv_layer(bench: &mut Bench) -> Outcome<()> {
    let pairs = if bench.size.quick { 100 } else { 10_000 };
    let a = Layout::from_lengths(lengths::log_uniform(51, pairs))?;
    let b = a.clone();
    let x = bench.device.upload(&Ragged::random(&a, 52)?)?;
    let w = bench.device.upload(&Ragged::random(&b, 53)?)?;
    let forward = Program::new(&bench.device, |r| {
        let (x, w): (Tensor<f32>, Tensor<f32>) = (r.input()?, r.input()?);
        r.output(&x.pair(&w, Pairing::Elementwise)?.conv()?)
    });
    let both = Program::new(&bench.device, |r| {
        let (x, w): (Tensor<f32>, Tensor<f32>) = (r.input()?, r.input()?);
        let y = x.pair(&w, Pairing::Elementwise)?.conv()?;
        let [gx, gw] = r
            .gradients_from(&[(&y, &y)], &[&x, &w])?
            .try_into()
            .unwrap_or_else(|_| unreachable!());
        r.output(&y)?;
        r.output(&gx)?;
        r.output(&gw)
    });
    let forward = forward.plan(&[&a, &b])?;
    let both = both.plan(&[&a, &b])?;
    let (results, first) = bench.first(|| both.run(&[&x, &w]))?;
    let gx = results.get::<f32>(1)?.download_blocking()?;
    let y = x.conv(&w)?;
    let expected = y.pair(&w, Pairing::Elementwise)?.convolution();
    let expected = expected
        .mode(vsla::conv::ConvMode::Valid)
        .correlate()?
        .download_blocking()?;
    let check = check_equal(gx.values(), expected.values());
    let result = y.layout().clone();
    drop((results, y));
    let (one, _) = bench.beside(|bench| bench.times(|| forward.run(&[&x, &w])))?;
    let spec = Spec {
        name: "program/conv-layer",
        data: format!(
            "a convolution and both gradients, {pairs} pairs of log-uniform lengths in 4..4096, seed 51"
        ),
        bytes: 4 * 3 * (a.total() + b.total()) as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let row = bench.measure(spec, || both.run(&[&x, &w]))?;
    let ratio = row.times.best_known().as_secs_f64() / one.best_known().as_secs_f64() - 1.0;
    let row = row.reads::<f32>(&a).reads::<f32>(&b);
    let row = row
        .writes::<f32>(&result)
        .writes::<f32>(&a)
        .writes::<f32>(&b);
    bench.push(row.at_most("backward / forward", 2.5, ratio));
    Ok(())
}

/// A step of the example: forward, backward and the optimizer.
fn training(r: &mut Recording) -> Result<()> {
    let (x, classes, rates) = (r.input()?, r.input()?, r.input()?);
    let adam = adam::Adam {
        weights: r.input()?,
        mean: r.input()?,
        square: r.input()?,
    };
    let parts = net::parts(&adam.weights)?;
    let losses = net::scores(&x, &parts)?.cross_entropy(&classes)?;
    let [gradient] = r.gradients(&losses, [&adam.weights])?;
    let next = adam.step(&gradient, &rates)?;
    for output in [&next.weights, &next.mean, &next.square] {
        r.output(output)?;
    }
    r.output(&losses.mean()?)
}

/// A step of the example `vowels`: forward, backward and Adam, for 30 recordings. Weights are fed back.
fn vowels_step(bench: &mut Bench) -> Outcome<()> {
    let mut rng = fastrand::Rng::with_seed(61);
    let shapes = (0..30).map(|_| Shape::new(&[rng.usize(7..=29), 12]));
    let layout = Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)?;
    let device = bench.device.clone();
    let x = device.upload(&Ragged::random(&layout, 62)?)?;
    let classes: Vec<u32> = (0..30).map(|_| rng.u32(..9)).collect();
    let classes = device.upload(&Ragged::from_rows([classes])?)?;
    let of = net::Net {
        channels: 12,
        classes: 9,
    };
    let start = adam::Adam::new(of.weights(&device, 63)?)?;
    let rates = vec![[adam::rate(1e-3, 1)]; start.weights.len()];
    let rates = device.upload(&Ragged::from_rows(rates)?)?;
    let program = Program::new(&device, training);
    let weights = start.weights.layout();
    let plan = program.plan(&[
        x.layout(),
        classes.layout(),
        rates.layout(),
        weights,
        weights,
        weights,
    ])?;
    let step = |adam: &adam::Adam| -> Result<(adam::Adam, Tensor<f32>)> {
        let out = plan.run(&[
            &x,
            &classes,
            &rates,
            &adam.weights,
            &adam.mean,
            &adam.square,
        ])?;
        let next = adam::Adam {
            weights: out.get(0)?,
            mean: out.get(1)?,
            square: out.get(2)?,
        };
        Ok((next, out.get(3)?))
    };
    let ((mut state, loss), first) = bench.first(|| step(&start))?;
    let before = loss.download_blocking()?.values()[0];
    for _ in 0..100 {
        state = step(&state)?.0;
    }
    let after = step(&state)?.1.download_blocking()?.values()[0];
    let check = match after < before / 4.0 && before < 4.0 {
        true => Ok(format!(
            "100 steps take the loss from {before:.3} to {after:.3}"
        )),
        false => Err(format!("100 steps take the loss from {before} to {after}")),
    };
    let report = plan.report();
    // All recordings as long as the longest one.
    let longest = layout.shapes().max_by_key(Shape::size);
    let padded = Layout::uniform(layout.len(), longest.unwrap_or(Shape::new(&[0, 0])?))?;
    let inputs = [
        &padded,
        classes.layout(),
        rates.layout(),
        weights,
        weights,
        weights,
    ];
    let padded = Program::new(&device, training).plan(&inputs)?;
    let padded = padded.report().memory.arena;
    let spec = Spec {
        name: "program/vowels-step",
        data: "a training step of examples/vowels on 30 recordings of 7 to 29 frames, seed 61"
            .to_owned(),
        bytes: 0,
        multiply_adds: 0,
        first,
        check,
    };
    let (times, reference) = bench.beside(|bench| {
        bench.times(|| {
            state = step(&state)?.0;
            Ok(())
        })
    })?;
    let took = times.best_known().as_secs_f64() * 1e6;
    let row = bench.row(spec, times, reference);
    let row = row.note("dispatches", report.dispatches as f64);
    let row = row.note("arena KiB", report.memory.arena as f64 / 1024.0);
    let row = row.note("padded KiB", padded as f64 / 1024.0);
    let row = row.reads::<f32>(&layout);
    let row = match bench.device.is_gpu() {
        true => row.at_most("µs", 246.0, took),
        false => row,
    };
    bench.push(row);
    Ok(())
}
