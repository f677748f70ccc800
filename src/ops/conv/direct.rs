//! Direct convolution: m·n multiply-adds per pair, seven results per invocation.

use crate::ops::choice::ConvMode;
use crate::ops::kit::worklist::Worklist;
use crate::ops::kit::{PAIRING, pair_params};
use crate::plan::{
    Dispatch, Interface, Kernel, Param, Slot, constants, for_each_type, params, shader, slots,
};
use crate::ragged::{DType, Layout, Pairs};
use crate::{Result, host};

/// Strips per workgroup, and results per strip.
const WG: usize = 128;
const R: usize = 7;
/// The left operand provides the taps only if it is the shorter one and the right one is longer than this. For short
/// pairs it makes no difference, and a batch of them should take one dispatch.
const SHORT: usize = 64;

slots! {
    pub(super) struct Slots {
        x: Read, x_meta: Read, y: Read, y_meta: Read, c: Write, c_meta: Read, items: Read,
        pair_list: Read,
    }
}

params! {
    struct Params {
        x_base, y_base, x_backwards, y_backwards, swapped, units, entries, pair_kind, pair_right, mode,
    }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("conv/direct"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![WG, R], PAIRING, ConvMode::CODES],
    variants: for_each_type!(&[]),
};

/// Pairs whose taps come from the same side.
#[derive(Default)]
struct Side {
    /// The pairs, by the order of magnitude of their number of taps.
    pairs: [Vec<u32>; 26],
    cost: u64,
}

/// The dispatches that convolve the pairs `chosen`, numbered as in `pairs`.
///
/// One dispatch serves the pairs whose taps come from the right operand, and one those whose taps come from the left
/// one. `result` has an element for every pair, with the values that the mode keeps.
pub(super) fn dispatches(
    (dtype, mode): (DType, ConvMode),
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    chosen: impl Iterator<Item = usize>,
    result: &Layout,
    correlate: bool,
) -> Result<Vec<Dispatch>> {
    let mut sides = [Side::default(), Side::default()];
    for p in chosen {
        let (i, j) = pairs.get(p);
        let (m, n) = (a.length(i), b.length(j));
        if result.length(p) == 0 {
            continue;
        }
        let swapped = n > m && n > SHORT;
        let side = &mut sides[usize::from(swapped)];
        let cost = result.length(p) as u64 * m.min(n) as u64;
        side.cost = side.cost.saturating_add(cost);
        // Strips with many taps start first, so that the strips that start last are short.
        let magnitude = if swapped { m } else { n }.max(SHORT).ilog2() - SHORT.ilog2();
        host::push(&mut side.pairs[magnitude as usize], p as u32)?;
    }
    let unused = Slot::Meta(result.clone());
    let ([pair_kind, pair_right], pair_list) = pair_params(pairs, b.len(), &unused)?;
    let mut dispatches = Vec::new();
    for (swapped, side) in sides.iter().enumerate() {
        if side.cost == 0 {
            continue;
        }
        let longest_first = side.pairs.iter().rev().flatten();
        let strips = |&pair: &u32| (pair, result.length(pair as usize).div_ceil(R));
        let work = Worklist::new(longest_first.map(strips), WG)?;
        let (units, entries, groups) = (work.units, work.entries(), work.groups);
        let (x, y) = (swapped, 1 - swapped);
        let backwards = |operand: usize| Param::U32(u32::from(correlate && operand == 1));
        dispatches.push(Dispatch::new(
            KERNEL.variant(dtype, &[]),
            Slots {
                x: Slot::Input(x),
                x_meta: Slot::InputMeta(x),
                y: Slot::Input(y),
                y_meta: Slot::InputMeta(y),
                c: Slot::Output(0),
                c_meta: Slot::Meta(result.clone()),
                items: Slot::PlanBuffer(work.words()),
                pair_list: pair_list.clone(),
            },
            Params {
                x_base: Param::InputBase(x),
                y_base: Param::InputBase(y),
                x_backwards: backwards(x),
                y_backwards: backwards(y),
                swapped: Param::U32(swapped as u32),
                units: Param::U32(units),
                entries: Param::U32(entries),
                pair_kind,
                pair_right,
                mode: Param::U32(mode as u32),
            },
            groups,
            side.cost,
        ));
    }
    Ok(dispatches)
}
