//! Products whose entries are combined by Kronecker products.

use vsla::{Device, product::ShapeMatrix};

use super::{Case, cases, of, run};
use crate::support::compare::{Comparable, TINY, assert_within, gamma};
use crate::support::number::Number;
use crate::support::reference::Arithmetic;

/// Cases whose Kronecker products are short enough.
fn kron_cases() -> Vec<Case> {
    let mut cases = cases();
    cases.retain(|case| !["wild", "long"].contains(&case.name));
    cases.truncate(4);
    cases
}

pub(super) fn kron_integers(device: &Device) {
    fn check<T: Number + Comparable>(device: &Device)
    where
        T::Wide: Arithmetic,
    {
        for case in kron_cases() {
            let both = case.integers::<T>();
            let expected = of(&both[0], &both[1], true);
            let got = run(device, &both, |x, y| x.kron_matmul(y));
            let none = vec![0.0; got.values().len()];
            let expected = expected.entries.cast(T::compared).unwrap();
            assert_within(case.name, &got, &expected, &none);
        }
    }
    check::<f32>(device);
    check::<i32>(device);
    check::<u32>(device);
}

pub(super) fn kron_floats(device: &Device) {
    for case in kron_cases() {
        let both = case.floats();
        let expected = of(&both[0], &both[1], true);
        let each = expected.magnitudes.iter().zip(&expected.inner);
        let bounds: Vec<f64> = each
            .map(|(magnitude, &inner)| gamma(inner as f64) * magnitude + inner as f64 * TINY)
            .collect();
        let got = run(device, &both, |x, y| x.kron_matmul(y));
        assert_within(case.name, &got, &expected.entries, &bounds);
    }
}

pub(super) fn kron_is_not_associative(device: &Device) {
    let matrix = |rows: &[&[&[i32]]]| {
        let nested: Vec<Vec<Vec<i32>>> = rows
            .iter()
            .map(|row| row.iter().map(|entry| entry.to_vec()).collect())
            .collect();
        ShapeMatrix::from_nested(device, &[nested]).unwrap()
    };
    let (a, b, c) = (
        matrix(&[&[&[1, 2]]]),
        matrix(&[&[&[1], &[1, 1]]]),
        matrix(&[&[&[1]], &[&[1]]]),
    );
    let left = a.kron_matmul(&b).unwrap().kron_matmul(&c).unwrap();
    let right = a.kron_matmul(&b.kron_matmul(&c).unwrap()).unwrap();
    assert_eq!(left.to_nested_blocking().unwrap(), [[[vec![2, 3, 2, 2]]]]);
    assert_eq!(right.to_nested_blocking().unwrap(), [[[vec![2, 1, 4, 2]]]]);
}
