//! Summaries of repeated measurements.

use std::time::Duration;

use serde_json::{Value, json};

/// What several measurements of one time say.
///
/// Runs of a program are no sample of a normal distribution: they have a floor and a long tail of delays, by which a
/// mean and its interval move. The number that is reported is therefore the median, and the interval is the median's,
/// between two of the measured times: it assumes nothing but that runs are independent (T. Hoefler and R. Belli,
/// "Scientific Benchmarking of Parallel Computing Systems", SC '15, section 3.1.3; J.-Y. Le Boudec, "Performance
/// Evaluation of Computer and Communication Systems", EPFL Press 2010, theorem 2.1). Mean and standard deviation are
/// given beside it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// The middle time; of an even number of them the later one.
    pub median: Duration,
    pub mean: Duration,
    /// The standard deviation of the sample, with n − 1 in the denominator; 0 for a single run.
    pub deviation: Duration,
    /// The 95 % confidence interval of the median; `None` for less than six runs, which have none.
    pub interval: Option<[Duration; 2]>,
    pub runs: usize,
}

impl Summary {
    /// Nothing was measured if there are no times: all is zero.
    pub fn of(mut times: Vec<Duration>) -> Summary {
        times.sort_unstable();
        let runs = times.len();
        let at = |i: usize| times.get(i).copied().unwrap_or_default();
        let count = runs.max(1) as f64;
        let mean = times.iter().map(Duration::as_secs_f64).sum::<f64>() / count;
        let squares = times.iter().map(|time| (time.as_secs_f64() - mean).powi(2));
        let variance = squares.sum::<f64>() / (count - 1.0).max(1.0);
        Summary {
            median: at(runs / 2),
            mean: Duration::from_secs_f64(mean),
            deviation: Duration::from_secs_f64(variance.sqrt()),
            interval: rank(runs).map(|low| [at(low), at(runs - 1 - low)]),
            runs,
        }
    }

    pub fn once(time: Duration) -> Summary {
        Summary::of(vec![time])
    }

    /// The same runs with each time multiplied.
    pub fn scaled(self, by: f64) -> Summary {
        Summary {
            median: self.median.mul_f64(by),
            mean: self.mean.mul_f64(by),
            deviation: self.deviation.mul_f64(by),
            interval: self.interval.map(|ends| ends.map(|time| time.mul_f64(by))),
            runs: self.runs,
        }
    }

    pub fn as_secs_f64(&self) -> f64 {
        self.median.as_secs_f64()
    }

    pub fn json(&self) -> Value {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        json!({
            "mean_us": micros(self.mean),
            "sd_us": micros(self.deviation),
            "low_us": self.interval.map(|ends| micros(ends[0])),
            "high_us": self.interval.map(|ends| micros(ends[1])),
            "runs": self.runs,
        })
    }
}

/// The rank, from 0, of the measurement at which the interval of the median begins; it ends at the one as far from the
/// other end. The median of the distribution is below the first k + 1 of n sorted measurements with the probability
/// that at most k of n fair coins fall on heads, and beyond the last k + 1 with the same: together at most 5 %.
fn rank(runs: usize) -> Option<usize> {
    // Probabilities by logarithms: 2⁻ⁿ is 0 in f64 for n above 1,074.
    let mut coefficient = -(runs as f64) * std::f64::consts::LN_2;
    let mut below = coefficient.exp();
    let mut rank = None;
    for k in 0..runs / 2 {
        if 2.0 * below > 0.05 {
            break;
        }
        rank = Some(k);
        coefficient += ((runs - k) as f64 / (k + 1) as f64).ln();
        below += coefficient.exp();
    }
    rank
}
