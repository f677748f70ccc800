//! Groups the results that are transformed together into blocks, and counts their work.

use std::collections::BTreeMap;

use super::super::{Product, Products};
use crate::ops::conv::choice::transform_work;
use crate::{Error, Result, host};

/// The results of one product that use transforms of one length.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
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
    pub(super) fn needs(&self) -> [u64; 2] {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        [self.words(rows * columns), self.words(rows + columns)]
    }

    /// Two blocks with half as many rows, or columns; `None` for a block of a single result.
    pub(super) fn halves(&self, op: &'static str) -> Result<Option<[Self; 2]>> {
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
                rows: host::copied(op, rows)?,
                columns: host::copied(op, columns)?,
                ..*self
            })
        };
        Ok(Some([block(second)?, block(first)?]))
    }
}

/// Every block of the plan, product by product.
pub(super) fn blocks<'a>(op: &'static str, plan: &'a Products) -> Result<Vec<Block<'a>>> {
    let mut blocks = Vec::new();
    for product in &plan.products {
        let mut of_length: BTreeMap<u32, [Vec<usize>; 2]> = BTreeMap::new();
        for (i, k) in product.results() {
            let length = plan.lengths[product.result(i, k)];
            if length > 0 {
                let [rows, columns] = of_length.entry(length).or_default();
                host::push(op, rows, i)?;
                host::push(op, columns, k)?;
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
            host::push(op, &mut blocks, block)?;
        }
    }
    Ok(blocks)
}

/// The multiply-adds of all blocks: those of the transforms of factors and results, and four per frequency of each
/// term.
pub(in super::super) fn work(op: &'static str, plan: &Products) -> Result<u64> {
    let blocks = blocks(op, plan)?;
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
