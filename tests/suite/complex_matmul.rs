//! Matrix products of complex numbers: exactly, within their bound, and the independence of elements.

use libtest_mimic::Trial;
use rustfft::num_complex::Complex64;
use vsla::{Complex32, Device, Layout, Pairing, Ragged, Shape};

use crate::support::bench::Bench;
use crate::support::compare::U;
use crate::support::corpus::rng;
use crate::support::operation::{download, pair_list, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("exact", exact),
        ("pairings", pairings),
        ("within_its_bound", within_its_bound),
        ("views", views),
        ("alone", alone),
        ("contained", contained),
        ("refused", refused),
    ]);
    trials.push(bench.host("a_second_call_plans_nothing", a_second_call_plans_nothing));
    trials
}

/// (m, k, n): products of every size of tile, long and short sums, single rows and columns, and empty ones.
const SIZES: [[usize; 3]; 12] = [
    [2, 3, 4],
    [1, 1, 1],
    [0, 3, 2],
    [3, 0, 2],
    [3, 2, 0],
    [1, 700, 1],
    [33, 5, 17],
    [1, 9, 40],
    [40, 9, 1],
    [64, 32, 64],
    [7, 300, 9],
    [70, 16, 130],
];

fn layout(shapes: impl Iterator<Item = [usize; 2]>) -> Layout {
    Layout::from_shapes(2, shapes.map(|shape| Shape::new(&shape).unwrap())).unwrap()
}

fn left() -> Layout {
    layout(SIZES.iter().map(|&[m, k, _]| [m, k]))
}

fn right() -> Layout {
    layout(SIZES.iter().map(|&[_, k, n]| [k, n]))
}

/// Values that depend on the element's shape and `seed` alone.
fn drawn(layout: &Layout, seed: u64, value: fn(&mut fastrand::Rng) -> f32) -> Ragged<Complex32> {
    let values = layout.shapes().flat_map(|shape| {
        let mut rng = rng(&format!("complex product {shape} {seed}"));
        (0..shape.size()).map(move |_| Complex32::new(value(&mut rng), value(&mut rng)))
    });
    Ragged::from_parts(layout.clone(), values.collect()).unwrap()
}

fn small(rng: &mut fastrand::Rng) -> f32 {
    rng.i32(-9..10) as f32
}

fn random(rng: &mut fastrand::Rng) -> f32 {
    rng.f32() * 2.0 - 1.0
}

/// A product in f64, and the sums of the products of absolute values.
fn product(a: &[Complex32], b: &[Complex32], [m, k, n]: [usize; 3]) -> Vec<(Complex64, f64)> {
    let wide = |z: Complex32| Complex64::new(z.re.into(), z.im.into());
    let entry = |i: usize, j: usize| {
        let terms = (0..k).map(|l| (wide(a[i * k + l]), wide(b[l * n + j])));
        terms.fold((Complex64::ZERO, 0.0), |(sum, size), (x, y)| {
            (sum + x * y, size + x.norm() * y.norm())
        })
    };
    (0..m)
        .flat_map(|i| (0..n).map(move |j| (i, j)))
        .map(|(i, j)| entry(i, j))
        .collect()
}

#[track_caller]
fn assert_exact(got: &[Complex32], a: &[Complex32], b: &[Complex32], size: [usize; 3]) {
    let expected = product(a, b, size);
    assert_eq!(got.len(), expected.len(), "{size:?}");
    for (got, (expected, _)) in got.iter().zip(expected) {
        assert_eq!(
            (f64::from(got.re), f64::from(got.im)),
            (expected.re, expected.im),
            "{size:?}"
        );
    }
}

