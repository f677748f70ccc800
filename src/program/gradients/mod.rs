//! Gradients of recorded values, by reverse accumulation over the recorded operations.
//!
//! A rule records the operations that turn the cotangents of an operation's results into cotangents of its operands. It
//! uses the public methods of tensors, so what it records can be differentiated again. A cotangent has the type and the
//! layout of its value.
//!
//! - Functions of floats are differentiated in f32, and the cotangents of f16 operands are rounded once at the end.
//!   Linear operations keep the type of the cotangent.
//! - The cotangent of x + yi is that of x plus i times that of y, so that views as pairs of floats are their own
//!   adjoints.
//! - Of an operation on pairs, a rule computes the cotangents of both operands for each pair, and adds those that
//!   belong to one element ([`parts`]). Members are brought together by `reorder`, unless they are in order, and seen
//!   as the rows of a matrix for each element, whose columns `sum_axis` adds: one dispatch, in an order that follows
//!   from the pairs alone. If all pairs share one matrix of weights, all rows of the other operands are one matrix, and
//!   their products are one product.
//! - The cotangents of views of elements are kept as parts until all are known, and then joined, with zeros between
//!   them: weights that are one batch get their gradient in one dispatch for every seven layers.
//! - A few operations exist for gradients alone, without a public method: boxes that end with an axis or are centred,
//!   values placed apart, values at the indices that a device holds, the places of largest values of windows, sums of
//!   frames, the slopes of cross-entropies, and functions of two operands that are both spread.
//! - A rule must not divide by zero even where a mask discards the quotient, because the gradient of the masked
//!   quotient would multiply 0 by infinity: `Applied::divided` replaces the divisor first.
//! - A rule must not divide by a square either, which leaves the range long before the slope does: directions are
//!   divided by sizes (`Applied::divisor`), and points by complex numbers (`Applied::over_point`). The cotangent comes
//!   first in a product, because it may be 0 where a slope is infinite.
//! - A value that is reached from a target, but gets no cotangent, has the gradient 0 if the path is one of floats
//!   (`Trace::reaches`). A derivative is taken as a function of the values that were differentiated, even if no
//!   recorded operation shows that it depends on them, as for the gradient of a sum.

mod attention;
mod convolutions;
mod copies;
mod functions;
mod lines;
mod maps;
mod parts;
mod pools;
mod products;
mod refused;
mod rule;
mod sums;
mod transforms;
mod walk;

use std::sync::Arc;

use self::rule::{Cotangent, GRADIENTS};
use self::walk::accumulate;
use super::Recording;
use crate::error::Named;
use crate::ragged::Scalar;
use crate::tensor::{Tensor, Trace, ValueId};
use crate::{Error, Result};

impl Recording {
    /// The gradients of the sum of all values of `of` with respect to these values: ∂ Σ of / ∂ to, each with the layout
    /// of its operand.
    ///
    /// `to` may be inputs or any other values of the recording, of type f32, f16 or `Complex32`; the gradient of a
    /// complex value is ∂/∂re + i ∂/∂im. Use [`gradients_from`](Self::gradients_from) for other weights than 1.
    /// Piecewise constant functions of floats, such as `floor` and `sign`, have a gradient of 0, and so has a gradient
    /// that does not change with its operand, such as that of a sum; integers and masks have none. Cost: for each
    /// operation between `to` and `of`, a few of about the same cost.
    ///
    /// ```
    /// # use vsla::{program::Program, Device, Ragged, Tensor};
    /// let program = Program::new(&Device::cpu(), |r| {
    ///     let x: Tensor<f32> = r.input()?;
    ///     let y: Tensor<f32> = r.input()?;
    ///     let [of_x, of_y] = r.gradients(&x.hadamard(&y)?, [&x, &y])?;
    ///     r.output(&of_x)?;
    ///     r.output(&of_y)
    /// });
    /// // Each gradient has its operand's layout: entries outside the overlap have none.
    /// let (x, y) = (Ragged::from_rows([vec![1.0f32, 2.0, 3.0]])?, Ragged::from_rows([vec![4.0f32, 5.0]])?);
    /// let outputs = program.plan(&[x.layout(), y.layout()])?.call_blocking(&[&x, &y])?;
    /// assert_eq!(outputs.get::<f32>(0)?.values(), [4.0, 5.0, 0.0]);
    /// assert_eq!(outputs.get::<f32>(1)?.values(), [1.0, 2.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Recording`](Error::Recording) when `of` does not depend on one of the values, or only through integers or
    /// masks, when an operation in between has no gradient (it is named), for a type without gradients, and for tensors
    /// that are not values of this recording, such as constants.
    pub fn gradients<T: Scalar, const N: usize>(
        &mut self,
        of: &Tensor<f32>,
        to: [&Tensor<T>; N],
    ) -> Result<[Tensor<T>; N]> {
        let ones = self.device().full(of.layout(), 1.0f32)?;
        let all = self.gradients_from(&[(of, &ones)], &to)?;
        <[Tensor<T>; N]>::try_from(all)
            .map_err(|_| Error::recording("a wrong number of gradients").named(GRADIENTS))
    }

