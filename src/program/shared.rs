//! What all plans of a program share.

use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::frame::Frame;
use super::passes::Passes;
use super::recording::Recording;
use crate::Result;
use crate::tensor::Device;

pub(super) type Body = dyn Fn(&mut Recording) -> Result<()> + Send + Sync;

/// The state that all plans of a program share.
pub(super) struct Shared {
    pub device: Device,
    pub body: Box<Body>,
    pub passes: Passes,
    pub frame: Mutex<Frame>,
    pub counters: Mutex<Counters>,
    /// The number of operations of the latest recording, for which the next one reserves memory.
    pub operations: AtomicUsize,
}

impl Shared {
    pub(super) fn frame(&self) -> MutexGuard<'_, Frame> {
        self.frame.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Counters)) {
        count(&mut self.counters.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Counts of what a program has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Counters {
    /// Plans made.
    pub plans: u64,
    /// Runs of all plans.
    pub runs: u64,
    /// How many times the frame grew: the arena, or on a GPU the room for parameters and lists. Layouts that were
    /// planned before grow it no more, unless the places of their values are forgotten; see
    /// [`frame_bind_groups`](Self::frame_bind_groups).
    pub growths: u64,
    /// Sets of output buffers that were allocated because callers held all others.
    pub outputs: u64,
    /// Bind groups made on a GPU. All plans of a program share them; about 4,096 are kept beyond those of the plans.
    pub bind_groups: u64,
    /// The bind groups that bind no input and no output. If earlier plans ran the same steps since the frame grew last,
    /// the runs of a plan make such bind groups only for lists of more than 256 KiB and for constants computed while
    /// the plan was made, such as the places to which the gradient of a quantile goes, even if its lengths are new.
    ///
    /// Where kernels, and with them the steps, differ from batch to batch, this holds for the plans of the last 512
    /// different sequences of steps, and for fewer if together they have more than 131,072 values or need more bind
    /// groups than are kept.
    pub frame_bind_groups: u64,
}
