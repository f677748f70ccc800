//! Rows by their indices.

use super::Tensor;
#[cfg(feature = "gpu")]
use super::device::Backend;
use super::run::Call;
use crate::Result;
use crate::ops::Op;
use crate::ops::gather::Gather;
use crate::ops::scatter::{Add, Set};
use crate::plan::check_work;
use crate::ragged::{Indices, Layout, Pairing, Pairs, Real, Scalar};

impl<T: Scalar> Tensor<T> {
    /// `c[r, …] = x[i_r, …]` with i the list of the element: its rows along the first axis, in any order and as often
    /// as they are named.
    ///
    /// An element of shape (n, s) and a list of k indices give one of shape (k, s). An index of n or more gives a row
    /// of zeros. Bits are kept, those of a NaN too; empty elements and lists are elements and lists. Along another
    /// axis, gather between two transposes. Respects equivalence, as far as rows go: zeros behind the last row change
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
    pub fn gather(&self, indices: &Indices) -> Result<Tensor<T>> {
        self.gathered("gather", indices, Pairing::Elementwise)
    }

    /// [`gather`](Self::gather) of every pair of an element and a list. With [`Pairing::OneToAll`] all lists take rows of
    /// one element, which is not copied for it: an embedding of sentences of many lengths.
    ///
    /// ```
    /// # use vsla::{Device, Indices, Pairing, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let table = Ragged::from_shapes(vec![0.5f32, 1.5, 2.5, 3.5], 2, [Shape::new(&[2, 2])?])?;
    /// let sentences = Indices::new(Ragged::from_rows([vec![1], vec![], vec![0, 1]])?)?;
    /// let embedded = device.upload(&table)?.gather_paired(&sentences, Pairing::OneToAll)?;
    /// let rows = embedded.download_blocking()?.to_vecs();
    /// assert_eq!(rows, [vec![2.5, 3.5], vec![], vec![0.5, 1.5, 2.5, 3.5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`gather`](Self::gather), and of [`pair`](Self::pair) for the pairing.
    pub fn gather_paired(&self, indices: &Indices, pairing: Pairing<'_>) -> Result<Tensor<T>> {
        let op = "gather_paired";
        self.gathered(op, indices, pairing)
            .map_err(|error| error.named(op))
    }

    fn gathered(
        &self,
        op: &'static str,
        indices: &Indices,
        pairing: Pairing<'_>,
    ) -> Result<Tensor<T>> {
        let pairs = self.pairs(op, &self.layout, indices, pairing)?;
        let gather = Gather {
            indices: indices.clone(),
            dtype: T::DTYPE,
        };
        Call {
            pairs: Some(&pairs),
            ..Call::new(&self.device, Op::Gather(gather), &[self.operand()])
        }
        .one()
    }

    /// Puts rows where the lists say: `c[i_r, …] = y[r, …]`, in elements of the shapes of `layout`, zeros elsewhere.
    /// What a [`gather`](Self::gather) of the same lists takes apart.
    ///
    /// An element of shape (k, s) needs a list of k indices, and a place of shape (n, s); every index is below n, and
    /// none comes twice. Bits are kept, those of a NaN too. Respects equivalence, as far as rows go: rows of zeros are
    /// put where zeros are, but need indices of their own. Cost: the rows and 4 bytes for each row of the result read,
    /// the result written once.
    ///
    /// ```
    /// # use vsla::{Device, Indices, Layout, Ragged};
    /// # let device = Device::cpu();
    /// let y = device.upload(&Ragged::from_rows([vec![1, 2], vec![3]])?)?;
    /// let indices = Indices::new(Ragged::from_rows([vec![3, 0], vec![1]])?)?;
    /// let c = y.scatter_set(&indices, &Layout::from_lengths([4, 2])?)?;
    /// assert_eq!(c.download_blocking()?.to_vecs(), [vec![2, 0, 0, 1], vec![0, 3]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Index`](crate::Error::Index) for an index of n or more, [`DuplicateIndex`](crate::Error::DuplicateIndex) for one
    /// that comes twice; those of [`scatter_add`](Self::scatter_add).
    pub fn scatter_set(&self, indices: &Indices, layout: &Layout) -> Result<Tensor<T>> {
        let set = Set {
            indices: indices.clone(),
            dtype: T::DTYPE,
        };
        self.onto(Op::ScatterSet(set), layout)
    }

