//! Convolution and correlation of boxes of up to three axes. The mode and the strides select the results that are kept.
//!
//! The direct method computes only the kept results. The other methods are those for vectors: rows are laid out so far
//! apart that the convolution of the two vectors contains that of the boxes (Kronecker substitution), and the kept
//! results are copied from it.
//!
//! Rows are m + n − 1 values apart for `Full`, but only m for `Valid`, where the part of a row's results that reaches
//! into the next row is not kept. `conv_place` lays out the boxes and extracts the kept results. Between these two, the
//! dispatches for vectors run, with scratch buffers for their operands and results, 2²⁴ values at a time.
//!
//! Vectors without a stride need no such layout: `conv_direct` begins at the mode's first result, and an item of
//! `conv_fused` writes only the kept results. Its transform need only be so long that no result that wraps around
//! reaches them. So the gradients of a full convolution, which are correlations of mode `Valid`, take transforms as
//! long as its own.

pub(super) mod direct;
pub(super) mod launch;
pub(super) mod place;
mod twin;

use super::ConvRequest;
use crate::ops::choice::Meeting;
use crate::plan::Offset;
use crate::ragged::{Layout, Pairs};
use crate::{Result, host};

/// The layout of the kept results.
fn results(request: &ConvRequest<'_>, a: &Layout, b: &Layout, pairs: &Pairs) -> Result<Layout> {
    let rank = a.rank();
    let mut offsets = Offset::new(pairs.len())?;
    let mut extents = host::room(if rank == 1 { 0 } else { pairs.len() * rank })?;
    for meeting in request.window.meetings(a, b, pairs) {
        offsets.push(meeting.results())?;
        if rank > 1 {
            extents.extend(meeting.result());
        }
    }
    Ok(Layout::unchecked(offsets.finish(), rank, extents))
}

/// The largest number of values in a turn, of both operands as vectors (64 MiB), unless a single pair has more. Longer
/// batches run in several turns.
const TURN: u64 = 1 << 24;
/// The same limit for a GPU interface that runs on the CPU, which has less fast memory.
const TURN_SOFTWARE: u64 = 1 << 20;

/// The scratch buffers: whole convolutions, then the operands as vectors (two buffers, not for rank 1), then those of
/// the convolution of vectors.
const WHOLE: usize = 0;
const OPERANDS: usize = 1;

/// Pairs that are convolved as vectors in one turn.
struct Turn<'a> {
    pairs: &'a [usize],
    operands: (&'a Layout, &'a Layout),
    /// The elements of each pair.
    elements: Vec<(u32, u32)>,
    boxes: Vec<Meeting>,
    /// The operands as vectors, and their whole convolutions.
    a: Layout,
    b: Layout,
    whole: Layout,
}
