//! Linear algebra on batches of tensors whose shapes differ, without padding, on any GPU through
//! [WebGPU](https://www.w3.org/TR/webgpu/) (wgpu: Vulkan, Metal, DX12, browsers) and on the CPU.
//!
//! A ragged batch stores its values packed end to end, with an array of offsets. The cost of an operation depends only
//! on the values that exist: there is nothing to pad, to mask, or to discard afterwards.
//!
//! ```
//! use vsla::{Device, Pairing, Ragged};
//!
//! # fn main() -> vsla::Result<()> {
//! let device = Device::auto(); // a GPU when there is one, else the CPU
//! let signals = Ragged::from_rows([vec![1.0f32, 2.0, 3.0, 4.0], vec![5.0], vec![]])?;
//! let filters = Ragged::from_rows([vec![1.0f32, -1.0], vec![0.5, 0.5, 0.5]])?;
//! let (x, h) = (device.upload(&signals)?, device.upload(&filters)?);
//!
//! // Every signal with every filter: results of 5, 6, 2, 3, 0 and 0 values.
//! let y = x.pair(&h, Pairing::AllToAll)?.conv()?;
//! assert_eq!(y.download_blocking()?.row(0), [1.0, 1.0, 1.0, 1.0, -4.0]);
//! assert_eq!(y.sum()?.download_blocking()?.values(), [0.0, 15.0, 0.0, 7.5, 0.0, 0.0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//! * [`Ragged`] is a batch on the host. [`Layout`] holds only its shapes; it is shared and validated once.
//! * [`Device`] is a handle to a GPU or to the CPU. [`Tensor`] is a batch on a device, immutable and cheap to clone.
//!   Operations are methods of [`Tensor`], or of [`Paired`] when the elements of two batches are not paired one to one.
//! * [`Tensor::matmul`] multiplies matrices of any mix of sizes, dense or block-sparse. [`Tensor::product`] adds
//!   transposes and a fused epilogue (scale, bias, activation, residual).
//! * [`Tensor::attention`] attends from the queries to the keys of each element, with masks and biases, without storing
//!   scores.
//! * [`Indices`] and a [`Permutation`](batch::Permutation) select the rows and elements that an operation takes; a
//!   [`PairList`](batch::PairList) lists pairs. [`Topology`], [`Bsr`] and [`BsrTensor`] are block-sparse matrices.
//!   A [`ShapeMatrix`](product::ShapeMatrix) is a matrix whose entries are vectors of any length.
//! * [`Tensor::label`] finds the connected components of images, and [`Tensor::regions`] tabulates them; [`image`] has
//!   their options.
//! * [`image::ImageProgram`] records many small operations on images, and runs them together for every sample of a
//!   batch. [`pages::images`] is a guide to it.
//! * [`program`] records operations once, plans them for the layouts of a batch, and runs them again and again, with
//!   gradients. [`pages::programs`] is a guide to it.
//! * [`fleet`] divides the elements of a batch among several devices, such as all GPUs of a machine.
//! * [`io`] covers files ([`Ragged::read`] and [`Ragged::write`]) and interchange with other libraries.
//! * [`pages`] is a book, which begins with [`pages::getting_started`]. [`pages::shapes`] tabulates the operands and
//!   results of every operation, and [`pages::operations`] its behaviour under trailing zeros (equivalence), its
//!   gradient and its tests. [`pages::devices`] covers the choice of a device, and limits. [`pages::attention`] says
//!   what attention promises. [`pages::coming_from`] maps the ragged batches of PyTorch, TensorFlow, Awkward Array and
//!   FlashAttention to this library, and CUDA graphs, `torch.compile`, autograd and JAX to programs.
//! * [`Error`] is the only error type. Invalid arguments and shapes are rejected before any work starts. Values on a
//!   device are not read: [`pages::getting_started`](pages::getting_started#errors) says what ids, labels and positions
//!   out of range give.
//!
//! # What a call costs
//! On a GPU, a call validates its input, plans and records work; nothing waits until you read a result. The device
//! caches the plan of an operation under the layouts of its operands, so a second call on the same layouts plans
//! nothing. A method that waits is async, and has a blocking form whose name ends in `_blocking`. The set of kernels is
//! fixed (`kernels()` lists them), and each is compiled on first use.
//!
//! # Numerics
//! Both devices compute f32 in f32, in a fixed order: two runs give the same bits, and the result of an element does
//! not depend on the rest of its batch. Integers wrap. NaN and infinity spread only within their own element.
//!
//! A GPU may flush subnormal numbers (below 2⁻¹²⁶ in f32) to 0, both operands and results. An infinity times a
//! subnormal is then NaN on the GPU but infinity on the CPU. Copies, `neg` and conversions preserve subnormals on both.
//!
//! # Features
//! * `gpu` (default): the GPU device. Without it, the crate is a CPU library that does not depend on wgpu.
//! * `web`: the GPU device in browsers, on the target `wasm32-unknown-unknown`. [`pages::application`] has a section
//!   about it.
//! * `arrow`, `ndarray`, `safetensors`, `serde`: [interchange](io#interchange) with these crates.
//! * `approx`: its comparisons, such as `assert_relative_eq!`, for [`Ragged`].

#![warn(missing_docs)]

// Runs the README's program as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

