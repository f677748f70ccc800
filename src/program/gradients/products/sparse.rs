//! Products with block-sparse matrices, and sampled products, which are each other's cotangents.

use super::matrices::stored;
use crate::Result;
use crate::ops::bsr::{BsrMatmul, Sampled};
use crate::program::gradients::parts::{at_pairs, over_pairs, stacked_rows, sums};
use crate::program::gradients::rule::{Applied, Cotangent, Cotangents, Rule};
use crate::ragged::Topology;
use crate::tensor::{BsrTensor, Tensor};

/// A matrix of these values, or its transpose.
fn matrix(topology: &Topology, values: &Tensor<f32>, transposed: bool) -> Result<BsrTensor<f32>> {
    let matrix = BsrTensor::new(topology, values.clone())?;
    Ok(if transposed {
        matrix.transpose()
    } else {
        matrix
    })
}

impl Rule for BsrMatmul {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let (topology, form) = (&self.topology, self.form);
        let (values, dense) = (applied.float(0)?, applied.float(1)?);
        let f = |transposed: bool| matrix(topology, &values, form.transposed != transposed);
        let plain = || match form.dense_left {
            true => dense.matmul(&f(false)?),
            false => f(false)?.matmul(&dense),
        };
        let mut rest = Vec::new();
        let g = stored(
            applied,
            form.epilogue,
            &applied.floats(g)?,
            plain,
            None,
            &mut rest,
        )?;
        let of_dense = applied.wanted(1, || {
            let each = match form.dense_left {
                true => g.matmul(&f(true)?)?,
                false => f(true)?.matmul(&g)?,
            };
            // An element (0, 0) may stand for one of other extents.
            each.resize(dense.layout())
        })?;
        let of_values = applied.wanted(0, || {
            let one_set = values.len() == 1 && dense.len() != 1;
            // The rows of all dense factors are those of one, if they are on the left.
            let rows = match form.dense_left && one_set {
                true => stacked_rows(dense.layout())?.zip(stacked_rows(g.layout())?),
                false => None,
            };
            let (dense, g) = match &rows {
                Some((of_dense, of_g)) => (dense.view_as(of_dense)?, g.view_as(of_g)?),
                None => (dense.clone(), g.clone()),
            };
            let blocks = match (form.dense_left, form.transposed) {
                // S b: the blocks of g bᵀ. Sᵀ b: those of b gᵀ.
                (false, false) => g.product(&dense).transpose_right().sampled(topology)?,
                (false, true) => dense.product(&g).transpose_right().sampled(topology)?,
                // a S: those of aᵀ g. a Sᵀ: those of gᵀ a.
                (true, false) => dense.product(&g).transpose_left().sampled(topology)?,
                (true, true) => g.product(&dense).transpose_left().sampled(topology)?,
            };
            match one_set && rows.is_none() {
                true => sums(blocks.values(), |_| 0, values.layout()),
                false => blocks.values().view_as(values.layout()),
            }
        })?;
        Ok([of_values, of_dense].into_iter().chain(rest).collect())
    }
}

impl Rule for Sampled {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let pairs = applied.pairs().ok_or_else(|| applied.refused())?;
        let g = applied.floats(g)?;
        let [of_a, of_b] = self.transposed;
        let blocks = |transposed: bool| matrix(&self.topology, &g, transposed);
        // The dense factor of each pair, transposed if necessary.
        let dense = |side: usize, turned: bool| {
            let factor = at_pairs(&applied.float(side)?, pairs, side)?;
            match turned {
                true => factor.transpose(&[1, 0]),
                false => Ok(factor),
            }
        };
        let left = || {
            // G Bᵀ, or its transpose B Gᵀ.
            let each = match of_a {
                false => blocks(false)?.matmul(&dense(1, !of_b)?)?,
                true => dense(1, of_b)?.matmul(&blocks(true)?)?,
            };
            over_pairs(&each, pairs, 0, applied.layout(0))
        };
        let right = || {
            // Aᵀ G, or its transpose Gᵀ A.
            let each = match of_b {
                false => dense(0, !of_a)?.matmul(&blocks(false)?)?,
                true => blocks(true)?.matmul(&dense(0, of_a)?)?,
            };
            over_pairs(&each, pairs, 1, applied.layout(1))
        };
        Ok(vec![applied.wanted(0, left)?, applied.wanted(1, right)?])
    }
}
