//! Pooling of images of different sizes, compared with a copy of as many bytes.

use rayon::prelude::*;
use vsla::{Layout, Ragged, Shape};

use crate::harness::lengths::until;
use crate::harness::{Bench, Check, Outcome, Spec};

/// Name, window, stride (of rows and columns), and the target: the least percentage of the copy's rate.
const ROWS: [(&str, usize, usize, f64); 2] = [
    ("pooling/images-2", 2, 2, 80.0),
    ("pooling/images-3-by-2", 3, 2, 60.0),
];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    ROWS.iter().try_for_each(|&job| match bench.wants(job.0) {
        true => row(bench, job),
        false => Ok(()),
    })
}

fn row(
    bench: &mut Bench,
    (name, window, stride, target): (&'static str, usize, usize, f64),
) -> Outcome<()> {
    let mut random = fastrand::Rng::with_seed(71);
    let mut widths = Vec::new();
    // Sums of squares of the sides.
    until(bench.size.values, || {
        let sides = [random.usize(32..=512), random.usize(32..=512)];
        widths.push(sides);
        sides[0] * sides[1]
    });
    let shapes = widths.iter().map(|sides| Shape::new(sides));
    let layout = Layout::from_shapes(2, shapes.collect::<vsla::Result<Vec<_>>>()?)?;
    let x = Ragged::random(&layout, 72)?;
    let a = bench.device.upload(&x)?;
    let run = || a.pooling(&[window, window]).stride(&[stride, stride]).max();
    let (y, first) = bench.first(run)?;
    let y = y.download_blocking()?;
    let spec = Spec {
        name,
        data: format!(
            "{} values in images of 32 to 512 rows and columns, seed 71",
            layout.total()
        ),
        bytes: 4 * (layout.total() + y.values().len()) as u64,
        multiply_adds: 0,
        first,
        check: check(&x, &y, window, stride),
    };
    let result = y.layout().clone();
    drop((x, y));
    let row = bench.measure(spec, run)?;
    let row = row.reads::<f32>(&layout).writes::<f32>(&result);
    bench.push(row.of_copy(target));
    Ok(())
}

/// Whether every result is the largest value of its window.
fn check(x: &Ragged<f32>, y: &Ragged<f32>, window: usize, stride: usize) -> Check {
    let wrong = (0..x.len()).into_par_iter().find_map_any(|element| {
        let [width, columns] = [x, y].map(|batch| batch.shape(element).extents()[1] as usize);
        let values = x.row(element);
        y.row(element).iter().enumerate().find_map(|(i, &got)| {
            let corner = i / columns * stride * width + i % columns * stride;
            let rows = (0..window).map(|row| &values[corner + row * width..][..window]);
            let largest = rows.flatten().copied().fold(f32::NEG_INFINITY, f32::max);
            (got != largest).then_some((got, largest))
        })
    });
    match wrong {
        None => Ok(format!("all {} values exactly", y.values().len())),
        Some((got, exact)) => Err(format!("{got} instead of {exact}")),
    }
}
