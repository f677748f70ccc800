//! Images of different sizes: other positions, neighbours, values as labels, boxes and occurrences.

use serde_json::Value;
use vsla::{
    Complex32, Layout, Ragged, Shape, Tensor, f16,
    image::Neighbours,
    scalar::{DType, Pixel},
};

use super::{
    Answer, Call, Gradient, Grows, Law, OF_INTEGERS, Operation, READS, ROW, UNARY, WHOLE, Work,
    batch, within,
};
use crate::batch::{Number, written_size};
use crate::failure::Result;
use crate::held::{Arg, Held};
use crate::request::wrong;

/// An operation with a pair of numbers, whose results have the extents that `$size` gives.
macro_rules! of_pairs {
    ($method:ident, $about:literal, $size:expr) => {
        Operation {
            name: stringify!($method),
            options: &["dtype", "rank", "factors"],
            about: $about,
            run: |call| {
                let factors = factors(call)?;
                limit(call, &factors, $size)?;
                every!(call, |device, args| {
                    batch(args[0].on(&device)?.$method(&factors)?)
                })
            },
            ..ROW
        }
    };
}

/// An operation on integers, without options.
macro_rules! of_integers {
    ($name:literal, $method:ident, $about:literal) => {
        Operation {
            name: $name,
            options: UNARY,
            about: $about,
            run: |call| pixels!(call, |device, args| batch(args[0].on(&device)?.$method()?)),
            ..ROW
        }
    };
}

/// The largest or the smallest of each cell and its neighbours.
macro_rules! of_neighbours {
    ($method:ident, $about:literal) => {
        Operation {
            name: stringify!($method),
            options: &["dtype", "rank", "diagonal"],
            about: $about,
            run: |call| {
                let neighbours = match call.options.flag("diagonal")? {
                    true => Neighbours::Eight,
                    false => Neighbours::Four,
                };
                pixels!(call, |device, args| {
                    batch(args[0].on(&device)?.$method(neighbours)?)
                })
            },
            ..ROW
        }
    };
}

