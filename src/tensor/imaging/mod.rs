//! Programs of operations on images, and where they run.

mod image;
mod place;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

pub use image::{Image, ImageOperand, LabelBy, Recorder};
pub use place::{Calibration, Machine, Place};

use self::place::{Choice, Learned};
use super::Device;
use super::run::Call;
use crate::error::Named;
use crate::machine::{Traffic, Wait};
use crate::ops::imaging::code::{Capacity, STATE_OVERFLOW, STATE_VALID, Step};
use crate::ops::imaging::compile::{Compiled, Passes, compile};
use crate::ops::imaging::samples::{Batch, Collected, Samples, assemble};
use crate::ops::imaging::{Imaging, OP};
use crate::plan::check_work;
use crate::ragged::Ragged;
use crate::{Error, Result, host};

/// A recorded program of many small operations on images of different sizes, which run together.
///
/// A program runs for a batch of *samples*. Each sample has one image for each input of the program, and gets one image
/// for each output. Shapes may depend on values: see [`Image`]. The results of a sample do not depend on other samples,
/// and are the same on every device, bit for bit.
///
/// A program is compiled once, for all devices and batches. Equal operations are computed once, and those that no
/// output needs are left out. On a GPU, a run is one upload, one submission and one download, whatever the number of
/// operations; a dispatch runs all operations of one level of the program's graph, for all samples. A batch that
/// exceeds the limits of the device runs in several parts.
///
/// Cost: see [the chapter on images](crate::pages::images). For single operations on large images, use the methods of
/// [`Tensor`](crate::Tensor), such as [`label`](crate::Tensor::label).
///
/// ```
/// use vsla::image::{ImageProgram, Place};
/// use vsla::{Ragged, Shape};
///
/// // Each image beside its mirror image, and the number of its cells of value 7.
/// let program = ImageProgram::new(|r| {
///     let x = r.input();
///     r.output(&x.beside(&x.flip_columns()));
///     r.output(&x.equals(7).sum());
/// })?;
/// let shapes = [Shape::new(&[2, 1])?, Shape::new(&[1, 2])?];
/// let images = Ragged::from_shapes(vec![7, 8, 7, 7], 2, shapes)?;
/// let results = program.run_blocking(&Place::AllCores, &[&images])?;
/// assert_eq!(results.images(0).to_vecs()?, [[7, 7, 8, 8], [7, 7, 7, 7]]);
/// assert_eq!(results.images(1).values(), [1, 2]);
/// assert_eq!(results.report().invalid, 0);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Debug)]
pub struct ImageProgram {
    compiled: Arc<Compiled>,
    learned: Mutex<Learned>,
}

/// The results of a program for a batch.
#[derive(Clone, Debug)]
pub struct Results {
    states: Vec<Vec<u32>>,
    images: Vec<Ragged<i32>>,
    report: ImageReport,
}

/// What a run did, and how long it took.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ImageReport {
    /// Where the program ran.
    pub place: Machine,
    /// The number of samples.
    pub samples: usize,
    /// The operations that run for each sample, as [`ImageProgram::operations`] counts them.
    pub operations: usize,
    /// The levels of the program's graph, as [`ImageProgram::levels`] counts them.
    pub levels: usize,
    /// Dispatches recorded on the GPU during the run, including those of other threads; 0 on the CPU. A batch that
    /// exceeds the limits or the memory of the device runs in several parts, each with all levels.
    pub dispatches: usize,
    /// Buffers copied from the host to the GPU, counted in the same way: the samples, and in the first run on a device
    /// also the program.
    pub uploads: usize,
    /// Buffers of results copied to the host, counted in the same way.
    pub downloads: usize,
    /// Submissions to the GPU's queue, counted in the same way. A transfer that is larger than a
    /// staging buffer takes several.
    pub submissions: usize,
    /// The number of invalid results, of all samples and outputs.
    pub invalid: usize,
    /// The number of these that have more cells than their capacity, or that depend on such an image.
    pub overflown: usize,
    /// The time that the run was expected to take, if the place was chosen by [`Place::Auto`].
    pub predicted: Option<Duration>,
    /// The time that the run took, from the samples on the host to the results on the host.
    pub actual: Duration,
}

