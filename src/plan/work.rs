//! Checks of an operation against the device's limits.

use crate::ragged::{DType, Layout};
use crate::{Error, Result};

/// Fails if the work exceeds the limit.
pub(crate) fn check_work(element: Option<usize>, needed: u64, allowed: u64) -> Result<()> {
    match needed <= allowed {
        true => Ok(()),
        false => Err(Error::work_limit(element, needed, allowed)),
    }
}

/// The most bytes of a tensor on a GPU. Kernels compare indices as i32, and those of bytes are the largest.
pub(crate) const fn largest(dtype: DType) -> u64 {
    match dtype {
        DType::U8 => (1 << 31) - 16,
        _ => u64::MAX,
    }
}

/// Checks that a tensor with this layout fits in a binding of `binding` bytes (`None`: no limit). The error names the
/// first element that does not fit.
///
/// Called for results before dispatches are planned, as their work lists may be far larger.
pub(crate) fn check_size(layout: &Layout, dtype: DType, binding: Option<u64>) -> Result<()> {
    let metadata = 4 * (layout.len() as u64 + 1 + layout.extents().len() as u64);
    let values = 4 * dtype.words(layout.total()) as u64;
    let of_values = binding.map(|limit| limit.min(largest(dtype)));
    let is_above = |bytes: u64, limit: Option<u64>| limit.filter(|&limit| bytes > limit);
    let Some(limit) = is_above(values, of_values).or_else(|| is_above(metadata, binding)) else {
        return Ok(());
    };
    let bytes = values.max(metadata);
    // The first element that does not fit.
    let fitting = limit / dtype.size() as u64;
    let ends = layout.offsets().as_slice();
    let element = ends.partition_point(|&end| u64::from(end) <= fitting);
    Err(Error::too_large("the tensor", bytes, limit)
        .at(element.checked_sub(1).filter(|&e| e < layout.len())))
}

/// Accumulates the work of pairs.
pub(crate) struct WorkSum {
    allowed: u64,
    sum: u64,
    pairs: usize,
    /// The first pair at which the sum exceeded the limit.
    first: Option<usize>,
}

impl WorkSum {
    pub(crate) fn new(allowed: u64) -> WorkSum {
        WorkSum {
            allowed,
            sum: 0,
            pairs: 0,
            first: None,
        }
    }

    /// The number of pairs so far.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs
    }

    /// Adds the work of the next pair.
    pub(crate) fn add(&mut self, work: u64) {
        self.sum = self.sum.saturating_add(work);
        if self.sum > self.allowed && self.first.is_none() {
            self.first = Some(self.pairs);
        }
        self.pairs += 1;
    }

    /// The total work of all pairs, or an error if it exceeds the limit.
    pub(crate) fn total(self) -> Result<u64> {
        check_work(self.first, self.sum, self.allowed)?;
        Ok(self.sum)
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn bytes_end_below_two_gibibytes() {
        let check = |layout: &Layout, dtype| check_size(layout, dtype, Some(1 << 32));
        let [below, above] =
            [(1 << 31) - 16, (1 << 31) - 15].map(|length| Layout::from_lengths([length]).unwrap());
        assert!(check(&below, DType::U8).is_ok());
        assert!(check(&above, DType::U8).is_err());
        assert!(check(&above, DType::F16).is_ok());
    }
}
