//! Images of different sizes: other positions, neighbours, values as labels, boxes and occurrences.

use serde_json::Value;
use vsla::{
    Complex32, Layout, Ragged, Tensor, f16,
    image::Neighbours,
    scalar::{DType, Pixel},
};

use super::results::{
    BINS, ONE, ONE_OF_TWO, Results, SAME, Shapes, all, all_extents, by_values, each, one, with,
};
use super::{
    Answer, Call, EXACT, Gradient, Law, MATRICES, OF_INTEGERS, Operation, READS, ROW, STACKS,
    UNARY, WHOLE, Work, batch,
};
use crate::batch::Number;
use crate::failure::Result;
use crate::held::{Arg, Held};
use crate::options as opt;
use crate::request::Options;

/// An operation with a pair of factors, whose results have the extents that `$size` gives.
macro_rules! of_pairs {
    ($method:ident, $about:literal, $extents:literal, $size:expr) => {
        Operation {
            name: stringify!($method),
            options: &[opt::DTYPE, opt::RANK, opt::FACTORS],
            ranks: MATRICES,
            results: all(
                "m × n, and two factors for each element or for all",
                $extents,
                |options, x| Some(vec![scaled(options, x[0], $size)?]),
            ),
            about: $about,
            run: every!(|call, device, args| {
                let factors = factors(&call.options)?;
                batch(args[0].on(&device)?.$method(&factors)?)
            }),
            ..ROW
        }
    };
}

/// Of integers.
const INTEGERS: Operation = Operation {
    options: UNARY,
    bound: [0.0; 2],
    gradient: Gradient::None(OF_INTEGERS),
    dtype: DType::I32,
    law: Law::None,
    ..ROW
};

/// Matrices of integers.
const IMAGES: Operation = INTEGERS.of_ranks(MATRICES);

/// The largest or the smallest of each cell and its neighbours.
macro_rules! of_neighbours {
    ($method:ident, $about:literal) => {
        Operation {
            name: stringify!($method),
            options: &[opt::DTYPE, opt::RANK, opt::DIAGONAL],
            about: $about,
            run: pixels!(|call, device, args| {
                let neighbours = match call.options.flag("diagonal")? {
                    true => Neighbours::Eight,
                    false => Neighbours::Four,
                };
                batch(args[0].on(&device)?.$method(neighbours)?)
            }),
            ..IMAGES
        }
    };
}

