//! Rules of functions of two and three values, whole or spread, and of pairs of elements.

use half::f16;
use num_complex::Complex32;

use super::parts::{at_pairs, extent, flat, layout, over_pairs, product, stacked_rows, sums};
use super::rule::{Applied, Cotangent, Cotangents, Rule, each};
use crate::Result;
use crate::ops::ambient::{Broadcast, Combine, Mode};
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

impl Rule for Combine {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let (name, modes) = (self.name, [Mode::Whole; 3]);
        Function {
            applied,
            name,
            modes,
        }
        .cotangents(g)
    }
}

impl Rule for Broadcast {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let (name, modes) = (self.name, self.modes);
        Function {
            applied,
            name,
            modes,
        }
        .cotangents(g)
    }
}

/// A recorded function, with how each operand is paired with the others.
struct Function<'a> {
    applied: &'a Applied<'a>,
    name: &'static str,
    modes: [Mode; 3],
}

impl Function<'_> {
    fn cotangents(&self, g: &Cotangent) -> Result<Cotangents> {
        match (self.name, g) {
            ("add", _) => (0..2).map(|i| self.own(i, || Ok(g.clone()))).collect(),
            ("sub", _) => {
                let negative = || Ok(each!(g, g => g.neg()?));
                Ok(vec![self.own(0, || Ok(g.clone()))?, self.own(1, negative)?])
            }
            ("if_else", Cotangent::C32(_)) => Err(self.applied.refused()),
            ("if_else", _) => self.chosen(g),
            ("mul_add", _) => {
                let g = self.applied.floats(g)?;
                let [x, y] = [self.floats(0)?, self.floats(1)?];
                Ok(vec![
                    self.own(0, || self.applied.narrow(0, times(&g, &y)?))?,
                    self.own(1, || self.applied.narrow(1, times(&g, &x)?))?,
                    self.own(2, || self.applied.narrow(2, g.clone()))?,
                ])
            }
            ("complex" | "polar", Cotangent::C32(g)) => self.of_parts(g),
            (_, Cotangent::C32(g)) => self.of_complex(g),
            _ => self.of_floats(&self.applied.floats(g)?),
        }
    }

    /// Operand `i` at each pair.
    fn at<T: Scalar>(&self, i: usize, tensor: Tensor<T>) -> Result<Operand<T>> {
        let tensor = match self.applied.pairs() {
            Some(pairs) => at_pairs(&tensor, pairs, i)?,
            None => tensor,
        };
        let mode = self.modes[i];
        Ok(Operand { tensor, mode })
    }

    /// Operand `i` of floats at each pair, in f32.
    fn floats(&self, i: usize) -> Result<Operand<f32>> {
        self.at(i, self.applied.float(i)?)
    }

    /// The cotangent of operand `i`, if it is wanted, from one of the shapes of the result: restricted to the operand's
    /// shapes, and summed over all places where its values are used.
    fn own(
        &self,
        i: usize,
        of_result: impl FnOnce() -> Result<Cotangent>,
    ) -> Result<Option<Cotangent>> {
        if !self.applied.wants(i) {
            return Ok(None);
        }
        let (g, of, mode) = (of_result()?, self.applied.layout(i), self.modes[i]);
        Ok(Some(each!(&g, g => match (mode, self.applied.pairs()) {
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

    /// Functions of floats.
    fn of_floats(&self, g: &Tensor<f32>) -> Result<Cotangents> {
        let [a, b] = [self.floats(0)?, self.floats(1)?];
        let y = self.applied.float_result()?;
        // Where an entry of either operand is missing, these are 0, whatever the other entry is.
        let inside = match self.name {
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
        let quotient =
            |x: &Tensor<f32>| -> Result<Tensor<f32>> { of_two("div", x.into(), b.spread()) };
        let made = |i: usize| -> Result<Tensor<f32>> {
            Ok(match (self.name, i) {
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
                    let slopes = self.applied.over_point(&g, &of("complex", &b, &a)?)?;
                    match i {
                        0 => slopes.real()?,
                        _ => slopes.imag()?,
                    }
                }
                ("maximum" | "minimum", 0) => g.hadamard(&share(&y, &a, &b)?)?,
                ("maximum" | "minimum", _) => g.hadamard(&share(&y, &b, &a)?)?,
                _ => return Err(self.applied.refused()),
            })
        };
        (0..2)
            .map(|i| self.own(i, || self.applied.narrow(i, made(i)?)))
            .collect()
    }

    /// Functions of complex numbers.
    fn of_complex(&self, g: &Tensor<Complex32>) -> Result<Cotangents> {
        let conjugate = |i: usize| {
            self.at(i, self.applied.operand::<Complex32>(i)?)?
                .map(Tensor::conj)
        };
        let [a, b] = [conjugate(0)?, conjugate(1)?];
        let made = |i: usize| -> Result<Tensor<Complex32>> {
            match (self.name, i) {
                ("hadamard", 0) => times(g, &b),
                ("hadamard", _) => times(g, &a),
                ("div", 0) => of_two("div", g.into(), b.spread()),
                ("div", _) => {
                    let y = self.applied.result::<Complex32>(0)?;
                    of_two::<_, Complex32>("div", (&g.hadamard(&y.conj()?)?).into(), b.spread())?
                        .neg()
                }
                _ => Err(self.applied.refused()),
            }
        };
        (0..2)
            .map(|i| self.own(i, || Ok(made(i)?.into())))
            .collect()
    }

    /// Complex numbers of two real ones.
    fn of_parts(&self, g: &Tensor<Complex32>) -> Result<Cotangents> {
        if self.name == "complex" {
            return Ok(vec![
                self.own(0, || Ok(g.real()?.into()))?,
                self.own(1, || Ok(g.imag()?.into()))?,
            ]);
        }
        // A missing angle is 0.
        let wide = |i: usize| -> Result<Operand<f32>> {
            let operand = self.floats(i)?;
            match operand.mode {
                Mode::Whole => operand.map(|x| x.resize(g.layout())),
                _ => Ok(operand),
            }
        };
        let (size, angle) = (wide(0)?, wide(1)?);
        // g e⁻ⁱᶿ: its real part is along the ray, its imaginary part across it.
        let one = self.applied.filled(angle.tensor.len(), 1.0f32)?;
        let back = Operand {
            tensor: one.each().polar(&angle.tensor)?.conj()?,
            mode: angle.mode,
        };
        let turned = times(g, &back)?;
        Ok(vec![
            self.own(0, || Ok(turned.real()?.into()))?,
            self.own(1, || Ok(times(&turned.imag()?, &size)?.into()))?,
        ])
    }

    /// The values that a mask chose.
    fn chosen(&self, g: &Cotangent) -> Result<Cotangents> {
        let mask = self.applied.operand::<u32>(0)?;
        let made = |i: usize| -> Result<Cotangent> {
            // Zero in the type of the cotangent.
            Ok(match g {
                Cotangent::F32(g) => {
                    let zero = self.applied.filled(g.len(), 0.0f32)?;
                    match i {
                        1 => mask.if_else(g, zero.each())?.into(),
                        _ => mask.if_else(zero.each(), g)?.into(),
                    }
                }
                Cotangent::F16(g) => {
                    let zero = self.applied.filled(g.len(), f16::ZERO)?;
                    match i {
                        1 => mask.if_else(g, zero.each())?.into(),
                        _ => mask.if_else(zero.each(), g)?.into(),
                    }
                }
                Cotangent::C32(_) => return Err(self.applied.refused()),
            })
        };
        Ok(vec![
            None,
            self.own(1, || made(1))?,
            self.own(2, || made(2))?,
        ])
    }
}

/// The cotangents of vectors that were laid along an axis: sums over all other axes, and over all elements if there is
/// only one vector.
fn along<T: Number>(g: &Tensor<T>, axis: usize, vectors: &Layout) -> Result<Tensor<T>> {
    let (x, rank) = (g.layout(), g.layout().rank());
    let shared = vectors.len() == 1 && x.len() != 1;
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
        Some(all) => sum.view_as(&all)?.sum_axis(0)?.view_as(vectors),
        None => {
            let each = sum.view_as(&rows)?.sum_axis(0)?;
            match shared {
                true => sums(&each, |_| 0, vectors),
                false => each.view_as(vectors),
            }
        }
    }
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
