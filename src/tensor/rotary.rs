//! Rotary position embeddings.

use super::Tensor;
use super::run::Call;
use crate::error::Named;
use crate::ops::rotary::{OP, Rotary as Turn};
use crate::ragged::{Float, Scalar};
use crate::{Error, Result};

/// A builder for rotary position embeddings of queries or keys. Made by [`Tensor::rotary`].
#[derive(Clone, Copy, Debug)]
#[must_use = "does nothing until `run` is called"]
pub struct Rotary<'a, T: Float> {
    x: &'a Tensor<T>,
    heads: usize,
    base: f64,
    start: usize,
    starts: Option<&'a Tensor<u32>>,
    neighbours: bool,
}

impl<T: Float> Tensor<T> {
    /// Rotary position embeddings (RoPE; Su et al., 2021): each pair of values (a, b) of a head becomes (a cos φ − b
    /// sin φ, b cos φ + a sin φ) with φ = (start + r) · base^(−2i/d), for row r of its element and pair i of the head.
    /// The product of a query and a key then depends on their distance alone.
    ///
    /// Elements are (n, heads, d), or (n, heads · d) with [`heads`](Rotary::heads) side by side; d is even. Rows are
    /// counted within their element. Values i and i + d/2 are a pair, as in Llama's published weights;
    /// [`neighbours`](Rotary::neighbours) pairs values 2i and 2i + 1, as in the paper.
    ///
    /// f32, and f16 computed in f32 and rounded once. Error: 3 · 2⁻²⁴ (|a| + |b|), because cosines and sines are
    /// computed in f64 when the operation is planned, for positions below 2²⁷; with [`starts`](Rotary::starts), which
    /// only the device knows, 12 · 2⁻²⁴ (|a| + |b|). An element without rows stays as it is, whatever its other
    /// extents. A NaN reaches both values of its pair. Does not respect equivalence, because the angles depend on the
    /// positions of rows. Cost: one dispatch, which reads and writes the values once from memory, and reads a cosine
    /// and a sine for each row and pair of a head; with `starts`, it reads a cosine and a sine for each byte of the
    /// position except leading zeros. The plan holds them: 4 · rows of the longest element · d bytes, or 4,096 · d.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let x = Ragged::from_shapes(vec![1.0f32, 0.0, 1.0, 0.0], 2, [Shape::new(&[2, 2])?])?;
    /// let y = device.upload(&x)?.rotary().run()?.download_blocking()?;
    /// assert_eq!(y.row(0), [1.0, 0.0, 1f32.cos(), 1f32.sin()]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn rotary(&self) -> Rotary<'_, T> {
        Rotary {
            x: self,
            heads: 1,
            base: 10_000.0,
            start: 0,
            starts: None,
            neighbours: false,
        }
    }
}

impl<T: Scalar> Tensor<T> {
    /// Rotates rows by positions that begin at these values, one for each element.
    pub(crate) fn turned_from(&self, starts: &Tensor<u32>, turn: Turn) -> Result<Tensor<T>> {
        self.check_device(starts).named(OP)?;
        let operands = [self.operand(), starts.operand()];
        Call::new(&self.device, turn, &operands).one()
    }
}

impl<'a, T: Float> Rotary<'a, T> {
    /// The number of heads that rows of rank 2 hold side by side; 1 by default.
    pub fn heads(mut self, heads: usize) -> Self {
        self.heads = heads;
        self
    }

    /// The base of the angles; 10,000 by default.
    pub fn base(mut self, base: f64) -> Self {
        self.base = base;
        self
    }

    /// The position of the first row of each element; 0 by default. Queries after n cached keys begin at n.
    pub fn start(mut self, position: usize) -> Self {
        self.start = position;
        self
    }

    /// Adds a position for each element, which only the device knows: one vector with a value for each element, such as
    /// [`Cache::lengths`](super::Cache::lengths) before rows are appended. Row r of element i is then at position
    /// `start + starts[i] + r`, where `starts[i] + r` is below 2³²; so one plan serves all steps of decoding.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let rows = [Shape::new(&[2, 2])?, Shape::new(&[1, 2])?];
    /// let x = device.upload(&Ragged::from_shapes(vec![1.0f32, 0.0, 1.0, 0.0, 1.0, 0.0], 2, rows)?)?;
    /// let starts = device.upload(&Ragged::from_rows([[0u32, 1]])?)?;
    /// let y = x.rotary().starts(&starts).run()?.download_blocking()?;
    /// // The second row of the first element and the only one of the second are at position 1.
    /// assert_eq!(y.row(0)[2..], *y.row(1));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn starts(mut self, positions: &'a Tensor<u32>) -> Self {
        self.starts = Some(positions);
        self
    }

    /// Pairs neighbouring values, 2i and 2i + 1, instead of values that are half a head apart.
    pub fn neighbours(mut self) -> Self {
        self.neighbours = true;
        self
    }

    /// Rotates the pairs.
    ///
    /// # Errors
    /// [`Rank`](Error::Rank); [`Argument`](Error::Argument) for heads that do not divide the rows, for a head of an odd
    /// number of values, for a base that is not positive and finite, and for `starts` that are not one vector with a
    /// value for each element; [`DeviceMismatch`](Error::DeviceMismatch); [`Shape`](Error::Shape) with the first
    /// element whose rows differ from those before it; [`TooLarge`](Error::TooLarge),
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn run(self) -> Result<Tensor<T>> {
        if !(self.base.is_finite() && self.base > 0.0) {
            return Err(Error::argument("a positive, finite base", self.base).named(OP));
        }
        let turn = Turn {
            dtype: T::DTYPE,
            heads: self.heads,
            base: self.base.to_bits(),
            start: self.start,
            starts: self.starts.is_some(),
            neighbours: self.neighbours,
            back: false,
        };
        match self.starts {
            None => self.x.unary(turn, &[]),
            Some(starts) => self.x.turned_from(starts, turn),
        }
    }
}
