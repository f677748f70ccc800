//! Reductions: one number or one boolean per element.

mod equivalent;
mod extremes;
mod norm1;

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{TINY, U, assert_exact, assert_within, gamma, reduction_depth};
use crate::support::corpus::{self, rng};
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected, Operation, golden, one, pick, rows, run};
use crate::support::property;
use crate::support::reference::{self, scalars};
use equivalent::{
    equivalent_boxes, equivalent_corpus, equivalent_errors, equivalent_goldens,
    equivalent_pairings, equivalent_special_values,
};
use extremes::{
    argmax_goldens, argmax_of_boxes, argmax_of_nan, argmax_ties, max_goldens, max_is_at_argmax,
    max_is_found_anywhere, min_goldens, min_of_negated,
};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = || [corpus::all(), corpus::boxes()].concat();
    let of_all_types =
        |prefix: &str, operation: Operation| operation.trials(bench, prefix, cases());
    let mut trials = Vec::new();
    trials.extend(of_all_types(
        "sum",
        Operation::new()
            .with(sum::<f32>())
            .with(sum::<i32>())
            .with(sum::<u32>()),
    ));
    trials.extend(of_all_types(
        "dot",
        Operation::new()
            .with(dot::<f32>())
            .with(dot::<i32>())
            .with(dot::<u32>()),
    ));
    trials.extend(of_all_types("norm2", Operation::new().with(norm2())));
    trials.extend(of_all_types(
        "max",
        Operation::new()
            .with(max::<f32>())
            .with(max::<i32>())
            .with(max::<u32>()),
    ));
    trials.extend(of_all_types(
        "argmax",
        Operation::new()
            .with(argmax::<f32>())
            .with(argmax::<i32>())
            .with(argmax::<u32>()),
    ));
    trials.extend(of_all_types(
        "min",
        Operation::new()
            .with(min::<f32>())
            .with(min::<i32>())
            .with(min::<u32>()),
    ));
    trials.extend(of_all_types(
        "argmin",
        Operation::new()
            .with(argmin::<f32>())
            .with(argmin::<i32>())
            .with(argmin::<u32>()),
    ));
    let tests: &[DeviceTest] = &[
        ("sum::goldens", sum_goldens),
        ("sum::long_of_one_sign", sum_of_one_sign),
        ("sum::cancelling", sum_cancelling),
        ("dot::goldens", dot_goldens),
        ("dot::of_boxes_is_over_the_overlap", dot_of_boxes),
        ("dot::is_symmetric", dot_is_symmetric),
        ("norm2::goldens", norm2_goldens),
        ("norm2::from_1e-30_to_1e30", norm2_range),
        ("norm2::at_the_ends_of_f32", norm2_ends),
        ("norm2::mixed_magnitudes", norm2_mixed_magnitudes),
        ("max::goldens", max_goldens),
        ("max::is_found_anywhere", max_is_found_anywhere),
        ("argmax::goldens", argmax_goldens),
        ("argmax::ties_give_the_lowest_index", argmax_ties),
        ("argmax::of_nan_is_the_first", argmax_of_nan),
        ("argmax::of_boxes_is_row_major", argmax_of_boxes),
        ("min::goldens", min_goldens),
        ("min::is_that_of_the_negated", min_of_negated),
        ("sum_is_linear", sum_is_linear),
        ("max_is_at_argmax", max_is_at_argmax),
        ("equivalent::goldens", equivalent_goldens),
        ("equivalent::of_boxes", equivalent_boxes),
        ("equivalent::pairings", equivalent_pairings),
        ("equivalent::special_values", equivalent_special_values),
        ("equivalent::errors", equivalent_errors),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials.extend(norm1::tests(bench, cases()));
    for case in cases() {
        let name = format!("equivalent::corpus::{}", case.name);
        trials.extend(bench.on_each_device(&name, move |device| equivalent_corpus(device, &case)));
    }
    trials
}

