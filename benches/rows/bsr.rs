//! Block-sparse products. What is counted is what is stored: zeros that no block holds are not work.

use fastrand::Rng;
use vsla::{Bsr, Layout, Pairing, Ragged, Result, Shape, Tensor, Topology};

use crate::harness::{Bench, Check, Outcome, Spec};

#[derive(Clone, Copy, PartialEq)]
enum Product {
    /// S B.
    Left,
    /// Sᵀ B.
    Transposed,
    /// A Sᵀ: a linear layer.
    Layer,
    /// The blocks of A B.
    Sampled,
}
use Product::{Layer, Left, Sampled, Transposed};

#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// As many blocks in each.
    Even,
    /// As many in all, the i-th heaviest row with 1 / i of the heaviest.
    Zipf,
}
use Rows::{Even, Zipf};

/// A row: name, side of the matrices, block, share of the blocks that are stored, product, and the TFLOP/s of a GPU that are aimed for.
type Case = (&'static str, usize, [usize; 2], f64, Rows, Product, f64);

const CASES: &[Case] = &[
    ("bsr/128x64-8192", 8192, [128, 64], 0.125, Even, Left, 0.0),
    ("bsr/64x64", 4096, [64, 64], 0.125, Even, Left, 35.0),
    ("bsr/64x64-zipf", 4096, [64, 64], 0.125, Zipf, Left, 28.0),
    (
        "bsr/64x64-transposed",
        4096,
        [64, 64],
        0.125,
        Even,
        Transposed,
        28.0,
    ),
    ("bsr/64x64-layer", 4096, [64, 64], 0.125, Even, Layer, 28.0),
    (
        "bsr/64x64-sampled",
        4096,
        [64, 64],
        0.125,
        Even,
        Sampled,
        28.0,
    ),
    ("bsr/48x96", 4096, [48, 96], 0.12, Even, Left, 0.0),
    ("bsr/32x32", 4096, [32, 32], 0.1, Even, Left, 0.0),
    ("bsr/16x16", 4096, [16, 16], 0.1, Even, Left, 0.0),
    ("bsr/8x8", 4096, [8, 8], 0.1, Even, Left, 0.0),
    ("bsr/16x16-sampled", 4096, [16, 16], 0.1, Even, Sampled, 0.0),
];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for &case in CASES {
        if bench.wants(case.0) {
            row(bench, case)?;
        }
    }
    Ok(())
}

fn row(bench: &mut Bench, (name, side, block, density, rows, product, aim): Case) -> Outcome<()> {
    let gpu = bench.device.is_gpu();
    let side = match (bench.size.quick, gpu) {
        (true, _) => side / 16,
        (_, true) => side,
        (_, false) => side / 2,
    };
    let grid = [0, 1].map(|axis| side.div_ceil(block[axis]));
    let each = ((density * grid[1] as f64).round() as usize).max(1);
    let topology = match rows {
        Even => Topology::random([side; 2], block, each, 50)?,
        Zipf => zipf([side; 2], block, grid, each)?,
    };
    let square = Layout::uniform(1, Shape::new(&[side, side])?)?;
    let [x, y] = [51, 52].map(|seed| Ragged::random(&square, seed));
    let values = Ragged::random(&topology.values_layout(1)?, 53);
    let s = Bsr::new(&topology, values.into_parts().1)?;
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let there = bench.device.upload_bsr(&s)?;
    let flipped = there.transposed();
    let run = || -> Result<Tensor<f32>> {
        match product {
            Left => there.matmul(&b),
            Transposed => flipped.matmul(&b),
            Layer => b.matmul_bsr(&flipped),
            Sampled => {
                let pair = a.pair(&b, Pairing::Elementwise)?;
                Ok(pair.product().sampled(&topology)?.values().clone())
            }
        }
    };
    let (c, first) = bench.first(run)?;
    let c = c.download_blocking()?;
    let check = check(&topology, product, [&x, &y], &s, c.values(), side);
    let stored = s.values().values().len() as u64;
    let whole = (side * side) as u64;
    let spec = Spec {
        name,
        data: format!(
            "{side}³, {} blocks of {} x {}, {:.1} %{}, seed 50",
            topology.len(),
            block[0],
            block[1],
            100.0 * topology.density(),
            if rows == Zipf {
                ", rows of Zipf weight"
            } else {
                ""
            },
        ),
        bytes: 4 * (stored + 2 * whole),
        multiply_adds: stored * side as u64,
        first,
        check,
    };
    let mut row = bench.measure(spec, run)?;
    let seconds = row.times.best_known().as_secs_f64();
    if gpu && aim > 0.0 {
        let rate = 2.0 * (stored * side as u64) as f64 / seconds / 1e12;
        row = row.at_least("TFLOP/s", aim, rate);
    }
    if !gpu && name == "bsr/64x64" {
        let (dense, _) = bench.beside(|bench| bench.times(|| a.matmul(&b)))?;
        row = row.at_least(
            "× faster than dense",
            4.0,
            dense.best_known().as_secs_f64() / seconds,
        );
    }
    bench.push(row);
    Ok(())
}

