//! Helpers that rules share: functions computed in f32, lines, and sums over pairs.

use half::f16;
use num_complex::Complex32;

use super::rule::{Applied, Cotangent, Cotangents, GRADIENTS};
use crate::error::Named;
use crate::ops::strided;
use crate::ragged::{
    DType, Layout, Number, PairList, Pairing, Pairs, Permutation, Ragged, Scalar, Shape,
};
use crate::tensor::{Paired, Spread, Tensor, of_two, of_two_over};
use crate::{Result, host};

/// The cotangent of an operation's only operand.
pub(super) fn one(g: impl Into<Cotangent>) -> Result<Cotangents> {
    Ok(vec![Some(g.into())])
}

impl Applied<'_> {
    /// A cotangent of floats, in f32.
    pub(super) fn floats(&self, g: &Cotangent) -> Result<Tensor<f32>> {
        match g {
            Cotangent::F32(g) => Ok(g.clone()),
            Cotangent::F16(g) => g.to(),
            Cotangent::C32(_) => Err(self.refused()),
        }
    }

    /// A cotangent of complex numbers.
    pub(super) fn complex(&self, g: &Cotangent) -> Result<Tensor<Complex32>> {
        match g {
            Cotangent::C32(g) => Ok(g.clone()),
            _ => Err(self.refused()),
        }
    }

    /// Operand `i` of floats, in f32.
    pub(super) fn float(&self, i: usize) -> Result<Tensor<f32>> {
        match self.dtype(i) {
            Some(DType::F16) => self.operand::<f16>(i)?.to(),
            _ => self.operand(i),
        }
    }

    /// Result `i` of floats, which have the type of operand `i`, in f32.
    pub(super) fn float_result(&self) -> Result<Tensor<f32>> {
        match self.result_dtype() {
            DType::F16 => self.result::<f16>(0)?.to(),
            _ => self.result(0),
        }
    }

    /// A cotangent of operand `i`, in its type.
    pub(super) fn narrow(&self, i: usize, g: Tensor<f32>) -> Result<Cotangent> {
        Ok(match self.dtype(i) {
            Some(DType::F16) => g.to::<f16>()?.into(),
            _ => g.into(),
        })
    }

    /// The cotangent of operand `i`, made if it is wanted.
    pub(super) fn wanted(
        &self,
        i: usize,
        made: impl FnOnce() -> Result<Tensor<f32>>,
    ) -> Result<Option<Cotangent>> {
        match self.wants(i) {
            true => Ok(Some(self.narrow(i, made()?)?)),
            false => Ok(None),
        }
    }

    /// A batch of `elements` elements of one value each, all `value`, to spread over elements.
    pub(super) fn filled<T: Scalar>(&self, elements: usize, value: T) -> Result<Tensor<T>> {
        self.device().full(&ones(elements)?, value)
    }

    /// A value for each element, to spread over it.
    pub(super) fn uploaded<T: Scalar>(&self, values: Vec<T>) -> Result<Tensor<T>> {
        let layout = ones(values.len())?;
        self.device().upload(&Ragged::from_parts(layout, values)?)
    }

    /// Where y is 0, or so small that a GPU may take it for 0; not where it is NaN.
    pub(super) fn vanishing(&self, y: &Tensor<f32>) -> Result<Tensor<u32>> {
        let least = self.filled(y.len(), f32::MIN_POSITIVE)?;
        y.abs()?.less(least.each())
    }

    /// y, and 1 where a mask is set.
    pub(super) fn or_one(&self, mask: &Tensor<u32>, y: &Tensor<f32>) -> Result<Tensor<f32>> {
        mask.if_else(self.filled(y.len(), 1.0f32)?.each(), y)
    }

    /// What sizes can divide: themselves, and 1 where they vanish.
    pub(super) fn divisor(&self, size: &Tensor<f32>) -> Result<Tensor<f32>> {
        self.or_one(&self.vanishing(size)?, size)
    }

    /// x / y, and 0 where y vanishes. No part of it divides by 0, so that its own gradients are finite.
    pub(super) fn divided(&self, x: &Tensor<f32>, y: &Tensor<f32>) -> Result<Tensor<f32>> {
        self.divided_unless(&self.vanishing(y)?, x, y)
    }

    /// x / y, and 0 where a mask is set.
    pub(super) fn divided_unless(
        &self,
        mask: &Tensor<u32>,
        x: &Tensor<f32>,
        y: &Tensor<f32>,
    ) -> Result<Tensor<f32>> {
        let zero = self.filled(x.len(), 0.0f32)?;
        mask.if_else(zero.each(), &x.div(&self.or_one(mask, y)?)?)
    }

    /// g / z, whose parts are the slopes of the angle of z = x + yi along y and x, and 0 where z vanishes. A quotient
    /// of complex numbers neither overflows nor underflows where |z|² does.
    pub(super) fn over_point(
        &self,
        g: &Tensor<f32>,
        z: &Tensor<Complex32>,
    ) -> Result<Tensor<Complex32>> {
        let (zero, none) = (self.filled(z.len(), 0.0f32)?, self.vanishing(&z.abs()?)?);
        let divisor = z.add(&none.to::<f32>()?.complex(zero.each())?)?;
        let g = none.if_else(zero.each(), g)?;
        g.complex(zero.each())?.div(&divisor)
    }
}

