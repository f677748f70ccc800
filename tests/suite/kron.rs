//! Kronecker and outer products.

use libtest_mimic::Trial;
use proptest::collection::vec;
use proptest::prelude::*;
use vsla::{Device, Error, Layout, Ragged, Result, Shape, Tensor, f16, scalar::f16_from_f64};

use crate::support::bench::Bench;
use crate::support::compare::assert_exact;
use crate::support::corpus::{self, Case, rng};
use crate::support::number::{Number, widened};
use crate::support::operation::{
    Binary, Expected, Operation, download, golden, one, pair_list, pick, rows, run, upload,
};
use crate::support::property;
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Operation::new()
        .with(kron::<f32>())
        .with(kron::<i32>())
        .with(kron::<u32>())
        .with_long_cases(is_long)
        .trials(bench, "", cases(8));
    // Pairs whose ranks add up to at most 8.
    trials.extend(
        Operation::new()
            .with(outer::<f32>())
            .with(outer::<i32>())
            .with(outer::<u32>())
            .with_long_cases(is_long)
            .trials(bench, "outer", cases(4)),
    );
    trials.extend(bench.on_each_device("goldens", goldens));
    trials.extend(bench.on_each_device("matrices", matrices));
    trials.extend(bench.on_each_device("empty_elements", empty_elements));
    trials.extend(bench.on_each_device("axes_that_merge", axes_that_merge));
    trials.extend(bench.on_each_device("special_values", special_values));
    trials.extend(bench.on_each_device("counterexamples", counterexamples));
    trials.extend(bench.on_each_device("laws", laws));
    trials.extend(bench.on_each_device("outer::ranks", outer_of_unequal_ranks));
    trials.extend(bench.on_each_device("outer::laws", outer_laws));
    trials.extend(bench.on_each_device("outer::pairings", outer_pairings));
    trials.extend(bench.on_each_device("halves", halves));
    trials.extend(bench.on_each_device("refusals", refusals));
    trials
}

/// The corpus, without cases with very many results, which test nothing more than smaller cases.
fn cases(rank: usize) -> Vec<Case> {
    let mut cases = [corpus::small(), corpus::boxes()].concat();
    let left_out = [
        "70000", "edges_4", "_512", "_128", "powers", "set_", "primes",
    ];
    cases.retain(|case| {
        let needed = case.name == "set_mixed" || case.name == "set_far_apart";
        let other = !left_out.iter().any(|part| case.name.contains(part));
        (needed || other) && case.layouts().0.rank() <= rank && case.work() <= 2_000_000
    });
    cases
}

/// Whether its results take long on a software GPU.
fn is_long(case: &Case) -> bool {
    case.work() > 700_000
}

fn kron<T: Number>() -> Binary<T, T> {
    Binary {
        name: "kron",
        run: |x, y| x.kron(y),
        paired: Some(|pair| pair.kron()),
        expected: Some(|a, b, pairs| {
            Expected::rounded::<T>(reference::kron(&widened(a), &widened(b), pairs))
        }),
        spreads: false,
        series_only: false,
    }
}

fn outer<T: Number>() -> Binary<T, T> {
    Binary {
        name: "outer",
        run: |x, y| x.outer(y),
        // Pairings of one rank are tested below; this would also test rank 5.
        paired: None,
        expected: Some(|a, b, pairs| {
            Expected::rounded::<T>(reference::outer(&widened(a), &widened(b), pairs))
        }),
        spreads: false,
        series_only: false,
    }
}

