//! The operators `+`, `-`, `*`, `/` and unary minus on tensors; each returns a `Result`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use num_complex::Complex32;

use super::{Spread, Tensor};
use crate::Result;
use crate::ragged::{Number, Real};

/// `a + b` is [`a.add(&b)`](Tensor::add).
///
/// The operators take tensors by reference or by value and return a `Result`, so each step of an expression needs its
/// own `?`. Rust's operator precedence applies.
///
/// ```
/// # use vsla::{Device, Ragged};
/// let device = Device::cpu();
/// let a = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![]])?)?;
/// let b = device.upload(&Ragged::from_rows([vec![10.0f32], vec![20.0]])?)?;
/// assert_eq!((&a + &b)?.download_blocking()?.to_vecs()?, [vec![11.0, 2.0, 3.0], vec![20.0]]);
/// let y = ((2.0 - &a)? / 4.0)?;
/// assert_eq!(y.download_blocking()?.to_vecs()?, [vec![0.25, 0.0, -0.25], vec![]]);
/// # Ok::<(), vsla::Error>(())
/// ```
impl<T: Number> Add for &Tensor<T> {
    type Output = Result<Tensor<T>>;

    fn add(self, other: &Tensor<T>) -> Result<Tensor<T>> {
        Tensor::add(self, other)
    }
}

/// `a - b` is [`a.sub(&b)`](Tensor::sub).
impl<T: Number> Sub for &Tensor<T> {
    type Output = Result<Tensor<T>>;

    fn sub(self, other: &Tensor<T>) -> Result<Tensor<T>> {
        Tensor::sub(self, other)
    }
}

/// `a * b` is [`a.hadamard(&b)`](Tensor::hadamard), value by value and zero outside the overlap. For matrix products,
/// see [`matmul`](Tensor::matmul).
impl<T: Number> Mul for &Tensor<T> {
    type Output = Result<Tensor<T>>;

    fn mul(self, other: &Tensor<T>) -> Result<Tensor<T>> {
        self.hadamard(other)
    }
}

/// `a / b` is [`a.div(&b)`](Tensor::div), value by value: zero outside the overlap.
impl<T: Number> Div for &Tensor<T> {
    type Output = Result<Tensor<T>>;

    fn div(self, other: &Tensor<T>) -> Result<Tensor<T>> {
        Tensor::div(self, other)
    }
}

/// `-x` is [`x.neg()`](Tensor::neg).
impl<T: Real> Neg for &Tensor<T> {
    type Output = Result<Tensor<T>>;

    fn neg(self) -> Result<Tensor<T>> {
        Tensor::<T>::neg(self)
    }
}

/// `-x` is [`x.neg()`](Tensor::neg).
impl Neg for &Tensor<Complex32> {
    type Output = Result<Tensor<Complex32>>;

    fn neg(self) -> Result<Tensor<Complex32>> {
        Tensor::<Complex32>::neg(self)
    }
}

/// `x * s` is [`x.scale(s)`](Tensor::scale), also for a real number.
impl Mul<f32> for &Tensor<Complex32> {
    type Output = Result<Tensor<Complex32>>;

    fn mul(self, s: f32) -> Result<Tensor<Complex32>> {
        self.scale(s)
    }
}

/// `x * s` is [`x.scale_complex(s)`](Tensor::scale_complex).
impl Mul<Complex32> for &Tensor<Complex32> {
    type Output = Result<Tensor<Complex32>>;

    fn mul(self, s: Complex32) -> Result<Tensor<Complex32>> {
        self.scale_complex(s)
    }
}

/// `s * x` is [`x.scale(s)`](Tensor::scale).
impl Mul<&Tensor<Complex32>> for f32 {
    type Output = Result<Tensor<Complex32>>;

    fn mul(self, x: &Tensor<Complex32>) -> Result<Tensor<Complex32>> {
        x.scale(self)
    }
}

/// `s * x` is [`x.scale_complex(s)`](Tensor::scale_complex).
impl Mul<&Tensor<Complex32>> for Complex32 {
    type Output = Result<Tensor<Complex32>>;

    fn mul(self, x: &Tensor<Complex32>) -> Result<Tensor<Complex32>> {
        x.scale_complex(self)
    }
}

/// `x + s` is [`x.add_scalar(s)`](Tensor::add_scalar).
impl<T: Real> Add<T> for &Tensor<T> {
    type Output = Result<Tensor<T>>;

    fn add(self, s: T) -> Result<Tensor<T>> {
        self.add_scalar(s)
    }
}

/// `x - s` is [`x.add_scalar(−s)`](Tensor::add_scalar).
impl<T: Real> Sub<T> for &Tensor<T> {
    type Output = Result<Tensor<T>>;

    fn sub(self, s: T) -> Result<Tensor<T>> {
        self.add_scalar(opposite(s))
    }
}

/// `x * s` is [`x.scale(s)`](Tensor::scale).
impl<T: Real> Mul<T> for &Tensor<T> {
    type Output = Result<Tensor<T>>;

    fn mul(self, s: T) -> Result<Tensor<T>> {
        self.scale(s)
    }
}

/// `x / s` is [`x.div_scalar(s)`](Tensor::div_scalar).
impl<T: Real> Div<T> for &Tensor<T> {
    type Output = Result<Tensor<T>>;

    fn div(self, s: T) -> Result<Tensor<T>> {
        self.div_scalar(s)
    }
}

