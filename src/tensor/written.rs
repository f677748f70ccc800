//! Functions of values that applications write.

use std::marker::PhantomData;

#[cfg(feature = "gpu")]
use super::device::Backend;
use super::run::Call;
use super::{Device, Tensor};
use crate::Result;
use crate::error::Named;
use crate::ops::written::Written;
use crate::ragged::{DType, Float, Integer, Real, Scalar};

/// A function of one value that the application has written, to apply to tensors: see [`Device::map1`].
///
/// Cheap to clone. It is applied to tensors of any device: one that has not compiled it yet does so on first use.
#[derive(Clone, Debug)]
pub struct Map1<T: Real> {
    written: Written,
    value: PhantomData<T>,
}

/// A function of two values that the application has written, to apply to tensors: see [`Device::map2`].
///
/// Cheap to clone. It is applied to tensors of any device: one that has not compiled it yet does so on first use.
#[derive(Clone, Debug)]
pub struct Map2<T: Real> {
    written: Written,
    value: PhantomData<T>,
}

impl Device {
    /// Makes a map from a function of the application: an expression of `x` in
    /// [WGSL](https://www.w3.org/TR/WGSL/#builtin-functions), and the same function in Rust.
    ///
    /// GPUs compute the expression, and the CPU calls the function; nothing compares the two. The expression may use
    /// `x`, literals and WGSL's own functions and types, and nothing else: it has no access to buffers. On `f16`
    /// tensors, both compute in `f32`, and the result is rounded once. A NaN gives NaN on every device, whatever the
    /// function would return for it, because shader compilers may assume that no value is NaN.
    ///
    /// With the feature `gpu`, the expression is checked even if the device is the CPU; without it, the text is not
    /// read. A GPU compiles a text once: here, or when the map is first applied on another GPU or to `f16`. Accuracy is
    /// that of the functions used: WGSL's `exp`, for example, may err by 3 + 2 |x| units in the last place. Compilers
    /// may also fuse and reorder arithmetic: `x * x - 2.0 * x` may be computed as `x * (x - 2.0)`.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let device = Device::auto();
    /// let swish = device.map1("x / (1.0 + exp(-x))", |x: f32| x / (1.0 + (-x).exp()))?;
    /// let x = device.upload(&Ragged::from_rows([vec![0.0f32, 40.0], vec![]])?)?;
    /// assert_eq!(swish.apply(&x)?.download_blocking()?.to_vecs()?, [vec![0.0, 40.0], vec![]]);
    ///
    /// let collatz = device.map1("select(x / 2, 3 * x + 1, x % 2 == 1)", |x: i32| match x % 2 {
    ///     1 => 3 * x + 1,
    ///     _ => x / 2,
    /// })?;
    /// let x = device.upload(&Ragged::from_rows([vec![6, 7]])?)?;
    /// assert_eq!(collatz.apply(&x)?.download_blocking()?.row(0), [3, 22]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Wgsl`](crate::Error::Wgsl) for a text that is not one expression of the right type, with the line and the
    /// compiler's message; [`Argument`](crate::Error::Argument) for a text of more than 4,096 bytes, or with more than
    /// 200 operators and opening brackets; [`DeviceLost`](crate::Error::DeviceLost).
    pub fn map1<T: Real>(
        &self,
        wgsl: &str,
        f: impl Fn(T) -> T + Send + Sync + 'static,
    ) -> Result<Map1<T>> {
        let written = Written::one(wgsl, f);
        self.compile(&written, T::DTYPE)?;
        Ok(Map1 {
            written,
            value: PhantomData,
        })
    }

