//! How streaming kernels are cut into workgroups.

use crate::plan::{Constants, constants};

/// Values that a workgroup of the streaming kernels computes.
pub(crate) const STREAM_TILE: usize = 2048;
pub(crate) const STREAM: Constants = constants![STREAM_TILE];

/// Workgroups of a streaming kernel over `values` values.
pub(crate) fn stream_groups(values: usize) -> u32 {
    values.div_ceil(STREAM_TILE) as u32
}
