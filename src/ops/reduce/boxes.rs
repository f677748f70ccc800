//! The smallest box that holds every nonzero value, on the CPU.

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
