//! How rows are measured.

pub mod chosen;
pub mod data;
pub mod lengths;
pub mod picture;
pub mod rates;
pub mod report;
mod size;
pub mod stats;
pub mod table;
pub mod text;

use std::cell::Cell;
use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use report::{Report, Row};
pub use size::Size;
pub use stats::Summary;
use vsla::{Device, Layout, Ragged, Shape, Tensor};

/// The result of a measurement, or an error of the harness itself.
pub type Outcome<T> = Result<T, Box<dyn Error>>;
/// The result of a comparison with the host: what was compared if everything is correct, or the first mismatch.
pub type Check = Result<String, String>;

/// The rows of the README's table, each at the beginning of a line.
const README: &str = include_str!("../readme.txt");

/// The parts in which calls in a row are timed.
pub const PARTS: usize = 7;

/// The times of copies, as multiples of the best one, that show that the clocks have risen. Where they rise no further,
/// copies run for the whole time.
const RISEN: f64 = 1.1;

/// Values per element of the tensor that reference copies read.
const CELL: usize = 1024;

/// A device, and its measurements.
pub struct Bench {
    pub device: Device,
    pub size: Size,
    filter: Filter,
    rows: Vec<Row>,
    source: Tensor<f32>,
    /// Bytes of live tensors that belong to no row.
    own: u64,
    /// The best time of the reference copy.
    reference: Duration,
    /// The best wall time of the copies that keep the device busy.
    copies: Cell<Duration>,
    /// Multiply-adds per second, if measured.
    pub multiply_adds: Option<f64>,
    /// When the last row was complete, and how long the measurements of this one took.
    since: Instant,
    measured: Duration,
}

/// Which rows to run.
enum Filter {
    All,
    /// Those whose names contain a text.
    Part(String),
    /// The one of a name.
    Exact(&'static str),
}

/// A row about to be measured.
pub struct Spec {
    pub name: &'static str,
    /// The data that it computes on, with the seeds of random data.
    pub data: String,
    /// Bytes that must be read and written.
    pub bytes: u64,
    /// Multiply-adds that must be done.
    pub multiply_adds: u64,
    /// The first call, which may include compiling and planning.
    pub first: Duration,
    pub check: Check,
}

/// The times of a call.
#[derive(Clone, Copy)]
pub struct Times {
    /// `None` if the device has no timestamps.
    pub device: Option<Summary>,
    pub wall: Summary,
    /// Time per call of many calls with a single wait at the end, if measured: no profiling, and no wait after each
    /// call.
    pub in_row: Option<Summary>,
    /// The most bytes that live tensors of the row held at one time, if measured.
    pub peak: Option<u64>,
}

impl Times {
    /// Wall times only.
    pub fn of_wall(wall: Summary) -> Times {
        Times {
            device: None,
            wall,
            in_row: None,
            peak: None,
        }
    }

    /// The time that rates are computed from. On a GPU this is the time of a dispatch, or of one call among many if
    /// that is less, because the timestamps around a dispatch make it wait for the previous one. CUDA graphs are
    /// measured in the same way.
    pub fn best_known(&self) -> Duration {
        match (self.device, self.in_row) {
            (Some(device), Some(in_row)) => device.median.min(in_row.median),
            (device, _) => device.unwrap_or(self.wall).median,
        }
    }
}

/// Waits for a device.
pub fn wait(device: &Device) -> Outcome<()> {
    device.flush()?;
    #[cfg(feature = "gpu")]
    if let Some((device, _)) = device.wgpu() {
        device.poll(vsla::device::wgpu::PollType::wait_indefinitely())?;
    }
    Ok(())
}

impl Bench {
    pub fn new(device: Device, size: Size, filter: Option<String>) -> Outcome<Bench> {
        let layout = Layout::uniform(size.source / CELL, Shape::new(&[CELL])?)?;
        let source = device.upload(&Ragged::random(&layout, 0)?)?;
        let mut bench = Bench {
            device,
            size,
            filter: filter.map_or(Filter::All, Filter::Part),
            rows: Vec::new(),
            source,
            own: 0,
            reference: Duration::MAX,
            copies: Cell::new(Duration::MAX),
            multiply_adds: None,
            since: Instant::now(),
            measured: Duration::ZERO,
        };
        bench.reference()?;
        for _ in 0..3 {
            // How fast copies can be is not known yet.
            bench.busy(Duration::MAX)?;
            bench.reference()?;
        }
        bench.since = Instant::now();
        bench.own = bench.device.memory().live;
        Ok(bench)
    }

