//! The GPU's part of a plan: assigns every pair to a dispatch.

use std::ops::Range;

use super::{ConvRequest, direct, fused, long};
use crate::ops::choice::{Along, Choice, Choices, ConvMode, FEW_RESULTS};
use crate::plan::{Dispatch, Param, Slot};
use crate::ragged::{DType, Layout, Pairs};
use crate::{Result, host};

/// Marks pairs that the fused kernel does not convolve as a single item.
const ELSEWHERE: u32 = u32::MAX;

/// The dispatches that convolve every pair by its chosen method and keep the results of a mode, and the words of their
/// scratch buffers.
///
/// `result` has an element for every pair. Pairs that need transforms in several passes are convolved only if all
/// results are kept; otherwise, they are added to `far`.
///
/// The fused kernel runs all transforms that fit a workgroup, and the pairs with few results, so a batch of mixed
/// lengths takes one dispatch. Longer transforms follow in multiple passes, which need the scratch buffers.
pub(super) fn dispatches(
    request: &ConvRequest<'_>,
    correlate: bool,
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    choices: &Choices,
    (mode, result): (ConvMode, &Layout),
    far: &mut Vec<usize>,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let starts = result.offsets().as_slice();
    let operands = Operands {
        pairs,
        a: a.offsets().as_slice(),
        b: b.offsets().as_slice(),
        c: starts,
        reversed: correlate,
        mode,
    };
    let parts = |part: fused::Item, length: u32, each: &mut Each<'_>| {
        let kept = part.skip..part.skip + part.write;
        // Offsets wrap around if the first results are not kept.
        let whole = fused::Item {
            c: part.c.wrapping_sub(part.skip),
            skip: 0,
            ..part
        };
        if request.costs.splits(whole.m.into(), whole.n.into(), length) {
            blocks_of_both(whole, length, kept, each)
        } else {
            blocks(whole, length, kept, &mut |item| each(0, item))
        }
    };
    // The items of the fused kernel are counted first, then written into the work list directly. The method of a pair
    // must not be a branch here: mispredictions would cost more than everything else.
    let few = match request.dtype {
        DType::F32 => FEW_RESULTS as u32,
        _ => 0,
    };
    let length_of = choices.mapped(|choice| match choice {
        Choice::Direct => 0,
        Choice::Fft { length } if fused::holds(length / 2) => length,
        Choice::Fft { .. } | Choice::OverlapSave { .. } => ELSEWHERE,
    });
    let mut counts = fused::Counts::default();
    let mut others: Vec<usize> = host::zeroed(pairs.len())?;
    let (mut sums, mut elsewhere) = (0, 0);
    for pair in 0..pairs.len() {
        let (length, results) = (length_of(pair), starts[pair + 1] - starts[pair]);
        sums += usize::from((length == 0) & (results > 0) & (results <= few));
        // Every pair is written, but only those that are convolved elsewhere are kept.
        others[elsewhere] = pair;
        elsewhere += usize::from((length == ELSEWHERE) | ((length == 0) & (results > few)));
    }
    others.truncate(elsewhere);
    counts.add(0, sums);
    for (choice, pairs) in choices.counted() {
        if let Choice::Fft { length } = choice
            && fused::holds(length / 2)
        {
            counts.add(length / 2, pairs);
        }
    }
    // The other direct pairs, the pairs in passes, and the blocks of overlap-save. Blocks whose results are added are
    // separate, grouped by the block of the shorter operand.
    let (mut direct, mut in_passes, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    let mut added: Vec<Vec<fused::Item>> = Vec::new();
    for pair in others {
        match choices.get(pair) {
            Choice::Direct => host::push(&mut direct, pair)?,
            Choice::Fft { .. } if mode != ConvMode::Full => host::push(far, pair)?,
            Choice::Fft { length } => host::push(&mut in_passes, operands.item(pair, length))?,
            Choice::OverlapSave { length } => {
                parts(operands.item(pair, length), length, &mut |round, item| {
                    while added.len() < round {
                        host::push(&mut added, Vec::new())?;
                    }
                    match round {
                        0 => {
                            counts.add(item.length, 1);
                            host::push(&mut blocks, *item)
                        }
                        _ => host::push(&mut added[round - 1], *item),
                    }
                })?;
            }
        }
    }
    let mut items = fused::Items::new(counts)?;
    for pair in 0..pairs.len() {
        let (length, results) = (length_of(pair), starts[pair + 1] - starts[pair]);
        let is_few = (results > 0) & (results <= few);
        let is_here = (length != ELSEWHERE) & ((length > 0) | is_few);
        items.push_if(is_here, &operands.item(pair, length))?;
    }
    blocks.iter().try_for_each(|item| items.push(item))?;
    let operand = |i| fused::Operand {
        values: Slot::Input(i),
        base: Param::InputBase(i),
    };
    let (x, y, c) = (&operand(0), &operand(1), &Slot::Output(0));
    let mut dispatches = items.dispatches(x, y, c)?;
    for items in &added {
        dispatches.extend(fused::Items::adding(items)?.dispatches(x, y, c)?);
    }
    let (more, scratch) = long::dispatches(&in_passes)?;
    dispatches.extend(more);
    dispatches.extend(direct::dispatches(
        (request.dtype, mode),
        (a, b),
        pairs,
        direct.into_iter(),
        result,
        correlate,
    )?);
    let scratch = if in_passes.is_empty() {
        Vec::new()
    } else {
        scratch.into()
    };
    Ok((dispatches, scratch))
}

