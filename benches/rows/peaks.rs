//! The peak rates of the device, which bound all other rows.

use std::time::Instant;

use vsla::{Layout, Ragged};

use crate::harness::data::check_equal;
use crate::harness::{Bench, Outcome, Spec, Summary, Times};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for &(name, footprint) in bench.size.footprints {
        if bench.wants(name) {
            copy(bench, name, footprint)?;
        }
    }
    if bench.wants("peaks/fill") {
        fill(bench)?;
    }
    #[cfg(feature = "gpu")]
    if bench.device.is_gpu() && bench.wants("peaks/multiply-add") {
        super::peaks_gpu::multiply_add(bench)?;
    }
    if bench.device.is_gpu() {
        transfers(bench)?;
    }
    Ok(())
}

fn copy(bench: &mut Bench, name: &'static str, footprint: u64) -> Outcome<()> {
    let (source, bytes) = bench.copy_source(footprint)?;
    let (copied, first) = bench.first(|| source.copy())?;
    let check = check_equal(
        copied.download_blocking()?.values(),
        source.download_blocking()?.values(),
    );
    drop(copied);
    let spec = Spec {
        name,
        data: format!("{} values read and written", bytes / 8),
        bytes,
        multiply_adds: 0,
        first,
        check,
    };
    let (times, reference) = bench.beside(|bench| bench.times(|| source.copy()))?;
    let row = bench.row(spec, times, reference);
    bench.push(row);
    Ok(())
}

fn fill(bench: &mut Bench) -> Outcome<()> {
    let layout = Layout::from_lengths([bench.size.values])?;
    let device = bench.device.clone();
    let run = || device.full(&layout, 1.5f32);
    let (filled, first) = bench.first(run)?;
    let check = check_equal(
        filled.download_blocking()?.values(),
        &vec![1.5; layout.total()],
    );
    drop(filled);
    let spec = Spec {
        name: "peaks/fill",
        data: format!("{} values written", layout.total()),
        bytes: layout.total() as u64 * 4,
        multiply_adds: 0,
        first,
        check,
    };
    // Nothing is read, and writing alone may be a little faster than copying, so a higher rate is not impossible.
    let (times, reference) = bench.beside(|bench| bench.times(run))?;
    let row = bench.row(spec, times, reference);
    bench.push(row);
    Ok(())
}

/// Transfers between host memory that was touched before and the device.
fn transfers(bench: &mut Bench) -> Outcome<()> {
    let layout = Layout::from_lengths([bench.size.values])?;
    let bytes = layout.total() as u64 * 4;
    let batch = Ragged::random(&layout, 41)?;
    let mut back = vec![0.0f32; layout.total()];
    back.fill(1.0);
    let (tensor, first_up) = bench.first(|| bench.device.upload(&batch))?;
    let began = Instant::now();
    tensor.download_into_blocking(&mut back)?;
    let first_down = began.elapsed();
    let check = check_equal(&back, batch.values());

    for (name, first) in [
        ("peaks/upload", first_up),
        ("peaks/download_into", first_down),
    ] {
        if !bench.wants(name) {
            continue;
        }
        let (wall, reference) = bench.beside(|bench| {
            let mut walls = Vec::new();
            for _ in 0..bench.size.runs.0 {
                let began = Instant::now();
                if name == "peaks/upload" {
                    drop(bench.device.upload(&batch)?);
                    bench.sync()?;
                } else {
                    tensor.download_into_blocking(&mut back)?;
                }
                walls.push(began.elapsed());
            }
            Ok(Summary::of(walls))
        })?;
        let spec = Spec {
            name,
            data: format!("{} values of touched host memory, seed 41", layout.total()),
            bytes,
            multiply_adds: 0,
            first,
            check: check.clone(),
        };
        let row = bench.row(spec, Times::of_wall(wall), reference);
        let rate = row.rate() * 1e-9;
        bench.push(row.at_least("GB/s", 8.0, rate));
    }
    Ok(())
}
