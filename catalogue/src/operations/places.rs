//! Operations that move values: selections, rearrangements, combinations.

use vsla::batch::Permutation;
use vsla::{Indices, Layout, Pairing, Shape, batch::Remainder};

use super::{
    Answer, BINARY, Call, Grows, Law, Operation, READS, ROW, UNARY, Work, batch, within,
    within_pairs,
};
use crate::batch::written_size;
use crate::failure::Result;
use crate::request::Pairs;

pub const ROWS: &[Operation] = &[
    Operation {
        name: "slice",
        options: &["dtype", "rank", "start", "end"],
        about: "the entries from start to before end along each axis; zeros outside the element",
        run: |call| {
            let [start, end] = ["start", "end"].map(|name| call.options.integers(name));
            let (start, end) = (start?, end?);
            let extents = end
                .iter()
                .zip(&start)
                .map(|(end, start)| usize::try_from(end.saturating_sub(*start)).unwrap_or(0));
            let extents: Vec<_> = extents.collect();
            limit(call, call.layout(0).shapes().map(|_| Shape::new(&extents)))?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.slice(&start, &end)?)
            })
        },
        work: Work::Answer,
        ..ROW
    },
    Operation {
        name: "strided_slice",
        options: &["dtype", "rank", "ranges"],
        about: "x[start:end:step] along each axis of each element",
        run: |call| {
            let ranges = call.options.ranges()?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.strided_slice(&ranges)?)
            })
        },
        law: Law::None,
        work: Work::Answer,
        ..ROW
    },
    Operation {
        name: "pad",
        options: &["dtype", "rank", "widths"],
        about: "each element padded with zeros before and after, along each axis",
        run: |call| {
            let widths = call.options.widths()?;
            let padded = call.layout(0).shapes().map(|shape| {
                let extents = shape.extents().iter().zip(&widths);
                let wide = |(&n, &(before, after)): (&u32, &(usize, usize))| {
                    before.saturating_add(n as usize).saturating_add(after)
                };
                Shape::new(&extents.map(wide).collect::<Vec<_>>())
            });
            limit(call, padded)?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                let (before, after): (Vec<_>, Vec<_>) = widths.into_iter().unzip();
                batch(x.pad(&before, &after)?)
            })
        },
        ..ROW
    },
    Operation {
        name: "resize",
        options: &["dtype", "rank", "shapes"],
        about: "each element cropped or zero-padded to these extents",
        run: |call| {
            let layout = shaped(call)?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.resize(&layout)?)
            })
        },
        ..ROW
    },
    Operation {
        name: "flip",
        options: &["dtype", "rank", "axes"],
        about: "each element reversed along axes, all by default",
        run: |call| {
            let axes = match call.options.axes()? {
                Some(axes) => axes,
                None => (0..call.layout(0).rank()).collect(),
            };
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.flip(&axes)?)
            })
        },
        law: Law::None,
        ..ROW
    },
    Operation {
        name: "gather",
        options: &["dtype", "rank", "indices", "pairing"],
        about: "the listed rows of each element; zeros for an index outside it. A pair is an element and a list",
        run: |call| {
            let (indices, pairs) = (indices(call)?, call.options.pairs()?);
            let layout = call.layout(0);
            let size = |i: usize, j: usize| {
                let rows = with_rows(&layout.shape(i), indices.list(j).len());
                rows.map_or(1, |shape| written_size(&shape))
            };
            let sides = [layout.len(), indices.len()];
            within_pairs(call.max_values, pairs.as_ref(), sides, size)?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                let rows = match &pairs {
                    None => x.gather(&indices)?,
                    Some(pairs) => x.gather_paired(&indices, pairs.pairing())?,
                };
                batch(rows)
            })
        },
        methods: &[("gather_paired", "pairing")],
        work: Work::Answer,
        ..ROW
    },
    Operation {
        name: "scatter_add",
        options: &["dtype", "rank", "indices", "shapes", "pairing"],
        about: "rows added at the indices of a list to zeros of these shapes. A pair is a shape and a list, with one \
            element of rows per pair",
        run: |call| {
            let (indices, layout) = (indices(call)?, shaped(call)?);
            let pairs = call.options.pairs()?;
            let sides = [layout.len(), indices.len()];
            within_pairs(call.max_values, pairs.as_ref(), sides, |_, _| 1)?;
            ordered!(call, |device, args| {
                let x = args[0].on(&device)?;
                let sums = match &pairs {
                    None => x.scatter_add(&indices, &layout)?,
                    Some(pairs) => x.scatter_add_paired(&indices, &layout, pairs.pairing())?,
                };
                batch(sums)
            })
        },
        methods: &[("scatter_add_paired", "pairing")],
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "scatter_set",
        options: &["dtype", "rank", "indices", "shapes"],
        about: "rows written at the indices of a list into zeros of these shapes",
        run: |call| {
            let (indices, layout) = (indices(call)?, shaped(call)?);
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.scatter_set(&indices, &layout)?)
            })
        },
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "concat",
        args: 2,
        options: &["dtype", "rank", "pairing", "axis"],
        grows: Grows::Sums,
        about: "a followed by b along an axis",
        run: |call| {
            let axis = call.options.axis()?;
            let pairs = call.options.pairs()?;
            let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
            every!(call, |device, args| {
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                batch(a.pair(&b, pairing)?.concat(axis)?)
            })
        },
        law: Law::Right,
        ..ROW
    },
    Operation {
        name: "concat_all",
        args: 3,
        options: &["dtype", "rank", "axis"],
        about: "a followed by b and c along an axis",
        run: |call| {
            let axis = call.options.axis()?;
            let layouts = [0, 1, 2].map(|i| call.layout(i));
            let count = layouts.map(Layout::len).into_iter().min().unwrap_or(0);
            let shapes = (0..count).map(|i| {
                let mut extents = vec![0usize; layouts[0].rank()];
                for layout in layouts {
                    let shape = layout.shape(i);
                    for (sum, &extent) in extents.iter_mut().zip(shape.extents()) {
                        *sum += extent as usize;
                    }
                }
                Shape::new(&extents)
            });
            limit(call, shapes)?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                let (b, c) = (args[1].on(&device)?, args[2].on(&device)?);
                batch(x.concat_all(&[&b, &c], axis)?)
            })
        },
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "block_diag",
        args: 2,
        options: BINARY,
        grows: Grows::Sums,
        about: "a and b on the diagonal, zeros elsewhere",
        run: |call| {
            let pairs = call.options.pairs()?;
            let pairing = pairs.as_ref().map_or(Pairing::Elementwise, Pairs::pairing);
            every!(call, |device, args| {
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                batch(a.pair(&b, pairing)?.block_diag()?)
            })
        },
        law: Law::Right,
        ..ROW
    },
    Operation {
        name: "select",
        options: &["dtype", "rank", "elements"],
        about: "the elements with these indices, in any order and with repetitions",
        run: |call| {
            let elements = call.options.elements()?;
            let layout = call.layout(0);
            let known = elements.iter().filter(|&&i| (i as usize) < layout.len());
            limit(call, known.map(|&i| Ok(layout.shape(i as usize))))?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.select(&elements)?)
            })
        },
        is_local: false,
        ..ROW
    },
    Operation {
        name: "reorder",
        options: &["dtype", "rank", "elements"],
        about: "all elements, reordered by a permutation of their indices",
        run: |call| {
            let order = Permutation::new(call.options.elements()?)?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.reorder(&order)?)
            })
        },
        is_local: false,
        ..ROW
    },
    Operation {
        name: "sort_by_length",
        options: UNARY,
        about: "the elements sorted by number of values, smallest first",
        run: |call| {
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.sort_by_length()?.0)
            })
        },
        is_local: false,
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "join",
        args: 2,
        options: UNARY,
        about: "the elements of both batches as one batch",
        run: |call| {
            every!(call, |device, args| {
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                batch(a.join(&[&b])?)
            })
        },
        is_local: false,
        ..ROW
    },
    Operation {
        name: "split",
        options: &["dtype", "rank", "counts"],
        about: "consecutive batches with these element counts, as views",
        run: |call| {
            let counts = call.options.counts()?;
            every!(call, |device, args| {
                let parts = args[0].on(&device)?.split(&counts)?;
                Ok(Answer::Batches(parts.into_iter().map(Into::into).collect()))
            })
        },
        is_local: false,
        law: Law::Open,
        work: Work::Nothing,
        ..ROW
    },
    Operation {
        name: "transpose",
        options: &["dtype", "rank", "axes"],
        about: "each element with its axes permuted, reversed by default",
        run: |call| {
            let axes = match call.options.axes()? {
                Some(axes) => axes,
                None => (0..call.layout(0).rank()).rev().collect(),
            };
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.transpose(&axes)?)
            })
        },
        ..ROW
    },
    Operation {
        name: "reshape",
        options: &["dtype", "rank", "shapes"],
        about: "the same values in elements of these shapes",
        run: |call| {
            let layout = shaped(call)?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.reshape(&layout)?)
            })
        },
        law: Law::Open,
        work: Work::Nothing,
        ..ROW
    },
    Operation {
        name: "packed",
        options: UNARY,
        about: "the rows of all elements as one element; they agree along all axes but the first",
        run: |call| every!(call, |device, args| batch(args[0].on(&device)?.packed()?)),
        is_local: false,
        law: Law::None,
        work: Work::Nothing,
        ..ROW
    },
    Operation {
        name: "unpacked",
        options: &["dtype", "rank", "shapes"],
        about: "the rows of the only element in elements of these shapes",
        run: |call| {
            let layout = shaped(call)?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.unpacked(&layout)?)
            })
        },
        is_local: false,
        law: Law::Open,
        work: Work::Nothing,
        ..ROW
    },
    Operation {
        name: "broadcast",
        options: &["dtype", "rank", "shapes"],
        about: "each element with its extents of 1 repeated to match these shapes",
        run: |call| {
            let layout = shaped(call)?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.broadcast(&layout)?)
            })
        },
        law: Law::None,
        ..ROW
    },
    Operation {
        name: "stack",
        options: UNARY,
        about: "all elements stacked into one, zero-padded to the largest extents",
        run: |call| {
            let most = dense(call, call.layout(0).len())?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.stack(most)?)
            })
        },
        is_local: false,
        ..ROW
    },
    Operation {
        name: "stack_groups",
        options: &["dtype", "rank", "counts"],
        about: "one stack of consecutive elements per count, zero-padded to their largest extents",
        run: |call| {
            let counts = call.options.counts()?;
            limit_groups(call, &counts)?;
            let most = call.max_values.saturating_mul(8);
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.stack_groups(&counts, most)?)
            })
        },
        is_local: false,
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "unstack",
        options: &["dtype", "rank", "shapes"],
        about: "the slices along the first axis, each cropped or zero-padded to these extents",
        run: |call| {
            let mut layout = shaped(call)?;
            if layout.is_empty() {
                // Slices have one axis fewer.
                layout = Layout::from_shapes(call.layout(0).rank().max(2) - 1, [])?;
            }
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.unstack(&layout)?)
            })
        },
        is_local: false,
        ..ROW
    },
    Operation {
        name: "window",
        options: &["dtype", "rank", "size", "stride"],
        about: "stacks of size consecutive elements, each starting stride elements after the previous one",
        run: |call| {
            let (size, stride) = (call.options.size("size")?, call.options.size("stride")?);
            let most = windowed(call, size, stride)?;
            every!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.window(size, stride, most)?)
            })
        },
        is_local: false,
        work: Work::Answer,
        ..ROW
    },
    Operation {
        name: "pyramid",
        options: &["dtype", "rank", "sizes", "flush"],
        about: "non-overlapping windows of windows: one batch per level",
        run: |call| {
            let (sizes, flush) = (call.options.sizes()?, call.options.flush()?);
            let most = levels(call, &sizes, matches!(flush, Remainder::Pad))?;
            every!(call, |device, args| {
                let levels = args[0].on(&device)?.pyramid(&sizes, flush, most)?;
                Ok(Answer::Batches(
                    levels.into_iter().map(Into::into).collect(),
                ))
            })
        },
        is_local: false,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "shrink",
        options: UNARY,
        about: "each element without its trailing zeros",
        run: |call| {
            ordered!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(x.shrink_blocking()?)
            })
        },
        reads_values: true,
        gradient: READS,
        ..ROW
    },
    Operation {
        name: "minimal_shape",
        options: UNARY,
        about: "the extents of each element without its trailing zeros",
        run: |call| {
            ordered!(call, |device, args| {
                let shapes = args[0].on(&device)?.minimal_shape_blocking()?;
                let extents = shapes.shapes().map(|shape| shape.extents().to_vec());
                Ok(Answer::Json(extents.collect()))
            })
        },
        reads_values: true,
        gradient: READS,
        ..ROW
    },
];