pub const ROWS: &[Operation] = &[
    Operation {
        name: "rot90",
        options: &["dtype", "rank", "turns"],
        about: "each image rotated anticlockwise by quarter turns",
        run: |call| {
            let turns = call.options.required("turns")?;
            let turns = turns.as_i64().ok_or_else(|| wrong("turns", turns))?;
            every!(call, |device, args| batch(
                args[0].on(&device)?.rot90(turns)?
            ))
        },
        rank: Some(2),
        law: Law::None,
        ..ROW
    },
    Operation {
        name: "anti_transpose",
        options: UNARY,
        about: "each image reflected across its antidiagonal",
        run: |call| {
            every!(call, |device, args| batch(
                args[0].on(&device)?.anti_transpose()?
            ))
        },
        rank: Some(2),
        law: Law::None,
        ..ROW
    },
    of_pairs!(
        upscale,
        "each cell of an image as a block of equal cells",
        usize::saturating_mul
    )
    .of_rank(2),
    of_pairs!(
        downscale,
        "the first cell of each block of an image",
        |extent, _| extent
    )
    .of_rank(2),
    of_pairs!(
        tile,
        "copies of each image side by side",
        usize::saturating_mul
    )
    .of_rank(2)
    .by_shape(),
    Operation {
        name: "translate",
        options: &["dtype", "rank", "shifts", "value"],
        about: "each image shifted within its borders; vacant cells are value",
        run: |call| {
            let shifts = shifts(call)?;
            every!(call, |device, args| {
                let fill = call.options.number("value")?;
                batch(args[0].on(&device)?.translate(&shifts, fill)?)
            })
        },
        rank: Some(2),
        law: Law::None,
        ..ROW
    },
    of_neighbours!(
        dilate,
        "the largest value of each cell and its neighbours (i32, u32 or u8)"
    )
    .without_gradient(OF_INTEGERS)
    .of(DType::I32)
    .of_rank(2)
    .by_shape(),
    of_neighbours!(
        erode,
        "the smallest value of each cell and its neighbours (i32, u32 or u8)"
    )
    .without_gradient(OF_INTEGERS)
    .of(DType::I32)
    .of_rank(2)
    .by_shape(),
    Operation {
        name: "lookup",
        options: &["dtype", "rank", "table", "table_dtype", "strict"],
        about: "each value replaced by that value of a table; 0 beyond its end (i32, u32 or u8)",
        run: |call| pixels!(call, |device, args| looked_up(call, &args[0].on(&device)?)),
        methods: &[("lookup_strict", "strict")],
        gradient: Gradient::None(OF_INTEGERS),
        dtype: DType::I32,
        law: Law::None,
        ..ROW
    },
    Operation {
        name: "bincount",
        options: &["dtype", "rank", "bins", "strict"],
        about: "how often each integer from 0 to before bins occurs in each element (i32, u32 or u8)",
        run: |call| {
            let bins = call.options.size("bins")?;
            let elements = call.layout(0).len();
            let mut sizes = std::iter::repeat_n(1 + bins as u64, elements);
            within(call.max_values, &mut sizes)?;
            let strict = call.options.flag("strict")?;
            pixels!(call, |device, args| match strict {
                true => batch(args[0].on(&device)?.bincount_strict_blocking(bins)?),
                false => batch(args[0].on(&device)?.bincount(bins)?),
            })
        },
        methods: &[("bincount_strict", "strict")],
        gradient: Gradient::None(OF_INTEGERS),
        dtype: DType::I32,
        law: Law::None,
        ..ROW
    },
    of_integers!(
        "most_common",
        most_common,
        "the most frequent value of each element, the lowest of several (i32, u32 or u8)"
    )
    .counted(Work::More)
    .without_gradient(OF_INTEGERS)
    .of(DType::I32)
    .by_shape(),
    of_integers!(
        "least_common",
        least_common,
        "the least frequent value of each element, the lowest of several (i32, u32 or u8)"
    )
    .counted(Work::More)
    .without_gradient(OF_INTEGERS)
    .of(DType::I32)
    .by_shape(),
    of_integers!(
        "palette",
        palette_blocking,
        "the different values of each element in ascending order (i32, u32 or u8)"
    )
    .counted(Work::More)
    .reading_values()
    .without_gradient(OF_INTEGERS)
    .of(DType::I32)
    .by_shape(),
    Operation {
        name: "bounding_box",
        options: &["dtype", "rank", "value"],
        about: "top, left, bottom and right of all cells other than value, half open (i32, u32 or u8)",
        run: |call| {
            within(
                call.max_values,
                &mut std::iter::repeat_n(5, call.layout(0).len()),
            )?;
            pixels!(call, |device, args| {
                let background = call.options.number("value")?;
                batch(args[0].on(&device)?.bounding_box(background)?)
            })
        },
        gradient: Gradient::None(OF_INTEGERS),
        dtype: DType::I32,
        rank: Some(2),
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "trim",
        options: &["dtype", "rank", "value"],
        about: "each image without borders of value (i32, u32 or u8)",
        run: |call| {
            pixels!(call, |device, args| {
                let background = call.options.number("value")?;
                batch(args[0].on(&device)?.trim_blocking(background)?)
            })
        },
        reads_values: true,
        gradient: Gradient::None(OF_INTEGERS),
        dtype: DType::I32,
        rank: Some(2),
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "crop",
        options: &["dtype", "rank", "boxes", "strict"],
        about: "the part of each image inside of its box",
        run: |call| {
            let boxes = call.options.required_batch::<u32>("boxes", 1)?;
            let strict = call.options.flag("strict")?;
            every!(call, |device, args| {
                let (x, boxes) = (args[0].on(&device)?, device.upload(&boxes)?);
                match strict {
                    true => batch(x.crop_strict_blocking(&boxes)?),
                    false => batch(x.crop_blocking(&boxes)?),
                }
            })
        },
        methods: &[("crop_strict", "strict")],
        gradient: READS,
        rank: Some(2),
        reads_values: true,
        work: Work::Answer,
        ..ROW
    },
    Operation {
        name: "match_template",
        args: 2,
        options: UNARY,
        about: "1 at each place where the second image occurs in the first (i32, u32 or u8)",
        run: |call| {
            pixels!(call, |device, args| {
                let (x, small) = (args[0].on(&device)?, args[1].on(&device)?);
                batch(x.match_template(&small)?)
            })
        },
        gradient: Gradient::None(OF_INTEGERS),
        dtype: DType::I32,
        rank: Some(2),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "draw_boxes",
        options: &["dtype", "rank", "boxes", "values"],
        about: "each image with the borders of boxes drawn on it (i32, u32 or u8)",
        run: |call| {
            let boxes = call.options.required_batch::<u32>("boxes", 2)?;
            pixels!(call, |device, args| {
                let values = device.upload(&alike(&args[0], call, "values")?)?;
                let boxes = device.upload(&boxes)?;
                batch(args[0].on(&device)?.draw_boxes(&boxes, &values)?)
            })
        },
        gradient: Gradient::None(OF_INTEGERS),
        dtype: DType::I32,
        rank: Some(2),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "draw_lines",
        options: &["dtype", "rank", "lines", "values"],
        about: "each image with lines from cell to cell drawn on it (i32, u32 or u8)",
        run: |call| {
            let lines = call.options.required_batch::<i32>("lines", 2)?;
            pixels!(call, |device, args| {
                let values = device.upload(&alike(&args[0], call, "values")?)?;
                batch(args[0].on(&device)?.draw_lines(&lines, &values)?)
            })
        },
        gradient: Gradient::None(OF_INTEGERS),
        dtype: DType::I32,
        rank: Some(2),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "equal_elements",
        args: 2,
        options: UNARY,
        grows: Grows::Pair,
        about: "1 for each two elements with the same shape and values, otherwise 0",
        run: |call| {
            compared!(call, |device, args| {
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                batch(a.equal_elements(&b)?)
            })
        },
        gradient: Gradient::None(WHOLE),
        law: Law::None,
        ..ROW
    },
    Operation {
        name: "period",
        options: &["dtype", "rank", "axis"],
        about: "the distance after which each element repeats along an axis (i32, u32 or u8)",
        run: |call| {
            let axis = call.options.axis()?;
            pixels!(call, |device, args| batch(
                args[0].on(&device)?.period(axis)?
            ))
        },
        gradient: Gradient::None(OF_INTEGERS),
        dtype: DType::I32,
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "compact",
        options: &["dtype", "rank", "flags", "axis"],
        about: "the slices of each element along an axis whose flag is not 0",
        run: |call| {
            let flags = call.options.required_batch::<u32>("flags", 1)?;
            let axis = call.options.axis()?;
            every!(call, |device, args| {
                let (x, flags) = (args[0].on(&device)?, device.upload(&flags)?);
                batch(x.compact_blocking(&flags, axis)?)
            })
        },
        gradient: READS,
        law: Law::Open,
        reads_values: true,
        ..ROW
    },
];

