//! Operations on images of bytes, compared with the same operations on the same images as u32; and transfers.

use std::time::{Duration, Instant};

use vsla::image::{Components, Neighbours};
use vsla::{Layout, Ragged, Result, Tensor};

use super::images::{large, small};
use crate::harness::{Bench, Outcome, Size, Spec, Summary, Times};

const TRANSFERS: &str = "images/bytes";
/// The least factor by which transfers of bytes are faster than those of u32, which has four times as many bytes.
const TARGET: f64 = 2.0;

/// An operation on both types, of images and of two operands: the value 3, and a table of 255 to 0.
struct Job {
    name: &'static str,
    layout: fn(&Size) -> Result<Layout>,
    /// The least factor by which bytes are faster.
    target: f64,
    of_bytes: Run<u8>,
    of_words: Run<u32>,
    /// The results as numbers.
    checked: fn(&Tensor<u8>, &Operands) -> Result<Ragged<u32>>,
    expected: fn(&Tensor<u32>, &Operands) -> Result<Ragged<u32>>,
}

struct Operands {
    three: (Tensor<u8>, Tensor<u32>),
    table: (Tensor<u8>, Tensor<u32>),
}

type Run<T> = fn(&Tensor<T>, &Operands) -> Result<()>;

macro_rules! job {
    ($name:literal, $layout:ident, $target:literal, |$x:ident $(, $three:ident, $table:ident)?| $body:expr) => {
        Job {
            name: $name,
            layout: $layout,
            target: $target,
            of_bytes: |$x, _o| {
                $(let ($three, $table) = (&_o.three.0, &_o.table.0);)?
                $body.map(drop)
            },
            of_words: |$x, _o| {
                $(let ($three, $table) = (&_o.three.1, &_o.table.1);)?
                $body.map(drop)
            },
            checked: |$x, _o| {
                $(let ($three, $table) = (&_o.three.0, &_o.table.0);)?
                $body?.to::<u32>()?.download_blocking()
            },
            expected: |$x, _o| {
                $(let ($three, $table) = (&_o.three.1, &_o.table.1);)?
                $body?.to::<u32>()?.download_blocking()
            },
        }
    };
}

fn jobs() -> Vec<Job> {
    vec![
        job!("bytes/copy", large, 1.0, |x| x.copy()),
        job!("bytes/float", large, 1.0, |x| x.to::<f32>()),
        job!("bytes/rot90", large, 1.0, |x| x.rot90(1)),
        job!("bytes/rot90-small", small, 1.0, |x| x.rot90(1)),
        job!("bytes/rot180", large, 1.0, |x| x.rot90(2)),
        job!("bytes/rot180-small", small, 1.0, |x| x.rot90(2)),
        job!("bytes/flip", large, 1.0, |x| x.flip(&[1])),
        job!("bytes/pad-rows", large, 1.0, |x| x.pad(&[1, 0], &[1, 0])),
        job!("bytes/upscale", large, 1.0, |x| x.upscale(&[[2, 2]])),
        job!("bytes/upscale-small", small, 1.0, |x| x.upscale(&[[2, 2]])),
        job!("bytes/downscale", large, 1.0, |x| x.downscale(&[[2, 2]])),
        job!("bytes/translate", large, 1.0, |x| x.translate(&[[1, 1]], 9)),
        job!("bytes/dilate", large, 1.0, |x| x.dilate(Neighbours::Eight)),
        job!("bytes/dilate-small", small, 1.0, |x| x
            .dilate(Neighbours::Eight)),
        job!("bytes/lookup", small, 1.0, |x, _three, table| x
            .lookup(table)),
        job!("bytes/concat", large, 1.0, |x| x.concat(x, 1)),
        job!("bytes/not-equal", large, 1.0, |x, three, _table| x
            .not_equal(three.each())),
        job!("bytes/maximum", large, 1.0, |x| x.maximum(x)),
        job!("bytes/max", small, 1.0, |x| x.max()),
        job!("bytes/bincount", large, 1.0, |x| x.bincount(10)),
        job!("bytes/bounding-box", small, 1.0, |x| x.bounding_box(0)),
        job!("bytes/label", large, 1.0, |x| x
            .label(Components::of_equal_values())?
            .0
            .elements(0..1)),
        job!("bytes/fill-holes", large, 1.0, |x| x.fill_holes(
            Neighbours::Four,
            0,
            1
        )),
    ]
}

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for job in jobs() {
        if bench.wants(job.name) {
            row(bench, &job)?;
        }
    }
    match bench.wants(TRANSFERS) {
        true => transfers(bench),
        false => Ok(()),
    }
}

