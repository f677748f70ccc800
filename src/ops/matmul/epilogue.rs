//! What is done to sums before they are stored: scale, bias, activation, residual.

use std::sync::Arc;

use super::Extents;
use crate::ragged::{CacheKey, Layout, Pairs};
use crate::{Error, Result};

/// What is done to a sum before it is stored: `p.epilogue` of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Epilogue {
    pub scale: bool,
    pub activation: Activation,
    /// Whether there is a bias, and whether every product has its own.
    pub bias: Option<Bias>,
    pub residual: bool,
}

/// Whose bias it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Bias {
    /// The one that there is.
    Shared,
    /// Element j, for the right operand's element j.
    Right,
}

/// What a [`Product`](crate::Product) applies to every result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Activation {
    /// Nothing.
    #[default]
    Identity,
    /// max(x, 0), and NaN for NaN.
    Relu,
    /// x Φ(x) = ½ x erfc(−x/√2).
    Gelu,
}

impl Epilogue {
    pub(super) fn bits(self) -> u32 {
        u32::from(self.scale)
            | u32::from(self.bias.is_some()) << 1
            | match self.activation {
                Activation::Identity => 0,
                Activation::Relu => 4,
                Activation::Gelu => 8,
            }
            | u32::from(self.residual) << 4
    }

    /// The number of the input that holds the bias, and that of the residual.
    pub(super) fn inputs(self) -> (Option<usize>, Option<usize>) {
        let bias = self.bias.map(|_| 2);
        let residual = self.residual.then_some(2 + usize::from(bias.is_some()));
        (bias, residual)
    }
}

/// Whose the vectors of a bias are: one for all products, or one for each of the `right` operands.
pub(crate) fn whose_bias(op: &'static str, bias: &Layout, right: usize) -> Result<Bias> {
    if bias.rank() != 1 {
        return Err(Error::Rank {
            op,
            element: None,
            expected: "1".to_owned(),
            got: bias.rank(),
        });
    }
    match bias.len() {
        1 => Ok(Bias::Shared),
        len if len == right => Ok(Bias::Right),
        len => Err(Error::BatchSize {
            op,
            left: right,
            right: len,
        }),
    }
}

/// A bias is added to rows of its length.
pub(super) fn check_bias(
    op: &'static str,
    whose: Bias,
    bias: &Layout,
    pairs: &Pairs,
    products: &[Extents],
) -> Result<()> {
    for ((_, j), product) in pairs.iter().zip(products) {
        let element = match whose {
            Bias::Shared => 0,
            Bias::Right => j,
        };
        if bias.length(element) != product.n as usize {
            return Err(Error::Length {
                op,
                element,
                expected: product.n as usize,
                got: bias.length(element),
            });
        }
    }
    Ok(())
}

/// A residual has the shapes of the results. That is looked at once for each pair of layouts.
pub(crate) fn check_residual(op: &'static str, residual: &Layout, result: &Layout) -> Result<()> {
    if residual.id() == result.id() {
        return Ok(());
    }
    if residual.len() != result.len() {
        return Err(Error::BatchSize {
            op,
            left: result.len(),
            right: residual.len(),
        });
    }
    let key = CacheKey {
        what: "residual",
        other: result.id(),
        device: 0,
        extra: 0,
    };
    let same = residual.cached(key, || {
        let wrong = (0..result.len()).find(|&i| residual.shape(i) != result.shape(i));
        match wrong {
            None => Ok(Arc::new(())),
            Some(element) => Err(Error::Shape {
                op,
                element,
                expected: result.shape(element).to_string(),
                got: residual.shape(element).to_string(),
            }),
        }
    });
    same.map(|_| ())
}
