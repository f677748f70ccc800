//! Discrete Fourier transforms.

use num_complex::Complex32;

use super::Tensor;
use crate::Result;
use crate::error::Named;
use crate::ops::fft::Transform;
use crate::ops::fft::planes::{PlaneView, Planes, check_extents};
use crate::ragged::{Layout, Scalar};

impl<T: Scalar> Tensor<T> {
    fn transform(&self, transform: Transform) -> Result<Tensor<Complex32>> {
        self.unary(transform, &[])
    }

    /// Views matrices as batches of their rows.
    pub(super) fn rows(&self, op: &'static str) -> Result<Tensor<T>> {
        self.planes(op, PlaneView::Rows, &self.layout)
    }

    /// Views matrices as their rows, or rows as matrices.
    pub(super) fn planes<U: Scalar>(
        &self,
        op: &'static str,
        view: PlaneView,
        layout: &Layout,
    ) -> Result<Tensor<U>> {
        self.run_with_layout(Planes { op, view }, layout)
    }
}

impl Tensor<Complex32> {
    /// Transforms the columns of matrices with this layout, which the result keeps.
    fn transform_columns(
        &self,
        op: &'static str,
        transform: Transform,
        layout: &Layout,
    ) -> Result<Tensor<Complex32>> {
        let columns = || {
            let transposed = self.view_as(layout)?.transpose(&[1, 0])?;
            let shapes = transposed.layout.clone();
            let rows = transposed.rows(op)?;
            drop(transposed);
            let columns = rows.transform(transform)?;
            drop(rows);
            let back = columns.view_as(&shapes)?.transpose(&[1, 0])?;
            back.view_as(layout)
        };
        columns().named(op)
    }

    fn transform_planes(
        &self,
        op: &'static str,
        transform: Transform,
    ) -> Result<Tensor<Complex32>> {
        let rows = self.rows(op)?;
        check_extents(transform, &self.layout, self.device.is_gpu()).named(op)?;
        rows.transform(transform)
            .named(op)?
            .transform_columns(op, transform, &self.layout)
    }

