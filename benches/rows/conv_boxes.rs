//! Convolutions of images with small filters.

use vsla::{
    Layout, Pairing, Ragged, Result, Shape,
    batch::Side,
    conv::{ConvMethod, ConvMode},
};

use crate::harness::lengths;
use crate::harness::{Bench, Check, Outcome, Spec};

/// Name, side of the filter, mode, and stride.
type Images = (&'static str, usize, ConvMode, usize);

/// Of the sizes of published photographs.
const PHOTOGRAPHS: Images = ("conv/photographs", 3, ConvMode::Same, 1);
const IMAGES: [Images; 4] = [
    ("conv/images-3x3", 3, ConvMode::Same, 1),
    ("conv/images-5x5", 5, ConvMode::Full, 1),
    ("conv/images-5x5-valid-2", 5, ConvMode::Valid, 2),
    ("conv/images-31x31", 31, ConvMode::Same, 1),
];
/// Number of images, and their sides.
const BATCH: usize = 10_000;
const SIDES: std::ops::RangeInclusive<usize> = 20..=200;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for images in &IMAGES {
        if bench.wants(images.0) {
            drawn(bench, images)?;
        }
    }
    if bench.wants(PHOTOGRAPHS.0) {
        let mut images = lengths::images();
        images.truncate(if bench.size.quick { 4 } else { images.len() });
        let data = format!("{} photographs", images.len());
        let shapes = images.iter().map(|sides| Shape::new(sides));
        row(bench, &PHOTOGRAPHS, data, shapes.collect::<Result<_>>()?)?;
    }
    Ok(())
}

fn drawn(bench: &mut Bench, images: &Images) -> Outcome<()> {
    let small = bench.size.quick || !bench.device.is_gpu();
    // The library uses transforms for the larger filter, which are slower.
    let count = BATCH / if small { 1000 } else { 1 } / if images.1 > 5 { 10 } else { 1 };
    let count = count.max(3);
    let mut rng = fastrand::Rng::with_seed(51);
    let mut extent = || rng.usize(SIDES);
    let shapes = (0..count).map(|_| Shape::new(&[extent(), extent()]));
    let data = format!("{count} images of {SIDES:?} a side, seed 51");
    row(bench, images, data, shapes.collect::<Result<_>>()?)
}

fn row(
    bench: &mut Bench,
    &(name, side, mode, stride): &Images,
    data: String,
    shapes: Vec<Shape>,
) -> Outcome<()> {
    let layout = Layout::from_shapes(2, shapes)?;
    let filter = Layout::uniform(1, Shape::new(&[side, side])?)?;
    let (x, y) = (Ragged::random(&layout, 52)?, Ragged::random(&filter, 53)?);
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let pair = a
        .pair(&b, Pairing::AllToAll)?
        .convolution()
        .mode(mode)
        .side(Side::Left)
        .stride(&[stride, stride]);
    let (c, first) = bench.first(|| pair.conv())?;
    let check = check(&x, &y, mode, stride, |i| {
        Ok(c.elements(i..i + 1)?.download_blocking()?.into_parts().1)
    })?;
    let results = c.layout().total();
    let groups = pair.choice()?.groups;
    let direct = groups
        .iter()
        .all(|group| group.method == ConvMethod::Direct);
    let bytes = 4 * (x.values().len() + results) as u64;
    let result = c.layout().clone();
    drop((x, y, c));
    let spec = Spec {
        name,
        data: format!("{data}, every {stride} of {mode:?}"),
        bytes,
        multiply_adds: if direct {
            (results * side * side) as u64
        } else {
            0
        },
        first,
        check,
    };
    let row = bench.measure(spec, || pair.conv())?;
    bench.push(row.reads::<f32>(&layout).writes::<f32>(&result));
    Ok(())
}

/// Compares some of the results with sums in f64.
fn check(
    x: &Ragged<f32>,
    y: &Ragged<f32>,
    mode: ConvMode,
    stride: usize,
    result: impl Fn(usize) -> Result<Vec<f32>>,
) -> Outcome<Check> {
    let side = y.layout().shape(0).extents()[0] as usize;
    let first = match mode {
        ConvMode::Same => (side - 1) / 2,
        ConvMode::Valid => side - 1,
        _ => 0,
    };
    let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let some = [0, x.len() / 2, x.len() - 1];
    for i in some {
        let extents = x.layout().shape(i);
        let [rows, columns] = [0, 1].map(|axis| extents.extents()[axis] as usize);
        let kept = |m: usize| match mode {
            ConvMode::Full => (m + side - 1).div_ceil(stride),
            ConvMode::Valid => (m + 1).saturating_sub(side).div_ceil(stride),
            _ => m.div_ceil(stride),
        };
        let got = result(i)?;
        let (image, filter) = (x.row(i), y.row(0));
        // The bound for transforms of at most 2¹⁷ values.
        let bound = 1.5 * 17.0 * norm(image) * norm(filter) / f64::from(1u32 << 24);
        if got.len() != kept(rows) * kept(columns) {
            return Ok(Err(format!("image {i} has {} results", got.len())));
        }
        for (q, &got) in got.iter().enumerate() {
            let at = [q / kept(columns), q % kept(columns)].map(|q| first + stride * q);
            let mut sum = 0.0;
            for (t, &tap) in filter.iter().enumerate() {
                let row = at[0].wrapping_sub(t / side);
                let column = at[1].wrapping_sub(t % side);
                if row < rows && column < columns {
                    sum += f64::from(tap) * f64::from(image[row * columns + column]);
                }
            }
            // A NaN counts as wrong.
            let near = (sum - f64::from(got)).abs() <= bound;
            if !near {
                return Ok(Err(format!(
                    "value {q} of image {i} is {got} instead of {sum}"
                )));
            }
        }
    }
    Ok(Ok(format!("{} images, in f64", some.len())))
}
