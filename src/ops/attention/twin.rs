//! Attention on the CPU: the gemm crate multiplies blocks of queries by blocks of keys.

use bytemuck::cast_slice_mut;
use rayon::prelude::*;

use super::scores::{Scores, values, weigh};
use super::{Attention, Heads, LOWEST};
use crate::ops::convert;
use crate::ops::kit::{slices::View, slices::multiply};
use crate::ops::maps::exp;
use crate::plan::CpuArgs;
use crate::ragged::DType;
use crate::{Result, host};

/// Queries of a job, and keys whose scores are held at a time.
pub(super) const QUERIES: usize = 64;
pub(super) const KEYS: usize = 256;

/// `c += a b`, of m x k weights and k x n values. If `odd`, values that are not finite count only where a weight is not
/// 0; finite values add the same bits.
pub(super) fn add_weighted(
    c: &mut [f32],
    [row, column]: [usize; 2],
    (a, b): (View<'_>, View<'_>),
    [m, k, n]: [usize; 3],
    odd: bool,
) -> Result<()> {
    if !odd {
        multiply(c, [row, column], (a, b), [m, k, n], true);
        return Ok(());
    }
    let mut finite = host::zeroed::<f32>(k * n)?;
    for (at, finite) in finite.iter_mut().enumerate() {
        let (l, j) = (at / n, at % n);
        let value = b.values[l * b.row + j * b.column];
        if value.is_finite() {
            *finite = value;
            continue;
        }
        for i in 0..m {
            let weight = a.values[i * a.row + l * a.column];
            if weight != 0.0 {
                c[i * row + j * column] += weight * value;
            }
        }
    }
    let finite = View::new(&finite, [n, 1]);
    multiply(c, [row, column], (a, finite), [m, k, n], true);
    Ok(())
}

/// a + b, rounded, and the error of that.
fn two_sum(a: f32, b: f32) -> (f32, f32) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// Consecutive rows of the results of one element.
struct Job<'a> {
    element: usize,
    first: usize,
    o: &'a mut [f32],
    lse: &'a mut [f32],
    /// What rounding the log-sum-exps has left.
    rest: &'a mut [f32],
}

pub(super) fn run(attention: &Attention, heads: Heads, args: &mut CpuArgs<'_>) -> Result<()> {
    let outputs = std::mem::take(&mut args.outputs);
    let [o, lse] = outputs else { return Ok(()) };
    let (o_layout, lse_layout) = (o.layout, lse.layout);
    let halves = attention.dtype == DType::F16;
    let mut wide = match halves {
        true => host::zeroed(o_layout.total())?,
        false => Vec::new(),
    };
    let all_o: &mut [f32] = match halves {
        true => &mut wide,
        false => cast_slice_mut(o.words),
    };
    let lse = cast_slice_mut::<u32, f32>(lse.words);
    let (mut rest_lse, mut rest_rest) = lse.split_at_mut(lse.len() / 2);
    let mut rest_o = all_o;
    let (width, high) = (heads.heads * heads.dv, heads.heads);
    let mut jobs = Vec::new();
    for element in 0..o_layout.len() {
        let queries = lse_layout.length(element) / high;
        for first in (0..queries).step_by(QUERIES) {
            let rows = QUERIES.min(queries - first);
            let (o, next_o) = rest_o.split_at_mut(rows * width);
            let (lse, next_lse) = rest_lse.split_at_mut(rows * high);
            let (rest, next_rest) = rest_rest.split_at_mut(rows * high);
            (rest_o, rest_lse, rest_rest) = (next_o, next_lse, next_rest);
            let job = Job {
                element,
                first,
                o,
                lse,
                rest,
            };
            host::push(&mut jobs, job)?;
        }
    }
    let scores = Scores::new(attention, heads, args)?;
    let q = values(args, 0, attention.dtype)?;
    let (k, v) = (scores.rows(args, 1)?, scores.rows(args, 2)?);
    jobs.into_par_iter().try_for_each(|job| {
        let q = &q.0[q.1.offsets().range(job.element)];
        let k = &k.0[k.1.offsets().range(job.element)];
        let v = &v.0[v.1.offsets().range(job.element)];
        let mut job = job;
        rows(heads, &scores, (q, k, v), &mut job, false)?;
        match job.o.iter().all(|o| o.is_finite()) {
            true => Ok(()),
            false => rows(heads, &scores, (q, k, v), &mut job, true),
        }
    })?;
    if halves {
        convert::narrow(&wide, cast_slice_mut(o.words));
    }
    Ok(())
}

/// The rows of a job, for each head. If `odd`, values may not be finite, and count only where a weight is not 0.
fn rows(
    heads: Heads,
    scores: &Scores<'_>,
    (q, k, v): (&[f32], &[f32], &[f32]),
    job: &mut Job<'_>,
    odd: bool,
) -> Result<()> {
    let Heads {
        heads: high,
        key_heads,
        d,
        dv,
    } = heads;
    let count = job.lse.len() / high;
    let element = scores.element(job.element);
    let range = element.range((job.first, job.first + count - 1));
    let mut weights = host::zeroed::<f32>(count * KEYS.min(range.len()))?;
    job.o.fill(0.0);
    for head in 0..high {
        let key_head = head / heads.group();
        let mut most = [LOWEST; QUERIES];
        let mut sums = [0.0f32; QUERIES];
        for begin in range.clone().step_by(KEYS) {
            let keys = KEYS.min(range.end - begin);
            let weights = &mut weights[..count * keys];
            let of_q = View::new(&q[(job.first * high + head) * d..], [high * d, 1]);
            let of_k = View::new(&k[(begin * key_heads + key_head) * d..], [1, key_heads * d]);
            multiply(weights, [keys, 1], (of_q, of_k), [count, d, keys], false);
            for (row, weights) in weights.chunks_mut(keys).enumerate() {
                element.row(head, job.first + row, begin, weights);
                let larger = weights.iter().fold(most[row], |most, s| most.max(*s));
                let less = exp(most[row] - larger);
                most[row] = larger;
                sums[row] = sums[row] * less + weigh(weights, larger);
                let o = &mut job.o[(row * high + head) * dv..][..dv];
                if less != 1.0 {
                    o.iter_mut().for_each(|o| *o *= less);
                }
            }
            let of_v = View::new(
                &v[(begin * key_heads + key_head) * dv..],
                [key_heads * dv, 1],
            );
            let o = &mut job.o[head * dv..];
            let weights = View::new(weights, [keys, 1]);
            add_weighted(o, [high * dv, 1], (weights, of_v), [count, keys, dv], odd)?;
        }
        for row in 0..count {
            let (mut most, mut sum, mut factor) = (most[row], sums[row], 1.0);
            if let Some(sink) = scores.sink(head) {
                let larger = most.max(sink);
                factor = exp(most - larger);
                sum = sum * factor + exp(sink - larger);
                most = larger;
            }
            let empty = sum == 0.0;
            factor = if empty { 0.0 } else { factor / sum };
            let o = &mut job.o[(row * high + head) * dv..][..dv];
            o.iter_mut().for_each(|o| *o *= factor);
            let place = row * high + head;
            (job.lse[place], job.rest[place]) = match empty {
                true => (f32::NEG_INFINITY, 0.0),
                false => two_sum(most, sum.ln()),
            };
        }
    }
    Ok(())
}
