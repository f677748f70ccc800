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
mod sums;
mod transforms;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use half::f16;
use num_complex::Complex32;

use super::Recording;
use crate::ops::Op;
use crate::plan::Attachment;
use crate::ragged::{DType, Layout, Pairs, Scalar};
use crate::tensor::{Device, Node, Origin, Tensor, Trace, ValueId};
use crate::{Error, Result};
use walk::accumulate;

/// The name of this module's operations in errors.
const GRADIENTS: &str = "gradients";

/// A cotangent: a tensor of one of the types that have gradients.
#[derive(Clone)]
pub(super) enum Cotangent {
    F32(Tensor<f32>),
    F16(Tensor<f16>),
    C32(Tensor<Complex32>),
}

macro_rules! smooth {
    ($($t:ty: $variant:ident),*) => {$(
        impl From<Tensor<$t>> for Cotangent {
            fn from(tensor: Tensor<$t>) -> Cotangent {
                Cotangent::$variant(tensor)
            }
        }
    )*};
}
smooth!(f32: F32, f16: F16, Complex32: C32);

/// A cotangent of the same type, made of one of any type.
macro_rules! each {
    ($cotangent:expr, $g:ident => $made:expr) => {
        match $cotangent {
            $crate::program::gradients::Cotangent::F32($g) => {
                $crate::program::gradients::Cotangent::F32($made)
            }
            $crate::program::gradients::Cotangent::F16($g) => {
                $crate::program::gradients::Cotangent::F16($made)
            }
            $crate::program::gradients::Cotangent::C32($g) => {
                $crate::program::gradients::Cotangent::C32($made)
            }
        }
    };
}
use each;

impl Cotangent {
    fn add(&self, other: &Cotangent) -> Result<Cotangent> {
        Ok(match (self, other) {
            (Cotangent::F32(a), Cotangent::F32(b)) => a.add(b)?.into(),
            (Cotangent::F16(a), Cotangent::F16(b)) => a.add(b)?.into(),
            (Cotangent::C32(a), Cotangent::C32(b)) => a.add(b)?.into(),
            _ => return Err(Error::recording(GRADIENTS, "cotangents of two types")),
        })
    }

    /// The cotangent in the layout of its value: zeros where it lacks entries, and without the entries that the value
    /// does not have.
    fn fit(&self, layout: &Layout) -> Result<Cotangent> {
        if self.layout() == layout {
            return Ok(self.clone());
        }
        Ok(each!(self, g => g.resize(layout)?))
    }

    pub(super) fn layout(&self) -> &Layout {
        match self {
            Cotangent::F32(g) => g.layout(),
            Cotangent::F16(g) => g.layout(),
            Cotangent::C32(g) => g.layout(),
        }
    }
}

/// A recorded operation, as its rule receives it.
pub(super) struct Applied<'a> {
    trace: &'a Arc<Trace>,
    node: &'a Node,
    /// Recomputed values, by the original ones that they replace.
    again: &'a HashMap<ValueId, ValueId>,
    /// Whether each operand needs a cotangent.
    wanted: Vec<bool>,
}

impl Applied<'_> {
    pub(super) fn op(&self) -> &Op {
        &self.node.op
    }

    /// The operation's name in errors.
    pub(super) fn name(&self) -> &'static str {
        self.node.plan.name()
    }

    /// The pairs of an operation of two paired operands.
    pub(super) fn pairs(&self) -> Option<&Pairs> {
        self.node.pairs.as_ref()
    }

    /// Scalar `i` of the call.
    pub(super) fn scalar<T: bytemuck::Pod>(&self, i: usize) -> T {
        bytemuck::cast(self.node.scalars[i])
    }

    /// The scalars of the call.
    pub(super) fn scalars(&self) -> &[u32] {
        &self.node.scalars
    }

    /// What the operation attached to its result.
    pub(super) fn attached(&self) -> &Attachment {
        &self.node.plan.attached
    }

    pub(super) fn device(&self) -> &Device {
        self.trace.device()
    }

    pub(super) fn operands(&self) -> usize {
        self.node.operands.len()
    }

    /// Whether operand `i` needs a cotangent.
    pub(super) fn wants(&self, i: usize) -> bool {
        self.wanted[i]
    }

    /// The layout of operand `i`, which may have no values.
    pub(super) fn layout(&self, i: usize) -> &Layout {
        &self.node.operands[i].layout
    }

    /// Operand `i`, which must be of this type.
    pub(super) fn operand<T: Scalar>(&self, i: usize) -> Result<Tensor<T>> {
        match self.node.operands[i].value {
            Some(value) => self.recorded(value),
            None => Err(self.refused()),
        }
    }

    /// Result `i`, which must be of this type.
    pub(super) fn result<T: Scalar>(&self, i: usize) -> Result<Tensor<T>> {
        self.recorded(self.node.results[i])
    }

    /// The type of operand `i`; `None` if only its layout is used.
    pub(super) fn dtype(&self, i: usize) -> Option<DType> {
        let value = self.node.operands[i].value?;
        Some(self.trace.graph(|graph| graph.values[value as usize].dtype))
    }

    /// The type of the first result.
    pub(super) fn result_dtype(&self) -> DType {
        let value = self.node.results[0];
        self.trace.graph(|graph| graph.values[value as usize].dtype)
    }

    fn recorded<T: Scalar>(&self, value: ValueId) -> Result<Tensor<T>> {
        let value = self.again.get(&value).copied().unwrap_or(value);
        self.trace.tensor(self.name(), value)
    }

    /// Operand 0 of the operation that made operand `i`; `None` if that was not recorded.
    pub(super) fn operand_of_maker<T: Scalar>(&self, i: usize) -> Result<Option<Tensor<T>>> {
        let maker = self.node.operands[i].value.and_then(|value| {
            self.trace
                .graph(|graph| match graph.values[value as usize].origin {
                    Origin::Node(at) => graph.nodes[at as usize].operands[0].value,
                    _ => None,
                })
        });
        maker.map(|value| self.recorded(value)).transpose()
    }

    /// The error for an operation without a gradient.
    pub(super) fn refused(&self) -> Error {
        self.refused_because("; differentiate with respect to its result instead")
    }

    /// The error for an operation without a gradient. `why` follows "has no gradient": in which case, and what to do.
    pub(super) fn refused_because(&self, why: &str) -> Error {
        Error::recording(GRADIENTS, format!("{} has no gradient{why}", self.name()))
    }
}