    pub fn finish(self) -> Report {
        Report {
            device: self.device.info(),
            quick: self.size.quick,
            rows: self.rows,
        }
    }

    /// Whether a row was requested. Ask before creating its data.
    pub fn wants(&self, name: &str) -> bool {
        match &self.filter {
            Filter::All => true,
            Filter::Part(part) => name.contains(part),
            Filter::Exact(exact) => name == *exact,
        }
    }

    /// The row of this name, which `rows` runs if it has not been measured yet; `None` if this device has none.
    pub fn measured(
        &mut self,
        name: &'static str,
        rows: fn(&mut Bench) -> Outcome<()>,
    ) -> Outcome<Option<&Row>> {
        if self.rows.iter().all(|row| row.name != name) {
            let filter = std::mem::replace(&mut self.filter, Filter::Exact(name));
            let done = rows(self);
            self.filter = filter;
            done?;
        }
        Ok(self.rows.iter().find(|row| row.name == name))
    }

    /// Waits for the device.
    pub fn sync(&self) -> Outcome<()> {
        wait(&self.device)
    }

    /// Runs a call that may be the first of its kind, and returns the time until the device has finished it.
    pub fn first<R>(&self, run: impl FnOnce() -> vsla::Result<R>) -> Outcome<(R, Duration)> {
        self.sync()?;
        let began = Instant::now();
        let result = run()?;
        self.sync()?;
        Ok((result, began.elapsed()))
    }

    /// The times of a call, whose result is dropped, and the memory that it takes.
    pub fn times<R>(&self, run: impl FnMut() -> vsla::Result<R>) -> Outcome<Times> {
        self.times_in(self.size.time, run)
    }

    /// The same from runs that take about this time, each of three times: one by one, in a row, and profiled.
    fn times_in<R>(
        &self,
        time: Duration,
        mut run: impl FnMut() -> vsla::Result<R>,
    ) -> Outcome<Times> {
        self.settle(&mut run)?;
        let mut once = || -> Outcome<Duration> {
            let began = Instant::now();
            let result = run()?;
            self.sync()?;
            let time = began.elapsed();
            drop(result);
            Ok(time)
        };
        let guess = once()?.min(once()?);
        let (least, most) = self.size.runs;
        let runs = (time.as_secs_f64() / guess.as_secs_f64().max(1e-7)) as usize;
        let runs = runs.clamp(least, most);
        let wall = (0..runs).map(|_| once()).collect::<Outcome<Vec<_>>>()?;
        let in_row = match guess * PARTS as u32 >= time {
            // A part of several calls would be too long, and one of a single call is what `once` measures.
            true => wall.clone(),
            false => self.in_row(time, guess, &mut run)?,
        };
        let runs = if self.device.is_gpu() { runs } else { 1 };
        let (device, peak) = self.profiled(runs, run)?;
        Ok(Times {
            device: device.map(Summary::of),
            wall: Summary::of(wall),
            in_row: Some(Summary::of(in_row)),
            peak: Some(peak),
        })
    }

