//! Complex values: maps, construction from real values, and views as pairs of floats.

use num_complex::Complex32;

use super::functions::of_two;
use super::{IntoSpread, Paired, Spread, Tensor};
use crate::Result;
use crate::error::Named;
use crate::ops::ambient;
use crate::ops::linear::Kind;
use crate::ops::maps::{self, Complex};
use crate::ops::strided::View;
use crate::ragged::Scalar;

impl Tensor<Complex32> {
    fn map_complex<R: Scalar>(&self, name: &'static str, s: Complex32) -> Result<Tensor<R>> {
        let scalars = [s.re, s.im].map(f32::to_bits);
        self.unary(Complex { name }, &scalars)
    }

    /// Negates every value, `−z`; the layout is unchanged.
    ///
    /// Respects equivalence. Flips the signs of both parts, including those of zero, infinity and NaN. Exact. Cost:
    /// values read once, written once.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged};
    /// # let device = Device::cpu();
    /// let z = device.upload(&Ragged::from_rows([vec![Complex32::new(1.0, -2.0)], vec![]])?)?;
    /// assert_eq!(z.neg()?.download_blocking()?.to_vecs()?, [vec![Complex32::new(-1.0, 2.0)], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn neg(&self) -> Result<Tensor<Complex32>> {
        self.map_by(Kind::Neg, &[])
    }

    /// Multiplies both parts of every value by a real factor; the layout is unchanged.
    ///
    /// Respects equivalence. Each part is rounded once; NaN and 0 · ∞ give NaN in that part. On a GPU that flushes
    /// subnormal values to 0, a subnormal times ∞ also gives NaN. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged};
    /// # let device = Device::cpu();
    /// let z = device.upload(&Ragged::from_rows([vec![Complex32::new(1.0, -2.0)], vec![]])?)?;
    /// assert_eq!(z.scale(0.5)?.download_blocking()?.to_vecs()?, [vec![Complex32::new(0.5, -1.0)], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn scale(&self, factor: f32) -> Result<Tensor<Complex32>> {
        self.map_by(Kind::Scale, &[factor.to_bits()])
    }

    /// Multiplies every value by a complex factor; the layout is unchanged.
    ///
    /// Respects equivalence. The formula, the error bound, infinities and NaN are those of
    /// [products](#complex-numbers). Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged};
    /// # let device = Device::cpu();
    /// let z = device.upload(&Ragged::from_rows([vec![Complex32::new(1.0, -2.0)], vec![]])?)?;
    /// let turned = z.scale_complex(Complex32::i())?.download_blocking()?;
    /// assert_eq!(turned.to_vecs()?, [vec![Complex32::new(2.0, 1.0)], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn scale_complex(&self, factor: Complex32) -> Result<Tensor<Complex32>> {
        self.map_complex("scale_complex", factor)
    }

    /// Views complex values as pairs of floats: the parts lie along another last axis, of extent 2, the real part
    /// first. Nothing is copied.
    ///
    /// An element of n values becomes a matrix of n × 2, like PyTorch's `view_as_real`; [`reshape`](Tensor::reshape) to
    /// 2 n values, also without a copy, gives what NumPy's `view(float32)` does. Respects equivalence: trailing zeros
    /// stay trailing zeros. An empty element stays empty. Bits are preserved. Cost: the new layout, on the host.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let z = Ragged::from_rows([vec![Complex32::new(1.0, 2.0), Complex32::new(3.0, 4.0)], vec![]])?;
    /// let pairs = device.upload(&z)?.view_as_real()?;
    /// assert_eq!(pairs.layout().shape(0), Shape::new(&[2, 2])?);
    /// assert_eq!(pairs.download_blocking()?.row(0), [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) at the largest rank, [`SizeOverflow`](crate::Error::SizeOverflow) for more than
    /// 2³² − 1 floats, [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn view_as_real(&self) -> Result<Tensor<f32>> {
        self.unary(View::AsReal, &[])
    }
}