fn goldens(device: &Device) {
    golden::<f32, f32, 6>(
        device,
        |x, y| x.kron(y),
        [
            (&[1., 2.], &[3., 4.], &[3., 4., 6., 8.]),
            (&[3., 4.], &[1., 2.], &[3., 6., 4., 8.]),
            (&[2., 3.], &[1., 0., -1.], &[2., 0., -2., 3., 0., -3.]),
            (&[1.], &[5., 6., 7.], &[5., 6., 7.]),
            (&[5., 6., 7.], &[1.], &[5., 6., 7.]),
            (&[], &[1., 2.], &[]),
        ],
    );
    let (max, min) = (i32::MAX, i32::MIN);
    golden::<i32, i32, 2>(
        device,
        |x, y| x.kron(y),
        [
            (&[max, min], &[2, -1], &[-2, -max, 0, min]),
            (&[1 << 16], &[1 << 16, 3], &[0, 3 << 16]),
        ],
    );
}

fn matrices(device: &Device) {
    let a = one(&[2, 2], &[1, 2, 3, 4]);
    let identity = one(&[2, 2], &[1, 0, 0, 1]);
    let expected = one(&[4, 4], &[1, 0, 2, 0, 0, 1, 0, 2, 3, 0, 4, 0, 0, 3, 0, 4]);
    assert_exact(
        "a ⊗ I",
        &run(device, &a, &identity, |x, y| x.kron(y)),
        &expected,
    );
    let expected = one(&[4, 4], &[1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4]);
    assert_exact(
        "I ⊗ a",
        &run(device, &identity, &a, |x, y| x.kron(y)),
        &expected,
    );
    let (row, column) = (one(&[1, 3], &[1, 2, 3]), one(&[2, 1], &[10, 20]));
    let expected = one(&[2, 3], &[10, 20, 30, 20, 40, 60]);
    assert_exact(
        "a row and a column",
        &run(device, &row, &column, |x, y| x.kron(y)),
        &expected,
    );
    assert_exact(
        "a column and a row",
        &run(device, &column, &row, |x, y| x.kron(y)),
        &expected,
    );
}

/// The result of an empty operand has shape (0, …, 0), whatever the other extents were.
fn empty_elements(device: &Device) {
    let shapes = |shapes: [[usize; 2]; 3]| {
        Layout::from_shapes(2, shapes.map(|extents| Shape::new(&extents).unwrap())).unwrap()
    };
    let a = Ragged::full(&shapes([[3, 0], [2, 2], [0, 5]]), 1).unwrap();
    let b = Ragged::full(&shapes([[2, 2], [0, 4], [0, 0]]), 1).unwrap();
    let expected = Ragged::full(&shapes([[0, 0]; 3]), 1).unwrap();
    assert_exact("kron", &run(device, &a, &b, |x, y| x.kron(y)), &expected);
    let nothing = Layout::from_shapes(4, [Shape::new(&[0; 4]).unwrap(); 3]).unwrap();
    let got = run(device, &a, &b, |x, y| x.outer(y));
    assert_exact("outer", &got, &Ragged::full(&nothing, 1).unwrap());
}

/// Batches in which all, some or none of the axes can be merged.
fn axes_that_merge(device: &Device) {
    let cases: [[[usize; 4]; 4]; 6] = [
        // An outer product.
        [[3, 4, 1, 1], [5, 2, 1, 1], [1, 1, 6, 5], [1, 1, 2, 9]],
        // The reverse: all digits of b come first.
        [[1, 1, 3, 4], [1, 1, 2, 2], [6, 5, 1, 1], [2, 3, 1, 1]],
        // Extents of 1 in the middle, of both operands.
        [[2, 1, 1, 3], [3, 1, 1, 2], [2, 1, 1, 3], [3, 1, 1, 5]],
        // The second axis is merged into the first.
        [[2, 3, 4, 5], [3, 1, 2, 2], [1, 3, 2, 3], [2, 4, 3, 2]],
        // The third axis is merged into the second; the last axis differs in only one pair.
        [[2, 3, 1, 5], [3, 1, 2, 2], [2, 3, 2, 3], [2, 1, 3, 2]],
        [[2, 3, 4, 2], [3, 2, 2, 2], [3, 3, 2, 3], [2, 4, 3, 2]],
    ];
    for case in cases {
        let layout = |shapes: &[[usize; 4]]| {
            let shapes = shapes.iter().map(|extents| Shape::new(extents).unwrap());
            Layout::from_shapes(4, shapes).unwrap()
        };
        let a = Ragged::from_fn(&layout(&case[..2]), |element, i| {
            (element * 31 + i * 7) as i32
        })
        .unwrap();
        let b = Ragged::from_fn(&layout(&case[2..]), |element, i| {
            (element * 17 + i) as i32 - 3
        })
        .unwrap();
        let pairs = reference::elementwise(2);
        let expected = reference::kron(&widened(&a), &widened(&b), &pairs);
        assert_exact(
            format!("{case:?}"),
            &run(device, &a, &b, |x, y| x.kron(y)),
            &expected,
        );
    }
}

