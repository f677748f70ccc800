//! Programs of operations on images, and where they run.

mod image;
mod place;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use image::{Alike, Image, Operand, Recorder};
pub use place::{Calibration, Place};

use self::place::{Choice, Learned};
use super::Device;
use super::run::Call;
use rayon::prelude::*;

use crate::ops::Op;
use crate::ops::imaging::code::{OVERFLOW, VALID_STATE};
use crate::ops::imaging::compile::{Compiled, Passes, compile};
use crate::ops::imaging::samples::{Batch, Collected, Samples, assemble};
use crate::ops::imaging::{Imaging, OP};
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
/// use vsla::image::{Place, Program};
/// use vsla::{Ragged, Shape};
///
/// // Each image beside its mirror image, and the number of its cells of value 7.
/// let program = Program::new(|r| {
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
pub struct Program {
    compiled: Arc<Compiled>,
    learned: Mutex<Learned>,
}

/// The results of a program for a batch.
#[derive(Clone, Debug)]
pub struct Results {
    states: Vec<Vec<u32>>,
    images: Vec<Ragged<i32>>,
    report: Report,
}

/// What a run did, and how long it took.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// Where the program ran.
    pub place: Machine,
    /// The number of samples.
    pub samples: usize,
    /// The operations that run for each sample, as [`Program::operations`] counts them.
    pub operations: usize,
    /// The levels of the program's graph, as [`Program::levels`] counts them.
    pub levels: usize,
    /// Dispatches of the GPU; 0 on the CPU. A batch that exceeds the device's limits runs in several parts, each with
    /// all levels.
    pub dispatches: usize,
    /// Uploads of samples; 0 on the CPU. The first run on a device also copies the program there.
    pub uploads: usize,
    /// Downloads of results; 0 on the CPU.
    pub downloads: usize,
    /// Submissions to the GPU's queue; 0 on the CPU.
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

