//! Sorts along an axis, and what is read off sorted lines: the largest values, quantiles and medians.

use super::Tensor;
use super::run::Call;
use crate::error::Named;
use crate::ops::sort::{Quantile, Sort, Wanted};
use crate::ops::strided;
use crate::ragged::{Float, Ordered, Scalar};
use crate::{Error, Result};

impl<T: Ordered> Tensor<T> {
    /// The values of each line along an axis, from the smallest to the largest.
    ///
    /// The shapes do not change; each line has its own length.
    ///
    /// Real types and f16; exact. NaN comes last, as in NumPy and PyTorch, and loses its payload; −0 comes before 0.
    /// Every line is sorted by itself; an empty one stays empty. Does not respect equivalence: trailing zeros are
    /// sorted with the other values. Cost: for lines of up to 2,048 values, values read once and written once. Beyond
    /// that, each doubling of the length adds a dispatch that reads and writes the values of lines of at least that
    /// length. Work, as [`WorkLimit`](crate::Error::WorkLimit) counts it: n ⌈log₂ n⌉ for a line of n values.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3, 1, 2], vec![], vec![5, -5]])?)?;
    /// assert_eq!(x.sort(0)?.download_blocking()?.to_vecs()?, [vec![1, 2, 3], vec![], vec![-5, 5]]);
    /// let x = Ragged::from_shapes(vec![4.0f32, 1.0, 2.0, 3.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.sort(0)?.download_blocking()?.row(0), [2.0, 1.0, 4.0, 3.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an axis that is not below the rank;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`WorkLimit`](crate::Error::WorkLimit), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn sort(&self, axis: usize) -> Result<Tensor<T>> {
        self.sorted("sort", axis, Wanted::Values, false)
    }

    /// The values of each line along an axis, from the largest to the smallest.
    ///
    /// The reverse of [`sort`](Self::sort): NaN comes first, as in PyTorch, and 0 before −0.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3, 1, 2], vec![5, -5]])?)?;
    /// assert_eq!(x.sort_descending(0)?.download_blocking()?.to_vecs()?, [vec![3, 2, 1], vec![5, -5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sort`](Self::sort).
    pub fn sort_descending(&self, axis: usize) -> Result<Tensor<T>> {
        self.sorted("sort_descending", axis, Wanted::Values, true)
    }

    /// For each line along an axis, the indices of its values in the order of [`sort`](Self::sort).
    ///
    /// Stable: equal values keep their order. All NaNs are equal, and −0 is smaller than 0. Indices count from the
    /// beginning of the line. Shapes, cost and work are those of `sort`, except that up to twice as many
    /// bytes are moved.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3.0f32, 1.0, 2.0, 1.0], vec![]])?)?;
    /// assert_eq!(x.argsort(0)?.download_blocking()?.to_vecs()?, [vec![1, 3, 2, 0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sort`](Self::sort).
    pub fn argsort(&self, axis: usize) -> Result<Tensor<u32>> {
        self.sorted("argsort", axis, Wanted::Places, false)
    }

    /// For each line along an axis, the indices of its values in the order of
    /// [`sort_descending`](Self::sort_descending).
    ///
    /// Stable: equal values keep their order. Otherwise it behaves like [`argsort`](Self::argsort).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3.0f32, 1.0, 2.0, 1.0], vec![]])?)?;
    /// assert_eq!(x.argsort_descending(0)?.download_blocking()?.to_vecs()?, [vec![0, 2, 1, 3], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sort`](Self::sort).
    pub fn argsort_descending(&self, axis: usize) -> Result<Tensor<u32>> {
        self.sorted("argsort_descending", axis, Wanted::Places, true)
    }

    /// The k largest values of each line along an axis, from the largest down, and their indices in the line.
    ///
    /// Shapes: the extent along the axis becomes k. PyTorch calls it `topk`.
    ///
    /// The first k of [`sort_descending`](Self::sort_descending) and of
    /// [`argsort_descending`](Self::argsort_descending): NaN comes first, and of equal values the one with the lowest
    /// index. Exact. Does not respect equivalence: a trailing zero may be among the largest values. Cost: that of
    /// `argsort_descending`, and a copy of k values and k indices for each line.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3.0f32, 1.0, 4.0], vec![2.0, 7.0]])?)?;
    /// let (values, indices) = x.top_k(2, 0)?;
    /// assert_eq!(values.download_blocking()?.to_vecs()?, [vec![4.0, 3.0], vec![7.0, 2.0]]);
    /// assert_eq!(indices.download_blocking()?.to_vecs()?, [vec![2, 0], vec![1, 0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) with the first element that has fewer than k values along the axis;
    /// [`SizeOverflow`](crate::Error::SizeOverflow); and those of [`sort`](Self::sort).
    pub fn top_k(&self, k: usize, axis: usize) -> Result<(Tensor<T>, Tensor<u32>)> {
        const OP: &str = "top_k";
        self.layout.check_axis(axis).named(OP)?;
        let extent = |element| strided::extent_of(&self.layout, element, axis) as usize;
        match (0..self.len()).find(|&element| extent(element) < k) {
            Some(element) => {
                let expected = format!("{k} values or more along the axis");
                Err(Error::argument(expected, extent(element))
                    .named(OP)
                    .at(element))
            }
            None => self.largest(OP, k, axis),
        }
    }

    /// Like [`top_k`](Self::top_k), but a line with fewer than k values gives all of its values.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3, 1, 4], vec![2], vec![]])?)?;
    /// let (values, indices) = x.top_k_at_most(2, 0)?;
    /// assert_eq!(values.download_blocking()?.to_vecs()?, [vec![4, 3], vec![2], vec![]]);
    /// assert_eq!(indices.download_blocking()?.to_vecs()?, [vec![2, 0], vec![0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sort`](Self::sort).
    pub fn top_k_at_most(&self, k: usize, axis: usize) -> Result<(Tensor<T>, Tensor<u32>)> {
        self.largest("top_k_at_most", k, axis)
    }

    fn largest(&self, op: &'static str, k: usize, axis: usize) -> Result<(Tensor<T>, Tensor<u32>)> {
        self.layout.check_axis(axis).named(op)?;
        let first = strided::layout(self.len(), self.layout.rank(), |element, i| {
            let extent = strided::extent_of(&self.layout, element, i);
            extent.min(if i == axis { k as u64 } else { extent })
        })
        .named(op)?;
        let sort = self.sorting(op, Some(axis), Wanted::Both, true);
        let (values, places) = Call::new(&self.device, sort, &[self.operand()]).two::<T, u32>()?;
        Ok((values.resize(&first)?, places.resize(&first)?))
    }

    fn sorted<R: Scalar>(
        &self,
        op: &'static str,
        axis: usize,
        wanted: Wanted,
        descending: bool,
    ) -> Result<Tensor<R>> {
        self.unary(self.sorting(op, Some(axis), wanted, descending), &[])
    }

    fn sorting(
        &self,
        op: &'static str,
        axis: Option<usize>,
        wanted: Wanted,
        descending: bool,
    ) -> Sort {
        Sort {
            op,
            dtype: T::DTYPE,
            axis,
            wanted,
            descending,
        }
    }
}

