//! Scores on the CPU: products of queries and keys, capped, biased and masked.

use std::borrow::Cow;

use half::f16;

use super::{Attention, Heads, LOWEST};
use crate::ops::convert;
use crate::ops::maps::{exp, in_place};
use crate::ops::strided::extent_of;
use crate::plan::CpuArgs;
use crate::ragged::{DType, Layout};
use crate::{Result, host};

/// Operand `i` in f32.
pub(super) fn values<'a>(
    args: &CpuArgs<'a>,
    i: usize,
    dtype: DType,
) -> Result<(Cow<'a, [f32]>, &'a Layout)> {
    if dtype != DType::F16 {
        let (values, layout) = args.input::<f32>(i);
        return Ok((Cow::Borrowed(values), layout));
    }
    let (halves, layout) = args.input::<f16>(i);
    let mut values = host::zeroed(halves.len())?;
    convert::widen(halves, &mut values);
    Ok((Cow::Owned(values), layout))
}

/// Turns products into scores.
pub(super) struct Scores<'a> {
    of: &'a Attention,
    scale: f32,
    cap: f32,
    bias: Option<(Cow<'a, [f32]>, &'a Layout)>,
    /// The number of keys of each element that count, for a cache.
    lengths: Option<&'a [u32]>,
    slopes: &'a [f32],
    sinks: &'a [f32],
    layouts: [&'a Layout; 2],
}

/// Turns the products of one element into scores.
pub(super) struct Element<'a> {
    scores: &'a Scores<'a>,
    queries: usize,
    keys: usize,
    bias: Option<&'a [f32]>,
}

impl<'a> Scores<'a> {
    /// The scores of attention.
    pub(super) fn new<'b: 'a>(
        of: &'a Attention,
        heads: Heads,
        args: &CpuArgs<'b>,
    ) -> Result<Scores<'a>> {
        let per_head = match of.alibi || of.sinks {
            true => args.input::<f32>(of.per_head()).0,
            false => &[],
        };
        // Their number has been checked, unless there are no elements.
        let slopes = if of.alibi { heads.heads } else { 0 };
        let (slopes, sinks) = per_head.split_at(slopes.min(per_head.len()));
        Ok(Scores {
            slopes,
            sinks,
            ..Scores::with_bias(of, args, 3)?
        })
    }

    /// The scores of its gradients, whose operand `bias` is the bias, and whose slopes are passed to
    /// [`row_with`](Element::row_with).
    pub(super) fn with_bias<'b: 'a>(
        of: &'a Attention,
        args: &CpuArgs<'b>,
        bias: usize,
    ) -> Result<Scores<'a>> {
        let (bias, lengths) = match (of.bias, of.cached) {
            (true, _) => (Some(values(args, bias, of.dtype)?), None),
            (_, true) => (None, Some(args.input::<u32>(3).0)),
            _ => (None, None),
        };
        Ok(Scores {
            of,
            scale: f32::from_bits(args.scalars[0]),
            cap: f32::from_bits(args.scalars[1]),
            bias,
            lengths,
            slopes: &[],
            sinks: &[],
            layouts: [args.inputs[0].layout, args.inputs[1].layout],
        })
    }

    /// Operand `i`, the keys or the values, in f32. Of a cache in f16, only the rows that count are converted.
    pub(super) fn rows<'b>(
        &self,
        args: &CpuArgs<'b>,
        i: usize,
    ) -> Result<(Cow<'b, [f32]>, &'b Layout)> {
        let (Some(lengths), DType::F16) = (self.lengths, self.of.dtype) else {
            return values(args, i, self.of.dtype);
        };
        let (halves, layout) = args.input::<f16>(i);
        let mut values = host::zeroed(halves.len())?;
        for (element, length) in lengths.iter().enumerate() {
            let all = layout.offsets().range(element);
            let room = extent_of(layout, element, 0) as usize;
            let row = all.len().checked_div(room).unwrap_or(0);
            let some = all.start..all.start + row * room.min(*length as usize);
            convert::widen(&halves[some.clone()], &mut values[some]);
        }
        Ok((Cow::Owned(values), layout))
    }

    pub(super) fn sink(&self, head: usize) -> Option<f32> {
        self.sinks.get(head).copied()
    }

    pub(super) fn element(&'a self, element: usize) -> Element<'a> {
        let [queries, room] = self
            .layouts
            .map(|layout| extent_of(layout, element, 0) as usize);
        let length = self.lengths.map(|lengths| lengths[element] as usize);
        let keys = length.map_or(room, |length| length.min(room));
        let bias = self.bias.as_ref();
        Element {
            scores: self,
            queries,
            keys,
            bias: bias.map(|(values, layout)| &values[layout.offsets().range(element)]),
        }
    }
}