fn exact(device: &Device) {
    let (a, b) = (drawn(&left(), 1, small), drawn(&right(), 2, small));
    let c = upload(device, &a).matmul(&upload(device, &b)).unwrap();
    let got = download(&c);
    for (element, &size) in SIZES.iter().enumerate() {
        assert_eq!(got.shape(element), Shape::new(&[size[0], size[2]]).unwrap());
        assert_exact(got.row(element), a.row(element), b.row(element), size);
    }
    let none = layout([].into_iter());
    let none = upload(device, &drawn(&none, 0, small));
    assert!(none.matmul(&none).unwrap().is_empty());
}

fn pairings(device: &Device) {
    let a = drawn(&layout([[2, 3], [1, 3], [5, 3]].into_iter()), 3, small);
    let b = drawn(&layout([[3, 4], [3, 1]].into_iter()), 4, small);
    let (x, y) = (upload(device, &a), upload(device, &b));
    let list = pair_list([(2, 0), (0, 1), (0, 1)]);
    let all: Vec<_> = (0..3).flat_map(|i| (0..2).map(move |j| (i, j))).collect();
    for (pairing, pairs) in [
        (Pairing::AllToAll, all),
        (Pairing::List(&list), vec![(2, 0), (0, 1), (0, 1)]),
    ] {
        let got = download(&x.pair(&y, pairing).unwrap().matmul().unwrap());
        assert_eq!(got.len(), pairs.len());
        for (pair, (i, j)) in pairs.into_iter().enumerate() {
            let rows = a.shape(i).extents()[0] as usize;
            let columns = b.shape(j).extents()[1] as usize;
            assert_exact(got.row(pair), a.row(i), b.row(j), [rows, 3, columns]);
        }
    }
    let one = x.elements(1..2).unwrap();
    let got = download(&one.pair(&y, Pairing::OneToAll).unwrap().matmul().unwrap());
    assert_exact(got.row(0), a.row(1), b.row(0), [1, 3, 4]);
    assert_exact(got.row(1), a.row(1), b.row(1), [1, 3, 1]);
    let one = y.elements(1..2).unwrap();
    let got = download(&x.pair(&one, Pairing::AllToOne).unwrap().matmul().unwrap());
    for element in 0..a.len() {
        let rows = a.shape(element).extents()[0] as usize;
        assert_exact(got.row(element), a.row(element), b.row(1), [rows, 3, 1]);
    }
}

fn within_its_bound(device: &Device) {
    let (a, b) = (drawn(&left(), 5, random), drawn(&right(), 6, random));
    let got = download(&upload(device, &a).matmul(&upload(device, &b)).unwrap());
    for (element, &size) in SIZES.iter().enumerate() {
        let terms = 2 * size[1];
        let depth = (terms.min(512) + terms.div_ceil(512)) as f64;
        let gamma = depth * U / (1.0 - depth * U);
        let expected = product(a.row(element), b.row(element), size);
        for (got, (expected, size)) in got.row(element).iter().zip(expected) {
            for (got, expected) in [(got.re, expected.re), (got.im, expected.im)] {
                let error = (f64::from(got) - expected).abs();
                assert!(error <= gamma * size + 1e-37, "{got}, not {expected}");
            }
        }
    }
}

/// Operands may be views.
fn views(device: &Device) {
    let (a, b) = (drawn(&left(), 7, random), drawn(&right(), 8, random));
    let (x, y) = (upload(device, &a), upload(device, &b));
    let all = download(&x.matmul(&y).unwrap());
    for first in 0..SIZES.len() {
        let part = |x: &vsla::Tensor<Complex32>| x.elements(first..SIZES.len()).unwrap();
        let got = download(&part(&x).matmul(&part(&y)).unwrap());
        let from = all.layout().offsets().range(first).start;
        assert_eq!(got.values(), &all.values()[from..], "{first}");
    }
}

