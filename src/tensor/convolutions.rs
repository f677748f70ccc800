//! Convolution, cross-correlation, and the search for the best lag.

use super::{Convolution, CorrelateMax, Paired, Sbd, Tensor};
use crate::Result;
use crate::error::Side;
use crate::ops::choice::{ConvChoice, ConvMethod, Window};
use crate::ragged::Real;

impl<T: Real> Tensor<T> {
    /// The convolution `(a * b)_q = Σ_j a_{q−j} b_j`, element by element: m + n − 1 values.
    ///
    /// For boxes of two or three axes, q and j are index vectors, and each axis has m + n − 1 values.
    ///
    /// This is polynomial multiplication, in as many variables as there are axes: commutative, with unit `[1]`, and
    /// well defined up to trailing zeros. If a side is empty, the result is empty, of shape (0, …, 0). Integers wrap. A
    /// NaN or an infinity may spread over the whole result of its pair, including values that it is not a factor of,
    /// but not to other pairs. [`Convolution::mode`] and [`Convolution::stride`] keep part of the results; which part
    /// depends on the stored extents of the elements.
    ///
    /// Each f32 pair is convolved directly, by transforms of its own length, or by overlap-save in blocks, whichever is
    /// cheapest for its two lengths ([`ConvMethod`](crate::conv::ConvMethod)). [`Convolution::method`] forces a method,
    /// and [`Paired::conv_choice`] reports the choice. Integers are always convolved directly.
    ///
    /// Cost: m·n multiply-adds directly; about 15 L log₂ L operations by transforms of L ≥ m + n − 1 values. On a GPU,
    /// transforms up to L = 8192, which the blocks use, read the operands once and write the result once; longer ones,
    /// up to L = 2²³, take six to nine passes, with up to 256 MiB of scratch for all pairs. For even longer pairs both
    /// operands are cut into blocks, and each sum is rounded once more for each block of the shorter operand. A pair
    /// with up to 4 values on one side is convolved directly.
    ///
    /// Error bound: directly, |error| ≤ γ_h Σ|a_i b_j| with h = 37 + ⌈min(m, n) / 128⌉, exact for integers below 2²⁴;
    /// by transforms of length L, |error| ≤ 1.5 log₂ L · u · ‖a‖₂ ‖b‖₂ with u = 2⁻²⁴, the same for all values of a
    /// pair.
    ///
    /// For boxes, and with a mode or a stride, the direct method takes one multiply-add for each pair of overlapping
    /// values and each kept result, with h = 168 + ⌈t / 128⌉ for t of them. The transforms above apply to the two boxes
    /// laid out as vectors, with rows of up to m + n − 1 values, and the kept results are copied from their result.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![1.0, 2.0]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![0.5f32, 1.5], vec![]])?)?;
    /// assert_eq!(a.conv(&b)?.download_blocking()?.to_vecs()?, [vec![0.5, 2.5, 4.5, 4.5], vec![]]);
    ///
    /// # use vsla::Shape;
    /// let square = Shape::new(&[2, 2])?;
    /// let a = device.upload(&Ragged::from_shapes(vec![1, 2, 3, 4], 2, [square])?)?;
    /// let b = device.upload(&Ragged::from_shapes(vec![1, 0, 0, 1], 2, [square])?)?;
    /// let product = a.conv(&b)?.download_blocking()?;
    /// assert_eq!(product.layout().shape(0), Shape::new(&[3, 3])?);
    /// assert_eq!(product.values(), [1, 2, 0, 3, 5, 2, 0, 3, 4]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) unless both batches have the same rank, 1 to 3;
    /// [`BatchSize`](crate::Error::BatchSize), [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`SizeOverflow`](crate::Error::SizeOverflow) with the element whose result does not fit,
    /// [`TooLarge`](crate::Error::TooLarge), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`DeviceLost`](crate::Error::DeviceLost).
    #[doc(alias("conv1d", "conv2d", "convolve"))]
    pub fn conv(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.zip("conv", other)?.conv()
    }

    /// The cross-correlation `(a ⋆ b)_k = Σ_i a_{i+k} b_i` for k = −(n−1) … m−1 on each axis, element by element.
    ///
    /// Value q of the result belongs to lag k = q − (n − 1). The result equals `a * reverse(b)`, with b reversed along
    /// every axis, and has the properties, cost and bound of [`conv`](Self::conv), except that trailing zeros of b
    /// shift the positions of the lags.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![1, 2, 3]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![1, 10]])?)?;
    /// assert_eq!(a.correlate(&b)?.download_blocking()?.to_vecs()?, [vec![10, 21, 32, 3]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`conv`](Self::conv).
    #[doc(alias("conv1d", "conv2d"))]
    pub fn correlate(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.zip("correlate", other)?.correlate()
    }
}

