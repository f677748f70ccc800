//! Operations on whole elements: select, reorder, join and split.

use super::Tensor;
use super::run::Call;
use crate::error::Named;
use crate::ops::select::{Join, Reorder, Select, SortByLength};
use crate::plan::Attachment;
use crate::ragged::{Permutation, Scalar};
use crate::{Error, Result, host};

impl<T: Scalar> Tensor<T> {
    /// Selects the elements with these indices, in any order and with repetition, as a batch.
    ///
    /// Bit patterns are preserved, including those of NaNs, and so are the shapes of empty elements. Respects
    /// equivalence: values are not inspected. Cost: values read once, written once; each call builds a layout, which
    /// takes a few nanoseconds per element. For adjacent elements, [`elements`](Self::elements) copies nothing; for a
    /// permutation that is used again, [`reorder`](Self::reorder) plans only once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![], vec![3]])?)?;
    /// let y = x.select(&[2, 0, 2, 1])?.download_blocking()?;
    /// assert_eq!(y.to_vecs()?, [vec![3], vec![1, 2], vec![3], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Index`] with the position of an index that is out of range; [`SizeOverflow`](Error::SizeOverflow) and
    /// [`TooLarge`](Error::TooLarge) above 32-bit sizes or the device's; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn select(&self, elements: &[u32]) -> Result<Tensor<T>> {
        let select = Select {
            elements: host::copied(elements).named("select")?,
            dtype: T::DTYPE,
        };
        self.unary(select, &[])
    }

    /// Reorders the elements by a permutation.
    ///
    /// The same as [`select`](Self::select), but planned once for each layout.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, batch::Permutation};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![], vec![3]])?)?;
    /// let order = Permutation::new([2, 0, 1])?;
    /// let y = x.reorder(&order)?;
    /// assert_eq!(y.download_blocking()?.to_vecs()?, [vec![3], vec![1, 2], vec![]]);
    /// assert_eq!(y.reorder(&order.inverse())?.download_blocking()?, x.download_blocking()?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ElementCount`] for a permutation of another number of elements; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn reorder(&self, order: &Permutation) -> Result<Tensor<T>> {
        let (order, dtype) = (order.clone(), T::DTYPE);
        self.unary(Reorder { order, dtype }, &[])
    }

    /// Sorts the elements by their number of values, smallest first, and returns the permutation as well.
    ///
    /// The sort is stable. The inverse of the permutation restores the batch. The permutation is
    /// [`Permutation::by_length`] of the layout, computed once.
    ///
    /// Does not respect equivalence: the stored lengths count. Cost: that of [`reorder`](Self::reorder).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![3], vec![], vec![4]])?)?;
    /// let (sorted, order) = x.sort_by_length()?;
    /// assert_eq!(sorted.download_blocking()?.to_vecs()?, [vec![], vec![3], vec![4], vec![1, 2]]);
    /// assert_eq!(order.as_slice(), [2, 1, 3, 0]);
    /// let restored = sorted.reorder(&order.inverse())?;
    /// assert_eq!(restored.download_blocking()?, x.download_blocking()?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn sort_by_length(&self) -> Result<(Tensor<T>, Permutation)> {
        let sort = SortByLength { dtype: T::DTYPE };
        let operands = [self.operand()];
        let call = Call::new(&self.device, sort, &operands);
        let (sorted, plan) = call.run().named("sort_by_length")?;
        match &plan.attached {
            Attachment::Permutation(order) => Ok((sorted, order.clone())),
            _ => Ok((sorted, Permutation::by_length(&self.layout)?)),
        }
    }

    /// Joins the elements of this batch and those of the others, in order, into one batch.
    ///
    /// Bit patterns are preserved. Respects equivalence: values are not inspected. Cost: values read once, written
    /// once, in one dispatch for every seven batches. Without others, returns this batch without copying.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1, 2], vec![]])?)?;
    /// let y = device.upload(&Ragged::from_rows([vec![3]])?)?;
    /// let joined = x.join(&[&y, &x])?;
    /// let rows = joined.download_blocking()?.to_vecs()?;
    /// assert_eq!(rows, [vec![1, 2], vec![], vec![3], vec![1, 2], vec![]]);
    /// let parts = joined.split(&[2, 1, 2])?;
    /// assert_eq!(parts[1].download_blocking()?, y.download_blocking()?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch); [`Rank`](Error::Rank) unless all batches have the same rank;
    /// [`SizeOverflow`](Error::SizeOverflow) with the first element of the batch that brings the total above 2³² − 1
    /// values; [`TooLarge`](Error::TooLarge) above the device's sizes; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn join(&self, others: &[&Tensor<T>]) -> Result<Tensor<T>> {
        for other in others {
            self.check_device(other).named("join")?;
        }
        if others.is_empty() {
            return Ok(self.clone());
        }
        let batches = || std::iter::once(self).chain(others.iter().copied());
        let mut operands = host::room(1 + others.len()).named("join")?;
        operands.extend(batches().map(Tensor::operand));
        let join = Join { dtype: T::DTYPE };
        Call::new(&self.device, join, &operands).one()
    }

    /// Splits the batch into batches with these numbers of elements: views that copy no values.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![3], vec![4]])?)?;
    /// let parts = x.split(&[1, 0, 2])?;
    /// assert_eq!(parts[2].download_blocking()?.to_vecs()?, [vec![3], vec![4]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ElementCount`] when the counts do not add up to the number of elements.
    pub fn split(&self, counts: &[usize]) -> Result<Vec<Tensor<T>>> {
        let all = counts
            .iter()
            .fold(0, |all: usize, &count| all.saturating_add(count));
        if all != self.len() {
            return Err(Error::element_count(self.len(), all).named("split"));
        }
        let mut start = 0;
        let mut part = |&count: &usize| {
            start += count;
            self.elements(start - count..start)
        };
        let mut parts = host::room(counts.len()).named("split")?;
        for count in counts {
            parts.push(part(count)?);
        }
        Ok(parts)
    }
}
