//! Reductions and normalizations along an axis, or of whole elements, under the names of NumPy, SciPy and PyTorch.

use super::{Answer, BESIDE, Call, Gradient, Operation, ROW, WHOLE, Work, batch};
use crate::failure::Result;

const AXIS: &[&str] = &["dtype", "rank", "axis"];
const SORT: &[&str] = &["dtype", "rank", "axis", "descending"];
const GROUPS: &[&str] = &["dtype", "rank", "groups", "eps"];
const NORM: &[&str] = &["dtype", "rank", "axis", "eps"];
const EPS: &[&str] = &["dtype", "rank", "eps"];

/// The result of a method of the argument, in f32 or f16.
macro_rules! of {
    ($call:ident, |$x:ident| $run:expr) => {
        float!($call, |device, args| {
            let $x = args[0].on(&device)?;
            batch($run?)
        })
    };
}

macro_rules! row {
    ($name:literal, $options:expr, $about:literal, $run:expr) => {
        Operation {
            name: $name,
            options: $options,
            about: $about,
            run: $run,
            ..ROW
        }
    };
}

/// A reduction of whole elements, or along an axis if there is one.
macro_rules! reduction {
    ($name:literal, $whole:ident, $along:ident, $about:literal) => {
        row!($name, AXIS, $about, |call| {
            let axis = call.options.optional_axis()?;
            of!(call, |x| match axis {
                Some(axis) => x.$along(axis),
                None => x.$whole(),
            })
        })
    };
}

/// A sort along an axis, in either order.
macro_rules! sorted {
    ($name:literal, $method:ident, $descending:ident, $about:literal) => {
        row!($name, SORT, $about, |call| {
            let (axis, descending) = (call.options.axis()?, call.options.flag("descending")?);
            compared!(call, |device, args| {
                let x = args[0].on(&device)?;
                batch(match descending {
                    true => x.$descending(axis)?,
                    false => x.$method(axis)?,
                })
            })
        })
    };
}

/// A method of any type but complex numbers along an axis.
macro_rules! in_order {
    ($name:literal, $method:ident, $about:literal) => {
        row!($name, AXIS, $about, |call| {
            let axis = call.options.axis()?;
            ordered!(call, |device, args| {
                batch(args[0].on(&device)?.$method(axis)?)
            })
        })
    };
}

pub const ROWS: &[Operation] = &[
    reduction!(
        "mean",
        mean,
        mean_axis,
        "the mean of each element, or along an axis (f32 or f16, like all operations of this group)"
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
    .sloping(Gradient::Apart)
    .by_shape(),
    reduction!(
        "amin",
        min,
        min_axis,
        "the smallest value of each element, or along an axis; nan if there is one"
    )
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
        |call| {
            let axis = call.options.axis()?;
            of!(call, |x| x.softmax(axis))
        }
    )
    .by_shape(),
    row!("log_softmax", AXIS, "the logarithm of softmax", |call| {
        let axis = call.options.axis()?;
        of!(call, |x| x.log_softmax(axis))
    })
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
        .sloping(Gradient::Apart)
        .by_shape(),
    in_order!("cummin", cummin, "the smallest value so far, along an axis")
        .sloping(Gradient::Apart)
        .by_shape(),
    sorted!(
        "sort",
        sort,
        sort_descending,
        "the values in order along an axis; nan is the largest"
    )
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
    .counted(Work::More)
    .for_methods(&[("argsort_descending", "descending")])
    .without_gradient(WHOLE)
    .by_shape(),
    in_order!("diff", diff, "the differences of neighbours along an axis").by_shape(),
    row!(
        "topk",
        &["dtype", "rank", "axis", "k", "at_most"],
        "{values, indices} of the k largest values along an axis",
        |call| {
            let (axis, k) = (
                call.options.axis()?,
                call.options.number::<u32>("k")? as usize,
            );
            let at_most = call.options.flag("at_most")?;
            compared!(call, |device, args| {
                let x = args[0].on(&device)?;
                let (values, indices) = match at_most {
                    true => x.top_k_at_most(k, axis)?,
                    false => x.top_k(k, axis)?,
                };
                let values = values.into();
                let indices = indices.into();
                Ok(Answer::Fields([("values", values), ("indices", indices)]))
            })
        }
    )
    .counted(Work::More)
    .sloping(Gradient::Apart)
    .for_methods(&[("top_k", ""), ("top_k_at_most", "at_most")])
    .by_shape(),
    row!(
        "quantile",
        &["dtype", "rank", "axis", "q"],
        "a quantile of each element, or along an axis, by linear interpolation",
        |call| {
            let axis = call.options.optional_axis()?;
            let q = call.options.double("q")?;
            of!(call, |x| match axis {
                Some(axis) => x.quantile_axis(q, axis),
                None => x.quantile(q),
            })
        }
    )
    .counted(Work::More)
    .sloping(Gradient::Apart)
    .by_shape(),
    row!(
        "median",
        AXIS,
        "the median of each element, or along an axis",
        |call| {
            let axis = call.options.optional_axis()?;
            of!(call, |x| match axis {
                Some(axis) => x.median_axis(axis),
                None => x.median(),
            })
        }
    )
    .counted(Work::More)
    .sloping(Gradient::Apart)
    .by_shape(),
    row!(
        "layer_norm",
        NORM,
        "(x - mean) / sqrt(var + eps) along an axis",
        |call| {
            let (axis, eps) = (call.options.axis()?, epsilon(call)?);
            of!(call, |x| x.layer_norm(axis, eps))
        }
    )
    .by_shape(),
    row!(
        "rms_norm",
        NORM,
        "x / sqrt(mean of x * x + eps) along an axis",
        |call| {
            let (axis, eps) = (call.options.axis()?, epsilon(call)?);
            of!(call, |x| x.rms_norm(axis, eps))
        }
    )
    .by_shape(),
    row!(
        "normalize",
        NORM,
        "x / max(norm2, eps) along an axis",
        |call| {
            let axis = call.options.axis()?;
            let eps: f32 = call.options.optional("eps")?.unwrap_or(1e-12);
            of!(call, |x| x.l2_normalize(axis, eps))
        }
    )
    .sloping(BESIDE)
    .for_methods(&[("l2_normalize", "")]),
    row!(
        "group_norm",
        GROUPS,
        "(x - mean) / sqrt(var + eps) of each group of first indices",
        |call| {
            let (groups, eps) = (
                call.options.optional("groups")?.unwrap_or(1u32),
                epsilon(call)?,
            );
            of!(call, |x| x.group_norm(groups as usize, eps))
        }
    )
    .by_shape(),
    row!(
        "standardize",
        EPS,
        "(x - mean) / sqrt(var + eps) of each element; eps is 0 unless given",
        |call| {
            let eps = call.options.optional("eps")?.unwrap_or(0.0);
            of!(call, |x| x.standardize(eps))
        }
    )
    .sloping(BESIDE)
    .by_shape(),
];

fn epsilon(call: &Call<'_>) -> Result<f32> {
    Ok(call.options.optional("eps")?.unwrap_or(1e-5))
}
