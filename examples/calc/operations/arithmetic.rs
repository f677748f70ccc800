//! Arithmetic on the values of one element, and of two paired elements.

use vsla::{Complex32, Device, Layout, Tensor, f16};

use super::{
    Answer, BINARY, Call, Grows, Operation, UNARY, batch, complex, floats, halves, within,
};
use crate::batch::{Number, written_size};
use crate::failure::Result;
use crate::held::Args;
use crate::request::Options;

pub const ROWS: &[Operation] = &[
    Operation {
        name: "add",
        args: 2,
        options: BINARY,
        grows: Grows::Ambient,
        about: "a + b; missing entries are zero",
        run: of_numbers!(add),
    },
    Operation {
        name: "sub",
        args: 2,
        options: BINARY,
        grows: Grows::Ambient,
        about: "a - b; missing entries are zero",
        run: of_numbers!(sub),
    },
    Operation {
        name: "hadamard",
        args: 2,
        options: BINARY,
        grows: Grows::Ambient,
        about: "a * b, value by value; zero where either value is missing",
        run: of_numbers!(hadamard),
    },
    Operation {
        name: "scale",
        args: 1,
        options: &["dtype", "rank", "factor"],
        grows: Grows::No,
        about: "factor * x, where factor is of x's type",
        run: |call| {
            if let Args::C32(_) = &call.args {
                return scaled(call);
            }
            real!(call, |device, args| {
                let factor = call.options.number("factor")?;
                let x = args[0].on(&device)?;
                batch(x.scale(factor)?)
            })
        },
    },
    Operation {
        name: "copy",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "x, copied on the device",
        run: |call| typed!(call, |device, args| { batch(args[0].on(&device)?.copy()?) }),
    },
    Operation {
        name: "to_f16",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "the nearest f16 of each value, ties to even (f32)",
        run: |call| {
            let (device, args) = floats(call)?;
            batch(args[0].on(&device)?.to::<f16>()?)
        },
    },
    Operation {
        name: "to_f32",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "each value as f32 (f16)",
        run: |call| {
            let (device, args) = halves(call)?;
            batch(args[0].on(&device)?.to::<f32>()?)
        },
    },
    Operation {
        name: "full",
        args: 0,
        options: &["dtype", "rank", "shapes", "value"],
        grows: Grows::No,
        about: "a batch of these shapes, filled with one value",
        run: full,
    },
    Operation {
        name: "elements",
        args: 1,
        options: &["dtype", "rank", "range"],
        grows: Grows::No,
        about: "a range of elements, as a view",
        run: |call| {
            typed!(call, |device, args| {
                let range = call.options.range()?;
                let x = args[0].on(&device)?;
                batch(x.elements(range)?)
            })
        },
    },
    Operation {
        name: "neg",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "-x",
        run: |call| {
            if let Args::C32(_) = &call.args {
                let (device, args) = complex(call)?;
                return batch(args[0].on(&device)?.neg()?);
            }
            real!(call, |device, args| { batch(args[0].on(&device)?.neg()?) })
        },
    },
];

/// Complex values times a complex factor.
fn scaled(call: &mut Call<'_>) -> Result<Answer> {
    let factor = call.options.number::<Complex32>("factor")?;
    let (device, args) = complex(call)?;
    let x = args[0].on(&device)?;
    batch(x.scale_complex(factor)?)
}

fn full(call: &mut Call<'_>) -> Result<Answer> {
    let (rank, shapes) = call.options.shapes()?;
    within(call.max_values, &mut shapes.iter().map(written_size))?;
    let layout = Layout::from_shapes(rank, shapes)?;
    let device = call.device()?;
    let options = &call.options;
    match call.args {
        Args::F32(_) => batch(filled::<f32>(&device, &layout, options)?),
        Args::I32(_) => batch(filled::<i32>(&device, &layout, options)?),
        Args::U32(_) => batch(filled::<u32>(&device, &layout, options)?),
        Args::C32(_) => batch(filled::<Complex32>(&device, &layout, options)?),
        Args::F16(_) => batch(filled::<f16>(&device, &layout, options)?),
    }
}

fn filled<T: Number>(device: &Device, layout: &Layout, options: &Options) -> Result<Tensor<T>> {
    let value = options.number::<T>("value")?;
    Ok(device.full(layout, value)?)
}
