//! The core of the example: distances from every test series to every training series, on the devices.

use std::error::Error;
use std::ops::Range;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::fleet::{Cost, Fleet, Replicated};
use vsla::{Pairing, Ragged, Tensor};

use crate::scale;

/// Bounds on the pairs and multiply-adds of one call, so that a large job shows progress and uses little memory.
const CHUNK_PAIRS: usize = 1 << 20;
const CHUNK_WORK: u64 = 1 << 34;
/// A job of one call is repeated for its median time until either limit is reached.
const RUNS: usize = 51;
const RUNS_TIME: Duration = Duration::from_millis(500);

/// All distances, and their cost.
pub struct Distances {
    /// Row-major, test × train.
    pub values: Vec<f32>,
    /// The lag of each distance: by how many samples to shift the training series to the right.
    pub lags: Vec<i32>,
    /// The first call alone, which includes compilation.
    pub first_call: Duration,
    /// All pairs, with the results read back; the median of `runs` repetitions.
    pub wall: Duration,
    /// The device's part of that time; none on the CPU, and for several devices.
    pub device_time: Option<Duration>,
    pub runs: usize,
    /// A large job is split into several calls, of which `first_call` is one.
    pub calls: usize,
    /// Bytes live on all devices while the results of a call are held: series, results, offsets and plans.
    pub device_bytes: u64,
    /// The same if the series of each file were padded to its longest.
    pub padded_bytes: u64,
}

/// Computes every distance; `progress` counts test series.
pub fn compute(
    fleet: &Fleet,
    test: &[Vec<f64>],
    train: &[Vec<f64>],
    progress: &ProgressBar,
) -> Result<Distances, Box<dyn Error>> {
    if test.is_empty() {
        return Err("there is no test series".into());
    }
    let job = Job::new(fleet, test, train)?;
    let calls = job.calls();
    let started = Instant::now();
    let first = job.call(0)?;
    let mut out = Distances {
        values: Vec::new(),
        lags: Vec::new(),
        first_call: started.elapsed(),
        wall: Duration::ZERO,
        device_time: None,
        runs: 1,
        calls,
        device_bytes: 0,
        padded_bytes: 0,
    };
    let mut results = vec![Part::default(); fleet.devices().len()];
    let mut take = |parts: Vec<Part>| {
        for (all, part) in results.iter_mut().zip(parts) {
            all.values.extend(part.values);
            all.lags.extend(part.lags);
            all.device_bytes = all.device_bytes.max(part.device_bytes);
        }
    };
    if calls == 1 {
        let (mut walls, mut device_times) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        while walls.is_empty() || (walls.len() < RUNS && begun.elapsed() < RUNS_TIME) {
            let started = Instant::now();
            job.call(0)?;
            walls.push(started.elapsed());
        }
        // Separate, because profiling has a small cost of its own.
        if fleet.devices()[0].is_gpu() {
            for _ in 0..walls.len() {
                device_times.extend(job.profiled(0)?.1);
            }
        }
        out.runs = walls.len();
        out.wall = median(&mut walls).unwrap_or_default();
        out.device_time = median(&mut device_times);
        take(first);
        progress.inc(test.len() as u64);
    } else {
        for call in 0..calls {
            let started = Instant::now();
            let (parts, device_time) = job.profiled(call)?;
            out.wall += started.elapsed();
            if let Some(time) = device_time {
                *out.device_time.get_or_insert_default() += time;
            }
            let series = parts.iter().map(|part| part.values.len()).sum::<usize>() / train.len();
            progress.inc(series as u64);
            take(parts);
        }
    }
    for part in results {
        out.values.extend(part.values);
        out.lags.extend(part.lags);
        out.device_bytes += part.device_bytes;
    }
    out.padded_bytes = out.device_bytes + job.padding;
    if let Some(pair) = out.values.iter().position(|d| !d.is_finite()) {
        let (i, j) = (pair / train.len(), pair % train.len());
        let distance = out.values[pair];
        return Err(
            format!("test series {i} and training series {j} are at distance {distance}").into(),
        );
    }
    Ok(out)
}

fn batch(series: &[Vec<f64>]) -> vsla::Result<Ragged<f32>> {
    // Scaled in f64 first: 1e300 is a valid measurement, but does not fit f32.
    let scaled = series.iter().map(|series| scale::by_power_of_two(series));
    Ragged::from_rows(scaled)?.cast(|value| value as f32)
}

struct Job<'a> {
    fleet: &'a Fleet,
    train: Replicated<f32>,
    /// For each device, ranges of its test series with bounded work. They are views, so nothing is copied.
    chunks: Vec<Vec<Tensor<f32>>>,
    /// Bytes that padding would add.
    padding: u64,
}

/// The results of one device, read back.
#[derive(Clone, Default)]
struct Part {
    values: Vec<f32>,
    lags: Vec<i32>,
    device_bytes: u64,
}