/// Receives a block and the round in which it runs.
type Each<'a> = dyn FnMut(usize, &fused::Item) -> Result<()> + 'a;

/// Offsets of the values of every pair.
struct Operands<'a> {
    pairs: &'a Pairs,
    a: &'a [u32],
    b: &'a [u32],
    c: &'a [u32],
    reversed: bool,
    mode: ConvMode,
}

impl Operands<'_> {
    /// A pair as an item, by transforms of this length.
    #[inline(always)]
    fn item(&self, pair: usize, length: u32) -> fused::Item {
        let (i, j) = self.pairs.get(pair);
        let (m, n) = (self.a[i + 1] - self.a[i], self.b[j + 1] - self.b[j]);
        fused::Item {
            length: length / 2,
            a: self.a[i],
            m,
            b: self.b[j],
            n,
            reversed: self.reversed,
            c: self.c[pair],
            skip: match self.mode {
                ConvMode::Full => 0,
                mode => Along::kept(mode, (m, n)).0,
            },
            write: self.c[pair + 1] - self.c[pair],
        }
    }
}

/// An item for a part of each operand. The ranges are in the order of use: b may be read backwards.
fn part(whole: &fused::Item, a: Range<u32>, b: Range<u32>) -> fused::Item {
    let first = if whole.reversed {
        whole.n - b.end
    } else {
        b.start
    };
    fused::Item {
        a: whole.a + a.start,
        m: a.end - a.start,
        b: whole.b + first,
        n: b.end - b.start,
        ..*whole
    }
}

/// Splits some of the results into blocks (overlap-save). Each block reads a stretch of the longer operand, and before
/// it one value less than the shorter operand has, because the first results of the block need them.
fn blocks(
    whole: fused::Item,
    length: u32,
    results: Range<u32>,
    each: &mut dyn FnMut(&fused::Item) -> Result<()>,
) -> Result<()> {
    let fused::Item { m, n, .. } = whole;
    let (longer, wrapped) = (m.max(n), m.min(n) - 1);
    let step = length - wrapped;
    let mut at = results.start;
    while at < results.end {
        let write = step.min(results.end - at);
        let from = at.saturating_sub(wrapped);
        let to = longer.min(at + write);
        let stretch = if n <= m {
            part(&whole, from..to, 0..n)
        } else {
            part(&whole, 0..m, from..to)
        };
        each(&fused::Item {
            length: length / 2,
            c: whole.c.wrapping_add(at),
            skip: at - from,
            write,
            ..stretch
        })?;
        at += write;
    }
    Ok(())
}

