//! Quantiles and medians: against linear interpolation in f64 between sorted values.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Float};

use crate::lines::{batch, places};
use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{Comparable, TINY, U, assert_exact, assert_identical, assert_within};
use crate::support::corpus;
use crate::support::operation::{Binary, Expected, Operation, download, one, rows, run, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = [corpus::small(), corpus::boxes()].concat();
    let operation = Operation::new().with(Binary::<f32, f32> {
        name: "quantile",
        run: |x, _| x.quantile(0.3),
        paired: None,
        expected: Some(|x, _, _| {
            let (values, bounds) = reference(x, None, 0.3);
            Expected::inexact(values, bounds)
        }),
        spreads: false,
        series_only: false,
    });
    let mut trials = operation.trials(bench, "corpus", cases);
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("every_class", every_class),
        ("ends", ends),
        ("lies_between_neighbours", lies_between_neighbours),
        ("views_begin_anywhere", views_begin_anywhere),
        ("refusals", refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

/// The quantile of a line, and its bound.
fn of(line: &[f32], q: f64) -> (f64, f64) {
    if line.is_empty() || line.iter().any(|x| x.is_nan()) {
        return (f64::NAN, 0.0);
    }
    let mut line: Vec<f64> = line.iter().map(|&x| x.into()).collect();
    line.sort_by(f64::total_cmp);
    let at = q * (line.len() - 1) as f64;
    let (low, weight) = (at.floor() as usize, at - at.floor());
    let [x, y] = [low, low + 1].map(|i| line[i.min(line.len() - 1)]);
    if weight == 0.0 || x == y {
        return (x, TINY);
    }
    let size = if x.is_finite() && y.is_finite() {
        x.abs().max(y.abs())
    } else {
        0.0
    };
    (x * (1.0 - weight) + y * weight, 4.0 * U * size + TINY)
}

/// The same of halves, which are rounded at the end.
fn half_reference(x: &Ragged<f16>, axis: Option<usize>, q: f64) -> (Ragged<f64>, Vec<f64>) {
    let (values, bounds) = reference(&x.cast(f16::to_f32).unwrap(), axis, q);
    let both = values.values().iter().zip(bounds);
    let rounded = |(y, bound): (&f64, f64)| match bound == 0.0 || bound == TINY {
        // Values of the line.
        true => 0.0,
        false => bound + (y.abs() + bound) * 2f64.powi(-11) + 2f64.powi(-25),
    };
    let bounds = both.map(rounded).collect();
    (values, bounds)
}

fn reference(x: &Ragged<f32>, axis: Option<usize>, q: f64) -> (Ragged<f64>, Vec<f64>) {
    let (mut all, mut shapes) = (Vec::new(), Vec::new());
    for element in 0..x.len() {
        let (shape, row) = (x.layout().shape(element), x.row(element));
        for line in places(shape.extents(), axis) {
            let line: Vec<f32> = line.iter().map(|&place| row[place]).collect();
            all.push(of(&line, q));
        }
        let mut extents: Vec<usize> = shape.extents().iter().map(|&e| e as usize).collect();
        match axis.filter(|_| extents.len() > 1) {
            Some(axis) => drop(extents.remove(axis)),
            None => extents = vec![1],
        }
        shapes.push(Shape::new(&extents).unwrap());
    }
    let rank = match axis {
        None => 1,
        Some(_) => (x.layout().rank() - 1).max(1),
    };
    let (values, bounds): (_, Vec<f64>) = all.into_iter().unzip();
    (Ragged::from_shapes(values, rank, shapes).unwrap(), bounds)
}

fn goldens(device: &Device) {
    goldens_of(device, |x| x);
    goldens_of(device, f16::from_f32);
}

fn goldens_of<T: Comparable + Float>(device: &Device, of_type: fn(f32) -> T) {
    let x = rows([&[4.0f32, 1.0, 2.0][..], &[], &[7.0], &[3.0, 1.0]]);
    let x = x.cast(of_type).unwrap();
    let of = |of: fn(&Tensor<T>) -> Result<Tensor<T>>| run(device, &x, &x, |x, _| of(x));
    let scalars = |values: [f32; 4]| {
        let values = values.map(|x| [of_type(x)]);
        rows(values.each_ref().map(|x| &x[..]))
    };
    let nan = f32::NAN;
    assert_exact(
        "median",
        &of(Tensor::median),
        &scalars([2.0, nan, 7.0, 2.0]),
    );
    assert_exact(
        "quarter",
        &of(|x| x.quantile(0.25)),
        &scalars([1.5, nan, 7.0, 1.5]),
    );
    assert_exact(
        "least",
        &of(|x| x.quantile(0.0)),
        &scalars([1.0, nan, 7.0, 1.0]),
    );
    assert_exact(
        "largest",
        &of(|x| x.quantile(1.0)),
        &scalars([4.0, nan, 7.0, 3.0]),
    );
    let matrix = [6.0, 1.0, 3.0, 2.0, 5.0, 4.0].map(of_type);
    let matrix = upload(device, &one(&[2, 3], &matrix));
    assert_eq!(download(&matrix.median().unwrap()).values(), [of_type(3.5)]);
    assert_eq!(
        download(&matrix.median_axis(0).unwrap()).values(),
        [4.0, 3.0, 3.5].map(of_type)
    );
    assert_eq!(
        download(&matrix.quantile_axis(0.75, 1).unwrap()).values(),
        [4.5, 4.5].map(of_type)
    );
    let nothing = upload(
        device,
        &Ragged::<T>::from_rows(Vec::<Vec<T>>::new()).unwrap(),
    );
    assert!(nothing.median().unwrap().is_empty());
}

fn every_class(device: &Device) {
    let vectors: Vec<[usize; 1]> = [0, 1, 2, 3, 100, 2048, 2049, 9001, 1].map(|n| [n]).into();
    let vectors: Vec<&[usize]> = vectors.iter().map(|n| &n[..]).collect();
    let boxes: [&[usize]; 6] = [
        &[2, 3, 4],
        &[0, 2, 2],
        &[2, 0, 2],
        &[2, 2, 0],
        &[1, 1, 1],
        &[3, 700, 2],
    ];
    for x in [batch("vectors", &vectors), batch("boxes", &boxes)] {
        let on = upload(device, &x);
        for q in [0.0, 0.1, 0.5, 2.0 / 3.0, 0.999, 1.0] {
            let (values, bounds) = reference(&x, None, q);
            assert_within(
                format!("{q}"),
                &download(&on.quantile(q).unwrap()),
                &values,
                &bounds,
            );
            for axis in 0..x.layout().rank() {
                let (values, bounds) = reference(&x, Some(axis), q);
                let got = download(&on.quantile_axis(q, axis).unwrap());
                assert_within(format!("{q}, axis {axis}"), &got, &values, &bounds);
            }
        }
        let halves = x.cast(f16::from_f32).unwrap();
        let on = upload(device, &halves);
        for q in [0.0, 0.1, 2.0 / 3.0, 1.0] {
            let (values, bounds) = half_reference(&halves, None, q);
            let got = download(&on.quantile(q).unwrap());
            assert_within(format!("halves, {q}"), &got, &values, &bounds);
            for axis in 0..x.layout().rank() {
                let (values, bounds) = half_reference(&halves, Some(axis), q);
                let got = download(&on.quantile_axis(q, axis).unwrap());
                let what = format!("halves, {q}, axis {axis}");
                assert_within(what, &got, &values, &bounds);
            }
        }
    }
}

/// NaN makes its own element NaN; infinities are ordinary values, unless they cancel.
fn ends(device: &Device) {
    ends_of(device, |x| x, f32::MAX);
    ends_of(device, f16::from_f32, f16::MAX.to_f32());
}

fn ends_of<T: Comparable + Float>(device: &Device, of_type: fn(f32) -> T, most: f32) {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = rows([
        &[1.0, nan, 2.0][..],
        &[inf, 1.0, 2.0],
        &[inf, 1.0],
        &[-inf, 1.0],
        &[inf, -inf],
        &[inf, inf],
        &[-0.0, -0.0],
        &[most, most],
        &[most, -most],
        &[1.0, 3.0],
    ]);
    let x = x.cast(of_type).unwrap();
    let got = run(device, &x, &x, |x, _| x.median());
    let expected = [nan, 2.0, inf, -inf, nan, inf, -0.0, most, 0.0, 2.0];
    let expected = expected.map(|x| [of_type(x)]);
    assert_exact("ends", &got, &rows(expected.each_ref().map(|x| &x[..])));
}

fn lies_between_neighbours(device: &Device) {
    let layout = Layout::from_lengths([2; 400]).unwrap();
    let x = batch("neighbours", &vec![&[2usize][..]; 400]);
    assert_eq!(x.layout(), &layout);
    between(device, &x);
    between(device, &x.cast(f16::from_f32).unwrap());
}

fn between<T: Comparable + Float>(device: &Device, x: &Ragged<T>) {
    for q in [1e-9, 0.1, 1.0 / 3.0, 0.9, 1.0 - 1e-12] {
        let got = run(device, x, x, |x, _| x.quantile(q));
        for element in 0..x.len() {
            let row = [0, 1].map(|i| x.row(element)[i].as_f64());
            let y = got.row(element)[0].as_f64();
            assert!(
                row[0].min(row[1]) <= y && y <= row[0].max(row[1]),
                "{row:?} {y} {q}"
            );
        }
    }
}

fn views_begin_anywhere(device: &Device) {
    let x = batch("views", &[&[3, 1], &[5, 7], &[1, 901], &[3, 333], &[9, 9]]);
    views(device, &x);
    views(device, &x.cast(f16::from_f32).unwrap());
}

fn views<T: Comparable + Float>(device: &Device, x: &Ragged<T>) {
    let all = upload(device, x);
    for first in 1..4 {
        let view = all.elements(first..5).unwrap();
        let copy = upload(device, &download(&view));
        let both = [&view, &copy].map(|x| download(&x.quantile(0.3).unwrap()));
        assert_identical(format!("from {first}"), &both[0], &both[1]);
        let both = [&view, &copy].map(|x| download(&x.median_axis(0).unwrap()));
        assert_identical(format!("from {first}"), &both[0], &both[1]);
    }
}

fn refusals(device: &Device) {
    let x: Tensor<f32> = upload(device, &one(&[2, 3], &[1.0; 6]));
    let refused = |result: Result<Tensor<f32>>, text: &str| {
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            ("argument", text)
        );
    };
    refused(
        x.quantile(1.5),
        "quantile: expected a number between 0 and 1, got 1.5",
    );
    refused(
        x.quantile(-0.1),
        "quantile: expected a number between 0 and 1, got -0.1",
    );
    refused(
        x.quantile_axis(f64::NAN, 0),
        "quantile_axis: expected a number between 0 and 1, got NaN",
    );
    refused(
        x.quantile_axis(0.5, 2),
        "quantile_axis: expected an axis below the rank of 2, got 2",
    );
    refused(
        x.median_axis(7),
        "median_axis: expected an axis below the rank of 2, got 7",
    );
}
