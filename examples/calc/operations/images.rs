//! Images of different sizes: other positions, neighbours, values as labels, boxes and occurrences.

use serde_json::Value;
use vsla::{Layout, Ragged, Shape, image::Neighbours};

use super::{Call, Grows, Operation, UNARY, batch, within};
use crate::batch::{Number, written_size};
use crate::failure::{Failure, Result};
use crate::held::Args;

/// The body for whichever type of integers the arguments have.
macro_rules! integers {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {{
        let $device = $call.device()?;
        match &$call.args {
            Args::I32($args) => $body,
            Args::U32($args) => $body,
            _ => Err(Failure::request("dtype: this operation takes i32 or u32")),
        }
    }};
}

/// An image of either type, and a batch of values of its type.
macro_rules! drawn {
    ($call:ident, |$device:ident, $x:ident, $values:ident| $drawn:expr) => {{
        let $device = $call.device()?;
        match &$call.args {
            Args::I32(args) => {
                let ($x, $values) = (args[0].on(&$device)?, required::<i32>($call, "values", 1)?);
                let $values = $device.upload(&$values)?;
                batch($drawn?)
            }
            Args::U32(args) => {
                let ($x, $values) = (args[0].on(&$device)?, required::<u32>($call, "values", 1)?);
                let $values = $device.upload(&$values)?;
                batch($drawn?)
            }
            _ => Err(Failure::request("dtype: this operation takes i32 or u32")),
        }
    }};
}

/// An operation with a pair of numbers, whose results have the extents that `$size` gives.
macro_rules! of_pairs {
    ($method:ident, $about:literal, $size:expr) => {
        Operation {
            name: stringify!($method),
            args: 1,
            options: &["dtype", "rank", "factors"],
            grows: Grows::No,
            about: $about,
            run: |call| {
                let factors = factors(call)?;
                limit(call, &factors, $size)?;
                typed!(call, |device, args| {
                    batch(args[0].on(&device)?.$method(&factors)?)
                })
            },
        }
    };
}

/// An operation on integers, without options.
macro_rules! of_integers {
    ($name:literal, $method:ident, $about:literal) => {
        Operation {
            name: $name,
            args: 1,
            options: UNARY,
            grows: Grows::No,
            about: $about,
            run: |call| integers!(call, |device, args| batch(args[0].on(&device)?.$method()?)),
        }
    };
}

/// The largest or the smallest of each cell and its neighbours.
macro_rules! of_neighbours {
    ($method:ident, $about:literal) => {
        Operation {
            name: stringify!($method),
            args: 1,
            options: &["dtype", "rank", "diagonal"],
            grows: Grows::No,
            about: $about,
            run: |call| {
                let neighbours = match call.options.flag("diagonal")? {
                    true => Neighbours::Eight,
                    false => Neighbours::Four,
                };
                integers!(call, |device, args| {
                    batch(args[0].on(&device)?.$method(neighbours)?)
                })
            },
        }
    };
}

/// Operations that take integers only.
pub const OF_INTEGERS: &[&str] = &[
    "dilate",
    "erode",
    "lookup",
    "bincount",
    "most_common",
    "least_common",
    "palette",
    "bounding_box",
    "trim",
    "match_template",
    "period",
    "draw_boxes",
    "draw_lines",
];

/// Operations that take matrices only, or elements of a higher rank.
pub const OF_MATRICES: &[&str] = &[
    "rot90",
    "anti_transpose",
    "upscale",
    "downscale",
    "tile",
    "translate",
    "dilate",
    "erode",
    "bounding_box",
    "trim",
    "crop",
    "match_template",
    "draw_boxes",
    "draw_lines",
];

