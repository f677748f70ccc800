//! Elementwise functions, under their names in NumPy or PyTorch.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use vsla::scalar::DType;

use super::{
    BESIDE, Gradient, Law, OF_INTEGERS, Operation, POSITIVE, ROW, Reference, UNARY, batch,
};
use crate::options::{self as opt, Opt};

/// The body for arguments of an integer type of 32 bits.
macro_rules! integer {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [I32 U32] => $body)
    };
}

/// A function of the argument, of these types.
macro_rules! row {
    ($name:expr, $options:expr, $about:literal, $types:ident, |$call:ident, $x:ident| $body:expr) => {
        Operation {
            name: $name,
            options: $options,
            about: $about,
            run: $types!(|$call, device, args| {
                let $x = args[0].on(&device)?;
                batch($body?)
            }),
            ..ROW
        }
    };
}

/// A function of floats without options, which is also that method, and its reference in f64.
macro_rules! function {
    ($name:ident, $about:literal, $reference:expr) => {
        row!(stringify!($name), UNARY, $about, float, |call, x| x.$name()).being(Reference::Map(
            |x, _| {
                let reference: fn(f64) -> f64 = $reference;
                reference(x)
            },
        ))
    };
}

fn sigmoid(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    if x < 0.0 {
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + e)
    }
}

/// x times a function that goes to 0 fast, so that −∞ gives −0.
fn times(x: f64, factor: f64) -> f64 {
    if x < -1e3 { -0.0 } else { x * factor }
}

const SCALAR: &[Opt] = &[opt::DTYPE, opt::RANK, opt::VALUE];
const PLACES: &[Opt] = &[opt::DTYPE, opt::RANK, opt::PLACES];

