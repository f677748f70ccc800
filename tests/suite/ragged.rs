//! Host batches: validation, contents and printing.

mod padded;
mod prints;
mod refusals;

use std::fmt::Debug;

use libtest_mimic::Trial;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use vsla::{
    Layout, Ragged, Shape,
    batch::{MAX_RANK, Offsets},
    scalar::{DType, Scalar},
};

use crate::support::bench::Bench;
use padded::{padded_boxes, padded_round_trip, padding_waste};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("offsets_from_every_source", offsets_from_every_source),
        ("size_hints_are_not_trusted", size_hints_are_not_trusted),
        ("totals_reach_the_limit", totals_reach_the_limit),
        ("offsets_round_trip", offsets_round_trip),
        (
            "decreasing_offsets_are_refused",
            decreasing_offsets_are_refused,
        ),
        ("shapes", shapes),
        (
            "empty_elements_keep_their_shape",
            empty_elements_keep_their_shape,
        ),
        ("an_empty_batch_is_a_batch", an_empty_batch_is_a_batch),
        ("layouts_compare_by_contents", layouts_compare_by_contents),
        ("ranges_are_sub_batches", ranges_are_sub_batches),
        ("other_extents", other_extents),
        ("matrices_of_rows", matrices_of_rows),
        ("padding_waste", padding_waste),
        ("constructors_agree", constructors_agree),
        ("padded_round_trip", padded_round_trip),
        ("padded_boxes", padded_boxes),
        ("iteration_from_both_ends", iteration_from_both_ends),
        ("access", access),
        ("cast_shares_the_layout", cast_shares_the_layout),
        ("random_is_splitmix64", random_is_splitmix64),
        ("random_is_deterministic", random_is_deterministic),
        ("types_have_names", types_have_names),
    ];
    let tests = tests.iter().map(|&(name, test)| bench.host(name, test));
    let mut trials = refusals::tests(bench);
    trials.extend(prints::tests(bench));
    trials.extend(tests);
    trials
}

fn shape(extents: &[usize]) -> Shape {
    Shape::new(extents).unwrap()
}

fn other_extents() {
    let boxes = [[2, 3, 4], [0, 5, 1], [1, 1, 7]].map(|extents| shape(&extents));
    let layout = Layout::from_shapes(3, boxes).unwrap();
    for axis in 0..3 {
        for extent in [0, 1, 9] {
            let expected = boxes.map(|shape| {
                let mut extents = [0; 3];
                extents.copy_from_slice(shape.extents());
                extents[axis] = extent as u32;
                Shape::new(&extents.map(|extent| extent as usize)).unwrap()
            });
            let expected = Layout::from_shapes(3, expected).unwrap();
            assert_eq!(layout.with_extent(axis, extent), Ok(expected));
        }
    }
    let rows = Layout::from_lengths([4, 0]).unwrap();
    assert_eq!(rows.with_extent(0, 2), Layout::from_lengths([2, 2]));
    let refused = |axis, extent| {
        let error = layout.with_extent(axis, extent).unwrap_err();
        assert_eq!(error.op(), "with_extent");
        (error.kind(), error.element())
    };
    assert_eq!(refused(3, 1), ("argument", None));
    assert_eq!(refused(0, 1 << 32), ("size_overflow", None));
    assert_eq!(refused(0, 1 << 30), ("size_overflow", Some(0)));
    // Both elements fit, but not their total.
    assert_eq!(refused(2, 700_000_000), ("size_overflow", Some(2)));
}

