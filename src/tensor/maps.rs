//! Maps: functions applied to each value independently.

use half::f16;

use super::Tensor;
use crate::ops::maps::{self, Apply, MULTIPLIED};
use crate::ragged::{DType, Factor, Float, Integer, Scalar};
use crate::{Error, Result};

/// The bits of a scalar as kernels and twins take it: f16 is widened to f32.
pub(super) fn word<T: Scalar>(scalar: T) -> u32 {
    match T::DTYPE {
        DType::F16 => bytemuck::cast::<_, f16>(scalar).to_f32().to_bits(),
        _ => bytemuck::cast(scalar),
    }
}

impl<T: Scalar> Tensor<T> {
    /// Applies the map with this name.
    fn map(&self, name: &'static str, scalars: [u32; 2]) -> Result<Tensor<T>> {
        let dtype = T::DTYPE;
        self.unary(Apply { name, dtype }, &scalars)
    }
}

/// Maps without a scalar: name, error bound in ulps and its absolute part, formula, remarks, example.
macro_rules! documented {
    ($(fn $name:ident() $ulps:literal $absolute:literal $formula:literal $more:literal $x:literal => $y:literal;)*) => {
        impl<T: Float> Tensor<T> {$(
            #[doc = $formula]
            ///
            #[doc = $more]
            #[doc = concat!(
                " NaN stays NaN. Error for `f32`: at most ", $ulps, " units in the last \
                 place", $absolute, " plus 2⁻¹²⁶, because a GPU may flush operands and results below that to zero. ",
                "`f16` is computed in `f32` and rounded. Cost: values read once, written once.",
            )]
            ///
            /// ```
            /// # use vsla::{Device, Ragged};
            #[doc = concat!("let x = Device::cpu().upload(&Ragged::from_rows([vec!", $x, ", vec![]])?)?;")]
            #[doc = concat!("let y = x.", stringify!($name), "()?.download_blocking()?;")]
            #[doc = concat!("assert_eq!(y.to_vecs()?, [vec!", $y, ", vec![]]);")]
            /// # Ok::<(), vsla::Error>(())
            /// ```
            ///
            /// # Errors
            /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
            pub fn $name(&self) -> Result<Tensor<T>> {
                self.map(stringify!($name), [0; 2])
            }
        )*}

        // The bounds documented here must match those in the table.
        const _: () = {$(
            assert!(maps::is_bound(stringify!($name), $ulps, !$absolute.is_empty()));
        )*};
    };
}

