//! Scatters rows to lists of indices: adds them up, or sets them.
//!
//! Sums: a plan on the host inverts the lists, so that each row of the result knows its sources. Their order, and where
//! they are cut, depend only on the indices.
//!
//! Cost: the rows read once, 4 bytes for each of them and for each row of the result, the result written once, in one
//! dispatch; one more for each power of 64 in the number of times that the most frequent index occurs. Scratch: a 64th
//! of the rows of indices that occur more than 64 times. Setting rows is a gather with inverted lists.

mod launch;
mod twin;

use std::collections::HashMap;
use std::sync::Arc;

use super::gather;
use crate::error::Named;
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    Dispatch, Interface, Kernel, Param, Plan, PlanBuffer, Slot, constants, params, shader, slots,
    stream_tile, variants,
};
use crate::ragged::{DType, Indices, Layout, Pairs, Ragged};
use crate::{Error, Result, host};

slots! {
    struct Slots {
        y: Read, sums: Read, c: Write, c_meta: Read, elements: Read, starts: Read, sources: Read,
    }
}

params! {
    struct Params { total, y_base, elements, tile }
}

static ADD: Kernel = Kernel {
    shader: shader!("scatter/add"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![SUMS]],
    variants: variants![F32, U32, F16, F16 "PARTIAL"],
};

/// Sources that are summed into a row at once. Longer lists are cut into groups of this many, whose sums are added up
/// in the same way.
const FAN: usize = 64;
/// Marks a source among the sums of the previous dispatch.
const SUMS: u32 = 1 << 31;

/// Adds up rows at listed indices, in the layout of operand 1, over values of one type. Each pair is an element of that
/// layout and a list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Add {
    pub indices: Indices,
    pub dtype: DType,
}

/// Writes rows at listed indices into zeros, in the layout of operand 1, over values of one type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Set {
    pub indices: Indices,
    pub dtype: DType,
}

impl Operation for Set {
    const NAME: &str = "scatter_set";

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (y, target) = request.both();
        let pairs =
            Pairs::elementwise(target, self.indices.lists()).map_err(Error::without_pairing)?;
        check(y, &self.indices, target, &pairs)?;
        let inverse = invert(&self.indices, target)?;
        Ok(gather::plan(self.dtype, &inverse, &pairs, target.clone())?.into())
    }
}

/// Checks that `y` has the shapes of a gather from `target`.
fn check(y: &Layout, indices: &Indices, target: &Layout, pairs: &Pairs) -> Result<()> {
    y.check_rank_of(target, "the result")?;
    y.check_len(pairs.len())?;
    y.check_shapes(&gather::rows(target, indices, pairs)?)
}

/// For each row of a batch, the list of its sources.
struct Lists {
    /// For each element: its first row and the values per row. Elements without values have no rows here.
    elements: Vec<[u32; 2]>,
    /// Where the list of each row begins, followed by the end.
    starts: Vec<u32>,
    /// Where each source begins among the values.
    sources: Vec<u32>,
}

