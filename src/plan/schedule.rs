//! The schedule of a program: launches in order, with the places of their operands and results.

use std::sync::Arc;

use super::launch::{Launch, Plan, PlanKind};
use crate::ragged::Layout;

/// Launches in the order in which they run, over an arena and external buffers.
#[derive(Debug)]
pub(crate) struct Schedule {
    pub steps: Vec<Step>,
    /// The number of buffers outside the arena: the inputs, then the constants, then the outputs.
    pub externals: usize,
    /// The number of inputs.
    pub inputs: usize,
    /// The number of inputs and constants.
    pub given: usize,
}

/// A launch with the places of its operands.
#[derive(Debug)]
pub(crate) struct Step {
    pub plan: Arc<Plan>,
    pub operands: Vec<StepOperand>,
    pub results: Vec<Memory>,
    pub scratch: Vec<Memory>,
    pub scalars: Vec<u32>,
}

impl Step {
    /// Only launches become steps.
    pub(crate) fn launch(&self) -> Option<&Launch> {
        match &self.plan.kind {
            PlanKind::Launch(launch) => Some(launch),
            PlanKind::View { .. } => None,
        }
    }
}

/// An operand of a step.
#[derive(Clone, Debug)]
pub(crate) struct StepOperand {
    /// The memory that it lies in; `None` if only its layout is needed.
    pub memory: Option<Memory>,
    /// Where its values begin in that memory, in units of `unit` bytes.
    pub base: usize,
    pub unit: usize,
    /// The size of its values in bytes.
    pub bytes: usize,
    pub layout: Layout,
}

/// A range of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// Bytes of a slab of the arena.
    Slab {
        slab: usize,
        offset: u64,
        words: u64,
        /// The bytes kept for them in the arena.
        room: u64,
    },
    /// An external buffer, by its number.
    External(usize),
}
