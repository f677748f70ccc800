//! Sorts along an axis: against stable sorts of each line by the standard library.

use std::cmp::Ordering;

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Ragged, Result, Shape, Tensor, f16,
    scalar::{Factor, f16_from_f64},
};

use crate::cumulate::along;
use crate::lines::batch;
use crate::support::bench::{Bench, DeviceTest, is_hurried};
use crate::support::compare::{Comparable, assert_exact, assert_identical, assert_within};
use crate::support::corpus::{self, rng};
use crate::support::number::Number;
use crate::support::operation::{Binary, Expected, Operation, download, one, rows, run, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = || [corpus::small(), corpus::boxes()].concat();
    let mut trials = Vec::new();
    let all = Operation::new().with(sorted::<f32>()).with(sorted::<i32>());
    trials.extend(all.with(sorted::<u32>()).trials(bench, "sort", cases()));
    let all = Operation::new().with(places::<f32>()).with(places::<i32>());
    trials.extend(all.with(places::<u32>()).trials(bench, "argsort", cases()));
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("every_class", every_class),
        ("stable", stable),
        ("order_of_floats", order_of_floats),
        ("order_of_integers", order_of_integers),
        ("argsort_gathers_to_sort", argsort_gathers_to_sort),
        ("views_begin_anywhere", views_begin_anywhere),
        ("top_k", top_k),
        ("refusals", refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

fn last(layout: &Layout) -> usize {
    layout.rank() - 1
}

/// NaN above all, and −0 below 0.
fn order(x: f64, y: f64) -> Ordering {
    let plain = |x: f64| if x.is_nan() { f64::NAN.abs() } else { x };
    plain(x).total_cmp(&plain(y))
}

/// The places of the values of each line, in stable order.
fn ranked<T: Comparable>(x: &Ragged<T>, axis: usize, descending: bool) -> Ragged<u32> {
    along(&x.cast(T::as_f64).unwrap(), axis, |line| {
        let mut places: Vec<u32> = (0..line.len() as u32).collect();
        places.sort_by(|&i, &j| {
            let order = order(line[i as usize], line[j as usize]);
            if descending { order.reverse() } else { order }
        });
        places
    })
}

fn ordered<T: Comparable>(x: &Ragged<T>, axis: usize, descending: bool) -> Ragged<f64> {
    along(&x.cast(T::as_f64).unwrap(), axis, |line| {
        let mut line = line.to_vec();
        line.sort_by(|&x, &y| {
            let order = order(x, y);
            if descending { order.reverse() } else { order }
        });
        line
    })
}

fn sorted<T: Number>() -> Binary<T, T> {
    Binary {
        name: "sort",
        run: |x, _| x.sort(last(x.layout())),
        paired: None,
        expected: Some(|x, _, _| Expected::exact::<f32>(ordered(x, last(x.layout()), false))),
        spreads: true,
        series_only: false,
    }
}

fn places<T: Number>() -> Binary<T, u32> {
    Binary {
        name: "argsort_descending",
        run: |x, _| x.argsort_descending(0),
        paired: None,
        expected: Some(|x, _, _| Expected::indices(ranked(x, 0, true))),
        spreads: true,
        series_only: false,
    }
}

fn goldens(device: &Device) {
    let x = rows([&[3, 1, 2, 1][..], &[], &[7]]);
    let of = |of: fn(&Tensor<i32>) -> Result<Tensor<i32>>| run(device, &x, &x, |x, _| of(x));
    assert_exact(
        "up",
        &of(|x| x.sort(0)),
        &rows([&[1, 1, 2, 3][..], &[], &[7]]),
    );
    let down = of(|x| x.sort_descending(0));
    assert_exact("down", &down, &rows([&[3, 2, 1, 1][..], &[], &[7]]));
    let on = upload(device, &x);
    let up = download(&on.argsort(0).unwrap());
    assert_exact("places", &up, &rows([&[1u32, 3, 2, 0][..], &[], &[0]]));
    let down = download(&on.argsort_descending(0).unwrap());
    assert_exact("places", &down, &rows([&[0u32, 2, 1, 3][..], &[], &[0]]));
    let matrix = upload(device, &one(&[2, 3], &[6.0f32, 1.0, 3.0, 2.0, 5.0, 4.0]));
    let along = |axis| download(&matrix.sort(axis).unwrap()).values().to_vec();
    assert_eq!(along(0), [2.0, 1.0, 3.0, 6.0, 5.0, 4.0]);
    assert_eq!(along(1), [1.0, 3.0, 6.0, 2.0, 4.0, 5.0]);
    let nothing = upload(
        device,
        &Ragged::<f32>::from_rows(Vec::<Vec<f32>>::new()).unwrap(),
    );
    assert!(nothing.sort(0).unwrap().is_empty());
}

/// All four sorts.
fn check<T: Comparable + Factor>(device: &Device, what: &str, x: &Ragged<T>, axis: usize) {
    let on = upload(device, x);
    for descending in [false, true] {
        let what = format!("{what} of {}, axis {axis}, {descending}", T::DTYPE);
        let (values, places) = match descending {
            false => (on.sort(axis), on.argsort(axis)),
            true => (on.sort_descending(axis), on.argsort_descending(axis)),
        };
        let expected = ordered(x, axis, descending);
        let none = vec![0.0; expected.values().len()];
        assert_within(what.as_str(), &download(&values.unwrap()), &expected, &none);
        let expected = ranked(x, axis, descending);
        assert_exact(what.as_str(), &download(&places.unwrap()), &expected);
    }
}

/// Lines of every class and at the limits of classes and blocks, with few and many different values.
fn every_class(device: &Device) {
    let counts = [
        0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 2047,
        2048, 2049, 4095, 4096, 4097, 6145, 8192, 8193, 20_001, 40_000,
    ];
    let layout = |shapes: Vec<Vec<usize>>| {
        let shapes: Vec<Shape> = shapes.iter().map(|s| Shape::new(s).unwrap()).collect();
        Layout::from_shapes(shapes[0].rank(), shapes).unwrap()
    };
    // A software device takes long for lines of more than 8,193 values, so only vectors contain them there.
    let most = if is_hurried(device) { 8193 } else { 40_000 };
    let others = || counts.into_iter().filter(move |&n| n <= most);
    let apart = others().map(|n| vec![1 + usize::from(n < 300), n, 3]);
    let odd = [
        [0, 3, 2],
        [3, 0, 2],
        [2, 3, 0],
        [1, 1, 1],
        [2, 40, 50],
        [3, 1, 5],
        [2, 9, 7],
        [1, 33, 3],
    ];
    let batches = [
        ("vectors", layout(counts.map(|n| vec![n]).into()), 0..1),
        (
            "beside",
            layout(others().map(|n| vec![2, n]).collect()),
            0..2,
        ),
        ("apart", layout(apart.collect()), 1..2),
        ("odd", layout(odd.map(|shape| shape.to_vec()).into()), 0..3),
    ];
    for (what, layout, axes) in batches {
        let mut random = rng(what);
        let few: Ragged<i32> = Ragged::from_fn(&layout, |_, _| random.i32(-4..4)).unwrap();
        let many: Ragged<f32> = Ragged::from_fn(&layout, |_, _| random.f32() - 0.5).unwrap();
        let halves = many.cast(f16::from_f32).unwrap();
        let whole: Ragged<u32> = Ragged::from_fn(&layout, |_, _| random.u32(..)).unwrap();
        for axis in axes {
            check(device, what, &few, axis);
            check(device, what, &many, axis);
            check(device, what, &whole, axis);
            check(device, what, &halves, axis);
        }
    }
}

/// Equal values keep their order, also across blocks.
fn stable(device: &Device) {
    for n in [5, 100, 2048, 5000, 10_000] {
        let x = one(&[n], &vec![7u32; n]);
        let expected: Vec<u32> = (0..n as u32).collect();
        let on = upload(device, &x);
        for places in [on.argsort(0), on.argsort_descending(0)] {
            assert_eq!(download(&places.unwrap()).values(), expected, "{n}");
        }
    }
}

/// NaN of both signs is largest, −0 is below 0, and nothing is lost.
fn order_of_floats(device: &Device) {
    ordered_floats::<f32>(
        device,
        |x| x as f32,
        [f32::from_bits(1), f32::MAX].map(f64::from),
    );
    ordered_floats::<f16>(
        device,
        f16_from_f64,
        [f16::from_bits(1), f16::MAX].map(f64::from),
    );
    // Every half, at an even and at an odd place.
    let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    for begin in 0..2 {
        let lines = Ragged::from_rows([vec![f16::ONE; begin], all.clone()]).unwrap();
        check(device, "all halves", &lines, 0);
    }
}

fn ordered_floats<T: Comparable + Factor>(
    device: &Device,
    of_type: fn(f64) -> T,
    [tiny, most]: [f64; 2],
) {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let some = [
        0.0, nan, -inf, -0.0, 1.5, inf, -nan, -2.0, tiny, most, -most, -tiny,
    ];
    for n in [12, 300, 3000] {
        let values: Vec<T> = (0..n).map(|i| of_type(some[i * 7 % 12])).collect();
        let x = one(&[n], &values);
        check(device, "floats", &x, 0);
        let bits = |of: Result<Tensor<T>>| {
            let y = download(&of.unwrap());
            let bits = |y: &T| match y.as_f64() {
                y if y.is_nan() => u64::MAX,
                y => y.to_bits(),
            };
            y.values().iter().map(bits).collect::<Vec<_>>()
        };
        let up = bits(upload(device, &x).sort(0));
        let mut down = bits(upload(device, &x).sort_descending(0));
        down.reverse();
        assert_eq!(up, down);
        let counted = |bits: u64| up.iter().filter(|&&y| y == bits).count();
        let per = n / 12;
        let zeros = [0.0, -0.0, tiny, -tiny].map(|x| counted(x.to_bits()));
        assert_eq!(zeros, [per; 4], "{n}");
        assert!(up[n - 2 * per..].iter().all(|&y| y == u64::MAX), "{n}");
    }
}

fn order_of_integers(device: &Device) {
    for n in [6, 4098] {
        let signed = [0, i32::MAX, i32::MIN, -1, 1, -7];
        let signed: Vec<i32> = (0..n).map(|i| signed[i % 6]).collect();
        check(device, "ends", &one(&[n], &signed), 0);
        let unsigned = [0, u32::MAX, 1 << 31, (1 << 31) - 1, 1, 7];
        let unsigned: Vec<u32> = (0..n).map(|i| unsigned[i % 6]).collect();
        check(device, "ends", &one(&[n], &unsigned), 0);
    }
}

/// A sort is a permutation, is ordered, and is what argsort gathers.
fn argsort_gathers_to_sort(device: &Device) {
    let x = batch("argsort", &[&[5], &[700], &[0], &[9000], &[1]]);
    let on = upload(device, &x);
    let (values, places) = (on.sort(0).unwrap(), on.argsort(0).unwrap());
    let (values, places) = (download(&values), download(&places));
    for element in 0..x.len() {
        let (values, places) = (values.row(element), places.row(element));
        assert!(
            values.windows(2).all(|pair| pair[0] <= pair[1]),
            "{element}"
        );
        let gathered: Vec<f32> = places.iter().map(|&i| x.row(element)[i as usize]).collect();
        assert_eq!(values, gathered, "{element}");
        let mut all = places.to_vec();
        all.sort_unstable();
        assert!(
            all.iter().zip(0..).all(|(&place, i)| place == i),
            "{element}"
        );
    }
}

/// Elements at odd offsets of a larger buffer.
fn views_begin_anywhere(device: &Device) {
    let x = batch(
        "views",
        &[
            &[3, 1],
            &[5, 7],
            &[1, 901],
            &[3, 333],
            &[2, 5000],
            &[5000, 3],
        ],
    );
    views(device, &x);
    views(device, &x.cast(f16::from_f32).unwrap());
}

fn views<T: Comparable + Factor>(device: &Device, x: &Ragged<T>) {
    let all = upload(device, x);
    for first in 1..4 {
        let view = all.elements(first..6).unwrap();
        let copy = upload(device, &download(&view));
        for axis in 0..2 {
            let [view, copy] = [&view, &copy].map(|x| (x.sort(axis), x.argsort(axis)));
            let sorted = [view.0, copy.0].map(|x| download(&x.unwrap()));
            assert_identical(format!("from {first}"), &sorted[0], &sorted[1]);
            let places = [view.1, copy.1].map(|x| download(&x.unwrap()));
            assert_identical(format!("from {first}"), &places[0], &places[1]);
        }
    }
}

/// The first values of a sort from the largest down; an error where there are fewer, unless that is allowed.
fn top_k(device: &Device) {
    let shapes: [&[usize]; 5] = [&[4, 3], &[9, 1], &[700, 2], &[4, 0], &[3000, 1]];
    let x = batch("top_k", &shapes);
    largest(device, &x, &shapes);
    largest(device, &x.cast(f16::from_f32).unwrap(), &shapes);
    let on = upload(device, &x);
    let error = on.top_k(5, 0).unwrap_err();
    let text = "top_k: element 0: expected 5 values or more along the axis, got 4";
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        ("argument", text)
    );
    assert_eq!(on.top_k(1, 2).unwrap_err().kind(), "argument");
    let few = rows([&[3, 1, 4][..], &[], &[2]]);
    let (values, indices) = upload(device, &few).top_k_at_most(2, 0).unwrap();
    assert_exact(
        "values",
        &download(&values),
        &rows([&[4, 3][..], &[], &[2]]),
    );
    assert_exact(
        "indices",
        &download(&indices),
        &rows([&[2u32, 0][..], &[], &[0]]),
    );
}

fn largest<T: Comparable + Factor>(device: &Device, x: &Ragged<T>, shapes: &[&[usize]]) {
    let on = upload(device, x);
    let all = (ordered(x, 0, true), ranked(x, 0, true));
    for k in [0, 1, 3, 4] {
        let (values, indices) = on.top_k(k, 0).unwrap();
        let (values, indices) = (download(&values), download(&indices));
        assert_eq!(values.layout(), indices.layout());
        for (element, shape) in shapes.iter().enumerate() {
            let first = k * shape[1];
            assert_eq!(values.shape(element).extents(), [k as u32, shape[1] as u32]);
            let wide: Vec<f64> = values.row(element).iter().map(|x| x.as_f64()).collect();
            assert_eq!(wide, all.0.row(element)[..first]);
            assert_eq!(indices.row(element), &all.1.row(element)[..first]);
        }
    }
}

fn refusals(device: &Device) {
    let x = upload(device, &one(&[2, 3], &[1; 6]));
    let refused = |error: vsla::Error, text: &str| {
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            ("argument", text)
        );
    };
    let text = "sort: expected an axis below the rank of 2, got 2";
    refused(x.sort(2).unwrap_err(), text);
    let text = "argsort_descending: expected an axis below the rank of 2, got 3";
    refused(x.argsort_descending(3).unwrap_err(), text);
    // Of 6 values in lines of three, at two comparisons each.
    let limited = |work| upload(&device.with_work_limit(work), &one(&[2, 3], &[1; 6])).sort(1);
    assert!(limited(12).is_ok());
    assert_eq!(limited(11).unwrap_err().kind(), "work_limit");
}
