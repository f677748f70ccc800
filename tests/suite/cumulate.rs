//! Cumulative sums, products, maxima and minima: against a fold of each line.

mod operations;

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Ragged, Result, Shape, Tensor, f16,
    scalar::{Factor, f16_from_f64},
};

use crate::lines::batch;
pub use operations::along;
use operations::{depth, folded, larger, maxima, minima, products, smaller, summed, sums};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{
    Comparable, TINY, assert_exact, assert_identical, assert_within, gamma,
};
use crate::support::corpus::{self, rng};
use crate::support::number::{Number, widened};
use crate::support::operation::{Operation, download, one, rows, run, upload};
use crate::support::reference::{Arithmetic, Sums};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = || [corpus::small(), corpus::boxes()].concat();
    let mut trials = Vec::new();
    let all = Operation::new().with(sums::<f32>()).with(sums::<i32>());
    trials.extend(all.with(sums::<u32>()).trials(bench, "sum", cases()));
    let all = Operation::new().with(products::<i32>());
    trials.extend(
        all.with(products::<u32>())
            .trials(bench, "product", cases()),
    );
    let all = Operation::new().with(maxima::<f32>()).with(maxima::<i32>());
    trials.extend(all.with(maxima::<u32>()).trials(bench, "max", cases()));
    let all = Operation::new().with(minima::<f32>()).with(minima::<i32>());
    trials.extend(all.with(minima::<u32>()).trials(bench, "min", cases()));
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("every_class", every_class),
        ("products_of_floats", products_of_floats),
        ("ends_in_sums", ends_in_sums),
        ("only_later_values", only_later_values),
        ("signed_zeros", signed_zeros),
        ("views_begin_anywhere", views_begin_anywhere),
        ("alone_in_a_batch", alone_in_a_batch),
        ("refusals", refusals),
    ];
    trials.extend(bench.all_on_each_device(tests));
    trials
}

