//! Ambient shapes and pairings.

use vsla::{Device, Layout, Pairing, Shape, f16};

use super::reference::{ambient, assert_near, displaced, drawn, elementwise, layout};
use super::{Value, called, called_paired, names, of_every_type, telling};
use crate::support::operation::{one, pair_list, upload};

pub fn missing_entries(device: &Device) {
    let a = upload(device, &one(&[3, 2], &[1.0f32, -2.0, 3.0, -4.0, 5.0, -6.0]));
    let b = upload(device, &one(&[1, 3], &[2.0f32, 4.0, -3.0]));
    for (name, expected) in [
        ("div", [0.5, -0.5, 0., 0., 0., 0., 0., 0., 0.]),
        ("maximum", [2., 4., -3., 3., -4., 0., 5., -6., 0.]),
        ("minimum", [1., -2., -3., 3., -4., 0., 5., -6., 0.]),
        ("equal", [0., 0., 0., 0., 0., 1., 0., 0., 1.]),
        ("less", [1., 1., 0., 0., 1., 0., 0., 1., 0.]),
    ] {
        let got = called(name, &a, (&b).into()).unwrap();
        assert_eq!(got.values(), expected, "{name}");
        assert_eq!(got.shape(0), Shape::new(&[3, 3]).unwrap());
    }
    // Values without a partner are not read.
    let nan = upload(device, &one(&[2], &[1.0f32, f32::NAN]));
    let b = upload(device, &one(&[1], &[2.0f32]));
    assert_eq!(
        called("div", &nan, (&b).into()).unwrap().values(),
        [0.5, 0.0]
    );
    assert_eq!(
        called("div", &b, (&nan).into()).unwrap().values(),
        [2.0, 0.0]
    );
    assert!(called("maximum", &nan, (&b).into()).unwrap().values()[1].is_nan());
}

/// Different layouts: vectors with and without tables, matrices, boxes, and merged axes.
pub fn crossing() -> Vec<[Layout; 2]> {
    let vectors = |lengths: &[usize]| Layout::from_lengths(lengths.to_vec()).unwrap();
    let many: Vec<usize> = (0..900).map(|i| i * 7 % 5).collect();
    let others: Vec<usize> = (0..900).map(|i| i * 5 % 6).collect();
    let mut deep = [[1; vsla::batch::MAX_RANK]; 2];
    (deep[0][0], deep[0][7], deep[1][3], deep[1][7]) = (3, 2, 2, 5);
    vec![
        [
            vectors(&[3, 0, 2500, 5, 1, 70, 9, 301, 302, 303]),
            vectors(&[5, 4, 2497, 0, 1, 33, 9, 298, 297, 299]),
        ],
        [vectors(&many), vectors(&others)],
        [
            layout(2, &[&[3, 5], &[0, 4], &[40, 33], &[1, 1]]),
            layout(2, &[&[7, 2], &[2, 0], &[33, 40], &[1, 1]]),
        ],
        [
            layout(3, &[&[2, 3, 4], &[1, 5, 2], &[0, 0, 0]]),
            layout(3, &[&[3, 1, 4], &[4, 2, 3], &[2, 1, 1]]),
        ],
        [
            layout(3, &[&[2, 3, 4], &[5, 3, 2]]),
            layout(3, &[&[3, 3, 4], &[1, 3, 2]]),
        ],
        [layout(8, &[&deep[0]]), layout(8, &[&deep[1]])],
    ]
}

pub fn in_every_shape(device: &Device) {
    of_every_type!(shapes_of(device));
}

fn shapes_of<T: Value>(device: &Device) {
    for (k, [left, right]) in crossing().iter().enumerate() {
        let (a, b) = (drawn::<T>(left, "left"), drawn::<T>(right, "right"));
        let (x, y) = (
            displaced(device, &a, k % 4),
            displaced(device, &b, 3 * k % 5),
        );
        for name in telling::<T>() {
            let expected = ambient(name, &a, &b, &elementwise(a.len()));
            assert_near::<T>(name, &called(name, &x, (&y).into()).unwrap(), &expected);
        }
    }
}

pub fn of_one_layout(device: &Device) {
    of_every_type!(flat_of(device));
}

fn flat_of<T: Value>(device: &Device) {
    for length in [1, 2, 3, 4, 5, 7, 8, 9, 2047, 2049, 5003] {
        let layout = Layout::from_lengths([length / 2, 0, length - length / 2]).unwrap();
        let (a, b) = (drawn::<T>(&layout, "left"), drawn::<T>(&layout, "right"));
        for by in 0..5 {
            let (x, y) = (displaced(device, &a, by), displaced(device, &b, 3 * by % 7));
            for name in names::<T>() {
                let expected = ambient(name, &a, &b, &elementwise(3));
                assert_near::<T>(name, &called(name, &x, (&y).into()).unwrap(), &expected);
            }
            if length > 9 && by > 1 {
                break;
            }
        }
    }
}

pub fn pairings(device: &Device) {
    of_every_type!(pairings_of(device));
}

fn pairings_of<T: Value>(device: &Device) {
    let a = drawn::<T>(&layout(2, &[&[3, 2]]), "one");
    let b = drawn::<T>(&layout(2, &[&[2, 4], &[3, 2], &[0, 1]]), "three");
    let (x, y) = (upload(device, &a), upload(device, &b));
    let list = [(2, 0), (1, 0), (2, 0)];
    let listed = list.map(|(i, j)| (i as usize, j as usize));
    for name in telling::<T>() {
        let pairs = [(0, 0), (0, 1), (0, 2)];
        for pairing in [Pairing::OneToAll, Pairing::AllToAll] {
            let got = called_paired(name, &x.pair(&y, pairing).unwrap()).unwrap();
            assert_near::<T>(name, &got, &ambient(name, &a, &b, &pairs));
        }
        let got = called_paired(name, &y.pair(&x, Pairing::AllToOne).unwrap()).unwrap();
        let all = [(0, 0), (1, 0), (2, 0)];
        assert_near::<T>(name, &got, &ambient(name, &b, &a, &all));
        let got =
            called_paired(name, &y.pair(&x, Pairing::List(&pair_list(list))).unwrap()).unwrap();
        assert_near::<T>(name, &got, &ambient(name, &b, &a, &listed));
        let same = y.pair(&y, Pairing::Elementwise).unwrap();
        let got = called_paired(name, &same).unwrap();
        assert_near::<T>(name, &got, &ambient(name, &b, &b, &elementwise(3)));
    }
}
