//! Rules of reductions, normalizations, cumulations and sorts: of lines along an axis, or of whole elements.

use half::f16;
use num_complex::Complex32;

use super::parts::{Lines, at_pairs, extent, layout, one, over_pairs};
use super::rule::{Applied, Cotangent, Cotangents, GRADIENTS, Rule, each};
use crate::error::Named;
use crate::ops::cross_entropy::CrossEntropy;
use crate::ops::lines::{Along, Cumulate, Cumulation, Function};
use crate::ops::reduce::{PairReduction, Reduce, ReducePairs, Reduction};
use crate::ops::sort::{Quantile, Sort, Wanted, quantile_place};
use crate::ops::strided::Begin;
use crate::ragged::DType;
use crate::tensor::{Tensor, of_two};
use crate::{Result, host};

impl Rule for Reduce {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let x = applied.layout(0);
        let lines = Lines::new(x, self.axis)?;
        if self.reduction == Reduction::Sum {
            return one(each!(g, g => lines.spread(g)?.view_as(x)?));
        }
        let g = reduced(applied, self.reduction, &lines, &applied.floats(g)?)?;
        one(applied.narrow(0, g.view_as(x)?)?)
    }
}

impl Rule for Along {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let x = applied.layout(0);
        let lines = Lines::new(x, self.axis)?;
        let g = normalized(applied, self.function, &lines, &applied.floats(g)?)?;
        one(applied.narrow(0, g.view_as(x)?)?)
    }
}

impl Rule for Cumulate {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let g = applied.floats(g)?;
        let g = cumulated(applied, self.function, self.axis, &g)?;
        one(applied.narrow(0, g)?)
    }
}

impl Rule for Sort {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let g = sorted(applied, *self, &applied.floats(g)?)?;
        one(applied.narrow(0, g)?)
    }
}

impl Rule for Quantile {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let g = of_quantile(applied, *self, &applied.floats(g)?)?;
        one(applied.narrow(0, g)?)
    }
}

impl Rule for ReducePairs {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        if self.reduction != PairReduction::Dot {
            return Err(applied.refused());
        }
        let g = applied.floats(g)?;
        let pairs = applied.pairs().ok_or_else(|| applied.refused())?;
        let made = |side: usize| {
            let other = at_pairs(&applied.float(1 - side)?, pairs, 1 - side)?;
            let all = other.hadamard(g.each())?;
            over_pairs(&all, pairs, side, applied.layout(side))
        };
        (0..2)
            .map(|side| applied.wanted(side, || made(side)))
            .collect()
    }
}

impl Rule for CrossEntropy {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let g = applied.floats(g)?;
        match self.slopes {
            false => cross_entropy(applied, &g),
            true => of_slopes(applied, &g),
        }
    }
}

/// Reductions other than sums. The cotangent has one value for each line.
fn reduced(
    applied: &Applied<'_>,
    reduction: Reduction,
    lines: &Lines,
    g: &Tensor<f32>,
) -> Result<Tensor<f32>> {
    let x = || lines.of(&applied.float(0)?);
    Ok(match reduction {
        Reduction::Product => of_product(applied, lines, &x()?, g)?,
        Reduction::Norm1 => lines.with("hadamard", &x()?.sign()?, g)?,
        Reduction::Norm2 => along(applied, lines, &x()?, &applied.float_result()?, g)?,
        Reduction::NormMax => {
            let x = x()?;
            chosen(lines, &x.abs()?.argmax_axis(lines.axis)?, g)?.hadamard(&x.sign()?)?
        }
        Reduction::Max => chosen(lines, &x()?.argmax_axis(lines.axis)?, g)?,
        Reduction::Min => chosen(lines, &x()?.argmin_axis(lines.axis)?, g)?,
        _ => return Err(applied.refused()),
    })
}

/// g x / size for one g and one size of each line, and 0 where the size is 0. Divides first: g / size may be out of
/// range where the size is large or small.
fn along(
    applied: &Applied<'_>,
    lines: &Lines,
    x: &Tensor<f32>,
    size: &Tensor<f32>,
    g: &Tensor<f32>,
) -> Result<Tensor<f32>> {
    let (zero, none) = (
        applied.filled(size.len(), 0.0f32)?,
        applied.vanishing(size)?,
    );
    let unit = lines.with("div", x, &applied.or_one(&none, size)?)?;
    lines.with("hadamard", &unit, &none.if_else(zero.each(), g)?)
}

