//! Batches made on a device, under NumPy's names, and dropout.

use vsla::{Layout, Tensor, scalar::Scalar};

use super::results::{MADE, all, listed};
use super::{Answer, Call, Law, MATRICES, NO_OPERANDS, Operation, ROW, VECTORS, batch};
use crate::failure::Result;
use crate::held::{Arg, Held};
use crate::options as opt;

/// A batch of the requested shapes, of these types.
macro_rules! made {
    (
        $name:literal, $types:ident, $taken:expr, $about:literal,
        |$device:ident, $layout:ident, $options:ident| $made:expr
    ) => {
        Operation {
            name: $name,
            args: 0,
            options: $taken,
            results: MADE,
            about: $about,
            run: $types!(|call, $device, args| {
                let ($layout, $options) = (layout(call)?, &call.options);
                of_type(args, $made)
            }),
            gradient: NO_OPERANDS,
            law: Law::Open,
            ..ROW
        }
    };
}

pub const ROWS: &[Operation] = &[
    made!(
        "full",
        every,
        &[opt::DTYPE, opt::RANK, opt::SHAPES, opt::VALUE],
        "a batch of these shapes, filled with one value",
        |device, layout, options| device.full(&layout, options.number("value")?)
    ),
    made!(
        "arange",
        ordered,
        &[
            opt::DTYPE,
            opt::RANK,
            opt::SHAPES,
            opt::FROM_ZERO,
            opt::STEP
        ],
        "from, from + step, .. in each element",
        |device, layout, options| {
            device.arange(&layout, options.number("from")?, options.number("step")?)
        }
    ),
    made!(
        "linspace",
        float,
        &[opt::DTYPE, opt::RANK, opt::SHAPES, opt::FROM, opt::TO],
        "equal steps in each element, both ends included",
        |device, layout, options| {
            device.linspace(&layout, options.number("from")?, options.number("to")?)
        }
    ),
    made!(
        "eye",
        ordered,
        &[opt::DTYPE, opt::RANK, opt::SHAPES],
        "matrices with 1 on the diagonal",
        |device, layout, _options| device.eye(&layout)
    )
    .of_ranks(MATRICES),
    Operation {
        name: "hann_window",
        args: 0,
        options: &[opt::SIZE_OF_VALUES],
        ranks: VECTORS,
        results: all("a number n", "one vector of n values", |options, _| {
            listed(vec![vec![options.size("size").ok()?]])
        }),
        about: "the periodic Hann window of size values, as one vector",
        run: single!(|call, device, _args| {
            let size = call.options.number::<u32>("size")? as usize;
            batch(device.hann(size)?)
        }),
        methods: &[("hann", "")],
        gradient: NO_OPERANDS,
        law: Law::Open,
        ..ROW
    },
    made!(
        "uniform",
        ordered,
        &[
            opt::DTYPE,
            opt::RANK,
            opt::SHAPES,
            opt::LOW,
            opt::HIGH,
            opt::SEED
        ],
        "random values from low to before high",
        |device, layout, options| {
            let (low, high) = (options.number("low")?, options.number("high")?);
            device.uniform(&layout, low, high, options.seed()?)
        }
    ),
    made!(
        "normal",
        float,
        &[
            opt::DTYPE,
            opt::RANK,
            opt::SHAPES,
            opt::MEAN,
            opt::DEVIATION,
            opt::SEED
        ],
        "random values of a normal distribution",
        |device, layout, options| {
            let (mean, deviation) = (options.number("mean")?, options.number("deviation")?);
            device.normal(&layout, mean, deviation, options.seed()?)
        }
    ),
    Operation {
        name: "dropout",
        options: &[opt::DTYPE, opt::RANK, opt::P, opt::SEED],
        about: "zero with probability p, otherwise x / (1 - p)",
        run: float!(|call, device, args| {
            let (p, seed) = (call.options.number::<f32>("p")?, call.options.seed()?);
            batch(args[0].on(&device)?.dropout(p, seed)?)
        }),
        is_local: false,
        methods: &[("from_element", "seed")],
        law: Law::None,
        ..ROW
    },
];

/// The layout that a request lists.
fn layout(call: &Call<'_>) -> Result<Layout> {
    let (rank, shapes) = call.options.shapes()?;
    Ok(Layout::from_shapes(rank, shapes)?)
}

/// An answer of the type of the arguments.
pub fn of_type<T: Scalar>(_: &[Arg<T>], made: vsla::Result<Tensor<T>>) -> Result<Answer>
where
    Held: From<Tensor<T>>,
{
    batch(made?)
}
