//! Gather and scatter of rows by index.

use super::Tensor;
#[cfg(feature = "gpu")]
use super::device::Backend;
use super::run::Call;
use crate::error::Named;
use crate::ops::gather::Gather;
use crate::ops::scatter::{Add, Set};
use crate::ops::take::How;
use crate::plan::check_work;
use crate::ragged::{Factor, Indices, Layout, Pairing, Pairs, Scalar};
use crate::{Error, Result};

impl<T: Scalar> Tensor<T> {
    /// Gathers rows along the first axis by the element's list i of indices, `c[r, …] = x[i_r, …]`, in any order and
    /// with repetition.
    ///
    /// An element of shape (n, s) and a list of k indices give an element of shape (k, s). An index of n or more gives
    /// a row of zeros. Bit patterns are preserved, including those of NaNs; empty elements and empty lists are valid.
    /// To gather along another axis, transpose before and after. [`take_along_axis`](Self::take_along_axis) takes
    /// values by indices on the device. Respects equivalence with regard to rows: zero rows after the last one change
    /// nothing. Cost: the rows and the indices read once, the result written once.
    ///
    /// ```
    /// # use vsla::{Device, Indices, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6], 2, [Shape::new(&[3, 2])?])?)?;
    /// let indices = Indices::new(Ragged::from_rows([[2, 0, 7, 2]])?)?;
    /// let rows = x.gather(&indices)?.download_blocking()?;
    /// assert_eq!(rows.values(), [5, 6, 1, 2, 0, 0, 5, 6]);
    /// assert_eq!(rows.shape(0), Shape::new(&[4, 2])?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize) unless there are as many lists as elements;
    /// [`SizeOverflow`](crate::Error::SizeOverflow), [`TooLarge`](crate::Error::TooLarge) above 32-bit sizes or the
    /// device's; [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    #[doc(alias("take", "index_select"))]
    pub fn gather(&self, indices: &Indices) -> Result<Tensor<T>> {
        self.gathered(indices, Pairing::Elementwise)
            .named("gather")
            .map_err(Error::without_pairing)
    }

    /// Takes values of each line along an axis by indices on the device, in any order and with repetition:
    /// c\[.., i, ..\] = x\[.., index\[.., i, ..\], ..\].
    ///
    /// Indices have the rank and, but for the axis, the extents of this batch; the result has their layout. Along the
    /// axis, each element has its own number of indices, also 0. So [`argsort`](Tensor::argsort) orders a second batch,
    /// and the places of [`top_k`](Tensor::top_k) select from it. As NumPy's `take_along_axis`, but an index beyond the
    /// end of a line gives 0 and no error, as for [`gather`](Self::gather). Bit patterns are preserved, including those
    /// of NaNs. Respects equivalence along the axis: zeros after the last value of a line change nothing. Cost: the
    /// indices read once, one value read for each, and the result written once. In a program, the cotangents of values
    /// that are taken several times are added in an order that depends on the indices only.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let time = device.upload(&Ragged::from_rows([vec![3.0f32, 1.0, 2.0], vec![], vec![5.0]])?)?;
    /// let value = device.upload(&Ragged::from_rows([vec![30, 10, 20], vec![], vec![50]])?)?;
    /// let by_time = value.take_along_axis(&time.argsort(0)?, 0)?;
    /// assert_eq!(by_time.download_blocking()?.to_vecs()?, [vec![10, 20, 30], vec![], vec![50]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize), [`Rank`](crate::Error::Rank) or [`Shape`](crate::Error::Shape), with the
    /// element, unless the indices fit; [`Argument`](crate::Error::Argument) for an axis that is not below the rank;
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    #[doc(alias("take", "gather", "index_select"))]
    pub fn take_along_axis(&self, indices: &Tensor<u32>, axis: usize) -> Result<Tensor<T>> {
        self.check_device(indices).named("take_along_axis")?;
        self.taken(indices, How::Values { distinct: false }, Some(axis))
    }

