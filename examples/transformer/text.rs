//! Text as tokens, a number for each character, and what counting characters can predict.

use std::collections::{BTreeSet, HashMap};

/// The token before and after each piece of text.
pub const END: u32 = 0;
/// One in this many pieces is held out for validation.
const HELD_OUT: usize = 10;

/// The characters of a text, which are tokens from 1 on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vocabulary(Vec<char>);

impl Vocabulary {
    pub fn of(lines: &[String]) -> Vocabulary {
        let all: BTreeSet<char> = lines.iter().flat_map(|line| line.chars()).collect();
        Vocabulary(all.into_iter().collect())
    }

    /// The number of tokens, [`END`] included.
    pub fn len(&self) -> usize {
        self.0.len() + 1
    }

    /// The tokens of a text.
    ///
    /// # Errors
    /// The first character that is not one of the vocabulary.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>, char> {
        let token = |c: char| match self.0.binary_search(&c) {
            Ok(place) => Ok(place as u32 + 1),
            Err(_) => Err(c),
        };
        text.chars().map(token).collect()
    }

    /// The character of a token; a line feed for [`END`].
    pub fn character(&self, token: u32) -> char {
        match token {
            END => '\n',
            token => self.0[token as usize - 1],
        }
    }
}

/// Pieces of text, a line each: tokens between two [`END`]s.
pub struct Pieces {
    pub vocabulary: Vocabulary,
    pub train: Vec<Vec<u32>>,
    pub validation: Vec<Vec<u32>>,
}

impl Pieces {
    pub fn of(lines: &[String]) -> Pieces {
        let vocabulary = Vocabulary::of(lines);
        let (mut train, mut validation) = (Vec::new(), Vec::new());
        for (i, line) in lines.iter().enumerate() {
            let tokens = vocabulary.tokens(line).unwrap_or_default();
            let piece = [&[END], &tokens[..], &[END]].concat();
            match i % HELD_OUT == HELD_OUT - 1 {
                true => validation.push(piece),
                false => train.push(piece),
            }
        }
        Pieces {
            vocabulary,
            train,
            validation,
        }
    }
}

/// Mean losses, in nats for each character of the validation pieces, of models that only count.
#[derive(Clone, Copy, Debug)]
pub struct Baselines {
    /// Characters by their frequency in the training pieces.
    pub unigram: f64,
    /// By their frequency after the previous character, mixed with their overall frequency.
    pub bigram: f64,
}

impl Baselines {
    pub fn of(pieces: &Pieces) -> Baselines {
        let (mut single, mut pairs) = (vec![1.0; pieces.vocabulary.len()], HashMap::new());
        let mut firsts = vec![0.0; pieces.vocabulary.len()];
        for (before, after) in pieces.train.iter().flat_map(|piece| both(piece)) {
            single[after] += 1.0;
            firsts[before] += 1.0;
            *pairs.entry((before, after)).or_insert(0.0) += 1.0;
        }
        let all: f64 = single.iter().sum();
        let (mut losses, mut count) = ([0.0, 0.0], 0);
        for (before, after) in pieces.validation.iter().flat_map(|piece| both(piece)) {
            let anywhere = single[after] / all;
            let pair = pairs.get(&(before, after)).copied().unwrap_or(0.0);
            // Smoothed, as if each character had been followed once more by a character drawn from their overall
            // frequencies.
            let next = (pair + anywhere) / (firsts[before] + 1.0);
            losses[0] -= f64::ln(anywhere);
            losses[1] -= f64::ln(next);
            count += 1;
        }
        let [unigram, bigram] = losses.map(|loss| loss / f64::from(count.max(1)));
        Baselines { unigram, bigram }
    }
}

/// Each token and the one before it.
fn both(piece: &[u32]) -> impl Iterator<Item = (usize, usize)> {
    piece
        .windows(2)
        .map(|two| (two[0] as usize, two[1] as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_tokens_and_back() {
        let lines = ["bad cab".to_owned(), "a".to_owned()];
        let vocabulary = Vocabulary::of(&lines);
        assert_eq!(vocabulary.len(), 6);
        let tokens = vocabulary.tokens("cab").unwrap();
        assert_eq!(tokens, [4, 2, 3]);
        let text: String = tokens
            .iter()
            .map(|&token| vocabulary.character(token))
            .collect();
        assert_eq!((text.as_str(), vocabulary.character(END)), ("cab", '\n'));
        assert_eq!(vocabulary.tokens("ace"), Err('e'));
    }

    #[test]
    fn one_piece_of_ten_is_held_out() {
        let lines: Vec<String> = (0..20).map(|i| "ab".repeat(i)).collect();
        let pieces = Pieces::of(&lines);
        assert_eq!((pieces.train.len(), pieces.validation.len()), (18, 2));
        assert_eq!(pieces.train[0], [END, END]);
        assert_eq!(pieces.validation[0].len(), 2 * 9 + 2);
    }

    /// Alternating characters: the next one is nearly certain, given the one before.
    #[test]
    fn counting_pairs_predicts_more() {
        let lines: Vec<String> = vec!["ab".repeat(50); 10];
        let baselines = Baselines::of(&Pieces::of(&lines));
        assert!((0.6..0.8).contains(&baselines.unigram), "{baselines:?}");
        assert!(baselines.bigram < 0.15, "{baselines:?}");
    }
}
