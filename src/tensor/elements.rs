//! Elements as wholes: chosen, put in another order, joined and split.

use super::Tensor;
use super::run::Call;
use crate::ops::Op;
use crate::ops::select::{Join, Reorder, Select, SortByLength};
use crate::plan::Attachment;
use crate::ragged::{Permutation, Scalar};
use crate::{Error, Result, host};

impl<T: Scalar> Tensor<T> {
    /// The elements with these indices, in any order and as often as they are named, as a batch of their own.
    ///
    /// Bits are kept, those of a NaN too, and so are the shapes of empty elements. Respects equivalence: it does not
    /// look at values. Cost: values read once, written once; each call makes a layout, in a few nanoseconds an element.
    /// For elements next to each other, [`elements`](Self::elements) copies nothing; for a permutation that is used
    /// again, [`reorder`](Self::reorder) plans once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![], vec![3]])?)?;
    /// let y = x.select(&[2, 0, 2, 1])?.download_blocking()?;
    /// assert_eq!(y.to_vecs(), [vec![3], vec![1, 2], vec![3], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Index`] names the position of an index that no element has; [`SizeOverflow`](Error::SizeOverflow) and
    /// [`TooLarge`](Error::TooLarge) above 32-bit sizes or the device's; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn select(&self, elements: &[u32]) -> Result<Tensor<T>> {
        let select = Select {
            elements: host::copied("select", elements)?,
            dtype: T::DTYPE,
        };
        self.unary(Op::Select(select), &[])
    }

    /// All elements in another order. [`select`](Self::select) by a permutation, which is planned once for each layout.
    ///
    /// ```
    /// # use vsla::{Device, Permutation, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![], vec![3]])?)?;
    /// let order = Permutation::new([2, 0, 1])?;
    /// let y = x.reorder(&order)?;
    /// assert_eq!(y.download_blocking()?.to_vecs(), [vec![3], vec![1, 2], vec![]]);
    /// assert_eq!(y.reorder(&order.inverse())?.download_blocking()?, x.download_blocking()?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ElementCount`] for an order of another number of elements; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn reorder(&self, order: &Permutation) -> Result<Tensor<T>> {
        let (order, dtype) = (order.clone(), T::DTYPE);
        self.unary(Op::Reorder(Reorder { order, dtype }), &[])
    }

    /// The elements by their numbers of values, the smallest first, and the order that it took. Those of one size stay
    /// in order; the order's inverse restores the batch. [`Permutation::by_length`] of the layout, worked out once.
    ///
    /// Does not respect equivalence: it goes by the lengths that elements carry. Cost: as [`reorder`](Self::reorder).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![3], vec![], vec![4]])?)?;
    /// let (sorted, order) = x.sort_by_length()?;
    /// assert_eq!(sorted.download_blocking()?.to_vecs(), [vec![], vec![3], vec![4], vec![1, 2]]);
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
        let call = Call::new(&self.device, Op::SortByLength(sort), &operands);
        let (sorted, plan) = call.run().map_err(|error| error.named("sort_by_length"))?;
        match &plan.attached {
            Attachment::Permutation(order) => Ok((sorted, order.clone())),
            _ => Ok((sorted, Permutation::by_length(&self.layout)?)),
        }
    }

    /// The elements of this batch and then those of the others, as one batch.
    ///
    /// Bits are kept. Respects equivalence: it does not look at values. Cost: values read once, written once, in one
    /// dispatch for each batch. Of no others it is the batch itself, uncopied.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1, 2], vec![]])?)?;
    /// let y = device.upload(&Ragged::from_rows([vec![3]])?)?;
    /// let joined = x.join(&[&y, &x])?;
    /// let rows = joined.download_blocking()?.to_vecs();
    /// assert_eq!(rows, [vec![1, 2], vec![], vec![3], vec![1, 2], vec![]]);
    /// let parts = joined.split(&[2, 1, 2])?;
    /// assert_eq!(parts[1].download_blocking()?, y.download_blocking()?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch); [`Rank`](Error::Rank) unless all are of one rank;
    /// [`SizeOverflow`](Error::SizeOverflow) names the first element of the batch with which the values pass 2³² − 1,
    /// [`TooLarge`](Error::TooLarge) above the device's sizes; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn join(&self, others: &[&Tensor<T>]) -> Result<Tensor<T>> {
        for other in others {
            self.check_device("join", other)?;
        }
        if others.is_empty() {
            return Ok(self.clone());
        }
        let batches = || std::iter::once(self).chain(others.iter().copied());
        let mut operands = host::room("join", 1 + others.len())?;
        operands.extend(batches().map(Tensor::operand));
        let join = Join { dtype: T::DTYPE };
        Call::new(&self.device, Op::Join(join), &operands).one()
    }

    /// The batch cut into batches of so many elements: views, no value is copied.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![3], vec![4]])?)?;
    /// let parts = x.split(&[1, 0, 2])?;
    /// assert_eq!(parts[2].download_blocking()?.to_vecs(), [vec![3], vec![4]]);
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
            return Err(Error::ElementCount {
                op: "split",
                expected: self.len(),
                got: all,
            });
        }
        let mut start = 0;
        let mut part = |&count: &usize| {
            start += count;
            self.elements(start - count..start)
        };
        let mut parts = host::room("split", counts.len())?;
        for count in counts {
            parts.push(part(count)?);
        }
        Ok(parts)
    }
}
