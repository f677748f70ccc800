//! The intermediate form: what an operation runs, as plain data that can be inspected without a GPU.

mod arena;
pub(crate) mod assembler;
mod boxes;
mod cache;
mod dispatch;
mod kernel;
mod launch;
mod schedule;
mod tiles;
mod work;

pub(crate) use arena::{Arena, Item, largest_live};
pub(crate) use boxes::{Boxes, MergedPair, Nested, Offset, merge, overlap};
pub(crate) use cache::{Ask, PlanCache};
pub(crate) use dispatch::{
    Dispatch, Param, Params, PlanBuffer, Slot, Slots, Table, Words, cost_of, number, params, slots,
};
pub(crate) use kernel::{
    Access, Chosen, Constants, Field, Interface, Kernel, Listed, Matrices, Quick, Shader, Variant,
    constants, for_each_type, named, place_of, shader, stem_length, stem_of, variants,
};
pub(crate) use launch::{
    Attachment, CpuArgs, CpuInput, CpuOutput, Launch, Outcome, Output, OutputLayout, Plan,
    PlanKind, Prepared, Twin,
};
pub(crate) use schedule::{Memory, Schedule, Step, StepOperand};
pub(crate) use tiles::{TileList, stream_tile};
#[cfg(feature = "gpu")]
pub(crate) use work::largest;
pub(crate) use work::{WorkSum, check_size, check_work};
