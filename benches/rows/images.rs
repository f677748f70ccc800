//! Operations on images of colours, small ones and large ones, compared with a copy of as many bytes.

use rayon::prelude::*;
use vsla::image::Neighbours;
use vsla::{Layout, Ragged, Result, Shape, Tensor};

use crate::harness::lengths::until;
use crate::harness::{Bench, Check, Outcome, Size, Spec};

/// An operation, and its result for an image of this many columns by a plain loop.
struct Job {
    name: &'static str,
    /// The least percentage of the copy's rate.
    target: f64,
    layout: fn(&Size) -> Result<Layout>,
    cell: fn(&mut fastrand::Rng, Cell) -> u32,
    /// The operands beside a batch of images. They are on the device before the operation is timed.
    others: fn(&Tensor<u32>) -> Result<Vec<Tensor<u32>>>,
    run: Run,
    plain: Plain,
}

/// The operation, of the images and the other operands.
type Run = fn(&Tensor<u32>, &[Tensor<u32>]) -> Result<Tensor<u32>>;
type Plain = fn(&[u32], usize) -> Vec<u32>;

/// The element, row and column of a cell.
type Cell = [usize; 3];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let job = |name, target, layout, run, plain| Job {
        name,
        target,
        layout,
        cell: |random, _| random.u32(..10),
        others: |_| Ok(Vec::new()),
        run,
        plain,
    };
    let turned: Plain = |x, width| {
        let columns = (0..width).rev();
        columns
            .flat_map(|j| x.iter().skip(j).step_by(width).copied())
            .collect()
    };
    let enlarged: Plain = |x, width| {
        let twice = |row: &[u32]| row.iter().flat_map(|&x| [x; 2]).collect::<Vec<_>>();
        x.chunks_exact(width)
            .flat_map(|row| [twice(row), twice(row)].concat())
            .collect()
    };
    let shifted: Plain = |x, width| {
        (0..x.len())
            .map(|i| match i >= width && i % width > 0 {
                true => x[i - width - 1],
                false => 9,
            })
            .collect()
    };
    let looked_up: Plain = |x, _| x.iter().map(|&x| 7 * x + 1).collect();
    let bounds: Plain = |x, width| {
        let others = || (0..x.len()).filter(|&i| x[i] != 0);
        let least = |of: fn(usize, usize) -> usize| others().map(|i| of(i, width)).min();
        let most = |of: fn(usize, usize) -> usize| others().map(|i| of(i, width) + 1).max();
        let (row, column) = (|i, w| i / w, |i, w| i % w);
        let all = [least(row), least(column), most(row), most(column)];
        all.map(|end| end.unwrap_or(0) as u32).to_vec()
    };
    let common: Plain = |x, _| {
        let count = |value: u32| x.iter().filter(|&&x| x == value).count();
        let most = (0..10).map(count).max();
        vec![
            (0..10)
                .find(|&value| Some(count(value)) == most)
                .unwrap_or(0),
        ]
    };
    for job in [
        job("images/rot90", 60.0, large, |x, _| x.rot90(1), turned),
        job("images/rot90-small", 35.0, small, |x, _| x.rot90(1), turned),
        job(
            "images/upscale",
            50.0,
            large,
            |x, _| x.upscale(&[[2, 2]]),
            enlarged,
        ),
        job(
            "images/upscale-small",
            30.0,
            small,
            |x, _| x.upscale(&[[2, 2]]),
            enlarged,
        ),
        job(
            "images/translate",
            50.0,
            large,
            |x, _| x.translate(&[[1, 1]], 9),
            shifted,
        ),
        job(
            "images/dilate",
            60.0,
            large,
            |x, _| x.dilate(Neighbours::Eight),
            dilated,
        ),
        job(
            "images/dilate-small",
            25.0,
            small,
            |x, _| x.dilate(Neighbours::Eight),
            dilated,
        ),
        job(
            "images/dilate-one",
            60.0,
            one,
            |x, _| x.dilate(Neighbours::Eight),
            dilated,
        ),
        Job {
            others: table,
            ..job(
                "images/lookup",
                60.0,
                small,
                |x, others| x.lookup(&others[0]),
                looked_up,
            )
        },
        job(
            "images/bounding-box",
            50.0,
            small,
            |x, _| x.bounding_box(0),
            bounds,
        ),
        job(
            "images/most-common",
            3.0,
            small,
            |x, _| x.most_common(),
            common,
        ),
        job(
            "images/bincount",
            40.0,
            large,
            |x, _| x.bincount(10),
            counted,
        ),
        job(
            "images/bincount-small",
            25.0,
            small,
            |x, _| x.bincount(10),
            counted,
        ),
        Job {
            others: template,
            ..job(
                "images/match-template",
                50.0,
                large,
                |x, others| x.match_template(&others[0]),
                matched,
            )
        },
        Job {
            others: template,
            ..job(
                "images/match-template-small",
                25.0,
                small,
                |x, others| x.match_template(&others[0]),
                matched,
            )
        },
        Job {
            cell: repeated,
            ..job("images/period", 30.0, large, |x, _| x.period(0), row_period)
        },
        Job {
            cell: repeated,
            ..job(
                "images/period-small",
                15.0,
                small,
                |x, _| x.period(0),
                row_period,
            )
        },
        Job {
            others: frames,
            ..job(
                "images/draw-boxes",
                50.0,
                large,
                |x, others| x.draw_boxes(&others[0], &others[1]),
                framed,
            )
        },
        Job {
            others: frames,
            ..job(
                "images/draw-boxes-small",
                25.0,
                small,
                |x, others| x.draw_boxes(&others[0], &others[1]),
                framed,
            )
        },
    ] {
        if bench.wants(job.name) {
            row(bench, &job)?;
        }
    }
    Ok(())
}

