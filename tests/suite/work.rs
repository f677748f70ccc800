//! Work limits: the work of products, transforms, sorts and searches, counted by hand, and refusal before running if it
//! exceeds the limit. Other operations count their values (`rows::work`).

mod limits;

use libtest_mimic::Trial;
use vsla::attention::Cache;
use vsla::image::{Components, Neighbours};
use vsla::{
    Bsr, BsrTensor, Complex32, Device, Error, Layout, Pairing, Ragged, Result, Shape, Tensor,
    Topology,
    batch::Remainder,
    conv::{ConvMethod, ConvMode},
    product::ShapeMatrix,
    scalar::Scalar,
};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::operation::upload;

/// An operation, and its counted work to within a factor of four: the maximum over its parts.
struct Counted {
    name: &'static str,
    work: f64,
    run: fn(&Device) -> Result<()>,
}

macro_rules! counted {
    ($($name:literal, $work:expr, $run:expr;)*) => {
        /// Operations that count more than their values, by each algorithm.
        const COUNTED: &[Counted] = &[$(Counted {
            name: $name,
            work: $work,
            run: |device| {
                let run: fn(&Device) -> Result<_> = $run;
                run(device).map(drop)
            },
        }),*];
    };
}

/// Multiply-adds of a transform of n real values.
const fn transform(n: f64, log: f64) -> f64 {
    2.5 * n * log
}

/// For the operands of [`x`] and [`y`]: the numbers of their values, of overlapping values, and of products over all
/// pairs.
const X: f64 = 1300.;
const OVERLAP: f64 = 1000.;
const PRODUCTS: f64 = 970_000.;
/// About the work of the same pairs by transforms of 2048 and 1280 values.
const TRANSFORMS: f64 = 3. * (transform(2048., 11.) + transform(1280., 10.));

