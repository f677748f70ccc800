//! How each pair is convolved: the window of its results, the methods, their costs, and the choice among them.
//!
//! - *Direct.* On the CPU, up to 32 taps in registers, otherwise in blocks of four. On a GPU, up to 16 results by
//!   `conv_fused`, in one dispatch with the transforms; more by `conv_direct`.
//! - *Transforms of L.* On the CPU, the shortest even L = 2ᵃ·3ᵇ·5ᶜ ≥ m + n − 1 with c ≤ 1 and a ≥ 2. On a GPU,
//!   right-angle transforms of L / 2, a power of two: to L = 8192 by `conv_fused`, to 2²³ in passes by `fft_pass`,
//!   where the first pass back reads the product of the spectra.
//! - *Overlap-save of L.* On the CPU, the taps' spectrum once, then blocks in parallel. On a GPU, items of `conv_fused`
//!   that write a part of their results; if both operands are longer than any transform, both are cut, and the blocks
//!   of the shorter one are added in order, one dispatch each.
//!
//! The choice depends on the two lengths and the device's table alone, so neither neighbours nor timing affect the
//! result of a pair. The table is a part of the key of a cached plan. Up to four taps, `Auto` is always direct: memory
//! bounds both methods, and products with 1 stay exact. For boxes, the choice compares the multiply-adds of the kept
//! results with the transforms of the two vectors.

mod choices;
mod costs;
mod method;
mod profile;
mod report;
mod selection;
mod window;

#[cfg(feature = "testing")]
mod limits;

pub use costs::CostTable;
pub use method::ConvMethod;
pub use profile::{ByMethod, HeterogeneityProfile};
pub use report::{ConvChoice, ConvGroup};
pub use window::ConvMode;

pub(crate) use choices::Choices;
pub(crate) use costs::{Costs, Engine, FEW_RESULTS, transform_work};
pub(crate) use method::Choice;
pub(crate) use window::{AXES, Along, Flat, Meeting, Window};
