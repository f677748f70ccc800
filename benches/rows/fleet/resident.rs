//! Convolutions of parts that stay on their devices, back to back.

use std::time::{Duration, Instant};

use vsla::fleet::{Cost, Fleet, Sharded};
use vsla::{Layout, Ragged, Result};

use super::{Equals, Walls, all, same};
use crate::harness::{Bench, Check, Outcome, PARTS, Summary, lengths, wait};

pub fn rows(bench: &mut Bench, equals: &mut Equals) -> Outcome<()> {
    let name = "fleet/resident-conv";
    if !bench.wants(name) {
        return Ok(());
    }
    let fleets = equals.fleets(bench, None)?;
    let elements = match bench.size.quick || !bench.device.is_gpu() {
        true => 8,
        false => 1024,
    };
    let lengths = lengths::uniform(104, elements, 16_000..=64_000);
    let x = Ragged::random(&Layout::from_lengths(lengths)?, 105)?;
    let (expected, first) = bench.first(|| {
        let whole = bench.device.upload(&x)?;
        whole.conv(&whole)?.download_blocking()
    })?;
    let (walls, reference) = bench.beside(|bench| {
        let parts = |fleet: &Fleet| {
            // Transforms of this many values.
            let cost = Cost::each(|_, shape| (2 * shape.size() as u64).next_power_of_two());
            fleet.scatter(&x, cost)
        };
        back_to_back(bench, &fleets, &expected, parts, |parts| {
            parts.each(|_, part| part.conv(part))
        })
    })?;
    let data = format!(
        "{elements} signals of 16000 to 64000 values, uniform, with themselves, seeds 104 and 105, on {} devices",
        all(&fleets).devices().len()
    );
    let row = walls.row(bench, (name, data), (first, reference), None);
    bench.push(walls.at_least(row, 0.95));
    Ok(())
}

/// Times calls on the parts of each fleet, with a wait at the end of many of them.
pub fn back_to_back<P>(
    bench: &Bench,
    fleets: &[Fleet],
    expected: &Ragged<f32>,
    parts: impl Fn(&Fleet) -> Result<P>,
    call: impl Fn(&P) -> Result<Sharded<f32>>,
) -> Outcome<Walls> {
    let mut walls = Walls {
        of: Vec::new(),
        check: Ok(String::new()),
    };
    for fleet in fleets {
        let parts = parts(fleet)?;
        let several = |calls: usize| -> Outcome<Duration> {
            let began = Instant::now();
            for _ in 0..calls {
                call(&parts)?;
            }
            fleet.devices().iter().try_for_each(wait)?;
            Ok(began.elapsed() / calls as u32)
        };
        // The first one may compile and plan.
        several(1)?;
        let each = several(2)?.as_secs_f64().max(1e-6);
        let calls = (bench.size.time.as_secs_f64() / each) as usize;
        let calls = calls.clamp(1, 200);
        let all = (0..PARTS.min(bench.size.runs.0)).map(|_| several(calls));
        let wall = Summary::of(all.collect::<Outcome<_>>()?);
        let count = fleet.devices().len();
        walls.of.push((count, wall));
        let check: Check = same(&call(&parts)?.gather_blocking()?, expected);
        let check = check.map_err(|problem| format!("on {count} devices, {problem}"));
        walls.check = walls.check.and(check);
    }
    Ok(walls)
}