fn indices(call: &Call<'_>) -> Result<Indices> {
    Ok(Indices::new(call.options.indices()?)?)
}

/// The requested shapes of the answer.
fn shaped(call: &Call<'_>) -> Result<Layout> {
    let (rank, shapes) = call.options.shapes()?;
    limit(call, shapes.iter().map(|&shape| Ok(shape)))?;
    Ok(Layout::from_shapes(rank, shapes)?)
}

/// Refuses an answer of these shapes above the limit. A shape that does not fit is left for the library to refuse.
fn limit(call: &Call<'_>, shapes: impl Iterator<Item = vsla::Result<Shape>>) -> Result<()> {
    let sizes = shapes.map(|shape| shape.map_or(1, |shape| written_size(&shape)));
    within(call.max_values, &mut { sizes })
}

/// Refuses this many slices, in the box that holds all elements, if they are above the limit; returns the most bytes
/// that they may take.
fn dense(call: &Call<'_>, slices: usize) -> Result<u64> {
    let layout = call.layout(0);
    let extents: Vec<_> = layout
        .ambient_extents()
        .iter()
        .map(|&extent| extent as usize)
        .collect();
    // Rounded up, for strides that skip some elements.
    let slice = Shape::new(&extents).map_or(u64::MAX, |shape| written_size(&shape));
    let size = slice.saturating_mul(slices as u64).saturating_add(1);
    within(call.max_values, &mut [size].into_iter())?;
    Ok(call.max_values.saturating_mul(8))
}

