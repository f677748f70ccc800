//! Images that the host holds as bytes, to the device and back. The baseline is the same batch as u32.

use std::time::{Duration, Instant};

use vsla::{Ragged, Result};

use super::images::large;
use crate::harness::{Bench, Outcome, Spec, Summary, Times};

const NAME: &str = "images/bytes";
/// The least factor by which bytes are faster than the same batch as u32, which has four times as many bytes.
const TARGET: f64 = 2.0;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if !bench.wants(NAME) {
        return Ok(());
    }
    let layout = large(&bench.size)?;
    let mut random = fastrand::Rng::with_seed(76);
    let bytes = Ragged::from_fn(&layout, |_, _| random.u8(..))?;
    let words = bytes.cast(u32::from)?;
    let device = bench.device.clone();
    let run = || device.upload_u8(&bytes)?.download_u8_blocking();
    let (back, first) = bench.first(run)?;
    let there = device.upload_u8(&bytes)?.download_blocking()?;
    let spec = Spec {
        name: NAME,
        data: format!(
            "{} bytes in {} images, seeds 74 and 76, to the device as u32 and back as bytes",
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
