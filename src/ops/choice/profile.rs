//! A profile of how much the lengths of a batch differ, and of its effect on the cost of convolutions.

use std::fmt;
use std::time::Duration;

use super::costs::{CostTable, duration};
use super::method::ConvMethod;
use crate::ragged::Layout;
use crate::{Result, host};

/// The heterogeneity of a batch: the spread of its lengths, and the cost by each method of convolving every element
/// with another of its own length.
///
/// `Display` prints a table; [`to_json`](Self::to_json) returns one JSON object.
///
/// ```
/// use vsla::{Layout, conv::{CostTable, HeterogeneityProfile}};
///
/// let layout = Layout::from_lengths([8, 15, 142, 7, 456])?;
/// let profile = HeterogeneityProfile::new(&layout, &CostTable::cpu())?;
/// assert_eq!((profile.mean, profile.median), (125.6, 15.0));
/// assert_eq!(format!("{:.2} %", 100.0 * profile.padding_waste), "72.46 %");
/// assert_eq!(format!("{:.1}", profile.flops.fft_shared / profile.flops.chosen), "4.0");
/// println!("{profile}");
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct HeterogeneityProfile {
    /// The number of elements.
    pub elements: usize,
    /// The number of empty elements. The fields from `min` to `powers_of_two` describe the other elements; they are 0
    /// if there are none.
    pub empty: usize,
    /// The smallest length.
    pub min: usize,
    /// The largest length.
    pub max: usize,
    /// The median length; the mean of the middle two for an even number of elements.
    pub median: f64,
    /// The mean length.
    pub mean: f64,
    /// The population variance of the lengths.
    pub variance: f64,
    /// Standard deviation / mean.
    pub coefficient_of_variation: f64,
    /// Mean / variance; infinite if the variance is 0.
    pub mean_to_variance: f64,
    /// The number of distinct lengths after rounding up to powers of two.
    pub powers_of_two: usize,
    /// The number of values of all elements.
    pub total: usize,
    /// The number of values if every element were padded to the longest.
    pub padded: u64,
    /// 1 − total / padded.
    pub padding_waste: f64,
    /// Textbook operation counts: 2 m n directly, 15 L log₂ L + 6 L by transforms of the next power of two, L.
    pub flops: ByMethod<f64>,
    /// Times predicted by the cost table; `None` if a transform is longer than the device supports.
    pub predicted: ByMethod<Option<Duration>>,
    /// Sentences about whatever deserves attention.
    pub attention: Vec<String>,
}

/// One number for each way to convolve a whole batch.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct ByMethod<T> {
    /// Each element by the cheapest method for its length.
    pub chosen: T,
    /// All elements directly.
    pub direct: T,
    /// Each element by a transform of the length that it needs.
    pub fft_own: T,
    /// All elements by the transform length that the longest one needs.
    pub fft_shared: T,
    /// All elements padded to the longest, by the cheapest method for that length.
    pub padded: T,
}

