//! Training: one program, which is planned for each batch of recordings and runs on the device as a whole.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::program::Program;
use vsla::{Device, Layout, Ragged, Shape, Tensor};

use crate::adam::{Adam, rate};
use crate::data::Scale;
use crate::net::{Net, parts, scores};
use crate::ts::Dataset;

/// Recordings of one step.
const BATCH: usize = 30;
/// The rate of the first step; it falls to 0 along half a cosine wave.
const RATE: f64 = 3e-3;

/// A trained network, and the time and memory of its training.
pub struct Trained {
    pub weights: Tensor<f32>,
    /// The mean loss of each epoch's recordings, each before its step.
    pub losses: Vec<f32>,
    pub steps: usize,
    pub time: Duration,
    /// The part of `time` that plans took.
    pub planning: Duration,
    /// A step without planning: the mean of an epoch, and the median of all epochs.
    pub step: Duration,
    /// The largest arena: the values between inputs and outputs of a step, gradients included.
    pub arena_bytes: u64,
    /// The same if all recordings of a batch were as long as its longest one.
    pub padded_bytes: u64,
}

/// One step, forward and backward, and the optimizer.
///
/// Inputs: recordings, classes, rates, the three batches of [`Adam`], the loss so far. Outputs: the last four.
fn step(device: &Device) -> Program {
    Program::new(device, |r| {
        let (x, classes, rates) = (r.input()?, r.input()?, r.input()?);
        let adam = Adam {
            weights: r.input()?,
            mean: r.input()?,
            square: r.input()?,
        };
        let so_far: Tensor<f32> = r.input()?;
        let losses = scores(&x, &parts(&adam.weights)?)?.cross_entropy(&classes)?;
        // Of the sum of all losses. Adam's steps do not depend on the scale of gradients.
        let [gradient] = r.gradients(&losses, [&adam.weights])?;
        let next = adam.step(&gradient, &rates)?;
        for output in [&next.weights, &next.mean, &next.square] {
            r.output(output)?;
        }
        r.output(&so_far.add(&losses.sum()?)?)
    })
}

/// Trains a network on all recordings for some epochs, in batches of a new random order for each.
pub fn train(
    device: &Device,
    (data, scale): (&Dataset, &Scale),
    (epochs, seed): (usize, u64),
    progress: &ProgressBar,
) -> Result<Trained, Box<dyn Error>> {
    let net = Net {
        channels: data.channels,
        classes: data.labels.len(),
    };
    let program = step(device);
    let mut adam = Adam::new(net.weights(device, seed)?)?;
    let nothing = device.upload(&Ragged::from_rows([[0.0f32]])?)?;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut order: Vec<usize> = (0..data.series.len()).collect();
    let steps = epochs * order.len().div_ceil(BATCH);
    let (mut done, mut losses, mut times) = (0, Vec::new(), Vec::new());
    let (mut planning, mut arena_bytes) = (Duration::ZERO, 0);
    let mut padded = Layout::from_shapes(2, [])?;
    let begun = Instant::now();
    for epoch in 1..=epochs {
        random.shuffle(&mut order);
        let mut loss = nothing.clone();
        let (started, planned) = (Instant::now(), planning);
        for which in order.chunks(BATCH) {
            let x = device.upload(&scale.batch(data, which)?)?;
            let classes = which.iter().map(|&i| data.classes[i] as u32);
            let classes = device.upload(&Ragged::from_rows([classes.collect::<Vec<u32>>()])?)?;
            let wave = 0.5 + 0.5 * (std::f64::consts::PI * done as f64 / steps as f64).cos();
            done += 1;
            let rates = vec![[rate(RATE * wave, done)]; adam.weights.len()];
            let rates = device.upload(&Ragged::from_rows(rates)?)?;

            let Adam {
                weights,
                mean,
                square,
            } = &adam;
            let before = Instant::now();
            let plan = program.plan(&[
                x.layout(),
                classes.layout(),
                rates.layout(),
                weights.layout(),
                mean.layout(),
                square.layout(),
                loss.layout(),
            ])?;
            planning += before.elapsed();
            arena_bytes = plan.report().memory.arena.max(arena_bytes);
            let longest = x.layout().shapes().max_by_key(Shape::size);
            let all = Layout::uniform(which.len(), longest.unwrap_or(Shape::new(&[0, 0])?))?;
            if all.total() > padded.total() {
                padded = all;
            }

            let out = plan.run(&[&x, &classes, &rates, weights, mean, square, &loss])?;
            adam = Adam {
                weights: out.get(0)?,
                mean: out.get(1)?,
                square: out.get(2)?,
            };
            loss = out.get(3)?;
        }
        // The only value that is read. Until here, the host runs ahead of the device.
        let loss = loss.download_blocking()?.values()[0] / order.len() as f32;
        if !loss.is_finite() {
            return Err(format!("the loss of epoch {epoch} is {loss}").into());
        }
        losses.push(loss);
        let batches = order.len().div_ceil(BATCH) as u32;
        times.push((started.elapsed() - (planning - planned)) / batches);
        progress.set_message(format!("loss {loss:.3}, epochs"));
        progress.inc(1);
    }
    times.sort_unstable();
    let time = begun.elapsed();
    Ok(Trained {
        padded_bytes: padded_bytes(device, &padded, &adam, &nothing)?,
        weights: adam.weights,
        losses,
        steps,
        time,
        planning,
        step: times[times.len() / 2],
        arena_bytes,
    })
}

/// The arena of a step for these recordings. Planned by a separate program, so that it does not enlarge another
/// program's arena.
fn padded_bytes(
    device: &Device,
    recordings: &Layout,
    adam: &Adam,
    loss: &Tensor<f32>,
) -> vsla::Result<u64> {
    let classes = Layout::from_lengths([recordings.len()])?;
    let rates = Layout::from_lengths(vec![1; adam.weights.len()])?;
    let weights = adam.weights.layout();
    let inputs = [
        recordings,
        &classes,
        &rates,
        weights,
        weights,
        weights,
        loss.layout(),
    ];
    Ok(step(device).plan(&inputs)?.report().memory.arena)
}

/// The most probable class of each recording, as the index of a label of the training file.
pub fn predict(
    device: &Device,
    (data, scale): (&Dataset, &Scale),
    weights: &Tensor<f32>,
) -> vsla::Result<Vec<usize>> {
    /// Recordings of one call, so that a large file needs little memory.
    const CALL: usize = 512;
    let all: Vec<usize> = (0..data.series.len()).collect();
    let mut predicted = Vec::with_capacity(all.len());
    let parts = parts(weights)?;
    for which in all.chunks(CALL) {
        let x = device.upload(&scale.batch(data, which)?)?;
        let best = scores(&x, &parts)?.argmax_axis(1)?.download_blocking()?;
        predicted.extend(best.values().iter().map(|&class| class as usize));
    }
    Ok(predicted)
}
