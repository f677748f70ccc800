//! Programs: operations recorded once, planned for the layouts of a batch, and run again and again.
//!
//! A [`Program`] is a function from tensors to tensors. It is recorded for the layouts of its inputs: every method of
//! [`Tensor`](crate::Tensor), [`Paired`](crate::Paired) and the builders works on the inputs of a [`Recording`]: it
//! checks shapes as usual, and computes nothing. [`Program::plan`] turns the recording into a [`Plan`]: operations that
//! no output needs are dropped, equal ones are merged, and all values in between share one arena. [`Plan::run`] runs
//! it, without planning and without allocating memory other than for outputs that the caller still holds.
//!
//! ```
//! use vsla::program::Program;
//! use vsla::{Device, Pairing, Ragged, Tensor};
//!
//! let device = Device::auto();
//! // A step of gradient descent: one filter for recordings of different lengths.
//! let step = Program::new(&device, |r| {
//!     let x: Tensor<f32> = r.input()?;
//!     let target: Tensor<f32> = r.input()?;
//!     let filter: Tensor<f32> = r.input()?;
//!     let rate: Tensor<f32> = r.input()?;
//!     let miss = filter.pair(&x, Pairing::OneToAll)?.conv()?.sub(&target)?;
//!     let loss = miss.dot(&miss)?;
//!     let [slope] = r.gradients(&loss, [&filter])?;
//!     r.output(&loss)?;
//!     r.output(&filter.sub(&slope.scale_by(&rate)?)?)
//! });
//!
//! let x = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![1.0]])?)?;
//! let target = device.upload(&Ragged::from_rows([vec![2.0f32, 5.0, 2.0], vec![2.0, 1.0]])?)?;
//! let mut filter = device.upload(&Ragged::from_rows([[0.0f32, 0.0]])?)?;
//! let rate = device.upload(&Ragged::from_rows([[0.05f32]])?)?;
//! let plan = step.plan(&[x.layout(), target.layout(), filter.layout(), rate.layout()])?;
//! for _ in 0..100 {
//!     filter = plan.run(&[&x, &target, &filter, &rate])?.get(1)?;
//! }
//! let learned = filter.download_blocking()?;
//! assert!((learned.row(0)[0] - 2.0).abs() < 1e-3 && (learned.row(0)[1] - 1.0).abs() < 1e-3);
//! # Ok::<(), vsla::Error>(())
//! ```
//!
//! [The guide](crate::pages::programs) introduces programs step by step.
//!
//! # What runs
//! A plan gives the same bits as the same calls one by one. A run is recorded into the device's queue, in order, like
//! any other work: `run` does not wait. The plan holds its kernels, their parameters, bind groups and memory, so on a
//! GPU a run costs the host less than a microsecond per operation, whatever the operations are.
//!
//! The function can use tensors that exist already; they become constants, which [`Report`] names. An operation on
//! constants alone is not recorded: it runs whenever a plan is made. A method without operands, such as
//! [`Device::arange`](crate::Device::arange), is recorded on the thread that records (see [Threads](#threads)). Scalar
//! arguments of methods, including seeds, are fixed in the plan. Pass numbers that change from run to run as inputs,
//! and multiply by them with [`Tensor::scale_by`](crate::Tensor::scale_by). Methods that read values back (`download`,
//! `shrink`, `degree`, `minimal_shape`, `equivalent`) give [`Error::Recording`].
//!
//! # Threads
//! An operation on a value of a recording belongs to that recording, on any thread, so a function may divide its work
//! among threads or jobs of rayon. The order in which they record may vary: results have the same bits, but the size of
//! the arena may differ.
//!
//! A method without operands belongs to the recording of the thread that called [`Program::plan`]. On other threads,
//! and on a thread of a rayon pool, it runs whenever a plan is made, and its result is a constant. The reason is that a
//! thread of a pool may run other jobs while it waits, which are no part of the recording.
//!
//! # Batches that never repeat
//! A plan belongs to the layouts of its inputs. [`Program::plan`] records the function again for each new set of
//! layouts. State that does not depend on the layouts belongs to the program: the arena, which only grows, and on a GPU
//! the bind groups. So planning costs a few microseconds per operation, and can be done on another thread while the
//! previous plan runs. The first run of a plan costs little more than later ones. [`Program::reserve`] grows the arena
//! in advance.
//!
//! # Gradients
//! [`Recording::gradients`] records the operations that compute derivatives, so they share the arena and the run with
//! everything else, and can be differentiated again. Each gradient has the layout of its operand, without padding. [The
//! table of operations](crate::pages::operations) says which operations have gradients. A value that a gradient needs
//! stays in the arena until the gradient is computed; with [`Recording::recompute`], it is computed again instead.
//!
//! The gradient of a sum over the elements of a batch is the sum of the gradients of its parts. Several devices that
//! each take a part of a batch can therefore train one model: see [`DataParallel`](crate::fleet::DataParallel).