impl<T: Copy> ByMethod<T> {
    /// The numbers with their names, for tables.
    pub fn named(&self) -> [(&'static str, T); 5] {
        [
            ("chosen", self.chosen),
            ("direct", self.direct),
            ("fft_own", self.fft_own),
            ("fft_shared", self.fft_shared),
            ("padded", self.padded),
        ]
    }
}

/// The ratio of the longest to the shortest length above which the batch deserves attention.
const FAR_APART: f64 = 100.0;
/// The ratio of direct operations to those of transforms below which transforms save little.
const LITTLE_GAIN: f64 = 1.2;
/// The number of distinct sizes above which grouping by size makes many groups.
const MANY_SIZES: usize = 10;

impl HeterogeneityProfile {
    /// Returns the profile of a layout, with times predicted by `costs`.
    ///
    /// An element of higher rank counts as a series of its values.
    ///
    /// Cost: a sort of the lengths.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory) if the lengths do not fit the host's memory.
    pub fn new(layout: &Layout, costs: &CostTable) -> Result<HeterogeneityProfile> {
        let mut lengths = host::room(layout.len())?;
        lengths.extend(layout.lengths().filter(|&length| length > 0));
        lengths.sort_unstable();
        let count = lengths.len() as f64;
        let (min, max) = match lengths[..] {
            [] => (0, 0),
            [only] => (only, only),
            [first, .., last] => (first, last),
        };
        let per_element = |sum: f64| if lengths.is_empty() { 0.0 } else { sum / count };
        let mean = per_element(layout.total() as f64);
        let squares = lengths.iter().map(|&length| (length as f64 - mean).powi(2));
        let variance = per_element(squares.sum());
        let middle = |i: usize| lengths.get(i).map_or(0.0, |&length| length as f64);
        let half = lengths.len() / 2;
        let median = match lengths.len() % 2 {
            1 => middle(half),
            _ => (middle(half.wrapping_sub(1)) + middle(half)) / 2.0,
        };
        let powers = lengths.iter().map(|&l| (l as u64).next_power_of_two());
        let mut last = 0;
        let new = |power: &u64| std::mem::replace(&mut last, *power) != *power;
        let powers_of_two = powers.filter(new).count();
        let flops = flops(&lengths, max);
        let profile = HeterogeneityProfile {
            elements: layout.len(),
            empty: layout.len() - lengths.len(),
            min,
            max,
            median,
            mean,
            variance,
            coefficient_of_variation: if mean > 0.0 {
                variance.sqrt() / mean
            } else {
                0.0
            },
            mean_to_variance: match variance {
                0.0 => f64::INFINITY,
                _ => mean / variance,
            },
            powers_of_two,
            total: layout.total(),
            padded: (layout.len() as u64).saturating_mul(max as u64),
            padding_waste: layout.padding_waste(),
            flops,
            predicted: predicted(&lengths, max, costs),
            attention: Vec::new(),
        };
        Ok(HeterogeneityProfile {
            attention: profile.points(),
            ..profile
        })
    }

    /// The ratio of the longest length to the shortest.
    pub fn max_to_min(&self) -> f64 {
        ratio(self.max as f64, self.min as f64)
    }

    /// The ratio of the longest length to the median.
    pub fn max_to_median(&self) -> f64 {
        ratio(self.max as f64, self.median)
    }

    /// The ratio of direct operations to those of transforms at each element's own length.
    pub fn fft_gain(&self) -> f64 {
        ratio(self.flops.direct, self.flops.fft_own)
    }

    fn points(&self) -> Vec<String> {
        let mut points = Vec::new();
        if self.max_to_min() > FAR_APART {
            let times = self.max_to_min();
            points.push(format!(
                "the longest element is {times:.0} times the shortest"
            ));
        }
        if self.total > 0 && self.fft_gain() < LITTLE_GAIN {
            points.push(format!(
                "transforms save little: direct convolution takes {:.2} times as many operations",
                self.fft_gain()
            ));
        }
        if self.powers_of_two > MANY_SIZES {
            points.push(format!("{} distinct powers of two", self.powers_of_two));
        }
        points
    }

    /// Returns one JSON object. Infinite and missing numbers are `null`; times are in microseconds.
    pub fn to_json(&self) -> String {
        let number = |value: f64| match value.is_finite() {
            true => value.to_string(),
            false => "null".to_owned(),
        };
        let fields = |named: Vec<(&str, String)>| {
            let fields = named
                .into_iter()
                .map(|(name, value)| format!("\"{name}\":{value}"));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        };
        let flops = self
            .flops
            .named()
            .map(|(name, flops)| (name, number(flops)));
        let times = self.predicted.named().map(|(name, time)| {
            (
                name,
                number(time.map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)),
            )
        });
        // These sentences need no escapes.
        let points: Vec<String> = self.attention.iter().map(|p| format!("\"{p}\"")).collect();
        fields(vec![
            ("elements", self.elements.to_string()),
            ("empty", self.empty.to_string()),
            ("min", self.min.to_string()),
            ("max", self.max.to_string()),
            ("median", number(self.median)),
            ("mean", number(self.mean)),
            ("variance", number(self.variance)),
            (
                "coefficient_of_variation",
                number(self.coefficient_of_variation),
            ),
            ("max_to_min", number(self.max_to_min())),
            ("max_to_median", number(self.max_to_median())),
            ("mean_to_variance", number(self.mean_to_variance)),
            ("powers_of_two", self.powers_of_two.to_string()),
            ("total", self.total.to_string()),
            ("padded", self.padded.to_string()),
            ("padding_waste", number(self.padding_waste)),
            ("fft_gain", number(self.fft_gain())),
            ("flops", fields(flops.to_vec())),
            ("predicted_us", fields(times.to_vec())),
            ("attention", format!("[{}]", points.join(","))),
        ])
    }
}

