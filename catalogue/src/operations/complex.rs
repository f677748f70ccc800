//! Complex numbers and their parts, under their names in NumPy or PyTorch.

use vsla::scalar::DType;

use super::results::{AMBIENT, each, one};
use super::{BINARY, EXACT, Law, Operation, POSITIVE, ROW, STACKED, STACKS, UNARY, Work, batch};

/// A method of complex values.
macro_rules! map {
    ($name:literal, $method:ident, $about:literal) => {
        Operation {
            name: $name,
            options: UNARY,
            about: $about,
            dtype: DType::C32,
            run: complex!(|call, device, args| batch(args[0].on(&device)?.$method()?)),
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
            results: AMBIENT,
            about: $about,
            run: binary!(single, $method),
            ..ROW
        }
    };
}

pub const ROWS: &[Operation] = &[
    map!("conj", conj, "the complex conjugate").exact(),
    map!("real", real, "the real part").exact(),
    map!("imag", imag, "the imaginary part").exact(),
    map!(
        "angle",
        arg,
        "the angle, from -pi to pi; abs gives the absolute value"
    )
    .sloping(POSITIVE)
    .for_methods(&[("arg", "")]),
    map!(
        "abs_squared",
        abs_squared,
        "the square of the absolute value"
    ),
    map!(
        "view_as_real",
        view_as_real,
        "complex numbers as pairs along another last axis"
    )
    .exact()
    .of_ranks(STACKED)
    .giving(each("s", "(s, 2)", |_, s| {
        one([s[0].as_slice(), &[2]].concat())
    }))
    .counted(Work::Nothing),
    of_parts!(
        "complex",
        complex,
        "the complex numbers with these parts; missing parts are zero"
    )
    .exact(),
    of_parts!(
        "polar",
        polar,
        "the complex numbers with these absolute values and angles"
    )
    .sloping(POSITIVE),
    Operation {
        name: "view_as_complex",
        options: UNARY,
        ranks: STACKS,
        results: each("(s, 2)", "s", |_, s| one(s[0].split_last()?.1.to_vec())),
        about: "pairs along the last axis as complex numbers (of rank 2 unless rank says otherwise)",
        run: single!(|call, device, args| batch(args[0].on(&device)?.view_as_complex()?)),
        rank: Some(2),
        law: Law::Open,
        work: Work::Nothing,
        ..EXACT
    },
];
