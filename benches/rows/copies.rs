//! Copies into other shapes: on a GPU compared with a copy of as many bytes, on the CPU with a plain loop.

use rayon::prelude::*;
use vsla::{Layout, Ragged, Result, Shape, Tensor};

use super::cpu::{Job, compare, cut};
use crate::harness::lengths::{Zipf, until};
use crate::harness::{Bench, Check, Outcome, Size, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    row(
        bench,
        Copy {
            names: ["copies/slice", "cpu/slice"],
            data: "values 5 to 1765 of Zipf s = 1.2 on 1..=65536, seed 1",
            target: 80.0,
            layout: |size| zipf(size.values),
            run: |x| x.slice(&[5], &[1765]),
            plain: |x, i, y| {
                let x = x[i].get(5..).unwrap_or_default();
                let there = x.len().min(y.len());
                y[..there].copy_from_slice(&x[..there]);
                y[there..].fill(0.0);
                there
            },
        },
    )?;
    row(
        bench,
        Copy {
            names: ["copies/pad", "cpu/pad"],
            data: "3 zeros before and 5 after Zipf s = 1.2 on 1..=65536, seed 1",
            target: 80.0,
            layout: |size| zipf(size.values),
            run: |x| x.pad(&[3], &[5]),
            plain: |x, i, y| {
                let x = &x[i];
                y[..3].fill(0.0);
                y[3..3 + x.len()].copy_from_slice(x);
                y[3 + x.len()..].fill(0.0);
                x.len()
            },
        },
    )?;
    row(
        bench,
        Copy {
            names: ["copies/flip", "cpu/flip"],
            data: "Zipf s = 1.2 on 1..=65536, seed 1",
            target: 80.0,
            layout: |size| zipf(size.values),
            run: |x| x.flip(&[0]),
            plain: |x, i, y| {
                for (y, x) in y.iter_mut().zip(x[i].iter().rev()) {
                    *y = *x;
                }
                y.len()
            },
        },
    )?;
    row(
        bench,
        Copy {
            names: ["copies/transpose", "cpu/transpose"],
            data: "matrices, uniform 8..=64 by 8..=64, seed 7",
            target: 50.0,
            layout: matrices,
            run: |x| x.transpose(&[1, 0]),
            plain: |x, i, y| {
                let (rows, columns) = sides(&x.shape(i));
                for (column, y) in y.chunks_exact_mut(rows.max(1)).enumerate() {
                    for (row, y) in y.iter_mut().enumerate() {
                        *y = x[i][row * columns + column];
                    }
                }
                y.len()
            },
        },
    )?;
    row(
        bench,
        Copy {
            names: ["copies/stack", "cpu/stack"],
            data: "one stack of lengths uniform 500..=1000, seed 8",
            target: 75.0,
            layout: |size| {
                let mut rng = fastrand::Rng::with_seed(8);
                let lengths = (0..size.values / 1000).map(|_| rng.usize(500..=1000));
                Layout::from_lengths(lengths)
            },
            run: |x| x.stack(u64::MAX),
            plain: |x, _, y| {
                let width = y.len() / x.len();
                let slices = y.par_chunks_exact_mut(width).enumerate();
                let read = slices.map(|(i, y)| {
                    let x = &x[i];
                    y[..x.len()].copy_from_slice(x);
                    y[x.len()..].fill(0.0);
                    x.len()
                });
                read.sum()
            },
        },
    )?;
    row(
        bench,
        Copy {
            names: ["copies/window", "cpu/window"],
            data: "windows of 4 every 2 of Zipf s = 1.2 on 1..=65536, seed 1",
            target: 80.0,
            layout: |size| zipf(size.values / 8),
            run: |x| x.window(4, 2, u64::MAX),
            plain: |x, i, y| {
                let mut read = 0;
                let width = y.len() / 4;
                for (k, y) in y.chunks_exact_mut(width).enumerate() {
                    let x = &x[2 * i + k];
                    y[..x.len()].copy_from_slice(x);
                    y[x.len()..].fill(0.0);
                    read += x.len();
                }
                read
            },
        },
    )
}

fn zipf(values: usize) -> Result<Layout> {
    let mut lengths = Zipf::new(1, 1.2, 65536);
    Layout::from_lengths(until(values, || lengths.draw()))
}

fn matrices(size: &Size) -> Result<Layout> {
    let mut rng = fastrand::Rng::with_seed(7);
    // A matrix has 36² values on average.
    let shapes = (0..size.values / (36 * 36)).map(|_| {
        let sides = [rng.usize(8..=64), rng.usize(8..=64)];
        Shape::new(&sides)
    });
    Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)
}

fn sides(shape: &Shape) -> (usize, usize) {
    let extents = shape.extents();
    (extents[0] as usize, extents[1] as usize)
}

/// A copy, and the equivalent loop.
struct Copy {
    /// The row's names on a GPU, and on the CPU.
    names: [&'static str; 2],
    data: &'static str,
    /// Target: least percentage of our own copy's rate.
    target: f64,
    layout: fn(&Size) -> Result<Layout>,
    run: fn(&Tensor<f32>) -> Result<Tensor<f32>>,
    /// Writes element i of the result, and returns how many values it read.
    plain: fn(&Ragged<f32>, usize, &mut [f32]) -> usize,
}

fn row(bench: &mut Bench, copy: Copy) -> Outcome<()> {
    let name = copy.names[usize::from(!bench.device.is_gpu())];
    if !bench.wants(name) {
        return Ok(());
    }
    let layout = (copy.layout)(&bench.size)?;
    let x = Ragged::random(&layout, 11)?;
    let a = bench.device.upload(&x)?;
    let (y, first) = bench.first(|| (copy.run)(&a))?;
    let got = y.download_blocking()?;
    let result = y.layout().clone();
    drop(y);
    let mut made = vec![1.0f32; result.total()];
    let mut slices = cut(&mut made, result.lengths());
    let each = slices.par_iter_mut().enumerate();
    let read: usize = each.map(|(i, y)| (copy.plain)(&x, i, y)).sum();
    // Values shared by several windows count once.
    let read = read.min(layout.total());
    let bits = |values: &[f32], i: usize| values[i].to_bits();
    let wrong = (0..result.total()).into_par_iter();
    let values = got.values();
    let all = slices.concat();
    let wrong = wrong.find_any(|&i| bits(values, i) != bits(&all, i));
    let check: Check = match wrong {
        None => Ok(format!("all {} values", result.total())),
        Some(i) => Err(format!("value {i} is not the one that a loop copies")),
    };
    drop((all, got));
    let places = |layout: &Layout| layout.len() + 1 + layout.extents().len();
    let bytes = (read + result.total() + places(&layout) + places(&result)) * 4;
    let data = format!(
        "{}; {} elements, {read} values read, {} written",
        copy.data,
        layout.len(),
        result.total()
    );
    if !bench.device.is_gpu() {
        let mut plain = || {
            let each = slices.par_iter_mut().enumerate();
            each.for_each(|(i, y)| {
                (copy.plain)(&x, i, y);
            });
        };
        let job = Job {
            name,
            data,
            bytes,
            multiply_adds: 0,
            check,
            ours: &mut || (copy.run)(&a).map(drop),
            plain: &mut plain,
            target: ("x a plain loop", 1.5),
        };
        return compare(bench, job);
    }
    let spec = Spec {
        name,
        data,
        bytes: bytes as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let row = bench.measure(spec, || (copy.run)(&a))?;
    let row = row.reads::<f32>(&layout).writes::<f32>(&result);
    bench.push(row.of_copy(copy.target));
    Ok(())
}
