//! Rules of operations that move values: the adjoint moves each value back, and adds those that were copied.

use num_complex::Complex32;

use super::parts::{extent, layout, layout_at_pairs, one, over_pairs, product, sums};
use super::rule::{Applied, Cotangent, Cotangents, GRADIENTS, Rule, each};
use crate::error::Named;
use crate::ops::ambient::{Along, Concat};
use crate::ops::cells::{Cells, How as OfCells};
use crate::ops::embedding::Embedding;
use crate::ops::embedding::slopes::Slopes;
use crate::ops::fft::planes::{PlaneView, Planes};
use crate::ops::gather::Gather;
use crate::ops::scatter::{Add, Set};
use crate::ops::select::{Join, Reorder, Select, SortByLength};
use crate::ops::shape_matmul::Transpose;
use crate::ops::strided::{Begin, Groups, How, Strided, View};
use crate::ops::take::{How as Taking, Take};
use crate::plan::Attachment;
use crate::ragged::{DType, Layout, Number, Pairs, Permutation};
use crate::tensor::Tensor;
use crate::{Result, host};

impl Rule for View {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        match self {
            // The cotangents of views of elements are parts of a sum.
            View::Elements(..) => Err(applied.refused()),
            _ => seen_back(applied, g),
        }
    }
}

impl Rule for Planes {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        match self.view {
            // Only their layouts are used.
            PlaneView::RowsOf | PlaneView::Frames { .. } => Err(applied.refused()),
            _ => seen_back(applied, g),
        }
    }
}

impl Rule for Select {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let member = |i: usize| self.elements[i] as usize;
        one(each!(g, g => sums(g, member, applied.layout(0))?))
    }
}

impl Rule for Reorder {
    fn of_result(&self, _: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        one(each!(g, g => g.reorder(&self.order.inverse())?))
    }
}

impl Rule for SortByLength {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let order = match applied.attached() {
            Attachment::Permutation(order) => order.inverse(),
            _ => Permutation::by_length(applied.layout(0))?.inverse(),
        };
        one(each!(g, g => g.reorder(&order)?))
    }
}

impl Rule for Join {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let mut start = 0;
        let mut part = |i: usize| {
            let elements = start..start + applied.layout(i).len();
            start = elements.end;
            Ok(Some(each!(g, g => g.elements(elements)?)))
        };
        (0..applied.operands()).map(&mut part).collect()
    }
}

impl Rule for Embedding {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let x = applied.layout(0);
        let ids = applied.operand::<u32>(1)?;
        match g {
            Cotangent::F32(g) => one(g.embedding_slopes(&ids, x)?),
            Cotangent::F16(g) => one(g.embedding_slopes(&ids, x)?),
            Cotangent::C32(_) => Err(applied.refused()),
        }
    }
}

impl Rule for Slopes {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let ids = applied.operand::<u32>(1)?;
        match g {
            Cotangent::F32(g) => one(g.embedding_or_zeros(&ids)?),
            Cotangent::F16(g) => one(g.embedding_or_zeros(&ids)?),
            Cotangent::C32(_) => Err(applied.refused()),
        }
    }
}

impl Rule for Add {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let pairing = pairs(applied)?.pairing();
        one(each!(g, g => g.gather_paired(&self.indices, pairing)?))
    }
}

impl Rule for Set {
    fn of_result(&self, _: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        one(each!(g, g => g.gather(&self.indices)?))
    }
}

impl Rule for Take {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let (indices, axis, x) = (applied.operand::<u32>(1)?, self.axis, applied.layout(0));
        match self.how {
            Taking::Values { distinct: true } => one(applied.floats(g)?.put(&indices, axis, x)?),
            Taking::Values { distinct: false } => match g {
                Cotangent::F32(g) => one(g.take_slopes(&indices, axis, x)?),
                Cotangent::F16(g) => one(g.take_slopes(&indices, axis, x)?),
                Cotangent::C32(g) => one(g.complex_take_slopes(&indices, axis, x)?),
            },
            Taking::Put => one(applied.floats(g)?.take(&indices, axis)?),
            // Places depend on shapes and indices only.
            Taking::Places => Err(applied.refused()),
        }
    }
}