    /// Calls until no kernel runs in parts, which are slower than the whole kernel that the driver still compiles.
    fn settle<R>(&self, run: &mut impl FnMut() -> vsla::Result<R>) -> Outcome<()> {
        const LONGEST: Duration = Duration::from_secs(60);
        let began = Instant::now();
        loop {
            let (done, profile) = self.device.profile_blocking(|| run().map(drop))?;
            done?;
            let mut kernels = profile.kernels.iter();
            let Some(parts) = kernels.find(|kernel| kernel.kernel.ends_with(".parts")) else {
                return Ok(());
            };
            if began.elapsed() > LONGEST {
                return Err(format!("{} after {LONGEST:?}", parts.kernel).into());
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Times per call of parts of many calls, with a wait at the end of each part. The parts are long enough that this
    /// wait hardly matters, and as many as an interval needs.
    fn in_row<R>(
        &self,
        time: Duration,
        guess: Duration,
        run: &mut impl FnMut() -> vsla::Result<R>,
    ) -> Outcome<Vec<Duration>> {
        let calls = |each: Duration| {
            let fit = time.as_secs_f64() / each.as_secs_f64().max(1e-7) / PARTS as f64;
            (fit as usize).clamp(1, 2000)
        };
        let mut part = |calls: usize| -> Outcome<Duration> {
            let began = Instant::now();
            for _ in 0..calls {
                run()?;
            }
            self.sync()?;
            Ok(began.elapsed() / calls as u32)
        };
        // Without a wait after each, calls may take much less time than was guessed.
        let each = part(calls(guess))?;
        (0..PARTS).map(|_| part(calls(each))).collect()
    }

    /// Device times of `runs` calls, submitted together so that the device is never idle, and the most bytes that live
    /// tensors held meanwhile, without those of the harness.
    pub fn profiled<R>(
        &self,
        runs: usize,
        mut run: impl FnMut() -> vsla::Result<R>,
    ) -> Outcome<(Option<Vec<Duration>>, u64)> {
        let (done, profile) = self
            .device
            .profile_blocking(|| (0..runs).try_for_each(|_| run().map(drop)))?;
        done?;
        let peak = profile.peak.saturating_sub(self.own);
        if profile.device_time.is_none() {
            return Ok((None, peak));
        }
        let kernels = profile.kernels.len();
        if kernels == 0 || kernels % runs != 0 {
            return Err(format!("{kernels} kernels in {runs} runs").into());
        }
        let times = profile.kernels.chunks(kernels / runs);
        let times = times.map(|run| run.iter().map(|k| k.time).sum()).collect();
        Ok((Some(times), peak))
    }

    /// Keeps the device busy until its clocks have risen.
    pub fn warm(&self) -> Outcome<()> {
        self.busy(self.size.warm / 10)
    }

    /// Copies until copies as fast as the best ones took this long together, or all took the time for that.
    fn busy(&self, enough: Duration) -> Outcome<()> {
        let copied = self.copied(self.size.reference)?;
        let began = Instant::now();
        let mut fast = Duration::ZERO;
        while began.elapsed() < self.size.warm && fast < enough {
            let started = Instant::now();
            for _ in 0..8 {
                copied.copy()?;
            }
            self.sync()?;
            let took = started.elapsed();
            self.copies.set(self.copies.get().min(took));
            if took <= self.copies.get().mul_f64(RISEN) {
                fast += took;
            }
        }
        Ok(())
    }

    /// A tensor whose copy reads and writes `bytes` bytes.
    fn copied(&self, bytes: u64) -> Outcome<Tensor<f32>> {
        let cells = (bytes as usize / 8)
            .div_ceil(CELL)
            .clamp(1, self.source.len());
        Ok(self.source.elements(0..cells)?)
    }

    /// Times a copy that reads and writes `bytes` bytes in total, as a reference for operations that move as many.
    pub fn copy(&self, bytes: u64) -> Outcome<Times> {
        let copied = self.copied(bytes)?;
        let moved = copied.layout().total() as f64 * 8.0;
        let mut times = self.times_in(self.size.time / 3, || copied.copy())?;
        // Cells are whole, and the source may be smaller than requested.
        let scale = bytes as f64 / moved;
        times.wall = times.wall.scaled(scale);
        times.device = times.device.map(|time| time.scaled(scale));
        times.in_row = times.in_row.map(|time| time.scaled(scale));
        Ok(times)
    }

    /// The source tensor of a copy, and the bytes that copying it reads and writes, for the rows about copies.
    pub fn copy_source(&self, bytes: u64) -> Outcome<(Tensor<f32>, u64)> {
        let copied = self.copied(bytes)?;
        let moved = copied.layout().total() as u64 * 8;
        Ok((copied, moved))
    }

    /// Times the reference copy.
    fn reference(&mut self) -> Outcome<Duration> {
        let time = self.copy(self.size.reference)?.best_known();
        self.reference = self.reference.min(time);
        Ok(time)
    }

    /// Measures with warm clocks, between two reference copies; repeats once if these were slow on a GPU.
    pub fn beside<T>(
        &mut self,
        mut measure: impl FnMut(&mut Bench) -> Outcome<T>,
    ) -> Outcome<(T, [Duration; 2])> {
        let measured = self.round(&mut measure)?;
        match self.steady(measured.1) || !self.device.is_gpu() {
            true => Ok(measured),
            false => self.round(&mut measure),
        }
    }

    fn round<T>(
        &mut self,
        measure: &mut impl FnMut(&mut Bench) -> Outcome<T>,
    ) -> Outcome<(T, [Duration; 2])> {
        let began = Instant::now();
        self.warm()?;
        let before = self.reference()?;
        let measured = measure(self)?;
        // A device that waited for the host lowers its clocks.
        if began.elapsed() > self.size.warm * 2 {
            self.warm()?;
        }
        let after = self.reference()?;
        self.measured += began.elapsed();
        Ok((measured, [before, after]))
    }

    /// Whether the reference copies around a row took at most a tenth longer than their best time. On the CPU, which
    /// other programs share, a quarter longer is allowed.
    pub fn steady(&self, reference: [Duration; 2]) -> bool {
        let slack = if self.device.is_gpu() { RISEN } else { 1.25 };
        let most = self.reference.mul_f64(slack);
        self.size.quick || reference.iter().all(|time| *time <= most)
    }

    /// Measures a call, and a copy of the same footprint.
    pub fn measure<R>(
        &mut self,
        spec: Spec,
        mut run: impl FnMut() -> vsla::Result<R>,
    ) -> Outcome<Row> {
        let bytes = spec.bytes;
        let ((times, copy), reference) = self.beside(|bench| {
            let copy = bench.copy(bytes)?;
            Ok((bench.times(&mut run)?, copy))
        })?;
        let mut row = self.row(spec, times, reference);
        row.copy = Some(copy.best_known());
        row.percent_of_copy =
            Some(100.0 * copy.best_known().as_secs_f64() / times.best_known().as_secs_f64());
        Ok(row)
    }

    /// Builds a row from measured times.
    pub fn row(&self, spec: Spec, times: Times, reference: [Duration; 2]) -> Row {
        let seconds = times.best_known().as_secs_f64();
        Row {
            name: spec.name,
            device: if self.device.is_gpu() { "gpu" } else { "cpu" },
            data: spec.data,
            bytes: spec.bytes,
            multiply_adds: spec.multiply_adds,
            times,
            first: Some(spec.first),
            copy: None,
            percent_of_copy: None,
            percent_of_multiply_adds: self
                .multiply_adds
                .filter(|_| spec.multiply_adds > 0)
                .map(|peak| rates::percent(spec.multiply_adds, seconds, peak)),
            percent_of_instructions: None,
            reference,
            reference_best: self.reference,
            steady: self.steady(reference),
            targets: Vec::new(),
            check: spec.check,
            batches: Vec::new(),
            memory: None,
            notes: Vec::new(),
            took: [Duration::ZERO; 2],
        }
    }

    /// Records a row. An impossible rate is an error: the measurement did not time what it should.
    pub fn push(&mut self, mut row: Row) {
        // The best reference time may have improved since the row was built.
        row.steady = self.steady(row.reference);
        row.reference_best = self.reference;
        if self.size.quick {
            row.targets.clear();
        } else if row.check.is_ok() && self.device.is_gpu() {
            let best = self.size.reference as f64 / self.reference.as_secs_f64();
            let rate = row.bytes as f64 / row.times.best_known().as_secs_f64();
            let in_cache = row.bytes < self.size.reference / 8;
            let copy = row.percent_of_copy.unwrap_or(0.0);
            let work = row.percent_of_multiply_adds;
            let work = work.or(row.percent_of_instructions).unwrap_or(0.0);
            // Reads alone are up to a tenth faster than reads and writes.
            if (rate > 1.2 * best && !in_cache)
                || (copy > 120.0 && rate > best)
                || rates::is_impossible(work)
            {
                row.check = Err(format!(
                    "an impossible rate: {copy:.0} % of a copy, {work:.0} % of the multiply-adds"
                ));
            }
        }
        row.memory = row.packed_and_padded();
        row.took = [self.since.elapsed(), std::mem::take(&mut self.measured)];
        self.since = Instant::now();
        // Layouts keep memory of the device, and only the README's rows are looked at again.
        if !README
            .lines()
            .any(|line| line.split(' ').next() == Some(row.name))
        {
            row.batches.clear();
        }
        eprintln!("{}", row.line());
        self.rows.push(row);
    }
}
