//! Kronecker and outer products, whose cost is almost entirely writing the result.

use rayon::prelude::*;
use vsla::{Layout, Paired, Pairing, Ragged, Result, Shape, Tensor};

use super::cpu::{Job, PLAIN, compare, cut};
use crate::harness::lengths::Zipf;
use crate::harness::{Bench, Check, Outcome, Size, Spec};

/// Layouts of both operands for a result of the given size.
type Layouts = fn(&Size) -> Result<[Layout; 2]>;
type Op = fn(&Paired<'_, f32>) -> Result<Tensor<f32>>;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let zipf = "Zipf s = 1.2 on 1..=4096, seeds 1 and 2";
    row(bench, "kron/zipf", zipf, 80.0, series, |pair| pair.kron())?;
    row(bench, "outer/zipf", zipf, 80.0, series, |pair| pair.outer())?;
    let small = "uniform 2..=8, seeds 3 and 4";
    row(bench, "kron/small", small, 50.0, short, |pair| pair.kron())?;
    let boxes = "rank 2, uniform 1..=16 by 1..=16, seeds 5 and 6";
    row(bench, "kron/boxes", boxes, 60.0, matrices, |pair| {
        pair.kron()
    })?;
    if bench.device.is_gpu() {
        return Ok(());
    }
    beside_a_loop(bench, "cpu/kron-zipf", zipf, series)?;
    beside_a_loop(bench, "cpu/kron-small", small, short)
}

/// Kronecker products of series, compared with hand-written loops.
fn beside_a_loop(
    bench: &mut Bench,
    name: &'static str,
    lengths: &str,
    layouts: Layouts,
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let [left, right] = layouts(&bench.size)?;
    let (x, y) = (Ragged::random(&left, 11)?, Ragged::random(&right, 12)?);
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let c = a.kron(&b)?;
    let check = check(&x, &y, &c.download_blocking()?);
    let layout = c.layout().clone();
    drop(c);
    let mut out = vec![1.0f32; layout.total()];
    let mut slices = cut(&mut out, layout.lengths());
    let mut plain = || {
        let elements = slices.par_iter_mut().enumerate();
        elements.for_each(|(e, product)| {
            for (row, x) in product.chunks_exact_mut(y[e].len()).zip(&x[e]) {
                for (product, y) in row.iter_mut().zip(&y[e]) {
                    *product = x * y;
                }
            }
        });
    };
    let values = left.total() + right.total() + layout.total();
    let job = Job {
        name,
        data: format!("{lengths}; {} elements", left.len()),
        bytes: (values + 3 * (left.len() + 1)) * 4,
        multiply_adds: 0,
        check,
        ours: &mut || a.kron(&b).map(drop),
        plain: &mut plain,
        target: PLAIN,
    };
    compare(bench, job)
}

fn series(size: &Size) -> Result<[Layout; 2]> {
    let mut draw = [Zipf::new(1, 1.2, 4096), Zipf::new(2, 1.2, 4096)];
    lengths(size, || [draw[0].draw(), draw[1].draw()])
}

fn short(size: &Size) -> Result<[Layout; 2]> {
    let mut rng = [3, 4].map(fastrand::Rng::with_seed);
    lengths(size, || [0, 1].map(|side| rng[side].usize(2..=8)))
}

/// Lengths whose products add up to the size of the result.
fn lengths(size: &Size, mut draw: impl FnMut() -> [usize; 2]) -> Result<[Layout; 2]> {
    let (mut left, mut right, mut sum) = (Vec::new(), Vec::new(), 0);
    while sum < size.values {
        let [m, n] = draw();
        left.push(m);
        right.push(n);
        sum += m * n;
    }
    Ok([Layout::from_lengths(left)?, Layout::from_lengths(right)?])
}

fn matrices(size: &Size) -> Result<[Layout; 2]> {
    // A product has 8.5⁴ values on average.
    let elements = size.values / 5220;
    let layout = |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let shapes = (0..elements).map(|_| Shape::new(&[rng.usize(1..=16), rng.usize(1..=16)]));
        Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)
    };
    Ok([layout(5)?, layout(6)?])
}

fn row(
    bench: &mut Bench,
    name: &'static str,
    lengths: &str,
    target: f64,
    layouts: Layouts,
    op: Op,
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let [left, right] = layouts(&bench.size)?;
    let (x, y) = (Ragged::random(&left, 11)?, Ragged::random(&right, 12)?);
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let pair = a.pair(&b, Pairing::Elementwise)?;
    let (c, first) = bench.first(|| op(&pair))?;
    let check = check(&x, &y, &c.download_blocking()?);
    drop((x, y));

    let operands = [&left, &right, c.layout()];
    let places = |layout: &&Layout| layout.total() + layout.len() + 1;
    // The kernel locates the result's values by the extents of the operands.
    let extents = left.extents().len() + right.extents().len();
    let words = operands.iter().map(places).sum::<usize>() + extents;
    let spec = Spec {
        name,
        data: format!(
            "{lengths}; {} elements, {} and {} -> {} values",
            left.len(),
            left.total(),
            right.total(),
            c.layout().total()
        ),
        bytes: words as u64 * 4,
        multiply_adds: 0,
        first,
        check,
    };
    let result = c.layout().clone();
    drop(c);
    let row = bench.measure(spec, || op(&pair))?;
    let row = row
        .reads::<f32>(&left)
        .reads::<f32>(&right)
        .writes::<f32>(&result);
    bench.push(row.of_copy(target));
    Ok(())
}

/// Whether `c` holds the products of `a` and `b`, in full and bit for bit, in rows of whole Kronecker products.
fn check(a: &Ragged<f32>, b: &Ragged<f32>, c: &Ragged<f32>) -> Check {
    if (a.len(), b.len()) != (c.len(), c.len()) {
        return Err(format!("{} elements instead of {}", c.len(), a.len()));
    }
    let flat = a.layout().rank() == 1;
    let wrong = (0..c.len()).into_par_iter().find_any(|&e| {
        let extents = |batch: &Ragged<f32>| match *batch.shape(e).extents() {
            [rows, columns] if !flat => (rows as usize, columns as usize),
            _ => (1, batch[e].len()),
        };
        let ((m, n), (k, l)) = (extents(a), extents(b));
        let mut products = (0..m * k).flat_map(|row| {
            (0..n * l).map(move |column| {
                let (x, y) = (row / k * n + column / l, row % k * l + column % l);
                (x, y)
            })
        });
        c[e].len() != a[e].len() * b[e].len()
            || c[e].iter().any(|value| {
                products
                    .next()
                    .is_none_or(|(x, y)| *value != a[e][x] * b[e][y])
            })
    });
    match wrong {
        None => Ok(format!("all {} values", c.values().len())),
        Some(e) => Err(format!("element {e} is not the product")),
    }
}
