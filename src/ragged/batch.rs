//! Batches with their values, on the host.

use core::ops::{Index, IndexMut};

use rayon::prelude::*;

use super::offsets::{element_count, total_overflow};
use super::shape::MAX_RANK;
use super::{Layout, Offsets, Rows, Shape};
use crate::error::Named;
use crate::error::{Count, Error, Result};
use crate::host;

const OP: &str = "ragged";

/// A batch of elements of one rank and different shapes, with its values packed end to end in host memory.
///
/// Elements of rank 1 are called rows. Every element is borrowed as a slice of its values; for rank 2 and above they
/// are in row-major order, and [`shape`](Self::shape) gives the extents. `T` is any `Copy` type.
///
/// ```
/// use vsla::Ragged;
///
/// let batch = Ragged::from_rows([vec![1.0, 2.0, 3.0], vec![], vec![4.0, 5.0]])?;
/// assert_eq!(batch, Ragged::from_lengths(vec![1.0, 2.0, 3.0, 4.0, 5.0], [3, 0, 2])?);
/// assert_eq!(&batch[2], [4.0, 5.0]);
/// assert_eq!(batch.iter().map(<[f64]>::len).collect::<Vec<_>>(), [3, 0, 2]);
/// assert_eq!(
///     batch.to_string(),
///     "\
/// Ragged<f64>: 3 rows, 5 values, lengths 0..=3
/// [[1.0, 2.0, 3.0],
///  [],
///  [4.0, 5.0]]"
/// );
/// # Ok::<(), vsla::Error>(())
/// ```
///
/// # Printing
/// `Display` writes a summary line and then the values, using their `Debug` format; complex values print as `1.0-2.0i`.
/// A precision (`{:.3}`) applies to every value. Long batches, rows and axes show only their ends, unless printed with
/// `{:#}`. `Debug` writes the same.
///
/// # Cloning
/// `clone` copies the values. It cannot return an error: unlike the other functions of this library, it does not check
/// the memory budget, and aborts the process if the system has no memory.
#[derive(Clone, PartialEq)]
pub struct Ragged<T> {
    layout: Layout,
    values: Vec<T>,
}

impl<T: Copy> Ragged<T> {
    /// A batch of these rows, copied end to end in one pass.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] names the row at which the total exceeds 2³² − 1; [`Error::OutOfMemory`] when the rows
    /// do not fit in [the host's memory](crate::device::set_host_memory_limit).
    pub fn from_rows(rows: impl IntoIterator<Item: AsRef<[T]>>) -> Result<Self> {
        let rows = rows.into_iter();
        let promised = rows.size_hint().0;
        element_count(promised).named(OP)?;
        let mut values = Vec::new();
        let mut offsets = host::promised(promised.saturating_add(1)).named(OP)?;
        offsets.push(0);
        for (element, row) in rows.enumerate() {
            let row = row.as_ref();
            let end = u32::try_from(values.len() as u64 + row.len() as u64)
                .map_err(|_| total_overflow(element).named(OP))?;
            element_count(offsets.len()).named(OP)?;
            host::reserve(&mut values, row.len()).named(OP)?;
            values.extend_from_slice(row);
            host::push(&mut offsets, end).named(OP)?;
        }
        let layout = Layout::from_offsets(Offsets::from_vec_unchecked(offsets));
        Ok(Ragged { layout, values })
    }

    /// A batch of one matrix with these rows, copied end to end in one pass: weights, for instance.
    ///
    /// Values that are packed already are rows of `n` values as `values.chunks(n)`.
    ///
    /// ```
    /// # use vsla::{Ragged, Shape};
    /// let weights = Ragged::matrix([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
    /// assert_eq!((weights.len(), weights.shape(0)), (1, Shape::new(&[2, 3])?));
    /// assert_eq!(Ragged::matrix(weights.values().chunks(3))?, weights);
    /// let error = Ragged::matrix([vec![1, 2], vec![3]]).unwrap_err();
    /// assert_eq!(error.to_string(), "matrix: expected rows of 2 values, as row 0, got 1 in row 1");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for a row of another length than the first; those of [`from_rows`](Self::from_rows).
    pub fn matrix(rows: impl IntoIterator<Item: AsRef<[T]>>) -> Result<Self> {
        const OP: &str = "matrix";
        let rows = Ragged::from_rows(rows).named(OP)?;
        let width = rows.layout.lengths().next().unwrap_or(0);
        if let Some((row, length)) = rows.layout.lengths().enumerate().find(|row| row.1 != width) {
            let expected = format!("rows of {}, as row 0", Count(width, "value"));
            return Err(Error::argument(expected, format!("{length} in row {row}")).named(OP));
        }
        let shape = Shape::new(&[rows.len(), width])?;
        Ragged::from_parts(Layout::uniform(1, shape)?, rows.values)
    }

