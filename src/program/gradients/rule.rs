//! What the rule of a recorded operation receives and returns.

use std::collections::HashMap;
use std::sync::Arc;

use half::f16;
use num_complex::Complex32;

use crate::error::Named;
use crate::plan::Attachment;
use crate::ragged::{DType, Layout, Pairs, Scalar};
use crate::tensor::{Device, Node, Origin, Tensor, Trace, ValueId};
use crate::{Error, Result};

/// The name of this module's operations in errors.
pub(super) const GRADIENTS: &str = "gradients";

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
            $crate::program::gradients::rule::Cotangent::F32($g) => {
                $crate::program::gradients::rule::Cotangent::F32($made)
            }
            $crate::program::gradients::rule::Cotangent::F16($g) => {
                $crate::program::gradients::rule::Cotangent::F16($made)
            }
            $crate::program::gradients::rule::Cotangent::C32($g) => {
                $crate::program::gradients::rule::Cotangent::C32($made)
            }
        }
    };
}
pub(super) use each;

impl Cotangent {
    pub(super) fn add(&self, other: &Cotangent) -> Result<Cotangent> {
        Ok(match (self, other) {
            (Cotangent::F32(a), Cotangent::F32(b)) => a.add(b)?.into(),
            (Cotangent::F16(a), Cotangent::F16(b)) => a.add(b)?.into(),
            (Cotangent::C32(a), Cotangent::C32(b)) => a.add(b)?.into(),
            _ => return Err(Error::recording("cotangents of two types").named(GRADIENTS)),
        })
    }

    /// The cotangent in the layout of its value: zeros where it lacks entries, and without the entries that the value
    /// does not have.
    pub(super) fn fit(&self, layout: &Layout) -> Result<Cotangent> {
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
    pub(super) trace: &'a Arc<Trace>,
    pub(super) node: &'a Node,
    /// Recomputed values, by the original ones that they replace.
    pub(super) again: &'a HashMap<ValueId, ValueId>,
    /// Whether each operand needs a cotangent.
    pub(super) wanted: Vec<bool>,
}

impl Applied<'_> {
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
        self.trace.tensor(value).named(self.name())
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
        Error::recording(format!("{} has no gradient{why}", self.name())).named(GRADIENTS)
    }
}

/// Cotangents of the operands, in order; `None` where one is not wanted or is zero everywhere.
pub(super) type Cotangents = Vec<Option<Cotangent>>;

/// The rule of an operation, implemented by its payload. An operation whose rule is empty has no gradient.
pub(super) trait Rule {
    /// The cotangents of the operands, given those of all results.
    fn of_results(
        &self,
        applied: &Applied<'_>,
        results: &[Option<Cotangent>],
    ) -> Result<Cotangents> {
        // Other results are indices and masks, which have no cotangents.
        match &results[0] {
            Some(g) => self.of_result(applied, g),
            None => Ok(Vec::new()),
        }
    }

    /// The cotangents of the operands, given that of the first result.
    fn of_result(&self, applied: &Applied<'_>, _g: &Cotangent) -> Result<Cotangents> {
        Err(applied.refused())
    }
}
