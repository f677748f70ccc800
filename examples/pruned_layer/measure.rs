//! What the example is about: the product with blocks, at each density, beside the dense one.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::{Bsr, BsrTensor, Device, Pairing, Ragged, Tensor};

use crate::check::{self, Check, Value};
use crate::layer::Layer;

/// Turns, until either is reached; the median counts.
const RUNS: usize = 31;
const TIME: Duration = Duration::from_secs(3);
/// Products that are made in a row, so that what it takes to begin is shared.
const CALLS: u32 = 4;

pub struct Measured {
    pub dense: Product,
    /// By density.
    pub pruned: Vec<Pruned>,
    /// Results that were compared with sums in f64.
    pub checked: usize,
}

pub struct Product {
    pub time: Duration,
    /// Operations, of stored values only.
    pub operations: f64,
    /// What the weights and all that was planned for them take on the device.
    pub bytes: u64,
}

pub struct Pruned {
    pub product: Product,
    pub blocks: usize,
    /// The share of the blocks that is kept.
    pub density: f64,
    /// ‖y − y'‖ / ‖y‖, of the outputs without pruning and with.
    pub error: f64,
}

impl Measured {
    /// The density at which blocks take as long as the dense product, between those that were measured. `None` where they are
    /// always faster, or never.
    pub fn break_even(&self) -> Option<f64> {
        let excess = |p: &Pruned| p.product.time.as_secs_f64() - self.dense.time.as_secs_f64();
        self.pruned.windows(2).find_map(|pair| {
            let (low, high) = (excess(&pair[0]), excess(&pair[1]));
            let share = -low / (high - low);
            let between = pair[0].density + share * (pair[1].density - pair[0].density);
            (low <= 0.0 && high > 0.0).then_some(between)
        })
    }
}

enum Weights<T: Value> {
    Dense(Tensor<T>),
    Blocks(BsrTensor<T>),
}

impl<T: Value> Weights<T> {
    /// x Wᵀ.
    fn times(&self, x: &Tensor<T>) -> vsla::Result<Tensor<T>> {
        match self {
            Weights::Dense(w) => {
                let pair = x.pair(w, Pairing::Elementwise)?;
                pair.product().transpose_right().run()
            }
            Weights::Blocks(w) => x.matmul_bsr(&w.transposed()),
        }
    }
}

/// Steps that [`all`] tells the progress of.
pub fn steps(densities: usize) -> usize {
    densities + RUNS
}