documented! {
    fn exp() 2 "" "Computes `eˣ` for every value; the layout is unchanged."
        "Does not respect equivalence: e⁰ is 1. The result is infinite above 88.72, and 0 for −∞."
        "[0.0f32, -f32::INFINITY, 100.0]" => "[1.0, 0.0, f32::INFINITY]";
    fn exp2() 2 "" "Computes `2ˣ` for every value; the layout is unchanged."
        "Does not respect equivalence: 2⁰ is 1. Exact for integers from −126 to 127; infinite from 128 on, and 0 for \
         −∞."
        "[3.0f32, -1.0, 0.0, 128.0]" => "[8.0, 0.5, 1.0, f32::INFINITY]";
    fn expm1() 3 "" "Computes `eˣ − 1` for every value, accurate for small x; the layout is unchanged."
        "Respects equivalence. −∞ gives −1; a zero keeps its sign."
        "[0.0f32, 1e-10, -100.0]" => "[0.0, 1e-10, -1.0]";
    fn log() 2 "" "Computes the natural logarithm, `log x`, of every value; the layout is unchanged."
        "Does not respect equivalence: log 0 is −∞. Negative values give NaN, and ∞ gives ∞."
        "[1.0f32, 0.0, f32::INFINITY]" => "[0.0, -f32::INFINITY, f32::INFINITY]";
    fn log2() 2 "" "Computes `log₂ x` for every value; the layout is unchanged."
        "Does not respect equivalence: log₂ 0 is −∞. Negative values give NaN, and ∞ gives ∞; exact for powers of two."
        "[8.0f32, 0.25, 1.0, 0.0]" => "[3.0, -2.0, 0.0, -f32::INFINITY]";
    fn log1p() 4 "" "Computes `log(1 + x)` for every value, accurate for small x; the layout is unchanged."
        "Respects equivalence. −1 gives −∞, values below −1 give NaN, and ∞ gives ∞; a zero keeps its sign."
        "[0.0f32, 1e-10, -1.0]" => "[0.0, 1e-10, -f32::INFINITY]";
    fn sqrt() 1 "" "Computes `√x` for every value; the layout is unchanged."
        "Respects equivalence. Negative values give NaN, and ∞ gives ∞; a zero keeps its sign. Exact if x is a square \
         that `f32` represents."
        "[9.0f32, 0.0, 2.25]" => "[3.0, 0.0, 1.5]";
    fn rsqrt() 2 "" "Computes `1 / √x` for every value; the layout is unchanged."
        "Does not respect equivalence: a zero gives ∞ with the sign of the zero. Negative values give NaN, and ∞ gives \
         0."
        "[4.0f32, 0.0, f32::INFINITY]" => "[0.5, f32::INFINITY, 0.0]";
    fn reciprocal() 2 "" "Computes `1 / x` for every value; the layout is unchanged."
        "Does not respect equivalence: a zero gives ∞ with the sign of the zero. ∞ gives 0."
        "[4.0f32, 0.0, -0.5]" => "[0.25, f32::INFINITY, -2.0]";
    fn sin() 2 " plus 6 · 10⁻⁸" "Computes `sin x` for every value; the layout is unchanged."
        "Respects equivalence. The bound holds for every finite x, however large; ±∞ gives NaN. A zero keeps its sign."
        "[0.0f32, 1e-10]" => "[0.0, 1e-10]";
    fn cos() 2 " plus 6 · 10⁻⁸" "Computes `cos x` for every value; the layout is unchanged."
        "Does not respect equivalence: cos 0 is 1. The bound holds for every finite x, however large; ±∞ gives NaN."
        "[0.0f32, 1e-10]" => "[1.0, 1.0]";
    fn tanh() 4 "" "Computes `tanh x` for every value; the layout is unchanged."
        "Respects equivalence. ±∞ gives ±1; a zero keeps its sign."
        "[0.0f32, 50.0, -50.0]" => "[0.0, 1.0, -1.0]";
    fn sigmoid() 6 "" "Computes the logistic sigmoid, `1 / (1 + e⁻ˣ)`, of every value; the layout is unchanged."
        "Does not respect equivalence: 0 gives ½. −∞ gives 0 and ∞ gives 1; no finite x overflows."
        "[0.0f32, 100.0, -f32::INFINITY]" => "[0.5, 1.0, 0.0]";
    fn silu() 6 "" "Computes `x / (1 + e⁻ˣ)`, also called swish, for every value; the layout is unchanged."
        "Respects equivalence. −∞ gives −0."
        "[0.0f32, 100.0, -f32::INFINITY]" => "[0.0, 100.0, 0.0]";
    fn softplus() 5 "" "Computes `log(1 + eˣ)` for every value; the layout is unchanged."
        "Does not respect equivalence: 0 gives log 2. −∞ gives 0 and ∞ gives ∞; no finite x overflows."
        "[100.0f32, -f32::INFINITY]" => "[100.0, 0.0]";
    fn erf() 3 "" "Computes the error function, `2/√π ∫ e^(−t²) dt` from 0 to x, of every value; the layout is \
        unchanged."
        "Respects equivalence. ±∞ gives ±1; a zero keeps its sign."
        "[0.0f32, 5.0, -5.0]" => "[0.0, 1.0, -1.0]";
    fn gelu() 10 "" "Computes `x Φ(x) = ½ x (1 + erf(x / √2))` for every value; the layout is unchanged."
        "Respects equivalence. −∞ gives −0. [`gelu_tanh`](Self::gelu_tanh) is the approximation that some networks \
         were trained with."
        "[0.0f32, 20.0, -20.0]" => "[0.0, 20.0, 0.0]";
    fn gelu_tanh() 6 " plus 6 · 10⁻⁸" "Computes `½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))`, an approximation of \
        [`gelu`](Self::gelu), for every value; the layout is unchanged."
        "Respects equivalence. −∞ gives −0."
        "[0.0f32, 20.0, -20.0]" => "[0.0, 20.0, 0.0]";
    fn relu() 0 "" "Computes `max(x, 0)` for every value; the layout is unchanged."
        "Respects equivalence."
        "[1.5f32, -2.0, 0.0]" => "[1.5, 0.0, 0.0]";
    fn floor() 0 "" "Rounds every value down to an integer; the layout is unchanged."
        "Respects equivalence. Infinities and the sign of a zero are preserved."
        "[1.5f32, -1.5, 2.0]" => "[1.0, -2.0, 2.0]";
    fn ceil() 0 "" "Rounds every value up to an integer; the layout is unchanged."
        "Respects equivalence. Infinities and the sign of a zero are preserved."
        "[1.5f32, -1.5, 2.0]" => "[2.0, -1.0, 2.0]";
    fn round() 0 "" "Rounds every value to the nearest integer, ties to even; the layout is unchanged."
        "Respects equivalence. Infinities and the sign of a zero are preserved."
        "[0.5f32, 1.5, 2.5, -0.6]" => "[0.0, 2.0, 2.0, -1.0]";
}

