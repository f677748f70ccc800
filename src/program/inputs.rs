//! The operands and outputs of a run: tensors of any type, in order.

use crate::error::Named;
use crate::ragged::{DType, Float, Layout, Ragged, Scalar};
use crate::tensor::{Cache, Device, Kept, Operand, Storage, Tensor};
use crate::{Error, Result, host};

mod sealed {
    use crate::Result;
    use crate::ragged::Layout;
    use crate::tensor::{Device, Kept, Operand};

    pub trait Value {
        fn operand(&self) -> Operand<'_>;

        /// The same values at the beginning of a buffer.
        fn copied(&self) -> Result<Box<dyn super::Value>>;
    }

    pub trait State {
        /// Copies memory that other handles refer to.
        fn detach(&mut self) -> Result<()>;

        fn kept(&mut self) -> Kept<'_>;
    }

    pub trait HostValue {
        fn layout(&self) -> &Layout;

        fn upload(&self, device: &Device) -> Result<Box<dyn super::Value>>;
    }
}

/// An input of [`Plan::run`](super::Plan::run): a [`Tensor`] of any type. Sealed.
pub trait Value: sealed::Value {}

impl<T: Scalar> sealed::Value for Tensor<T> {
    fn operand(&self) -> Operand<'_> {
        Tensor::operand(self)
    }

    fn copied(&self) -> Result<Box<dyn Value>> {
        Ok(Box::new(self.copy()?))
    }
}

impl<T: Scalar> Value for Tensor<T> {}

/// State that a run changes: a [`Cache`] of any type. Sealed.
pub trait State: sealed::State {}

impl<T: Float> sealed::State for Cache<T> {
    fn detach(&mut self) -> Result<()> {
        Cache::detach(self)
    }

    fn kept(&mut self) -> Kept<'_> {
        Cache::kept(self)
    }
}

impl<T: Float> State for Cache<T> {}

/// An input of [`Plan::call`](super::Plan::call): a [`Ragged`] batch of any type that devices hold. Sealed.
pub trait HostValue: sealed::HostValue + Send + Sync {}

impl<T: Scalar> sealed::HostValue for Ragged<T> {
    fn layout(&self) -> &Layout {
        Ragged::layout(self)
    }

    fn upload(&self, device: &Device) -> Result<Box<dyn Value>> {
        Ok(Box::new(device.upload(self)?))
    }
}

impl<T: Scalar> HostValue for Ragged<T> {}

/// Uploads all inputs. Returns them with their layouts.
pub(crate) fn uploaded(
    device: &Device,
    inputs: &[&dyn HostValue],
) -> Result<Vec<(Layout, Box<dyn Value>)>> {
    let there = |input: &&dyn HostValue| Ok((input.layout().clone(), input.upload(device)?));
    inputs.iter().map(there).collect()
}

/// The outputs of a run, in the order in which they were recorded.
pub struct Outputs {
    pub(super) device: Device,
    pub(super) values: Vec<Output>,
}

/// A tensor without its type.
pub(super) struct Output {
    pub dtype: DType,
    pub storage: Storage,
    pub base: usize,
    pub layout: Layout,
}

impl std::fmt::Debug for Outputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let one = |output: &Output| (output.dtype, output.layout.clone());
        f.debug_list().entries(self.values.iter().map(one)).finish()
    }
}

impl Outputs {
    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Output `i`. The plan reuses its memory only when no tensor refers to it any more.
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) when there is no such output, or when its values have another type.
    pub fn get<T: Scalar>(&self, i: usize) -> Result<Tensor<T>> {
        let all = self.values.iter().map(|output| output.dtype);
        check::<T>(all, i)?;
        let Output {
            storage,
            base,
            layout,
            ..
        } = &self.values[i];
        Ok(Tensor::new(
            &self.device,
            storage.clone(),
            *base,
            layout.clone(),
        ))
    }
}

/// The outputs of [`Plan::call`](super::Plan::call), on the host.
pub struct HostOutputs {
    pub(super) values: Vec<HostOutput>,
}

pub(super) struct HostOutput {
    pub dtype: DType,
    pub layout: Layout,
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for HostOutputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let one = |output: &HostOutput| (output.dtype, output.layout.clone());
        f.debug_list().entries(self.values.iter().map(one)).finish()
    }
}

impl HostOutputs {
    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Output `i`.
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) when there is no such output, or when its values have another type;
    /// [`OutOfMemory`](Error::OutOfMemory).
    pub fn get<T: Scalar>(&self, i: usize) -> Result<Ragged<T>> {
        let all = self.values.iter().map(|output| output.dtype);
        check::<T>(all, i)?;
        let HostOutput { layout, bytes, .. } = &self.values[i];
        let mut values: Vec<T> = host::zeroed(layout.total()).named("get")?;
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
        Ragged::from_parts(layout.clone(), values)
    }
}

/// Checks that output `i` exists and has this type.
fn check<T: Scalar>(mut dtypes: impl ExactSizeIterator<Item = DType>, i: usize) -> Result<()> {
    let len = dtypes.len();
    match dtypes.nth(i) {
        None => Err(Error::argument(format!("an output below {len}"), i).named("get")),
        Some(dtype) if dtype != T::DTYPE => {
            Err(Error::argument(format!("the type {dtype} of output {i}"), T::DTYPE).named("get"))
        }
        Some(_) => Ok(()),
    }
}
