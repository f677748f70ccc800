//! Attention over sequences of different lengths. Work is that of the scores that no mask excludes.

use vsla::{Layout, Ragged, Result, Shape, f16, scalar::Float};

use crate::harness::lengths::{self, ATTENTION as SET};
use crate::harness::{Bench, Check, Outcome, Spec};

/// A batch of sequences.
struct Job {
    /// The names of the rows of f32 and of f16.
    names: [&'static str; 2],
    data: &'static str,
    /// Queries and keys of each sequence.
    sizes: fn() -> Vec<[usize; 2]>,
    heads: usize,
    /// Values of a head.
    width: usize,
    causal: bool,
    /// The most µs on the device, for f32 and for f16; 0 for no target.
    targets: [f64; 2],
}

const JOBS: &[Job] = &[
    Job {
        names: ["attention/set", "attention/set-f16"],
        data: "[32, 64, 128, 256, 512]",
        sizes: || squares(SET),
        heads: 8,
        width: 64,
        causal: false,
        targets: [0.0, 8.0],
    },
    Job {
        names: ["attention/set-causal", "attention/set-causal-f16"],
        data: "[32, 64, 128, 256, 512], causal",
        sizes: || squares(SET),
        heads: 8,
        width: 64,
        causal: true,
        targets: [0.0, 0.0],
    },
    Job {
        names: ["attention/sets", "attention/sets-f16"],
        data: "[32, 64, 128, 256, 512] x 13",
        sizes: || squares([SET; 13].concat()),
        heads: 8,
        width: 64,
        causal: false,
        targets: [0.0, 50.0],
    },
    Job {
        names: ["attention/sentences", "attention/sentences-f16"],
        data: "4096 sequences of 2 to 64, uniform, seed 81",
        sizes: || squares(lengths::uniform(81, 4096, 2..=64)),
        heads: 12,
        width: 32,
        causal: false,
        targets: [0.0, 250.0],
    },
    Job {
        names: ["attention/alice", "attention/alice-f16"],
        data: "the sentences of a novel, a word each, x 16",
        sizes: || squares(lengths::sentences().repeat(16)),
        heads: 12,
        width: 32,
        causal: false,
        targets: [0.0, 0.0],
    },
    Job {
        names: ["attention/one-long", "attention/one-long-f16"],
        data: "one sequence of 8192 and 255 of 32",
        sizes: || squares(std::iter::once(8192).chain([32; 255])),
        heads: 8,
        width: 64,
        causal: false,
        targets: [0.0, 700.0],
    },
    Job {
        names: ["attention/512", "attention/512-f16"],
        data: "one sequence of 512",
        sizes: || squares([512]),
        heads: 8,
        width: 64,
        causal: false,
        targets: [0.0, 4.7],
    },
    Job {
        names: ["attention/2048", "attention/2048-f16"],
        data: "4 sequences of 2048",
        sizes: || squares([2048; 4]),
        heads: 16,
        width: 64,
        causal: false,
        targets: [2100.0, 344.0],
    },
    Job {
        names: ["attention/2048-causal", "attention/2048-causal-f16"],
        data: "4 sequences of 2048, causal",
        sizes: || squares([2048; 4]),
        heads: 16,
        width: 64,
        causal: true,
        targets: [0.0, 200.0],
    },
    Job {
        names: ["attention/8192-causal", "attention/8192-causal-f16"],
        data: "2 sequences of 8192, causal",
        sizes: || squares([8192; 2]),
        heads: 16,
        width: 128,
        causal: true,
        targets: [0.0, 2200.0],
    },
    Job {
        names: ["attention/decode-64", "attention/decode-64-f16"],
        data: "one query and 2048 keys, 64 times",
        sizes: || vec![[1, 2048]; 64],
        heads: 16,
        width: 128,
        causal: false,
        targets: [0.0, 398.0],
    },
    Job {
        names: ["attention/decode-1", "attention/decode-1-f16"],
        data: "one query and 16384 keys",
        sizes: || vec![[1, 16_384]],
        heads: 16,
        width: 128,
        causal: false,
        targets: [0.0, 58.0],
    },
];

fn squares(lengths: impl IntoIterator<Item = usize>) -> Vec<[usize; 2]> {
    lengths.into_iter().map(|n| [n, n]).collect()
}

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for job in JOBS {
        if bench.wants(job.names[0]) {
            row(bench, job, job.names[0], |x| x, |x| x)?;
        }
        if bench.wants(job.names[1]) {
            row(bench, job, job.names[1], f16::from_f32, f16::to_f32)?;
        }
    }
    Ok(())
}

