//! The core of the example: the block-sparse layer at each density, next to the dense one.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::{Bsr, BsrTensor, Device, Ragged, Tensor, product::Activation};

use crate::check::{self, Check, Value};
use crate::layer::Layer;

/// Repetitions stop when either limit is reached; the median is reported.
const RUNS: usize = 31;
const TIME: Duration = Duration::from_secs(3);
/// Consecutive calls in one measurement, which share the cost of starting.
const CALLS: u32 = 4;

pub struct Measured {
    pub dense: Cost,
    /// By density.
    pub pruned: Vec<Pruned>,
    /// Number of results that were compared with sums in f64.
    pub checked: usize,
}

pub struct Cost {
    pub time: Duration,
    /// Operations of the product, for stored weights only.
    pub operations: f64,
    /// Bytes of the weights on the device, including everything planned for them.
    pub bytes: u64,
}

pub struct Pruned {
    pub cost: Cost,
    pub blocks: usize,
    /// The share of the blocks that are kept.
    pub density: f64,
    /// ‖y − y'‖ / ‖y‖ of the outputs without and with pruning.
    pub error: f64,
}

impl Measured {
    /// The density, interpolated between those measured, at which blocks take as long as the dense layer. `None` if
    /// they are always faster, or never.
    pub fn break_even(&self) -> Option<f64> {
        let excess = |p: &Pruned| p.cost.time.as_secs_f64() - self.dense.time.as_secs_f64();
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

/// Everything of the layer except its weights, on a device.
struct Given<T: Value> {
    rows: Tensor<T>,
    bias: Tensor<T>,
}

impl<T: Value> Given<T> {
    fn new(device: &Device, rows: &Ragged<T>, bias: &Ragged<T>) -> vsla::Result<Given<T>> {
        Ok(Given {
            rows: device.upload(rows)?,
            bias: device.upload(bias)?,
        })
    }

    /// relu(x Wᵀ + bias).
    fn outputs(&self, weights: &Weights<T>) -> vsla::Result<Tensor<T>> {
        let Given { rows, bias } = self;
        let product = match weights {
            Weights::Dense(w) => rows.product(w),
            Weights::Blocks(w) => rows.product(w),
        };
        let product = product.transpose_right().bias(bias);
        product.activation(Activation::Relu).run()
    }
}

/// Number of steps that [`all`] reports as progress.
pub fn steps(densities: usize) -> usize {
    densities + RUNS
}

/// Checks every density, then measures all of them in turn, so that other load on the machine affects each of them.
pub fn all<T: Value>(
    device: &Device,
    layer: &Layer,
    [rows, bias]: [&Ragged<T>; 2],
    pruned: &[Bsr<T>],
    check: Check,
    progress: &ProgressBar,
) -> Result<Measured, Box<dyn Error>> {
    let given = Given::new(device, rows, bias)?;
    let (outputs, batch) = (layer.shape[0], rows.shape(0).extents()[0] as usize);
    let [_, inputs] = layer.shape;
    let (dense, dense_bytes) = held(device, &given, || {
        Ok(Weights::Dense(device.upload(&layer.weights.cast(T::of)?)?))
    })?;
    let whole = given.outputs(&dense)?.download_blocking()?;
    let wide = |value: T| f64::from(value.narrow());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let whole_norm = norm(&mut whole.values().iter().map(|&y| wide(y)));
    let magnitude = |x: T| x.narrow().abs();
    let absolute = Given::new(device, &rows.cast(magnitude)?, &bias.cast(magnitude)?)?;

    let (mut ways, mut found, mut checked) = (vec![dense], Vec::new(), 0);
    for weights in pruned {
        let topology = weights.topology();
        let named = |problem| format!("at a density of {:.3}: {problem}", topology.density());
        let (blocks, bytes) = held(device, &given, || {
            Ok(Weights::Blocks(device.upload_bsr(weights)?))
        })?;
        let results = given.outputs(&blocks)?.download_blocking()?;
        let full = weights.to_dense()?;
        let by_dense = given.outputs(&Weights::Dense(device.upload(&full)?))?;
        let sizes = Weights::Dense(device.upload(&full.cast(magnitude)?)?);
        let sizes = absolute.outputs(&sizes)?.download_blocking()?;
        let by_dense = by_dense.download_blocking()?;
        check::against_dense(&results, &by_dense, &sizes, inputs).map_err(named)?;
        checked += check::against_sums(check, rows, weights, bias, &results).map_err(named)?;
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
            times.push(call(device, &given, way)?);
        }
        progress.inc(1);
    }
    let mut times = times.into_iter().map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    let mut cost = |stored: usize, bytes| Cost {
        time: times.next().unwrap_or_default(),
        operations: 2.0 * stored as f64 * batch as f64,
        bytes,
    };
    let dense = cost(outputs * inputs, dense_bytes);
    let pruned = pruned.iter().zip(found).map(|(weights, found)| {
        let (blocks, density, error, bytes) = found;
        Pruned {
            cost: cost(weights.set(0).len(), bytes),
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

/// Uploads weights and uses them once; returns them with the memory that they then occupy.
fn held<T: Value>(
    device: &Device,
    given: &Given<T>,
    bring: impl FnOnce() -> vsla::Result<Weights<T>>,
) -> vsla::Result<(Weights<T>, u64)> {
    let before = device.memory().live;
    let weights = bring()?;
    given.outputs(&weights)?.download_blocking()?;
    Ok((weights, device.memory().live.saturating_sub(before)))
}

/// The time of a call: device time if available, otherwise the time until the result is ready.
fn call<T: Value>(
    device: &Device,
    given: &Given<T>,
    weights: &Weights<T>,
) -> vsla::Result<Duration> {
    let started = Instant::now();
    let (last, profile) = device
        .profile_blocking(|| (0..CALLS).try_fold(None, |_, _| given.outputs(weights).map(Some)))?;
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
        let cost = |micros| Cost {
            time: Duration::from_micros(micros),
            operations: 1.0,
            bytes: 1,
        };
        let pruned = times.iter().map(|&(density, micros)| Pruned {
            cost: cost(micros),
            blocks: 1,
            density,
            error: 0.0,
        });
        Measured {
            dense: cost(100),
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
