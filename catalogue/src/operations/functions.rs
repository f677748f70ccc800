//! Functions of two and three operands, under their names in NumPy or PyTorch; the last may be spread.

use vsla::{Tensor, batch::Spread, scalar::Scalar};

use super::{
    BESIDE, Call, EXACT, Gradient, Operation, POSITIVE, ROW, Reference, WHOLE, batch, results,
};
use crate::failure::{Failure, Result};
use crate::options::{self as opt, Opt};

const SPREAD: &[Opt] = &[opt::DTYPE, opt::RANK, opt::PAIRING, opt::EACH, opt::ALONG];
const FLAT: &[Opt] = &[opt::DTYPE, opt::RANK, opt::EACH, opt::ALONG];

/// The second operand, as it is or spread.
fn spread<'a, T: Scalar>(call: &Call<'_>, x: &'a Tensor<T>) -> Result<Spread<'a, T>> {
    Ok(
        match (call.options.each()?, call.options.optional_axis()?) {
            (true, None) => x.each(),
            (false, Some(axis)) => x.along(axis),
            (false, None) => x.into(),
            (true, Some(_)) => return Err(Failure::request("each and axis exclude each other")),
        },
    )
}

fn check_unspread(call: &Call<'_>) -> Result<()> {
    match call.options.each()? || call.options.optional_axis()?.is_some() {
        true => Err(Failure::request("pairing excludes each and axis")),
        false => Ok(()),
    }
}

/// A function of two operands of these types, and its reference in f64.
macro_rules! function {
    ($name:literal, $method:ident, $about:literal, $types:ident, $reference:expr) => {
        Operation {
            name: $name,
            args: 2,
            options: SPREAD,
            results: results::SPREAD,
            about: $about,
            reference: Reference::Pair($reference),
            run: $types!(|call, device, args| {
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                let result = match call.options.pairs()? {
                    None => a.$method(spread(call, &b)?)?,
                    Some(pairs) => {
                        check_unspread(call)?;
                        a.pair(&b, pairs.pairing())?.$method()?
                    }
                };
                batch(result)
            }),
            ..ROW
        }
    };
}

/// NaN if a value is, and +0 of −0 and +0.
fn larger(x: f64, y: f64) -> f64 {
    match x == y && x.is_sign_negative() || y > x || y.is_nan() {
        true => y,
        false => x,
    }
}

fn mask(x: bool) -> f64 {
    f64::from(u8::from(x))
}

/// The first operands, and the last one spread.
macro_rules! three {
    ($types:ident, |$a:ident, $b:ident, $c:ident| $body:expr) => {
        $types!(|call, device, args| {
            let tensor = |i: usize| args[i].on(&device);
            let ($a, $b, $c) = (tensor(0)?, tensor(1)?, tensor(2)?);
            let $c = spread(call, &$c)?;
            batch($body?)
        })
    };
}

pub const ROWS: &[Operation] = &[
    function!(
        "add",
        add,
        "a + b; missing entries are zero",
        typed,
        |x, y| x + y
    )
    .for_methods(&[("along", "axis"), ("each", "each"), ("pair", "pairing")]),
    function!(
        "sub",
        sub,
        "a - b; missing entries are zero",
        typed,
        |x, y| x - y
    ),
    function!(
        "hadamard",
        hadamard,
        "a * b, value by value; zero where either value is missing",
        typed,
        |x, y| x * y
    ),
    function!(
        "divide",
        div,
        "a / b, value by value; 0 where either value is missing",
        typed,
        |x, y| x / y
    )
    .sloping(BESIDE)
    .by_shape()
    .for_methods(&[("div", "")]),
    function!(
        "multiply",
        hadamard,
        "a * b, value by value; 0 where either value is missing",
        typed,
        |x, y| x * y
    )
    .for_methods(&[("scale_by", "each")]),
    function!(
        "fmod_by",
        remainder,
        "the remainder of a / b, with a's sign",
        ordered,
        |x, y| x % y
    )
    .sloping(Gradient::Of(1.1, 1.9))
    .by_shape()
    .for_methods(&[("remainder", "")]),
    function!(
        "maximum",
        maximum,
        "the larger value, or the only value",
        compared,
        larger
    )
    .exact()
    .sloping(Gradient::Apart)
    .by_shape(),
    function!(
        "minimum",
        minimum,
        "the smaller value, or the only value",
        compared,
        |x, y| -larger(-x, -y)
    )
    .exact()
    .sloping(Gradient::Apart)
    .by_shape(),
    function!("power", pow, "a to the power of b", float, libm::pow)
        .sloping(POSITIVE)
        .for_methods(&[("pow", "")])
        .by_shape(),
    function!(
        "arctan2",
        atan2,
        "the angle of the point (b, a)",
        float,
        libm::atan2
    )
    .sloping(POSITIVE)
    .for_methods(&[("atan2", "")])
    .by_shape(),
    function!(
        "equal",
        equal,
        "1 where a = b; missing entries are zero",
        compared,
        |x, y| mask(x == y)
    )
    .exact()
    .without_gradient(WHOLE)
    .by_shape(),
    function!(
        "not_equal",
        not_equal,
        "1 where a and b differ",
        compared,
        |x, y| mask(x != y)
    )
    .exact()
    .without_gradient(WHOLE),
    function!("less", less, "1 where a < b", compared, |x, y| mask(x < y))
        .exact()
        .without_gradient(WHOLE),
    function!(
        "less_equal",
        less_equal,
        "1 where a <= b",
        compared,
        |x, y| mask(x <= y)
    )
    .exact()
    .without_gradient(WHOLE)
    .by_shape(),
    function!("greater", greater, "1 where a > b", compared, |x, y| mask(
        x > y
    ))
    .exact()
    .without_gradient(WHOLE),
    function!(
        "greater_equal",
        greater_equal,
        "1 where a >= b",
        compared,
        |x, y| mask(x >= y)
    )
    .exact()
    .without_gradient(WHOLE)
    .by_shape(),
    Operation {
        name: "addcmul",
        args: 3,
        options: FLAT,
        results: results::SPREAD_OF_THREE,
        about: "a + b * c, value by value; c may be broadcast",
        run: three!(ordered, |a, b, c| b.mul_add(c, &a)),
        methods: &[("mul_add", "")],
        ..ROW
    },
    Operation {
        name: "where",
        args: 3,
        options: FLAT,
        results: results::SPREAD_OF_THREE,
        about: "b where a is not 0, c elsewhere; c may be broadcast",
        run: three!(compared, |a, b, c| {
            let zero = a.device().full(a.layout(), Default::default())?;
            a.not_equal(&zero)?.if_else(&b, c)
        }),
        methods: &[("if_else", "")],
        ..EXACT
    },
];
