//! Cases that a comparison rejects, and cases that it accepts.

use rustfft::num_complex::Complex64;
use vsla::{Complex32, Ragged, Shape};

use super::Outcome;
use crate::support::compare::{self, U, exact, identical, within};

/// A comparison that must fail, with the text that its message must contain.
pub(super) struct Refused {
    pub(super) name: &'static str,
    pub(super) says: &'static [&'static str],
    pub(super) compare: fn() -> Outcome,
}

/// A comparison that must pass.
pub(super) struct Accepted {
    pub(super) name: &'static str,
    pub(super) compare: fn() -> Outcome,
}

/// Elements of 3, 0, 2 and 3 values, neither of the first and last being the other shifted.
pub(super) fn batch() -> Ragged<f32> {
    rows(&[&[1.0, 2.5, -3.0], &[], &[0.0, 7.0], &[4.0, 5.0, 6.0]])
}

fn rows(rows: &[&[f32]]) -> Ragged<f32> {
    Ragged::from_rows(rows).unwrap()
}

/// `batch()` with `value` at `index` of the last element.
pub(super) fn changed(index: usize, value: f32) -> Ragged<f32> {
    let mut batch = batch();
    batch.values_mut()[5 + index] = value;
    batch
}

fn zeros() -> Ragged<f32> {
    batch().cast(|_| 0.0).unwrap()
}

pub(super) fn wide(batch: Ragged<f32>) -> Ragged<f64> {
    batch.cast(f64::from).unwrap()
}

/// `within`, every value having the same bound.
pub(super) fn all_within(got: Ragged<f32>, expected: Ragged<f32>, bound: f64) -> Outcome {
    let bounds = vec![bound; expected.values().len()];
    within(&got, &wide(expected), &bounds)
}

/// `batch()`'s values as a matrix and a row vector, one element after the other.
fn matrices(shapes: [[usize; 2]; 2]) -> Ragged<f32> {
    let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
    Ragged::from_shapes(batch().values().to_vec(), 2, shapes).unwrap()
}

/// A spectrum of two elements, with one value of the second one changed.
fn spectrum(by: f32) -> Ragged<Complex32> {
    let z = Complex32::new;
    Ragged::from_rows([vec![], vec![z(3.0, 4.0), z(0.0, by)]]).unwrap()
}

fn spectral(got: &Ragged<Complex32>, bound: f64) -> Outcome {
    let wide = spectrum(0.0)
        .cast(|z| Complex64::new(z.re.into(), z.im.into()))
        .unwrap();
    compare::spectral(got, &wide, |_| bound)
}

