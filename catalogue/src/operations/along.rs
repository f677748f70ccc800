//! Reductions and normalizations along an axis, or of whole elements, under the names of NumPy, SciPy and PyTorch.

use super::results::{REDUCED, each, one, with};
use super::{Answer, BESIDE, EXACT, Gradient, Operation, ROW, WHOLE, Work, batch};
use crate::options::{self as opt, Opt};

const AXIS: &[Opt] = &[opt::DTYPE, opt::RANK, opt::AXIS];
const SORT: &[Opt] = &[opt::DTYPE, opt::RANK, opt::AXIS, opt::DESCENDING];
const GROUPS: &[Opt] = &[opt::DTYPE, opt::RANK, opt::CHANNEL_GROUPS, opt::EPS];
const NORM: &[Opt] = &[opt::DTYPE, opt::RANK, opt::AXIS, opt::EPS];
const EACH_OR_ALL: &[Opt] = &[opt::DTYPE, opt::RANK, opt::AXIS_OR_ALL];

/// A method of the argument, of these types.
macro_rules! row {
    ($name:literal, $options:expr, $about:literal, $types:ident, |$call:ident, $x:ident| $body:expr) => {
        Operation {
            name: $name,
            options: $options,
            about: $about,
            run: $types!(|$call, device, args| {
                let $x = args[0].on(&device)?;
                batch($body?)
            }),
            ..ROW
        }
    };
}

/// A reduction of whole elements, or along an axis if there is one.
macro_rules! reduction {
    ($name:literal, $whole:ident, $along:ident, $about:literal) => {
        row!($name, EACH_OR_ALL, $about, float, |call, x| {
            match call.options.optional_axis()? {
                Some(axis) => x.$along(axis),
                None => x.$whole(),
            }
        })
        .giving(REDUCED)
    };
}

/// A sort along an axis, in either order.
macro_rules! sorted {
    ($name:literal, $method:ident, $descending:ident, $about:literal) => {
        row!($name, SORT, $about, compared, |call, x| {
            let axis = call.options.axis()?;
            match call.options.flag("descending")? {
                true => x.$descending(axis),
                false => x.$method(axis),
            }
        })
    };
}

/// A method of any type but complex numbers along an axis.
macro_rules! in_order {
    ($name:literal, $method:ident, $about:literal) => {
        row!($name, AXIS, $about, ordered, |call, x| x
            .$method(call.options.axis()?))
    };
}