/// −s, modulo 2³² for integers.
fn opposite<T: Real>(s: T) -> T {
    let word: u32 = bytemuck::cast(s);
    bytemuck::cast(match T::DTYPE {
        crate::ragged::DType::F32 => word ^ 1 << 31,
        _ => word.wrapping_neg(),
    })
}

macro_rules! scalar_in_front {
    ($($t:ty),*) => {$(
        /// `s + x` is [`x.add_scalar(s)`](Tensor::add_scalar).
        impl Add<&Tensor<$t>> for $t {
            type Output = Result<Tensor<$t>>;

            fn add(self, x: &Tensor<$t>) -> Result<Tensor<$t>> {
                x.add_scalar(self)
            }
        }

        /// `s - x` is [`x.sub_from(s)`](Tensor::sub_from).
        impl Sub<&Tensor<$t>> for $t {
            type Output = Result<Tensor<$t>>;

            fn sub(self, x: &Tensor<$t>) -> Result<Tensor<$t>> {
                x.sub_from(self)
            }
        }

        /// `s * x` is [`x.scale(s)`](Tensor::scale).
        impl Mul<&Tensor<$t>> for $t {
            type Output = Result<Tensor<$t>>;

            fn mul(self, x: &Tensor<$t>) -> Result<Tensor<$t>> {
                x.scale(self)
            }
        }
    )*};
}
scalar_in_front!(f32, i32, u32);

/// `s / x` is [`x.div_from(s)`](Tensor::div_from).
impl Div<&Tensor<f32>> for f32 {
    type Output = Result<Tensor<f32>>;

    fn div(self, x: &Tensor<f32>) -> Result<Tensor<f32>> {
        x.div_from(self)
    }
}

/// An operator whose operand on one side is spread over the elements of the other: a tensor by reference or by value,
/// as it comes of a step before.
macro_rules! spread {
    ($($trait:ident $name:ident $sign:literal $method:ident;)*) => {$(
        #[doc = concat!(
            "`x ", $sign, " v.each()` is [`x.", stringify!($method), "(v.each())`]",
            "(Tensor::", stringify!($method), ").",
        )]
        impl<T: Number> $trait<Spread<'_, T>> for &Tensor<T> {
            type Output = Result<Tensor<T>>;

            fn $name(self, other: Spread<'_, T>) -> Result<Tensor<T>> {
                self.$method(other)
            }
        }

        #[doc = concat!(
            "`x ", $sign, " v.each()` is [`x.", stringify!($method), "(v.each())`]",
            "(Tensor::", stringify!($method), ").",
        )]
        impl<T: Number> $trait<Spread<'_, T>> for Tensor<T> {
            type Output = Result<Tensor<T>>;

            fn $name(self, other: Spread<'_, T>) -> Result<Tensor<T>> {
                Tensor::$method(&self, other)
            }
        }

        #[doc = concat!(
            "`v.each() ", $sign, " x` is [`v.each().", stringify!($method), "(&x)`]",
            "(Spread::", stringify!($method), ").",
        )]
        impl<T: Number> $trait<&Tensor<T>> for Spread<'_, T> {
            type Output = Result<Tensor<T>>;

            fn $name(self, other: &Tensor<T>) -> Result<Tensor<T>> {
                Spread::$method(&self, other)
            }
        }
    )*};
}
spread! {
    Add add "+" add;
    Sub sub "-" sub;
    Mul mul "*" hadamard;
    Div div "/" div;
}

/// The operators of references, for operands by value: an expression's intermediate results.
macro_rules! by_value {
    ($($trait:ident $name:ident;)*) => {$(
        impl<T: Number> $trait<Tensor<T>> for Tensor<T> {
            type Output = Result<Tensor<T>>;

            fn $name(self, other: Tensor<T>) -> Result<Tensor<T>> {
                $trait::$name(&self, &other)
            }
        }

        impl<T: Number> $trait<&Tensor<T>> for Tensor<T> {
            type Output = Result<Tensor<T>>;

            fn $name(self, other: &Tensor<T>) -> Result<Tensor<T>> {
                $trait::$name(&self, other)
            }
        }

        impl<T: Number> $trait<Tensor<T>> for &Tensor<T> {
            type Output = Result<Tensor<T>>;

            fn $name(self, other: Tensor<T>) -> Result<Tensor<T>> {
                $trait::$name(self, &other)
            }
        }

        impl<T: Real> $trait<T> for Tensor<T> {
            type Output = Result<Tensor<T>>;

            fn $name(self, s: T) -> Result<Tensor<T>> {
                $trait::$name(&self, s)
            }
        }
    )*};
}
by_value! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

macro_rules! value_behind_scalar {
    ($($trait:ident $name:ident $($t:ty)*;)*) => {$($(
        impl $trait<Tensor<$t>> for $t {
            type Output = Result<Tensor<$t>>;

            fn $name(self, x: Tensor<$t>) -> Result<Tensor<$t>> {
                $trait::$name(self, &x)
            }
        }
    )*)*};
}
value_behind_scalar! {
    Add add f32 i32 u32;
    Sub sub f32 i32 u32;
    Mul mul f32 i32 u32;
    Div div f32;
}

impl<T: Number> Neg for Tensor<T>
where
    for<'a> &'a Tensor<T>: Neg<Output = Result<Tensor<T>>>,
{
    type Output = Result<Tensor<T>>;

    fn neg(self) -> Result<Tensor<T>> {
        -&self
    }
}
