//! Explicit broadcasting: operands that are spread over the elements of another batch, and scalars.

use super::{Device, Tensor};
use crate::Result;
use crate::error::Named;
use crate::ops::ambient::Mode;
use crate::ragged::{Number, Scalar};

/// An operand of a value-by-value function: a whole tensor, one spread over the elements of the other operand, or a
/// scalar for all of its values.
///
/// Extents never decide whether an operand is spread, so an extent of 1 is like any other: [`each`](Tensor::each) and
/// [`along`](Tensor::along) request it explicitly. Every function of two tensors, such as [`add`](Tensor::add) and
/// [`div`](Tensor::div), takes a spread operand on its right, and every operator on either side; the result has the
/// shapes of the whole operand. A `&Tensor` converts to a whole operand, and a scalar of the type of the values, as in
/// `x.greater(20.0)`, to one value for all. If the ranks differ, or a batch of one element meets others, the error
/// names the calls that would spread the operand.
///
/// Cost: the whole operand read once, the result written once; a spread operand is read from memory once and is not
/// copied. The device keeps 64 scalars, until [`trim`](crate::Device::trim): one that it does not keep is uploaded.
///
/// ```
/// # use vsla::{Device, Ragged};
/// # let device = Device::cpu();
/// let x = device.upload(&Ragged::from_rows([vec![1.0f32, 3.0], vec![4.0, 4.0, 10.0], vec![]])?)?;
/// let centred = (&x - x.mean()?.each())?;
/// assert_eq!(centred.download_blocking()?.to_vecs()?, [vec![-1.0, 1.0], vec![-2.0, -2.0, 4.0], vec![]]);
/// let clipped = x.greater(3.5)?.if_else(0.0, &x)?.maximum(2.0)?;
/// assert_eq!(clipped.download_blocking()?.to_vecs()?, [vec![2.0, 3.0], vec![2.0, 2.0, 2.0], vec![]]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Spread<'a, T: Scalar> {
    source: Source<'a, T>,
    pub(super) mode: Mode,
}

#[derive(Debug)]
enum Source<'a, T: Scalar> {
    Tensor(&'a Tensor<T>),
    Scalar(T),
}

impl<T: Scalar> Clone for Source<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Scalar> Copy for Source<'_, T> {}

impl<'a, T: Scalar> From<&'a Tensor<T>> for Spread<'a, T> {
    fn from(tensor: &'a Tensor<T>) -> Self {
        Spread::of(tensor, Mode::Whole)
    }
}

/// The scalar for every value.
impl<T: Scalar> From<T> for Spread<'_, T> {
    fn from(scalar: T) -> Self {
        Spread {
            source: Source::Scalar(scalar),
            mode: Mode::Each,
        }
    }
}

impl<'a, T: Scalar> Spread<'a, T> {
    pub(crate) fn of(tensor: &'a Tensor<T>, mode: Mode) -> Self {
        let source = Source::Tensor(tensor);
        Spread { source, mode }
    }

    /// The operand's device, if it has one.
    pub(super) fn device(self) -> Option<&'a Device> {
        match self.source {
            Source::Tensor(tensor) => Some(&tensor.device),
            Source::Scalar(_) => None,
        }
    }

    /// The operand's values on a device; `made` keeps those of a scalar.
    pub(super) fn on<'b>(
        self,
        op: &'static str,
        device: &Device,
        made: &'b mut Option<Tensor<T>>,
    ) -> Result<&'b Tensor<T>>
    where
        'a: 'b,
    {
        match self.source {
            Source::Tensor(tensor) => {
                device.check_same(&tensor.device).named(op)?;
                Ok(tensor)
            }
            Source::Scalar(value) => Ok(made.insert(constant(op, device, value)?)),
        }
    }
}

/// A batch of this one value, uploaded only if the device does not keep it already.
fn constant<T: Scalar>(op: &'static str, device: &Device, value: T) -> Result<Tensor<T>> {
    let (layout, found) = device.constants().find(value)?;
    if let Some(storage) = found.filter(|storage| device.is_computed(storage)) {
        return Ok(Tensor::new(device, storage, 0, layout));
    }
    let made = device.upload_parts(&layout, &[value]);
    let made: Tensor<T> = made.named(op)?;
    device.constants().keep(value, made.storage.clone());
    Ok(made)
}

/// An operand of a value-by-value function of batches of `T`: `&Tensor<T>`, a [`Spread`] operand or a scalar.
///
/// A scalar has the type of the values. An `f64` is none, and the compiler's message says what is expected:
///
/// ```compile_fail,E0277
/// # use vsla::{Device, Ragged};
/// let x = Device::cpu().upload(&Ragged::from_rows([[1.0f32]])?)?;
/// x.greater(20.0_f64)?;
/// # Ok::<(), vsla::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operand for a batch of `{T}`",
    label = "expected `&Tensor<{T}>`, `v.each()`, `v.along(axis)` or a scalar of type `{T}`",
    note = "a scalar has the type of the values: write 2.0 or 2.0_f32 for f32, `f16::from_f32(2.0)` for f16, 2 for integers",
    note = "a batch of another type is converted by `Tensor::to`, and a tensor is passed by reference"
)]
pub trait IntoSpread<'a, T: Scalar>: Into<Spread<'a, T>> {}

impl<'a, T: Scalar> IntoSpread<'a, T> for &'a Tensor<T> {}

impl<'a, T: Scalar> IntoSpread<'a, T> for Spread<'a, T> {}

impl<T: Scalar> IntoSpread<'_, T> for T {}

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
        Spread::of(self, Mode::Each)
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
        Spread::of(self, Mode::Along(axis))
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
        product.named("scale_by")
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::ragged::Ragged;
    use crate::tensor::constants::MOST;

    #[apply(unit_test)]
    fn scalars_are_kept_until_they_are_many() {
        let device = Device::cpu();
        let kept = || device.constants().len();
        let x = device
            .upload(&Ragged::from_rows([[1.0f32]]).unwrap())
            .unwrap();
        for scalar in [0.0, -0.0, 2.0, 0.0] {
            x.add(scalar).unwrap();
        }
        assert_eq!(kept(), 3);
        for i in 0..1000 {
            x.add(i as f32).unwrap();
            assert!(kept() <= MOST);
        }
        device.trim();
        assert_eq!(kept(), 0);
    }
}