counted! {
    "max_pool", X, |d| x::<f32>(d).max_pool(&[2]);
    "mean_pool", X, |d| x::<f32>(d).mean_pool(&[2]);
    "max_pool of overlapping windows", 9. * X, |d| x::<f32>(d).pooling(&[9]).stride(&[1]).max();
    "max_pool of large windows", 20. * X, |d| x::<f32>(d).pooling(&[512]).stride(&[1]).max();
    "sort", 1000. * 10. + 300. * 9., |d| x::<f32>(d).sort(0);
    "sort_descending", 1000. * 10. + 300. * 9., |d| x::<i32>(d).sort_descending(0);
    "argsort", 1000. * 10. + 300. * 9., |d| x::<u32>(d).argsort(0);
    "argsort_descending", 1000. * 10. + 300. * 9., |d| x::<f32>(d).argsort_descending(0);
    "top_k", 1000. * 10. + 300. * 9., |d| Ok(x::<f32>(d).top_k(0, 0)?.0);
    "top_k_at_most", 1000. * 10. + 300. * 9., |d| Ok(x::<f32>(d).top_k_at_most(2, 0)?.0);
    "quantile", 1000. * 10. + 300. * 9., |d| x::<f32>(d).quantile(0.3);
    "quantile_axis", 1000. * 10. + 300. * 9., |d| x::<f32>(d).quantile_axis(0.3, 0);
    "median", 1000. * 10. + 300. * 9., |d| x::<f32>(d).median();
    "median_axis", 1000. * 10. + 300. * 9., |d| x::<f32>(d).median_axis(0);
    "histogram", X + 30., |d| x::<f32>(d).histogram(10, 0.0..=1.0);
    "label", 30_000., |d| matrix::<i32>(d, [100, 100]).label(Components::of_foreground());
    "regions", 2_000., |d| {
        let x = matrix::<u32>(d, [20, 50]);
        let one = Ragged::from_rows([[1u32]])?;
        x.regions_blocking(&x, &d.upload(&one)?)
    };
    "fill_holes", 30_000., |d| matrix::<i32>(d, [100, 100]).fill_holes(Neighbours::Four, 0, 1);
    "histogram of many bins", X + 15_000., |d| x::<f32>(d).histogram(5000, 0.0..=1.0);
    "histogram_edges", X + 6., |d| x::<i32>(d).histogram_edges(&[0, 1, 2]);
    "dot", OVERLAP, |d| x::<f32>(d).dot(&y(d));
    "conv", PRODUCTS, |d| x::<i32>(d).conv(&y(d));
    "correlate", PRODUCTS, |d| x::<u32>(d).correlate(&y(d));
    "conv by transforms", TRANSFORMS, |d| x::<f32>(d).conv(&y(d));
    "conv in blocks", 3. * transform(120_000., 11.), |d| {
        let (x, y) = (ones::<f32>(d, &[100_000]), ones(d, &[100]));
        x.pair(&y, Pairing::Elementwise)?.convolution().method(ConvMethod::OverlapSave).conv()
    };
    "conv in passes", 3. * transform(32_768., 15.), |d| {
        let x = ones::<f32>(d, &[15_000]);
        x.pair(&x, Pairing::Elementwise)?.convolution().method(ConvMethod::Fft).conv()
    };
    "conv of boxes", 21_000., |d| matrix::<i32>(d, [20, 30]).conv(&matrix(d, [5, 7]));
    "conv of boxes by transforms", 3. * transform(1024., 10.), |d| {
        let (x, y) = (matrix::<f32>(d, [20, 30]), matrix(d, [5, 7]));
        x.pair(&y, Pairing::Elementwise)?.convolution().method(ConvMethod::Fft).conv()
    };
    "mode", 13. * 24. * 35., |d| {
        let (x, y) = (matrix::<i32>(d, [20, 30]), matrix(d, [5, 7]));
        x.pair(&y, Pairing::Elementwise)?.convolution().mode(ConvMode::Valid).conv()
    };
    "stride", 12. * 18. * 35., |d| {
        let (x, y) = (matrix::<i32>(d, [20, 30]), matrix(d, [5, 7]));
        x.pair(&y, Pairing::Elementwise)?.convolution().stride(&[2, 2]).conv()
    };
    "eval", PRODUCTS, |d| x::<f32>(d).eval(&y(d));
    "correlate_max", TRANSFORMS, |d| x::<f32>(d).correlate_max(&y(d));
    // By transforms on the CPU, directly on a GPU.
    "sbd", 600_000., |d| x::<f32>(d).sbd(&y(d));
    "correlate_max directly", PRODUCTS, |d| {
        let (x, y) = (x::<f32>(d), y(d));
        x.pair(&y, Pairing::Elementwise)?.convolution().method(ConvMethod::Direct).correlate_max()
    };
    "conv_plan", transform(1440., 10.) + transform(512., 9.) + transform(1800., 11.), |d| {
        let (x, y) = (x::<f32>(d), y(d));
        x.pair(&y, Pairing::Elementwise)?.conv_plan()
    };
    "causal", 4. * transform(1440., 10.) + 2. * transform(1800., 11.), |d| {
        let (x, y) = (x::<f32>(d), y(d));
        x.pair(&y, Pairing::Elementwise)?.conv_plan()?.causal(&x)
    };
    "kron", PRODUCTS, |d| x::<f32>(d).kron(&y(d));
    "outer", PRODUCTS, |d| x::<f32>(d).outer(&y(d));
    "most_common", 1000. * 10. + 300. * 9., |d| x::<i32>(d).most_common();
    "least_common", 1000. * 10. + 300. * 9., |d| x::<u32>(d).least_common();
    "palette", 1000. * 10. + 300. * 9., |d| x::<i32>(d).palette_blocking();
    "match_template", 38. * 49. * 6., |d| matrix::<i32>(d, [40, 50]).match_template(&matrix(d, [3, 2]));
    "draw_boxes", 4000., |d| {
        let boxes = d.upload(&Ragged::from_rows([[5, 6, 35, 46u32]])?)?;
        matrix::<i32>(d, [40, 50]).draw_boxes(&boxes, &ones(d, &[1]))
    };
    "draw_boxes of many", 3. * 2000. + 100. * 180., |d| {
        let boxes = Ragged::from_shapes([5, 6, 35, 46u32].repeat(100), 2, [Shape::new(&[100, 4])?])?;
        matrix::<i32>(d, [40, 50]).draw_boxes(&d.upload(&boxes)?, &ones(d, &[100]))
    };
    "draw_lines", 4000., |d| {
        matrix::<i32>(d, [40, 50]).draw_lines(&Ragged::from_rows([[5, 6, 15, 16]])?, &ones(d, &[1]))
    };
    "period", 4000., |d| matrix::<i32>(d, [40, 50]).period(1);
    "pyramid", 4096., |d| x::<f32>(d).pyramid(&[2, 2], Remainder::Pad, 1 << 20);
    "fft", 2. * (transform(2000., 11.) + transform(1500., 10.5)), |d| spectrum(d)?.fft();
    "ifft", 2. * (transform(2000., 11.) + transform(1500., 10.5)), |d| spectrum(d)?.ifft();
    "fft of a prime length", 4. * transform(8192., 13.), |d| {
        let z = Ragged::from_rows([vec![Complex32::new(1., 0.); 4001]])?;
        d.upload(&z)?.fft()
    };
    "fft in passes", 2. * transform(65_536., 16.), |d| {
        let z = Ragged::from_rows([vec![Complex32::new(1., 0.); 65_536]])?;
        d.upload(&z)?.fft()
    };
    "rfft", transform(2000., 11.) + transform(1500., 10.5), |d| ones::<f32>(d, &[2000, 1500]).rfft();
    "irfft", transform(4000., 12.) + transform(3000., 11.5), |d| {
        let spectra = Ragged::full(&Layout::from_lengths([2001, 1501])?, Complex32::ONE)?;
        d.upload(&spectra)?.irfft(&Layout::from_lengths([4000, 3000])?)
    };
    "stft", 2. * 57. * transform(200., 7.6), |d| {
        ones::<f32>(d, &[3000, 3000]).stft(&d.hann(200)?, 50)
    };
    "istft", 2. * 57. * transform(200., 7.6), |d| {
        let layout = Layout::uniform(2, Shape::new(&[57, 101])?)?;
        let spectra = d.upload(&Ragged::full(&layout, Complex32::ONE)?)?;
        spectra.istft(&d.hann(200)?, 50, &Layout::from_lengths([3000, 3000])?)
    };
    "fft2", 40. * 50. * 50., |d| planes(d)?.fft2();
    "ifft2", 40. * 50. * 50., |d| planes(d)?.ifft2();
    "rfft2", 26. * 40. * 40., |d| matrix::<f32>(d, [40, 50]).rfft2();
    "irfft2", 40. * 49. * 49., |d| planes(d)?.irfft2(&Layout::uniform(1, Shape::new(&[40, 98])?)?);
    "matmul", 60_000., |d| matrix::<f32>(d, [40, 50]).matmul(&matrix(d, [50, 30]));
    "matmul of complex numbers", 240_000., |d| {
        let factor = |extents| matrix::<f32>(d, extents).complex(&matrix(d, extents));
        factor([40, 50])?.matmul(&factor([50, 30])?)
    };
    "matmul of f16", 60_000., |d| {
        let (a, b) = (matrix::<f32>(d, [40, 50]), matrix::<f32>(d, [50, 30]));
        a.to::<vsla::f16>()?.matmul(&b.to::<vsla::f16>()?)
    };
    "matmul_ambient", 60_000., |d| matrix::<i32>(d, [40, 60]).matmul_ambient(&matrix(d, [50, 30]));
    "matmul_bsr", 1536. * 40., |d| blocks(d)?.matmul(&matrix(d, [64, 40]));
    "matmul by blocks", 1536. * 40., |d| matrix::<f32>(d, [40, 64]).matmul(&blocks(d)?);
    "sampled", 1536. * 30., |d| {
        let (a, b) = (matrix::<f32>(d, [64, 30]), matrix(d, [30, 64]));
        a.product(&b).sampled(&topology()?)
    };
    "attention", 50. * 40. * (32. + 24.), |d| {
        let (k, v) = (matrix(d, [50, 32]), matrix(d, [50, 24]));
        matrix::<f32>(d, [40, 32]).attention(&k, &v).run()
    };
    "attention_over", 50. * 40. * (32. + 24.), |d| {
        let (k, v) = (matrix(d, [50, 32]), matrix(d, [50, 24]));
        matrix::<f32>(d, [40, 32]).attention_over(&Cache::with_lengths(k, v, &[50])?).run()
    };
    "append", 50. * 32. + 50. * 24., |d| {
        let (k, v) = (matrix::<f32>(d, [50, 32]), matrix(d, [50, 24]));
        Cache::with_lengths(matrix(d, [60, 32]), matrix(d, [60, 24]), &[10])?.append(&k, &v)
    };
    "attention of pieces of keys", 16. * 2048. * (32. + 24.), |d| {
        let (k, v) = (matrix(d, [2000, 32]), matrix(d, [2000, 24]));
        matrix::<f32>(d, [16, 32]).attention(&k, &v).run()
    };
    "conv_matmul", PRODUCTS, |d| row_of(&x::<i32>(d))?.conv_matmul(&column_of(&y(d))?);
    "conv_matmul by transforms", 7. * transform(2048., 11.), |d| {
        row_of(&x::<f32>(d))?.conv_matmul(&column_of(&y(d))?)
    };
    "kron_matmul", 2. * PRODUCTS, |d| row_of(&x::<f32>(d))?.kron_matmul(&column_of(&y(d))?);
}

