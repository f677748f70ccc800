//! The operators `+`, `-`, `*`, `/` and unary minus on tensors; each returns a `Result`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use half::f16;
use num_complex::Complex32;

use super::{Spread, Tensor};
use crate::Result;
use crate::ragged::{DType, Factor, Number};

/// Operators of two operands, with the type of their results' values and the call that computes them.
macro_rules! operators {
    ($(
        $(#[$about:meta])*
        $(<$t:ident: $bound:ident>)? $trait:ident::$name:ident($x:ident: $left:ty, $y:ident: $right:ty) -> $result:ty
            = $value:expr;
    )*) => {$(
        $(#[$about])*
        impl $(<$t: $bound>)? $trait<$right> for $left {
            type Output = Result<Tensor<$result>>;

            fn $name(self, $y: $right) -> Result<Tensor<$result>> {
                let $x = self;
                $value
            }
        }
    )*};
}

operators! {
    /// `a + b` is [`a.add(&b)`](Tensor::add).
    ///
    /// The operators take tensors by reference or by value and return a `Result`, so each step of an expression needs
    /// its own `?`. Rust's operator precedence applies.
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
    <T: Number> Add::add(a: &Tensor<T>, b: &Tensor<T>) -> T = Tensor::add(a, b);
    /// `a - b` is [`a.sub(&b)`](Tensor::sub).
    <T: Number> Sub::sub(a: &Tensor<T>, b: &Tensor<T>) -> T = Tensor::sub(a, b);
    /// `a * b` is [`a.hadamard(&b)`](Tensor::hadamard), value by value and zero outside the overlap. For matrix
    /// products, see [`matmul`](Tensor::matmul).
    <T: Number> Mul::mul(a: &Tensor<T>, b: &Tensor<T>) -> T = a.hadamard(b);
    /// `a / b` is [`a.div(&b)`](Tensor::div), value by value: zero outside the overlap.
    <T: Number> Div::div(a: &Tensor<T>, b: &Tensor<T>) -> T = Tensor::div(a, b);
    /// `x * s` is [`x.scale(s)`](Tensor::scale), also for a real number.
    Mul::mul(x: &Tensor<Complex32>, s: f32) -> Complex32 = x.scale(s);
    /// `x * s` is [`x.scale_complex(s)`](Tensor::scale_complex).
    Mul::mul(x: &Tensor<Complex32>, s: Complex32) -> Complex32 = x.scale_complex(s);
    /// `s * x` is [`x.scale(s)`](Tensor::scale).
    Mul::mul(s: f32, x: &Tensor<Complex32>) -> Complex32 = x.scale(s);
    /// `s * x` is [`x.scale_complex(s)`](Tensor::scale_complex).
    Mul::mul(s: Complex32, x: &Tensor<Complex32>) -> Complex32 = x.scale_complex(s);
    /// `x + s` is [`x.add_scalar(s)`](Tensor::add_scalar).
    <T: Factor> Add::add(x: &Tensor<T>, s: T) -> T = x.add_scalar(s);
    /// `x - s` is [`x.add_scalar(−s)`](Tensor::add_scalar).
    <T: Factor> Sub::sub(x: &Tensor<T>, s: T) -> T = x.add_scalar(opposite(s));
    /// `x * s` is [`x.scale(s)`](Tensor::scale).
    <T: Factor> Mul::mul(x: &Tensor<T>, s: T) -> T = x.scale(s);
    /// `x / s` is [`x.div_scalar(s)`](Tensor::div_scalar).
    <T: Factor> Div::div(x: &Tensor<T>, s: T) -> T = x.div_scalar(s);
    /// `s / x` is [`x.div_from(s)`](Tensor::div_from).
    Div::div(s: f32, x: &Tensor<f32>) -> f32 = x.div_from(s);
    /// `s / x` is [`x.div_from(s)`](Tensor::div_from).
    Div::div(s: f16, x: &Tensor<f16>) -> f16 = x.div_from(s);
}

/// −s, modulo 2³² for integers.
fn opposite<T: Factor>(s: T) -> T {
    match T::DTYPE {
        DType::F16 => bytemuck::cast(-bytemuck::cast::<T, f16>(s)),
        DType::F32 => bytemuck::cast(-bytemuck::cast::<T, f32>(s)),
        _ => bytemuck::cast(bytemuck::cast::<T, u32>(s).wrapping_neg()),
    }
}

macro_rules! scalar_in_front {
    ($($t:ty),*) => {
        operators! {$(
            /// `s + x` is [`x.add_scalar(s)`](Tensor::add_scalar).
            Add::add(s: $t, x: &Tensor<$t>) -> $t = x.add_scalar(s);
            /// `s - x` is [`x.sub_from(s)`](Tensor::sub_from).
            Sub::sub(s: $t, x: &Tensor<$t>) -> $t = x.sub_from(s);
            /// `s * x` is [`x.scale(s)`](Tensor::scale).
            Mul::mul(s: $t, x: &Tensor<$t>) -> $t = x.scale(s);
        )*}
    };
}
scalar_in_front!(f32, i32, u32, f16);

/// An operator with an operand that is spread over the elements of the other one.
macro_rules! spread {
    ($($trait:ident $name:ident $sign:literal $method:ident;)*) => {
        operators! {$(
            #[doc = concat!(
                "`x ", $sign, " v.each()` is [`x.", stringify!($method), "(v.each())`]",
                "(Tensor::", stringify!($method), ").",
            )]
            <T: Number> $trait::$name(x: &Tensor<T>, v: Spread<'_, T>) -> T = x.$method(v);
            #[doc = concat!(
                "`x ", $sign, " v.each()` is [`x.", stringify!($method), "(v.each())`]",
                "(Tensor::", stringify!($method), ").",
            )]
            <T: Number> $trait::$name(x: Tensor<T>, v: Spread<'_, T>) -> T = Tensor::$method(&x, v);
            #[doc = concat!(
                "`v.each() ", $sign, " x` is [`v.each().", stringify!($method), "(&x)`]",
                "(Spread::", stringify!($method), ").",
            )]
            <T: Number> $trait::$name(v: Spread<'_, T>, x: &Tensor<T>) -> T = Spread::$method(&v, x);
        )*}
    };
}
spread! {
    Add add "+" add;
    Sub sub "-" sub;
    Mul mul "*" hadamard;
    Div div "/" div;
}

