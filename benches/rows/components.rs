//! Connected components of images, tables of their regions, and filled holes, compared with a copy of the fewest bytes
//! that they need: values and labels read once, results written once.

use std::ops::RangeInclusive;

use rayon::prelude::*;
use vsla::image::{Components, Neighbours, Regions};
use vsla::{Layout, Ragged, Result, Shape};

use crate::harness::{Bench, Check, Outcome, Spec};

/// Images of a batch.
const IMAGES: usize = 10_000;

/// The least percentage of the copy's rate: a quarter of that at which 12 bytes are moved for each cell.
const TARGET: f64 = 16.6;
/// The least percentage for `fill_holes`: half of that for its call of `label`, because it also reads and writes all
/// cells five times.
const HOLES: f64 = 8.0;
/// The least percentage for `regions`, which sums with atomic operations.
const REGIONS: f64 = 5.0;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let (images, large) = match bench.size.quick {
        true => (IMAGES / 100, 500),
        false => (IMAGES, 4000),
    };
    let [four, eight] = [Neighbours::Four, Neighbours::Eight];
    label(bench, "label/images", (images, 20..=200), four)?;
    label(bench, "label/images-8", (images, 20..=200), eight)?;
    label(bench, "label/small", (images, 8..=32), four)?;
    label(bench, "label/large", (1, large..=large), four)?;
    let largest = if bench.size.quick { 600 } else { 16_384 };
    label(bench, "label/16384", (1, largest..=largest), four)?;
    fill_holes(bench, "images/fill-holes", (images, 20..=200))?;
    fill_holes(bench, "images/fill-holes-small", (images, 8..=32))?;
    regions(bench, "images/regions", (images, 20..=200))?;
    regions(bench, "images/regions-small", (images, 8..=32))
}

/// The number of images, and the range of their rows and columns.
type Sides = (usize, RangeInclusive<usize>);

/// Images of zeros and ones: 60 per cent of the cells, chosen at random, are 1.
fn noise((images, sides): &Sides) -> Result<Ragged<u32>> {
    let mut random = fastrand::Rng::with_seed(91);
    let shapes = (0..*images).map(|_| {
        let sides = [random.usize(sides.clone()), random.usize(sides.clone())];
        Shape::new(&sides)
    });
    let layout = Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)?;
    let mut random = fastrand::Rng::with_seed(92);
    Ragged::from_fn(&layout, |_, _| u32::from(random.u32(..10) < 6))
}

fn described(layout: &Layout, (images, sides): &Sides) -> String {
    format!(
        "{} cells in {images} images of {} to {} rows and columns, 60 % foreground, seeds 91 and 92",
        layout.total(),
        sides.start(),
        sides.end()
    )
}

fn label(
    bench: &mut Bench,
    name: &'static str,
    sides: Sides,
    neighbours: Neighbours,
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let x = noise(&sides)?;
    let layout = x.layout().clone();
    let a = bench.device.upload(&x)?;
    let components = Components::of_foreground().neighbours(neighbours);
    let run = || a.label(components);
    let ((labels, numbers), first) = bench.first(run)?;
    let (labels, numbers) = (labels.download_blocking()?, numbers.download_blocking()?);
    let spec = Spec {
        name,
        data: described(&layout, &sides),
        bytes: 4 * (2 * layout.total() + layout.len()) as u64,
        multiply_adds: 0,
        first,
        check: check_labels(&x, &labels, numbers.values(), neighbours),
    };
    drop((x, labels));
    let row = bench.measure(spec, run)?;
    let row = row.reads::<u32>(&layout).writes::<u32>(&layout);
    bench.push(row.of_copy(TARGET));
    Ok(())
}

fn fill_holes(bench: &mut Bench, name: &'static str, sides: Sides) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let x = noise(&sides)?;
    let layout = x.layout().clone();
    let a = bench.device.upload(&x)?;
    let run = || a.fill_holes(Neighbours::Four, 0, 2);
    let (filled, first) = bench.first(run)?;
    let filled = filled.download_blocking()?;
    let spec = Spec {
        name,
        data: described(&layout, &sides),
        bytes: 8 * layout.total() as u64,
        multiply_adds: 0,
        first,
        check: check_holes(&x, &filled),
    };
    drop((x, filled));
    let row = bench.measure(spec, run)?;
    let row = row.reads::<u32>(&layout).writes::<u32>(&layout);
    bench.push(row.of_copy(HOLES));
    Ok(())
}

