//! The reference, compared with results worked out by hand.

use libtest_mimic::Trial;
use vsla::{Pairing, Ragged, Shape};

use crate::support::bench::Bench;
use crate::support::operation::pair_list;
use crate::support::reference::{self, Arithmetic, Sums, elementwise, pairs};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("add", add),
        ("sub", sub),
        ("hadamard", hadamard),
        ("beside", beside),
        ("shrink", shrink),
        ("scale", scale),
        ("sum_dot_norm2", sum_dot_norm2),
        ("max_argmax", max_argmax),
        ("conv", conv),
        ("conv_rank_2", conv_rank_2),
        ("conv_binomials", conv_binomials),
        ("correlate", correlate),
        ("correlate_rank_2", correlate_rank_2),
        ("correlate_max", correlate_max),
        ("sbd", sbd),
        ("equivalent", equivalent),
        ("pairings", pairings),
        ("integers_wrap", integers_wrap),
        ("magnitudes_and_terms", magnitudes_and_terms),
    ];
    tests
        .iter()
        .map(|&(name, test)| bench.host(name, test))
        .collect()
}

fn rows<T: Copy, const N: usize>(rows: [&[T]; N]) -> Ragged<T> {
    Ragged::from_rows(rows).unwrap()
}

/// One element of this shape.
fn one<T: Copy>(extents: &[usize], values: &[T]) -> Ragged<T> {
    let shape = Shape::new(extents).unwrap();
    Ragged::from_shapes(values.to_vec(), extents.len(), [shape]).unwrap()
}

type Binary<S> = fn(&Ragged<S>, &Ragged<S>, &[(usize, usize)]) -> Sums<S>;

#[track_caller]
fn check<S: Arithmetic + std::fmt::Debug + 'static>(
    f: Binary<S>,
    a: Ragged<S>,
    b: Ragged<S>,
    expected: Ragged<S>,
) {
    let got = f(&a, &b, &elementwise(a.len()));
    assert_eq!(got.values, expected);
    assert_eq!(got.terms.len(), expected.values().len());
    assert_eq!(got.magnitudes.len(), expected.values().len());
}

fn add() {
    check(
        reference::add,
        rows([&[1., 2., 3.], &[1.], &[], &[], &[1., 2., 3.]]),
        rows([&[4., 5.], &[0., 1.], &[7.], &[], &[5.]]),
        rows([&[5., 7., 3.], &[1., 1.], &[7.], &[], &[6., 2., 3.]]),
    );
    let square = || one(&[2, 2], &[1., 2., 3., 4.]);
    let row = || one(&[1, 2], &[10., 20.]);
    let sum = || one(&[2, 2], &[11., 22., 3., 4.]);
    check(reference::add, square(), row(), sum());
    check(reference::add, row(), square(), sum());
    let tall = one(&[3, 5], &[1; 15]);
    let wide = one(&[7, 2], &[10; 14]);
    let got = reference::add(&tall, &wide, &[(0, 0)]).values;
    assert_eq!(got.shape(0).extents(), [7, 5]);
    let expected = [[11, 11, 1, 1, 1]; 3].concat().into_iter();
    let expected: Vec<i32> = expected.chain([[10, 10, 0, 0, 0]; 4].concat()).collect();
    assert_eq!(got.values(), expected);
    // Empty elements keep the extents that they have.
    check(
        reference::add,
        one(&[3, 0], &[]),
        one(&[0, 2], &[]),
        one(&[3, 2], &[0.; 6]),
    );
}

fn sub() {
    check(
        reference::sub,
        rows([&[5., 3., 2.], &[], &[1.]]),
        rows([&[2., 1., 2.], &[4., 5.], &[]]),
        rows([&[3., 2., 0.], &[-4., -5.], &[1.]]),
    );
}

fn hadamard() {
    let got = reference::hadamard(
        &rows([&[2., 3.][..], &[f64::NAN, 1.], &[]]),
        &rows([&[4., 5., f64::NAN][..], &[], &[1.]]),
        &elementwise(3),
    );
    assert_eq!(got, rows([&[8., 15., 0.][..], &[0., 0.], &[0.]]));
    let got = reference::hadamard(&one(&[2, 1], &[2, 3]), &one(&[1, 2], &[10, 20]), &[(0, 0)]);
    assert_eq!(got, one(&[2, 2], &[20, 0, 0, 0]));
}

