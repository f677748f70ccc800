//! The machine that a program runs on, and its choice by measured costs.

mod calibrate;

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use crate::Result;
use crate::error::Named;
use crate::ops::imaging::compile::Class;
use crate::ragged::{Layout, Ragged, Shape};
use crate::tensor::Device;

/// A machine that runs a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Machine {
    /// The calling thread.
    OneCore,
    /// All threads of rayon's pool.
    AllCores,
    /// A GPU.
    Gpu,
}

/// Where a program runs.
#[derive(Clone, Debug)]
pub enum Place {
    /// On the calling thread.
    OneCore,
    /// On all threads of rayon's pool.
    AllCores,
    /// On this device: a GPU, or all cores for the CPU.
    Device(Device),
    /// On one core, on all cores or on the calibration's device, whichever is predicted to take the least time.
    Auto(Calibration),
}

impl Place {
    /// The GPU that programs in this place may run on.
    pub(super) fn device(&self) -> Option<&Device> {
        match self {
            Place::OneCore | Place::AllCores => None,
            Place::Device(device) => Some(device).filter(|device| device.is_gpu()),
            Place::Auto(calibration) => calibration.device.as_ref(),
        }
    }
}

impl From<&Device> for Place {
    fn from(device: &Device) -> Place {
        Place::Device(device.clone())
    }
}

/// Costs of image programs on this computer and on a device, from which [`Place::Auto`] predicts times. Measured by
/// [`Device::calibrate`].
///
/// The time of a batch is predicted from the sizes of its images and the operations of the program, as if all results
/// were valid and had as many cells as their capacity. The time of an operation depends on its kind: cell by cell, with
/// neighbours, or with components. Such a prediction is often too high. Therefore, each program also remembers how long
/// its runs with [`Place::Auto`] took, for each machine and each size of batch (sizes that differ by less than about a
/// fifth count as one), and predicts by that from the second run on. A machine whose prediction is at most four times
/// the smallest one is tried three times for each size, so that it becomes known.
///
/// ```no_run
/// use vsla::Device;
/// use vsla::image::Place;
///
/// let calibration = Device::auto().calibrate()?;
/// println!("{calibration}");
/// let place = Place::Auto(calibration);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Calibration {
    device: Option<Device>,
    costs: Costs,
}

/// Costs in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    /// A call, an instruction, and a cell of a result, by class, on one core.
    call: f64,
    instruction: [f64; Class::ALL.len()],
    cell: [f64; Class::ALL.len()],
    /// A call on all cores, and how much faster these are together.
    parallel: f64,
    speedup: f64,
    gpu: Option<GpuCosts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct GpuCosts {
    /// Upload, submission and download of next to nothing.
    submission: f64,
    /// Each further dispatch.
    level: f64,
    /// A byte uploaded or downloaded.
    byte: f64,
    /// An instruction of a sample, on a full GPU, and a cell of its result, by class.
    instruction: [f64; Class::ALL.len()],
    cell: [f64; Class::ALL.len()],
}

/// The best time of a few runs, in seconds.
fn fastest(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    const TIME: Duration = Duration::from_millis(5);
    run()?;
    let began = Instant::now();
    let mut best = f64::INFINITY;
    let mut runs = 0;
    while runs == 0 || (began.elapsed() < TIME && runs < 1000) {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
        runs += 1;
    }
    Ok(best)
}

/// Squares with a side of `side` cells, with many components.
fn squares(samples: usize, side: usize) -> Result<Ragged<i32>> {
    let layout = Layout::uniform(samples, Shape::new(&[side, side])?)?;
    Ragged::from_fn(&layout, |sample, cell| ((cell * 7 + sample) % 5 % 3) as i32)
}

impl Device {
    /// Measures what image programs cost on one core, on all cores and, if it is a GPU, on this device: the latency of
    /// a call and of a submission, the rate of transfers, and the time of each operation and each cell by class of
    /// operation.
    ///
    /// Takes a few tenths of a second once the device has compiled the kernel. The result depends on what else the
    /// machine is doing. [`calibrate_conv`](Self::calibrate_conv) measures the costs of convolutions.
    ///
    /// ```no_run
    /// use vsla::Device;
    /// use vsla::image::Place;
    ///
    /// let place = Place::Auto(Device::auto().calibrate()?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) in a browser; [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub fn calibrate(&self) -> Result<Calibration> {
        Calibration::measured(self).named("calibrate")
    }
}

