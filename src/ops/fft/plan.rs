//! Maps lengths to dispatches: the length of an element alone decides which kernel transforms it.
//!
//! | length n | method |
//! | --- | --- |
//! | 1 to 64, except 32 and 64 | the definition, one invocation per result |
//! | 32 to 8192, a power of two | in registers and workgroup memory |
//! | 33 to 2048, a product of 2, 3, 5 and 7 | [`smooth`]: mixed radices; up to 64 only as halves of real transforms |
//! | 65 to 4096, others | Bluestein's convolution of 2 n − 1 values or more, a power of two; one filter per length |
//! | above, to 2²⁴ if a power of two, else to 2²² | the power-of-two method, or Bluestein's, in passes: [`long`] |
//! | even, of real values | as n / 2 complex values (even, odd), by the methods above, whose kernels split or merge |
//!
//! Each kernel reads its element once and writes its result once. Transforms of 8192 values take 32 KiB of workgroup
//! memory, others at most 16 KiB; with less memory they run in several passes. Lengths that no kernel supports are
//! refused.
//!
//! Elements of one method are the items of one dispatch; short ones share a workgroup.

use std::collections::BTreeMap;

use super::items::{HALVED, Item, Modes, NUMBER_SHIFT};
use super::stages::{Beside, FILTERS, Items, Way, cost, dispatch, filter_dispatch};
use super::{Transform, kernels, long, smooth};
use crate::ops::choice::transform_work;
use crate::ops::operation::FftLimits;
use crate::plan::{Dispatch, PlanBuffer};
use crate::ragged::Layout;
use crate::{Result, host};

/// Whether the element fits a workgroup.
enum Size {
    Short(Way),
    /// In several passes, with log2 of the power of two that they transform.
    Long(u32),
}

/// The longest supported length that is a power of two, or that is not.
fn longest(power: bool) -> usize {
    match power {
        true => 1 << long::LOG_LONGEST,
        false => 1 << (long::LOG_LONGEST_CONVOLVED - 1),
    }
}

impl Size {
    /// How a GPU with this many bytes of workgroup memory transforms a nonempty element; `None` if it cannot.
    fn of(transform: Transform, n: usize, memory: u32) -> Option<Size> {
        if n > longest(n.is_power_of_two()) {
            return None;
        }
        let halved = transform.is_real() && n.is_multiple_of(2);
        let values = if halved { n / 2 } else { n };
        let power = values.is_power_of_two() && values >= 1 << kernels::LOG_SHORTEST;
        let (way, log) = if power {
            let way = if halved { Way::Half } else { Way::Power };
            (way as fn(u32) -> Way, values.ilog2())
        } else if n > kernels::TINY && smooth::plan(n, transform.is_real()).is_some() {
            return Some(Size::Short(Way::Smooth));
        } else if values <= kernels::TINY {
            let lanes = values.max(16).next_power_of_two();
            return Some(Size::Short(Way::Tiny(lanes.ilog2())));
        } else {
            let way = Way::Bluestein as fn(u32) -> Way;
            (way, (2 * values - 1).next_power_of_two().ilog2())
        };
        Some(match log {
            ..=kernels::LOG_LONGEST if memory >= kernels::memory(log) => Size::Short(way(log)),
            _ => Size::Long(log),
        })
    }
}

/// The operations of transforms of these lengths; saturates.
pub(super) fn work(transform: Transform, n: &Layout) -> u64 {
    let mut before = (0, 0);
    n.lengths().fold(0, |sum: u64, n| {
        if n != before.0 {
            before = (n, work_of(transform, n));
        }
        sum.saturating_add(before.1)
    })
}

/// The operations of one transform of a nonempty element. They do not depend on the device.
fn work_of(transform: Transform, n: usize) -> u64 {
    let halved = transform.is_real() && n.is_multiple_of(2);
    let values = if halved { n / 2 } else { n } as u64;
    let convolved = || (2 * values).next_power_of_two().ilog2();
    match Size::of(transform, n, u32::MAX) {
        Some(Size::Short(Way::Tiny(_))) => values * values,
        Some(Size::Short(Way::Power(_) | Way::Half(_) | Way::Smooth)) => 2 * transform_work(values),
        Some(Size::Short(Way::Bluestein(log))) => 2 * cost(log),
        _ if values.is_power_of_two() => cost(values.ilog2()),
        _ => 2 * cost(convolved()),
    }
}

