//! The choice of a method for each pair of a convolution: a pure function of the pair's own lengths and a cost table.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// How pairs are convolved and correlated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ConvMethod {
    /// For each pair the method that is cheapest for its two lengths by the device's
    /// [`CostTable`](crate::conv::CostTable).
    #[default]
    Auto,
    /// By the definition, m·n multiply-adds: exact for integers, and what short operands are fastest with.
    Direct,
    /// By one transform of at least m + n − 1 values for each operand and one back.
    Fft,
    /// The longer operand in blocks, each by transforms that are long for the shorter operand only.
    OverlapSave,
}

impl ConvMethod {
    pub(super) const ALL: [ConvMethod; 4] = [
        ConvMethod::Auto,
        ConvMethod::Direct,
        ConvMethod::Fft,
        ConvMethod::OverlapSave,
    ];

    /// `auto`, `direct`, `fft` or `overlap_save`.
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

    /// Reads a [`name`](ConvMethod::name).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for anything else.
    fn from_str(text: &str) -> Result<ConvMethod> {
        let method = ConvMethod::ALL.into_iter().find(|m| m.name() == text);
        method.ok_or_else(|| Error::Unsupported {
            op: "method",
            what: format!("{text:?}: expected auto, direct, fft or overlap_save"),
        })
    }
}

/// The method of one pair, with the length of its transforms.
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

    /// The length of its transforms.
    pub(crate) fn length(self) -> Option<u32> {
        match self {
            Choice::Direct => None,
            Choice::Fft { length } | Choice::OverlapSave { length } => Some(length),
        }
    }
}
