//! Functions of values: maps, casts, functions of two and of three operands, and functions along axes.

use vsla::{
    Complex32, Device, Paired, Result, Tensor,
    batch::Spread,
    f16,
    scalar::{Factor, Float, Integer, Number, Scalar},
};

use super::batch::{Batch, Kind, Value};
use super::lines::line;
use super::op::Meeting;

/// Vectors that are spread over the elements of an operand: along an axis, or one value for each element.
#[derive(Clone, Debug)]
pub struct Vectors {
    pub axis: Option<usize>,
    pub of: Batch,
}

impl Vectors {
    /// What is paired with element `i` of the other operand. A single vector along an axis serves all elements.
    fn element(&self, i: usize) -> Vectors {
        let i = if self.of.layout().len() == 1 { 0 } else { i };
        let of = self.of.element(i);
        Vectors { of, ..*self }
    }
}

#[derive(Clone, Debug)]
pub enum Values {
    /// With a number from which its scalars are made.
    Map(&'static str, i32),
    Cast(Kind),
    /// The axis, for functions that take one, and a number from which other arguments are made.
    Line(&'static str, usize, u8),
    /// The window and the strides; the mean or the maximum.
    Pool(&'static str, [Vec<usize>; 2]),
    Function(&'static str, Meeting),
    /// A function of an operand and spread vectors, which may be on the left.
    Spread(&'static str, Vectors, bool),
    /// `None` stands for a whole operand.
    Three(&'static str, [Option<Vectors>; 2]),
}

impl Values {
    /// The name of the function.
    pub fn name(&self) -> String {
        match self {
            Values::Map(name, _)
            | Values::Line(name, ..)
            | Values::Pool(name, _)
            | Values::Function(name, _) => (*name).to_owned(),
            Values::Cast(kind) => format!("Cast{kind:?}"),
            Values::Spread(name, ..) | Values::Three(name, _) => format!("Spread{name}"),
        }
    }

    /// The operation that computes element `pair` of the result from one element of each operand, and which elements.
    pub fn alone(&self, pair: usize, lengths: &[usize]) -> Option<(Values, Vec<usize>)> {
        let chosen = vec![pair; lengths.len()];
        Some(match self {
            Values::Function(name, meeting) => {
                let (i, j) = *meeting.pairs(lengths[0], lengths[1]).get(pair)?;
                (Values::Function(name, Meeting::Elementwise), vec![i, j])
            }
            Values::Spread(name, vectors, left) => {
                (Values::Spread(name, vectors.element(pair), *left), chosen)
            }
            Values::Three(name, spread) => {
                let of_one = |vectors: &Option<Vectors>| Some(vectors.as_ref()?.element(pair));
                (Values::Three(name, spread.each_ref().map(of_one)), chosen)
            }
            other => (other.clone(), chosen),
        })
    }

    pub fn apply(&self, device: &Device, operands: &[&Value]) -> Result<Value> {
        let x = operands[0];
        match self {
            Values::Map(name, n) => match x {
                Value::F32(x) => Ok(of_floats(name, x, *n as f32 / 2.0, *n)?.into()),
                Value::F16(x) => {
                    let scalar = vsla::f16::from_f32(*n as f32 / 2.0);
                    Ok(of_floats(name, x, scalar, *n)?.into())
                }
                Value::I32(x) => Ok(of_integers(name, x, *n, n.unsigned_abs())?.into()),
                Value::U32(x) => {
                    let scalar = n.unsigned_abs();
                    Ok(of_integers(name, x, scalar, scalar)?.into())
                }
                Value::C32(x) => of_complex(name, x, *n as f32),
            },
            Values::Cast(to) => cast(x, *to),
            Values::Line(name, axis, n) => line(name, x, *axis, *n),
            Values::Pool(name, [window, strides]) => pool(name, x, window, strides),
            Values::Function(name, meeting) => {
                let pairing = meeting.pairing();
                let result = match (x, operands[1]) {
                    (Value::F32(x), Value::F32(y)) => paired_singles(name, &x.pair(y, pairing)?),
                    (Value::C32(x), Value::C32(y)) => paired_numbers(name, &x.pair(y, pairing)?),
                    (Value::F16(x), Value::F16(y)) => paired_floats(name, &x.pair(y, pairing)?),
                    (Value::I32(x), Value::I32(y)) => paired(name, &x.pair(y, pairing)?),
                    (Value::U32(x), Value::U32(y)) => paired(name, &x.pair(y, pairing)?),
                    other => unreachable!("{other:?}"),
                };
                result.unwrap_or_else(|| unreachable!("{name}"))
            }
            Values::Spread(name, vectors, on_the_left) => {
                let v = vectors.of.upload(device)?;
                let axis = vectors.axis;
                let result = match (x, &v) {
                    (Value::F32(x), Value::F32(v)) if *on_the_left => {
                        left_singles(name, spread(v, axis), x)
                    }
                    (Value::C32(x), Value::C32(v)) if *on_the_left => {
                        left_numbers(name, spread(v, axis), x)
                    }
                    (Value::F16(x), Value::F16(v)) if *on_the_left => {
                        left_floats(name, spread(v, axis), x)
                    }
                    (Value::I32(x), Value::I32(v)) if *on_the_left => {
                        left(name, spread(v, axis), x)
                    }
                    (Value::U32(x), Value::U32(v)) if *on_the_left => {
                        left(name, spread(v, axis), x)
                    }
                    (Value::F32(x), Value::F32(v)) => right_singles(name, x, spread(v, axis)),
                    (Value::C32(x), Value::C32(v)) => right_numbers(name, x, spread(v, axis)),
                    (Value::F16(x), Value::F16(v)) => right_floats(name, x, spread(v, axis)),
                    (Value::I32(x), Value::I32(v)) => right(name, x, spread(v, axis)),
                    (Value::U32(x), Value::U32(v)) => right(name, x, spread(v, axis)),
                    other => unreachable!("{other:?}"),
                };
                result.unwrap_or_else(|| unreachable!("{name}"))
            }
            Values::Three(name, vectors) => three(name, vectors, device, operands),
        }
    }
}

fn spread<T: Scalar>(v: &Tensor<T>, axis: Option<usize>) -> Spread<'_, T> {
    match axis {
        Some(axis) => v.along(axis),
        None => v.each(),
    }
}

/// The names of these functions, and a function that calls one by its name.
macro_rules! maps {
    ($names:ident, $run:ident: $kind:ident($x:ident, $s:ident, $n:ident: $number:ty);
        $($map:ident $args:tt)*) => {
        pub const $names: &[&str] = &[$(stringify!($map)),*];

        fn $run<T: $kind>(name: &str, $x: &Tensor<T>, $s: T, $n: $number) -> Result<Tensor<T>> {
            match name {
                $(stringify!($map) => $x.$map $args,)*
                other => unreachable!("{other}"),
            }
        }
    };
}
maps! {
    MAPS_OF_FLOATS, of_floats: Float(x, s, n: i32);
    abs() sign() square() relu() leaky_relu(n as f32 / 8.0) clamp(T::default(), s) floor() ceil() round()
    add_scalar(s) sub_from(s) div_scalar(s) div_from(s) rem(s) reciprocal() sqrt() rsqrt() exp() exp2() expm1()
    log() log2() log1p() powf(n as f32 / 2.0) powi(n) tanh() sigmoid() silu() softplus() erf() gelu() gelu_tanh()
    sin() cos()
}
maps! {
    MAPS_OF_INTEGERS, of_integers: Integer(x, s, n: u32);
    abs() sign() square() clamp(T::default(), s) add_scalar(s) sub_from(s) div_scalar(s) rem(s) bit_and(s) bit_or(s)
    bit_xor(s) bit_not() shift_left(n) shift_right(n)
}

pub const MAPS_OF_COMPLEX: &[&str] = &[
    "conj",
    "real",
    "imag",
    "abs",
    "abs_squared",
    "arg",
    "scale_complex",
];

fn of_complex(name: &str, x: &Tensor<Complex32>, n: f32) -> Result<Value> {
    Ok(match name {
        "conj" => x.conj()?.into(),
        "real" => x.real()?.into(),
        "imag" => x.imag()?.into(),
        "abs" => x.abs()?.into(),
        "abs_squared" => x.abs_squared()?.into(),
        "arg" => x.arg()?.into(),
        "scale_complex" => x.scale_complex(Complex32::new(n / 2.0, 1.5))?.into(),
        other => unreachable!("{other}"),
    })
}

fn cast(x: &Value, to: Kind) -> Result<Value> {
    Ok(match (x, to) {
        (Value::F32(x), Kind::I32) => x.to::<i32>()?.into(),
        (Value::F32(x), Kind::U32) => x.to::<u32>()?.into(),
        (Value::F16(x), Kind::I32) => x.to::<i32>()?.into(),
        (Value::F16(x), Kind::U32) => x.to::<u32>()?.into(),
        (Value::I32(x), Kind::F32) => x.to::<f32>()?.into(),
        (Value::I32(x), Kind::F16) => x.to::<f16>()?.into(),
        (Value::I32(x), Kind::U32) => x.to::<u32>()?.into(),
        (Value::U32(x), Kind::F32) => x.to::<f32>()?.into(),
        (Value::U32(x), Kind::F16) => x.to::<f16>()?.into(),
        (Value::U32(x), Kind::I32) => x.to::<i32>()?.into(),
        other => unreachable!("{other:?}"),
    })
}

pub const POOLS: &[&str] = &["max_pool", "mean_pool"];

/// The poolings of a type.
pub fn pools_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::F32 | Kind::F16 => POOLS,
        Kind::I32 | Kind::U32 => &POOLS[..1],
        Kind::C32 => &[],
    }
}

fn pool(name: &str, x: &Value, window: &[usize], strides: &[usize]) -> Result<Value> {
    macro_rules! of {
        ($x:ident, $method:ident) => {
            $x.pooling(window).stride(strides).$method()?.into()
        };
    }
    Ok(match (name, x) {
        ("max_pool", Value::F32(x)) => of!(x, max),
        ("max_pool", Value::F16(x)) => of!(x, max),
        ("max_pool", Value::I32(x)) => of!(x, max),
        ("max_pool", Value::U32(x)) => of!(x, max),
        ("mean_pool", Value::F32(x)) => of!(x, mean),
        ("mean_pool", Value::F16(x)) => of!(x, mean),
        other => unreachable!("{other:?}"),
    })
}

/// Those of complex numbers come first; then, after those of all other types, those of floats, and of f32 only.
pub const FUNCTIONS: &[&str] = &[
    "add",
    "sub",
    "hadamard",
    "div",
    "remainder",
    "maximum",
    "minimum",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "pow",
    "atan2",
    "complex",
    "polar",
];

/// The functions of two operands that a type has.
pub fn functions_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::F32 => FUNCTIONS,
        Kind::F16 => &FUNCTIONS[..FUNCTIONS.len() - 2],
        Kind::I32 | Kind::U32 => &FUNCTIONS[..FUNCTIONS.len() - 4],
        Kind::C32 => &FUNCTIONS[..4],
    }
}

/// The maps that a type has.
pub fn maps_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::F32 | Kind::F16 => MAPS_OF_FLOATS,
        Kind::I32 | Kind::U32 => MAPS_OF_INTEGERS,
        Kind::C32 => MAPS_OF_COMPLEX,
    }
}