impl<T: Float> Tensor<T> {
    /// Leaky ReLU: `x` where x is above 0, and `slope · x` elsewhere, for every value; the layout is unchanged.
    ///
    /// Respects equivalence. NaN stays NaN. Rounded once. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![2.0f32, -2.0], vec![]])?)?;
    /// assert_eq!(x.leaky_relu(0.25)?.download_blocking()?.to_vecs()?, [vec![2.0, -0.5], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn leaky_relu(&self, slope: f32) -> Result<Tensor<T>> {
        self.map("leaky_relu", [slope.to_bits(), 0])
    }

    /// Raises every value to a real power, `xʸ`; the layout is unchanged.
    ///
    /// Follows IEEE 754: x⁰ and 1ʸ are 1, even for NaN; a negative x gives NaN unless y is an integer. Respects
    /// equivalence for y > 0. Error for `f32`: at most 8 units in the last place plus 2⁻¹²⁶, because a GPU may flush
    /// operands and results below that to zero. `f16` is computed in `f32` and rounded. Cost: values read once, written
    /// once. [`powi`](Self::powi) computes squares and cubes by multiplication.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![4.0f32, 0.0], vec![]])?)?;
    /// let y = x.powf(1.5)?.download_blocking()?;
    /// assert!((y.row(0)[0] - 8.0).abs() < 4e-6 && y.row(0)[1] == 0.0);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn powf(&self, y: f32) -> Result<Tensor<T>> {
        self.map("powf", [y.to_bits(), 0])
    }

    /// Raises every value to an integer power, `xⁿ`; the layout is unchanged.
    ///
    /// Up to |n| = 8, powers are computed by multiplication, and for negative n divided into 1: the error is at most 9
    /// units in the last place plus 2⁻¹²⁶, because a GPU may flush operands and results below that to zero, and small
    /// integers are exact. Beyond that, as [`powf`](Self::powf). x⁰ is 1. Respects equivalence for n > 0. NaN stays NaN
    /// except for n = 0. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3.0f32, -2.0], vec![]])?)?;
    /// assert_eq!(x.powi(3)?.download_blocking()?.to_vecs()?, [vec![27.0, -8.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) for |n| above 2²⁴; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn powi(&self, n: i32) -> Result<Tensor<T>> {
        match n.unsigned_abs() {
            // x⁰ is 1 even for NaN.
            0 => self.powf(0.0),
            size if size <= MULTIPLIED => self.map("powi", [(n as f32).to_bits(), 0]),
            size if size <= 1 << 24 => self.powf(n as f32),
            _ => Err(Error::argument("an exponent from -2^24 to 2^24", n).named("powi")),
        }
    }

    /// Divides a scalar by every value, `s / x`; the layout is unchanged.
    ///
    /// Does not respect equivalence: s / 0 is infinite, and 0 / 0 and ∞ / ∞ are NaN. Error for `f32`: at most 2 units
    /// in the last place plus 2⁻¹²⁶, because a GPU may flush operands and results below that to zero. Cost: values read
    /// once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![4.0f32, 0.0], vec![]])?)?;
    /// assert_eq!(x.div_from(2.0)?.download_blocking()?.to_vecs()?, [vec![0.5, f32::INFINITY], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn div_from(&self, s: T) -> Result<Tensor<T>> {
        self.map("div_from", [word(s), 0])
    }
}