/// The numbers and arrays of a stack of these elements, padded with zero slices up to `slices`, in the box of the
/// elements; and that box.
fn stack_size(elements: &[Vec<usize>], slices: usize, rank: usize) -> (u64, Vec<usize>) {
    let mut stack = vec![0; 1 + rank];
    stack[0] = slices;
    for element in elements {
        for (most, &extent) in stack[1..].iter_mut().zip(element) {
            *most = extent.max(*most);
        }
    }
    let size = Shape::new(&stack).map_or(u64::MAX, |shape| written_size(&shape));
    (size, stack)
}

fn all_extents(layout: &Layout) -> Vec<Vec<usize>> {
    let extents = |shape: Shape| shape.extents().iter().map(|&n| n as usize).collect();
    layout.shapes().map(extents).collect()
}

/// Refuses windows above the limit, each in the box of its own elements; returns the most bytes that they may take.
fn windowed(call: &Call<'_>, size: usize, stride: usize) -> Result<u64> {
    let elements = all_extents(call.layout(0));
    let rank = call.layout(0).rank();
    if size > 0 {
        let windows = elements.windows(size).step_by(stride.max(1));
        within(
            call.max_values,
            &mut windows.map(|window| stack_size(window, size, rank).0),
        )?;
    }
    Ok(call.max_values.saturating_mul(8))
}

