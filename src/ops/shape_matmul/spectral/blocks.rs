//! Groups the results that are transformed together into blocks, and blocks into turns, and counts their work.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::{Product, Products};
use crate::ops::choice::transform_work;
use crate::{Error, Result, host};

/// The results of one product that use transforms of one length.
#[derive(Clone, Debug)]
pub(in super::super) struct Block<'a> {
    pub product: &'a Product,
    pub length: u32,
    pub rows: Vec<usize>,
    pub columns: Vec<usize>,
}

impl Block<'_> {
    /// The words of the spectra of this many entries, slightly more than those of their padded values.
    fn words(&self, entries: usize) -> u64 {
        entries as u64 * (u64::from(self.length) + 2)
    }

    /// The words of the results' sums, and of the factors' spectra for one j.
    pub(in super::super) fn needs(&self) -> [u64; 2] {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        [self.words(rows * columns), self.words(rows + columns)]
    }

    /// Two blocks with half as many rows, or columns; `None` for a block of a single result.
    fn halves(&self) -> Result<Option<[Self; 2]>> {
        let (rows, columns) = (&self.rows[..], &self.columns[..]);
        let [first, second] = if rows.len() >= columns.len() {
            let (first, second) = rows.split_at(rows.len().div_ceil(2));
            [(first, columns), (second, columns)]
        } else {
            let (first, second) = columns.split_at(columns.len().div_ceil(2));
            [(rows, first), (rows, second)]
        };
        if second.0.is_empty() || second.1.is_empty() {
            return Ok(None);
        }
        let block = |(rows, columns)| {
            Ok::<_, Error>(Block {
                rows: host::copied(rows)?,
                columns: host::copied(columns)?,
                ..*self
            })
        };
        Ok(Some([block(second)?, block(first)?]))
    }
}

/// Every block of the plan, product by product.
fn blocks<'a>(plan: &'a Products) -> Result<Vec<Block<'a>>> {
    let mut blocks = Vec::new();
    for product in &plan.products {
        let mut of_length: BTreeMap<u32, [Vec<usize>; 2]> = BTreeMap::new();
        for (i, k) in product.results() {
            let length = plan.lengths[product.result(i, k)];
            if length > 0 {
                let [rows, columns] = of_length.entry(length).or_default();
                host::push(rows, i)?;
                host::push(columns, k)?;
            }
        }
        for (length, [mut rows, mut columns]) in of_length {
            rows.dedup();
            columns.sort_unstable();
            columns.dedup();
            let block = Block {
                product,
                length,
                rows,
                columns,
            };
            host::push(&mut blocks, block)?;
        }
    }
    Ok(blocks)
}

/// A block, or its terms with these j.
pub(in super::super) struct Part<'a> {
    pub block: Block<'a>,
    pub inner: Range<usize>,
}

impl Part<'_> {
    /// Whether its sums continue those of the previous turn.
    pub(in super::super) fn goes_on(&self) -> bool {
        self.inner.start > 0
    }

    /// Whether its sums are complete after it.
    pub(in super::super) fn ends(&self) -> bool {
        self.inner.end == self.block.product.inner
    }
}

/// Calls `run` for each turn, with its parts.
///
/// The spectra of a turn take at most `most` words, and so do its sums, unless those of one result and one j take more.
/// A block that does not fit alone runs in separate turns, in the order of j.
pub(in super::super) fn turns<'a>(
    plan: &'a Products,
    most: u64,
    mut run: impl FnMut(&[Part<'a>]) -> Result<()>,
) -> Result<()> {
    let mut waiting = blocks(plan)?;
    waiting.reverse();
    let (mut turn, mut used) = (Vec::new(), [0; 2]);
    while let Some(block) = waiting.pop() {
        let inner = block.product.inner;
        let [sums, one] = block.needs();
        let spectra = one * inner as u64;
        if used[0] + sums > most || used[1] + spectra > most {
            if !turn.is_empty() {
                run(&turn)?;
            }
            turn.clear();
            used = [0; 2];
        }
        if sums <= most && spectra <= most {
            let inner = 0..inner;
            host::push(&mut turn, Part { block, inner })?;
            used = [used[0] + sums, used[1] + spectra];
            continue;
        }
        if (sums > most || one > most)
            && let Some(halves) = block.halves()?
        {
            host::extend(&mut waiting, halves)?;
            continue;
        }
        let step = ((most / one) as usize).max(1);
        let mut part = Part { block, inner: 0..0 };
        for first in (0..inner).step_by(step) {
            part.inner = first..(first + step).min(inner);
            run(std::slice::from_ref(&part))?;
        }
    }
    match turn.is_empty() {
        true => Ok(()),
        false => run(&turn),
    }
}

/// The multiply-adds of all blocks: those of the transforms of factors and results, and four per frequency of each
/// term.
pub(in super::super) fn work(plan: &Products) -> Result<u64> {
    let blocks = blocks(plan)?;
    Ok(blocks.iter().fold(0, |work: u64, block| {
        let length = u64::from(block.length);
        let (rows, columns) = (block.rows.len() as u64, block.columns.len() as u64);
        let inner = block.product.inner as u64;
        let results = rows.saturating_mul(columns);
        let transforms = (rows + columns)
            .saturating_mul(inner)
            .saturating_add(results);
        let terms = results.saturating_mul(inner).saturating_mul(2 * length);
        let transforms = transforms.saturating_mul(transform_work(length));
        work.saturating_add(terms).saturating_add(transforms)
    }))
}
