//! Printing a tensor.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use super::{Storage, Tensor};
use crate::error::Named;
use crate::ragged::{Layout, Scalar, write_values};
use crate::{Result, host};

/// Writes the type, the device and the shapes in one line, then the values as [`Ragged`](crate::Ragged) does: long
/// lists are shortened, unless the alternate form `{:#}` asks for everything.
///
/// Only the values that are written are read. On a GPU, reading submits recorded work and blocks the thread until it is
/// done; `{:?}` and [`layout`](Tensor::layout) do neither. If the values cannot be read, the error is written in their
/// place. In browsers, where a thread cannot block, the values of a GPU's tensors are left out. A tensor of a recording
/// has no values yet.
///
/// ```
/// # use vsla::{Device, Ragged};
/// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![]])?)?;
/// let text = x.scale(0.5)?.to_string();
/// let (about, values) = text.split_once('\n').unwrap();
/// assert!(about.starts_with("Tensor<f32> on CPU") && about.ends_with(": 2 rows, 2 values, lengths 0..=2"));
/// assert_eq!(values, "[[0.5, 1.0],\n []]");
/// # Ok::<(), vsla::Error>(())
/// ```
impl<T: Scalar> Display for Tensor<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (device, layout) = (self.device.name(), &self.layout);
        write!(f, "Tensor<{}> on {device}: {layout}", T::DTYPE)?;
        if cfg!(target_family = "wasm") && self.device.is_gpu() {
            return Ok(());
        }
        if matches!(self.storage, Storage::Traced(_)) {
            return f.write_str(", a value of a recording");
        }
        f.write_str("\n")?;
        write_values(f, layout, &mut |range| self.read(range))
    }
}

impl<T: Scalar> Tensor<T> {
    /// A range of the batch's values, blocking the thread.
    fn read(&self, range: Range<usize>) -> Result<Vec<T>> {
        let part: Tensor<T> = Tensor {
            base: self.base + range.start * (T::DTYPE.size() / T::DTYPE.unit()),
            layout: Layout::from_lengths([range.len()])?,
            ..self.clone()
        };
        let mut values = host::zeroed(range.len()).named("download")?;
        part.download_into_blocking(&mut values)?;
        Ok(values)
    }
}
