//! Batches made on the device, dropout and labels, compared with a copy of as many bytes.
//!
//! Random values are bound by integer arithmetic: a wide product of 32-bit words takes about twelve operations, and
//! Philox takes twenty for four values.

use vsla::{Layout, Ragged, Result, Shape, Tensor, scalar::Scalar};

use crate::harness::lengths::{Zipf, until};
use crate::harness::{Bench, Check, Outcome, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let mut lengths = Zipf::new(1, 1.2, 65536);
    let layout = Layout::from_lengths(until(bench.size.values, || lengths.draw()))?;
    let device = bench.device.clone();
    let made = 4 * layout.total() as u64;
    row(
        bench,
        ("created/arange", made, 90.0),
        &layout,
        || device.arange(&layout, 3.0f32, 2.0),
        |_, i, x| x == 3.0 + 2.0 * i as f32,
    )?;
    row(
        bench,
        ("created/uniform", made, 20.0),
        &layout,
        || device.uniform(&layout, -1.0f32, 1.0, 1),
        |_, _, x| (-1.0..1.0).contains(&x),
    )?;
    row(
        bench,
        ("created/normal", made, 10.0),
        &layout,
        || device.normal(&layout, 1.0f32, 2.0, 1),
        |_, _, x| (x - 1.0).abs() < 12.8,
    )?;
    if bench.wants("created/dropout") {
        let x = device.full(&layout, 3.0f32)?;
        row(
            bench,
            ("created/dropout", 2 * made, 30.0),
            &layout,
            || x.dropout(0.25, 1),
            |_, _, x| [0.0, 4.0].contains(&x),
        )?;
    }
    labels(bench)
}

fn labels(bench: &mut Bench) -> Outcome<()> {
    const CLASSES: usize = 50;
    if !bench.wants("created/one-hot") && !bench.wants("created/cross-entropy") {
        return Ok(());
    }
    let mut random = fastrand::Rng::with_seed(73);
    let lengths = until(bench.size.values / CLASSES, || random.usize(1..=400));
    let layout = Layout::from_lengths(lengths.iter().copied())?;
    let labels = Ragged::from_fn(&layout, |e, i| ((7 * e + i) % CLASSES) as u32)?;
    let labels = bench.device.upload(&labels)?;
    let shapes = lengths.iter().map(|n| Shape::new(&[*n, CLASSES]));
    let wide = Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)?;
    let values = 4 * (wide.total() + layout.total()) as u64;
    row(
        bench,
        ("created/one-hot", values, 80.0),
        &wide,
        || labels.one_hot::<f32>(CLASSES),
        |e, i, x| x == f32::from((7 * e + i / CLASSES) % CLASSES == i % CLASSES),
    )?;
    let scores = bench.device.full(&wide, 2.0f32)?;
    row(
        bench,
        (
            "created/cross-entropy",
            values + 4 * layout.total() as u64,
            60.0,
        ),
        &layout,
        || scores.cross_entropy(&labels),
        |_, _, x| (x - (CLASSES as f32).ln()).abs() < 1e-5,
    )
}

/// A row of this name, with the bytes that it must move, and its target. The last function checks values by element and
/// index.
fn row<T: Scalar>(
    bench: &mut Bench,
    (name, bytes, target): (&'static str, u64, f64),
    layout: &Layout,
    run: impl Fn() -> Result<Tensor<T>>,
    right: impl Fn(usize, usize, T) -> bool,
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let (y, first) = bench.first(&run)?;
    let y = y.download_blocking()?;
    let spec = Spec {
        name,
        data: format!("{} values in {} elements", layout.total(), layout.len()),
        bytes,
        multiply_adds: 0,
        first,
        check: check(&y, right),
    };
    drop(y);
    let row = bench.measure(spec, &run)?;
    bench.push(row.of_copy(target));
    Ok(())
}

fn check<T: Scalar>(y: &Ragged<T>, right: impl Fn(usize, usize, T) -> bool) -> Check {
    for element in 0..y.len() {
        for (i, &got) in y.row(element).iter().enumerate() {
            if !right(element, i, got) {
                return Err(format!("{got} as value {i} of element {element}"));
            }
        }
    }
    Ok(format!("all {} values", y.values().len()))
}
