//! Maxima and minima, and their indices.

use vsla::{Device, Layout, Ragged};

use super::{INF, NAN};
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::operation::{golden, one, rows, run};
use crate::support::property;
use crate::support::reference::scalars;

pub(super) fn max_goldens(device: &Device) {
    golden::<f32, f32, 8>(
        device,
        |x, _| x.max(),
        [
            (&[1., 5., 2.], &[], &[5.]),
            (&[], &[], &[-INF]),
            (&[-3., -2.5], &[], &[-2.5]),
            (&[-INF], &[], &[-INF]),
            (&[1., INF], &[], &[INF]),
            (&[1., NAN, 9.], &[], &[NAN]),
            (&[INF, NAN], &[], &[NAN]),
            (&[f32::MIN, -1e38], &[], &[-1e38]),
        ],
    );
    golden::<i32, i32, 3>(
        device,
        |x, _| x.max(),
        [
            (&[-5, -3, -4], &[], &[-3]),
            (&[], &[], &[i32::MIN]),
            (&[i32::MIN, i32::MAX], &[], &[i32::MAX]),
        ],
    );
    golden::<u32, u32, 2>(
        device,
        |x, _| x.max(),
        [(&[1 << 31, 5], &[], &[1 << 31]), (&[], &[], &[0])],
    );
}

/// The maximum is placed around every tile edge of a long element, at a different position in each element.
pub(super) fn max_is_found_anywhere(device: &Device) {
    const LENGTH: usize = 4100;
    let places: Vec<usize> = [
        0,
        31,
        32,
        63,
        64,
        255,
        256,
        1023,
        1024,
        2047,
        2048,
        4095,
        4096,
        LENGTH - 1,
    ]
    .to_vec();
    let layout = Layout::from_lengths(places.iter().map(|_| LENGTH)).unwrap();
    let mut random = rng("max anywhere");
    let x = Ragged::from_fn(&layout, |element, index| {
        if index == places[element] {
            -0.25
        } else {
            -1.0 - random.f32()
        }
    })
    .unwrap();
    let found = run(device, &x, &x, |x, _| x.max());
    assert_exact("max", &found, &scalars(places.iter().map(|_| -0.25)));
    let found = run(device, &x, &x, |x, _| x.argmax());
    assert_exact(
        "argmax",
        &found,
        &scalars(places.iter().map(|&place| place as u32)),
    );
}

pub(super) fn argmax_goldens(device: &Device) {
    golden::<f32, u32, 5>(
        device,
        |x, _| x.argmax(),
        [
            (&[1., 5., 2.], &[], &[1]),
            (&[], &[], &[u32::MAX]),
            (&[-7.], &[], &[0]),
            (&[-INF, -INF], &[], &[0]),
            (&[0., INF, INF], &[], &[1]),
        ],
    );
    golden::<i32, u32, 2>(
        device,
        |x, _| x.argmax(),
        [(&[-5, -3], &[], &[1]), (&[i32::MIN], &[], &[0])],
    );
    golden::<u32, u32, 2>(
        device,
        |x, _| x.argmax(),
        [(&[0, 0], &[], &[0]), (&[], &[], &[u32::MAX])],
    );
}

pub(super) fn argmax_ties(device: &Device) {
    let layout = Layout::from_lengths([1, 2, 33, 257, 1025, 70_000]).unwrap();
    let x = Ragged::full(&layout, 3.0f32).unwrap();
    assert_exact(
        "all equal",
        &run(device, &x, &x, |x, _| x.argmax()),
        &scalars([0; 6]),
    );
    // Equal maxima far apart, so that different threads hold them.
    let lengths = [40, 400, 4000, 40_000];
    let x = Ragged::from_fn(&Layout::from_lengths(lengths).unwrap(), |element, index| {
        let length = lengths[element];
        if index == length / 4 || index >= length / 2 {
            2
        } else {
            1
        }
    })
    .unwrap();
    let expected = scalars(lengths.map(|length| length as u32 / 4));
    assert_exact(
        "two maxima",
        &run(device, &x, &x, |x, _| x.argmax()),
        &expected,
    );
    // Zeros are equal, whatever their sign.
    golden::<f32, u32, 2>(
        device,
        |x, _| x.argmax(),
        [(&[-0., 0.], &[], &[0]), (&[0., -0.], &[], &[0])],
    );
}