// The book in docs/book, of which each chapter is a page. Links between chapters are references, and the first
// definition of a reference counts: here that of links.md, elsewhere that at the end of the chapter.
#[cfg(any(doc, doctest))]
macro_rules! pages {
    ($($page:ident $file:literal)*) => {
        // The programs of the book need these features.
        #[cfg(any(not(doctest), all(feature = "arrow", feature = "gpu", feature = "ndarray")))]
        #[doc = include_str!("../docs/book/links.md")]
        #[doc = include_str!("../docs/book/src/introduction.md")]
        pub mod pages {
            $(
                #[doc = include_str!("../docs/book/links.md")]
                #[doc = include_str!(concat!("../docs/book/src/", $file))]
                pub mod $page {}
            )*
        }
    };
}

#[cfg(any(doc, doctest))]
pages! {
    getting_started "getting-started.md"
    ragged "ragged.md"
    convolution "convolution.md"
    products "products.md"
    programs "programs.md"
    networks "networks.md"
    long_programs "long-programs.md"
    images "images.md"
    application "application.md"
    fleet "fleet.md"
    costs "costs.md"
    coming_from "coming-from.md"
    algebra "algebra.md"
    cookbook "cookbook.md"
    examples "examples.md"
    shapes "shapes.md"
    operations "operations.md"
    attention "attention.md"
    devices "devices.md"
    guarantees "guarantees.md"
}

#[cfg(feature = "testing")]
#[macro_use(apply)]
extern crate macro_rules_attribute;

// Before the other modules, which use its macro.
#[cfg(feature = "testing")]
#[macro_use]
#[doc(hidden)]
pub mod testing;

mod cpu;
mod error;
pub mod fleet;
#[cfg(feature = "gpu")]
mod gpu;
mod host;
pub mod io;
mod machine;
mod ops;
#[cfg_attr(
    not(feature = "gpu"),
    expect(
        dead_code,
        reason = "plans also describe GPU work, which this build does not read"
    )
)]
mod plan;
pub mod program;
mod ragged;
mod tensor;

pub use error::{Error, Result};
pub use half::f16;
pub use num_complex::Complex32;
pub use ragged::{Bsr, Indices, Layout, Pairing, Ragged, Shape, Topology};
pub use tensor::{BsrTensor, Device, Paired, Tensor};

/// Attention over ragged batches, the cache of keys and values for decoding, and rotary position embeddings.
pub mod attention {
    pub use crate::tensor::{Attention, Cache, Rotary, merge};
}

/// Types that describe batches and operands: offsets, permutations, lists of pairs, seeds, and spread operands.
pub mod batch {
    pub use crate::error::Side;
    pub use crate::ragged::{MAX_RANK, Offsets, PairList, Permutation, Rows};
    pub use crate::tensor::{IntoSpread, Remainder, Seed, Spread};
}

/// Convolution: methods and their costs, kernels prepared once, correlation peaks and the shape-based distance; and
/// pooling.
pub mod conv {
    pub use crate::ops::choice::{
        ByMethod, ConvChoice, ConvGroup, ConvMethod, ConvMode, CostTable, HeterogeneityProfile,
    };
    pub use crate::tensor::{ConvPlan, Convolution, CorrelateMax, Pooling, Sbd};
}

/// Devices: how to open them, and their properties, memory and timings.
pub mod device {
    #[cfg(feature = "gpu")]
    pub use crate::gpu::GpuOptions;
    pub use crate::host::{host_memory_limit, set_host_memory_limit};
    pub use crate::machine::Memory;
    pub use crate::ops::kernels;
    #[doc(hidden)]
    pub use crate::tensor::Counters;
    pub use crate::tensor::{DeviceInfo, DeviceKind, DeviceLimits, KernelTime, Profile};
    #[cfg(feature = "gpu")]
    pub use wgpu;
}

/// Images: elements of rank 2 with integer values, each of its own size.
///
/// [`Components`](image::Components) says which cells form a component, for methods of [`Tensor`] such as
/// [`label`](Tensor::label). An [`ImageProgram`](image::ImageProgram) records many small operations on images, and
/// runs them for many images on one core, on all cores or on a GPU: see [the chapter on
/// images](crate::pages::images).
pub mod image {
    pub use crate::ops::imaging::code::Direction;
    pub use crate::ops::kit::Neighbours;
    pub use crate::tensor::{
        Calibration, Components, Factors, Image, ImageOperand, ImageProgram, ImageReport, LabelBy,
        Machine, Place, Recorder, Regions, Results,
    };
}

/// Matrix products with options: transposes, epilogues, tiers.
///
/// There are several ways to transpose. [`Tensor::transpose`] permutes the axes of every element and copies the values;
/// [`ShapeMatrix::transpose`](product::ShapeMatrix::transpose) also copies. [`BsrTensor::transpose`] copies nothing.
/// [`transpose_left`](product::Product::transpose_left) and [`transpose_right`](product::Product::transpose_right)
/// multiply by the transpose of a factor without storing it.
pub mod product {
    pub use crate::ops::matmul::{Activation, Tier};
    pub use crate::tensor::{Product, RightFactor, ShapeMatrix};
}

/// Types of values, and functions of single values, including those that applications write.
pub mod scalar {
    pub use crate::ops::ambient::functions;
    pub use crate::ops::maps::{MapInfo, maps};
    pub use crate::ragged::{
        DType, Factor, Float, Integer, Number, Ordered, Pixel, Real, Scalar, f16_from_f64,
    };
    pub use crate::tensor::{Map1, Map2};
}
