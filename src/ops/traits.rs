//! What planning needs to know of a device.

use super::fft::FftLimits;
use crate::ops::conv::choice::CostTable;

/// What planning needs to know of a device.
#[derive(Clone, Copy)]
pub(crate) struct Traits<'a> {
    pub costs: &'a CostTable,
    /// Multiply-adds at most.
    pub allowed: u64,
    /// What a GPU has for transforms.
    pub room: Option<FftLimits>,
    /// Bytes that a result may have, where the device is a GPU.
    pub binding: Option<u64>,
}
