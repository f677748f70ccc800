//! Operands of any type.

use super::{Device, Storage, Tensor};
use crate::ragged::{DType, Layout, Scalar};

/// An operand without its element type.
#[derive(Clone)]
pub struct Operand<'a> {
    pub(crate) device: &'a Device,
    pub(crate) storage: &'a Storage,
    pub(crate) base: usize,
    /// The size of a value in units of the base.
    pub(crate) unit: usize,
    pub(crate) bytes: std::ops::Range<usize>,
    pub(crate) dtype: DType,
    /// Whether the operation needs only the layout.
    pub(crate) shapes_only: bool,
    pub(crate) layout: &'a Layout,
}

impl<T: Scalar> Tensor<T> {
    /// The tensor as an operand without its element type.
    pub(crate) fn operand(&self) -> Operand<'_> {
        Operand {
            device: &self.device,
            storage: &self.storage,
            base: self.base,
            unit: T::DTYPE.size() / T::DTYPE.unit(),
            bytes: self.begin()..self.begin() + self.layout.total() * T::DTYPE.size(),
            dtype: T::DTYPE,
            shapes_only: false,
            layout: &self.layout,
        }
    }

    /// An operand that has this layout and no values, on this tensor's device.
    pub(super) fn shapes<'a>(&'a self, layout: &'a Layout) -> Operand<'a> {
        Operand {
            bytes: 0..0,
            shapes_only: true,
            layout,
            ..self.operand()
        }
    }
}
