//! Reductions and normalizations along an axis: on a GPU compared with a copy of as many bytes.

use rayon::prelude::*;
use vsla::{Layout, Ragged, Result, Shape, Tensor, f16, scalar::Scalar};

use crate::harness::lengths::until;
use crate::harness::{Bench, Check, Outcome, Size, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    ROWS.iter().try_for_each(|job| row(bench, job))
}

/// A function on a kind of data.
struct Job {
    name: &'static str,
    function: &'static Function,
    data: &'static Data,
    half: bool,
    /// Target: least percentage of our own copy's rate.
    target: f64,
}

/// A measured function, and the expected result of a line.
struct Function {
    run: Run,
    exact: fn(&[f64]) -> Vec<f64>,
}

/// A function of a batch along an axis, by its types.
enum Run {
    Floats(fn(&Tensor<f32>, usize) -> Result<Tensor<f32>>),
    FloatsAndHalves(
        fn(&Tensor<f32>, usize) -> Result<Tensor<f32>>,
        fn(&Tensor<f16>, usize) -> Result<Tensor<f16>>,
    ),
    Places(fn(&Tensor<f32>, usize) -> Result<Tensor<u32>>),
}

struct Data {
    about: &'static str,
    layout: fn(&Size) -> Result<Layout>,
    /// The axis along which lines are.
    axis: usize,
}

const fn of(
    run: fn(&Tensor<f32>, usize) -> Result<Tensor<f32>>,
    exact: fn(&[f64]) -> Vec<f64>,
) -> Function {
    let run = Run::Floats(run);
    Function { run, exact }
}

/// The same call for f32 and f16.
macro_rules! both {
    ($run:expr, $exact:expr) => {
        Function {
            run: Run::FloatsAndHalves($run, $run),
            exact: $exact,
        }
    };
}

const SOFTMAX: Function = both!(|x, axis| x.softmax(axis), softmax);
const LAYER_NORM: Function = both!(|x, axis| x.layer_norm(axis, 1e-5), layer_norm);
const CUMSUM: Function = both!(|x, axis| x.cumsum(axis), cumsum);
const SORT: Function = both!(|x, axis| x.sort(axis), sorted);
const RMS_NORM: Function = of(|x, axis| x.rms_norm(axis, 1e-5), rms_norm);
/// Of whole elements, as all data of which are vectors.
const MEAN: Function = of(|x, _| x.mean(), |x| vec![mean(x)]);
const VAR: Function = of(|x, _| x.var(), |x| vec![var(x)]);
const MEAN_AXIS: Function = of(|x, axis| x.mean_axis(axis), |x| vec![mean(x)]);
const SUM: Function = of(|x, axis| x.sum_axis(axis), |x| vec![x.iter().sum()]);
const MAX: Function = of(|x, axis| x.max_axis(axis), |x| vec![top(x)]);
const NORM1: Function = of(
    |x, axis| x.norm1_axis(axis),
    |x| vec![x.iter().map(|x| x.abs()).sum()],
);
const ARGMAX: Function = Function {
    run: Run::Places(|x, axis| x.argmax_axis(axis)),
    exact: argmax,
};

const fn vectors(about: &'static str, layout: fn(&Size) -> Result<Layout>) -> Data {
    Data {
        about,
        layout,
        axis: 0,
    }
}

const OF_384: Data = Data {
    about: "rows of 384",
    layout: |size| matrix(size, 384),
    axis: 1,
};
const OF_1024: Data = Data {
    about: "rows of 1024",
    layout: |size| matrix(size, 1024),
    axis: 1,
};
const SUMMED: Data = Data {
    about: "sums of rows of 384",
    ..OF_384
};
const MIDDLE: Data = Data {
    about: "sums along the middle axis of 16 x 256 x 128",
    layout: |size| Layout::uniform((size.values >> 19).max(1), Shape::new(&[16, 256, 128])?),
    axis: 1,
};
const COLUMNS: Data = vectors("sums of the columns of matrices of 1024 columns", columns);
const MEANS: Data = vectors("means of the columns of matrices of 1024 columns", columns);
const RAGGED: Data = vectors("elements of 1 to 2048, uniform", ragged);
const LONGER: Data = vectors("elements of 1 to 4096, uniform", up_to_4096);
const SMALL: Data = vectors("elements of 8 to 24, uniform", small);
const ONE: Data = vectors("one element", |size| Layout::from_lengths([size.values]));

const fn on(
    name: &'static str,
    function: &'static Function,
    data: &'static Data,
    target: f64,
) -> Job {
    Job {
        name,
        function,
        data,
        half: false,
        target,
    }
}

