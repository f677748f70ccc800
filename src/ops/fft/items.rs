//! Elements to transform, and how kernels read and write them.

use super::Transform;

/// An element to transform: its offsets in x and in y, in values, its length, and the bits of its factor.
pub(super) type Item = [u32; 4];

/// The kinds of values in x and in y: `load` and `store` of `fft_values.wgsl`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Modes {
    pub load: u32,
    pub store: u32,
}

pub(super) const REAL: u32 = 1;
pub(crate) const HALF: u32 = 2;
const EXCHANGED: u32 = 4;

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
