//! Reductions and normalizations along an axis: on a GPU compared with a copy of as many bytes.

use rayon::prelude::*;
use vsla::{Layout, Ragged, Result, Shape, Tensor, f16, scalar::Scalar};

use crate::harness::lengths::until;
use crate::harness::{Bench, Check, Outcome, Size, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    ROWS.iter().try_for_each(|job| row(bench, job))
}

/// A measured function, and the expected result of a line.
struct Job {
    name: &'static str,
    data: &'static str,
    /// Target: least percentage of our own copy's rate.
    target: f64,
    layout: fn(&Size) -> Result<Layout>,
    /// The axis along which lines are.
    axis: usize,
    run: Run,
    exact: fn(&[f64]) -> Vec<f64>,
}

/// A function by its types.
enum Run {
    Floats(fn(&Tensor<f32>) -> Result<Tensor<f32>>),
    Halves(fn(&Tensor<f16>) -> Result<Tensor<f16>>),
    Places(fn(&Tensor<f32>) -> Result<Tensor<u32>>),
}

const ROWS: &[Job] = &[
    Job {
        name: "lines/softmax-384",
        data: "rows of 384, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 384),
        axis: 1,
        run: Run::Floats(|x| x.softmax(1)),
        exact: softmax,
    },
    Job {
        name: "lines/softmax-1024",
        data: "rows of 1024, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 1024),
        axis: 1,
        run: Run::Floats(|x| x.softmax(1)),
        exact: softmax,
    },
    Job {
        name: "lines/layer-norm-384",
        data: "rows of 384, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 384),
        axis: 1,
        run: Run::Floats(|x| x.layer_norm(1, 1e-5)),
        exact: layer_norm,
    },
    Job {
        name: "lines/layer-norm-1024",
        data: "rows of 1024, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 1024),
        axis: 1,
        run: Run::Floats(|x| x.layer_norm(1, 1e-5)),
        exact: layer_norm,
    },
    Job {
        name: "lines/softmax-ragged",
        data: "elements of 1 to 2048, uniform, seed 12",
        target: 85.0,
        layout: ragged,
        axis: 0,
        run: Run::Floats(|x| x.softmax(0)),
        exact: softmax,
    },
    Job {
        name: "lines/mean-ragged",
        data: "elements of 1 to 2048, uniform, seed 12",
        target: 85.0,
        layout: ragged,
        axis: 0,
        run: Run::Floats(Tensor::mean),
        exact: |x| vec![mean(x)],
    },
    Job {
        name: "lines/max-384",
        data: "rows of 384, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 384),
        axis: 1,
        run: Run::Floats(|x| x.max_axis(1)),
        exact: |x| vec![x.iter().copied().fold(f64::NEG_INFINITY, f64::max)],
    },
    Job {
        name: "lines/var-ragged",
        data: "elements of 1 to 2048, uniform, seed 12",
        target: 85.0,
        layout: ragged,
        axis: 0,
        run: Run::Floats(Tensor::var),
        exact: |x| vec![var(x)],
    },
    Job {
        name: "lines/softmax-small",
        data: "elements of 8 to 24, uniform, seed 12",
        target: 50.0,
        layout: small,
        axis: 0,
        run: Run::Floats(|x| x.softmax(0)),
        exact: softmax,
    },
    Job {
        name: "lines/softmax-one",
        data: "one element, seed 12",
        target: 85.0,
        layout: |size| Layout::from_lengths([size.values]),
        axis: 0,
        run: Run::Floats(|x| x.softmax(0)),
        exact: softmax,
    },
    Job {
        name: "lines/cumsum-ragged",
        data: "elements of 1 to 2048, uniform, seed 12",
        target: 85.0,
        layout: ragged,
        axis: 0,
        run: Run::Floats(|x| x.cumsum(0)),
        exact: cumsum,
    },
    Job {
        name: "lines/cumsum-one",
        data: "one element, seed 12",
        target: 85.0,
        layout: |size| Layout::from_lengths([size.values]),
        axis: 0,
        run: Run::Floats(|x| x.cumsum(0)),
        exact: cumsum,
    },
    Job {
        // Three times as long as PyTorch's sort of one array of as many values on an H100: 1,044 µs, of f16 480.
        name: "lines/sort-ragged",
        data: "elements of 1 to 4096, uniform, seed 12",
        target: 1.6,
        layout: |size| up_to_4096(size.values / 4),
        axis: 0,
        run: Run::Floats(|x| x.sort(0)),
        exact: sorted,
    },
    Job {
        name: "lines/mean-columns",
        data: "means of the columns of matrices of 1024 columns, seed 12",
        target: 80.0,
        layout: |size| Layout::uniform((size.values >> 19).max(1), Shape::new(&[512, 1024])?),
        axis: 0,
        run: Run::Floats(|x| x.mean_axis(0)),
        exact: |x| vec![mean(x)],
    },
    Job {
        name: "lines/sum-columns",
        data: "sums of the columns of matrices of 1024 columns, seed 12",
        target: 80.0,
        layout: |size| Layout::uniform((size.values >> 19).max(1), Shape::new(&[512, 1024])?),
        axis: 0,
        run: Run::Floats(|x| x.sum_axis(0)),
        exact: |x| vec![x.iter().sum()],
    },
    Job {
        name: "lines/sum-middle",
        data: "sums along the middle axis of 16 x 256 x 128, seed 12",
        target: 80.0,
        layout: |size| Layout::uniform((size.values >> 19).max(1), Shape::new(&[16, 256, 128])?),
        axis: 1,
        run: Run::Floats(|x| x.sum_axis(1)),
        exact: |x| vec![x.iter().sum()],
    },
    Job {
        name: "lines/sum-rows",
        data: "sums of rows of 384, seed 12",
        target: 80.0,
        layout: |size| matrix(size, 384),
        axis: 1,
        run: Run::Floats(|x| x.sum_axis(1)),
        exact: |x| vec![x.iter().sum()],
    },
    Job {
        name: "lines/rms-norm-384",
        data: "rows of 384, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 384),
        axis: 1,
        run: Run::Floats(|x| x.rms_norm(1, 1e-5)),
        exact: rms_norm,
    },
    Job {
        name: "lines/mean-small",
        data: "elements of 8 to 24, uniform, seed 12",
        target: 50.0,
        layout: small,
        axis: 0,
        run: Run::Floats(Tensor::mean),
        exact: |x| vec![mean(x)],
    },
    Job {
        name: "lines/mean-one",
        data: "one element, seed 12",
        target: 85.0,
        layout: |size| Layout::from_lengths([size.values]),
        axis: 0,
        run: Run::Floats(Tensor::mean),
        exact: |x| vec![mean(x)],
    },
    Job {
        name: "lines/var-one",
        data: "one element, seed 12",
        target: 85.0,
        layout: |size| Layout::from_lengths([size.values]),
        axis: 0,
        run: Run::Floats(Tensor::var),
        exact: |x| vec![var(x)],
    },
    Job {
        name: "lines/softmax-384-f16",
        data: "f16, rows of 384, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 384),
        axis: 1,
        run: Run::Halves(|x| x.softmax(1)),
        exact: softmax,
    },
    Job {
        name: "lines/softmax-1024-f16",
        data: "f16, rows of 1024, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 1024),
        axis: 1,
        run: Run::Halves(|x| x.softmax(1)),
        exact: softmax,
    },
    Job {
        name: "lines/layer-norm-384-f16",
        data: "f16, rows of 384, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 384),
        axis: 1,
        run: Run::Halves(|x| x.layer_norm(1, 1e-5)),
        exact: layer_norm,
    },
    Job {
        name: "lines/layer-norm-1024-f16",
        data: "f16, rows of 1024, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 1024),
        axis: 1,
        run: Run::Halves(|x| x.layer_norm(1, 1e-5)),
        exact: layer_norm,
    },
    Job {
        name: "lines/softmax-ragged-f16",
        data: "f16, elements of 1 to 2048, uniform, seed 12",
        target: 85.0,
        layout: ragged,
        axis: 0,
        run: Run::Halves(|x| x.softmax(0)),
        exact: softmax,
    },
    Job {
        name: "lines/cumsum-ragged-f16",
        data: "f16, elements of 1 to 2048, uniform, seed 12",
        target: 85.0,
        layout: ragged,
        axis: 0,
        run: Run::Halves(|x| x.cumsum(0)),
        exact: cumsum,
    },
    Job {
        name: "lines/sort-ragged-f16",
        data: "f16, elements of 1 to 4096, uniform, seed 12",
        target: 1.9,
        layout: |size| up_to_4096(size.values / 4),
        axis: 0,
        run: Run::Halves(|x| x.sort(0)),
        exact: sorted,
    },
    Job {
        name: "lines/argmax-384",
        data: "rows of 384, seed 12",
        target: 90.0,
        layout: |size| matrix(size, 384),
        axis: 1,
        run: Run::Places(|x| x.argmax_axis(1)),
        exact: argmax,
    },
    Job {
        name: "lines/norm1-ragged",
        data: "elements of 1 to 2048, uniform, seed 12",
        target: 85.0,
        layout: ragged,
        axis: 0,
        run: Run::Floats(|x| x.norm1_axis(0)),
        exact: |x| vec![x.iter().map(|x| x.abs()).sum()],
    },
];

