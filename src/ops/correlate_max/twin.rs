//! The CPU's search for the best lag.

use rayon::prelude::*;

use super::normalize::{blocked_sum, normalize};
use crate::cpu::Workspace;
use crate::ops::choice::Choices;
use crate::ops::conv::{Engine, directly, result_length};
use crate::ops::kit::par_runs;
use crate::plan::CpuArgs;
use crate::ragged::Layout;
use crate::{Result, host};

/// Lags per tile.
const TILE: usize = 4096;

/// The index if there is no value.
const NOWHERE: usize = usize::MAX;

/// The same constants as in shaders/correlate_max/mod.wgsl.
const ALIKE: f32 = 0.7;
const RIVALS: usize = 32;
const RIVALRY: f32 = 2e-6;

/// A value and its index.
#[derive(Clone, Copy)]
struct Best {
    value: f32,
    index: usize,
}

impl Best {
    const NONE: Best = Best {
        value: f32::NEG_INFINITY,
        index: NOWHERE,
    };

    /// The better of the two: NaN first, then the larger value, then the lower index.
    fn or(self, other: Best) -> Best {
        let wins = match (self.value.is_nan(), other.value.is_nan()) {
            (false, false) if self.value == other.value => other.index < self.index,
            (false, false) => other.value > self.value,
            (true, true) => other.index < self.index,
            (_, other_nan) => other_nan,
        };
        if wins { other } else { self }
    }
}

pub(super) fn largest(args: &mut CpuArgs<'_>, choices: &Choices) -> Result<()> {
    let (a, a_layout) = args.input::<f32>(0);
    let (b, b_layout) = args.input::<f32>(1);
    let pairs = args.pairs();
    let engine = Engine::new(choices);
    run(args, f32::NEG_INFINITY, |pair| {
        let (i, j) = pairs.get(pair);
        let a = &a[a_layout.offsets().range(i)];
        let b = &b[b_layout.offsets().range(j)];
        let best = best_lag((&engine, pair), (a, b), |_, best| best)?;
        Ok((best, b.len()))
    })
}

pub(super) fn distance(args: &mut CpuArgs<'_>, choices: &Choices) -> Result<()> {
    let (a, a_layout) = args.input::<f32>(0);
    let (b, b_layout) = args.input::<f32>(1);
    let a = normalized(a, a_layout)?;
    let b = normalized(b, b_layout)?;
    let pairs = args.pairs();
    let engine = Engine::new(choices);
    run(args, 1.0, |pair| {
        let (i, j) = pairs.get(pair);
        let a = &a[a_layout.offsets().range(i)];
        let b = &b[b_layout.offsets().range(j)];
        let best = best_lag((&engine, pair), (a, b), |values, best| {
            if best.value > ALIKE {
                refine(a, b, values, best)
            } else {
                Best {
                    value: best.value - 1.0,
                    ..best
                }
            }
        })?;
        let distance = Best {
            value: -best.value,
            ..best
        };
        Ok((distance, b.len()))
    })
}

/// Every element, scaled to unit norm.
fn normalized(values: &[f32], layout: &Layout) -> Result<Vec<f32>> {
    let mut normalized = host::zeroed::<f32>(layout.total())?;
    par_runs(layout.offsets(), &mut normalized, &|run, mut normalized| {
        for element in run {
            let range = layout.offsets().range(element);
            let (own, rest) = normalized.split_at_mut(range.len());
            normalize(&values[range], own);
            normalized = rest;
        }
        Ok(())
    })?;
    Ok(normalized)
}

/// Fills both results from the best value and index of every pair.
fn run(
    args: &mut CpuArgs<'_>,
    none: f32,
    best: impl Fn(usize) -> Result<(Best, usize)> + Sync,
) -> Result<()> {
    let [values, lags] = args.outputs else {
        return Ok(());
    };
    let values: &mut [f32] = bytemuck::cast_slice_mut(values.words);
    let lags: &mut [i32] = bytemuck::cast_slice_mut(lags.words);
    values
        .par_iter_mut()
        .zip(lags)
        .enumerate()
        .try_for_each(|(pair, (value, lag))| {
            let (best, b_len) = best(pair)?;
            if best.index == NOWHERE {
                (*value, *lag) = (none, i32::MIN);
            } else {
                // Lengths fit u32, and the plan has checked that lags fit i32.
                (*value, *lag) = (best.value, (best.index as i64 - (b_len as i64 - 1)) as i32);
            }
            Ok(())
        })
}

/// The best over all lags. `tile` receives the best of each tile of correlations, and may replace it.
fn best_lag(
    (engine, pair): (&Engine<'_>, usize),
    (a, b): (&[f32], &[f32]),
    tile: impl Fn((usize, &[f32]), Best) -> Best + Sync,
) -> Result<Best> {
    let lags = result_length(a.len(), b.len());
    let best_of = |start: usize, values: &[f32]| {
        let all = values.iter().enumerate().map(|(i, &value)| Best {
            value,
            index: start + i,
        });
        tile((start, values), all.fold(Best::NONE, Best::or))
    };
    if !engine.transforms(pair) {
        let tiles = (0..lags.div_ceil(TILE)).into_par_iter().map(|t| {
            let within = t * TILE..lags.min((t + 1) * TILE);
            let mut values = [0.0; TILE];
            let values = &mut values[..within.len()];
            directly((a, b), true, within.clone(), values)?;
            Ok(best_of(within.start, values))
        });
        return tiles.try_reduce(|| Best::NONE, |best, other| Ok(best.or(other)));
    }
    let mut values = host::zeroed::<f32>(lags)?;
    Workspace::with(|workspace| engine.convolve(pair, (a, b), true, workspace, &mut values))?;
    let tiles = values.par_chunks(TILE).enumerate();
    let best = tiles
        .map(|(t, values)| best_of(t * TILE, values))
        .reduce(|| Best::NONE, Best::or);
    Ok(best)
}

/// Minus the distance at the best lag, or at a rival lag with a smaller distance: see shaders/correlate_max/mod.wgsl.
fn refine(a: &[f32], b: &[f32], (start, values): (usize, &[f32]), best: Best) -> Best {
    let mut rivals: Vec<Best> = values
        .iter()
        .enumerate()
        .filter(|(_, value)| **value >= best.value - RIVALRY)
        .map(|(i, &value)| Best {
            value,
            index: start + i,
        })
        .take(RIVALS + 1)
        .collect();
    if rivals.len() > RIVALS {
        rivals = vec![best];
    }
    rivals
        .into_iter()
        .map(|rival| {
            let sine2 = residual(a, b, rival).min(1.0);
            Best {
                value: -(sine2 / (1.0 + (1.0 - sine2).sqrt())),
                index: rival.index,
            }
        })
        .fold(Best::NONE, Best::or)
}

/// Σ_i (a_i − β b_{i−lag})² over all i where either operand has a value; β is the correlation.
fn residual(a: &[f32], b: &[f32], Best { value, index }: Best) -> f32 {
    let lag = index as isize - (b.len() as isize - 1);
    let first = lag.min(0);
    let end = (a.len() as isize).max(b.len() as isize + lag);
    let at = |x: &[f32], i: isize| {
        usize::try_from(i)
            .ok()
            .and_then(|i| x.get(i).copied())
            .unwrap_or(0.0)
    };
    blocked_sum((end - first) as usize, |i| {
        let i = first + i as isize;
        let d = at(a, i) - value * at(b, i - lag);
        d * d
    })
}