fn sum<T: Number>() -> Binary<T, T> {
    Binary {
        name: "sum",
        run: |x, _| x.sum(),
        paired: None,
        expected: Some(|a, _, _| Expected::sums::<T>(reference::sum(&widened(a)), reduction_depth)),
        spreads: false,
        series_only: false,
    }
}

fn dot<T: Number>() -> Binary<T, T> {
    Binary {
        name: "dot",
        run: |x, y| x.dot(y),
        paired: Some(|pair| pair.dot()),
        expected: Some(|a, b, pairs| {
            Expected::sums::<T>(
                reference::dot(&widened(a), &widened(b), pairs),
                reduction_depth,
            )
        }),
        spreads: false,
        series_only: false,
    }
}

fn norm2() -> Binary<f32, f32> {
    Binary {
        name: "norm2",
        run: |x, _| x.norm2(),
        paired: None,
        expected: Some(|a, _, _| {
            let norms = reference::norm2(&widened(a));
            let terms: Vec<usize> = a.layout().lengths().collect();
            let bounds = norm2_bounds(&norms, &terms);
            Expected::inexact(norms, bounds)
        }),
        spreads: false,
        series_only: false,
    }
}

/// The root halves the relative error of the sum and adds its own rounding. A GPU may flush a value's whole square.
fn norm2_bounds(norms: &Ragged<f64>, terms: &[usize]) -> Vec<f64> {
    let both = norms.values().iter().zip(terms);
    both.map(|(norm, &terms)| (gamma(reduction_depth(terms)) / 2.0 + 4.0 * U) * norm + TINY)
        .collect()
}

fn max<T: Number>() -> Binary<T, T> {
    Binary {
        name: "max",
        run: |x, _| x.max(),
        paired: None,
        expected: Some(|a, _, _| Expected::exact::<T>(reference::max(&widened(a)))),
        spreads: false,
        series_only: false,
    }
}

fn argmax<T: Number>() -> Binary<T, u32> {
    Binary {
        name: "argmax",
        run: |x, _| x.argmax(),
        paired: None,
        expected: Some(|a, _, _| Expected::indices(reference::argmax(&widened(a)))),
        spreads: false,
        series_only: false,
    }
}

fn min<T: Number>() -> Binary<T, T> {
    Binary {
        name: "min",
        run: |x, _| x.min(),
        paired: None,
        expected: Some(|a, _, _| Expected::exact::<T>(reference::min(&widened(a)))),
        spreads: false,
        series_only: false,
    }
}

fn argmin<T: Number>() -> Binary<T, u32> {
    Binary {
        name: "argmin",
        run: |x, _| x.argmin(),
        paired: None,
        expected: Some(|a, _, _| Expected::indices(reference::argmin(&widened(a)))),
        spreads: false,
        series_only: false,
    }
}

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

fn sum_goldens(device: &Device) {
    golden::<f32, f32, 6>(
        device,
        |x, _| x.sum(),
        [
            (&[1., 2., 4.], &[], &[7.]),
            (&[], &[], &[0.]),
            (&[-3.5], &[], &[-3.5]),
            (&[1., NAN, 2.], &[], &[NAN]),
            (&[INF, 1.], &[], &[INF]),
            (&[INF, -INF], &[], &[NAN]),
        ],
    );
    golden::<i32, i32, 2>(
        device,
        |x, _| x.sum(),
        [(&[i32::MAX, 1, 1], &[], &[i32::MIN + 1]), (&[], &[], &[0])],
    );
    golden::<u32, u32, 1>(device, |x, _| x.sum(), [(&[u32::MAX, 3], &[], &[2])]);
    let matrix = one(&[2, 3], &[1., 2., 3., 4., 5., 6.]);
    assert_exact(
        "of a matrix",
        &run(device, &matrix, &matrix, |x, _| x.sum()),
        &rows([&[21.]]),
    );
}