fn goldens(device: &Device) {
    let x = rows([&[3, 1, 4, 1, 5, -9][..], &[], &[7]]);
    let of = |of: fn(&Tensor<i32>) -> Result<Tensor<i32>>| run(device, &x, &x, |x, _| of(x));
    let golden = |what: &str, got: Ragged<i32>, expected: [&[i32]; 3]| {
        assert_exact(what, &got, &rows(expected));
    };
    golden(
        "sum",
        of(|x| x.cumsum(0)),
        [&[3, 4, 8, 9, 14, 5], &[], &[7]],
    );
    golden(
        "product",
        of(|x| x.cumprod(0)),
        [&[3, 3, 12, 12, 60, -540], &[], &[7]],
    );
    golden("max", of(|x| x.cummax(0)), [&[3, 3, 4, 4, 5, 5], &[], &[7]]);
    golden(
        "min",
        of(|x| x.cummin(0)),
        [&[3, 1, 1, 1, 1, -9], &[], &[7]],
    );
    let matrix = upload(device, &one(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let along = |axis| download(&matrix.cumsum(axis).unwrap()).values().to_vec();
    assert_eq!(along(0), [1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
    assert_eq!(along(1), [1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    let nothing = upload(
        device,
        &Ragged::<f32>::from_rows(Vec::<Vec<f32>>::new()).unwrap(),
    );
    assert!(nothing.cumsum(0).unwrap().is_empty());
    // The sums are never rounded before they are complete: 1 + … + 1 passes 2048, the last odd number of f16.
    let ones = upload(device, &one(&[4099], &[f16::ONE; 4099]));
    let sums = download(&ones.cumsum(0).unwrap());
    let last = [4096.0, 4096.0, 4100.0].map(f16::from_f32);
    assert_eq!(sums.values()[4096..], last);
}

fn integers<T: Number>(seed: &str, layout: &Layout) -> Ragged<T> {
    let mut random = rng(seed);
    Ragged::from_fn(layout, |_, _| T::integer(&mut random, 100)).unwrap()
}

fn exactly<T: Number>(device: &Device, what: &str, layout: &Layout, axis: usize) {
    let x = integers::<T>(what, layout);
    let (on, wide) = (upload(device, &x), widened(&x));
    let check = |name: &str, got: Result<Tensor<T>>, expected: Ragged<T::Wide>| {
        let expected = expected.cast(T::compared).unwrap();
        let none = vec![0.0; expected.values().len()];
        let what = format!("{name} of {}, {what}, axis {axis}", T::NAME);
        assert_within(what, &download(&got.unwrap()), &expected, &none);
    };
    let of = |with: fn(T::Wide, T::Wide) -> T::Wide| along(&wide, axis, |line| folded(line, with));
    check("sum", on.cumsum(axis), of(Arithmetic::plus));
    check("max", on.cummax(axis), of(larger));
    check("min", on.cummin(axis), of(smaller));
    if T::DTYPE != vsla::scalar::DType::F32 {
        check("product", on.cumprod(axis), of(Arithmetic::times));
    }
}

/// The same of halves, whose results are those of exact sums and products, rounded once.
fn halves_exactly(device: &Device, what: &str, layout: &Layout, axis: usize) {
    let mut random = rng(what);
    let check = |name: &str,
                 values: &mut dyn FnMut() -> f64,
                 of: fn(&Tensor<f16>, usize) -> Result<Tensor<f16>>,
                 with: fn(f64, f64) -> f64| {
        let x = Ragged::from_fn(layout, |_, _| f16_from_f64(values())).unwrap();
        let expected = along(&x.cast(f64::from).unwrap(), axis, |line| folded(line, with));
        let got = download(&of(&upload(device, &x), axis).unwrap());
        let what = format!("{name} of f16, {what}, axis {axis}");
        assert_exact(what, &got, &expected.cast(f16_from_f64).unwrap());
    };
    // Most sums have more than eleven digits.
    let mut whole = || f64::from(random.i32(-100..=100));
    check("sum", &mut whole, Tensor::cumsum, |x, y| x + y);
    check("max", &mut whole, Tensor::cummax, larger);
    check("min", &mut whole, Tensor::cummin, smaller);
    // Also below 2⁻¹⁴, and from 2¹⁶ on.
    let mut factor = || match random.u32(..40) {
        0 => -2.0,
        1 => 0.5,
        2 => 4.0,
        3 => -0.25,
        _ => 1.0,
    };
    check("product", &mut factor, Tensor::cumprod, |x, y| x * y);
}

/// Lines of every class and at the limits of classes, contiguous and strided.
fn every_class(device: &Device) {
    let counts = [
        0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025,
        4095, 4096, 4097, 8191, 8192, 8193, 20_000,
    ];
    let layout = |shapes: Vec<Vec<usize>>| {
        let shapes: Vec<Shape> = shapes.iter().map(|s| Shape::new(s).unwrap()).collect();
        Layout::from_shapes(shapes[0].rank(), shapes).unwrap()
    };
    let batches = [
        ("vectors", layout(counts.map(|n| vec![n]).into()), 0..1),
        ("beside", layout(counts.map(|n| vec![2, n]).into()), 0..2),
        (
            "apart",
            layout(counts.map(|n| vec![1 + usize::from(n < 300), n, 3]).into()),
            1..2,
        ),
        (
            "odd",
            layout(vec![
                vec![0, 3, 2],
                vec![3, 0, 2],
                vec![2, 3, 0],
                vec![1, 1, 1],
                vec![2, 40, 50],
                vec![3, 1, 5],
                vec![2, 33, 7],
            ]),
            0..3,
        ),
    ];
    for (what, layout, axes) in batches {
        for axis in axes {
            exactly::<f32>(device, what, &layout, axis);
            exactly::<i32>(device, what, &layout, axis);
            exactly::<u32>(device, what, &layout, axis);
            halves_exactly(device, what, &layout, axis);
        }
    }
    // More tiles than a workgroup cumulates in one round, and values that are not integers.
    let long = 4096 * 4096 + 5000;
    let layout = Layout::from_lengths([long]).unwrap();
    let x = Ragged::from_fn(&layout, |_, i| (i * 7 % 5) as u32).unwrap();
    let got = run(device, &x, &x, |x, _| x.cumsum(0));
    let mut sum = 0;
    for (i, (&y, &x)) in got.values().iter().zip(x.values()).enumerate() {
        sum += x;
        assert_eq!(y, sum, "{i}");
    }
    let x = batch("sums", &[&[3000], &[70_000], &[17], &[4097]]);
    let Sums {
        values,
        magnitudes,
        terms,
    } = summed(&widened(&x), 0);
    let bound = |(&size, &n): (&f64, &usize)| gamma(depth(n)) * size + n as f64 * TINY;
    let bounds: Vec<f64> = magnitudes.iter().zip(&terms).map(bound).collect();
    let got = run(device, &x, &x, |x, _| x.cumsum(0));
    assert_within("sums", &got, &values, &bounds);
    let x = x.cast(f16::from_f32).unwrap();
    let Sums {
        values,
        magnitudes,
        terms,
    } = summed(&x.cast(f64::from).unwrap(), 0);
    let bounds = magnitudes.iter().zip(&terms).map(bound);
    let bounds = bounds
        .zip(values.values())
        .map(|(b, y)| halves_bound(b, *y));
    let bounds: Vec<f64> = bounds.collect();
    let got = run(device, &x, &x, |x, _| x.cumsum(0));
    assert_within("sums of halves", &got, &values, &bounds);
}

/// The bound of a result that is rounded to f16 at the end.
fn halves_bound(bound: f64, value: f64) -> f64 {
    bound + (value.abs() + bound) * 2f64.powi(-11) + 2f64.powi(-25)
}

/// Factors near one, so that all products of runs are in range.
fn products_of_floats(device: &Device) {
    let mut random = rng("products");
    let shapes = [[3, 5], [1, 700], [9000, 1], [700, 3], [1, 9000]];
    let shapes = shapes.map(|shape| Shape::new(&shape).unwrap());
    let layout = Layout::from_shapes(2, shapes).unwrap();
    let x = Ragged::from_fn(&layout, |_, _| 1.0 + (random.f32() - 0.5) / 64.0).unwrap();
    for axis in 0..2 {
        let expected = along(&widened(&x), axis, |line| folded(line, |a: f64, b| a * b));
        // Each of the i products of result i is rounded once. Rounding errors of random factors cancel each other, so
        // that no result has more than what long lines of sums have.
        let roundings = along(&x, axis, |line| {
            (0..line.len()).map(|i| (i as f64).min(depth(1))).collect()
        });
        let bounds: Vec<f64> = expected
            .values()
            .iter()
            .zip(roundings.values())
            .map(|(y, &h): (_, &f64)| gamma(h) * y + TINY)
            .collect();
        let got = download(&upload(device, &x).cumprod(axis).unwrap());
        assert_within(format!("axis {axis}"), &got, &expected, &bounds);
        let x = x.cast(f16::from_f32).unwrap();
        let wide = x.cast(f64::from).unwrap();
        let expected = along(&wide, axis, |line| folded(line, |a, b| a * b));
        let bound = |(y, &h): (&f64, &f64)| halves_bound(gamma(h) * y, *y);
        let both = expected.values().iter().zip(roundings.values());
        let bounds: Vec<f64> = both.map(bound).collect();
        let got = download(&upload(device, &x).cumprod(axis).unwrap());
        assert_within(format!("halves, axis {axis}"), &got, &expected, &bounds);
    }
    // Near 1, where all rounding errors may have the same sign.
    let near = Layout::from_shapes(2, [[1, 50_000], [4000, 3]].map(|s| Shape::new(&s).unwrap()));
    let x = Ragged::from_fn(&near.unwrap(), |_, i| [1.0001f32, 0.9999][i % 2]).unwrap();
    for axis in 0..2 {
        let expected = along(&widened(&x), axis, |line| folded(line, |a: f64, b| a * b));
        let bounds = along(&x, axis, |line| {
            (0..line.len()).map(|i| gamma(i as f64)).collect()
        });
        let both = bounds.values().iter().zip(expected.values());
        let bounds: Vec<f64> = both.map(|(g, y): (&f64, _)| g * y).collect();
        let got = download(&upload(device, &x).cumprod(axis).unwrap());
        assert_within(format!("near 1, axis {axis}"), &got, &expected, &bounds);
    }
    let x = rows([
        &[2.0f32, 0.5, 0.0, 3.0, f32::INFINITY, 1.0],
        &[-1.0, f32::INFINITY, -2.0, 1.0, f32::NAN, 0.0],
    ]);
    let got = run(device, &x, &x, |x, _| x.cumprod(0));
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let expected = rows([
        &[2.0, 1.0, 0.0, 0.0, nan, nan],
        &[-1.0, -inf, inf, inf, nan, nan],
    ]);
    assert_exact("special values", &got, &expected);
}

/// The last cumulative sum of a line is its sum.
fn ends_in_sums(device: &Device) {
    let mut random = rng("ends in sums");
    let layout = Layout::from_lengths([5, 1, 900, 9000, 64, 0]).unwrap();
    let x = Ragged::from_fn(&layout, |_, _| random.i32(..)).unwrap();
    let on = upload(device, &x);
    let (sums, all) = (
        download(&on.sum().unwrap()),
        download(&on.cumsum(0).unwrap()),
    );
    let tops = download(&on.max().unwrap());
    let best = download(&on.cummax(0).unwrap());
    for element in 0..5 {
        assert_eq!(all.row(element).last(), Some(&sums.row(element)[0]));
        assert_eq!(best.row(element).last(), Some(&tops.row(element)[0]));
    }
}

/// NaN and infinity change no value before them and no other line, in every class.
fn only_later_values(device: &Device) {
    later(device, |x| x);
    later(device, f16::from_f32);
}

fn later<T: Comparable + Factor>(device: &Device, of_type: fn(f32) -> T) {
    for shape in [
        [2, 3],
        [3, 100],
        [2, 600],
        [2, 9000],
        [100, 3],
        [2000, 2],
        [9000, 2],
    ] {
        let axis = usize::from(shape[0] < shape[1]);
        let clean = batch("later", &[&shape]).cast(of_type).unwrap();
        let mut spoilt = clean.values().to_vec();
        // In the first line, a third of the way.
        let at = match axis {
            0 => shape[0] / 3 * shape[1],
            _ => shape[1] / 3,
        };
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            spoilt[at] = of_type(bad);
            let both = [clean.values(), &spoilt].map(|values| upload(device, &one(&shape, values)));
            for of in [Tensor::<T>::cumsum, Tensor::cummax] {
                let [clean, spoilt] = both.each_ref().map(|x| download(&of(x, axis).unwrap()));
                for (i, (x, y)) in clean.values().iter().zip(spoilt.values()).enumerate() {
                    let (x, y) = (x.as_f64(), y.as_f64());
                    let (row, column) = (i / shape[1], i % shape[1]);
                    let (line, k) = if axis == 0 {
                        (column, row)
                    } else {
                        (row, column)
                    };
                    if line > 0 || k < shape[axis] / 3 {
                        assert_eq!(x.to_bits(), y.to_bits(), "{shape:?}: {i} of {bad}");
                    } else if bad.is_nan() {
                        assert!(y.is_nan(), "{shape:?}: {i}");
                    } else if bad > 0.0 {
                        // Also the sum of infinity and what follows.
                        assert_eq!(y, f64::from(bad), "{shape:?}: {i}");
                    }
                }
            }
        }
    }
}

/// −0 is smaller than 0, and a sum of −0 alone is −0.
fn signed_zeros(device: &Device) {
    signs(device, |x| x);
    signs(device, f16::from_f32);
}

fn signs<T: Comparable + Factor>(device: &Device, of_type: fn(f32) -> T) {
    let x = rows([&[-0.0f32, -0.0, 0.0, -0.0], &[0.0, -0.0, -0.0, 0.0]]);
    let x = x.cast(of_type).unwrap();
    let bits = |of: fn(&Tensor<T>) -> Result<Tensor<T>>| {
        let y = run(device, &x, &x, |x, _| of(x));
        y.values()
            .iter()
            .map(|y| u32::from(y.as_f64().is_sign_negative()))
            .collect::<Vec<_>>()
    };
    assert_eq!(bits(|x| x.cummax(0)), [1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bits(|x| x.cummin(0)), [1, 1, 1, 1, 0, 1, 1, 1]);
    assert_eq!(bits(|x| x.cumsum(0)), [1, 1, 0, 0, 0, 0, 0, 0]);
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
            for of in [
                Tensor::<T>::cumsum,
                Tensor::cumprod,
                Tensor::cummax,
                Tensor::cummin,
            ] {
                let [view, copy] = [&view, &copy].map(|x| download(&of(x, axis).unwrap()));
                assert_identical(format!("from {first}"), &view, &copy);
            }
        }
    }
}

/// The bits of a line do not depend on the batch.
fn alone_in_a_batch(device: &Device) {
    let lengths = [3usize, 64, 65, 512, 700, 1025, 4096, 4097, 30_000, 1];
    let lengths: Vec<[usize; 1]> = lengths.map(|n| [n]).into();
    let shapes: Vec<&[usize]> = lengths.iter().map(|n| &n[..]).collect();
    let x = batch("alone", &shapes);
    alone(device, &x);
    alone(device, &x.cast(f16::from_f32).unwrap());
}

fn alone<T: Comparable + Factor>(device: &Device, x: &Ragged<T>) {
    let on = upload(device, x);
    let all = [on.cumsum(0), on.cumprod(0)].map(|y| download(&y.unwrap()));
    for element in 0..x.len() {
        let single = on.elements(element..element + 1).unwrap();
        let single = [single.cumsum(0), single.cumprod(0)].map(|y| download(&y.unwrap()));
        for (all, single) in all.iter().zip(&single) {
            let bits = |row: &[T]| bytemuck::cast_slice::<T, u8>(row).to_vec();
            assert_eq!(bits(all.row(element)), bits(single.row(0)), "{element}");
        }
    }
}

fn refusals(device: &Device) {
    let x = upload(device, &one(&[2, 3], &[1; 6]));
    fn refused<T: Factor>(result: Result<Tensor<T>>, text: &str) {
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            ("argument", text)
        );
    }
    refused(
        x.cumsum(2),
        "cumsum: expected an axis below the rank of 2, got 2",
    );
    refused(
        x.cumprod(9),
        "cumprod: expected an axis below the rank of 2, got 9",
    );
    refused(
        x.cummax(2),
        "cummax: expected an axis below the rank of 2, got 2",
    );
    refused(
        x.cummin(usize::MAX),
        &format!(
            "cummin: expected an axis below the rank of 2, got {}",
            usize::MAX
        ),
    );
    let limited = upload(&device.with_work_limit(5), &one(&[2, 3], &[1; 6]));
    assert_eq!(limited.cumsum(0).unwrap_err().kind(), "work_limit");
}
