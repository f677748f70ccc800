//! Rules of functions of two and three values, whole or spread, and of pairs of elements.

use half::f16;
use num_complex::Complex32;

use super::parts::{at_pairs, extent, flat, layout, over_pairs, product, stacked_rows, sums};
use super::{Applied, Cotangent, Cotangents, each};
use crate::Result;
use crate::ops::Op;
use crate::ops::ambient::Mode;
use crate::ragged::{Layout, Number, Scalar};
use crate::tensor::{Spread, Tensor, of_two};

/// An operand, with the way in which it is paired with the others: whole or spread.
struct Operand<T: Scalar> {
    tensor: Tensor<T>,
    mode: Mode,
}

impl<T: Scalar> Operand<T> {
    fn spread(&self) -> Spread<'_, T> {
        Spread::of(&self.tensor, self.mode)
    }

    /// A function of the operand's values, paired with the others in the same way.
    fn map(&self, f: impl FnOnce(&Tensor<T>) -> Result<Tensor<T>>) -> Result<Operand<T>> {
        let (tensor, mode) = (f(&self.tensor)?, self.mode);
        Ok(Operand { tensor, mode })
    }
}

/// A function of two operands, of which one is whole.
fn of<T: Scalar, R: Scalar>(
    name: &'static str,
    a: &Operand<T>,
    b: &Operand<T>,
) -> Result<Tensor<R>> {
    of_two(name, a.spread(), b.spread())
}

/// The product of a whole operand and another one.
fn times<T: Number>(g: &Tensor<T>, b: &Operand<T>) -> Result<Tensor<T>> {
    of_two("hadamard", g.into(), b.spread())
}

pub(super) fn rule(applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
    let name = match applied.op() {
        Op::Combine(combine) => combine.name,
        Op::Broadcast(broadcast) => broadcast.name,
        _ => return Err(applied.refused()),
    };
    match (name, g) {
        ("add", _) => (0..2).map(|i| own(applied, i, || Ok(g.clone()))).collect(),
        ("sub", _) => {
            let negative = || Ok(each!(g, g => g.neg()?));
            Ok(vec![
                own(applied, 0, || Ok(g.clone()))?,
                own(applied, 1, negative)?,
            ])
        }
        ("if_else", Cotangent::C32(_)) => Err(applied.refused()),
        ("if_else", _) => chosen(applied, g),
        ("mul_add", _) => {
            let g = applied.floats(g)?;
            let [x, y] = [floats(applied, 0)?, floats(applied, 1)?];
            Ok(vec![
                own(applied, 0, || applied.narrow(0, times(&g, &y)?))?,
                own(applied, 1, || applied.narrow(1, times(&g, &x)?))?,
                own(applied, 2, || applied.narrow(2, g.clone()))?,
            ])
        }
        ("complex" | "polar", Cotangent::C32(g)) => of_parts(applied, name, g),
        (_, Cotangent::C32(g)) => of_complex(applied, name, g),
        _ => of_floats(applied, name, &applied.floats(g)?),
    }
}

/// How operand `i` is paired with the others.
fn mode(applied: &Applied<'_>, i: usize) -> Mode {
    match applied.op() {
        Op::Broadcast(broadcast) => broadcast.modes[i],
        _ => Mode::Whole,
    }
}

/// Operand `i` at each pair.
fn at<T: Scalar>(applied: &Applied<'_>, i: usize, tensor: Tensor<T>) -> Result<Operand<T>> {
    let tensor = match applied.pairs() {
        Some(pairs) => at_pairs(&tensor, pairs, i)?,
        None => tensor,
    };
    let mode = mode(applied, i);
    Ok(Operand { tensor, mode })
}

/// Operand `i` of floats at each pair, in f32.
fn floats(applied: &Applied<'_>, i: usize) -> Result<Operand<f32>> {
    at(applied, i, applied.float(i)?)
}

/// The cotangent of operand `i`, if it is wanted, from one of the shapes of the result: restricted to the operand's
/// shapes, and summed over all places where its values are used.
fn own(
    applied: &Applied<'_>,
    i: usize,
    of_result: impl FnOnce() -> Result<Cotangent>,
) -> Result<Option<Cotangent>> {
    if !applied.wants(i) {
        return Ok(None);
    }
    let (g, of, mode) = (of_result()?, applied.layout(i), mode(applied, i));
    Ok(Some(each!(&g, g => match (mode, applied.pairs()) {
        (Mode::Whole, Some(pairs)) => over_pairs(g, pairs, i, of)?,
        (Mode::Whole, None) => g.resize(of)?,
        (Mode::Each, _) => {
            let each = g.view_as(&flat(g.layout()))?.sum()?;
            match each.len() == of.len() {
                true => each.view_as(of)?,
                // One value for all elements.
                false => sums(&each, |_| 0, of)?,
            }
        }
        (Mode::Along(axis), _) => along(g, axis, of)?,
    })))
}

