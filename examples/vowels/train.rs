//! Training: programs, which are planned for each batch of recordings and run on the device as a whole.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::fleet::{DataParallel, Fleet};
use vsla::program::{Program, Recording};
use vsla::{Device, Layout, Ragged, Shape, Tensor};

use crate::adam::{Adam, rate};
use crate::data::Scale;
use crate::net::{Net, parts, scores};
use crate::ts::Dataset;

/// Recordings of one step.
const BATCH: usize = 30;
/// The most parts of a batch whose gradients are computed alone, for several devices.
const SHARDS: usize = 4;
/// The rate of the first step; it falls to 0 along half a cosine wave.
const RATE: f64 = 3e-3;

/// A trained network, and the time and memory of its training.
pub struct Trained {
    pub weights: Tensor<f32>,
    /// The mean loss of each epoch's recordings, each before its step.
    pub losses: Vec<f32>,
    pub steps: usize,
    pub time: Duration,
    /// A step without planning: the mean of an epoch, and the median of all epochs. With planning, for several devices.
    pub step: Duration,
    /// None for several devices, each of which plans its own part.
    pub planned: Option<Planned>,
}

/// What planning the steps took, and what the plans say.
#[derive(Default)]
pub struct Planned {
    pub time: Duration,
    /// The largest arena: the values between inputs and outputs of a step, gradients included.
    pub arena_bytes: u64,
    /// The same if all recordings of a batch were as long as its longest one.
    pub padded_bytes: u64,
}