    /// Packed values, split into rows of these lengths. The values are not copied.
    ///
    /// # Errors
    /// Those of [`Offsets::from_lengths`]; [`Error::ValueCount`] when the lengths do not add up to the number of
    /// values.
    pub fn from_lengths(values: Vec<T>, lengths: impl IntoIterator<Item = usize>) -> Result<Self> {
        Ragged::from_parts(Layout::from_lengths(lengths)?, values)
    }

    /// Packed values, split into rows at these offsets. The values are not copied.
    ///
    /// # Errors
    /// Those of [`Offsets::new`]; [`Error::ValueCount`] when the last offset is not the number of values.
    pub fn from_offsets(values: Vec<T>, offsets: impl Into<Vec<u32>>) -> Result<Self> {
        Ragged::from_parts(Layout::from_offsets(Offsets::new(offsets)?), values)
    }

    /// Packed values, split into elements of these shapes, each in row-major order. The values are not copied.
    ///
    /// # Errors
    /// Those of [`Layout::from_shapes`]; [`Error::ValueCount`] when the sizes do not add up to the number of values.
    ///
    /// ```
    /// use vsla::{Ragged, Shape};
    ///
    /// let shapes = [Shape::new(&[2, 2])?, Shape::new(&[1, 3])?];
    /// let batch = Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6, 7], 2, shapes)?;
    /// assert_eq!(
    ///     batch.to_string(),
    ///     "\
    /// Ragged<i32>: 2 elements of rank 2, 7 values, extents (1..=2, 2..=3)
    /// [[[1, 2],
    ///   [3, 4]],
    ///
    ///  [[5, 6, 7]]]"
    /// );
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn from_shapes(
        values: Vec<T>,
        rank: usize,
        shapes: impl IntoIterator<Item = Shape>,
    ) -> Result<Self> {
        Ragged::from_parts(Layout::from_shapes(rank, shapes)?, values)
    }

    /// Packed values with a layout. Copies nothing; batches made from clones of one layout share the plans made for it.
    ///
    /// # Errors
    /// [`Error::ValueCount`] when the layout has a different number of values.
    pub fn from_parts(layout: Layout, values: Vec<T>) -> Result<Self> {
        layout.check_values(values.len()).named(OP)?;
        Ok(Ragged { layout, values })
    }

