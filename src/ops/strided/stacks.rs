//! The layouts of dense stacks: groups of elements along a new first axis.
//!
//! Slices of a stack are contiguous, so a batch of stacks is also a batch of slices, each an element in the box of its
//! group. The slices are computed; the stacks are another layout of the same values.

use std::ops::Range;

use super::launch::windows;
use crate::plan::{Attachment, Offset, OutputLayout, Plan, check_work};
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

    /// The index of the element that a slice is read from; there may be no such element.
    pub(crate) fn source(&self, slice: usize) -> usize {
        match *self {
            Groups::Counts(_) => slice,
            Groups::Windows { size, stride, .. } => slice / size * stride + slice % size,
        }
    }

    /// The number of elements of all groups together.
    pub(crate) fn slices(&self) -> usize {
        match *self {
            Groups::Counts(ref counts) => counts.iter().fold(0, |sum, &n| sum.saturating_add(n)),
            Groups::Windows { count, size, .. } => count.saturating_mul(size),
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

/// Stacks these groups of `x` into at most `most` bytes of type `dtype` and at most `allowed` slices: a view, or a
/// launch that makes the slices with the layout of the stacks attached.
pub(super) fn stack(
    dtype: DType,
    x: &Layout,
    groups: &Groups,
    (most, allowed): (u64, u64),
) -> Result<Plan> {
    if x.rank() == MAX_RANK {
        return Err(Error::rank(format!("1 to {}", MAX_RANK - 1), MAX_RANK));
    }
    let Stacks {
        slices,
        stacked,
        as_they_are,
    } = made(dtype, x, groups, (most, allowed))?;
    if as_they_are {
        return Ok(Plan::view(OutputLayout::New(stacked), 0));
    }
    let launch = windows(dtype, x, groups.windows(), &slices)?;
    Ok(Plan::from(launch).with(Attachment::Layout(OutputLayout::New(stacked))))
}

fn check_budget(bytes: u64, limit: u64) -> Result<()> {
    match bytes <= limit {
        true => Ok(()),
        false => Err(Error::budget(bytes, limit)),
    }
}

fn made(dtype: DType, x: &Layout, groups: &Groups, (most, allowed): (u64, u64)) -> Result<Stacks> {
    let rank = x.rank();
    // Checked before anything is allocated, and before the slices are visited.
    let slices = groups.slices();
    check_work(None, slices as u64, allowed)?;
    element_count(slices)?;
    let boxes = Boxes::new(x, groups)?;
    let mut bytes = 0u64;
    for group in groups.ranges() {
        let count = group.len() as u64;
        let size = size(&boxes.ambient(group)[..rank]).saturating_mul(count);
        bytes = bytes.saturating_add(size.saturating_mul(dtype.size() as u64));
    }
    check_budget(bytes, most)?;
    let stacked = groups.ranges().size_hint().0;
    let each = if rank == 1 { 0 } else { rank };
    host::check(slices, 4 * (1 + each))?;
    host::check(stacked, 4 * (2 + rank))?;
    let mut of_slices = Offset::new(slices)?;
    let mut of_stacks = Offset::new(stacked)?;
    let mut extents = host::room(slices * each)?;
    let mut stack_extents = host::room(stacked * (1 + rank))?;
    for group in groups.ranges() {
        let k = group.len();
        let ambient = boxes.ambient(group);
        let ambient = &ambient[..rank];
        let size = size(ambient);
        of_stacks.push(size.saturating_mul(k as u64))?;
        host::reserve(&mut stack_extents, 1 + rank)?;
        stack_extents.push(k as u32);
        stack_extents.extend_from_slice(ambient);
        for _ in 0..k {
            of_slices.push(size)?;
            if rank > 1 {
                extents.extend_from_slice(ambient);
            }
        }
    }
    let slices = Layout::unchecked(of_slices.finish(), rank, extents);
    let stacked = Layout::unchecked(of_stacks.finish(), rank + 1, stack_extents);
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

/// Finds the ambient boxes of groups, in time that does not depend on how far windows overlap.
struct Boxes<'a> {
    x: &'a Layout,
    /// The size of the windows if they overlap, otherwise 0. The batch is cut into blocks of this many elements.
    size: usize,
    /// For each element, the ambient box of its block up to it, and from it on.
    up_to: Vec<[u32; MAX_RANK]>,
    from: Vec<[u32; MAX_RANK]>,
}

impl<'a> Boxes<'a> {
    fn new(x: &'a Layout, groups: &Groups) -> Result<Boxes<'a>> {
        let size = match *groups {
            Groups::Windows { size, stride, .. } if size > stride => size,
            _ => 0,
        };
        let (mut up_to, mut from) = (Vec::new(), Vec::new());
        if size > 0 {
            host::check(x.len(), 2 * size_of::<[u32; MAX_RANK]>())?;
            up_to = host::filled([0; MAX_RANK], x.len())?;
            from = host::filled([0; MAX_RANK], x.len())?;
            let blocks = up_to.chunks_mut(size).zip(from.chunks_mut(size));
            for (block, (up_to, from)) in blocks.enumerate() {
                let first = block * size;
                let mut most = [0; MAX_RANK];
                for (i, up_to) in up_to.iter_mut().enumerate() {
                    widen(&mut most, x.shape(first + i).extents());
                    *up_to = most;
                }
                let mut most = [0; MAX_RANK];
                for (i, from) in from.iter_mut().enumerate().rev() {
                    widen(&mut most, x.shape(first + i).extents());
                    *from = most;
                }
            }
        }
        Ok(Boxes {
            x,
            size,
            up_to,
            from,
        })
    }

    /// The ambient box of the elements of a group, as far as they exist.
    fn ambient(&self, group: Range<usize>) -> [u32; MAX_RANK] {
        let x = self.x;
        let group = group.start.min(x.len())..group.end.min(x.len());
        let mut most = [0; MAX_RANK];
        if self.size == 0 {
            group.for_each(|i| widen(&mut most, x.shape(i).extents()));
        } else if !group.is_empty() {
            // The group ends with its first block, with the batch, or in the second block.
            most = self.from[group.start];
            let last = group.end - 1;
            if last / self.size > group.start / self.size {
                widen(&mut most, &self.up_to[last]);
            }
        }
        most
    }
}

fn widen(most: &mut [u32; MAX_RANK], extents: &[u32]) {
    for (most, &extent) in most.iter_mut().zip(extents) {
        *most = extent.max(*most);
    }
}

pub(super) fn size(extents: &[u32]) -> u64 {
    match extents.contains(&0) {
        true => 0,
        false => extents
            .iter()
            .fold(1, |size, &extent| size.saturating_mul(extent.into())),
    }
}

/// The elements of `x` viewed as slices along their first axis.
pub(super) fn slices(x: &Layout) -> Result<Layout> {
    let rank = x.rank();
    if rank == 1 {
        return Err(Error::rank(format!("2 to {MAX_RANK}"), 1));
    }
    let shapes = || x.extents().chunks_exact(rank);
    let count = shapes().fold(0usize, |sum, extents| {
        sum.saturating_add(extents[0] as usize)
    });
    element_count(count)?;
    let each = if rank > 2 { rank - 1 } else { 0 };
    host::check(count, 4 * (1 + each))?;
    let mut offsets = Offset::new(count)?;
    let mut extents = host::room(count * each)?;
    for shape in shapes() {
        for _ in 0..shape[0] {
            offsets.push(size(&shape[1..]))?;
            if rank > 2 {
                extents.extend_from_slice(&shape[1..]);
            }
        }
    }
    Ok(Layout::unchecked(offsets.finish(), rank - 1, extents))
}
