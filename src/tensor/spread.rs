//! Operands that are spread over the elements of another batch: broadcasting by name.

use super::Tensor;
use crate::ops::ambient::Mode;
use crate::ragged::Scalar;

/// An operand of a function of values: a tensor as it is, or spread over the elements of the other operand.
///
/// Nothing is spread by its extents, so an extent of 1 is an extent like any other: [`each`](Tensor::each) and
/// [`along`](Tensor::along) say what is meant. Every function of two tensors, such as [`add`](Tensor::add) and
/// [`div`](Tensor::div), takes one on its right, and as an operator on either side; what it gives has the shapes of the
/// whole operand. A `&Tensor` becomes one that is whole.
///
/// Cost: the whole operand read once, the result written once; what is spread is read from memory once, and nothing is
/// copied for it.
///
/// ```
/// # use vsla::{Device, Ragged};
/// # let device = Device::cpu();
/// let x = device.upload(&Ragged::from_rows([vec![1.0f32, 3.0], vec![4.0, 4.0, 10.0], vec![]])?)?;
/// let centred = (&x - x.mean()?.each())?;
/// assert_eq!(centred.download_blocking()?.to_vecs(), [vec![-1.0, 1.0], vec![-2.0, -2.0, 4.0], vec![]]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Debug)]
pub struct Spread<'a, T: Scalar> {
    pub(super) tensor: &'a Tensor<T>,
    pub(super) mode: Mode,
}

impl<T: Scalar> Clone for Spread<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Scalar> Copy for Spread<'_, T> {}

impl<'a, T: Scalar> From<&'a Tensor<T>> for Spread<'a, T> {
    fn from(tensor: &'a Tensor<T>) -> Self {
        let mode = Mode::Whole;
        Spread { tensor, mode }
    }
}

impl<T: Scalar> Tensor<T> {
    /// The one value of each element, to meet every value of the other operand's element.
    ///
    /// What [`mean`](Tensor::mean), [`sum`](Tensor::sum) and [`max`](Tensor::max) give has one value an element. A NaN
    /// stays within its element. Nothing is done until an operation takes it, and that refuses a batch of another size
    /// and, naming the element, another number of values.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1, 2, 3], vec![], vec![4]])?)?;
    /// let v = device.upload(&Ragged::from_rows([[10], [20], [30]])?)?;
    /// assert_eq!(x.add(v.each())?.download_blocking()?.to_vecs(), [vec![11, 12, 13], vec![], vec![34]]);
    /// assert_eq!(x.add(x.each()).unwrap_err().element(), Some(0));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn each(&self) -> Spread<'_, T> {
        let mode = Mode::Each;
        Spread { tensor: self, mode }
    }

    /// The vector of each element, to lie along an axis of the other operand's element: value i of it meets all that
    /// has index i there. A batch of one vector serves all elements.
    ///
    /// Its length is the extent of that axis in every element, also where an element has no values; 1 is not special. A
    /// NaN stays within its element. Nothing is done until an operation takes it, and that refuses an axis that is not
    /// below the rank, a rank other than 1, a batch of another size, and, naming the element and both extents, another
    /// length.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let x = Ragged::from_shapes(vec![1, 2, 3, 4, 5, 6], 2, [Shape::new(&[2, 3])?])?;
    /// let (x, columns) = (device.upload(&x)?, device.upload(&Ragged::from_rows([[10, 20, 30]])?)?);
    /// let rows = device.upload(&Ragged::from_rows([[100, 200]])?)?;
    /// assert_eq!(x.add(columns.along(1))?.download_blocking()?.row(0), [11, 22, 33, 14, 25, 36]);
    /// assert_eq!(x.add(rows.along(0))?.download_blocking()?.row(0), [101, 102, 103, 204, 205, 206]);
    /// let error = x.add(rows.along(1)).unwrap_err().to_string();
    /// assert_eq!(error, "add: element 0: expected 3 values, got 2");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn along(&self, axis: usize) -> Spread<'_, T> {
        let mode = Mode::Along(axis);
        Spread { tensor: self, mode }
    }
}
