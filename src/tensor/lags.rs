//! The results of searches for the best lag.

use super::Tensor;

/// The largest value of each pair's cross-correlation, and its lag.
///
/// Returned by [`Tensor::correlate_max`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CorrelateMax {
    /// max_k (a ⋆ b)_k, one value per pair; −∞ if a side is empty.
    pub value: Tensor<f32>,
    /// The lag k of the maximum, the least one on ties; `i32::MIN` if a side is empty.
    pub lag: Tensor<i32>,
}

/// The shape-based distance of each pair, and the lag that gives it.
///
/// Returned by [`Tensor::sbd`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sbd {
    /// The distance, one value per pair: from 0, where one is a shifted, scaled copy of the other, to 2.
    pub distance: Tensor<f32>,
    /// The lag k by which b must be shifted; `i32::MIN` if a side is empty.
    pub lag: Tensor<i32>,
}
