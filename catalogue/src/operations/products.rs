//! Products of elements: convolutions, correlations, Kronecker and outer products.

use vsla::{Pairing, conv::ConvMethod};

use super::{
    Answer, BINARY, Gradient, Grows, Law, Operation, POSITIVE, READS, ROW, UNARY, Work, batch,
    floats,
};
use crate::request::Pairs;

/// A convolution by a selectable method, of two tensors or of a pairing of them.
macro_rules! convolved {
    ($args:expr, $device:expr, $options:expr, $method:ident) => {{
        let (a, b) = ($args[0].on(&$device)?, $args[1].on(&$device)?);
        match ($options.pairs()?, $options.method()?) {
            (None, ConvMethod::Auto) => a.$method(&b)?,
            (pairs, method) => {
                let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
                a.pair(&b, pairing)?
                    .convolution()
                    .method(method)
                    .$method()?
            }
        }
    }};
}

/// A convolution with the mode and strides of the options.
macro_rules! windowed {
    ($args:expr, $device:expr, $options:expr, $method:ident) => {{
        let (a, b) = ($args[0].on(&$device)?, $args[1].on(&$device)?);
        let pairs = $options.pairs()?;
        let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
        let mut pair = a
            .pair(&b, pairing)?
            .convolution()
            .method($options.method()?)
            .mode($options.mode()?);
        if let Some(strides) = $options.strides()? {
            pair = pair.stride(&strides);
        }
        if let Some(side) = $options.side()? {
            pair = pair.side(side);
        }
        batch(pair.$method()?)
    }};
}

const CONVOLVED: &[&str] = &["dtype", "rank", "pairing", "method"];
const MODES: &[&str] = &[
    "dtype", "rank", "pairing", "method", "mode", "side", "strides",
];

pub const ROWS: &[Operation] = &[
    Operation {
        name: "conv",
        args: 2,
        options: MODES,
        grows: Grows::Lengths,
        about: "the convolution of each pair (ranks 1 to 3)",
        run: |call| {
            real!(call, |device, args| windowed!(
                args,
                device,
                call.options,
                conv
            ))
        },
        methods: &[
            ("convolution", ""),
            ("method", "method"),
            ("mode", "mode"),
            ("side", "side"),
            ("stride", "strides"),
        ],
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "correlate",
        args: 2,
        options: MODES,
        grows: Grows::Lengths,
        about: "the cross-correlation of each pair; value q is lag q - (n - 1) (ranks 1 to 3)",
        run: |call| {
            real!(call, |device, args| windowed!(
                args,
                device,
                call.options,
                correlate
            ))
        },
        law: Law::Left,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "causal",
        args: 2,
        options: BINARY,
        grows: Grows::Lengths,
        about: "the convolution of each pair, cut to the length of its left side, by a ConvPlan (f32, rank 1)",
        run: |call| {
            let pairs = call.options.pairs()?;
            let (device, args) = floats(call)?;
            let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            let product = a.pair(&b, pairing)?.conv_plan()?.causal(&a)?;
            batch(product)
        },
        methods: &[("conv_plan", "")],
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "correlate_max",
        args: 2,
        options: CONVOLVED,
        grows: Grows::Pair,
        about: "{value, lag} of the largest cross-correlation of each pair (f32, rank 1)",
        run: |call| {
            let options = call.options.clone();
            let (device, args) = floats(call)?;
            let best = convolved!(args, device, options, correlate_max);
            let value = best.value.into();
            let lag = best.lag.into();
            Ok(Answer::Fields([("value", value), ("lag", lag)]))
        },
        law: Law::None,
        gradient: Gradient::Apart,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "sbd",
        args: 2,
        options: CONVOLVED,
        grows: Grows::Pair,
        about: "{distance, lag}: the shape-based distance of each pair (f32, rank 1)",
        run: |call| {
            let options = call.options.clone();
            let (device, args) = floats(call)?;
            let best = convolved!(args, device, options, sbd);
            let distance = best.distance.into();
            let lag = best.lag.into();
            Ok(Answer::Fields([("distance", distance), ("lag", lag)]))
        },
        law: Law::None,
        gradient: POSITIVE,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "kron",
        args: 2,
        options: BINARY,
        grows: Grows::Sizes,
        about: "the Kronecker product of each pair, on the stored shapes",
        run: binary!(ordered, kron),
        law: Law::Left,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "outer",
        args: 2,
        options: BINARY,
        grows: Grows::Sizes,
        about: "the outer product of each pair, whose ranks add up",
        run: binary!(ordered, outer),
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "degree",
        options: UNARY,
        about: "the degree of each polynomial; null for zero (rank 1)",
        run: |call| {
            ordered!(call, |device, args| {
                let degrees = args[0].on(&device)?.degree_blocking()?;
                Ok(Answer::Json(degrees.into_iter().collect()))
            })
        },
        reads_values: true,
        gradient: READS,
        ..ROW
    },
    Operation {
        name: "eval",
        args: 2,
        options: BINARY,
        grows: Grows::Lengths,
        about: "each polynomial, constant coefficient first, evaluated at the points of the other element",
        run: binary!(ordered, eval),
        law: Law::Left,
        work: Work::More,
        ..ROW
    },
];