/// The layout of one value for each element.
fn ones(elements: usize) -> Result<Layout> {
    Layout::uniform(elements, Shape::new(&[1])?)
}

/// The layout of so many elements of these extents.
pub(super) fn layout(
    elements: usize,
    rank: usize,
    extent: impl Fn(usize, usize) -> usize,
) -> Result<Layout> {
    strided::layout(elements, rank, |element, axis| extent(element, axis) as u64).named(GRADIENTS)
}

/// The extent of an element along an axis.
pub(super) fn extent(x: &Layout, element: usize, axis: usize) -> usize {
    strided::extent_of(x, element, axis) as usize
}

/// Elements as vectors.
pub(super) fn flat(x: &Layout) -> Layout {
    match x.rank() {
        1 => x.clone(),
        _ => Layout::from_offsets(x.offsets().clone()),
    }
}

/// The product of some extents of an element.
pub(super) fn product(x: &Layout, element: usize, axes: std::ops::Range<usize>) -> usize {
    axes.map(|axis| extent(x, element, axis))
        .fold(1, usize::saturating_mul)
}

/// The lines of a batch along an axis, of whole elements without one.
///
/// Elements are seen as vectors of one line, as matrices whose rows or columns are the lines, or, if other axes are on
/// both sides, as boxes of three axes.
pub(super) struct Lines {
    pub layout: Layout,
    pub axis: usize,
    /// One value for each line, with an axis of extent 1.
    each: Layout,
    /// One value for each line, as a vector to lay along the other axis of matrices.
    vectors: Option<Layout>,
}

impl Lines {
    pub(super) fn new(x: &Layout, axis: Option<usize>) -> Result<Lines> {
        let rank = x.rank();
        // The numbers of indices before the axis, along it, and after it.
        let three = |element: usize, i: usize| match axis.filter(|_| rank > 1) {
            None => [1, x.length(element), 1][i],
            Some(axis) => match i {
                0 => product(x, element, 0..axis),
                1 => extent(x, element, axis),
                _ => product(x, element, axis + 1..rank),
            },
        };
        let is_one = |i: usize| (0..x.len()).all(|element| three(element, i) == 1);
        let kept = match (is_one(0), is_one(2)) {
            (true, true) => 1..2,
            (false, true) => 0..2,
            (true, false) => 1..3,
            (false, false) => 0..3,
        };
        let axis = 1 - kept.start;
        let layout_of = |extent: &dyn Fn(usize, usize) -> usize| {
            layout(x.len(), kept.len(), |element, i| {
                extent(element, kept.start + i)
            })
        };
        let each = layout_of(&|element, i| if i == 1 { 1 } else { three(element, i) })?;
        let vectors = match kept.len() {
            2 => Some(layout(x.len(), 1, |element, _| {
                three(element, 2 * axis.abs_diff(1))
            })?),
            _ => None,
        };
        Ok(Lines {
            layout: layout_of(&three)?,
            axis,
            each,
            vectors,
        })
    }