/// The operators of references for operands by value, such as the intermediate results of an expression.
macro_rules! by_value {
    ($($trait:ident $name:ident for $($t:ty)*;)*) => {
        operators! {$(
            <T: Number> $trait::$name(a: Tensor<T>, b: Tensor<T>) -> T = $trait::$name(&a, &b);
            <T: Number> $trait::$name(a: Tensor<T>, b: &Tensor<T>) -> T = $trait::$name(&a, b);
            <T: Number> $trait::$name(a: &Tensor<T>, b: Tensor<T>) -> T = $trait::$name(a, &b);
            <T: Factor> $trait::$name(x: Tensor<T>, s: T) -> T = $trait::$name(&x, s);
            $($trait::$name(s: $t, x: Tensor<$t>) -> $t = $trait::$name(s, &x);)*
        )*}
    };
}
by_value! {
    Add add for f32 i32 u32 f16;
    Sub sub for f32 i32 u32 f16;
    Mul mul for f32 i32 u32 f16;
    Div div for f32 f16;
}

/// `-x` is [`x.neg()`](Tensor::neg).
impl<T: Factor> Neg for &Tensor<T> {
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

impl<T: Number> Neg for Tensor<T>
where
    for<'a> &'a Tensor<T>: Neg<Output = Result<Tensor<T>>>,
{
    type Output = Result<Tensor<T>>;

    fn neg(self) -> Result<Tensor<T>> {
        -&self
    }
}