pub(super) fn argmax_of_nan(device: &Device) {
    golden::<f32, u32, 3>(
        device,
        |x, _| x.argmax(),
        [
            (&[1., NAN, INF, NAN], &[], &[1]),
            (&[NAN], &[], &[0]),
            (&[INF, 1., -NAN], &[], &[2]),
        ],
    );
    let layout = Layout::from_lengths([5000, 5000]).unwrap();
    let x = Ragged::from_fn(&layout, |element, index| match (element, index) {
        (0, 1234 | 1235 | 4999) => NAN,
        (1, 4999) => NAN,
        (_, index) => index as f32,
    })
    .unwrap();
    assert_exact(
        "in a long one",
        &run(device, &x, &x, |x, _| x.argmax()),
        &scalars([1234, 4999]),
    );
}

pub(super) fn argmax_of_boxes(device: &Device) {
    let x = one(&[2, 3, 2], &[0, 1, 2, 3, 4, 5, 6, 9, 8, 9, 1, 0]);
    assert_exact(
        "2×3×2",
        &run(device, &x, &x, |x, _| x.argmax()),
        &rows([&[7]]),
    );
}

pub(super) fn min_goldens(device: &Device) {
    golden::<f32, f32, 8>(
        device,
        |x, _| x.min(),
        [
            (&[5., 1., 2.], &[], &[1.]),
            (&[], &[], &[INF]),
            (&[INF], &[], &[INF]),
            (&[-3., -INF], &[], &[-INF]),
            (&[1., NAN, -9.], &[], &[NAN]),
            (&[-INF, -NAN], &[], &[NAN]),
            (&[0., -0.], &[], &[-0.]),
            (&[f32::MAX, 1e38], &[], &[1e38]),
        ],
    );
    golden::<i32, i32, 2>(
        device,
        |x, _| x.min(),
        [
            (&[i32::MAX, 5, i32::MIN], &[], &[i32::MIN]),
            (&[], &[], &[i32::MAX]),
        ],
    );
    golden::<u32, u32, 2>(
        device,
        |x, _| x.min(),
        [(&[1 << 31, 5], &[], &[5]), (&[], &[], &[u32::MAX])],
    );
    golden::<f32, u32, 6>(
        device,
        |x, _| x.argmin(),
        [
            (&[5., 1., 1.], &[], &[1]),
            (&[], &[], &[u32::MAX]),
            (&[0., -0.], &[], &[0]),
            (&[-0., 0.], &[], &[0]),
            (&[-INF, NAN, NAN], &[], &[1]),
            (&[INF, INF], &[], &[0]),
        ],
    );
}

/// Minima around every tile edge, compared with maxima of the negated values.
pub(super) fn min_of_negated(device: &Device) {
    let lengths = [0, 1, 31, 32, 33, 1024, 4095, 4096, 4097, 70_000];
    let x = Ragged::random(&Layout::from_lengths(lengths).unwrap(), 8).unwrap();
    let negated = x.cast(|x| -x).unwrap();
    let min = run(device, &x, &x, |x, _| x.min());
    let max = run(device, &negated, &negated, |x, _| x.max());
    assert_exact("min x = -max -x", &min, &max.cast(|x| -x).unwrap());
    let argmin = run(device, &x, &x, |x, _| x.argmin());
    let argmax = run(device, &negated, &negated, |x, _| x.argmax());
    assert_exact("its place", &argmin, &argmax);
}

pub(super) fn max_is_at_argmax(device: &Device) {
    property::on(device, property::batch(), |a| {
        let max = run(device, &a, &a, |x, _| x.max());
        let place = run(device, &a, &a, |x, _| x.argmax());
        for (i, row) in a.iter().enumerate() {
            let (max, place) = (max.values()[i], place.values()[i] as usize);
            assert_eq!(row.get(place).copied().unwrap_or(i32::MIN), max, "{row:?}");
            assert!(row.iter().take(place).all(|&value| value < max), "{row:?}");
        }
    });
}
