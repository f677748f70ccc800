//! Functions of two and three operands, under their names in NumPy or PyTorch; the last may be spread.

use vsla::{
    Result as Outcome, Tensor,
    batch::Spread,
    scalar::{Factor, Scalar},
};

use super::{Answer, Call, Grows, Operation, batch};
use crate::batch::Number;
use crate::failure::{Failure, Result};
use crate::held::{Args, Held};

const SPREAD: &[&str] = &["dtype", "rank", "pairing", "each", "axis"];
const FLAT: &[&str] = &["dtype", "rank", "each", "axis"];

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

/// A function of two operands of these types.
macro_rules! function {
    ($name:literal, $method:ident, $about:literal, $($kind:ident)*) => {
        Operation {
            name: $name,
            args: 2,
            options: SPREAD,
            grows: Grows::Ambient,
            about: $about,
            run: |call| {
                let device = call.device()?;
                match &call.args {
                    $(Args::$kind(args) => {
                        let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                        let result = match call.options.pairs()? {
                            None => a.$method(spread(call, &b)?)?,
                            Some(pairs) => a.pair(&b, pairs.pairing())?.$method()?,
                        };
                        batch(result)
                    })*
                    #[allow(unreachable_patterns, reason = "some functions take all types")]
                    _ => Err(Failure::request(concat!(
                        "dtype: this operation takes", $(" ", stringify!($kind)),*
                    ))),
                }
            },
        }
    };
}

pub const ROWS: &[Operation] = &[
    function!("divide", div, "a / b, value by value; 0 where either value is missing", F32 F16 I32 U32 C32),
    function!("multiply", hadamard, "a * b, value by value; 0 where either value is missing", F32 F16 I32 U32 C32),
    function!("fmod_by", remainder, "the remainder of a / b, with a's sign", F32 F16 I32 U32),
    function!("maximum", maximum, "the larger value, or the only value", F32 F16 I32 U32),
    function!("minimum", minimum, "the smaller value, or the only value", F32 F16 I32 U32),
    function!("power", pow, "a to the power of b (f32 or f16)", F32 F16),
    function!("arctan2", atan2, "the angle of the point (b, a) (f32 or f16)", F32 F16),
    function!("equal", equal, "1 where a = b; missing entries are zero", F32 F16 I32 U32),
    function!("not_equal", not_equal, "1 where a and b differ", F32 F16 I32 U32),
    function!("less", less, "1 where a < b", F32 F16 I32 U32),
    function!("less_equal", less_equal, "1 where a <= b", F32 F16 I32 U32),
    function!("greater", greater, "1 where a > b", F32 F16 I32 U32),
    function!("greater_equal", greater_equal, "1 where a >= b", F32 F16 I32 U32),
    Operation {
        name: "addcmul",
        args: 3,
        options: FLAT,
        grows: Grows::Ambient,
        about: "a + b * c, value by value; c may be broadcast",
        run: |call| three(call, Three::MulAdd),
    },
    Operation {
        name: "where",
        args: 3,
        options: FLAT,
        grows: Grows::Ambient,
        about: "b where a is not 0, c elsewhere; c may be broadcast",
        run: |call| three(call, Three::Where),
    },
];

#[derive(Clone, Copy)]
enum Three {
    MulAdd,
    Where,
}

fn three(call: &mut Call<'_>, which: Three) -> Result<Answer> {
    fn of<T: Factor + Number>(
        call: &Call<'_>,
        [a, b, c]: [&Tensor<T>; 3],
        which: Three,
    ) -> Result<Answer>
    where
        Held: From<Tensor<T>>,
    {
        let c = spread(call, c)?;
        let result: Outcome<Tensor<T>> = match which {
            Three::MulAdd => b.mul_add(c, a),
            Three::Where => {
                let zero = a.device().full(a.layout(), T::default())?;
                a.not_equal(&zero)?.if_else(b, c)
            }
        };
        batch(result?)
    }
    let device = call.device()?;
    macro_rules! of {
        ($args:ident) => {{
            let tensor = |i: usize| $args[i].on(&device);
            of(call, [&tensor(0)?, &tensor(1)?, &tensor(2)?], which)
        }};
    }
    match &call.args {
        Args::F32(args) => of!(args),
        Args::F16(args) => of!(args),
        Args::I32(args) => of!(args),
        Args::U32(args) => of!(args),
        Args::C32(_) => Err(Failure::request(
            "dtype: this operation does not support complex numbers",
        )),
    }
}