/// The cotangents of vectors that were laid along an axis: sums over all other axes, and over all elements if there is
/// only one vector.
fn along<T: Number>(g: &Tensor<T>, axis: usize, of: &Layout) -> Result<Tensor<T>> {
    let (x, rank) = (g.layout(), g.layout().rank());
    let shared = of.len() == 1 && x.len() != 1;
    // (outer, extent, inner).
    let three = |element: usize| {
        let (outer, inner) = (
            product(x, element, 0..axis),
            product(x, element, axis + 1..rank),
        );
        [outer, extent(x, element, axis), inner]
    };
    let mut sum = g.clone();
    if (0..x.len()).any(|element| three(element)[2] != 1) {
        let boxes = layout(x.len(), 3, |element, a| three(element)[a])?;
        sum = sum.view_as(&boxes)?.sum_axis(2)?;
    }
    let rows = layout(x.len(), 2, |element, a| three(element)[a])?;
    // The rows of all elements, which are as long as the only vector, are added at once.
    match shared.then(|| stacked_rows(&rows)).transpose()?.flatten() {
        Some(all) => sum.view_as(&all)?.sum_axis(0)?.view_as(of),
        None => {
            let each = sum.view_as(&rows)?.sum_axis(0)?;
            match shared {
                true => sums(&each, |_| 0, of),
                false => each.view_as(of),
            }
        }
    }
}

/// Functions of floats.
fn of_floats(applied: &Applied<'_>, name: &str, g: &Tensor<f32>) -> Result<Cotangents> {
    let [a, b] = [floats(applied, 0)?, floats(applied, 1)?];
    let y = applied.float_result()?;
    // Where an entry of either operand is missing, these are 0, whatever the other entry is.
    let inside = match name {
        "remainder" | "pow" | "atan2" => overlap(&a, &b)?,
        _ => None,
    };
    let (g, a, b, y) = match inside {
        None => (g.clone(), a, b, y),
        Some(inside) => (
            g.resize(&inside)?,
            a.map(|a| a.resize(&inside))?,
            b.map(|b| b.resize(&inside))?,
            y.resize(&inside)?,
        ),
    };
    let quotient = |x: &Tensor<f32>| -> Result<Tensor<f32>> { of_two("div", x.into(), b.spread()) };
    let made = |i: usize| -> Result<Tensor<f32>> {
        Ok(match (name, i) {
            ("hadamard", 0) => times(&g, &b)?,
            ("hadamard", _) => times(&g, &a)?,
            ("div", 0) => quotient(&g)?,
            ("div", _) => quotient(&g.hadamard(&y)?)?.neg()?,
            ("remainder", 0) => g.clone(),
            ("remainder", _) => {
                // a / b without its fraction: (a − y) / b is an integer up to rounding.
                let multiple: Tensor<f32> = of_two("sub", a.spread(), (&y).into())?;
                g.hadamard(&quotient(&multiple)?.round()?)?.neg()?
            }
            ("pow", 0) => {
                // b aᵇ⁻¹, and 0 where b is 0, even if a is.
                let less = b.map(|b| b.add_scalar(-1.0)?.hadamard(&b.sign()?.square()?))?;
                times(&g.hadamard(&of("pow", &a, &less)?)?, &b)?
            }
            ("pow", _) => {
                // aᵇ log a, and 0 where a is 0.
                let log = a.map(|a| a.add(&a.sign()?.square()?.sub_from(1.0)?)?.log())?;
                times(&g.hadamard(&y)?, &log)?
            }
            ("atan2", _) => {
                let slopes = applied.over_point(&g, &of("complex", &b, &a)?)?;
                match i {
                    0 => slopes.real()?,
                    _ => slopes.imag()?,
                }
            }
            ("maximum" | "minimum", 0) => g.hadamard(&share(&y, &a, &b)?)?,
            ("maximum" | "minimum", _) => g.hadamard(&share(&y, &b, &a)?)?,
            _ => return Err(applied.refused()),
        })
    };
    (0..2)
        .map(|i| own(applied, i, || applied.narrow(i, made(i)?)))
        .collect()
}

