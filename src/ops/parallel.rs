//! Parallel iteration over ragged results.

use std::ops::Range;

use rayon::prelude::*;

use crate::Result;
use crate::plan::Outcome;
use crate::ragged::Offsets;

/// Values in one parallel task.
const TILE: usize = 1 << 14;

/// Calls `body(element, within, values)` for parts of `values` that belong to one element, in parallel tasks of about
/// equal size; `within` is the part's range inside its element.
pub(crate) fn par_tiles<T: Send, R: Outcome>(
    offsets: &Offsets,
    values: &mut [T],
    body: impl Fn(usize, Range<usize>, &mut [T]) -> R + Sync,
) -> R {
    let all = offsets.as_slice();
    let done = values
        .par_chunks_mut(TILE)
        .enumerate()
        .try_for_each(|(tile, mut chunk)| {
            let mut at = tile * TILE;
            // The last element that starts at or before `at`, which skips empty ones.
            let mut element = all.partition_point(|&start| start as usize <= at) - 1;
            while !chunk.is_empty() {
                let range = offsets.range(element);
                let take = (range.end - at).min(chunk.len());
                let (head, tail) = chunk.split_at_mut(take);
                if take > 0 {
                    body(element, at - range.start..at - range.start + take, head).outcome()?;
                }
                chunk = tail;
                at += take;
                element += 1;
            }
            Ok(())
        });
    R::of(done)
}

/// Values of a run of elements that justify a parallel task, if each value takes some work.
const RUN: usize = 1 << 12;

/// Calls `body(elements, values)` for runs of whole elements, in parallel. A run has few values, or one element.
pub(crate) fn par_runs<T: Send>(
    offsets: &Offsets,
    values: &mut [T],
    body: &(impl Fn(Range<usize>, &mut [T]) -> Result<()> + Sync),
) -> Result<()> {
    fn run<T: Send>(
        all: &[u32],
        elements: Range<usize>,
        values: &mut [T],
        body: &(impl Fn(Range<usize>, &mut [T]) -> Result<()> + Sync),
    ) -> Result<()> {
        if elements.len() <= 1 || values.len() <= RUN {
            return body(elements, values);
        }
        let (start, end) = (elements.start, elements.end);
        let half = all[start] as usize + values.len() / 2;
        let nearest = all[start..end].partition_point(|&at| (at as usize) < half);
        let middle = (start + nearest).clamp(start + 1, end - 1);
        let (left, right) = values.split_at_mut((all[middle] - all[start]) as usize);
        let (left, right) = rayon::join(
            || run(all, start..middle, left, body),
            || run(all, middle..end, right, body),
        );
        left.and(right)
    }
    run(offsets.as_slice(), 0..offsets.len(), values, body)
}

/// Calls `body(x, y)` for pieces of both slices, in parallel. `y` may be longer: the last word of f16 values may hold
/// one extra half.
pub(crate) fn par_pieces<T: Sync, R: Send>(
    x: &[T],
    y: &mut [R],
    body: impl Fn(&[T], &mut [R]) + Sync,
) {
    y[..x.len()]
        .par_chunks_mut(TILE)
        .zip(x.par_chunks(TILE))
        .for_each(|(y, x)| body(x, y));
}

/// Stores `f(x)` for every value, in parallel.
pub(crate) fn par_map<T: Copy + Sync, R: Send>(x: &[T], y: &mut [R], f: impl Fn(T) -> R + Sync) {
    par_pieces(x, y, |x, y| {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = f(x);
        }
    });
}

/// Calls `body(i, result)` for every result, in parallel; each result takes about `cost` steps.
pub(crate) fn par_elements<T: Send>(
    results: &mut [T],
    cost: usize,
    body: impl Fn(usize, &mut T) + Sync,
) {
    let at_once = (TILE / cost.max(1)).max(1);
    results
        .par_iter_mut()
        .enumerate()
        .with_min_len(at_once)
        .for_each(|(i, result)| body(i, result));
}
