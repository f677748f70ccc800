//! Operations on the overlap or the union of two boxes, and concatenation.

use vsla::Ragged;

use super::{Arithmetic, Builder, Extents};

/// a ⊙ b: the products over the overlap, zero elsewhere in the ambient shape.
pub fn hadamard<S: Arithmetic>(
    a: &Ragged<S>,
    b: &Ragged<S>,
    pairs: &[(usize, usize)],
) -> Ragged<S> {
    let mut out = Builder::default();
    for &(i, j) in pairs {
        let (left, right) = (Extents::of(a, i), Extents::of(b, j));
        let ambient = left.merge(&right, Ord::max);
        let overlap = left.merge(&right, Ord::min);
        let start = out.values.len();
        out.values.resize(start + ambient.size(), S::default());
        let (at_left, at_right) = (overlap.positions_in(&left), overlap.positions_in(&right));
        let at = overlap.positions_in(&ambient);
        for ((p, q), k) in at_left.into_iter().zip(at_right).zip(at) {
            out.values[start + k] = a.row(i)[p].times(b.row(j)[q]);
        }
        out.shapes.push(ambient);
    }
    out.finish(a.layout().rank()).values
}

/// Concatenation: b follows a along every axis whose bit is set in `beside`. The other axes have the ambient extent,
/// and values that neither covers are zero.
pub fn beside<S: Arithmetic>(
    a: &Ragged<S>,
    b: &Ragged<S>,
    pairs: &[(usize, usize)],
    beside: u32,
) -> Ragged<S> {
    let mut out = Builder::default();
    for &(i, j) in pairs {
        let (left, right) = (Extents::of(a, i), Extents::of(b, j));
        let along = |axis: usize| beside >> axis & 1 == 1;
        let begins: Vec<usize> = (0..left.0.len())
            .map(|axis| if along(axis) { left.0[axis] } else { 0 })
            .collect();
        let whole = (0..left.0.len()).map(|axis| match along(axis) {
            true => left.0[axis] + right.0[axis],
            false => left.0[axis].max(right.0[axis]),
        });
        let whole = Extents(whole.collect());
        // Positions are linear in the indices, so b lies at its positions from the origin plus a constant offset.
        let further = (0..whole.0.len()).fold(0, |at, axis| at * whole.0[axis] + begins[axis]);
        let start = out.values.len();
        out.values.resize(start + whole.size(), S::default());
        for (&value, k) in a.row(i).iter().zip(left.positions_in(&whole)) {
            out.values[start + k] = value;
        }
        for (&value, k) in b.row(j).iter().zip(right.positions_in(&whole)) {
            out.values[start + further + k] = value;
        }
        out.shapes.push(whole);
    }
    out.finish(a.layout().rank()).values
}

/// The smallest box that contains all non-zero values.
pub fn shrink<S: Arithmetic>(a: &Ragged<S>) -> Ragged<S> {
    let mut out = Builder::default();
    for (i, row) in a.iter().enumerate() {
        let own = Extents::of(a, i);
        let mut ends = vec![0; own.0.len()];
        for (place, _) in row.iter().enumerate().filter(|(_, x)| **x != S::default()) {
            let mut rest = place;
            for axis in (0..ends.len()).rev() {
                ends[axis] = ends[axis].max(rest % own.0[axis] + 1);
                rest /= own.0[axis];
            }
        }
        let ends = Extents(ends);
        out.values
            .extend(ends.positions_in(&own).into_iter().map(|at| row[at]));
        out.shapes.push(ends);
    }
    out.finish(a.layout().rank()).values
}
