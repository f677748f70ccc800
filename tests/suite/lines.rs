//! Functions along an axis or over whole elements: against sums in f64, line by line.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Float};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{TINY, U, assert_identical, assert_within, gamma};
use crate::support::corpus::{self, rng};
use crate::support::operation::{Binary, Expected, Operation, download, one, rows, run, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Vec::new();
    macro_rules! corpus {
        ($($name:literal, $method:expr, $expected:expr;)*) => {$(
            let operation = Operation::new().with(Binary::<f32, f32> {
                name: $name,
                run: |x, _| $method(x),
                paired: None,
                expected: Some(|x, _, _| $expected(x)),
                spreads: false,
                series_only: false,
            });
            let mut cases = [corpus::small(), corpus::boxes()].concat();
            // Values whose squares overflow f32.
            cases.retain(|case| case.name != "magnitudes" || !["var", "layer_norm"].contains(&$name));
            trials.extend(operation.trials(bench, $name, cases));
        )*};
    }
    corpus! {
        "mean", Tensor::mean, |x| expected(Function::Mean, x, None);
        "var", Tensor::var, |x| expected(Function::Var, x, None);
        "log_sum_exp", Tensor::log_sum_exp, |x| expected(Function::LogSumExp, x, None);
        "softmax", |x: &Tensor<f32>| x.softmax(last(x.layout())),
            |x: &Ragged<f32>| expected(Function::Softmax, x, Some(last(x.layout())));
        "layer_norm", |x: &Tensor<f32>| x.layer_norm(0, EPSILON), |x| expected(Function::LayerNorm, x, Some(0));
    }
    let tests: &[DeviceTest] = &[
        ("every_class", every_class),
        ("far_from_zero", far_from_zero),
        ("large_and_small_values", large_and_small_values),
        ("ends", ends),
        ("signed_zeros", signed_zeros),
        ("weights_sum_to_one", weights_sum_to_one),
        ("lines_are_independent", lines_are_independent),
        ("views_begin_anywhere", views_begin_anywhere),
        ("halves", halves),
        ("halves_of_every_layout", halves_of_every_layout),
        ("halves_far_and_ends", halves_far_and_ends),
        ("groups", groups),
        ("refusals", refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

const EPSILON: f32 = 0.5;

fn last(layout: &Layout) -> usize {
    layout.rank() - 1
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Function {
    Sum,
    Mean,
    Var,
    Std,
    Max,
    Min,
    LogSumExp,
    Softmax,
    LogSoftmax,
    LayerNorm,
    RmsNorm,
    L2Normalize,
}

const ALL: [Function; 12] = [
    Function::Sum,
    Function::Mean,
    Function::Var,
    Function::Std,
    Function::Max,
    Function::Min,
    Function::LogSumExp,
    Function::Softmax,
    Function::LogSoftmax,
    Function::LayerNorm,
    Function::RmsNorm,
    Function::L2Normalize,
];

impl Function {
    fn along<T: Float>(self, x: &Tensor<T>, axis: usize) -> Result<Tensor<T>> {
        match self {
            Function::Sum => x.sum_axis(axis),
            Function::Mean => x.mean_axis(axis),
            Function::Var => x.var_axis(axis),
            Function::Std => x.std_axis(axis),
            Function::Max => x.max_axis(axis),
            Function::Min => x.min_axis(axis),
            Function::LogSumExp => x.log_sum_exp_axis(axis),
            Function::Softmax => x.softmax(axis),
            Function::LogSoftmax => x.log_softmax(axis),
            Function::LayerNorm => x.layer_norm(axis, EPSILON),
            Function::RmsNorm => x.rms_norm(axis, EPSILON),
            Function::L2Normalize => x.l2_normalize(axis, EPSILON),
        }
    }

    fn reduces(self) -> bool {
        use Function::{LogSumExp, Max, Mean, Min, Std, Sum, Var};
        matches!(self, Sum | Mean | Var | Std | Max | Min | LogSumExp)
    }

    /// The expected values of a line, and their error bounds.
    fn of(self, line: &[f64]) -> Vec<(f64, f64)> {
        let n = line.len() as f64;
        let depth = 72.0 + n.max(1.0).log2().ceil();
        let sum: f64 = line.iter().sum();
        let size: f64 = line.iter().map(|x| x.abs()).sum();
        let mean = sum / n;
        let var = line.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let largest = line.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let nan = line.iter().any(|x| x.is_nan());
        let top = match nan {
            true => f64::NAN,
            false => line.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x)),
        };
        let exponentials: f64 = line.iter().map(|x| (x - top).exp()).sum();
        let var_bound =
            gamma(72.0 + 4.0 * n.max(1.0).log2().ceil()) * var + (2.0 * U * largest).powi(2) + TINY;
        match self {
            Function::Sum => vec![(sum, gamma(depth - 6.0) * size + n * TINY)],
            Function::Mean => vec![(mean, gamma(depth - 6.0) * size / n + TINY)],
            Function::Var => vec![(var, var_bound)],
            Function::Std => {
                let bound = (var_bound / var.sqrt()).min(var_bound.sqrt());
                vec![(var.sqrt(), bound + 4.0 * U * var.sqrt() + TINY)]
            }
            Function::Max => vec![(top, 0.0)],
            Function::Min if nan => vec![(top, 0.0)],
            Function::Min => vec![(line.iter().fold(f64::INFINITY, |m, &x| m.min(x)), 0.0)],
            Function::LogSumExp if !top.is_finite() => vec![(top, 0.0)],
            Function::LogSumExp => {
                let value = top + exponentials.ln();
                vec![(value, gamma(depth) + 2.0 * U * value.abs())]
            }
            Function::Softmax | Function::LogSoftmax if !top.is_finite() => {
                vec![(f64::NAN, 0.0); line.len()]
            }
            Function::Softmax => {
                let value = |x: &f64| {
                    let y = (x - top).exp() / exponentials;
                    let apart = if x.is_finite() { top - x } else { 0.0 };
                    (y, (gamma(depth + 4.0) + 4.0 * U * (1.0 + apart)) * y + TINY)
                };
                line.iter().map(value).collect()
            }
            Function::LogSoftmax => {
                let value = |x: &f64| {
                    let y = (x - top) - exponentials.ln();
                    let size = if y.is_finite() { y.abs() } else { 0.0 };
                    (y, gamma(depth) + 2.0 * U * size)
                };
                line.iter().map(value).collect()
            }
            Function::LayerNorm => {
                let root = (var + f64::from(EPSILON)).sqrt();
                let value = |x: &f64| {
                    let y = (x - mean) / root;
                    let relative = gamma(72.0 + 4.0 * n.max(1.0).log2().ceil());
                    let bound = relative * (1.0 + y.abs()) + 2.0 * U * mean.abs() / root;
                    (y, bound)
                };
                line.iter().map(value).collect()
            }
            Function::L2Normalize => {
                let root = line.iter().map(|x| x * x).sum::<f64>().sqrt();
                let root = match root < f64::from(EPSILON) {
                    true => f64::from(EPSILON),
                    false => root,
                };
                let value = |x: &f64| (x / root, gamma(depth) * (x / root).abs() + TINY);
                line.iter().map(value).collect()
            }
            Function::RmsNorm => {
                let squares: f64 = line.iter().map(|x| x * x).sum();
                let root = (squares / n + f64::from(EPSILON)).sqrt();
                let value = |x: &f64| (x / root, gamma(depth) * (x / root).abs() + TINY);
                line.iter().map(value).collect()
            }
        }
    }
}

/// The positions of each line's values in an element of this shape, in the order of the results.
pub fn places(shape: &[u32], axis: Option<usize>) -> Vec<Vec<usize>> {
    let size = |extents: &[u32]| extents.iter().map(|&e| e as usize).product::<usize>();
    let Some(axis) = axis else {
        return vec![(0..size(shape)).collect()];
    };
    let (count, step) = (shape[axis] as usize, size(&shape[axis + 1..]));
    let line = |line: usize| {
        (0..count)
            .map(|k| (line / step * count + k) * step + line % step)
            .collect()
    };
    (0..size(&shape[..axis]) * step).map(line).collect()
}

/// The values and bounds of all elements.
fn reference(function: Function, x: &Ragged<f32>, axis: Option<usize>) -> (Ragged<f64>, Vec<f64>) {
    let rank = x.layout().rank();
    let (mut values, mut bounds, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for element in 0..x.len() {
        let shape = x.layout().shape(element);
        let row = x.row(element);
        let first = values.len();
        values.resize(
            first + if function.reduces() { 0 } else { row.len() },
            (0.0, 0.0),
        );
        for line in places(shape.extents(), axis) {
            let wide: Vec<f64> = line.iter().map(|&place| row[place].into()).collect();
            let results = function.of(&wide);
            match function.reduces() {
                true => values.extend(results),
                false => line
                    .iter()
                    .zip(results)
                    .for_each(|(place, y)| values[first + place] = y),
            }
        }
        let mut extents: Vec<usize> = shape.extents().iter().map(|&e| e as usize).collect();
        if function.reduces() {
            match axis.filter(|_| rank > 1) {
                Some(axis) => drop(extents.remove(axis)),
                None => extents = vec![1],
            }
        }
        shapes.push(Shape::new(&extents).unwrap());
    }
    let rank = match function.reduces() {
        true if axis.is_none() => 1,
        true => (rank - 1).max(1),
        false => rank,
    };
    bounds.extend(values.iter().map(|(_, bound)| bound));
    let values = values.into_iter().map(|(value, _)| value).collect();
    (Ragged::from_shapes(values, rank, shapes).unwrap(), bounds)
}

fn expected(function: Function, x: &Ragged<f32>, axis: Option<usize>) -> Expected {
    let (values, bounds) = reference(function, x, axis);
    Expected::inexact(values, bounds)
}

fn check(device: &Device, what: &str, function: Function, x: &Ragged<f32>, axis: usize) {
    let (values, bounds) = reference(function, x, Some(axis));
    let got = download(&function.along(&upload(device, x), axis).unwrap());
    assert_within(format!("{function:?} {what}"), &got, &values, &bounds);
}

pub fn batch(seed: &str, shapes: &[&[usize]]) -> Ragged<f32> {
    let mut random = rng(seed);
    let shapes: Vec<Shape> = shapes.iter().map(|s| Shape::new(s).unwrap()).collect();
    let layout = Layout::from_shapes(shapes[0].rank(), shapes).unwrap();
    Ragged::from_fn(&layout, |_, _| random.f32() * 8.0 - 4.0).unwrap()
}

/// Lines of every class and at the limits of classes, contiguous and strided, with and without values.
fn every_class(device: &Device) {
    let counts = [
        0, 1, 2, 7, 8, 9, 63, 15, 16, 17, 64, 65, 255, 256, 257, 511, 512, 513, 8191, 8192, 8193,
        20_000,
    ];
    let vectors: Vec<[usize; 1]> = counts.map(|n| [n]).into();
    let beside: Vec<[usize; 2]> = counts.map(|n| [2, n]).into();
    let apart: Vec<[usize; 3]> = counts.map(|n| [1 + usize::from(n < 300), n, 3]).into();
    fn slices<const N: usize>(shapes: &[[usize; N]]) -> Vec<&[usize]> {
        shapes.iter().map(|shape| &shape[..]).collect()
    }
    let odd: [&[usize]; 5] = [&[0, 3, 2], &[3, 0, 2], &[2, 3, 0], &[1, 1, 1], &[2, 40, 50]];
    let batches = [
        ("vectors", batch("vectors", &slices(&vectors)), 0..1),
        ("beside", batch("beside", &slices(&beside)), 0..2),
        ("apart", batch("apart", &slices(&apart)), 1..2),
        ("odd", batch("odd", &odd), 0..3),
    ];
    for (what, x, axes) in &batches {
        for axis in axes.clone() {
            for function in ALL {
                check(device, &format!("{what}, axis {axis}"), function, x, axis);
            }
        }
    }
    let x = &batches[0].1;
    let whole =
        |run: fn(&Tensor<f32>) -> Result<Tensor<f32>>| download(&run(&upload(device, x)).unwrap());
    let along = |function: Function| download(&function.along(&upload(device, x), 0).unwrap());
    assert_identical("mean", &whole(Tensor::mean), &along(Function::Mean));
    assert_identical("var", &whole(Tensor::var), &along(Function::Var));
    assert_identical("std", &whole(Tensor::std), &along(Function::Std));
    assert_identical(
        "log_sum_exp",
        &whole(Tensor::log_sum_exp),
        &along(Function::LogSumExp),
    );
}

/// With a mean of a million standard deviations, the variance is still that of the values, however lines are cut.
fn far_from_zero(device: &Device) {
    let mut random = rng("far from zero");
    // The last line has more tiles than a workgroup merges in one round.
    let layout = Layout::from_lengths([50, 700, 8192, 30_000, 1_200_000]).unwrap();
    let x: Ragged<f32> = Ragged::from_fn(&layout, |_, _| {
        (1e6 + (0..12).map(|_| random.f64() - 0.5).sum::<f64>()) as f32
    })
    .unwrap();
    for function in [Function::Var, Function::Std, Function::LayerNorm] {
        check(device, "far", function, &x, 0);
    }
    let got = run(device, &x, &x, |x, _| x.standardize());
    for element in got.iter() {
        let mean = element.iter().map(|&z| f64::from(z)).sum::<f64>() / element.len() as f64;
        let var = element.iter().map(|&z| f64::from(z).powi(2)).sum::<f64>() / element.len() as f64;
        assert!(
            mean.abs() < 1e-5 && (var - 1.0).abs() < 1e-5,
            "{mean} {var}"
        );
    }
}

fn large_and_small_values(device: &Device) {
    let mut random = rng("logits");
    let layout = Layout::from_lengths([3, 40, 300, 5000, 9000]).unwrap();
    for scale in [1e-30f32, 1e-3, 30.0, 1e4, 1e30] {
        let x = Ragged::from_fn(&layout, |_, _| (random.f32() - 0.5) * scale).unwrap();
        for function in [Function::LogSumExp, Function::Softmax, Function::LogSoftmax] {
            check(device, &format!("at {scale}"), function, &x, 0);
        }
    }
}

/// Empty lines, infinities and NaN, in every class.
fn ends(device: &Device) {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for count in [3, 100, 600, 9000] {
        let with = |values: [f32; 3]| {
            let mut line = vec![1.0f32; count];
            line[0] = values[0];
            line[count / 2] = values[1];
            line[count - 1] = values[2];
            line
        };
        let lines = [
            with([nan, 0.0, 0.0]),
            with([0.0, inf, 0.0]),
            with([0.0, 0.0, -inf]),
            with([inf, 0.0, -inf]),
            with([0.0, nan, inf]),
            vec![-inf; count],
            vec![inf; count],
            vec![2.5; count],
            vec![],
        ];
        let x = Ragged::from_rows(lines).unwrap();
        for function in ALL {
            check(device, &format!("ends of {count}"), function, &x, 0);
        }
    }
    let x = rows([&[2.0f32, 2.0], &[1.0]]);
    let z = run(device, &x, &x, |x, _| x.standardize());
    assert!(z.values().iter().all(|z| z.is_nan()), "{z}");
    let zeros = download(
        &upload(device, &rows([&[0.0f32, 0.0], &[]]))
            .l2_normalize(0, 1e-12)
            .unwrap(),
    );
    assert_eq!(zeros.values(), [0.0, 0.0]);
}

/// −0 is smaller than 0.
fn signed_zeros(device: &Device) {
    for count in [2, 100, 600, 9000] {
        let with = |first: f32, last: f32| {
            let mut line = vec![first; count];
            line[count - 1] = last;
            line
        };
        let x = Ragged::from_rows([with(-0.0, 0.0), with(0.0, -0.0), vec![-0.0; count]]).unwrap();
        let bits = |result: Result<Tensor<f32>>| -> Vec<u32> {
            let values = download(&result.unwrap());
            values.values().iter().map(|zero| zero.to_bits()).collect()
        };
        let (on, minus) = (upload(device, &x), (-0.0f32).to_bits());
        assert_eq!(bits(on.max_axis(0)), [0, 0, minus], "{count}");
        assert_eq!(bits(on.min_axis(0)), [minus; 3], "{count}");
    }
}

fn weights_sum_to_one(device: &Device) {
    let x = batch("weights", &[&[7, 31], &[1, 1], &[300, 2], &[2, 9001]]);
    for axis in 0..2 {
        let weights = upload(device, &x).softmax(axis).unwrap();
        let sums = download(&weights.sum_axis(axis).unwrap());
        let ones = sums.values().iter().all(|sum| (sum - 1.0).abs() < 1e-5);
        assert!(ones, "{sums}");
        let logs = download(&upload(device, &x).log_softmax(axis).unwrap());
        let weights = download(&weights);
        for (log, weight) in logs.values().iter().zip(weights.values()) {
            assert!(
                (log.exp() - weight).abs() <= 1e-5 * weight + 1e-30,
                "{log} {weight}"
            );
        }
    }
}

/// A line has the same bits as in a batch of its own.
fn lines_are_independent(device: &Device) {
    let x = batch("lines", &[&[5, 60], &[3, 700], &[2, 9000]]);
    for function in ALL {
        let all = download(&function.along(&upload(device, &x), 1).unwrap());
        for element in 0..x.len() {
            let width = x.layout().shape(element).extents()[1] as usize;
            let lines = x.row(element).chunks(width);
            let results = all
                .row(element)
                .chunks(if function.reduces() { 1 } else { width });
            for (line, result) in lines.zip(results) {
                let alone = one(&[width], line);
                let got = download(&function.along(&upload(device, &alone), 0).unwrap());
                let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(got.values()), bits(result), "{function:?} of {width}");
            }
        }
    }
}

/// Elements at odd offsets of a larger buffer.
fn views_begin_anywhere(device: &Device) {
    let x = batch("views", &[&[3, 1], &[5, 7], &[1, 9001], &[3, 333]]);
    let all = upload(device, &x);
    for function in ALL {
        for axis in 0..2 {
            let view = all.elements(1..4).unwrap();
            let got = download(&function.along(&view, axis).unwrap());
            let (values, bounds) = reference(function, &download(&view), Some(axis));
            let what = format!("{function:?} of a view, axis {axis}");
            assert_within(what, &got, &values, &bounds);
        }
    }
}

/// Functions of f16 without the three that only reduce.
fn of_halves() -> impl Iterator<Item = Function> {
    let exact = [Function::Sum, Function::Max, Function::Min];
    ALL.into_iter()
        .filter(move |function| !exact.contains(function))
}

/// Checks f16: computed in f32 and rounded once.
fn check_halves(what: &str, function: Function, x: &Tensor<f16>, axis: usize) {
    let wide = download(x).cast(f16::to_f32).unwrap();
    let (values, bounds) = reference(function, &wide, Some(axis));
    let rounds_to_infinity = |y: f64| match y.abs() >= 65_520.0 {
        true => f64::INFINITY.copysign(y),
        false => y,
    };
    let values = values.cast(rounds_to_infinity).unwrap();
    let got = download(&function.along(x, axis).unwrap());
    let got = got.cast(f16::to_f32).unwrap();
    // Half a unit in the last place, which is 2⁻²⁴ for subnormal results.
    let rounded = |(value, bound): (&f64, f64)| {
        bound + (value.abs() + bound) * 2f64.powi(-11) + 2f64.powi(-25)
    };
    let both = values.values().iter().zip(bounds);
    let bounds: Vec<f64> = both.map(rounded).collect();
    let what = format!("{function:?} of halves, {what}, axis {axis}");
    assert_within(what, &got, &values, &bounds);
}

fn half_batch(seed: &str, shapes: &[&[usize]]) -> Ragged<f16> {
    batch(seed, shapes).cast(f16::from_f32).unwrap()
}

/// Lines of every class, at even and odd places, between neighbours that share their words.
fn halves(device: &Device) {
    let counts = [
        0, 1, 2, 3, 1, 63, 64, 65, 0, 7, 511, 512, 513, 1024, 1025, 4095, 4096, 4097, 1, 8193, 9,
    ];
    let vectors: Vec<[usize; 1]> = counts.map(|n| [n]).into();
    let vectors: Vec<&[usize]> = vectors.iter().map(|shape| &shape[..]).collect();
    let x = upload(device, &half_batch("half vectors", &vectors));
    for function in of_halves() {
        check_halves("vectors", function, &x, 0);
        for first in [1, 3, 4] {
            let view = x.elements(first..counts.len()).unwrap();
            check_halves("a view", function, &view, 0);
        }
    }
}

/// Strided lines, whose neighbours share words in every row, in every second one, or not at all.
fn halves_of_every_layout(device: &Device) {
    let shapes: [&[usize]; 12] = [
        &[3, 1, 5],
        &[1, 1, 1],
        &[2, 33, 4],
        &[1, 0, 7],
        &[1, 17, 3],
        &[2, 1, 2],
        &[0, 3, 2],
        &[1, 1, 3],
        &[1, 2000, 3],
        &[1, 5, 67],
        &[1, 5000, 2],
        &[3, 4, 5],
    ];
    let x = upload(device, &half_batch("half boxes", &shapes));
    for function in of_halves() {
        for axis in 0..3 {
            check_halves("boxes", function, &x, axis);
        }
        let view = x.elements(1..shapes.len()).unwrap();
        check_halves("a view of boxes", function, &view, 1);
        // Each line has the same bits as alone.
        if function.reduces() {
            continue;
        }
        let all = download(&function.along(&x, 1).unwrap());
        for element in [0, 2, 4, 9] {
            let alone = upload(
                device,
                &download(&x.elements(element..element + 1).unwrap()),
            );
            let alone = download(&function.along(&alone, 1).unwrap());
            let bits = |row: &[f16]| row.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
            assert_eq!(
                bits(alone.row(0)),
                bits(all.row(element)),
                "{function:?} of {element}"
            );
        }
    }
}

/// Sums beyond the range of f16 are no sums of halves; NaN and infinity stay in their line.
fn halves_far_and_ends(device: &Device) {
    let (inf, nan) = (f16::INFINITY, f16::NAN);
    for count in [3, 100, 600, 9001] {
        let with = |values: [f16; 3]| {
            let mut line = vec![f16::ONE; count];
            line[0] = values[0];
            line[count / 2] = values[1];
            line[count - 1] = values[2];
            line
        };
        let (zero, large) = (f16::ZERO, f16::from_f32(60_000.0));
        let lines = [
            with([nan, zero, zero]),
            with([zero, inf, zero]),
            vec![large; count],
            with([zero, zero, -inf]),
            with([inf, zero, -inf]),
            vec![-inf; count],
            vec![],
            with([large, -large, large]),
        ];
        let x = upload(device, &Ragged::from_rows(lines).unwrap());
        for function in of_halves() {
            check_halves(&format!("ends of {count}"), function, &x, 0);
        }
    }
}

/// Groups of channels are rows of their own.
fn groups(device: &Device) {
    let shapes: [&[usize]; 5] = [&[4, 3, 3], &[2, 5, 1], &[6, 1, 1], &[2, 0, 3], &[8, 30, 41]];
    let x = batch("groups", &shapes);
    let rows = shapes.map(|shape| Shape::new(&[2, shape.iter().product::<usize>() / 2]).unwrap());
    let rows = Layout::from_shapes(2, rows).unwrap();
    let flat = Ragged::from_parts(rows, x.values().to_vec()).unwrap();
    let (values, bounds) = reference(Function::LayerNorm, &flat, Some(1));
    let got = download(&upload(device, &x).group_norm(2, EPSILON).unwrap());
    assert_eq!(got.layout(), x.layout());
    let got = Ragged::from_parts(flat.layout().clone(), got.values().to_vec()).unwrap();
    assert_within("groups", &got, &values, &bounds);
    let x = upload(device, &x);
    let error = x.group_norm(4, EPSILON).unwrap_err();
    assert_eq!(
        error.to_string(),
        "group_norm: element 1: expected the shape of a multiple of 4 channels, got (2, 5, 1)"
    );
    for error in [
        x.group_norm(0, 1.0).unwrap_err(),
        x.group_norm(2, -1.0).unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.op()), ("argument", "group_norm"));
    }
}

