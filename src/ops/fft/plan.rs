//! From lengths to stages: which kernel transforms an element, by its length alone.
//!
//! | length n | how |
//! | --- | --- |
//! | 1 to 64, but 32 and 64 | by the definition, an invocation for each result |
//! | 32 to 8192, a power of two | in registers and workgroup memory |
//! | 65 to 4096, others | Bluestein's convolution, of the next power of two from 2 n − 1 on |
//!
//! Each reads its element once and writes its result once. Transforms of 8192 take 32 KiB of workgroup memory, others 16 KiB at
//! most. Longer elements have no kernel yet.
//!
//! Elements of one way are the items of one stage, several to a workgroup where they are short.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Transform, kernels};
use crate::plan::{Slot, Stage, Word, Words};
use crate::ragged::{DType, Layout};

/// How an element is transformed, with log2 of the lanes or of the power of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Way {
    Tiny(u32),
    Power(u32),
    Bluestein(u32),
}

impl Way {
    /// The way for an element that is not empty, if there is one.
    fn of(n: usize) -> Option<Way> {
        let shortest = 1 << kernels::LOG_SHORTEST;
        let (way, log) = match n {
            _ if n.is_power_of_two() && n >= shortest => (Way::Power as fn(u32) -> Way, n.ilog2()),
            ..=kernels::TINY => return Some(Way::Tiny((n.max(16) - 1).ilog2() + 1)),
            _ => (
                Way::Bluestein as fn(u32) -> Way,
                (2 * n - 1).next_power_of_two().ilog2(),
            ),
        };
        (log <= kernels::LOG_LONGEST).then(|| way(log))
    }
}

/// The first element that is too long for the kernels there are, and the longest that is not.
pub(super) fn too_long(n: &Layout) -> Option<(usize, usize)> {
    let element = n.lengths().position(|n| n > 0 && Way::of(n).is_none())?;
    let power = n.length(element).is_power_of_two();
    Some((element, 1 << (kernels::LOG_LONGEST - u32::from(!power))))
}

/// An element to be transformed: where it begins in x and in y, in values, its length, and the bits of its factor.
type Item = [u32; 4];

/// What x holds and what y takes: `load` and `store` of `fft_values.wgsl`.
#[derive(Clone, Copy, Debug)]
struct Modes {
    pub load: u32,
    pub store: u32,
}

const REAL: u32 = 1;
const HALF: u32 = 2;
const EXCHANGED: u32 = 4;

impl Modes {
    fn of(transform: Transform) -> Modes {
        let (load, store) = match transform {
            Transform::Forward => (0, 0),
            Transform::Inverse => (EXCHANGED, EXCHANGED),
            Transform::Real => (REAL, HALF),
            Transform::RealInverse => (HALF | EXCHANGED, REAL | EXCHANGED),
        };
        Modes { load, store }
    }
}

/// The items of one way, as a part of the work list.
struct Items {
    pub list: Arc<Words>,
    pub first: usize,
    pub count: usize,
    pub modes: Modes,
}

/// The stages of a transform of elements of the lengths of `n`, without those that are too long.
pub(super) fn stages(transform: Transform, n: &Layout, from: &Layout, to: &Layout) -> Vec<Stage> {
    let mut ways: BTreeMap<Way, Vec<Item>> = BTreeMap::new();
    let inverse = matches!(transform, Transform::Inverse | Transform::RealInverse);
    let begins = from
        .offsets()
        .as_slice()
        .iter()
        .zip(to.offsets().as_slice());
    for (n, (&from, &to)) in n.lengths().zip(begins).filter(|(n, _)| *n > 0) {
        let factor = if inverse { 1.0 / n as f32 } else { 1.0 };
        let item = [from, to, n as u32, factor.to_bits()];
        if let Some(way) = Way::of(n) {
            ways.entry(way).or_default().push(item);
        }
    }
    let words: Vec<u32> = ways.values().flatten().flatten().copied().collect();
    let list = Words::new(words);
    let mut stages = Vec::new();
    let mut first = 0;
    for (way, items) in &ways {
        let part = Items {
            list: list.clone(),
            first,
            count: items.len(),
            modes: Modes::of(transform),
        };
        first += items.len();
        stages.push(stage(&part, *way));
    }
    stages
}

/// The stage of the items of one way.
fn stage(items: &Items, way: Way) -> Stage {
    const TWIDDLES: Slot = Slot::Table(&kernels::TWIDDLES);
    const TURNS: Slot = Slot::Table(&kernels::TURNS);
    let (kernel, flags, tables, per_group, cost): (_, _, &[Slot], _, _) = match way {
        Way::Tiny(log) => (
            &kernels::TINY_KERNEL,
            &[][..],
            &[TURNS],
            1 << (kernels::LOG_GROUP - log),
            1 << (2 * log),
        ),
        Way::Power(log) => (
            &kernels::KERNEL,
            kernels::flags(log),
            &[TWIDDLES],
            kernels::per_group(log),
            (5 * u64::from(log)) << log,
        ),
        Way::Bluestein(log) => (
            &kernels::BLUESTEIN,
            kernels::flags(log),
            &[TWIDDLES, TURNS],
            kernels::per_group(log),
            (15 * u64::from(log + 2)) << log,
        ),
    };
    let mut slots = vec![
        Slot::Input(0),
        Slot::Output(0),
        Slot::Words(items.list.clone()),
    ];
    slots.extend_from_slice(tables);
    let mut params = vec![
        Word::U32(items.first as u32),
        Word::U32(items.count as u32),
        Word::InputBase(0),
        Word::U32(items.modes.load),
        Word::U32(items.modes.store),
    ];
    if let Way::Tiny(log) = way {
        params.push(Word::U32(1 << log));
    }
    Stage {
        kernel,
        variant: kernel.variant(DType::C32, flags),
        slots,
        params,
        groups: items.count.div_ceil(per_group) as u32,
        cost: items.count as u64 * cost,
    }
}
