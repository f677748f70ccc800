//! Short-time Fourier transforms.

use num_complex::Complex32;

use super::run::Call;
use super::{Device, Tensor};
use crate::error::Named;
use crate::ops::fft::planes::PlaneView;
use crate::ops::frames::Frames;
use crate::ragged::{Layout, Ragged};
use crate::{Error, Result, host};

impl Device {
    /// The Hann window of `size` values, `w_j = sin²(πj / size)`, as a batch of one vector: the window of
    /// [`stft`](Tensor::stft) that most programs use.
    ///
    /// It is the periodic Hann window, like PyTorch's `hann_window`: copies shifted by a half, a third, … of its size
    /// add up to a constant, and so do the squares of copies shifted by a third or less. A size of 0 gives an empty
    /// vector. Each value is rounded once from f64.
    ///
    /// ```
    /// # use vsla::Device;
    /// let hann = Device::cpu().hann(4)?.download_blocking()?;
    /// assert_eq!(hann.row(0), [0.0, 0.5, 1.0, 0.5]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`SizeOverflow`](Error::SizeOverflow) for a size of 2³² or more; those of [`upload`](Self::upload).
    pub fn hann(&self, size: usize) -> Result<Tensor<f32>> {
        let layout = Layout::from_lengths([size])?;
        let step = std::f64::consts::PI / size as f64;
        // Computed by symmetry, so that values that are equal by definition have equal bits.
        let value = |j: usize| (step * j.min(size - j) as f64).sin().powi(2) as f32;
        let mut values = host::room(size).named("hann")?;
        values.extend((0..size).map(value));
        self.upload(&Ragged::from_parts(layout, values)?)
    }
}

/// Checks a window and a hop; returns them as kernels take them.
fn check(op: &'static str, window: &Tensor<f32>, hop: usize) -> Result<(u32, u32)> {
    if window.layout.rank() != 1 {
        return Err(Error::rank("1 for the window", window.layout.rank()).named(op));
    }
    let argument = |expected: &str, got: usize| Err(Error::argument(expected, got).named(op));
    if window.len() != 1 {
        return argument("a window of 1 element", window.len());
    }
    if window.layout.total() == 0 {
        return argument("a window of 1 value or more", 0);
    }
    if hop == 0 {
        return argument("a hop of 1 or more", 0);
    }
    // No element has a second frame at a distance of 2³² − 1.
    let hop = u32::try_from(hop).unwrap_or(u32::MAX);
    Ok((window.layout.total() as u32, hop))
}

/// A step of a short-time transform; `layout` is that of the result if the result is not frames.
pub(crate) fn frames_of(
    x: &Tensor<f32>,
    window: &Tensor<f32>,
    frames: Frames,
    layout: &Layout,
) -> Result<Tensor<f32>> {
    let operands = [x.operand(), window.operand(), x.shapes(layout)];
    Call::new(&x.device, frames, &operands).one()
}

