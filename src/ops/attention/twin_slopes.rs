//! Gradients of attention on the CPU.

use bytemuck::cast_slice_mut;
use rayon::prelude::*;

use super::scores::{Element, Scores, values};
use super::twin::{KEYS, QUERIES, add_weighted};
use super::{Attention, Heads, LOWEST, Side, Stats};
use crate::ops::convert;
use crate::ops::kit::{slices::View, slices::multiply};
use crate::ops::maps::exp;
use crate::plan::CpuArgs;
use crate::ragged::DType;
use crate::{Result, host};

/// The log-sum-exp in two parts, delta and ALiBi slope of each query and head.
pub(super) fn stats(
    of: Stats,
    [heads, dv]: [usize; 2],
    [of_lse, per_head]: [usize; 2],
    args: &mut CpuArgs<'_>,
) -> Result<()> {
    let (g, _) = values(args, 0, of.dtype)?;
    let (o, _) = values(args, 1, of.dtype)?;
    let (lse, _) = args.input::<f32>(2);
    let (lse, rest) = lse.split_at(lse.len() / 2);
    let of_lse = of.of_lse.then(|| args.input::<f32>(of_lse).0);
    let slopes = of.alibi.then(|| args.input::<f32>(per_head).0);
    let (stats, _) = args.output::<f32>(0);
    let rows = g.par_chunks(dv).zip(o.par_chunks(dv));
    stats
        .par_chunks_mut(4)
        .zip(rows)
        .enumerate()
        .for_each(|(place, (stats, (g, o)))| {
            let delta: f32 = g.iter().zip(o).map(|(g, o)| g * o).sum();
            stats[0] = lse[place];
            stats[1] = rest[place];
            stats[2] = delta - of_lse.map_or(0.0, |of_lse| of_lse[place]);
            stats[3] = slopes.map_or(0.0, |slopes| slopes[place % heads]);
        });
    Ok(())
}

/// The operands and scores, which all jobs read.
struct Operands<'a> {
    heads: Heads,
    side: Side,
    scores: Scores<'a>,
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
    g: &'a [f32],
    stats: &'a [f32],
}

/// Consecutive rows of the result of one element.
struct Job<'a> {
    element: usize,
    first: usize,
    out: &'a mut [f32],
    /// The first rows of the element's queries and keys among those of all elements.
    begin: [usize; 2],
}

pub(super) fn run(
    attention: &Attention,
    side: Side,
    heads: Heads,
    args: &mut CpuArgs<'_>,
) -> Result<()> {
    let outputs = std::mem::take(&mut args.outputs);
    let Some(output) = outputs.first_mut() else {
        return Ok(());
    };
    let layout = output.layout;
    let halves = attention.dtype == DType::F16 && side != Side::Bias;
    let mut wide = match halves {
        true => host::zeroed(layout.total())?,
        false => Vec::new(),
    };
    let mut rest: &mut [f32] = match halves {
        true => &mut wide,
        false => cast_slice_mut(&mut output.words[..]),
    };
    let [q, k, v, g] = [0, 1, 2, 3].map(|i| values(args, i, attention.dtype));
    let ((q, q_layout), (k, k_layout), (v, _), (g, _)) = (q?, k?, v?, g?);
    let operands = Operands {
        heads,
        side,
        scores: Scores::with_bias(attention, args, 5)?,
        q: &q,
        k: &k,
        v: &v,
        g: &g,
        stats: args.input::<f32>(4).0,
    };
    let mut jobs = Vec::new();
    for element in 0..layout.len() {
        let begin = [
            q_layout.offsets().range(element).start / (heads.heads * heads.d),
            k_layout.offsets().range(element).start / (heads.key_heads * heads.d),
        ];
        let (mut out, next) = rest.split_at_mut(layout.length(element));
        rest = next;
        let of_element = operands.scores.element(element);
        let width = match side {
            Side::Query => heads.heads * heads.d,
            Side::Key => heads.key_heads * heads.d,
            Side::Value => heads.key_heads * heads.dv,
            // A bias is one job, with all its heads.
            Side::Bias => (out.len() / of_element.queries().max(1)).max(1),
        };
        let rows = if side == Side::Bias {
            usize::MAX
        } else {
            QUERIES
        };
        let mut first = 0;
        while !out.is_empty() {
            let (piece, more) = out.split_at_mut(rows.saturating_mul(width).min(out.len()));
            out = more;
            let job = Job {
                element,
                first,
                out: piece,
                begin,
            };
            host::push(&mut jobs, job)?;
            first = first.saturating_add(rows);
        }
    }
    jobs.into_par_iter().try_for_each(|mut job| {
        operands.rows(&mut job, false)?;
        match job.out.iter().all(|x| x.is_finite()) {
            true => Ok(()),
            false => operands.rows(&mut job, true),
        }
    })?;
    if halves {
        convert::narrow(&wide, cast_slice_mut(&mut output.words[..]));
    }
    Ok(())
}

