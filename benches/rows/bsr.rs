//! Block-sparse products. Only stored blocks count as work, not the zeros elsewhere.

use fastrand::Rng;
use vsla::{
    Bsr, BsrTensor, Layout, Ragged, Result, Shape, Tensor, Topology, f16,
    product::{Activation, Product as Builder},
    scalar::{Float, Scalar},
};

use crate::harness::{Bench, Check, Outcome, Spec};

#[derive(Clone, Copy, PartialEq)]
enum Product {
    /// S B.
    Left,
    /// Sᵀ B.
    Transposed,
    /// A Sᵀ: a linear layer.
    Layer,
    /// relu(A Sᵀ + bias): a complete layer, through the product's epilogue.
    Activated,
    /// The blocks of A B.
    Sampled,
}
use Product::{Activated, Layer, Left, Sampled, Transposed};

#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// The same number of blocks in each row.
    Even,
    /// The same total number of blocks; the i-th heaviest row has 1 / i of the heaviest.
    Zipf,
}
use Rows::{Even, Zipf};

/// The types of stored operands and of results.
#[derive(Clone, Copy, PartialEq)]
enum Types {
    F32,
    /// Results in f32, the type of the sums.
    F16,
    /// Results in f16 as well.
    Half,
}
use Types::{F16, F32, Half};

struct Case {
    name: &'static str,
    types: Types,
    /// Rows and columns of the matrices.
    side: usize,
    block: [usize; 2],
    /// The share of the blocks that are stored.
    density: f64,
    rows: Rows,
    product: Product,
    /// Target for a GPU in TFLOP/s, or 0.
    target: f64,
}

const fn case(
    name: &'static str,
    types: Types,
    (side, block, density): (usize, [usize; 2], f64),
    rows: Rows,
    product: Product,
    target: f64,
) -> Case {
    Case {
        name,
        types,
        side,
        block,
        density,
        rows,
        product,
        target,
    }
}

/// With an eighth of the blocks.
const LARGE: (usize, [usize; 2], f64) = (8192, [64, 64], 0.125);
const TALL: (usize, [usize; 2], f64) = (8192, [128, 64], 0.125);
const EIGHTH: (usize, [usize; 2], f64) = (4096, [64, 64], 0.125);

const fn tenth(block: [usize; 2]) -> (usize, [usize; 2], f64) {
    (4096, block, 0.1)
}

const CASES: &[Case] = &[
    case("bsr/128x64-8192", F32, TALL, Even, Left, 0.0),
    case("bsr/64x64", F32, EIGHTH, Even, Left, 35.0),
    case("bsr/64x64-zipf", F32, EIGHTH, Zipf, Left, 28.0),
    case("bsr/64x64-transposed", F32, EIGHTH, Even, Transposed, 28.0),
    case("bsr/64x64-layer", F32, EIGHTH, Even, Layer, 28.0),
    case(
        "bsr/64x64-layer-bias-relu",
        F32,
        EIGHTH,
        Even,
        Activated,
        0.0,
    ),
    case("bsr/64x64-sampled", F32, EIGHTH, Even, Sampled, 28.0),
    case("bsr/48x96", F32, (4096, [48, 96], 0.12), Even, Left, 0.0),
    case("bsr/32x32", F32, tenth([32, 32]), Even, Left, 0.0),
    case("bsr/16x16", F32, tenth([16, 16]), Even, Left, 0.0),
    case("bsr/8x8", F32, tenth([8, 8]), Even, Left, 0.0),
    case(
        "bsr/16x16-sampled",
        F32,
        tenth([16, 16]),
        Even,
        Sampled,
        0.0,
    ),
    case("bsr/f16-128x64-8192", F16, TALL, Even, Left, 270.0),
    case("bsr/f16-128x64-8192-half", Half, TALL, Even, Left, 300.0),
    case(
        "bsr/f16-128x64-8192-transposed",
        F16,
        TALL,
        Even,
        Transposed,
        216.0,
    ),
    case("bsr/f16-128x64-8192-layer", F16, TALL, Even, Layer, 216.0),
    case(
        "bsr/f16-128x64-8192-layer-bias-relu",
        F16,
        TALL,
        Even,
        Activated,
        0.0,
    ),
    case(
        "bsr/f16-128x64-8192-layer-bias-relu-half",
        Half,
        TALL,
        Even,
        Activated,
        0.0,
    ),
    case(
        "bsr/f16-128x64-8192-sampled",
        F16,
        TALL,
        Even,
        Sampled,
        216.0,
    ),
    case("bsr/f16-64x64-8192", F16, LARGE, Even, Left, 270.0),
    case("bsr/f16-64x64-8192-half", Half, LARGE, Even, Left, 0.0),
    case("bsr/f16-64x64-8192-zipf", F16, LARGE, Zipf, Left, 216.0),
    case(
        "bsr/f16-64x64-8192-transposed",
        F16,
        LARGE,
        Even,
        Transposed,
        216.0,
    ),
    case("bsr/f16-64x64-8192-layer", F16, LARGE, Even, Layer, 216.0),
    case(
        "bsr/f16-64x64-8192-sampled",
        F16,
        LARGE,
        Even,
        Sampled,
        216.0,
    ),
    case("bsr/f16-64x64", F16, tenth([64, 64]), Even, Left, 200.0),
    case(
        "bsr/f16-64x64-zipf",
        F16,
        tenth([64, 64]),
        Zipf,
        Left,
        160.0,
    ),
    case("bsr/f16-32x32", F16, tenth([32, 32]), Even, Left, 145.0),
    case("bsr/f16-16x16", F16, tenth([16, 16]), Even, Left, 90.0),
    case("bsr/f16-8x8", F16, tenth([8, 8]), Even, Left, 0.0),
    case(
        "bsr/f16-48x96",
        F16,
        (4096, [48, 96], 0.12),
        Even,
        Left,
        0.0,
    ),
];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for case in CASES {
        if bench.wants(case.name) {
            row(bench, case)?;
        }
    }
    Ok(())
}

