//! Sorts lines (the values along an axis), and finds the places of their values in sorted order.
//!
//! Cost: lines of up to 2,048 values are read and written once, and sorted in workgroup memory, in one dispatch for
//! each of six classes of lengths. Longer lines are sorted in blocks of 2,048 values, which are then merged in pairs,
//! in one dispatch for each doubling; only lines that have blocks to merge take part.
//!
//! Halves become keys when they are read, and halves again when the last result is written. Keys of long lines take a
//! word each, so the result, which is half as large, cannot serve as a buffer for merges.

mod launch;
mod plan;
mod quantile;
mod twin;

pub(crate) use quantile::{Quantile, place as quantile_place};

use self::plan::{CUT, Plan};
use crate::plan::{Dispatch, Interface, Kernel, Param, Slot, Variant, params, shader, slots};
use crate::ragged::{DType, Layout};

slots! {
    struct Slots { out: Write, places: Write, items: Read, x: Read, x_meta: Read }
}

params! {
    struct Params { x_base, elements, rank, axis, flip, capacity, units, entries, odd }
}

slots! {
    struct MergeSlots { out: Write, places: Write, items: Read, keys: Read, from_places: Read, x_meta: Read }
}

params! {
    struct MergeParams { elements, rank, axis, flip, left }
}

/// Variants for words, and for f16, where those that write halves have a flag.
macro_rules! variants {
    ($([$($flag:literal),*];)+ halves: $([$($half:literal),*];)+) => {
        &[
            $(
                Variant { dtype: DType::F32, flags: &[$($flag),*] },
                Variant { dtype: DType::I32, flags: &[$($flag),*] },
                Variant { dtype: DType::U32, flags: &[$($flag),*] },
            )+
            $(Variant { dtype: DType::F16, flags: &[$($half),*] },)+
        ]
    };
}

static KERNEL: Kernel = Kernel {
    shader: shader!("sort/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[CUT],
    variants: variants! {
        [];
        ["PAIRS"];
        ["TILED"];
        ["PAIRS", "TILED"];
        halves:
        ["HALVES"];
        ["PAIRS", "HALVES"];
        ["TILED"];
        ["PAIRS", "TILED"];
    },
};

static MERGE: Kernel = Kernel {
    shader: shader!("sort/merge"),
    interface: Interface::of::<MergeSlots, MergeParams>(),
    constants: &[CUT],
    // Keys of f16 are merged by the variants for u32; only the last merge writes halves.
    variants: variants! {
        [];
        ["PAIRS"];
        halves:
        ["HALVES"];
        ["PAIRS", "HALVES"];
    },
};

/// The results of a sort.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Wanted {
    Values,
    /// For each value in sorted order, its place in the line.
    Places,
    Both,
}

/// A stable sort of values of one type along an axis. NaN is larger than all other values, and −0 smaller than 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Sort {
    pub op: &'static str,
    pub dtype: DType,
    /// If `None`, each element is one line.
    pub axis: Option<usize>,
    pub wanted: Wanted,
    /// From the largest to the smallest.
    pub descending: bool,
}

