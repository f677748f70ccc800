//! Shape rules, and how each operation reads its source.

use super::cut::Cut;
use super::launch::{launch, windows};
use super::stacks::{Groups, stack};
use super::{Read, Reading};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::ops::transpose;
use crate::plan::{Kernel, Launch, Offset, Plan};
use crate::ragged::{DType, Layout, MAX_RANK, Shape};
use crate::{Error, Result, host};

/// A layout of `elements` elements of these extents.
pub(crate) fn layout(
    elements: usize,
    rank: usize,
    extent: impl Fn(usize, usize) -> u64,
) -> Result<Layout> {
    let mut offsets = Offset::new(elements)?;
    host::check(elements, 4 * if rank == 1 { 1 } else { 1 + rank })?;
    let mut extents = host::room(if rank == 1 { 0 } else { elements * rank })?;
    for element in 0..elements {
        let mut size = 1u64;
        for axis in 0..rank {
            let extent = extent(element, axis);
            let narrow = u32::try_from(extent)
                .map_err(|_| Error::size_overflow(format!("an extent of {extent}")).at(element))?;
            // A single 0 makes the size 0, whatever the other extents are.
            size = match (size, extent) {
                (0, _) | (_, 0) => 0,
                _ => size.saturating_mul(extent),
            };
            if rank > 1 {
                extents.push(narrow);
            }
        }
        offsets.push(size)?;
    }
    Ok(Layout::unchecked(offsets.finish(), rank, extents))
}

/// The extent of an element of `x` along an axis.
pub(crate) fn extent_of(x: &Layout, element: usize, axis: usize) -> u64 {
    match x.rank() {
        1 => x.length(element) as u64,
        rank => u64::from(x.extents()[element * rank + axis]),
    }
}

/// Checks that there is one argument for each axis.
pub(crate) fn check_axes(x: &Layout, got: usize) -> Result<()> {
    match got == x.rank() {
        true => Ok(()),
        false => Err(Error::rank(format!("{}, as in the batch", x.rank()), got)),
    }
}

/// Where a box begins along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Begin {
    /// At this index, which may lie outside.
    At(i64),
    /// So that it ends with the axis.
    ToEnd,
    /// So that its middle is that of the axis: half of the difference of the extents comes first, rounded down.
    Centred,
}

/// A strided copy, in which each value is a value of the source or zero, over values of one type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Strided {
    pub how: How,
    pub dtype: DType,
}

/// A rotation or reflection of the plane of the first two axes, with the name of the calling operation for errors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Turn {
    pub op: &'static str,
    /// Whether these axes are exchanged.
    pub swapped: bool,
    /// For each axis of the source, whether it is read backwards.
    pub backwards: [bool; 2],
}