/// The same for all levels of a pyramid together.
fn levels(call: &Call<'_>, sizes: &[usize], filled: bool) -> Result<u64> {
    let mut elements = all_extents(call.layout(0));
    let mut left = call.max_values;
    let given = sizes.iter().filter(|size| **size > 0);
    for (rank, &size) in (call.layout(0).rank()..).zip(given) {
        let whole = elements
            .chunks(size)
            .filter(|chunk| filled || chunk.len() == size);
        let stacks: Vec<_> = whole.map(|chunk| stack_size(chunk, size, rank)).collect();
        within(left, &mut stacks.iter().map(|stack| stack.0))?;
        left -= stacks.iter().map(|stack| stack.0).sum::<u64>();
        elements = stacks.into_iter().map(|stack| stack.1).collect();
    }
    Ok(call.max_values.saturating_mul(8))
}

/// Refuses stacks of these numbers of elements above the limit.
fn limit_groups(call: &Call<'_>, counts: &[usize]) -> Result<()> {
    let mut shapes = call.layout(0).shapes();
    let stacks = counts.iter().map(|&count| {
        let mut extents = vec![0usize; 1 + call.layout(0).rank()];
        for shape in shapes.by_ref().take(count) {
            extents[0] += 1;
            for (most, &extent) in extents[1..].iter_mut().zip(shape.extents()) {
                *most = (*most).max(extent as usize);
            }
        }
        Shape::new(&extents)
    });
    limit(call, stacks)
}

/// The shape with another extent on its first axis.
fn with_rows(shape: &Shape, rows: usize) -> vsla::Result<Shape> {
    let behind = shape.extents()[1..].iter().map(|&extent| extent as usize);
    Shape::new(&[rows].into_iter().chain(behind).collect::<Vec<_>>())
}