    /// The first `lengths[i]` values of each row of a padded array of `width` columns. Copies only those values.
    ///
    /// # Errors
    /// [`Error::ValueCount`] when the array does not have `width` values per length, or for the first row whose length
    /// exceeds the width; [`Error::SizeOverflow`] as [`Offsets::from_lengths`].
    ///
    /// ```
    /// use vsla::Ragged;
    ///
    /// let batch = Ragged::from_padded(&[1, 2, 0, 3, 0, 0], 3, &[2, 1])?;
    /// assert_eq!(batch, Ragged::from_rows([&[1, 2][..], &[3]])?);
    /// assert_eq!(batch.to_padded(0)?, [1, 2, 3, 0], "as wide as the longest row");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn from_padded(padded: &[T], width: usize, lengths: &[usize]) -> Result<Self> {
        let wrong = |element, expected, got| {
            Error::value_count(expected, got)
                .named("from_padded")
                .at(element)
        };
        let expected = lengths.len().saturating_mul(width);
        if padded.len() != expected {
            return Err(wrong(None, expected, padded.len()));
        }
        if let Some(element) = lengths.iter().position(|&length| length > width) {
            return Err(wrong(Some(element), width, lengths[element]));
        }
        let layout = Layout::from_lengths(lengths.iter().copied())?;
        let mut values = host::room(layout.total()).named("from_padded")?;
        for (row, &length) in lengths.iter().enumerate() {
            values.extend_from_slice(&padded[row * width..][..length]);
        }
        Ok(Ragged { layout, values })
    }

    /// A batch with every value equal to `value`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the values do not fit in [the host's memory](crate::device::set_host_memory_limit).
    pub fn full(layout: &Layout, value: T) -> Result<Self> {
        Ok(Ragged {
            layout: layout.clone(),
            values: host::filled(value, layout.total()).named(OP)?,
        })
    }

    /// A batch of default values: zeros, for numbers.
    ///
    /// # Errors
    /// Those of [`full`](Self::full).
    pub fn zeros(layout: &Layout) -> Result<Self>
    where
        T: Default,
    {
        Ragged::full(layout, T::default())
    }

    /// A batch with computed values: `value(element, index)`.
    ///
    /// `index` counts from the start of the element in row-major order. Calls `value` once per value, in order.
    ///
    /// # Errors
    /// Those of [`full`](Self::full), checked before the first call.
    ///
    /// ```
    /// use vsla::{Layout, Ragged};
    ///
    /// let layout = Layout::from_lengths([2, 0, 3])?;
    /// let batch = Ragged::from_fn(&layout, |element, index| 10 * element + index)?;
    /// assert_eq!(batch.to_vecs()?, [vec![0, 1], vec![], vec![20, 21, 22]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn from_fn(layout: &Layout, mut value: impl FnMut(usize, usize) -> T) -> Result<Self> {
        let mut values = host::room(layout.total()).named(OP)?;
        for (element, length) in layout.lengths().enumerate() {
            values.extend((0..length).map(|index| value(element, index)));
        }
        Ok(Ragged {
            layout: layout.clone(),
            values,
        })
    }

    /// The shapes, in their shared layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// All values, end to end.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, end to end, mutable.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The number of elements. (The number of values is `values().len()`.)
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no elements. A batch of empty elements is not empty.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// The values of element `i`, in row-major order. `batch[i]` is the same.
    ///
    /// # Panics
    /// When there is no element `i`. [`get`](Self::get) returns `None` instead.
    pub fn row(&self, i: usize) -> &[T] {
        &self.values[self.layout.offsets().range(i)]
    }

    /// The values of element `i`, in row-major order, or `None` if there is no such element.
    pub fn get(&self, i: usize) -> Option<&[T]> {
        (i < self.len()).then(|| self.row(i))
    }

    /// The shape of element `i`.
    ///
    /// # Panics
    /// When there is no element `i`.
    pub fn shape(&self, i: usize) -> Shape {
        self.layout.shape(i)
    }

    /// The values of each element, in order.
    pub fn iter(&self) -> Rows<'_, T> {
        Rows {
            offsets: self.layout.offsets().as_slice(),
            values: &self.values,
        }
    }

    /// The values of each element as a separate vector. Copies, with one allocation per element.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when they do not fit in [the host's memory](crate::device::set_host_memory_limit).
    pub fn to_vecs(&self) -> Result<Vec<Vec<T>>> {
        let rows = self.iter().map(|row| host::copied(row).named("to_vecs"));
        host::try_collect(rows).named("to_vecs")
    }

    /// The batch as a dense array, with every element at the origin of its box and `fill` in the rest of the box.
    ///
    /// All boxes have the extents of [`Layout::ambient_extents`], so rows become a matrix as wide as the longest row.
    /// Allocates [`Layout::padded_total`] values, which may be far more than the batch has.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when they do not fit in [the host's memory](crate::device::set_host_memory_limit).
    ///
    /// ```
    /// use vsla::{Ragged, Shape};
    ///
    /// let batch = Ragged::from_rows([vec![1, 2, 3], vec![], vec![4]])?;
    /// assert_eq!(batch.to_padded(0)?, [1, 2, 3, 0, 0, 0, 4, 0, 0]);
    ///
    /// let shapes = [Shape::new(&[2, 1])?, Shape::new(&[1, 2])?];
    /// let batch = Ragged::from_shapes(vec![1, 2, 3, 4], 2, shapes)?;
    /// assert_eq!(batch.to_padded(0)?, [1, 0, 2, 0, 3, 4, 0, 0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn to_padded(&self, fill: T) -> Result<Vec<T>> {
        let total = usize::try_from(self.layout.padded_total()).unwrap_or(usize::MAX);
        let mut padded = host::filled(fill, total).named("to_padded")?;
        if self.values.is_empty() {
            return Ok(padded);
        }
        // There are values, so no ambient extent is 0, and `total` is the product of the extents times the length.
        let ambient = self.layout.ambient_extents();
        let elements = padded.chunks_exact_mut(total / self.len());
        for (element, (target, values)) in elements.zip(self).enumerate() {
            if !values.is_empty() {
                place(values, self.shape(element).extents(), target, ambient);
            }
        }
        Ok(padded)
    }

    /// The fraction of [`to_padded`](Self::to_padded) that would be padding; see [`Layout::padding_waste`].
    pub fn padding_waste(&self) -> f64 {
        self.layout.padding_waste()
    }

    /// The batch with every value converted. The layout is shared.
    ///
    /// To convert `f64` to `f16` with a single rounding, use [`f16_from_f64`](crate::scalar::f16_from_f64).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the copy does not fit in [the host's memory](crate::device::set_host_memory_limit).
    ///
    /// ```
    /// use vsla::Ragged;
    ///
    /// let batch = Ragged::from_rows([vec![1.5_f64, 2.5], vec![3.5]])?;
    /// assert_eq!(batch.cast(|x| x as f32)?, Ragged::from_rows([vec![1.5_f32, 2.5], vec![3.5]])?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn cast<U: Copy>(&self, convert: impl Fn(T) -> U) -> Result<Ragged<U>> {
        let values = self.values.iter().map(|&value| convert(value));
        Ok(Ragged {
            layout: self.layout.clone(),
            values: host::exact(values).named("cast")?,
        })
    }

    /// The layout and the packed values. Copies nothing.
    pub fn into_parts(self) -> (Layout, Vec<T>) {
        (self.layout, self.values)
    }
}