impl<'a> Job<'a> {
    fn new(fleet: &'a Fleet, test: &[Vec<f64>], train: &[Vec<f64>]) -> vsla::Result<Job<'a>> {
        let (test, train) = (batch(test)?, batch(train)?);
        let parts = fleet.scatter(&test, Cost::values())?;
        let of_device = |part: &Tensor<f32>| {
            let lengths = part.layout().lengths();
            let ranges = chunks(lengths, train.len(), train.values().len() as u64);
            let views = ranges.into_iter().map(|range| part.elements(range));
            views.collect::<Result<_, _>>()
        };
        Ok(Job {
            fleet,
            chunks: parts
                .parts()
                .iter()
                .map(of_device)
                .collect::<Result<_, _>>()?,
            padding: padding(&test) + padding(&train) * fleet.devices().len() as u64,
            train: fleet.replicate(&train)?,
        })
    }

    /// The number of calls: of a device's ranges, one in each.
    fn calls(&self) -> usize {
        self.chunks.iter().map(Vec::len).max().unwrap_or_default()
    }

    /// The distances of some test series of each device to all training series.
    fn call(&self, call: usize) -> vsla::Result<Vec<Part>> {
        let devices = self.fleet.devices();
        let started = devices.iter().zip(&self.chunks).map(|(device, chunks)| {
            let sbd = match chunks.get(call) {
                Some(chunk) => Some(
                    chunk
                        .pair(self.train.on(device)?, Pairing::AllToAll)?
                        .sbd()?,
                ),
                None => None,
            };
            // All devices compute before the first is waited for.
            if devices.len() > 1 {
                device.flush()?;
            }
            Ok((sbd, device.memory().live))
        });
        let started = started.collect::<vsla::Result<Vec<_>>>()?;
        let read = started.into_iter().map(|(sbd, device_bytes)| {
            let (values, lags) = match sbd {
                Some(sbd) => (
                    sbd.distance.download_blocking()?.into_parts().1,
                    sbd.lag.download_blocking()?.into_parts().1,
                ),
                None => Default::default(),
            };
            Ok(Part {
                values,
                lags,
                device_bytes,
            })
        });
        read.collect()
    }

    /// A call, and the time that the device took, if there is only one.
    fn profiled(&self, call: usize) -> vsla::Result<(Vec<Part>, Option<Duration>)> {
        let [device] = self.fleet.devices() else {
            return Ok((self.call(call)?, None));
        };
        let (parts, profile) = device.profile_blocking(|| self.call(call))?;
        Ok((parts?, profile.device_time))
    }
}

fn padding(series: &Ragged<f32>) -> u64 {
    let layout = series.layout();
    4 * (layout.padded_total() - layout.total() as u64)
}

/// Splits test series of these lengths into ranges that stay within the bounds of one call.
fn chunks(
    lengths: impl ExactSizeIterator<Item = usize>,
    n_train: usize,
    train_total: u64,
) -> Vec<Range<usize>> {
    let end = lengths.len();
    let mut chunks = Vec::new();
    let (mut start, mut work) = (0, 0);
    for (i, length) in lengths.enumerate() {
        let more = length as u64 * train_total;
        if i > start && ((i + 1 - start) * n_train > CHUNK_PAIRS || work + more > CHUNK_WORK) {
            chunks.push(start..i);
            (start, work) = (i, 0);
        }
        work += more;
    }
    if start < end {
        chunks.push(start..end);
    }
    chunks
}

impl Distances {
    /// For each test series, the index of its nearest of the `n_train` training series; the first of several.
    pub fn nearest(&self, n_train: usize) -> Vec<usize> {
        self.values.chunks(n_train).map(first_least).collect()
    }
}

fn first_least(row: &[f32]) -> usize {
    let mut best = 0;
    for (index, distance) in row.iter().enumerate() {
        if *distance < row[best] {
            best = index;
        }
    }
    best
}

fn median(times: &mut [Duration]) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_series_within_the_bounds() {
        assert_eq!(chunks([100; 50].into_iter(), 50, 5_000), vec![0..50; 1]);
        assert_eq!(chunks([].into_iter(), 50, 5_000), []);
        // Bounded by pairs: 1,048,576 / 400,000.
        assert_eq!(
            chunks([1; 5].into_iter(), 400_000, 400_000),
            [0..2, 2..4, 4..5]
        );
        // Bounded by work: 2³⁴ / 2³², and one series that exceeds the bound alone.
        let lengths = [1 << 12, 1 << 12, 1 << 13, 1 << 12, 1 << 15, 1];
        assert_eq!(
            chunks(lengths.into_iter(), 16, 1 << 20),
            [0..3, 3..4, 4..5, 5..6]
        );
    }

    #[test]
    fn of_equal_distances_the_first_wins() {
        assert_eq!(first_least(&[0.5, 0.25, 0.25, 0.75]), 1);
        assert_eq!(first_least(&[1.0, 1.0]), 0);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let ms = Duration::from_millis;
        assert_eq!(median(&mut [ms(9), ms(1), ms(3)]), Some(ms(3)));
        assert_eq!(median(&mut []), None);
    }
}
