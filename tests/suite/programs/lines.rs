//! Functions along axes and of whole elements, by their names.

use vsla::{
    Result, Tensor,
    scalar::{Factor, Float, Number, Real},
};

use super::batch::{Kind, Value};

/// The names of these functions, and a function that calls one by its name.
macro_rules! lines {
    ($names:ident, $run:ident: $kind:ident($x:ident, $axis:ident, $n:ident); $($line:ident $args:tt)*) => {
        pub const $names: &[&str] = &[$(stringify!($line)),*];

        fn $run<T: $kind>(name: &str, $x: &Tensor<T>, $axis: usize, $n: u8) -> Option<Result<Value>>
        where
            Value: From<Tensor<T>>,
        {
            match name {
                $(stringify!($line) => Some($x.$line $args.map(|result| result.into())),)*
                _ => None,
            }
        }
    };
}
lines! {
    OF_NUMBERS, numbers: Number(x, axis, _n);
    sum() sum_axis(axis)
}
lines! {
    OF_FACTORS, factors: Factor(x, axis, _n);
    prod() prod_axis(axis) norm1() norm1_axis(axis) norm_max() norm_max_axis(axis) max() max_axis(axis) min()
    min_axis(axis) argmax() argmax_axis(axis) argmin() argmin_axis(axis) diff(axis)
}
lines! {
    OF_REALS, reals: Real(x, axis, _n);
    cumsum(axis) cumprod(axis) cummax(axis) cummin(axis) sort(axis) sort_descending(axis) argsort(axis)
    argsort_descending(axis)
}
lines! {
    OF_FLOATS, floats: Float(x, axis, n);
    norm2() norm2_axis(axis) mean() var() std() log_sum_exp() mean_axis(axis) var_axis(axis) std_axis(axis)
    log_sum_exp_axis(axis) softmax(axis) log_softmax(axis) layer_norm(axis, EPSILON) rms_norm(axis, EPSILON)
    standardize(EPSILON) group_norm(groups(n), EPSILON) l2_normalize(axis, EPSILON)
}

const TOPS: &[&str] = &["top_k", "top_k_at_most", "top_k_indices"];
const OF_SINGLES: &[&str] = &["quantile", "quantile_axis", "median", "median_axis"];
const OF_UNSIGNED: &[&str] = &["any", "any_axis", "all", "all_axis"];

/// The epsilon of all normalizations that take one.
pub const EPSILON: f32 = 0.5;

/// The number of groups of a group normalization.
pub fn groups(n: u8) -> usize {
    1 + usize::from(n % 3)
}

/// The functions along axes that a type has.
pub fn lines_of(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::F32 => [
            OF_NUMBERS, OF_FACTORS, OF_REALS, TOPS, OF_FLOATS, OF_SINGLES,
        ]
        .concat(),
        Kind::F16 => [OF_NUMBERS, OF_FACTORS, OF_FLOATS].concat(),
        Kind::I32 => [OF_NUMBERS, OF_FACTORS, OF_REALS, TOPS].concat(),
        Kind::U32 => [OF_NUMBERS, OF_FACTORS, OF_REALS, TOPS, OF_UNSIGNED].concat(),
        Kind::C32 => OF_NUMBERS.to_vec(),
    }
}

/// Calls the function of that name. Its other arguments follow from `n`.
pub fn line(name: &str, x: &Value, axis: usize, n: u8) -> Result<Value> {
    let result = match x {
        Value::F32(x) => numbers(name, x, axis, n)
            .or_else(|| factors(name, x, axis, n))
            .or_else(|| reals(name, x, axis, n))
            .or_else(|| tops(name, x, axis, n))
            .or_else(|| floats(name, x, axis, n))
            .or_else(|| singles(name, x, axis, n)),
        Value::F16(x) => numbers(name, x, axis, n)
            .or_else(|| factors(name, x, axis, n))
            .or_else(|| floats(name, x, axis, n)),
        Value::I32(x) => numbers(name, x, axis, n)
            .or_else(|| factors(name, x, axis, n))
            .or_else(|| reals(name, x, axis, n))
            .or_else(|| tops(name, x, axis, n)),
        Value::U32(x) => numbers(name, x, axis, n)
            .or_else(|| factors(name, x, axis, n))
            .or_else(|| reals(name, x, axis, n))
            .or_else(|| tops(name, x, axis, n))
            .or_else(|| unsigned(name, x, axis)),
        Value::C32(x) => numbers(name, x, axis, n),
    };
    result.unwrap_or_else(|| unreachable!("{name}"))
}

fn tops<T: Real>(name: &str, x: &Tensor<T>, axis: usize, n: u8) -> Option<Result<Value>>
where
    Value: From<Tensor<T>>,
{
    let k = usize::from(n % 20);
    Some(match name {
        "top_k" => x.top_k(k, axis).map(|(values, _)| values.into()),
        "top_k_at_most" => x.top_k_at_most(k, axis).map(|(values, _)| values.into()),
        "top_k_indices" => x.top_k_at_most(k, axis).map(|(_, places)| places.into()),
        _ => return None,
    })
}

fn singles(name: &str, x: &Tensor<f32>, axis: usize, n: u8) -> Option<Result<Value>> {
    let q = f64::from(n) / 255.0;
    let result = match name {
        "quantile" => x.quantile(q),
        "quantile_axis" => x.quantile_axis(q, axis),
        "median" => x.median(),
        "median_axis" => x.median_axis(axis),
        _ => return None,
    };
    Some(result.map(Value::from))
}

fn unsigned(name: &str, x: &Tensor<u32>, axis: usize) -> Option<Result<Value>> {
    let result = match name {
        "any" => x.any(),
        "any_axis" => x.any_axis(axis),
        "all" => x.all(),
        "all_axis" => x.all_axis(axis),
        _ => return None,
    };
    Some(result.map(Value::from))
}

/// log Σ exp(x − top), without cancellation: one of the largest values is left out of the sum.
pub fn log_of_exponentials(line: &[f64], top: f64) -> f64 {
    let below = line.iter().filter(|&&x| x != top);
    let others = (line.len() - below.clone().count()) as f64 - 1.0;
    (others + below.map(|x| (x - top).exp()).sum::<f64>()).ln_1p()
}
