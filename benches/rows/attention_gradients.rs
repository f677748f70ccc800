//! Attention of f16 and its gradients, in one program. Work is that of the scores that no mask excludes: two products
//! forward, and five for the gradients.

use vsla::program::Program;
use vsla::{Layout, Ragged, Result, Shape, Tensor, f16};

use crate::harness::lengths::ATTENTION as SET;
use crate::harness::{Bench, Check, Outcome, Spec};

/// Sequences, as many queries as keys.
struct Job {
    name: &'static str,
    data: &'static str,
    lengths: fn() -> Vec<usize>,
    heads: usize,
    /// Values of a head.
    width: usize,
    /// The most µs on the device.
    target: f64,
}

const JOBS: &[Job] = &[
    Job {
        name: "attention/sets-gradients-f16",
        data: "[32, 64, 128, 256, 512] x 13",
        lengths: || [SET; 13].concat(),
        heads: 8,
        width: 64,
        target: 240.0,
    },
    Job {
        name: "attention/sentences-gradients-f16",
        data: "4096 sequences of 2 to 64, uniform, seed 81",
        lengths: || {
            let mut random = fastrand::Rng::with_seed(81);
            (0..4096).map(|_| random.usize(2..=64)).collect()
        },
        heads: 12,
        width: 32,
        target: 1000.0,
    },
    Job {
        name: "attention/2048-gradients-f16",
        data: "4 sequences of 2048",
        lengths: || vec![2048; 4],
        heads: 16,
        width: 64,
        target: 1400.0,
    },
];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    JOBS.iter()
        .filter(|job| bench.wants(job.name))
        .collect::<Vec<_>>()
        .into_iter()
        .try_for_each(|job| row(bench, job))
}

fn row(bench: &mut Bench, job: &Job) -> Outcome<()> {
    let mut lengths = (job.lengths)();
    let shortened = bench.size.quick || !bench.device.is_gpu();
    if shortened {
        lengths.truncate(16);
        lengths
            .iter_mut()
            .filter(|n| **n > 64)
            .for_each(|n| *n /= 8);
    }
    let (heads, width) = (job.heads, job.width);
    let shapes = lengths.iter().map(|n| Shape::new(&[*n, heads * width]));
    let layout = Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)?;
    let host = |seed| Ragged::random(&layout, seed)?.cast(f16::from_f32);
    let hosts: Vec<Ragged<f16>> = (82..86).map(host).collect::<Result<_>>()?;
    let inputs = hosts.iter().map(|x| bench.device.upload(x));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let program = Program::new(&bench.device, move |r| {
        let [q, k, v]: [Tensor<f16>; 3] = [r.input()?, r.input()?, r.input()?];
        let g: Tensor<f32> = r.input()?;
        let o = q.attention(&k, &v).heads(heads).run()?;
        r.output(&o)?;
        for slopes in r.gradients_from(&[(&o.to::<f32>()?, &g)], &[&q, &k, &v])? {
            r.output(&slopes)?;
        }
        Ok(())
    });
    let plan = program.plan(&[&layout; 4])?;
    let g = inputs[3].to::<f32>()?;
    let run = || plan.run(&[&inputs[0], &inputs[1], &inputs[2], &g]);
    let (results, first) = bench.first(run)?;
    let mut check = Ok(String::new());
    for element in [0, lengths.len() / 2, lengths.len() - 1] {
        let mut got = Vec::new();
        for i in 1..4 {
            let slopes = results.get::<f16>(i)?.elements(element..element + 1)?;
            got.push(slopes.download_blocking()?);
        }
        check = check.and_then(|_| sampled(job, &hosts, element, &got));
    }
    drop(results);
    let scores: usize = lengths.iter().map(|n| n * n).sum();
    let spec = Spec {
        name: job.name,
        data: format!(
            "{}, {heads} heads of {width}, forward and backward{}",
            job.data,
            if shortened { ", shortened" } else { "" }
        ),
        bytes: (9 * 2 * layout.total()) as u64,
        multiply_adds: (scores * heads * 7 * width) as u64,
        first,
        check,
    };
    let mut row = bench.measure(spec, run)?.of_halves();
    // Queries, keys and values; the result and the three gradients.
    row = (0..3).fold(row, |row, _| row.reads::<f16>(&layout));
    row = (0..4).fold(row, |row, _| row.writes::<f16>(&layout));
    if !bench.size.quick && row.times.device.is_some() {
        let took = row.times.best_known().as_secs_f64() * 1e6;
        row = row.at_most("µs device", job.target, took);
    }
    bench.push(row);
    Ok(())
}

/// Compares the gradients of one query, key and value of an element with f64.
fn sampled(job: &Job, of: &[Ragged<f16>], element: usize, got: &[Ragged<f16>]) -> Check {
    let (heads, width) = (job.heads, job.width);
    let head = heads - 1;
    let row = |operand: usize, at: usize| {
        let values = &of[operand].row(element)[(at * heads + head) * width..][..width];
        values
            .iter()
            .map(|x| f64::from(x.to_f32()))
            .collect::<Vec<_>>()
    };
    let n = of[0].row(element).len() / (heads * width);
    let [q, k, v, g] =
        [0, 1, 2, 3].map(|operand| (0..n).map(|i| row(operand, i)).collect::<Vec<_>>());
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = 1.0 / (width as f64).sqrt();
    let one = n / 3;
    let mut expected = [(); 3].map(|()| vec![0.0; width]);
    let add = |to: &mut Vec<f64>, by: f64, x: &[f64]| {
        to.iter_mut().zip(x).for_each(|(to, x)| *to += by * x);
    };
    for i in 0..n {
        let weights: Vec<f64> = k.iter().map(|k| (scale * dot(&q[i], k)).exp()).collect();
        let total: f64 = weights.iter().sum();
        let slopes: Vec<f64> = v.iter().map(|v| dot(&g[i], v)).collect();
        let delta = dot(&weights, &slopes) / total;
        let slope = |j: usize| scale * weights[j] / total * (slopes[j] - delta);
        if i == one {
            (0..n).for_each(|j| add(&mut expected[0], slope(j), &k[j]));
        }
        add(&mut expected[1], slope(one), &q[i]);
        add(&mut expected[2], weights[one] / total, &g[i]);
    }
    for (i, expected) in expected.iter().enumerate() {
        let got = &got[i].row(0)[(one * heads + head) * width..][..width];
        let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let bound = 4e-3 * largest + 1e-6;
        let right = |got: f16, y: f64| (f64::from(got.to_f32()) - y).abs() <= bound;
        let mut both = got.iter().zip(expected);
        if let Some((got, y)) = both.find(|(got, y)| !right(**got, **y)) {
            let name = ["query", "key", "value"][i];
            return Err(format!(
                "{name} {one} of element {element}: {got} instead of {y}"
            ));
        }
    }
    Ok("one query, key and value of three sequences, in f64".to_owned())
}
