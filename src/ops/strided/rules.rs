//! The rules for shapes, and how each operation reads its source.

use std::sync::Arc;

use super::{Reading, Target, launch, planned};
use crate::plan::{Launch, Offset, OutputLayout};
use crate::ragged::{DType, Layout};
use crate::{Error, Result};

/// A layout of as many elements as `x` has, of these extents.
fn layout(
    op: &'static str,
    elements: usize,
    rank: usize,
    extent: impl Fn(usize, usize) -> u64,
) -> Result<Layout> {
    let mut offsets = Offset::new(op, elements)?;
    let mut extents = Vec::new();
    for element in 0..elements {
        let mut size = 1u64;
        for axis in 0..rank {
            let wanted = extent(element, axis);
            let narrow = u32::try_from(wanted).map_err(|_| Error::SizeOverflow {
                op,
                element: Some(element),
                what: format!("an extent of {wanted}"),
            })?;
            // One 0 makes it 0, whatever the others are.
            size = match (size, wanted) {
                (0, _) | (_, 0) => 0,
                _ => size.saturating_mul(wanted),
            };
            if rank > 1 {
                extents.push(narrow);
            }
        }
        offsets.push(size)?;
    }
    Ok(Layout::with_extents_unchecked(
        offsets.finish(),
        rank,
        extents,
    ))
}

/// The extent of an element of `x` along an axis.
fn extent_of(x: &Layout, element: usize, axis: usize) -> u64 {
    match x.rank() {
        1 => x.length(element) as u64,
        rank => u64::from(x.extents()[element * rank + axis]),
    }
}

/// One argument for each axis.
fn check_axes(op: &'static str, x: &Layout, got: usize) -> Result<()> {
    match got == x.rank() {
        true => Ok(()),
        false => Err(Error::Rank {
            op,
            element: None,
            expected: format!("{}, the batch's", x.rank()),
            got,
        }),
    }
}

/// A new layout for the result of an operation on `x`, unless it is that of `x`.
fn made<'a>(layout: &'a Layout, x: &Layout) -> Target<'a> {
    Target {
        layout,
        named: OutputLayout::of(layout.clone(), &[x]),
    }
}

pub(crate) fn slice(dtype: DType, x: &Layout, start: &[i64], end: &[i64]) -> Result<Arc<Launch>> {
    let op = "slice";
    check_axes(op, x, start.len())?;
    check_axes(op, x, end.len())?;
    if let Some(axis) = (0..x.rank()).find(|&axis| start[axis] > end[axis]) {
        return Err(Error::Argument {
            op,
            expected: format!(
                "an end along axis {axis} that is not before the start {}",
                start[axis]
            ),
            got: end[axis].to_string(),
        });
    }
    planned(op, dtype, x, (0, [start, end].concat()), || {
        let wide = |_, axis: usize| end[axis].abs_diff(start[axis]);
        let y = layout(op, x.len(), x.rank(), wide)?;
        let reading = Reading::shifted(start.iter().copied());
        Ok(launch(op, dtype, x, &reading, made(&y, x)))
    })
}

pub(crate) fn pad(dtype: DType, x: &Layout, widths: &[(usize, usize)]) -> Result<Arc<Launch>> {
    let op = "pad";
    check_axes(op, x, widths.len())?;
    let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let asked = widths.iter().flat_map(|&(before, after)| [before, after]);
    planned(op, dtype, x, (0, asked.map(signed).collect()), || {
        let wider = |element, axis: usize| {
            let (before, after) = widths[axis];
            extent_of(x, element, axis)
                .saturating_add(before as u64)
                .saturating_add(after as u64)
        };
        let y = layout(op, x.len(), x.rank(), wider)?;
        let reading = Reading::shifted(widths.iter().map(|width| -signed(width.0)));
        Ok(launch(op, dtype, x, &reading, made(&y, x)))
    })
}

pub(crate) fn flip(dtype: DType, x: &Layout, axes: &[usize]) -> Result<Arc<Launch>> {
    let op = "flip";
    let rank = x.rank();
    let mut turned = 0u32;
    for &axis in axes {
        if axis >= rank || turned >> axis & 1 == 1 {
            return Err(Error::Argument {
                op,
                expected: format!("different axes below {rank}"),
                got: format!("{axes:?}"),
            });
        }
        turned |= 1 << axis;
    }
    planned(op, dtype, x, (0, vec![turned.into()]), || {
        let mut reading = Reading::plain(rank);
        for (axis, read) in reading.axes.iter_mut().enumerate() {
            read.backwards = turned >> axis & 1 == 1;
        }
        Ok(launch(op, dtype, x, &reading, made(x, x)))
    })
}

/// The target's layout comes as operand 1, so that the launch need not hold it.
pub(crate) fn resize(
    op: &'static str,
    dtype: DType,
    x: &Layout,
    y: &Layout,
) -> Result<Arc<Launch>> {
    if x.rank() != y.rank() {
        return Err(Error::Rank {
            op,
            element: None,
            expected: format!("{}, the batch's", x.rank()),
            got: y.rank(),
        });
    }
    if x.len() != y.len() {
        return Err(Error::BatchSize {
            op,
            left: x.len(),
            right: y.len(),
        });
    }
    planned(op, dtype, x, (y.id(), Vec::new()), || {
        let target = Target {
            layout: y,
            named: OutputLayout::Input(1),
        };
        Ok(launch(op, dtype, x, &Reading::plain(x.rank()), target))
    })
}
