//! Embeds lines in batches: one run of the program for each.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::fleet::{Cost, Fleet, FleetOptions};
use vsla::program::{Plan, Program};
use vsla::scalar::Float;
use vsla::{Device, Layout, Ragged, Tensor};

use crate::encoder::{Encoder, places};
use crate::published::Failure;

/// The most tokens of a batch, unless one sentence has more.
const BATCH: usize = 8192;

/// The vectors of all lines, of length 1, and the time and memory of computing them.
#[derive(Default)]
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    pub tokens: usize,
    /// The tokens of batches that are padded to their longest sentences.
    pub padded_tokens: usize,
    pub batches: usize,
    pub time: Duration,
    /// The part of `time` that recording and planning took; the sum for several devices, which plan at the same time.
    pub planning: Duration,
    /// The largest arena: the values between the tokens and the vectors.
    pub arena_bytes: u64,
    /// The bytes that this arena would take if its batch were padded, given that every value belongs to a token.
    pub padded_bytes: u64,
    /// The largest sum of the sizes of values that a batch needs at one time.
    pub live_bytes: u64,
    /// The most that a device held after any batch: weights, arena, inputs, outputs, and what it keeps for reuse. Not
    /// counted are buffers for transfers, which are in the host's memory.
    pub device_bytes: u64,
}

/// The vectors of these tokens.
pub fn embed<T: Float>(
    device: &Device,
    encoder: &Encoder<T>,
    tokens: &[Vec<u32>],
    bar: &ProgressBar,
) -> Result<Embedded, Failure> {
    let program = encoder.program(device);
    let mut all = Embedded::default();
    // What loading the weights has left.
    device.trim();
    let begun = Instant::now();
    let batches = batches(tokens);
    // The arena grows to its final size at once, so there is never an old one beside a new one.
    if let Some(most) = batches.iter().max_by_key(|batch| count(batch)) {
        let tokens = Ragged::from_rows(*most)?;
        program.reserve(&[tokens.layout(), tokens.layout()])?;
        all.planning += begun.elapsed();
    }
    for batch in batches {
        let tokens = device.upload(&Ragged::from_rows(batch)?)?;
        let places = device.upload(&places(tokens.layout())?)?;
        let (plan, vectors) = run(&program, &tokens, &places, &mut all.planning)?;
        all.vectors.extend(vectors.download_blocking()?.to_vecs()?);
        all.count(&plan, tokens.layout(), held(device));
        bar.inc(batch.len() as u64);
    }
    all.time = begun.elapsed();
    Ok(all)
}

/// The vectors of these tokens, computed by all devices at the same time.
pub fn divided<T: Float>(
    fleet: &Fleet,
    encoders: &[Encoder<T>],
    tokens: &[Vec<u32>],
    bar: &ProgressBar,
) -> Result<Embedded, Failure> {
    let of_device = |(encoder, device): (&Encoder<T>, _)| encoder.program(device);
    let programs: Vec<Program> = encoders
        .iter()
        .zip(fleet.devices())
        .map(of_device)
        .collect();
    let options = FleetOptions {
        // Tokens and places.
        range_bytes: Some(8 * BATCH as u64),
        ..FleetOptions::default()
    };
    let fleet = Fleet::with_options(fleet.devices().iter().cloned(), &options)?;
    let begun = Instant::now();
    let tokens = Ragged::from_rows(tokens)?;
    let places = places(tokens.layout())?;
    let all = Mutex::new(Embedded::default());
    let vectors = fleet.map(
        (&tokens, &places),
        Cost::values(),
        |device, (tokens, places)| {
            let mut planning = Duration::ZERO;
            let program = &programs[fleet.place(device)?];
            let (plan, vectors) = run(program, tokens, places, &mut planning)?;
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.planning += planning;
            all.count(&plan, tokens.layout(), held(device));
            bar.inc(tokens.len() as u64);
            Ok(vectors)
        },
    )?;
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Embedded {
        vectors: vectors.to_vecs()?,
        time: begun.elapsed(),
        ..all
    })
}

/// Plans and runs a batch, and adds the time of planning.
fn run(
    program: &Program,
    tokens: &Tensor<u32>,
    places: &Tensor<u32>,
    planning: &mut Duration,
) -> vsla::Result<(Plan, Tensor<f32>)> {
    let before = Instant::now();
    let plan = program.plan(&[tokens.layout(), places.layout()])?;
    *planning += before.elapsed();
    let vectors = plan.run(&[tokens, places])?.get(0)?;
    Ok((plan, vectors))
}

impl Embedded {
    /// Counts a batch of these tokens, after which the device holds so many bytes.
    fn count(&mut self, plan: &Plan, tokens: &Layout, held: u64) {
        let padded = tokens.len() * tokens.max_length();
        self.tokens += tokens.total();
        self.padded_tokens += padded;
        self.batches += 1;
        let memory = plan.report().memory;
        self.live_bytes = self.live_bytes.max(memory.largest_live);
        self.device_bytes = self.device_bytes.max(held);
        let arena = memory.arena;
        if arena > self.arena_bytes {
            self.arena_bytes = arena;
            self.padded_bytes = (arena as f64 * padded as f64 / tokens.total() as f64) as u64;
        }
    }
}

/// The tokens of these lines.
fn count(lines: &[Vec<u32>]) -> usize {
    lines.iter().map(Vec::len).sum()
}

/// The bytes that the device holds, except for buffers for transfers.
fn held(device: &Device) -> u64 {
    let memory = device.memory();
    memory.live + memory.cached + memory.leaving
}

/// Consecutive lines of at most [`BATCH`] tokens together.
fn batches(tokens: &[Vec<u32>]) -> Vec<&[Vec<u32>]> {
    let (mut all, mut begin, mut size) = (Vec::new(), 0, 0);
    for (end, line) in tokens.iter().enumerate() {
        if size + line.len() > BATCH && end > begin {
            all.push(&tokens[begin..end]);
            (begin, size) = (end, 0);
        }
        size += line.len();
    }
    if begin < tokens.len() {
        all.push(&tokens[begin..]);
    }
    all
}

/// The cosine of the angle between two vectors of length 1.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b);
    products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// The lines with the largest cosines, and these, best first; the earlier line first if they are equal.
pub fn nearest(query: &[f32], vectors: &[Vec<f32>], count: usize) -> Vec<(usize, f64)> {
    let cosines = vectors.iter().map(|vector| cosine(query, vector));
    let mut all: Vec<(usize, f64)> = cosines.enumerate().collect();
    all.sort_by(|(i, a), (j, b)| b.total_cmp(a).then(i.cmp(j)));
    all.truncate(count);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_consecutive_lines() {
        let line = |n: usize| vec![0; n];
        let tokens = [BATCH - 2, 2, 1, BATCH + 5, 3, 4].map(line);
        let sizes: Vec<usize> = batches(&tokens).iter().map(|batch| batch.len()).collect();
        assert_eq!(sizes, [2, 1, 1, 2]);
        assert!(batches(&[]).is_empty());
    }

    #[test]
    fn nearest_lines_come_first() {
        let vectors =
            [[1.0, 0.0], [0.0, 1.0], [0.8, 0.6], [0.0, 1.0]].map(|v: [f32; 2]| v.to_vec());
        let found = nearest(&[0.0, 1.0], &vectors, 3);
        let lines: Vec<usize> = found.iter().map(|&(line, _)| line).collect();
        assert_eq!((lines, found[0].1), (vec![1, 3, 2], 1.0));
    }
}