/// Products of halves are exact in f32, and rounded once; at any base, with one axis or several.
fn halves(device: &Device) {
    let mut random = rng("products of halves");
    let batches: [[&[&[usize]]; 2]; 3] = [
        [
            &[&[1], &[3], &[0], &[700], &[1], &[5], &[33]],
            &[&[2], &[3], &[4], &[9], &[1], &[1], &[64]],
        ],
        [
            &[&[3, 1], &[2, 3], &[5, 0], &[40, 3], &[1, 1], &[7, 9]],
            &[&[1, 1], &[3, 5], &[2, 2], &[3, 33], &[3, 1], &[1, 5]],
        ],
        [
            &[&[1, 1, 1], &[2, 3, 2], &[3, 1, 5]],
            &[&[1, 3, 1], &[3, 3, 1], &[1, 2, 7]],
        ],
    ];
    for batch in batches {
        let [a, b] = batch.map(|shapes| {
            let shapes: Vec<Shape> = shapes.iter().map(|s| Shape::new(s).unwrap()).collect();
            let layout = Layout::from_shapes(shapes[0].rank(), shapes).unwrap();
            // Of all exponents, so that some products are subnormal and some infinite.
            Ragged::from_fn(&layout, |_, _| f16::from_bits(random.u16(..))).unwrap()
        });
        let (x, y) = (upload(device, &a), upload(device, &b));
        for first in 0..3 {
            let some: Vec<usize> = (first..a.len()).collect();
            let (a, b) = (pick(&a, &some), pick(&b, &some));
            let [x, y] = [&x, &y].map(|x| x.elements(first..some.len() + first).unwrap());
            let wide = [&a, &b].map(|x| x.cast(f64::from).unwrap());
            let pairs = reference::elementwise(a.len());
            let expected = reference::kron(&wide[0], &wide[1], &pairs);
            let expected = expected.cast(f16_from_f64).unwrap();
            assert_exact("kron", &download(&x.kron(&y).unwrap()), &expected);
            if a.layout().rank() <= 2 {
                let expected = reference::outer(&wide[0], &wide[1], &pairs);
                let expected = expected.cast(f16_from_f64).unwrap();
                assert_exact("outer", &download(&x.outer(&y).unwrap()), &expected);
            }
        }
    }
}

fn special_values(device: &Device) {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    golden::<f32, f32, 3>(
        device,
        |x, y| x.kron(y),
        [
            (&[nan, 1.], &[1., 2.], &[nan, nan, 1., 2.]),
            (&[2., 3.], &[1., nan], &[2., nan, 3., nan]),
            (&[inf, -2.], &[0., 1., -1.], &[nan, inf, -inf, -0., -2., 2.]),
        ],
    );
}

