//! `add`, `hadamard` and `concat` of operands with different lengths.

use vsla::{Layout, Ragged, Result, Shape, Tensor};

use crate::harness::data::{check_add, check_concat, check_hadamard};
use crate::harness::lengths::{Zipf, until};
use crate::harness::{Bench, Check, Outcome, Size, Spec};

/// An operation, its check, and the number of operand values that it must read.
struct Op {
    run: fn(&Tensor<f32>, &Tensor<f32>) -> Result<Tensor<f32>>,
    check: fn(&Ragged<f32>, &Ragged<f32>, &Ragged<f32>) -> Check,
    reads: fn(&Layout, &Layout) -> usize,
}

const ADD: Op = Op {
    run: |a, b| a.add(b),
    check: check_add,
    reads: |a, b| a.total() + b.total(),
};

/// Values outside the overlap need not be read.
const HADAMARD: Op = Op {
    run: |a, b| a.hadamard(b),
    check: check_hadamard,
    reads: |a, b| {
        let shared = |(a, b): (Shape, Shape)| -> usize {
            let both = a.extents().iter().zip(b.extents());
            both.map(|(m, n)| *m.min(n) as usize).product()
        };
        2 * a.shapes().zip(b.shapes()).map(shared).sum::<usize>()
    },
};

const CONCAT: Op = Op {
    run: |a, b| a.concat(b, a.layout().rank() - 1),
    check: check_concat,
    reads: |a, b| a.total() + b.total(),
};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    row(
        bench,
        &ADD,
        "add/zipf",
        "Zipf s = 1.2 on 1..=65536, seeds 1 and 2",
        85.0,
        zipf,
    )?;
    row(
        bench,
        &ADD,
        "add/small",
        "uniform 8..=24, seeds 3 and 4",
        65.0,
        small,
    )?;
    row(
        bench,
        &ADD,
        "add/equal",
        "one layout, Zipf s = 1.2 on 1..=65536, seed 1",
        90.0,
        equal,
    )?;
    row(
        bench,
        &ADD,
        "add/boxes",
        "rank 2, uniform 1..=64 by 1..=64, seeds 5 and 6",
        75.0,
        boxes,
    )?;
    row(
        bench,
        &HADAMARD,
        "hadamard/zipf",
        "Zipf s = 1.2 on 1..=65536, seeds 1 and 2",
        80.0,
        zipf,
    )?;
    row(
        bench,
        &HADAMARD,
        "hadamard/boxes",
        "rank 2, uniform 1..=64 by 1..=64, seeds 5 and 6",
        75.0,
        boxes,
    )?;
    row(
        bench,
        &CONCAT,
        "concat/zipf",
        "Zipf s = 1.2 on 1..=65536, seeds 1 and 2",
        80.0,
        |size| zipf_of(size.values / 2),
    )?;
    row(
        bench,
        &CONCAT,
        "concat/boxes",
        "rank 2 along axis 1, uniform 1..=64 by 1..=64, seeds 5 and 6",
        50.0,
        boxes,
    )
}

fn zipf(size: &Size) -> Result<[Layout; 2]> {
    zipf_of(size.values)
}

fn zipf_of(values: usize) -> Result<[Layout; 2]> {
    let (mut left, mut right) = (Zipf::new(1, 1.2, 65536), Zipf::new(2, 1.2, 65536));
    let left = until(values, || left.draw());
    let right = (0..left.len()).map(|_| right.draw());
    Ok([Layout::from_lengths(right)?, Layout::from_lengths(left)?])
}

fn small(size: &Size) -> Result<[Layout; 2]> {
    let layout = |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        Layout::from_lengths((0..size.elements).map(|_| rng.usize(8..=24)))
    };
    Ok([layout(3)?, layout(4)?])
}

fn equal(size: &Size) -> Result<[Layout; 2]> {
    let mut lengths = Zipf::new(1, 1.2, 65536);
    let layout = Layout::from_lengths(until(size.values, || lengths.draw()))?;
    Ok([layout.clone(), layout])
}

fn boxes(size: &Size) -> Result<[Layout; 2]> {
    // A box has 32.5² values on average.
    let elements = size.values * 4 / (65 * 65);
    let layout = |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let shapes = (0..elements).map(|_| Shape::new(&[rng.usize(1..=64), rng.usize(1..=64)]));
        Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)
    };
    Ok([layout(5)?, layout(6)?])
}

fn row(
    bench: &mut Bench,
    op: &Op,
    name: &'static str,
    lengths: &str,
    target: f64,
    layouts: fn(&Size) -> Result<[Layout; 2]>,
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let [left, right] = layouts(&bench.size)?;
    let (x, y) = (Ragged::random(&left, 11)?, Ragged::random(&right, 12)?);
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let (c, first) = bench.first(|| (op.run)(&a, &b))?;
    let check = (op.check)(&x, &y, &c.download_blocking()?);
    drop((x, y));

    // Values are read or written once, and so are offsets and extents if layouts differ.
    let operands = [&left, &right, c.layout()];
    let mut words = (op.reads)(&left, &right) + c.layout().total();
    if c.layout() != &left {
        let places = |layout: &&Layout| layout.len() + 1 + layout.extents().len();
        words += operands.iter().map(places).sum::<usize>();
    }
    let spec = Spec {
        name,
        data: format!(
            "{lengths}; {} elements, {} + {} -> {} values",
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
    let row = bench.measure(spec, || (op.run)(&a, &b))?;
    let row = row
        .reads::<f32>(&left)
        .reads::<f32>(&right)
        .writes::<f32>(&result);
    bench.push(row.of_copy(target));
    Ok(())
}
