//! Slices with steps, against the indices that NumPy's rules give one by one.

use vsla::{Complex32, Device, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Scalar};

use super::forms::exactly;
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::number::Number;
use crate::support::operation::{Binary, download, rows, run, upload};

/// (start, end, step), as Python writes them.
type Cut = (Option<i64>, Option<i64>, i64);

/// The indices of a cut of n values: those that a walk from the start meets.
fn indices((start, end, step): Cut, n: usize) -> Vec<usize> {
    let n = n as i128;
    let place = |place: i64| i128::from(place) + if place < 0 { n } else { 0 };
    let step = i128::from(step);
    let mut at = match start {
        None if step > 0 => 0,
        None => n - 1,
        // Steps begin at the element's end, not at a multiple before it.
        Some(start) if step > 0 => place(start).max(0),
        Some(start) => place(start).min(n - 1),
    };
    let inside = |at: i128| match (end, step > 0) {
        (None, _) => true,
        (Some(end), true) => at < place(end),
        (Some(end), false) => at > place(end),
    };
    let mut all = Vec::new();
    while (0..n).contains(&at) && inside(at) {
        all.push(at as usize);
        at += step;
    }
    all
}

pub(super) fn cut_of<T: Copy>(x: &Ragged<T>, cuts: &[Cut]) -> Ragged<T> {
    let (mut shapes, mut values) = (Vec::new(), Vec::new());
    for element in 0..x.len() {
        let shape = x.shape(element);
        let axes: Vec<Vec<usize>> = shape
            .extents()
            .iter()
            .zip(cuts)
            .map(|(n, cut)| indices(*cut, *n as usize))
            .collect();
        // Row-major places, axis by axis.
        let mut places = vec![0];
        for (axis, n) in axes.iter().zip(shape.extents()) {
            let inner = |at: usize| axis.iter().map(move |i| at * *n as usize + i);
            places = places.into_iter().flat_map(inner).collect();
        }
        values.extend(places.into_iter().map(|place| x.row(element)[place]));
        shapes.push(Shape::new(&axes.iter().map(Vec::len).collect::<Vec<_>>()).unwrap());
    }
    let layout = Layout::from_shapes(cuts.len(), shapes).unwrap();
    Ragged::from_parts(layout, values).unwrap()
}

/// Steps in both directions, from both ends.
fn cuts(rank: usize) -> Vec<Cut> {
    match rank {
        1 => vec![(Some(-2), Some(1), -3)],
        2 => vec![(None, None, -2), (Some(1), Some(-1), 3)],
        _ => (0..rank)
            .map(|axis| [(None, None, -1), (None, None, 1), (Some(-2), None, 1)][axis % 3])
            .collect(),
    }
}

pub(super) fn strided_slice<T: Number>() -> Binary<T, T> {
    Binary {
        name: "strided_slice",
        run: |x, _| x.strided_slice(&cuts(x.layout().rank())),
        paired: None,
        expected: Some(|a, _, _| exactly(&cut_of(a, &cuts(a.layout().rank())))),
        spreads: false,
        series_only: false,
    }
}

/// What NumPy prints.
pub(super) fn goldens(device: &Device) {
    let x = rows([&[1, 2, 3, 4, 5, 6, 7][..], &[8, 9], &[]]);
    let slices = |cut: Cut| run(device, &x, &x, move |x, _| x.strided_slice(&[cut]));
    let check = |cut: Cut, expected: [&[i32]; 3]| {
        assert_exact(format!("{cut:?}"), &slices(cut), &rows(expected));
    };
    check((None, None, 2), [&[1, 3, 5, 7], &[8], &[]]);
    check((None, None, -1), [&[7, 6, 5, 4, 3, 2, 1], &[9, 8], &[]]);
    check((Some(1), None, 3), [&[2, 5], &[9], &[]]);
    check((Some(-3), None, 1), [&[5, 6, 7], &[8, 9], &[]]);
    check((None, Some(-3), 1), [&[1, 2, 3, 4], &[], &[]]);
    check((Some(-2), Some(0), -2), [&[6, 4, 2], &[], &[]]);
    check((Some(5), Some(1), 1), [&[], &[], &[]]);
    check((Some(100), Some(-100), -4), [&[7, 3], &[9], &[]]);
    check((Some(-100), Some(100), 6), [&[1, 7], &[8], &[]]);
    check(
        (Some(i64::MIN), Some(i64::MAX), i64::MAX),
        [&[1], &[8], &[]],
    );
    check(
        (Some(i64::MAX), Some(i64::MIN), i64::MIN),
        [&[7], &[9], &[]],
    );
    check((Some(i64::MAX), None, 1), [&[], &[], &[]]);
    check((Some(1 << 31), None, -(1 << 32)), [&[7], &[9], &[]]);
}

