//! The rules for shapes, and how each operation reads its source.

use std::sync::Arc;

use super::{Reading, Target, launch, planned};
use crate::plan::{Launch, Offset, OutputLayout};
use crate::ragged::{DType, Layout};
use crate::{Error, Result, host};

/// A layout of as many elements as `x` has, of these extents.
fn layout(
    op: &'static str,
    elements: usize,
    rank: usize,
    extent: impl Fn(usize, usize) -> u64,
) -> Result<Layout> {
    let mut offsets = Offset::new(op, elements)?;
    host::check(op, elements, 4 * if rank == 1 { 1 } else { 1 + rank })?;
    let mut extents = host::room(op, if rank == 1 { 0 } else { elements * rank })?;
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
        launch(op, dtype, x, &reading, made(&y, x))
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
        launch(op, dtype, x, &reading, made(&y, x))
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
        launch(op, dtype, x, &reading, made(x, x))
    })
}

/// The caller's layout, which comes as operand 1, so that the launch need not hold it.
fn onto(layout: &Layout) -> Target<'_> {
    Target {
        layout,
        named: OutputLayout::Input(1),
    }
}

fn check_alike(op: &'static str, x: &Layout, y: &Layout) -> Result<()> {
    if x.rank() != y.rank() {
        return Err(Error::Rank {
            op,
            element: None,
            expected: format!("{}, the batch's", x.rank()),
            got: y.rank(),
        });
    }
    check_count(op, x, y)
}

/// As many elements in `y` as in `x`.
fn check_count(op: &'static str, x: &Layout, y: &Layout) -> Result<()> {
    match x.len() == y.len() {
        true => Ok(()),
        false => Err(Error::BatchSize {
            op,
            left: x.len(),
            right: y.len(),
            pairing: false,
        }),
    }
}

/// The target's layout comes as operand 1.
pub(crate) fn resize(
    op: &'static str,
    dtype: DType,
    x: &Layout,
    y: &Layout,
) -> Result<Arc<Launch>> {
    check_alike(op, x, y)?;
    windows(op, dtype, x, (1, 1), y)
}

/// Whether elements of `x` may be seen as those of `y`: each of as many values.
pub(crate) fn check_reshape(x: &Layout, y: &Layout) -> Result<()> {
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

/// Axis a of the result is axis `permutation[a]` of the source.
pub(crate) fn transpose(dtype: DType, x: &Layout, permutation: &[usize]) -> Result<Arc<Launch>> {
    let op = "transpose";
    let rank = x.rank();
    let mut along = vec![rank; rank];
    for (a, &axis) in permutation.iter().enumerate() {
        if let Some(free) = along.get_mut(axis).filter(|free| **free == rank) {
            *free = a;
        }
    }
    if permutation.len() != rank || along.contains(&rank) {
        return Err(Error::Argument {
            op,
            expected: format!("a permutation of the axes 0 to {}", rank - 1),
            got: format!("{permutation:?}"),
        });
    }
    let asked = along.iter().map(|&a| a as i64).collect();
    planned(op, dtype, x, (0, asked), || {
        let mut reading = Reading::plain(rank);
        for (axis, &along) in reading.axes.iter_mut().zip(&along) {
            axis.along = along;
        }
        let mut extents = host::room(op, x.extents().len())?;
        if rank > 1 {
            for of in x.extents().chunks_exact(rank) {
                extents.extend(permutation.iter().map(|&axis| of[axis]));
            }
        }
        // Every element keeps its number of values, and so its place.
        let y = Layout::with_extents_unchecked(x.offsets().clone(), rank, extents);
        launch(op, dtype, x, &reading, made(&y, x))
    })
}

/// The target's layout comes as operand 1, as for [`resize`].
pub(crate) fn broadcast(dtype: DType, x: &Layout, y: &Layout) -> Result<Arc<Launch>> {
    let op = "broadcast";
    check_alike(op, x, y)?;
    planned(op, dtype, x, (y.id(), Vec::new()), || {
        let repeats = |(from, to): (&u32, &u32)| from == to || *from == 1;
        for (element, (from, to)) in x.shapes().zip(y.shapes()).enumerate() {
            if !from.extents().iter().zip(to.extents()).all(repeats) {
                return Err(Error::Shape {
                    op,
                    element,
                    expected: format!("{from}, with any extents in place of 1"),
                    got: to.to_string(),
                });
            }
        }
        let reading = Reading {
            repeat: true,
            ..Reading::plain(x.rank())
        };
        launch(op, dtype, x, &reading, onto(y))
    })
}

/// Element e of the result is element `e / size · stride + e % size` in another box, or zeros where there is none. The target's layout
/// comes as operand 1, as for [`resize`].
pub(crate) fn windows(
    op: &'static str,
    dtype: DType,
    x: &Layout,
    (size, stride): (u32, u32),
    y: &Layout,
) -> Result<Arc<Launch>> {
    planned(
        op,
        dtype,
        x,
        (y.id(), vec![size.into(), stride.into()]),
        || {
            let reading = Reading {
                windows: (size, stride),
                ..Reading::plain(x.rank())
            };
            launch(op, dtype, x, &reading, onto(y))
        },
    )
}