/// Operands on the device.
struct Operands<T: Scalar> {
    a: Tensor<T>,
    b: Tensor<T>,
    s: BsrTensor<T>,
    bias: Tensor<T>,
}

impl<T: Float> Operands<T> {
    fn new(bench: &Bench, [x, y, bias]: [&Ragged<T>; 3], s: &Bsr<T>) -> Result<Operands<T>> {
        let s = bench.device.upload_bsr(s)?;
        Ok(Operands {
            a: bench.device.upload(x)?,
            b: bench.device.upload(y)?,
            s,
            bias: bench.device.upload(bias)?,
        })
    }

    /// The product, before it runs.
    fn product(&self, product: Product) -> Builder<'_, T> {
        let Operands { a, b, s, bias } = self;
        match product {
            Left => s.product(b),
            Transposed => s.product(b).transpose_left(),
            Layer => b.product(s).transpose_right(),
            Activated => {
                let layer = b.product(s).transpose_right();
                layer.bias(bias).activation(Activation::Relu)
            }
            Sampled => a.product(b),
        }
    }

    fn run<R: Scalar>(&self, product: Product, builder: Builder<'_, T, R>) -> Result<Tensor<R>> {
        match product {
            Sampled => Ok(builder.sampled(self.s.topology())?.values().clone()),
            _ => builder.run(),
        }
    }
}

/// A result of either type.
enum Got {
    Wide(Tensor<f32>),
    Half(Tensor<f16>),
}

impl Got {
    fn values(&self) -> Result<Vec<f32>> {
        Ok(match self {
            Got::Wide(c) => c.download_blocking()?.into_parts().1,
            Got::Half(c) => c.download_blocking()?.cast(f32::from)?.into_parts().1,
        })
    }
}

