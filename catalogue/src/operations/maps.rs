//! Elementwise functions, under their names in NumPy or PyTorch.

use vsla::scalar::DType;

use super::{BESIDE, Gradient, Law, OF_INTEGERS, Operation, POSITIVE, ROW, UNARY, batch};
use crate::options::{self as opt, Opt};

/// The body for arguments of an integer type of 32 bits.
macro_rules! integer {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [I32 U32] => $body)
    };
}

/// A function of the argument, of these types.
macro_rules! row {
    ($name:literal, $options:expr, $about:literal, $types:ident, |$call:ident, $x:ident| $body:expr) => {
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

/// A method without options.
macro_rules! function {
    ($name:literal, $method:ident, $about:literal) => {
        row!($name, UNARY, $about, float, |call, x| x.$method())
    };
}

const SCALAR: &[Opt] = &[opt::DTYPE, opt::RANK, opt::VALUE];
const PLACES: &[Opt] = &[opt::DTYPE, opt::RANK, opt::PLACES];

pub const ROWS: &[Operation] = &[
    function!("exp", exp, "e to the power of x").by_shape(),
    function!("exp2", exp2, "2 to the power of x").by_shape(),
    function!("expm1", expm1, "e to the power of x, minus 1"),
    function!("log", log, "the natural logarithm")
        .sloping(POSITIVE)
        .by_shape(),
    function!("log2", log2, "the logarithm to the base 2")
        .sloping(POSITIVE)
        .by_shape(),
    function!("log1p", log1p, "log(1 + x)").sloping(POSITIVE),
    function!("sqrt", sqrt, "the square root").sloping(POSITIVE),
    function!("rsqrt", rsqrt, "1 / the square root")
        .sloping(POSITIVE)
        .by_shape(),
    function!("reciprocal", reciprocal, "1 / x")
        .sloping(BESIDE)
        .by_shape(),
    function!("sin", sin, "the sine"),
    function!("cos", cos, "the cosine").by_shape(),
    function!("tanh", tanh, "the hyperbolic tangent"),
    function!("sigmoid", sigmoid, "1 / (1 + exp(-x))").by_shape(),
    function!("silu", silu, "x sigmoid(x)"),
    function!("softplus", softplus, "log(1 + exp(x))").by_shape(),
    function!("erf", erf, "the error function"),
    function!(
        "gelu",
        gelu,
        "x times the standard normal distribution function of x"
    ),
    function!("gelu_tanh", gelu_tanh, "gelu, approximated with tanh"),
    function!("relu", relu, "x if above 0, else 0")
        .exact()
        .sloping(BESIDE),
    function!("floor", floor, "the largest integer not above x")
        .exact()
        .sloping(Gradient::Zero),
    function!("ceil", ceil, "the smallest integer not below x")
        .exact()
        .sloping(Gradient::Zero),
    function!("round", round, "the nearest integer, ties to even")
        .exact()
        .sloping(Gradient::Zero),
    row!(
        "leaky_relu",
        &[opt::DTYPE, opt::RANK, opt::NEGATIVE_SLOPE],
        "x if above 0, else negative_slope * x",
        float,
        |call, x| x.leaky_relu(call.options.number("negative_slope")?)
    )
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
    .sloping(POSITIVE)
    .for_methods(&[("powf", ""), ("powi", "")])
    .respecting(Law::Open),
    row!("abs", UNARY, "the absolute value", typed, |call, x| x.abs()).sloping(BESIDE),
    row!("sign", UNARY, "1, 0 or -1", ordered, |call, x| x.sign())
        .exact()
        .sloping(Gradient::Zero),
    row!("square", UNARY, "x * x", ordered, |call, x| x.square()),
    row!(
        "clip",
        &[opt::DTYPE, opt::RANK, opt::MIN, opt::MAX],
        "x, but at least min and at most max",
        ordered,
        |call, x| x.clamp(call.options.number("min")?, call.options.number("max")?)
    )
    .exact()
    .sloping(Gradient::Of(0.1, 0.4))
    .for_methods(&[("clamp", "")])
    .respecting(Law::Open),
    row!("add_scalar", SCALAR, "x + value", ordered, |call, x| x
        .add_scalar(call.options.number("value")?))
    .respecting(Law::Open),
    row!("rsub", SCALAR, "value - x", ordered, |call, x| x
        .sub_from(call.options.number("value")?))
    .for_methods(&[("sub_from", "")])
    .respecting(Law::Open),
    row!(
        "div_scalar",
        SCALAR,
        "x / value; integer division truncates",
        ordered,
        |call, x| x.div_scalar(call.options.number("value")?)
    )
    .respecting(Law::Open),
    row!("rdiv", SCALAR, "value / x", float, |call, x| x
        .div_from(call.options.number("value")?))
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