/// An option that is a batch of vectors of the type of an argument.
fn alike<T: Number>(_: &Arg<T>, call: &Call<'_>, name: &str) -> Result<Ragged<T>> {
    call.options.required_batch(name, 1)
}

/// The values of tables of any type.
fn looked_up<T: Pixel>(call: &Call<'_>, x: &Tensor<T>) -> Result<Answer> {
    fn of<T: Pixel, U: Number>(call: &Call<'_>, x: &Tensor<T>) -> Result<Answer>
    where
        Held: From<Tensor<U>>,
    {
        let table = x
            .device()
            .upload(&call.options.required_batch::<U>("table", 1)?)?;
        match call.options.flag("strict")? {
            true => batch(x.lookup_strict_blocking(&table)?),
            false => batch(x.lookup(&table)?),
        }
    }
    match call.options.dtype("table_dtype", T::DTYPE)? {
        DType::I32 => of::<T, i32>(call, x),
        DType::U32 => of::<T, u32>(call, x),
        DType::U8 => of::<T, u8>(call, x),
        DType::F16 => of::<T, f16>(call, x),
        DType::C32 => of::<T, Complex32>(call, x),
        _ => of::<T, f32>(call, x),
    }
}

/// Pairs of integers.
fn shifts(call: &Call<'_>) -> Result<Vec<[i64; 2]>> {
    let shifts = call.options.required("shifts")?;
    pairs(shifts).ok_or_else(|| wrong("shifts", shifts))
}

/// Pairs of integers that are not negative.
fn factors(call: &Call<'_>) -> Result<Vec<[usize; 2]>> {
    let factors = call.options.required("factors")?;
    let all = pairs(factors);
    let whole = |[a, b]: [i64; 2]| Some([usize::try_from(a).ok()?, usize::try_from(b).ok()?]);
    all.and_then(|all| all.into_iter().map(whole).collect())
        .ok_or_else(|| wrong("factors", factors))
}

fn pairs(value: &Value) -> Option<Vec<[i64; 2]>> {
    let pair = |item: &Value| match item.as_array()?.as_slice() {
        [a, b] => Some([a.as_i64()?, b.as_i64()?]),
        _ => None,
    };
    value.as_array()?.iter().map(pair).collect()
}

/// Refuses results above the limit. What the library refuses anyway passes.
fn limit(call: &Call<'_>, by: &[[usize; 2]], size: fn(usize, usize) -> usize) -> Result<()> {
    let layout: &Layout = call.layout(0);
    let sizes = layout.shapes().enumerate().map(|(element, shape)| {
        let by = by.get(element).or(by.first()).unwrap_or(&[1, 1]);
        let extents = shape.extents().iter().zip(by);
        let extents: Vec<usize> = extents.map(|(&n, &by)| size(n as usize, by)).collect();
        Shape::new(&extents).map_or(u64::MAX, |shape| written_size(&shape))
    });
    within(call.max_values, &mut { sizes })
}
