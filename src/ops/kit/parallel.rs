//! Parallel iteration over ragged results.
//!
//! Rayon's functions are compiled once for each closure type, and operations on many types have hundreds of closures.
//! So the functions here pass closures to Rayon as `dyn`, and call them once for each task, not for each value.

use std::ops::Range;

use rayon::prelude::*;

use crate::Result;
use crate::plan::Outcome;
use crate::ragged::Offsets;

/// Values in one parallel task.
const TILE: usize = 1 << 14;

/// Runs both closures, in parallel if a thread is free, like `rayon::join`.
pub(crate) fn join<A: Send, B: Send>(
    left: impl FnOnce() -> A + Send,
    right: impl FnOnce() -> B + Send,
) -> (A, B) {
    fn both(left: &mut (dyn FnMut() + Send), right: &mut (dyn FnMut() + Send)) {
        rayon::join(left, right);
    }
    let (mut left, mut right) = (Some(left), Some(right));
    let (mut a, mut b) = (None, None);
    both(&mut || a = left.take().map(|left| left()), &mut || {
        b = right.take().map(|right| right())
    });
    match (a, b) {
        (Some(a), Some(b)) => (a, b),
        _ => unreachable!("both closures have run"),
    }
}

/// Calls `body(begin, values)` for chunks of `values` that begin at `begin`, in parallel, until a call fails. A task
/// has at least `together` chunks.
pub(crate) fn par_chunks<T: Send>(
    values: &mut [T],
    chunk: usize,
    together: usize,
    body: &(dyn Fn(usize, &mut [T]) -> Result<()> + Sync),
) -> Result<()> {
    if values.len() <= chunk.saturating_mul(together) {
        // One task, often one short element, for which Rayon would take longer than the work.
        let mut chunks = values.chunks_mut(chunk).enumerate();
        return chunks.try_for_each(|(number, values)| body(number * chunk, values));
    }
    values
        .par_chunks_mut(chunk)
        .enumerate()
        .with_min_len(together)
        .try_for_each(|(number, values)| body(number * chunk, values))
}

/// Calls `body(element, within, values)` for parts of `values` that belong to one element, in parallel tasks of about
/// equal size; `within` is the part's range inside its element.
pub(crate) fn par_tiles<T: Send, R: Outcome>(
    offsets: &Offsets,
    values: &mut [T],
    body: impl Fn(usize, Range<usize>, &mut [T]) -> R + Sync,
) -> R {
    let all = offsets.as_slice();
    R::of(par_chunks(values, TILE, 1, &|mut at, mut chunk| {
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
    }))
}

/// Values of a run of elements that justify a parallel task, if each value takes some work.
const RUN: usize = 1 << 12;

/// A function of a run of elements and their values.
pub(crate) type OfRun<'a, T> = dyn Fn(Range<usize>, &mut [T]) -> Result<()> + Sync + 'a;

/// Calls `body(elements, values)` for runs of whole elements, in parallel. A run has few values, or one element.
pub(crate) fn par_runs<T: Send>(
    offsets: &Offsets,
    values: &mut [T],
    body: &OfRun<'_, T>,
) -> Result<()> {
    fn run<T: Send>(
        all: &[u32],
        elements: Range<usize>,
        values: &mut [T],
        body: &OfRun<'_, T>,
    ) -> Result<()> {
        if elements.len() <= 1 || values.len() <= RUN {
            return body(elements, values);
        }
        let (start, end) = (elements.start, elements.end);
        let half = all[start] as usize + values.len() / 2;
        let nearest = all[start..end].partition_point(|&at| (at as usize) < half);
        let middle = (start + nearest).clamp(start + 1, end - 1);
        let (left, right) = values.split_at_mut((all[middle] - all[start]) as usize);
        let (left, right) = join(
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
    let y = &mut y[..x.len()];
    // The body never fails.
    let _ = par_chunks(y, TILE, 1, &|begin, y| {
        body(&x[begin..begin + y.len()], y);
        Ok(())
    });
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
    // The body never fails.
    let _ = par_chunks(results, at_once, 1, &|begin, results| {
        for (i, result) in (begin..).zip(results) {
            body(i, result);
        }
        Ok(())
    });
}