impl Tensor<f32> {
    /// Finds the largest value of the cross-correlation and its lag, element by element, without storing the other
    /// lags.
    ///
    /// On ties the lowest lag wins. NaN propagates, with the lag of the first NaN. An empty side gives −∞ and
    /// `i32::MIN`. Cost: that of [`conv`](Self::conv) without writing its result; a GPU uses the direct method for a
    /// pair that does not fit one transform. The value has the error bound of `conv`; if the values of several lags
    /// differ by less than that bound, any of these lags may be returned.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![0.0f32, 0.0, 1.0, 2.0]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0]])?)?;
    /// let best = a.correlate_max(&b)?;
    /// assert_eq!(best.value.download_blocking()?.values(), [5.0]);
    /// assert_eq!(best.lag.download_blocking()?.values(), [2]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`conv`](Self::conv), but size limits apply only to the small results.
    pub fn correlate_max(&self, other: &Tensor<f32>) -> Result<CorrelateMax> {
        self.zip("correlate_max", other)?.correlate_max()
    }

    /// The shape-based distance `1 − max_k (a ⋆ b)_k / (‖a‖ ‖b‖)` and its lag, element by element.
    ///
    /// From Paparrizos and Gravano, "k-Shape: Efficient and Accurate Clustering of Time Series", SIGMOD 2015. The
    /// distance does not change if a series is scaled by a positive factor or, apart from effects at its ends, shifted.
    /// A series of zeros, or an empty one, has distance 1 from everything; NaN propagates.
    ///
    /// The formula suffers from cancellation where shapes are alike. The distance is then computed from the residual ‖â
    /// − c·b̂‖² = 1 − c² of the series scaled to unit norm, at the best lag and at the lags that f32 cannot distinguish
    /// from it. For series of up to 4,096 values, of any finite scale and offset, it agrees with f64 to 1e-6, and to
    /// 1e-8 where it is below 1e-4.
    ///
    /// Cost: that of [`correlate_max`](Self::correlate_max), plus copies of both batches.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let a = device.upload(&Ragged::from_rows([vec![0.0f32, 3.0, 4.0], vec![1.0]])?)?;
    /// let b = device.upload(&Ragged::from_rows([vec![6.0f32, 8.0], vec![0.0]])?)?;
    /// let sbd = a.sbd(&b)?;
    /// assert_eq!(sbd.distance.download_blocking()?.values(), [0.0, 1.0]);
    /// assert_eq!(sbd.lag.download_blocking()?.values(), [1, 0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`conv`](Self::conv), but size limits apply only to the small results.
    pub fn sbd(&self, other: &Tensor<f32>) -> Result<Sbd> {
        self.zip("sbd", other)?.sbd()
    }
}

impl<'a, T: Real> Paired<'a, T> {
    /// The convolutions of the pairs, with options: see [`Convolution`].
    pub fn convolution(&self) -> Convolution<'a, T> {
        Convolution {
            pair: self.clone(),
            method: ConvMethod::Auto,
            window: Window::default(),
            side: Side::Left,
        }
    }

    /// [`Tensor::conv`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::conv`].
    pub fn conv(&self) -> Result<Tensor<T>> {
        self.convolution().conv()
    }

    /// [`Tensor::correlate`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::correlate`].
    pub fn correlate(&self) -> Result<Tensor<T>> {
        self.convolution().correlate()
    }

    /// [`Convolution::choice`] without options.
    ///
    /// # Errors
    /// Those of [`Convolution::choice`].
    pub fn conv_choice(&self) -> Result<ConvChoice> {
        self.convolution().choice()
    }
}

impl Paired<'_, f32> {
    /// [`Tensor::correlate_max`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::correlate_max`].
    pub fn correlate_max(&self) -> Result<CorrelateMax> {
        self.convolution().correlate_max()
    }

    /// [`Tensor::sbd`] of every pair.
    ///
    /// # Errors
    /// Those of [`Tensor::sbd`].
    pub fn sbd(&self) -> Result<Sbd> {
        self.convolution().sbd()
    }
}
