//! Transforms of many elements of the same length.

use std::collections::BTreeSet;

use rustfft::FftPlanner;
use rustfft::num_complex::Complex64;
use vsla::{Complex32, Layout, Ragged, Shape, Tensor};

use crate::harness::{Bench, Check, Outcome, Spec};

/// Name, length, and the target in TB/s, counted as one read and one write.
const COMPLEX: &[(&str, usize, f64)] = &[
    ("fft/256", 256, 2.97),
    ("fft/1024", 1024, 2.97),
    ("fft/2048", 2048, 2.95),
    ("fft/4096", 4096, 2.97),
    ("fft/8192", 8192, 2.65),
    ("fft/1000", 1000, 2.7),
    ("fft/1009", 1009, 0.9),
    ("fft/16384", 1 << 14, 1.45),
    ("fft/65536", 1 << 16, 1.48),
    ("fft/2^20", 1 << 20, 1.38),
    ("fft/2^24", 1 << 24, 1.0),
];
const REAL: &[(&str, usize, f64)] = &[
    ("rfft/1024", 1024, 2.85),
    ("rfft/4096", 4096, 2.85),
    ("rfft/65536", 1 << 16, 1.4),
];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for &(name, length, target) in COMPLEX {
        if bench.wants(name) {
            complex(bench, name, length, target)?;
        }
    }
    for &(name, length, target) in REAL {
        if bench.wants(name) {
            real(bench, name, length, target)?;
        }
    }
    Ok(())
}

/// A layout of elements of this length, with about as many values in total as `size.values`.
fn uniform(bench: &Bench, length: usize) -> vsla::Result<Layout> {
    Layout::uniform(bench.size.values / length, Shape::new(&[length])?)
}

fn complex(bench: &mut Bench, name: &'static str, length: usize, target: f64) -> Outcome<()> {
    // Small sizes reduce the longest lengths to a single element.
    let length = length.min(bench.size.values);
    let layout = uniform(bench, length)?;
    // Twice as many real values, taken in pairs.
    let parts = Ragged::random(&Layout::from_lengths([2 * layout.total()])?, 21)?;
    let values = parts.values().chunks_exact(2);
    let values = values
        .map(|part| Complex32::new(part[0], part[1]))
        .collect();
    let x = Ragged::from_parts(layout, values)?;
    drop(parts);
    let tensor = bench.device.upload(&x)?;
    let (y, first) = bench.first(|| tensor.fft())?;
    let check = check(&x, &y, |z| Complex64::new(z.re.into(), z.im.into()))?;
    let bytes = 16 * x.values().len() as u64;
    drop((x, y));
    measure(bench, name, length, bytes, target, first, check, || {
        tensor.fft()
    })
}

fn real(bench: &mut Bench, name: &'static str, length: usize, target: f64) -> Outcome<()> {
    let x = Ragged::random(&uniform(bench, length)?, 22)?;
    let tensor = bench.device.upload(&x)?;
    let (y, first) = bench.first(|| tensor.rfft())?;
    let check = check(&x, &y, |x| f64::from(x).into())?;
    let bytes = 4 * x.values().len() as u64 + 8 * y.layout().total() as u64;
    drop((x, y));
    measure(bench, name, length, bytes, target, first, check, || {
        tensor.rfft()
    })
}

#[expect(clippy::too_many_arguments, reason = "a row has this many parts")]
fn measure(
    bench: &mut Bench,
    name: &'static str,
    length: usize,
    bytes: u64,
    target: f64,
    first: std::time::Duration,
    check: Check,
    run: impl FnMut() -> vsla::Result<Tensor<Complex32>>,
) -> Outcome<()> {
    let elements = bench.size.values / length;
    let spec = Spec {
        name,
        data: format!("{elements} elements of {length} values"),
        bytes,
        multiply_adds: 0,
        first,
        check,
    };
    let row = bench.measure(spec, run)?;
    let layout = uniform(bench, length)?;
    let row = match name.starts_with("rfft") {
        true => row.reads::<f32>(&layout),
        false => row.reads::<Complex32>(&layout).writes::<Complex32>(&layout),
    };
    let rate = bytes as f64 / row.times.best_known().as_secs_f64() / 1e12;
    let row = match bench.device.is_gpu() {
        true => row.at_least("TB/s", target, rate),
        false => row,
    };
    bench.push(row);
    Ok(())
}

/// Compares some spectra with transforms in f64.
fn check<T: Copy>(
    x: &Ragged<T>,
    y: &Tensor<Complex32>,
    widen: impl Fn(T) -> Complex64,
) -> Outcome<Check> {
    let mut worst = 0.0f64;
    let last = x.len() - 1;
    let elements = BTreeSet::from([0, 1.min(last), last / 2, last.saturating_sub(1), last]);
    for &element in &elements {
        let got = y.elements(element..element + 1)?.download_blocking()?;
        let mut expected: Vec<Complex64> = x.row(element).iter().copied().map(&widen).collect();
        FftPlanner::new()
            .plan_fft_forward(expected.len())
            .process(&mut expected);
        let (mut error, mut size) = (0.0, 0.0);
        for (got, expected) in got.values().iter().zip(&expected) {
            let got = Complex64::new(got.re.into(), got.im.into());
            error += (got - expected).norm_sqr();
            size += expected.norm_sqr();
        }
        let error = (error / size).sqrt();
        let bound = 2.0 * (1.0 + 0.25 * (expected.len() as f64).log2()) / f64::from(1u32 << 24);
        if error.is_nan() || error > bound {
            return Ok(Err(format!(
                "element {element} is off by {error:.2e}, allowed {bound:.2e}"
            )));
        }
        worst = worst.max(error);
    }
    Ok(Ok(format!(
        "{} elements against f64, off by {worst:.1e} at most",
        elements.len()
    )))
}
