//! Shape-based distances of every recorded gesture to every other. Those on the left are divided, and each device has
//! all on the right.

use std::time::Instant;

use vsla::fleet::Cost;
use vsla::{Device, Layout, Pairing, Ragged, Result, Tensor};

use super::{Equals, all, on_each, runs, timed};
use crate::harness::{Bench, Outcome};
use crate::rows::correlate_max::gestures;

pub fn rows(bench: &mut Bench, equals: &mut Equals) -> Outcome<()> {
    let name = "fleet/pairs";
    if !bench.wants(name) {
        return Ok(());
    }
    let fleets = equals.fleets(bench, None)?;
    // 1,600 by 800 series on a GPU.
    let [left, right] = match bench.size.quick || !bench.device.is_gpu() {
        true => [1, 1],
        false => [32, 16],
    };
    let [x, y] = gestures()?;
    let (x, y) = (repeated(&x, left)?, repeated(&y, right)?);
    let rights = all(&fleets).replicate(&y)?;
    let distances = |on: &Device, part: &Tensor<f32>| -> Result<Tensor<f32>> {
        let pairs = part.pair(rights.on(on)?, Pairing::AllToAll)?.sbd()?;
        // A row for each series on the left.
        let rows = std::iter::repeat_n(y.len(), part.len());
        pairs
            .distance
            .packed()?
            .unpacked(&Layout::from_lengths(rows)?)
    };
    let device = bench.device.clone();
    let in_turn = || distances(&device, &device.upload(&x)?)?.download_blocking();
    let began = Instant::now();
    let expected = in_turn()?;
    let first = began.elapsed();
    let (((turn, as_before), mut walls), reference) = bench.beside(|bench| {
        let turns = timed(runs(bench), &expected, in_turn)?;
        let walls = on_each(bench, &fleets, &expected, |fleet| {
            fleet.map(&x, Cost::values(), distances)
        })?;
        Ok((turns, walls))
    })?;
    walls.check = as_before.and(walls.check);
    let data = format!(
        "{} x {} series: recordings of an accelerometer, repeated; from host to host",
        x.len(),
        y.len()
    );
    let row = walls.row(bench, (name, data), (first, reference), None);
    bench.push(row.note("ms in turn on 1", 1e3 * turn.as_secs_f64()));
    Ok(())
}

/// All elements, so many times.
fn repeated(x: &Ragged<f32>, times: usize) -> Result<Ragged<f32>> {
    let rows = (0..times * x.len()).map(|i| x.row(i % x.len()));
    Ragged::from_rows(rows)
}
