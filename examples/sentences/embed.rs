//! Embeds lines in batches: one run of the program for each.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::scalar::Float;
use vsla::{Device, Ragged};

use crate::encoder::{Encoder, places};
use crate::published::Failure;

/// The most tokens of a batch, unless one sentence has more.
const BATCH: usize = 8192;

/// The vectors of all lines, of length 1, and the time and memory of computing them.
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    pub tokens: usize,
    /// The tokens of batches that are padded to their longest sentences.
    pub padded_tokens: usize,
    pub batches: usize,
    pub time: Duration,
    /// The part of `time` that recording and planning took.
    pub planning: Duration,
    /// The largest arena: the values between the tokens and the vectors.
    pub arena_bytes: u64,
    /// The bytes that this arena would take if its batch were padded, given that every value belongs to a token.
    pub padded_bytes: u64,
    /// The largest sum of the sizes of values that a batch needs at one time.
    pub live_bytes: u64,
    /// The most that the device held after any batch: weights, arena, inputs, outputs, and what it keeps for reuse. Not
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
    let mut all = Embedded {
        vectors: Vec::with_capacity(tokens.len()),
        tokens: 0,
        padded_tokens: 0,
        batches: 0,
        time: Duration::ZERO,
        planning: Duration::ZERO,
        arena_bytes: 0,
        padded_bytes: 0,
        live_bytes: 0,
        device_bytes: 0,
    };
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
        let before = Instant::now();
        let plan = program.plan(&[tokens.layout(), places.layout()])?;
        all.planning += before.elapsed();
        let vectors = plan.run(&[&tokens, &places])?.get::<f32>(0)?;
        all.vectors.extend(vectors.download_blocking()?.to_vecs()?);

        let real = count(batch);
        let padded = batch.len() * batch.iter().map(Vec::len).max().unwrap_or_default();
        all.tokens += real;
        all.padded_tokens += padded;
        all.batches += 1;
        let memory = plan.report().memory;
        all.live_bytes = all.live_bytes.max(memory.largest_live);
        all.device_bytes = all.device_bytes.max(held(device));
        let arena = memory.arena;
        if arena > all.arena_bytes {
            all.arena_bytes = arena;
            all.padded_bytes = (arena as f64 * padded as f64 / real as f64) as u64;
        }
        bar.inc(batch.len() as u64);
    }
    all.time = begun.elapsed();
    Ok(all)
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
