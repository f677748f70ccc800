//! Reductions to one value for each element, or for each pair.

use super::{Answer, BINARY, Grows, Operation, UNARY, batch, floats};

pub const ROWS: &[Operation] = &[
    Operation {
        name: "sum",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the sum of each element; 0 for an empty element",
        run: unary!(sum),
    },
    Operation {
        name: "norm2",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the Euclidean norm of each element (f32)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(device.upload(&args[0])?.norm2()?.download_blocking()?)
        },
    },
    Operation {
        name: "max",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the largest value of each element; -inf (or the least integer) for an empty element",
        run: unary!(max),
    },
    Operation {
        name: "argmax",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the index of the largest value of each element; 4294967295 for an empty element",
        run: unary!(argmax),
    },
    Operation {
        name: "min",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the smallest value of each element; inf (or the largest integer) for an empty element",
        run: unary!(min),
    },
    Operation {
        name: "argmin",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the index of the smallest value of each element; 4294967295 for an empty element",
        run: unary!(argmin),
    },
    Operation {
        name: "dot",
        args: 2,
        options: BINARY,
        grows: Grows::Pair,
        about: "the inner product of each pair; missing entries are zero",
        run: binary!(dot),
    },
    Operation {
        name: "equivalent",
        args: 2,
        options: BINARY,
        grows: Grows::Pair,
        about: "whether each pair is equal up to trailing zeros",
        run: |call| {
            real!(call, |device, args| {
                let (a, b) = (device.upload(&args[0])?, device.upload(&args[1])?);
                Ok(Answer::Truths(match call.options.pairs()? {
                    None => a.equivalent_blocking(&b)?,
                    Some(pairs) => a.pair(&b, pairs.pairing())?.equivalent_blocking()?,
                }))
            })
        },
    },
    Operation {
        name: "norm1",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the sum of absolute values of each element (f32)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(device.upload(&args[0])?.norm1()?.download_blocking()?)
        },
    },
];