pub const ROWS: &[Operation] = &[
    Operation {
        name: "rot90",
        options: &[opt::DTYPE, opt::RANK, opt::TURNS],
        ranks: STACKS,
        results: each(
            "(m, n, s)",
            "(n, m, s); the same for an even number of turns",
            |options, s| match turns(options).ok()? % 2 {
                0 => one(s[0].clone()),
                _ => one(turned(&s[0])?),
            },
        ),
        about: "each image rotated anticlockwise by quarter turns",
        run: every!(|call, device, args| batch(args[0].on(&device)?.rot90(turns(&call.options)?)?)),
        rank: Some(2),
        law: Law::None,
        ..EXACT
    },
    Operation {
        name: "anti_transpose",
        options: UNARY,
        ranks: STACKS,
        results: each("(m, n, s)", "(n, m, s)", |_, s| one(turned(&s[0])?)),
        about: "each image reflected across its antidiagonal",
        run: every!(|call, device, args| batch(args[0].on(&device)?.anti_transpose()?)),
        rank: Some(2),
        law: Law::None,
        ..EXACT
    },
    of_pairs!(
        upscale,
        "each cell of an image as a block of equal cells",
        "the extents times the factors",
        |extent, by| extent.checked_mul(by)
    ),
    of_pairs!(
        downscale,
        "the first cell of each block of an image",
        "the extents divided by the factors, rounded up",
        |extent, by| (by > 0).then(|| extent.div_ceil(by))
    ),
    of_pairs!(
        tile,
        "copies of each image side by side",
        "the extents times the factors",
        |extent, by| extent.checked_mul(by)
    )
    .by_shape(),
    Operation {
        name: "translate",
        options: &[opt::DTYPE, opt::RANK, opt::SHIFTS, opt::VALUE],
        ranks: MATRICES,
        results: Results {
            operands: "m × n, and a shift for each element or for all",
            about: "m × n",
            ..SAME
        },
        about: "each image shifted within its borders; vacant cells are value",
        run: every!(|call, device, args| {
            let shifts = shifts(&call.options)?;
            let fill = call.options.number("value")?;
            batch(args[0].on(&device)?.translate(&shifts, fill)?)
        }),
        law: Law::None,
        ..EXACT
    },
    of_neighbours!(dilate, "the largest value of each cell and its neighbours"),
    of_neighbours!(erode, "the smallest value of each cell and its neighbours"),
    Operation {
        name: "lookup",
        options: &[
            opt::DTYPE,
            opt::RANK,
            opt::TABLE,
            opt::TABLE_DTYPE,
            opt::STRICT,
        ],
        results: Results {
            operands: "s, and a table for each element or for all",
            ..SAME
        },
        about: "each value replaced by that value of a table; 0 beyond its end",
        run: pixels!(|call, device, args| looked_up(call, &args[0].on(&device)?)),
        methods: &[("lookup_strict", "strict")],
        ..INTEGERS
    },
    Operation {
        name: "bincount",
        options: &[opt::DTYPE, opt::RANK, opt::BINS, opt::STRICT],
        results: BINS,
        about: "how often each integer from 0 to before bins occurs in each element",
        run: pixels!(|call, device, args| {
            let (x, bins) = (args[0].on(&device)?, call.options.size("bins")?);
            match call.options.flag("strict")? {
                true => batch(x.bincount_strict_blocking(bins)?),
                false => batch(x.bincount(bins)?),
            }
        }),
        methods: &[("bincount_strict", "strict")],
        ..INTEGERS
    },
    Operation {
        name: "most_common",
        results: ONE,
        about: "the most frequent value of each element, the lowest of several",
        run: pixels!(|call, device, args| batch(args[0].on(&device)?.most_common()?)),
        work: Work::More,
        ..INTEGERS
    },
    Operation {
        name: "least_common",
        results: ONE,
        about: "the least frequent value of each element, the lowest of several",
        run: pixels!(|call, device, args| batch(args[0].on(&device)?.least_common()?)),
        work: Work::More,
        ..INTEGERS
    },
    Operation {
        name: "palette",
        results: by_values("s", "as many as there are different values"),
        about: "the different values of each element in ascending order",
        run: pixels!(|call, device, args| batch(args[0].on(&device)?.palette_blocking()?)),
        reads_values: true,
        work: Work::More,
        ..INTEGERS
    },
    Operation {
        name: "bounding_box",
        options: &[opt::DTYPE, opt::RANK, opt::VALUE],
        results: each("m × n", "four values", |_, _| one(vec![4])),
        about: "top, left, bottom and right of all cells other than value, half open",
        run: pixels!(|call, device, args| {
            let background = call.options.number("value")?;
            batch(args[0].on(&device)?.bounding_box(background)?)
        }),
        law: Law::Open,
        ..IMAGES
    },
    Operation {
        name: "trim",
        options: &[opt::DTYPE, opt::RANK, opt::VALUE],
        results: by_values(
            "m × n",
            "the extents of the box that holds all values but one",
        ),
        about: "each image without borders of value",
        run: pixels!(|call, device, args| {
            let background = call.options.number("value")?;
            batch(args[0].on(&device)?.trim_blocking(background)?)
        }),
        reads_values: true,
        law: Law::Open,
        ..IMAGES
    },
    Operation {
        name: "crop",
        options: &[opt::DTYPE, opt::RANK, opt::BOXES, opt::STRICT_BOXES],
        ranks: MATRICES,
        results: all(
            "m × n, and a box",
            "the extents of the box within the image",
            |options, x| {
                let boxes = options.required_batch::<u32>("boxes", 1).ok()?;
                let inside = move |(i, s): (usize, Vec<usize>)| {
                    let (&[m, n], &[top, left, bottom, right]) = (s.as_slice(), boxes.get(i)?)
                    else {
                        return None;
                    };
                    let extent = |start: u32, end: u32, extent: usize| {
                        (end as usize).min(extent).saturating_sub(start as usize)
                    };
                    Some(vec![extent(top, bottom, m), extent(left, right, n)])
                };
                let images = all_extents(x[0]).into_iter().enumerate();
                Some(vec![Box::new(images.map(inside))])
            },
        ),
        about: "the part of each image inside of its box",
        run: every!(|call, device, args| {
            let boxes = call.options.required_batch::<u32>("boxes", 1)?;
            let (x, boxes) = (args[0].on(&device)?, device.upload(&boxes)?);
            match call.options.flag("strict")? {
                true => batch(x.crop_strict_blocking(&boxes)?),
                false => batch(x.crop_blocking(&boxes)?),
            }
        }),
        methods: &[("crop_strict", "strict")],
        gradient: READS,
        reads_values: true,
        work: Work::Answer,
        ..EXACT
    },
    Operation {
        name: "match_template",
        args: 2,
        results: each("m × n and a × b", "m − a + 1 × n − b + 1", |_, s| {
            let extents = s[0].iter().zip(&s[1]);
            one(extents
                .map(|(n, small)| (n + 1).saturating_sub(*small))
                .collect())
        }),
        about: "1 at each place where the second image occurs in the first",
        run: pixels!(|call, device, args| {
            let (x, small) = (args[0].on(&device)?, args[1].on(&device)?);
            batch(x.match_template(&small)?)
        }),
        work: Work::More,
        ..IMAGES
    },
    Operation {
        name: "draw_boxes",
        options: &[opt::DTYPE, opt::RANK, opt::DRAWN_BOXES, opt::VALUES],
        results: Results {
            operands: "m × n, and k boxes and values",
            about: "m × n",
            ..SAME
        },
        about: "each image with the borders of boxes drawn on it",
        run: pixels!(|call, device, args| {
            let boxes = call.options.required_batch::<u32>("boxes", 2)?;
            let values = device.upload(&alike(&args[0], call, "values")?)?;
            let boxes = device.upload(&boxes)?;
            batch(args[0].on(&device)?.draw_boxes(&boxes, &values)?)
        }),
        work: Work::More,
        ..IMAGES
    },
    Operation {
        name: "draw_lines",
        options: &[opt::DTYPE, opt::RANK, opt::LINES, opt::VALUES],
        results: Results {
            operands: "m × n, and k lines and values",
            about: "m × n",
            ..SAME
        },
        about: "each image with lines from cell to cell drawn on it",
        run: pixels!(|call, device, args| {
            let lines = call.options.required_batch::<i32>("lines", 2)?;
            let values = device.upload(&alike(&args[0], call, "values")?)?;
            batch(args[0].on(&device)?.draw_lines(&lines, &values)?)
        }),
        work: Work::More,
        ..IMAGES
    },
    Operation {
        name: "equal_elements",
        args: 2,
        options: UNARY,
        results: ONE_OF_TWO,
        about: "1 for each two elements with the same shape and values, otherwise 0",
        run: compared!(|call, device, args| {
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            batch(a.equal_elements(&b)?)
        }),
        gradient: Gradient::None(WHOLE),
        law: Law::None,
        ..EXACT
    },
    Operation {
        name: "period",
        options: &[opt::DTYPE, opt::RANK, opt::AXIS],
        results: ONE,
        about: "the distance after which each element repeats along an axis",
        run: pixels!(|call, device, args| {
            let axis = call.options.axis()?;
            batch(args[0].on(&device)?.period(axis)?)
        }),
        work: Work::More,
        ..INTEGERS
    },
    Operation {
        name: "compact",
        options: &[opt::DTYPE, opt::RANK, opt::FLAGS, opt::AXIS],
        results: all(
            "s, and a flag for each slice along an axis",
            "s with the slices whose flags are not 0",
            |options, x| {
                let (flags, axis) = (
                    options.required_batch::<u32>("flags", 1).ok()?,
                    options.axis().ok()?,
                );
                let kept = move |(i, s): (usize, Vec<usize>)| {
                    let kept = flags.get(i)?.iter().filter(|flag| **flag != 0);
                    with(&s, axis, kept.count())
                };
                Some(vec![Box::new(
                    all_extents(x[0]).into_iter().enumerate().map(kept),
                )])
            },
        ),
        about: "the slices of each element along an axis whose flag is not 0",
        run: every!(|call, device, args| {
            let flags = call.options.required_batch::<u32>("flags", 1)?;
            let axis = call.options.axis()?;
            let (x, flags) = (args[0].on(&device)?, device.upload(&flags)?);
            batch(x.compact_blocking(&flags, axis)?)
        }),
        gradient: READS,
        law: Law::Open,
        reads_values: true,
        ..EXACT
    },
];