    /// The two-dimensional discrete Fourier transform of each r × c element x,
    /// `X_kl = Σ_i Σ_j x_ij e^(−2πi (ik/r + jl/c))`, unscaled, at the element's own extents.
    ///
    /// Rank 2; the layout is unchanged. An empty element stays empty. A NaN or an infinity spreads only within its own
    /// element. Does not respect equivalence: the stored extents count.
    ///
    /// Cost: that of [`fft`](Self::fft) for c rows of r values and r rows of c values, plus two transposes: values are
    /// read and written four times if r and c each take a single pass. The number of dispatches does not depend on the
    /// number of elements. Error: ‖error‖₂ ≤ (b(r) + b(c)) ‖X‖₂, where b(n) is the bound for a transform of n values.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Layout, Ragged, Shape};
    /// let z = |re| Complex32::new(re, 0.0);
    /// let layout = Layout::from_shapes(2, [Shape::new(&[2, 2])?, Shape::new(&[1, 3])?])?;
    /// let x = Ragged::from_parts(layout, vec![z(1.0), z(2.0), z(3.0), z(4.0), z(1.0), z(0.0), z(0.0)])?;
    /// let spectra = Device::cpu().upload(&x)?.fft2()?.download_blocking()?;
    /// assert_eq!(spectra.row(0), [z(10.0), z(-2.0), z(-4.0), z(0.0)]);
    /// assert_eq!(spectra.row(1), [z(1.0), z(1.0), z(1.0)]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank), [`TooLarge`](crate::Error::TooLarge) with the element whose rows or columns are
    /// too long for a GPU, [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn fft2(&self) -> Result<Tensor<Complex32>> {
        self.transform_planes("fft2", Transform::Forward)
    }

    /// The inverse of [`fft2`](Self::fft2): `x_ij = 1/(rc) Σ_k Σ_l X_kl e^(2πi (ik/r + jl/c))`.
    ///
    /// Otherwise it behaves like `fft2`.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Layout, Ragged, Shape};
    /// let z = |re| Complex32::new(re, 0.0);
    /// let layout = Layout::uniform(1, Shape::new(&[2, 2])?)?;
    /// let x = Ragged::from_parts(layout, vec![z(10.0), z(-2.0), z(-4.0), z(0.0)])?;
    /// let x = Device::cpu().upload(&x)?.ifft2()?.download_blocking()?;
    /// assert_eq!(x.values(), [z(1.0), z(2.0), z(3.0), z(4.0)]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`fft2`](Self::fft2).
    pub fn ifft2(&self) -> Result<Tensor<Complex32>> {
        self.transform_planes("ifft2", Transform::Inverse)
    }

    /// The inverse of [`rfft2`](Tensor::rfft2): the real r × c elements whose spectra begin with these ⌊c/2⌋ + 1
    /// columns, scaled by 1/(rc).
    ///
    /// `layout` is the layout of the result, as for [`irfft`](Self::irfft): after `x.rfft2()` it is `x.layout()`. The
    /// columns are transformed first, and then the rows by `irfft`, which ignores the parts that the spectrum of a real
    /// element cannot have. Otherwise it behaves like [`fft2`](Self::fft2), with half the work.
    ///
    /// ```
    /// # use vsla::{Device, Layout, Ragged, Shape};
    /// let layout = Layout::from_shapes(2, [Shape::new(&[2, 2])?, Shape::new(&[0, 3])?])?;
    /// let x = Device::cpu().upload(&Ragged::from_parts(layout, vec![1.0f32, 2.0, 3.0, 4.0])?)?;
    /// let back = x.rfft2()?.irfft2(x.layout())?.download_blocking()?;
    /// assert_eq!(back.values(), [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Only the layout of `real` is used; its values are not computed yet.
    pub fn irfft2(&self, layout: &Layout) -> Result<Tensor<f32>> {
        let op = "irfft2";
        self.planes::<Complex32>(op, PlaneView::SpectraOf, layout)?;
        check_extents(Transform::RealInverse, layout, self.device.is_gpu()).named(op)?;
        let columns = self.transform_columns(op, Transform::Inverse, &self.layout)?;
        let rows = columns.rows(op)?;
        drop(columns);
        // Real rows of this layout, whose values are not computed yet.
        let real: Tensor<f32> = rows.planes(op, PlaneView::RowsOf, layout)?;
        let real = rows.irfft(&real.layout).named(op)?;
        real.view_as(layout)
    }

    /// Rank 1; the layout is unchanged. An empty element stays empty, and an element of length 1 is unchanged. A NaN or
    /// an infinity spreads only within its own element. Does not respect equivalence: the stored length counts.
    ///
    /// Rank 1; the layout is unchanged. An empty element stays empty, and an element of length 1 is copied. A NaN or an
    /// infinity spreads only within its own element. Does not respect equivalence: the stored length counts.
    ///
    /// Cost: 5 n log₂ n operations if n is a power of two, or a product of 2, 3, 5 and 7 from 65 to 2048; 8 n² up to
    /// 64; otherwise those of two transforms whose length is the smallest power of two from 2 n − 1 on. On a GPU,
    /// values are read once and written once up to n = 8192, or 4096 if n is not a power of two. Above that, powers of
    /// two take two passes up to 2²⁰ and three up to 2²⁴, with 8 n bytes of scratch; other lengths take six to nine
    /// such passes, up to 2²². The scratch of several long elements is bounded by 512 MiB.
    ///
    /// Error: ‖error‖₂ ≤ 1.5 u (1 + ¼ log₂ n) ‖X‖₂ with u = 2⁻²⁴ if n is a power of two from 32 on, or a product of 2,
    /// 3, 5 and 7 from 65 to 2048, and twice that for other lengths. Random values stay below two thirds of it, except
    /// some of very few values; a search for the worst ones, at lengths up to 128, did not exceed it. A GPU may flush
    /// subnormal values to 0. An element with an infinity gives NaN and infinities, which may differ between devices.
    ///
    /// The algorithms are those of Cooley and Tukey (1965) in the order of Stockham (1966), and of Bluestein (1970) if
    /// n has other factors than 2, 3, 5 and 7.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged};
    /// let z = Complex32::new;
    /// let x = Ragged::from_rows([vec![z(1.0, 0.0), z(2.0, 0.0)], vec![z(5.0, 1.0)], vec![]])?;
    /// let spectra = Device::cpu().upload(&x)?.fft()?.download_blocking()?;
    /// assert_eq!(spectra.to_vecs()?, [vec![z(3.0, 0.0), z(-1.0, 0.0)], vec![z(5.0, 1.0)], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank), [`TooLarge`](crate::Error::TooLarge) with the element that is too long for a GPU,
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn fft(&self) -> Result<Tensor<Complex32>> {
        self.transform(Transform::Forward)
    }

    /// The inverse of [`fft`](Self::fft): `x_j = 1/n Σ_k X_k e^(2πi jk/n)`.
    ///
    /// Otherwise it behaves like `fft`.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged};
    /// let z = Complex32::new;
    /// let x = Ragged::from_rows([vec![z(3.0, 0.0), z(-1.0, 0.0)]])?;
    /// let x = Device::cpu().upload(&x)?.ifft()?.download_blocking()?;
    /// assert_eq!(x.to_vecs()?, [vec![z(1.0, 0.0), z(2.0, 0.0)]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`fft`](Self::fft).
    pub fn ifft(&self) -> Result<Tensor<Complex32>> {
        self.transform(Transform::Inverse)
    }

    /// The inverse of [`rfft`](Tensor::rfft): the n real values whose spectrum begins with these ⌊n/2⌋ + 1 values,
    /// scaled by 1/n.
    ///
    /// The remaining values of the spectrum are conjugates of the given ones. `layout` is the layout of the result,
    /// because the spectrum shows neither n nor its parity: after `x.rfft()` it is `x.layout()`. An empty element has
    /// an empty spectrum. The imaginary parts of X₀, and of X_{n/2} if n is even, are ignored. NaN, infinity, cost and
    /// error are those of [`rfft`](Tensor::rfft).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32, 2.0, 4.0], vec![], vec![1.0, 3.0]])?)?;
    /// let back = x.rfft()?.irfft(x.layout())?.download_blocking()?;
    /// assert_eq!(back.row(2), [1.0, 3.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Length`](crate::Error::Length) with the first element whose spectrum does not have ⌊n/2⌋ + 1 values;
    /// [`BatchSize`](crate::Error::BatchSize); those of [`fft`](Self::fft).
    pub fn irfft(&self, layout: &Layout) -> Result<Tensor<f32>> {
        self.run_with_layout(Transform::RealInverse, layout)
    }
}

