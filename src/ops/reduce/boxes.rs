//! The smallest box that holds every nonzero value, or every value other than a background, on the CPU.

use std::ops::Range;

use rayon::prelude::*;

use super::tree::tree;
use crate::plan::CpuArgs;
use crate::ragged::{MAX_RANK, Scalar};

/// Values that justify a parallel task.
const PIECE: usize = 1 << 14;

pub(super) fn minimal<T: Scalar>(args: &mut CpuArgs<'_>) {
    let (x, layout) = args.input::<T>(0);
    let rank = layout.rank();
    let ends = &mut *args.outputs[0].words;
    let average = layout.total() / layout.len().max(1);
    ends.par_chunks_exact_mut(rank)
        .with_min_len((PIECE / average.max(1)).max(1))
        .enumerate()
        .for_each(|(element, ends)| {
            let row = &x[layout.offsets().range(element)];
            let shape = layout.shape(element);
            let tile = |range: Range<usize>| ends_of(row, shape.extents(), range);
            let largest = tree(row.len(), &tile, &|x: [u32; MAX_RANK], y| {
                std::array::from_fn(|axis| x[axis].max(y[axis]))
            });
            ends.copy_from_slice(&largest[..rank]);
        });
}

/// One more than the largest index of a nonzero value in the range, along every axis; 0 if there is none.
fn ends_of<T: Scalar>(row: &[T], extents: &[u32], range: Range<usize>) -> [u32; MAX_RANK] {
    let last = extents.len() - 1;
    let width = extents[last] as usize;
    let mut ends = [0; MAX_RANK];
    let mut at = range.start;
    while at < range.end {
        let along = at % width;
        let take = (width - along).min(range.end - at);
        let run = &row[at..at + take];
        if let Some(found) = run.iter().rposition(|x| *x != T::default()) {
            ends[last] = ends[last].max((along + found) as u32 + 1);
            let mut rest = at / width;
            for axis in (0..last).rev() {
                let extent = extents[axis] as usize;
                ends[axis] = ends[axis].max((rest % extent) as u32 + 1);
                rest /= extent;
            }
        }
        at += take;
    }
    ends
}

/// The first row and column of a value other than the background, and one more than the last ones; zeros if there is
/// none.
pub(super) fn bounds(args: &mut CpuArgs<'_>) {
    let (x, layout) = args.input::<u32>(0);
    let background = args.scalars[0];
    let results = &mut *args.outputs[0].words;
    let average = layout.total() / layout.len().max(1);
    results
        .par_chunks_exact_mut(4)
        .with_min_len((PIECE / average.max(1)).max(1))
        .enumerate()
        .for_each(|(element, result)| {
            let row = &x[layout.offsets().range(element)];
            let width = layout.extents()[2 * element + 1] as usize;
            let tile = |range: Range<usize>| bounds_of(row, width, range, background);
            let largest = tree(row.len(), &tile, &|x: [u32; 4], y| {
                std::array::from_fn(|k| x[k].max(y[k]))
            });
            let [top, left, bottom, right] = largest;
            result.copy_from_slice(&match bottom {
                0 => [0; 4],
                _ => [!top, !left, bottom, right],
            });
        });
}

/// Of the values in the range other than the background: the first row and column with inverted bits, so that all four
/// numbers are largest ones, and one more than the last row and column.
fn bounds_of(x: &[u32], width: usize, range: Range<usize>, background: u32) -> [u32; 4] {
    let mut bounds = [0; 4];
    let mut at = range.start;
    while at < range.end {
        let (row, along) = (at / width, at % width);
        let take = (width - along).min(range.end - at);
        let run = &x[at..at + take];
        let is_other = |x: &u32| *x != background;
        if let (Some(first), Some(last)) = (
            run.iter().position(is_other),
            run.iter().rposition(is_other),
        ) {
            let found = [
                !(row as u32),
                !((along + first) as u32),
                row as u32 + 1,
                (along + last) as u32 + 1,
            ];
            bounds = std::array::from_fn(|k| bounds[k].max(found[k]));
        }
        at += take;
    }
    bounds
}
