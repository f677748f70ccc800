//! Pairings of the elements of two batches.

use super::Tensor;
#[cfg(feature = "gpu")]
use super::device::Backend;
use super::operand::Operand;
use super::run::Call;
use crate::Result;
use crate::error::Named;
use crate::ops::Op;
use crate::ops::ambient::{Along, Combine, Concat};
use crate::plan::check_work;
use crate::ragged::{Layout, Number, Pairing, Pairs, Scalar};

/// Two batches with a pairing: applies binary operations to the pairs rather than element by element.
///
/// Created by [`Tensor::pair`]. A lightweight view: no operand is copied. Results have one element per pair, in the
/// pairing's order. Every operation does the same as the method of that name on [`Tensor`].
///
/// ```
/// use vsla::{Device, Pairing, Ragged, batch::PairList};
///
/// let device = Device::cpu();
/// let x = device.upload(&Ragged::from_rows([vec![1, 2], vec![3]])?)?;
/// let y = device.upload(&Ragged::from_rows([vec![10], vec![20, 30]])?)?;
/// let all = x.pair(&y, Pairing::AllToAll)?.add()?.download_blocking()?;
/// assert_eq!(all.to_vecs()?, [vec![11, 2], vec![21, 32], vec![13], vec![23, 30]]);
/// let crosswise = PairList::new([(1, 0), (0, 1)])?;
/// let swapped = x.pair(&y, Pairing::List(&crosswise))?.add()?.download_blocking()?;
/// assert_eq!(swapped.to_vecs()?, [vec![13], vec![21, 32]]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Paired<'a, T: Scalar> {
    pub(super) left: &'a Tensor<T>,
    pub(super) right: &'a Tensor<T>,
    pub(super) pairs: Pairs,
}

impl<T: Scalar> Tensor<T> {
    /// Pairs this batch with another, for the binary operations of [`Paired`].
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch); [`BatchSize`](crate::Error::BatchSize) for `Elementwise` if
    /// the batches differ in size; [`Pairing`](crate::Error::Pairing) for `OneToAll` unless this batch has exactly one
    /// element, and for `AllToOne` unless the other one has; [`PairIndex`](crate::Error::PairIndex) for a listed index
    /// out of range; [`SizeOverflow`](crate::Error::SizeOverflow) for more than 2³² − 1 pairs;
    /// [`TooLarge`](crate::Error::TooLarge) for more pairs than the device can hold offsets for.
    pub fn pair<'a>(&'a self, other: &'a Tensor<T>, pairing: Pairing<'_>) -> Result<Paired<'a, T>> {
        self.check_device(other).named("pair")?;
        let pairs = Pairs::new(&self.layout, &other.layout, pairing).named("pair")?;
        // Each pair counts as work, because planning visits it.
        check_work(None, pairs.len() as u64, self.device.allowed()).named("pair")?;
        #[cfg(feature = "gpu")]
        if let Backend::Gpu(gpu) = self.device.backend() {
            // Checked here, before a plan allocates host memory for the pairs.
            gpu.check_elements(pairs.len()).named("pair")?;
        }
        Ok(Paired {
            left: self,
            right: other,
            pairs,
        })
    }
}

impl<T: Scalar> Paired<'_, T> {
    /// [`Tensor::concat`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::concat`].
    pub fn concat(&self, axis: usize) -> Result<Tensor<T>> {
        self.concat_axes(Along::Axis(axis))
    }

    /// [`Tensor::block_diag`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::block_diag`].
    pub fn block_diag(&self) -> Result<Tensor<T>> {
        self.concat_axes(Along::Diagonal)
    }

    fn concat_axes(&self, along: Along) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        self.run(Concat { along, dtype })
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn operands(&self) -> [Operand<'_>; 2] {
        [self.left.operand(), self.right.operand()]
    }

    pub(super) fn layouts(&self) -> (&Layout, &Layout) {
        (&self.left.layout, &self.right.layout)
    }

    /// Runs an operation with one result.
    pub(super) fn run<U: Scalar>(&self, op: impl Into<Op>) -> Result<Tensor<U>> {
        self.call(op, &self.operands()).one()
    }

    pub(super) fn call<'a>(&'a self, op: impl Into<Op>, operands: &'a [Operand<'a>]) -> Call<'a> {
        Call {
            pairs: Some(&self.pairs),
            ..Call::new(&self.left.device, op, operands)
        }
    }
}

impl<T: Scalar> Paired<'_, T> {
    /// The function of that name.
    pub(super) fn combine<R: Scalar>(&self, name: &'static str) -> Result<Tensor<R>> {
        let dtype = T::DTYPE;
        self.run(Combine { name, dtype })
    }
}

impl<T: Number> Paired<'_, T> {
    /// [`Tensor::add`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn add(&self) -> Result<Tensor<T>> {
        self.combine("add")
    }

    /// [`Tensor::sub`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn sub(&self) -> Result<Tensor<T>> {
        self.combine("sub")
    }

    /// [`Tensor::hadamard`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn hadamard(&self) -> Result<Tensor<T>> {
        self.combine("hadamard")
    }
}