/// Claims that have been published as laws, but do not hold.
fn counterexamples(device: &Device) {
    let row = |values: &[i32]| upload(device, &rows([values]));
    let kron = |x: &Tensor<i32>, y: &Tensor<i32>| download(&x.kron(y).unwrap());
    let a = row(&[1, 2]);
    assert_exact("[1, 2] ⊗ [3]", &kron(&a, &row(&[3])), &rows([&[3, 6]]));
    let padded = kron(&a, &row(&[3, 0]));
    assert_exact("[1, 2] ⊗ [3, 0]", &padded, &rows([&[3, 0, 6, 0]]));
    let (x, y) = (row(&[3]), row(&[0, 1]));
    let whole = kron(&a, &x.add(&y).unwrap());
    assert_exact("a ⊗ (x + y)", &whole, &rows([&[3, 1, 6, 2]]));
    let parts = a.kron(&x).unwrap().add(&a.kron(&y).unwrap()).unwrap();
    assert_exact("a ⊗ x + a ⊗ y", &download(&parts), &rows([&[3, 7, 0, 2]]));
    // Leading zeros of the right operand only shift the result.
    let left_padded = kron(&a, &row(&[0, 3]));
    assert_exact("[1, 2] ⊗ [0, 3]", &left_padded, &rows([&[0, 3, 0, 6]]));
}

/// Three batches of short series.
fn three() -> impl Strategy<Value = [Ragged<i32>; 3]> {
    let row = || vec(-9..=9i32, 0..7);
    vec([row(), row(), row()], 0..6).prop_map(|all| {
        [0, 1, 2].map(|side| Ragged::from_rows(all.iter().map(|row| &row[side])).unwrap())
    })
}

fn laws(device: &Device) {
    property::on(device, three(), |batches| {
        let [a, b, c] = batches.each_ref().map(|batch| upload(device, batch));
        let law = || -> Result<()> {
            let left = a.kron(&b)?.kron(&c)?;
            assert_exact(
                "associative",
                &download(&left),
                &download(&a.kron(&b.kron(&c)?)?),
            );
            // The sum has the larger of both shapes, while the product with an empty element has none.
            let left = a.add(&b)?.kron(&c)?;
            let right = a.kron(&c)?.add(&b.kron(&c)?)?;
            assert_exact(
                "distributes on the left",
                &download(&left),
                &download(&right),
            );
            let unit = upload(device, &Ragged::from_rows(vec![[1]; a.len()])?);
            assert_exact("a ⊗ [1]", &download(&a.kron(&unit)?), &batches[0]);
            assert_exact("[1] ⊗ a", &download(&unit.kron(&a)?), &batches[0]);
            let zeros = upload(device, &Ragged::from_rows(vec![[0; 9]; a.len()])?);
            let same = a.add(&zeros)?.kron(&b)?.equivalent_blocking(&a.kron(&b)?)?;
            assert!(same.iter().all(|same| *same), "zeros behind a");
            Ok(())
        };
        law().unwrap();
    });
}

