//! The twin: counts elements in parallel, and long ones in parallel parts, which have separate counts.

use half::f16;
use rayon::prelude::*;

use super::edges::{Binned, Edges};
use crate::ops::kit::par_chunks;
use crate::plan::CpuArgs;
use crate::ragged::DType;
use crate::{Result, host};

/// Values that justify a parallel task.
const TASK: usize = 1 << 14;

pub(super) fn run(dtype: DType, edges: &Edges, args: &mut CpuArgs<'_>) -> Result<()> {
    match dtype {
        DType::F32 => each::<f32>(edges, args),
        DType::F16 => each::<f16>(edges, args),
        DType::I32 => each::<i32>(edges, args),
        DType::U32 => each::<u32>(edges, args),
        DType::C32 | DType::U8 => unreachable!("no such operation"),
    }
}

fn each<T: Binned>(edges: &Edges, args: &mut CpuArgs<'_>) -> Result<()> {
    let (x, layout) = args.input::<T>(0);
    let (counts, _) = args.output::<u32>(0);
    if layout.is_empty() {
        return Ok(());
    }
    let bins = counts.len() / layout.len();
    let average = x.len() / layout.len();
    let together = (TASK / (average + bins)).max(1);
    par_chunks(counts, bins, together, &|begin, counts| {
        let x = &x[layout.offsets().range(begin / bins)];
        // The counts of a part are zeroed and added up, which takes longer than counting few values.
        let part = TASK.max(4 * bins);
        if x.len() < 2 * part {
            count(edges, x, counts);
            return Ok(());
        }
        let part = part.max(x.len().div_ceil(2 * rayon::current_num_threads()));
        let counted = |x: &[T]| {
            let mut counts = host::zeroed(bins)?;
            count(edges, x, &mut counts);
            Ok(counts)
        };
        let parts = x.par_chunks(part).map(counted);
        let all = parts.try_reduce_with(|mut all: Vec<u32>, more| {
            all.iter_mut()
                .zip(more)
                .for_each(|(all, more)| *all += more);
            Ok(all)
        });
        match all {
            Some(all) => counts.copy_from_slice(&all?),
            None => counts.fill(0),
        }
        Ok(())
    })
}

/// Values whose places are computed at once, by vector instructions.
const BLOCK: usize = 64;

fn count<T: Binned>(edges: &Edges, x: &[T], counts: &mut [u32]) {
    counts.fill(0);
    if !edges.have_places() {
        for bin in x.iter().filter_map(|&x| edges.compared(x, 0)) {
            counts[bin] += 1;
        }
        return;
    }
    let mut places = [(0, 0.0); BLOCK];
    for x in x.chunks(BLOCK) {
        for (place, &x) in places.iter_mut().zip(x) {
            *place = edges.near(x);
        }
        for (&(near, rest), &x) in places.iter().zip(x) {
            let bin = match rest.abs() > edges.margin {
                true => Some(near.wrapping_sub((rest < 0.0).into()) as usize),
                false => edges.compared(x, near),
            };
            if let Some(count) = bin.and_then(|bin| counts.get_mut(bin)) {
                *count += 1;
            }
        }
    }
}
