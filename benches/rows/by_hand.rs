//! The CPU device compared with direct calls of rustfft and realfft on exactly the same lengths: with plans made in
//! advance, rayon over the elements, and reused scratch memory.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use vsla::{Complex32, Layout, Pairing, Ragged, Result};

use super::cpu::{Job, check_conv, compare, cut};
use crate::harness::{Bench, Check, Outcome};

const TARGET: (&str, f64) = ("x by hand", 1.2);

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if bench.device.is_gpu() {
        return Ok(());
    }
    if bench.wants("cpu/fft-by-hand") {
        fft(bench)?;
    }
    if bench.wants("cpu/rfft-by-hand") {
        rfft(bench)?;
    }
    if bench.wants("cpu/conv-by-hand") {
        conv(bench)?;
    }
    Ok(())
}

/// Lengths from `least` to 4096, with equal probability for each octave. They can be reproduced in any language: the
/// multiples of an irrational number are evenly distributed.
fn lengths(elements: usize, least: f64, irrational: f64) -> Vec<usize> {
    let draw = |i| (least * (4096.0 / least).powf((i as f64 * irrational).fract())) as usize;
    (1..=elements).map(draw).collect()
}

const GOLDEN: f64 = 0.618_033_988_749_894_9;
const SILVER: f64 = 0.414_213_562_373_095_1;

fn elements(bench: &Bench) -> usize {
    bench.size.elements / 64
}

const LENGTHS: &str = "lengths log-uniform in 4..4096, by multiples of the golden ratio";

fn by_length<T>(lengths: &[usize], mut make: impl FnMut(usize) -> T) -> HashMap<usize, T> {
    let mut plans = HashMap::new();
    for &length in lengths {
        plans.entry(length).or_insert_with(|| make(length));
    }
    plans
}

/// Whether the error of each element is at most 1e-6 of its norm.
fn near(got: &Ragged<Complex32>, right: &[&mut [Complex32]]) -> Check {
    let size = |x: &[Complex32]| {
        let squares = x.iter().map(|x| f64::from(x.norm_sqr()));
        squares.sum::<f64>().sqrt()
    };
    let wrong = (0..right.len()).find(|&i| {
        let off = got[i].iter().zip(&*right[i]).map(|(x, y)| x - y);
        let off: Vec<Complex32> = off.collect();
        got[i].len() != right[i].len() || size(&off) > 1e-6 * size(right[i])
    });
    match wrong {
        None => Ok(format!("all {} values as by hand", got.values().len())),
        Some(i) => Err(format!("element {i} is off")),
    }
}

/// Scratch memory of at least `values` values.
fn room<T: Clone>(scratch: &mut Vec<T>, values: usize, zero: T) -> &mut [T] {
    if scratch.len() < values {
        scratch.resize(values, zero);
    }
    &mut scratch[..values]
}

fn fft(bench: &mut Bench) -> Outcome<()> {
    let lengths = lengths(elements(bench), 4.0, GOLDEN);
    let layout = Layout::from_lengths(lengths.iter().copied())?;
    let values = Ragged::random(&layout, 61)?.cast(|x| Complex32::new(x, 0.5 - x))?;
    let x = bench.device.upload(&values)?;
    let mut planner = FftPlanner::<f32>::new();
    let plans = by_length(&lengths, |length| planner.plan_fft_forward(length));
    let plans: Vec<&Arc<dyn Fft<f32>>> = lengths.iter().map(|length| &plans[length]).collect();
    let mut out = vec![Complex32::ZERO; layout.total()];
    let mut slices = cut(&mut out, layout.lengths());
    let by_hand = |slices: &mut [&mut [Complex32]]| {
        let elements = slices.par_iter_mut().enumerate();
        elements.for_each_init(Vec::new, |scratch, (i, out)| {
            let plan = plans[i];
            out.copy_from_slice(&values[i]);
            let scratch = room(scratch, plan.get_inplace_scratch_len(), Complex32::ZERO);
            plan.process_with_scratch(out, scratch);
        });
    };
    by_hand(&mut slices);
    let check = near(&x.fft()?.download_blocking()?, &slices);
    let job = Job {
        name: "cpu/fft-by-hand",
        data: format!("{} {LENGTHS}", lengths.len()),
        bytes: 16 * layout.total(),
        multiply_adds: 0,
        check,
        ours: &mut || x.fft().map(drop),
        plain: &mut || by_hand(&mut slices),
        target: TARGET,
    };
    compare(bench, job)
}