impl Program {
    /// Records a program.
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) if the program has no output, has an image of another program or an axis
    /// above 1, or an image of it has a capacity of 0. [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(record: impl FnOnce(&mut Recorder)) -> Result<Program> {
        Program::with_passes(Passes::ALL, record)
    }

    /// As [`new`](Self::new), with some passes of the compiler left out, for tests and benchmarks: `share` and `prune`,
    /// and `schedule` "levels", "kinds" or "whole", or "levels-4" for runs of at most four.
    #[doc(hidden)]
    pub fn with(
        share: bool,
        prune: bool,
        schedule: &str,
        record: impl FnOnce(&mut Recorder),
    ) -> Result<Program> {
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
        Program::with_passes(
            Passes {
                share,
                prune,
                schedule,
            },
            record,
        )
    }

    fn with_passes(passes: Passes, record: impl FnOnce(&mut Recorder)) -> Result<Program> {
        let graph = Rc::default();
        let mut recorder = Recorder {
            graph: Rc::clone(&graph),
        };
        record(&mut recorder);
        let graph: &RefCell<_> = &graph;
        let graph = graph.borrow();
        if let Some((expected, found)) = &graph.wrong {
            return Err(Error::argument(OP, expected, found));
        }
        if graph.outputs == 0 || graph.inputs == 0 {
            return Err(Error::argument(
                OP,
                "a program with inputs and outputs",
                "one without",
            ));
        }
        if let Some(step) = graph
            .steps
            .iter()
            .find(|step| step.capacity == Default::default())
        {
            let name = step.opcode.name();
            return Err(Error::argument(
                OP,
                "capacities of at least 1 cell",
                format!("0 for {name}"),
            ));
        }
        Ok(Program {
            compiled: Arc::new(compile(&graph, passes)?),
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
    /// the largest binding of the GPU; [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    pub async fn run(&self, place: &Place, inputs: &[&Ragged<i32>]) -> Result<Results> {
        let began = clock();
        let samples = Samples::new(&self.compiled, inputs)?;
        let choice = self.choose(place, &samples);
        let ran = match choice.device {
            None => self.on_host(choice.machine, &samples)?,
            Some(device) => self.on_gpu(device, &samples).await?,
        };
        self.results(&choice, samples.len, ran, began)
    }

    /// The blocking form of [`run`](Self::run).
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_blocking(&self, place: &Place, inputs: &[&Ragged<i32>]) -> Result<Results> {
        let began = clock();
        let samples = Samples::new(&self.compiled, inputs)?;
        let choice = self.choose(place, &samples);
        let ran = match choice.device {
            None => self.on_host(choice.machine, &samples)?,
            Some(device) => pollster::block_on(self.on_gpu(device, &samples))?,
        };
        self.results(&choice, samples.len, ran, began)
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
        let mut order = host::room(OP, samples.len)?;
        for (i, part) in parts.iter().enumerate() {
            order.extend((0..part.len()).map(|sample| (i as u32, sample as u32)));
        }
        Ok((parts, order, Counts::default()))
    }

    async fn on_gpu(&self, device: &Device, samples: &Samples<'_>) -> Result<Ran> {
        let compiled = &self.compiled;
        let words = device.binding().unwrap_or(u64::MAX) / 4;
        // Places are 32-bit numbers of words.
        let batches = samples.batches(compiled, words.min(1 << 30))?;
        let mut parts = host::room(OP, batches.len())?;
        let mut order = host::filled(OP, (0, 0), samples.len)?;
        for (i, batch) in batches.iter().enumerate() {
            parts.push(self.batch_on_gpu(device, samples, batch).await?);
            for (k, &sample) in batch.samples.iter().enumerate() {
                order[sample as usize] = (i as u32, k as u32);
            }
        }
        let runs = batches.len();
        let counts = Counts {
            runs,
            dispatches: runs * compiled.dispatches(),
        };
        Ok((parts, order, counts))
    }

    async fn batch_on_gpu(
        &self,
        device: &Device,
        samples: &Samples<'_>,
        batch: &Batch,
    ) -> Result<Collected> {
        let compiled = &self.compiled;
        let words = device.upload(&samples.pack(compiled, batch)?)?;
        let op = Op::Imaging(Imaging {
            compiled: compiled.clone(),
            samples: batch.samples.len() as u32,
            cells: batch.cells,
            arena: batch.arena,
            results: batch.results,
        });
        let results = Call::new(device, op, &[words.operand()]).one::<i32>()?;
        let (_, results) = results.download().await?.into_parts();
        samples.unpack(compiled, batch, results)
    }

    fn results(
        &self,
        choice: &Choice<'_>,
        samples: usize,
        (parts, order, counts): Ran,
        began: Option<Instant>,
    ) -> Result<Results> {
        let outputs = self.compiled.outputs as usize;
        // A part of the results has few of many outputs, so that threads share them.
        let all = (0..outputs)
            .into_par_iter()
            .with_min_len(ASSEMBLED / samples.max(1));
        let all = all.map(|output| assemble(&parts, &order, output));
        let (states, images): (Vec<_>, Vec<_>) =
            all.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let count = |wanted: fn(u32) -> bool| {
            let all = states.iter().flatten();
            all.filter(|state| wanted(**state)).count()
        };
        let actual = began.map_or(Duration::ZERO, |began| began.elapsed());
        self.lock_learned()
            .learn(choice.machine, choice.size, actual);
        let report = Report {
            place: choice.machine,
            samples,
            operations: self.operations(),
            levels: self.levels(),
            dispatches: counts.dispatches,
            uploads: counts.runs,
            downloads: counts.runs,
            submissions: counts.runs,
            invalid: count(|state| state != VALID_STATE),
            overflown: count(|state| state == OVERFLOW),
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

/// What ran: the results in parts, and where those of each sample are.
type Ran = (Vec<Collected>, Vec<(u32, u32)>, Counts);

/// What a GPU was asked to do.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    runs: usize,
    dispatches: usize,
}

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
        self.states[i][sample] == VALID_STATE
    }

    /// Whether output `i` of a sample is invalid because it, or an image that it depends on, has more cells than its
    /// capacity.
    ///
    /// # Panics
    /// If the program has no output `i`, or the batch no such sample.
    pub fn is_overflown(&self, i: usize, sample: usize) -> bool {
        self.states[i][sample] == OVERFLOW
    }

    /// What the run did, and how long it took.
    pub fn report(&self) -> &Report {
        &self.report
    }
}
