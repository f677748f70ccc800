//! The epilogue options shared by dense and block-sparse products.

use super::Tensor;
use super::run::{Call, Operand};
use crate::Result;
use crate::ops::Op;
use crate::ops::matmul::{Activation, BIAS, Epilogue, RESIDUAL, whose_bias};
use crate::ragged::{Pairs, Scalar};

/// `residual + f(scale · sum + bias)`.
#[derive(Clone, Debug)]
pub(super) struct Extras<'a, T: Scalar> {
    pub activation: Activation,
    pub scale: Option<f32>,
    pub bias: Option<&'a Tensor<T>>,
    pub residual: Option<&'a Tensor<T>>,
}

impl<'a, T: Scalar> Extras<'a, T> {
    pub fn none() -> Extras<'a, T> {
        Extras {
            activation: Activation::Identity,
            scale: None,
            bias: None,
            residual: None,
        }
    }

    pub fn is_none(&self) -> bool {
        let plain = self.scale.is_none() && self.bias.is_none() && self.residual.is_none();
        plain && self.activation == Activation::Identity
    }

    /// The epilogue as plans describe it. Checks the bias against the number of right operands and adds it to the
    /// inputs.
    pub fn epilogue(
        &self,
        factor: &Tensor<T>,
        right: usize,
        inputs: &mut Vec<Operand<'a>>,
    ) -> Result<Epilogue> {
        let mut epilogue = Epilogue {
            scale: self.scale.is_some(),
            activation: self.activation,
            bias: None,
            residual: self.residual.is_some(),
        };
        if let Some(bias) = self.bias {
            factor.check_device(BIAS, bias)?;
            epilogue.bias = Some(whose_bias(&bias.layout, right)?);
            inputs.push(bias.operand());
        }
        Ok(epilogue)
    }

    /// Runs the operation on the inputs (the factors and the bias), and on the residual if there is one.
    pub fn run<R: Scalar>(
        &self,
        op: Op,
        factor: &Tensor<T>,
        pairs: Option<&Pairs>,
        mut inputs: Vec<Operand<'a>>,
    ) -> Result<Tensor<R>> {
        if let Some(residual) = self.residual {
            factor.check_device(RESIDUAL, residual)?;
            inputs.push(residual.operand());
        }
        let scalar = self.scale.map(f32::to_bits);
        Call {
            pairs,
            scalars: scalar.as_slice(),
            ..Call::new(&factor.device, op, &inputs)
        }
        .one()
    }
}