/// Cotangents of the operands, in order; `None` where one is not wanted or is zero everywhere.
pub(super) type Cotangents = Vec<Option<Cotangent>>;

/// The cotangents of the operands of a recorded operation, given those of its results.
fn rule(applied: &Applied<'_>, results: &[Option<Cotangent>]) -> Result<Cotangents> {
    // Other results are indices and masks, which have no cotangents.
    let g = match (&results[0], applied.op()) {
        (_, Op::Attention(of)) => return attention::rule(applied, of, results),
        (Some(g), _) => g,
        (None, _) => return Ok(Vec::new()),
    };
    match applied.op() {
        Op::Map(_)
        | Op::Apply(_)
        | Op::Complex(_)
        | Op::Convert(_)
        | Op::Cast(_)
        | Op::Dropout(_)
        | Op::Rotary(_) => maps::rule(applied, g),
        Op::Combine(_) | Op::Broadcast(_) => functions::rule(applied, g),
        Op::Strided(_)
        | Op::View(_)
        | Op::Planes(_)
        | Op::Concat(_)
        | Op::Select(_)
        | Op::Reorder(_)
        | Op::SortByLength(_)
        | Op::Join(_)
        | Op::Gather(_)
        | Op::Embedding(_)
        | Op::EmbeddingSlopes(_)
        | Op::ScatterAdd(_)
        | Op::ScatterSet(_)
        | Op::Take(_)
        | Op::Cells(_)
        | Op::ShapeTranspose(_) => copies::rule(applied, g),
        Op::Along(_)
        | Op::Reduce(_)
        | Op::ReducePairs(_)
        | Op::Cumulate(_)
        | Op::Sort(_)
        | Op::Quantile(_)
        | Op::CrossEntropy(_) => lines::rule(applied, g),
        Op::Pool(_) => pools::rule(applied, g),
        Op::Kron(_)
        | Op::Matmul(_)
        | Op::Bsr(_)
        | Op::Sampled(_)
        | Op::Eval(_)
        | Op::ShapeMatmul(_) => products::rule(applied, g),
        Op::Conv(_) | Op::Spectra(_) | Op::CachedSpectra(_) | Op::CorrelateMax(_) => {
            convolutions::rule(applied, g)
        }
        Op::Fft(_) | Op::Frames(_) => transforms::rule(applied, g),
        Op::AttentionStats(_) | Op::AttentionSlopes(_) => Err(applied.refused_because(
            " of its gradient; compute softmax(scale · q kᵀ) v in steps, with matmul, transpose and softmax, to \
             differentiate it twice",
        )),
        // Chains are made after gradients; attention's rule ran above.
        Op::Chain(_)
        | Op::Attention(_)
        | Op::Append(_)
        | Op::Full(_)
        | Op::Sequence(_)
        | Op::Random(_)
        | Op::Histogram(_)
        | Op::Label(_)
        | Op::Lookup(_)
        | Op::Occurrences(_)
        | Op::Figures(_)
        | Op::Imaging(_)
        | Op::Period(_)
        | Op::Runs(_)
        | Op::InWords(_)
        | Op::Extremes(_)
        | Op::Regions(_)
        | Op::OneHot(_)
        | Op::Written(_) => Err(applied.refused()),
    }
}

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
            .map_err(|_| Error::recording(GRADIENTS, "a wrong number of gradients"))
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
                return Err(Error::recording(
                    GRADIENTS,
                    format!("values of {} have no gradients; use floats", T::DTYPE),
                ));
            }
            targets.push(tensor.traced(GRADIENTS, &trace)?);
        }
        let mut from = Vec::with_capacity(seeds.len());
        for (value, seed) in seeds {
            value.layout().check_len(GRADIENTS, seed.len())?;
            seed.layout().check_shapes(GRADIENTS, value.layout())?;
            from.push((
                value.traced(GRADIENTS, &trace)?,
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
                    trace.value_of(GRADIENTS, &zeros.operand())?
                }
                None => {
                    return Err(Error::recording(
                        GRADIENTS,
                        format!(
                            "what is differentiated does not depend on operand {i}, or only through integers or masks; \
                             leave this operand out"
                        ),
                    ));
                }
            };
            trace.differentiate(&differentiated, value);
            all.push(trace.tensor(GRADIENTS, value)?);
        }
        Ok(all)
    }
}

/// The value of a cotangent. It is a constant if it depends only on seeds that are constants.
fn cotangent_id(cotangent: &Cotangent, trace: &Arc<Trace>) -> Result<ValueId> {
    match cotangent {
        Cotangent::F32(g) => trace.value_of(GRADIENTS, &g.operand()),
        Cotangent::F16(g) => trace.value_of(GRADIENTS, &g.operand()),
        Cotangent::C32(g) => trace.value_of(GRADIENTS, &g.operand()),
    }
}
