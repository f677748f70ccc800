//! Linear algebra on batches of tensors whose shapes differ.

#![warn(missing_docs)]

mod cpu;
pub mod error;
#[cfg(feature = "gpu")]
mod gpu;
mod machine;
mod ops;
mod plan;
pub mod ragged;
mod tensor;

pub use error::{Error, Result, Side};
#[cfg(feature = "gpu")]
pub use gpu::{GpuOptions, kernels};
pub use machine::Memory;
pub use ragged::{DType, Element, Layout, MAX_RANK, Offsets, Pairing, Ragged, Rows, Shape};
pub use tensor::{CorrelateMax, Sbd, Device, DeviceInfo, DeviceKind, DeviceLimits, KernelTime, Pair, Profile, Tensor};
#[cfg(feature = "gpu")]
pub use wgpu;
