//! Equality up to trailing zeros.

use vsla::{Device, Pairing, Ragged};

use super::{INF, NAN};
use crate::support::corpus::{Case, rng};
use crate::support::number::Number;
use crate::support::operation::{one, pair_list, rows, run, upload};
use crate::support::reference::{self, elementwise};

fn equivalence<T: Number>(device: &Device, a: &Ragged<T>, b: &Ragged<T>) -> Vec<bool> {
    upload(device, a)
        .equivalent_blocking(&upload(device, b))
        .unwrap()
}

pub(super) fn equivalent_goldens(device: &Device) {
    let a = rows([
        &[1.0f32, 2.][..],
        &[1., 2.],
        &[],
        &[],
        &[0., 1.],
        &[0., 0.],
        &[1., 2., 3.],
    ]);
    let b = rows([
        &[1.0f32, 2., 0.][..],
        &[1., 2., 1.],
        &[0., 0.],
        &[],
        &[1.],
        &[],
        &[1., 2.],
    ]);
    let expected = [true, false, true, true, false, true, false];
    assert_eq!(equivalence(device, &a, &b), expected);
    assert_eq!(equivalence(device, &b, &a), expected);
    assert_eq!(equivalence(device, &a, &a), [true; 7]);
    let integers = |batch: &Ragged<f32>| batch.cast(|value| value as u32).unwrap();
    assert_eq!(equivalence(device, &integers(&a), &integers(&b)), expected);
    let nothing = rows::<i32, 0>([]);
    assert!(equivalence(device, &nothing, &nothing).is_empty());
}

pub(super) fn equivalent_boxes(device: &Device) {
    let padded = one(&[2, 3], &[1, 2, 0, 0, 0, 0]);
    assert_eq!(equivalence(device, &one(&[1, 2], &[1, 2]), &padded), [true]);
    assert_eq!(
        equivalence(device, &one(&[2, 1], &[1, 2]), &padded),
        [false]
    );
    assert_eq!(equivalence(device, &one(&[1, 1], &[1]), &padded), [false]);
    assert_eq!(
        equivalence(device, &one(&[5, 0], &[]), &one(&[1, 2], &[0, 0])),
        [true]
    );
    assert_eq!(equivalence(device, &one(&[5, 0], &[]), &padded), [false]);
    // The same values in the same order, at other positions.
    assert_eq!(
        equivalence(
            device,
            &one(&[2, 2], &[1, 2, 3, 4]),
            &one(&[1, 4], &[1, 2, 3, 4])
        ),
        [false]
    );
}

pub(super) fn equivalent_pairings(device: &Device) {
    let a = rows([&[1, 2][..], &[], &[3, 0]]);
    let b = rows([&[1, 2, 0][..], &[3], &[0], &[1]]);
    let (x, y) = (upload(device, &a), upload(device, &b));
    for pairing in [
        Pairing::AllToAll,
        Pairing::List(&pair_list([(2, 1), (2, 2), (0, 0), (0, 0)])),
    ] {
        let expected = reference::equivalent(&a, &b, &reference::pairs(pairing, 3, 4));
        assert!(expected.contains(&true) && expected.contains(&false));
        assert_eq!(
            x.pair(&y, pairing).unwrap().equivalent_blocking().unwrap(),
            expected
        );
    }
    let first = x.elements(0..1).unwrap();
    let pair = first.pair(&y, Pairing::OneToAll).unwrap();
    assert_eq!(
        pair.equivalent_blocking().unwrap(),
        [true, false, false, false]
    );
    let pair = y.pair(&first, Pairing::AllToOne).unwrap();
    assert_eq!(
        pair.equivalent_blocking().unwrap(),
        [true, false, false, false]
    );
}

pub(super) fn equivalent_special_values(device: &Device) {
    let tiny = f32::MIN_POSITIVE;
    let a = rows([
        &[NAN][..],
        &[-0.],
        &[INF],
        &[INF],
        &[tiny],
        &[1., NAN],
        &[1.],
    ]);
    let b = rows([
        &[NAN][..],
        &[0.],
        &[INF],
        &[-INF],
        &[],
        &[1.],
        &[1.0f32.next_up()],
    ]);
    assert_eq!(
        equivalence(device, &a, &b),
        [false, true, true, false, false, false, false]
    );
}

pub(super) fn equivalent_errors(device: &Device) {
    let (two, three) = (
        upload(device, &rows([&[1][..], &[2]])),
        upload(device, &rows([&[1][..], &[], &[2]])),
    );
    let error = two.equivalent_blocking(&three).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("batch_size", "equivalent"));
    let matrices = upload(device, &one(&[1, 1], &[1]));
    let error = two
        .elements(0..1)
        .unwrap()
        .equivalent_blocking(&matrices)
        .unwrap_err();
    assert_eq!((error.kind(), error.op()), ("rank", "equivalent"));
}

/// Each element compared with itself zero-padded, and with itself with one value changed, at every position.
pub(super) fn equivalent_corpus(device: &Device, case: &Case) {
    let (a, b) = case.integers::<i32>();
    let expected = reference::equivalent(&a, &b, &elementwise(a.len()));
    assert_eq!(equivalence(device, &a, &b), expected);
    let (a, b) = (
        a.cast(|value| value.max(1)).unwrap(),
        b.cast(|_| 0).unwrap(),
    );
    let zeroed = run(device, &a, &b, |x, y| x.add(y));
    assert_eq!(equivalence(device, &a, &zeroed), vec![true; a.len()]);
    assert_eq!(equivalence(device, &zeroed, &a), vec![true; a.len()]);
    let mut random = rng(&format!("change {}", case.name));
    let mut changed = a.clone();
    for i in (0..a.len()).step_by(2) {
        let range = a.layout().offsets().range(i);
        if !range.is_empty() {
            changed.values_mut()[random.usize(range)] = 0;
        }
    }
    let expected: Vec<bool> = (0..a.len())
        .map(|i| i % 2 == 1 || a.row(i).is_empty())
        .collect();
    assert_eq!(equivalence(device, &changed, &a), expected);
    assert_eq!(equivalence(device, &a, &changed), expected);
}