fn alone(device: &Device) {
    let (a, b) = (drawn(&left(), 9, random), drawn(&right(), 10, random));
    let all = download(&upload(device, &a).matmul(&upload(device, &b)).unwrap());
    for (element, &[m, k, n]) in SIZES.iter().enumerate() {
        let one = |batch: &Ragged<Complex32>, shape: [usize; 2]| {
            let values = batch.row(element).to_vec();
            upload(
                device,
                &Ragged::from_parts(layout([shape].into_iter()), values).unwrap(),
            )
        };
        let got = download(&one(&a, [m, k]).matmul(&one(&b, [k, n])).unwrap());
        let bits = |row: &[Complex32]| bytemuck::pod_collect_to_vec::<_, u32>(row);
        assert_eq!(bits(got.values()), bits(all.row(element)), "{element}");
    }
}

/// NaN and infinity reach only a row or a column of their own product.
fn contained(device: &Device) {
    let a = drawn(&layout([[3, 4], [3, 4]].into_iter()), 11, small);
    let b = drawn(&layout([[4, 5], [4, 5]].into_iter()), 12, small);
    let clean = download(&upload(device, &a).matmul(&upload(device, &b)).unwrap());
    for wrong in [f32::NAN, f32::INFINITY] {
        for of_left in [true, false] {
            let (mut rows, mut columns) = (a.values().to_vec(), b.values().to_vec());
            // Row 1 of the second left factor, or column 2 of the second right one.
            match of_left {
                true => rows[12 + 4 + 3].im = wrong,
                false => columns[20 + 3 * 5 + 2].re = wrong,
            }
            let x = upload(
                device,
                &Ragged::from_parts(a.layout().clone(), rows).unwrap(),
            );
            let y = upload(
                device,
                &Ragged::from_parts(b.layout().clone(), columns).unwrap(),
            );
            let got = download(&x.matmul(&y).unwrap());
            assert_eq!(got.row(0), clean.row(0));
            for i in 0..3 {
                for j in 0..5 {
                    let (got, clean) = (got.row(1)[5 * i + j], clean.row(1)[5 * i + j]);
                    match (of_left && i == 1) || (!of_left && j == 2) {
                        true => assert!(!got.re.is_finite() || !got.im.is_finite()),
                        false => assert_eq!(got, clean),
                    }
                }
            }
        }
    }
}

fn refused(device: &Device) {
    let of =
        |shapes: &[[usize; 2]]| upload(device, &drawn(&layout(shapes.iter().copied()), 0, small));
    let vectors = upload(
        device,
        &Ragged::from_rows([[Complex32::ONE; 3]; 2]).unwrap(),
    );
    let a = of(&[[2, 3], [4, 5]]);
    let texts = [
        (
            a.matmul(&of(&[[3, 1], [4, 5]])),
            "matmul: pair 1: expected equal inner extents, got 5 and 4",
        ),
        (a.matmul(&vectors), "matmul: expected a rank of 2, got 1"),
        (vectors.matmul(&a), "matmul: expected a rank of 2, got 1"),
        (
            a.matmul(&of(&[[3, 1]])),
            "matmul: expected batches of equal size, got 2 elements and 1; pair unequal batches by AllToOne, AllToAll \
             or a List",
        ),
        (
            a.pair(&of(&[[3, 1]]), Pairing::AllToAll).unwrap().matmul(),
            "matmul: pair 1: expected equal inner extents, got 5 and 3",
        ),
    ];
    for (outcome, expected) in texts {
        assert_eq!(outcome.unwrap_err().to_string(), expected);
    }
    let limited = upload(&device.with_work_limit(100), &download(&a));
    let error = limited.matmul(&of(&[[3, 50], [5, 50]])).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("work_limit", "matmul"));
}

fn a_second_call_plans_nothing() {
    let device = Device::cpu();
    let x = upload(&device, &drawn(&left(), 13, small));
    let y = upload(&device, &drawn(&right(), 14, small));
    let first = x.matmul(&y).unwrap();
    let before = device.counters();
    let second = x.matmul(&y).unwrap();
    let after = device.counters();
    assert_eq!((before.plans, before.layouts), (after.plans, after.layouts));
    assert_eq!(download(&first), download(&second));
}
