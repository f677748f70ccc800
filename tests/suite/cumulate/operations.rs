//! Cumulations as operations, with their results.

use vsla::{Layout, Ragged, Result, Tensor};

use crate::lines::places;
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected};
use crate::support::reference::{Arithmetic, Sums};

pub fn last(layout: &Layout) -> usize {
    layout.rank() - 1
}

/// The results of each line, which `of` computes from its values, in the places of the values.
pub fn along<S: Copy + Default, R: Copy + Default>(
    x: &Ragged<S>,
    axis: usize,
    of: impl Fn(&[S]) -> Vec<R>,
) -> Ragged<R> {
    let mut values = Vec::new();
    for element in 0..x.len() {
        let (shape, row) = (x.layout().shape(element), x.row(element));
        let first = values.len();
        values.resize(first + row.len(), R::default());
        for line in places(shape.extents(), Some(axis)) {
            let of_line: Vec<S> = line.iter().map(|&place| row[place]).collect();
            for (place, y) in line.iter().zip(of(&of_line)) {
                values[first + place] = y;
            }
        }
    }
    Ragged::from_parts(x.layout().clone(), values).unwrap()
}

pub fn folded<S: Copy>(line: &[S], with: impl Fn(S, S) -> S) -> Vec<S> {
    let mut acc = None;
    let step = |&x: &S| {
        let now = acc.map_or(x, |acc| with(acc, x));
        acc = Some(now);
        now
    };
    line.iter().map(step).collect()
}

/// Additions that a value goes through.
pub fn depth(n: usize) -> f64 {
    264.0 + (n as f64 / 2f64.powi(24)).ceil()
}

pub fn summed<S: Arithmetic>(x: &Ragged<S>, axis: usize) -> Sums<S> {
    let sizes = along(x, axis, |line| {
        let sizes: Vec<f64> = line.iter().map(|x| x.magnitude()).collect();
        folded(&sizes, |a, b| a + b)
    });
    let counts = along(x, axis, |line| (1..=line.len() as u32).collect());
    Sums {
        values: along(x, axis, |line| folded(line, S::plus)),
        magnitudes: sizes.values().to_vec(),
        terms: counts.values().iter().map(|&n| n as usize).collect(),
    }
}

/// Computes what is expected of both operands and the pairs.
type Reference<T> = fn(&Ragged<T>, &Ragged<T>, &[(usize, usize)]) -> Expected;

fn operation<T: Number>(
    name: &'static str,
    run: fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<T>>,
    expected: Reference<T>,
) -> Binary<T, T> {
    Binary {
        name,
        run,
        paired: None,
        expected: Some(expected),
        spreads: false,
        series_only: false,
    }
}

pub fn sums<T: Number>() -> Binary<T, T> {
    operation(
        "cumsum",
        |x, _| x.cumsum(last(x.layout())),
        |x, _, _| Expected::sums::<T>(summed(&widened(x), last(x.layout())), depth),
    )
}

pub fn products<T: Number>() -> Binary<T, T> {
    operation(
        "cumprod",
        |x, _| x.cumprod(0),
        |x, _, _| {
            Expected::exact::<T>(along(&widened(x), 0, |line| {
                folded(line, Arithmetic::times)
            }))
        },
    )
}

pub fn larger<S: Arithmetic>(x: S, y: S) -> S {
    if x.yields_to(y) { y } else { x }
}

pub fn smaller<S: Arithmetic>(x: S, y: S) -> S {
    if x.gives_way_to(y) { y } else { x }
}

pub fn maxima<T: Number>() -> Binary<T, T> {
    operation(
        "cummax",
        |x, _| x.cummax(last(x.layout())),
        |x, _, _| {
            let axis = last(x.layout());
            Expected::exact::<T>(along(&widened(x), axis, |line| folded(line, larger)))
        },
    )
}

pub fn minima<T: Number>() -> Binary<T, T> {
    operation(
        "cummin",
        |x, _| x.cummin(0),
        |x, _, _| Expected::exact::<T>(along(&widened(x), 0, |line| folded(line, smaller))),
    )
}
