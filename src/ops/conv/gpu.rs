//! The GPU's part of a plan: which stage does which pair.

use std::ops::Range;

use super::{Wanted, direct, fused, long};
use crate::plan::{Choice, Choices, FEW_RESULTS, Slot, Stage, Word};
use crate::ragged::{DType, Layout, Pairs};

/// The stages that convolve every pair as was chosen for it; `result` has an element for every pair.
///
/// All transforms are the work of one kernel, which also does the pairs of few results: a batch of mixed lengths is
/// then one dispatch. Those too long for it come after, in passes; the words are of their scratch.
pub(super) fn stages(
    wanted: &Wanted<'_>,
    correlate: bool,
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    choices: &Choices,
    result: &Layout,
) -> (Vec<Stage>, Vec<u64>) {
    let few = |pair: usize| {
        let floats = wanted.dtype == DType::F32;
        floats && result.length(pair) <= FEW_RESULTS as usize
    };
    let mut items = Vec::new();
    let mut in_passes = Vec::new();
    // What is added, block by block of the shorter operand.
    let mut sums: Vec<Vec<fused::Item>> = Vec::new();
    if wanted.dtype == DType::F32 {
        for (pair, (i, j)) in pairs.iter().enumerate() {
            let whole = fused::Item {
                length: 0,
                a: a.offsets().as_slice()[i],
                m: a.length(i) as u32,
                b: b.offsets().as_slice()[j],
                n: b.length(j) as u32,
                reversed: correlate,
                c: result.offsets().as_slice()[pair],
                skip: 0,
                write: result.length(pair) as u32,
            };
            match choices.get(pair) {
                _ if whole.write == 0 => {}
                Choice::Direct if few(pair) => items.push(whole),
                Choice::Direct => {}
                Choice::Fft { length } => {
                    let items = match fused::holds(length / 2) {
                        true => &mut items,
                        false => &mut in_passes,
                    };
                    items.push(fused::Item {
                        length: length / 2,
                        ..whole
                    });
                }
                Choice::OverlapSave { length }
                    if wanted.costs.splits(whole.m.into(), whole.n.into(), length) =>
                {
                    blocks_of_both(whole, length, &mut items, &mut sums);
                }
                Choice::OverlapSave { length } => {
                    blocks(whole, length, 0..whole.write, &mut items);
                }
            }
        }
    }
    let operand = |i| fused::Operand {
        values: Slot::Input(i),
        base: Word::InputBase(i),
    };
    let mut stages = fused::stages(
        items.into_iter(),
        &operand(0),
        &operand(1),
        &Slot::Output(0),
    );
    let adding = sums.into_iter().filter_map(|items| {
        let items = items.into_iter();
        fused::adding_stage(items, &operand(0), &operand(1), &Slot::Output(0))
    });
    stages.extend(adding);
    let (more, temps) = long::stages(&in_passes);
    stages.extend(more);
    let direct = (0..pairs.len()).filter(|&p| choices.get(p) == Choice::Direct && !few(p));
    stages.extend(direct::stages(
        wanted.dtype,
        (a, b),
        pairs,
        direct,
        result,
        correlate,
    ));
    let temps = if in_passes.is_empty() {
        Vec::new()
    } else {
        temps.into()
    };
    (stages, temps)
}

/// A part of each operand, counted as they are used: b may be read backwards.
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

/// Some of the results: the longer operand in stretches, each with the shorter one's length − 1 values more that its first
/// results meet.
fn blocks(whole: fused::Item, length: u32, results: Range<u32>, items: &mut Vec<fused::Item>) {
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
        items.push(fused::Item {
            length: length / 2,
            c: whole.c + at,
            skip: at - from,
            write,
            ..stretch
        });
        at += write;
    }
}

