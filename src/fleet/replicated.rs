//! Batches of which each device has a copy.

use super::devices::Fleet;
use crate::error::Named;
use crate::ragged::{Ragged, Scalar};
use crate::tensor::{Device, Tensor};
use crate::{Error, Result};

/// A batch that is on every device of a [`Fleet`], such as filters or weights: see [`Fleet::replicate`].
#[derive(Clone)]
pub struct Replicated<T: Scalar>(Vec<Tensor<T>>);

impl Fleet {
    /// Copies a batch to every device, for functions that need it as a whole.
    ///
    /// Cost: the host copies the batch once for each device.
    ///
    /// # Errors
    /// Those of [`Device::upload`], in a [`Part`](crate::Error::Part) that names the device.
    pub fn replicate<T: Scalar>(&self, batch: &Ragged<T>) -> Result<Replicated<T>> {
        let devices = self.devices().iter().enumerate();
        let copies = devices.map(|(i, device)| {
            let copy = device.upload(batch);
            copy.map_err(|error| self.failed("replicate", i, 0..batch.len(), error))
        });
        Ok(Replicated(copies.collect::<Result<_>>()?))
    }
}

impl<T: Scalar> Replicated<T> {
    /// The copy on a device.
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch) for a device outside the fleet.
    pub fn on(&self, device: &Device) -> Result<&Tensor<T>> {
        on(&self.0, device)
    }
}

/// The tensor on a device, among one for each device of a fleet.
pub(super) fn on<'a, T: Scalar>(
    tensors: &'a [Tensor<T>],
    device: &Device,
) -> Result<&'a Tensor<T>> {
    let on = |tensor: &&Tensor<T>| tensor.device().is_same(device);
    let outside = || Error::device_mismatch("the devices of the fleet", device.name());
    tensors.iter().find(on).ok_or_else(outside).named("on")
}
