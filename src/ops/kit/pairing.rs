//! How kernels find the pairs of elements.

use crate::plan::{Constants, Param, PlanBuffer, Slot, constants};
use crate::ragged::{Pairing, Pairs};
use crate::{Result, host};

/// How elements of two batches are paired: `pair_kind` of `shaders/lib/pairs.wgsl`. For any other value, the shader
/// reads a list of pairs.
const ELEMENTWISE: u32 = 0;
const ONE_TO_ALL: u32 = 1;
const ALL_TO_ALL: u32 = 2;
const LISTED: u32 = 3;
pub(crate) const PAIRING: Constants = constants![ELEMENTWISE, ONE_TO_ALL, ALL_TO_ALL];

/// The parameters `pair_kind` and `pair_right` of `shaders/lib/pairs.wgsl`, and the list of pairs to bind, or `unused`
/// if there is no list.
pub(crate) fn pair_params(
    pairs: &Pairs,
    right: usize,
    unused: &Slot,
) -> Result<([Param; 2], Slot)> {
    let (kind, list) = match pairs.pairing() {
        Pairing::Elementwise => (ELEMENTWISE, unused.clone()),
        Pairing::OneToAll => (ONE_TO_ALL, unused.clone()),
        Pairing::AllToOne | Pairing::AllToAll => (ALL_TO_ALL, unused.clone()),
        Pairing::List(pairs) => {
            let mut list = host::room(2 * pairs.len())?;
            list.extend(pairs.as_slice().iter().flat_map(|&(l, r)| [l, r]));
            (LISTED, Slot::PlanBuffer(PlanBuffer::new(list)))
        }
    };
    Ok(([Param::U32(kind), Param::U32(right as u32)], list))
}