/// A million values near 1, whose sum in sequence would lose four digits in f32.
fn sum_of_one_sign(device: &Device) {
    let layout = Layout::from_lengths([1_000_003, 70_001, 5]).unwrap();
    let mut random = rng("one sign");
    let x = Ragged::from_fn(&layout, |_, _| 1.0 + random.f32()).unwrap();
    let sums = reference::sum(&widened(&x));
    let got = run(device, &x, &x, |x, _| x.sum());
    assert_within(
        "a million",
        &got,
        &sums.values,
        &sums.bounds(reduction_depth),
    );
}

/// Pairs ±v cancel exactly only in an exact sum; the bound limits the remaining error.
fn sum_cancelling(device: &Device) {
    let mut random = rng("cancelling");
    let mut values: Vec<f32> = (0..5000)
        .map(|_| random.f32())
        .flat_map(|v| [v, -v])
        .collect();
    values.push(1e-3);
    random.shuffle(&mut values);
    let x = Ragged::from_rows([values]).unwrap();
    let sums = reference::sum(&widened(&x));
    let got = run(device, &x, &x, |x, _| x.sum());
    assert_within("±v", &got, &sums.values, &sums.bounds(reduction_depth));
}

fn dot_goldens(device: &Device) {
    golden::<f32, f32, 6>(
        device,
        |x, y| x.dot(y),
        [
            (&[1., 2., 3.], &[4., 5.], &[14.]),
            (&[], &[1.], &[0.]),
            (&[], &[], &[0.]),
            (&[2.], &[-3., NAN, INF], &[-6.]),
            (&[2., NAN], &[1., 1.], &[NAN]),
            (&[0.5; 4], &[2.; 4], &[4.]),
        ],
    );
    golden::<i32, i32, 1>(
        device,
        |x, y| x.dot(y),
        [(&[1 << 20, 3], &[1 << 12, -5], &[-15])],
    );
    golden::<u32, u32, 1>(
        device,
        |x, y| x.dot(y),
        [(&[u32::MAX], &[u32::MAX, 9], &[1])],
    );
}

fn dot_of_boxes(device: &Device) {
    let (a, b) = (one(&[2, 2], &[1, 2, 3, 4]), one(&[1, 3], &[10, 20, 30]));
    assert_exact(
        "2×2 and 1×3",
        &run(device, &a, &b, |x, y| x.dot(y)),
        &rows([&[50]]),
    );
    let (a, b) = (one(&[3, 1], &[1, 2, 3]), one(&[2, 2], &[10, 20, 30, 40]));
    assert_exact(
        "3×1 and 2×2",
        &run(device, &a, &b, |x, y| x.dot(y)),
        &rows([&[70]]),
    );
    let (a, b) = (one(&[3, 0], &[]), one(&[2, 2], &[10, 20, 30, 40]));
    assert_exact(
        "3×0 and 2×2",
        &run(device, &a, &b, |x, y| x.dot(y)),
        &rows([&[0]]),
    );
}

fn dot_is_symmetric(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let forwards = run(device, &a, &b, |x, y| x.dot(y));
        assert_exact("b·a", &run(device, &b, &a, |x, y| x.dot(y)), &forwards);
    });
}

fn norm2_goldens(device: &Device) {
    let x = rows([
        &[3.0f32, -4.][..],
        &[],
        &[-2.],
        &[0., 0.],
        &[1., NAN],
        &[INF],
        &[-INF, 1.],
        &[0., 5., 12.],
    ]);
    let expected = scalars([5.0, 0., 2., 0., f64::NAN, f64::INFINITY, f64::INFINITY, 13.]);
    let bounds = norm2_bounds(&expected, &x.layout().lengths().collect::<Vec<_>>());
    let bounds = bounds
        .iter()
        .zip(expected.values())
        .map(|(b, &e)| if e == 0.0 { 0.0 } else { *b });
    let bounds: Vec<f64> = bounds.collect();
    assert_within(
        "by hand",
        &run(device, &x, &x, |x, _| x.norm2()),
        &expected,
        &bounds,
    );
    for i in 0..x.len() {
        let alone = run(device, &pick(&x, &[i]), &pick(&x, &[i]), |x, _| x.norm2());
        assert_within(
            format!("number {i}"),
            &alone,
            &pick(&expected, &[i]),
            &bounds[i..=i],
        );
    }
}