fn row(bench: &mut Bench, case: &Case) -> Outcome<()> {
    let &Case {
        name,
        types,
        block,
        density,
        rows,
        product,
        target,
        ..
    } = case;
    let gpu = bench.device.is_gpu();
    let side = match (bench.size.quick, gpu) {
        (true, _) => case.side / 16,
        (_, true) => case.side,
        (_, false) => case.side / 2,
    };
    let grid = [0, 1].map(|axis| side.div_ceil(block[axis]));
    let each = ((density * grid[1] as f64).round() as usize).max(1);
    let topology = match rows {
        Even => Topology::random([side; 2], block, each, 50)?,
        Zipf => zipf([side; 2], block, grid, each)?,
    };
    let square = Layout::uniform(1, Shape::new(&[side, side])?)?;
    let (mut x, mut y) = (Ragged::random(&square, 51)?, Ragged::random(&square, 52)?);
    let mut values = Ragged::random(&topology.values_layout(1)?, 53)?;
    let mut bias = Ragged::random(&Layout::from_lengths([side])?, 55)?;
    let half = |batch: &Ragged<f32>| batch.cast(f16::from_f32);
    let halves = [half(&x)?, half(&y)?, half(&bias)?, half(&values)?];
    if types != F32 {
        for (batch, half) in [&mut x, &mut y, &mut bias, &mut values]
            .into_iter()
            .zip(&halves)
        {
            *batch = half.cast(f32::from)?;
        }
    }
    let s = Bsr::new(&topology, values.into_parts().1)?;
    let run: Box<dyn Fn() -> Result<Got>> = match types {
        F32 => {
            let operands = Operands::new(bench, [&x, &y, &bias], &s)?;
            Box::new(move || {
                let builder = operands.product(product);
                Ok(Got::Wide(operands.run(product, builder)?))
            })
        }
        _ => {
            let [x, y, bias, values] = halves;
            let s = Bsr::new(&topology, values.into_parts().1)?;
            let operands = Operands::new(bench, [&x, &y, &bias], &s)?;
            match types {
                Half => Box::new(move || {
                    let builder = operands.product(product);
                    Ok(Got::Half(operands.run(product, builder)?))
                }),
                _ => Box::new(move || {
                    let builder = operands.product(product).to::<f32>();
                    Ok(Got::Wide(operands.run(product, builder)?))
                }),
            }
        }
    };
    let (c, first) = bench.first(&run)?;
    let checked = Checked {
        topology: &topology,
        types,
        product,
        side,
    };
    let check = checked.check([&x, &y, &bias], &s, &c.values()?);
    drop(c);
    let stored = s.values().values().len() as u64;
    let whole = (side * side) as u64;
    let (read, written) = match product {
        Sampled => (2 * whole, stored),
        _ => (stored + whole, whole),
    };
    let [operand, result] = match types {
        F32 => [4, 4],
        F16 => [2, 4],
        Half => [2, 2],
    };
    let spec = Spec {
        name,
        data: format!(
            "{side}³, {} blocks of {} x {}, {:.1} %{}{}, seed 50",
            topology.len(),
            block[0],
            block[1],
            100.0 * topology.density(),
            if rows == Zipf {
                ", rows of Zipf weight"
            } else {
                ""
            },
            if product == Activated {
                ", a bias and relu"
            } else {
                ""
            },
        ),
        bytes: operand * read + result * written,
        multiply_adds: stored * side as u64,
        first,
        check,
    };
    let mut row = bench.measure(spec, &run)?;
    if product == Left {
        let dense = Layout::uniform(1, Shape::new(&[side, side])?)?;
        let blocks = s.values().layout();
        row = match types {
            F32 => row.reads::<f32>(blocks).reads::<f32>(&dense),
            _ => row.reads::<f16>(blocks).reads::<f16>(&dense),
        };
        row = match types {
            Half => row.writes::<f16>(&dense),
            _ => row.writes::<f32>(&dense),
        };
    }
    let seconds = row.times.best_known().as_secs_f64();
    let rate = 2.0 * (stored * side as u64) as f64 / seconds / 1e12;
    if types != F32 {
        row = row.of_halves();
    }
    if gpu && target > 0.0 {
        row = row.at_least("TFLOP/s", target, rate);
    }
    if !gpu && name == "bsr/64x64" {
        let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
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

/// A topology with `each` blocks per row on average, distributed over the rows by Zipf's law.
fn zipf(shape: [usize; 2], block: [usize; 2], grid: [usize; 2], each: usize) -> Result<Topology> {
    let mut rng = Rng::with_seed(50);
    let mut ranks: Vec<usize> = (1..=grid[0]).collect();
    rng.shuffle(&mut ranks);
    let counts = |heaviest: usize| {
        let count = move |&rank: &usize| grid[1].min(heaviest / rank);
        ranks.iter().map(count)
    };
    // The smallest scale that gives as many blocks.
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

/// The parameters of a check.
struct Checked<'a> {
    topology: &'a Topology,
    types: Types,
    product: Product,
    side: usize,
}

impl Checked<'_> {
    /// Compares some of the results with sums in f64.
    fn check(&self, [x, y, bias]: [&Ragged<f32>; 3], s: &Bsr<f32>, got: &[f32]) -> Check {
        const RESULTS: usize = 500;
        let side = self.side;
        let full = s.to_dense().map_err(|error| error.to_string())?;
        let at = |values: &[f32], i: usize, j: usize| f64::from(values[i * side + j]);
        let (x, y, bias, full) = (x.row(0), y.row(0), bias.row(0), full.row(0));
        let [high, wide] = self.topology.block();
        let blocks: Vec<_> = self.topology.blocks().collect();
        let mut rng = Rng::with_seed(54);
        for _ in 0..RESULTS {
            let (i, j, got) = match self.product {
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
            let terms = (0..side).map(|l| match self.product {
                Left => at(full, i, l) * at(y, l, j),
                Transposed => at(full, l, i) * at(y, l, j),
                Layer | Activated => at(y, i, l) * at(full, j, l),
                Sampled => at(x, i, l) * at(y, l, j),
            });
            let terms = terms.chain((self.product == Activated).then(|| f64::from(bias[j])));
            let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, magnitude), term: f64| {
                (sum + term, magnitude + term.abs())
            });
            let value = match self.product {
                Activated => sum.max(0.0),
                _ => sum,
            };
            // Matrices may round or truncate; a bias is one more addition.
            let depth = match self.types {
                F32 => side.min(512) + side.div_ceil(480),
                F16 | Half => 4 * (16 + side.div_ceil(16)).max(132 + side.div_ceil(1920)),
            };
            let rounding = if self.types == Half {
                sum.abs() / 2048.0
            } else {
                0.0
            };
            let bound = (depth + 1) as f64 * magnitude / f64::from(1u32 << 24) + rounding;
            let far = (value - f64::from(got)).abs();
            if far.is_nan() || far > bound {
                return Err(format!("({i}, {j}) is {got} instead of {value}"));
            }
        }
        Ok(format!("{RESULTS} results, in f64"))
    }
}
