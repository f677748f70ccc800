//! A summary of the methods that a convolution will use, for people and programs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::choices::{Choices, Total};
use super::costs::{CostTable, duration};
use super::method::{Choice, ConvMethod};
use crate::Result;
use crate::error::Count;
use crate::error::Named;
use crate::ragged::{DType, Layout, Pairing, Pairs};

/// What a convolution will do: how many pairs it convolves by which method, and the predicted time.
///
/// It depends only on lengths. [`Paired::conv_choice`](crate::Paired::conv_choice) returns it for a device, and
/// [`new`](Self::new) for any cost table, without a device. Empty pairs cost nothing and are not counted.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ConvChoice {
    /// The pairs grouped by method and length: direct ones first, then FFT, then overlap-save, each by increasing
    /// length.
    pub groups: Vec<ConvGroup>,
    /// The predicted time of all pairs together.
    pub predicted: Duration,
}

/// The pairs that are convolved by one method, with transforms of one length.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ConvGroup {
    /// The method, never `Auto`.
    pub method: ConvMethod,
    /// The length of the transforms; `None` for the direct method.
    pub length: Option<usize>,
    /// The number of pairs.
    pub pairs: usize,
    /// The predicted time of these pairs.
    pub predicted: Duration,
}

impl ConvChoice {
    /// Returns what a device with these costs would do to convolve f32 batches with these layouts.
    ///
    /// ```
    /// use vsla::{Layout, Pairing, conv::{ConvChoice, ConvMethod, CostTable}};
    ///
    /// let layout = Layout::from_lengths([8, 15, 142, 7, 456])?;
    /// let plan = |method| ConvChoice::new((&layout, &layout), Pairing::Elementwise, method, &CostTable::gpu());
    /// let auto = plan(ConvMethod::Auto)?;
    /// let groups: Vec<_> = auto.groups.iter().map(|group| (group.to_string(), group.pairs)).collect();
    /// let of = |name: &str, pairs| (name.to_owned(), pairs);
    /// let transforms = ["fft of 64", "fft of 512", "fft of 1024"].map(|name| of(name, 1));
    /// assert_eq!(groups, [&[of("direct", 2)], &transforms[..]].concat());
    /// assert_eq!(plan(ConvMethod::Direct)?.groups[0].pairs, 5);
    /// assert!(auto.predicted < plan(ConvMethod::Direct)?.predicted);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless both layouts have rank 1; the errors of the [`Pairing`];
    /// [`Method`](crate::Error::Method) for a pair that the method cannot convolve.
    pub fn new(
        (a, b): (&Layout, &Layout),
        pairing: Pairing<'_>,
        method: ConvMethod,
        costs: &CostTable,
    ) -> Result<ConvChoice> {
        const OP: &str = "conv_choice";
        let pairs = Pairs::new(a, b, pairing).named(OP)?;
        let choices = Choices::new(DType::F32, (a, b), &pairs, method, costs).named(OP)?;
        let with_costs = choices.with_costs(a, b, &pairs, costs);
        Ok(ConvChoice::of(&choices.totals(with_costs), costs))
    }

    /// Builds the summary from the totals of every choice.
    pub(crate) fn of(groups: &BTreeMap<Choice, Total>, costs: &CostTable) -> ConvChoice {
        let whole = groups
            .iter()
            .filter(|(choice, _)| choice.method() == ConvMethod::Fft);
        let longest = whole.map(|(_, total)| total.most).fold(0.0, f64::max);
        let workers = costs.numbers().workers as f64;
        let all: f64 = groups.values().map(|total| total.cost).sum();
        ConvChoice {
            predicted: match groups.is_empty() {
                true => Duration::ZERO,
                // One worker transforms a whole pair, so the longest pair bounds the time.
                false => duration(costs.numbers().launch + (all / workers).max(longest)),
            },
            groups: groups
                .iter()
                .map(|(choice, total)| ConvGroup {
                    method: choice.method(),
                    length: choice.length().map(|length| length as usize),
                    pairs: total.pairs,
                    predicted: duration(total.cost / workers),
                })
                .collect(),
        }
    }
}

/// Prints `direct`, `fft of 96`, `overlap_save of 4096`.
impl fmt::Display for ConvGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length {
            None => write!(f, "{}", self.method),
            Some(length) => write!(f, "{} of {length}", self.method),
        }
    }
}

impl fmt::Display for ConvChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for group in &self.groups {
            let (what, pairs) = (group.to_string(), Count(group.pairs, "pair").to_string());
            writeln!(f, "{what:24} {pairs:>16}  {:>10.1?}", group.predicted)?;
        }
        let pairs = self.groups.iter().map(|group| group.pairs).sum();
        let pairs = Count(pairs, "pair").to_string();
        write!(f, "{:24} {pairs:>16}  {:>10.1?}", "total", self.predicted)
    }
}
