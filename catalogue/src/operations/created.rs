//! Batches made on a device, under NumPy's names, and dropout.

use vsla::{Device, Layout, f16, scalar::DType};

use super::{Call, Law, NO_OPERANDS, Operation, ROW, batch, within};
use crate::batch::written_size;
use crate::failure::{Failure, Result};
use crate::held::Args;

/// The result of `$body` for a type of `$kind`, where `$type` names the type.
macro_rules! made {
    ($call:ident, |$device:ident, $layout:ident, $type:ident| $body:expr, $($kind:ident $of:ty),*) => {{
        let ($device, $layout) = layout($call)?;
        match &$call.args {
            $(Args::$kind(_) => {
                type $type = $of;
                batch($body)
            })*
            other => Err(Failure::dtype(&[$(DType::$kind),*], other.dtype())),
        }
    }};
}

pub const ROWS: &[Operation] = &[
    Operation {
        name: "arange",
        args: 0,
        options: &["dtype", "rank", "shapes", "from", "step"],
        about: "from, from + step, .. in each element",
        run: |call| {
            made!(call, |device, layout, T| {
                let from = call.options.optional::<T>("from")?.unwrap_or_default();
                device.arange(&layout, from, call.options.number::<T>("step")?)?
            }, F32 f32, F16 f16, I32 i32, U32 u32)
        },
        gradient: NO_OPERANDS,
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "linspace",
        args: 0,
        options: &["dtype", "rank", "shapes", "from", "to"],
        about: "equal steps in each element, both ends included (f32 or f16)",
        run: |call| {
            made!(call, |device, layout, T| {
                let from = call.options.number::<T>("from")?;
                device.linspace(&layout, from, call.options.number::<T>("to")?)?
            }, F32 f32, F16 f16)
        },
        gradient: NO_OPERANDS,
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "eye",
        args: 0,
        options: &["dtype", "rank", "shapes"],
        about: "matrices with 1 on the diagonal",
        run: |call| made!(call, |device, layout, T| device.eye::<T>(&layout)?, F32 f32, F16 f16, I32 i32, U32 u32),
        gradient: NO_OPERANDS,
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "hann_window",
        args: 0,
        options: &["size"],
        about: "the periodic Hann window of size values, as one vector",
        run: |call| {
            let size = call.options.number::<u32>("size")? as usize;
            within(call.max_values, &mut std::iter::once(size as u64))?;
            batch(call.device()?.hann(size)?)
        },
        methods: &[("hann", "")],
        gradient: NO_OPERANDS,
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "uniform",
        args: 0,
        options: &["dtype", "rank", "shapes", "low", "high", "seed"],
        about: "random values from low to before high",
        run: |call| {
            made!(call, |device, layout, T| {
                let low = call.options.number::<T>("low")?;
                device.uniform(&layout, low, call.options.number::<T>("high")?, call.options.seed()?)?
            }, F32 f32, F16 f16, I32 i32, U32 u32)
        },
        gradient: NO_OPERANDS,
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "normal",
        args: 0,
        options: &["dtype", "rank", "shapes", "mean", "deviation", "seed"],
        about: "random values of a normal distribution (f32 or f16)",
        run: |call| {
            made!(call, |device, layout, T| {
                let mean = call.options.number::<T>("mean")?;
                device.normal(&layout, mean, call.options.number::<T>("deviation")?, call.options.seed()?)?
            }, F32 f32, F16 f16)
        },
        gradient: NO_OPERANDS,
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "dropout",
        options: &["dtype", "rank", "p", "seed"],
        about: "zero with probability p, otherwise x / (1 - p) (f32 or f16)",
        run: |call| {
            let (p, seed) = (call.options.number::<f32>("p")?, call.options.seed()?);
            float!(call, |device, args| batch(
                args[0].on(&device)?.dropout(p, seed)?
            ))
        },
        is_local: false,
        methods: &[("from_element", "seed")],
        law: Law::None,
        ..ROW
    },
];

/// The layout of the answer, if it is not too large.
fn layout(call: &mut Call<'_>) -> Result<(Device, Layout)> {
    let (rank, shapes) = call.options.shapes()?;
    within(call.max_values, &mut shapes.iter().map(written_size))?;
    Ok((call.device()?, Layout::from_shapes(rank, shapes)?))
}
