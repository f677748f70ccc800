//! Explicit broadcasting: operands that are spread over the elements of another batch.

use super::Tensor;
use crate::Result;
use crate::ops::ambient::Mode;
use crate::ragged::{Number, Scalar};

/// An operand of a value-by-value function: a whole tensor, or one spread over the elements of the other operand.
///
/// Extents never decide whether an operand is spread, so an extent of 1 is like any other: [`each`](Tensor::each) and
/// [`along`](Tensor::along) request it explicitly. Every function of two tensors, such as [`add`](Tensor::add) and
/// [`div`](Tensor::div), takes a spread operand on its right, and every operator on either side; the result has the
/// shapes of the whole operand. A `&Tensor` converts to a whole operand. If the ranks differ, or a
/// batch of one element meets others, the error names the calls that would spread the operand.
///
/// Cost: the whole operand read once, the result written once; a spread operand is read from memory once and is not
/// copied.
///
/// ```
/// # use vsla::{Device, Ragged};
/// # let device = Device::cpu();
/// let x = device.upload(&Ragged::from_rows([vec![1.0f32, 3.0], vec![4.0, 4.0, 10.0], vec![]])?)?;
/// let centred = (&x - x.mean()?.each())?;
/// assert_eq!(centred.download_blocking()?.to_vecs()?, [vec![-1.0, 1.0], vec![-2.0, -2.0, 4.0], vec![]]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Debug)]
pub struct Spread<'a, T: Scalar> {
    pub(crate) tensor: &'a Tensor<T>,
    pub(crate) mode: Mode,
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
    /// Spreads the only value of each element over all values of the other operand's element. A batch of one value is
    /// used for all elements.
    ///
    /// The results of [`mean`](Tensor::mean), [`sum`](Tensor::sum) and [`max`](Tensor::max) have one value per element.
    /// A NaN stays within its element. Nothing is computed until an operation uses this operand. The operation fails if
    /// the batches differ in size, or, naming the element, if an element has another number of values.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1, 2, 3], vec![], vec![4]])?)?;
    /// let v = device.upload(&Ragged::from_rows([[10], [20], [30]])?)?;
    /// assert_eq!(x.add(v.each())?.download_blocking()?.to_vecs()?, [vec![11, 12, 13], vec![], vec![34]]);
    /// assert_eq!(x.add(x.each()).unwrap_err().element(), Some(0));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn each(&self) -> Spread<'_, T> {
        let mode = Mode::Each;
        Spread { tensor: self, mode }
    }

    /// Lays the vector of each element along an axis of the other operand's element: its value i is paired with all
    /// values of index i on that axis. A batch of one vector is used for all elements.
    ///
    /// The vector's length must be the extent of that axis in every element, even in an element without values; a
    /// length of 1 is not special. A NaN stays within its element. Nothing is computed until an operation uses this
    /// operand. The operation fails for an axis that is not below the rank, for vectors of a rank other than 1, if the
    /// batches differ in size, or, naming the element and both extents, if a length differs.
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

impl<T: Number> Tensor<T> {
    /// Multiplies every value of an element by the element's own factor: yᵢ = fᵢ · xᵢ. `factors` has one value for each
    /// element, or one for all.
    ///
    /// The same as a [`hadamard`](Self::hadamard) product with [`factors.each()`](Self::each). In a
    /// [program](crate::program), it scales by numbers that change from run to run. Respects equivalence. Cost: values
    /// read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![3.0]])?)?;
    /// let factors = device.upload(&Ragged::from_rows([[10.0f32], [0.5]])?)?;
    /// assert_eq!(x.scale_by(&factors)?.download_blocking()?.to_vecs()?, [vec![10.0, 20.0], vec![1.5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`each`](Self::each) and [`hadamard`](Self::hadamard).
    pub fn scale_by(&self, factors: &Tensor<T>) -> Result<Tensor<T>> {
        let product = self.hadamard(factors.each());
        product.map_err(|error| error.named("scale_by"))
    }
}