    /// The same as [`map1`](Self::map1) for a function of two values, `a` and `b`. If either is NaN, so is the result.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let device = Device::auto();
    /// let step = device.map2("a - 0.5 * b", |a: f32, b| a - 0.5 * b)?;
    /// let weights = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![]])?)?;
    /// let slopes = device.upload(&Ragged::from_rows([vec![2.0f32, -4.0], vec![]])?)?;
    /// let new = step.apply(&weights, &slopes)?.download_blocking()?;
    /// assert_eq!(new.to_vecs()?, [vec![0.0, 4.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`map1`](Self::map1).
    pub fn map2<T: Real>(
        &self,
        wgsl: &str,
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Result<Map2<T>> {
        let written = Written::two(wgsl, f);
        self.compile(&written, T::DTYPE)?;
        Ok(Map2 {
            written,
            value: PhantomData,
        })
    }

    #[cfg_attr(
        not(feature = "gpu"),
        allow(
            unused_variables,
            clippy::unnecessary_wraps,
            reason = "only GPUs read the text"
        )
    )]
    fn compile(&self, written: &Written, dtype: DType) -> Result<()> {
        #[cfg(feature = "gpu")]
        {
            written.check().named(written.op())?;
            if let Backend::Gpu(gpu) = self.backend() {
                let (kernel, variant) = written.variant(dtype);
                gpu.written(written.op(), kernel, &variant)?;
            }
        }
        Ok(())
    }
}

fn apply<T: Scalar>(written: &Written, operands: &[&Tensor<T>]) -> Result<Tensor<T>> {
    let device = &operands[0].device;
    let op = written.over(T::DTYPE, !device.is_gpu());
    match operands {
        // The kernel of maps has two scalars.
        [x] => x.unary(op, &[0; 2]),
        [a, b, ..] => Call::new(device, op, &[a.operand(), b.operand()]).one(),
        [] => unreachable!("functions have operands"),
    }
}

impl<T: Real> Map1<T> {
    /// The expression.
    pub fn wgsl(&self) -> &str {
        self.written.text()
    }
}

impl<T: Real> Map2<T> {
    /// The expression.
    pub fn wgsl(&self) -> &str {
        self.written.text()
    }
}

impl Map1<f32> {
    /// Applies the function to every value; the layout is unchanged.
    ///
    /// Runs in order with all other operations. Respects equivalence if the function of 0 is 0. Cost: values read once,
    /// written once.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn apply<T: Float>(&self, x: &Tensor<T>) -> Result<Tensor<T>> {
        apply(&self.written, &[x])
    }
}

impl<T: Integer> Map1<T> {
    /// Applies the function to every value; the layout is unchanged.
    ///
    /// Runs in order with all other operations. Respects equivalence if the function of 0 is 0. Cost: values read once,
    /// written once.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn apply(&self, x: &Tensor<T>) -> Result<Tensor<T>> {
        apply(&self.written, &[x])
    }
}

impl Map2<f32> {
    /// Applies the function to the values of two batches of one layout.
    ///
    /// Runs in order with all other operations. Nothing is broadcast, and no entry counts as zero: elements must have
    /// equal shapes, because the library cannot know what the function makes of a missing entry;
    /// [`resize`](Tensor::resize) and [`minimal_shape`](Tensor::minimal_shape) change shapes. Respects equivalence if
    /// the function of 0 and 0 is 0. Cost: operands read once, result written once.
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`Rank`](crate::Error::Rank),
    /// [`BatchSize`](crate::Error::BatchSize); [`Shape`](crate::Error::Shape) for the first element whose shapes
    /// differ; [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn apply<T: Float>(&self, a: &Tensor<T>, b: &Tensor<T>) -> Result<Tensor<T>> {
        a.check_device(b).named("map2")?;
        apply(&self.written, &[a, b])
    }
}

impl<T: Integer> Map2<T> {
    /// Applies the function to the values of two batches of one layout.
    ///
    /// Runs in order with all other operations. Nothing is broadcast, and no entry counts as zero: elements must have
    /// equal shapes, because the library cannot know what the function makes of a missing entry;
    /// [`resize`](Tensor::resize) and [`minimal_shape`](Tensor::minimal_shape) change shapes. Respects equivalence if
    /// the function of 0 and 0 is 0. Cost: operands read once, result written once.
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), [`Rank`](crate::Error::Rank),
    /// [`BatchSize`](crate::Error::BatchSize); [`Shape`](crate::Error::Shape) for the first element whose shapes
    /// differ; [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn apply(&self, a: &Tensor<T>, b: &Tensor<T>) -> Result<Tensor<T>> {
        a.check_device(b).named("map2")?;
        apply(&self.written, &[a, b])
    }
}