pub(super) const REFUSED: &[Refused] = &[
    Refused {
        name: "a_spectrum_beyond_its_bound",
        says: &["element 1 of 2 values", "off by 6.000e-1, relative 1.2"],
        compare: || spectral(&spectrum(0.6), 0.1),
    },
    Refused {
        name: "a_nan_in_a_spectrum",
        says: &["element 1 of 2 values"],
        compare: || spectral(&spectrum(f32::NAN), 0.1),
    },
    Refused {
        name: "a_shorter_spectrum",
        says: &["instead of"],
        compare: || {
            let row = spectrum(0.0).row(1)[..1].to_vec();
            spectral(&Ragged::from_rows([vec![], row]).unwrap(), 0.1)
        },
    },
    Refused {
        name: "spectra_in_another_order",
        says: &["instead of"],
        compare: || {
            let row = spectrum(0.0).row(1).to_vec();
            spectral(&Ragged::from_rows([row, vec![]]).unwrap(), 0.1)
        },
    },
    Refused {
        name: "a_spectrum_of_zeros",
        says: &["element 1 of 2 values"],
        compare: || spectral(&spectrum(0.0).cast(|_| Complex32::default()).unwrap(), 0.1),
    },
    Refused {
        name: "a_spectrum_that_cannot_be_judged",
        says: &["the test is wrong"],
        compare: || {
            compare::spectral(
                &spectrum(0.0),
                &spectrum(0.0).cast(|_| Complex64::default()).unwrap(),
                |_| 0.1,
            )
        },
    },
    Refused {
        name: "a_changed_value",
        says: &["1 values differ", "element 3, index 1: got 5.5, expected 5"],
        compare: || exact(&changed(1, 5.5), &batch()),
    },
    Refused {
        name: "the_last_bit_of_a_value",
        says: &["element 3, index 2"],
        compare: || exact(&changed(2, 6.0f32.next_up()), &batch()),
    },
    Refused {
        name: "a_value_beyond_its_bound",
        says: &["element 3, index 0: got 4.1", "allowed 9.000e-2"],
        compare: || all_within(changed(0, 4.1), batch(), 0.09),
    },
    Refused {
        name: "a_value_beyond_its_own_bound_only",
        says: &["1 values differ", "element 3, index 0"],
        compare: || {
            let mut bounds = vec![1.0; 8];
            bounds[5] = 0.09;
            within(&changed(0, 4.1), &wide(batch()), &bounds)
        },
    },
    Refused {
        name: "nan_in_the_result",
        says: &["element 3, index 0: got NaN"],
        compare: || all_within(changed(0, f32::NAN), batch(), 1e30),
    },
    Refused {
        name: "nan_in_the_result_exactly",
        says: &["got NaN"],
        compare: || exact(&changed(0, f32::NAN), &batch()),
    },
    Refused {
        name: "nan_in_the_expectation",
        says: &["element 3, index 0: got 4.0, expected NaN"],
        compare: || all_within(batch(), changed(0, f32::NAN), 1e30),
    },
    Refused {
        name: "nan_in_the_expectation_exactly",
        says: &["expected NaN"],
        compare: || exact(&batch(), &changed(0, f32::NAN)),
    },
    Refused {
        name: "nan_everywhere",
        says: &["8 values differ"],
        compare: || all_within(batch().cast(|_| f32::NAN).unwrap(), batch(), f64::MAX),
    },
    Refused {
        name: "infinity_in_the_result",
        says: &["got inf"],
        compare: || all_within(changed(0, f32::INFINITY), batch(), f64::MAX),
    },
    Refused {
        name: "the_other_infinity",
        says: &["got -inf, expected inf"],
        compare: || {
            all_within(
                changed(0, f32::NEG_INFINITY),
                changed(0, f32::INFINITY),
                f64::MAX,
            )
        },
    },
    Refused {
        name: "a_finite_value_for_infinity",
        says: &["expected inf"],
        compare: || all_within(changed(0, f32::MAX), changed(0, f32::INFINITY), f64::MAX),
    },
    Refused {
        name: "nan_for_infinity",
        says: &["got NaN, expected inf"],
        compare: || all_within(changed(0, f32::NAN), changed(0, f32::INFINITY), f64::MAX),
    },
    Refused {
        name: "a_shorter_result",
        says: &["3 elements instead of 4"],
        compare: || exact(&rows(&[&[1.0, 2.5, -3.0], &[], &[0.0, 7.0]]), &batch()),
    },
    Refused {
        name: "a_shorter_result_within_bounds",
        says: &["3 elements instead of 4"],
        compare: || all_within(rows(&[&[1.0, 2.5, -3.0], &[], &[0.0, 7.0]]), batch(), 1e30),
    },
    Refused {
        name: "a_shorter_last_element",
        says: &["element 3 has shape (2) instead of (3)"],
        compare: || {
            exact(
                &rows(&[&[1.0, 2.5, -3.0], &[], &[0.0, 7.0], &[4.0, 5.0]]),
                &batch(),
            )
        },
    },
    Refused {
        name: "a_longer_result",
        says: &["5 elements instead of 4"],
        compare: || {
            let longer = rows(&[&[1.0, 2.5, -3.0], &[], &[0.0, 7.0], &[4.0, 5.0, 6.0], &[]]);
            exact(&longer, &batch())
        },
    },
    Refused {
        name: "no_result",
        says: &["0 elements instead of 4"],
        compare: || all_within(rows(&[]), batch(), 1e30),
    },
    Refused {
        name: "a_row_shifted_by_one",
        says: &["3 values differ", "element 3, index 0: got 6.0, expected 4"],
        compare: || {
            all_within(
                rows(&[&[1.0, 2.5, -3.0], &[], &[0.0, 7.0], &[6.0, 4.0, 5.0]]),
                batch(),
                0.5,
            )
        },
    },
    Refused {
        name: "rows_shifted_by_one",
        says: &["element 0 has shape (0) instead of (3)"],
        compare: || {
            exact(
                &rows(&[&[], &[0.0, 7.0], &[4.0, 5.0, 6.0], &[1.0, 2.5, -3.0]]),
                &batch(),
            )
        },
    },
    Refused {
        name: "values_shifted_across_elements",
        says: &["values differ"],
        compare: || {
            let mut shifted = batch();
            shifted.values_mut().rotate_right(1);
            exact(&shifted, &batch())
        },
    },
    Refused {
        name: "the_smallest_value_for_zero",
        says: &["element 2, index 0", "expected 0"],
        compare: || {
            let mut got = batch();
            got.values_mut()[3] = f32::from_bits(1);
            exact(&got, &batch())
        },
    },
    Refused {
        name: "the_smallest_value_for_zero_under_a_bound_of_zero",
        says: &["element 2, index 0"],
        compare: || {
            let mut got = batch();
            got.values_mut()[3] = f32::from_bits(1);
            all_within(got, batch(), 0.0)
        },
    },
    Refused {
        name: "a_large_value_for_zero",
        says: &["element 2, index 0: got 10000000000.0, expected 0"],
        compare: || {
            let mut got = batch();
            got.values_mut()[3] = 1e10;
            all_within(got, batch(), U)
        },
    },
    Refused {
        name: "zeros_for_values",
        says: &["7 values differ"],
        compare: || exact(&zeros(), &batch()),
    },
    Refused {
        name: "zeros_for_values_within_bounds",
        says: &["7 values differ"],
        compare: || all_within(zeros(), batch(), 0.1),
    },
    Refused {
        name: "values_for_zeros",
        says: &["7 values differ"],
        compare: || all_within(batch(), zeros(), 0.1),
    },
    Refused {
        name: "the_same_values_with_other_offsets",
        says: &["element 0 has shape (2) instead of (3)"],
        compare: || {
            exact(
                &rows(&[&[1.0, 2.5], &[-3.0], &[0.0, 7.0], &[4.0, 5.0, 6.0]]),
                &batch(),
            )
        },
    },
    Refused {
        name: "the_same_values_with_the_empty_element_elsewhere",
        says: &["element 1 has shape (2) instead of (0)"],
        compare: || {
            let moved = rows(&[&[1.0, 2.5, -3.0], &[0.0, 7.0], &[], &[4.0, 5.0, 6.0]]);
            all_within(moved, batch(), 1e30)
        },
    },
    Refused {
        name: "the_same_values_with_other_shapes",
        says: &["element 0 has shape (2, 3) instead of (3, 2)"],
        compare: || exact(&matrices([[2, 3], [1, 2]]), &matrices([[3, 2], [1, 2]])),
    },
    Refused {
        name: "another_empty_shape",
        says: &["element 0 has shape (0, 3) instead of (3, 0)"],
        compare: || {
            let empty = |extents: [usize; 2]| {
                Ragged::<f32>::from_shapes(vec![], 2, [Shape::new(&extents).unwrap()]).unwrap()
            };
            exact(&empty([0, 3]), &empty([3, 0]))
        },
    },
    Refused {
        name: "another_rank",
        says: &["rank 2 instead of 1"],
        compare: || {
            let shapes = [[3, 1], [0, 1], [2, 1], [3, 1]].map(|e| Shape::new(&e).unwrap());
            let columns = Ragged::from_shapes(batch().values().to_vec(), 2, shapes).unwrap();
            exact(&columns, &batch())
        },
    },
    Refused {
        name: "an_integer_off_by_one",
        says: &["got -7, expected -8"],
        compare: || {
            exact(
                &batch().cast(|_| -7i32).unwrap(),
                &batch().cast(|_| -8i32).unwrap(),
            )
        },
    },
    Refused {
        name: "large_integers_that_f32_cannot_tell_apart",
        says: &["8 values differ"],
        compare: || {
            exact(
                &batch().cast(|_| u32::MAX).unwrap(),
                &batch().cast(|_| u32::MAX - 1).unwrap(),
            )
        },
    },
    Refused {
        name: "another_sign_of_zero_bit_by_bit",
        says: &["element 2, index 0: got -0.0"],
        compare: || {
            let mut got = batch();
            got.values_mut()[3] = -0.0;
            identical(&got, &batch())
        },
    },
    Refused {
        name: "nan_in_place_of_a_number_bit_by_bit",
        says: &["got NaN, expected"],
        compare: || identical(&changed(0, -f32::NAN), &batch()),
    },
    Refused {
        name: "a_number_in_place_of_nan_bit_by_bit",
        says: &["expected NaN"],
        compare: || identical(&batch(), &changed(0, f32::NAN)),
    },
    Refused {
        name: "infinity_in_place_of_nan_bit_by_bit",
        says: &["got inf, expected NaN"],
        compare: || identical(&changed(0, f32::INFINITY), &changed(0, f32::NAN)),
    },
    Refused {
        name: "fewer_bounds_than_values",
        says: &["the test is wrong: 7 bounds for 8 values"],
        compare: || within(&batch(), &wide(batch()), &[1.0; 7]),
    },
    Refused {
        name: "more_bounds_than_values",
        says: &["the test is wrong: 9 bounds for 8 values"],
        compare: || within(&batch(), &wide(batch()), &[1.0; 9]),
    },
    Refused {
        name: "a_bound_that_is_nan",
        says: &["the test is wrong"],
        compare: || all_within(batch(), batch(), f64::NAN),
    },
    Refused {
        name: "a_bound_that_is_infinite",
        says: &["the test is wrong"],
        compare: || all_within(batch(), batch(), f64::INFINITY),
    },
    Refused {
        name: "a_bound_below_zero",
        says: &["the test is wrong"],
        compare: || all_within(batch(), batch(), -1.0),
    },
];

