//! Products of dense matrices, with their epilogues.

use half::f16;

use crate::Result;
use crate::error::Named;
use crate::ops::matmul::{Activation, Bias, Epilogue, Form, Matmul};
use crate::program::gradients::maps::slope;
use crate::program::gradients::parts::{at_pairs, before, is_each, over_pairs, stacked_rows, with};
use crate::program::gradients::rule::{Applied, Cotangent, Cotangents, GRADIENTS, Rule};
use crate::ragged::{DType, Float, Pairs};
use crate::tensor::{Product, Tensor};

impl Rule for Matmul {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let pairs = applied.pairs().ok_or_else(|| applied.refused())?;
        let form = &self.form;
        let g = applied.floats(g)?;
        let sums = || {
            let (a, b) = (applied.float(0)?, applied.float(1)?);
            let paired = a.pair(&b, pairs.pairing())?;
            transposed(paired.product(), form.transposed, form.ambient).run()
        };
        let mut all = Vec::new();
        let g = stored(applied, form.epilogue, &g, sums, Some(pairs), &mut all)?;
        let of_factors = match (self.dtype, self.result) {
            (DType::F16, DType::F16) => {
                let (a, b) = (applied.operand::<f16>(0)?, applied.operand::<f16>(1)?);
                let [a, b] = factors(applied, form, &g.to()?, [&a, &b], pairs)?;
                [a.map(Cotangent::from), b.map(Cotangent::from)]
            }
            _ => {
                let (a, b) = (applied.float(0)?, applied.float(1)?);
                let [a, b] = factors(applied, form, &g, [&a, &b], pairs)?;
                let narrow =
                    |i: usize, g: Option<Tensor<f32>>| g.map(|g| applied.narrow(i, g)).transpose();
                [narrow(0, a)?, narrow(1, b)?]
            }
        };
        Ok(of_factors.into_iter().chain(all).collect())
    }
}

fn transposed<T: Float>(
    product: Product<'_, T>,
    sides: [bool; 2],
    ambient: bool,
) -> Product<'_, T> {
    let product = if sides[0] {
        product.transpose_left()
    } else {
        product
    };
    let product = if sides[1] {
        product.transpose_right()
    } else {
        product
    };
    if ambient { product.ambient() } else { product }
}

/// The cotangents of both factors. g is that of the plain product.
fn factors<T: Float>(
    applied: &Applied<'_>,
    form: &Form,
    g: &Tensor<T>,
    [a, b]: [&Tensor<T>; 2],
    pairs: &Pairs,
) -> Result<[Option<Tensor<T>>; 2]> {
    let [of_a, of_b] = form.transposed;
    let left = || {
        // g Bᵀ, or its transpose B gᵀ.
        let each = match of_a {
            false => transposed(with(g, b, pairs, 1)?.product(), [false, !of_b], false).run()?,
            true => transposed(before(b, g, pairs, 1)?.product(), [of_b, true], false).run()?,
        };
        over_pairs(&each, pairs, 0, a.layout())
    };
    let right = || {
        let rows = match b.len() == 1 && !of_a && is_each(pairs, 0, a.layout()) {
            true => stacked_rows(a.layout())?.zip(stacked_rows(g.layout())?),
            false => None,
        };
        // Aᵀ g, or its transpose gᵀ A. If all pairs share B, all their rows are those of one product.
        let (a, g) = match &rows {
            Some((of_a, of_g)) => (a.view_as(of_a)?, g.view_as(of_g)?),
            None => (a.clone(), g.clone()),
        };
        let each = |a: &Tensor<T>, g: &Tensor<T>, pairs: &Pairs| match of_b {
            false => transposed(before(a, g, pairs, 0)?.product(), [!of_a, false], false).run(),
            true => transposed(with(g, a, pairs, 0)?.product(), [true, of_a], false).run(),
        };
        match rows {
            Some(_) => {
                let one = Pairs::elementwise(a.layout(), g.layout()).named(GRADIENTS)?;
                each(&a, &g, &one)?.resize(b.layout())
            }
            None => over_pairs(&each(&a, &g, pairs)?, pairs, 1, b.layout()),
        }
    };
    Ok([
        applied.wants(0).then(left).transpose()?,
        applied.wants(1).then(right).transpose()?,
    ])
}

/// The cotangent of a plain product, given that of what was stored. Appends the cotangents of the bias and of the
/// residual. `sums` computes the plain product; pairs tell whose bias an element has.
pub(super) fn stored(
    applied: &Applied<'_>,
    epilogue: Epilogue,
    g: &Tensor<f32>,
    sums: impl FnOnce() -> Result<Tensor<f32>>,
    pairs: Option<&Pairs>,
    all: &mut Vec<Option<Cotangent>>,
) -> Result<Tensor<f32>> {
    let scale = epilogue.scale.then(|| applied.scalar::<f32>(0));
    let residual = epilogue.residual.then(|| applied.operands() - 1);
    let inner = || {
        let mut sums = sums()?;
        if let Some(scale) = scale {
            sums = sums.scale(scale)?;
        }
        match epilogue.bias {
            None => Ok(sums),
            Some(whose) => {
                let bias = applied.float(2)?;
                let bias = match (whose, pairs) {
                    (Bias::Right, Some(pairs)) => at_pairs(&bias, pairs, 1)?,
                    _ => bias,
                };
                sums.add(bias.along(1))
            }
        }
    };
    let before = match epilogue.activation {
        Activation::Identity => g.clone(),
        Activation::Relu if residual.is_none() => {
            g.hadamard(&slope(&applied.float_result()?, "relu_slope", &[0; 2])?)?
        }
        Activation::Relu => g.hadamard(&slope(&inner()?, "relu_slope", &[0; 2])?)?,
        Activation::Gelu => g.hadamard(&slope(&inner()?, "gelu_slope", &[0; 2])?)?,
    };
    if let Some(whose) = epilogue.bias {
        let layout_of_b = applied.layout(2);
        all.push(applied.wanted(2, || match (whose, pairs) {
            (Bias::Right, Some(pairs)) => over_pairs(&before.sum_axis(0)?, pairs, 1, layout_of_b),
            (Bias::Right, None) => before.sum_axis(0)?.view_as(layout_of_b),
            (Bias::Shared, _) => match stacked_rows(before.layout())? {
                Some(rows) => before.view_as(&rows)?.sum_axis(0)?.view_as(layout_of_b),
                None => applied.device().full(layout_of_b, 0.0f32),
            },
        })?);
    }
    if let Some(i) = residual {
        all.push(applied.wanted(i, || Ok(g.clone()))?);
    }
    match scale {
        Some(scale) => before.scale(scale),
        None => Ok(before),
    }
}
