//! What the library needs to know of an operation, and what a plan depends on besides it.

use super::choice::CostTable;
use crate::Result;
use crate::plan::{Kernel, Plan};
use crate::ragged::{DType, Layout, Pairs};

/// An operation with its attributes, implemented by the payload of each variant of [`Op`](super::Op).
///
/// A line in the list in `ops/op.rs` is enough to plan it, to compile its kernels, and to record it in programs. The
/// compiler then asks for its `Rule`, in `program/gradients`.
pub(crate) trait Operation {
    /// Its kernels, without those that an earlier operation of the list has already named.
    const KERNELS: &[&Kernel] = &[];

    /// The name of an operation that has only one.
    const NAME: &str = "";

    /// The name in errors and reports.
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Whether a device caches the plan. It does not if the attributes rarely recur and take as much memory as the
    /// plan.
    fn is_cached(&self) -> bool {
        true
    }

    /// How it runs if operands or results are bytes.
    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::InWords(None)
    }

    /// The name of the function that it applies to each value, or to each two values of operands that have one layout
    /// and are paired element by element, and the type of the values. A chain may compute it instead.
    fn function(&self) -> Option<(&'static str, DType)> {
        None
    }

    /// Plans the operation: checks the shapes, and computes the layouts of the results and the dispatches.
    /// [`Op::plan`](super::Op::plan) names its errors and its launch.
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan>;
}

/// How an operation runs if operands or results are bytes.
pub(crate) enum OnBytes<'a> {
    /// As it is: its kernels read and write bytes, or nothing is read or written.
    Direct,
    /// A kernel reads bytes, although it writes words.
    Read,
    /// Over u32, by conversion. If the plan depends on the type of the values, this is the field that holds it; it is
    /// set to u32.
    InWords(Option<&'a mut DType>),
}

/// The inputs of planning besides the operation.
pub(crate) struct PlanRequest<'a> {
    pub inputs: &'a [&'a Layout],
    pub pairs: Option<&'a Pairs>,
    pub device: Traits<'a>,
}

impl<'a> PlanRequest<'a> {
    /// The left and right operand of an operation on pairs.
    pub(super) fn both(&self) -> (&'a Layout, &'a Layout) {
        (self.inputs[0], self.inputs[1])
    }

    /// The pairs of an operation on two operands.
    pub(super) fn pairs(&self) -> &'a Pairs {
        self.pairs.expect("an operation of two operands has pairs")
    }
}

/// The device properties that planning depends on.
#[derive(Clone, Copy)]
pub(crate) struct Traits<'a> {
    pub costs: &'a CostTable,
    /// The largest number of multiply-adds that an operation may take.
    pub allowed: u64,
    /// The limits of a GPU for transforms; `None` on the CPU.
    pub room: Option<FftLimits>,
    /// The largest number of bytes of a result on a GPU; `None` on the CPU.
    pub binding: Option<u64>,
}

/// The largest number of words of all scratch buffers together: 512 MiB.
#[cfg(any(feature = "gpu", feature = "testing"))]
pub(super) const SCRATCH: u64 = 1 << 27;

/// The limits of a GPU for transforms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FftLimits {
    /// Bytes of workgroup memory.
    pub(super) workgroup: u32,
    /// The largest number of words of a scratch buffer.
    pub(super) scratch: u64,
    /// The largest number of bytes of a tensor.
    binding: u64,
}

impl FftLimits {
    /// The limits for these sizes of workgroup memory and of a binding, in bytes.
    #[cfg(any(feature = "gpu", feature = "testing"))]
    pub(crate) fn new(workgroup: u32, binding: u64) -> FftLimits {
        FftLimits {
            workgroup,
            scratch: SCRATCH.min(binding / 4),
            binding,
        }
    }

    /// The largest number of words of a scratch buffer.
    pub(crate) fn scratch(self) -> u64 {
        self.scratch
    }

    /// The largest number of bytes of a tensor.
    pub(crate) fn binding(self) -> u64 {
        self.binding
    }
}
