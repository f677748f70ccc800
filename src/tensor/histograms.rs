//! Histograms of elements.

use std::ops::RangeInclusive;

use super::Tensor;
use crate::Result;
use crate::error::Named;
use crate::ops::histogram::{Bins, Histogram};
use crate::ragged::{Factor, Ordered};

impl<T: Factor> Tensor<T> {
    /// The histogram of each element: how many of its values lie in each of `bins` bins of equal width between two
    /// ends.
    ///
    /// `c_i` counts the values x with `e_i ≤ x < e_(i + 1)`, and the last bin also those with x = hi. The edges are
    /// `e_i = lo + i (hi − lo) / bins`, computed in f64 as by NumPy's `linspace` and, for floats, rounded to the type
    /// of the values; integers are compared with the edges in f64. A bin between two edges that round to the same
    /// number is empty. Each element gives a vector of `bins` counts, whatever its rank; an empty one gives zeros.
    ///
    /// Values outside of the range and NaN are not counted, and −0 equals 0. Counts are exact and the same on all
    /// devices. f32, i32, u32 and f16. NumPy calls it `histogram`, with a `range`; PyTorch calls it `histc`. For other
    /// edges there is [`histogram_edges`](Self::histogram_edges). Does not respect equivalence: a trailing zero counts.
    ///
    /// Cost: values read once, counts written once; they are written twice if an element has more than 32,768 values
    /// (fewer in small batches), or if there are more than 4,096 bins. On a GPU, up to 4,096 bins are counted in
    /// workgroup memory and more bins in memory, which is slower.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![0.0f32, 0.4, 0.5, 1.0, 7.0], vec![]])?)?;
    /// assert_eq!(x.histogram(2, 0.0..=1.0)?.download_blocking()?.to_vecs()?, [vec![2, 2], vec![0, 0]]);
    /// let x = Device::cpu().upload(&Ragged::from_rows([[3u32, 0, 3, 1]])?)?;
    /// assert_eq!(x.histogram(4, 0..=4)?.download_blocking()?.row(0), [1, 1, 0, 2]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for 0 bins, and for ends that are not finite, or of which the first is not
    /// below the second; [`SizeOverflow`](crate::Error::SizeOverflow) with the element whose counts do not fit;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`WorkLimit`](crate::Error::WorkLimit), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn histogram(&self, bins: usize, range: RangeInclusive<T>) -> Result<Tensor<u32>> {
        self.counts(Bins::equal(bins, *range.start(), *range.end()).named("histogram")?)
    }

    /// The histogram of each element in the bins between these edges, which are the same for all elements.
    ///
    /// `c_i` counts the values x with `edges[i] ≤ x < edges[i + 1]`, and the last bin also those that equal the last
    /// edge. There is one bin fewer than edges. NumPy calls it `histogram`, with `bins=edges`. Otherwise it behaves
    /// like [`histogram`](Self::histogram), except that the bin of each value is found by a binary search.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 9, 10, 99, 100, 101], vec![5]])?)?;
    /// let counts = x.histogram_edges(&[1, 10, 100])?;
    /// assert_eq!(counts.download_blocking()?.to_vecs()?, [vec![2, 3], vec![1, 0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for fewer than 2 edges, and for edges that are not finite, or not strictly
    /// increasing; otherwise those of [`histogram`](Self::histogram).
    pub fn histogram_edges(&self, edges: &[T]) -> Result<Tensor<u32>> {
        self.counts(Bins::between(edges).named("histogram_edges")?)
    }
}

impl<T: Ordered> Tensor<T> {
    pub(super) fn counts(&self, bins: Bins) -> Result<Tensor<u32>> {
        let dtype = T::DTYPE;
        self.unary(Histogram { dtype, bins }, &[])
    }
}
