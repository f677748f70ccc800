//! Every length from 1 to 4,096, and longer ones, on a separate GPU device: errors, and the pipelines needed.
//!
//! The full test needs a fast GPU and `VSLA_EVERY_LENGTH=folder`; it writes the errors to this folder, as CSV and as a
//! plot.

use std::fmt::Write;
use std::path::Path;

use libtest_mimic::Trial;
use rayon::prelude::*;
use vsla::{Complex32, Device, Layout, Ragged};

use super::{Op, bound, wide};
use crate::support::bench::{Bench, is_hurried};
use crate::support::compare::U;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn trials(bench: &Bench) -> Vec<Trial> {
    let few = bench.on_gpu("closed_list", crate::support::bench::gpu, |_| closed_list());
    let all = bench.on_request("every_length", "VSLA_EVERY_LENGTH", |folder| {
        every_length(Path::new(folder));
    });
    vec![few, all]
}

const OPS: [Op; 4] = [Op::Fft, Op::Ifft, Op::Rfft, Op::Irfft];

/// The most pipelines that transforms and convolutions need, for any lengths.
const PIPELINES: usize = 64;

/// A GPU device that has not compiled anything yet.
fn fresh() -> Device {
    let device = crate::device::own_gpu(|_| ());
    assert_eq!(device.info().pipelines, 0);
    device
}

fn assert_closed(device: &Device) {
    let compiled = device.info().pipelines;
    assert!((10..=PIPELINES).contains(&compiled), "{compiled} pipelines");
}

/// Transforms of all lengths in one batch, whose filters share the scratch buffers one after another, and convolutions.
/// A software device transforms those up to 600 and some of the others.
fn closed_list() {
    let device = fresh();
    let hurried = is_hurried(&device);
    let lengths =
        || (1..=4096).filter(move |n| !hurried || *n <= 600 || n % 11 == 2 || n % 512 == 0);
    let layout = Layout::from_lengths(lengths()).unwrap();
    let ones = upload(&device, &Ragged::full(&layout, 1.0f32).unwrap());
    let spectra = ones.rfft().unwrap();
    let back = download(&spectra.irfft(&layout).unwrap());
    let spectra = download(&spectra);
    for ((n, spectrum), back) in lengths().zip(spectra.iter()).zip(back.iter()) {
        let off = (spectrum[0].re - n as f32).abs();
        assert!(off <= 1e-5 * n as f32, "{n}: {}", spectrum[0]);
        let worst = back.iter().map(|x| (x - 1.0).abs()).fold(0.0, f32::max);
        assert!(worst < 1e-5, "{n}: {worst}");
    }
    let ones = upload(
        &device,
        &Ragged::full(&layout, Complex32::from(1.0)).unwrap(),
    );
    for (n, row) in lengths().zip(download(&ones.fft().unwrap()).iter()) {
        let off = (row[0] - n as f32).norm();
        assert!(off <= 1e-5 * n as f32, "{n}: {}", row[0]);
    }
    convolve_all(&device, &layout);
    assert_closed(&device);
}

/// The relative error of each element in the 2-norm.
fn errors(device: &Device, op: Op, lengths: &[usize]) -> Vec<(usize, f64)> {
    let layout = Layout::from_lengths(lengths.iter().copied()).unwrap();
    let input = op.input(&layout, 9);
    let got = op.of(device, &input, &layout);
    (0..lengths.len())
        .into_par_iter()
        .map(|element| {
            let one = layout.range(element..element + 1).unwrap();
            let expected = op.expected(&input.element(element), &one);
            let pairs = got.row(element).iter().zip(expected.values());
            let (error, size) = pairs.fold((0.0, 0.0), |(error, size), (got, expected)| {
                (
                    error + (wide(*got) - expected).norm_sqr(),
                    size + expected.norm_sqr(),
                )
            });
            (lengths[element], (error / size).sqrt())
        })
        .collect()
}

fn every_length(folder: &Path) {
    let device = fresh();
    let mut rng = rng("every length");
    let octaves = 12.0..20.0;
    let longer: Vec<usize> = (0..300)
        .map(|_| (octaves.start + rng.f64() * (octaves.end - octaves.start)).exp2() as usize)
        .collect();
    let longest = [
        1_048_583,
        1_500_000,
        2_000_003,
        (1 << 21) - 1,
        1 << 21,
        3_000_000,
        4_000_037,
        1 << 22,
        1 << 23,
        1 << 24,
    ];
    let short: Vec<usize> = (1..=4096).collect();
    let mut csv = String::from("op,length,error,bound\n");
    let (mut complex, mut wrong) = (Vec::new(), Vec::new());
    for op in OPS {
        let mut all = errors(&device, op, &short);
        all.extend(longer.chunks(50).flat_map(|some| errors(&device, op, some)));
        if op == Op::Fft {
            all.extend(longest.iter().flat_map(|&n| errors(&device, op, &[n])));
        }
        for &(n, error) in &all {
            let bound = bound(n);
            let _ = writeln!(csv, "{},{n},{error:.3e},{bound:.3e}", op.name());
            if error > bound {
                wrong.push(format!("{} of {n}: {error:e}", op.name()));
            }
        }
        if op == Op::Fft {
            complex = all;
        }
    }
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("fft-errors.csv"), csv).unwrap();
    std::fs::write(folder.join("fft-errors.svg"), plot(&complex)).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    convolve_all(&device, &Layout::from_lengths(1..=4096).unwrap());
    assert_closed(&device);
}