const fn half(
    name: &'static str,
    function: &'static Function,
    data: &'static Data,
    target: f64,
) -> Job {
    Job {
        half: true,
        ..on(name, function, data, target)
    }
}

const ROWS: &[Job] = &[
    on("lines/softmax-384", &SOFTMAX, &OF_384, 90.0),
    on("lines/softmax-1024", &SOFTMAX, &OF_1024, 90.0),
    on("lines/layer-norm-384", &LAYER_NORM, &OF_384, 90.0),
    on("lines/layer-norm-1024", &LAYER_NORM, &OF_1024, 90.0),
    on("lines/softmax-ragged", &SOFTMAX, &RAGGED, 85.0),
    on("lines/mean-ragged", &MEAN, &RAGGED, 85.0),
    on("lines/max-384", &MAX, &OF_384, 90.0),
    on("lines/var-ragged", &VAR, &RAGGED, 85.0),
    on("lines/softmax-small", &SOFTMAX, &SMALL, 50.0),
    on("lines/softmax-one", &SOFTMAX, &ONE, 85.0),
    on("lines/cumsum-ragged", &CUMSUM, &RAGGED, 85.0),
    on("lines/cumsum-one", &CUMSUM, &ONE, 85.0),
    // Three times as long as PyTorch's sort of one array of as many values on an H100: 1,044 µs, of f16 480.
    on("lines/sort-ragged", &SORT, &LONGER, 1.6),
    on("lines/mean-columns", &MEAN_AXIS, &MEANS, 80.0),
    on("lines/sum-columns", &SUM, &COLUMNS, 80.0),
    on("lines/sum-middle", &SUM, &MIDDLE, 80.0),
    on("lines/sum-rows", &SUM, &SUMMED, 80.0),
    on("lines/rms-norm-384", &RMS_NORM, &OF_384, 90.0),
    on("lines/mean-small", &MEAN, &SMALL, 50.0),
    on("lines/mean-one", &MEAN, &ONE, 85.0),
    on("lines/var-one", &VAR, &ONE, 85.0),
    half("lines/softmax-384-f16", &SOFTMAX, &OF_384, 90.0),
    half("lines/softmax-1024-f16", &SOFTMAX, &OF_1024, 90.0),
    half("lines/layer-norm-384-f16", &LAYER_NORM, &OF_384, 90.0),
    half("lines/layer-norm-1024-f16", &LAYER_NORM, &OF_1024, 90.0),
    half("lines/softmax-ragged-f16", &SOFTMAX, &RAGGED, 85.0),
    half("lines/cumsum-ragged-f16", &CUMSUM, &RAGGED, 85.0),
    half("lines/sort-ragged-f16", &SORT, &LONGER, 1.9),
    on("lines/argmax-384", &ARGMAX, &OF_384, 90.0),
    on("lines/norm1-ragged", &NORM1, &RAGGED, 85.0),
];

fn matrix(size: &Size, width: usize) -> Result<Layout> {
    Layout::uniform(1, Shape::new(&[size.values / width, width])?)
}

fn ragged(size: &Size) -> Result<Layout> {
    let mut random = fastrand::Rng::with_seed(12);
    Layout::from_lengths(until(size.values / 2, || random.usize(1..=2048)))
}

fn columns(size: &Size) -> Result<Layout> {
    Layout::uniform((size.values >> 19).max(1), Shape::new(&[512, 1024])?)
}

fn up_to_4096(size: &Size) -> Result<Layout> {
    let mut random = fastrand::Rng::with_seed(12);
    Layout::from_lengths(until(size.values / 4, || random.usize(1..=4096)))
}

fn small(size: &Size) -> Result<Layout> {
    let mut random = fastrand::Rng::with_seed(12);
    Layout::from_lengths(until(size.values, || random.usize(8..=24)))
}

