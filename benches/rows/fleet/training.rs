//! A step of training: the gradients of shards, which are added, and the optimizer.

use std::time::{Duration, Instant};

use vsla::fleet::{DataParallel, Fleet};
use vsla::product::Activation;
use vsla::{Layout, Pairing, Ragged, Result, Shape, Tensor};

use super::{Equals, Walls, all, runs, same};
use crate::harness::{Bench, Outcome, Summary, lengths, wait};

/// The parts of a batch.
const SHARDS: usize = 8;
/// The widths of the network: 11 million weights.
const WIDTHS: [usize; 4] = [1024, 4096, 1024, 2560];

pub fn rows(bench: &mut Bench, equals: &mut Equals) -> Outcome<()> {
    let name = "fleet/training-step";
    if !bench.wants(name) {
        return Ok(());
    }
    let fleets = equals.fleets(bench, None)?;
    let (widths, sequences) = match bench.size.quick || !bench.device.is_gpu() {
        true => (WIDTHS.map(|width| width / 16), 16),
        false => (WIDTHS, 128),
    };
    let lengths = lengths::uniform(106, sequences, 64..=512);
    let tokens: usize = lengths.iter().sum();
    let shapes = lengths
        .iter()
        .map(|&length| Shape::new(&[length, widths[0]]));
    let layout = Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)?;
    let x = Ragged::<f32>::random(&layout, 107)?;
    let layers = widths.windows(2).map(Shape::new);
    let layout = Layout::from_shapes(2, layers.collect::<Result<Vec<_>>>()?)?;
    let weights = Ragged::<f32>::random(&layout, 108)?.cast(|value| 0.02 * value - 0.01)?;
    let mut first = None;
    let (walls, reference) = bench.beside(|bench| {
        let mut walls = Walls {
            of: Vec::new(),
            check: Ok(String::new()),
        };
        let mut expected = None;
        for fleet in &fleets {
            let count = fleet.devices().len();
            let (began, wall, got) = trained(fleet, &x, &weights, runs(bench))?;
            first.get_or_insert(began);
            walls.of.push((count, wall));
            let check = same(&got, expected.get_or_insert(got.clone()));
            let check = check.map_err(|problem| format!("on {count} devices, {problem}"));
            walls.check = walls.check.and(check);
        }
        Ok(walls)
    })?;
    let data = format!(
        "{sequences} sequences of 64 to 512 tokens, uniform, {tokens} in all, seed 106; {} MB of weights, in {SHARDS} \
         shards, on {} devices",
        4 * weights.values().len() / 1_000_000,
        all(&fleets).devices().len()
    );
    let times = (first.unwrap_or_default(), reference);
    let row = walls.row(bench, (name, data), times, None);
    bench.push(row.note("MB of weights", 4e-6 * weights.values().len() as f64));
    Ok(())
}

/// The time of the first step and of those after it, and the weights after all.
fn trained(
    fleet: &Fleet,
    x: &Ragged<f32>,
    weights: &Ragged<f32>,
    runs: usize,
) -> Outcome<(Duration, Summary, Ragged<f32>)> {
    let mut training = DataParallel::new(
        fleet,
        SHARDS,
        &[weights],
        &[&Ragged::zeros(weights.layout())?],
        |r, weights| {
            let mut x: Tensor<f32> = r.input()?;
            for layer in 0..weights[0].len() {
                let matrix = weights[0].elements(layer..layer + 1)?;
                let product = x.pair(&matrix, Pairing::AllToAll)?.product();
                x = product.activation(Activation::Relu).run()?;
            }
            x.dot(&x)
        },
        |_, state, gradients| {
            let momentum = state[1].scale(0.9)?.add(&gradients[0])?;
            Ok(vec![state[0].sub(&momentum.scale(1e-6)?)?, momentum])
        },
    )?;
    let mut walls = Vec::new();
    for _ in 0..=runs {
        let began = Instant::now();
        training.step(x, &[])?;
        fleet.devices().iter().try_for_each(wait)?;
        walls.push(began.elapsed());
    }
    let first = walls.remove(0);
    let state = training.state(&fleet.devices()[0])?;
    Ok((first, Summary::of(walls), state[0].download_blocking()?))
}
