//! The rule of attention, which recomputes weights from the log-sum-exps.
//!
//! Those are the operation's second result, in two parts: all elements of the first, then all of the second.

use super::rule::{Applied, Cotangent, Cotangents, Rule};
use crate::ops::attention::slopes::Slopes;
use crate::ops::attention::{Attention, Side, Stats};
use crate::ragged::{DType, Float};
use crate::tensor::{Attended, Tensor};
use crate::{Error, Result, f16};

impl Rule for Attention {
    fn of_results(
        &self,
        applied: &Applied<'_>,
        results: &[Option<Cotangent>],
    ) -> Result<Cotangents> {
        if self.cached && results.iter().any(Option::is_some) {
            let why =
                " over a cache (attention_over); attend to tensors of keys and values instead";
            return Err(applied.refused_because(why));
        }
        let of_lse = match &results[1] {
            Some(Cotangent::F32(of_lse)) => Some(of_lse),
            _ => None,
        };
        match (self.dtype, &results[0]) {
            (_, None) if of_lse.is_none() => Ok(Vec::new()),
            (DType::F16, Some(Cotangent::F16(g))) => of_type::<f16>(applied, self, Some(g), of_lse),
            (DType::F16, _) => of_type::<f16>(applied, self, None, of_lse),
            (_, Some(Cotangent::F32(g))) => of_type::<f32>(applied, self, Some(g), of_lse),
            _ => of_type::<f32>(applied, self, None, of_lse),
        }
    }
}

impl Rule for Stats {
    fn of_result(&self, applied: &Applied<'_>, _: &Cotangent) -> Result<Cotangents> {
        Err(twice(applied))
    }
}

impl Rule for Slopes {
    fn of_result(&self, applied: &Applied<'_>, _: &Cotangent) -> Result<Cotangents> {
        Err(twice(applied))
    }
}

fn twice(applied: &Applied<'_>) -> Error {
    applied.refused_because(
        " of its gradient; compute softmax(scale · q kᵀ) v in steps, with matmul, transpose and softmax, to \
         differentiate it twice",
    )
}

fn of_type<T: Float>(
    applied: &Applied<'_>,
    of: &Attention,
    g: Option<&Tensor<T>>,
    of_lse: Option<&Tensor<f32>>,
) -> Result<Cotangents>
where
    Tensor<T>: Into<Cotangent>,
{
    let has_per_head = of.alibi || of.sinks;
    let per_head = of.per_head();
    let wants_sinks = has_per_head && applied.wants(per_head);
    if wants_sinks && of.alibi {
        let why = " with respect to slopes, or to sinks if there are slopes; use a bias instead";
        return Err(applied.refused_because(why));
    }
    let attended = Attended {
        of,
        q: applied.operand::<T>(0)?,
        k: applied.operand(1)?,
        v: applied.operand(2)?,
        bias: of.bias.then(|| applied.operand(3)).transpose()?,
        per_head: has_per_head
            .then(|| applied.operand(per_head))
            .transpose()?,
        scalars: applied.scalars(),
    };
    let (o, lse) = (applied.result::<T>(0)?, applied.result::<f32>(1)?);
    let zeros = match g {
        Some(_) => None,
        None => Some(applied.device().full(o.layout(), T::default())?),
    };
    let g = &attended.aligned(g.or(zeros.as_ref()).unwrap_or(&o))?;
    let stats = attended.stats((g, &o), (&lse, of_lse))?;
    let mut cotangents: Cotangents = Vec::new();
    for (i, side) in [Side::Query, Side::Key, Side::Value]
        .into_iter()
        .enumerate()
    {
        cotangents.push(match applied.wants(i) {
            true => Some(attended.slopes::<T>(side, g, &stats)?.into()),
            false => None,
        });
    }
    if of.bias {
        cotangents.push(applied.wanted(3, || attended.slopes(Side::Bias, g, &stats))?);
    }
    if wants_sinks && let Some(sinks) = &attended.per_head {
        cotangents.resize_with(per_head, || None);
        cotangents.push(Some(of_sinks(sinks, &lse, &stats)?.into()));
    }
    Ok(cotangents)
}

/// −Σ exp(sink − lse) delta over all queries, where lse has two parts.
fn of_sinks(sinks: &Tensor<f32>, lse: &Tensor<f32>, stats: &Tensor<f32>) -> Result<Tensor<f32>> {
    let whole = (None, None, 1);
    let delta = stats.strided_slice(&[whole, whole, (Some(2), Some(3), 1)])?;
    let (lse, rest) = (
        lse.elements(0..stats.len())?,
        lse.elements(stats.len()..lse.len())?,
    );
    let delta = delta.reshape(lse.layout())?;
    let weights = lse.sub(sinks.along(1))?.add(&rest)?.neg()?.exp()?;
    weights.hadamard(&delta)?.sum_axis(0)?.sum_batch()?.neg()
}
