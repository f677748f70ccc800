//! Training: one program, which is planned for each batch of pieces and runs on the device as a whole.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::program::Program;
use vsla::{Device, Ragged, Tensor};

use crate::adam::{Adam, rate};
use crate::model::{Model, Weights};
use crate::text::Pieces;

/// Pieces of one step.
const BATCH: usize = 12;
/// The largest rate. It grows for the first steps, and then falls to 0 along half a cosine wave.
const RATE: f64 = 4e-3;
/// Steps in which the rate grows, if there are ten times as many in all.
const GROWS: usize = 20;
/// Points of the curve of losses.
const POINTS: usize = 40;

/// The losses at some step, in nats for each character.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    pub step: usize,
    /// The mean of the steps since the point before, each before its step.
    pub train: f64,
    pub validation: f64,
}

/// A trained model, and the time and memory of its training.
pub struct Trained {
    pub weights: Tensor<f32>,
    pub points: Vec<Point>,
    /// Characters that steps have predicted.
    pub characters: usize,
    pub time: Duration,
    /// The part of `time` that plans took.
    pub planning: Duration,
    /// The largest arena: the values between inputs and outputs of a step, gradients included.
    pub arena_bytes: u64,
    /// The bytes that these values would take if each batch were padded to its longest piece.
    pub padded_bytes: u64,
}

/// One step, forward and backward, and the optimizer.
///
/// Inputs: tokens, the tokens that follow them, rates, the three batches of [`Adam`], the losses so far. Outputs: the
/// last four.
fn step(device: &Device, model: Model) -> Program {
    Program::new(device, move |r| {
        let (tokens, targets, rates) = (r.input()?, r.input()?, r.input()?);
        let adam = Adam {
            weights: r.input()?,
            mean: r.input()?,
            square: r.input()?,
        };
        let so_far: Tensor<f32> = r.input()?;
        let losses = model.losses((&tokens, &targets), &Weights(&adam.weights))?;
        let [gradient] = r.gradients(&losses.mean()?, [&adam.weights])?;
        let next = adam.step(&gradient, &rates)?;
        for output in [&next.weights, &next.mean, &next.square] {
            r.output(output)?;
        }
        r.output(&so_far.add(&losses.sum()?)?)
    })
}

/// All tokens of pieces but the last, all but the first, and how many there are of each.
fn shifted<'a>(
    device: &Device,
    pieces: impl Iterator<Item = &'a Vec<u32>> + Clone,
) -> vsla::Result<(Tensor<u32>, Tensor<u32>, usize)> {
    let tokens = Ragged::from_rows(pieces.clone().map(|piece| &piece[..piece.len() - 1]))?;
    let targets = Ragged::from_rows(pieces.map(|piece| &piece[1..]))?;
    let characters = tokens.values().len();
    Ok((
        device.upload(&tokens)?,
        device.upload(&targets)?,
        characters,
    ))
}

/// The mean loss of each character of these pieces, in batches as those of a step.
pub fn loss(
    device: &Device,
    (model, weights): (Model, &Tensor<f32>),
    pieces: &[Vec<u32>],
) -> vsla::Result<f64> {
    let (mut sum, mut all) = (0.0, 0);
    for some in pieces.chunks(BATCH) {
        let (tokens, targets, characters) = shifted(device, some.iter())?;
        let losses = model.losses((&tokens, &targets), &Weights(weights))?;
        sum += f64::from(losses.sum()?.download_blocking()?.values()[0]);
        all += characters;
    }
    Ok(sum / all as f64)
}

/// Trains a model for some steps, on batches of pieces in a new random order for each pass over all pieces.
pub fn train(
    device: &Device,
    (model, pieces): (Model, &Pieces),
    (steps, seed): (usize, u64),
    progress: &ProgressBar,
) -> Result<Trained, Box<dyn Error>> {
    let program = step(device, model);
    let mut adam = Adam::new(model.initial(device, seed)?)?;
    let nothing = device.upload(&Ragged::from_rows([[0.0f32]])?)?;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut order: Vec<usize> = Vec::new();
    let every = steps.div_ceil(POINTS);
    let (mut points, mut so_far, mut since, mut all) = (Vec::new(), nothing.clone(), 0, 0);
    let (mut planning, mut arena_bytes, mut padded_bytes) = (Duration::ZERO, 0, 0);
    let begun = Instant::now();
    for done in 1..=steps {
        if order.is_empty() {
            order = (0..pieces.train.len()).collect();
            random.shuffle(&mut order);
        }
        let batch = order.split_off(order.len().saturating_sub(BATCH));
        let (tokens, targets, characters) =
            shifted(device, batch.iter().map(|&i| &pieces.train[i]))?;
        let rates = vec![[rate(RATE * wave(done, steps), done)]; adam.weights.len()];
        let rates = device.upload(&Ragged::from_rows(rates)?)?;

        let Adam {
            weights,
            mean,
            square,
        } = &adam;
        let before = Instant::now();
        let plan = program.plan(&[
            tokens.layout(),
            targets.layout(),
            rates.layout(),
            weights.layout(),
            mean.layout(),
            square.layout(),
            so_far.layout(),
        ])?;
        planning += before.elapsed();
        arena_bytes = plan.report().memory.arena.max(arena_bytes);
        padded_bytes = plan.report().memory.padded.max(padded_bytes);

        let out = plan.run(&[&tokens, &targets, &rates, weights, mean, square, &so_far])?;
        adam = Adam {
            weights: out.get(0)?,
            mean: out.get(1)?,
            square: out.get(2)?,
        };
        so_far = out.get(3)?;
        (since, all) = (since + characters, all + characters);
        if done % every == 0 || done == steps {
            // Only here are values read. Until then, the host runs ahead of the device.
            let train = f64::from(so_far.download_blocking()?.values()[0]) / since as f64;
            if !train.is_finite() {
                return Err(format!("the loss of step {done} is {train}").into());
            }
            let validation = loss(device, (model, &adam.weights), &pieces.validation)?;
            points.push(Point {
                step: done,
                train,
                validation,
            });
            (so_far, since) = (nothing.clone(), 0);
            progress.set_message(format!("loss {train:.3}, {validation:.3} held out, steps"));
        }
        progress.inc(1);
    }
    Ok(Trained {
        weights: adam.weights,
        points,
        characters: all,
        time: begun.elapsed(),
        planning,
        arena_bytes,
        padded_bytes,
    })
}

/// The part of the largest rate that a step has, counted from 1.
fn wave(done: usize, steps: usize) -> f64 {
    let grows = GROWS.min(steps / 10);
    let fallen = done.saturating_sub(grows) as f64 / (steps - grows + 1) as f64;
    let growing = (done as f64 / (grows + 1) as f64).min(1.0);
    growing * (0.5 + 0.5 * (std::f64::consts::PI * fallen).cos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_grow_and_fall() {
        assert!(wave(1, 1) > 0.0);
        let all: Vec<f64> = (1..=400).map(|done| wave(done, 400)).collect();
        assert!(all[..GROWS].is_sorted() && all[GROWS..].iter().rev().is_sorted());
        assert!(all.iter().all(|&part| part > 0.0 && part <= 1.0), "{all:?}");
        assert!(all[GROWS] > 0.99 && all[399] < 1e-3);
    }
}