/// With the first two axes exchanged.
fn turned(extents: &[usize]) -> Option<Vec<usize>> {
    let [m, n, others @ ..] = extents else {
        return None;
    };
    Some([&[*n, *m], others].concat())
}

fn turns(options: &Options) -> Result<i64> {
    options.needed("turns", Value::as_i64)
}

/// Images whose extents are changed by the factors of each, or of all.
fn scaled<'a>(
    options: &Options,
    x: &Layout,
    size: fn(usize, usize) -> Option<usize>,
) -> Option<Shapes<'a>> {
    let factors = factors(options).ok()?;
    let images = all_extents(x).into_iter().enumerate();
    Some(Box::new(images.map(move |(i, s)| {
        let by = factors.get(i).or(factors.first())?;
        s.iter().zip(by).map(|(&n, &by)| size(n, by)).collect()
    })))
}

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
fn shifts(options: &Options) -> Result<Vec<[i64; 2]>> {
    options.needed("shifts", pairs)
}

/// Pairs of integers that are not negative.
fn factors(options: &Options) -> Result<Vec<[usize; 2]>> {
    let whole = |[a, b]: [i64; 2]| Some([usize::try_from(a).ok()?, usize::try_from(b).ok()?]);
    options.needed("factors", |value| {
        pairs(value)?.into_iter().map(whole).collect()
    })
}

fn pairs(value: &Value) -> Option<Vec<[i64; 2]>> {
    let pair = |item: &Value| match item.as_array()?.as_slice() {
        [a, b] => Some([a.as_i64()?, b.as_i64()?]),
        _ => None,
    };
    value.as_array()?.iter().map(pair).collect()
}