fn shrink() {
    let shrunk = |a: Ragged<i32>| reference::shrink(&a);
    let diagonal = one(&[3, 3], &[1, 0, 0, 0, 2, 0, 0, 0, 0]);
    assert_eq!(shrunk(diagonal), one(&[2, 2], &[1, 0, 0, 2]));
    let corner = one(&[2, 3], &[0, 0, 5, 0, 0, 0]);
    assert_eq!(shrunk(corner), one(&[1, 3], &[0, 0, 5]));
    assert_eq!(shrunk(one(&[3, 4], &[0; 12])), one(&[0, 0], &[]));
    assert_eq!(
        shrunk(rows([&[3, 2, 0][..], &[], &[0]])),
        rows([&[3, 2][..], &[], &[]])
    );
}

fn beside() {
    let (square, column) = (one(&[2, 2], &[1, 2, 3, 4]), one(&[3, 1], &[5, 6, 7]));
    let got = |axes| reference::beside(&square, &column, &[(0, 0)], axes);
    assert_eq!(got(1), one(&[5, 2], &[1, 2, 3, 4, 5, 0, 6, 0, 7, 0]));
    assert_eq!(got(2), one(&[3, 3], &[1, 2, 5, 3, 4, 6, 0, 0, 7]));
    let blocks = [[1, 2, 0], [3, 4, 0], [0, 0, 5], [0, 0, 6], [0, 0, 7]].concat();
    assert_eq!(got(3), one(&[5, 3], &blocks));
}

fn scale() {
    assert_eq!(
        reference::scale(&rows([&[1., -2.], &[]]), 3.0),
        rows([&[3., -6.], &[]])
    );
}

fn sum_dot_norm2() {
    let a = rows([&[3., -4.][..], &[], &[5., 1., 1.]]);
    assert_eq!(reference::sum(&a).values, rows([&[-1.][..], &[0.], &[7.]]));
    assert_eq!(reference::norm1(&a).values, rows([&[7.][..], &[0.], &[7.]]));
    assert_eq!(
        reference::neg(&rows([&[3, i32::MIN]])),
        rows([&[-3, i32::MIN]])
    );
    assert_eq!(
        reference::norm2(&a),
        rows([&[5.][..], &[0.], &[27f64.sqrt()]])
    );
    let b = rows([&[2.][..], &[1.], &[2., 3., 4., 1000.]]);
    let dot = reference::dot(&a, &b, &elementwise(3)).values;
    assert_eq!(dot, rows([&[6.][..], &[0.], &[17.]]));
    // Only the overlap of two boxes counts: 1·10 + 2·20.
    let dot = reference::dot(
        &one(&[2, 2], &[1, 2, 3, 4]),
        &one(&[1, 3], &[10, 20, 30]),
        &[(0, 0)],
    );
    assert_eq!(dot.values.values(), [50]);
    assert_eq!(dot.magnitudes, [50.0]);
    assert_eq!(dot.terms, [2]);
}

fn max_argmax() {
    let nan = f64::NAN;
    let a = rows([
        &[1., 5., 5., 2.][..],
        &[],
        &[-3.],
        &[1., nan, 9., nan],
        &[f64::NEG_INFINITY],
    ]);
    let max = reference::max(&a);
    assert_eq!(max.values()[..3], [5., f64::NEG_INFINITY, -3.]);
    assert!(max.values()[3].is_nan());
    assert_eq!(reference::argmax(&a).values(), [1, u32::MAX, 0, 1, 0]);
    let integers = rows([&[-4, -2, -2][..], &[]]);
    assert_eq!(reference::max(&integers).values(), [-2, i32::MIN]);
    assert_eq!(reference::argmax(&integers).values(), [1, u32::MAX]);
    assert_eq!(reference::max(&rows::<u32, 1>([&[]])).values(), [0]);

    let min = reference::min(&a);
    assert_eq!(min.values()[..3], [1., f64::INFINITY, -3.]);
    assert!(min.values()[3].is_nan());
    assert_eq!(reference::argmin(&a).values(), [0, u32::MAX, 0, 1, 0]);
    assert_eq!(reference::min(&integers).values(), [-4, i32::MAX]);
    let ties = rows([&[3, 1, 1][..]]);
    assert_eq!(reference::argmin(&ties).values(), [1]);
}

