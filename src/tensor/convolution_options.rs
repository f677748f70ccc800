//! Convolutions with options.

use super::{CorrelateMax, Paired, Sbd, Tensor};
use crate::Result;
use crate::error::Named;
use crate::error::Side;
use crate::ops::Op;
use crate::ops::choice::{ConvChoice, ConvMethod, ConvMode, Window};
use crate::ops::conv::Conv;
use crate::ops::correlate_max::{self as ops, Seek};
use crate::ragged::{Pairs, Real};

/// Convolutions and correlations of pairs, with a method, a mode and strides. Made by [`Paired::convolution`].
///
/// [`correlate_max`](Self::correlate_max) and [`sbd`](Self::sbd) take the method alone.
///
/// ```
/// use vsla::{Device, Pairing, Ragged, conv::ConvMode};
///
/// let device = Device::cpu();
/// let x = device.upload(&Ragged::from_rows([vec![1, 2, 3, 4], vec![5, 6]])?)?;
/// let h = device.upload(&Ragged::from_rows([vec![1, 10], vec![1]])?)?;
/// let halved = x.pair(&h, Pairing::Elementwise)?.convolution().mode(ConvMode::Same).stride(&[2]).conv()?;
/// assert_eq!(halved.download_blocking()?.to_vecs()?, [vec![1, 23], vec![5]]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Convolution<'a, T: Real> {
    pub(super) pair: Paired<'a, T>,
    pub(super) method: ConvMethod,
    pub(super) window: Window,
    /// The operand whose extents a mode takes.
    pub(super) side: Side,
}

impl<T: Real> Convolution<'_, T> {
    /// Sets the method by which every pair is convolved.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, conv::ConvMethod};
    ///
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0]])?)?;
    /// let y = device.upload(&Ragged::from_rows([vec![0.5f32, 1.5]])?)?;
    /// let pair = x.pair(&y, Pairing::Elementwise)?;
    /// let exact = pair.convolution().method(ConvMethod::Direct).conv()?.download_blocking()?;
    /// let near = pair.convolution().method(ConvMethod::Fft).conv()?.download_blocking()?;
    /// assert_eq!(exact.row(0), [0.5, 2.5, 4.5, 4.5]);
    /// assert!(near.row(0).iter().zip(exact.row(0)).all(|(x, y)| (x - y).abs() < 1e-5));
    /// # Ok::<(), vsla::Error>(())
    /// ```
    #[must_use]
    pub fn method(&self, method: ConvMethod) -> Self {
        Convolution {
            method,
            ..self.clone()
        }
    }

    /// Selects which results are kept, on every axis.
    ///
    /// A mode other than `Full` keeps results by the extents of one operand, the left one unless [`side`](Self::side)
    /// says otherwise. If the left operand of a pair is the shorter one along an axis, that call is needed, because the
    /// operands may stand in the wrong order; an empty operand, whose result is empty either way, does not need it.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, conv::ConvMode};
    ///
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1, 2, 3, 4]])?)?;
    /// let y = device.upload(&Ragged::from_rows([vec![1, 10, 100]])?)?;
    /// let pair = x.pair(&y, Pairing::Elementwise)?;
    /// let conv = |mode| pair.convolution().mode(mode).conv()?.download_blocking();
    /// assert_eq!(conv(ConvMode::Full)?.values(), [1, 12, 123, 234, 340, 400]);
    /// assert_eq!(conv(ConvMode::Same)?.values(), [12, 123, 234, 340]);
    /// assert_eq!(conv(ConvMode::Valid)?.values(), [123, 234]);
    /// assert_eq!(conv(ConvMode::Causal)?.values(), [1, 12, 123, 234]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    #[must_use]
    pub fn mode(&self, mode: ConvMode) -> Self {
        let mut with = self.clone();
        with.window.mode = mode;
        with
    }

    /// Chooses the operand whose extents are m in the table of [`ConvMode`], for every pair, and whichever is shorter.
    ///
    /// `Side::Left` is the default, for left operands that are not shorter than the right ones; say so if elements of a
    /// batch may be shorter than a filter. `Side::Right` keeps another part of the same full result: m and n are
    /// swapped in the table. Then [`correlate`](Self::correlate) copies the right batch. The mode `Full`,
    /// [`correlate_max`](Self::correlate_max) and [`sbd`](Self::sbd) do not depend on the side.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, batch::Side, conv::ConvMode};
    ///
    /// # let device = Device::cpu();
    /// let filter = device.upload(&Ragged::from_rows([vec![1, 1]])?)?;
    /// let x = device.upload(&Ragged::from_rows([vec![1, 2, 3, 4], vec![5]])?)?;
    /// let pair = filter.pair(&x, Pairing::OneToAll)?.convolution().mode(ConvMode::Causal);
    /// let text = pair.conv().unwrap_err().to_string();
    /// assert!(text.contains("the left operand has 2 values along axis 0 and the right one 4"));
    /// assert_eq!(pair.side(Side::Right).conv()?.download_blocking()?.to_vecs()?, [vec![1, 3, 5, 7], vec![5]]);
    /// assert_eq!(pair.side(Side::Left).conv()?.download_blocking()?.to_vecs()?, [vec![1, 3], vec![5, 5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    #[must_use]
    pub fn side(&self, side: Side) -> Self {
        let mut with = self.clone();
        with.side = side;
        with.window.any_left = true;
        with
    }

    /// Keeps every s-th result of the [`mode`](Self::mode), starting with the first: one stride for each axis.
    ///
    /// The direct method computes only the kept results.
    ///
    /// A stride of 0, or a number of strides (including none) that differs from the number of axes, gives
    /// [`Stride`](crate::Error::Stride) when the pairs are convolved.
    ///
    /// ```
    /// use vsla::{Device, Pairing, Ragged, Shape, conv::ConvMode};
    ///
    /// # let device = Device::cpu();
    /// let image = Ragged::from_shapes((0..16).collect(), 2, [Shape::new(&[4, 4])?])?;
    /// let block = Ragged::from_shapes(vec![1; 4], 2, [Shape::new(&[2, 2])?])?;
    /// let (x, y) = (device.upload(&image)?, device.upload(&block)?);
    /// let pair = x.pair(&y, Pairing::Elementwise)?.convolution().mode(ConvMode::Valid);
    /// // Sums over blocks of 2 by 2 that do not overlap.
    /// let sums = pair.stride(&[2, 2]).conv()?.download_blocking()?;
    /// assert_eq!(sums.values(), [10, 18, 42, 50]);
    /// assert_eq!(pair.stride(&[2, 0]).conv().unwrap_err().kind(), "stride");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    #[must_use]
    pub fn stride(&self, strides: &[usize]) -> Self {
        let mut with = self.clone();
        with.window.set_strides(strides);
        with
    }
}

