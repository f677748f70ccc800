//! The result of every operation on shapes, value by value.

use vsla::{Layout, Ragged, Result, Shape, Tensor, scalar::Scalar};

use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected};
use crate::support::places::{Place, read};

pub(super) fn resize<T: Number>() -> Binary<T, T> {
    Binary {
        name: "resize",
        run: |x, y| x.resize(y.layout()),
        paired: None,
        expected: Some(|a, b, _| exactly(&read(a, b.layout(), |e, k| (e, k)))),
        spreads: false,
        series_only: false,
    }
}

pub(super) fn slice<T: Number>() -> Binary<T, T> {
    Binary {
        name: "slice",
        run: |x, _| slice_of(x, &ranges(x.layout().rank())),
        paired: None,
        expected: Some(|a, _, _| exactly(&sliced(a, &ranges(a.layout().rank())))),
        spreads: false,
        series_only: false,
    }
}

/// Ranges that begin before and end after the element; short ones for higher ranks.
pub(super) fn ranges(rank: usize) -> Vec<[i64; 2]> {
    match rank {
        1 => vec![[-3, 70]],
        2 => vec![[-1, 5], [1, 9]],
        _ => (0..rank as i64).map(|axis| [axis % 3 - 1, 2]).collect(),
    }
}

pub(super) fn slice_of<T: Scalar>(x: &Tensor<T>, ranges: &[[i64; 2]]) -> Result<Tensor<T>> {
    let [start, end] = [0, 1].map(|side| ranges.iter().map(|r| r[side]).collect::<Vec<i64>>());
    x.slice(&start, &end)
}

pub(super) fn sliced<T: Copy + Default>(x: &Ragged<T>, ranges: &[[i64; 2]]) -> Ragged<T> {
    let extents: Vec<usize> = ranges.iter().map(|r| (r[1] - r[0]) as usize).collect();
    let y = Layout::uniform(x.len(), Shape::new(&extents).unwrap()).unwrap();
    read(x, &y, |e, k| {
        (e, moved(k, |axis| ranges.get(axis).map_or(0, |r| r[0])))
    })
}

fn moved(mut k: Place, by: impl Fn(usize) -> i64) -> Place {
    for (axis, k) in k.iter_mut().enumerate() {
        *k += by(axis);
    }
    k
}

pub(super) fn pad<T: Number>() -> Binary<T, T> {
    Binary {
        name: "pad",
        run: |x, _| pad_by(x, &widths(x.layout().rank())),
        paired: None,
        expected: Some(|a, _, _| exactly(&padded(a, &widths(a.layout().rank())))),
        spreads: false,
        series_only: false,
    }
}

pub(super) fn pad_by<T: Scalar>(x: &Tensor<T>, widths: &[(usize, usize)]) -> Result<Tensor<T>> {
    let (before, after): (Vec<_>, Vec<_>) = widths.iter().copied().unzip();
    x.pad(&before, &after)
}

pub(super) fn widths(rank: usize) -> Vec<(usize, usize)> {
    let of_axis = [
        (3, 0),
        (0, 2),
        (1, 1),
        (0, 0),
        (0, 1),
        (1, 0),
        (0, 0),
        (0, 0),
    ];
    of_axis[..rank].to_vec()
}

pub(super) fn padded<T: Copy + Default>(x: &Ragged<T>, widths: &[(usize, usize)]) -> Ragged<T> {
    let shapes = x.layout().shapes().map(|shape| {
        let extents = shape.extents().iter().zip(widths);
        let extents: Vec<usize> = extents.map(|(n, (b, a))| *n as usize + b + a).collect();
        Shape::new(&extents).unwrap()
    });
    let y = Layout::from_shapes(widths.len(), shapes).unwrap();
    read(x, &y, |e, k| {
        (
            e,
            moved(k, |axis| -(widths.get(axis).map_or(0, |w| w.0 as i64))),
        )
    })
}

pub(super) fn flip<T: Number>() -> Binary<T, T> {
    Binary {
        name: "flip",
        run: |x, _| x.flip(&flipped_axes(x.layout().rank())),
        paired: None,
        expected: Some(|a, _, _| exactly(&flipped(a, &flipped_axes(a.layout().rank())))),
        spreads: false,
        series_only: false,
    }
}

pub(super) fn flipped_axes(rank: usize) -> Vec<usize> {
    match rank {
        1 => vec![0],
        2 => vec![1, 0],
        3 => vec![1],
        _ => vec![2, 0],
    }
}

pub(super) fn flipped<T: Copy + Default>(x: &Ragged<T>, axes: &[usize]) -> Ragged<T> {
    read(x, x.layout(), |e, mut k| {
        let shape = x.layout().shape(e);
        for &axis in axes {
            k[axis] = i64::from(shape.extents()[axis]) - 1 - k[axis];
        }
        (e, k)
    })
}

pub(super) fn transpose<T: Number>() -> Binary<T, T> {
    Binary {
        name: "transpose",
        run: |x, _| x.transpose(&permutation(x.layout().rank())),
        paired: None,
        expected: Some(|a, _, _| exactly(&permuted(a, &permutation(a.layout().rank())))),
        spreads: false,
        series_only: false,
    }
}

/// A permutation of the axes that, from rank 2 on, moves every axis.
pub(super) fn permutation(rank: usize) -> Vec<usize> {
    (0..rank).map(|axis| (axis + rank - 1) % rank).collect()
}

pub(super) fn permuted<T: Copy + Default>(x: &Ragged<T>, permutation: &[usize]) -> Ragged<T> {
    let shapes = x.layout().shapes().map(|shape| {
        let extents = permutation.iter().map(|&a| shape.extents()[a] as usize);
        Shape::new(&extents.collect::<Vec<_>>()).unwrap()
    });
    let y = Layout::from_shapes(permutation.len(), shapes).unwrap();
    read(x, &y, |e, k| {
        let mut place = Place::default();
        for (&axis, k) in permutation.iter().zip(k) {
            place[axis] = k;
        }
        (e, place)
    })
}

pub(super) fn exactly<T: Number>(values: &Ragged<T>) -> Expected {
    Expected::exact::<T>(widened(values))
}
