//! Functions along an axis or over whole elements: against sums in f64, line by line.

mod function;
mod halves;

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor};

pub use function::places;
use function::{ALL, EPSILON, Function, expected, reference, reference_with};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_identical, assert_within};
use crate::support::corpus::{self, rng};
use crate::support::operation::{Binary, Operation, download, one, rows, run, upload};

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
            let cases = [corpus::small(), corpus::boxes()].concat();
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
        ("squares_out_of_range", squares_out_of_range),
        ("logarithms_near_zero", logarithms_near_zero),
        ("nan_before_infinity", nan_before_infinity),
        ("ends", ends),
        ("signed_zeros", signed_zeros),
        ("weights_sum_to_one", weights_sum_to_one),
        ("lines_are_independent", lines_are_independent),
        ("views_begin_anywhere", views_begin_anywhere),
        ("halves", halves::halves),
        ("halves_of_every_layout", halves::halves_of_every_layout),
        ("halves_far_and_ends", halves::halves_far_and_ends),
        ("groups", groups),
        ("refusals", refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

fn last(layout: &Layout) -> usize {
    layout.rank() - 1
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
    let got = run(device, &x, &x, |x, _| x.standardize(0.0));
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

/// Values whose squares or sums are not in the range of f32, in every class. Only results that are not overflow.
fn squares_out_of_range(device: &Device) {
    use Function::{L2Normalize, LayerNorm, Mean, RmsNorm, Std, Var};
    let shapes: [&[usize]; 9] = [
        &[1, 3],
        &[2, 100],
        &[1, 600],
        &[1, 4096],
        &[1, 9000],
        &[3, 2],
        &[100, 3],
        &[600, 1],
        &[9000, 2],
    ];
    let x = batch("out of range", &shapes);
    for scale in [1e-30f32, 1e-20, 1e19, 1e30, 8e37] {
        // From −4 to 4 times the scale, and beside large values also others.
        let of = |(i, &x): (usize, &f32)| match i % 97 {
            50 if scale > 1.0 => x * scale * 1e-9,
            51 if scale > 1.0 => x,
            _ => x * scale,
        };
        let values = x.values().iter().enumerate().map(of).collect();
        let x = Ragged::from_parts(x.layout().clone(), values).unwrap();
        let on = upload(device, &x);
        for function in [Mean, Var, Std, LayerNorm, RmsNorm, L2Normalize] {
            for (axis, epsilon) in [(0, EPSILON), (1, EPSILON), (1, 1e-36), (1, 0.0)] {
                let got = download(&function.along_with(&on, axis, epsilon).unwrap());
                let (values, bounds) = reference_with(function, &x, Some(axis), epsilon);
                // An infinite bound where the deviation of a line of one value divides.
                let bounds: Vec<f64> = bounds.iter().map(|&bound| bound.min(1e300)).collect();
                let what = format!("{function:?} at {scale}, axis {axis}, {epsilon}");
                assert_within(what, &got, &values, &bounds);
            }
        }
    }
    let largest = rows([
        &[f32::MAX; 700][..],
        &[3e38, -3e38, 3e38],
        &[f32::MAX; 9000],
    ]);
    let means = run(device, &largest, &largest, |x, _| x.mean());
    let expected = [f32::MAX, 1e38, f32::MAX];
    let near = |(mean, expected): (&f32, f32)| (mean / expected - 1.0).abs() < 1e-6;
    assert!(means.values().iter().zip(expected).all(near), "{means}");
}

/// Where one exponential is nearly all of the sum, and the rest is accurate; and weights down to 2⁻¹²⁶.
fn logarithms_near_zero(device: &Device) {
    let line = |n: usize, apart: f32| -> Vec<f32> {
        let mut line: Vec<f32> = (0..n).map(|i| -apart - (i % 7) as f32 / 8.0).collect();
        line[n / 2] = 0.0;
        line
    };
    for n in [2, 100, 600, 5000, 9000] {
        let lines = [8.0f32, 16.0, 30.0, 80.0, 86.0].map(|apart| line(n, apart));
        let x = Ragged::from_rows(lines).unwrap();
        for function in [Function::LogSumExp, Function::LogSoftmax, Function::Softmax] {
            check(device, &format!("near 0, {n}"), function, &x, 0);
            // Strided lines.
            let columns = Ragged::from_fn(
                &Layout::uniform(5, Shape::new(&[n, 2]).unwrap()).unwrap(),
                |e, i| x.row(e)[i / 2],
            );
            check(
                device,
                &format!("columns, {n}"),
                function,
                &columns.unwrap(),
                0,
            );
        }
    }
    let x = rows([&[0.0f32, -87.2, -87.31, -87.33, -87.336, -87.34, -104.0]]);
    check(device, "small weights", Function::Softmax, &x, 0);
}

/// Whatever the sign of the NaN is.
fn nan_before_infinity(device: &Device) {
    for bits in [0x7fc0_0000, 0xffc0_0000u32] {
        for n in [3, 100, 9000] {
            let mut line = vec![0.0; n];
            (line[1], line[n - 1]) = (f32::INFINITY, f32::from_bits(bits));
            let x = Ragged::from_rows([line.clone(), vec![1.0; n]]).unwrap();
            check(device, "nan", Function::LogSumExp, &x, 0);
            line[1] = 0.0;
            let x = Ragged::from_rows([line]).unwrap();
            check(device, "nan", Function::LogSumExp, &x, 0);
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
    let z = run(device, &x, &x, |x, _| x.standardize(0.0));
    assert!(z.values().iter().all(|z| z.is_nan()), "{z}");
    let z = run(device, &x, &x, |x, _| x.standardize(1e-5));
    assert_eq!(z.values(), [0.0; 3]);
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
        "group_norm: element 1: expected the shape (c, ..) with c a multiple of 4, got (2, 5, 1)"
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
        let error = x.standardize(epsilon).unwrap_err();
        assert_eq!((error.kind(), error.op()), ("argument", "standardize"));
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
