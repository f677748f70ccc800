//! Work limits: the work of every operation, counted by hand, and refusal before running if it exceeds the limit.

mod limits;

use libtest_mimic::Trial;
use vsla::attention::Cache;
use vsla::batch::Permutation;
use vsla::image::{Components, Neighbours};
use vsla::{
    Bsr, BsrTensor, Complex32, Device, Error, Indices, Layout, Pairing, Ragged, Result, Shape,
    ShapeMatrix, Tensor, Topology,
    batch::Remainder,
    conv::{ConvMethod, ConvMode},
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
        /// Every operation that does work.
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

/// For the operands of [`x`] and [`y`]: the numbers of their values, of the ambient result's values, of overlapping
/// values, and of products over all pairs.
const X: f64 = 1300.;
const AMBIENT: f64 = 1905.;
const OVERLAP: f64 = 1000.;
const PRODUCTS: f64 = 970_000.;
/// About the work of the same pairs by transforms of 2048 and 1280 values.
const TRANSFORMS: f64 = 3. * (transform(2048., 11.) + transform(1280., 10.));

counted! {
    "full", X, |d| d.full(x::<f32>(d).layout(), 1f32);
    "arange", X, |d| d.arange(x::<f32>(d).layout(), 0, 1);
    "linspace", X, |d| d.linspace(x::<f32>(d).layout(), 0f32, 1.);
    "eye", 1024., |d| d.eye::<f32>(&Layout::uniform(1, Shape::new(&[32, 32])?)?);
    "uniform", X, |d| d.uniform(x::<f32>(d).layout(), 0f32, 1., 1);
    "normal", X, |d| d.normal(x::<f32>(d).layout(), 0f32, 1., 1);
    "dropout", X, |d| x::<f32>(d).dropout(0.5, 1);
    "add", AMBIENT, |d| x::<f32>(d).add(&y(d));
    "sub", AMBIENT, |d| x::<i32>(d).sub(&y(d));
    "hadamard", AMBIENT, |d| x::<u32>(d).hadamard(&y(d));
    "div", AMBIENT, |d| x::<f32>(d).div(&y(d));
    "remainder", AMBIENT, |d| x::<f32>(d).remainder(&y(d));
    "pow", AMBIENT, |d| x::<f32>(d).pow(&y(d));
    "atan2", AMBIENT, |d| x::<f32>(d).atan2(&y(d));
    "maximum", AMBIENT, |d| x::<f32>(d).maximum(&y(d));
    "minimum", AMBIENT, |d| x::<f32>(d).minimum(&y(d));
    "equal", AMBIENT, |d| x::<f32>(d).equal(&y(d));
    "not_equal", AMBIENT, |d| x::<f32>(d).not_equal(&y(d));
    "less", AMBIENT, |d| x::<f32>(d).less(&y(d));
    "less_equal", AMBIENT, |d| x::<f32>(d).less_equal(&y(d));
    "greater", AMBIENT, |d| x::<f32>(d).greater(&y(d));
    "greater_equal", AMBIENT, |d| x::<f32>(d).greater_equal(&y(d));
    "mul_add", AMBIENT, |d| x::<f32>(d).mul_add(&y(d), &y(d));
    "if_else", AMBIENT, |d| x::<u32>(d).if_else(&y::<f32>(d), &y(d));
    "complex", AMBIENT, |d| x::<f32>(d).complex(&y(d));
    "polar", AMBIENT, |d| x::<f32>(d).polar(&y(d));
    "conj", 3500., |d| spectrum(d)?.conj();
    "real", 3500., |d| spectrum(d)?.real();
    "imag", 3500., |d| spectrum(d)?.imag();
    "abs_squared", 3500., |d| spectrum(d)?.abs_squared();
    "arg", 3500., |d| spectrum(d)?.arg();
    "scale_complex", 3500., |d| spectrum(d)?.scale_complex(Complex32::i());
    "hadamard of spectra", 3500., |d| spectrum(d)?.hadamard(&spectrum(d)?);
    "add of one layout", X, |d| x::<f32>(d).add(&x(d));
    "scale", X, |d| x::<f32>(d).scale(2.);
    "scale_by", X, |d| x::<f32>(d).scale_by(&ones(d, &[1]));
    "neg", X, |d| x::<i32>(d).neg();
    "copy", X, |d| x::<f32>(d).copy();
    "to", X, |d| x::<f32>(d).to::<vsla::f16>();
    "to f32", X, |d| x::<f32>(d).to::<vsla::f16>()?.to::<f32>();
    "expm1", X, |d| x::<f32>(d).expm1();
    "log1p", X, |d| x::<f32>(d).log1p();
    "sqrt", X, |d| x::<f32>(d).sqrt();
    "sin", X, |d| x::<f32>(d).sin();
    "tanh", X, |d| x::<f32>(d).tanh();
    "silu", X, |d| x::<f32>(d).silu();
    "erf", X, |d| x::<f32>(d).erf();
    "gelu", X, |d| x::<f32>(d).gelu();
    "gelu_tanh", X, |d| x::<f32>(d).gelu_tanh();
    "relu", X, |d| x::<f32>(d).relu();
    "floor", X, |d| x::<f32>(d).floor();
    "ceil", X, |d| x::<f32>(d).ceil();
    "round", X, |d| x::<f32>(d).round();
    "exp", X, |d| x::<f32>(d).exp();
    "exp2", X, |d| x::<f32>(d).exp2();
    "log", X, |d| x::<f32>(d).log();
    "log2", X, |d| x::<f32>(d).log2();
    "rsqrt", X, |d| x::<f32>(d).rsqrt();
    "reciprocal", X, |d| x::<f32>(d).reciprocal();
    "cos", X, |d| x::<f32>(d).cos();
    "sigmoid", X, |d| x::<f32>(d).sigmoid();
    "softplus", X, |d| x::<f32>(d).softplus();
    "add_scalar", X, |d| x::<f32>(d).add_scalar(2.);
    "sub_from", X, |d| x::<f32>(d).sub_from(2.);
    "div_scalar", X, |d| x::<f32>(d).div_scalar(2.);
    "div_from", X, |d| x::<f32>(d).div_from(2.);
    "rem", X, |d| x::<f32>(d).rem(2.);
    "leaky_relu", X, |d| x::<f32>(d).leaky_relu(0.5);
    "powf", X, |d| x::<f32>(d).powf(1.5);
    "powi", X, |d| x::<f32>(d).powi(2);
    "clamp", X, |d| x::<f32>(d).clamp(0., 1.);
    "abs", X, |d| x::<f32>(d).abs();
    "sign", X, |d| x::<f32>(d).sign();
    "square", X, |d| x::<f32>(d).square();
    "bit_and", X, |d| x::<u32>(d).bit_and(1);
    "bit_or", X, |d| x::<u32>(d).bit_or(1);
    "bit_xor", X, |d| x::<u32>(d).bit_xor(1);
    "bit_not", X, |d| x::<u32>(d).bit_not();
    "shift_left", X, |d| x::<u32>(d).shift_left(1);
    "shift_right", X, |d| x::<u32>(d).shift_right(1);
    "to i32", X, |d| x::<u32>(d).to::<i32>();
    "to u32", X, |d| x::<i32>(d).to::<u32>();
    "sum", X, |d| x::<f32>(d).sum();
    "norm1", X, |d| x::<f32>(d).norm1();
    "norm2", X, |d| x::<f32>(d).norm2();
    "mean", X, |d| x::<f32>(d).mean();
    "var", X, |d| x::<f32>(d).var();
    "std", X, |d| x::<f32>(d).std();
    "log_sum_exp", X, |d| x::<f32>(d).log_sum_exp();
    "sum_axis", X, |d| x::<f32>(d).sum_axis(0);
    "sum_batch", X, |d| x::<f32>(d).sum_batch();
    "sum_groups", X, |d| {
        let x = x::<f32>(d);
        x.sum_groups(&vec![0; x.len()], 1)
    };
    "prod", X, |d| x::<f32>(d).prod();
    "prod_axis", X, |d| x::<i32>(d).prod_axis(0);
    "norm1_axis", X, |d| x::<f32>(d).norm1_axis(0);
    "norm2_axis", X, |d| x::<f32>(d).norm2_axis(0);
    "norm_max", X, |d| x::<f32>(d).norm_max();
    "norm_max_axis", X, |d| x::<f32>(d).norm_max_axis(0);
    "argmax_axis", X, |d| x::<f32>(d).argmax_axis(0);
    "argmin_axis", X, |d| x::<f32>(d).argmin_axis(0);
    "any", X, |d| x::<u32>(d).any();
    "any_axis", X, |d| x::<u32>(d).any_axis(0);
    "all", X, |d| x::<u32>(d).all();
    "all_axis", X, |d| x::<u32>(d).all_axis(0);
    "mean_axis", X, |d| x::<f32>(d).mean_axis(0);
    "var_axis", X, |d| x::<f32>(d).var_axis(0);
    "std_axis", X, |d| x::<f32>(d).std_axis(0);
    "log_sum_exp_axis", X, |d| x::<f32>(d).log_sum_exp_axis(0);
    "max_pool", X, |d| x::<f32>(d).max_pool(&[2]);
    "mean_pool", X, |d| x::<f32>(d).mean_pool(&[2]);
    "max_pool of overlapping windows", 9. * X, |d| x::<f32>(d).pooling(&[9]).stride(&[1]).max();
    "max_pool of large windows", 20. * X, |d| x::<f32>(d).pooling(&[512]).stride(&[1]).max();
    "max_axis", X, |d| x::<f32>(d).max_axis(0);
    "min_axis", X, |d| x::<f32>(d).min_axis(0);
    "cumsum", X, |d| x::<f32>(d).cumsum(0);
    "cumprod", X, |d| x::<f32>(d).cumprod(0);
    "cummax", X, |d| x::<f32>(d).cummax(0);
    "cummin", X, |d| x::<f32>(d).cummin(0);
    "diff", X - 2., |d| x::<f32>(d).diff(0);
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
    "softmax", X, |d| x::<f32>(d).softmax(0);
    "log_softmax", X, |d| x::<f32>(d).log_softmax(0);
    "layer_norm", X, |d| x::<f32>(d).layer_norm(0, 1e-5);
    "rms_norm", X, |d| x::<f32>(d).rms_norm(0, 1e-5);
    "l2_normalize", X, |d| x::<f32>(d).l2_normalize(0, 1e-12);
    "group_norm", X, |d| x::<f32>(d).group_norm(1, 1e-5);
    "standardize", X, |d| x::<f32>(d).standardize(0.0);
    "max", X, |d| x::<f32>(d).max();
    "argmax", X, |d| x::<f32>(d).argmax();
    "min", X, |d| x::<f32>(d).min();
    "argmin", X, |d| x::<f32>(d).argmin();
    "dot", OVERLAP, |d| x::<f32>(d).dot(&y(d));
    "equivalent", AMBIENT, |d| x::<f32>(d).equivalent_blocking(&y(d));
    "minimal_shape", X, |d| x::<f32>(d).minimal_shape_blocking();
    "shrink", X, |d| x::<f32>(d).shrink_blocking();
    "degree", X, |d| x::<f32>(d).degree_blocking();
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
    "concat", X + 1605., |d| x::<f32>(d).concat(&y(d), 0);
    "concat_all", X + 1605., |d| x::<f32>(d).concat_all(&[&y(d)], 0);
    "block_diag", X + 1605., |d| x::<f32>(d).block_diag(&y(d));
    "strided_slice", 433., |d| x::<f32>(d).strided_slice(&[(None, None, -3)]);
    "one_hot", 6500., |d| x::<u32>(d).one_hot::<f32>(5);
    "embedding", 6500., |d| matrix::<f32>(d, [50, 5]).embedding(&x::<u32>(d));
    "cross_entropy", X, |d| x::<f32>(d).cross_entropy(&ones(d, &[1, 1, 1]));
    "slice", 800., |d| x::<f32>(d).slice(&[0], &[500]);
    "pad", X + 150., |d| x::<f32>(d).pad(&[20], &[30]);
    "flip", X, |d| x::<f32>(d).flip(&[0]);
    "resize", 2000., |d| x::<f32>(d).resize(&Layout::from_lengths([900, 100, 1000])?);
    "broadcast", 2000., |d| ones::<f32>(d, &[1]).broadcast(&Layout::from_lengths([2000])?);
    "transpose", 2000., |d| matrix::<f32>(d, [40, 50]).transpose(&[1, 0]);
    "transpose in tiles", 20_000., |d| matrix::<f32>(d, [100, 200]).transpose(&[1, 0]);
    "select", X, |d| x::<f32>(d).select(&[2, 0]);
    "reorder", X, |d| x::<f32>(d).reorder(&Permutation::new([2, 0, 1])?);
    "sort_by_length", X, |d| x::<f32>(d).sort_by_length();
    "join", X + 1605., |d| x::<f32>(d).join(&[&y(d)]);
    "rot90", 2000., |d| matrix::<f32>(d, [40, 50]).rot90(1);
    "anti_transpose", 2000., |d| matrix::<f32>(d, [40, 50]).anti_transpose();
    "upscale", 12_000., |d| matrix::<f32>(d, [40, 50]).upscale(&[2, 3]);
    "downscale", 340., |d| matrix::<f32>(d, [40, 50]).downscale(&[2, 3]);
    "tile", 12_000., |d| matrix::<f32>(d, [40, 50]).tile(&[2, 3]);
    "translate", 2000., |d| matrix::<f32>(d, [40, 50]).translate(&[[2, 3]], 0.);
    "dilate", 2000., |d| matrix::<u32>(d, [40, 50]).dilate(Neighbours::Eight);
    "erode", 2000., |d| matrix::<i32>(d, [40, 50]).erode(Neighbours::Four);
    "lookup", X, |d| x::<u32>(d).lookup(&ones::<f32>(d, &[7]));
    "lookup_strict", X, |d| x::<u32>(d).lookup_strict_blocking(&ones::<f32>(d, &[7]));
    "bincount_strict", X + 30., |d| x::<u32>(d).bincount_strict_blocking(10);
    "bincount", X + 30., |d| x::<u32>(d).bincount(10);
    "most_common", 1000. * 10. + 300. * 9., |d| x::<i32>(d).most_common();
    "least_common", 1000. * 10. + 300. * 9., |d| x::<u32>(d).least_common();
    "palette", 1000. * 10. + 300. * 9., |d| x::<i32>(d).palette_blocking();
    "bounding_box", 2000., |d| matrix::<i32>(d, [40, 50]).bounding_box(0);
    "crop", 1200., |d| matrix::<i32>(d, [40, 50]).crop_blocking(&d.upload(&Ragged::from_rows([[5, 6, 35, 46u32]])?)?);
    "crop_strict", 1200., |d| {
        matrix::<i32>(d, [40, 50]).crop_strict_blocking(&d.upload(&Ragged::from_rows([[5, 6, 35, 46u32]])?)?)
    };
    "trim", 2000., |d| matrix::<i32>(d, [40, 50]).trim_blocking(0);
    "equal_elements", X, |d| x::<f32>(d).equal_elements(&x(d));
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
    "compact", 2000., |d| matrix::<f32>(d, [40, 50]).compact_blocking(&ones(d, &[40]), 0);
    "gather", 1500., |d| x::<f32>(d).gather(&indices());
    "gather_paired", 3000., |d| {
        matrix::<f32>(d, [10, 2]).gather_paired(&indices(), Pairing::OneToAll)
    };
    "scatter_add", 4500., |d| {
        ones::<f32>(d, &[500; 3]).scatter_add(&indices(), &Layout::from_lengths([1000; 3])?)
    };
    "scatter_set", 3000., |d| {
        let places = Indices::new(Ragged::from_rows([(0..500).rev().collect::<Vec<_>>()])?)?;
        ones::<f32>(d, &[500]).scatter_set(&places, &Layout::from_lengths([3000])?)
    };
    "stack", 3000., |d| x::<f32>(d).stack(1 << 20);
    "stack_groups", 1300., |d| x::<f32>(d).stack_groups(&[1, 2], 1 << 20);
    "unstack", X, |d| {
        let x = x::<f32>(d);
        x.stack(1 << 20)?.unstack(x.layout())
    };
    "window", 21. * 10. * 100., |d| ones::<f32>(d, &[100; 30]).window(10, 1, 1 << 20);
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
    "BsrTensor::matmul", 1536. * 40., |d| blocks(d)?.matmul(&matrix(d, [64, 40]));
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
    "rotary", 50. * 32., |d| matrix::<f32>(d, [50, 32]).rotary().run();
    "rotary from positions on the device", 50. * 32., |d| {
        let starts = d.upload(&Ragged::from_rows([[700u32]])?)?;
        matrix::<f32>(d, [50, 32]).rotary().starts(&starts).run()
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
    "matrix_add", AMBIENT, |d| row_of(&x::<f32>(d))?.add(&row_of(&y(d))?);
    "matrix_transpose", X, |d| square_of(&ones::<f32>(d, &[400, 100, 300, 500]))?.transpose();
}

/// Operations that only inspect operands or report the choice of a method.
const FREE: [&str; 11] = [
    "elements",
    "reshape",
    "packed",
    "unpacked",
    "split",
    "to_device",
    "pair",
    "pooling",
    "product",
    "view_as_real",
    "view_as_complex",
];

/// Whether this module knows the work of an operation.
pub fn is_counted(name: &str) -> bool {
    FREE.contains(&name) || COUNTED.iter().any(|counted| counted.name == name)
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

/// Lists of 500 indices below 10.
fn indices() -> Indices {
    let layout = Layout::from_lengths([500; 3]).unwrap();
    Indices::new(Ragged::from_fn(&layout, |_, at| at as u32 % 10).unwrap()).unwrap()
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

fn square_of<T: vsla::scalar::Real>(x: &Tensor<T>) -> Result<ShapeMatrix<T>> {
    ShapeMatrix::new(x, &Layout::uniform(1, Shape::new(&[2, 2])?)?)
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
        Some("BsrTensor::matmul") => "matmul",
        Some("matrix_add") => "add",
        Some("matrix_transpose") => "transpose",
        Some("attention_over") => "attention",
        Some(word) => word,
        None => name,
    }
}

/// Operations whose operand is the result of an operation with as much work or more.
const PREPARED: [(&str, &str); 3] = [
    ("unstack", "stack"),
    ("causal", "conv_plan"),
    ("regions", "label"),
];

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