/// The new value of each colour.
fn table(x: &Tensor<u32>) -> Result<Vec<Tensor<u32>>> {
    Ok(vec![x.device().arange(
        &Layout::from_lengths([10])?,
        1,
        7,
    )?])
}

/// One template for all images.
fn template(x: &Tensor<u32>) -> Result<Vec<Tensor<u32>>> {
    let template = Ragged::from_shapes(TEMPLATE.to_vec(), 2, [Shape::new(&[2, 2])?])?;
    Ok(vec![x.device().upload(&template)?])
}

/// The cells of a template of 2 × 2.
const TEMPLATE: [u32; 4] = [1, 2, 3, 4];

fn matched(x: &[u32], width: usize) -> Vec<u32> {
    let rows = 0..(x.len() / width).saturating_sub(1);
    let is_there = |at: usize| {
        let found = [x[at], x[at + 1], x[at + width], x[at + width + 1]];
        u32::from(found == TEMPLATE)
    };
    rows.flat_map(|row| (0..width - 1).map(move |column| is_there(row * width + column)))
        .collect()
}

fn counted(x: &[u32], _: usize) -> Vec<u32> {
    let mut counts = vec![0; 10];
    for &x in x {
        counts[x as usize] += 1;
    }
    counts
}

/// Each image repeats its first rows, of which there are one to nine.
fn repeated(_: &mut fastrand::Rng, [element, row, column]: Cell) -> u32 {
    let row = row % (1 + element % 9);
    let seed = (element as u64) << 32 | (row as u64) << 16 | column as u64;
    fastrand::Rng::with_seed(seed).u32(..10)
}

fn row_period(x: &[u32], width: usize) -> Vec<u32> {
    let rows = x.len() / width;
    let period = (1..=rows).find(|&p| x[p * width..] == x[..(rows - p) * width]);
    vec![period.unwrap_or(0) as u32]
}

/// A box as large as each image, and its colour, 3.
fn frames(x: &Tensor<u32>) -> Result<Vec<Tensor<u32>>> {
    let boxes = x.layout().shapes().map(|shape| {
        let [rows, columns] = [0, 1].map(|axis| shape.extents()[axis]);
        [0, 0, rows, columns]
    });
    let boxes = Ragged::from_rows(boxes)?;
    let colours = Ragged::from_rows(vec![[3]; boxes.len()])?;
    Ok(vec![
        x.device().upload(&boxes)?,
        x.device().upload(&colours)?,
    ])
}

fn framed(x: &[u32], width: usize) -> Vec<u32> {
    let mut y = x.to_vec();
    let rows = x.len() / width;
    for (i, y) in y.iter_mut().enumerate() {
        if [0, rows - 1].contains(&(i / width)) || [0, width - 1].contains(&(i % width)) {
            *y = 3;
        }
    }
    y
}

fn dilated(x: &[u32], width: usize) -> Vec<u32> {
    let rows = x.len() / width;
    let near = |k: usize, most: usize| k.saturating_sub(1)..=(k + 1).min(most - 1);
    (0..x.len())
        .map(|i| {
            let (row, column) = (i / width, i % width);
            let beside = near(row, rows).flat_map(|row| {
                let columns = near(column, width);
                columns.map(move |column| x[row * width + column])
            });
            beside.max().unwrap_or(0)
        })
        .collect()
}

fn of_sides(values: usize, sides: std::ops::RangeInclusive<usize>, seed: u64) -> Result<Layout> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut shapes = Vec::new();
    until(values, || {
        let extents = [(); 2].map(|()| random.usize(sides.clone()));
        shapes.push(extents);
        extents[0] * extents[1]
    });
    let shapes = shapes.iter().map(|extents| Shape::new(extents));
    Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)
}

pub fn small(size: &Size) -> Result<Layout> {
    of_sides(size.values / 4, 1..=30, 73)
}

pub fn large(size: &Size) -> Result<Layout> {
    of_sides(size.values / 4, 32..=512, 74)
}

fn one(size: &Size) -> Result<Layout> {
    let side = (size.values / 4).isqrt();
    Layout::uniform(1, Shape::new(&[side, side])?)
}

fn row(bench: &mut Bench, job: &Job) -> Outcome<()> {
    let layout = (job.layout)(&bench.size)?;
    let mut random = fastrand::Rng::with_seed(75);
    let x = Ragged::from_fn(&layout, |element, i| {
        let width = layout.shape(element).extents()[1] as usize;
        (job.cell)(&mut random, [element, i / width, i % width])
    })?;
    let a = bench.device.upload(&x)?;
    let others = (job.others)(&a)?;
    let run = || (job.run)(&a, &others);
    let (y, first) = bench.first(run)?;
    let y = y.download_blocking()?;
    let spec = Spec {
        name: job.name,
        data: format!(
            "{} values of ten colours in {} images, seeds 73 to 75",
            layout.total(),
            layout.len()
        ),
        bytes: 4 * (layout.total() + y.values().len()) as u64,
        multiply_adds: 0,
        first,
        check: check(&x, &y, job.plain),
    };
    let result = y.layout().clone();
    drop((x, y));
    let row = bench.measure(spec, run)?;
    let row = row.reads::<u32>(&layout).writes::<u32>(&result);
    bench.push(row.of_copy(job.target));
    Ok(())
}

fn check(x: &Ragged<u32>, y: &Ragged<u32>, plain: Plain) -> Check {
    let wrong = (0..x.len()).into_par_iter().find_any(|&element| {
        let width = x.shape(element).extents()[1] as usize;
        y.row(element) != plain(x.row(element), width)
    });
    match wrong {
        None => Ok(format!("all {} values exactly", y.values().len())),
        Some(element) => Err(format!("element {element}")),
    }
}