pub const ROWS: &[Operation] = &[
    Operation {
        name: "rot90",
        args: 1,
        options: &["dtype", "rank", "turns"],
        grows: Grows::No,
        about: "each image rotated anticlockwise by quarter turns",
        run: |call| {
            let turns = call.options.required("turns")?.as_i64();
            let turns = turns.ok_or_else(|| Failure::request("turns: expected an integer"))?;
            typed!(call, |device, args| batch(
                args[0].on(&device)?.rot90(turns)?
            ))
        },
    },
    Operation {
        name: "anti_transpose",
        args: 1,
        options: UNARY,
        grows: Grows::No,
        about: "each image reflected across its antidiagonal",
        run: |call| {
            typed!(call, |device, args| batch(
                args[0].on(&device)?.anti_transpose()?
            ))
        },
    },
    of_pairs!(
        upscale,
        "each cell of an image as a block of equal cells",
        usize::saturating_mul
    ),
    of_pairs!(
        downscale,
        "the first cell of each block of an image",
        |extent, _| extent
    ),
    of_pairs!(
        tile,
        "copies of each image side by side",
        usize::saturating_mul
    ),
    Operation {
        name: "translate",
        args: 1,
        options: &["dtype", "rank", "shifts", "value"],
        grows: Grows::No,
        about: "each image shifted within its borders; vacant cells are value",
        run: |call| {
            let shifts = shifts(call)?;
            typed!(call, |device, args| {
                let fill = call.options.number("value")?;
                batch(args[0].on(&device)?.translate(&shifts, fill)?)
            })
        },
    },
    of_neighbours!(
        dilate,
        "the largest value of each cell and its neighbours (i32 or u32)"
    ),
    of_neighbours!(
        erode,
        "the smallest value of each cell and its neighbours (i32 or u32)"
    ),
    Operation {
        name: "lookup",
        args: 1,
        options: &["dtype", "rank", "table", "strict"],
        grows: Grows::No,
        about: "each value replaced by that value of a table of one type; 0 beyond its end (i32 or u32)",
        run: |call| {
            let device = call.device()?;
            let strict = call.options.flag("strict")?;
            match &call.args {
                Args::I32(args) => {
                    let table = required::<i32>(call, "table", 1)?;
                    let (x, table) = (args[0].on(&device)?, device.upload(&table)?);
                    match strict {
                        true => batch(x.lookup_strict_blocking(&table)?),
                        false => batch(x.lookup(&table)?),
                    }
                }
                Args::U32(args) => {
                    let table = required::<u32>(call, "table", 1)?;
                    let (x, table) = (args[0].on(&device)?, device.upload(&table)?);
                    match strict {
                        true => batch(x.lookup_strict_blocking(&table)?),
                        false => batch(x.lookup(&table)?),
                    }
                }
                _ => Err(Failure::request("dtype: this operation takes i32 or u32")),
            }
        },
    },
    Operation {
        name: "bincount",
        args: 1,
        options: &["dtype", "rank", "bins", "strict"],
        grows: Grows::No,
        about: "how often each integer from 0 to before bins occurs in each element (i32 or u32)",
        run: |call| {
            let bins = call.options.size("bins")?;
            let elements = call.layout(0).len();
            let mut sizes = std::iter::repeat_n(1 + bins as u64, elements);
            within(call.max_values, &mut sizes)?;
            let strict = call.options.flag("strict")?;
            integers!(call, |device, args| match strict {
                true => batch(args[0].on(&device)?.bincount_strict_blocking(bins)?),
                false => batch(args[0].on(&device)?.bincount(bins)?),
            })
        },
    },
    of_integers!(
        "most_common",
        most_common,
        "the most frequent value of each element, the lowest of several (i32 or u32)"
    ),
    of_integers!(
        "least_common",
        least_common,
        "the least frequent value of each element, the lowest of several (i32 or u32)"
    ),
    of_integers!(
        "palette",
        palette_blocking,
        "the different values of each element in ascending order (i32 or u32)"
    ),
    Operation {
        name: "bounding_box",
        args: 1,
        options: &["dtype", "rank", "value"],
        grows: Grows::No,
        about: "top, left, bottom and right of all cells other than value, half open (i32 or u32)",
        run: |call| {
            within(
                call.max_values,
                &mut std::iter::repeat_n(5, call.layout(0).len()),
            )?;
            integers!(call, |device, args| {
                let background = call.options.number("value")?;
                batch(args[0].on(&device)?.bounding_box(background)?)
            })
        },
    },
    Operation {
        name: "trim",
        args: 1,
        options: &["dtype", "rank", "value"],
        grows: Grows::No,
        about: "each image without borders of value (i32 or u32)",
        run: |call| {
            integers!(call, |device, args| {
                let background = call.options.number("value")?;
                batch(args[0].on(&device)?.trim_blocking(background)?)
            })
        },
    },
    Operation {
        name: "crop",
        args: 1,
        options: &["dtype", "rank", "boxes", "strict"],
        grows: Grows::No,
        about: "the part of each image inside of its box",
        run: |call| {
            let boxes = required::<u32>(call, "boxes", 1)?;
            let strict = call.options.flag("strict")?;
            typed!(call, |device, args| {
                let (x, boxes) = (args[0].on(&device)?, device.upload(&boxes)?);
                match strict {
                    true => batch(x.crop_strict_blocking(&boxes)?),
                    false => batch(x.crop_blocking(&boxes)?),
                }
            })
        },
    },
    Operation {
        name: "match_template",
        args: 2,
        options: UNARY,
        grows: Grows::No,
        about: "1 at each place where the second image occurs in the first (i32 or u32)",
        run: |call| {
            integers!(call, |device, args| {
                let (x, small) = (args[0].on(&device)?, args[1].on(&device)?);
                batch(x.match_template(&small)?)
            })
        },
    },
    Operation {
        name: "draw_boxes",
        args: 1,
        options: &["dtype", "rank", "boxes", "values"],
        grows: Grows::No,
        about: "each image with the borders of boxes drawn on it (i32 or u32)",
        run: |call| {
            let boxes = required::<u32>(call, "boxes", 2)?;
            drawn!(call, |device, x, values| x
                .draw_boxes(&device.upload(&boxes)?, &values))
        },
    },
    Operation {
        name: "draw_lines",
        args: 1,
        options: &["dtype", "rank", "lines", "values"],
        grows: Grows::No,
        about: "each image with lines from cell to cell drawn on it (i32 or u32)",
        run: |call| {
            let lines = required::<i32>(call, "lines", 2)?;
            drawn!(call, |device, x, values| x.draw_lines(&lines, &values))
        },
    },
    Operation {
        name: "equal_elements",
        args: 2,
        options: UNARY,
        grows: Grows::Pair,
        about: "1 for each two elements with the same shape and values, otherwise 0",
        run: |call| {
            real!(call, |device, args| {
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                batch(a.equal_elements(&b)?)
            })
        },
    },
    Operation {
        name: "period",
        args: 1,
        options: &["dtype", "rank", "axis"],
        grows: Grows::No,
        about: "the distance after which each element repeats along an axis (i32 or u32)",
        run: |call| {
            let axis = call.options.axis()?;
            integers!(call, |device, args| batch(
                args[0].on(&device)?.period(axis)?
            ))
        },
    },
    Operation {
        name: "compact",
        args: 1,
        options: &["dtype", "rank", "flags", "axis"],
        grows: Grows::No,
        about: "the slices of each element along an axis whose flag is not 0",
        run: |call| {
            let flags = required::<u32>(call, "flags", 1)?;
            let axis = call.options.axis()?;
            typed!(call, |device, args| {
                let (x, flags) = (args[0].on(&device)?, device.upload(&flags)?);
                batch(x.compact_blocking(&flags, axis)?)
            })
        },
    },
];

/// An option that is a batch.
fn required<T: Number>(call: &Call<'_>, name: &str, rank: usize) -> Result<Ragged<T>> {
    let found = call.options.batch(name, rank)?;
    found.ok_or_else(|| Failure::request(format!("{name} is missing")))
}

/// Pairs of integers.
fn shifts(call: &Call<'_>) -> Result<Vec<[i64; 2]>> {
    pairs(call.options.required("shifts")?)
        .ok_or_else(|| Failure::request("shifts: expected an array of [down, right]"))
}

/// Pairs of integers that are not negative.
fn factors(call: &Call<'_>) -> Result<Vec<[usize; 2]>> {
    let all = pairs(call.options.required("factors")?);
    let whole = |[a, b]: [i64; 2]| Some([usize::try_from(a).ok()?, usize::try_from(b).ok()?]);
    all.and_then(|all| all.into_iter().map(whole).collect())
        .ok_or_else(|| Failure::request("factors: expected an array of [rows, columns]"))
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
