//! The GPU's part of a plan: which stage does which pair.

use super::{Wanted, direct, fused};
use crate::plan::{Choice, Choices, FEW_RESULTS, Slot, Stage, Word};
use crate::ragged::{DType, Layout, Pairs};

/// The stages that convolve every pair as was chosen for it; `result` has an element for every pair.
///
/// All transforms are the work of one kernel, which also does the pairs of few results: a batch of mixed lengths is
/// then one dispatch.
pub(super) fn stages(
    wanted: &Wanted<'_>,
    correlate: bool,
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    choices: &Choices,
    result: &Layout,
) -> Vec<Stage> {
    let few = |pair: usize| {
        let floats = wanted.dtype == DType::F32;
        floats && result.length(pair) <= FEW_RESULTS as usize
    };
    let mut items = Vec::new();
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
                Choice::Fft { length } => items.push(fused::Item {
                    length: length / 2,
                    ..whole
                }),
                Choice::OverlapSave { length } => blocks(whole, length, &mut items),
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
    let direct = (0..pairs.len()).filter(|&p| choices.get(p) == Choice::Direct && !few(p));
    stages.extend(direct::stages(
        wanted.dtype,
        (a, b),
        pairs,
        direct,
        result,
        correlate,
    ));
    stages
}

/// The longer operand in stretches, each with the shorter one's length − 1 values more that its first results meet.
fn blocks(whole: fused::Item, length: u32, items: &mut Vec<fused::Item>) {
    let fused::Item { m, n, .. } = whole;
    let (longer, wrapped) = (m.max(n), m.min(n) - 1);
    let step = length - wrapped;
    let mut at = 0;
    while at < whole.write {
        let write = step.min(whole.write - at);
        let from = at.saturating_sub(wrapped);
        let to = longer.min(at + write);
        let values = to - from;
        let mut item = fused::Item {
            length: length / 2,
            c: whole.c + at,
            skip: at - from,
            write,
            ..whole
        };
        if n <= m {
            (item.a, item.m) = (whole.a + from, values);
        } else if whole.reversed {
            // Stretches of the reverse.
            (item.b, item.n) = (whole.b + n - to, values);
        } else {
            (item.b, item.n) = (whole.b + from, values);
        }
        items.push(item);
        at += write;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the items say is done here as the definition says.
    fn run(item: &fused::Item, a: &[i64], b: &[i64], c: &mut [i64]) {
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
        c[item.c as usize..][..right.len()].copy_from_slice(right);
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
                let mut expected = vec![0; (m + n) as usize];
                run(&whole, &a, &b, &mut expected);
                let mut items = Vec::new();
                blocks(whole, length, &mut items);
                let mut got = vec![0; (m + n) as usize];
                items.iter().for_each(|item| run(item, &a, &b, &mut got));
                assert_eq!(got, expected, "{m} {n} {reversed}");
                assert!(items.iter().all(|item| item.m.max(item.n) <= length));
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
        let longest = crate::CostTable::gpu().longest();
        assert_eq!(fused::transform_length(longest, 2), None);
    }
}