fn top(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn var(x: &[f64]) -> f64 {
    let mean = mean(x);
    x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let top = top(x);
    let sum: f64 = x.iter().map(|x| (x - top).exp()).sum();
    x.iter().map(|x| (x - top).exp() / sum).collect()
}

fn cumsum(x: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let next = |x: &f64| {
        sum += x;
        sum
    };
    x.iter().map(next).collect()
}

fn sorted(x: &[f64]) -> Vec<f64> {
    let mut x = x.to_vec();
    x.sort_unstable_by(f64::total_cmp);
    x
}

fn layer_norm(x: &[f64]) -> Vec<f64> {
    let (mean, root) = (mean(x), (var(x) + 1e-5).sqrt());
    x.iter().map(|x| (x - mean) / root).collect()
}

fn rms_norm(x: &[f64]) -> Vec<f64> {
    let squares = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
    x.iter().map(|x| x / (squares + 1e-5).sqrt()).collect()
}

fn argmax(x: &[f64]) -> Vec<f64> {
    let top = top(x);
    let place = x.iter().position(|&x| x == top);
    vec![place.map_or(f64::NAN, |place| place as f64)]
}

/// Whether every line has the expected result, up to relative and absolute errors, and a share of the sum of
/// magnitudes of the line.
fn check(
    (x, y): (&Ragged<f32>, &Ragged<f32>),
    axis: usize,
    exact: fn(&[f64]) -> Vec<f64>,
    [relative, absolute, share]: [f64; 3],
) -> Check {
    let reduced = y.values().len() != x.values().len();
    let wrong = (0..x.len()).into_par_iter().find_map_any(|element| {
        let shape = x.layout().shape(element);
        let count = shape.extents()[axis] as usize;
        let step: usize = shape.extents()[axis + 1..]
            .iter()
            .map(|&e| e as usize)
            .product();
        let (x, y) = (x.row(element), y.row(element));
        let mut line = Vec::new();
        (0..x.len() / count.max(1)).find_map(|number| {
            let first = number / step * step * count + number % step;
            line.clear();
            line.extend((0..count).map(|k| f64::from(x[first + k * step])));
            let slack = absolute + share * line.iter().map(|x| x.abs()).sum::<f64>();
            let near = |got: f32, e: f64| (f64::from(got) - e).abs() <= relative * e.abs() + slack;
            let all = exact(&line)
                .into_iter()
                .enumerate()
                .map(|(k, e)| match reduced {
                    true => (y[number], e),
                    false => (y[first + k * step], e),
                });
            all.into_iter().find(|&(got, e)| !near(got, e))
        })
    });
    match wrong {
        None => Ok(format!("all {} values against f64", y.values().len())),
        Some((got, exact)) => Err(format!("{got} instead of {exact}")),
    }
}

fn row(bench: &mut Bench, job: &Job) -> Outcome<()> {
    if !bench.device.is_gpu() || !bench.wants(job.name) {
        return Ok(());
    }
    let layout = (job.data.layout)(&bench.size)?;
    // Between −4 and 4.
    let x = Ragged::random(&layout, 12)?.cast(|x| 4.0 * x)?;
    match job.function.run {
        Run::FloatsAndHalves(_, run) if job.half => {
            let x = x.cast(f16::from_f32)?;
            measured(bench, job, &x, f16::to_f32, run, f16::to_f32)
        }
        Run::Floats(run) | Run::FloatsAndHalves(run, _) => {
            measured(bench, job, &x, |x| x, run, |y| y)
        }
        Run::Places(run) => measured(bench, job, &x, |x| x, run, |y| y as f32),
    }
}

fn measured<T: Scalar, R: Scalar>(
    bench: &mut Bench,
    job: &Job,
    x: &Ragged<T>,
    wide: fn(T) -> f32,
    run: fn(&Tensor<T>, usize) -> Result<Tensor<R>>,
    wide_result: fn(R) -> f32,
) -> Outcome<()> {
    let (axis, function) = (job.data.axis, job.function);
    let a = bench.device.upload(x)?;
    let (y, first) = bench.first(|| run(&a, axis))?;
    let y = y.download_blocking()?.cast(wide_result)?;
    let x = x.cast(wide)?;
    let sums = ["lines/cumsum", "lines/sum"];
    let share = match sums.iter().any(|sum| job.name.starts_with(sum)) {
        true => 1e-6,
        false => 0.0,
    };
    let errors = match job.half {
        true => [2e-3, 1e-6, share],
        false => [1e-4, 1e-6, share],
    };
    let check = check((&x, &y), axis, function.exact, errors);
    let values = x.values().len();
    let bytes = values * size_of::<T>() + y.values().len() * size_of::<R>();
    let half = if job.half { "f16, " } else { "" };
    let spec = Spec {
        name: job.name,
        data: format!("{values} values, {half}{}, seed 12", job.data.about),
        bytes: bytes as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let result = y.layout().clone();
    drop((x, y));
    let row = bench.measure(spec, || run(&a, axis))?;
    let row = row.reads::<T>(a.layout()).writes::<R>(&result);
    bench.push(row.of_copy(job.target));
    Ok(())
}