impl<T: Factor> Tensor<T> {
    /// Computes `|x|` for every value; the layout is unchanged.
    ///
    /// Respects equivalence. NaN stays NaN. The least i32 has no positive counterpart and is returned unchanged. Exact.
    /// Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, -2, i32::MIN], vec![]])?)?;
    /// assert_eq!(x.abs()?.download_blocking()?.to_vecs()?, [vec![1, 2, i32::MIN], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn abs(&self) -> Result<Tensor<T>> {
        self.map("abs", [0; 2])
    }

    /// Computes the sign of every value: 1 for positive values, −1 for negative ones and 0 for 0; the layout is
    /// unchanged.
    ///
    /// Respects equivalence. A zero keeps its sign, and NaN stays NaN. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3.5f32, -2.0, 0.0], vec![]])?)?;
    /// assert_eq!(x.sign()?.download_blocking()?.to_vecs()?, [vec![1.0, -1.0, 0.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn sign(&self) -> Result<Tensor<T>> {
        self.map("sign", [0; 2])
    }

    /// Computes `x²` for every value; the layout is unchanged.
    ///
    /// Respects equivalence. Integers wrap; floats are rounded once. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![3, -2], vec![]])?)?;
    /// assert_eq!(x.square()?.download_blocking()?.to_vecs()?, [vec![9, 4], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn square(&self) -> Result<Tensor<T>> {
        self.map("square", [0; 2])
    }

    /// Clamps every value to the range from `low` to `high`, inclusive; the layout is unchanged.
    ///
    /// Respects equivalence if the range contains 0. NaN stays NaN. Exact. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, -7, 9], vec![]])?)?;
    /// assert_eq!(x.clamp(-2, 5)?.download_blocking()?.to_vecs()?, [vec![1, -2, 5], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) unless `low` is at most `high`, so also if one of them is NaN;
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn clamp(&self, low: T, high: T) -> Result<Tensor<T>> {
        if low <= high {
            return self.map("clamp", [word(low), word(high)]);
        }
        Err(Error::argument(
            "a lower bound that does not exceed the upper bound",
            format!("{low} and {high}"),
        )
        .named("clamp"))
    }

    /// Adds a scalar to every value, `x + s`, also written `&x + s`; the layout is unchanged.
    ///
    /// Does not respect equivalence unless s is 0: trailing zeros become s. Integers wrap; floats are rounded once.
    /// Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, -2], vec![]])?)?;
    /// assert_eq!(x.add_scalar(5)?.download_blocking()?.to_vecs()?, [vec![6, 3], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn add_scalar(&self, s: T) -> Result<Tensor<T>> {
        self.map("add_scalar", [word(s), 0])
    }

    /// Subtracts every value from a scalar, `s − x`, also written `s - &x`; otherwise like
    /// [`add_scalar`](Self::add_scalar).
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, -2], vec![]])?)?;
    /// assert_eq!(x.sub_from(5)?.download_blocking()?.to_vecs()?, [vec![4, 7], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`add_scalar`](Self::add_scalar).
    pub fn sub_from(&self, s: T) -> Result<Tensor<T>> {
        self.map("sub_from", [word(s), 0])
    }

    /// Divides every value by a scalar, `x / s`, also written `&x / s`; the layout is unchanged.
    ///
    /// Respects equivalence except for s = 0. Integer quotients are truncated, −7 / 2 = −3; the least i32 divided by −1
    /// wraps to itself. For floats x / 0 is infinite and 0 / 0 is NaN. Error for `f32`: at most 2 units in the last
    /// place plus 2⁻¹²⁶, because a GPU may flush operands and results below that to zero. Cost: values read once,
    /// written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![7, -7], vec![]])?)?;
    /// assert_eq!(x.div_scalar(2)?.download_blocking()?.to_vecs()?, [vec![3, -3], vec![]]);
    /// assert_eq!(x.div_scalar(0).unwrap_err().kind(), "argument");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) when integers are divided by 0; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn div_scalar(&self, s: T) -> Result<Tensor<T>> {
        let float = matches!(T::DTYPE, DType::F32 | DType::F16);
        if !float && s == T::default() {
            return Err(no_divisor("div_scalar", s));
        }
        self.map("div_scalar", [word(s), 0])
    }

    /// Computes the remainder of every value divided by s, with the sign of x, like `%` in Rust and `fmod` in C; the
    /// layout is unchanged.
    ///
    /// Respects equivalence. Exact, however much larger x is than s. NaN and ±∞ give NaN; x % ∞ is x. Cost: values read
    /// once, written once; floats take one more division for every eight bits by which x is larger than s.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![7.5f32, -7.5], vec![]])?)?;
    /// assert_eq!(x.rem(2.0)?.download_blocking()?.to_vecs()?, [vec![1.5, -1.5], vec![]]);
    /// assert_eq!(x.rem(0.0).unwrap_err().kind(), "argument");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) if s is 0 or NaN; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn rem(&self, s: T) -> Result<Tensor<T>> {
        #[expect(clippy::eq_op, reason = "a NaN is not itself")]
        if s == T::default() || s != s {
            return Err(no_divisor("rem", s));
        }
        self.map("rem", [word(s), 0])
    }
}