macro_rules! called {
    ($name:ident, $x:ident $args:tt; $($function:ident)*) => {
        match $name {
            $(stringify!($function) => Some($x.$function $args.map(|result| result.into())),)*
            _ => None,
        }
    };
}

/// Calls the function of that name, of the types that have it.
macro_rules! functions {
    ($numbers:ident, $all:ident, $floats:ident, $singles:ident:
        |$x:ident: $of:ty, $single:ty $(; $y:ident: $with:ty, $of_single:ty)?|; $args:tt) => {
        fn $numbers<T: Number>(name: &str, $x: $of $(, $y: $with)?) -> Option<Result<Value>>
        where
            Value: From<Tensor<T>>,
        {
            called!(name, $x $args; add sub hadamard div)
        }

        fn $all<T: Factor>(name: &str, $x: $of $(, $y: $with)?) -> Option<Result<Value>>
        where
            Value: From<Tensor<T>>,
        {
            called!(name, $x $args; remainder maximum minimum equal not_equal less less_equal greater greater_equal)
                .or_else(|| $numbers(name, $x $(, $y)?))
        }

        fn $floats<T: Float>(name: &str, $x: $of $(, $y: $with)?) -> Option<Result<Value>>
        where
            Value: From<Tensor<T>>,
        {
            called!(name, $x $args; pow atan2).or_else(|| $all(name, $x $(, $y)?))
        }

        fn $singles(name: &str, $x: $single $(, $y: $of_single)?) -> Option<Result<Value>> {
            called!(name, $x $args; complex polar).or_else(|| $floats(name, $x $(, $y)?))
        }
    };
}
functions!(paired_numbers, paired, paired_floats, paired_singles:
    |pair: &Paired<'_, T>, &Paired<'_, f32>|; ());
