//! Checks of layouts that several operations make.

use super::Layout;
use crate::{Error, Result};

impl Layout {
    pub(crate) fn check_rank(&self, rank: usize) -> Result<()> {
        match self.rank() == rank {
            true => Ok(()),
            false => Err(Error::rank(rank, self.rank())),
        }
    }

    /// Checks that the rank is that of another batch, which errors call `whose`.
    pub(crate) fn check_rank_of(&self, other: &Layout, whose: &str) -> Result<()> {
        let (expected, got) = (other.rank(), self.rank());
        match expected == got {
            true => Ok(()),
            false => Err(Error::rank(format!("{expected}, as in {whose}"), got)),
        }
    }

    pub(crate) fn check_axis(&self, axis: usize) -> Result<()> {
        let rank = self.rank();
        match axis < rank {
            true => Ok(()),
            false => Err(Error::argument(
                format!("an axis below the rank of {rank}"),
                axis,
            )),
        }
    }

    /// Checks that another batch, the right operand, has as many elements.
    pub(crate) fn check_len(&self, right: usize) -> Result<()> {
        match self.len() == right {
            true => Ok(()),
            false => Err(Error::batch_sizes(self.len(), right)),
        }
    }

    /// Checks that there is one value for each place.
    pub(crate) fn check_values(&self, got: usize) -> Result<()> {
        match self.total() == got {
            true => Ok(()),
            false => Err(Error::value_count(self.total(), got)),
        }
    }

    /// Checks that each element has as many values as the same element of another batch of this size.
    pub(crate) fn check_lengths(&self, expected: impl Iterator<Item = usize>) -> Result<()> {
        let wrong = self.lengths().zip(expected).enumerate();
        match wrong
            .into_iter()
            .find(|(_, (got, expected))| got != expected)
        {
            None => Ok(()),
            Some((element, (got, expected))) => Err(Error::length(element, expected, got)),
        }
    }

    /// Checks that each element has the shape of the same element of another batch of this size.
    pub(crate) fn check_shapes(&self, expected: &Layout) -> Result<()> {
        let wrong = self.shapes().zip(expected.shapes()).enumerate();
        match wrong
            .into_iter()
            .find(|(_, (got, expected))| got != expected)
        {
            None => Ok(()),
            Some((element, (got, expected))) => Err(Error::shape(element, expected, got)),
        }
    }
}