/// Squares of these leave the range of f32 at both ends.
fn norm2_range(device: &Device) {
    let scales = [
        1e-30f32, 1e-25, 1e-20, 1e-15, 1e-5, 1., 1e5, 1e15, 1e19, 1e20, 1e25, 1e30,
    ];
    let layout =
        Layout::from_lengths((0..scales.len() * 4).map(|i| [1, 3, 100, 5000][i % 4])).unwrap();
    let mut random = rng("norm2 range");
    let x = Ragged::from_fn(&layout, |i, _| (random.f32() * 2.0 - 1.0) * scales[i / 4]).unwrap();
    let norms = reference::norm2(&widened(&x));
    let bounds = norm2_bounds(&norms, &layout.lengths().collect::<Vec<_>>());
    assert_within(
        "scaled",
        &run(device, &x, &x, |x, _| x.norm2()),
        &norms,
        &bounds,
    );
}

/// The largest and the smallest normal numbers; nothing may be flushed here.
fn norm2_ends(device: &Device) {
    let (small, large) = (f32::MIN_POSITIVE, f32::MAX);
    let x = rows([
        &[small][..],
        &[-small; 4],
        &[3.0 * small, 4.0 * small],
        &[large],
        &[large / 2.0; 3],
        &[large, large],
        &[large / 1024.0; 4096],
        &[small; 1024],
    ]);
    let (s, l) = (f64::from(small), f64::from(large));
    let expected = scalars([
        s,
        2.0 * s,
        5.0 * s,
        l,
        3f64.sqrt() * l / 2.0,
        f64::INFINITY,
        l / 16.0,
        32.0 * s,
    ]);
    let bounds: Vec<f64> = expected
        .values()
        .iter()
        .map(|norm| 40.0 * U * norm)
        .collect();
    assert_within(
        "ends",
        &run(device, &x, &x, |x, _| x.norm2()),
        &expected,
        &bounds,
    );
}

/// One large value among values whose squares are negligible beside it, at the start, in the middle and at the end.
fn norm2_mixed_magnitudes(device: &Device) {
    let layout = Layout::from_lengths([7, 700, 4097, 4097, 4097]).unwrap();
    let mut random = rng("norm2 mixed");
    let mut x = Ragged::from_fn(&layout, |_, _| 10f32.powf(random.f32() * 60.0 - 30.0)).unwrap();
    for (element, index) in [(2, 0), (3, 2000), (4, 4096)] {
        let start = layout.offsets().range(element).start;
        x.values_mut()[start + index] = -1e30;
    }
    let norms = reference::norm2(&widened(&x));
    let bounds = norm2_bounds(&norms, &layout.lengths().collect::<Vec<_>>());
    assert_within(
        "mixed",
        &run(device, &x, &x, |x, _| x.norm2()),
        &norms,
        &bounds,
    );
}

fn sum_is_linear(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let of_the_sum = run(device, &a, &b, |x, y| x.add(y)?.sum());
        let sum_of = run(device, &a, &b, |x, y| x.sum()?.add(&y.sum()?));
        assert_exact("Σ(a + b)", &of_the_sum, &sum_of);
        let scaled = run(device, &a, &b, |x, _| x.scale(-7)?.sum());
        assert_exact(
            "Σ −7a",
            &scaled,
            &run(device, &a, &b, |x, _| x.sum()?.scale(-7)),
        );
    });
}