fn conv() {
    check(
        reference::conv,
        rows([
            &[1., 2.][..],
            &[1., 2., 3.],
            &[1., -1., 2., 0.5],
            &[1.; 8],
            &[],
            &[1., 2.],
            &[1., 2., 3.],
        ]),
        rows([
            &[3., 4.][..],
            &[0.5, 1.5],
            &[2., 1., -1.],
            &[1., -1.],
            &[3.],
            &[],
            &[1.],
        ]),
        rows([
            &[3., 10., 8.][..],
            &[0.5, 2.5, 4.5, 4.5],
            &[2., -1., 2., 4., -1.5, -0.5],
            &[1., 0., 0., 0., 0., 0., 0., 0., -1.],
            &[],
            &[],
            &[1., 2., 3.],
        ]),
    );
}

fn conv_rank_2() {
    check(
        reference::conv,
        one(&[2, 2], &[1, 2, 3, 4]),
        one(&[2, 2], &[1, 0, 0, 1]),
        one(&[3, 3], &[1, 2, 0, 3, 5, 2, 0, 3, 4]),
    );
    check(
        reference::conv,
        one(&[3, 0], &[]),
        one(&[2, 2], &[1; 4]),
        one::<i32>(&[0, 0], &[]),
    );
}

fn conv_binomials() {
    let factor = rows([&[1, 1]]);
    let mut power = rows([&[1]]);
    for _ in 0..10 {
        power = reference::conv(&power, &factor, &[(0, 0)]).values;
    }
    assert_eq!(
        power.values(),
        [1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1]
    );
}

fn correlate() {
    // Lags −1, 0, 1, 2 of a_{i+k} b_i: 1·20; 1·10 + 2·20; 2·10 + 3·20; 3·10.
    check(
        reference::correlate,
        rows([&[1, 2, 3][..], &[], &[7]]),
        rows([&[10, 20][..], &[1], &[2]]),
        rows([&[20, 50, 80, 30][..], &[], &[14]]),
    );
}

fn correlate_rank_2() {
    check(
        reference::correlate,
        one(&[2, 2], &[1, 2, 3, 4]),
        one(&[1, 2], &[10, 20]),
        one(&[2, 3], &[20, 50, 20, 60, 110, 40]),
    );
}

fn correlate_max() {
    let a = rows([
        &[0., 0., 1., 2.][..],
        &[],
        &[1.],
        &[1., 1., 1.],
        &[1., f64::NAN, 1.],
    ]);
    let b = rows([&[1., 2.][..], &[1.], &[], &[1.], &[1., 1.]]);
    let (value, lag) = reference::correlate_max(&a, &b, &elementwise(5));
    assert_eq!(
        value.values()[..4],
        [5., f64::NEG_INFINITY, f64::NEG_INFINITY, 1.]
    );
    assert!(value.values()[4].is_nan());
    assert_eq!(lag.values(), [2, i32::MIN, i32::MIN, 0, 0]);
    let (_, lag) = reference::correlate_max(&b, &a, &[(0, 0)]);
    assert_eq!(lag.values(), [-2]);
}

fn sbd() {
    let a = rows([
        &[0., 0., 3., 4.][..],
        &[1., 1.],
        &[],
        &[1.],
        &[0., 0.],
        &[1., 0.],
        &[1.],
    ]);
    let b = rows([
        &[3., 4.][..],
        &[-1., -1.],
        &[1.],
        &[],
        &[1., 2.],
        &[3., 4.],
        &[-5.],
    ]);
    let (distance, lag) = reference::sbd(&a, &b, &elementwise(7));
    assert_eq!(distance.values()[..1], [0.]);
    let none = i32::MIN;
    assert_eq!(lag.values(), [2, -1, none, none, -1, -1, 0]);
    let expected = [0., 1.5, 1., 1., 1., 0.2, 2.];
    for (p, (&got, wanted)) in distance.values().iter().zip(expected).enumerate() {
        assert!(
            (got - wanted).abs() < 1e-15,
            "pair {p}: {got} instead of {wanted}"
        );
    }
}