fn matrices_of_rows() {
    let matrix = Ragged::matrix([[1, 2, 3], [4, 5, 6]]).unwrap();
    assert_eq!((matrix.len(), matrix.shape(0)), (1, shape(&[2, 3])));
    assert_eq!(matrix.values(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(Ragged::matrix(matrix.values().chunks(3)), Ok(matrix));
    let none: [Vec<i32>; 0] = [];
    assert_eq!(Ragged::matrix(none).unwrap().shape(0), shape(&[0, 0]));
    assert_eq!(
        Ragged::<i32>::matrix([[], []]).unwrap().shape(0),
        shape(&[2, 0])
    );
    let error = Ragged::matrix([vec![1], vec![], vec![2]]).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("argument", "matrix"));
}

fn lengths(lengths: &[usize]) -> Layout {
    Layout::from_lengths(lengths.iter().copied()).unwrap()
}

fn layout(rank: usize, shapes: &[&[usize]]) -> Layout {
    Layout::from_shapes(rank, shapes.iter().map(|extents| shape(extents))).unwrap()
}

fn rows<T: Copy>(rows: &[&[T]]) -> Ragged<T> {
    Ragged::from_rows(rows).unwrap()
}

/// Elements of these shapes, each counting its values from 0.
fn counted(rank: usize, shapes: &[&[usize]]) -> Ragged<i32> {
    Ragged::from_fn(&layout(rank, shapes), |_, index| index as i32).unwrap()
}

/// Runs a property on random inputs, without files of earlier failures.
fn property<S: Strategy<Value: Debug>>(strategy: S, law: impl Fn(S::Value)) {
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&strategy, |input| {
        law(input);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

fn offsets_from_every_source() {
    let expected = Offsets::from_lengths([3, 0, 2]).unwrap();
    let list = vec![0, 3, 3, 5];
    let address = list.as_ptr();
    for offsets in [
        Offsets::new([0, 3, 3, 5]),
        Offsets::new(vec![0, 3, 3, 5]),
        Offsets::new(&[0, 3, 3, 5][..]),
        Offsets::new(Box::<[u32]>::from([0, 3, 3, 5])),
    ] {
        assert_eq!(offsets, Ok(expected.clone()));
    }
    assert_eq!(
        Offsets::new(list).unwrap().as_slice().as_ptr(),
        address,
        "a vector is moved, not copied"
    );
    assert_eq!(
        (expected.len(), expected.total(), expected.is_empty()),
        (3, 5, false)
    );
    assert_eq!(
        (expected.range(0), expected.range(1), expected.length(2)),
        (0..3, 3..3, 2)
    );
    assert_eq!(expected.lengths().rev().collect::<Vec<_>>(), [2, 0, 3]);
    assert_eq!(expected.lengths().len(), 3);
    assert_eq!(Offsets::uniform(3, 2), Offsets::from_lengths([2, 2, 2]));
    assert_eq!(Offsets::uniform(0, usize::MAX), Offsets::new([0]));
    assert_eq!(Offsets::uniform(2, 0), Offsets::new([0, 0, 0]));
}

/// An iterator that counts down, returns the given size hint, and starts over after its end.
struct Liar {
    left: usize,
    promise: (usize, Option<usize>),
}

impl Iterator for Liar {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let now = self.left;
        self.left = now.checked_sub(1).unwrap_or(9);
        (now > 0).then_some(now)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.promise
    }
}

fn size_hints_are_not_trusted() {
    let expected = Offsets::from_lengths([4, 3, 2, 1]);
    for least in 0..8 {
        for promise in [(least, None), (least, Some(least)), (least, Some(4))] {
            assert_eq!(
                Offsets::from_lengths(Liar { left: 4, promise }),
                expected,
                "{promise:?}"
            );
        }
        let none = Liar {
            left: 0,
            promise: (least, Some(least)),
        };
        assert_eq!(Offsets::from_lengths(none), Offsets::new([0]));
    }
}

fn totals_reach_the_limit() {
    let limit = u32::MAX as usize;
    assert_eq!(lengths(&[limit - 1, 0, 1]).total(), limit);
    assert_eq!(Offsets::uniform(3, limit / 3).unwrap().total(), limit);
    assert_eq!(Offsets::new([0, u32::MAX]).unwrap().total(), limit);
    assert_eq!(shape(&[limit, 1]).size(), limit);
    assert_eq!(
        Layout::uniform(1, shape(&[3, limit / 3])).unwrap().total(),
        limit
    );
}

fn offsets_round_trip() {
    property(vec(0_usize..5, 0..200), |lengths| {
        let offsets = Offsets::from_lengths(lengths.iter().copied()).unwrap();
        assert_eq!(offsets.len(), lengths.len());
        assert_eq!(offsets.total(), lengths.iter().sum::<usize>());
        assert!(offsets.lengths().eq(lengths.iter().copied()));
        assert_eq!(Offsets::new(offsets.as_slice()), Ok(offsets.clone()));
        // The same, through an iterator that does not know its length.
        assert_eq!(
            Offsets::from_lengths(lengths.into_iter().filter(|_| true)),
            Ok(offsets)
        );
    });
}

fn decreasing_offsets_are_refused() {
    property(vec(0_u32..100, 0..100), |mut offsets| {
        offsets.insert(0, 0);
        let expected = offsets.windows(2).position(|pair| pair[0] > pair[1]);
        let got = Offsets::new(offsets)
            .err()
            .and_then(|error| error.element());
        assert_eq!(got, expected);
    });
}

fn shapes() {
    let cube = shape(&[2, 3, 4]);
    assert_eq!((cube.rank(), cube.size(), cube.is_empty()), (3, 24, false));
    assert_eq!(cube.strides(), [12, 4, 1, 0, 0, 0, 0, 0]);
    assert_eq!(
        (cube.to_string(), format!("{cube:?}")),
        ("(2, 3, 4)".into(), "(2, 3, 4)".into())
    );
    assert_eq!(shape(&[5]).to_string(), "(5)");
    assert_eq!(shape(&[1; MAX_RANK]).strides(), [1; MAX_RANK]);

    let [tall, wide] = [shape(&[3, 5]), shape(&[7, 2])];
    assert_eq!(tall.ambient(&wide), Ok(shape(&[7, 5])));
    assert_eq!(wide.ambient(&tall), tall.ambient(&wide));
    assert_eq!(
        shape(&[1, 1]).ambient(&shape(&[0, 4])),
        Ok(shape(&[1, 4])),
        "an extent of 1 is not special"
    );

    assert_ne!(shape(&[2, 0]), shape(&[2]), "the rank counts");
    assert_ne!(
        shape(&[3, 0]),
        shape(&[0, 0]),
        "the other extents of an empty shape count too"
    );
    assert_eq!(shape(&[1 << 31, 1 << 31, 0]).size(), 0, "one 0 is enough");
    assert_eq!(shape(&[0, 1 << 31, 1 << 31]).size(), 0);
    assert_eq!(shape(&[0, 1 << 31, 4]).strides()[..3], [u32::MAX, 4, 1]);
}

fn empty_elements_keep_their_shape() {
    let layout = layout(2, &[&[3, 0], &[2, 2], &[0, 0]]);
    assert_eq!(
        layout.shapes().collect::<Vec<_>>(),
        [shape(&[3, 0]), shape(&[2, 2]), shape(&[0, 0])]
    );
    assert_eq!(layout.lengths().collect::<Vec<_>>(), [0, 4, 0]);
    assert_eq!(layout.extents(), [3, 0, 2, 2, 0, 0]);
    assert_eq!(layout.ambient_extents(), [3, 2]);
    assert_eq!((layout.max_length(), layout.padded_total()), (4, 18));
    assert!(!layout.is_empty() && layout.shape(0).is_empty());

    let batch = Ragged::full(&layout, 1.5).unwrap();
    assert_eq!(batch.to_vecs().unwrap(), [vec![], vec![1.5; 4], vec![]]);
    assert_eq!(batch.shape(0), shape(&[3, 0]));

    let nothing = Layout::uniform(2, shape(&[3, 0])).unwrap();
    assert_eq!(
        (nothing.len(), nothing.total(), nothing.padded_total()),
        (2, 0, 0)
    );
    assert_eq!(nothing.padding_waste(), 0.0);
    assert_eq!(
        Ragged::<f32>::zeros(&nothing)
            .unwrap()
            .to_padded(9.0)
            .unwrap(),
        [0f32; 0]
    );
}

fn an_empty_batch_is_a_batch() {
    for layout in [
        lengths(&[]),
        layout(2, &[]),
        Layout::uniform(0, shape(&[7, 7])).unwrap(),
        Layout::from_offsets(Offsets::new([0]).unwrap()),
        lengths(&[1, 2]).range(2..2).unwrap(),
    ] {
        assert!(layout.is_empty());
        assert_eq!(
            (layout.len(), layout.total(), layout.max_length()),
            (0, 0, 0)
        );
        assert_eq!((layout.padded_total(), layout.padding_waste()), (0, 0.0));
        assert_eq!(layout.ambient_extents(), &[0; 2][..layout.rank()]);

        let batch = Ragged::random(&layout, 1).unwrap();
        assert!(batch.is_empty() && batch.iter().next().is_none() && batch.get(0).is_none());
        assert_eq!(
            (batch.to_vecs().unwrap(), batch.to_padded(0.0).unwrap()),
            (vec![], vec![])
        );
    }
    let none: [[f32; 0]; 0] = [];
    assert_eq!(Ragged::from_rows(none), Ragged::from_padded(&[], 3, &[]));
    assert_ne!(lengths(&[]), layout(2, &[]), "an empty batch has a rank");
    assert_ne!(
        lengths(&[]),
        lengths(&[0]),
        "an empty element is an element"
    );
}

fn layouts_compare_by_contents() {
    let a = layout(2, &[&[2, 3], &[1, 4]]);
    assert_eq!(a, a.clone());
    assert_eq!(a, layout(2, &[&[2, 3], &[1, 4]]));
    assert_ne!(
        a,
        layout(2, &[&[3, 2], &[1, 4]]),
        "the same lengths of other shapes"
    );
    assert_ne!(
        a,
        Layout::from_offsets(a.offsets().clone()),
        "the same lengths of another rank"
    );
    assert_eq!(Layout::uniform(2, shape(&[3])).unwrap(), lengths(&[3, 3]));
    assert_eq!(
        Layout::uniform(2, shape(&[3, 1])).unwrap(),
        layout(2, &[&[3, 1], &[3, 1]])
    );
    assert_eq!(layout(1, &[&[3], &[0]]), lengths(&[3, 0]));
    assert!(lengths(&[3, 0]).extents().is_empty());
}

fn ranges_are_sub_batches() {
    let shapes: [&[usize]; 4] = [&[2, 3], &[0, 1], &[1, 4], &[5, 1]];
    let whole = layout(2, &shapes);
    for start in 0..=4 {
        for end in start..=4 {
            assert_eq!(
                whole.range(start..end),
                Ok(layout(2, &shapes[start..end])),
                "{start}..{end}"
            );
        }
    }
    let rows = lengths(&[3, 0, 2, 4]);
    assert_eq!(rows.range(1..4), Ok(lengths(&[0, 2, 4])));
    assert_eq!(
        rows.range(1..4).unwrap().range(1..2),
        Ok(lengths(&[2])),
        "a range of a range"
    );
}

fn constructors_agree() {
    let expected = rows(&[&[1, 2, 3], &[], &[4, 5]]);
    let values = vec![1, 2, 3, 4, 5];
    let line = |length| shape(&[length]);
    for batch in [
        Ragged::from_lengths(values.clone(), [3, 0, 2]),
        Ragged::from_offsets(values.clone(), [0, 3, 3, 5]),
        Ragged::from_shapes(values.clone(), 1, [line(3), line(0), line(2)]),
        Ragged::from_parts(expected.layout().clone(), values.clone()),
        Ragged::from_padded(&[1, 2, 3, 9, 9, 9, 9, 9, 4, 5, 9, 9], 4, &[3, 0, 2]),
        Ragged::try_from(vec![vec![1, 2, 3], vec![], vec![4, 5]]),
        Ok(Ragged::from_fn(expected.layout(), |element, index| {
            [1, 4, 4][element] + index as i32
        })
        .unwrap()),
    ] {
        assert_eq!(batch, Ok(expected.clone()));
    }
    let (layout, packed) = expected.into_parts();
    assert_eq!((layout, packed), (lengths(&[3, 0, 2]), values));
    assert_eq!(
        rows::<f32>(&[&[0.0; 2], &[]]),
        Ragged::zeros(&lengths(&[2, 0])).unwrap()
    );
    assert_ne!(
        rows(&[&[1, 2], &[]]),
        rows(&[&[1], &[2]]),
        "equal values in other rows"
    );
    assert_ne!(rows(&[&[1]]), rows(&[&[2]]));
}

fn iteration_from_both_ends() {
    let batch = rows(&[&[1], &[], &[2, 3], &[4, 5, 6]]);
    let all: Vec<&[i32]> = vec![&[1], &[], &[2, 3], &[4, 5, 6]];
    assert_eq!(batch.iter().collect::<Vec<_>>(), all);
    assert_eq!(
        (&batch).into_iter().rev().collect::<Vec<_>>(),
        all.into_iter().rev().collect::<Vec<_>>()
    );

    let mut iter = batch.iter();
    assert_eq!(
        (iter.len(), iter.next(), iter.len()),
        (4, Some(&[1][..]), 3)
    );
    assert_eq!((iter.next_back(), iter.len()), (Some(&[4, 5, 6][..]), 2));
    assert_eq!(
        (iter.clone().nth(1), iter.clone().nth(2)),
        (Some(&[2, 3][..]), None)
    );
    assert_eq!(
        (iter.next_back(), iter.next_back()),
        (Some(&[2, 3][..]), Some(&[][..]))
    );
    assert_eq!((iter.next(), iter.next_back(), iter.len()), (None, None, 0));
}

fn access() {
    let mut batch = rows(&[&[1, 2], &[], &[3]]);
    batch[0][1] = 20;
    batch.values_mut()[2] += 27;
    assert_eq!(
        (&batch[0], batch.row(1), batch.get(2), batch.get(3)),
        (&[1, 20][..], &[][..], Some(&[30][..]), None)
    );
    assert_eq!((batch.len(), batch.values()), (3, &[1, 20, 30][..]));
    let mut sum = 0;
    for row in &batch {
        sum += row.iter().sum::<i32>();
    }
    assert_eq!(sum, 51);
}

fn cast_shares_the_layout() {
    let batch = counted(2, &[&[2, 1], &[1, 3]]);
    let cast = batch.cast(f64::from).unwrap();
    assert_eq!(cast.values(), [0.0, 1.0, 0.0, 1.0, 2.0]);
    assert!(std::ptr::eq(
        cast.layout().extents(),
        batch.layout().extents()
    ));
}

/// The first outputs of SplitMix64 seeded with 1234567, as published with its reference implementation.
fn random_is_splitmix64() {
    let published: [u64; 5] = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ];
    let expected = published.map(|bits| (bits >> 40) as f32 / 8388608.0 - 1.0);
    assert_eq!(
        Ragged::random(&lengths(&[2, 0, 3]), 1234567)
            .unwrap()
            .values(),
        expected
    );
}

fn random_is_deterministic() {
    // Above and below what is filled on one thread: the values depend on their position alone.
    let long = Ragged::random(&lengths(&[100_000, 1, 33_333]), 7).unwrap();
    let short = Ragged::random(&lengths(&[1000]), 7).unwrap();
    assert_eq!(long.values()[..1000], *short.values());
    assert_eq!(long, Ragged::random(long.layout(), 7).unwrap());
    assert_ne!(long, Ragged::random(long.layout(), 8).unwrap());

    assert!(long.values().iter().all(|x| (-1.0..1.0).contains(x)));
    let n = long.values().len() as f64;
    let mean = long.values().iter().map(|&x| f64::from(x)).sum::<f64>() / n;
    let square = long
        .values()
        .iter()
        .map(|&x| f64::from(x).powi(2))
        .sum::<f64>()
        / n;
    assert!(
        mean.abs() < 0.01 && (square - 1.0 / 3.0).abs() < 0.01,
        "{mean}, {square}"
    );
}

fn types_have_names() {
    fn of<T: Scalar>() -> (DType, String) {
        assert_eq!(T::DTYPE.size(), size_of::<T>());
        assert_eq!(T::DTYPE.name(), std::any::type_name::<T>());
        (T::DTYPE, T::DTYPE.to_string())
    }
    assert_eq!(of::<f32>(), (DType::F32, "f32".into()));
    assert_eq!(of::<i32>(), (DType::I32, "i32".into()));
    assert_eq!(of::<u32>(), (DType::U32, "u32".into()));
}
