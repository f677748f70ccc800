//! How streaming kernels are cut into workgroups.

use crate::plan::{Constants, Param, constants, params, stream_tile};
use crate::ragged::Layout;

/// Values that a workgroup of the streaming kernels computes.
pub(crate) const STREAM_TILE: usize = 2048;
pub(crate) const STREAM: Constants = constants![STREAM_TILE];

/// Workgroups of a streaming kernel over `values` values.
pub(crate) fn stream_groups(values: usize) -> u32 {
    values.div_ceil(STREAM_TILE) as u32
}

params! {
    /// The cut of a batch for kernels that locate their elements: its values, its elements, and the values of a
    /// workgroup.
    pub(crate) struct Tiles { total, elements, tile }
}

impl Tiles {
    /// The cut of a batch, and the number of workgroups.
    pub(crate) fn of(batch: &Layout) -> (Tiles, u32) {
        let tile = stream_tile(batch.total(), batch.len());
        let [total, elements, width] = [batch.total(), batch.len(), tile].map(|n| n as u32);
        let tiles = Tiles {
            total: Param::U32(total),
            elements: Param::U32(elements),
            tile: Param::U32(width),
        };
        (tiles, total.div_ceil(width))
    }
}