pub(super) const ACCEPTED: &[Accepted] = &[
    Accepted {
        name: "a_spectrum_within_its_bound",
        compare: || spectral(&spectrum(0.4), 0.1),
    },
    Accepted {
        name: "the_same",
        compare: || exact(&batch(), &batch()),
    },
    Accepted {
        name: "the_same_bit_by_bit",
        compare: || identical(&batch(), &batch()),
    },
    Accepted {
        name: "another_nan_bit_by_bit",
        compare: || {
            let other = f32::from_bits(f32::NAN.to_bits() | 1 << 31 | 1);
            identical(&changed(0, other), &changed(0, f32::NAN))
        },
    },
    Accepted {
        name: "the_same_layout_made_in_another_way",
        compare: || {
            let again = Ragged::from_offsets(batch().values().to_vec(), [0, 3, 3, 5, 8]).unwrap();
            exact(&again, &batch())
        },
    },
    Accepted {
        name: "the_other_sign_of_zero",
        compare: || {
            let mut got = batch();
            got.values_mut()[3] = -0.0;
            exact(&got, &batch())
        },
    },
    Accepted {
        name: "errors_up_to_the_bound",
        compare: || all_within(changed(0, 4.5), batch(), 0.5),
    },
    Accepted {
        name: "a_bound_of_zero",
        compare: || all_within(batch(), batch(), 0.0),
    },
    Accepted {
        name: "nan_where_it_is_expected",
        compare: || all_within(changed(1, f32::NAN), changed(1, f32::NAN), 0.0),
    },
    Accepted {
        name: "nan_where_it_is_expected_exactly",
        compare: || exact(&changed(1, -f32::NAN), &changed(1, f32::NAN)),
    },
    Accepted {
        name: "infinity_where_it_is_expected_whatever_the_bound",
        compare: || {
            let wanted = wide(changed(2, f32::INFINITY));
            let mut bounds = vec![0.0; 8];
            bounds[7] = f64::NAN;
            within(&changed(2, f32::INFINITY), &wanted, &bounds)
        },
    },
    Accepted {
        name: "integers",
        compare: || {
            exact(
                &batch().cast(|v| v as i32).unwrap(),
                &batch().cast(|v| v as i32).unwrap(),
            )
        },
    },
    Accepted {
        name: "nothing_for_nothing",
        compare: || exact(&rows(&[]), &rows(&[])),
    },
    Accepted {
        name: "empty_elements",
        compare: || all_within(rows(&[&[], &[]]), rows(&[&[], &[]]), 0.0),
    },
    Accepted {
        name: "matrices",
        compare: || exact(&matrices([[2, 3], [1, 2]]), &matrices([[2, 3], [1, 2]])),
    },
];