/// Random cuts of every type and rank, at odd bases.
pub(super) fn random_cuts(device: &Device) {
    fn check<T: Scalar>(device: &Device, rank: usize, value: impl Fn(usize) -> T) {
        let mut random = rng("cuts");
        let most = [0, 40, 12, 6, 4][rank];
        let shapes: Vec<Shape> = (0..60)
            .map(|_| {
                Shape::new(&(0..rank).map(|_| random.usize(..most)).collect::<Vec<_>>()).unwrap()
            })
            .collect();
        let layout = Layout::from_shapes(rank, shapes).unwrap();
        let offsets = layout.offsets().clone();
        let x = Ragged::from_fn(&layout, |e, i| value(offsets.range(e).start + i)).unwrap();
        let x = upload(device, &x);
        for turn in 0..12 {
            let place = |random: &mut fastrand::Rng| random.bool().then(|| random.i64(-14..14));
            let mut one = || {
                let step = [1, 1, 2, 3, 7, -1, -1, -2, -5][random.usize(..9)];
                match random.usize(..4) {
                    0 => (None, None, 1),
                    _ => (place(&mut random), place(&mut random), step),
                }
            };
            let cuts: Vec<Cut> = (0..rank).map(|_| one()).collect();
            let some = x.elements(turn % 5..60).unwrap();
            let expected = cut_of(&download(&some), &cuts);
            let got = download(&some.strided_slice(&cuts).unwrap());
            assert!(
                got == expected,
                "{cuts:?} of {}:\n{got}\n{expected}",
                T::DTYPE
            );
        }
    }
    for rank in 1..=4 {
        check(device, rank, |i| i as i32);
        check(device, rank, |i| Complex32::new(i as f32, -(i as f32)));
        check(device, rank, |i| f16::from_bits(i as u16 % 0x7c00));
    }
}

/// Long elements, whose tiles lie inside of them.
pub(super) fn long_cuts(device: &Device) {
    let layout = Layout::from_lengths([70_001, 3, 20_000]).unwrap();
    let x = Ragged::from_fn(&layout, |e, i| (100_000 * e + i) as i32).unwrap();
    for cut in [
        (None, None, -1),
        (Some(-9), None, -3),
        (Some(5), Some(-5), 2),
    ] {
        let got = run(device, &x, &x, move |x, _| x.strided_slice(&[cut]));
        assert_exact(format!("{cut:?}"), &got, &cut_of(&x, &[cut]));
    }
}

pub(super) fn refused(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3], &[4]]));
    let expect = |outcome: Result<Tensor<i32>>, kind: &str, message: &str| {
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
    };
    expect(
        x.strided_slice(&[(None, None, 0)]),
        "argument",
        "strided_slice: expected a step along axis 0 other than 0, got 0",
    );
    expect(
        x.strided_slice(&[]),
        "rank",
        "strided_slice: expected a rank of 1, as in the batch, got 0",
    );
    expect(
        x.strided_slice(&[(None, None, 1), (None, None, 1)]),
        "rank",
        "strided_slice: expected a rank of 1, as in the batch, got 2",
    );
}
