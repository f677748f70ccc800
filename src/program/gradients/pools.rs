//! Rules of pooling. A cotangent is placed where the values of its window are.

use super::parts::{extent, layout, one, product};
use super::rule::{Applied, Cotangent, Cotangents, Rule};
use crate::Result;
use crate::ops::pooling::{Kind, Pool};
use crate::ops::strided::Cut;
use crate::ragged::{Layout, Pairing};
use crate::tensor::Tensor;

impl Rule for Pool {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let (g, x) = (applied.floats(g)?, applied.layout(0));
        let along: Vec<(usize, usize)> = (0..x.rank())
            .map(|axis| self.along(x.rank(), axis))
            .collect();
        one(applied.narrow(
            0,
            match self.kind {
                Kind::Diff => {
                    let last: Vec<i64> =
                        along.iter().map(|(window, _)| *window as i64 - 1).collect();
                    let first = vec![0; last.len()];
                    placed(&g, &last, &along, x)?.sub(&placed(&g, &first, &along, x)?)?
                }
                Kind::Mean => {
                    let values: usize = along.iter().map(|(window, _)| window).product();
                    spread(applied, &g.div_scalar(values as f32)?, &along, x)?
                }
                Kind::Max => largest(applied, *self, &g, &along)?,
                Kind::Place => return Err(applied.refused()),
            },
        )?)
    }
}

/// The cotangent of each window at one of its values: that at this place of the window.
fn placed(
    g: &Tensor<f32>,
    first: &[i64],
    along: &[(usize, usize)],
    x: &Layout,
) -> Result<Tensor<f32>> {
    let cut = |(&first, &(_, stride)): (&i64, &(usize, usize))| {
        Cut::new((Some(first), None, i64::try_from(stride).unwrap_or(i64::MAX)))
    };
    let cuts: Vec<Cut> = first.iter().zip(along).map(cut).collect();
    g.place(&cuts, x)
}

/// The cotangent of each window at all of its values.
fn spread(
    applied: &Applied<'_>,
    g: &Tensor<f32>,
    along: &[(usize, usize)],
    x: &Layout,
) -> Result<Tensor<f32>> {
    let rank = x.rank();
    let layout_of_g = g.layout().clone();
    // Planes of the last two axes; a vector is one row.
    let [(rows, down), (columns, across)] = match along {
        [only] => [(1, 1), *only],
        [.., first, second] => [*first, *second],
        [] => return Err(applied.refused()),
    };
    let plane = |x: &Layout, element: usize| match rank {
        1 => [1, 1, x.length(element)],
        _ => [
            product(x, element, 0..rank - 2),
            extent(x, element, rank - 2),
            extent(x, element, rank - 1),
        ],
    };
    if (rows, columns) == (down, across) {
        // Adjacent windows: each value is repeated.
        let ones = layout(layout_of_g.len(), 5, |element, axis| {
            let [planes, height, width] = plane(&layout_of_g, element);
            [planes, height, 1, width, 1][axis]
        })?;
        let wide = layout(layout_of_g.len(), 5, |element, axis| {
            let [planes, height, width] = plane(&layout_of_g, element);
            [planes, height, rows, width, columns][axis]
        })?;
        let covered = layout(layout_of_g.len(), rank, |element, axis| {
            extent(&layout_of_g, element, axis) * along[axis].0
        })?;
        return g
            .view_as(&ones)?
            .broadcast(&wide)?
            .view_as(&covered)?
            .resize(x);
    }
    // Others are convolved with ones, after the cotangents are placed where windows begin.
    let begin = layout(layout_of_g.len(), 3, |element, axis| {
        let count = plane(&layout_of_g, element)[axis];
        count.saturating_sub(1) * [1, down, across][axis] + count.min(1)
    })?;
    let planes = layout(layout_of_g.len(), 3, |element, axis| {
        plane(&layout_of_g, element)[axis]
    })?;
    let step = |stride: usize| Cut::new((None, None, i64::try_from(stride).unwrap_or(i64::MAX)));
    let apart = g
        .view_as(&planes)?
        .place(&[1, down, across].map(step), &begin)?;
    let window = layout(1, 3, |_, axis| [1, rows, columns][axis])?;
    let ones = applied.device().full(&window, 1.0f32)?;
    let sums = apart.pair(&ones, Pairing::AllToOne)?.conv()?;
    let whole = layout(x.len(), 3, |element, axis| plane(x, element)[axis])?;
    sums.resize(&whole)?.view_as(x)
}

/// The cotangent of each window at its largest value.
///
/// Overlapping windows are processed in several turns, so that the windows of one turn do not overlap.
fn largest(
    applied: &Applied<'_>,
    pool: Pool,
    g: &Tensor<f32>,
    along: &[(usize, usize)],
) -> Result<Tensor<f32>> {
    let x = applied.layout(0);
    let places: Tensor<u32> = applied.float(0)?.unary(pool.places(), &[])?;
    let turns: Vec<usize> = along
        .iter()
        .map(|(window, stride)| window.div_ceil(*stride))
        .collect();
    let mut sum: Option<Tensor<f32>> = None;
    let mut turn = vec![0; turns.len()];
    loop {
        let range = |(&turn, &turns): (&usize, &usize)| (Some(turn as i64), None, turns as i64);
        let ranges: Vec<_> = turn.iter().zip(&turns).map(range).collect();
        let (g, places) = match turns.iter().all(|&turns| turns == 1) {
            true => (g.clone(), places.clone()),
            false => (g.strided_slice(&ranges)?, places.strided_slice(&ranges)?),
        };
        let part = g.put(&places, None, x)?;
        sum = Some(match sum {
            Some(sum) => sum.add(&part)?,
            None => part,
        });
        let Some(next) = (0..turns.len())
            .rev()
            .find(|&axis| turn[axis] + 1 < turns[axis])
        else {
            break;
        };
        turn[next] += 1;
        turn[next + 1..].fill(0);
    }
    sum.ok_or_else(|| applied.refused())
}