impl Rule for Cells {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        one(each!(g, g => put_back(g, self, applied.layout(0))?))
    }
}

impl Rule for Transpose {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        // The entry at (i, k) is that at (k, i) of the result, row by row.
        let grid = applied.layout(1);
        let mut from = host::room(grid.total()).named(GRADIENTS)?;
        for (shape, begin) in grid.shapes().zip(grid.offsets().as_slice()) {
            let (rows, columns) = (shape.extents()[0], shape.extents()[1]);
            let row = |i: u32| (0..columns).map(move |k| begin + k * rows + i);
            from.extend((0..rows).flat_map(row));
        }
        let order = Permutation::new(from)?;
        one(each!(g, g => g.reorder(&order)?))
    }
}

fn pairs<'a>(applied: &'a Applied<'_>) -> Result<&'a Pairs> {
    applied.pairs().ok_or_else(|| applied.refused())
}

/// Copies in which each value of the result is at most one value of the source.
impl Rule for Strided {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let x = applied.layout(0);
        let boxes = |begin: Vec<Begin>| one(each!(g, g => g.boxes(&begin, x)?));
        match &self.how {
            How::Slice { start, .. } => boxes(
                start
                    .iter()
                    .map(|at| Begin::At(at.saturating_neg()))
                    .collect(),
            ),
            How::Pad(widths) => {
                let at = |before: usize| Begin::At(i64::try_from(before).unwrap_or(i64::MAX));
                boxes(widths.iter().map(|&(before, _)| at(before)).collect())
            }
            How::Boxes(begin) => {
                let back = |begin: &Begin| match *begin {
                    Begin::At(at) => Begin::At(at.saturating_neg()),
                    other => other,
                };
                boxes(begin.iter().map(back).collect())
            }
            How::Cut(cuts) => one(each!(g, g => g.place(cuts, x)?)),
            How::Place(cuts) => one(each!(g, g => g.strided(How::Cut(cuts.clone()))?)),
            How::Flip(axes) => one(each!(g, g => g.flip(axes)?)),
            How::Transpose(permutation) => {
                let mut inverse = vec![0; permutation.len()];
                permutation
                    .iter()
                    .enumerate()
                    .for_each(|(a, &axis)| inverse[axis] = a);
                one(each!(g, g => g.transpose(&inverse)?))
            }
            How::Turn(turn) => {
                let back = How::Turn(turn.inverse());
                one(each!(g, g => g.strided(back)?))
            }
            How::Resize(_) => one(g.clone()),
            How::Broadcast => one(each!(g, g => repeated(g, x)?)),
            How::Stack { groups, .. } => one(each!(g, g => stacked(g, groups, x)?)),
        }
    }
}

/// The sum of the copies of each cell of `x`.
fn put_back<T: Number>(g: &Tensor<T>, cells: &Cells, x: &Layout) -> Result<Tensor<T>> {
    let by = cells.by.clone();
    let factor = |element: usize, axis: usize| cells.of(element)[axis].unsigned_abs() as usize;
    match cells.how {
        OfCells::Upscale => {
            // Rows, rows of a block, columns, columns of a block.
            let blocks = layout(x.len(), 4, |element, a| match a % 2 {
                0 => extent(x, element, a / 2),
                _ => factor(element, a / 2),
            })?;
            g.view_as(&blocks)?.sum_axis(3)?.sum_axis(1)?.view_as(x)
        }
        OfCells::Tile => {
            let copies = layout(x.len(), 4, |element, a| match a % 2 {
                0 => factor(element, a / 2),
                _ => extent(x, element, a / 2),
            })?;
            g.view_as(&copies)?.sum_axis(2)?.sum_axis(0)?.view_as(x)
        }
        OfCells::Downscale => g.cells_in(OfCells::Apart, by, x),
        OfCells::Apart => g.cells(OfCells::Downscale, by, T::default()),
        OfCells::Translate | OfCells::Crop => {
            let mut back = host::room(by.len()).named(GRADIENTS)?;
            back.extend(by.iter().map(|by| by.map(i64::saturating_neg)));
            match cells.how {
                OfCells::Crop => g.cells_in(OfCells::Crop, back.into(), x),
                _ => g.cells(OfCells::Translate, back.into(), T::default()),
            }
        }
    }
}