/// Maps of complex values: name, result type, error bound in ulp, formula, remarks, and an example.
macro_rules! documented {
    ($(fn $name:ident() -> $result:ty, $ulps:literal: $formula:literal $more:literal $x:literal => $r:literal;)*) => {
        impl Tensor<Complex32> {$(
            #[doc = $formula]
            ///
            #[doc = $more]
            /// The layout is unchanged; an empty element stays empty. Cost: values read once, results written once.
            ///
            /// ```
            /// # use vsla::{Complex32, Device, Ragged};
            /// # let device = Device::cpu();
            #[doc = concat!("let z = Ragged::from_rows([", $x, ".map(|(re, im)| Complex32::new(re, im))])?;")]
            #[doc = concat!("let y = device.upload(&z)?.", stringify!($name), "()?.download_blocking()?;")]
            #[doc = concat!("assert_eq!(y.row(0), ", $r, ");")]
            /// # Ok::<(), vsla::Error>(())
            /// ```
            ///
            /// # Errors
            /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
            pub fn $name(&self) -> Result<Tensor<$result>> {
                self.map_complex(stringify!($name), Complex32::default())
            }
        )*}

        // The documented bound is the table's.
        $(const _: () = assert!(maps::is_complex_bound(stringify!($name), $ulps));)*
    };
}

documented! {
    fn conj() -> Complex32, 0: "Conjugates every value: `x − yi` for `x + yi`."
        "Exact: flips the sign of the imaginary part, including those of zero, infinity and NaN. Respects equivalence."
        "[(1.0, 2.0), (3.0, -4.0)]" => "[Complex32::new(1.0, -2.0), Complex32::new(3.0, 4.0)]";
    fn real() -> f32, 0: "Takes the real part of every value."
        "Exact: bits are preserved. Respects equivalence. A copy; [`view_as_real`](Self::view_as_real) is a view of \
         both parts."
        "[(1.0, 2.0), (3.0, -4.0)]" => "[1.0, 3.0]";
    fn imag() -> f32, 0: "Takes the imaginary part of every value."
        "Exact: bits are preserved. Respects equivalence. A copy; [`view_as_real`](Self::view_as_real) is a view of \
         both parts."
        "[(1.0, 2.0), (3.0, -4.0)]" => "[2.0, -4.0]";
    fn abs() -> f32, 3: "Computes the absolute value of every value, `√(x² + y²)` for `x + yi`."
        "Neither square overflows or underflows. Infinite if either part is, even if the other is NaN, and otherwise \
         NaN if either part is. Error: at most 3 units in the last place plus 2⁻¹²⁵, because a GPU may flush parts and \
         results below 2⁻¹²⁶ to zero. Respects equivalence."
        "[(3.0, -4.0), (3e30, 4e30)]" => "[5.0, 5e30]";
    fn abs_squared() -> f32, 2: "Computes the squared absolute value of every value, `x² + y²` for `x + yi`: of a \
        spectrum, its power."
        "Infinite above the range of `f32`; NaN if either part is. Error: at most 2 units in the last place plus \
         2⁻¹²⁵, because a GPU may flush squares below 2⁻¹²⁶ to zero. Respects equivalence."
        "[(3.0, -4.0), (0.0, 1.0)]" => "[25.0, 1.0]";
    fn arg() -> f32, 4: "Computes the angle of every value, from −π to π: `atan2(y, x)` for `x + yi`."
        "As IEEE 754 defines: 0 for 0, π for −0 + 0i, and with the sign of y for a y of ±0; ±π/4 and ±3π/4 if both \
         parts are infinite; NaN if either part is. Error: at most 4 units in the last place plus 2⁻¹²⁶, because a GPU \
         may flush parts and results below that to zero. Respects equivalence."
        "[(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]" => "[0.0, std::f32::consts::FRAC_PI_2, std::f32::consts::PI]";
}

