//! Convolution as it is written: m·n multiply-adds a pair, seven results an invocation.

use crate::ops::pair_params;
use crate::plan::{Access, Kernel, Slot, Stage, Word, Words, for_each_type};
use crate::ragged::{DType, Layout, Pairs};

/// Strips of a workgroup, and results of a strip: `WG` and `R` of the shader.
const WG: usize = 128;
const R: usize = 7;
/// The left operand gives the taps only where it is the shorter one and the right one is longer than this: among short
/// pairs it makes no difference, and a batch of them should be one dispatch.
const SHORT: usize = 64;

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "conv_direct",
    source: include_str!("../../../shaders/conv_direct.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
        Access::Read,
    ],
    variants: for_each_type!(&[]),
};

/// Pairs whose taps come from the same side.
#[derive(Default)]
struct Side {
    /// The pairs by the order of magnitude of their taps.
    pairs: [Vec<u32>; 26],
    cost: u64,
}

/// The stages that convolve the pairs `chosen`, numbered as in `pairs`: one for those whose taps come from the right operand and
/// one for those whose taps come from the left one. `result` has an element for every pair.
pub(super) fn stages(
    dtype: DType,
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    chosen: impl Iterator<Item = usize>,
    result: &Layout,
    correlate: bool,
) -> Vec<Stage> {
    let mut sides = [Side::default(), Side::default()];
    for p in chosen {
        let (i, j) = pairs.get(p);
        let (m, n) = (a.length(i), b.length(j));
        if m == 0 || n == 0 {
            continue;
        }
        let swapped = n > m && n > SHORT;
        let side = &mut sides[usize::from(swapped)];
        side.cost += m as u64 * n as u64;
        // Which strips are long is known; they start first, so that the last ones to start are short.
        let magnitude = if swapped { m } else { n }.max(SHORT).ilog2() - SHORT.ilog2();
        side.pairs[magnitude as usize].push(p as u32);
    }
    let ([kind, right], list) = pair_params(pairs, b.len());
    let list = list.map_or_else(
        || Slot::Meta(result.clone()),
        |list| Slot::Words(Words::new(list)),
    );
    let mut stages = Vec::new();
    for (swapped, side) in sides.iter().enumerate() {
        if side.cost == 0 {
            continue;
        }
        let work = Work::new(side.pairs.iter().rev().flatten().copied(), result);
        let (x, y) = (swapped, 1 - swapped);
        let backwards = |operand: usize| Word::U32(u32::from(correlate && operand == 1));
        stages.push(Stage {
            kernel: &KERNEL,
            variant: KERNEL.variant(dtype, &[]),
            slots: vec![
                Slot::Input(x),
                Slot::InputMeta(x),
                Slot::Input(y),
                Slot::InputMeta(y),
                Slot::Output(0),
                Slot::Meta(result.clone()),
                Slot::Words(Words::new(work.items)),
                list.clone(),
            ],
            params: vec![
                Word::InputBase(x),
                Word::InputBase(y),
                backwards(x),
                backwards(y),
                Word::U32(swapped as u32),
                Word::U32(work.strips),
                Word::U32(work.groups + 1),
                kind,
                right,
            ],
            groups: work.groups,
            cost: side.cost,
        });
    }
    stages
}

/// What a dispatch works on.
#[derive(Debug, PartialEq, Eq)]
struct Work {
    /// The first entry of each workgroup and the last one of all, then the entries: first strip and pair.
    items: Vec<u32>,
    strips: u32,
    groups: u32,
}

impl Work {
    fn new(pairs: impl Iterator<Item = u32>, result: &Layout) -> Work {
        let mut items = Vec::new();
        let mut entries = Vec::new();
        // Fewer than there are results.
        let mut strips = 0usize;
        for pair in pairs {
            entries.extend([strips as u32, pair]);
            strips += result.length(pair as usize).div_ceil(R);
            while items.len() * WG < strips {
                items.push(entries.len() as u32 / 2 - 1);
            }
        }
        let groups = items.len() as u32;
        items.push((entries.len() as u32 / 2).saturating_sub(1));
        items.extend(entries);
        Work {
            items,
            strips: strips as u32,
            groups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strip_is_in_the_entries_of_its_workgroup() {
        let result = Layout::from_lengths([1, 7 * WG - 7, 8, 7 * WG * 3 + 1, 2])
            .unwrap_or_else(|e| panic!("{e}"));
        let work = Work::new([0, 1, 2, 3, 4].into_iter(), &result);
        // 1 + 127, 2, 385 and 1 strips.
        assert_eq!((work.strips, work.groups), (516, 5));
        assert_eq!(work.items[..6], [0, 2, 3, 3, 3, 4]);
        assert_eq!(work.items[6..], [0, 0, 1, 1, 128, 2, 130, 3, 515, 4]);
        let nothing = Work::new([].into_iter(), &result);
        assert_eq!((nothing.strips, nothing.groups), (0, 0));
    }
}