/// Checks every density, and then measures all of them in turns, so that whatever else the machine does hits each.
pub fn all<T: Value>(
    device: &Device,
    layer: &Layer,
    rows: &Ragged<T>,
    pruned: &[Bsr<T>],
    check: Check,
    progress: &ProgressBar,
) -> Result<Measured, Box<dyn Error>> {
    let x = device.upload(rows)?;
    let (outputs, batch) = (layer.shape[0], rows.shape(0).extents()[0] as usize);
    let [_, inputs] = layer.shape;
    let (dense, dense_bytes) = held(device, &x, || {
        Ok(Weights::Dense(device.upload(&layer.weights.cast(T::of))?))
    })?;
    let whole = dense.times(&x)?.download_blocking()?;
    let wide = |value: T| f64::from(value.narrow());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let whole_norm = norm(&mut whole.values().iter().map(|&y| wide(y)));
    let absolute_rows = device.upload(&rows.cast(|x| x.narrow().abs()))?;

    let (mut ways, mut found, mut checked) = (vec![dense], Vec::new(), 0);
    for weights in pruned {
        let topology = weights.topology();
        let named = |problem| format!("at a density of {:.3}: {problem}", topology.density());
        let (blocks, bytes) = held(device, &x, || {
            Ok(Weights::Blocks(device.upload_bsr(weights)?))
        })?;
        let results = blocks.times(&x)?.download_blocking()?;
        let full = weights.to_dense()?;
        let by_dense = Weights::Dense(device.upload(&full)?).times(&x)?;
        let absolute = Weights::Dense(device.upload(&full.cast(|w| w.narrow().abs()))?)
            .times(&absolute_rows)?;
        let (by_dense, absolute) = (by_dense.download_blocking()?, absolute.download_blocking()?);
        check::against_dense(&results, &by_dense, &absolute, inputs).map_err(named)?;
        checked += check::against_sums(check, rows, weights, &results).map_err(named)?;
        let mut apart = whole
            .values()
            .iter()
            .zip(results.values())
            .map(|(&whole, &pruned)| wide(whole) - wide(pruned));
        let error = norm(&mut apart) / whole_norm.max(f64::MIN_POSITIVE);
        found.push((topology.len(), topology.density(), error, bytes));
        ways.push(blocks);
        progress.inc(1);
    }

    let mut times = vec![Vec::new(); ways.len()];
    let begun = Instant::now();
    for turn in 0..RUNS {
        if turn > 0 && begun.elapsed() > TIME {
            break;
        }
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(call(device, &x, way)?);
        }
        progress.inc(1);
    }
    let mut times = times.into_iter().map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    let mut product = |stored: usize, bytes| Product {
        time: times.next().unwrap_or_default(),
        operations: 2.0 * stored as f64 * batch as f64,
        bytes,
    };
    let dense = product(outputs * inputs, dense_bytes);
    let pruned = pruned.iter().zip(found).map(|(weights, found)| {
        let (blocks, density, error, bytes) = found;
        Pruned {
            product: product(weights.set(0).len(), bytes),
            blocks,
            density,
            error,
        }
    });
    Ok(Measured {
        dense,
        pruned: pruned.collect(),
        checked,
    })
}

/// Weights that are brought to the device and used once, and what they then hold there.
fn held<T: Value>(
    device: &Device,
    x: &Tensor<T>,
    bring: impl FnOnce() -> vsla::Result<Weights<T>>,
) -> vsla::Result<(Weights<T>, u64)> {
    let before = device.memory().live;
    let weights = bring()?;
    weights.times(x)?.download_blocking()?;
    Ok((weights, device.memory().live.saturating_sub(before)))
}

/// The time of a product: of the device where it can be had, else until the result is there.
fn call<T: Value>(device: &Device, x: &Tensor<T>, weights: &Weights<T>) -> vsla::Result<Duration> {
    let started = Instant::now();
    let (last, profile) =
        device.profile(|| (0..CALLS).try_fold(None, |_, _| weights.times(x).map(Some)))?;
    let last = last?;
    if let (Some(last), true, None) = (last, device.is_gpu(), profile.device_time) {
        last.elements(0..0)?.download_blocking()?;
    }
    Ok(profile.device_time.unwrap_or_else(|| started.elapsed()) / CALLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(times: &[(f64, u64)]) -> Measured {
        let product = |micros| Product {
            time: Duration::from_micros(micros),
            operations: 1.0,
            bytes: 1,
        };
        let pruned = times.iter().map(|&(density, micros)| Pruned {
            product: product(micros),
            blocks: 1,
            density,
            error: 0.0,
        });
        Measured {
            dense: product(100),
            pruned: pruned.collect(),
            checked: 0,
        }
    }

    #[test]
    fn break_even_lies_between_two_densities() {
        let at = |times: &[_]| measured(times).break_even();
        assert_eq!(at(&[(0.0, 0), (0.5, 50), (1.0, 150)]), Some(0.75));
        assert_eq!(
            at(&[(0.2, 60), (0.4, 140), (0.6, 200)]),
            Some(0.30000000000000004)
        );
        assert_eq!(at(&[(0.2, 60), (0.4, 99)]), None);
        assert_eq!(at(&[(0.2, 160), (0.4, 199)]), None);
        assert_eq!(at(&[(0.2, 20)]), None);
    }
}