fn outer_of_unequal_ranks(device: &Device) {
    let x = one(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let y = one(&[2], &[10, -1]);
    let values = [10, -1, 20, -2, 30, -3, 40, -4, 50, -5, 60, -6];
    let got = run(device, &x, &y, |x, y| x.outer(y));
    assert_exact("2 and 1", &got, &one(&[2, 3, 2], &values));
    let got = run(device, &y, &x, |x, y| x.outer(y));
    let values = [10, 20, 30, 40, 50, 60, -1, -2, -3, -4, -5, -6];
    assert_exact("1 and 2", &got, &one(&[2, 2, 3], &values));
    let big = one(&[1, 1, 1, 1, 1, 1, 3], &[1, 2, 3]);
    let got = run(device, &big, &y, |x, y| x.outer(y));
    assert_exact(
        "7 and 1",
        &got,
        &one(&[1, 1, 1, 1, 1, 1, 3, 2], &[10, -1, 20, -2, 30, -3]),
    );
}

fn outer_laws(device: &Device) {
    property::on(device, three(), |batches| {
        let [a, b, c] = batches.each_ref().map(|batch| upload(device, batch));
        let law = || -> Result<()> {
            let left = a.outer(&b)?.outer(&c)?;
            assert_exact(
                "associative",
                &download(&left),
                &download(&a.outer(&b.outer(&c)?)?),
            );
            let flat = download(&a.kron(&b)?);
            assert_eq!(
                download(&a.outer(&b)?).values(),
                flat.values(),
                "values of a ⊗ b"
            );
            // The product with an empty summand has shape (0, 0), so the two sides may have different shapes.
            let zeros = upload(device, &Ragged::from_rows(vec![[0; 9]; a.len()])?);
            for (what, whole, parts) in [
                (
                    "left",
                    a.add(&b)?.outer(&c)?,
                    a.outer(&c)?.add(&b.outer(&c)?)?,
                ),
                (
                    "right",
                    a.outer(&b.add(&c)?)?,
                    a.outer(&b)?.add(&a.outer(&c)?)?,
                ),
                ("zeros behind a", a.add(&zeros)?.outer(&b)?, a.outer(&b)?),
                ("zeros behind b", a.outer(&b.add(&zeros)?)?, a.outer(&b)?),
            ] {
                assert!(
                    whole.equivalent_blocking(&parts)?.iter().all(|same| *same),
                    "{what}"
                );
            }
            Ok(())
        };
        law().unwrap();
    });
}

fn outer_pairings(device: &Device) {
    use vsla::Pairing;
    let a = Ragged::from_rows([vec![1, 2], vec![], vec![3]]).unwrap();
    let b = Ragged::from_shapes(
        vec![1, 2, 3, 4, 5],
        2,
        [[2, 2], [1, 1]].map(|s| Shape::new(&s).unwrap()),
    );
    let b = b.unwrap();
    let (x, y) = (upload(device, &a), upload(device, &b));
    let list = [(2, 1), (0, 0), (1, 1), (2, 0)];
    for pairing in [
        Pairing::AllToAll,
        Pairing::List(&pair_list(list)),
        Pairing::List(&pair_list([])),
    ] {
        let pairs = reference::pairs(pairing, a.len(), b.len());
        let expected = reference::outer(&a, &b, &pairs);
        let got = x.pair(&y, pairing).unwrap().outer().unwrap();
        assert_exact(format!("{pairing:?}"), &download(&got), &expected);
    }
    let one = y.elements(0..1).unwrap();
    let got = x.pair(&one, Pairing::AllToOne).unwrap().outer().unwrap();
    let pairs = reference::pairs(Pairing::AllToOne, a.len(), 1);
    let expected = reference::outer(&a, &download(&one), &pairs);
    assert_exact("all to one", &download(&got), &expected);
}

/// Results that are too large are refused before any memory is allocated, and the error names the pair.
fn refusals(device: &Device) {
    let series = |lengths: [usize; 2]| {
        device
            .full(&Layout::from_lengths(lengths).unwrap(), 1u32)
            .unwrap()
    };
    let long = series([3, 1 << 16]);
    for (op, outcome) in [("kron", long.kron(&long)), ("outer", long.outer(&long))] {
        match outcome {
            Err(Error::SizeOverflow {
                op: got,
                element: Some(1),
                ..
            }) => assert_eq!(got, op),
            other => panic!("{other:?}"),
        }
    }
    if device.is_gpu() {
        // Slightly less than 4 GiB, which exceeds every binding.
        let long = series([1, 32_767]);
        for (op, outcome) in [("kron", long.kron(&long)), ("outer", long.outer(&long))] {
            match outcome {
                Err(Error::TooLarge {
                    op: got,
                    element: Some(1),
                    ..
                }) => assert_eq!(got, op),
                other => panic!("{other:?}"),
            }
        }
    }
    let five = device
        .full(
            &Layout::uniform(2, Shape::new(&[1; 5]).unwrap()).unwrap(),
            1u32,
        )
        .unwrap();
    match five.outer(&five) {
        Err(Error::Rank {
            op: "outer",
            element: None,
            got: 10,
            ..
        }) => (),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        five.kron(&long),
        Err(Error::Rank { op: "kron", .. })
    ));
}