    /// [`gather`](Self::gather) for every pair of an element and a list.
    ///
    /// With [`Pairing::OneToAll`], all lists take rows of one element, which is not copied: an embedding of sentences
    /// of many lengths.
    ///
    /// ```
    /// # use vsla::{Device, Indices, Pairing, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let table = Ragged::from_shapes(vec![0.5f32, 1.5, 2.5, 3.5], 2, [Shape::new(&[2, 2])?])?;
    /// let sentences = Indices::new(Ragged::from_rows([vec![1], vec![], vec![0, 1]])?)?;
    /// let embedded = device.upload(&table)?.gather_paired(&sentences, Pairing::OneToAll)?;
    /// let rows = embedded.download_blocking()?.to_vecs()?;
    /// assert_eq!(rows, [vec![2.5, 3.5], vec![], vec![0.5, 1.5, 2.5, 3.5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`gather`](Self::gather), and those of [`pair`](Self::pair) for the pairing.
    pub fn gather_paired(&self, indices: &Indices, pairing: Pairing<'_>) -> Result<Tensor<T>> {
        let op = "gather_paired";
        self.gathered(indices, pairing).named(op)
    }

    fn gathered(&self, indices: &Indices, pairing: Pairing<'_>) -> Result<Tensor<T>> {
        let pairs = self.pairs(&self.layout, indices, pairing)?;
        let gather = Gather {
            indices: indices.clone(),
            dtype: T::DTYPE,
        };
        Call {
            pairs: Some(&pairs),
            ..Call::new(&self.device, gather, &[self.operand()])
        }
        .one()
    }

    /// Writes rows to the indices in the lists, `c[i_r, …] = y[r, …]`, in elements with the shapes of `layout`, and
    /// zeros elsewhere.
    ///
    /// The inverse of a [`gather`](Self::gather) with the same lists.
    ///
    /// An element of shape (k, s) needs a list of k indices and a target of shape (n, s); every index is below n and
    /// occurs only once. Bit patterns are preserved, including those of NaNs. Respects equivalence with regard to rows:
    /// a row of zeros writes zeros over zeros, but needs an index of its own. Cost: the rows and 4 bytes for each row
    /// of the result read, the result written once.
    ///
    /// ```
    /// # use vsla::{Device, Indices, Layout, Ragged};
    /// # let device = Device::cpu();
    /// let y = device.upload(&Ragged::from_rows([vec![1, 2], vec![3]])?)?;
    /// let indices = Indices::new(Ragged::from_rows([vec![3, 0], vec![1]])?)?;
    /// let c = y.scatter_set(&indices, &Layout::from_lengths([4, 2])?)?;
    /// assert_eq!(c.download_blocking()?.to_vecs()?, [vec![2, 0, 0, 1], vec![0, 3]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Index`](crate::Error::Index) for an index of n or more, [`DuplicateIndex`](crate::Error::DuplicateIndex) for
    /// an index that occurs twice; those of [`scatter_add`](Self::scatter_add).
    pub fn scatter_set(&self, indices: &Indices, layout: &Layout) -> Result<Tensor<T>> {
        let set = Set {
            indices: indices.clone(),
            dtype: T::DTYPE,
        };
        self.run_with_layout(set, layout)
    }

    /// Pairs the elements of a layout with lists, unless the device cannot hold offsets for that many pairs.
    fn pairs(&self, layout: &Layout, indices: &Indices, pairing: Pairing<'_>) -> Result<Pairs> {
        let pairs = Pairs::new(layout, indices.lists(), pairing)?;
        check_work(None, pairs.len() as u64, self.device.allowed())?;
        #[cfg(feature = "gpu")]
        if let Backend::Gpu(gpu) = self.device.backend() {
            gpu.check_elements(pairs.len())?;
        }
        Ok(pairs)
    }
}

