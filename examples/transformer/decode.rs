//! Writes text: characters one by one, each drawn from the probabilities that the model gives after all earlier ones.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::attention::Cache;
use vsla::program::{Plan, Program, State};
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor};

use crate::model::{Model, Weights};
use crate::text::END;

/// Scores are divided by it: below 1, likely characters become likelier.
const TEMPERATURE: f64 = 0.8;

/// What was written after each prompt, and how fast.
pub struct Written {
    pub tokens: Vec<Vec<u32>>,
    pub time: Duration,
}

impl Written {
    /// Tokens of all pieces a second; 0 if there are none.
    pub fn a_second(&self) -> f64 {
        let tokens: usize = self.tokens.iter().map(Vec::len).sum();
        tokens as f64 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Writes `length` tokens after each prompt, all prompts in one batch. After the end of a piece, another begins.
///
/// The prompts have different lengths, and so have the pieces that grow from them. Keys and values of their characters
/// are kept: the first step reads the prompts, and each later one the last character of each piece, by one plan.
pub fn write(
    device: &Device,
    (model, weights): (Model, &Tensor<f32>),
    prompts: &[Vec<u32>],
    (length, seed): (usize, u64),
    progress: &ProgressBar,
) -> Result<Written> {
    let mut kept = Kept::new(device, (model, weights), prompts, length)?;
    grown(model.tokens, prompts, (length, seed), |pieces| {
        progress.inc(1);
        kept.next(pieces)
    })
}

/// The same text, but for rounding, without anything kept: each step computes all rows of each piece.
pub fn write_anew(
    device: &Device,
    (model, weights): (Model, &Tensor<f32>),
    prompts: &[Vec<u32>],
    of: (usize, u64),
) -> Result<Written> {
    grown(model.tokens, prompts, of, |pieces| {
        let tokens = device.upload(&Ragged::from_rows(pieces)?)?;
        let scores = model.next(&tokens, &Weights(weights), None)?;
        scores.download_blocking()
    })
}

/// Pieces that grow from prompts by what is drawn from scores: a row of scores of all tokens for each piece.
fn grown(
    tokens: usize,
    prompts: &[Vec<u32>],
    (length, seed): (usize, u64),
    mut scores_of: impl FnMut(&[Vec<u32>]) -> Result<Ragged<f32>>,
) -> Result<Written> {
    let begun = Instant::now();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut pieces: Vec<Vec<u32>> = prompts
        .iter()
        .map(|prompt| [&[END], &prompt[..]].concat())
        .collect();
    let mut written = vec![Vec::with_capacity(length); prompts.len()];
    for _ in 0..length {
        let scores = scores_of(&pieces)?;
        let rows = scores.values().chunks_exact(tokens);
        for ((piece, written), scores) in pieces.iter_mut().zip(&mut written).zip(rows) {
            let token = drawn(scores, random.f64());
            written.push(token);
            if token == END {
                piece.clear();
            }
            piece.push(token);
        }
    }
    Ok(Written {
        tokens: written,
        time: begun.elapsed(),
    })
}

/// The keys and values of all characters of each piece so far, and the program of a step.
struct Kept<'a> {
    device: &'a Device,
    weights: &'a Tensor<f32>,
    program: Program,
    /// The plan of the last step, and the layout of the tokens that it reads.
    plan: Option<(Layout, Plan)>,
    /// One for each layer.
    caches: Vec<Cache<f32>>,
}

impl<'a> Kept<'a> {
    /// Room for each prompt, the token before it, and `length` tokens behind it.
    fn new(
        device: &'a Device,
        (model, weights): (Model, &'a Tensor<f32>),
        prompts: &[Vec<u32>],
        length: usize,
    ) -> Result<Kept<'a>> {
        let rows = prompts.iter().map(|prompt| 1 + prompt.len() + length);
        let shapes = rows.map(|rows| Shape::new(&[rows, model.width]));
        let room = Layout::from_shapes(2, shapes.collect::<Result<Vec<Shape>>>()?)?;
        let caches = (0..model.layers).map(|_| Cache::new(device, &room, &room));
        Ok(Kept {
            device,
            weights,
            program: step(device, model),
            plan: None,
            caches: caches.collect::<Result<_>>()?,
        })
    }

    /// The scores of all tokens as the next of each piece. A piece has grown since the last call, or begun anew.
    fn next(&mut self, pieces: &[Vec<u32>]) -> Result<Ragged<f32>> {
        let counts = self.caches[0].counts().iter().zip(pieces);
        let (mut kept, mut begins_anew) = (Vec::with_capacity(pieces.len()), false);
        for (&count, piece) in counts {
            let goes_on = (count as usize) < piece.len();
            begins_anew |= !goes_on;
            kept.push(if goes_on { count as usize } else { 0 });
        }
        if begins_anew {
            for cache in &mut self.caches {
                *cache = Cache::with_lengths(cache.keys().clone(), cache.values().clone(), &kept)?;
            }
        }
        let new = pieces.iter().zip(kept).map(|(piece, kept)| &piece[kept..]);
        let tokens = self.device.upload(&Ragged::from_rows(new)?)?;
        let plan = match self.plan.take() {
            Some((layout, plan)) if layout == *tokens.layout() => plan,
            _ => {
                let mut layouts = vec![tokens.layout(), self.weights.layout()];
                layouts.extend(self.caches.iter().flat_map(Cache::layouts));
                self.program.plan(&layouts)?
            }
        };
        let caches = self.caches.iter_mut().map(|cache| cache as &mut dyn State);
        let mut caches: Vec<&mut dyn State> = caches.collect();
        let out = plan.run_with(&[&tokens, self.weights], &mut caches)?;
        self.plan = Some((tokens.layout().clone(), plan));
        let scores: Tensor<f32> = out.get(0)?;
        scores.download_blocking()
    }
}

/// Inputs: the new tokens of each piece, the weights, and a cache for each layer. Output: the scores of the next token
/// of each piece.
fn step(device: &Device, model: Model) -> Program {
    Program::new(device, move |r| {
        let (tokens, weights) = (r.input()?, r.input()?);
        let caches = (0..model.layers).map(|_| r.cache());
        let mut caches: Vec<Cache<f32>> = caches.collect::<Result<_>>()?;
        r.output(&model.next(&tokens, &Weights(&weights), Some(&mut caches))?)
    })
}

/// Draws a token: the one at position `part`, from 0 to below 1, of the cumulative probabilities of all tokens.
fn drawn(scores: &[f32], part: f64) -> u32 {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weight = |score: &f32| (f64::from(score - largest) / TEMPERATURE).exp();
    let mut left = part * scores.iter().map(weight).sum::<f64>();
    for (score, token) in scores.iter().zip(0..) {
        left -= weight(score);
        if left < 0.0 {
            return token;
        }
    }
    // Rounding may leave a small remainder.
    scores.len() as u32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_drawn_by_their_probabilities() {
        let scores = [0.0, 8f32.ln() * 0.8, f32::NEG_INFINITY, 0.0];
        let drawn = [0.0, 0.099, 0.101, 0.899, 0.901, 0.999_999].map(|part| drawn(&scores, part));
        assert_eq!(drawn, [0, 0, 1, 1, 3, 3]);
    }
}
