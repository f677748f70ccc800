//! The layouts of dense stacks: groups of elements, each an element of one more axis.
//!
//! Slices of a stack follow each other, so a batch of stacks is also a batch of slices, each an element in the box of its group. That is
//! what is computed; the stacks are another layout of the same values.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use crate::plan::Offset;
use crate::ragged::{CacheKey, DType, Layout, MAX_RANK, element_count};
use crate::{Error, Result, host};

/// Which elements are stacked on which.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Groups<'a> {
    /// So many elements each, one group behind the other.
    Counts(&'a [usize]),
    /// So many windows of `size` elements, the beginnings of two `stride` apart; the last ones may reach beyond the batch.
    Windows {
        count: usize,
        size: usize,
        stride: usize,
    },
}

impl Groups<'_> {
    /// All of it, in numbers.
    fn asked(&self, op: &'static str) -> Result<Vec<usize>> {
        Ok(match *self {
            Groups::Counts(counts) => host::copied(op, counts)?,
            Groups::Windows {
                count,
                size,
                stride,
            } => vec![count, size, stride],
        })
    }

    fn ranges(&self) -> Box<dyn Iterator<Item = Range<usize>> + '_> {
        match *self {
            Groups::Counts(counts) => Box::new(counts.iter().scan(0, |end, &count| {
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
}

/// Groups of the elements of a layout.
#[derive(Debug)]
pub(crate) struct Stacks {
    asked: Vec<usize>,
    /// All slices, as elements.
    pub slices: Layout,
    /// The stacks.
    pub stacked: Layout,
    /// Whether the slices are the first elements as they are.
    pub as_they_are: bool,
}

/// The stacks of these groups of `x`, of at most `most` bytes for values of type `dtype`.
pub(crate) fn stacks(
    op: &'static str,
    dtype: DType,
    x: &Layout,
    groups: Groups<'_>,
    most: u64,
) -> Result<Arc<Stacks>> {
    if x.rank() == MAX_RANK {
        return Err(Error::Rank {
            op,
            element: None,
            expected: format!("1 to {}", MAX_RANK - 1),
            got: MAX_RANK,
        });
    }
    let asked = groups.asked(op)?;
    let mut hash = DefaultHasher::new();
    asked.hash(&mut hash);
    let key = CacheKey {
        what: "stacks",
        other: matches!(groups, Groups::Counts(_)).into(),
        device: 0,
        extra: hash.finish(),
    };
    let found = x.cached(key, || Ok(Arc::new(made(op, dtype, x, groups, most)?)))?;
    let found = match found.asked == asked {
        true => found,
        // Two of one hash: the later one is made each time.
        false => Arc::new(made(op, dtype, x, groups, most)?),
    };
    check_budget(op, dtype.size() as u64 * found.stacked.total() as u64, most)?;
    Ok(found)
}

fn check_budget(op: &'static str, bytes: u64, limit: u64) -> Result<()> {
    match bytes <= limit {
        true => Ok(()),
        false => Err(Error::Budget { op, bytes, limit }),
    }
}

fn made(
    op: &'static str,
    dtype: DType,
    x: &Layout,
    groups: Groups<'_>,
    most: u64,
) -> Result<Stacks> {
    let rank = x.rank();
    // Before room is made for anything.
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
        asked: groups.asked(op)?,
        slices,
        stacked,
        as_they_are,
    })
}

/// The box of those elements of a range that there are.
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

/// The elements of `x` seen as the slices along their first axis.
pub(crate) fn slices(op: &'static str, x: &Layout) -> Result<Arc<Layout>> {
    let rank = x.rank();
    if rank == 1 {
        return Err(Error::Rank {
            op,
            element: None,
            expected: format!("2 to {MAX_RANK}"),
            got: 1,
        });
    }
    let key = CacheKey {
        what: "slices",
        other: 0,
        device: 0,
        extra: 0,
    };
    x.cached(key, || {
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
        let slices = Layout::with_extents_unchecked(offsets.finish(), rank - 1, extents);
        Ok(Arc::new(slices))
    })
}
