//! The operations: one module each, with its shape rules, launch, kernels and twin.
//!
//! A module turns layouts into a [`Launch`] and does not depend on tensors or devices.

pub(crate) mod ambient;
pub(crate) mod append;
pub(crate) mod attention;
pub(crate) mod bsr;
mod butterfly;
mod bytes;
pub(crate) mod cells;
pub(crate) mod chain;
pub(crate) mod choice;
pub(crate) mod conv;
pub(crate) mod convert;
pub(crate) mod correlate_max;
pub(crate) mod cross_entropy;
pub(crate) mod embedding;
pub(crate) mod eval;
pub(crate) mod fft;
pub(crate) mod figures;
pub(crate) mod frames;
pub(crate) mod gather;
pub(crate) mod histogram;
pub(crate) mod imaging;
pub(crate) mod kit;
pub(crate) mod kron;
pub(crate) mod label;
pub(crate) mod linear;
pub(crate) mod lines;
pub(crate) mod lookup;
pub(crate) mod maps;
pub(crate) mod matmul;
pub(crate) mod morphology;
mod multipass;
pub(crate) mod occurrences;
pub(crate) mod one_hot;
mod op;
mod operation;
pub(crate) mod period;
pub(crate) mod pooling;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod regions;
pub(crate) mod rotary;
pub(crate) mod runs;
pub(crate) mod scatter;
pub(crate) mod select;
pub(crate) mod sequence;
pub(crate) mod shape_matmul;
pub(crate) mod sort;
pub(crate) mod strided;
pub(crate) mod take;
mod transpose;
pub(crate) mod written;

#[cfg(feature = "testing")]
pub(crate) mod limits;

use crate::plan::assembler::assemble;

pub(crate) use op::{InWords, Op, all_kernels, for_payload};
pub(crate) use operation::{FftLimits, PlanRequest, Traits};

/// Returns the name and the assembled WGSL of every kernel that the library can run.
///
/// The list is closed: nothing else is ever compiled, except two of these kernels with the expressions that an
/// application gives to [`Device::map1`](crate::Device::map1) and [`map2`](crate::Device::map2). Audits and tests use
/// it to check shaders without a GPU.
///
/// ```
/// for (name, source) in vsla::device::kernels() {
///     assert!(source.contains("fn main"), "{name}");
/// }
/// ```
pub fn kernels() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for kernel in all_kernels() {
        kernel.for_each(|variant| {
            let text = assemble(kernel, variant)
                .unwrap_or_else(|wrong| format!("// cannot be assembled: {wrong}"));
            all.push((kernel.name(variant), text));
        });
    }
    all
}