    /// The values of the batch, in its lines.
    pub(super) fn of<T: Scalar>(&self, x: &Tensor<T>) -> Result<Tensor<T>> {
        match *x.layout() == self.layout {
            true => Ok(x.clone()),
            false => x.view_as(&self.layout),
        }
    }

    /// A value of each line, as a line of one value.
    pub(super) fn apart<T: Scalar>(&self, reduced: &Tensor<T>) -> Result<Tensor<T>> {
        reduced.view_as(&self.each)
    }

    /// A value of each line, repeated along it.
    pub(super) fn spread<T: Scalar>(&self, reduced: &Tensor<T>) -> Result<Tensor<T>> {
        self.apart(reduced)?.broadcast(&self.layout)
    }

    /// A function of the values of all lines, and of one value of each line.
    pub(super) fn with(
        &self,
        name: &'static str,
        x: &Tensor<f32>,
        reduced: &Tensor<f32>,
    ) -> Result<Tensor<f32>> {
        match &self.vectors {
            Some(vectors) => {
                let reduced = reduced.view_as(vectors)?;
                of_two(name, x.into(), reduced.along(1 - self.axis))
            }
            None if self.layout.rank() == 1 => of_two(name, x.into(), reduced.each()),
            None => of_two(name, x.into(), Spread::from(&self.spread(reduced)?)),
        }
    }

    /// The number of values of each line, for each element.
    pub(super) fn counts(&self, applied: &Applied<'_>) -> Result<Tensor<f32>> {
        let counts =
            (0..self.layout.len()).map(|element| extent(&self.layout, element, self.axis) as f32);
        applied.uploaded(host::exact(counts).named(GRADIENTS)?)
    }

    /// A value of each line over the number of its values, repeated along it.
    pub(super) fn shared(
        &self,
        applied: &Applied<'_>,
        reduced: &Tensor<f32>,
    ) -> Result<Tensor<f32>> {
        let counts = self.counts(applied)?;
        let (name, counts) = ("div", counts.each());
        match &self.vectors {
            Some(vectors) => {
                let reduced = reduced.view_as(vectors)?;
                of_two_over(name, reduced.along(1 - self.axis), counts, &self.layout)
            }
            None if self.layout.rank() == 1 => {
                of_two_over(name, reduced.each(), counts, &self.layout)
            }
            None => self.spread(&reduced.div(counts)?),
        }
    }
}

/// The element of an operand in each pair, for side 0 (left) or 1 (right).
pub(super) fn member(pairs: &Pairs, side: usize) -> impl Fn(usize) -> usize {
    move |pair| {
        let (left, right) = pairs.get(pair);
        [left, right][side]
    }
}

/// Whether pair p has element p of an operand, for all pairs and elements.
pub(super) fn is_each(pairs: &Pairs, side: usize, layout: &Layout) -> bool {
    pairs.is_elementwise()
        || pairs.len() == layout.len()
            && (0..layout.len()).all(|pair| member(pairs, side)(pair) == pair)
}

/// The elements of an operand at each pair.
pub(super) fn at_pairs<T: Scalar>(x: &Tensor<T>, pairs: &Pairs, side: usize) -> Result<Tensor<T>> {
    if is_each(pairs, side, x.layout()) {
        return Ok(x.clone());
    }
    let members = (0..pairs.len()).map(|pair| member(pairs, side)(pair) as u32);
    x.select(&host::exact(members).named(GRADIENTS)?)
}