fn row<T: Float>(
    bench: &mut Bench,
    job: &Job,
    name: &'static str,
    narrow: fn(f32) -> T,
    wide: fn(T) -> f32,
) -> Outcome<()> {
    let mut sizes = (job.sizes)();
    if bench.size.quick || !bench.device.is_gpu() {
        // A software device would take minutes.
        sizes.truncate(16);
        for n in sizes.as_flattened_mut().iter_mut().filter(|n| **n > 64) {
            *n /= 8;
        }
    }
    let (heads, width) = (job.heads, job.width);
    let layout = |side: usize| {
        let shapes = sizes
            .iter()
            .map(|size| Shape::new(&[size[side], heads * width]));
        Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)
    };
    let host = |side: usize, seed: u64| Ragged::random(&layout(side)?, seed)?.cast(narrow);
    let operands = [host(0, 82)?, host(1, 83)?, host(1, 84)?];
    let [q, k, v] = operands.each_ref().map(|x| bench.device.upload(x));
    let (q, k, v) = (q?, k?, v?);
    let run = || {
        let attention = q.attention(&k, &v).heads(heads);
        match job.causal {
            true => attention.causal().run(),
            false => attention.run(),
        }
    };
    let (o, first) = bench.first(run)?;
    let mut check = Ok(String::new());
    for element in [0, sizes.len() / 2, sizes.len() - 1] {
        let got = o.elements(element..element + 1)?.download_blocking()?;
        let got: Vec<f32> = got.values().iter().map(|x| wide(*x)).collect();
        check = check.and_then(|_| sampled(job, &operands, wide, element, &got));
    }
    let totals = operands.each_ref().map(|x| x.values().len());
    drop(operands);
    // The result is as large as the queries. Log-sum-exps are two f32.
    let values = totals.iter().sum::<usize>() + o.layout().total();
    let bytes = values * T::DTYPE.size() + 8 * totals[0] / width;
    let spec = Spec {
        name,
        data: format!(
            "{}, {heads} heads of {width}{}",
            job.data,
            if sizes == (job.sizes)() {
                ""
            } else {
                ", shortened"
            }
        ),
        bytes: bytes as u64,
        multiply_adds: (scores(&sizes, job.causal) * heads * 2 * width) as u64,
        first,
        check,
    };
    let result = o.layout().clone();
    drop(o);
    let mut row = bench.measure(spec, run)?;
    if T::DTYPE.size() == 2 {
        row = row.of_halves();
    }
    row = row
        .reads::<T>(q.layout())
        .reads::<T>(k.layout())
        .reads::<T>(v.layout());
    row = row.writes::<T>(&result);
    let target = job.targets[usize::from(T::DTYPE.size() == 2)];
    if target > 0.0 && !bench.size.quick && row.times.device.is_some() {
        let took = row.times.best_known().as_secs_f64() * 1e6;
        row = row.at_most("µs device", target, took);
    }
    bench.push(row);
    Ok(())
}

/// The pairs of a query and a key that it attends to.
fn scores(sizes: &[[usize; 2]], causal: bool) -> usize {
    let of = |&[n, m]: &[usize; 2]| match causal {
        // There are as many queries as keys.
        true => n * (n + 1) / 2,
        false => n * m,
    };
    sizes.iter().map(of).sum()
}

/// Compares a few rows of an element with f64.
fn sampled<T: Float>(
    job: &Job,
    operands: &[Ragged<T>; 3],
    wide: fn(T) -> f32,
    element: usize,
    got: &[f32],
) -> Check {
    let (heads, width) = (job.heads, job.width);
    let row = |operand: usize, at: usize, head: usize| {
        let values = &operands[operand].row(element)[(at * heads + head) * width..][..width];
        values.iter().map(|x| f64::from(wide(*x)))
    };
    let [queries, keys] = [0, 1].map(|i| operands[i].row(element).len() / (heads * width));
    for query in [0, queries / 3, queries - 1] {
        for head in [0, heads - 1] {
            let seen = if job.causal { query + 1 } else { keys };
            let score = |key: usize| {
                let product: f64 = row(0, query, head)
                    .zip(row(1, key, head))
                    .map(|(q, k)| q * k)
                    .sum();
                (product / (width as f64).sqrt()).exp()
            };
            let weights: Vec<f64> = (0..seen).map(score).collect();
            let total: f64 = weights.iter().sum();
            let mut expected = vec![0.0; width];
            for (key, weight) in weights.iter().enumerate() {
                let values = expected.iter_mut().zip(row(2, key, head));
                values.for_each(|(y, v)| *y += weight / total * v);
            }
            let got = &got[(query * heads + head) * width..][..width];
            let slack = if T::DTYPE.size() == 2 { 1e-3 } else { 1e-5 };
            let mut both = got.iter().zip(&expected);
            if let Some((got, y)) = both.find(|(got, y)| (f64::from(**got) - **y).abs() > slack) {
                return Err(format!(
                    "query {query} of element {element}: {got} instead of {y}"
                ));
            }
        }
    }
    Ok("rows of three sequences, in f64".to_owned())
}
