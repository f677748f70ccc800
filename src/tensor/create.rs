//! Batches created on a device.

use super::run::Call;
use super::{Device, Tensor};
use crate::Result;
use crate::ops::Op;
use crate::ops::map::Full;
use crate::ragged::{Layout, Scalar};

impl Device {
    /// Creates a batch filled with `value`, on the device.
    ///
    /// ```
    /// # use vsla::{Device, Layout};
    /// let ones = Device::cpu().full(&Layout::from_lengths([2, 0])?, 1.0f32)?;
    /// assert_eq!(ones.download_blocking()?.to_vecs()?, [vec![1.0, 1.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    pub fn full<T: Scalar>(&self, layout: &Layout, value: T) -> Result<Tensor<T>> {
        // Kernels take whole 32-bit words, so an f16 is repeated.
        let times = T::DTYPE.words(1) * 4 / T::DTYPE.size();
        let scalar: Vec<u32> = bytemuck::pod_collect_to_vec(&[value; 2][..times]);
        let full = Full {
            dtype: T::DTYPE,
            layout: layout.clone(),
        };
        Call {
            scalars: &scalar,
            ..Call::new(self, Op::Full(full), &[])
        }
        .one()
    }
}
