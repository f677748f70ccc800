//! Large windows in passes.
//!
//! A pass makes a part of every window from parts of the last pass. A part that covers m values along an axis and
//! begins at value v, A(m, v), is the largest of these values, or their sum:
//!
//! A(4 m + r, v) = A(m, v) + A(m, v + m) + A(m, v + 2 m) + A(m, v + 3 m) + x(v + 4 m) + … + x(v + 4 m + r − 1)
//!
//! So the digits of the extent in base 4, from the highest on, say how the window grows to it, first along the rows,
//! then down the columns of what came out of the rows. Nothing but values of a window enters its part, so NaN and
//! infinity stay in the windows that contain them, and its bits depend on its values alone. Every value is the
//! beginning of a part in each pass; those whose windows leave the element mean nothing, and no window reads them.
//!
//! A value of a sum takes at most 3 log₂ w + 3 roundings along an axis of w values: at most 14 in the first pass, which
//! covers at most 15 values, and 6 in each of the others.

use super::Pool;
use crate::plan::{
    Dispatch, Interface, Kernel, Param, Slot, params, shader, slots, stream_tile, variants,
};
use crate::ragged::Layout;

slots! {
    struct Slots { x: Read, base: Read, parts: Read, c: Write, c_meta: Read }
}

params! {
    struct Params { total, elements, tile, x_base, rank, down, covered, singles, from_x }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("pooling/passes"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![
        F32 "MAX", I32 "MAX", U32 "MAX", F16 "MAX", F32 "MAX" "PLACE", F32 "MEAN", F16 "MEAN"
    ],
};

/// One pass along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pass {
    /// The values that each part of the last pass covers; 0 in the first pass.
    pub covered: u64,
    /// The single values that follow four of these parts.
    pub singles: u64,
}

/// The passes that make windows of this extent.
pub(super) fn along(extent: u64) -> impl Iterator<Item = Pass> {
    // The first pass covers the digits above this one: 4 to 15 values, or all of a shorter window.
    let below = (extent.max(4).ilog2() - 2) / 2;
    let before = move |digit: u32| extent.checked_shr(2 * digit).unwrap_or(0);
    (0..=below).rev().map(move |digit| match digit == below {
        true => Pass {
            covered: 0,
            singles: before(digit),
        },
        false => Pass {
            covered: before(digit + 1),
            singles: before(digit) % 4,
        },
    })
}

/// The dispatches that make windows of these rows and columns, and the sizes of their scratch buffers. Each writes one
/// of three.
pub(super) fn dispatches(pool: Pool, x: &Layout, window: [u64; 2]) -> (Vec<Dispatch>, Vec<u64>) {
    let (total, tile) = (x.total(), stream_tile(x.total(), x.len()));
    let slot = |buffer: Option<usize>| buffer.map_or(Slot::Input(0), Slot::Scratch);
    let mut all = Vec::new();
    let (mut base, mut used) = (None, 0);
    for (down, extent) in [(0, window[1]), (1, window[0])] {
        if extent == 1 {
            continue;
        }
        let mut parts = None;
        for Pass { covered, singles } in along(extent) {
            let to = match [base, parts].contains(&Some(0)) {
                false => 0,
                true if [base, parts].contains(&Some(1)) => 2,
                true => 1,
            };
            let each = 4 * u64::from(covered > 0) + singles;
            all.push(Dispatch::new(
                KERNEL.variant(pool.dtype, pool.kind.flags()),
                Slots {
                    x: Slot::Input(0),
                    base: slot(base),
                    parts: slot(parts),
                    c: Slot::Scratch(to),
                    c_meta: Slot::InputMeta(0),
                },
                Params {
                    total: Param::U32(total as u32),
                    elements: Param::U32(x.len() as u32),
                    tile: Param::U32(tile as u32),
                    x_base: Param::InputBase(0),
                    rank: Param::U32(x.rank() as u32),
                    down: Param::U32(down),
                    covered: Param::U32(covered as u32),
                    singles: Param::U32(singles as u32),
                    from_x: Param::U32(u32::from(base.is_none())),
                },
                total.div_ceil(tile) as u32,
                each.saturating_mul(total as u64),
            ));
            (parts, used) = (Some(to), used.max(to + 1));
        }
        base = parts;
    }
    (all, vec![total as u64; used])
}

/// What the last pass writes.
pub(super) fn result(pass: &Dispatch) -> Slot {
    pass.slots[3].clone()
}