pub const ROWS: &[Operation] = &[
    function!(exp, "e to the power of x", libm::exp).by_shape(),
    function!(exp2, "2 to the power of x", libm::exp2).by_shape(),
    function!(expm1, "e to the power of x, minus 1", libm::expm1),
    function!(log, "the natural logarithm", libm::log)
        .sloping(POSITIVE)
        .by_shape(),
    function!(log2, "the logarithm to the base 2", libm::log2)
        .sloping(POSITIVE)
        .by_shape(),
    function!(log1p, "log(1 + x)", libm::log1p).sloping(POSITIVE),
    function!(sqrt, "the square root", f64::sqrt).sloping(POSITIVE),
    function!(rsqrt, "1 / the square root", |x| 1.0 / x.sqrt())
        .sloping(POSITIVE)
        .by_shape(),
    function!(reciprocal, "1 / x", |x| 1.0 / x)
        .sloping(BESIDE)
        .by_shape(),
    function!(sin, "the sine", libm::sin),
    function!(cos, "the cosine", libm::cos).by_shape(),
    function!(tanh, "the hyperbolic tangent", libm::tanh),
    function!(sigmoid, "1 / (1 + exp(-x))", sigmoid).by_shape(),
    function!(silu, "x sigmoid(x)", |x| times(x, sigmoid(x))),
    function!(softplus, "log(1 + exp(x))", |x| if x.is_nan() {
        x
    } else {
        x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
    })
    .by_shape(),
    function!(erf, "the error function", libm::erf),
    function!(
        gelu,
        "x times the standard normal distribution function of x",
        |x| times(x, 0.5 * libm::erfc(-x * FRAC_1_SQRT_2))
    ),
    function!(gelu_tanh, "gelu, approximated with tanh", |x| times(
        x,
        sigmoid((8.0 / PI).sqrt() * (x + 0.044715 * x.powi(3)))
    )),
    function!(relu, "x if above 0, else 0", |x| if x.is_nan() {
        x
    } else {
        x.max(0.0)
    })
    .exact()
    .sloping(BESIDE),
    function!(floor, "the largest integer not above x", f64::floor)
        .exact()
        .sloping(Gradient::Zero),
    function!(ceil, "the smallest integer not below x", f64::ceil)
        .exact()
        .sloping(Gradient::Zero),
    function!(
        round,
        "the nearest integer, ties to even",
        f64::round_ties_even
    )
    .exact()
    .sloping(Gradient::Zero),
    row!(
        "leaky_relu",
        &[opt::DTYPE, opt::RANK, opt::NEGATIVE_SLOPE],
        "x if above 0, else negative_slope * x",
        float,
        |call, x| x.leaky_relu(call.options.number("negative_slope")?)
    )
    .being(Reference::Map(|x, [s, _]| if x > 0.0 { x } else { s * x }))
    .sloping(BESIDE),
    row!(
        "pow",
        &[opt::DTYPE, opt::RANK, opt::EXPONENT],
        "x to the power of exponent; by multiplication for integer exponents of at most 8",
        float,
        |call, x| {
            let y: f32 = call.options.number("exponent")?;
            match y.fract() == 0.0 && y.abs() <= 16_777_216.0 {
                true => x.powi(y as i32),
                false => x.powf(y),
            }
        }
    )
    .being(Reference::Map(|x, [s, _]| libm::pow(x, s)))
    .sloping(POSITIVE)
    .for_methods(&[("powf", ""), ("powi", "")])
    .respecting(Law::Open),
    row!("abs", UNARY, "the absolute value", typed, |call, x| x.abs())
        .being(Reference::Map(|x, _| x.abs()))
        .sloping(BESIDE),
    row!("sign", UNARY, "1, 0 or -1", ordered, |call, x| x.sign())
        .being(Reference::Map(|x, _| if x == 0.0 { x } else { x.signum() }))
        .exact()
        .sloping(Gradient::Zero),
    row!("square", UNARY, "x * x", ordered, |call, x| x.square())
        .being(Reference::Map(|x, _| x * x)),
    row!(
        "clip",
        &[opt::DTYPE, opt::RANK, opt::MIN, opt::MAX],
        "x, but at least min and at most max",
        ordered,
        |call, x| x.clamp(call.options.number("min")?, call.options.number("max")?)
    )
    .being(Reference::Map(|x, [s, t]| x.clamp(s, t)))
    .exact()
    .sloping(Gradient::Of(0.1, 0.4))
    .for_methods(&[("clamp", "")])
    .respecting(Law::Open),
    row!("add_scalar", SCALAR, "x + value", ordered, |call, x| x
        .add_scalar(call.options.number("value")?))
    .being(Reference::Map(|x, [s, _]| x + s))
    .respecting(Law::Open),
    row!("rsub", SCALAR, "value - x", ordered, |call, x| x
        .sub_from(call.options.number("value")?))
    .being(Reference::Map(|x, [s, _]| s - x))
    .for_methods(&[("sub_from", "")])
    .respecting(Law::Open),
    row!(
        "div_scalar",
        SCALAR,
        "x / value; integer division truncates",
        ordered,
        |call, x| x.div_scalar(call.options.number("value")?)
    )
    .being(Reference::Map(|x, [s, _]| x / s))
    .respecting(Law::Open),
    row!("rdiv", SCALAR, "value / x", float, |call, x| x
        .div_from(call.options.number("value")?))
    .being(Reference::Map(|x, [s, _]| s / x))
    .sloping(BESIDE)
    .for_methods(&[("div_from", "")])
    .respecting(Law::Open),
    row!(
        "fmod",
        SCALAR,
        "the remainder of x / value, with x's sign",
        ordered,
        |call, x| x.rem(call.options.number("value")?)
    )
    .being(Reference::Map(|x, [s, _]| x % s))
    .sloping(Gradient::Of(0.1, 0.4))
    .for_methods(&[("rem", "")]),
    row!(
        "bitwise_and",
        SCALAR,
        "bitwise AND of x and value",
        integer,
        |call, x| x.bit_and(call.options.number("value")?)
    )
    .for_methods(&[("bit_and", "")])
    .without_gradient(OF_INTEGERS)
    .of(DType::I32),
    row!(
        "bitwise_or",
        SCALAR,
        "bitwise OR of x and value",
        integer,
        |call, x| x.bit_or(call.options.number("value")?)
    )
    .for_methods(&[("bit_or", "")])
    .without_gradient(OF_INTEGERS)
    .of(DType::I32)
    .respecting(Law::Open),
    row!(
        "bitwise_xor",
        SCALAR,
        "bitwise XOR of x and value",
        integer,
        |call, x| x.bit_xor(call.options.number("value")?)
    )
    .for_methods(&[("bit_xor", "")])
    .without_gradient(OF_INTEGERS)
    .of(DType::I32)
    .respecting(Law::Open),
    row!(
        "bitwise_not",
        UNARY,
        "bitwise NOT of x",
        integer,
        |call, x| x.bit_not()
    )
    .for_methods(&[("bit_not", "")])
    .without_gradient(OF_INTEGERS)
    .of(DType::I32)
    .by_shape(),
    row!(
        "left_shift",
        PLACES,
        "x shifted left by places",
        integer,
        |call, x| x.shift_left(call.options.number::<u32>("places")?)
    )
    .for_methods(&[("shift_left", "")])
    .without_gradient(OF_INTEGERS)
    .of(DType::I32),
    row!(
        "right_shift",
        PLACES,
        "x shifted right by places, preserving the sign of i32",
        integer,
        |call, x| x.shift_right(call.options.number::<u32>("places")?)
    )
    .for_methods(&[("shift_right", "")])
    .without_gradient(OF_INTEGERS)
    .of(DType::I32),
];