/// a / b, or 0 if b is 0.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

fn flops(lengths: &[usize], max: usize) -> ByMethod<f64> {
    let direct = |d: usize| 2.0 * (d as f64) * (d as f64);
    let fft = |d: usize| {
        let length = (2 * (d as u64).max(1) - 1).next_power_of_two() as f64;
        15.0 * length * length.log2() + 6.0 * length
    };
    let each = |cost: &dyn Fn(usize) -> f64| lengths.iter().map(|&d| cost(d)).sum::<f64>();
    let cheapest = |d| direct(d).min(fft(d));
    ByMethod {
        chosen: each(&cheapest),
        direct: each(&direct),
        fft_own: each(&fft),
        fft_shared: each(&|_| fft(max)),
        padded: each(&|_| cheapest(max)),
    }
}

fn predicted(lengths: &[usize], max: usize, costs: &CostTable) -> ByMethod<Option<Duration>> {
    let each = |cost: &dyn Fn(u64) -> Option<f64>| {
        let sum = lengths
            .iter()
            .try_fold(0.0, |sum, &d| Some(sum + cost(d as u64)?))?;
        let numbers = costs.numbers();
        let launch = if lengths.is_empty() {
            0.0
        } else {
            numbers.launch
        };
        let nanoseconds = launch + sum / numbers.workers as f64;
        Some(duration(nanoseconds))
    };
    let by = |method| move |d| costs.choose(d, d, method).ok().map(|(_, cost)| cost);
    let max = max as u64;
    let longest = by(ConvMethod::Fft);
    let padded = by(ConvMethod::Auto);
    ByMethod {
        chosen: each(&by(ConvMethod::Auto)),
        direct: each(&by(ConvMethod::Direct)),
        fft_own: each(&by(ConvMethod::Fft)),
        fft_shared: each(&|_| longest(max)),
        padded: each(&|_| padded(max)),
    }
}