impl Element<'_> {
    pub(super) fn queries(&self) -> usize {
        self.queries
    }

    pub(super) fn keys(&self) -> usize {
        self.keys
    }

    /// The keys that the queries from the first to the last of `ends`, inclusive, attend to, blocks of the mask aside.
    pub(super) fn range(&self, ends: (usize, usize)) -> std::ops::Range<usize> {
        self.scores.of.mask.range(ends, self.queries, self.keys)
    }

    /// Where the bias of a query in a head begins; `None` without a bias.
    pub(super) fn bias_of(&self, head: usize, query: usize) -> Option<usize> {
        let bias = self.bias?;
        let matrix = match bias.len() > self.queries * self.keys {
            true => head * self.queries,
            false => 0,
        };
        Some((matrix + query) * self.keys)
    }

    /// Turns the products of a query and the keys from `first` on into scores.
    pub(super) fn row(&self, head: usize, query: usize, first: usize, s: &mut [f32]) {
        let slope = self.scores.slopes.get(head).copied();
        self.row_with(slope.unwrap_or(0.0), (head, query), first, s);
    }

    /// The derivatives of the scores with respect to the products.
    pub(super) fn derivatives(&self, products: &[f32], derivatives: &mut [f32]) {
        let Scores { scale, cap, .. } = *self.scores;
        derivatives.fill(scale);
        if cap > 0.0 {
            for (derivative, product) in derivatives.iter_mut().zip(products) {
                let t = tanh(product * scale / cap);
                *derivative *= 1.0 - t * t;
            }
        }
    }

    /// [`row`](Self::row) with this ALiBi slope.
    pub(super) fn row_with(
        &self,
        slope: f32,
        (head, query): (usize, usize),
        first: usize,
        s: &mut [f32],
    ) {
        let Scores { of, scale, cap, .. } = *self.scores;
        s.iter_mut().for_each(|s| *s *= scale);
        if cap > 0.0 {
            s.iter_mut().for_each(|s| *s = cap * tanh(*s / cap));
        }
        if let Some((at, bias)) = self.bias_of(head, query).zip(self.bias) {
            let bias = &bias[at + first..];
            s.iter_mut().zip(bias).for_each(|(s, bias)| *s += bias);
        }
        let at = query as i64 + of.mask.offset(self.queries, self.keys);
        if slope != 0.0 {
            for (key, s) in (first as i64..).zip(s.iter_mut()) {
                *s -= slope * (at - key).abs() as f32;
            }
        }
        // −∞ excludes the key, whatever the product is.
        if let Some((at, bias)) = self.bias_of(head, query).zip(self.bias) {
            let excluded = |(s, bias): (&mut f32, &f32)| {
                if *bias == f32::NEG_INFINITY {
                    *s = LOWEST;
                }
            };
            s.iter_mut().zip(&bias[at + first..]).for_each(excluded);
        }
        let range = self.range((query, query));
        let seen = |key: usize| key.clamp(first, first + s.len()) - first;
        let (begin, end) = (seen(range.start), seen(range.end));
        s[..begin].fill(LOWEST);
        s[end.max(begin)..].fill(LOWEST);
        if let Some(blocks) = &of.mask.blocks {
            let [high, wide] = blocks.block();
            let stored = blocks.order(false).row(query / high);
            let last = first + s.len();
            for column in first / wide..last.div_ceil(wide) {
                let is_there = stored.binary_search_by_key(&(column as u32), |entry| entry[1]);
                if is_there.is_err() {
                    let begin = (column * wide).max(first) - first;
                    let end = ((column + 1) * wide).min(last) - first;
                    s[begin..end].fill(LOWEST);
                }
            }
        }
    }
}

/// Replaces scores by their weights relative to the score `most`; returns the sum of the weights.
pub(super) fn weigh(scores: &mut [f32], most: f32) -> f32 {
    in_place(scores, |s| {
        let weight = exp(s - most);
        if s <= LOWEST { 0.0 } else { weight }
    });
    // Eight partial sums, so that the compiler vectorizes the loop.
    let mut sums = [0.0f32; 8];
    let chunks = scores.chunks_exact(8);
    let rest: f32 = chunks.remainder().iter().sum();
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, s)| *sum += s);
    }
    sums.iter().sum::<f32>() + rest
}

fn tanh(x: f32) -> f32 {
    let t = exp(-2.0 * x.abs());
    ((1.0 - t) / (1.0 + t)).copysign(x)
}