impl Operands<'_> {
    /// The rows of a job. If `odd`, operands may not be finite, and count only where a weight is not 0.
    fn rows(&self, job: &mut Job<'_>, odd: bool) -> Result<()> {
        let Heads {
            heads,
            key_heads,
            d,
            dv,
        } = self.heads;
        let element = self.scores.element(job.element);
        let (queries, keys) = (element.queries(), element.keys());
        job.out.fill(0.0);
        let mut weights = Vec::new();
        let mut slopes = Vec::new();
        for head in 0..heads {
            let key_head = head / self.heads.group();
            let (rows, columns) = match self.side {
                Side::Query => {
                    let rows = job.first..job.first + job.out.len() / (heads * d);
                    (rows.clone(), element.range((rows.start, rows.end - 1)))
                }
                Side::Key | Side::Value => {
                    let width = if self.side == Side::Key { d } else { dv };
                    let count = job.out.len() / (key_heads * width);
                    (0..queries, job.first..job.first + count)
                }
                Side::Bias => (0..queries, 0..keys),
            };
            for first in rows.clone().step_by(QUERIES) {
                let rows = first..rows.end.min(first + QUERIES);
                for begin in columns.clone().step_by(KEYS) {
                    let columns = begin..columns.end.min(begin + KEYS);
                    let size = [rows.len(), columns.len()];
                    weights.resize(size[0] * size[1], 0.0);
                    slopes.resize(size[0] * size[1], 0.0);
                    let ranges = (rows.clone(), columns.clone());
                    self.weigh(
                        &element,
                        &job.begin,
                        head,
                        ranges,
                        &mut weights,
                        &mut slopes,
                    );
                    let [count, wide] = size;
                    let q_row = (job.begin[0] + rows.start) * heads + head;
                    let k_row = (job.begin[1] + columns.start) * key_heads + key_head;
                    match self.side {
                        Side::Query => {
                            let to = ((rows.start - job.first) * heads + head) * d;
                            let k = View::new(&self.k[k_row * d..], [key_heads * d, 1]);
                            let weights = View::new(&weights, [wide, 1]);
                            let out = &mut job.out[to..];
                            add_weighted(out, [heads * d, 1], (weights, k), [count, wide, d], odd)?;
                        }
                        Side::Key | Side::Value => {
                            let (x, width) = match self.side {
                                Side::Key => (self.q, d),
                                _ => (self.g, dv),
                            };
                            let to = ((columns.start - job.first) * key_heads + key_head) * width;
                            let x = View::new(&x[q_row * width..], [heads * width, 1]);
                            let weights = View::new(&weights, [1, wide]);
                            let out = &mut job.out[to..];
                            let by = [key_heads * width, 1];
                            add_weighted(out, by, (weights, x), [wide, count, width], odd)?;
                        }
                        Side::Bias => {
                            for (row, weights) in rows.clone().zip(weights.chunks(wide)) {
                                let Some(at) = element.bias_of(head, row) else {
                                    continue;
                                };
                                let out = &mut job.out[at + columns.start..][..wide];
                                out.iter_mut().zip(weights).for_each(|(out, w)| *out += w);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The weights of a block of queries and keys: P for values, dS for a bias, and dS ∘ S′ for queries and keys. Those
    /// of 0 stay 0, even if an operand is not finite.
    fn weigh(
        &self,
        element: &Element<'_>,
        begin: &[usize; 2],
        head: usize,
        (rows, columns): (std::ops::Range<usize>, std::ops::Range<usize>),
        weights: &mut [f32],
        slopes: &mut [f32],
    ) {
        let Heads {
            heads,
            key_heads,
            d,
            dv,
        } = self.heads;
        let key_head = head / self.heads.group();
        let size = [rows.len(), columns.len()];
        let q_row = (begin[0] + rows.start) * heads + head;
        let k_row = (begin[1] + columns.start) * key_heads + key_head;
        let product = |out: &mut [f32], (a, b): (&[f32], &[f32]), width: usize| {
            let a = View::new(&a[q_row * width..], [heads * width, 1]);
            let b = View::new(&b[k_row * width..], [1, key_heads * width]);
            multiply(out, [size[1], 1], (a, b), [size[0], width, size[1]], false);
        };
        product(weights, (self.q, self.k), d);
        if self.side != Side::Value {
            product(slopes, (self.g, self.v), dv);
        }
        let mut derivatives = [0.0f32; KEYS];
        let lines = weights.chunks_mut(size[1]).zip(slopes.chunks(size[1]));
        for (row, (weights, slopes)) in rows.zip(lines) {
            let derivatives = &mut derivatives[..size[1]];
            let stats = &self.stats[4 * ((begin[0] + row) * heads + head)..][..4];
            element.derivatives(weights, derivatives);
            element.row_with(stats[3], (head, row), columns.start, weights);
            let (lse, rest, delta) = (stats[0], stats[1], stats[2]);
            for ((weight, slope), derivative) in weights.iter_mut().zip(slopes).zip(derivatives) {
                let less = *weight - lse - rest;
                // Rounding may have made it positive. `min` would drop NaN.
                let p = exp(if less > 0.0 { 0.0 } else { less });
                let p = if *weight <= LOWEST { 0.0 } else { p };
                *weight = match self.side {
                    _ if p == 0.0 => 0.0,
                    Side::Value => p,
                    Side::Bias => p * (slope - delta),
                    _ => p * (slope - delta) * *derivative,
                };
            }
        }
    }
}
