//! Other shapes for the same values: slices, padding, reversal, other boxes, other orders of axes, broadcasts.

use super::Tensor;
use crate::Result;
use crate::ops::Op;
use crate::ops::strided::{How, Strided, View};
use crate::ragged::{Layout, Scalar};

impl<T: Scalar> Tensor<T> {
    /// A copy that reads each value in at most one place.
    pub(super) fn strided(&self, how: How) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        self.unary(Op::Strided(Strided { how, dtype }), &[])
    }

    /// The same in this layout.
    pub(super) fn strided_onto(&self, how: How, layout: &Layout) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        self.onto(Op::Strided(Strided { how, dtype }), layout)
    }

    /// The same values in a layout of as many.
    pub(super) fn seen_as(&self, layout: &Layout) -> Result<Tensor<T>> {
        self.onto(Op::View(View::Divided), layout)
    }

    /// The box from `start` to before `end` of each element, a place for each axis: y_k = x_(k + start), zero where x
    /// has no such value.
    ///
    /// Places count from the element's first value, and may be negative or beyond the element: every result has the
    /// shape `end − start`, whatever the element's is, and slicing from 0 to n pads or cuts to n. Any element type,
    /// bits are kept. Respects equivalence: what lies outside reads as the zeros it stands for. An empty element gives
    /// zeros. Cost: the values inside read once, the result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2, 3, 4], vec![5], vec![]])?)?;
    /// let y = x.slice(&[-1], &[2])?.download_blocking()?;
    /// assert_eq!(y.to_vecs(), [vec![0, 1, 2], vec![0, 5, 0], vec![0, 0, 0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) for another number of places than of axes; [`Argument`](crate::Error::Argument) for an end before its
    /// start; [`SizeOverflow`](crate::Error::SizeOverflow) with the element whose result does not fit;
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn slice(&self, start: &[i64], end: &[i64]) -> Result<Tensor<T>> {
        let (start, end) = (start.to_vec(), end.to_vec());
        self.strided(How::Slice { start, end })
    }

    /// Each element with zeros around it, (before, after) for each axis: y_k = x_(k − before), of extent before + n +
    /// after.
    ///
    /// Any element type, bits are kept. Zeros after an element are the element still; zeros before it make another one,
    /// and equivalent elements stay equivalent. An empty element gives zeros. Cost: values read once, the result
    /// written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![]])?)?;
    /// let y = x.pad(&[(1, 2)])?.download_blocking()?;
    /// assert_eq!(y.to_vecs(), [vec![0, 1, 2, 0, 0], vec![0, 0, 0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) for another number of pairs than of axes; [`SizeOverflow`](crate::Error::SizeOverflow) with the element whose
    /// result does not fit; [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn pad(&self, widths: &[(usize, usize)]) -> Result<Tensor<T>> {
        self.strided(How::Pad(widths.to_vec()))
    }

    /// Each element with its values in reverse along some axes: y_k = x_(n − 1 − k), n the extent that the element
    /// carries.
    ///
    /// The layout stays. Any element type, bits are kept. Does not respect equivalence: `[1, 0]` is equivalent to
    /// `[1]`, and `[0, 1]` is not. An empty element stays empty. Cost: values read once, written once; no axes at all
    /// cost a copy.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2, 3], vec![4, 0], vec![]])?)?;
    /// assert_eq!(x.flip(&[0])?.download_blocking()?.to_vecs(), [vec![3, 2, 1], vec![0, 4], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for an axis that there is not, or one that comes twice; [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn flip(&self, axes: &[usize]) -> Result<Tensor<T>> {
        self.strided(How::Flip(axes.to_vec()))
    }

    /// Each element in another box: what fits into it, and zeros where the element has no values. Element i gets the
    /// shape of element i of `layout`, which the result then shares.
    ///
    /// Where the box is larger this is the promotion x ↦ (x, 0, …, 0), where it is smaller the restriction, which is
    /// the promotion's adjoint; along every axis it may be either. Any element type, bits are kept. Respects
    /// equivalence. Cost: the values that stay read once, the result written once; nothing where the shapes are those
    /// that the elements have.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2, 3], vec![4], vec![]])?)?;
    /// let y = x.resize(&Layout::from_lengths([2, 3, 1])?)?.download_blocking()?;
    /// assert_eq!(y.to_vecs(), [vec![1, 2], vec![4, 0, 0], vec![0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank), [`BatchSize`](crate::Error::BatchSize), [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn resize(&self, layout: &Layout) -> Result<Tensor<T>> {
        if self.layout == *layout {
            return self.seen_as(layout);
        }
        self.strided_onto(How::Resize("resize"), layout)
    }

    /// Each element with its axes in another order: axis a of the result is axis `permutation[a]` of the element.
    ///
    /// `[1, 0]` turns matrices over their diagonal. Any element type, bits are kept. Respects equivalence. An empty
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
    /// [`Argument`](crate::Error::Argument) for what is not a permutation of the axes; [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn transpose(&self, permutation: &[usize]) -> Result<Tensor<T>> {
        self.strided(How::Transpose(permutation.to_vec()))
    }

    /// The same values in other shapes, perhaps of another rank: element i gets the shape of element i of `layout`. A
    /// view, no value is copied.
    ///
    /// Does not respect equivalence: where values lie depends on the extents that an element carries. Cost: a look at
    /// the number of values of each element.
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
    /// [`Length`](crate::Error::Length) with the first element whose number of values would change; [`BatchSize`](crate::Error::BatchSize).
    pub fn reshape(&self, layout: &Layout) -> Result<Tensor<T>> {
        self.onto(Op::View(View::Reshape), layout)
    }

    /// Each element with its extents of 1 repeated: element i gets the shape of element i of `layout`, and its value
    /// where an extent was 1 stands all along that axis.
    ///
    /// No operation of this library broadcasts by itself: an extent of 1 is an extent like any other. Other extents
    /// must be equal; an extent of 1 may also become 0. Any element type, bits are kept. Does not respect equivalence:
    /// `[5]` is repeated and `[5, 0]` is not. Cost: the result written once, what it repeats read mostly from caches.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![7], vec![1, 2]])?)?;
    /// let y = x.broadcast(&Layout::from_lengths([3, 2])?)?.download_blocking()?;
    /// assert_eq!(y.to_vecs(), [vec![7, 7, 7], vec![1, 2]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) with the first element whose extents do not fit; [`Rank`](crate::Error::Rank),
    /// [`BatchSize`](crate::Error::BatchSize), [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn broadcast(&self, layout: &Layout) -> Result<Tensor<T>> {
        if self.layout == *layout {
            return self.seen_as(layout);
        }
        self.strided_onto(How::Broadcast, layout)
    }
}