impl Sort {
    fn dispatches(self, plan: &Plan, x: &Layout) -> (Vec<Dispatch>, Vec<u64>) {
        // Rank 0: each element is one line.
        let (rank, axis) = match self.axis.filter(|_| x.rank() > 1) {
            Some(axis) => (x.rank() as u32, axis as u32),
            None => (0, 0),
        };
        let number = Param::U32;
        let [elements, rank, axis] = [x.len() as u32, rank, axis].map(number);
        let flip = number(0u32.wrapping_sub(self.descending.into()));
        let mut scratch = Vec::new();
        let mut new = |words: u64| {
            scratch.push(words);
            Slot::Scratch(scratch.len() - 1)
        };
        let total = x.total() as u64;
        let half = self.dtype == DType::F16;
        let pairs = self.wanted != Wanted::Values;
        // Without places, kernels neither read nor write the buffer for them.
        let of_places = if pairs { total } else { 1 };
        let (values, places) = match self.wanted {
            Wanted::Values => (Slot::Output(0), new(of_places)),
            Wanted::Places => (new(self.dtype.words(x.total()) as u64), Slot::Output(0)),
            Wanted::Both => (Slot::Output(0), Slot::Output(1)),
        };
        let here = [values, places];
        let with = |more: &'static [&'static str], halves: bool| {
            let flags: [&[&'static str]; 3] = [
                if pairs { &["PAIRS"] } else { &[] },
                more,
                if halves { &["HALVES"] } else { &[] },
            ];
            flags.concat()
        };
        let sort = |to: &[Slot; 2], items, tiled: bool, of: [u32; 4], groups, cost| {
            let flags = match tiled {
                true => with(&["TILED"], false),
                false => with(&[], half),
            };
            let [capacity, units, entries, odd] = of.map(number);
            Dispatch::new(
                KERNEL.variant(self.dtype, &flags),
                Slots {
                    out: to[0].clone(),
                    places: to[1].clone(),
                    items,
                    x: Slot::Input(0),
                    x_meta: Slot::InputMeta(0),
                },
                Params {
                    x_base: Param::InputBase(0),
                    elements,
                    rank,
                    axis,
                    flip,
                    capacity,
                    units,
                    entries,
                    odd,
                },
                groups,
                cost,
            )
        };
        let mut dispatches = Vec::new();
        for class in &plan.classes {
            let items = Slot::PlanBuffer(class.words.clone());
            let numbers = [class.capacity as u32, class.units, class.entries, 0];
            let depth = u64::from(class.capacity.ilog2());
            dispatches.push(sort(
                &here,
                items,
                false,
                numbers,
                class.groups,
                class.values * depth,
            ));
        }
        let Some(long) = &plan.long else {
            return (dispatches, scratch);
        };
        // Each merge moves the keys to the other pair of buffers, and the last one to the results. Results of f16 are
        // too small to hold keys.
        let there = [new(total), new(of_places)];
        let keys_here = match half {
            true => [new(total), here[1].clone()],
            false => here.clone(),
        };
        let items = Slot::PlanBuffer(long.items.clone());
        let block = plan::BLOCK as u64;
        for (odd, to) in [(0, &keys_here), (1, &there)] {
            // Lines with m merges are those with more than m − 1, but not with more than m.
            let more = |merges: usize| long.blocks.get(merges).copied().unwrap_or(0);
            if !(1..=long.blocks.len()).any(|m| m % 2 == odd && more(m - 1) > more(m)) {
                continue;
            }
            let numbers = [plan::BLOCK as u32, 0, 0, odd as u32];
            let cost = u64::from(long.blocks[0]) * block * u64::from(block.ilog2());
            let blocks = long.blocks[0];
            dispatches.push(sort(to, items.clone(), true, numbers, blocks, cost));
        }
        for (left, &blocks) in long.blocks.iter().enumerate().rev() {
            let (from, to) = match left % 2 {
                _ if left == 0 => (&there, &here),
                0 => (&there, &keys_here),
                _ => (&keys_here, &there),
            };
            let (dtype, flags) = match half && left > 0 {
                true => (DType::U32, with(&[], false)),
                false => (self.dtype, with(&[], half)),
            };
            dispatches.push(Dispatch::new(
                MERGE.variant(dtype, &flags),
                MergeSlots {
                    out: to[0].clone(),
                    places: to[1].clone(),
                    items: items.clone(),
                    keys: from[0].clone(),
                    from_places: from[1].clone(),
                    x_meta: Slot::InputMeta(0),
                },
                MergeParams {
                    elements,
                    rank,
                    axis,
                    flip,
                    left: number(left as u32),
                },
                blocks,
                u64::from(blocks) * block,
            ));
        }
        (dispatches, scratch)
    }
}
