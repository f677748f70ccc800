//! Addition and subtraction.

use libtest_mimic::Trial;
use proptest::prelude::*;
use vsla::{Device, Layout, Ragged, Shape};

use crate::support::bench::Bench;
use crate::support::compare::assert_exact;
use crate::support::corpus;
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected, Operation, golden, one, run};
use crate::support::property;
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = || [corpus::all(), corpus::boxes()].concat();
    let mut trials = Operation::new()
        .with(add::<f32>())
        .with(add::<i32>())
        .with(add::<u32>())
        .trials(bench, "", cases());
    trials.extend(
        Operation::new()
            .with(sub::<f32>())
            .with(sub::<i32>())
            .with(sub::<u32>())
            .trials(bench, "sub", cases()),
    );
    trials.extend(bench.on_each_device("goldens", goldens));
    trials.extend(bench.on_each_device("sub::goldens", sub_goldens));
    trials.extend(bench.on_each_device("an_extent_of_one_is_not_special", extents_of_one));
    trials.extend(bench.on_each_device("ambient_shapes", ambient_shapes));
    trials.extend(bench.on_each_device("special_values", special_values));
    trials.extend(bench.on_each_device("integers_wrap", integers_wrap));
    trials.extend(bench.on_each_device("as_many_elements_as_a_table_holds", full_tables));
    trials.extend(bench.on_each_device("rows_of_any_width", rows_of_any_width));
    trials.extend(bench.on_each_device("commutes", commutes));
    trials.extend(bench.on_each_device("sub_undoes_add", sub_undoes_add));
    trials
}

fn add<T: Number>() -> Binary<T, T> {
    Binary {
        name: "add",
        run: |x, y| x.add(y),
        paired: Some(|pair| pair.add()),
        expected: Some(|a, b, pairs| {
            Expected::rounded::<T>(reference::add(&widened(a), &widened(b), pairs).values)
        }),
        spreads: false,
        series_only: false,
    }
}

fn sub<T: Number>() -> Binary<T, T> {
    Binary {
        name: "sub",
        run: |x, y| x.sub(y),
        paired: Some(|pair| pair.sub()),
        expected: Some(|a, b, pairs| {
            Expected::rounded::<T>(reference::sub(&widened(a), &widened(b), pairs).values)
        }),
        spreads: false,
        series_only: false,
    }
}

fn goldens(device: &Device) {
    golden::<f32, f32, 6>(
        device,
        |x, y| x.add(y),
        [
            (&[1., 2., 3.], &[4., 5.], &[5., 7., 3.]),
            (&[1.], &[0., 1.], &[1., 1.]),
            (&[], &[7., 8.], &[7., 8.]),
            (&[7., 8.], &[], &[7., 8.]),
            (&[], &[], &[]),
            (&[1., 2., 3.], &[5.], &[6., 2., 3.]),
        ],
    );
}

fn sub_goldens(device: &Device) {
    golden::<f32, f32, 4>(
        device,
        |x, y| x.sub(y),
        [
            (&[5., 3., 2.], &[2., 1., 2.], &[3., 2., 0.]),
            (&[], &[1., -2.], &[-1., 2.]),
            (&[1., -2.], &[], &[1., -2.]),
            (&[1.], &[1., 1.], &[0., -1.]),
        ],
    );
    golden::<u32, u32, 1>(device, |x, y| x.sub(y), [(&[1, 1], &[2], &[u32::MAX, 1])]);
}