fn no_divisor<T: Scalar>(op: &'static str, s: T) -> Error {
    Error::argument("a divisor that is not 0", s).named(op)
}

/// Bitwise operations on integers.
impl<T: Integer> Tensor<T> {
    /// The bitwise and of every value with s; the layout is unchanged.
    ///
    /// Respects equivalence. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![0b1100u32, 7], vec![]])?)?;
    /// assert_eq!(x.bit_and(0b1010)?.download_blocking()?.to_vecs()?, [vec![0b1000, 2], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn bit_and(&self, s: T) -> Result<Tensor<T>> {
        self.map("bit_and", [word(s), 0])
    }

    /// The bitwise or of every value with s; the layout is unchanged.
    ///
    /// Does not respect equivalence unless s is 0. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![0b1100u32], vec![]])?)?;
    /// assert_eq!(x.bit_or(0b1010)?.download_blocking()?.to_vecs()?, [vec![0b1110], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn bit_or(&self, s: T) -> Result<Tensor<T>> {
        self.map("bit_or", [word(s), 0])
    }

    /// The bitwise exclusive or of every value with s; the layout is unchanged.
    ///
    /// Does not respect equivalence unless s is 0. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![0b1100u32], vec![]])?)?;
    /// assert_eq!(x.bit_xor(0b1010)?.download_blocking()?.to_vecs()?, [vec![0b0110], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn bit_xor(&self, s: T) -> Result<Tensor<T>> {
        self.map("bit_xor", [word(s), 0])
    }

    /// The bitwise complement of every value, −x − 1; the layout is unchanged.
    ///
    /// Does not respect equivalence. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![0, 5, -1], vec![]])?)?;
    /// assert_eq!(x.bit_not()?.download_blocking()?.to_vecs()?, [vec![-1, -6, 0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn bit_not(&self) -> Result<Tensor<T>> {
        self.map("bit_not", [0; 2])
    }

    /// Shifts the bits of every value left by n places: `2ⁿ x`, wrapped; the layout is unchanged.
    ///
    /// Respects equivalence. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, -3], vec![]])?)?;
    /// assert_eq!(x.shift_left(4)?.download_blocking()?.to_vecs()?, [vec![16, -48], vec![]]);
    /// assert_eq!(x.shift_left(32).unwrap_err().kind(), "argument");
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) for n above 31; [`OutOfMemory`](Error::OutOfMemory),
    /// [`DeviceLost`](Error::DeviceLost).
    pub fn shift_left(&self, n: u32) -> Result<Tensor<T>> {
        self.map("shift_left", [places("shift_left", n)?, 0])
    }

    /// Shifts the bits of every value right by n places: `⌊x / 2ⁿ⌋`, since the sign of an i32 is kept; the layout is
    /// unchanged.
    ///
    /// Respects equivalence. Cost: values read once, written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![17, -17], vec![]])?)?;
    /// assert_eq!(x.shift_right(4)?.download_blocking()?.to_vecs()?, [vec![1, -2], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`shift_left`](Self::shift_left).
    pub fn shift_right(&self, n: u32) -> Result<Tensor<T>> {
        self.map("shift_right", [places("shift_right", n)?, 0])
    }
}

/// Checks a shift distance.
fn places(op: &'static str, n: u32) -> Result<u32> {
    if n < 32 {
        return Ok(n);
    }
    Err(Error::argument("a shift of at most 31 bits", n).named(op))
}
