//! The intermediate form: what an operation runs, as plain data that can be inspected without a GPU.

mod boxes;
mod cache;
mod kernel;
mod launch;
mod tiles;
mod work;

pub(crate) use boxes::{Boxes, MergedPair, Nested, Offset, check_ranks, merge, overlap};
pub(crate) use cache::{Ask, PlanCache};
pub(crate) use kernel::{Access, Kernel, Matrices, Variant, for_each_type};
pub(crate) use launch::{
    Attachment, CpuArgs, CpuInput, CpuKernel, CpuOutput, Dispatch, Launch, Outcome, Output,
    OutputLayout, Param, Plan, PlanBuffer, Prepared, Slot, Table, What, cost_of,
};
pub(crate) use tiles::{TileList, stream_tile};
pub(crate) use work::{WorkSum, check_size, check_work};