impl fmt::Display for HeterogeneityProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "elements        {}, of which {} are empty",
            self.elements, self.empty
        )?;
        writeln!(
            f,
            "lengths         {} to {}, median {}, mean {:.1}, variance {:.2}",
            self.min, self.max, self.median, self.mean, self.variance
        )?;
        writeln!(
            f,
            "ratios          max/min {:.3}, max/median {:.3}, coefficient of variation {:.3}, mean/variance {:.4}",
            self.max_to_min(),
            self.max_to_median(),
            self.coefficient_of_variation,
            self.mean_to_variance
        )?;
        writeln!(f, "powers of two   {} distinct", self.powers_of_two)?;
        writeln!(
            f,
            "values          {}; {} if padded, {:.2} % of it padding",
            self.total,
            self.padded,
            100.0 * self.padding_waste
        )?;
        writeln!(f, "direct / FFT    {:.2} in operations", self.fft_gain())?;
        for ((name, flops), (_, time)) in self.flops.named().into_iter().zip(self.predicted.named())
        {
            let time = time.map_or("-".to_owned(), |time| format!("{time:.1?}"));
            writeln!(
                f,
                "  {name:12} {flops:>14.0} operations  {time:>10} predicted"
            )?;
        }
        match self.attention.as_slice() {
            [] => write!(f, "attention       nothing"),
            points => write!(f, "attention       {}", points.join("; ")),
        }
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    fn of(lengths: &[usize]) -> HeterogeneityProfile {
        let layout = Layout::from_lengths(lengths.iter().copied()).unwrap();
        HeterogeneityProfile::new(&layout, &CostTable::cpu()).unwrap()
    }

    #[apply(unit_test)]
    fn the_mixed_set_has_the_known_numbers() {
        let profile = of(&[8, 15, 142, 7, 456]);
        let near = |a: f64, b: f64, digits: f64| assert!((a - b).abs() < digits / 2.0, "{a} {b}");
        near(profile.max_to_min(), 65.143, 1e-3);
        near(profile.max_to_median(), 30.4, 1e-9);
        near(profile.mean, 125.6, 1e-9);
        near(profile.variance, 29_912.24, 1e-6);
        near(100.0 * profile.padding_waste, 72.46, 1e-2);
        near(
            profile.coefficient_of_variation,
            29_912.24f64.sqrt() / 125.6,
            1e-9,
        );
        near(profile.mean_to_variance, 125.6 / 29_912.24, 1e-12);
        // 8, 8, 16, 256, 512.
        assert_eq!(
            (profile.powers_of_two, profile.total, profile.padded),
            (4, 628, 2280)
        );
        assert_eq!(profile.flops.direct, 456_876.0);
        assert_eq!(profile.flops.fft_own, 236_640.0);
        assert_eq!(profile.flops.chosen, 200_748.0);
        assert_eq!(profile.attention, [""; 0]);
    }

    /// Convolving all elements with the transform length that the longest one needs.
    #[apply(unit_test)]
    fn a_shared_length_costs_what_is_known() {
        let sets: [(&[usize], std::ops::RangeInclusive<f64>); 5] = [
            (&[8, 15, 142, 7, 456], 2.9..=4.0),
            (&[2, 3, 1000, 5, 2000], 2.9..=4.0),
            (&[32, 64, 128, 256, 512], 2.9..=4.0),
            (&[8, 16, 32, 128, 256], 2.9..=4.0),
            (&[32, 30, 35, 28, 33], 7.05..=7.15),
        ];
        for (lengths, expected) in sets {
            let flops = of(lengths).flops;
            let times = (flops.fft_shared / flops.chosen * 100.0).round() / 100.0;
            assert!(expected.contains(&times), "{lengths:?}: {times}");
            for (name, other) in flops.named() {
                assert!(other >= flops.chosen, "{lengths:?}: {name}");
            }
        }
    }

    #[apply(unit_test)]
    fn attention_is_drawn_to_what_deserves_it() {
        let points = of(&[1, 101]).attention;
        assert_eq!(points[0], "the longest element is 101 times the shortest");
        assert!(of(&[30; 4]).attention[0].starts_with("transforms save little"));
        let many: Vec<usize> = (0..11).map(|k| 1 << k).collect();
        assert!(
            of(&many)
                .attention
                .contains(&"11 distinct powers of two".to_owned())
        );
        assert!(
            of(&many[1..])
                .attention
                .iter()
                .all(|p| !p.contains("powers"))
        );
    }

    #[apply(unit_test)]
    fn nothing_and_equal_lengths_have_a_profile_too() {
        let nothing = of(&[]);
        assert_eq!(
            (nothing.max_to_min(), nothing.mean, nothing.fft_gain()),
            (0.0, 0.0, 0.0)
        );
        assert_eq!(nothing.predicted.chosen, Some(Duration::ZERO));
        let same = of(&[5, 0, 5]);
        assert_eq!(
            (same.empty, same.median, same.mean_to_variance),
            (1, 5.0, f64::INFINITY)
        );
        assert!(same.to_json().contains("\"mean_to_variance\":null"));
        assert_eq!(of(&[3, 5, 9, 100]).median, 7.0);
    }

    #[apply(unit_test)]
    fn a_transform_that_a_device_lacks_has_no_time() {
        let layout = Layout::from_lengths([10, 5_000_000]).unwrap();
        let profile = HeterogeneityProfile::new(&layout, &CostTable::gpu()).unwrap();
        assert_eq!(
            (profile.predicted.fft_own, profile.predicted.fft_shared),
            (None, None)
        );
        assert!(profile.predicted.chosen.is_some() && profile.predicted.padded.is_some());
        assert!(
            profile.to_string().contains("         - predicted"),
            "{profile}"
        );
    }
}
