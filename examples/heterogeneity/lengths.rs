//! Sources of lengths.

use std::error::Error;
use std::fmt;
use std::path::Path;

/// Named sets of lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Set {
    /// 8, 15, 142, 7, 456
    Mixed,
    /// 2, 3, 1000, 5, 2000
    FarApart,
    /// 32, 64, 128, 256, 512
    Attention,
    /// 8, 16, 32, 128, 256
    Sensors,
    /// 32, 30, 35, 28, 33
    NearlyUniform,
    /// 1 to 4096, where a length d has a probability proportional to d^-1.2
    Zipf,
    /// 4 to 4096, every octave with the same probability
    LogUniform,
}

/// Number of lengths that a random set draws.
const DRAWN: usize = 5;

impl Set {
    /// Five lengths, times `copies`.
    pub fn lengths(self, copies: usize, seed: u64) -> Vec<usize> {
        let mut rng = fastrand::Rng::with_seed(seed);
        match self {
            Set::Mixed => [8, 15, 142, 7, 456].repeat(copies),
            Set::FarApart => [2, 3, 1000, 5, 2000].repeat(copies),
            Set::Attention => [32, 64, 128, 256, 512].repeat(copies),
            Set::Sensors => [8, 16, 32, 128, 256].repeat(copies),
            Set::NearlyUniform => [32, 30, 35, 28, 33].repeat(copies),
            Set::Zipf => {
                let mut sum = 0.0;
                let weights = (1..=4096).map(|length| {
                    sum += f64::from(length).powf(-1.2);
                    sum
                });
                let weights: Vec<f64> = weights.collect();
                let draw = |_| {
                    let at = rng.f64() * sum;
                    (weights.partition_point(|&sum| sum <= at) + 1).min(4096)
                };
                (0..DRAWN * copies).map(draw).collect()
            }
            Set::LogUniform => {
                let draw = |_| (4.0 * 1024f64.powf(rng.f64())).round() as usize;
                (0..DRAWN * copies).map(draw).collect()
            }
        }
    }
}

/// A word that is not a length.
#[derive(Clone, PartialEq, Debug)]
pub struct NoLength {
    word: String,
    line: usize,
}

impl fmt::Display for NoLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoLength { word, line } = self;
        write!(
            f,
            "line {line}: expected a length, a whole number from 0 to {MOST}, got {word:?}"
        )
    }
}

impl Error for NoLength {}

/// Length of the longest allowed element.
const MOST: usize = 1 << 24;

/// Parses whole numbers separated by commas and white space; a # starts a comment.
pub fn parse(text: &str) -> Result<Vec<usize>, NoLength> {
    let mut lengths = Vec::new();
    for (line, text) in text.lines().enumerate() {
        let text = text.split('#').next().unwrap_or_default();
        let words = text.split(|c: char| c == ',' || c.is_whitespace());
        for word in words.filter(|word| !word.is_empty()) {
            let length = word.parse().ok().filter(|length| *length <= MOST);
            lengths.push(length.ok_or_else(|| NoLength {
                word: word.chars().take(40).collect(),
                line: line + 1,
            })?);
        }
    }
    Ok(lengths)
}

/// Reads the lengths in a file.
pub fn read(path: &Path) -> Result<Vec<usize>, Box<dyn Error>> {
    let named = |problem: &dyn fmt::Display| format!("{}: {problem}", path.display());
    let bytes = std::fs::read(path).map_err(|error| named(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| named(&"not a text file"))?;
    Ok(parse(&text).map_err(|error| named(&error))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_between_commas_spaces_and_comments() {
        assert_eq!(
            parse("1, 2,3\n# nothing\n 0 16777216 # all"),
            Ok(vec![1, 2, 3, 0, 1 << 24])
        );
        assert_eq!(parse(""), Ok(vec![]));
        for (text, line, word) in [
            ("1\n-2", 2, "-2"),
            ("3.5", 1, "3.5"),
            ("16777217", 1, "16777217"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.line, error.word.as_str()), (line, word));
        }
    }

    #[test]
    fn sets_have_five_lengths_a_copy_and_are_the_same_every_time() {
        for set in [Set::Mixed, Set::NearlyUniform, Set::Zipf, Set::LogUniform] {
            let lengths = set.lengths(200, 7);
            assert_eq!(lengths.len(), 1000);
            assert_eq!(lengths, set.lengths(200, 7));
            assert!(
                lengths.iter().all(|length| (1..=4096).contains(length)),
                "{set:?}"
            );
        }
        assert_ne!(Set::Zipf.lengths(200, 7), Set::Zipf.lengths(200, 8));
    }
}
