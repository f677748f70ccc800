//! Operations that move values: selections, rearrangements, combinations.

use vsla::batch::{MAX_RANK, Permutation, Remainder};
use vsla::{Indices, Layout, Pairing};

use super::results::{
    Extents, GIVEN, Results, Shapes, all, all_extents, ambient, by_values, each, extents, listed,
    one, pairs, with,
};
use super::{
    Answer, BINARY, Call, EXACT, Law, Operation, READS, ROW, STACKED, STACKS, UNARY, Work, batch,
};
use crate::failure::Result;
use crate::options as opt;
use crate::request::{Cut, Options, Pairs};

pub const ROWS: &[Operation] = &[
    Operation {
        name: "slice",
        options: &[opt::DTYPE, opt::RANK, opt::START, opt::END],
        results: each("s", "end − start", |options, _| {
            let [start, end] = ["start", "end"].map(|name| options.integers(name));
            let both = end.ok()?.into_iter().zip(start.ok()?);
            one(both
                .map(|(end, start)| usize::try_from(end.saturating_sub(start)).unwrap_or(0))
                .collect())
        }),
        about: "the entries from start to before end along each axis; zeros outside the element",
        run: every!(|call, device, args| {
            let [start, end] = ["start", "end"].map(|name| call.options.integers(name));
            batch(args[0].on(&device)?.slice(&start?, &end?)?)
        }),
        work: Work::Answer,
        ..EXACT
    },
    Operation {
        name: "strided_slice",
        options: &[opt::DTYPE, opt::RANK, opt::RANGES],
        results: each(
            "s",
            "as many as start:end:step names, on each axis",
            |options, s| {
                let ranges = options.ranges().ok()?;
                one(s[0]
                    .iter()
                    .zip(ranges)
                    .map(|(&n, cut)| cut_length(n, cut))
                    .collect())
            },
        ),
        about: "x[start:end:step] along each axis of each element",
        run: every!(|call, device, args| {
            let ranges = call.options.ranges()?;
            batch(args[0].on(&device)?.strided_slice(&ranges)?)
        }),
        law: Law::None,
        work: Work::Answer,
        ..EXACT
    },
    Operation {
        name: "pad",
        options: &[opt::DTYPE, opt::RANK, opt::WIDTHS],
        results: each("s", "before + s + after", |options, s| {
            let both = s[0].iter().zip(options.widths().ok()?);
            one(both
                .map(|(&n, (before, after))| n.saturating_add(before).saturating_add(after))
                .collect())
        }),
        about: "each element padded with zeros before and after, along each axis",
        run: every!(|call, device, args| {
            let (before, after): (Vec<_>, Vec<_>) = call.options.widths()?.into_iter().unzip();
            batch(args[0].on(&device)?.pad(&before, &after)?)
        }),
        ..EXACT
    },
    Operation {
        name: "resize",
        options: &[opt::DTYPE, opt::RANK, opt::SHAPES],
        results: GIVEN,
        about: "each element cropped or zero-padded to these extents",
        run: every!(|call, device, args| batch(args[0].on(&device)?.resize(&shaped(call)?)?)),
        ..EXACT
    },
    Operation {
        name: "flip",
        options: &[opt::DTYPE, opt::RANK, opt::AXES],
        about: "each element reversed along axes, all by default",
        run: every!(|call, device, args| {
            let axes = match call.options.axes()? {
                Some(axes) => axes,
                None => (0..call.layout(0).rank()).collect(),
            };
            batch(args[0].on(&device)?.flip(&axes)?)
        }),
        law: Law::None,
        ..EXACT
    },
    Operation {
        name: "gather",
        options: &[opt::DTYPE, opt::RANK, opt::INDEX_LISTS, opt::PAIRING],
        results: all("(n, s), and a list of k indices", "(k, s)", |options, x| {
            let indices = options.indices().ok()?;
            let pairs = pairs(options, [x[0].len(), indices.len()])?;
            let rows = move |(i, j)| with(&extents(&x[0].shape(i)), 0, indices.row(j).len());
            Some(vec![Box::new(pairs.map(rows))])
        }),
        about: "the listed rows of each element; zeros for an index outside it. A pair is an element and a list",
        run: every!(|call, device, args| {
            let (x, indices) = (args[0].on(&device)?, indices(call)?);
            batch(match call.options.pairs()? {
                None => x.gather(&indices)?,
                Some(pairs) => x.gather_paired(&indices, pairs.pairing())?,
            })
        }),
        methods: &[("gather_paired", "pairing")],
        work: Work::Answer,
        ..EXACT
    },
    Operation {
        name: "take_along_axis",
        options: &[opt::DTYPE, opt::RANK, opt::AXIS, opt::INDEX],
        results: all(
            "(s, n, t), and indices (s, k, t), where n and k are extents along the axis",
            "(s, k, t)",
            |options, x| {
                let index = options.required_batch::<u32>("index", x[0].rank()).ok()?;
                let shapes: Vec<_> = index.layout().shapes().map(|s| extents(&s)).collect();
                Some(vec![Box::new(shapes.into_iter().map(Some))])
            },
        ),
        about: "the values at these indices of each line along an axis; 0 beyond its end",
        run: every!(|call, device, args| {
            let index = call
                .options
                .required_batch::<u32>("index", call.layout(0).rank())?;
            let (index, axis) = (device.upload(&index)?, call.options.axis()?);
            batch(args[0].on(&device)?.take_along_axis(&index, axis)?)
        }),
        work: Work::Answer,
        ..EXACT
    },
    Operation {
        name: "scatter_add",
        options: &[
            opt::DTYPE,
            opt::RANK,
            opt::INDEX_LISTS,
            opt::SHAPES,
            opt::PAIRING,
        ],
        results: SCATTERED,
        about: "rows added at the indices of a list to zeros of these shapes. A pair is a shape and a list, with one \
            element of rows per pair",
        run: ordered!(|call, device, args| {
            let x = args[0].on(&device)?;
            let (indices, layout) = (indices(call)?, shaped(call)?);
            batch(match call.options.pairs()? {
                None => x.scatter_add(&indices, &layout)?,
                Some(pairs) => x.scatter_add_paired(&indices, &layout, pairs.pairing())?,
            })
        }),
        methods: &[("scatter_add_paired", "pairing")],
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "scatter_set",
        options: &[opt::DTYPE, opt::RANK, opt::INDEX_LISTS, opt::SHAPES],
        results: SCATTERED,
        about: "rows written at the indices of a list into zeros of these shapes",
        run: every!(|call, device, args| {
            let (indices, layout) = (indices(call)?, shaped(call)?);
            batch(args[0].on(&device)?.scatter_set(&indices, &layout)?)
        }),
        law: Law::Open,
        ..EXACT
    },
    Operation {
        name: "concat",
        args: 2,
        options: &[opt::DTYPE, opt::RANK, opt::PAIRING, opt::AXIS],
        results: CONCATENATED,
        about: "a followed by b along an axis",
        run: every!(|call, device, args| {
            let pairs = call.options.pairs()?;
            let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            batch(a.pair(&b, pairing)?.concat(call.options.axis()?)?)
        }),
        law: Law::Right,
        ..EXACT
    },
    Operation {
        name: "concat_all",
        args: 3,
        options: &[opt::DTYPE, opt::RANK, opt::AXIS],
        results: Results {
            operands: "s, t and u",
            ..CONCATENATED
        },
        about: "a followed by b and c along an axis",
        run: every!(|call, device, args| {
            let x = args[0].on(&device)?;
            let (b, c) = (args[1].on(&device)?, args[2].on(&device)?);
            batch(x.concat_all(&[&b, &c], call.options.axis()?)?)
        }),
        law: Law::Open,
        ..EXACT
    },
    Operation {
        name: "block_diag",
        args: 2,
        options: BINARY,
        results: each("s and t", "s + t", |_, s| {
            one(s[0].iter().zip(&s[1]).map(|(a, b)| a + b).collect())
        }),
        about: "a and b on the diagonal, zeros elsewhere",
        run: every!(|call, device, args| {
            let pairs = call.options.pairs()?;
            let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            batch(a.pair(&b, pairing)?.block_diag()?)
        }),
        law: Law::Right,
        ..EXACT
    },
    Operation {
        name: "select",
        options: &[opt::DTYPE, opt::RANK, opt::ELEMENTS],
        results: SELECTED,
        about: "the elements with these indices, in any order and with repetitions",
        run: every!(|call, device, args| {
            let elements = call.options.elements()?;
            batch(args[0].on(&device)?.select(&elements)?)
        }),
        is_local: false,
        ..EXACT
    },
    Operation {
        name: "reorder",
        options: &[opt::DTYPE, opt::RANK, opt::ELEMENTS],
        results: SELECTED,
        about: "all elements, reordered by a permutation of their indices",
        run: every!(|call, device, args| {
            let order = Permutation::new(call.options.elements()?)?;
            batch(args[0].on(&device)?.reorder(&order)?)
        }),
        is_local: false,
        ..EXACT
    },
    Operation {
        name: "sort_by_length",
        options: UNARY,
        results: all("a batch", "its elements", |_, x| {
            let mut elements = all_extents(x[0]);
            elements.sort_by_key(|extents| extents.iter().product::<usize>());
            listed(elements)
        }),
        about: "the elements sorted by number of values, smallest first",
        run: every!(|call, device, args| batch(args[0].on(&device)?.sort_by_length()?.0)),
        is_local: false,
        law: Law::Open,
        ..EXACT
    },
    Operation {
        name: "join",
        args: 2,
        options: UNARY,
        results: all("two batches", "the elements of both", |_, x| {
            listed(x.iter().flat_map(|x| all_extents(x)).collect())
        }),
        about: "the elements of both batches as one batch",
        run: every!(|call, device, args| {
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            batch(a.join(&[&b])?)
        }),
        is_local: false,
        ..EXACT
    },
    Operation {
        name: "split",
        options: &[opt::DTYPE, opt::RANK, opt::COUNTS],
        results: all(
            "a batch",
            "its elements, in several batches",
            |options, x| {
                let mut elements = all_extents(x[0]).into_iter();
                let parts = options.counts().ok()?.into_iter();
                let parts =
                    parts.map(|count| listed(elements.by_ref().take(count).collect())?.pop());
                parts.collect()
            },
        ),
        about: "consecutive batches with these element counts, as views",
        run: every!(|call, device, args| {
            let parts = args[0].on(&device)?.split(&call.options.counts()?)?;
            Ok(Answer::Batches(parts.into_iter().map(Into::into).collect()))
        }),
        is_local: false,
        law: Law::Open,
        work: Work::Nothing,
        ..EXACT
    },
    Operation {
        name: "transpose",
        options: &[opt::DTYPE, opt::RANK, opt::ORDER],
        results: each("s", "the same extents in another order", |options, s| {
            let axes = match options.axes().ok()? {
                Some(axes) => axes,
                None => (0..s[0].len()).rev().collect(),
            };
            Some(vec![
                axes.into_iter()
                    .map(|axis| s[0].get(axis).copied())
                    .collect::<Option<_>>()?,
            ])
        }),
        about: "each element with its axes permuted, reversed by default",
        run: every!(|call, device, args| {
            let axes = match call.options.axes()? {
                Some(axes) => axes,
                None => (0..call.layout(0).rank()).rev().collect(),
            };
            batch(args[0].on(&device)?.transpose(&axes)?)
        }),
        ..EXACT
    },
    Operation {
        name: "reshape",
        options: &[opt::DTYPE, opt::RANK, opt::SHAPES],
        results: Results {
            operands: "s, and shapes of as many values",
            ..GIVEN
        },
        about: "the same values in elements of these shapes",
        run: every!(|call, device, args| batch(args[0].on(&device)?.reshape(&shaped(call)?)?)),
        law: Law::Open,
        work: Work::Nothing,
        ..EXACT
    },
    Operation {
        name: "packed",
        options: UNARY,
        results: all("elements (n, s)", "one element (Σ n, s)", |_, x| {
            let elements = all_extents(x[0]);
            let first = elements
                .first()
                .cloned()
                .unwrap_or_else(|| vec![0; x[0].rank()]);
            listed(vec![with(&first, 0, elements.iter().map(|s| s[0]).sum())?])
        }),
        about: "the rows of all elements as one element; they agree along all axes but the first",
        run: every!(|call, device, args| batch(args[0].on(&device)?.packed()?)),
        is_local: false,
        law: Law::None,
        work: Work::Nothing,
        ..EXACT
    },
    Operation {
        name: "unpacked",
        options: &[opt::DTYPE, opt::RANK, opt::SHAPES],
        results: Results {
            operands: "one element (Σ n, s), and shapes (n, s)",
            ..GIVEN
        },
        about: "the rows of the only element in elements of these shapes",
        run: every!(|call, device, args| batch(args[0].on(&device)?.unpacked(&shaped(call)?)?)),
        is_local: false,
        law: Law::Open,
        work: Work::Nothing,
        ..EXACT
    },
    Operation {
        name: "broadcast",
        options: &[opt::DTYPE, opt::RANK, opt::SHAPES],
        results: Results {
            operands: "s with extents of 1, and shapes with others",
            ..GIVEN
        },
        about: "each element with its extents of 1 repeated to match these shapes",
        run: every!(|call, device, args| batch(args[0].on(&device)?.broadcast(&shaped(call)?)?)),
        law: Law::None,
        ..EXACT
    },
    Operation {
        name: "stack",
        options: UNARY,
        ranks: STACKED,
        results: all(
            "a batch of n elements",
            "one element (n, the largest extent on each axis)",
            |_, x| {
                let elements = all_extents(x[0]);
                listed(vec![stacked(&elements, elements.len(), x[0].rank())])
            },
        ),
        about: "all elements stacked into one, zero-padded to the largest extents",
        run: every!(|call, device, args| batch(args[0].on(&device)?.stack(most_bytes(call))?)),
        is_local: false,
        ..EXACT
    },
    Operation {
        name: "stack_groups",
        options: &[opt::DTYPE, opt::RANK, opt::COUNTS],
        ranks: STACKED,
        results: all(
            "a batch in groups of n elements",
            "for each, (n, the largest extent on each axis)",
            |options, x| {
                let elements = all_extents(x[0]);
                let mut left = elements.as_slice();
                let groups = options.counts().ok()?.into_iter().map(|count| {
                    let (group, others) = left.split_at_checked(count)?;
                    left = others;
                    Some(stacked(group, count, x[0].rank()))
                });
                listed(groups.collect::<Option<_>>()?)
            },
        ),
        about: "one stack of consecutive elements per count, zero-padded to their largest extents",
        run: every!(|call, device, args| {
            let counts = call.options.counts()?;
            batch(
                args[0]
                    .on(&device)?
                    .stack_groups(&counts, most_bytes(call))?,
            )
        }),
        is_local: false,
        law: Law::Open,
        ..EXACT
    },
    Operation {
        name: "unstack",
        options: &[opt::DTYPE, opt::RANK, opt::SHAPES],
        ranks: STACKS,
        results: Results {
            operands: "one element (n, s), and n shapes",
            ..GIVEN
        },
        about: "the slices along the first axis, each cropped or zero-padded to these extents",
        run: every!(|call, device, args| {
            let mut layout = shaped(call)?;
            if layout.is_empty() {
                // Slices have one axis fewer.
                layout = Layout::from_shapes(call.layout(0).rank().max(2) - 1, [])?;
            }
            batch(args[0].on(&device)?.unstack(&layout)?)
        }),
        is_local: false,
        ..EXACT
    },
    Operation {
        name: "window",
        options: &[opt::DTYPE, opt::RANK, opt::SIZE, opt::STRIDE],
        ranks: STACKED,
        results: all(
            "a batch in windows of n elements",
            "for each, (n, the largest extent on each axis)",
            |options, x| {
                let (size, stride) = (options.size("size").ok()?, options.size("stride").ok()?);
                if size == 0 || stride == 0 {
                    return None;
                }
                let elements = all_extents(x[0]);
                let rank = x[0].rank();
                let starts = (0..(elements.len() + 1).saturating_sub(size)).step_by(stride);
                let window = move |start| Some(stacked(&elements[start..start + size], size, rank));
                Some(vec![Box::new(starts.map(window))])
            },
        ),
        about: "stacks of size consecutive elements, each starting stride elements after the previous one",
        run: every!(|call, device, args| {
            let (size, stride) = (call.options.size("size")?, call.options.size("stride")?);
            batch(
                args[0]
                    .on(&device)?
                    .window(size, stride, most_bytes(call))?,
            )
        }),
        is_local: false,
        work: Work::Answer,
        ..EXACT
    },
    Operation {
        name: "pyramid",
        options: &[opt::DTYPE, opt::RANK, opt::SIZES, opt::FLUSH],
        ranks: STACKED,
        results: all(
            "a batch in windows of n elements, these in further windows, ..",
            "a batch for each level, of (n, the largest extent on each axis)",
            levels,
        ),
        about: "non-overlapping windows of windows: one batch per level",
        run: every!(|call, device, args| {
            let (sizes, flush) = (call.options.sizes()?, call.options.flush()?);
            let levels = args[0]
                .on(&device)?
                .pyramid(&sizes, flush, most_bytes(call))?;
            Ok(Answer::Batches(
                levels.into_iter().map(Into::into).collect(),
            ))
        }),
        is_local: false,
        work: Work::More,
        ..EXACT
    },
    Operation {
        name: "shrink",
        options: UNARY,
        results: by_values(
            "s",
            "the extents of the smallest box at the start that holds all nonzero values",
        ),
        about: "each element without its trailing zeros",
        run: ordered!(|call, device, args| batch(args[0].on(&device)?.shrink_blocking()?)),
        reads_values: true,
        gradient: READS,
        ..EXACT
    },
    Operation {
        name: "minimal_shape",
        options: UNARY,
        results: by_values("s", "on the host: a list of extents"),
        about: "the extents of each element without its trailing zeros",
        run: ordered!(|call, device, args| {
            let shapes = args[0].on(&device)?.minimal_shape_blocking()?;
            let extents = shapes.shapes().map(|shape| shape.extents().to_vec());
            Ok(Answer::Json(extents.collect()))
        }),
        reads_values: true,
        gradient: READS,
        ..ROW
    },
];

