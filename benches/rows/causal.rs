//! Causal convolutions with kernels that many signals share, and whose spectra are cached.

use vsla::{Layout, Pairing, Ragged, Result, batch::PairList};

use crate::harness::{Bench, Check, Outcome, Spec};

/// Name, number of values in signals and kernels, and the target device time in microseconds.
const ROWS: &[(&str, usize, f64)] = &[
    ("conv/causal-1024", 1024, 225.0),
    ("conv/causal-4096", 4096, 1050.0),
    ("conv/causal-16384", 16_384, 8000.0),
];
/// Signals per kernel, and number of kernels.
const SHARED: [usize; 2] = [64, 768];
/// Values in a batch; more signals are split into several batches of this size.
const BATCH: usize = 1 << 28;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for &(name, length, target) in ROWS {
        if bench.wants(name) {
            row(bench, name, length, target)?;
        }
    }
    Ok(())
}

fn row(bench: &mut Bench, name: &'static str, length: usize, target: f64) -> Outcome<()> {
    let small = bench.size.quick || !bench.device.is_gpu();
    let [signals, kernels] = if small { [4, 3] } else { SHARED };
    let together = (BATCH / (kernels * length)).min(signals);
    let batches = signals / together;
    let layout = |elements| Layout::from_lengths(std::iter::repeat_n(length, elements));
    let x = Ragged::random(&layout(together * kernels)?, 34)?;
    let y = Ragged::random(&layout(kernels)?, 35)?;
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let pairs = (0..(together * kernels) as u32).map(|i| (i, i % kernels as u32));
    let pairs = PairList::new(pairs)?;
    let ((plan, c), first) = bench.first(|| {
        let plan = a.pair(&b, Pairing::List(&pairs))?.conv_plan()?;
        let c = plan.causal(&a)?;
        Ok((plan, c))
    })?;
    let some = [0, 1, kernels, together * kernels - 1];
    let got = some
        .iter()
        .map(|&i| Ok(c.elements(i..i + 1)?.download_blocking()?.into_parts().1))
        .collect::<Result<Vec<_>>>()?;
    let wrong = some
        .iter()
        .zip(&got)
        .find(|&(&i, got)| !super::conv::is_product(x.row(i), y.row(i % kernels), got));
    let check: Check = match wrong {
        None => Ok(format!("{} signals, in f64", some.len())),
        Some((i, _)) => Err(format!("signal {i} is off")),
    };
    drop((c, x, y));
    let spec = Spec {
        name,
        data: format!("{signals} signals for each of {kernels} kernels, in {batches} batches"),
        // Signals and results; the kernels are cached.
        bytes: (8 * signals * kernels * length) as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let mut row = bench.measure(spec, || {
        (0..batches).try_for_each(|_| plan.causal(&a).map(drop))
    })?;
    if bench.device.is_gpu() {
        let took = row.times.best_known().as_secs_f64() * 1e6;
        row = row.at_most("µs device", target, took);
    }
    bench.push(row);
    Ok(())
}