    /// The pairs of elements of a layout and lists, unless there are more than the device could hold the offsets of.
    fn pairs(
        &self,
        op: &'static str,
        layout: &Layout,
        indices: &Indices,
        pairing: Pairing<'_>,
    ) -> Result<Pairs> {
        let pairs = Pairs::new(op, layout, indices.lists(), pairing)?;
        check_work(op, None, pairs.len() as u64, self.device.allowed())?;
        #[cfg(feature = "gpu")]
        if let Backend::Gpu(gpu) = self.device.backend() {
            gpu.check_elements(op, pairs.len())?;
        }
        Ok(pairs)
    }
}

impl<T: Real> Tensor<T> {
    /// Adds rows up where the lists say: `c[j, …] = Σ y[r, …]` over the r whose index is j, in elements of the shapes
    /// of `layout`. The transpose of [`gather`](Self::gather), and so its gradient: `y.scatter_add(&indices,
    /// x.layout())`.
    ///
    /// An element of shape (k, s) needs a list of k indices, and a place of shape (n, s). Rows that no index names are
    /// zeros; an index of n or more names none, since a gather reads zeros there whatever x is. Integers wrap; NaN
    /// spreads over its own column of its own row. Respects equivalence, as far as rows go: zeros behind the last row
    /// change nothing.
    ///
    /// The order is that of the indices and depends on nothing else: the rows of one index are added up by eights, then
    /// their sums, and after 64 rows begin anew; the sums of 64 are added up in the same way. So one index a million
    /// times is no chain of a million. |error| ≤ γ_h Σ|y| with h ≤ 16 ⌈log₆₄ k⌉. Cost: y, and 4 bytes for each row of y
    /// and of c, read once, c written once; planning takes some ten nanoseconds for each index and each row of c, the
    /// first time.
    ///
    /// ```
    /// # use vsla::{Device, Indices, Layout, Ragged};
    /// # let device = Device::cpu();
    /// let y = device.upload(&Ragged::from_rows([vec![1, 2, 3, 4], vec![5]])?)?;
    /// let indices = Indices::new(Ragged::from_rows([vec![2, 0, 2, 9], vec![1]])?)?;
    /// let c = y.scatter_add(&indices, &Layout::from_lengths([3, 2])?)?;
    /// assert_eq!(c.download_blocking()?.to_vecs(), [vec![2, 0, 4], vec![0, 5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](crate::Error::BatchSize) unless there are as many lists as elements, here and in `layout`;
    /// [`Rank`](crate::Error::Rank) when `layout` is of another rank; [`Shape`](crate::Error::Shape) with the first element that is not
    /// of its list's number of rows, or whose rows are of another shape than those of its place;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn scatter_add(&self, indices: &Indices, layout: &Layout) -> Result<Tensor<T>> {
        self.scatter_add_paired(indices, layout, Pairing::Elementwise)
    }

    /// [`scatter_add`](Self::scatter_add) of every pair of an element of `layout` and a list, an element of this batch each:
    /// the transpose of [`gather_paired`](Self::gather_paired). What goes to one element is added up pair after pair.
    /// With [`Pairing::OneToAll`] all of the batch goes to one element: the gradient of an embedding.
    ///
    /// ```
    /// # use vsla::{Device, Indices, Layout, Pairing, Ragged};
    /// # let device = Device::cpu();
    /// let y = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![4.0]])?)?;
    /// let sentences = Indices::new(Ragged::from_rows([vec![2, 0], vec![2]])?)?;
    /// let table = Layout::from_lengths([3])?;
    /// let c = y.scatter_add_paired(&sentences, &table, Pairing::OneToAll)?;
    /// assert_eq!(c.download_blocking()?.to_vecs(), [vec![2.0, 0.0, 5.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`scatter_add`](Self::scatter_add), and of [`pair`](Self::pair) for the pairing.
    pub fn scatter_add_paired(
        &self,
        indices: &Indices,
        layout: &Layout,
        pairing: Pairing<'_>,
    ) -> Result<Tensor<T>> {
        let pairs = self.pairs("scatter_add", layout, indices, pairing)?;
        let add = Add {
            indices: indices.clone(),
            dtype: T::DTYPE,
        };
        let operands = [self.operand(), self.shapes(layout)];
        Call {
            pairs: Some(&pairs),
            ..Call::new(&self.device, Op::ScatterAdd(add), &operands)
        }
        .one()
    }
}
