//! Expected results, and operands to compute them for.

use vsla::{Device, Layout, Ragged, Shape, Tensor};

use super::Value;
use crate::support::corpus::rng;
use crate::support::operation::upload;

/// Every index of a box, in order, and its position in another box.
pub fn places(shape: Shape, other: Shape) -> impl Iterator<Item = Option<usize>> {
    let extents: Vec<usize> = shape.extents().iter().map(|&e| e as usize).collect();
    let others: Vec<usize> = other.extents().iter().map(|&e| e as usize).collect();
    (0..extents.iter().product()).map(move |i| {
        let (mut rest, mut at, mut stride, mut inside) = (i, 0, 1, true);
        for axis in (0..extents.len()).rev() {
            let index = rest % extents[axis];
            rest /= extents[axis];
            inside &= index < others[axis];
            at += index * stride;
            stride *= others[axis];
        }
        inside.then_some(at)
    })
}

/// The result of a function of two values, either of which may be missing.
fn reference<T: Value>(name: &str, x: Option<T>, y: Option<T>) -> f64 {
    let zero = T::small(0);
    match name {
        "add" | "sub" | "equal" | "not_equal" | "less" | "less_equal" | "greater"
        | "greater_equal" => T::reference(name, x.unwrap_or(zero), y.unwrap_or(zero)),
        "maximum" | "minimum" => match (x, y) {
            (Some(x), Some(y)) => T::reference(name, x, y),
            (x, y) => x.or(y).unwrap_or(zero).wide(),
        },
        _ => match (x, y) {
            (Some(x), Some(y)) => T::reference(name, x, y),
            _ => 0.0,
        },
    }
}

/// The results for two batches, pair by pair in ambient boxes.
pub fn ambient<T: Value>(
    name: &str,
    a: &Ragged<T>,
    b: &Ragged<T>,
    pairs: &[(usize, usize)],
) -> Ragged<f64> {
    let mut shapes = Vec::new();
    let mut values = Vec::new();
    for &(i, j) in pairs {
        let shape = a.shape(i).ambient(&b.shape(j)).unwrap();
        let both = places(shape, a.shape(i)).zip(places(shape, b.shape(j)));
        values.extend(
            both.map(|(x, y)| reference(name, x.map(|x| a.row(i)[x]), y.map(|y| b.row(j)[y]))),
        );
        shapes.push(shape);
    }
    Ragged::from_shapes(values, a.layout().rank(), shapes).unwrap()
}

pub fn elementwise(n: usize) -> Vec<(usize, usize)> {
    (0..n).map(|i| (i, i)).collect()
}

/// Asserts equal layouts and values: exactly, except for float functions that round.
#[track_caller]
pub fn assert_near<T: Value>(name: &str, got: &Ragged<f64>, expected: &Ragged<f64>) {
    assert_eq!(got.layout(), expected.layout(), "{name} of {}", T::DTYPE);
    let slack = match name {
        "div" | "pow" | "atan2" if T::is_float() => {
            2f64.powi(if T::DTYPE.size() == 2 { -9 } else { -20 })
        }
        _ => 0.0,
    };
    for (i, (&got, &expected)) in got.values().iter().zip(expected.values()).enumerate() {
        let same = got == expected
            || got.is_nan() && expected.is_nan()
            || (got - expected).abs() <= slack * expected.abs();
        assert!(
            same,
            "{name} of {}, value {i}: {got}, expected {expected}",
            T::DTYPE
        );
    }
}

/// Small integers for a layout.
pub fn drawn<T: Value>(layout: &Layout, seed: &str) -> Ragged<T> {
    let mut rng = rng(seed);
    Ragged::from_fn(layout, |_, _| T::small(rng.i32(-5..=5))).unwrap()
}

/// The batch as a view after an element of this many values, so that it begins at that offset in its buffer.
pub fn displaced<T: Value>(device: &Device, batch: &Ragged<T>, by: usize) -> Tensor<T> {
    let rank = batch.layout().rank();
    let mut extents = vec![1; rank];
    extents[rank - 1] = by;
    let first = Shape::new(&extents).unwrap();
    let shapes: Vec<Shape> = std::iter::once(first)
        .chain(batch.layout().shapes())
        .collect();
    let values: Vec<T> = (0..by)
        .map(|_| T::small(3))
        .chain(batch.values().iter().copied())
        .collect();
    let whole = upload(device, &Ragged::from_shapes(values, rank, shapes).unwrap());
    whole.elements(1..1 + batch.len()).unwrap()
}

pub fn layout(rank: usize, shapes: &[&[usize]]) -> Layout {
    Layout::from_shapes(rank, shapes.iter().map(|shape| Shape::new(shape).unwrap())).unwrap()
}
