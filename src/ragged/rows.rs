//! An iterator over the elements of a batch.

use core::iter::FusedIterator;

/// The values of each element of a [`Ragged`](super::Ragged), in order.
#[derive(Clone, Debug)]
pub struct Rows<'a, T> {
    /// One more than the number of remaining elements.
    pub(super) offsets: &'a [u32],
    pub(super) values: &'a [T],
}

impl<'a, T> Iterator for Rows<'a, T> {
    type Item = &'a [T];

    fn next(&mut self) -> Option<&'a [T]> {
        let [start, rest @ ..] = self.offsets else {
            return None;
        };
        let end = rest.first()?;
        self.offsets = rest;
        Some(&self.values[*start as usize..*end as usize])
    }

    fn nth(&mut self, n: usize) -> Option<&'a [T]> {
        self.offsets = self.offsets.get(n..).unwrap_or_default();
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.offsets.len().saturating_sub(1);
        (left, Some(left))
    }
}

impl<'a, T> DoubleEndedIterator for Rows<'a, T> {
    fn next_back(&mut self) -> Option<&'a [T]> {
        let [rest @ .., end] = self.offsets else {
            return None;
        };
        let start = rest.last()?;
        self.offsets = rest;
        Some(&self.values[*start as usize..*end as usize])
    }
}

impl<T> ExactSizeIterator for Rows<'_, T> {}

impl<T> FusedIterator for Rows<'_, T> {}
