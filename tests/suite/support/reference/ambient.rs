//! Values of two boxes that meet, or lie side by side.

use vsla::Ragged;

use super::{Builder, Extents, Scalar};

/// a ⊙ b: the products over the overlap, zero elsewhere in the ambient shape.
pub fn hadamard<S: Scalar>(a: &Ragged<S>, b: &Ragged<S>, pairs: &[(usize, usize)]) -> Ragged<S> {
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
