//! Views: the same values in another layout, without a copy.

use super::rules::check_count;
use super::stacks::slices;
use crate::plan::{OutputLayout, Plan};
use crate::ragged::Layout;
use crate::{Error, Result};

/// The values of a batch, or of some of its elements, in another layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum View {
    /// A range of elements: start, end.
    Elements(usize, usize),
    /// Elements with the same numbers of values in the shapes of operand 1.
    Reshape,
    /// Operand 1's elements, which divide the same values, for inner steps of operations.
    Divided,
    /// The slices along the first axis, with the name of the calling operation for errors.
    Slices(&'static str),
}

impl View {
    pub(crate) fn plan(self, inputs: &[&Layout]) -> Result<Plan> {
        let x = inputs[0];
        Ok(match self {
            View::Elements(start, end) => {
                let layout = x.range(start..end).map_err(elements)?;
                let skipped = x.offsets().as_slice()[start] as usize;
                Plan::view(OutputLayout::New(layout), skipped)
            }
            View::Reshape => {
                check_reshape(x, inputs[1])?;
                Plan::view(OutputLayout::Input(1), 0)
            }
            View::Divided => Plan::view(OutputLayout::Input(1), 0),
            View::Slices(op) => Plan::view(OutputLayout::New(slices(op, x)?), 0),
        })
    }
}

/// The error under the name of the operation.
fn elements(error: Error) -> Error {
    match error {
        Error::ElementRange {
            start, end, len, ..
        } => Error::ElementRange {
            op: "elements",
            start,
            end,
            len,
        },
        other => other,
    }
}

/// Checks that elements of `x` may be viewed as those of `y`: each has as many values.
fn check_reshape(x: &Layout, y: &Layout) -> Result<()> {
    let op = "reshape";
    check_count(op, x, y)?;
    if x.offsets() == y.offsets() {
        return Ok(());
    }
    match (0..x.len()).find(|&i| x.length(i) != y.length(i)) {
        None => Ok(()),
        Some(element) => Err(Error::Length {
            op,
            element,
            expected: x.length(element),
            got: y.length(element),
        }),
    }
}