/// `each` blocks a row in the mean, in rows of Zipf weight.
fn zipf(shape: [usize; 2], block: [usize; 2], grid: [usize; 2], each: usize) -> Result<Topology> {
    let mut rng = Rng::with_seed(50);
    let mut ranks: Vec<usize> = (1..=grid[0]).collect();
    rng.shuffle(&mut ranks);
    let counts = |heaviest: usize| {
        let count = move |&rank: &usize| grid[1].min(heaviest / rank);
        ranks.iter().map(count)
    };
    // The least scale that gives as many blocks.
    let most = grid[0] * grid[1];
    let all: Vec<usize> = (1..=most).collect();
    let scale = all.partition_point(|&scale| counts(scale).sum::<usize>() < each * grid[0]);
    let mut columns: Vec<u32> = (0..grid[1] as u32).collect();
    let mut places = Vec::new();
    for (row, count) in counts(all[scale.min(most - 1)]).enumerate() {
        rng.shuffle(&mut columns);
        places.extend(columns[..count].iter().map(|&column| (row as u32, column)));
    }
    Topology::from_unsorted(shape, block, places)
}

/// Compares some of the results, in f64.
fn check(
    topology: &Topology,
    product: Product,
    [x, y]: [&Ragged<f32>; 2],
    s: &Bsr<f32>,
    got: &[f32],
    side: usize,
) -> Check {
    const RESULTS: usize = 500;
    let full = s.to_dense().map_err(|error| error.to_string())?;
    let at = |values: &[f32], i: usize, j: usize| f64::from(values[i * side + j]);
    let (x, y, full) = (x.row(0), y.row(0), full.row(0));
    let [high, wide] = topology.block();
    let blocks: Vec<_> = topology.blocks().collect();
    let mut rng = Rng::with_seed(54);
    for _ in 0..RESULTS {
        let (i, j, got) = match product {
            Sampled => {
                let block = rng.usize(0..blocks.len());
                let (row, column) = (rng.usize(0..high), rng.usize(0..wide));
                let (i, j) = blocks[block];
                let (i, j) = (i as usize * high + row, j as usize * wide + column);
                let at = (block * high + row) * wide + column;
                (
                    i.min(side - 1),
                    j.min(side - 1),
                    (i < side && j < side).then(|| got[at]),
                )
            }
            _ => {
                let (i, j) = (rng.usize(0..side), rng.usize(0..side));
                (i, j, Some(got[i * side + j]))
            }
        };
        let Some(got) = got else { continue };
        let terms = (0..side).map(|l| match product {
            Left => at(full, i, l) * at(y, l, j),
            Transposed => at(full, l, i) * at(y, l, j),
            Layer => at(y, i, l) * at(full, j, l),
            Sampled => at(x, i, l) * at(y, l, j),
        });
        let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, magnitude), term: f64| {
            (sum + term, magnitude + term.abs())
        });
        let depth = side.min(512) + side.div_ceil(480);
        let bound = depth as f64 * magnitude / f64::from(1u32 << 24);
        if (sum - f64::from(got)).abs() > bound {
            return Err(format!("({i}, {j}) is {got} instead of {sum}"));
        }
    }
    Ok(format!("{RESULTS} results, in f64"))
}