fn regions(bench: &mut Bench, name: &'static str, sides: Sides) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let x = noise(&sides)?;
    let layout = x.layout().clone();
    let a = bench.device.upload(&x)?;
    let (labels, numbers) = a.label(Components::of_foreground())?;
    let run = || a.regions_blocking(&labels, &numbers);
    let (regions, first) = bench.first(run)?;
    let check = check_tables(&x, &labels.download_blocking()?, &regions)?;
    let components = regions.areas.layout().total();
    drop((x, regions));
    let spec = Spec {
        name,
        data: format!("{components} components of {}", described(&layout, &sides)),
        bytes: 8 * (layout.total() + 4 * components) as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let row = bench.measure(spec, run)?;
    let row = row.reads::<u32>(&layout);
    bench.push(row.of_copy(REGIONS));
    Ok(())
}

/// Holes, which become 2, are the components of the background without a cell at the border of the image.
fn check_holes(x: &Ragged<u32>, filled: &Ragged<u32>) -> Check {
    let wrong = (0..x.len()).into_par_iter().find_any(|&element| {
        let [rows, columns] = [0, 1].map(|axis| x.shape(element).extents()[axis] as usize);
        let cells = x.row(element);
        let (labels, count) = components_of(cells, columns, 0, Neighbours::Four);
        let mut is_hole = vec![true; count as usize + 1];
        // The cells of the foreground have the label 0.
        is_hole[0] = false;
        for (i, &label) in labels.iter().enumerate() {
            if [0, rows - 1].contains(&(i / columns)) || [0, columns - 1].contains(&(i % columns)) {
                is_hole[label as usize] = false;
            }
        }
        let expected = labels.iter().zip(cells).map(
            |(&label, &cell)| {
                if is_hole[label as usize] { 2 } else { cell }
            },
        );
        !filled.row(element).iter().copied().eq(expected)
    });
    match wrong {
        None => Ok(format!("all {} cells", filled.values().len())),
        Some(element) => Err(format!("the cells of element {element}")),
    }
}

/// Compares the table of each image with sums over its labels.
fn check_tables(x: &Ragged<u32>, labels: &Ragged<u32>, regions: &Regions<u32>) -> Result<Check> {
    let areas = regions.areas.download_blocking()?;
    let boxes = regions.boxes.download_blocking()?;
    let centroids = regions.centroids.download_blocking()?;
    let values = regions.values.download_blocking()?;
    let wrong = (0..x.len()).into_par_iter().find_any(|&element| {
        let columns = x.shape(element).extents()[1] as usize;
        let count = areas.row(element).len();
        let mut expected = vec![(0u32, [u32::MAX, u32::MAX, 0, 0], [0u64; 2]); count];
        for (i, &label) in labels.row(element).iter().enumerate() {
            let Some(region) = (label as usize).checked_sub(1) else {
                continue;
            };
            let Some((area, ends, sums)) = expected.get_mut(region) else {
                return true;
            };
            let at = [i / columns, i % columns].map(|at| at as u32);
            *area += 1;
            for axis in 0..2 {
                ends[axis] = ends[axis].min(at[axis]);
                ends[axis + 2] = ends[axis + 2].max(at[axis] + 1);
                sums[axis] += u64::from(at[axis]);
            }
        }
        let is_right = |(k, (area, ends, sums)): (usize, &(u32, [u32; 4], [u64; 2]))| {
            let means = sums.map(|sum| sum as f64 / f64::from(*area));
            let got = &centroids.row(element)[2 * k..][..2];
            let is_near = |(got, mean): (&f32, &f64)| (f64::from(*got) - mean).abs() < 1e-4;
            areas.row(element)[k] == *area
                && boxes.row(element)[4 * k..][..4] == ends[..]
                && got.iter().zip(&means).all(is_near)
                && values.row(element)[k] == 1
        };
        !expected.iter().enumerate().all(is_right)
    });
    Ok(match wrong {
        None => Ok(format!("all {} components", areas.values().len())),
        Some(element) => Err(format!("the table of element {element}")),
    })
}

/// The components of the cells with a value, in row-major order of the first cells, and their number.
fn components_of(cells: &[u32], columns: usize, value: u32, near: Neighbours) -> (Vec<u32>, u32) {
    let (rows, columns) = ((cells.len() / columns) as i64, columns as i64);
    let (mut labels, mut count) = (vec![0; cells.len()], 0);
    let mut todo = Vec::new();
    for first in 0..cells.len() {
        if cells[first] != value || labels[first] != 0 {
            continue;
        }
        count += 1;
        labels[first] = count;
        todo.push(first as i64);
        while let Some(cell) = todo.pop() {
            let (row, column) = (cell / columns, cell % columns);
            let steps = (0..9).map(|step| [step / 3 - 1, step % 3 - 1]);
            for [down, right] in steps {
                let is_near = near == Neighbours::Eight || down == 0 || right == 0;
                let (row, column) = (row + down, column + right);
                if !is_near || !(0..rows).contains(&row) || !(0..columns).contains(&column) {
                    continue;
                }
                let other = (row * columns + column) as usize;
                if cells[other] == value && labels[other] == 0 {
                    labels[other] = count;
                    todo.push(other as i64);
                }
            }
        }
    }
    (labels, count)
}

fn check_labels(
    x: &Ragged<u32>,
    labels: &Ragged<u32>,
    numbers: &[u32],
    neighbours: Neighbours,
) -> Check {
    let wrong = (0..x.len()).into_par_iter().find_any(|&element| {
        let columns = x.shape(element).extents()[1] as usize;
        let (expected, count) = components_of(x.row(element), columns, 1, neighbours);
        labels.row(element) != expected || numbers[element] != count
    });
    match wrong {
        None => Ok(format!("all {} labels", labels.values().len())),
        Some(element) => Err(format!("the labels of element {element}")),
    }
}
