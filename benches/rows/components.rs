//! Connected components of images, compared with a copy of as many bytes as the least that they need: values read once,
//! labels written once.

use std::ops::RangeInclusive;

use rayon::prelude::*;
use vsla::image::{Components, Neighbours};
use vsla::{Layout, Ragged, Result, Shape};

use crate::harness::{Bench, Check, Outcome, Spec};

/// Images of a batch.
const IMAGES: usize = 10_000;

/// The least percentage of the copy's rate: a quarter of that at which 12 bytes are moved for each cell.
const TARGET: f64 = 16.6;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let (images, large) = match bench.size.quick {
        true => (IMAGES / 100, 500),
        false => (IMAGES, 4000),
    };
    let [four, eight] = [Neighbours::Four, Neighbours::Eight];
    row(bench, "label/images", (images, 20..=200), four)?;
    row(bench, "label/images-8", (images, 20..=200), eight)?;
    row(bench, "label/small", (images, 8..=32), four)?;
    row(bench, "label/large", (1, large..=large), four)?;
    let largest = if bench.size.quick { 600 } else { 16_384 };
    row(bench, "label/16384", (1, largest..=largest), four)
}

fn row(
    bench: &mut Bench,
    name: &'static str,
    (images, sides): (usize, RangeInclusive<usize>),
    neighbours: Neighbours,
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let mut random = fastrand::Rng::with_seed(91);
    let shapes = (0..images).map(|_| {
        let sides = [random.usize(sides.clone()), random.usize(sides.clone())];
        Shape::new(&sides)
    });
    let layout = Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)?;
    // 60 per cent are foreground.
    let mut random = fastrand::Rng::with_seed(92);
    let x = Ragged::from_fn(&layout, |_, _| u32::from(random.u32(..10) < 6))?;
    let a = bench.device.upload(&x)?;
    let components = Components::of_foreground().neighbours(neighbours);
    let run = || a.label(components);
    let ((labels, numbers), first) = bench.first(run)?;
    let (labels, numbers) = (labels.download_blocking()?, numbers.download_blocking()?);
    let spec = Spec {
        name,
        data: format!(
            "{} cells in {images} images of {} to {} rows and columns, 60 % foreground, seeds 91 and 92",
            layout.total(),
            sides.start(),
            sides.end()
        ),
        bytes: 4 * (2 * layout.total() + layout.len()) as u64,
        multiply_adds: 0,
        first,
        check: check(&x, &labels, numbers.values(), neighbours),
    };
    drop((x, labels));
    let row = bench.measure(spec, run)?;
    let row = row.reads::<u32>(&layout).writes::<u32>(&layout);
    bench.push(row.of_copy(TARGET));
    Ok(())
}

/// Fills every component, in row-major order of the first cells.
fn check(x: &Ragged<u32>, labels: &Ragged<u32>, numbers: &[u32], neighbours: Neighbours) -> Check {
    let wrong = (0..x.len()).into_par_iter().find_any(|&element| {
        let [rows, columns] = [0, 1].map(|axis| i64::from(x.shape(element).extents()[axis]));
        let (cells, got) = (x.row(element), labels.row(element));
        let (mut expected, mut count) = (vec![0; cells.len()], 0);
        let mut todo = Vec::new();
        for first in 0..cells.len() {
            if cells[first] == 0 || expected[first] != 0 {
                continue;
            }
            count += 1;
            expected[first] = count;
            todo.push(first as i64);
            while let Some(cell) = todo.pop() {
                let (row, column) = (cell / columns, cell % columns);
                let steps = (0..9).map(|step| [step / 3 - 1, step % 3 - 1]);
                for [down, right] in steps {
                    let is_near = neighbours == Neighbours::Eight || down == 0 || right == 0;
                    let (row, column) = (row + down, column + right);
                    if !is_near || !(0..rows).contains(&row) || !(0..columns).contains(&column) {
                        continue;
                    }
                    let other = (row * columns + column) as usize;
                    if cells[other] != 0 && expected[other] == 0 {
                        expected[other] = count;
                        todo.push(other as i64);
                    }
                }
            }
        }
        got != expected || numbers[element] != count
    });
    match wrong {
        None => Ok(format!("all {} labels", labels.values().len())),
        Some(element) => Err(format!("the labels of element {element}")),
    }
}