/// Sums over the axes along which values of `x` were repeated.
fn repeated<T: Number>(g: &Tensor<T>, x: &Layout) -> Result<Tensor<T>> {
    let (wide, rank) = (g.layout().clone(), x.rank());
    let mut sum = g.clone();
    for axis in 0..rank {
        let times = |element: usize| match (extent(x, element, axis), extent(&wide, element, axis))
        {
            (from, to) if from == to => 1,
            (_, to) => to,
        };
        if (0..x.len()).all(|element| times(element) == 1) {
            continue;
        }
        // The axes before have the extents of x already.
        let boxes = layout(x.len(), 4, |element, a| match a {
            0 => product(x, element, 0..axis),
            1 => extent(x, element, axis),
            2 => times(element),
            _ => product(&wide, element, axis + 1..rank),
        })?;
        sum = sum.view_as(&boxes)?.sum_axis(2)?;
    }
    sum.view_as(x)
}

/// Slices of stacks, as elements of `x`.
fn stacked<T: Number>(g: &Tensor<T>, groups: &Groups, x: &Layout) -> Result<Tensor<T>> {
    let slices = match g.layout().rank() == x.rank() {
        true => g.clone(),
        // The first elements of the batch were seen as stacks.
        false => g.view_as(&x.range(0..groups.slices())?)?,
    };
    let there = (0..slices.len() as u32).filter(|&slice| groups.source(slice as usize) < x.len());
    let there = host::collect(there).named(GRADIENTS)?;
    let slices = match there.len() == slices.len() {
        true => slices,
        false => slices.select(&there)?,
    };
    let source = |i: usize| groups.source(there[i] as usize);
    let shapes = layout(there.len(), x.rank(), |i, axis| extent(x, source(i), axis))?;
    sums(&slices.resize(&shapes)?, source, x)
}

/// The cotangent of a view, in the shapes of operand 0.
fn seen_back(applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
    let x = applied.layout(0);
    match (g, applied.dtype(0)) {
        (Cotangent::F32(g), Some(DType::C32)) => {
            // The same values with a last axis of the two parts.
            let rank = x.rank();
            let parts = layout(x.len(), rank + 1, |element, axis| match axis < rank {
                true => extent(x, element, axis),
                false => 2,
            })?;
            one(g.view_as(&parts)?.view_as_complex()?.view_as(x)?)
        }
        (Cotangent::C32(g), Some(DType::F32)) => one(g.view_as_real()?.view_as(x)?),
        _ => one(each!(g, g => g.view_as(x)?)),
    }
}

impl Rule for Concat {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let pairs = pairs(applied)?;
        let part = |side: usize| -> Result<Option<Cotangent>> {
            if !applied.wants(side) {
                return Ok(None);
            }
            let operand = applied.layout(side);
            let shapes = layout_at_pairs(operand, pairs, side)?;
            let begin = |axis: usize| match self.along {
                Along::Axis(along) if along != axis => Begin::At(0),
                _ if side == 0 => Begin::At(0),
                _ => Begin::ToEnd,
            };
            let begin: Vec<Begin> = (0..operand.rank()).map(begin).collect();
            Ok(Some(
                each!(g, g => over_pairs(&g.boxes(&begin, &shapes)?, pairs, side, operand)?),
            ))
        };
        Ok(vec![part(0)?, part(1)?])
    }
}

impl Rule for Gather {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let (indices, x) = (&self.indices, applied.layout(0));
        let pairing = pairs(applied)?.pairing();
        match g {
            Cotangent::F32(g) => one(g.scatter_add_paired(indices, x, pairing)?),
            Cotangent::F16(g) => one(g.scatter_add_paired(indices, x, pairing)?),
            Cotangent::C32(g) => {
                // Rows of complex values are rows of their parts.
                let rank = x.rank();
                let parts = layout(x.len(), rank + 1, |element, axis| match axis < rank {
                    true => extent(x, element, axis),
                    false => 2,
                })?;
                let g: Tensor<f32> = g.view_as_real()?;
                let sums: Tensor<Complex32> = g
                    .scatter_add_paired(indices, &parts, pairing)?
                    .view_as_complex()?;
                one(sums)
            }
        }
    }
}