impl Turn {
    pub(crate) fn inverse(self) -> Turn {
        let [down, along] = self.backwards;
        let backwards = match self.swapped {
            true => [along, down],
            false => self.backwards,
        };
        Turn { backwards, ..self }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum How {
    /// The box from start to end, which may extend outside.
    Slice { start: Vec<i64>, end: Vec<i64> },
    /// Every n-th value along each axis, within the element.
    Cut(Vec<Cut>),
    /// Zeros before and after along each axis.
    Pad(Vec<(usize, usize)>),
    /// Reversal of these axes.
    Flip(Vec<usize>),
    /// Axis a of the result is axis `permutation[a]` of the source.
    Transpose(Vec<usize>),
    /// Another position of the plane of the first two axes.
    Turn(Turn),
    /// Boxes of the shapes of operand 1, with the name of the calling operation for errors.
    Resize(&'static str),
    /// Boxes of the shapes of operand 1 that begin there along each axis, and may extend outside.
    Boxes(Vec<Begin>),
    /// Zeros of the shapes of operand 1, with the source at the places that these cuts would read.
    Place(Vec<Cut>),
    /// Repeats extents of 1 to match the shapes of operand 1.
    Broadcast,
    /// Stacks groups of elements along a new first axis, into at most `most` bytes, with the name of the calling
    /// operation for errors.
    Stack {
        op: &'static str,
        groups: Groups,
        most: u64,
    },
}

impl Operation for Strided {
    const KERNELS: &[&Kernel] = &[
        &super::RUNS,
        &super::BOXES,
        &transpose::KERNEL,
        &transpose::BYTES,
    ];

    fn name(&self) -> &'static str {
        match &self.how {
            How::Slice { .. } | How::Boxes(_) => "slice",
            How::Cut(_) => "strided_slice",
            How::Pad(_) => "pad",
            How::Flip(_) => "flip",
            How::Transpose(_) => "transpose",
            How::Turn(turn) => turn.op,
            How::Place(_) => "place",
            How::Broadcast => "broadcast",
            How::Resize(op) | How::Stack { op, .. } => op,
        }
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let allowed = request.device.allowed;
        let (dtype, x) = (self.dtype, inputs[0]);
        Ok(match &self.how {
            How::Slice { start, end } => slice(dtype, x, start, end)?.into(),
            How::Cut(cuts) => cut(dtype, x, cuts)?.into(),
            How::Pad(widths) => pad(dtype, x, widths)?.into(),
            How::Flip(axes) => flip(dtype, x, axes)?.into(),
            How::Transpose(permutation) => transpose(dtype, x, permutation)?.into(),
            How::Turn(of) => turn(dtype, x, *of)?.into(),
            How::Resize(_) => resize(dtype, x, inputs[1])?.into(),
            How::Boxes(begin) => boxes(dtype, x, begin, inputs[1])?.into(),
            How::Place(cuts) => place(dtype, x, cuts, inputs[1])?.into(),
            How::Broadcast => broadcast(dtype, x, inputs[1])?.into(),
            How::Stack { groups, most, .. } => stack(dtype, x, groups, (*most, allowed))?,
        })
    }
}

fn slice(dtype: DType, x: &Layout, start: &[i64], end: &[i64]) -> Result<Launch> {
    check_axes(x, start.len())?;
    check_axes(x, end.len())?;
    if let Some(axis) = (0..x.rank()).find(|&axis| start[axis] > end[axis]) {
        return Err(Error::argument(
            format!(
                "an end along axis {axis} of at least the start, {}",
                start[axis]
            ),
            end[axis],
        ));
    }
    let wide = |_, axis: usize| end[axis].abs_diff(start[axis]);
    let y = layout(x.len(), x.rank(), wide)?;
    launch(dtype, x, &Reading::shifted(start.iter().copied()), &y)
}

fn check_steps(cuts: &[Cut]) -> Result<()> {
    match cuts.iter().position(|cut| cut.step == 0) {
        None => Ok(()),
        Some(axis) => Err(Error::argument(
            format!("a step along axis {axis} other than 0"),
            0,
        )),
    }
}

fn cut(dtype: DType, x: &Layout, cuts: &[Cut]) -> Result<Launch> {
    check_axes(x, cuts.len())?;
    check_steps(cuts)?;
    let y = layout(x.len(), x.rank(), |element, axis| {
        cuts[axis].count(extent_of(x, element, axis))
    })?;
    let read = |&cut: &Cut| match cut {
        Cut::WHOLE => Read::From(0),
        cut => Read::Cut(cut),
    };
    let reading = Reading::along_itself(cuts.iter().map(read));
    launch(dtype, x, &reading, &y)
}

fn place(dtype: DType, x: &Layout, cuts: &[Cut], y: &Layout) -> Result<Launch> {
    check_alike(x, y)?;
    check_axes(x, cuts.len())?;
    check_steps(cuts)?;
    for element in 0..x.len() {
        let most = |axis: usize| cuts[axis].count(extent_of(y, element, axis));
        if (0..x.rank()).any(|axis| extent_of(x, element, axis) > most(axis)) {
            let most: Vec<u32> = (0..x.rank()).map(|axis| most(axis) as u32).collect();
            let most = Shape::from_extents_unchecked(&most);
            let expected = format!("{most}, or smaller extents");
            return Err(Error::shape(element, expected, x.shape(element)));
        }
    }
    let read = |&cut: &Cut| match cut {
        Cut::WHOLE => Read::From(0),
        cut => Read::Place(cut),
    };
    let reading = Reading::along_itself(cuts.iter().map(read));
    launch(dtype, x, &reading, y)
}

fn boxes(dtype: DType, x: &Layout, begin: &[Begin], y: &Layout) -> Result<Launch> {
    check_alike(x, y)?;
    check_axes(x, begin.len())?;
    let read = |begin: &Begin| match *begin {
        Begin::At(index) => Read::from(index),
        Begin::ToEnd => Read::ToEnd,
        Begin::Centred => Read::Centred,
    };
    let reading = Reading::along_itself(begin.iter().map(read));
    launch(dtype, x, &reading, y)
}

fn pad(dtype: DType, x: &Layout, widths: &[(usize, usize)]) -> Result<Launch> {
    check_axes(x, widths.len())?;
    let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let wider = |element, axis: usize| {
        let (before, after) = widths[axis];
        extent_of(x, element, axis)
            .saturating_add(before as u64)
            .saturating_add(after as u64)
    };
    let y = layout(x.len(), x.rank(), wider)?;
    let reading = Reading::shifted(widths.iter().map(|width| -signed(width.0)));
    launch(dtype, x, &reading, &y)
}

/// Checks that a list of axes is short enough to be copied: distinct axes are at most as many as there are.
pub(crate) fn check_flip(x: &Layout, axes: &[usize]) -> Result<()> {
    match axes.len() <= x.rank() {
        true => Ok(()),
        false => Err(not_flipped(x.rank(), axes)),
    }
}

/// Checks that a permutation is short enough to be copied.
pub(crate) fn check_transpose(x: &Layout, permutation: &[usize]) -> Result<()> {
    match permutation.len() <= x.rank() {
        true => Ok(()),
        false => Err(not_permuted(x.rank(), permutation)),
    }
}

fn not_flipped(rank: usize, axes: &[usize]) -> Error {
    Error::argument(format!("distinct axes below {rank}"), listed(axes))
}

fn not_permuted(rank: usize, permutation: &[usize]) -> Error {
    Error::argument(
        format!("a permutation of the axes 0 to {}", rank - 1),
        listed(permutation),
    )
}

/// A list of axes for an error, or its length if it is long.
fn listed(axes: &[usize]) -> String {
    match axes.len() <= 2 * MAX_RANK {
        true => format!("{axes:?}"),
        false => format!("{} axes", axes.len()),
    }
}

fn flip(dtype: DType, x: &Layout, axes: &[usize]) -> Result<Launch> {
    let rank = x.rank();
    let mut flipped = 0u32;
    for &axis in axes {
        if axis >= rank || flipped >> axis & 1 == 1 {
            return Err(not_flipped(rank, axes));
        }
        flipped |= 1 << axis;
    }
    let mut reading = Reading::plain(rank);
    for (j, axis) in reading.axes.iter_mut().enumerate() {
        if flipped >> j & 1 == 1 {
            axis.read = Read::Backwards;
        }
    }
    launch(dtype, x, &reading, x)
}

fn check_alike(x: &Layout, y: &Layout) -> Result<()> {
    y.check_rank_of(x, "the batch")?;
    x.check_len(y.len())
}

fn resize(dtype: DType, x: &Layout, y: &Layout) -> Result<Launch> {
    check_alike(x, y)?;
    windows(dtype, x, (1, 1), y)
}

fn transpose(dtype: DType, x: &Layout, permutation: &[usize]) -> Result<Launch> {
    let rank = x.rank();
    let mut along = vec![rank; rank];
    for (a, &axis) in permutation.iter().enumerate() {
        if let Some(free) = along.get_mut(axis).filter(|free| **free == rank) {
            *free = a;
        }
    }
    if permutation.len() != rank || along.contains(&rank) {
        return Err(not_permuted(rank, permutation));
    }
    let mut reading = Reading::plain(rank);
    for (axis, &along) in reading.axes.iter_mut().zip(&along) {
        axis.along = along;
    }
    let y = permuted(x, |a| permutation[a])?;
    launch(dtype, x, &reading, &y)
}

/// The shapes of elements whose axis a is axis `from(a)` of `x`.
fn permuted(x: &Layout, from: impl Fn(usize) -> usize) -> Result<Layout> {
    let rank = x.rank();
    let mut extents = host::room(x.extents().len())?;
    if rank > 1 {
        for of in x.extents().chunks_exact(rank) {
            extents.extend((0..rank).map(|a| of[from(a)]));
        }
    }
    // Every element has as many values as before, so the offsets stay the same.
    Ok(Layout::unchecked(x.offsets().clone(), rank, extents))
}

fn turn(dtype: DType, x: &Layout, how: Turn) -> Result<Launch> {
    let Turn {
        swapped, backwards, ..
    } = how;
    if x.rank() < 2 {
        return Err(Error::rank("at least 2", x.rank()));
    }
    let along = |axis: usize| match axis {
        0 | 1 if swapped => 1 - axis,
        other => other,
    };
    let mut reading = Reading::plain(x.rank());
    for (j, axis) in reading.axes.iter_mut().enumerate() {
        axis.along = along(j);
        if j < 2 && backwards[j] {
            axis.read = Read::Backwards;
        }
    }
    let y = permuted(x, along)?;
    launch(dtype, x, &reading, &y)
}

fn broadcast(dtype: DType, x: &Layout, y: &Layout) -> Result<Launch> {
    check_alike(x, y)?;
    let repeats = |(from, to): (&u32, &u32)| from == to || *from == 1;
    for (element, (from, to)) in x.shapes().zip(y.shapes()).enumerate() {
        if !from.extents().iter().zip(to.extents()).all(repeats) {
            return Err(Error::shape(
                element,
                format!("{from}, with any extent in place of an extent of 1"),
                to,
            ));
        }
    }
    let reading = Reading {
        repeat: true,
        ..Reading::plain(x.rank())
    };
    launch(dtype, x, &reading, y)
}