/// Splits both operands into blocks.
///
/// A block of l values of the shorter operand contributes to l − 1 more results than the longer operand has values. No
/// earlier block contributes to its last l results, so round 0 writes them. The other results are added to those of
/// earlier blocks: block k adds in round k. Block 0 writes all its results in round 0.
fn blocks_of_both(
    whole: fused::Item,
    length: u32,
    kept: Range<u32>,
    each: &mut Each<'_>,
) -> Result<()> {
    let fused::Item { m, n, .. } = whole;
    let (longer, shorter) = (m.max(n), m.min(n));
    let starts = (0..shorter).step_by(length as usize / 2);
    for (round, start) in starts.enumerate() {
        let end = shorter.min(start + length / 2);
        let of_block = if n <= m {
            part(&whole, 0..m, start..end)
        } else {
            part(&whole, start..end, 0..n)
        };
        let of_block = fused::Item {
            c: whole.c.wrapping_add(start),
            ..of_block
        };
        let results = longer + (end - start) - 1;
        let own = if round == 0 { 0 } else { longer - 1 };
        let inside = |range: Range<u32>| {
            let kept = kept.start.saturating_sub(start)..kept.end.saturating_sub(start);
            range.start.max(kept.start)..range.end.min(kept.end)
        };
        let of_own = inside(own..results);
        blocks(of_block, length, of_own, &mut |item| each(0, item))?;
        if round > 0 {
            blocks(of_block, length, inside(0..own), &mut |item| {
                each(round, item)
            })?;
        }
    }
    Ok(())
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    const UNWRITTEN: i64 = i64::MIN;

    /// Runs an item by the definition.
    fn run(item: &fused::Item, (a, b): (&[i64], &[i64]), add: bool, c: &mut [i64]) {
        let a = &a[item.a as usize..][..item.m as usize];
        let mut b = b[item.b as usize..][..item.n as usize].to_vec();
        if item.reversed {
            b.reverse();
        }
        let mut all = vec![0; a.len() + b.len() - 1];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                all[i + j] += x * y;
            }
        }
        // The number of results that wrap around.
        let wrong = all.len().saturating_sub(2 * item.length as usize);
        assert!(item.skip as usize >= wrong, "{item:?}");
        let right = &all[item.skip as usize..][..item.write as usize];
        for (c, right) in c[item.c as usize..].iter_mut().zip(right) {
            // Every result is written once, before anything is added to it.
            assert_eq!(add, *c != UNWRITTEN, "{item:?}");
            *c = if add { *c + right } else { *right };
        }
    }

    #[apply(unit_test)]
    fn blocks_make_the_whole() {
        for (m, n, length) in [
            (1, 1, 128),
            (1000, 5, 128),
            (5, 1000, 128),
            (700, 129, 256),
            (300, 299, 512),
            (128, 128, 128),
            (500, 700, 128),
            (700, 321, 128),
            (64, 65, 64),
        ] {
            let results = (m + n - 1) as u32;
            let middle = (n as u32 - 1) / 2..(n as u32 - 1) / 2 + m as u32;
            let last = results - 1..results;
            for kept in [0..results, middle, results / 2..results / 2 + 1, last] {
                blocks_make(m, n, length, kept);
            }
        }
    }

    fn blocks_make(m: i64, n: i64, length: u32, kept: Range<u32>) {
        for reversed in [false, true] {
            let a: Vec<i64> = (0..m + 3).map(|i| i * i % 17 - 8).collect();
            let b: Vec<i64> = (0..n + 2).map(|i| i * 7 % 13 - 6).collect();
            let part = fused::Item {
                length: 1 << 20,
                a: 3,
                m: m as u32,
                b: 2,
                n: n as u32,
                reversed,
                c: 1,
                skip: kept.start,
                write: kept.end - kept.start,
            };
            let unwritten = vec![UNWRITTEN; (m + n) as usize];
            let mut expected = unwritten.clone();
            run(&part, (&a, &b), false, &mut expected);
            let whole = fused::Item {
                c: part.c.wrapping_sub(part.skip),
                skip: 0,
                ..part
            };
            let mut items = Vec::new();
            let splits = m.min(n) >= i64::from(length);
            if splits {
                let mut each = |round, item: &fused::Item| {
                    items.push((round, *item));
                    Ok(())
                };
                blocks_of_both(whole, length, kept.clone(), &mut each).unwrap();
            } else {
                let mut each = |item: &fused::Item| {
                    items.push((0, *item));
                    Ok(())
                };
                blocks(whole, length, kept.clone(), &mut each).unwrap();
            }
            // One dispatch per round.
            items.sort_by_key(|(round, _)| *round);
            let mut got = unwritten;
            for (round, item) in &items {
                run(item, (&a, &b), *round > 0, &mut got);
                assert!(item.m.max(item.n) <= length && item.length == length / 2);
            }
            assert_eq!(got, expected, "{m} {n} {reversed} {kept:?}");
            let rounds = items.last().map_or(0, |(round, _)| *round);
            assert!(splits || rounds == 0);
            if kept.start == 0 {
                assert_eq!(splits, rounds > 0);
            }
        }
    }

    /// The GPU cost table lists the lengths that the kernel supports.
    #[apply(unit_test)]
    fn every_listed_transform_exists() {
        for (k, expected) in [(6, 64), (7, 128), (10, 1024), (13, 8192)] {
            let need = 1usize << k;
            let length = fused::transform_length(need / 2, need / 2 + 1).map(|half| 2 * half);
            assert_eq!(length, Some(expected));
            let costs = crate::ops::choice::CostTable::gpu();
            assert_eq!(costs.transform(need as u64).map(|(l, _)| l), length);
        }
        let longest = crate::ops::choice::CostTable::gpu().longest_block();
        assert_eq!(fused::transform_length(longest as usize, 2), None);
    }
}
