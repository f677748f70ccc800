//! Differences of neighbours along an axis.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Factor};

use crate::lines::{batch, places};
use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_exact, assert_identical};
use crate::support::corpus::rng;
use crate::support::operation::{download, one, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("every_axis", every_axis),
        ("ends", ends),
        ("halves", halves),
        ("undoes_cumsum", undoes_cumsum),
        ("views_begin_anywhere", views_begin_anywhere),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

fn goldens(device: &Device) {
    let x = upload(
        device,
        &rows([&[1, 4, 9, 16][..], &[5], &[], &[i32::MAX, i32::MIN]]),
    );
    let got = download(&x.diff(0).unwrap());
    assert_exact("integers", &got, &rows([&[3, 5, 7][..], &[], &[], &[1]]));
    let x = upload(device, &one(&[2, 3], &[1.0f32, 2.0, 4.0, 10.0, 20.0, 40.0]));
    assert_eq!(download(&x.diff(0).unwrap()).values(), [9.0, 18.0, 36.0]);
    let y = download(&x.diff(1).unwrap());
    assert_eq!(
        (y.values(), y.shape(0).extents()),
        (&[1.0, 2.0, 10.0, 20.0][..], &[2, 2][..])
    );
    let nothing = upload(
        device,
        &Ragged::<f32>::from_rows(Vec::<Vec<f32>>::new()).unwrap(),
    );
    assert!(nothing.diff(0).unwrap().is_empty());
}

/// The differences of each line, where results are in row-major order of their own shape.
fn differences<T: Factor>(x: &Ragged<T>, axis: usize, minus: fn(T, T) -> T) -> Ragged<T> {
    let (mut values, mut shapes) = (Vec::new(), Vec::new());
    for element in 0..x.len() {
        let mut extents: Vec<usize> = x
            .shape(element)
            .extents()
            .iter()
            .map(|&e| e as usize)
            .collect();
        let lines = places(x.shape(element).extents(), Some(axis));
        extents[axis] = extents[axis].saturating_sub(1);
        let shape = Shape::new(&extents).unwrap();
        let (first, row) = (values.len(), x.row(element));
        values.resize(first + shape.size(), T::default());
        for (from, to) in lines.iter().zip(places(shape.extents(), Some(axis))) {
            for (pair, to) in from.windows(2).zip(to) {
                values[first + to] = minus(row[pair[1]], row[pair[0]]);
            }
        }
        shapes.push(shape);
    }
    Ragged::from_shapes(values, x.layout().rank(), shapes).unwrap()
}

fn every_axis(device: &Device) {
    let shapes: [&[&[usize]]; 4] = [
        &[&[0], &[1], &[2], &[3000], &[17], &[2049]],
        &[
            &[0, 5],
            &[5, 0],
            &[1, 1],
            &[2, 2],
            &[70, 33],
            &[1, 9],
            &[9, 1],
        ],
        &[
            &[3, 4, 5],
            &[0, 2, 2],
            &[2, 0, 2],
            &[2, 2, 0],
            &[1, 1, 1],
            &[7, 1, 9],
        ],
        &[&[2, 3, 4, 5], &[1, 1, 1, 1], &[3, 1, 2, 2]],
    ];
    for shapes in shapes {
        let x = batch("diff", shapes);
        let whole: Ragged<u32> = x.cast(|x| (x * 1e9) as i32 as u32).unwrap();
        for axis in 0..x.layout().rank() {
            let got = download(&upload(device, &x).diff(axis).unwrap());
            // Rounded once on every device.
            assert_identical(
                format!("axis {axis}"),
                &got,
                &differences(&x, axis, |x, y| x - y),
            );
            let got = download(&upload(device, &whole).diff(axis).unwrap());
            let expected = differences(&whole, axis, u32::wrapping_sub);
            assert_exact(format!("integers, axis {axis}"), &got, &expected);
        }
    }
}

/// NaN and infinity reach only their own differences.
fn ends(device: &Device) {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = upload(
        device,
        &rows([
            &[1.0, nan, 2.0, 4.0, inf, 5.0],
            &[inf, inf, -inf, 1.0, 1.0, 2.0],
        ]),
    );
    let expected = rows([&[nan, nan, 2.0, inf, -inf], &[nan, -inf, inf, 0.0, 1.0]]);
    assert_exact("ends", &download(&x.diff(0).unwrap()), &expected);
}

fn halves(device: &Device) {
    let mut random = rng("halves");
    let layout = Layout::from_lengths([1, 0, 5, 300, 2, 7, 9]).unwrap();
    let x = Ragged::from_fn(&layout, |_, _| f16::from_f32(random.f32() * 8.0 - 4.0)).unwrap();
    for first in 0..3 {
        let view = device.upload(&x).unwrap().elements(first..7).unwrap();
        let of = |x: f16, y: f16| f16::from_f32(x.to_f32() - y.to_f32());
        let expected = differences(&view.download_blocking().unwrap(), 0, of);
        let got = view.diff(0).unwrap().download_blocking().unwrap();
        let [got, expected] = [got, expected].map(|x| x.cast(f16::to_f32).unwrap());
        assert_identical("halves", &got, &expected);
    }
}

/// The differences of cumulative sums are the values but the first.
fn undoes_cumsum(device: &Device) {
    let mut random = rng("undoes");
    let layout = Layout::from_lengths([5, 900, 1, 9000]).unwrap();
    let x = Ragged::from_fn(&layout, |_, _| random.i32(..)).unwrap();
    let sums = upload(device, &x).cumsum(0).unwrap();
    let got = download(&sums.diff(0).unwrap());
    for element in 0..x.len() {
        assert_eq!(got.row(element), &x.row(element)[1..]);
    }
}

/// Elements at odd offsets of a larger buffer.
fn views_begin_anywhere(device: &Device) {
    let x = batch("views", &[&[3, 1], &[5, 7], &[1, 901], &[3, 333], &[9, 9]]);
    let all = upload(device, &x);
    for first in 1..4 {
        let view = all.elements(first..5).unwrap();
        let copy = upload(device, &download(&view));
        for axis in 0..2 {
            let [view, copy] = [&view, &copy].map(|x| download(&x.diff(axis).unwrap()));
            assert_identical(format!("from {first}"), &view, &copy);
        }
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
        x.diff(2),
        "diff: expected an axis below the rank of 2, got 2",
    );
}