/// The cotangent of each line at one of its values.
fn chosen(lines: &Lines, place: &Tensor<u32>, g: &Tensor<f32>) -> Result<Tensor<f32>> {
    let (g, place) = (lines.apart(g)?, lines.apart(place)?);
    g.put(&place, Some(lines.axis), &lines.layout)
}

/// 1 at the first value of each line that vanishes.
fn first_zeros(applied: &Applied<'_>, x: &Tensor<f32>, axis: usize) -> Result<Tensor<u32>> {
    let zero = applied.vanishing(x)?;
    let number: Tensor<u32> = zero.cumsum(axis)?;
    zero.equal(&number)?.hadamard(&zero)
}

/// For each value, the product of all others in its line: the result divided by the value. In a line with one zero,
/// only the product for the zero itself is nonzero.
fn of_product(
    applied: &Applied<'_>,
    lines: &Lines,
    x: &Tensor<f32>,
    g: &Tensor<f32>,
) -> Result<Tensor<f32>> {
    let first = first_zeros(applied, x, lines.axis)?;
    let one = applied.filled(x.len(), 1.0f32)?;
    let others = first.if_else(one.each(), x)?.prod_axis(lines.axis)?;
    let whole = lines.spread(&g.hadamard(&applied.float_result()?)?)?;
    // The lines may have other axes than the operand.
    let others = lines.apart(g)?.hadamard(&lines.apart(&others)?)?;
    first.if_else(&lines.spread(&others)?, &applied.divided(&whole, x)?)
}

/// Functions of the moments of lines, and of sums of exponentials.
fn normalized(
    applied: &Applied<'_>,
    function: Function,
    lines: &Lines,
    g: &Tensor<f32>,
) -> Result<Tensor<f32>> {
    let axis = lines.axis;
    let (x, y) = (|| lines.of(&applied.float(0)?), || applied.float_result());
    let epsilon = || applied.scalar::<f32>(0);
    let over_counts = |g: &Tensor<f32>| g.div(lines.counts(applied)?.each());
    Ok(match function {
        Function::Mean => lines.shared(applied, g)?,
        Function::Var | Function::Std => {
            let x = x()?;
            let apart = lines.with("sub", &x, &x.mean_axis(axis)?)?;
            let g = over_counts(g)?;
            match function {
                Function::Var => lines.with("hadamard", &apart, &g.scale(2.0)?)?,
                _ => along(applied, lines, &apart, &y()?, &g)?,
            }
        }
        // Not exp(x − y), because y is rounded to the precision of the largest value.
        Function::LogSumExp => lines.with("hadamard", &x()?.softmax(axis)?, g)?,
        Function::Softmax => {
            let y = lines.of(&y()?)?;
            let g = lines.of(g)?;
            let sum = g.hadamard(&y)?.sum_axis(axis)?;
            y.hadamard(&lines.with("sub", &g, &sum)?)?
        }
        Function::LogSoftmax => {
            let g = lines.of(g)?;
            let share = match applied.dtype(0) {
                // The exponential of a rounded logarithm would be imprecise.
                Some(DType::F16) => x()?.softmax(axis)?,
                _ => lines.of(&y()?)?.exp()?,
            };
            g.sub(&lines.with("hadamard", &share, &g.sum_axis(axis)?)?)?
        }
        Function::LayerNorm => {
            // Neither the variance nor its reciprocal need be in range.
            let deviation = x()?.deviation(axis, epsilon())?;
            let (g, y) = (lines.of(g)?, lines.of(&y()?)?);
            let centred = lines.with("sub", &g, &g.mean_axis(axis)?)?;
            lines.with("div", &across(lines, &centred, &g, &y)?, &deviation)?
        }
        Function::RmsNorm => {
            // √(v + epsilon + m²), without a square that may be out of range.
            let x = x()?;
            let root = x
                .deviation(axis, epsilon())?
                .complex(&x.mean_axis(axis)?)?
                .abs()?;
            let (g, y) = (lines.of(g)?, lines.of(&y()?)?);
            lines.with("div", &across(lines, &g, &g, &y)?, &root)?
        }
        Function::L2Normalize => {
            let norm = x()?.norm2_axis(axis)?;
            let least = applied.filled(norm.len(), epsilon())?;
            let (g, y) = (lines.of(g)?, lines.of(&y()?)?);
            // Where the norm is too small, the divisor is constant.
            let varies: Tensor<u32> = norm.greater(least.each())?;
            let along = g.hadamard(&y)?.sum_axis(axis)?.hadamard(&varies.to()?)?;
            let rest = g.sub(&lines.with("hadamard", &y, &along)?)?;
            lines.with("div", &rest, &norm.maximum(least.each())?)?
        }
    })
}

