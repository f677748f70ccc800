//! Reductions to one value for each element, for each line along an axis, or for each pair.

use super::{
    Answer, BESIDE, BINARY, Call, Gradient, Grows, Law, Operation, READS, ROW, WHOLE, Work, batch,
    within,
};
use crate::failure::{Failure, Result};

const AXIS: &[&str] = &["dtype", "rank", "axis"];

/// A reduction of these types over whole elements, or along an axis if there is one.
macro_rules! reduction {
    ($name:literal, $whole:ident, $along:ident, $about:literal, $($kind:ident)*) => {
        Operation {
            name: $name,
            options: AXIS,
            about: $about,
            run: |call| {
                let axis = call.options.optional_axis()?;
                of_types!(call, [$($kind)*], |device, args| {
                    let x = args[0].on(&device)?;
                    batch(match axis {
                        Some(axis) => x.$along(axis)?,
                        None => x.$whole()?,
                    })
                })
            },
            ..ROW
        }
    };
    ($name:literal, $whole:ident, $along:ident, $about:literal) => {
        reduction!(
            $name, $whole, $along, $about, F32 F16 I32 U32
        )
    };
}

/// Refuses sums of groups above the limit: their extents are the largest of their elements.
fn check_sums(call: &Call<'_>, labels: &[u32], count: usize) -> Result<()> {
    let layout = call.layout(0);
    let mut extents = vec![vec![0u64; layout.rank()]; count];
    for (shape, &label) in layout.shapes().zip(labels) {
        // Labels out of range are refused by the library.
        let Some(extents) = extents.get_mut(label as usize) else {
            continue;
        };
        let both = extents.iter_mut().zip(shape.extents());
        both.for_each(|(most, &extent)| *most = (*most).max(extent.into()));
    }
    let size = |extents: &Vec<u64>| extents.iter().copied().fold(1, u64::saturating_mul);
    within(call.max_values, &mut extents.iter().map(size))
}

pub const ROWS: &[Operation] = &[
    reduction!(
        "sum",
        sum,
        sum_axis,
        "the sum of each element, or along an axis; 0 for an empty one",
        F32 F16 I32 U32 C32
    ),
    Operation {
        name: "sum_batch",
        options: &["dtype", "rank"],
        about: "the sum of all elements; missing entries are zero",
        run: |call| {
            check_sums(call, &vec![0; call.layout(0).len()], 1)?;
            typed!(call, |device, args| {
                batch(args[0].on(&device)?.sum_batch()?)
            })
        },
        is_local: false,
        ..ROW
    },
    Operation {
        name: "sum_groups",
        options: &["dtype", "rank", "labels", "groups"],
        about: "the sum of the elements of each group; missing entries are zero",
        run: |call| {
            let labels = call.options.labels()?;
            let count = call.options.optional("groups")?;
            let count: u32 = match count {
                Some(count) => count,
                None => labels.iter().max().map_or(0, |most| most.saturating_add(1)),
            };
            // As many as there are elements, because a group without any still takes room.
            if count as usize > labels.len().max(1 << 16) {
                return Err(Failure::request(
                    "groups: more than 65536, and than elements",
                ));
            }
            check_sums(call, &labels, count as usize)?;
            typed!(call, |device, args| {
                let sums = args[0].on(&device)?.sum_groups(&labels, count as usize)?;
                batch(sums)
            })
        },
        is_local: false,
        ..ROW
    },
    reduction!(
        "prod",
        prod,
        prod_axis,
        "the product of each element, or along an axis; 1 for an empty one"
    ).sloping(BESIDE).by_shape(),
    reduction!(
        "norm2",
        norm2,
        norm2_axis,
        "the Euclidean norm of each element, or along an axis (f32 or f16)",
        F32 F16
    ).sloping(BESIDE),
    reduction!(
        "norm_inf",
        norm_max,
        norm_max_axis,
        "the largest absolute value of each element, or along an axis; 0 for an empty one"
    ).sloping(Gradient::Apart).for_methods(&[("norm_max", ""), ("norm_max_axis", "axis")]),
    reduction!(
        "max",
        max,
        max_axis,
        "the largest value of each element, or along an axis; -inf (or the least integer) for an empty one",
        F32 F16 I32 U32 U8
    ).sloping(Gradient::Apart).by_shape(),
    reduction!(
        "argmax",
        argmax,
        argmax_axis,
        "the index of the largest value of each element, or along an axis; 4294967295 for an empty one",
        F32 F16 I32 U32 U8
    ).without_gradient(WHOLE).by_shape(),
    reduction!(
        "min",
        min,
        min_axis,
        "the smallest value of each element, or along an axis; inf (or the largest integer) for an empty one",
        F32 F16 I32 U32 U8
    ).sloping(Gradient::Apart).by_shape(),
    reduction!(
        "argmin",
        argmin,
        argmin_axis,
        "the index of the smallest value of each element, or along an axis; 4294967295 for an empty one",
        F32 F16 I32 U32 U8
    ).without_gradient(WHOLE).by_shape(),
    reduction!(
        "any",
        any,
        any_axis,
        "whether any value of each element, or along an axis, is nonzero: 1 or 0 (u32)",
        U32
    ).without_gradient(WHOLE),
    reduction!(
        "all",
        all,
        all_axis,
        "whether all values of each element, or along an axis, are nonzero: 1 or 0 (u32)",
        U32
    ).without_gradient(WHOLE).by_shape(),
    Operation {
        name: "histogram",
        options: &["dtype", "rank", "bins", "range", "edges"],
        about: "how many values of each element are in each bin: bins equal ones of a range, or those between edges",
        run: |call| {
            let elements = call.layout(0).len();
            let limit = call.max_values;
            let within = |bins: usize| {
                let mut sizes = std::iter::repeat_n(1 + bins as u64, elements);
                within(limit, &mut sizes)
            };
            ordered!(call, |device, args| {
                let options = &call.options;
                let counts = match options.list("edges")? {
                    Some(edges) => {
                        if options.has("bins") || options.has("range") {
                            let message = "edges: not together with bins or range";
                            return Err(Failure::request(message));
                        }
                        within(edges.len())?;
                        args[0].on(&device)?.histogram_edges(&edges)?
                    }
                    None => {
                        let (bins, [lo, hi]) = (options.size("bins")?, options.ends()?);
                        within(bins)?;
                        args[0].on(&device)?.histogram(bins, lo..=hi)?
                    }
                };
                batch(counts)
            })
        },
        methods: &[("histogram_edges", "edges")],
        gradient: Gradient::None(WHOLE),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "dot",
        args: 2,
        options: BINARY,
        grows: Grows::Pair,
        about: "the inner product of each pair; missing entries are zero",
        run: binary!(real, dot),
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "equivalent",
        args: 2,
        options: BINARY,
        grows: Grows::Pair,
        about: "whether each pair is equal up to trailing zeros",
        run: |call| {
            real!(call, |device, args| {
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                Ok(Answer::Truths(match call.options.pairs()? {
                    None => a.equivalent_blocking(&b)?,
                    Some(pairs) => a.pair(&b, pairs.pairing())?.equivalent_blocking()?,
                }))
            })
        },
        reads_values: true,
        gradient: READS,
        ..ROW
    },
    reduction!(
        "norm1",
        norm1,
        norm1_axis,
        "the sum of absolute values of each element, or along an axis"
    ).sloping(BESIDE),
];