fn refusals(device: &Device) {
    let x = upload(device, &batch("refusals", &[&[2, 3]]));
    for function in ALL {
        let error = function.along(&x, 2).unwrap_err();
        assert_eq!(error.kind(), "argument", "{error}");
        assert!(
            error
                .to_string()
                .contains("an axis below the rank of 2, got 2"),
            "{error}"
        );
    }
    for epsilon in [-1.0, f32::NAN, f32::INFINITY] {
        let error = x.layer_norm(1, epsilon).unwrap_err();
        assert_eq!((error.kind(), error.op()), ("argument", "layer_norm"));
        let error = x.rms_norm(1, epsilon).unwrap_err();
        assert_eq!((error.kind(), error.op()), ("argument", "rms_norm"));
        let error = x.l2_normalize(1, epsilon).unwrap_err();
        assert_eq!((error.kind(), error.op()), ("argument", "l2_normalize"));
    }
    // Sums without terms also count as work.
    let columns = Layout::uniform(1, Shape::new(&[4096, 0]).unwrap()).unwrap();
    let limited = device.with_work_limit(1000).full(&columns, 1.0f32).unwrap();
    let error = limited.sum_axis(1).unwrap_err();
    assert_eq!(error.kind(), "work_limit", "{error}");
    // More lines than 32 bits can count are refused, and the error names the element.
    let wide = Layout::uniform(1, Shape::new(&[65_536, 0, 65_536]).unwrap()).unwrap();
    let error = device.full(&wide, 1.0f32).unwrap().sum_axis(1).unwrap_err();
    assert_eq!(
        (error.kind(), error.op()),
        ("size_overflow", "sum_axis"),
        "{error}"
    );
}
