//! The layouts of dense stacks: groups of elements along a new first axis.
//!
//! Slices of a stack are contiguous, so a batch of stacks is also a batch of slices, each an element in the box of its
//! group. The slices are computed; the stacks are another layout of the same values.

use std::ops::Range;

use super::windows;
use crate::plan::{Attachment, Offset, OutputLayout, Plan};
use crate::ragged::{DType, Layout, MAX_RANK, element_count};
use crate::{Error, Result, host};

/// Which elements form each stack.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Groups {
    /// Consecutive groups of these sizes.
    Counts(Vec<usize>),
    /// `count` windows of `size` elements, which begin `stride` elements apart; the last ones may extend beyond the
    /// batch.
    Windows {
        count: usize,
        size: usize,
        stride: usize,
    },
}

impl Groups {
    fn ranges(&self) -> Box<dyn Iterator<Item = Range<usize>> + '_> {
        match *self {
            Groups::Counts(ref counts) => Box::new(counts.iter().scan(0, |end, &count| {
                *end += count;
                Some(*end - count..*end)
            })),
            Groups::Windows {
                count,
                size,
                stride,
            } => Box::new((0..count).map(move |i| i * stride..(i * stride).saturating_add(size))),
        }
    }

    /// Size and stride of the windows from which slices are read.
    fn windows(&self) -> (u32, u32) {
        // Any number beyond the batch size has the same effect.
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        match *self {
            Groups::Counts(_) => (1, 1),
            Groups::Windows { size, stride, .. } => (narrow(size), narrow(stride)),
        }
    }
}

/// The stacks of groups of a batch, in both layouts.
struct Stacks {
    /// Every slice as an element.
    slices: Layout,
    /// The stacks as elements.
    stacked: Layout,
    /// Whether the slices are the first elements of the batch, unchanged.
    as_they_are: bool,
}

/// Stacks these groups of `x` into at most `most` bytes of type `dtype`: a view, or a launch that makes the slices with
/// the layout of the stacks attached.
pub(super) fn stack(
    op: &'static str,
    dtype: DType,
    x: &Layout,
    groups: &Groups,
    most: u64,
) -> Result<Plan> {
    if x.rank() == MAX_RANK {
        return Err(Error::Rank {
            op,
            element: None,
            expected: format!("1 to {}", MAX_RANK - 1),
            got: MAX_RANK,
        });
    }
    let Stacks {
        slices,
        stacked,
        as_they_are,
    } = made(op, dtype, x, groups, most)?;
    if as_they_are {
        return Ok(Plan::view(OutputLayout::New(stacked), 0));
    }
    let launch = windows(op, dtype, x, groups.windows(), &slices)?;
    Ok(Plan::from(launch).with(Attachment::Layout(OutputLayout::New(stacked))))
}

fn check_budget(op: &'static str, bytes: u64, limit: u64) -> Result<()> {
    match bytes <= limit {
        true => Ok(()),
        false => Err(Error::Budget { op, bytes, limit }),
    }
}

fn made(op: &'static str, dtype: DType, x: &Layout, groups: &Groups, most: u64) -> Result<Stacks> {
    let rank = x.rank();
    // Checked before anything is allocated.
    let (mut slices, mut bytes) = (0usize, 0u64);
    for group in groups.ranges() {
        slices = slices.saturating_add(group.len());
        let size = size(&ambient(x, group.clone())[..rank]).saturating_mul(group.len() as u64);
        bytes = bytes.saturating_add(size.saturating_mul(dtype.size() as u64));
    }
    check_budget(op, bytes, most)?;
    element_count(op, slices)?;
    let stacked = groups.ranges().size_hint().0;
    let each = if rank == 1 { 0 } else { rank };
    host::check(op, slices, 4 * (1 + each))?;
    host::check(op, stacked, 4 * (2 + rank))?;
    let mut of_slices = Offset::new(op, slices)?;
    let mut of_stacks = Offset::new(op, stacked)?;
    let mut extents = host::room(op, slices * each)?;
    let mut stack_extents = host::room(op, stacked * (1 + rank))?;
    for group in groups.ranges() {
        let k = group.len();
        let ambient = ambient(x, group);
        let ambient = &ambient[..rank];
        let size = size(ambient);
        of_stacks.push(size.saturating_mul(k as u64))?;
        host::reserve(op, &mut stack_extents, 1 + rank)?;
        stack_extents.push(k as u32);
        stack_extents.extend_from_slice(ambient);
        for _ in 0..k {
            of_slices.push(size)?;
            if rank > 1 {
                extents.extend_from_slice(ambient);
            }
        }
    }
    let slices = Layout::with_extents_unchecked(of_slices.finish(), rank, extents);
    let stacked = Layout::with_extents_unchecked(of_stacks.finish(), rank + 1, stack_extents);
    let in_order = match groups {
        Groups::Counts(_) => true,
        Groups::Windows { size, stride, .. } => size == stride,
    };
    let as_they_are = in_order && slices.len() <= x.len() && x.range(0..slices.len())? == slices;
    Ok(Stacks {
        slices,
        stacked,
        as_they_are,
    })
}

/// The ambient box of the elements of a range, as far as they exist.
fn ambient(x: &Layout, group: Range<usize>) -> [u32; MAX_RANK] {
    let mut most = [0; MAX_RANK];
    for i in group.start.min(x.len())..group.end.min(x.len()) {
        let shape = x.shape(i);
        for (most, &extent) in most.iter_mut().zip(shape.extents()) {
            *most = extent.max(*most);
        }
    }
    most
}

fn size(extents: &[u32]) -> u64 {
    match extents.contains(&0) {
        true => 0,
        false => extents
            .iter()
            .fold(1, |size, &extent| size.saturating_mul(extent.into())),
    }
}

/// The elements of `x` viewed as slices along their first axis.
pub(super) fn slices(op: &'static str, x: &Layout) -> Result<Layout> {
    let rank = x.rank();
    if rank == 1 {
        return Err(Error::Rank {
            op,
            element: None,
            expected: format!("2 to {MAX_RANK}"),
            got: 1,
        });
    }
    let of = || x.extents().chunks_exact(rank);
    let count = of().fold(0usize, |sum, extents| {
        sum.saturating_add(extents[0] as usize)
    });
    element_count(op, count)?;
    let each = if rank > 2 { rank - 1 } else { 0 };
    host::check(op, count, 4 * (1 + each))?;
    let mut offsets = Offset::new(op, count)?;
    let mut extents = host::room(op, count * each)?;
    for shape in of() {
        for _ in 0..shape[0] {
            offsets.push(size(&shape[1..]))?;
            if rank > 2 {
                extents.extend_from_slice(&shape[1..]);
            }
        }
    }
    Ok(Layout::with_extents_unchecked(
        offsets.finish(),
        rank - 1,
        extents,
    ))
}