/// Whether a GPU kernel supports an element of this length.
pub(super) fn reaches(transform: Transform, n: usize) -> bool {
    n == 0 || Size::of(transform, n, u32::MAX).is_some()
}

/// The first element that is too long for every kernel, and the longest supported length of its kind.
pub(super) fn too_long(transform: Transform, n: &Layout) -> Option<(usize, usize)> {
    let element = n.lengths().position(|n| !reaches(transform, n))?;
    let longest = longest(n.length(element).is_power_of_two());
    Some((element, longest))
}

/// The six numbers that describe items of one length at equal distances in x and in y; zeros for any other items.
fn even(items: &[Item]) -> [u32; 6] {
    let Some(&[x, y, n, factor]) = items.first() else {
        return [0; 6];
    };
    let step = items.get(1).map_or([0; 2], |next| {
        [next[0].wrapping_sub(x), next[1].wrapping_sub(y)]
    });
    let predicted = |i: usize| {
        let i = i as u32;
        [
            x.wrapping_add(i.wrapping_mul(step[0])),
            y.wrapping_add(i.wrapping_mul(step[1])),
            n,
            factor,
        ]
    };
    match items
        .iter()
        .enumerate()
        .all(|(i, item)| *item == predicted(i))
    {
        true => [x, step[0], y, step[1], n, factor],
        false => [0; 6],
    }
}

/// The dispatches that transform the elements of the lengths `n`, except those that are too long, and the words of
/// their scratch buffers.
pub(super) fn dispatches(
    transform: Transform,
    n: &Layout,
    from: &Layout,
    to: &Layout,
    room: Option<FftLimits>,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let Some(room) = room else {
        return Ok((Vec::new(), Vec::new()));
    };
    let mut ways: BTreeMap<Way, Vec<Item>> = BTreeMap::new();
    let mut in_passes = Vec::new();
    let inverse = matches!(transform, Transform::Inverse | Transform::RealInverse);
    let from = from.offsets().as_slice().iter();
    let begins = from.zip(to.offsets().as_slice());
    for (n, (&from, &to)) in n.lengths().zip(begins).filter(|(n, _)| *n > 0) {
        let factor = if inverse { 1.0 / n as f32 } else { 1.0 };
        let item = [from, to, n as u32, factor.to_bits()];
        match Size::of(transform, n, room.workgroup) {
            Some(Size::Long(log)) => host::push(&mut in_passes, (log, item))?,
            Some(Size::Short(way)) => host::push(ways.entry(way).or_default(), item)?,
            None => {}
        }
    }
    let real = transform.is_real();
    // Sort the items by length, so that those that share a filter run in the same turn.
    let most = (room.scratch / 2).min(1 << 30) as u32;
    let mut filtered = Vec::new();
    ways.retain(|way, items| match *way {
        Way::Bluestein(log) => {
            for [_, _, n, _] in items.iter_mut().filter(|[_, _, n, _]| real && n % 2 == 0) {
                *n = (*n / 2) | HALVED;
            }
            filtered.push((log, std::mem::take(items)));
            false
        }
        _ => true,
    });
    let turns = turns(filtered, most)?;
    let (mut tasks, mut common) = (Vec::new(), [0; 4]);
    let mut first = 0;
    for (way, items) in &mut ways {
        if *way == Way::Smooth {
            (tasks, common) = smooth::tasks(items, first, real)?;
        }
        first += items.len();
    }
    let classes = || turns.iter().flatten();
    let of_classes = || classes().flat_map(|class| class.filters.iter().chain(&class.items));
    let all = || ways.values().flatten().chain(&tasks).chain(of_classes());
    let mut list = host::room(all().count() * 4)?;
    list.extend(all().flatten().copied());
    let list = PlanBuffer::new(list);
    let mut first = 0;
    let mut part = |items: &[Item]| {
        first += items.len();
        Items {
            list: list.clone(),
            first: first - items.len(),
            count: items.len(),
            even: even(items),
        }
    };
    let parts: Vec<(Way, Items)> = ways
        .iter()
        .map(|(way, items)| (*way, part(items)))
        .collect();
    let tasks = part(&tasks);
    let modes = Modes::of(transform);
    let (mut dispatches, mut scratch) = long::dispatches(&in_passes, modes, room.scratch)?;
    let beside = Beside {
        first_task: tasks.first,
        tasks: tasks.count,
        alike: common,
        filters: 0,
    };
    let stages = parts.iter();
    dispatches.extend(stages.map(|(way, items)| dispatch(items, *way, modes, beside)));
    for turn in &turns {
        let parts: Vec<(Items, Items)> = turn
            .iter()
            .map(|class| (part(&class.filters), part(&class.items)))
            .collect();
        let both = || turn.iter().zip(&parts);
        dispatches.extend(both().map(|(class, (filters, _))| filter_dispatch(class.log, filters)));
        dispatches.extend(both().map(|(class, (_, items))| {
            let beside = Beside {
                filters: class.begin,
                ..Beside::default()
            };
            dispatch(items, Way::Bluestein(class.log), modes, beside)
        }));
    }
    let ends = classes().map(|class| class.begin + filter(class.log) * class.filters.len() as u32);
    scratch[FILTERS] = 2 * u64::from(ends.max().unwrap_or(0));
    // Trailing unused scratch buffers are dropped.
    while scratch.last() == Some(&0) {
        scratch.pop();
    }
    Ok((dispatches, scratch))
}