fn matrix(size: &Size, width: usize) -> Result<Layout> {
    Layout::uniform(1, Shape::new(&[size.values / width, width])?)
}

fn ragged(size: &Size) -> Result<Layout> {
    let mut random = fastrand::Rng::with_seed(12);
    Layout::from_lengths(until(size.values / 2, || random.usize(1..=2048)))
}

fn up_to_4096(values: usize) -> Result<Layout> {
    let mut random = fastrand::Rng::with_seed(12);
    Layout::from_lengths(until(values, || random.usize(1..=4096)))
}

fn small(size: &Size) -> Result<Layout> {
    let mut random = fastrand::Rng::with_seed(12);
    Layout::from_lengths(until(size.values, || random.usize(8..=24)))
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn var(x: &[f64]) -> f64 {
    let mean = mean(x);
    x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
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
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
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
    let layout = (job.layout)(&bench.size)?;
    // Between −4 and 4.
    let x = Ragged::random(&layout, 12)?.cast(|x| 4.0 * x)?;
    match job.run {
        Run::Floats(run) => measured(bench, job, &x, |x| x, run, |y| y),
        Run::Places(run) => measured(bench, job, &x, |x| x, run, |y| y as f32),
        Run::Halves(run) => {
            let x = x.cast(f16::from_f32)?;
            measured(bench, job, &x, f16::to_f32, run, f16::to_f32)
        }
    }
}

fn measured<T: Scalar, R: Scalar>(
    bench: &mut Bench,
    job: &Job,
    x: &Ragged<T>,
    wide: fn(T) -> f32,
    run: fn(&Tensor<T>) -> Result<Tensor<R>>,
    wide_result: fn(R) -> f32,
) -> Outcome<()> {
    let a = bench.device.upload(x)?;
    let (y, first) = bench.first(|| run(&a))?;
    let y = y.download_blocking()?.cast(wide_result)?;
    let x = x.cast(wide)?;
    let sums = ["lines/cumsum", "lines/sum"];
    let share = match sums.iter().any(|sum| job.name.starts_with(sum)) {
        true => 1e-6,
        false => 0.0,
    };
    let errors = match job.run {
        Run::Halves(_) => [2e-3, 1e-6, share],
        _ => [1e-4, 1e-6, share],
    };
    let check = check((&x, &y), job.axis, job.exact, errors);
    let values = x.values().len();
    let bytes = values * size_of::<T>() + y.values().len() * size_of::<R>();
    let spec = Spec {
        name: job.name,
        data: format!("{values} values, {}", job.data),
        bytes: bytes as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let result = y.layout().clone();
    drop((x, y));
    let row = bench.measure(spec, || run(&a))?;
    let row = row.reads::<T>(a.layout()).writes::<R>(&result);
    bench.push(row.of_copy(job.target));
    Ok(())
}