impl ImageProgram {
    /// Records a program.
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) if the program has no output, has an image of another program or an axis
    /// above 1, or an image of it has a capacity of 0. [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(record: impl FnOnce(&mut Recorder)) -> Result<ImageProgram> {
        ImageProgram::with_passes(Passes::ALL, record)
    }

    /// As [`new`](Self::new), with some passes of the compiler left out, for tests and benchmarks: `share` and `prune`,
    /// and `schedule` "levels", "kinds" or "whole", or "levels-4" for runs of at most four.
    #[doc(hidden)]
    pub fn with(
        share: bool,
        prune: bool,
        schedule: &str,
        record: impl FnOnce(&mut Recorder),
    ) -> Result<ImageProgram> {
        use crate::ops::imaging::compile::Schedule;
        let schedule = match schedule {
            "kinds" => Schedule::Kinds,
            "whole" => Schedule::Whole,
            other => {
                let run = other
                    .strip_prefix("levels-")
                    .and_then(|run| run.parse().ok());
                run.map_or(Passes::ALL.schedule, Schedule::Levels)
            }
        };
        ImageProgram::with_passes(
            Passes {
                share,
                prune,
                schedule,
            },
            record,
        )
    }

    fn with_passes(passes: Passes, record: impl FnOnce(&mut Recorder)) -> Result<ImageProgram> {
        let graph = Rc::default();
        let mut recorder = Recorder {
            graph: Rc::clone(&graph),
        };
        record(&mut recorder);
        let graph: &RefCell<_> = &graph;
        let graph = graph.borrow();
        if let Some((expected, found)) = &graph.wrong {
            return Err(Error::argument(expected, found).named(OP));
        }
        if graph.outputs == 0 || graph.inputs == 0 {
            return Err(Error::argument(
                "at least one call of `input` and of `output` in the program",
                format!(
                    "{} of `input` and {} of `output`",
                    graph.inputs, graph.outputs
                ),
            )
            .named(OP));
        }
        let is_nothing = |step: &Step| step.capacity == Capacity::default();
        if graph.steps.iter().any(is_nothing) {
            let expected = "capacities of at least 1 cell in `within`, `regions`, `histogram`, `palette`, `filled` \
                            and `constant`";
            return Err(Error::argument(expected, 0).named(OP));
        }
        Ok(ImageProgram {
            compiled: Arc::new(compile(&graph, passes).named(OP)?),
            learned: Mutex::default(),
        })
    }

    /// The number of operations that run for each sample. Inputs, constants, outputs, repeated operations and those
    /// that no output needs do not count.
    pub fn operations(&self) -> usize {
        self.compiled.operations()
    }

    /// The number of levels of the graph, each of which is a dispatch on a GPU. Operations of a level need only the
    /// results of earlier levels, and of up to seven operations before them in the same level.
    pub fn levels(&self) -> usize {
        self.compiled.dispatches()
    }

    /// The length of the longest chain of operations, each of which needs the result of the one before.
    pub fn depth(&self) -> usize {
        self.compiled.depth
    }

    /// Runs the program for a batch: element i of each input belongs to sample i. All images have rank 2. An empty
    /// batch has empty results.
    ///
    /// Nothing runs if an input is refused, or a sample exceeds the limits of the device.
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) if the number of inputs is not the program's; [`Rank`](crate::Error::Rank),
    /// [`BatchSize`](crate::Error::BatchSize); [`TooLarge`](crate::Error::TooLarge) with the sample whose values exceed
    /// the largest binding of the GPU; [`WorkLimit`](crate::Error::WorkLimit) if the place is a device with a limit;
    /// [`OutOfMemory`](crate::Error::OutOfMemory) if a single sample does not fit in the memory that is left,
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub async fn run(&self, place: &Place, inputs: &[&Ragged<i32>]) -> Result<Results> {
        self.ran(place, inputs, Wait::Elsewhere).await
    }

    /// The blocking form of [`run`](Self::run).
    ///
    /// # Errors
    /// Those of [`run`](Self::run); on a GPU in a browser, [`Unsupported`](crate::Error::Unsupported).
    pub fn run_blocking(&self, place: &Place, inputs: &[&Ragged<i32>]) -> Result<Results> {
        pollster::block_on(self.ran(place, inputs, Wait::Here))
    }

    /// Compiles what a run in this place needs, so that the first run does not wait for it. Blocks the thread; does
    /// nothing on the CPU.
    ///
    /// All programs share one kernel, so after one program, others need nothing more. A
    /// [`Device::calibrate`](crate::Device::calibrate) prepares its device, too.
    ///
    /// ```
    /// use vsla::Device;
    /// use vsla::image::{ImageProgram, Place};
    ///
    /// let program = ImageProgram::new(|r| {
    ///     let x = r.input();
    ///     r.output(&x.sum());
    /// })?;
    /// program.prepare(&Place::from(&Device::auto()))?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost),
    /// [`Gpu`](crate::Error::Gpu).
    pub fn prepare(&self, place: &Place) -> Result<()> {
        let Some(device) = place.device() else {
            return Ok(());
        };
        let launch = self.launched(&Batch::default()).launch().named(OP)?;
        device.prepare(OP, &launch.dispatches)
    }

    async fn ran(&self, place: &Place, inputs: &[&Ragged<i32>], wait: Wait) -> Result<Results> {
        let began = clock();
        let samples = Samples::new(&self.compiled, inputs).named(OP)?;
        if let Place::Device(device) = place {
            let work = self.compiled.work(samples.units());
            check_work(None, work, device.traits().allowed).named(OP)?;
        }
        let choice = self.choose(place, &samples);
        let ran = match choice.device {
            None => self.on_host(choice.machine, &samples),
            Some(device) => self.on_gpu(device, &samples, wait).await,
        };
        let results = self.results(&choice, samples.len, ran.named(OP)?, began);
        results.named(OP)
    }

    fn lock_learned(&self) -> MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_host(&self, machine: Machine, samples: &Samples<'_>) -> Result<Ran> {
        let all = 0..samples.len;
        let parts = match machine {
            Machine::OneCore => vec![samples.run(&self.compiled, all)?],
            _ => samples.run_in_parallel(&self.compiled, all)?,
        };
        let mut order = host::room(samples.len)?;
        for (i, part) in parts.iter().enumerate() {
            order.extend((0..part.samples).map(|sample| (i as u32, sample as u32)));
        }
        Ok((parts, order, Traffic::default()))
    }

    async fn on_gpu(&self, device: &Device, samples: &Samples<'_>, wait: Wait) -> Result<Ran> {
        let compiled = &self.compiled;
        let words = device.binding().unwrap_or(u64::MAX) / 4;
        let before = device.traffic();
        // Places are 32-bit numbers of words.
        let mut batches = samples.batches(compiled, words.min(1 << 30))?;
        batches.reverse();
        let mut parts = Vec::new();
        let mut order = host::filled((0, 0), samples.len)?;
        while let Some(batch) = batches.pop() {
            let part = match self.batch_on_gpu(device, samples, &batch, wait).await {
                // Half of the samples may fit.
                Err(Error::OutOfMemory { .. }) if batch.samples.len() > 1 => {
                    let (first, rest) = batch.samples.split_at(batch.samples.len() / 2);
                    for half in [rest, first] {
                        host::push(&mut batches, samples.batch(compiled, half)?)?;
                    }
                    continue;
                }
                part => part?,
            };
            for (k, &sample) in batch.samples.iter().enumerate() {
                order[sample as usize] = (parts.len() as u32, k as u32);
            }
            host::push(&mut parts, part)?;
        }
        Ok((parts, order, device.traffic().since(before)))
    }

    fn launched(&self, batch: &Batch) -> Imaging {
        Imaging {
            compiled: self.compiled.clone(),
            samples: batch.samples.len() as u32,
            cells: batch.size.cells,
            arena: batch.size.arena,
            results: batch.size.results,
        }
    }

    async fn batch_on_gpu(
        &self,
        device: &Device,
        samples: &Samples<'_>,
        batch: &Batch,
        wait: Wait,
    ) -> Result<Collected> {
        let compiled = &self.compiled;
        let words = device.upload(&samples.pack(compiled, batch)?)?;
        let op = self.launched(batch);
        let results = Call::new(device, op, &[words.operand()]).one::<i32>()?;
        let results = match wait {
            Wait::Here => results.download_blocking()?,
            Wait::Elsewhere => results.download().await?,
        };
        samples.unpack(compiled, batch, results.into_parts().1)
    }

    fn results(
        &self,
        choice: &Choice<'_>,
        samples: usize,
        (parts, order, traffic): Ran,
        began: Option<Instant>,
    ) -> Result<Results> {
        let outputs = self.compiled.outputs as usize;
        // A part of the results has few of many outputs, so that threads share them.
        let all = (0..outputs)
            .into_par_iter()
            .with_min_len(ASSEMBLED / samples.max(1));
        let all = all.map(|output| assemble(&self.compiled, &parts, &order, output));
        let (states, images): (Vec<_>, Vec<_>) =
            all.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let count = |wanted: fn(u32) -> bool| -> usize {
            let all = states.par_iter().with_min_len(ASSEMBLED / samples.max(1));
            all.map(|all| all.iter().filter(|state| wanted(**state)).count())
                .sum()
        };
        let actual = began.map_or(Duration::ZERO, |began| began.elapsed());
        self.lock_learned().learn(choice, actual);
        let report = ImageReport {
            place: choice.machine,
            samples,
            operations: self.operations(),
            levels: self.levels(),
            dispatches: traffic.dispatches,
            uploads: traffic.uploads,
            downloads: traffic.downloads,
            submissions: traffic.submissions,
            invalid: count(|state| state != STATE_VALID),
            overflown: count(|state| state == STATE_OVERFLOW),
            predicted: choice.predicted.map(Duration::from_secs_f64),
            actual,
        };
        Ok(Results {
            states,
            images,
            report,
        })
    }
}

