//! Rules of products: each operand's cotangent is a product of the result's with the other operand.

mod entries;
mod kron;
mod matrices;
mod sparse;

use super::parts::{at_pairs, layout, over_pairs};
use super::rule::{Applied, Cotangent, Cotangents, Rule};
use crate::Result;
use crate::ops::eval::Eval;
use crate::ops::strided::Begin;
use crate::tensor::{Tensor, of_two_over};

impl Rule for Eval {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let g = &applied.floats(g)?;
        let pairs = applied.pairs().ok_or_else(|| applied.refused())?;
        let (coefficients, points) = (applied.float(0)?, applied.float(1)?);
        let of_points = applied.wanted(1, || {
            // The derivative has one coefficient less.
            let layout_of_x = coefficients.layout();
            let fewer = layout(layout_of_x.len(), 1, |element, _| {
                layout_of_x.length(element).saturating_sub(1)
            })?;
            let powers = applied.device().arange(&fewer, 1.0f32, 1.0)?;
            let slopes = coefficients
                .boxes(&[Begin::At(1)], &fewer)?
                .hadamard(&powers)?;
            let slopes = slopes.pair(&points, pairs.pairing())?.eval()?;
            over_pairs(&slopes.hadamard(g)?, pairs, 1, points.layout())
        })?;
        let of_coefficients = applied.wanted(0, || {
            // Powers of all points: the rows of a matrix, each the one before times the points.
            let (of, at) = (coefficients.layout(), points.layout());
            let row = |pair: usize| at.length(pairs.get(pair).1);
            let rows = layout(pairs.len(), 1, |pair, _| row(pair))?;
            let square = layout(pairs.len(), 2, |pair, axis| {
                [of.length(pairs.get(pair).0), row(pair)][axis]
            })?;
            let at_rows = at_pairs(&points, pairs, 1)?.view_as(&rows)?;
            let count = layout(pairs.len(), 1, |pair, _| of.length(pairs.get(pair).0))?;
            let number = applied.device().arange(&count, 0u32, 1)?;
            let (zero, one) = (
                applied.filled(pairs.len(), 0u32)?,
                applied.filled(pairs.len(), 1.0f32)?,
            );
            let first: Tensor<u32> = of_two_over("equal", zero.each(), number.along(0), &square)?;
            let powers = first.if_else(one.each(), at_rows.along(1))?.cumprod(0)?;
            let columns = layout(pairs.len(), 2, |pair, axis| [row(pair), 1][axis])?;
            let sums = powers.matmul(&g.view_as(&columns)?)?.view_as(&count)?;
            over_pairs(&sums, pairs, 0, of)
        })?;
        Ok(vec![of_coefficients, of_points])
    }
}