/// Convolutions of every length with itself, in integers: the sum of the results is that of one operand times the
/// other's.
fn convolve_all(device: &Device, layout: &Layout) {
    let a = Ragged::from_fn(layout, |element, i| ((element * 7 + i * 5) % 3) as f32).unwrap();
    let x = upload(device, &a);
    let c = download(&x.conv(&x).unwrap());
    for (a, c) in a.iter().zip(c.iter()) {
        let sum = |x: &[f32]| x.iter().map(|&x| f64::from(x)).sum::<f64>();
        let (got, expected) = (sum(c), sum(a).powi(2));
        let off = (got - expected).abs();
        assert!(off <= 1e-5 * expected, "{}: {got}", a.len());
    }
}

const POINTS_AN_OCTAVE: f64 = 16.0;

const STYLE: &str = "\
rect { fill: white }
text { fill: #24292f }
.grid { stroke: #ddd }
.line { stroke: #666 }
.powers { fill: #005aaa }
.stages { fill: #007a4d }
.others { fill: #e16e00 }
@media (prefers-color-scheme: dark) {
rect { fill: #15171c }
text { fill: #e6edf3 }
.grid { stroke: #31343b }
.line { stroke: #9b9b9b }
.powers { fill: #5aa7ee }
.stages { fill: #2fb37f }
.others { fill: #f0923c }
}";

/// The largest errors near each length over its binary logarithm, and the bounds, as SVG.
fn plot(errors: &[(usize, f64)]) -> String {
    let (left, top, wide, high) = (60.0, 20.0, 720.0, 360.0);
    let (octaves, most) = (24.0, 16.0); // of u
    let x = |log: f64| left + wide * log / octaves;
    let y = |error: f64| top + high * (1.0 - error / U / most);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 440\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<style>\n{STYLE}\n</style>\n<rect width=\"800\" height=\"440\"/>\n"
    );
    for log in (0..=24).step_by(4) {
        let at = x(f64::from(log));
        let _ = writeln!(
            svg,
            "<path d=\"M{at:.1} {top}V{0:.1}\" class=\"grid\"/><text x=\"{at:.1}\" y=\"{1:.1}\" \
             text-anchor=\"middle\">{log}</text>",
            top + high,
            top + high + 18.0
        );
    }
    for units in (0..=16).step_by(2) {
        let at = y(f64::from(units) * U);
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {at:.1}H{0}\" class=\"grid\"/><text x=\"{1}\" y=\"{2:.1}\" \
             text-anchor=\"end\">{units}</text>",
            left + wide,
            left - 8.0,
            at + 4.0
        );
    }
    for (factor, dash) in [(1.0, ""), (2.0, " stroke-dasharray=\"6 4\"")] {
        let ends = [0.0, octaves].map(|log| (x(log), y(factor * U * (1.0 + 0.25 * log))));
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" class=\"line\"{dash}/>",
            ends[0].0, ends[0].1, ends[1].0, ends[1].1
        );
    }
    type Kind = (&'static str, &'static str, fn(usize) -> bool);
    let kinds: [Kind; 3] = [
        ("powers of two", "powers", usize::is_power_of_two),
        ("products of 2, 3, 5 and 7 by stages", "stages", |n| {
            !n.is_power_of_two() && super::reference::by_stages(n)
        }),
        ("others", "others", |n| !super::reference::by_stages(n)),
    ];
    for (i, (name, class, of)) in kinds.into_iter().enumerate() {
        let mut worst = std::collections::BTreeMap::new();
        for &(n, error) in errors.iter().filter(|(n, _)| of(*n)) {
            let place = ((n as f64).log2() * POINTS_AN_OCTAVE).round() as u32;
            let known = worst.entry(place).or_insert(0.0f64);
            *known = known.max(error);
        }
        for (place, error) in worst {
            let at = x(f64::from(place) / POINTS_AN_OCTAVE);
            let _ = writeln!(
                svg,
                "<circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"2.2\" class=\"{class}\"/>",
                y(error)
            );
        }
        let line = top + 16.0 + 16.0 * i as f64;
        let _ = writeln!(
            svg,
            "<circle cx=\"{}\" cy=\"{}\" r=\"4\" class=\"{class}\"/><text x=\"{}\" y=\"{line}\">{name}</text>",
            left + 16.0,
            line - 4.0,
            left + 26.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"420\" y=\"430\" text-anchor=\"middle\">log₂ of the length; lines: u (1 + ¼ log₂ n) and twice that, \
         two thirds of the bounds</text>\n\
         <text x=\"16\" y=\"200\" text-anchor=\"middle\" transform=\"rotate(-90 16 200)\">\
         largest relative error, in u = 2⁻²⁴</text>\n</svg>"
    );
    svg
}
