//! The methods of convolution. The choice for a pair is a pure function of the pair's own lengths and a cost table.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The method by which pairs are convolved and correlated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ConvMethod {
    /// Convolves each pair by the method that is cheapest for its two lengths, according to the device's
    /// [`CostTable`](crate::conv::CostTable).
    #[default]
    Auto,
    /// Computes the definition, with m·n multiply-adds: exact for integers, and fastest for short operands.
    Direct,
    /// Transforms each operand once, at a length of at least m + n − 1 values, and transforms the product back.
    Fft,
    /// Splits the longer operand into blocks, so that transforms need only be long relative to the shorter operand.
    OverlapSave,
}

impl ConvMethod {
    pub(super) const ALL: [ConvMethod; 4] = [
        ConvMethod::Auto,
        ConvMethod::Direct,
        ConvMethod::Fft,
        ConvMethod::OverlapSave,
    ];

    /// The name: `auto`, `direct`, `fft` or `overlap_save`.
    pub fn name(self) -> &'static str {
        match self {
            ConvMethod::Auto => "auto",
            ConvMethod::Direct => "direct",
            ConvMethod::Fft => "fft",
            ConvMethod::OverlapSave => "overlap_save",
        }
    }
}

impl fmt::Display for ConvMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ConvMethod {
    type Err = Error;

    /// Parses a [`name`](ConvMethod::name).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for anything else.
    fn from_str(text: &str) -> Result<ConvMethod> {
        let method = ConvMethod::ALL.into_iter().find(|m| m.name() == text);
        method.ok_or_else(|| {
            Error::unsupported(format!(
                "the method {text:?}; use auto, direct, fft or overlap_save"
            ))
        })
    }
}

/// The method of one pair, and the length of its transforms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Choice {
    Direct,
    Fft { length: u32 },
    OverlapSave { length: u32 },
}

impl Choice {
    pub(crate) fn method(self) -> ConvMethod {
        match self {
            Choice::Direct => ConvMethod::Direct,
            Choice::Fft { .. } => ConvMethod::Fft,
            Choice::OverlapSave { .. } => ConvMethod::OverlapSave,
        }
    }

    /// The length of its transforms; `None` for the direct method.
    pub(crate) fn length(self) -> Option<u32> {
        match self {
            Choice::Direct => None,
            Choice::Fft { length } | Choice::OverlapSave { length } => Some(length),
        }
    }
}
