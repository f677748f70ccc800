//! What products are asked to do to their sums, dense ones and block-sparse ones.

use super::methods::single;
use super::{Operand, Tensor, run};
use crate::Result;
use crate::ops::matmul::{Activation, BIAS, Epilogue, RESIDUAL, check_residual, whose_bias};
use crate::plan::Launch;
use crate::ragged::Element;

/// `residual + f(scale · sum + bias)`.
#[derive(Clone, Debug)]
pub(super) struct Extras<'a, T: Element> {
    pub activation: Activation,
    pub scale: Option<f32>,
    pub bias: Option<&'a Tensor<T>>,
    pub residual: Option<&'a Tensor<T>>,
}

impl<'a, T: Element> Extras<'a, T> {
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

    /// As plans know it, where the bias suits so many right operands. It becomes an input.
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

    /// Makes what was planned for these inputs, where the residual has the result's shapes.
    pub fn run<R: Element>(
        &self,
        op: &'static str,
        factor: &Tensor<T>,
        launch: &Launch,
        mut inputs: Vec<Operand<'a>>,
    ) -> Result<Tensor<R>> {
        if let Some(residual) = self.residual {
            factor.check_device(RESIDUAL, residual)?;
            let (result, _) = launch.outputs[0].sized(|i| inputs[i].layout);
            check_residual(&residual.layout, result)?;
            inputs.push(residual.operand());
        }
        let scalars: Vec<u32> = self.scale.map(f32::to_bits).into_iter().collect();
        let device = &factor.device;
        let made = single(device, op, run(device, launch, &inputs, &scalars)?)?;
        // Layer after layer the layout of what is added to stays the same, and with it the plans in its cache.
        Ok(match self.residual {
            Some(residual) => made.seen_as(&residual.layout),
            None => made,
        })
    }
}
