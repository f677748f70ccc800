//! Complex numbers and their parts, under their names in NumPy or PyTorch.

use vsla::scalar::DType;

use super::{BINARY, Grows, Law, Operation, POSITIVE, ROW, UNARY, Work, batch, complex, floats};

/// A method of complex values.
macro_rules! map {
    ($name:literal, $method:ident, $about:literal) => {
        Operation {
            name: $name,
            options: UNARY,
            about: $about,
            run: |call| {
                let (device, args) = complex(call)?;
                batch(args[0].on(&device)?.$method()?)
            },
            ..ROW
        }
    };
}

/// A method of two batches of floats.
macro_rules! of_parts {
    ($name:literal, $method:ident, $about:literal) => {
        Operation {
            name: $name,
            args: 2,
            options: BINARY,
            grows: Grows::Ambient,
            about: $about,
            run: |call| {
                let pairs = call.options.pairs()?;
                let (device, args) = floats(call)?;
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                let result = match pairs {
                    None => a.$method(&b)?,
                    Some(pairs) => a.pair(&b, pairs.pairing())?.$method()?,
                };
                batch(result)
            },
            ..ROW
        }
    };
}

pub const ROWS: &[Operation] = &[
    map!(
        "conj",
        conj,
        "the complex conjugate (c32, like all functions of this group)"
    )
    .of(DType::C32),
    map!("real", real, "the real part").of(DType::C32),
    map!("imag", imag, "the imaginary part").of(DType::C32),
    map!(
        "angle",
        arg,
        "the angle, from -pi to pi; abs gives the absolute value"
    )
    .sloping(POSITIVE)
    .for_methods(&[("arg", "")])
    .of(DType::C32),
    map!(
        "abs_squared",
        abs_squared,
        "the square of the absolute value"
    )
    .of(DType::C32),
    map!(
        "view_as_real",
        view_as_real,
        "complex numbers as pairs along another last axis"
    )
    .counted(Work::Nothing)
    .of(DType::C32),
    of_parts!(
        "complex",
        complex,
        "the complex numbers with these parts (f32); missing parts are zero"
    ),
    of_parts!(
        "polar",
        polar,
        "the complex numbers with these absolute values and angles (f32)"
    )
    .sloping(POSITIVE),
    Operation {
        name: "view_as_complex",
        options: UNARY,
        about: "pairs along the last axis as complex numbers (f32, rank 2 unless rank says otherwise)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(args[0].on(&device)?.view_as_complex()?)
        },
        rank: Some(2),
        law: Law::Open,
        work: Work::Nothing,
        ..ROW
    },
];
