//! Elements to be transformed, and how kernels read and write them.

use super::Transform;

/// An element to be transformed: where it begins in x and in y, in values, its length, and the bits of its factor.
pub(super) type Item = [u32; 4];

/// What x holds and what y takes: `load` and `store` of `fft_values.wgsl`.
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

    /// Whether one side is real values.
    pub(super) fn are_real(self) -> bool {
        (self.load | self.store) & REAL != 0
    }
}
