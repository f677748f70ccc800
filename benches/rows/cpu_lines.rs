//! Functions of elements and lines on the CPU device, compared with loops over elements that are written by hand.

use rayon::prelude::*;
use vsla::{Layout, Ragged, Result, Tensor};

use super::cpu::{Job, compare};
use crate::harness::lengths::until;
use crate::harness::{Bench, Check, Outcome};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if bench.device.is_gpu() {
        return Ok(());
    }
    FUNCTIONS
        .iter()
        .try_for_each(|function| row(bench, function))
}

/// A function of elements, and the equivalent loop over the values of an element.
struct Function {
    name: &'static str,
    run: fn(&Tensor<f32>) -> Result<Tensor<f32>>,
    plain: fn(&[f32], &mut [f32]),
    exact: fn(&[f64]) -> Vec<f64>,
}

const FUNCTIONS: [Function; 7] = [
    Function {
        name: "cpu/sum-ragged",
        run: Tensor::sum,
        plain: |x, y| y[0] = x.iter().sum(),
        exact: |x| vec![x.iter().sum()],
    },
    Function {
        name: "cpu/max-ragged",
        run: Tensor::max,
        plain: |x, y| y[0] = x.iter().copied().fold(f32::NEG_INFINITY, f32::max),
        exact: |x| vec![x.iter().copied().fold(f64::NEG_INFINITY, f64::max)],
    },
    Function {
        name: "cpu/norm2-ragged",
        run: Tensor::norm2,
        plain: |x, y| y[0] = x.iter().map(|x| x * x).sum::<f32>().sqrt(),
        exact: |x| vec![x.iter().map(|x| x * x).sum::<f64>().sqrt()],
    },
    Function {
        name: "cpu/var-ragged",
        run: Tensor::var,
        plain: |x, y| {
            let mean = x.iter().sum::<f32>() / x.len() as f32;
            y[0] = x.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / x.len() as f32;
        },
        exact: |x| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            vec![x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64]
        },
    },
    Function {
        name: "cpu/softmax-ragged",
        run: |x| x.softmax(0),
        plain: |x, y| {
            let top = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            y.iter_mut().zip(x).for_each(|(y, x)| *y = (x - top).exp());
            let sum: f32 = y.iter().sum();
            y.iter_mut().for_each(|y| *y /= sum);
        },
        exact: |x| {
            let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = x.iter().map(|x| (x - top).exp()).sum();
            x.iter().map(|x| (x - top).exp() / sum).collect()
        },
    },
    Function {
        name: "cpu/layer-norm-ragged",
        run: |x| x.layer_norm(0, 1e-5),
        plain: |x, y| {
            let mean = x.iter().sum::<f32>() / x.len() as f32;
            let var = x.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / x.len() as f32;
            let root = 1.0 / (var + 1e-5).sqrt();
            y.iter_mut()
                .zip(x)
                .for_each(|(y, x)| *y = (x - mean) * root);
        },
        exact: |x| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            let var = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
            x.iter().map(|x| (x - mean) / (var + 1e-5).sqrt()).collect()
        },
    },
    Function {
        name: "cpu/cumsum-ragged",
        run: |x| x.cumsum(0),
        plain: |x, y| {
            let mut sum = 0.0;
            y.iter_mut().zip(x).for_each(|(y, x)| {
                sum += x;
                *y = sum;
            });
        },
        exact: |x| {
            let sums = x.iter().scan(0.0, |sum, x| {
                *sum += x;
                Some(*sum)
            });
            sums.collect()
        },
    },
];

fn row(bench: &mut Bench, function: &Function) -> Outcome<()> {
    if !bench.wants(function.name) {
        return Ok(());
    }
    let mut random = fastrand::Rng::with_seed(12);
    let layout = Layout::from_lengths(until(bench.size.values / 2, || random.usize(1..=2048)))?;
    // Between −4 and 4.
    let x = Ragged::random(&layout, 12)?.cast(|x| 4.0 * x)?;
    let a = bench.device.upload(&x)?;
    let y = (function.run)(&a)?.download_blocking()?;
    let check = check(&x, &y, function.exact);
    let mut made = vec![0.0f32; y.values().len()];
    let mut parts = super::cpu::cut(&mut made, y.layout().lengths());
    // The straightforward loop.
    let mut by_hand = || {
        let both = parts.par_iter_mut().enumerate();
        both.for_each(|(element, y)| (function.plain)(&x[element], y));
    };
    let job = Job {
        name: function.name,
        data: format!(
            "{} values, elements of 1 to 2048, uniform, seed 12",
            layout.total()
        ),
        bytes: 4 * (x.values().len() + y.values().len()),
        multiply_adds: 0,
        check,
        ours: &mut || (function.run)(&a).map(drop),
        plain: &mut by_hand,
        target: ("x a plain loop", 1.1),
    };
    compare(bench, job)
}

/// Whether each result is near that in f64, up to a share of the sum of magnitudes.
fn check(x: &Ragged<f32>, y: &Ragged<f32>, exact: fn(&[f64]) -> Vec<f64>) -> Check {
    let wrong = (0..x.len()).into_par_iter().find_map_any(|element| {
        let x: Vec<f64> = x[element].iter().map(|&x| x.into()).collect();
        let slack = 1e-6 + 1e-6 * x.iter().map(|x| x.abs()).sum::<f64>();
        let mut both = y[element].iter().zip(exact(&x));
        both.find(|(y, e)| (f64::from(**y) - e).abs() > 1e-4 * e.abs() + slack)
            .map(|(y, e)| format!("{y} instead of {e}"))
    });
    match wrong {
        None => Ok(format!("all {} values against f64", y.values().len())),
        Some(wrong) => Err(wrong),
    }
}
