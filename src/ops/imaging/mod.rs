//! Image programs: many small operations on the images of each sample, recorded once and run together.
//!
//! On a GPU, all values of a batch lie in one buffer, the arena. A dispatch runs a level of the program's graph: a
//! workgroup runs a few instructions that follow each other, for one sample. Places in the arena are linear functions
//! of the cells of a sample's largest input, so a program is compiled once, and a batch adds a few words for each
//! sample. The CPU runs all instructions for a sample before it begins the next one.
//!
//! Cost: a dispatch for each level; for each instruction and sample, the cells read and written once, in most cases.
//! [`performance.md`](../../../docs/performance.md) compares a dispatch for each level with other schedules.
//!
//! - *Recording.* An image is the number of an instruction in a [`Graph`](graph::Graph). Methods cannot fail: a mistake
//!   is noted in the graph, and making the program returns it as an error.
//! - *Passes* leave out instructions that no output needs, and compute equal ones once. The test
//!   `imaging::passes_change_nothing` requires the same results without them.
//! - *Levels.* A dispatch has a workgroup of 32 invocations for each run and sample. A run is up to eight instructions,
//!   in order, with barriers between them; the heaviest runs of a level begin first. One kernel has all opcodes; the
//!   program is data.
//! - *Batches.* If the arena, the results or the list of samples would exceed the largest binding, or 2³⁰ words, the
//!   batch is divided, and each part is an upload, a submission and a download.
//! - *Invalid values.* A value is valid, invalid or overflown (more cells than its capacity). An instruction passes on
//!   the state of its first operand that is not valid. Only `Valid` and `OrElse` accept such operands.
//!
//! The kernel and the interpreter of the CPU are written separately, and every result must be the same on both,
//! including states and extents: `imaging::random` compares each value of random programs.

pub(crate) mod code;
pub(crate) mod compile;
pub(crate) mod graph;
mod launch;
pub(crate) mod samples;
pub(crate) mod twin;

pub(crate) use launch::Imaging;

use crate::plan::{Interface, Kernel, params, shader, slots, variants};

/// The name of the operation in errors.
pub(crate) const OP: &str = "image program";

slots! {
    struct Slots { samples: Read, code: Read, arena: Write, results: Write }
}

params! {
    struct Params { x_base, record, segments, segments_at, steps_at, constants_at }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("imaging/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[code::OPCODES, code::FUNCTIONS, code::FOLDS, code::STATES],
    variants: variants![I32],
};