impl Tensor<f32> {
    /// The first ⌊n/2⌋ + 1 values of the discrete Fourier transform of each real element; the others are their
    /// conjugates.
    ///
    /// `X_k = Σ_j x_j e^(−2πi jk/n)` for k ≤ n/2, unscaled. Rank 1. An empty element gives an empty result. NaN,
    /// infinity and the error bound are those of [`fft`](Tensor::fft) for n values, except that n = 32 has twice the
    /// bound.
    ///
    /// Cost: if n is even, that of [`fft`](Tensor::fft) for n/2 complex values, z_j = x_2j + i x_(2j+1): half the
    /// operations, memory traffic and scratch. The spectrum of z is separated before it is first written, so this adds
    /// no pass: a GPU reads and writes once up to n = 16,384, or 8192 if n is not a power of two. If n is odd, the cost
    /// is that for n complex values, of which half are read and written. The length limits are those of
    /// [`fft`](Tensor::fft).
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged};
    /// let x = Ragged::from_rows([vec![1.0f32, 2.0], vec![], vec![7.0]])?;
    /// let spectra = Device::cpu().upload(&x)?.rfft()?.download_blocking()?;
    /// let z = |re| Complex32::new(re, 0.0);
    /// assert_eq!(spectra.to_vecs()?, [vec![z(3.0), z(-1.0)], vec![], vec![z(7.0)]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`fft`](Tensor::fft).
    pub fn rfft(&self) -> Result<Tensor<Complex32>> {
        self.transform(Transform::Real)
    }

    /// The first ⌊c/2⌋ + 1 columns of the two-dimensional discrete Fourier transform of each real r × c element.
    ///
    /// The other columns are conjugates, `X_kl = conj(X_(r−k)(c−l))` with indices mod r and c. `X_kl = Σ_i Σ_j x_ij
    /// e^(−2πi (ik/r + jl/c))` for l ≤ c/2, unscaled. Rank 2; an element of r × 0 values has a spectrum of r × 0.
    /// Otherwise it behaves like [`fft2`](Tensor::fft2), with half the work.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Layout, Ragged, Shape};
    /// let layout = Layout::uniform(1, Shape::new(&[2, 2])?)?;
    /// let x = Ragged::from_parts(layout, vec![1.0f32, 2.0, 3.0, 4.0])?;
    /// let spectra = Device::cpu().upload(&x)?.rfft2()?.download_blocking()?;
    /// let z = |re| Complex32::new(re, 0.0);
    /// assert_eq!(spectra.values(), [z(10.0), z(-2.0), z(-4.0), z(0.0)]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`fft2`](Tensor::fft2).
    pub fn rfft2(&self) -> Result<Tensor<Complex32>> {
        let op = "rfft2";
        let rows = self.rows(op)?;
        check_extents(Transform::Real, &self.layout, self.device.is_gpu()).named(op)?;
        let rows = rows.rfft().named(op)?;
        let spectra: Tensor<Complex32> = rows.planes(op, PlaneView::Spectra, &self.layout)?;
        drop(rows);
        spectra.transform_columns(op, Transform::Forward, &spectra.layout)
    }
}
