//! Arithmetic on the values of one element, and of two paired elements.

use vsla::{f16, scalar::DType};

use super::results::{all, extents};
use super::{EXACT, Law, Operation, UNARY, WHOLE, Work, batch};
use crate::options as opt;

/// The values in another type.
macro_rules! converted {
    ($name:literal, $t:ty, $about:literal) => {
        Operation {
            name: $name,
            options: UNARY,
            about: $about,
            run: compared!(|call, device, args| batch(args[0].on(&device)?.to::<$t>()?)),
            ..EXACT
        }
    };
}

pub const ROWS: &[Operation] = &[
    Operation {
        name: "scale",
        options: &[opt::DTYPE, opt::RANK, opt::FACTOR],
        about: "factor * x, where factor is of x's type",
        run: of_types!(|call, device, args|
            [F32 F16 I32 U32] => batch(args[0].on(&device)?.scale(call.options.number("factor")?)?),
            [C32] => batch(args[0].on(&device)?.scale_complex(call.options.number("factor")?)?),
        ),
        methods: &[("scale_complex", "")],
        ..EXACT
    },
    Operation {
        name: "copy",
        options: UNARY,
        about: "x, copied on the device",
        run: every!(|call, device, args| batch(args[0].on(&device)?.copy()?)),
        ..EXACT
    },
    converted!("to_f16", f16, "the nearest f16 of each value, ties to even")
        .for_methods(&[("to", "")]),
    converted!("to_f32", f32, "each value as f32").of(DType::F16),
    converted!("to_i32", i32, "each value as i32, truncated and saturated").without_gradient(WHOLE),
    converted!("to_u32", u32, "each value as u32, truncated and saturated").without_gradient(WHOLE),
    converted!("to_u8", u8, "each value as u8, truncated and saturated").without_gradient(WHOLE),
    Operation {
        name: "elements",
        options: &[opt::DTYPE, opt::RANK, opt::RANGE],
        results: all("a batch", "these elements", |options, x| {
            let all = x[0].shapes().map(|shape| Some(extents(&shape)));
            let range = options.range().ok()?;
            Some(vec![Box::new(all.skip(range.start).take(range.len()))])
        }),
        about: "a range of elements, as a view",
        run: every!(|call, device, args| {
            let range = call.options.range()?;
            batch(args[0].on(&device)?.elements(range)?)
        }),
        is_local: false,
        law: Law::Open,
        work: Work::Nothing,
        ..EXACT
    },
    Operation {
        name: "neg",
        options: UNARY,
        about: "-x",
        run: typed!(|call, device, args| batch(args[0].on(&device)?.neg()?)),
        ..EXACT
    },
];
