//! The operations of one tensor, and of two element by element.

use super::{Device, Pair, Storage, Tensor, run};
use crate::ops;
use crate::plan::{ConvMethod, Launch};
use crate::ragged::{Element, Layout, Pairs, Real};
use crate::{Error, Result};

/// The only result of a launch.
pub(super) fn single<T: Element>(
    device: &Device,
    op: &'static str,
    results: Vec<(Storage, Layout)>,
) -> Result<Tensor<T>> {
    match <[_; 1]>::try_from(results) {
        Ok([(storage, layout)]) => Ok(Tensor::new(device, storage, 0, layout)),
        Err(other) => Err(Error::Gpu {
            op,
            message: format!("{} results instead of one", other.len()),
        }),
    }
}

impl<T: Element> Tensor<T> {
    /// Element i of this batch with element i of the other, for operation `op`.
    pub(super) fn meet<'a>(
        &'a self,
        op: &'static str,
        other: &'a Tensor<T>,
    ) -> Result<Pair<'a, T>> {
        self.check_device(op, other)?;
        Ok(Pair {
            left: self,
            right: other,
            pairs: Pairs::elementwise(op, &self.layout, &other.layout)?,
            method: ConvMethod::Auto,
        })
    }

    pub(super) fn unary<U: Element>(&self, launch: &Launch, scalars: &[u32]) -> Result<Tensor<U>> {
        let results = run(&self.device, launch, &[self.operand()], scalars)?;
        single(&self.device, launch.op, results)
    }

    /// The same values in memory of their own.
    ///
    /// A clone shares memory, and a view keeps the whole buffer it looks into alive; a copy does neither. Bits are
    /// kept, those of a NaN too. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![3]])?)?;
    /// assert_eq!(x.elements(1..2)?.copy()?.download_blocking()?.to_vecs(), [vec![3]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn copy(&self) -> Result<Tensor<T>> {
        self.unary(&*ops::map::copy(T::DTYPE, &self.layout)?, &[])
    }
}

impl<T: Real> Tensor<T> {
    /// `a + b`, element by element, each result of the ambient shape: missing entries are zero.
    ///
    /// An extent of 1 is not special: `[1, 2, 3] + [5] = [6, 2, 3]`. Both batches need one rank. Integers wrap; NaN
    /// propagates. Respects equivalence: trailing zeros change nothing. Cost: operands read once, result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![1, 2, 3], vec![]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![5], vec![7]])?)?;
    /// assert_eq!(a.add(&b)?.download_blocking()?.to_vecs(), [vec![6, 2, 3], vec![7]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](Error::BatchSize), [`Rank`](Error::Rank), [`DeviceMismatch`](Error::DeviceMismatch),
    /// [`SizeOverflow`](Error::SizeOverflow) with the element whose result does not fit,
    /// [`TooLarge`](Error::TooLarge), [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn add(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.meet("add", other)?.add()
    }

    /// `a − b`, element by element, each result of the ambient shape. In all else like [`add`](Self::add).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![5.0f32, 3.0, 2.0]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![2.0f32, 1.0, 2.0, 4.0]])?)?;
    /// assert_eq!(a.sub(&b)?.download_blocking()?.to_vecs(), [vec![3.0, 2.0, 0.0, -4.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`add`](Self::add).
    pub fn sub(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.meet("sub", other)?.sub()
    }

    /// `a ⊙ b`, value by value and element by element, each result of the ambient shape: zero outside the overlap.
    ///
    /// It is zero there by definition: a NaN or an infinity that meets a missing entry gives 0. So of finite values it
    /// respects equivalence, and trailing zeros add nothing but trailing zeros; a NaN at one of them would be seen. Both batches need one rank, and
    /// an extent of 1 is not special. An empty element makes zeros of the other one's. Integers wrap; of f32, exact but for one rounding.
    /// Cost: operands read once, result written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![2.0f32, 3.0], vec![1.0]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![4.0f32, 5.0, f32::NAN], vec![]])?)?;
    /// assert_eq!(a.hadamard(&b)?.download_blocking()?.to_vecs(), [vec![8.0, 15.0, 0.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`add`](Self::add).
    pub fn hadamard(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.meet("hadamard", other)?.hadamard()
    }

    /// `factor · x`: every value, layout unchanged.
    ///
    /// Respects equivalence. Integers wrap; NaN and 0 · ∞ give NaN. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, -2.0], vec![]])?)?;
    /// assert_eq!(x.scale(0.5)?.download_blocking()?.to_vecs(), [vec![0.5, -1.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn scale(&self, factor: T) -> Result<Tensor<T>> {
        let launch = ops::map::scale(T::DTYPE, &self.layout)?;
        self.unary(&launch, &[bytemuck::cast(factor)])
    }
}
