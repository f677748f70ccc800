//! Changes of shape: slices, padding, reversal, resizing, transposes, reshapes and broadcasts.

use super::Tensor;
use crate::Result;
use crate::error::Named;
use crate::ops::strided::{Cut, How, Strided, View, check_axes, check_flip, check_transpose};
use crate::ragged::{Layout, Scalar};

impl<T: Scalar> Tensor<T> {
    /// A copy in which each result value comes from at most one source position.
    pub(crate) fn strided(&self, how: How) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        self.unary(Strided { how, dtype }, &[])
    }

    /// The same copy, into this layout.
    pub(crate) fn strided_with_layout(&self, how: How, layout: &Layout) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        self.run_with_layout(Strided { how, dtype }, layout)
    }

    /// Views the values through a layout with the same number of values.
    pub(crate) fn view_as(&self, layout: &Layout) -> Result<Tensor<T>> {
        self.run_with_layout(View::Divided, layout)
    }

    /// Takes the box from `start` to before `end` of each element, with one position per axis: y_k = x_(k + start),
    /// zero where x has no such value.
    ///
    /// Positions count from the element's first value, and may be negative or beyond the element: every result has the
    /// shape `end − start`, whatever the element's shape, so slicing from 0 to n pads or truncates to n. Any element
    /// type; bit patterns are preserved. Respects equivalence: positions outside the element read as zeros. An empty
    /// element gives zeros. Cost: the values inside read once, the result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2, 3, 4], vec![5], vec![]])?)?;
    /// let y = x.slice(&[-1], &[2])?.download_blocking()?;
    /// assert_eq!(y.to_vecs()?, [vec![0, 1, 2], vec![0, 5, 0], vec![0, 0, 0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless there is one position per axis; [`Argument`](crate::Error::Argument) for an
    /// end before its start; [`SizeOverflow`](crate::Error::SizeOverflow) with the element whose result does not fit;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn slice(&self, start: &[i64], end: &[i64]) -> Result<Tensor<T>> {
        for list in [start, end] {
            check_axes(&self.layout, list.len()).named("slice")?;
        }
        let (start, end) = (start.to_vec(), end.to_vec());
        self.strided(How::Slice { start, end })
    }

    /// Takes every `step`-th value along each axis, forwards or backwards. Each axis has a range (start, end, step)
    /// with the meaning of `start:end:step` in NumPy, applied to each element's own extent.
    ///
    /// Along an axis, y_k = x_(start + k · step) for all k ≥ 0 whose index is before `end` or, if the step is negative,
    /// after it. Negative positions count from the end of the element's axis, and positions beyond its ends are clamped
    /// to them: unlike [`slice`](Self::slice), this never reads outside an element. `None` means as far as the axis
    /// goes: `(None, None, -1)` reverses it, and `(Some(-3), None, 1)` takes the last three values, or all if there are
    /// fewer.
    ///
    /// Any element type; bit patterns are preserved. Does not respect equivalence: the last value of `[1, 0]` is not
    /// that of `[1]`. A range without values gives an empty element. Cost: the values taken are read once (for steps
    /// along the last axis, with the memory sectors around them), and the result is written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2, 3, 4, 5], vec![6, 7], vec![]])?)?;
    /// let y = x.strided_slice(&[(None, None, -2)])?.download_blocking()?;
    /// assert_eq!(y.to_vecs()?, [vec![5, 3, 1], vec![7], vec![]]);
    /// let y = x.strided_slice(&[(Some(-3), Some(-1), 1)])?.download_blocking()?;
    /// assert_eq!(y.to_vecs()?, [vec![3, 4], vec![6], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless there is one range per axis; [`Argument`](crate::Error::Argument) for a step
    /// of 0; [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn strided_slice(&self, ranges: &[(Option<i64>, Option<i64>, i64)]) -> Result<Tensor<T>> {
        check_axes(&self.layout, ranges.len()).named("strided_slice")?;
        self.strided(How::Cut(ranges.iter().copied().map(Cut::new).collect()))
    }

    /// Pads each element with zeros, as many on each axis before and after it: y_k = x_(k − before), with extent
    /// before + n + after.
    ///
    /// Any element type; bit patterns are preserved. Padding after an element gives an equivalent element; padding
    /// before it gives a different one. Equivalent elements stay equivalent. An empty element gives zeros. Cost: values
    /// read once, the result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![]])?)?;
    /// let y = x.pad(&[1], &[2])?.download_blocking()?;
    /// assert_eq!(y.to_vecs()?, [vec![0, 1, 2, 0, 0], vec![0, 0, 0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless there are two numbers per axis; [`SizeOverflow`](crate::Error::SizeOverflow)
    /// with the element whose result does not fit; [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn pad(&self, before: &[usize], after: &[usize]) -> Result<Tensor<T>> {
        check_axes(&self.layout, before.len()).named("pad")?;
        check_axes(&self.layout, after.len()).named("pad")?;
        let widths = before.iter().copied().zip(after.iter().copied());
        self.strided(How::Pad(widths.collect()))
    }

    /// Reverses each element along some axes: y_k = x_(n − 1 − k), where n is the element's stored extent.
    ///
    /// The layout is unchanged. Any element type; bit patterns are preserved. Does not respect equivalence: `[1, 0]` is
    /// equivalent to `[1]`, but `[0, 1]` is not. An empty element stays empty. Cost: values read once, written once; an
    /// empty list of axes costs a copy.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2, 3], vec![4, 0], vec![]])?)?;
    /// assert_eq!(x.flip(&[0])?.download_blocking()?.to_vecs()?, [vec![3, 2, 1], vec![0, 4], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an axis that does not exist or occurs twice;
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn flip(&self, axes: &[usize]) -> Result<Tensor<T>> {
        check_flip(&self.layout, axes).named("flip")?;
        self.strided(How::Flip(axes.to_vec()))
    }

    /// Resizes each element: truncates it to another box, or pads it with zeros.
    ///
    /// Element i gets the shape of element i of `layout`, and the result shares that layout.
    ///
    /// Where the box is larger, this is the promotion x ↦ (x, 0, …, 0); where it is smaller, the restriction, which is
    /// the promotion's adjoint. Each axis may do either. Any element type; bit patterns are preserved. Respects
    /// equivalence. Cost: the values that stay read once, the result written once; nothing if no shape changes.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2, 3], vec![4], vec![]])?)?;
    /// let y = x.resize(&Layout::from_lengths([2, 3, 1])?)?.download_blocking()?;
    /// assert_eq!(y.to_vecs()?, [vec![1, 2], vec![4, 0, 0], vec![0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank), [`BatchSize`](crate::Error::BatchSize), [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn resize(&self, layout: &Layout) -> Result<Tensor<T>> {
        if self.layout == *layout {
            return self.view_as(layout);
        }
        self.strided_with_layout(How::Resize("resize"), layout)
    }

    /// Permutes the axes of each element: axis a of the result is axis `permutation[a]` of the element.
    ///
    /// `[1, 0]` transposes matrices. Any element type; bit patterns are preserved. Respects equivalence. An empty
    /// element stays empty. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let shapes = [Shape::new(&[2, 3])?, Shape::new(&[1, 2])?];
    /// let x = Device::cpu().upload(&Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6, 7, 8], 2, shapes)?)?;
    /// let y = x.transpose(&[1, 0])?.download_blocking()?;
    /// assert_eq!((y.shape(0), y.row(0)), (Shape::new(&[3, 2])?, [1, 4, 2, 5, 3, 6].as_slice()));
    /// assert_eq!((y.shape(1), y.row(1)), (Shape::new(&[2, 1])?, [7, 8].as_slice()));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) unless the axes are a permutation; [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn transpose(&self, permutation: &[usize]) -> Result<Tensor<T>> {
        check_transpose(&self.layout, permutation).named("transpose")?;
        self.strided(How::Transpose(permutation.to_vec()))
    }

    /// Views the same values in other shapes, possibly of another rank, without copying: element i gets the shape of
    /// element i of `layout`.
    ///
    /// Does not respect equivalence: the position of a value depends on the stored extents. Cost: one check of the
    /// number of values per element.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged, Shape};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2, 3, 4], vec![5, 6, 7]])?)?;
    /// let matrices = Layout::from_shapes(2, [Shape::new(&[2, 2])?, Shape::new(&[3, 1])?])?;
    /// assert_eq!(x.reshape(&matrices)?.download_blocking()?.shape(1), Shape::new(&[3, 1])?);
    /// let error = x.reshape(&Layout::from_lengths([4, 4])?).unwrap_err();
    /// assert_eq!(error.to_string(), "reshape: element 1: expected 3 values, got 4");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Length`](crate::Error::Length) with the first element whose number of values would change;
    /// [`BatchSize`](crate::Error::BatchSize).
    #[doc(alias("squeeze", "unsqueeze", "view"))]
    pub fn reshape(&self, layout: &Layout) -> Result<Tensor<T>> {
        self.run_with_layout(View::Reshape, layout)
    }

    /// Views all elements as one, without copying: the rows of the first element, then those of the second, and so on.
    ///
    /// Elements are (n_i, …) and agree along all axes but the first; the result is one element (Σ n_i, …). An operation
    /// that treats rows independently, such as a linear layer or a normalization along the last axis, then runs once
    /// for the whole batch: one product instead of one for each element. [`unpacked`](Self::unpacked) is the inverse. A
    /// batch without elements gives one of shape (0, 0, …). Does not respect equivalence: rows of zeros move the rows
    /// after them. Cost: one check of each element's extents.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let shapes = [Shape::new(&[2, 2])?, Shape::new(&[0, 2])?, Shape::new(&[1, 2])?];
    /// let x = device.upload(&Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6], 2, shapes)?)?;
    /// let weights = device.upload(&Ragged::from_shapes(vec![1, 10], 2, [Shape::new(&[2, 1])?])?)?;
    /// let y = x.packed()?.matmul(&weights)?;
    /// assert_eq!(y.download_blocking()?.to_vecs()?, [[21, 43, 65]]);
    /// assert_eq!(x.packed()?.unpacked(x.layout())?.layout(), x.layout());
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) with the first element that differs from element 0 along another axis;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) for 2³² or more rows (of width 0).
    pub fn packed(&self) -> Result<Tensor<T>> {
        self.unary(View::Packed, &[])
    }

    /// Views the rows of one element as a batch, without copying: the inverse of [`packed`](Self::packed). Element i of
    /// the result has the shape of element i of `layout`.
    ///
    /// The shapes must equal that of the only element along all axes but the first, and their numbers of rows must add
    /// up to its own. After a layer that changes the width, that is the layout
    /// [`with_extent`](Layout::with_extent) of the new width. Does not respect equivalence. Cost: one check of each
    /// element's extents.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged, Shape};
    /// let x = Device::cpu().upload(&Ragged::from_rows([[1, 2, 3]])?)?;
    /// let y = x.unpacked(&Layout::from_lengths([2, 0, 1])?)?;
    /// assert_eq!(y.download_blocking()?.to_vecs()?, [vec![1, 2], vec![], vec![3]]);
    /// let error = x.unpacked(&Layout::from_lengths([2, 2])?).unwrap_err();
    /// assert_eq!(error.to_string(), "unpacked: expected shapes of 3 rows in all, got 4");
    ///
    /// // A layer from 2 values to 3.
    /// let shapes = [Shape::new(&[1, 2])?, Shape::new(&[2, 2])?];
    /// let x = Device::cpu().upload(&Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6], 2, shapes)?)?;
    /// let weights = x.device().upload(&Ragged::matrix([[1, 0, 1], [0, 1, 1]])?)?;
    /// let y = x.packed()?.matmul(&weights)?.unpacked(&x.layout().with_extent(1, 3)?)?;
    /// assert_eq!(y.download_blocking()?.to_vecs()?, [vec![1, 2, 3], vec![3, 4, 7, 5, 6, 11]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) unless this batch has one element, and for another number of rows;
    /// [`Rank`](crate::Error::Rank); [`Shape`](crate::Error::Shape) with the first element that differs along another
    /// axis.
    pub fn unpacked(&self, layout: &Layout) -> Result<Tensor<T>> {
        self.run_with_layout(View::Unpacked, layout)
    }

    /// Repeats each element along its axes of extent 1: element i gets the shape of element i of `layout`.
    ///
    /// No operation of this library broadcasts implicitly: an extent of 1 is an extent like any other. Other extents
    /// must be equal; an extent of 1 may also become 0. Any element type; bit patterns are preserved. Does not respect
    /// equivalence: `[5]` is repeated and `[5, 0]` is not. Cost: the result written once, the repeated values read
    /// mostly from caches.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![7], vec![1, 2]])?)?;
    /// let y = x.broadcast(&Layout::from_lengths([3, 2])?)?.download_blocking()?;
    /// assert_eq!(y.to_vecs()?, [vec![7, 7, 7], vec![1, 2]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) with the first element whose extents do not fit; [`Rank`](crate::Error::Rank),
    /// [`BatchSize`](crate::Error::BatchSize), [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn broadcast(&self, layout: &Layout) -> Result<Tensor<T>> {
        if self.layout == *layout {
            return self.view_as(layout);
        }
        self.strided_with_layout(How::Broadcast, layout)
    }
}
