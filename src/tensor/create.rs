//! Batches created on a device.

use half::f16;

use super::run::Call;
use super::{Device, Tensor};
use crate::ops::linear::Full;
use crate::ops::sequence::{Kind, Sequence};
use crate::ragged::{DType, Factor, Float, Layout, Scalar};
use crate::{Error, Result};

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
        // Kernels take whole 32-bit words, so a shorter value is repeated.
        let times = T::DTYPE.words(1) * 4 / T::DTYPE.size();
        let scalar: Vec<u32> = bytemuck::pod_collect_to_vec(&[value; 4][..times]);
        let full = Full {
            dtype: T::DTYPE,
            layout: layout.clone(),
        };
        Call {
            scalars: &scalar,
            ..Call::new(self, full, &[])
        }
        .one()
    }

    /// Arithmetic sequences: `x_i = start + i · step` for value i of each element, counted from 0.
    ///
    /// `arange(&layout, 0, 1)` numbers the values of each element in row-major order. NumPy calls it `arange`; the
    /// lengths come from the layout. f32, i32, u32 and f16, which is computed in f32 and rounded once. Integers wrap.
    /// Floats are exact where i, i · step and x_i are, as for whole numbers up to 2²⁴. Error bound otherwise:
    /// (2 |i · step| + |x_i|) 2⁻²⁴; for f16, add half a unit in the last place. An empty element stays empty. Cost: the
    /// values written once.
    ///
    /// ```
    /// # use vsla::{Device, Layout};
    /// let x = Device::cpu().arange(&Layout::from_lengths([3, 0, 2])?, 5, -2)?;
    /// assert_eq!(x.download_blocking()?.to_vecs()?, [vec![5, 3, 1], vec![], vec![5, 3]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) for a start or step that is NaN or infinite; those of [`upload`](Self::upload).
    pub fn arange<T: Factor>(&self, layout: &Layout, start: T, step: T) -> Result<Tensor<T>> {
        let scalars = [
            finite("arange", "start", start)?,
            finite("arange", "step", step)?,
        ];
        self.sequence(Kind::Arange, layout, scalars)
    }

    /// Evenly spaced values from `from` to `to` in each element: `x_i = from + i (to − from) / (n − 1)` for an element
    /// of n values.
    ///
    /// The first value is `from` and the last one `to`, exactly; a single value is `from`. Each element has steps of
    /// its own size. NumPy calls it `linspace`. f32, and f16, which is computed in f32 and rounded once. Error bound of
    /// the other values: 2⁻¹⁹ times the larger of |from| and |to|; for f16, add half a unit in the last place. An empty
    /// element stays empty. Cost: the values written once.
    ///
    /// ```
    /// # use vsla::{Device, Layout};
    /// let x = Device::cpu().linspace(&Layout::from_lengths([3, 0, 1, 2])?, 0.0f32, 1.0)?;
    /// assert_eq!(x.download_blocking()?.to_vecs()?, [vec![0.0, 0.5, 1.0], vec![], vec![0.0], vec![0.0, 1.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) for an end that is NaN or infinite; those of [`upload`](Self::upload).
    pub fn linspace<T: Float>(&self, layout: &Layout, from: T, to: T) -> Result<Tensor<T>> {
        let scalars = [
            finite("linspace", "start", from)?,
            finite("linspace", "end", to)?,
        ];
        self.sequence(Kind::Linspace, layout, scalars)
    }

    /// Identity matrices: 1 where row and column are equal, and 0 elsewhere.
    ///
    /// Each matrix has its own shape, and need not be square; an empty one stays empty. NumPy calls it `eye`. f32, i32,
    /// u32 and f16. Exact. Cost: the values written once.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Shape};
    /// let layout = Layout::from_shapes(2, [Shape::new(&[2, 2])?, Shape::new(&[1, 3])?])?;
    /// let x = Device::cpu().eye::<i32>(&layout)?;
    /// assert_eq!(x.download_blocking()?.to_vecs()?, [vec![1, 0, 0, 1], vec![1, 0, 0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](Error::Rank) unless the elements are matrices; those of [`upload`](Self::upload).
    pub fn eye<T: Factor>(&self, layout: &Layout) -> Result<Tensor<T>> {
        self.sequence(Kind::Eye, layout, [one(T::DTYPE), 0])
    }

    fn sequence<T: Factor>(
        &self,
        kind: Kind,
        layout: &Layout,
        scalars: [u32; 2],
    ) -> Result<Tensor<T>> {
        let sequence = Sequence {
            kind,
            dtype: T::DTYPE,
            layout: layout.clone(),
        };
        Call {
            scalars: &scalars,
            ..Call::new(self, sequence, &[])
        }
        .one()
    }
}

/// The bits of 1.
pub(super) fn one(dtype: DType) -> u32 {
    match dtype {
        DType::F32 | DType::C32 => 1f32.to_bits(),
        DType::F16 => u32::from(f16::ONE.to_bits()),
        DType::I32 | DType::U32 | DType::U8 => 1,
    }
}

/// A float, widened to f64; `None` for integers.
pub(super) fn wide<T: Factor>(x: T) -> Option<f64> {
    match T::DTYPE {
        DType::F32 => Some(f64::from(bytemuck::cast::<T, f32>(x))),
        DType::F16 => Some(f64::from(bytemuck::cast::<T, f16>(x))),
        _ => None,
    }
}

/// The word of a scalar, which must be finite; f16 is widened to f32.
fn finite<T: Factor>(op: &'static str, what: &str, x: T) -> Result<u32> {
    match wide(x) {
        None => Ok(bytemuck::cast(x)),
        Some(value) if value.is_finite() => Ok((value as f32).to_bits()),
        Some(_) => Err(Error::argument(format!("a finite {what}"), x).named(op)),
    }
}
