//! The operations: one module each, with its shape rules, launch, kernels and CPU kernel.
//!
//! A module turns layouts into a [`Launch`] and does not depend on tensors or devices.

pub(crate) mod ambient;
pub(crate) mod append;
pub(crate) mod attention;
pub(crate) mod bsr;
mod butterfly;
mod bytes;
pub(crate) mod cast;
pub(crate) mod cells;
pub(crate) mod chain;
pub(crate) mod conv;
pub(crate) mod convert;
mod coop_tile;
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
pub(crate) mod kron;
pub(crate) mod label;
pub(crate) mod lines;
pub(crate) mod lookup;
pub(crate) mod map;
pub(crate) mod maps;
pub(crate) mod matmul;
pub(crate) mod morphology;
mod multipass;
pub(crate) mod neighbours;
pub(crate) mod occurrences;
pub(crate) mod one_hot;
mod op;
mod operation;
mod ordered;
mod parallel;
pub(crate) mod period;
pub(crate) mod pooling;
mod product_tile;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod regions;
pub(crate) mod rotary;
pub(crate) mod runs;
pub(crate) mod scatter;
pub(crate) mod select;
pub(crate) mod sequence;
pub(crate) mod shape_matmul;
mod slices;
pub(crate) mod sort;
pub(crate) mod strided;
pub(crate) mod take;
mod transpose;
mod worklist;
pub(crate) mod written;

#[cfg(test)]
pub(crate) mod extremes;

pub(crate) use op::{InWords, Op, all_kernels, for_payload};
pub(crate) use operation::{PlanRequest, Traits};

use crate::plan::{Constants, Param, PlanBuffer, Slot, constants};
use crate::ragged::{Pairs, Real};
use crate::{Result, host};

/// Instantiates a generic CPU kernel for an element type.
macro_rules! twin_of {
    ($dtype:expr, $twin:ident $(, $constant:expr)*) => {
        match $dtype {
            DType::F32 => $twin::<f32 $(, $constant)*>,
            DType::I32 => $twin::<i32 $(, $constant)*>,
            DType::U32 => $twin::<u32 $(, $constant)*>,
            // Only methods of `Tensor<T: Real>` come here.
            DType::C32 | DType::F16 | DType::U8 => unreachable!("real numbers only"),
        }
    };
}
/// Instantiates a CPU kernel that only copies values, for words of the size of an element type.
macro_rules! bits_of {
    ($dtype:expr, $twin:ident) => {
        match $dtype.size() {
            1 => $twin::<u8>,
            2 => $twin::<half::f16>,
            4 => $twin::<u32>,
            _ => $twin::<[u32; 2]>,
        }
    };
}
use bits_of;
use parallel::{OfRun, join, par_chunks, par_elements, par_map, par_pieces, par_runs, par_tiles};
use twin_of;

/// Arithmetic on values of an element type; integers wrap.
pub(crate) trait Arithmetic: Real {
    /// The additive identity: adding it to a value changes no bit of the value.
    const NOTHING: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// The absolute value; `i32::MIN` wraps to itself.
    fn magnitude(self) -> Self;
}

impl Arithmetic for f32 {
    const NOTHING: f32 = -0.0;
    #[inline(always)]
    fn plus(self, other: f32) -> f32 {
        self + other
    }
    #[inline(always)]
    fn times(self, other: f32) -> f32 {
        self * other
    }
    fn magnitude(self) -> f32 {
        self.abs()
    }
}

macro_rules! wrapping {
    ($($t:ty: $magnitude:expr),*) => {$(
        impl Arithmetic for $t {
            const NOTHING: $t = 0;
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, other: $t) -> $t {
                self.wrapping_mul(other)
            }
            fn magnitude(self) -> $t {
                $magnitude(self)
            }
        }
    )*};
}
wrapping!(i32: i32::wrapping_abs, u32: |x| x);

/// Values that a workgroup of the streaming kernels computes.
const STREAM_TILE: usize = 2048;
const STREAM: Constants = constants![STREAM_TILE];

/// How elements of two batches are paired: `pair_kind` of `shaders/lib/pairs.wgsl`. For any other value, the shader
/// reads a list of pairs.
const ELEMENTWISE: u32 = 0;
const ONE_TO_ALL: u32 = 1;
const ALL_TO_ALL: u32 = 2;
const LISTED: u32 = 3;
const PAIRING: Constants = constants![ELEMENTWISE, ONE_TO_ALL, ALL_TO_ALL];

/// Workgroups of a streaming kernel over `values` values.
fn stream_groups(values: usize) -> u32 {
    values.div_ceil(STREAM_TILE) as u32
}

/// The parameters `pair_kind` and `pair_right` of `shaders/lib/pairs.wgsl`, and the list of pairs to bind, or `unused`
/// if there is no list.
fn pair_params(
    op: &'static str,
    pairs: &Pairs,
    right: usize,
    unused: &Slot,
) -> Result<([Param; 2], Slot)> {
    use crate::Pairing;
    let (kind, list) = match pairs.pairing() {
        Pairing::Elementwise => (ELEMENTWISE, unused.clone()),
        Pairing::OneToAll => (ONE_TO_ALL, unused.clone()),
        Pairing::AllToOne | Pairing::AllToAll => (ALL_TO_ALL, unused.clone()),
        Pairing::List(pairs) => {
            let mut list = host::room(op, 2 * pairs.len())?;
            list.extend(pairs.as_slice().iter().flat_map(|&(l, r)| [l, r]));
            (LISTED, Slot::PlanBuffer(PlanBuffer::new(list)))
        }
    };
    Ok(([Param::U32(kind), Param::U32(right as u32)], list))
}

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
#[cfg(feature = "gpu")]
pub fn kernels() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for kernel in all_kernels() {
        for variant in 0..kernel.listed().count() {
            let text = crate::gpu::assemble(kernel, variant)
                .unwrap_or_else(|wrong| format!("// cannot be assembled: {wrong}"));
            all.push((kernel.name(variant), text));
        }
    }
    all
}
