//! The device properties that planning depends on.

use super::fft::FftLimits;
use crate::ops::conv::choice::CostTable;

/// The device properties that planning depends on.
#[derive(Clone, Copy)]
pub(crate) struct Traits<'a> {
    pub costs: &'a CostTable,
    /// The largest number of multiply-adds that an operation may take.
    pub allowed: u64,
    /// The limits of a GPU for transforms; `None` on the CPU.
    pub room: Option<FftLimits>,
    /// The largest number of bytes of a result on a GPU; `None` on the CPU.
    pub binding: Option<u64>,
}