functions!(right_numbers, right, right_floats, right_singles:
    |x: &Tensor<T>, &Tensor<f32>; y: Spread<'_, T>, Spread<'_, f32>|; (y));
functions!(left_numbers, left, left_floats, left_singles:
    |x: Spread<'_, T>, Spread<'_, f32>; y: &Tensor<T>, &Tensor<f32>|; (y));

fn three(
    name: &str,
    vectors: &[Option<Vectors>; 2],
    device: &Device,
    operands: &[&Value],
) -> Result<Value> {
    let mut whole = operands[1..].iter();
    let mut uploaded = Vec::new();
    for of in vectors {
        uploaded.push(match of {
            Some(vectors) => (vectors.of.upload(device)?, Some(vectors.axis)),
            None => ((*whole.next().expect("an operand")).clone(), None),
        });
    }
    fn operand<T: Factor>(x: &Tensor<T>, axis: Option<Option<usize>>) -> Spread<'_, T> {
        axis.map_or(x.into(), |axis| spread(x, axis))
    }
    let [(second, p), (third, q)] = [&uploaded[0], &uploaded[1]];
    macro_rules! of_types {
        ($($kind:ident)*) => {
            match (name, operands[0], second, third) {
                $(("mul_add", Value::$kind(x), Value::$kind(y), Value::$kind(z)) => {
                    x.mul_add(operand(y, *p), operand(z, *q))?.into()
                })*
                $(("if_else", Value::U32(mask), Value::$kind(y), Value::$kind(z)) => {
                    mask.if_else(operand(y, *p), operand(z, *q))?.into()
                })*
                other => unreachable!("{other:?}"),
            }
        };
    }
    Ok(of_types!(F32 F16 I32 U32))
}