fn row(bench: &mut Bench, job: &Job) -> Outcome<()> {
    let layout = (job.layout)(&bench.size)?;
    let mut random = fastrand::Rng::with_seed(77);
    let x = bench
        .device
        .upload(&Ragged::from_fn(&layout, |_, _| random.u8(..10))?)?;
    let words = x.to::<u32>()?;
    let three = bench.device.full(&Layout::from_lengths([1])?, 3u8)?;
    let table = Ragged::from_rows([(0..=255).rev().collect::<Vec<u8>>()])?;
    let table = bench.device.upload(&table)?;
    let operands = Operands {
        three: (three.clone(), three.to()?),
        table: (table.clone(), table.to()?),
    };
    let run = || (job.of_bytes)(&x, &operands);
    let ((), first) = bench.first(run)?;
    let got = (job.checked)(&x, &operands)?;
    let expected = (job.expected)(&words, &operands)?;
    let spec = Spec {
        name: job.name,
        data: format!(
            "{} bytes, of ten values, in {} images, seeds 73, 74 and 77",
            layout.total(),
            layout.len()
        ),
        bytes: (layout.total() + got.values().len()) as u64,
        multiply_adds: 0,
        first,
        check: match got == expected {
            true => Ok(format!("all {} values as u32", got.values().len())),
            false => Err("values differ from those of u32".to_owned()),
        },
    };
    drop((got, expected));
    let row = bench.measure(spec, run)?;
    let as_words = bench
        .times(|| (job.of_words)(&words, &operands))?
        .best_known();
    let [one, other] = [as_words, row.times.best_known()].map(|time| time.as_secs_f64());
    let row = row.reads::<u8>(&layout).note("µs as u32", 1e6 * one);
    bench.push(row.at_least("times as fast as u32", job.target, one / other));
    Ok(())
}

/// To the device as bytes, to u32 there, and back.
fn transfers(bench: &mut Bench) -> Outcome<()> {
    let layout = large(&bench.size)?;
    let mut random = fastrand::Rng::with_seed(76);
    let bytes = Ragged::from_fn(&layout, |_, _| random.u8(..))?;
    let words = bytes.cast(u32::from)?;
    let device = bench.device.clone();
    let run = || {
        device
            .upload(&bytes)?
            .to::<u32>()?
            .to::<u8>()?
            .download_blocking()
    };
    let (back, first) = bench.first(run)?;
    let there = device.upload(&bytes)?.to::<u32>()?.download_blocking()?;
    let spec = Spec {
        name: TRANSFERS,
        data: format!(
            "{} bytes in {} images, seeds 74 and 76, to the device, there to u32, and back as bytes",
            layout.total(),
            layout.len()
        ),
        bytes: 2 * layout.total() as u64,
        multiply_adds: 0,
        first,
        check: match back.values() == bytes.values() && there.values() == words.values() {
            true => Ok(format!("all {} values, there and back", layout.total())),
            false => Err("values there or back".to_owned()),
        },
    };
    let runs = bench.size.runs.0;
    let times = |run: &dyn Fn() -> Result<()>| -> Result<Summary> {
        let once = |_| {
            let began = Instant::now();
            run()?;
            Ok(began.elapsed())
        };
        Ok(Summary::of(
            (0..runs).map(once).collect::<Result<Vec<Duration>>>()?,
        ))
    };
    let (wall, reference) = bench.beside(|_| Ok(times(&|| run().map(drop))?))?;
    let as_words = times(&|| device.upload(&words)?.download_blocking().map(drop))?;
    let (_, peak) = bench.profiled(1, run)?;
    let times = Times {
        peak: Some(peak),
        ..Times::of_wall(wall)
    };
    let [one, other] = [as_words, wall].map(|summary| summary.median.as_secs_f64());
    let mut row = bench
        .row(spec, times, reference)
        .reads::<u32>(&layout)
        .note("µs as u32", 1e6 * one);
    if bench.device.is_gpu() {
        row = row.at_least("times as fast as u32", TARGET, one / other);
    }
    bench.push(row);
    Ok(())
}
