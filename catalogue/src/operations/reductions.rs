//! Reductions to one value for each element, for each line along an axis, or for each pair.

use super::results::{
    BINS, Extents, ONE_OF_TWO, REDUCED, Results, all, all_extents, ambient, listed,
};
use super::{
    Answer, BESIDE, BINARY, EXACT, Gradient, Law, Operation, READS, ROW, UNARY, WHOLE, Work, batch,
};
use crate::failure::{Failure, Result};
use crate::options::{self as opt, Opt};
use crate::request::Options;

const AXIS: &[Opt] = &[opt::DTYPE, opt::RANK, opt::AXIS_OR_ALL];

/// A reduction of these types over whole elements, or along an axis if there is one.
macro_rules! reduction {
    ($name:literal, $whole:ident, $along:ident, $types:ident, $about:literal) => {
        Operation {
            name: $name,
            options: AXIS,
            results: REDUCED,
            about: $about,
            run: $types!(|call, device, args| {
                let x = args[0].on(&device)?;
                batch(match call.options.optional_axis()? {
                    Some(axis) => x.$along(axis)?,
                    None => x.$whole()?,
                })
            }),
            ..ROW
        }
    };
}

/// The body for masks.
macro_rules! mask {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [U32] => $body)
    };
}

/// The group of each element, and the number of groups.
fn groups(options: &Options) -> Result<(Vec<u32>, usize)> {
    let labels = options.labels()?;
    let count: u32 = match options.optional("groups")? {
        Some(count) => count,
        None => labels.iter().max().map_or(0, |most| most.saturating_add(1)),
    };
    // As many as there are elements, because a group without any still takes room.
    if count as usize > labels.len().max(1 << 16) {
        return Err(Failure::request(
            "groups: more than 65536, and than elements",
        ));
    }
    Ok((labels, count as usize))
}

pub const ROWS: &[Operation] = &[
    reduction!(
        "sum",
        sum,
        sum_axis,
        typed,
        "the sum of each element, or along an axis; 0 for an empty one"
    ),
    Operation {
        name: "sum_batch",
        options: UNARY,
        results: all("a batch", "one element: the largest extent on each axis", |_, x| {
            let zeros = vec![0; x[0].rank()];
            listed(vec![ambient(&all_extents(x[0])).unwrap_or(zeros)])
        }),
        about: "the sum of all elements; missing entries are zero",
        run: typed!(|call, device, args| batch(args[0].on(&device)?.sum_batch()?)),
        is_local: false,
        ..ROW
    },
    Operation {
        name: "sum_groups",
        options: &[opt::DTYPE, opt::RANK, opt::LABELS, opt::GROUPS],
        results: all("a batch", "one element for each group: the largest extent on each axis", |options, x| {
            let (labels, count) = groups(options).ok()?;
            let mut sums: Vec<Extents> = vec![vec![0; x[0].rank()]; count];
            for (extents, label) in all_extents(x[0]).into_iter().zip(labels) {
                let sum = sums.get_mut(label as usize)?;
                *sum = ambient(&[std::mem::take(sum), extents])?;
            }
            listed(sums)
        }),
        about: "the sum of the elements of each group; missing entries are zero",
        run: typed!(|call, device, args| {
            let (labels, count) = groups(&call.options)?;
            batch(args[0].on(&device)?.sum_groups(&labels, count)?)
        }),
        is_local: false,
        ..ROW
    },
    reduction!(
        "prod",
        prod,
        prod_axis,
        ordered,
        "the product of each element, or along an axis; 1 for an empty one"
    ).sloping(BESIDE).by_shape(),
    reduction!(
        "norm2",
        norm2,
        norm2_axis,
        float,
        "the Euclidean norm of each element, or along an axis"
    ).sloping(BESIDE),
    reduction!(
        "norm_inf",
        norm_max,
        norm_max_axis,
        ordered,
        "the largest absolute value of each element, or along an axis; 0 for an empty one"
    ).exact().sloping(Gradient::Apart).for_methods(&[("norm_max", ""), ("norm_max_axis", "axis")]),
    reduction!(
        "max",
        max,
        max_axis,
        compared,
        "the largest value of each element, or along an axis; -inf (or the least integer) for an empty one"
    ).exact().sloping(Gradient::Apart).by_shape(),
    reduction!(
        "argmax",
        argmax,
        argmax_axis,
        compared,
        "the index of the largest value of each element, or along an axis; 4294967295 for an empty one"
    ).exact().without_gradient(WHOLE).by_shape(),
    reduction!(
        "min",
        min,
        min_axis,
        compared,
        "the smallest value of each element, or along an axis; inf (or the largest integer) for an empty one"
    ).exact().sloping(Gradient::Apart).by_shape(),
    reduction!(
        "argmin",
        argmin,
        argmin_axis,
        compared,
        "the index of the smallest value of each element, or along an axis; 4294967295 for an empty one"
    ).exact().without_gradient(WHOLE).by_shape(),
    reduction!(
        "any",
        any,
        any_axis,
        mask,
        "whether any value of each element, or along an axis, is nonzero: 1 or 0 (u32)"
    ).exact().without_gradient(WHOLE),
    reduction!(
        "all",
        all,
        all_axis,
        mask,
        "whether all values of each element, or along an axis, are nonzero: 1 or 0 (u32)"
    ).exact().without_gradient(WHOLE).by_shape(),
    Operation {
        name: "histogram",
        options: &[opt::DTYPE, opt::RANK, opt::BINS_OF_RANGE, opt::ENDS, opt::EDGES],
        results: BINS,
        about: "how many values of each element are in each bin: bins equal ones of a range, or those between edges",
        run: ordered!(|call, device, args| {
            let (x, options) = (args[0].on(&device)?, &call.options);
            let counts = match options.list("edges")? {
                Some(_) if options.has("bins") || options.has("range") => {
                    let message = "edges: not together with bins or range";
                    return Err(Failure::request(message));
                }
                Some(edges) => x.histogram_edges(&edges)?,
                None => {
                    let (bins, [lo, hi]) = (options.size("bins")?, options.ends()?);
                    x.histogram(bins, lo..=hi)?
                }
            };
            batch(counts)
        }),
        methods: &[("histogram_edges", "edges")],
        gradient: Gradient::None(WHOLE),
        law: Law::None,
        work: Work::More,
        ..EXACT
    },
    Operation {
        name: "dot",
        args: 2,
        options: BINARY,
        results: ONE_OF_TWO,
        about: "the inner product of each pair; missing entries are zero",
        run: binary!(real, dot),
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "equivalent",
        args: 2,
        options: BINARY,
        results: Results { about: "on the host: true or false", ..ONE_OF_TWO },
        about: "whether each pair is equal up to trailing zeros",
        run: real!(|call, device, args| {
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            Ok(Answer::Truths(match call.options.pairs()? {
                None => a.equivalent_blocking(&b)?,
                Some(pairs) => a.pair(&b, pairs.pairing())?.equivalent_blocking()?,
            }))
        }),
        reads_values: true,
        gradient: READS,
        ..ROW
    },
    reduction!(
        "norm1",
        norm1,
        norm1_axis,
        ordered,
        "the sum of absolute values of each element, or along an axis"
    ).sloping(BESIDE),
];
