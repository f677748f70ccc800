//! The epilogue of a product, applied to sums before they are stored: scale, bias, activation, residual.
//!
//! Its steps are flags in the parameters, not variants. They are applied while the last sum is in registers; the
//! largest tile has no registers left for this and applies them after all of its sums are stored. Bias and residual are
//! operands, whose layouts are part of the plan's key. A result to which a residual is added has the residual's layout,
//! so that layer after layer finds the same plans.

use crate::error::Named;
use crate::ops::maps::{gelu, in_place};
use crate::plan::{Constants, CpuArgs, constants};
use crate::ragged::Layout;
use crate::{Error, Result};

/// The steps applied to a sum before it is stored: `p.epilogue` of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Epilogue {
    pub scale: bool,
    pub activation: Activation,
    /// The kind of bias, if there is one.
    pub bias: Option<Bias>,
    pub residual: bool,
}

mod bits {
    pub const SCALE: u32 = 1;
    pub const BIAS: u32 = 2;
    pub const RELU: u32 = 4;
    pub const GELU: u32 = 8;
    pub const RESIDUAL: u32 = 16;
}

/// Which vector of the bias a product adds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Bias {
    /// The only one.
    Shared,
    /// Element j, for element j of the right operand.
    Right,
}

/// The function that a [`Product`](crate::product::Product) applies to every result, in f32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Activation {
    /// No change.
    #[default]
    Identity,
    /// max(x, 0); NaN for NaN.
    Relu,
    /// x Φ(x) = ½ x erfc(−x/√2), within 8 units in the last place or 2⁻¹²⁶; −0 for −∞, and NaN for NaN. About 40
    /// operations on a GPU.
    Gelu,
}

impl Epilogue {
    /// The bits of `p.epilogue` of the kernels.
    pub(in crate::ops) const BITS: Constants = {
        use bits::*;
        constants![SCALE, BIAS, RELU, GELU, RESIDUAL]
    };

    pub(in crate::ops) fn bits(self) -> u32 {
        let if_so = |so: bool, bit: u32| if so { bit } else { 0 };
        let activation = match self.activation {
            Activation::Identity => 0,
            Activation::Relu => bits::RELU,
            Activation::Gelu => bits::GELU,
        };
        if_so(self.scale, bits::SCALE)
            | if_so(self.bias.is_some(), bits::BIAS)
            | activation
            | if_so(self.residual, bits::RESIDUAL)
    }

    /// The input indices of the bias and of the residual.
    pub(in crate::ops) fn inputs(self) -> (Option<usize>, Option<usize>) {
        let bias = self.bias.map(|_| 2);
        let residual = self.residual.then_some(2 + usize::from(bias.is_some()));
        (bias, residual)
    }
}

impl Epilogue {
    /// Applies the epilogue on the CPU to rows of n columns of a pair's result, from row `row` on; `right` is the index
    /// of the pair's right operand.
    pub(in crate::ops) fn apply(
        self,
        args: &CpuArgs<'_>,
        (pair, right, row): (usize, usize, usize),
        n: usize,
        out: &mut [f32],
    ) {
        if self.bits() == 0 || out.is_empty() {
            return;
        }
        let scale = match self.scale {
            true => f32::from_bits(args.scalars[0]),
            false => 1.0,
        };
        let (bias, residual) = self.inputs();
        let bias = bias.map(|input| {
            let (values, layout) = args.input::<f32>(input);
            let element = match self.bias {
                Some(Bias::Right) => right,
                _ => 0,
            };
            &values[layout.offsets().range(element)]
        });
        let residual = residual.map(|input| {
            let (values, layout) = args.input::<f32>(input);
            &values[layout.offsets().range(pair)][row * n..]
        });
        // Step by step over whole rows that fit the fastest cache, so that the compiler vectorizes every step.
        let block = n * (BLOCK / n).max(1);
        for (begin, out) in (0..).step_by(block).zip(out.chunks_mut(block)) {
            if self.scale {
                out.iter_mut().for_each(|y| *y *= scale);
            }
            if let Some(bias) = bias {
                out.chunks_mut(n).for_each(|out| add(out, bias));
            }
            match self.activation {
                Activation::Identity => {}
                Activation::Relu => in_place(out, |y| if y < 0.0 { 0.0 } else { y }),
                Activation::Gelu => in_place(out, gelu),
            }
            if let Some(residual) = residual {
                add(out, &residual[begin..]);
            }
        }
    }
}

/// The values of a block of rows.
const BLOCK: usize = 2048;

fn add(out: &mut [f32], values: &[f32]) {
    out.iter_mut().zip(values).for_each(|(y, x)| *y += x);
}

/// The method names used in errors about a bias or a residual, which are not factors.
pub(crate) const BIAS: &str = "bias";
pub(crate) const RESIDUAL: &str = "residual";

/// Whether a bias has one vector for all products, or one for each of the `right` operands.
pub(crate) fn whose_bias(bias: &Layout, right: usize) -> Result<Bias> {
    bias.check_rank(1).named(BIAS)?;
    match bias.len() {
        1 => Ok(Bias::Shared),
        len if len == right => Ok(Bias::Right),
        len => Err(Error::argument(
            match right {
                1 => "1 vector".to_owned(),
                _ => format!("1 vector for all products, or {right}, one for each right operand"),
            },
            len,
        )
        .named(BIAS)),
    }
}

/// Checks that a bias is as long as the rows that it is added to. Products are (index of the right operand, columns).
pub(in crate::ops) fn check_bias(
    whose: Bias,
    bias: &Layout,
    products: impl Iterator<Item = (usize, u32)>,
) -> Result<()> {
    for (j, columns) in products {
        let element = match whose {
            Bias::Shared => 0,
            Bias::Right => j,
        };
        if bias.length(element) != columns as usize {
            let got = bias.length(element);
            return Err(Error::length(element, columns as usize, got).named(BIAS));
        }
    }
    Ok(())
}

/// Checks that a residual has the shapes of the results.
pub(crate) fn check_residual(residual: &Layout, result: &Layout) -> Result<()> {
    if residual.len() != result.len() {
        return Err(Error::element_count(result.len(), residual.len()).named(RESIDUAL));
    }
    residual.check_shapes(result).named(RESIDUAL)
}