/// A line for each machine, with times in microseconds and nanoseconds.
impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let costs = &self.costs;
        let by_class = |f: &mut fmt::Formatter<'_>, instruction: &[f64], cell: &[f64]| {
            for class in Class::ALL {
                let at = class as usize;
                let (one, each) = (1e9 * instruction[at], 1e9 * cell[at]);
                write!(
                    f,
                    "; {}: {one:.3} ns an operation, {each:.4} ns a cell",
                    class.name()
                )?;
            }
            Ok(())
        };
        write!(f, "one core: {:.1} µs a call", 1e6 * costs.call)?;
        by_class(f, &costs.instruction, &costs.cell)?;
        let (parallel, speedup) = (1e6 * costs.parallel, costs.speedup);
        write!(
            f,
            "\nall cores: {parallel:.1} µs a call, {speedup:.1} times as fast"
        )?;
        if let Some(gpu) = &costs.gpu {
            let (submission, level) = (1e6 * gpu.submission, 1e6 * gpu.level);
            write!(
                f,
                "\nGPU: {submission:.0} µs a submission, {level:.1} µs a dispatch"
            )?;
            write!(f, ", {:.3} ns a byte transferred", 1e9 * gpu.byte)?;
            by_class(f, &gpu.instruction, &gpu.cell)?;
        }
        Ok(())
    }
}

/// The size of a batch.
#[derive(Clone, Copy, Debug)]
struct Work {
    samples: usize,
    /// Cells of all samples' largest inputs.
    cells: u64,
    /// Words of the results.
    results: u64,
}

/// Where a batch runs, and the seconds that it is expected to take.
pub(super) struct Choice<'a> {
    pub machine: Machine,
    pub device: Option<&'a Device>,
    pub size: Option<u32>,
    pub predicted: Option<f64>,
}

/// How long the runs of a program took, by machine, device and size of the batch.
#[derive(Debug, Default)]
pub(super) struct Learned(HashMap<Key, LatestRuns>);

/// A machine, the device if it is a GPU, and the size of a batch.
type Key = (Machine, Option<u64>, u32);

/// Runs of a machine after which its time is known. The first run is often slow, because caches are cold.
const TRIES: usize = 3;
/// A machine whose time is not known yet is tried if its prediction is at most so many times the smallest one.
/// Predictions may be several times too high, as for a GPU whose clock was low during the calibration.
const WORTH_A_TRY: f64 = 4.0;
/// The number of runs from which a machine's time is learned.
const LATEST: usize = 5;

/// The latest runs of a machine.
#[derive(Clone, Copy, Debug, Default)]
struct LatestRuns {
    seconds: [f64; LATEST],
    runs: usize,
}

impl LatestRuns {
    fn add(&mut self, seconds: f64) {
        self.seconds[self.runs % LATEST] = seconds;
        self.runs += 1;
    }

    /// The least of up to four runs, or the second of five: single runs that were disturbed do not count, but a machine
    /// that becomes slower does.
    fn time(&self) -> f64 {
        let mut seconds = self.seconds;
        let seconds = &mut seconds[..self.runs.min(LATEST)];
        seconds.sort_unstable_by(f64::total_cmp);
        seconds[seconds.len().saturating_sub(1) / 4]
    }
}

impl Learned {
    pub(super) fn learn(&mut self, choice: &Choice<'_>, actual: Duration) {
        let Some(size) = choice.size else { return };
        let device = choice.device.map(Device::id);
        let known = self.0.entry((choice.machine, device, size)).or_default();
        known.add(actual.as_secs_f64());
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::LatestRuns;

    fn after(seconds: &[f64]) -> f64 {
        let mut known = LatestRuns::default();
        seconds.iter().for_each(|&seconds| known.add(seconds));
        known.time()
    }

    #[apply(unit_test)]
    fn disturbed_runs_do_not_count() {
        assert_eq!(after(&[9.0]), 9.0);
        assert_eq!(after(&[9.0, 2.0, 8.0]), 2.0);
        assert_eq!(after(&[2.0, 2.1, 7.0, 2.2, 9.0]), 2.1);
    }

    #[apply(unit_test)]
    fn a_machine_that_becomes_slower_is_followed() {
        assert_eq!(after(&[1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0]), 1.0);
        assert_eq!(after(&[1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0]), 5.0);
    }
}
