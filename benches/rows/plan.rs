//! The time to plan convolutions of lengths never seen before, and to measure what they cost.

use std::time::{Duration, Instant};

use vsla::{
    Layout, Pairing, Shape, Tensor,
    batch::PairList,
    conv::{ConvChoice, ConvMethod, CostTable},
};

use crate::harness::{Bench, Outcome, Spec, Summary, Times};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if bench.wants("plan/choice") {
        choice(bench)?;
    }
    if bench.device.is_gpu() && bench.wants("plan/new-lengths") {
        new_lengths(bench)?;
    }
    if bench.wants("plan/network") {
        network(bench)?;
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

/// Runs after a first one; `run` gets a seed and returns the time that it took.
fn repeated(
    bench: &mut Bench,
    mut run: impl FnMut(&Bench, u64) -> Outcome<Duration>,
) -> Outcome<(Duration, Times, [Duration; 2])> {
    let first = run(bench, 0)?;
    let (walls, reference) = bench.beside(|bench| {
        let runs = bench.size.runs.0.max(7) as u64;
        (1..=runs)
            .map(|seed| run(bench, seed))
            .collect::<Outcome<Vec<_>>>()
    })?;
    Ok((first, Times::of_wall(Summary::of(walls)), reference))
}

fn push(
    bench: &mut Bench,
    name: &'static str,
    data: String,
    (first, times, reference): (Duration, Times, [Duration; 2]),
    target: (&'static str, f64),
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
    let took = millis(times.wall.median);
    let row = bench
        .row(spec, times, reference)
        .at_most(target.0, target.1, took);
    bench.push(row);
}

/// The method of each pair and the predicted total time, from lengths alone.
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

/// A call of `conv` for new lengths: selecting methods, building the work lists, and recording.
fn new_lengths(bench: &mut Bench) -> Outcome<()> {
    let mut constant = true;
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
        constant &= *known.get_or_insert(pipelines) == pipelines;
        Ok(took)
    })?;
    let check = match constant {
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

const LAYERS: usize = 12;
/// Operations of a layer.
const OPERATIONS: usize = 4;

/// A layer's weights, and the list that pairs every element with them.
struct Layer {
    weights: Tensor<f32>,
    list: PairList,
}

/// The host time of an operation in a network whose plans are all cached: layers with their own weights, on three
/// batches in turn.
fn network(bench: &mut Bench) -> Outcome<()> {
    let width = |layer: usize| 8 + layer % 3;
    let layers = (0..LAYERS).map(|layer| {
        let shape = Shape::new(&[width(layer), width(layer + 1)])?;
        Ok(Layer {
            weights: bench.device.full(&Layout::uniform(1, shape)?, 0.1)?,
            list: PairList::new((0..64).map(|element| (element, 0)))?,
        })
    });
    let layers = layers.collect::<vsla::Result<Vec<_>>>()?;
    let batches = (0..3).map(|seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let shapes = (0..64).map(|_| Shape::new(&[rng.usize(1..9), width(0)]));
        let layout = Layout::from_shapes(2, shapes.collect::<vsla::Result<Vec<_>>>()?)?;
        bench.device.full(&layout, 1.0f32)
    });
    let batches = batches.collect::<vsla::Result<Vec<_>>>()?;
    let forward = |x: &Tensor<f32>| -> vsla::Result<Tensor<f32>> {
        layers.iter().try_fold(x.clone(), |x, layer| {
            let product = x
                .pair(&layer.weights, Pairing::List(&layer.list))?
                .matmul()?;
            product.tanh()?.add(&product)?.scale(0.5)
        })
    };
    for x in &batches {
        forward(x)?;
    }
    bench.sync()?;
    let mut made = [0; 3];
    let measured = repeated(bench, |bench, _| {
        let before = bench.device.counters();
        let began = Instant::now();
        for x in &batches {
            forward(x)?;
        }
        let took = began.elapsed();
        let after = bench.device.counters();
        made[0] += after.plans - before.plans;
        made[1] += after.uploads - before.uploads;
        made[2] += after.layouts - before.layouts;
        bench.sync()?;
        Ok(took / (batches.len() * LAYERS * OPERATIONS) as u32)
    })?;
    let check = match made {
        [0, 0, 0] => Ok("no plan, upload or layout after the first round".to_owned()),
        [plans, uploads, layouts] => Err(format!(
            "{plans} plans, {uploads} uploads and {layouts} layouts after the first round"
        )),
    };
    let what = "host time of an operation: 12 layers of a listed product, tanh, add and scale";
    let data = format!("{what}, three batches of 64 in turn, seeds 0 to 2");
    let took = measured.1.wall.as_secs_f64() * 1e6;
    let (first, times, reference) = measured;
    let spec = Spec {
        name: "plan/network",
        data,
        bytes: 0,
        multiply_adds: 0,
        first,
        check,
    };
    let row = bench.row(spec, times, reference);
    let row = match bench.device.is_gpu() {
        true => row.at_most("µs each", 3.0, took),
        false => row,
    };
    bench.push(row);
    Ok(())
}

fn calibrate(bench: &mut Bench) -> Outcome<()> {
    let mut read = true;
    let measured = repeated(bench, |bench, _| {
        let began = Instant::now();
        let costs = bench.device.calibrate_conv()?;
        let took = began.elapsed();
        read &= costs.to_string().parse::<CostTable>().as_ref() == Ok(&costs);
        Ok(took)
    })?;
    let check = match read {
        true => Ok("read back alike".to_owned()),
        false => Err("a table is not read back".to_owned()),
    };
    let data = "Device::calibrate_conv, the kernels compiled".to_owned();
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