/// The layout of the entries that both operands have; `None` if these are all.
fn overlap(a: &Operand<f32>, b: &Operand<f32>) -> Result<Option<Layout>> {
    let (x, y) = (a.tensor.layout(), b.tensor.layout());
    if (a.mode, b.mode) != (Mode::Whole, Mode::Whole) || x == y {
        return Ok(None);
    }
    layout(x.len(), x.rank(), |element, axis| {
        extent(x, element, axis).min(extent(y, element, axis))
    })
    .map(Some)
}

/// The share of an operand in its larger or smaller value with another one, y: 1 where it is this value, ½ where both
/// are, and 0 elsewhere.
fn share(y: &Tensor<f32>, own: &Operand<f32>, other: &Operand<f32>) -> Result<Tensor<f32>> {
    let is = |operand: &Operand<f32>| -> Result<Tensor<f32>> {
        let mask: Tensor<u32> = match operand.mode {
            Mode::Whole => y.resize(operand.tensor.layout())?.equal(&operand.tensor)?,
            _ => of_two("equal", y.into(), operand.spread())?,
        };
        mask.to()
    };
    let own = is(own)?;
    own.div(&own.add(&is(other)?)?)
}

/// Functions of complex numbers.
fn of_complex(applied: &Applied<'_>, name: &str, g: &Tensor<Complex32>) -> Result<Cotangents> {
    let conjugate = |i: usize| at(applied, i, applied.operand::<Complex32>(i)?)?.map(Tensor::conj);
    let [a, b] = [conjugate(0)?, conjugate(1)?];
    let made = |i: usize| -> Result<Tensor<Complex32>> {
        match (name, i) {
            ("hadamard", 0) => times(g, &b),
            ("hadamard", _) => times(g, &a),
            ("div", 0) => of_two("div", g.into(), b.spread()),
            ("div", _) => {
                let y = applied.result::<Complex32>(0)?;
                of_two::<_, Complex32>("div", (&g.hadamard(&y.conj()?)?).into(), b.spread())?.neg()
            }
            _ => Err(applied.refused()),
        }
    };
    (0..2)
        .map(|i| own(applied, i, || Ok(made(i)?.into())))
        .collect()
}

/// Complex numbers of two real ones.
fn of_parts(applied: &Applied<'_>, name: &str, g: &Tensor<Complex32>) -> Result<Cotangents> {
    if name == "complex" {
        return Ok(vec![
            own(applied, 0, || Ok(g.real()?.into()))?,
            own(applied, 1, || Ok(g.imag()?.into()))?,
        ]);
    }
    // A missing angle is 0.
    let wide = |i: usize| -> Result<Operand<f32>> {
        let operand = floats(applied, i)?;
        match operand.mode {
            Mode::Whole => operand.map(|x| x.resize(g.layout())),
            _ => Ok(operand),
        }
    };
    let (size, angle) = (wide(0)?, wide(1)?);
    // g e⁻ⁱᶿ: its real part is along the ray, its imaginary part across it.
    let one = applied.filled(angle.tensor.len(), 1.0f32)?;
    let back = Operand {
        tensor: one.each().polar(&angle.tensor)?.conj()?,
        mode: angle.mode,
    };
    let turned = times(g, &back)?;
    Ok(vec![
        own(applied, 0, || Ok(turned.real()?.into()))?,
        own(applied, 1, || Ok(times(&turned.imag()?, &size)?.into()))?,
    ])
}

/// The values that a mask chose.
fn chosen(applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
    let mask = applied.operand::<u32>(0)?;
    let made = |i: usize| -> Result<Cotangent> {
        // Zero in the type of the cotangent.
        Ok(match g {
            Cotangent::F32(g) => {
                let zero = applied.filled(g.len(), 0.0f32)?;
                match i {
                    1 => mask.if_else(g, zero.each())?.into(),
                    _ => mask.if_else(zero.each(), g)?.into(),
                }
            }
            Cotangent::F16(g) => {
                let zero = applied.filled(g.len(), f16::ZERO)?;
                match i {
                    1 => mask.if_else(g, zero.each())?.into(),
                    _ => mask.if_else(zero.each(), g)?.into(),
                }
            }
            Cotangent::C32(_) => return Err(applied.refused()),
        })
    };
    Ok(vec![
        None,
        own(applied, 1, || made(1))?,
        own(applied, 2, || made(2))?,
    ])
}