impl Tensor<f32> {
    /// The short-time Fourier transform of each vector: the spectra of its frames, times a window.
    ///
    /// `S_tk = Σ_j w_j x_(t·hop + j) e^(−2πi jk/W)` for a window w of W values, 0 ≤ t ≤ (n − W) / hop and k ≤ W/2. A
    /// frame lies fully inside its element: an element of n values has ⌊(n − W) / hop⌋ + 1 frames, and one that is
    /// shorter than W has none. The result is a matrix for each element, with frames as rows and ⌊W/2⌋ + 1 frequencies
    /// as columns. This is PyTorch's `stft` with `center=False`, transposed. For frames that are centred on multiples
    /// of `hop`, [`pad`](Tensor::pad) each element by W/2 zeros at both ends first: `center=True` with
    /// `pad_mode="constant"`.
    ///
    /// `window` is a batch of one vector on the same device, such as [`Device::hann`]; for a spectrogram, take
    /// [`abs_squared`](Tensor::abs_squared) of the result. [`istft`](Tensor::istft) is the inverse.
    ///
    /// A NaN or an infinity affects only the frames that contain it, even where the window is 0. Does not respect
    /// equivalence: trailing zeros add frames. Error bound for each frame: that of [`rfft`](Tensor::rfft) for W values,
    /// plus 2⁻²⁴ of the norm of its spectrum. Cost: that of `rfft` of all frames, and one dispatch before it, which
    /// reads the vectors once and writes the frames.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged, Shape};
    /// let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0, 4.0, 5.0], vec![6.0]])?)?;
    /// let window = device.upload(&Ragged::from_rows([[1.0f32, 1.0]])?)?;
    /// let spectra = x.stft(&window, 2)?.download_blocking()?;
    /// assert_eq!(spectra.shape(0), Shape::new(&[2, 2])?);
    /// assert_eq!(spectra.row(0), [3.0, -1.0, 7.0, -1.0].map(|re| Complex32::new(re, 0.0)));
    /// assert_eq!(spectra.shape(1), Shape::new(&[0, 2])?);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) for a window that is not one element, or empty, and for a hop of 0;
    /// [`DeviceMismatch`](Error::DeviceMismatch); [`Rank`](Error::Rank);
    /// [`SizeOverflow`](Error::SizeOverflow) with the first element whose frames do not fit;
    /// [`TooLarge`](Error::TooLarge), [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn stft(&self, window: &Tensor<f32>, hop: usize) -> Result<Tensor<Complex32>> {
        let op = "stft";
        self.check_device(window).named(op)?;
        let (_, hop) = check(op, window, hop)?;
        let frames = frames_of(self, window, Frames::Cut { hop }, self.layout())?;
        let shapes = frames.layout.clone();
        let rows = frames.rows(op)?;
        drop(frames);
        let spectra = rows.rfft().named(op)?;
        spectra.planes(op, PlaneView::Spectra, &shapes)
    }
}

impl Tensor<Complex32> {
    /// The inverse of [`stft`](Tensor::stft): the vectors of `layout` whose frames, times the window, have these
    /// spectra.
    ///
    /// `x_i = Σ_t w_(i − t·hop) y_t,(i − t·hop) / Σ_t w²_(i − t·hop)`, over the frames y_t that have a value at i,
    /// which are the inverse transforms of the rows. If the spectra are those of no vector, this is the vector whose
    /// frames are nearest, in the sense of least squares (Griffin and Lim, 1984). `layout` is the layout of the result,
    /// because the spectra do not show how many values follow the last frame: after `x.stft(&window, hop)` it is
    /// `x.layout()`.
    ///
    /// A value is recovered where the squares of the window add up to more than 10⁻¹⁰. Elsewhere, the result is 0:
    /// after the last frame and, for a Hann window, at the first value of an element. To recover all values, pad
    /// elements before `stft`, and cut the result with [`slice`](Tensor::slice). The imaginary parts of the first value
    /// of a row, and of the last one if W is even, are ignored. An element without frames gives zeros.
    ///
    /// A NaN or an infinity affects only the values of its frame. Does not respect equivalence. Error bound:
    /// `Σ |w| (B + (k + 2) 2⁻²⁴ |y|) / Σ w² + (k + 3) 2⁻²⁴ |x_i|`, where B is the bound of [`irfft`](Tensor::irfft) for
    /// the values of a frame and k = ⌈W / hop⌉. Cost: that of `irfft` of all rows; then one dispatch, which reads its
    /// results once from memory and computes k multiply-adds for each value.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0, 4.0, 5.0], vec![6.0]])?)?;
    /// let window = device.upload(&Ragged::from_rows([[1.0f32, 1.0]])?)?;
    /// let back = x.stft(&window, 1)?.istft(&window, 1, x.layout())?.download_blocking()?;
    /// assert_eq!(back.to_vecs()?, [vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![0.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](Error::BatchSize), and [`Shape`](Error::Shape) with the first element that is not of the shape
    /// that `stft` gives for `layout`; those of [`stft`](Tensor::stft).
    pub fn istft(&self, window: &Tensor<f32>, hop: usize, layout: &Layout) -> Result<Tensor<f32>> {
        let op = "istft";
        self.check_device(window).named(op)?;
        let (size, hop) = check(op, window, hop)?;
        // Only the layouts of these are used; their values are not computed yet.
        let frames: Tensor<f32> = self.planes(op, PlaneView::Frames { size, hop }, layout)?;
        self.planes::<Complex32>(op, PlaneView::SpectraOf, &frames.layout)?;
        let rows = frames.rows(op)?;
        let values = self.rows(op)?.irfft(&rows.layout);
        let values = values.named(op)?;
        let values = values.view_as(&frames.layout)?;
        frames_of(&values, window, Frames::Add { hop }, layout)
    }
}
