//! Costs of elements, and the shares of devices.

use std::ops::Range;

use crate::ragged::{Layout, Shape};
use crate::{Result, host};

/// The cost of an element that has no values, in values: what a kernel and the planner do for each.
const ELEMENT: u64 = 16;

/// What each element of a batch costs, by which a [`Fleet`](super::Fleet) divides the batch.
///
/// Only proportions matter. Costs decide which device computes an element, and never its bits.
///
/// ```
/// use vsla::Ragged;
/// use vsla::fleet::{Cost, Fleet, FleetOptions};
///
/// let fleet = Fleet::open(FleetOptions::default())?;
/// let signals = Ragged::from_rows([vec![1.0f32; 300], vec![2.0; 2], vec![3.0; 40]])?;
/// // The direct convolution of a signal with itself takes n² multiply-adds.
/// let squares = |_: usize, shape: vsla::Shape| (shape.size() as u64).pow(2);
/// let results = fleet.map(&signals, Cost::each(squares), |_, part| part.conv(part))?;
/// assert_eq!(results[1], [4.0, 8.0, 4.0]);
/// # Ok::<(), vsla::Error>(())
/// ```
pub struct Cost<'a>(Option<Box<dyn Fn(usize, Shape) -> u64 + 'a>>);

impl<'a> Cost<'a> {
    /// The number of values of an element, plus 16: for operations that stream.
    pub fn values() -> Cost<'a> {
        Cost(None)
    }

    /// The result of a function of the element's index in the batch and its shape, that of the first operand if there
    /// are several. It is called once for each element, in order.
    ///
    /// Formulas for the number of multiply-adds stand in
    /// [`with_work_limit`](crate::Device::with_work_limit). The [report](crate::program::Plan::report) of a recorded
    /// program counts them for a whole batch.
    pub fn each(of: impl Fn(usize, Shape) -> u64 + 'a) -> Cost<'a> {
        Cost(Some(Box::new(of)))
    }

    /// The sums of the costs before each element, and of all.
    pub(super) fn sums(&self, layout: &Layout) -> Result<Vec<u64>> {
        let mut sums = host::room(layout.len() + 1)?;
        let mut sum = 0u64;
        sums.push(0);
        for element in 0..layout.len() {
            let cost = match &self.0 {
                None => layout.length(element) as u64 + ELEMENT,
                Some(of) => of(element, layout.shape(element)),
            };
            sum = sum.saturating_add(cost);
            sums.push(sum);
        }
        Ok(sums)
    }
}

/// Cuts elements with these sums of costs into one share for each of `count` devices.
pub(super) fn shares(sums: &[u64], count: usize) -> impl Iterator<Item = Range<usize>> {
    let elements = sums.len() - 1;
    let total = u128::from(sums[elements]);
    let cut = move |k: usize| match (k == count, total) {
        (true, _) => elements,
        (false, 0) => (elements as u128 * k as u128 / count as u128) as usize,
        (false, _) => {
            let is_before = |&sum: &u64| u128::from(sum) * (count as u128) < total * k as u128;
            sums.partition_point(is_before)
        }
    };
    (0..count).map(move |k| cut(k)..cut(k + 1))
}

/// Cuts a share into ranges of about equal sizes, of at most `most` bytes or one element.
pub(super) fn ranges(
    share: Range<usize>,
    bytes: impl Fn(Range<usize>) -> u64,
    most: u64,
) -> Result<Vec<Range<usize>>> {
    let all = bytes(share.clone());
    let each = all.div_ceil(all.div_ceil(most).max(1));
    let mut ranges = Vec::new();
    let mut start = share.start;
    while start < share.end {
        let (mut fits, mut end) = (start + 1, share.end);
        // The first `fits` elements fit, or are one.
        while fits < end {
            let middle = fits + (end - fits).div_ceil(2);
            match bytes(start..middle) <= each {
                true => fits = middle,
                false => end = middle - 1,
            }
        }
        host::push(&mut ranges, start..fits)?;
        start = fits;
    }
    Ok(ranges)
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    fn sums(costs: &[u64]) -> Vec<u64> {
        let mut sum = 0u64;
        let later = costs.iter().map(|cost| {
            sum = sum.saturating_add(*cost);
            sum
        });
        [0].into_iter().chain(later.collect::<Vec<_>>()).collect()
    }

    /// The ends of the shares.
    fn cut(costs: &[u64], count: usize) -> Vec<usize> {
        let shares: Vec<_> = shares(&sums(costs), count).collect();
        let starts = shares.iter().skip(1).map(|share| share.start);
        assert!(starts.eq(shares[..count - 1].iter().map(|share| share.end)));
        assert_eq!(shares[0].start, 0);
        shares.iter().map(|share| share.end).collect()
    }

    #[apply(unit_test)]
    fn shares_cut_where_the_costs_pass_a_part() {
        assert_eq!(cut(&[1, 1, 1, 1], 2), [2, 4]);
        assert_eq!(cut(&[9, 1, 1, 1], 2), [1, 4]);
        assert_eq!(cut(&[1, 1, 1, 9], 2), [4, 4]);
        assert_eq!(cut(&[0, 0, 5, 0], 3), [3, 3, 4]);
        assert_eq!(cut(&[0, 0, 0, 0], 2), [2, 4]);
        assert_eq!(cut(&[], 2), [0, 0]);
        assert_eq!(cut(&[7], 3), [1, 1, 1]);
        assert_eq!(cut(&[u64::MAX, u64::MAX], 1), [2]);
    }

    #[apply(unit_test)]
    fn no_share_costs_much_more_than_the_mean() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let elements = draw(60);
            let costs: Vec<u64> = (0..elements)
                .map(|_| match draw(8) {
                    0 => draw(1 << 40),
                    1 => 0,
                    _ => draw(1000),
                })
                .collect();
            let largest = costs.iter().copied().max().unwrap_or(0) as f64;
            for count in [1, 2, 3, 4, 7, 8] {
                let mean = costs.iter().sum::<u64>() as f64 / count as f64;
                let mut start = 0;
                for end in cut(&costs, count) {
                    let share = costs[start..end].iter().sum::<u64>() as f64;
                    assert!(share <= 1.05 * mean + largest, "{costs:?} for {count}");
                    start = end;
                }
            }
        }
    }

    #[apply(unit_test)]
    fn ranges_are_equal_and_fit() {
        let sizes = [4u64, 0, 4, 4, 30, 1, 1];
        let bytes = |range: Range<usize>| sizes[range].iter().sum();
        let ends = |share: Range<usize>, most| {
            let ranges = ranges(share, bytes, most).unwrap();
            ranges.iter().map(|range| range.end).collect::<Vec<_>>()
        };
        assert_eq!(ends(0..4, 12), [4]);
        assert_eq!(ends(0..4, 11), [2, 3, 4]);
        assert_eq!(ends(0..7, 8), [3, 4, 5, 7]);
        assert_eq!(ends(1..2, 1), [2]);
        assert!(ends(3..3, 1).is_empty());
    }
}