/// Whether this module counts an operation's work.
pub fn is_counted(name: &str) -> bool {
    COUNTED.iter().any(|counted| counted.name == name)
}

fn ones<T: Scalar + From<u8>>(device: &Device, lengths: &[usize]) -> Tensor<T> {
    let layout = Layout::from_lengths(lengths.iter().copied()).unwrap();
    upload(device, &Ragged::full(&layout, T::from(1)).unwrap())
}

fn x<T: Scalar + From<u8>>(device: &Device) -> Tensor<T> {
    ones(device, &[1000, 0, 300])
}

fn y<T: Scalar + From<u8>>(device: &Device) -> Tensor<T> {
    ones(device, &[700, 5, 900])
}

fn matrix<T: Scalar + From<u8>>(device: &Device, extents: [usize; 2]) -> Tensor<T> {
    let layout = Layout::uniform(1, Shape::new(&extents).unwrap()).unwrap();
    upload(device, &Ragged::full(&layout, T::from(1)).unwrap())
}

fn spectrum(device: &Device) -> Result<Tensor<Complex32>> {
    device.upload(&Ragged::full(
        &Layout::from_lengths([2000, 1500])?,
        Complex32::ONE,
    )?)
}

fn planes(device: &Device) -> Result<Tensor<Complex32>> {
    let layout = Layout::uniform(1, Shape::new(&[40, 50])?)?;
    device.upload(&Ragged::full(&layout, Complex32::ONE)?)
}

