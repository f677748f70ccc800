//! Writes text: characters one by one, each drawn from the probabilities that the model gives after all earlier ones.

use vsla::{Device, Ragged, Result, Tensor};

use crate::model::{Model, Weights};
use crate::text::END;

/// Scores are divided by it: below 1, likely characters become likelier.
const TEMPERATURE: f64 = 0.8;

/// Writes `length` tokens after each prompt, all prompts in one batch. After the end of a piece, another begins.
///
/// The prompts have different lengths, and so have the pieces that grow from them.
pub fn write(
    device: &Device,
    (model, weights): (Model, &Tensor<f32>),
    prompts: &[Vec<u32>],
    (length, seed): (usize, u64),
) -> Result<Vec<Vec<u32>>> {
    let mut random = fastrand::Rng::with_seed(seed);
    let begun = prompts.iter().map(|prompt| [&[END], &prompt[..]].concat());
    let mut pieces: Vec<Vec<u32>> = begun.collect();
    let mut written = vec![Vec::with_capacity(length); prompts.len()];
    for _ in 0..length {
        let tokens = device.upload(&Ragged::from_rows(&pieces)?)?;
        let scores = model
            .next(&tokens, &Weights(weights))?
            .download_blocking()?;
        let rows = scores.values().chunks_exact(model.tokens);
        for ((piece, written), scores) in pieces.iter_mut().zip(&mut written).zip(rows) {
            let token = drawn(scores, random.f64());
            written.push(token);
            if token == END {
                piece.clear();
            }
            piece.push(token);
        }
    }
    Ok(written)
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
