//! Reference distances, computed in f64 directly from the definition, to check the device's results.

use std::collections::BTreeSet;

use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::scale;

/// Multiply-adds up to which every pair is checked by default.
const ALL_UP_TO: u64 = 1_000_000_000;
/// A sample has this many pairs, or fewer if they would cost more than `SAMPLE_BUDGET` multiply-adds.
const SAMPLE_PAIRS: usize = 1_000;
const SAMPLE_BUDGET: u64 = 10_000_000_000;
const SAMPLE_SEED: u64 = 7;

/// How much of the result to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Check {
    /// Check nothing
    None,
    /// Check 1,000 pairs, the same ones in every run
    Sample,
    /// Check every pair
    All,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checked {
    pub pairs: usize,
    /// The largest |distance − reference| of the checked pairs; 0 if there are none.
    pub worst: f64,
    /// The same for pairs at a distance below 1e-4, where the library guarantees more digits.
    pub worst_near: f64,
}

impl Checked {
    /// Whether the differences are within the library's bounds for series of up to 4,096 samples.
    pub fn within_bounds(&self) -> bool {
        self.worst <= 1e-6 && self.worst_near <= 1e-8
    }
}

/// The pairs to check, as positions in the row-major table of distances.
pub fn select(check: Option<Check>, test: &[Vec<f64>], train: &[Vec<f64>]) -> Vec<usize> {
    let pairs = test.len() * train.len();
    let samples = |series: &[Vec<f64>]| series.iter().map(|s| s.len() as u64).sum::<u64>();
    // Every sample of one side is paired with every sample of the other.
    let work = samples(test).saturating_mul(samples(train));
    match check {
        Some(Check::None) => Vec::new(),
        Some(Check::All) => (0..pairs).collect(),
        None if work <= ALL_UP_TO => (0..pairs).collect(),
        Some(Check::Sample) | None => sample(test, train),
    }
}

fn sample(test: &[Vec<f64>], train: &[Vec<f64>]) -> Vec<usize> {
    let pairs = test.len() * train.len();
    if pairs <= SAMPLE_PAIRS {
        return (0..pairs).collect();
    }
    let mut random = fastrand::Rng::with_seed(SAMPLE_SEED);
    let mut chosen = BTreeSet::new();
    let mut work = 0;
    while chosen.len() < SAMPLE_PAIRS && (work < SAMPLE_BUDGET || chosen.is_empty()) {
        let pair = random.usize(..pairs);
        if chosen.insert(pair) {
            work += (test[pair / train.len()].len() * train[pair % train.len()].len()) as u64;
        }
    }
    chosen.into_iter().collect()
}

/// Compares the chosen pairs of a row-major (test × train) table of distances with f64.
pub fn check(
    pairs: &[usize],
    test: &[Vec<f64>],
    train: &[Vec<f64>],
    distances: &[f32],
    progress: &ProgressBar,
) -> Checked {
    let (test, train) = (normed(test), normed(train));
    let worst = pairs
        .par_iter()
        .map_init(Vec::new, |lags, &pair| {
            let reference = sbd(&test[pair / train.len()], &train[pair % train.len()], lags);
            progress.inc(1);
            let difference = (f64::from(distances[pair]) - reference).abs();
            let near = if reference < 1e-4 { difference } else { 0.0 };
            (difference, near)
        })
        .reduce(|| (0.0, 0.0), |a, b| (larger(a.0, b.0), larger(a.1, b.1)));
    Checked {
        pairs: pairs.len(),
        worst: worst.0,
        worst_near: worst.1,
    }
}

/// The larger of two values, or NaN if either is: `f64::max` would hide a NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

struct Normed {
    values: Vec<f64>,
    norm: f64,
}

fn normed(series: &[Vec<f64>]) -> Vec<Normed> {
    series
        .iter()
        .map(|series| {
            let values = scale::by_power_of_two(series);
            let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
            Normed { values, norm }
        })
        .collect()
}

/// 1 − max over every lag k of Σᵢ xᵢ₊ₖ yᵢ, over ‖x‖‖y‖; 1 if a side is all zeros.
fn sbd(x: &Normed, y: &Normed, lags: &mut Vec<f64>) -> f64 {
    if x.norm == 0.0 || y.norm == 0.0 {
        return 1.0;
    }
    lags.clear();
    lags.resize(x.values.len() + y.values.len() - 1, 0.0);
    // Entry q is lag q − (n − 1): y[n−1−j] is multiplied by x[i] at entry i + j.
    for (j, b) in y.values.iter().rev().enumerate() {
        for (lag, a) in lags[j..].iter_mut().zip(&x.values) {
            *lag += a * b;
        }
    }
    let best = lags.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    1.0 - best / (x.norm * y.norm)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(x: &[f64], y: &[f64]) -> f64 {
        let both = normed(&[x.to_vec(), y.to_vec()]);
        sbd(&both[0], &both[1], &mut vec![f64::NAN; 3])
    }

    #[test]
    fn distances_known_by_hand() {
        assert_eq!(distance(&[3.0, 4.0], &[3.0, 4.0]), 0.0);
        assert_eq!(distance(&[1.0, 0.0, 0.0], &[0.0, 5.0]), 0.0);
        assert_eq!(distance(&[1.0], &[-2.0]), 2.0);
        assert_eq!(distance(&[0.0, 0.0], &[1.0]), 1.0);
        // Lags −1, 0, 1 of [3, 4] and [4, 3] give 9, 24, 16.
        assert!((distance(&[3.0, 4.0], &[4.0, 3.0]) - 1.0 / 25.0).abs() < 1e-15);
        assert!((distance(&[3e300, 4e300], &[4e-300, 3e-300]) - 1.0 / 25.0).abs() < 1e-15);
    }

    #[test]
    fn a_changed_distance_and_a_nan_are_seen() {
        let x = vec![vec![3.0, 4.0], vec![1.0, 1.0]];
        let right: Vec<f32> = x
            .iter()
            .flat_map(|a| x.iter().map(|b| distance(a, b) as f32))
            .collect();
        let run =
            |distances: &[f32]| check(&[0, 1, 2, 3], &x, &x, distances, &ProgressBar::hidden());
        assert!(run(&right).within_bounds());
        for pair in 0..4 {
            for wrong in [right[pair] + 2e-6, f32::NAN] {
                let mut distances = right.clone();
                distances[pair] = wrong;
                assert!(!run(&distances).within_bounds());
            }
        }
        // An error of 1e-7 is small, but too large for two equal series.
        assert!(!run(&[1e-7, right[1], right[2], right[3]]).within_bounds());
    }

    #[test]
    fn selection() {
        let series = |count: usize, length: usize| vec![vec![1.0; length]; count];
        let (a, b) = (series(40, 10), series(50, 20));
        assert_eq!(select(None, &a, &b).len(), 2_000);
        assert_eq!(select(Some(Check::All), &a, &b).len(), 2_000);
        assert!(select(Some(Check::None), &a, &b).is_empty());
        let sample = select(Some(Check::Sample), &a, &b);
        assert_eq!(sample.len(), 1_000);
        assert!(sample.is_sorted_by(|x, y| x < y) && sample[999] < 2_000);
        assert_eq!(sample, select(Some(Check::Sample), &a, &b));
        assert_eq!(select(Some(Check::Sample), &a[..2], &b).len(), 100);

        let long = series(40, 30_000);
        let default = select(None, &long, &long);
        assert!((10..=12).contains(&default.len()), "{}", default.len());
    }
}