pub const ROWS: &[Operation] = &[
    reduction!(
        "mean",
        mean,
        mean_axis,
        "the mean of each element, or along an axis"
    )
    .by_shape(),
    reduction!(
        "var",
        var,
        var_axis,
        "the mean square of the differences from the mean"
    )
    .by_shape(),
    reduction!("std", std, std_axis, "the square root of the variance")
        .sloping(BESIDE)
        .by_shape(),
    reduction!(
        "amax",
        max,
        max_axis,
        "the largest value of each element, or along an axis; nan if there is one"
    )
    .exact()
    .sloping(Gradient::Apart)
    .by_shape(),
    reduction!(
        "amin",
        min,
        min_axis,
        "the smallest value of each element, or along an axis; nan if there is one"
    )
    .exact()
    .sloping(Gradient::Apart)
    .by_shape(),
    reduction!(
        "logsumexp",
        log_sum_exp,
        log_sum_exp_axis,
        "the log of the sum of exp(x)"
    )
    .for_methods(&[("log_sum_exp", ""), ("log_sum_exp_axis", "axis")])
    .by_shape(),
    row!(
        "softmax",
        AXIS,
        "exp(x) divided by its sum along an axis",
        float,
        |call, x| x.softmax(call.options.axis()?)
    )
    .by_shape(),
    row!(
        "log_softmax",
        AXIS,
        "the logarithm of softmax",
        float,
        |call, x| x.log_softmax(call.options.axis()?)
    )
    .by_shape(),
    in_order!(
        "cumsum",
        cumsum,
        "the sums of the values so far, along an axis"
    )
    .by_shape(),
    in_order!(
        "cumprod",
        cumprod,
        "the products of the values so far, along an axis"
    )
    .sloping(BESIDE),
    in_order!("cummax", cummax, "the largest value so far, along an axis")
        .exact()
        .sloping(Gradient::Apart)
        .by_shape(),
    in_order!("cummin", cummin, "the smallest value so far, along an axis")
        .exact()
        .sloping(Gradient::Apart)
        .by_shape(),
    sorted!(
        "sort",
        sort,
        sort_descending,
        "the values in order along an axis; nan is the largest"
    )
    .exact()
    .counted(Work::More)
    .sloping(Gradient::Apart)
    .for_methods(&[("sort_descending", "descending")])
    .by_shape(),
    sorted!(
        "argsort",
        argsort,
        argsort_descending,
        "the indices of the values in order along an axis, stable"
    )
    .exact()
    .counted(Work::More)
    .for_methods(&[("argsort_descending", "descending")])
    .without_gradient(WHOLE)
    .by_shape(),
    in_order!("diff", diff, "the differences of neighbours along an axis")
        .giving(each("s", "n − 1 along the axis, or 0", |options, s| {
            let axis = options.axis().ok()?;
            one(with(&s[0], axis, s[0].get(axis)?.saturating_sub(1))?)
        }))
        .by_shape(),
    Operation {
        name: "topk",
        options: &[opt::DTYPE, opt::RANK, opt::AXIS, opt::K, opt::AT_MOST],
        results: each(
            "s",
            "values and indices: k along the axis, or at most k",
            |options, s| {
                let (axis, mut k) = (options.axis().ok()?, options.size("k").ok()?);
                if options.flag("at_most").ok()? {
                    k = k.min(*s[0].get(axis)?);
                }
                let best = with(&s[0], axis, k)?;
                Some(vec![best.clone(), best])
            },
        ),
        about: "{values, indices} of the k largest values along an axis",
        run: compared!(|call, device, args| {
            let x = args[0].on(&device)?;
            let axis = call.options.axis()?;
            let k = call.options.number::<u32>("k")? as usize;
            let (values, indices) = match call.options.flag("at_most")? {
                true => x.top_k_at_most(k, axis)?,
                false => x.top_k(k, axis)?,
            };
            let (values, indices) = (values.into(), indices.into());
            Ok(Answer::Fields([("values", values), ("indices", indices)]))
        }),
        methods: &[("top_k", ""), ("top_k_at_most", "at_most")],
        gradient: Gradient::Apart,
        work: Work::More,
        ..EXACT
    }
    .by_shape(),
    row!(
        "quantile",
        &[opt::DTYPE, opt::RANK, opt::AXIS_OR_ALL, opt::Q],
        "a quantile of each element, or along an axis, by linear interpolation",
        float,
        |call, x| {
            let q = call.options.double("q")?;
            match call.options.optional_axis()? {
                Some(axis) => x.quantile_axis(q, axis),
                None => x.quantile(q),
            }
        }
    )
    .giving(REDUCED)
    .counted(Work::More)
    .sloping(Gradient::Apart)
    .by_shape(),
    reduction!(
        "median",
        median,
        median_axis,
        "the median of each element, or along an axis"
    )
    .counted(Work::More)
    .sloping(Gradient::Apart)
    .by_shape(),
    row!(
        "layer_norm",
        NORM,
        "(x - mean) / sqrt(var + eps) along an axis",
        float,
        |call, x| x.layer_norm(call.options.axis()?, call.options.number("eps")?)
    )
    .by_shape(),
    row!(
        "rms_norm",
        NORM,
        "x / sqrt(mean of x * x + eps) along an axis",
        float,
        |call, x| x.rms_norm(call.options.axis()?, call.options.number("eps")?)
    )
    .by_shape(),
    row!(
        "normalize",
        &[opt::DTYPE, opt::RANK, opt::AXIS, opt::EPS_OF_NORM],
        "x / max(norm2, eps) along an axis",
        float,
        |call, x| x.l2_normalize(call.options.axis()?, call.options.number("eps")?)
    )
    .sloping(BESIDE)
    .for_methods(&[("l2_normalize", "")]),
    row!(
        "group_norm",
        GROUPS,
        "(x - mean) / sqrt(var + eps) of each group of first indices",
        float,
        |call, x| {
            let groups: u32 = call.options.number("groups")?;
            x.group_norm(groups as usize, call.options.number("eps")?)
        }
    )
    .by_shape(),
    row!(
        "standardize",
        &[opt::DTYPE, opt::RANK, opt::EPS_OF_ELEMENT],
        "(x - mean) / sqrt(var + eps) of each element; eps is 0 unless given",
        float,
        |call, x| x.standardize(call.options.number("eps")?)
    )
    .sloping(BESIDE)
    .by_shape(),
];