/// An extent of 1 is not broadcast as in NumPy, and addition commutes.
fn extents_of_one(device: &Device) {
    type Case = [([usize; 2], &'static [i32]); 3];
    let cases: [Case; 3] = [
        [
            ([2, 2], &[1, 2, 3, 4]),
            ([1, 2], &[10, 20]),
            ([2, 2], &[11, 22, 3, 4]),
        ],
        [
            ([2, 2], &[1, 2, 3, 4]),
            ([2, 1], &[10, 20]),
            ([2, 2], &[11, 2, 23, 4]),
        ],
        [
            ([3, 1], &[1, 2, 3]),
            ([1, 2], &[10, 20]),
            ([3, 2], &[11, 20, 2, 0, 3, 0]),
        ],
    ];
    for case in cases {
        let [a, b, sum] = case.map(|(shape, values)| one(&shape, values));
        assert_exact("a + b", &run(device, &a, &b, |x, y| x.add(y)), &sum);
        assert_exact("b + a", &run(device, &b, &a, |x, y| x.add(y)), &sum);
    }
}

fn ambient_shapes(device: &Device) {
    let (a, b) = (one(&[3, 5], &[1; 15]), one(&[7, 2], &[10; 14]));
    let got = run(device, &a, &b, |x, y| x.add(y));
    let sum = [
        [[11, 11, 1, 1, 1]; 3].concat(),
        [[10, 10, 0, 0, 0]; 4].concat(),
    ]
    .concat();
    assert_exact("3×5 + 7×2", &got, &one(&[7, 5], &sum));
    // Empty elements keep their extents.
    let (a, b) = (one::<f32>(&[3, 0], &[]), one(&[0, 2], &[]));
    assert_exact(
        "3×0 + 0×2",
        &run(device, &a, &b, |x, y| x.add(y)),
        &one(&[3, 2], &[0.; 6]),
    );
    let (a, b) = (one::<f32>(&[4, 0, 2], &[]), one(&[1, 0, 5], &[]));
    assert_exact(
        "4×0×2 + 1×0×5",
        &run(device, &a, &b, |x, y| x.add(y)),
        &one(&[4, 0, 5], &[]),
    );
}

fn special_values(device: &Device) {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    golden::<f32, f32, 4>(
        device,
        |x, y| x.add(y),
        [
            (&[nan, 1.], &[1., nan, nan], &[nan, nan, nan]),
            (&[inf, -inf, inf], &[inf, -inf, -inf], &[inf, -inf, nan]),
            (&[1., 2., inf], &[1.], &[2., 2., inf]),
            (&[f32::MAX, 1e30], &[f32::MAX, -1e30], &[inf, 0.]),
        ],
    );
}

fn integers_wrap(device: &Device) {
    golden::<i32, i32, 2>(
        device,
        |x, y| x.add(y),
        [
            (&[i32::MAX, i32::MIN], &[1, -1], &[i32::MIN, i32::MAX]),
            (&[-1], &[-1], &[-2]),
        ],
    );
    golden::<u32, u32, 1>(device, |x, y| x.add(y), [(&[u32::MAX, 7], &[2], &[1, 7])]);
}

/// Tiles of 1,024 values that overlap about 256 vectors or 64 matrices, the capacity of the kernels' tables.
fn full_tables(device: &Device) {
    let check = |left: &Layout, right: &Layout| {
        let a = Ragged::from_fn(left, |element, i| (element * 31 + i * 7) as i32).unwrap();
        let b = Ragged::from_fn(right, |element, i| -((element * 17 + i * 1009) as i32)).unwrap();
        let expected =
            reference::add(&widened(&a), &widened(&b), &reference::elementwise(a.len())).values;
        assert_exact(left, &run(device, &a, &b, |x, y| x.add(y)), &expected);
    };
    for (length, elements) in [
        (4, 255),
        (4, 256),
        (4, 257),
        (4, 1030),
        (3, 700),
        (5, 700),
        (1, 2500),
    ] {
        let lengths = |less: usize| Layout::from_lengths(vec![length - less; elements]).unwrap();
        check(&lengths(0), &lengths(1));
        check(&lengths(1), &lengths(0));
        // Empty elements in between, which also take entries of the tables.
        let sparse = |less: usize| {
            let lengths = (0..elements).map(|i| if i % 3 == 0 { length - less } else { 0 });
            Layout::from_lengths(lengths).unwrap()
        };
        check(&sparse(0), &sparse(1));
    }
    for (extents, elements) in [
        ([4, 4], 63),
        ([4, 4], 64),
        ([4, 4], 200),
        ([3, 5], 200),
        ([2, 2], 700),
    ] {
        for rank in [2, 3] {
            let layout = |less: usize| {
                let extents = [extents[0], extents[1] - less, 1];
                // A third axis whose extent differs in one pair, so that it cannot be merged.
                let odd = [1, 1, 2];
                let shapes = (0..elements).map(|i| {
                    let extents = if rank == 3 && i == 5 && less == 0 {
                        odd
                    } else {
                        extents
                    };
                    Shape::new(&extents[..rank]).unwrap()
                });
                Layout::from_shapes(rank, shapes).unwrap()
            };
            check(&layout(0), &layout(1));
            check(&layout(1), &layout(0));
        }
    }
}

/// The kernel divides by the width in f32 and must find the right row: narrow and tall boxes, and every width.
fn rows_of_any_width(device: &Device) {
    let shape = |height: usize, width: usize| Shape::new(&[height, width]).unwrap();
    let widths = Layout::from_shapes(2, (1..300).map(|width| shape(7, width))).unwrap();
    let narrower = Layout::from_shapes(2, (1..300).map(|width| shape(6, width - 1))).unwrap();
    let a = Ragged::from_fn(&widths, |element, i| (element * 31 + i * 7) as i32).unwrap();
    let b = Ragged::from_fn(&narrower, |element, i| -((element * 17 + i * 1009) as i32)).unwrap();
    let expected =
        reference::add(&widened(&a), &widened(&b), &reference::elementwise(a.len())).values;
    assert_exact(
        "every width",
        &run(device, &a, &b, |x, y| x.add(y)),
        &expected,
    );

    let tall = Layout::uniform(1, shape(5_500_000, 3)).unwrap();
    let less = Layout::uniform(1, shape(5_400_000, 2)).unwrap();
    let a = Ragged::from_fn(&tall, |_, i| i as i32).unwrap();
    let b = Ragged::from_fn(&less, |_, i| 3 * i as i32).unwrap();
    let expected = Ragged::from_fn(&tall, |_, i| {
        let (row, along) = (i / 3, i % 3);
        let there = row < 5_400_000 && along < 2;
        i as i32
            + if there {
                3 * (2 * row + along) as i32
            } else {
                0
            }
    })
    .unwrap();
    assert_exact(
        "a tall one",
        &run(device, &a, &b, |x, y| x.add(y)),
        &expected,
    );
}

fn commutes(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let sum = run(device, &a, &b, |x, y| x.add(y));
        assert_exact("b + a", &run(device, &b, &a, |x, y| x.add(y)), &sum);
    });
}

fn sub_undoes_add(device: &Device) {
    property::on(device, property::two_batches(), |(a, b)| {
        let got = run(device, &a, &b, |x, y| x.add(y)?.sub(y));
        let zero = b.cast(|_| 0).unwrap();
        assert_exact("a + b − b", &got, &run(device, &a, &zero, |x, y| x.add(y)));
    });
    property::on(device, any::<i32>(), |value| {
        let batch = Ragged::from_rows([[value]]).unwrap();
        let got = run(device, &batch, &batch, |x, y| x.sub(y));
        assert_exact("a − a", &got, &batch.cast(|_| 0).unwrap());
    });
}