impl<T: Real> Convolution<'_, T> {
    /// [`Tensor::conv`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::conv`]; [`Method`](crate::Error::Method) for a pair that the requested
    /// [`method`](Self::method) does not support; [`Stride`](crate::Error::Stride) for a stride of 0, or a number of
    /// strides that differs from the number of axes; [`Shorter`](crate::Error::Shorter) for a pair whose left operand
    /// is the shorter one, for a [`mode`](Self::mode) that needs a [`side`](Self::side).
    pub fn conv(&self) -> Result<Tensor<T>> {
        self.convolved(false)
    }

    /// [`Tensor::correlate`] of every pair.
    ///
    /// # Errors
    /// Those of [`conv`](Self::conv).
    pub fn correlate(&self) -> Result<Tensor<T>> {
        self.convolved(true)
    }

    fn convolved(&self, correlate: bool) -> Result<Tensor<T>> {
        let conv = self.operation(correlate);
        if !self.is_swapped() {
            return self.pair.run(conv);
        }
        let op = Op::from(conv).name();
        let checked = self.window.check(self.pair.layouts(), &self.pair.pairs);
        checked.named(op)?;
        let swapped = || {
            // a ⋆ b = a * reverse(b) = reverse(b) * a.
            let axes: Vec<usize> = (0..self.pair.right.layout.rank()).collect();
            let left = match correlate {
                true => self.pair.right.flip(&axes)?,
                false => self.pair.right.clone(),
            };
            let pair = Paired {
                left: &left,
                right: self.pair.left,
                pairs: self.swapped_pairs()?,
            };
            pair.run(self.operation(false))
        };
        swapped().named(op)
    }

    /// Whether the mode takes the extents of the right operand.
    fn is_swapped(&self) -> bool {
        self.side == Side::Right && self.window.mode != ConvMode::Full
    }

    fn swapped_pairs(&self) -> Result<Pairs> {
        self.pair.pairs.swapped(self.pair.left.len())
    }

    fn operation(&self, correlate: bool) -> Conv {
        Conv {
            correlate,
            dtype: T::DTYPE,
            method: self.method,
            window: self.window,
        }
    }

    /// Reports what [`conv`](Self::conv) will do, without running it: how many pairs use which method, and the
    /// predicted time.
    ///
    /// The method of a pair depends on its own two shapes, on the device's [`CostTable`](crate::conv::CostTable), and
    /// on [`method`](Self::method), [`mode`](Self::mode) and [`stride`](Self::stride), but never on other pairs. For
    /// boxes, the reported length is that of the transforms of the boxes laid out as vectors.
    /// [`correlate`](Self::correlate) makes the same choice. Cost: about 20 ns per pair on the host.
    ///
    /// ```
    /// # use vsla::{Device, Pairing, Ragged, conv::ConvMethod};
    /// let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32; 9], vec![1.0; 5000], vec![]])?)?;
    /// let pair = x.pair(&x, Pairing::Elementwise)?;
    /// let choice = pair.convolution().choice()?;
    /// assert_eq!(choice.groups[0].method, ConvMethod::Direct);
    /// assert_eq!((choice.groups[1].method, choice.groups[1].length), (ConvMethod::Fft, Some(10_240)));
    /// println!("{choice}");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`conv`](Self::conv) about ranks, strides and methods.
    pub fn choice(&self) -> Result<ConvChoice> {
        let (a, b) = self.pair.layouts();
        let device = self.pair.left.device.traits();
        let conv = self.operation(false);
        let choice = match self.is_swapped() {
            false => conv.request(device).choice(a, b, &self.pair.pairs),
            true => conv.request(device).choice(b, a, &self.swapped_pairs()?),
        };
        choice.named("conv")
    }
}

impl Convolution<'_, f32> {
    /// [`Tensor::correlate_max`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::correlate_max`].
    pub fn correlate_max(&self) -> Result<CorrelateMax> {
        let (value, lag) = self.seek(Seek::Largest)?;
        Ok(CorrelateMax { value, lag })
    }

    /// [`Tensor::sbd`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::sbd`].
    pub fn sbd(&self) -> Result<Sbd> {
        let (distance, lag) = self.seek(Seek::Distance)?;
        Ok(Sbd { distance, lag })
    }

    fn seek(&self, seek: Seek) -> Result<(Tensor<f32>, Tensor<i32>)> {
        let method = self.method;
        let op = ops::CorrelateMax { seek, method };
        self.pair.call(op, &self.pair.operands()).two()
    }
}