impl Lists {
    fn of(y: &Layout, indices: &Indices, target: &Layout, pairs: &Pairs) -> Result<Lists> {
        let mut elements = host::room(target.len())?;
        let mut rows = 0;
        for element in 0..target.len() {
            let size = target.length(element) as u32;
            let extent = match size {
                0 => 0,
                _ => target.shape(element).extents()[0],
            };
            elements.push([rows, size.checked_div(extent).unwrap_or(0)]);
            rows += extent;
        }
        let row_end = |element: usize| elements.get(element + 1).map_or(rows, |next| next[0]);
        // A counting sort. Index row + 2 first counts the row's sources; after the prefix sum, index row + 1 is where
        // the row's list begins, and, once the list is filled, where it ends.
        let mut starts = host::zeroed::<u32>(rows as usize + 2)?;
        for (element, list) in pairs.iter() {
            let (first, end) = (elements[element][0], row_end(element));
            for &index in indices.list(list) {
                if index < end - first {
                    starts[(first + index) as usize + 2] += 1;
                }
            }
        }
        for row in 2..starts.len() {
            starts[row] += starts[row - 1];
        }
        let mut sources = host::zeroed(starts.last().map_or(0, |&all| all as usize))?;
        for (pair, (element, list)) in pairs.iter().enumerate() {
            let ([first, width], end) = (elements[element], row_end(element));
            let mut source = y.offsets().as_slice()[pair];
            for &index in indices.list(list) {
                if index < end - first {
                    let next = &mut starts[(first + index) as usize + 1];
                    sources[*next as usize] = source;
                    *next += 1;
                }
                source += width;
            }
        }
        starts.pop();
        Ok(Lists {
            elements,
            starts,
            sources,
        })
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.elements[..])
            + size_of_val(&self.starts[..])
            + size_of_val(&self.sources[..])
    }

    /// The sources of a row.
    fn row(&self, row: usize) -> &[u32] {
        &self.sources[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// The lists of rows with more than [`FAN`] sources, each as a separate element, and the indices of these rows.
    fn long(&self) -> Result<(Lists, Vec<usize>)> {
        let mut long = Lists {
            elements: Vec::new(),
            starts: vec![0],
            sources: Vec::new(),
        };
        let mut rows = Vec::new();
        let mut element = 0;
        for row in 0..self.starts.len() - 1 {
            let sources = self.row(row);
            if sources.len() > FAN {
                // The last element that begins at or before the row, which skips elements without rows.
                element += self.elements[element..].partition_point(|e| e[0] as usize <= row) - 1;
                let width = self.elements[element][1];
                host::push(&mut long.elements, [rows.len() as u32, width])?;
                host::extend(&mut long.sources, sources.iter().copied())?;
                host::push(&mut long.starts, long.sources.len() as u32)?;
                host::push(&mut rows, row)?;
            }
        }
        Ok((long, rows))
    }

    /// Cuts lists of one-row elements into groups of [`FAN`] sources. Returns the layout of the sums, with one row for
    /// each group, the groups, and the lists of these sums.
    fn cut(self) -> Result<(Layout, Lists, Lists)> {
        let mut cut = Lists {
            elements: host::room(self.elements.len())?,
            starts: Vec::new(),
            sources: Vec::new(),
        };
        let mut sums = Lists {
            elements: self.elements,
            starts: vec![0],
            sources: Vec::new(),
        };
        let mut ends = vec![0];
        let mut at = 0;
        for (&[_, width], list) in sums.elements.iter().zip(self.starts.windows(2)) {
            cut.elements.push([cut.starts.len() as u32, width]);
            for start in (list[0]..list[1]).step_by(FAN) {
                host::push(&mut cut.starts, start)?;
                host::push(&mut sums.sources, at | SUMS)?;
                at += width;
            }
            host::push(&mut sums.starts, sums.sources.len() as u32)?;
            host::push(&mut ends, at)?;
        }
        host::push(&mut cut.starts, self.sources.len() as u32)?;
        cut.sources = self.sources;
        // There are fewer sums than values that they sum, so the offsets fit.
        let layout = Layout::from_offsets(crate::ragged::Offsets::from_vec_unchecked(ends));
        Ok((layout, cut, sums))
    }
}

/// The dispatches that sum long lists, their scratch sizes, and the lists of the result, which refer to these sums;
/// `None` if no list is long.
fn sums(dtype: DType, by_row: &Lists) -> Result<(Vec<Dispatch>, Vec<u64>, Option<Lists>)> {
    let (mut dispatches, mut scratch) = (Vec::new(), Vec::new());
    let (mut long, rows) = by_row.long()?;
    if rows.is_empty() {
        return Ok((dispatches, scratch, None));
    }
    while long
        .starts
        .windows(2)
        .any(|list| list[1] - list[0] > FAN as u32)
    {
        let (layout, cut, sums) = long.cut()?;
        let before = scratch.len().checked_sub(1);
        let output = Slot::Scratch(scratch.len());
        dispatches.push(dispatch(dtype, cut.into(), &layout, before, output));
        scratch.push(layout.total() as u64);
        long = sums;
    }
    let mut last = Lists {
        elements: host::copied(&by_row.elements)?,
        starts: vec![0],
        sources: Vec::new(),
    };
    let mut added = rows.iter().enumerate().peekable();
    for row in 0..by_row.starts.len() - 1 {
        let sources = match added.next_if(|(_, long)| **long == row) {
            Some((i, _)) => long.row(i),
            None => by_row.row(row),
        };
        host::extend(&mut last.sources, sources.iter().copied())?;
        host::push(&mut last.starts, last.sources.len() as u32)?;
    }
    Ok((dispatches, scratch, Some(last)))
}

/// [`Lists`] as plan buffers.
#[derive(Clone)]
struct Tables {
    elements: Arc<PlanBuffer>,
    starts: Arc<PlanBuffer>,
    sources: Arc<PlanBuffer>,
}

impl From<Lists> for Tables {
    fn from(lists: Lists) -> Tables {
        Tables {
            elements: PlanBuffer::new(lists.elements.into_flattened()),
            starts: PlanBuffer::new(lists.starts),
            sources: PlanBuffer::new(lists.sources),
        }
    }
}

fn dispatch(
    dtype: DType,
    tables: Tables,
    layout: &Layout,
    sums: Option<usize>,
    output: Slot,
) -> Dispatch {
    let (kernel_type, flags): (_, &[&str]) = match (dtype, &output) {
        (DType::F16, Slot::Scratch(_)) => (DType::F16, &["PARTIAL"]),
        (DType::F16 | DType::F32, _) => (dtype, &[]),
        _ => (DType::U32, &[]),
    };
    let total = layout.total();
    let tile = stream_tile(total, layout.len());
    let cost = (total + tables.sources.data().len()) as u64;
    Dispatch::new(
        ADD.variant(kernel_type, flags),
        Slots {
            y: Slot::Input(0),
            sums: sums.map_or(Slot::Input(0), Slot::Scratch),
            c: output,
            c_meta: Slot::Meta(layout.clone()),
            elements: Slot::PlanBuffer(tables.elements),
            starts: Slot::PlanBuffer(tables.starts),
            sources: Slot::PlanBuffer(tables.sources),
        },
        Params {
            total: Param::U32(total as u32),
            y_base: Param::InputBase(0),
            elements: Param::U32(layout.len() as u32),
            tile: Param::U32(tile as u32),
        },
        total.div_ceil(tile) as u32,
        cost,
    )
}

/// For each row of the result, the row of `y` that is written there; `u32::MAX`, which is out of bounds, if there is
/// none.
fn invert(indices: &Indices, target: &Layout) -> Result<Indices> {
    let lengths = (0..target.len()).map(|element| match target.length(element) {
        0 => 0,
        _ => target.shape(element).extents()[0] as usize,
    });
    let layout = Layout::from_lengths(lengths).unnamed()?;
    let mut values = host::filled(u32::MAX, layout.total())?;
    let mut without_values = HashMap::new();
    for element in 0..target.len() {
        let extent = target.shape(element).extents()[0];
        let rows = &mut values[layout.offsets().range(element)];
        without_values.clear();
        for (position, &index) in indices.list(element).iter().enumerate() {
            if index >= extent {
                return Err(Error::index(
                    Some(element),
                    position,
                    index as usize,
                    extent as usize,
                ));
            }
            let before = match rows.get_mut(index as usize) {
                Some(row) => std::mem::replace(row, position as u32),
                // Rows without values, of which there may be billions.
                None => {
                    host::insert(&mut without_values, index, position as u32)?.unwrap_or(u32::MAX)
                }
            };
            if before != u32::MAX {
                return Err(Error::duplicate_index(
                    Some(element),
                    before as usize,
                    position,
                    index as usize,
                ));
            }
        }
    }
    Indices::new(Ragged::from_parts(layout, values)?)
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::ops::limits::planned;

    #[apply(unit_test)]
    fn a_plan_counts_what_it_holds() {
        const SOURCES: usize = 10_000;
        let layout_of = |rows| Layout::uniform(1, Shape::new(&[rows]).unwrap()).unwrap();
        let (y, target) = (layout_of(SOURCES), layout_of(10));
        let indices = Ragged::from_fn(&y, |_, at| at as u32 % 10).unwrap();
        let indices = Indices::new(indices).unwrap();
        let pairs = Pairs::elementwise(&target, indices.lists()).unwrap();
        let dtype = DType::F32;
        let plan = planned(Add { indices, dtype }, &[&y, &target], Some(&pairs), None).unwrap();
        // The indices, their lists by row and those of long rows.
        let held = 3 * 4 * SOURCES;
        assert!(plan.bytes() >= held, "{} of {held}", plan.bytes());
    }
}