impl<T: Float> Tensor<T> {
    /// The q-quantile of each element, as a batch of rank 1 and length 1.
    ///
    /// With sorted values x_0 ≤ … ≤ x_(n − 1), a = q (n − 1) and i = ⌊a⌋, it is x_i + (a − i)(x_(i + 1) − x_i): linear
    /// interpolation, NumPy's default. q is between 0, the minimum, and 1, the maximum.
    ///
    /// An empty element gives NaN, and so does an element with a NaN. Any rank. The result lies between its two
    /// neighbours; if these are infinities of different signs, it is NaN. Error bound: |error| ≤ 2⁻²² max(|x_i|,
    /// |x_(i + 1)|) + 2⁻¹²⁶. f16 is computed in f32 and rounded once, which adds half a unit in the last place.
    /// Does not respect equivalence: the number of stored values counts. Cost: that of [`sort`](Self::sort) for whole
    /// elements.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![4.0f32, 1.0, 2.0], vec![5.0]])?)?;
    /// assert_eq!(x.quantile(0.25)?.download_blocking()?.to_vecs()?, [vec![1.5], vec![5.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for a q that is not between 0 and 1; and those of [`sort`](Self::sort).
    pub fn quantile(&self, q: f64) -> Result<Tensor<T>> {
        self.at_quantile("quantile", None, q)
    }

    /// The q-quantile of each line along an axis, as [`quantile`](Self::quantile) describes.
    ///
    /// The result's elements lack that axis; elements of rank 1 give one value each. An empty line gives NaN.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1.0f32, 5.0, 3.0, 9.0], 2, [Shape::new(&[2, 2])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.quantile_axis(0.5, 0)?.download_blocking()?.row(0), [2.0, 7.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`quantile`](Self::quantile); [`Argument`](crate::Error::Argument) for an axis that is not below the
    /// rank.
    pub fn quantile_axis(&self, q: f64, axis: usize) -> Result<Tensor<T>> {
        self.at_quantile("quantile_axis", Some(axis), q)
    }

    /// The median of each element, its [`quantile`](Self::quantile) at 0.5: the middle value, or the mean of the
    /// two middle ones.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![4.0f32, 1.0, 2.0], vec![5.0, 2.0]])?)?;
    /// assert_eq!(x.median()?.download_blocking()?.to_vecs()?, [vec![2.0], vec![3.5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sort`](Self::sort).
    pub fn median(&self) -> Result<Tensor<T>> {
        self.at_quantile("median", None, 0.5)
    }

    /// The median of each line along an axis, its [`quantile_axis`](Self::quantile_axis) at 0.5.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let x = Ragged::from_shapes(vec![1.0f32, 5.0, 9.0, 2.0, 4.0, 3.0], 2, [Shape::new(&[2, 3])?])?;
    /// let x = Device::cpu().upload(&x)?;
    /// assert_eq!(x.median_axis(1)?.download_blocking()?.row(0), [5.0, 3.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`quantile_axis`](Self::quantile_axis).
    pub fn median_axis(&self, axis: usize) -> Result<Tensor<T>> {
        self.at_quantile("median_axis", Some(axis), 0.5)
    }

    fn at_quantile(&self, op: &'static str, axis: Option<usize>, q: f64) -> Result<Tensor<T>> {
        if !(0.0..=1.0).contains(&q) {
            return Err(Error::argument("a number between 0 and 1", q).named(op));
        }
        let sort = self.sorting(op, axis, Wanted::Values, false);
        let sorted: Tensor<T> = self.unary(sort, &[])?;
        let quantile = Quantile {
            op,
            dtype: T::DTYPE,
            axis,
            q: q.to_bits(),
        };
        sorted.unary(quantile, &[])
    }
}
