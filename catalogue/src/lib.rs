//! The catalogue: a row for each public operation.
//!
//! A row ([`Operation`]) has the name that users know, the options and the laws of an operation, and one
//! function that runs it on the tensors of a device, or of a program while it is recorded. Its examples are requests
//! with their answers or errors, as data that any language can read. The calculator and tests iterate over the rows.
//! Only the function of a row is specific to Rust.

mod batch;
mod draws;
mod epilogue;
mod examples;
mod failure;
mod files;
mod fitted;
mod held;
mod near;
mod operations;
mod options;
mod request;
mod sparse;

pub use batch::{Batch, Number, Written, read, shown, write};
pub use draws::{Size, extents, filled, replace};
pub use examples::{Example, Outcome, examples, is_same};
pub use failure::{Failure, KINDS, Result};
pub use fitted::{Fitted, Operand};
pub use held::Held;
pub use operations::{
    Answer, EXCEPTIONS, Extents, Gradient, Law, Open, Operation, Prepared, Reference, Results,
    TOPICS, TYPES, Work, answer, answer_divided, find, operations, output, pairs, recorded, shapes,
};
pub use options::{Absent, Kind, Lists, Opt};
pub use request::Request;