/// Complex numbers of two batches of floats: name, error bound in ulp, formula, remarks, and an example.
macro_rules! of_parts {
    ($(fn $name:ident($other:ident), $ulps:literal: $formula:literal $more:literal
        $x:literal $y:literal => $r:literal;)*) => {$(
        impl Tensor<f32> {
            #[doc = $formula]
            ///
            #[doc = $more]
            /// Results have the ambient shapes; a missing entry is zero, so it respects equivalence for finite values.
            /// An extent of 1 is not broadcast; `other` may be a scalar, or spread over the elements of this batch: see
            /// [`Spread`]. Cost: operands read once, result written once.
            ///
            /// ```
            /// # use vsla::{Complex32, Device, Ragged};
            /// # let device = Device::cpu();
            #[doc = concat!("let a = device.upload(&Ragged::from_rows([vec!", $x, ", vec![]])?)?;")]
            #[doc = concat!("let b = device.upload(&Ragged::from_rows([vec!", $y, ", vec![]])?)?;")]
            #[doc = concat!("let z = a.", stringify!($name), "(&b)?.download_blocking()?;")]
            #[doc = concat!("assert_eq!(z.row(0), ", $r, ".map(|(re, im)| Complex32::new(re, im)));")]
            /// # Ok::<(), vsla::Error>(())
            /// ```
            ///
            /// # Errors
            /// Those of [`add`](Tensor::add).
            pub fn $name<'a>(&self, $other: impl IntoSpread<'a, f32>) -> Result<Tensor<Complex32>> {
                of_two(stringify!($name), self.into(), $other.into())
            }
        }

        impl Paired<'_, f32> {
            #[doc = concat!("[`Tensor::", stringify!($name), "`] of every pair.")]
            ///
            /// # Errors
            /// Those of [`Tensor::add`].
            pub fn $name(&self) -> Result<Tensor<Complex32>> {
                self.combine(stringify!($name))
            }
        }

        impl Spread<'_, f32> {
            #[doc = concat!("[`Tensor::", stringify!($name), "`] with this operand on the left.")]
            ///
            /// # Errors
            /// Those of [`Tensor::add`].
            pub fn $name(&self, $other: &Tensor<f32>) -> Result<Tensor<Complex32>> {
                of_two(stringify!($name), *self, $other.into())
            }
        }

        // The documented bound is the table's.
        const _: () = assert!(ambient::is_bound(stringify!($name), $ulps));
    )*};
}

of_parts! {
    fn complex(imaginary), 0: "Makes the complex numbers `a + bi` of their parts, value by value."
        "Exact: bits are preserved."
        "[1.0f32, 2.0]" "[3.0f32]" => "[(1.0, 3.0), (2.0, 0.0)]";
    fn polar(angles), 6: "Makes the complex numbers `r (cos θ + i sin θ)` of their absolute values and angles, value \
        by value."
        "Negative absolute values turn a number by π. NaN in both parts if either operand is NaN or θ is infinite; an \
         infinite r gives ±∞, or NaN where the sine is 0. Error of each part: at most 6 units in the last place of r, \
         plus 2⁻¹²⁵, because a GPU may flush operands and results below 2⁻¹²⁶ to zero."
        "[2.0f32, 3.0]" "[0.0f32]" => "[(2.0, 0.0), (3.0, 0.0)]";
}

impl Tensor<f32> {
    /// Views pairs of floats along the last axis, whose extent is 2, as complex values, the real part first: the
    /// reverse of [`view_as_real`](Tensor::view_as_real). Nothing is copied, unless the values begin at an odd word of
    /// their buffer.
    ///
    /// A matrix of n × 2 becomes an element of n values, like PyTorch's `view_as_complex`. A series of 2 n interleaved
    /// parts becomes such a matrix by [`reshape`](Tensor::reshape), also without a copy. Does not respect equivalence:
    /// the last extent must be 2. An element without values stays empty. Bits are preserved. Cost: the new layout, on
    /// the host.
    ///
    /// ```
    /// # use vsla::{Complex32, Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let shapes = [Shape::new(&[2, 2])?, Shape::new(&[0, 2])?];
    /// let pairs = device.upload(&Ragged::from_shapes(vec![1.0f32, 2.0, 3.0, 4.0], 2, shapes)?)?;
    /// let z = pairs.view_as_complex()?.download_blocking()?;
    /// assert_eq!(z.to_vecs()?, [vec![Complex32::new(1.0, 2.0), Complex32::new(3.0, 4.0)], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Rank`](crate::Error::Rank) for rank 1; [`Shape`](crate::Error::Shape) with the first element whose last extent
    /// is not 2; [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost).
    pub fn view_as_complex(&self) -> Result<Tensor<Complex32>> {
        let view = View::AsComplex;
        // Complex values begin at even words. The shapes are checked before the copy.
        match self.begins_at(2) {
            true => self.unary(view, &[]),
            false => {
                self.unary::<Complex32>(view, &[])?;
                let copied = self.copy().named("view_as_complex")?;
                copied.unary(view, &[])
            }
        }
    }
}