/// Six blocks of 256 values in a matrix of 64 by 64.
fn topology() -> Result<Topology> {
    let places = [(0, 0), (0, 3), (1, 1), (2, 0), (2, 2), (3, 3)];
    Topology::new([64, 64], [16, 16], &places)
}

fn blocks(device: &Device) -> Result<BsrTensor<f32>> {
    device.upload_bsr(&Bsr::new(&topology()?, vec![1.; 1536])?)
}

fn row_of<T: vsla::scalar::Real>(x: &Tensor<T>) -> Result<ShapeMatrix<T>> {
    ShapeMatrix::new(x, &Layout::uniform(1, Shape::new(&[1, x.len()])?)?)
}

fn column_of<T: vsla::scalar::Real>(x: &Tensor<T>) -> Result<ShapeMatrix<T>> {
    ShapeMatrix::new(x, &Layout::uniform(1, Shape::new(&[x.len(), 1])?)?)
}

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Vec::new();
    for counted in COUNTED {
        let name = format!("is_counted::{}", counted.name.replace(' ', "_"));
        trials.extend(bench.on_each_device(&name, |device| is_limited(device, counted)));
    }
    let tests: &[DeviceTest] = &[
        (
            "excessive_work_is_refused_at_once",
            limits::excessive_work_is_refused_at_once,
        ),
        (
            "excessive_plans_are_refused_at_once",
            limits::excessive_plans_are_refused_at_once,
        ),
        ("no_work_counts_zero", limits::no_work_counts_zero),
        ("limits_are_of_handles", limits::limits_are_of_handles),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

/// The name of a listed operation in errors: its first word, unless that names a variant.
fn called(name: &'static str) -> &'static str {
    match name.split(' ').next() {
        Some("mode" | "stride") => "conv",
        Some("causal") => "ConvPlan::causal",
        Some("matmul_bsr") => "matmul",
        Some("attention_over") => "attention",
        Some(word) => word,
        None => name,
    }
}

/// Operations whose operand is the result of an operation with as much work or more.
const PREPARED: [(&str, &str); 2] = [("causal", "conv_plan"), ("regions", "label")];

/// Each part of the operation fails below its work and runs with exactly that limit.
fn is_limited(device: &Device, counted: &Counted) {
    let mut allowed = 16;
    let mut refusals = 0;
    let mut refused = "";
    loop {
        match (counted.run)(&device.with_work_limit(allowed)) {
            Ok(()) => break,
            Err(Error::WorkLimit {
                op,
                needed,
                allowed: limit,
                ..
            }) => {
                refused = op;
                assert_eq!(limit, allowed);
                assert!(needed > allowed, "{needed} above {allowed}");
                refusals += 1;
                // With a limit of one less, it is still refused.
                let less = (counted.run)(&device.with_work_limit(needed - 1));
                assert_eq!(less.unwrap_err().kind(), "work_limit");
                allowed = needed;
            }
            Err(other) => panic!("{other}"),
        }
        assert!(refusals < 20, "{allowed}");
    }
    assert!(
        refused == called(counted.name) || PREPARED.contains(&(counted.name, refused)),
        "refused in the name of {refused}"
    );
    let (needed, work) = (allowed as f64, counted.work);
    assert!(
        refusals > 0 && needed <= 4.0 * work && work <= 4.0 * needed,
        "counted work {needed}, expected {work}"
    );
}