/// Bluestein's convolutions of 2^log values in one turn. Elements of one length share a filter.
struct Convolutions {
    log: u32,
    /// The offset of the first filter in the scratch buffer.
    begin: u32,
    filters: Vec<Item>,
    /// The third word holds the length in its low 13 bits, [`HALVED`], and above it the number of the filter.
    items: Vec<Item>,
}

/// Values per filter: the chirp, its transform, and the roots on the half circle.
fn filter(log: u32) -> u32 {
    2 << log
}

/// The number of values that a convolution transforms, which determines its filter.
fn convolved(item: &Item) -> u32 {
    item[2] & (HALVED - 1)
}

/// Splits the items of each power of two into turns. The filters of a turn take at most `most` values, or are a single
/// filter.
fn turns(all: Vec<(u32, Vec<Item>)>, most: u32) -> Result<Vec<Vec<Convolutions>>> {
    let mut turns = Vec::new();
    let mut turn: Vec<Convolutions> = Vec::new();
    let mut used = 0u32;
    for (log, mut items) in all {
        // The offsets make the order unique, so an unstable sort suffices; a stable one would allocate memory.
        items.sort_unstable_by_key(|item| (convolved(item), item[0], item[1]));
        for alike in items.chunk_by(|a, b| convolved(a) == convolved(b)) {
            if used > 0 && used.saturating_add(filter(log)) > most {
                host::push(&mut turns, std::mem::take(&mut turn))?;
                used = 0;
            }
            let begin = used;
            used += filter(log);
            let one = [begin, 0, convolved(&alike[0]), 0];
            let numbered = |number: u32| {
                let item =
                    move |&[x, y, n, factor]: &Item| [x, y, n | number << NUMBER_SHIFT, factor];
                alike.iter().map(item)
            };
            match turn.last_mut() {
                Some(class) if class.log == log => {
                    host::extend(&mut class.items, numbered(class.filters.len() as u32))?;
                    host::push(&mut class.filters, one)?;
                }
                _ => turn.push(Convolutions {
                    log,
                    begin,
                    filters: vec![one],
                    items: host::exact(numbered(0))?,
                }),
            }
        }
    }
    if !turn.is_empty() {
        host::push(&mut turns, turn)?;
    }
    Ok(turns)
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn filters_take_turns_and_lengths_share_them() {
        let item = |n: u32, x: u32| [x, x, n, 0];
        let all = || {
            vec![
                (8, vec![item(67, 0), item(71, 1), item(67, 2)]),
                (9, vec![item(131, 3), item(137, 4), item(139, 5)]),
            ]
        };
        for (most, expected) in [(1 << 20, 1), (2 * 512 + 1024, 2), (1024, 4), (1, 5)] {
            let turns = turns(all(), most).unwrap();
            assert_eq!(turns.len(), expected, "{most}");
            let mut planned = Vec::new();
            for class in turns.iter().flatten() {
                for &[x, _, n, _] in &class.items {
                    let filter = class.filters[n as usize >> 14];
                    assert_eq!(filter[2], n & 0x1fff);
                    planned.push((x, n & 0x1fff));
                }
                let step = filter(class.log);
                for (number, &[begin, ..]) in class.filters.iter().enumerate() {
                    assert_eq!(begin, class.begin + number as u32 * step);
                }
            }
            planned.sort_unstable();
            assert_eq!(
                planned,
                [(0, 67), (1, 71), (2, 67), (3, 131), (4, 137), (5, 139)]
            );
        }
    }
}