/// g without its component along the line's results, whose mean square is 1.
fn across(
    lines: &Lines,
    rest: &Tensor<f32>,
    g: &Tensor<f32>,
    y: &Tensor<f32>,
) -> Result<Tensor<f32>> {
    let along = g.hadamard(y)?.mean_axis(lines.axis)?;
    rest.sub(&lines.with("hadamard", y, &along)?)
}

/// The sums from each value of a line to its end.
fn sums_to_end(x: &Tensor<f32>, axis: usize) -> Result<Tensor<f32>> {
    x.flip(&[axis])?.cumsum(axis)?.flip(&[axis])
}

fn cumulated(
    applied: &Applied<'_>,
    function: Cumulation,
    axis: usize,
    g: &Tensor<f32>,
) -> Result<Tensor<f32>> {
    match function {
        Cumulation::Sum => sums_to_end(g, axis),
        Cumulation::Product => {
            let (x, y) = (applied.float(0)?, applied.float_result()?);
            let first = first_zeros(applied, &x, axis)?;
            let one = applied.filled(x.len(), 1.0f32)?;
            // The products that the first zero is left out of.
            let others = first.if_else(one.each(), &x)?.cumprod(axis)?;
            let at_zero = sums_to_end(&g.hadamard(&others)?, axis)?;
            let elsewhere = applied.divided(&sums_to_end(&g.hadamard(&y)?, axis)?, &x)?;
            first.if_else(&at_zero, &elsewhere)
        }
        Cumulation::Max | Cumulation::Min => of_extremes(applied, axis, g),
    }
}

/// A value that replaces the extreme before it is a record; nothing replaces a NaN. Its cotangent is the sum of the
/// cotangents up to the next record, which is a difference of two sums to the end of the line.
fn of_extremes(applied: &Applied<'_>, axis: usize, g: &Tensor<f32>) -> Result<Tensor<f32>> {
    let (y, x) = (applied.float_result()?, g.layout());
    let one_on = |at: i64| -> Vec<Begin> {
        let begin = |a: usize| Begin::At(if a == axis { at } else { 0 });
        (0..x.rank()).map(begin).collect()
    };
    let lengths = layout(x.len(), 1, |element, _| extent(x, element, axis))?;
    let places = applied.device().arange(&lengths, 0u32, 1)?;
    let places: Tensor<u32> = of_two(
        "add",
        (&applied.device().full(x, 0u32)?).into(),
        places.along(axis),
    )?;
    let (zero, one) = (
        applied.filled(y.len(), 0u32)?,
        applied.filled(y.len(), 1u32)?,
    );
    let first: Tensor<u32> = places.equal(zero.each())?;
    let before = y.boxes(&one_on(-1), x)?;
    let changes = y.not_equal(&before)?.hadamard(&before.equal(&before)?)?;
    let record = first.if_else(one.each(), &changes)?;
    // The complement of a place is larger the earlier it is, and 0 is that of a place after all others.
    let own = record.if_else(&places.bit_not()?, zero.each())?;
    let from_here = own.flip(&[axis])?.cummax(axis)?.flip(&[axis])?;
    let next = from_here.boxes(&one_on(1), x)?.bit_not()?;
    let sums = sums_to_end(g, axis)?;
    let zero = applied.filled(y.len(), 0.0f32)?;
    record.if_else(&sums.sub(&sums.take(&next, Some(axis))?)?, zero.each())
}

fn sorted(applied: &Applied<'_>, sort: Sort, g: &Tensor<f32>) -> Result<Tensor<f32>> {
    let x = applied.layout(0);
    let lines = Lines::new(x, sort.axis)?;
    let places = match sort.wanted {
        Wanted::Both => lines.of(&applied.result::<u32>(1)?)?,
        _ => {
            let x = lines.of(&applied.float(0)?)?;
            match sort.descending {
                true => x.argsort_descending(lines.axis)?,
                false => x.argsort(lines.axis)?,
            }
        }
    };
    lines
        .of(g)?
        .put(&places, Some(lines.axis), &lines.layout)?
        .view_as(x)
}

