//! The twin: sorts lines one by one, long ones with all threads.

use rayon::prelude::*;

use crate::ops::kit::ordered::Keyed;
use crate::ops::kit::{par_chunks, par_runs};
use crate::ops::lines::Lines;
use crate::plan::CpuArgs;
use crate::ragged::Layout;
use crate::{Result, host};

use super::Wanted;

/// The number of values from which a line is sorted by several threads.
const PARALLEL: usize = 1 << 15;

/// `flip` reverses the order of keys if all its bits are set.
pub(super) fn run<T: Keyed>(
    axis: Option<usize>,
    wanted: Wanted,
    flip: i32,
    args: &mut CpuArgs<'_>,
) -> Result<()> {
    let (x, layout) = args.input::<T>(0);
    let key = |x: T| x.key() ^ flip;
    let result_of = |key: i32| T::of_key(key ^ flip);
    let total = layout.total();
    match (wanted, &mut *args.outputs) {
        (Wanted::Values, [values]) => {
            // The last word may hold one extra half.
            let out = &mut bytemuck::cast_slice_mut::<_, T>(values.words)[..total];
            each(layout, axis, x, out, |_, x| key(x), result_of)
        }
        (Wanted::Places, [places]) => {
            each(layout, axis, x, places.words, with_place(key), |both| {
                both as u32
            })
        }
        (_, [values, places, ..]) => {
            each(layout, axis, x, places.words, with_place(key), |both| {
                both as u32
            })?;
            let out = &mut bytemuck::cast_slice_mut::<_, T>(values.words)[..total];
            each(layout, axis, x, out, |_, x| key(x), result_of)
        }
        _ => unreachable!("one result, or both"),
    }
}

/// Distinct keys: the key of the value, followed by its place.
fn with_place<T>(key: impl Fn(T) -> i32) -> impl Fn(u32, T) -> u64 {
    move |place, x| u64::from((key(x) ^ i32::MIN) as u32) << 32 | u64::from(place)
}

/// Writes `of(key)` for the sorted keys of each line.
fn each<T: Keyed, K: Ord + Copy + Send + Sync, R: Send>(
    layout: &Layout,
    axis: Option<usize>,
    x: &[T],
    out: &mut [R],
    key: impl Fn(u32, T) -> K + Sync,
    of: impl Fn(K) -> R + Sync,
) -> Result<()> {
    par_runs(layout.offsets(), out, &|run, out| {
        let mut out = out;
        for element in run {
            let (own, rest) = out.split_at_mut(layout.length(element));
            out = rest;
            if own.is_empty() {
                continue;
            }
            let lines = Lines::of(layout, element, axis);
            let (count, step) = (lines.values, lines.step);
            let x = &x[layout.offsets().range(element)];
            let block = count * step;
            par_chunks(own, block, (PARALLEL / block).max(1), &|begin, out| {
                let x = &x[begin..begin + out.len()];
                let mut keys = host::room(count)?;
                for column in 0..step {
                    keys.clear();
                    let line = x[column..].iter().step_by(step);
                    keys.extend(line.zip(0..).map(|(&x, place)| key(place, x)));
                    match count < PARALLEL {
                        true => keys.sort_unstable(),
                        false => keys.par_sort_unstable(),
                    }
                    let places = out[column..].iter_mut().step_by(step);
                    places.zip(&keys).for_each(|(out, &key)| *out = of(key));
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}
