//! Every kind of kernel over the corpus, because random programs rarely have sizes at the limits of kernels.

use libtest_mimic::Trial;
use vsla::{
    Complex32, Device, Indices, Layout, Pairing, Ragged, ShapeMatrix, conv::ConvMethod, f16,
    image::Neighbours,
};

use super::{Draw, KernelsRan};
use crate::support::bench::{Bench, assert_within, instrumented_gpu, is_hurried};
use crate::support::corpus::{self, Case, rng};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let trial = |(name, part, stems, rest): (&str, Part, &'static [&'static str], Program)| {
        bench.on_gpu(
            &format!("corpus::{name}"),
            instrumented_gpu,
            move |device| {
                over_the_corpus(device, part, stems, rest);
            },
        )
    };
    let trials = [
        (
            "values",
            values as Part,
            super::values::KERNELS,
            rest_of_values as Program,
        ),
        ("series", series, SERIES, blocks as Program),
        ("transforms", transforms, TRANSFORMS, passes),
        (
            "products",
            products,
            super::products::KERNELS,
            super::products::sparse_ones,
        ),
    ];
    trials.into_iter().map(trial).collect()
}

type Part = fn(&mut Draw<'_>, &Case);
type Program = fn(&mut Draw<'_>);

const SERIES: &[&str] = &[
    "conv_boxes",
    "conv_direct",
    "conv_fused",
    "conv_cached",
    "conv_place",
    "correlate_max",
    "correlate_max_finish",
    "eval",
    "normalize",
];
const TRANSFORMS: &[&str] = &[
    "fft",
    "fft_bluestein",
    "fft_filter",
    "fft_pass",
    "fft_real",
    "fft_smooth",
    "fft_tiny",
];

/// Without cases of very many tiny elements, which take long and are many workgroups of the same kind.
fn cases() -> impl Iterator<Item = Case> {
    let all = [corpus::small(), corpus::boxes()].concat();
    all.into_iter().filter(|case| case.layouts().0.len() <= 400)
}

/// All of these kernels must have run at the end. Kernels that the corpus does not reach are drawn at random.
fn over_the_corpus(device: &Device, part: Part, stems: &[&str], rest: Program) {
    // The driver of a software device compiles a kernel for up to a second. It gets every tenth case, and of the others
    // as many as all kernels need.
    let all: Vec<Case> = cases().collect();
    let enough = all.len().div_ceil(if is_hurried(device) { 10 } else { 1 });
    let order = (0..10).flat_map(|first| all.iter().skip(first).step_by(10));
    let mut of_rest = Draw::new(device, rng("bounds of the rest"));
    rest(&mut of_rest);
    assert_within(device);
    for (number, case) in order.enumerate() {
        if number >= enough && KernelsRan::on(device).missing(stems).is_empty() {
            break;
        }
        let mut draw = Draw::new(device, rng(&format!("bounds of {}", case.name)));
        part(&mut draw, case);
        let outside = device.accesses_outside().unwrap();
        assert!(
            outside.is_empty(),
            "{}: outside of buffers: {outside:#?}",
            case.name
        );
    }
    for turn in 1..20 {
        if KernelsRan::on(device).missing(stems).is_empty() {
            break;
        }
        of_rest.turn = turn;
        rest(&mut of_rest);
        assert_within(device);
    }
    KernelsRan::on(device).assert_stems(stems);
}

/// A transform in passes.
fn passes(d: &mut Draw<'_>) {
    let z = d.tensor::<Complex32>(&Layout::from_lengths([16_384, 1]).unwrap());
    d.ran("fft", z.fft());
}

/// Filters transformed once, and products by blocks.
fn blocks(d: &mut Draw<'_>) {
    let x = d.tensor::<f32>(&Layout::from_lengths([3000, 100, 7]).unwrap());
    let y = d.tensor::<f32>(&Layout::from_lengths([90, 100, 3]).unwrap());
    let pair = x.pair(&y, Pairing::Elementwise).unwrap().convolution();
    d.ran("conv", pair.method(ConvMethod::OverlapSave).conv());
    let plan = y.pair(&x, Pairing::Elementwise).unwrap().conv_plan();
    if let Some(plan) = d.ran("conv_plan", plan) {
        d.ran("plan.conv", plan.conv(&x));
    }
}

/// Kernels that the values of a case do not reach.
fn rest_of_values(d: &mut Draw<'_>) {
    equal_matrices(d);
    large_windows(d);
    super::values::labelled::<u32>(d, &[[9, 9], [70, 90], [3, 0]]);
    super::values::labelled::<i32>(d, &[[9, 9], [20, 30], [3, 0]]);
    super::values::bytes(d);
    super::recorded::programs(d);
}

/// Equal matrices, larger than those of the corpus.
fn equal_matrices(d: &mut Draw<'_>) {
    let layout = Layout::uniform(2, vsla::Shape::new(&[70, 64]).unwrap()).unwrap();
    let (x, z) = (d.tensor::<f32>(&layout), d.tensor::<Complex32>(&layout));
    d.ran("transpose", x.transpose(&[1, 0]));
    d.ran("transpose", z.transpose(&[1, 0]));
}

/// Windows that are made in passes, which elements of the corpus are too short for.
fn large_windows(d: &mut Draw<'_>) {
    let x = d.tensor::<f32>(&Layout::from_lengths([300, 7, 500]).unwrap());
    d.ran("max_pool", x.pooling(&[200]).stride(&[1]).max());
}

/// One operation for each kernel that moves values, computes with them one by one, or reduces them.
fn values(d: &mut Draw<'_>, case: &Case) {
    let (left, right) = case.layouts();
    let (x, y, n) = (d.tensor::<f32>(&left), d.tensor::<f32>(&right), left.len());
    let (half, complex) = (d.tensor::<f16>(&left), d.tensor::<Complex32>(&left));
    let last = left.rank() - 1;
    let transposed: Vec<usize> = (0..left.rank()).rev().collect();
    d.ran("copy of halves", half.copy());
    d.ran("resize of halves", half.resize(&right));
    d.ran("resize of complex ones", complex.resize(&right));
    d.ran("abs of complex ones", complex.abs());
    if left.rank() == 1 {
        let window = Layout::from_lengths([3]).unwrap();
        let window = d.tensor::<f32>(&window);
        if let Some(spectra) = d.ran("stft", x.stft(&window, 2)) {
            d.ran("istft", spectra.istft(&window, 2, &left));
        }
    }
    d.ran("max_pool", x.max_pool(&[2, 2][..left.rank().min(2)]));
    d.ran("flip", x.flip(&[last]));
    d.ran("transpose", x.transpose(&transposed));
    d.ran("transpose of complex ones", complex.transpose(&transposed));
    d.ran("concat", x.concat(&y, last));
    d.ran("block_diag of halves", half.block_diag(&half));
    d.ran("stack", x.stack(1 << 24));
    let backwards: Vec<u32> = (0..n as u32).rev().collect();
    d.ran("select", half.select(&backwards));
    d.ran("join", half.join(&[&half]));
    d.ran("full", d.device.full(&right, f16::ONE));
    d.ran("arange", d.device.arange(&right, 0, 1));
    d.ran(
        "linspace of halves",
        d.device.linspace(&right, f16::ZERO, f16::ONE),
    );
    d.ran("uniform", d.device.uniform(&right, 0.0f32, 1.0, 1));
    d.ran(
        "normal of halves",
        d.device.normal(&left, f16::ZERO, f16::ONE, 1),
    );
    d.ran("dropout", x.dropout(0.5, 1));
    let labels = d.tensor::<u32>(&left);
    d.ran("one_hot", labels.one_hot::<f16>(3));
    let table = Layout::uniform(1, vsla::Shape::new(&[7, 3]).unwrap()).unwrap();
    let ran = super::values::embedded::<f32>(d, &table, &labels);
    d.ran("gradients of embeddings", ran);
    let targets = x.sum_axis(last).and_then(|sums| sums.to::<u32>());
    d.ran(
        "cross_entropy",
        targets.and_then(|targets| x.cross_entropy(&targets)),
    );
    let lists = Ragged::from_rows((0..n).map(|i| vec![0u32, 2, 1, 7][..i % 5].to_vec()));
    let lists = Indices::new(lists.unwrap()).unwrap();
    d.ran("gather", x.gather(&lists));
    // The first row of each target receives all sources.
    let rows = left
        .shapes()
        .map(|shape| vec![0u32; shape.extents()[0] as usize]);
    let places = Indices::new(Ragged::from_rows(rows).unwrap()).unwrap();
    d.ran("scatter_add", x.scatter_add(&places, &left));
    d.ran("exp", half.exp());
    let signed = d.tensor::<i32>(&left);
    if left.rank() == 2 {
        d.ran("rot90", x.rot90(1));
        d.ran("upscale", half.upscale(&[[2, 3]]));
        d.ran("translate", complex.translate(&[[1, -1]], Complex32::ONE));
        d.ran("dilate", signed.dilate(Neighbours::Eight));
        d.ran("bounding_box", signed.bounding_box(1));
        let small = Layout::uniform(1, vsla::Shape::new(&[2, 2]).unwrap()).unwrap();
        let small = d.tensor::<i32>(&small);
        d.ran("match_template", signed.match_template(&small));
        let boxes = d.tensor::<u32>(&Layout::from_lengths(vec![4; n]).unwrap());
        let values = d.tensor::<i32>(&Layout::from_lengths(vec![1; n]).unwrap());
        d.ran("draw_boxes", signed.draw_boxes(&boxes, &values));
    }
    let lines = Layout::from_lengths(vec![5; n]).unwrap();
    let tables = d.tensor::<f16>(&lines);
    d.ran("lookup", labels.lookup(&tables));
    d.ran("most_common", signed.most_common());
    d.ran("period", signed.period(last));
    let bytes = signed.to::<u8>().unwrap();
    d.ran("to", bytes.to::<i32>());
    d.ran("to", half.to::<u8>());
    d.ran("to", x.to::<u8>());
    d.ran("neg", signed.neg());
    d.ran("to", half.to::<i32>());
    d.ran("to", x.to::<f16>());
    d.ran("add", x.add(&y));
    let (alike, other) = (d.tensor::<f16>(&left), d.tensor::<f16>(&right));
    d.ran("less of halves", half.less(&alike));
    d.ran("maximum of halves", half.maximum(&other));
    let ones = d.tensor::<f32>(&Layout::from_lengths(vec![1; n]).unwrap());
    let extents = left.shapes().map(|shape| shape.extents()[last] as usize);
    let vectors = d.tensor::<f32>(&Layout::from_lengths(extents).unwrap());
    d.ran("add along", x.add(vectors.along(last)));
    d.ran("mul_add along", x.mul_add(vectors.along(last), ones.each()));
    d.ran("sum", x.sum());
    d.ran("argmax", x.argmax());
    d.ran("argmax_axis", half.argmax_axis(0));
    d.ran("prod_axis", x.prod_axis(last));
    d.ran("minimal_shape", x.minimal_shape_blocking());
    d.ran("dot", x.dot(&y));
    d.ran("equivalent", x.equivalent_blocking(&y));
    d.ran("layer_norm", x.layer_norm(last, 1e-5));
    d.ran("var", x.var());
    d.ran("log_sum_exp", x.log_sum_exp_axis(0));
    d.ran("cumsum", x.cumsum(last));
    d.ran("cummin", x.cummin(0));
    d.ran("diff", half.diff(last));
    d.ran("sort", x.sort(last));
    d.ran("quantile", x.quantile(0.3));
    d.ran("median", x.median_axis(0));
    d.ran("argsort", x.argsort(0));
    d.ran("histogram", half.histogram(9, f16::NEG_ONE..=f16::ONE));
    d.ran("histogram_edges", x.histogram_edges(&[-1.0, 0.0, 3.0]));
}

/// The maximum product of a pair's lengths for convolutions, because a software device is slow.
const WORK: usize = 200_000;

fn series(d: &mut Draw<'_>, case: &Case) {
    let (left, right) = case.layouts();
    if left.rank() > 3 || case.work() > WORK {
        return;
    }
    let (x, y) = (d.tensor::<f32>(&left), d.tensor::<f32>(&right));
    let pair = x.pair(&y, Pairing::Elementwise).unwrap().convolution();
    // Not by transforms of whole pairs, because a software driver takes a minute to compile each larger variant of
    // `conv_fused`.
    let direct = pair.method(ConvMethod::Direct);
    d.ran("conv", direct.conv());
    d.ran("conv", pair.method(ConvMethod::OverlapSave).conv());
    if left.rank() > 1 {
        return;
    }
    d.ran("correlate_max", direct.correlate_max());
    d.ran("sbd", direct.sbd());
    d.ran("eval", x.eval(&y));
    let plan = x.pair(&y, Pairing::Elementwise).unwrap().conv_plan();
    if let Some(plan) = d.ran("conv_plan", plan) {
        d.ran("plan.conv", plan.conv(&y));
    }
}

fn transforms(d: &mut Draw<'_>, case: &Case) {
    let left = case.layouts().0;
    // A software driver takes seconds to compile each kernel of a long transform. The random programs draw such
    // transforms.
    if left.max_length() > 100 {
        return;
    }
    let z = d.tensor::<Complex32>(&left);
    match left.rank() {
        1 => super::series::transforms(d, &left),
        2 => {
            d.ran("fft2", z.fft2());
        }
        _ => {}
    }
}

fn products(d: &mut Draw<'_>, case: &Case) {
    let (left, right) = case.layouts();
    if case.work() > WORK / 4 {
        return;
    }
    let (x, y) = (d.tensor::<f32>(&left), d.tensor::<f32>(&right));
    d.ran("kron", x.kron(&y));
    if left.rank() == 2 {
        d.ran("matmul_ambient", x.matmul_ambient(&y));
        let transposed = x.transpose(&[1, 0]).unwrap();
        d.ran("matmul", x.matmul(&transposed));
        let half = d.tensor::<f16>(&left);
        let square = half.pair(&half, Pairing::Elementwise).unwrap().product();
        d.ran("product of halves", square.transpose_right().run());
    }
    let column = Layout::uniform(1, vsla::Shape::new(&[left.len(), 1]).unwrap()).unwrap();
    let row = Layout::uniform(1, vsla::Shape::new(&[1, left.len()]).unwrap()).unwrap();
    if let (Ok(a), Ok(b)) = (ShapeMatrix::new(&x, &row), ShapeMatrix::new(&y, &column)) {
        d.ran("conv_matmul", a.conv_matmul(&b));
        d.ran("kron_matmul", a.kron_matmul(&b));
    }
}