fn equivalent() {
    let a = rows([
        &[1., 2.][..],
        &[1., 2.],
        &[],
        &[],
        &[0., 1.],
        &[-0.],
        &[f64::NAN],
    ]);
    let b = rows([
        &[1., 2., 0.][..],
        &[1., 2., 1.],
        &[0., 0.],
        &[],
        &[1.],
        &[0.],
        &[f64::NAN],
    ]);
    let got = reference::equivalent(&a, &b, &elementwise(7));
    assert_eq!(got, [true, false, true, true, false, true, false]);
    let padded = one(&[2, 3], &[1, 2, 0, 0, 0, 0]);
    assert_eq!(
        reference::equivalent(&one(&[1, 2], &[1, 2]), &padded, &[(0, 0)]),
        [true]
    );
    assert_eq!(
        reference::equivalent(&one(&[2, 1], &[1, 2]), &padded, &[(0, 0)]),
        [false]
    );
    assert_eq!(
        reference::equivalent(&one(&[5, 0], &[]), &one(&[1, 2], &[0; 2]), &[(0, 0)]),
        [true]
    );
}

fn pairings() {
    assert_eq!(pairs(Pairing::OneToAll, 1, 3), [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(pairs(Pairing::AllToOne, 2, 1), [(0, 0), (1, 0)]);
    assert_eq!(
        pairs(Pairing::AllToAll, 2, 2),
        [(0, 0), (0, 1), (1, 0), (1, 1)]
    );
    assert_eq!(pairs(Pairing::AllToAll, 2, 0), []);
    assert_eq!(
        pairs(Pairing::List(&pair_list([(2, 1), (0, 0)])), 3, 2),
        [(2, 1), (0, 0)]
    );
    let a = rows([&[1][..], &[1, 1]]);
    let b = rows([&[10][..], &[20, 30], &[]]);
    let all = pairs(Pairing::AllToAll, 2, 3);
    let sums = reference::add(&a, &b, &all).values;
    let expected: [&[i32]; 6] = [&[11], &[21, 30], &[1], &[11, 1], &[21, 31], &[1, 1]];
    assert_eq!(sums, rows(expected));
    assert_eq!(
        reference::dot(&a, &b, &all).values.values(),
        [10, 20, 0, 10, 50, 0]
    );
}

fn integers_wrap() {
    let one_of = |value: i32| rows([&[value]]);
    check(
        reference::add,
        one_of(i32::MAX),
        one_of(1),
        one_of(i32::MIN),
    );
    check(
        reference::sub,
        rows([&[0u32]]),
        rows([&[1]]),
        rows([&[u32::MAX]]),
    );
    check(reference::conv, one_of(1 << 20), one_of(1 << 12), one_of(0));
    check(
        reference::dot,
        one_of(i32::MIN),
        one_of(-1),
        one_of(i32::MIN),
    );
    assert_eq!(reference::sum(&rows([&[u32::MAX, 3]])).values.values(), [2]);
    assert_eq!(reference::scale(&one_of(1 << 30), 4).values(), [0]);
}

fn magnitudes_and_terms() {
    let got = reference::conv(&rows([&[1., -2., 3.]]), &rows([&[-4., 5.]]), &[(0, 0)]);
    assert_eq!(got.values.values(), [-4., 13., -22., 15.]);
    assert_eq!(got.magnitudes, [4., 13., 22., 15.]);
    assert_eq!(got.terms, [1, 2, 2, 1]);
    let got = reference::sub(&rows([&[1., -2.]]), &rows([&[-4.]]), &[(0, 0)]);
    assert_eq!(got.magnitudes, [5., 2.]);
    let got = reference::sum(&rows([&[1., -2., 0.5][..], &[]]));
    assert_eq!(got.magnitudes, [3.5, 0.]);
    assert_eq!(got.terms, [3, 0]);
    assert_eq!(got.largest_magnitude(), 3.5);
}