const SCATTERED: Results = Results {
    operands: "(k, s), a list of k indices, and a shape (n, s)",
    about: "(n, s)",
    ..GIVEN
};
const CONCATENATED: Results = each(
    "s and t",
    "the sum of the extents along the axis; on other axes the larger extent",
    |options, s| {
        let axis = options.axis().ok()?;
        let sum = s.iter().map(|s| s.get(axis)).sum::<Option<usize>>()?;
        one(with(&ambient(s)?, axis, sum)?)
    },
);
const SELECTED: Results = all(
    "a batch",
    "some of its elements, by their indices",
    |options, x| {
        let elements = options.elements().ok()?.into_iter().map(|i| i as usize);
        let selected = move |i| (i < x[0].len()).then(|| extents(&x[0].shape(i)));
        Some(vec![Box::new(elements.map(selected))])
    },
);

fn indices(call: &Call<'_>) -> Result<Indices> {
    Ok(Indices::new(call.options.indices()?)?)
}

/// The requested shapes of the answer.
fn shaped(call: &Call<'_>) -> Result<Layout> {
    let (rank, shapes) = call.options.shapes()?;
    Ok(Layout::from_shapes(rank, shapes)?)
}

/// What an answer within the limit takes at most.
fn most_bytes(call: &Call<'_>) -> u64 {
    call.max_values.saturating_mul(8)
}

