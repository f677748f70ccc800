//! What is asked of a device, and what it allows.

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
