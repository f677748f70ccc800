//! Kronecker and outer products. The cotangent of a pair is arranged as a matrix (its *table*) with a row for each
//! value of the left operand.

use crate::Result;
use crate::ops::kron::{Kind, Kron};
use crate::program::gradients::parts::{before, extent, layout, layout_at_pairs, over_pairs, with};
use crate::program::gradients::rule::{Applied, Cotangent, Cotangents, Rule};
use crate::ragged::{Layout, MAX_RANK, Pairs};
use crate::tensor::Tensor;

impl Rule for Kron {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let g = &applied.floats(g)?;
        let pairs = applied.pairs().ok_or_else(|| applied.refused())?;
        let [a, b] = [applied.layout(0), applied.layout(1)];
        let rank = a.rank();
        let ordered = match self.kind {
            // The index along each axis consists of one of a and one of b: those of a come first.
            Kind::Kron if rank > 1 => {
                if 2 * rank > MAX_RANK {
                    let most = format!("; use elements of at most {} axes", MAX_RANK / 2);
                    return Err(applied.refused_because(&most));
                }
                let apart = layout(pairs.len(), 2 * rank, |pair, axis| {
                    let (i, j) = pairs.get(pair);
                    match axis % 2 {
                        0 => extent(a, i, axis / 2),
                        _ => extent(b, j, axis / 2),
                    }
                })?;
                let first: Vec<usize> = (0..2 * rank)
                    .map(|axis| axis / rank + axis % rank * 2)
                    .collect();
                g.view_as(&apart)?.transpose(&first)?
            }
            _ => g.clone(),
        };
        let table = layout(pairs.len(), 2, |pair, axis| {
            let (i, j) = pairs.get(pair);
            [a.length(i), b.length(j)][axis]
        })?;
        let table = ordered.view_as(&table)?;
        let of_left = applied.wanted(0, || {
            let sums = from_right(&table, &applied.float(1)?, pairs)?;
            over_pairs(&sums.view_as(&layout_at_pairs(a, pairs, 0)?)?, pairs, 0, a)
        })?;
        let of_right = applied.wanted(1, || {
            let sums = from_left(&applied.float(0)?, &table, pairs)?;
            over_pairs(&sums.view_as(&layout_at_pairs(b, pairs, 1)?)?, pairs, 1, b)
        })?;
        Ok(vec![of_left, of_right])
    }
}

/// The sums of each row of a pair's table, times the values of the right operand.
pub(super) fn from_right(
    table: &Tensor<f32>,
    right: &Tensor<f32>,
    pairs: &Pairs,
) -> Result<Tensor<f32>> {
    let column = right.view_as(&as_matrices(right.layout(), [0, 1])?)?;
    with(table, &column, pairs, 1)?.matmul()
}

/// The sums of each column of a pair's table, times the values of the left operand.
pub(super) fn from_left(
    left: &Tensor<f32>,
    table: &Tensor<f32>,
    pairs: &Pairs,
) -> Result<Tensor<f32>> {
    let row = left.view_as(&as_matrices(left.layout(), [1, 0])?)?;
    before(&row, table, pairs, 0)?.matmul()
}

/// Elements as columns, if the first axis has all values, or as rows.
fn as_matrices(x: &Layout, ones: [usize; 2]) -> Result<Layout> {
    layout(x.len(), 2, |element, axis| match ones[axis] {
        1 => 1,
        _ => x.length(element),
    })
}