/// The layout of the elements of an operand at each pair.
pub(super) fn layout_at_pairs(x: &Layout, pairs: &Pairs, side: usize) -> Result<Layout> {
    if is_each(pairs, side, x) {
        return Ok(x.clone());
    }
    let member = member(pairs, side);
    layout(pairs.len(), x.rank(), |pair, axis| {
        extent(x, member(pair), axis)
    })
}

/// The cotangent of each pair, paired with the pair's element of an operand.
pub(super) fn with<'a, T: Scalar>(
    g: &'a Tensor<T>,
    other: &'a Tensor<T>,
    pairs: &Pairs,
    side: usize,
) -> Result<Paired<'a, T>> {
    if is_each(pairs, side, other.layout()) {
        return g.pair(other, Pairing::Elementwise);
    }
    if other.len() == 1 {
        return g.pair(other, Pairing::AllToOne);
    }
    let member = member(pairs, side);
    let list = (0..pairs.len()).map(|pair| (pair as u32, member(pair) as u32));
    g.pair(other, Pairing::List(&PairList::new(list)?))
}

/// The same with the operand on the left.
pub(super) fn before<'a, T: Scalar>(
    other: &'a Tensor<T>,
    g: &'a Tensor<T>,
    pairs: &Pairs,
    side: usize,
) -> Result<Paired<'a, T>> {
    if is_each(pairs, side, other.layout()) {
        return other.pair(g, Pairing::Elementwise);
    }
    if other.len() == 1 {
        return other.pair(g, Pairing::OneToAll);
    }
    let member = member(pairs, side);
    let list = (0..pairs.len()).map(|pair| (member(pair) as u32, pair as u32));
    other.pair(g, Pairing::List(&PairList::new(list)?))
}

/// A cotangent for each pair as that of the operand: restricted to the shapes of its elements, and summed over the
/// pairs of each.
pub(super) fn over_pairs<T: Number>(
    g: &Tensor<T>,
    pairs: &Pairs,
    side: usize,
    of: &Layout,
) -> Result<Tensor<T>> {
    if is_each(pairs, side, of) {
        return g.resize(of);
    }
    sums(
        &g.resize(&layout_at_pairs(of, pairs, side)?)?,
        member(pairs, side),
        of,
    )
}

/// For each element of a batch, the sum of the elements that belong to it, which all have its shape.
///
/// The members of an element are brought together as the rows of a matrix, whose columns are then summed.
pub(super) fn sums<T: Number>(
    values: &Tensor<T>,
    member: impl Fn(usize) -> usize,
    of: &Layout,
) -> Result<Tensor<T>> {
    let members = host::exact((0..values.len()).map(&member)).named(GRADIENTS)?;
    let mut counts = host::zeroed::<usize>(of.len()).named(GRADIENTS)?;
    members.iter().for_each(|&element| counts[element] += 1);
    let together = match members.is_sorted() {
        true => values.clone(),
        false => {
            let mut order = host::exact(0..values.len() as u32).named(GRADIENTS)?;
            order.sort_unstable_by_key(|&i| (members[i as usize], i));
            values.reorder(&Permutation::new(order)?)?
        }
    };
    if counts.iter().all(|&count| count == 1) {
        return together.view_as(of);
    }
    let groups = layout(of.len(), 2, |element, axis| match axis {
        0 => counts[element],
        _ => of.length(element),
    })?;
    together.view_as(&groups)?.sum_axis(0)?.view_as(of)
}

/// The rows of all matrices as one matrix; `None` unless all have as many columns.
pub(super) fn stacked_rows(x: &Layout) -> Result<Option<Layout>> {
    let (least, most) = x.extent_bounds(x.rank() - 1);
    if x.rank() != 2 || x.is_empty() || least != most {
        return Ok(None);
    }
    let rows = x.extents().chunks_exact(2).map(|of| of[0] as usize).sum();
    layout(1, 2, |_, axis| [rows, most as usize][axis]).map(Some)
}
