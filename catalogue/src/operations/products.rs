//! Products of elements: convolutions, correlations, Kronecker and outer products.

use vsla::{
    Pairing,
    batch::{MAX_RANK, Side},
    conv::{ConvMethod, ConvMode},
};

use super::results::{Results, by_values, each, one, product};
use super::{
    Answer, BINARY, Gradient, Law, Operation, POSITIVE, READS, ROW, STACKED, UNARY, VECTORS, Work,
    batch,
};
use crate::options::{self as opt, Opt};
use crate::request::Pairs;

/// A convolution with the mode and strides of the options.
macro_rules! windowed {
    ($method:ident) => {
        real!(|call, device, args| {
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            let (options, pairs) = (&call.options, call.options.pairs()?);
            let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
            let mut pair = a
                .pair(&b, pairing)?
                .convolution()
                .method(options.method()?)
                .mode(options.mode()?);
            let strides = options.strides()?;
            if let Some(strides) = &strides {
                pair = pair.stride(strides);
            }
            if let Some(side) = options.side()? {
                pair = pair.side(side);
            }
            batch(pair.$method()?)
        })
    };
}

const CONVOLVED: &[Opt] = &[opt::DTYPE, opt::RANK, opt::PAIRING, opt::METHOD];
const MODES: &[Opt] = &[
    opt::DTYPE,
    opt::RANK,
    opt::PAIRING,
    opt::METHOD,
    opt::MODE,
    opt::SIDE,
    opt::STRIDES,
];
/// One to three axes.
const BOXES: &[[usize; 2]] = &[[1, 3]];
const CONVOLUTION: Results = each(
    "m and n on each axis",
    "m + n − 1 on each axis, or 0 if an extent is 0; a mode and strides keep a part",
    |options, s| {
        let (mode, side) = (options.mode().ok()?, options.side().ok()?);
        let strides = options.strides().ok()?;
        let strides = strides.unwrap_or_else(|| vec![1; s[0].len()]);
        let kept = |((&m, &n), stride): ((&usize, &usize), usize)| {
            let whole = match mode {
                ConvMode::Full => (m + n).saturating_sub(1),
                ConvMode::Valid => m.abs_diff(n) + 1,
                _ if side == Some(Side::Right) => n,
                _ => m,
            };
            (stride > 0).then(|| whole.div_ceil(stride))
        };
        let both = s[0].iter().zip(&s[1]).zip(strides);
        product(both.map(kept).collect::<Option<_>>()?, s)
    },
);
/// A value and a lag.
const BEST: Results = each("m and n", "one value, and one lag", |_, _| {
    Some(vec![vec![1], vec![1]])
});

/// The best correlation of each pair, as two values of these names.
macro_rules! best {
    ($method:ident, $value:ident) => {
        single!(|call, device, args| {
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            let best = match (call.options.pairs()?, call.options.method()?) {
                (None, ConvMethod::Auto) => a.$method(&b)?,
                (pairs, method) => {
                    let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
                    let pair = a.pair(&b, pairing)?;
                    pair.convolution().method(method).$method()?
                }
            };
            let (value, lag) = (best.$value.into(), best.lag.into());
            Ok(Answer::Fields([(stringify!($value), value), ("lag", lag)]))
        })
    };
}

pub const ROWS: &[Operation] = &[
    Operation {
        name: "conv",
        args: 2,
        options: MODES,
        ranks: BOXES,
        results: CONVOLUTION,
        about: "the convolution of each pair",
        run: windowed!(conv),
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
        ranks: BOXES,
        results: CONVOLUTION,
        about: "the cross-correlation of each pair; value q is lag q - (n - 1)",
        run: windowed!(correlate),
        law: Law::Left,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "causal",
        args: 2,
        options: BINARY,
        ranks: VECTORS,
        results: each("m and n", "m, or 0 if n is 0", |_, s| {
            product(s[0].clone(), s)
        }),
        about: "the convolution of each pair, cut to the length of its left side, by a ConvPlan",
        run: single!(|call, device, args| {
            let pairs = call.options.pairs()?;
            let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            batch(a.pair(&b, pairing)?.conv_plan()?.causal(&a)?)
        }),
        methods: &[("conv_plan", "")],
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "correlate_max",
        args: 2,
        options: CONVOLVED,
        ranks: VECTORS,
        results: BEST,
        about: "{value, lag} of the largest cross-correlation of each pair",
        run: best!(correlate_max, value),
        law: Law::None,
        gradient: Gradient::Apart,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "sbd",
        args: 2,
        options: CONVOLVED,
        ranks: VECTORS,
        results: BEST,
        about: "{distance, lag}: the shape-based distance of each pair",
        run: best!(sbd, distance),
        law: Law::None,
        gradient: POSITIVE,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "kron",
        args: 2,
        options: BINARY,
        results: each(
            "s and t",
            "the products of the extents; 0 on each axis without values",
            |_, s| {
                let both = s[0].iter().zip(&s[1]);
                product(both.map(|(a, b)| a.saturating_mul(*b)).collect(), s)
            },
        ),
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
        ranks: STACKED,
        results: each(
            "s and t",
            "(s, t), of at most 8 axes; 0 on each axis without values",
            |_, s| product(s.concat(), s),
        ),
        about: "the outer product of each pair, whose ranks add up",
        run: binary!(ordered, outer),
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "degree",
        options: UNARY,
        ranks: VECTORS,
        results: by_values("n", "on the host: a number, or none"),
        about: "the degree of each polynomial; null for zero",
        run: ordered!(|call, device, args| {
            let degrees = args[0].on(&device)?.degree_blocking()?;
            Ok(Answer::Json(degrees.into_iter().collect()))
        }),
        reads_values: true,
        gradient: READS,
        ..ROW
    },
    Operation {
        name: "eval",
        args: 2,
        options: BINARY,
        ranks: &[[1, 1], [1, MAX_RANK]],
        results: each(
            "n coefficients, and points s",
            "s",
            |_, s| one(s[1].clone()),
        ),
        about: "each polynomial, constant coefficient first, evaluated at the points of the other element",
        run: binary!(ordered, eval),
        law: Law::Left,
        work: Work::More,
        ..ROW
    },
];