    /// The gradients of Σ ⟨value, seed⟩ over pairs (value, seed): products with the transposed Jacobian.
    ///
    /// Each seed has the layout of its value; it may be a constant.
    ///
    /// ```
    /// # use vsla::{program::Program, Device, Ragged, Tensor};
    /// let program = Program::new(&Device::cpu(), |r| {
    ///     let x: Tensor<f32> = r.input()?;
    ///     let seed: Tensor<f32> = r.input()?;
    ///     let slopes = r.gradients_from(&[(&x.square()?, &seed)], &[&x])?;
    ///     r.output(&slopes[0])
    /// });
    /// let (x, seed) = (Ragged::from_rows([[1.0f32, 2.0, 3.0]])?, Ragged::from_rows([[1.0f32, 0.0, 10.0]])?);
    /// let outputs = program.plan(&[x.layout(), seed.layout()])?.call_blocking(&[&x, &seed])?;
    /// assert_eq!(outputs.get::<f32>(0)?.values(), [2.0, 0.0, 60.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`gradients`](Self::gradients), and [`Shape`](Error::Shape) or [`ElementCount`](Error::ElementCount)
    /// for a seed of another layout.
    pub fn gradients_from<T: Scalar>(
        &mut self,
        seeds: &[(&Tensor<f32>, &Tensor<f32>)],
        to: &[&Tensor<T>],
    ) -> Result<Vec<Tensor<T>>> {
        let trace = self.trace.clone();
        let _backward = trace.backward();
        let mut targets = Vec::with_capacity(to.len());
        for tensor in to {
            if !T::DTYPE.is_smooth() {
                return Err(Error::recording(format!(
                    "values of {} have no gradients; use floats",
                    T::DTYPE
                ))
                .named(GRADIENTS));
            }
            targets.push(tensor.traced(&trace).named(GRADIENTS)?);
        }
        let mut from = Vec::with_capacity(seeds.len());
        for (value, seed) in seeds {
            value.layout().check_len(seed.len()).named(GRADIENTS)?;
            seed.layout()
                .check_shapes(value.layout())
                .named(GRADIENTS)?;
            from.push((
                value.traced(&trace).named(GRADIENTS)?,
                Cotangent::F32((*seed).clone()),
            ));
        }
        let differentiated: Vec<ValueId> = from.iter().map(|(value, _)| *value).collect();
        let found = accumulate(&trace, from, &targets)?;
        let mut all = Vec::with_capacity(to.len());
        for (i, (cotangent, tensor)) in found.iter().zip(to).enumerate() {
            let value = match cotangent {
                Some(cotangent) => cotangent_id(cotangent, &trace)?,
                None if trace.reaches(targets[i], &differentiated) => {
                    let zeros = self.device().full(tensor.layout(), T::default())?;
                    trace.value_of(&zeros.operand()).named(GRADIENTS)?
                }
                None => {
                    return Err(Error::recording(format!(
                            "what is differentiated does not depend on operand {i}, or only through integers or masks; \
                             leave this operand out"
                        ),
                    ).named(GRADIENTS));
                }
            };
            trace.differentiate(&differentiated, value);
            all.push(trace.tensor(value).named(GRADIENTS)?);
        }
        Ok(all)
    }
}

/// The value of a cotangent. It is a constant if it depends only on seeds that are constants.
fn cotangent_id(cotangent: &Cotangent, trace: &Arc<Trace>) -> Result<ValueId> {
    match cotangent {
        Cotangent::F32(g) => trace.value_of(&g.operand()).named(GRADIENTS),
        Cotangent::F16(g) => trace.value_of(&g.operand()).named(GRADIENTS),
        Cotangent::C32(g) => trace.value_of(&g.operand()).named(GRADIENTS),
    }
}
