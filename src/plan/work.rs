//! What is asked of a device, and what it allows.

use crate::ragged::{DType, Layout};
use crate::{Error, Result};

/// Work is refused where it is more than allowed.
pub(crate) fn check_work(
    op: &'static str,
    element: Option<usize>,
    asked: u64,
    allowed: u64,
) -> Result<()> {
    match asked <= allowed {
        true => Ok(()),
        false => Err(Error::WorkLimit {
            op,
            element,
            asked,
            allowed,
        }),
    }
}

/// Whether a tensor of this layout fits a binding of so many bytes, or which element makes it too large. Any does where
/// there is no limit.
///
/// Asked of results before stages are planned, whose lists may be far larger.
pub(crate) fn check_size(
    op: &'static str,
    layout: &Layout,
    dtype: DType,
    binding: Option<u64>,
) -> Result<()> {
    let metadata = layout.len() as u64 + 1 + layout.extents().len() as u64;
    let bytes = 4 * (dtype.words(layout.total()) as u64).max(metadata);
    let Some(limit) = binding.filter(|&limit| bytes > limit) else {
        return Ok(());
    };
    // The first element that does not fit any more.
    let fitting = limit / dtype.size() as u64;
    let ends = layout.offsets().as_slice();
    let element = ends.partition_point(|&end| u64::from(end) <= fitting);
    Err(Error::TooLarge {
        op,
        element: element.checked_sub(1).filter(|&e| e < layout.len()),
        what: "tensor".to_owned(),
        bytes,
        limit,
    })
}

/// The work of pairs, one after the other.
pub(crate) struct WorkSum {
    op: &'static str,
    allowed: u64,
    sum: u64,
    pairs: usize,
    /// The first pair with which it was too much.
    first: Option<usize>,
}

impl WorkSum {
    pub(crate) fn new(op: &'static str, allowed: u64) -> WorkSum {
        WorkSum {
            op,
            allowed,
            sum: 0,
            pairs: 0,
            first: None,
        }
    }

    /// The pairs so far.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs
    }

    /// The next pair.
    pub(crate) fn add(&mut self, work: u64) {
        self.sum = self.sum.saturating_add(work);
        if self.sum > self.allowed && self.first.is_none() {
            self.first = Some(self.pairs);
        }
        self.pairs += 1;
    }

    /// The work of all pairs, if it is allowed.
    pub(crate) fn total(self) -> Result<u64> {
        check_work(self.op, self.first, self.sum, self.allowed)?;
        Ok(self.sum)
    }
}
