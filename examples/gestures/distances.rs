//! The core of the example: distances from every test series to every training series, on the device.

use std::error::Error;
use std::ops::Range;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::{Device, Pairing, Ragged, Tensor};

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
    /// The device's part of that time; none on the CPU.
    pub device_time: Option<Duration>,
    pub runs: usize,
    /// A large job is split into several calls, of which `first_call` is one.
    pub calls: usize,
    /// Bytes live on the device while the results of a call are held: series, results, offsets and plans.
    pub device_bytes: u64,
    /// The same if the series of each file were padded to its longest.
    pub padded_bytes: u64,
}

/// Computes every distance; `progress` counts test series.
pub fn compute(
    device: &Device,
    test: &[Vec<f64>],
    train: &[Vec<f64>],
    progress: &ProgressBar,
) -> Result<Distances, Box<dyn Error>> {
    let job = Job::new(device, test, train)?;
    let [first_chunk, others @ ..] = job.chunks.as_slice() else {
        return Err("there is no test series".into());
    };

    let started = Instant::now();
    let first = job.call(first_chunk)?;
    let mut out = Distances {
        values: Vec::new(),
        lags: Vec::new(),
        first_call: started.elapsed(),
        wall: Duration::ZERO,
        device_time: None,
        runs: 1,
        calls: job.chunks.len(),
        device_bytes: 0,
        padded_bytes: 0,
    };
    if others.is_empty() {
        let (mut walls, mut device_times) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        while walls.is_empty() || (walls.len() < RUNS && begun.elapsed() < RUNS_TIME) {
            let started = Instant::now();
            job.call(first_chunk)?;
            walls.push(started.elapsed());
        }
        // Separate, because profiling has a small cost of its own.
        if device.is_gpu() {
            for _ in 0..walls.len() {
                device_times.extend(job.profiled(first_chunk)?.1);
            }
        }
        out.runs = walls.len();
        out.wall = median(&mut walls).unwrap_or_default();
        out.device_time = median(&mut device_times);
        out.take(first);
        progress.inc(first_chunk.len() as u64);
    } else {
        for chunk in &job.chunks {
            let started = Instant::now();
            let (part, device_time) = job.profiled(chunk)?;
            out.wall += started.elapsed();
            if let Some(time) = device_time {
                *out.device_time.get_or_insert_default() += time;
            }
            out.take(part);
            progress.inc(chunk.len() as u64);
        }
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

fn upload(device: &Device, series: &[Vec<f64>]) -> vsla::Result<Tensor<f32>> {
    // Scaled in f64 first: 1e300 is a valid measurement, but does not fit f32.
    let scaled = series.iter().map(|series| scale::by_power_of_two(series));
    device.upload(&Ragged::from_rows(scaled)?.cast(|value| value as f32)?)
}

struct Job<'a> {
    device: &'a Device,
    train: Tensor<f32>,
    /// Ranges of the test series with bounded work. They are views, so nothing is copied.
    chunks: Vec<Tensor<f32>>,
    /// Bytes that padding would add.
    padding: u64,
}

/// The results of one call, read back.
struct Part {
    values: Vec<f32>,
    lags: Vec<i32>,
    device_bytes: u64,
}

impl<'a> Job<'a> {
    fn new(device: &'a Device, test: &[Vec<f64>], train: &[Vec<f64>]) -> vsla::Result<Job<'a>> {
        let test = upload(device, test)?;
        let train = upload(device, train)?;
        let lengths = test.layout().lengths();
        let ranges = chunks(lengths, train.len(), train.layout().total() as u64);
        let view = |range| test.elements(range);
        Ok(Job {
            device,
            chunks: ranges.into_iter().map(view).collect::<Result<_, _>>()?,
            padding: padding(&test) + padding(&train),
            train,
        })
    }

    /// The distances of some test series to all training series.
    fn call(&self, chunk: &Tensor<f32>) -> vsla::Result<Part> {
        let sbd = chunk.pair(&self.train, Pairing::AllToAll)?.sbd()?;
        let device_bytes = self.device.memory().live;
        Ok(Part {
            values: sbd.distance.download_blocking()?.into_parts().1,
            lags: sbd.lag.download_blocking()?.into_parts().1,
            device_bytes,
        })
    }

    fn profiled(&self, chunk: &Tensor<f32>) -> vsla::Result<(Part, Option<Duration>)> {
        let (part, profile) = self.device.profile_blocking(|| self.call(chunk))?;
        Ok((part?, profile.device_time))
    }
}

fn padding(series: &Tensor<f32>) -> u64 {
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

    fn take(&mut self, part: Part) {
        self.values.extend(part.values);
        self.lags.extend(part.lags);
        self.device_bytes = self.device_bytes.max(part.device_bytes);
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