/// Where to train.
#[derive(Clone, Copy)]
pub enum On<'a> {
    One(&'a Device),
    /// With parts of each batch whose number does not depend on that of the devices.
    Fleet(&'a Fleet),
}

/// A step's recordings, their classes, and the optimizer's rates.
struct Batch {
    x: Ragged<f32>,
    /// A row of one for each recording.
    classes: Ragged<u32>,
    rates: Ragged<f32>,
}

/// The losses of recordings. Inputs: recordings and their classes.
fn losses(r: &mut Recording, weights: &Tensor<f32>) -> vsla::Result<Tensor<f32>> {
    let (x, classes) = (r.input()?, r.input::<u32>()?);
    scores(&x, &parts(weights)?)?.cross_entropy(&classes.packed()?)
}

/// Training on one device: a step, forward and backward, and the optimizer, is one program.
///
/// Inputs: the three batches of [`Adam`], recordings, classes, rates, the loss so far. Outputs: the next [`Adam`] and
/// the next loss.
struct Whole {
    program: Program,
    adam: Adam,
    planned: Planned,
    /// The largest layout of a padded batch.
    padded: Layout,
}

impl Whole {
    fn new(device: &Device, weights: Tensor<f32>) -> vsla::Result<Whole> {
        Ok(Whole {
            program: Whole::program(device),
            adam: Adam::new(weights)?,
            planned: Planned::default(),
            padded: Layout::from_shapes(2, [])?,
        })
    }

    fn program(device: &Device) -> Program {
        Program::new(device, |r| {
            let adam = Adam {
                weights: r.input()?,
                mean: r.input()?,
                square: r.input()?,
            };
            let losses = losses(r, &adam.weights)?;
            let (rates, so_far) = (r.input()?, r.input::<f32>()?);
            // Of the sum of all losses. Adam's steps do not depend on the scale of gradients.
            let [gradient] = r.gradients(&losses, [&adam.weights])?;
            let next = adam.step(&gradient, &rates)?;
            for output in [&next.weights, &next.mean, &next.square] {
                r.output(output)?;
            }
            r.output(&so_far.add(&losses.sum()?)?)
        })
    }

    /// Trains with a batch. Returns the loss so far with that of the batch.
    fn step(&mut self, batch: &Batch, so_far: &Tensor<f32>) -> vsla::Result<Tensor<f32>> {
        let Adam {
            weights,
            mean,
            square,
        } = &self.adam;
        let device = weights.device();
        let (x, classes) = (device.upload(&batch.x)?, device.upload(&batch.classes)?);
        let rates = device.upload(&batch.rates)?;
        let before = Instant::now();
        let plan = self.program.plan(&[
            weights.layout(),
            mean.layout(),
            square.layout(),
            x.layout(),
            classes.layout(),
            rates.layout(),
            so_far.layout(),
        ])?;
        self.planned.time += before.elapsed();
        self.planned.arena_bytes = plan.report().memory.arena.max(self.planned.arena_bytes);
        let longest = x.layout().shapes().max_by_key(Shape::size);
        let all = Layout::uniform(x.len(), longest.unwrap_or(Shape::new(&[0, 0])?))?;
        if all.total() > self.padded.total() {
            self.padded = all;
        }
        let out = plan.run(&[weights, mean, square, &x, &classes, &rates, so_far])?;
        self.adam = Adam {
            weights: out.get(0)?,
            mean: out.get(1)?,
            square: out.get(2)?,
        };
        out.get(3)
    }

    /// The arena of a step of padded recordings. Planned by a separate program, so that it does not enlarge another
    /// program's arena.
    fn padded_bytes(&self) -> vsla::Result<u64> {
        let weights = self.adam.weights.layout();
        let [classes, rates] =
            [self.padded.len(), weights.len()].map(|count| Layout::from_lengths(vec![1; count]));
        let one = Layout::from_lengths([1])?;
        let inputs = [
            weights,
            weights,
            weights,
            &self.padded,
            &classes?,
            &rates?,
            &one,
        ];
        let program = Whole::program(self.adam.weights.device());
        Ok(program.plan(&inputs)?.report().memory.arena)
    }
}

/// Training on several devices: programs for the gradient and for the optimizer on each.
fn divided(fleet: &Fleet, weights: &Tensor<f32>, least: usize) -> vsla::Result<DataParallel> {
    let weights = weights.download_blocking()?;
    let zeros = Ragged::zeros(weights.layout())?;
    // As many parts as the smallest batch has recordings, to a power of two.
    let shards = SHARDS.min(1 << least.ilog2());
    DataParallel::new(
        fleet,
        shards,
        &[&weights],
        &[&zeros, &zeros],
        |r, weights| losses(r, &weights[0]),
        |r, state, gradients| {
            let adam = Adam {
                weights: state[0].clone(),
                mean: state[1].clone(),
                square: state[2].clone(),
            };
            let rates = r.input()?;
            let next = adam.step(&gradients[0], &rates)?;
            Ok(vec![next.weights, next.mean, next.square])
        },
    )
}

/// What a step runs on.
enum Steps {
    Whole(Box<Whole>),
    Divided(DataParallel),
}

impl Steps {
    fn new(on: On<'_>, weights: Tensor<f32>, least: usize) -> vsla::Result<Steps> {
        Ok(match on {
            On::One(device) => Steps::Whole(Box::new(Whole::new(device, weights)?)),
            On::Fleet(fleet) => Steps::Divided(divided(fleet, &weights, least)?),
        })
    }

    /// Trains with a batch. Returns the loss so far with that of the batch.
    fn step(&mut self, batch: &Batch, so_far: &Tensor<f32>) -> vsla::Result<Tensor<f32>> {
        match self {
            Steps::Whole(whole) => whole.step(batch, so_far),
            Steps::Divided(steps) => {
                let mean = steps.step((&batch.x, &batch.classes), &[&batch.rates])?;
                so_far.add(&mean.scale(batch.x.len() as f32)?)
            }
        }
    }

    /// The part of the time so far that is known to be that of planning.
    fn planning(&self) -> Duration {
        match self {
            Steps::Whole(whole) => whole.planned.time,
            Steps::Divided(_) => Duration::ZERO,
        }
    }

    fn finished(self, device: &Device) -> vsla::Result<(Tensor<f32>, Option<Planned>)> {
        match self {
            Steps::Whole(whole) => {
                let padded_bytes = whole.padded_bytes()?;
                let planned = Planned {
                    padded_bytes,
                    ..whole.planned
                };
                Ok((whole.adam.weights, Some(planned)))
            }
            Steps::Divided(steps) => Ok((steps.state(device)?[0].clone(), None)),
        }
    }
}

/// Trains a network on all recordings for some epochs, in batches of a new random order for each.
pub fn train(
    on: On<'_>,
    (data, scale): (&Dataset, &Scale),
    (epochs, seed): (usize, u64),
    progress: &ProgressBar,
) -> Result<Trained, Box<dyn Error>> {
    let net = Net {
        channels: data.channels,
        classes: data.labels.len(),
    };
    let count = data.series.len();
    let device = match on {
        On::One(device) => device,
        On::Fleet(fleet) => &fleet.devices()[0],
    };
    let weights = net.weights(device, seed)?;
    let rows = weights.len();
    let mut on = Steps::new(on, weights, (count - 1) % BATCH + 1)?;
    let nothing = device.upload(&Ragged::from_rows([[0.0f32]])?)?;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut order: Vec<usize> = (0..count).collect();
    let steps = epochs * count.div_ceil(BATCH);
    let (mut done, mut losses, mut times) = (0, Vec::new(), Vec::new());
    let begun = Instant::now();
    for epoch in 1..=epochs {
        random.shuffle(&mut order);
        let mut loss = nothing.clone();
        let (started, planned) = (Instant::now(), on.planning());
        for which in order.chunks(BATCH) {
            let wave = 0.5 + 0.5 * (std::f64::consts::PI * done as f64 / steps as f64).cos();
            done += 1;
            let batch = Batch {
                x: scale.batch(data, which)?,
                classes: Ragged::from_rows(which.iter().map(|&i| [data.classes[i] as u32]))?,
                rates: Ragged::from_rows(vec![[rate(RATE * wave, done)]; rows])?,
            };
            loss = on.step(&batch, &loss)?;
        }
        // The only value that is read. Until here, the host runs ahead of one device.
        let loss = loss.download_blocking()?.values()[0] / count as f32;
        if !loss.is_finite() {
            return Err(format!("the loss of epoch {epoch} is {loss}").into());
        }
        losses.push(loss);
        let batches = count.div_ceil(BATCH) as u32;
        times.push((started.elapsed() - (on.planning() - planned)) / batches);
        progress.set_message(format!("loss {loss:.3}, epochs"));
        progress.inc(1);
    }
    times.sort_unstable();
    let time = begun.elapsed();
    let (weights, planned) = on.finished(device)?;
    Ok(Trained {
        weights,
        losses,
        steps,
        time,
        step: times[times.len() / 2],
        planned,
    })
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
