//! From lengths to work: what an operation is asked to run, as plain data that needs no GPU to be inspected.

mod boxes;
mod cache;
mod choice;
mod choices;
mod costs;
mod kernel;
mod launch;
mod method;
mod products;
mod profile;
mod selection;
mod tiles;
mod window;
mod work;

#[cfg(test)]
pub(crate) mod extremes;

pub(crate) use boxes::{Boxes, MergedPair, Nested, Offset, check_ranks, merge, overlap};
pub use choice::{ConvChoice, ConvGroup};
pub use costs::CostTable;
pub use method::ConvMethod;
pub use profile::{ByMethod, HeterogeneityProfile};
pub use window::ConvMode;

pub(crate) use cache::{Ask, PlanCache};
pub(crate) use choices::{Choices, check_rank};
pub(crate) use costs::{Costs, Engine, FEW_RESULTS, transform_work};
pub(crate) use kernel::{Access, Kernel, Variant, for_each_type};
pub(crate) use launch::{
    Attachment, CpuArgs, CpuInput, CpuKernel, CpuOutput, Dispatch, Launch, Outcome, Output,
    OutputLayout, Param, Plan, PlanBuffer, Prepared, Slot, Table, What, cost_of,
};
pub(crate) use method::Choice;
pub(crate) use products::{
    DENSE, DenseTile, Matrices, NARROW, NATIVE, NATIVE_INVOCATIONS, NATIVE_MEMORY, SPARSE,
    SPARSE_NATIVE, SparseTile, WIDE, native_tiles,
};
pub(crate) use tiles::{TileList, stream_tile};
pub(crate) use window::{AXES, Flat, Meeting, Window};
pub(crate) use work::{WorkSum, check_size, check_work};
