//! Independence of elements from each other, and elements and batches without values.

use vsla::{Device, Layout, Ragged};

use super::{called, telling};
use crate::support::corpus::rng;
use crate::support::operation::{download, one, pick, upload};

/// Bits of f64 that distinguish results; all NaNs are equal.
pub fn bits(batch: &Ragged<f64>, element: usize) -> Vec<u64> {
    let bit = |&x: &f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
    batch.row(element).iter().map(bit).collect()
}

/// Whether two elements have equal bits.
#[track_caller]
pub fn assert_same(what: &str, x: &Ragged<f64>, y: &Ragged<f64>, i: usize, j: usize) {
    let (left, right) = (bits(x, i), bits(y, j));
    let differs = left.iter().zip(&right).position(|(x, y)| x != y);
    if let Some(at) = differs {
        panic!("{what}: value {at}: {} and {}", x.row(i)[at], y.row(j)[at]);
    }
    assert_eq!(left.len(), right.len(), "{what}");
}

/// An element has the same bits in a batch as alone, whichever kernel computes it.
pub fn alone(device: &Device) {
    let lengths = [[30, 1030, 5], [30, 1000, 9]];
    let [left, right] = lengths.map(|lengths| Layout::from_lengths(lengths).unwrap());
    let mut rng = rng("alone");
    let mut value = || (rng.f32() - 0.5) * 8.0;
    let a = Ragged::from_fn(&left, |_, _| value()).unwrap();
    let b = Ragged::from_fn(&right, |_, _| value()).unwrap();
    let (x, y) = (upload(device, &a), upload(device, &b));
    for name in telling::<f32>() {
        let all = called(name, &x, (&y).into()).unwrap();
        for element in 0..3 {
            let x = upload(device, &pick(&a, &[element]));
            let y = upload(device, &pick(&b, &[element]));
            let single = called(name, &x, (&y).into()).unwrap();
            assert_eq!(
                bits(&all, element),
                bits(&single, 0),
                "{name}, element {element}"
            );
        }
    }
}

pub fn contained(device: &Device) {
    let batch = |poison: f32| {
        Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![poison; 5], vec![4.0, 5.0]]).unwrap()
    };
    let other = upload(
        device,
        &Ragged::from_rows([vec![2.0f32, 3.0], vec![1.0; 5], vec![7.0; 3]]).unwrap(),
    );
    for poison in [f32::NAN, f32::INFINITY] {
        let (clean, bad) = (upload(device, &batch(1.0)), upload(device, &batch(poison)));
        for name in telling::<f32>() {
            let [clean, bad] = [&clean, &bad].map(|x| called(name, x, (&other).into()).unwrap());
            for element in [0, 2] {
                assert_eq!(bits(&clean, element), bits(&bad, element), "{name}");
            }
        }
    }
}

pub fn by_zero(device: &Device) {
    let x = upload(device, &one(&[5], &[7, -7, i32::MIN, i32::MIN, 0]));
    let y = upload(device, &one(&[5], &[0, 2, -1, 0, 0]));
    assert_eq!(
        download(&x.div(&y).unwrap()).row(0),
        [0, -3, i32::MIN, 0, 0]
    );
    assert_eq!(download(&x.remainder(&y).unwrap()).row(0), [0, -1, 0, 0, 0]);
    let x = upload(device, &one(&[3], &[u32::MAX, 5, 9]));
    let y = upload(device, &one(&[3], &[2u32, 0, 10]));
    assert_eq!(download(&x.div(&y).unwrap()).row(0), [u32::MAX / 2, 0, 0]);
    assert_eq!(download(&x.remainder(&y).unwrap()).row(0), [1, 0, 9]);
}

pub fn of_empty_batches(device: &Device) {
    let none = upload(device, &Ragged::from_rows(Vec::<Vec<f32>>::new()).unwrap());
    let empty = upload(
        device,
        &Ragged::from_rows(vec![Vec::<f32>::new(); 3]).unwrap(),
    );
    let ones = upload(
        device,
        &Ragged::from_rows([[1.0f32], [2.0], [3.0]]).unwrap(),
    );
    let vector = upload(device, &Ragged::from_rows([Vec::<f32>::new()]).unwrap());
    for name in telling::<f32>() {
        assert!(called(name, &none, (&none).into()).unwrap().is_empty());
        assert!(called(name, &none, none.each()).unwrap().is_empty());
        for operand in [(&empty).into(), ones.each(), vector.along(0)] {
            assert_eq!(
                called(name, &empty, operand).unwrap().to_vecs().unwrap(),
                vec![Vec::<f64>::new(); 3]
            );
        }
    }
}
