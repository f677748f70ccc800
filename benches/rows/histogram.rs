//! Histograms, compared with a copy of as many bytes: values are read once, counts written once.

use rayon::prelude::*;
use vsla::{Layout, Ragged, Result, Tensor};

use crate::harness::lengths::until;
use crate::harness::{Bench, Check, Outcome, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let values = bench.size.values;
    let mut random = fastrand::Rng::with_seed(81);
    let ragged = || Layout::from_lengths(until(values / 2, || random.usize(1..=2048)));
    let one = || Layout::from_lengths([values]);
    let mut random = fastrand::Rng::with_seed(82);
    let small = || Layout::from_lengths(until(values / 8, || random.usize(8..=24)));
    let uniform =
        |i: usize| ((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32;
    let equal = |number: usize| (0..=number).map(|i| i as f32 / number as f32).collect();
    let job = |name, target, edges: Vec<f32>| Job {
        name,
        target,
        edges,
        equal: true,
    };
    row(
        bench,
        job("histogram/ragged", 40.0, equal(64)),
        ragged,
        uniform,
    )?;
    row(bench, job("histogram/one", 60.0, equal(256)), one, uniform)?;
    row(
        bench,
        job("histogram/one-bin", 60.0, equal(256)),
        one,
        |_| 0.3,
    )?;
    row(
        bench,
        job("histogram/small", 20.0, equal(16)),
        small,
        uniform,
    )?;
    row(
        bench,
        job("histogram/many-bins", 6.0, equal(1 << 16)),
        one,
        uniform,
    )?;
    let edges = (0..=64).map(|i| (i as f32 / 64.0).powi(2)).collect();
    let job = Job {
        name: "histogram/edges",
        target: 20.0,
        edges,
        equal: false,
    };
    row(bench, job, one, uniform)
}

/// A measured histogram, of bins between 0 and 1.
struct Job {
    name: &'static str,
    /// Target: least percentage of our own copy's rate.
    target: f64,
    edges: Vec<f32>,
    /// Whether all bins have the same width.
    equal: bool,
}

fn row(
    bench: &mut Bench,
    job: Job,
    layout: impl FnOnce() -> Result<Layout>,
    value: impl Fn(usize) -> f32,
) -> Outcome<()> {
    let Job {
        name,
        target,
        edges,
        equal,
    } = job;
    if !bench.wants(name) {
        return Ok(());
    }
    let (layout, bins) = (layout()?, edges.len() - 1);
    let host = Ragged::from_fn(&layout, |_, i| value(i))?;
    let x = bench.device.upload(&host)?;
    let run = || -> Result<Tensor<u32>> {
        match equal {
            true => x.histogram(bins, 0.0..=1.0),
            false => x.histogram_edges(&edges),
        }
    };
    let (counts, first) = bench.first(run)?;
    let check = check(&host, &edges, &counts.download_blocking()?);
    drop((counts, host));
    let spec = Spec {
        name,
        data: format!(
            "{} values in {} elements, {bins} bins",
            layout.total(),
            layout.len()
        ),
        bytes: 4 * (layout.total() + layout.len() * bins) as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let row = bench.measure(spec, &run)?;
    let row = row.reads::<f32>(&layout);
    bench.push(row.of_copy(target));
    Ok(())
}

fn check(x: &Ragged<f32>, edges: &[f32], counts: &Ragged<u32>) -> Check {
    let bins = edges.len() - 1;
    let wrong = (0..x.len()).into_par_iter().find_any(|&element| {
        let mut expected = vec![0u32; bins];
        for x in x.row(element) {
            // All values are below 1.
            expected[edges.partition_point(|edge| edge <= x) - 1] += 1;
        }
        counts.row(element) != expected
    });
    match wrong {
        None => Ok(format!("all {} counts", counts.values().len())),
        Some(element) => Err(format!("the counts of element {element}")),
    }
}