/// Of sorted lines, to the two neighbours of the quantile; if it is NaN, to the last value, which then is a NaN or an
/// infinity.
fn of_quantile(applied: &Applied<'_>, quantile: Quantile, g: &Tensor<f32>) -> Result<Tensor<f32>> {
    let x = applied.layout(0);
    let lines = Lines::new(x, quantile.axis)?;
    let count = |element: usize| extent(&lines.layout, element, lines.axis);
    let place = |element: usize| quantile_place(f64::from_bits(quantile.q), count(element));
    let elements = 0..x.len();
    let low = applied.uploaded(
        host::exact(elements.clone().map(|element| place(element).0)).named(GRADIENTS)?,
    )?;
    let above = applied
        .uploaded(host::exact(elements.map(|element| place(element).1)).named(GRADIENTS)?)?;
    let last = host::exact((0..x.len()).map(|element| count(element).saturating_sub(1) as u32))
        .named(GRADIENTS)?;
    let (last, zero) = (applied.uploaded(last)?, applied.filled(x.len(), 0.0f32)?);
    let y = applied.float_result()?;
    let missed = y.not_equal(&y)?;
    let put = |g: &Tensor<f32>, places: &Tensor<u32>| {
        let (g, places) = (lines.apart(g)?, lines.apart(places)?);
        g.put(&places, Some(lines.axis), &lines.layout)
    };
    let after = applied.device().full(g.layout(), 0u32)?.add(low.each())?;
    let to_upper = missed.if_else(zero.each(), &g.hadamard(above.each())?)?;
    let to_lower = missed.if_else(g, &g.hadamard(above.sub_from(1.0)?.each())?)?;
    let upper = put(&to_upper, &after.add_scalar(1)?)?;
    put(&to_lower, &missed.if_else(last.each(), &after)?)?
        .add(&upper)?
        .view_as(x)
}

/// The whole gradient is assigned to the scores, and none to the sums, which are functions of the same scores.
fn cross_entropy(applied: &Applied<'_>, g: &Tensor<f32>) -> Result<Cotangents> {
    let (targets, sums) = (applied.operand(1)?, applied.operand::<Complex32>(2)?);
    let of_scores = match (applied.wants(0), applied.dtype(0)) {
        (false, _) => None,
        (_, Some(DType::F16)) => {
            let x = applied.operand::<f16>(0)?;
            Some(x.cross_entropy_slopes(&targets, &sums, g)?.into())
        }
        _ => {
            let x = applied.operand::<f32>(0)?;
            Some(x.cross_entropy_slopes(&targets, &sums, g)?.into())
        }
    };
    Ok(vec![of_scores, None, None])
}

/// Of w (y − one_hot(t)) with y = softmax(x), given g: w y (g − Σ g y) for x, and Σ g (y − one_hot(t)) for w.
fn of_slopes(applied: &Applied<'_>, g: &Tensor<f32>) -> Result<Cotangents> {
    let x = applied.layout(0);
    let lines = Lines::new(x, Some(x.rank() - 1))?;
    let of_scores = applied.wanted(0, || {
        let y = lines.of(&applied.float(0)?)?.softmax(lines.axis)?;
        let g = lines.of(g)?;
        let sum = g.hadamard(&y)?.sum_axis(lines.axis)?;
        let slopes = y.hadamard(&lines.with("sub", &g, &sum)?)?;
        // As in the slopes, a target out of range gives NaN.
        let targets = applied.operand::<u32>(1)?;
        let widths = (0..x.len()).map(|element| extent(x, element, x.rank() - 1) as u32);
        let widths = applied.uploaded(host::exact(widths).named(GRADIENTS)?)?;
        let none = applied.filled(x.len(), f32::NAN)?;
        let known: Tensor<u32> = targets.less(widths.each())?;
        let weights = known.if_else(&applied.operand::<f32>(3)?, none.each())?;
        lines.with("hadamard", &slopes, &weights)?.view_as(x)
    })?;
    let of_weights = applied.wanted(3, || {
        let (targets, sums) = (applied.operand(1)?, applied.operand::<Complex32>(2)?);
        let ones = applied.device().full(applied.layout(3), 1.0f32)?;
        let apart = applied
            .float(0)?
            .cross_entropy_slopes(&targets, &sums, &ones)?;
        lines
            .of(&g.hadamard(&apart)?)?
            .sum_axis(lines.axis)?
            .view_as(applied.layout(3))
    })?;
    Ok(vec![of_scores, None, None, of_weights])
}