impl<T: Factor> Tensor<T> {
    /// Adds rows up at the indices in the lists, `c[j, …] = Σ y[r, …]` over the r whose index is j, in elements with
    /// the shapes of `layout`.
    ///
    /// This is the transpose of [`gather`](Self::gather), and so its gradient: `y.scatter_add(&indices, x.layout())`.
    ///
    /// An element of shape (k, s) needs a list of k indices and a target of shape (n, s). Rows that no index names are
    /// zero. An index of n or more is ignored, because a gather reads zeros there whatever x is. Integers wrap; f16 is
    /// summed in f32 and rounded once. A NaN spreads only within its own column of its own row. Respects equivalence
    /// with regard to rows: zero rows after the last one change nothing.
    ///
    /// The order of additions follows the order of the indices and depends on nothing else. The rows of one index are
    /// summed in groups of eight, and then the sums of the groups, up to 64 rows; the sums of 64 rows are summed in the
    /// same way. An index that occurs a million times is therefore not one chain of a million additions: |error| ≤ γ_h
    /// Σ|y| with h ≤ 16 ⌈log₆₄ k⌉. Cost: y, and 4 bytes for each row of y and of c, read once, c written once. The
    /// first call plans, at about ten nanoseconds for each index and each row of c.
    ///
    /// ```
    /// # use vsla::{Device, Indices, Layout, Ragged};
    /// # let device = Device::cpu();
    /// let y = device.upload(&Ragged::from_rows([vec![1, 2, 3, 4], vec![5]])?)?;
    /// let indices = Indices::new(Ragged::from_rows([vec![2, 0, 2, 9], vec![1]])?)?;
    /// let c = y.scatter_add(&indices, &Layout::from_lengths([3, 2])?)?;
    /// assert_eq!(c.download_blocking()?.to_vecs()?, [vec![2, 0, 4], vec![0, 5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize) unless there are as many lists as elements, in this batch and in
    /// `layout`; [`Rank`](crate::Error::Rank) if `layout` has another rank; [`Shape`](crate::Error::Shape) with the
    /// first element whose number of rows differs from the length of its list, or whose rows have another shape than
    /// those of its target; [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn scatter_add(&self, indices: &Indices, layout: &Layout) -> Result<Tensor<T>> {
        self.scattered(indices, layout, Pairing::Elementwise)
            .named("scatter_add")
            .map_err(Error::without_pairing)
    }

    /// [`scatter_add`](Self::scatter_add) for every pair of an element of `layout` and a list, with one element of this
    /// batch per pair.
    ///
    /// This is the transpose of [`gather_paired`](Self::gather_paired). Contributions to the same element are added
    /// pair after pair. With [`Pairing::OneToAll`] the whole batch goes to one element: the gradient of an embedding.
    ///
    /// ```
    /// # use vsla::{Device, Indices, Layout, Pairing, Ragged};
    /// # let device = Device::cpu();
    /// let y = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![4.0]])?)?;
    /// let sentences = Indices::new(Ragged::from_rows([vec![2, 0], vec![2]])?)?;
    /// let table = Layout::from_lengths([3])?;
    /// let c = y.scatter_add_paired(&sentences, &table, Pairing::OneToAll)?;
    /// assert_eq!(c.download_blocking()?.to_vecs()?, [vec![2.0, 0.0, 5.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`scatter_add`](Self::scatter_add), and those of [`pair`](Self::pair) for the pairing.
    pub fn scatter_add_paired(
        &self,
        indices: &Indices,
        layout: &Layout,
        pairing: Pairing<'_>,
    ) -> Result<Tensor<T>> {
        let op = "scatter_add_paired";
        self.scattered(indices, layout, pairing).named(op)
    }

    fn scattered(
        &self,
        indices: &Indices,
        layout: &Layout,
        pairing: Pairing<'_>,
    ) -> Result<Tensor<T>> {
        let pairs = self.pairs(layout, indices, pairing)?;
        let add = Add {
            indices: indices.clone(),
            dtype: T::DTYPE,
        };
        let operands = [self.operand(), self.shapes(layout)];
        Call {
            pairs: Some(&pairs),
            ..Call::new(&self.device, add, &operands)
        }
        .one()
    }
}