impl Ragged<f32> {
    /// Uniform values in [−1, 1), identical for equal seeds on every machine and with any number of threads.
    ///
    /// With zᵢ the i-th output of SplitMix64 started at `seed`, value i of the batch is ⌊zᵢ / 2⁴⁰⌋ / 2²³ − 1. Not for
    /// cryptography. Large batches are filled in parallel.
    ///
    /// # Errors
    /// Those of [`full`](Self::full).
    ///
    /// ```
    /// use vsla::{Layout, Ragged};
    ///
    /// let layout = Layout::from_lengths([3, 5])?;
    /// let batch = Ragged::random(&layout, 7)?;
    /// assert_eq!(batch, Ragged::random(&layout, 7)?);
    /// assert_ne!(batch, Ragged::random(&layout, 8)?);
    /// assert!(batch.values().iter().all(|x| (-1.0..1.0).contains(x)));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn random(layout: &Layout, seed: u64) -> Result<Self> {
        /// The fewest values per thread that make waking it worthwhile.
        const CHUNK: usize = 1 << 15;

        let total = layout.total();
        let uniform = |index| {
            let bits = splitmix64(seed, index as u64) >> 40;
            bits as f32 / (1 << 23) as f32 - 1.0
        };
        let mut values = host::room(total).named("random")?;
        if total <= CHUNK {
            values.extend((0..total).map(uniform));
        } else {
            let indices = (0..total).into_par_iter().with_min_len(CHUNK);
            indices.map(uniform).collect_into_vec(&mut values);
        }
        Ok(Ragged {
            layout: layout.clone(),
            values,
        })
    }
}

/// Output `index` of SplitMix64. Its state is a counter, so any output can be computed without the previous ones.
pub(super) fn splitmix64(seed: u64, index: u64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = seed.wrapping_add(STEP.wrapping_mul(index.wrapping_add(1)));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Copies a non-empty row-major array to the origin of a larger one, one run along the last axis at a time.
fn place<T: Copy>(values: &[T], extents: &[u32], target: &mut [T], ambient: &[u32]) {
    let last = extents.len() - 1;
    let mut index = [0_u32; MAX_RANK];
    for run in values.chunks_exact(extents[last] as usize) {
        let start = (0..=last).fold(0, |start, axis| {
            start * ambient[axis] as usize + index[axis] as usize
        });
        target[start..][..run.len()].copy_from_slice(run);
        for axis in (0..last).rev() {
            index[axis] += 1;
            if index[axis] < extents[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

impl<T: Copy> Index<usize> for Ragged<T> {
    type Output = [T];

    fn index(&self, i: usize) -> &[T] {
        self.row(i)
    }
}

impl<T: Copy> IndexMut<usize> for Ragged<T> {
    fn index_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.values[self.layout.offsets().range(i)]
    }
}

impl<T: Copy> TryFrom<Vec<Vec<T>>> for Ragged<T> {
    type Error = Error;

    /// Those of [`Ragged::from_rows`].
    fn try_from(rows: Vec<Vec<T>>) -> Result<Self> {
        Ragged::from_rows(rows)
    }
}

impl<'a, T: Copy> IntoIterator for &'a Ragged<T> {
    type Item = &'a [T];
    type IntoIter = Rows<'a, T>;

    fn into_iter(self) -> Rows<'a, T> {
        self.iter()
    }
}