/// Browsers have no such clock.
fn clock() -> Option<Instant> {
    (!cfg!(target_family = "wasm")).then(Instant::now)
}

/// Results that justify a parallel task.
const ASSEMBLED: usize = 4096;

/// What ran: the results in parts, where those of each sample are, and what a GPU was asked to do.
type Ran = (Vec<Collected>, Vec<(u32, u32)>, Traffic);

impl Results {
    /// Output `i` of all samples. Invalid images have 0 × 0 cells.
    ///
    /// # Panics
    /// If the program has no output `i`.
    pub fn images(&self, i: usize) -> &Ragged<i32> {
        &self.images[i]
    }

    /// Whether output `i` of a sample is valid.
    ///
    /// # Panics
    /// If the program has no output `i`, or the batch no such sample.
    pub fn is_valid(&self, i: usize, sample: usize) -> bool {
        self.states[i][sample] == STATE_VALID
    }

    /// Whether output `i` of a sample is invalid because it, or an image that it depends on, has more cells than its
    /// capacity.
    ///
    /// # Panics
    /// If the program has no output `i`, or the batch no such sample.
    pub fn is_overflown(&self, i: usize, sample: usize) -> bool {
        self.states[i][sample] == STATE_OVERFLOW
    }

    /// What the run did, and how long it took.
    pub fn report(&self) -> &ImageReport {
        &self.report
    }
}
