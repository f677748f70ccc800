//! Products and absolute values of complex values, compared with a copy of as many bytes.

use rayon::prelude::*;
use vsla::{Complex32, Layout, Ragged};

use crate::harness::{Bench, Check, Outcome, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if !bench.device.is_gpu() {
        return Ok(());
    }
    product(bench, "complex/multiply")?;
    size(bench, "complex/abs")
}

/// Complex values between −1 − i and 1 + i.
fn drawn(layout: &Layout, seed: u64) -> vsla::Result<Ragged<Complex32>> {
    let [re, im] = [seed, seed + 1].map(|seed| Ragged::random(layout, seed));
    let (re, im) = (re?, im?);
    let both = re.values().iter().zip(im.values());
    let values = both.map(|(&re, &im)| Complex32::new(re, im)).collect();
    Ragged::from_parts(layout.clone(), values)
}

fn checked(wrong: Option<String>, values: usize) -> Check {
    match wrong {
        None => Ok(format!("all {values} values")),
        Some(wrong) => Err(wrong),
    }
}

fn product(bench: &mut Bench, name: &'static str) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let n = bench.size.values / 2;
    let layout = Layout::from_lengths([n])?;
    let (x, y) = (drawn(&layout, 31)?, drawn(&layout, 33)?);
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let (z, first) = bench.first(|| a.hadamard(&b))?;
    let got = z.download_blocking()?;
    let both = x.values().par_iter().zip(y.values()).zip(got.values());
    let wrong = both
        .clone()
        .find_any(|((x, y), z)| (*x * *y - *z).norm() > 1e-6);
    let wrong = wrong.map(|((x, y), z)| format!("{z} of {x} and {y}"));
    let spec = Spec {
        name,
        data: format!("one layout, one element of {n} complex values, seeds 31 to 34"),
        bytes: 24 * n as u64,
        multiply_adds: 0,
        first,
        check: checked(wrong, n),
    };
    let row = bench.measure(spec, || a.hadamard(&b))?;
    bench.push(row.of_copy(90.0));
    Ok(())
}

fn size(bench: &mut Bench, name: &'static str) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let n = bench.size.values / 2;
    let layout = Layout::from_lengths([n])?;
    let x = drawn(&layout, 31)?;
    let a = bench.device.upload(&x)?;
    let (y, first) = bench.first(|| a.abs())?;
    let got = y.download_blocking()?;
    let mut both = x.values().iter().zip(got.values());
    let wrong = both.find(|(x, y)| (x.norm() - **y).abs() > 1e-6);
    let wrong = wrong.map(|(x, y)| format!("{y} of {x}"));
    let spec = Spec {
        name,
        data: format!("one element of {n} complex values, seeds 31 and 32"),
        bytes: 12 * n as u64,
        multiply_adds: 0,
        first,
        check: checked(wrong, n),
    };
    let row = bench.measure(spec, || a.abs())?;
    bench.push(row.of_copy(90.0));
    Ok(())
}