mod frame;
mod fuse;
mod given;
mod gradients;
mod graph;
mod inputs;
mod names;
mod passes;
mod plan;
mod recording;
mod report;
mod shared;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use inputs::uploaded;
pub use inputs::{HostOutputs, HostValue, Outputs, State, Value};
pub use passes::Passes;
pub use plan::Plan;
pub use report::{Bytes, Report, Step};

use crate::error::Count;
use crate::ragged::Layout;
use crate::tensor::{Device, Trace};
use crate::{Error, Result};
use names::PLAN;
use shared::Shared;

pub use recording::Recording;
pub use shared::Counters;

/// A function from tensors to tensors on one device, which is recorded once for each set of layouts. Cheap to clone.
///
/// See the [module](self) for an example.
#[derive(Clone)]
pub struct Program {
    shared: Arc<Shared>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({:?})", self.shared.device)
    }
}

impl Program {
    /// Makes a program of this function, and records nothing yet.
    ///
    /// The function runs once for each plan, on the thread that calls [`plan`](Self::plan); see
    /// [Threads](self#threads). It gets its operands from [`Recording::input`] and passes its results to
    /// [`Recording::output`].
    pub fn new(
        device: &Device,
        body: impl Fn(&mut Recording) -> Result<()> + Send + Sync + 'static,
    ) -> Program {
        let passes = Passes {
            fuse: !device.is_software(),
            ..Passes::default()
        };
        Program::with_passes(device, passes, body)
    }

    /// Does the same as [`new`](Self::new), with some optimizations turned off, for tests and to measure what they
    /// gain. Results have the same bits.
    pub fn with_passes(
        device: &Device,
        passes: Passes,
        body: impl Fn(&mut Recording) -> Result<()> + Send + Sync + 'static,
    ) -> Program {
        Program {
            shared: Arc::new(Shared {
                device: device.clone(),
                body: Box::new(body),
                passes,
                frame: Mutex::default(),
                counters: Mutex::default(),
                operations: AtomicUsize::new(0),
            }),
        }
    }

    /// The device that the program runs on.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Records the function for inputs of these layouts, in order, and plans its runs. Runs plan nothing.
    ///
    /// Cost: that of planning each operation; nothing runs on the device except copies of metadata. Kernels that the
    /// device has not compiled yet are compiled now, on all cores. So a service can prepare before its first request:
    /// it plans its programs for layouts like those that will occur, if necessary on a separate thread.
    ///
    /// # Errors
    /// Those of the function and of its operations, and those of a GPU that is out of memory.
    /// [`Recording`](Error::Recording) when the function takes more or fewer inputs than there are layouts, or has no
    /// output, and for tensors of another recording. After an error, earlier plans still work.
    pub fn plan(&self, inputs: &[&Layout]) -> Result<Plan> {
        let operations = &self.shared.operations;
        let before = operations.load(Ordering::Relaxed);
        let (trace, active) = Trace::begin(&self.shared.device, before)?;
        let mut recording = Recording {
            trace: trace.clone(),
            layouts: inputs.iter().map(|layout| (*layout).clone()).collect(),
            taken: 0,
        };
        (self.shared.body)(&mut recording)?;
        if recording.taken < inputs.len() {
            return Err(Error::recording(format!(
                    "the program takes {}, but got {}; pass a layout for each input and three for each cache",
                    Count(recording.taken, "input"),
                    Count(inputs.len(), "layout")
                ),
            ).named(PLAN));
        }
        let graph = trace.close();
        drop(active);
        operations.store(graph.nodes.len(), Ordering::Relaxed);
        let plan = Plan::new(&self.shared, graph)?;
        self.shared.count(|counters| counters.plans += 1);
        Ok(plan)
    }

    /// Grows the arena to the size that inputs of these layouts need, so that later plans need not grow it.
    ///
    /// # Errors
    /// Those of [`plan`](Self::plan).
    pub fn reserve(&self, inputs: &[&Layout]) -> Result<()> {
        self.plan(inputs).map(|_| ())
    }

    /// Counts of what the program has done so far.
    pub fn counters(&self) -> Counters {
        *self
            .shared
            .counters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(feature = "gpu", feature = "testing"))]
mod tests;
