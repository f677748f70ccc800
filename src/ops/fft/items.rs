//! Elements to be transformed, how kernels read and write them, and the bindings and parameters of each kernel.

use super::Transform;
use crate::ops::multipass::{EXCHANGED, HALF, REAL};
use crate::plan::{Constants, constants, params, slots};

/// An element to transform: its offsets in x and in y, in values, its length, and the bits of its factor.
pub(super) type Item = [u32; 4];

/// The kinds of values in x and in y: `load` and `store` of `fft_values.wgsl`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Modes {
    pub load: u32,
    pub store: u32,
}

/// Bits above the length in an item of Bluestein's algorithm: a flag for values that are pairs of real ones, and the
/// position of the filter's number.
pub(super) const HALVED: u32 = 1 << 13;
pub(super) const NUMBER_SHIFT: u32 = 14;
pub(super) const FILTERED: Constants = constants![HALVED, NUMBER_SHIFT];

impl Modes {
    pub(super) fn of(transform: Transform) -> Modes {
        let (load, store) = match transform {
            Transform::Forward => (0, 0),
            Transform::Inverse => (EXCHANGED, EXCHANGED),
            Transform::Real => (REAL, HALF),
            Transform::RealInverse => (HALF | EXCHANGED, REAL | EXCHANGED),
        };
        Modes { load, store }
    }

    /// Whether x or y holds real values.
    pub(super) fn are_real(self) -> bool {
        (self.load | self.store) & REAL != 0
    }
}

slots! {
    pub(super) struct Slots { x: Read, y: Write, items: Read, twiddles: Read }
}

slots! {
    pub(super) struct TinySlots { x: Read, y: Write, items: Read, roots: Read }
}

slots! {
    pub(super) struct RealSlots { x: Read, y: Write, items: Read, twiddles: Read, halves: Read }
}

slots! {
    pub(super) struct BluesteinSlots { x: Read, y: Write, items: Read, twiddles: Read, filters: Read }
}

slots! {
    pub(super) struct FilterSlots { y: Write, items: Read, twiddles: Read, roots: Read }
}

params! {
    /// The parameters that the kernels of items begin with.
    pub(super) struct Params {
        first_item, items, x_first, x_step, y_first, y_step, length, factor, x_base, load, store,
     }
}

params! {
    pub(super) struct TinyParams { of_items: Params, lanes }
}

params! {
    pub(super) struct BluesteinParams { of_items: Params, filters }
}

params! {
    pub(super) struct FilterParams { first_item, items }
}

params! {
    pub(super) struct SmoothParams { of_items: Params, first_task, per_group, radices, twiddles, halves }
}