/// A stack of these elements, padded with zero slices up to `slices`, in the box of the elements.
fn stacked(elements: &[Extents], slices: usize, rank: usize) -> Extents {
    let ambient = ambient(elements).unwrap_or_else(|| vec![0; rank]);
    [&[slices], ambient.as_slice()].concat()
}

/// Windows of windows.
fn levels<'a>(options: &'a Options, x: &'a [&'a Layout]) -> Option<Vec<Shapes<'a>>> {
    let is_filled = matches!(options.flush().ok()?, Remainder::Pad);
    let (mut elements, mut rank) = (all_extents(x[0]), x[0].rank());
    let mut levels = Vec::new();
    for size in options.sizes().ok()? {
        if size == 0 || rank == MAX_RANK {
            return None;
        }
        let whole = elements
            .chunks(size)
            .filter(|chunk| is_filled || chunk.len() == size);
        elements = whole.map(|chunk| stacked(chunk, size, rank)).collect();
        rank += 1;
        levels.extend(listed(elements.clone())?);
    }
    Some(levels)
}

/// The number of values of `start:end:step`, as in Python.
fn cut_length(extent: usize, (start, end, step): Cut) -> usize {
    let n = i64::try_from(extent).unwrap_or(i64::MAX);
    let (least, most) = if step < 0 { (-1, n - 1) } else { (0, n) };
    let place = |place: i64| match place {
        ..0 => place.saturating_add(n).max(least),
        _ => place.min(most),
    };
    let first = start.map_or(if step < 0 { most } else { least }, place);
    let last = end.map_or(if step < 0 { least } else { most }, place);
    let way = if step < 0 { first - last } else { last - first };
    // The library refuses steps of 0.
    u64::try_from(way)
        .unwrap_or(0)
        .div_ceil(step.unsigned_abs().max(1)) as usize
}
