//! Arithmetic on the values of one element, and of two paired elements.

use vsla::{Complex32, Device, Layout, Tensor, f16, scalar::DType};

use super::{
    Answer, Call, Law, NO_OPERANDS, Operation, ROW, UNARY, WHOLE, Work, batch, complex, within,
};
use crate::batch::{Number, written_size};
use crate::failure::{Failure, Result};
use crate::held::Args;
use crate::request::Options;

/// The values in another type.
macro_rules! converted {
    ($name:literal, $t:ty, $about:literal) => {
        Operation {
            name: $name,
            options: UNARY,
            about: $about,
            run: |call| compared!(call, |device, args| batch(args[0].on(&device)?.to::<$t>()?)),
            ..ROW
        }
    };
}

pub const ROWS: &[Operation] = &[
    Operation {
        name: "scale",
        options: &["dtype", "rank", "factor"],
        about: "factor * x, where factor is of x's type",
        run: |call| {
            match &call.args {
                Args::C32(_) => return scaled(call),
                Args::U8(_) => {
                    use DType::{C32, F16, F32, I32, U8, U32};
                    return Err(Failure::dtype(&[F32, I32, U32, F16, C32], U8));
                }
                _ => {}
            }
            ordered!(call, |device, args| {
                let factor = call.options.number("factor")?;
                let x = args[0].on(&device)?;
                batch(x.scale(factor)?)
            })
        },
        methods: &[("scale_complex", "")],
        ..ROW
    },
    Operation {
        name: "copy",
        options: UNARY,
        about: "x, copied on the device",
        run: |call| every!(call, |device, args| batch(args[0].on(&device)?.copy()?)),
        ..ROW
    },
    converted!(
        "to_f16",
        f16,
        "the nearest f16 of each value, ties to even (no complex values)"
    )
    .for_methods(&[("to", "")]),
    converted!("to_f32", f32, "each value as f32 (no complex values)").of(DType::F16),
    converted!(
        "to_i32",
        i32,
        "each value as i32, truncated and saturated (no complex values)"
    )
    .without_gradient(WHOLE),
    converted!(
        "to_u32",
        u32,
        "each value as u32, truncated and saturated (no complex values)"
    )
    .without_gradient(WHOLE),
    converted!(
        "to_u8",
        u8,
        "each value as u8, truncated and saturated (no complex values)"
    )
    .without_gradient(WHOLE),
    Operation {
        name: "full",
        args: 0,
        options: &["dtype", "rank", "shapes", "value"],
        about: "a batch of these shapes, filled with one value",
        run: full,
        gradient: NO_OPERANDS,
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "elements",
        options: &["dtype", "rank", "range"],
        about: "a range of elements, as a view",
        run: |call| {
            every!(call, |device, args| {
                let range = call.options.range()?;
                let x = args[0].on(&device)?;
                batch(x.elements(range)?)
            })
        },
        is_local: false,
        law: Law::Open,
        work: Work::Nothing,
        ..ROW
    },
    Operation {
        name: "neg",
        options: UNARY,
        about: "-x",
        run: |call| typed!(call, |device, args| batch(args[0].on(&device)?.neg()?)),
        ..ROW
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
        Args::U8(_) => batch(filled::<u8>(&device, &layout, options)?),
    }
}

fn filled<T: Number>(device: &Device, layout: &Layout, options: &Options) -> Result<Tensor<T>> {
    let value = options.number::<T>("value")?;
    Ok(device.full(layout, value)?)
}