/// Both operands in blocks. A block of the shorter one gives results as many as the longer one has values, and its own
/// length − 1 more. The last ones are nobody's before it, and are written; the others are added in the order of the
/// blocks, a stage each.
fn blocks_of_both(
    whole: fused::Item,
    length: u32,
    items: &mut Vec<fused::Item>,
    sums: &mut Vec<Vec<fused::Item>>,
) {
    let fused::Item { m, n, .. } = whole;
    let (longer, shorter) = (m.max(n), m.min(n));
    let starts = (0..shorter).step_by(length as usize / 2);
    for (k, start) in starts.enumerate() {
        let end = shorter.min(start + length / 2);
        let of_block = if n <= m {
            part(&whole, 0..m, start..end)
        } else {
            part(&whole, start..end, 0..n)
        };
        let of_block = fused::Item {
            c: whole.c + start,
            ..of_block
        };
        let results = longer + (end - start) - 1;
        let own = if k == 0 { 0 } else { longer - 1 };
        blocks(of_block, length, own..results, items);
        if k > 0 {
            if sums.len() < k {
                sums.push(Vec::new());
            }
            blocks(of_block, length, 0..own, &mut sums[k - 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNWRITTEN: i64 = i64::MIN;

    /// What the items say is done here as the definition says.
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
        // What wraps around.
        let wrong = all.len().saturating_sub(2 * item.length as usize);
        assert!(item.skip as usize >= wrong, "{item:?}");
        let right = &all[item.skip as usize..][..item.write as usize];
        for (c, right) in c[item.c as usize..].iter_mut().zip(right) {
            // What is written is written once, and added to only later.
            assert_eq!(add, *c != UNWRITTEN, "{item:?}");
            *c = if add { *c + right } else { *right };
        }
    }

    #[test]
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
            for reversed in [false, true] {
                let a: Vec<i64> = (0..m + 3).map(|i| i * i % 17 - 8).collect();
                let b: Vec<i64> = (0..n + 2).map(|i| i * 7 % 13 - 6).collect();
                let whole = fused::Item {
                    length: 1 << 20,
                    a: 3,
                    m: m as u32,
                    b: 2,
                    n: n as u32,
                    reversed,
                    c: 1,
                    skip: 0,
                    write: (m + n - 1) as u32,
                };
                let unwritten = vec![UNWRITTEN; (m + n) as usize];
                let mut expected = unwritten.clone();
                run(&whole, (&a, &b), false, &mut expected);
                let (mut items, mut sums) = (Vec::new(), Vec::new());
                let splits = m.min(n) >= i64::from(length);
                if splits {
                    blocks_of_both(whole, length, &mut items, &mut sums);
                } else {
                    blocks(whole, length, 0..whole.write, &mut items);
                }
                let mut got = unwritten;
                for item in &items {
                    run(item, (&a, &b), false, &mut got);
                }
                for item in sums.iter().flatten() {
                    run(item, (&a, &b), true, &mut got);
                }
                assert_eq!(got, expected, "{m} {n} {reversed}");
                assert_eq!(splits, !sums.is_empty());
                let all = items.iter().chain(sums.iter().flatten());
                assert!(all.clone().all(|item| item.m.max(item.n) <= length));
                assert!(all.clone().all(|item| item.length == length / 2));
            }
        }
    }

    /// The lengths that GPUs' cost tables list are those of the kernel.
    #[test]
    fn every_listed_transform_exists() {
        for (k, expected) in [(6, 64), (7, 128), (10, 1024), (13, 8192)] {
            let need = 1usize << k;
            let length = fused::transform_length(need / 2, need / 2 + 1).map(|half| 2 * half);
            assert_eq!(length, Some(expected));
            let costs = crate::CostTable::gpu();
            assert_eq!(costs.transform(need as u64).map(|(l, _)| l), length);
        }
        assert!(FEW_RESULTS <= fused::DIRECT_RESULTS.into());
        let longest = crate::CostTable::gpu().longest_block();
        assert_eq!(fused::transform_length(longest as usize, 2), None);
    }
}