fn rfft(bench: &mut Bench) -> Outcome<()> {
    let lengths = lengths(elements(bench), 4.0, GOLDEN);
    let layout = Layout::from_lengths(lengths.iter().copied())?;
    let values = Ragged::random(&layout, 62)?;
    let x = bench.device.upload(&values)?;
    let mut planner = RealFftPlanner::<f32>::new();
    let plans = by_length(&lengths, |length| planner.plan_fft_forward(length));
    let plans: Vec<&Arc<dyn RealToComplex<f32>>> =
        lengths.iter().map(|length| &plans[length]).collect();
    let got = x.rfft()?.download_blocking()?;
    let mut out = vec![Complex32::ZERO; got.values().len()];
    let mut slices = cut(&mut out, got.layout().lengths());
    let by_hand = |slices: &mut [&mut [Complex32]]| {
        let elements = slices.par_iter_mut().enumerate();
        elements.for_each_init(Default::default, |memory: &mut Memory, (i, out)| {
            let plan = plans[i];
            // The transform overwrites its input.
            let input = room(&mut memory.values, values[i].len(), 0.0);
            input.copy_from_slice(&values[i]);
            let scratch = room(&mut memory.scratch, plan.get_scratch_len(), Complex32::ZERO);
            let done = plan.process_with_scratch(input, out, scratch);
            done.expect("all lengths are right");
        });
    };
    by_hand(&mut slices);
    let job = Job {
        name: "cpu/rfft-by-hand",
        data: format!("{} {LENGTHS}", lengths.len()),
        bytes: 4 * layout.total() + 8 * got.values().len(),
        multiply_adds: 0,
        check: near(&got, &slices),
        ours: &mut || x.rfft().map(drop),
        plain: &mut || by_hand(&mut slices),
        target: TARGET,
    };
    compare(bench, job)
}

#[derive(Default)]
struct Memory {
    values: Vec<f32>,
    spectra: [Vec<Complex32>; 2],
    scratch: Vec<Complex32>,
}

type Both = (Arc<dyn RealToComplex<f32>>, Arc<dyn ComplexToReal<f32>>);

/// Both operands of every pair are long enough that the library uses transforms; the direct calls use the same lengths.
fn conv(bench: &mut Bench) -> Outcome<()> {
    let of = |irrational| lengths(elements(bench) / 4, 100.0, irrational);
    let (left, right) = (of(GOLDEN), of(SILVER));
    let x = Ragged::random(&Layout::from_lengths(left)?, 63)?;
    let y = Ragged::random(&Layout::from_lengths(right)?, 64)?;
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let chosen = (0..x.len()).map(|i| {
        let (a, b) = (a.elements(i..i + 1)?, b.elements(i..i + 1)?);
        let choice = a.pair(&b, Pairing::Elementwise)?.conv_choice()?;
        let own = x[i].len() + y[i].len() - 1;
        // A convolution that is not a single transform in the library is one in the direct calls.
        let length = choice.groups[0].length.filter(|length| *length >= own);
        Ok(length.unwrap_or(own.next_power_of_two()))
    });
    let chosen = chosen.collect::<Result<Vec<_>>>()?;
    let mut planner = RealFftPlanner::<f32>::new();
    let plans = by_length(&chosen, |length| -> Both {
        let inverse = planner.plan_fft_inverse(length);
        (planner.plan_fft_forward(length), inverse)
    });
    let product = a.conv(&b)?.download_blocking()?;
    let check = check_conv(&a, &b, &product)?;
    let mut out = vec![0.0f32; product.values().len()];
    let mut slices = cut(&mut out, product.layout().lengths());
    let by_hand = |slices: &mut [&mut [f32]]| {
        let elements = slices.par_iter_mut().enumerate();
        elements.for_each_init(Default::default, |memory: &mut Memory, (i, out)| {
            let length = chosen[i];
            let (forward, inverse) = &plans[&length];
            let scratch = forward.get_scratch_len().max(inverse.get_scratch_len());
            let scratch = room(&mut memory.scratch, scratch, Complex32::ZERO);
            let values = room(&mut memory.values, length, 0.0);
            let [x_spectrum, y_spectrum] = &mut memory.spectra;
            let x_spectrum = room(x_spectrum, length / 2 + 1, Complex32::ZERO);
            let y_spectrum = room(y_spectrum, length / 2 + 1, Complex32::ZERO);
            for (operand, spectrum) in [(&x[i], &mut *x_spectrum), (&y[i], &mut *y_spectrum)] {
                values[..operand.len()].copy_from_slice(operand);
                values[operand.len()..].fill(0.0);
                let done = forward.process_with_scratch(values, spectrum, scratch);
                done.expect("all lengths are right");
            }
            let scale = 1.0 / length as f32;
            for (x, y) in x_spectrum.iter_mut().zip(y_spectrum) {
                *x = *x * *y * scale;
            }
            // Must be exactly 0: realfft refuses rounding errors there.
            x_spectrum[0].im = 0.0;
            if length.is_multiple_of(2) {
                x_spectrum[length / 2].im = 0.0;
            }
            let done = inverse.process_with_scratch(x_spectrum, values, scratch);
            done.expect("all lengths are right");
            out.copy_from_slice(&values[..out.len()]);
        });
    };
    let pairs = chosen.len();
    let job = Job {
        name: "cpu/conv-by-hand",
        data: format!(
            "{pairs} pairs, lengths log-uniform in 100..4096, by multiples of the golden ratio and of the square root \
             of 2"
        ),
        bytes: 4 * (x.values().len() + y.values().len() + product.values().len()),
        multiply_adds: 0,
        check,
        ours: &mut || a.conv(&b).map(drop),
        plain: &mut || by_hand(&mut slices),
        target: TARGET,
    };
    compare(bench, job)
}
