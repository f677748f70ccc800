//! The meaning of every operation, implemented in the simplest way: one element after another, one term after another,
//! floats in f64 and integers modulo 2³².
//!
//! It shares only the containers with the library, and computes the shapes of results itself. Sums come with the data
//! for their error bounds: the number of terms, and the sum of their absolute values.

mod ambient;
mod builder;
mod places;
mod scalar;

use vsla::{Pairing, Ragged, conv::ConvMode};

use super::compare::sum_bound;

pub use ambient::{beside, hadamard, shrink};
use builder::{Builder, Extents, spread};
pub use places::{gather, scatter_add};
pub use scalar::Arithmetic;

/// A result whose values are sums.
pub struct Sums<S> {
    pub values: Ragged<S>,
    /// For each value, the sum of its terms' absolute values.
    pub magnitudes: Vec<f64>,
    /// For each value, the number of its terms.
    pub terms: Vec<usize>,
}

impl<S: Arithmetic> Sums<S> {
    /// The bound of each value when `terms` terms are added with a tree of depth `depth(terms)`.
    pub fn bounds(&self, depth: impl Fn(usize) -> f64) -> Vec<f64> {
        let both = self.magnitudes.iter().zip(&self.terms);
        both.map(|(&magnitude, &terms)| sum_bound(depth(terms), magnitude, terms))
            .collect()
    }

    pub fn largest_magnitude(&self) -> f64 {
        self.magnitudes
            .iter()
            .fold(0.0, |largest, &m| largest.max(m))
    }
}

/// The pairs of a pairing, for batches of `left` and `right` elements.
pub fn pairs(pairing: Pairing<'_>, left: usize, right: usize) -> Vec<(usize, usize)> {
    match pairing {
        Pairing::Elementwise => elementwise(left),
        Pairing::OneToAll => (0..right).map(|j| (0, j)).collect(),
        Pairing::AllToOne => (0..left).map(|i| (i, 0)).collect(),
        Pairing::AllToAll => (0..left)
            .flat_map(|i| (0..right).map(move |j| (i, j)))
            .collect(),
        Pairing::List(list) => list
            .as_slice()
            .iter()
            .map(|&(i, j)| (i as usize, j as usize))
            .collect(),
    }
}

/// The pairs (i, i) of two batches of `len` elements.
pub fn elementwise(len: usize) -> Vec<(usize, usize)> {
    (0..len).map(|i| (i, i)).collect()
}

/// a + b, in the ambient shape.
pub fn add<S: Arithmetic>(a: &Ragged<S>, b: &Ragged<S>, pairs: &[(usize, usize)]) -> Sums<S> {
    combine(a, b, pairs, S::plus)
}

/// a − b, in the ambient shape.
pub fn sub<S: Arithmetic>(a: &Ragged<S>, b: &Ragged<S>, pairs: &[(usize, usize)]) -> Sums<S> {
    combine(a, b, pairs, S::minus)
}

/// s·a.
pub fn scale<S: Arithmetic>(a: &Ragged<S>, s: S) -> Ragged<S> {
    a.cast(|value| value.times(s)).unwrap()
}

/// Σ a_i.
pub fn sum<S: Arithmetic>(a: &Ragged<S>) -> Sums<S> {
    reduce(a.iter().map(|row| row.iter().copied()))
}

/// Σ |a_i|.
pub fn norm1<S: Arithmetic>(a: &Ragged<S>) -> Sums<S> {
    let zero = S::default();
    let magnitude = move |x: S| if zero.yields_to(x) { x } else { zero.minus(x) };
    reduce(a.iter().map(|row| row.iter().map(move |&x| magnitude(x))))
}

/// −a.
pub fn neg<S: Arithmetic>(a: &Ragged<S>) -> Ragged<S> {
    a.cast(|x| S::default().minus(x)).unwrap()
}

/// Σ a_i b_i over the overlap.
pub fn dot<S: Arithmetic>(a: &Ragged<S>, b: &Ragged<S>, pairs: &[(usize, usize)]) -> Sums<S> {
    let products = pairs.iter().map(|&(i, j)| {
        let (left, right) = (Extents::of(a, i), Extents::of(b, j));
        let overlap = left.merge(&right, Ord::min);
        let (at_left, at_right) = (overlap.positions_in(&left), overlap.positions_in(&right));
        let both = at_left.into_iter().zip(at_right);
        both.map(move |(p, q)| a.row(i)[p].times(b.row(j)[q]))
    });
    reduce(products)
}

/// √Σ a_i².
pub fn norm2(a: &Ragged<f64>) -> Ragged<f64> {
    scalars(a.iter().map(norm))
}

/// max a_i.
pub fn max<S: Arithmetic>(a: &Ragged<S>) -> Ragged<S> {
    scalars(
        a.iter()
            .map(|row| first(row, S::yields_to).map_or(S::LOWEST, |i| row[i])),
    )
}

/// The lowest index of the maximum, or of the first NaN; `u32::MAX` for an empty element.
pub fn argmax<S: Arithmetic>(a: &Ragged<S>) -> Ragged<u32> {
    scalars(
        a.iter()
            .map(|row| first(row, S::yields_to).map_or(u32::MAX, |i| i as u32)),
    )
}

/// The smallest value; the type's largest value for an empty element, and NaN if the element contains one.
pub fn min<S: Arithmetic>(a: &Ragged<S>) -> Ragged<S> {
    let least = |row: &[S]| first(row, S::gives_way_to).map_or(S::HIGHEST, |i| row[i]);
    scalars(a.iter().map(least))
}

/// The lowest index of the minimum, or of the first NaN; `u32::MAX` for an empty element.
pub fn argmin<S: Arithmetic>(a: &Ragged<S>) -> Ragged<u32> {
    let place = |row: &[S]| first(row, S::gives_way_to).map_or(u32::MAX, |i| i as u32);
    scalars(a.iter().map(place))
}

/// c_k = Σ_{i+j=k} a_i b_j.
pub fn conv<S: Arithmetic>(a: &Ragged<S>, b: &Ragged<S>, pairs: &[(usize, usize)]) -> Sums<S> {
    slide(a, b, pairs, false)
}

/// c_{i·n + j} = a_i b_j on every axis, where n is the extent of b.
pub fn kron<S: Arithmetic>(a: &Ragged<S>, b: &Ragged<S>, pairs: &[(usize, usize)]) -> Ragged<S> {
    let rank = a.layout().rank();
    let mut out = Builder::default();
    for &(i, j) in pairs {
        let (left, right) = (Extents::of(a, i), Extents::of(b, j));
        let full = if left.size() == 0 || right.size() == 0 {
            Extents(vec![0; rank])
        } else {
            left.merge(&right, |m, n| m * n)
        };
        let start = out.values.len();
        out.values.resize(start + full.size(), S::default());
        if full.size() > 0 {
            // In the result, a's value lies at n times its position along every axis.
            let at_right = right.positions_in(&full);
            let at_left = left.spaced_in(&full, &right);
            for (&x, p) in a.row(i).iter().zip(at_left) {
                for (&y, &q) in b.row(j).iter().zip(&at_right) {
                    out.values[start + p + q] = x.times(y);
                }
            }
        }
        out.shapes.push(full);
    }
    out.finish(rank).values
}

/// c[i…, j…] = a[i…] b[j…].
pub fn outer<S: Arithmetic>(a: &Ragged<S>, b: &Ragged<S>, pairs: &[(usize, usize)]) -> Ragged<S> {
    let rank = a.layout().rank() + b.layout().rank();
    let mut out = Builder::default();
    for &(i, j) in pairs {
        let (x, y) = (a.row(i), b.row(j));
        out.values
            .extend(x.iter().flat_map(|x| y.iter().map(|y| x.times(*y))));
        out.shapes.push(match x.is_empty() || y.is_empty() {
            true => Extents(vec![0; rank]),
            false => Extents([Extents::of(a, i).0, Extents::of(b, j).0].concat()),
        });
    }
    out.finish(rank).values
}

/// Σ_i a_i t^i at every value t of b.
pub fn eval<S: Arithmetic>(a: &Ragged<S>, b: &Ragged<S>, pairs: &[(usize, usize)]) -> Sums<S> {
    let mut out = Builder::default();
    for &(i, j) in pairs {
        for &t in b.row(j) {
            let (mut sum, mut magnitude) = (S::default(), 0.0);
            let mut power = None;
            for &coefficient in a.row(i) {
                let term = power.map_or(coefficient, |power: S| coefficient.times(power));
                sum = sum.plus(term);
                magnitude += term.magnitude();
                power = Some(power.map_or(t, |power| power.times(t)));
            }
            out.values.push(sum);
            out.magnitudes.push(magnitude);
            out.terms.push(a.row(i).len());
        }
        out.shapes.push(Extents::of(b, j));
    }
    out.finish(b.layout().rank())
}

/// c_ij = Σ_l a_il b_lj, summed over all l that both have. Either batch may hold transposes.
pub fn matmul<S: Arithmetic>(
    a: &Ragged<S>,
    b: &Ragged<S>,
    pairs: &[(usize, usize)],
    transposed: [bool; 2],
) -> Sums<S> {
    // Row by row, so that the innermost loop below runs along rows.
    let factor = |batch: &Ragged<S>, i: usize, transposed: bool| {
        let shape = batch.shape(i);
        let [rows, columns] = [0, 1].map(|axis| shape.extents()[axis] as usize);
        let row = batch.row(i);
        match transposed {
            false => (rows, columns, row.to_vec()),
            true => {
                let transpose =
                    (0..columns).flat_map(|j| (0..rows).map(move |i| row[i * columns + j]));
                (columns, rows, transpose.collect())
            }
        }
    };
    let mut out = Builder::default();
    for &(i, j) in pairs {
        let (m, left, x) = factor(a, i, transposed[0]);
        let (right, n, y) = factor(b, j, transposed[1]);
        let inner = left.min(right);
        for row in 0..m {
            let start = out.values.len();
            out.values.resize(start + n, S::default());
            out.magnitudes.resize(start + n, 0.0);
            out.terms.resize(start + n, inner);
            let (sums, magnitudes) = (&mut out.values[start..], &mut out.magnitudes[start..]);
            for l in 0..inner {
                let x = x[row * left + l];
                let results = sums.iter_mut().zip(magnitudes.iter_mut());
                for ((sum, magnitude), y) in results.zip(&y[l * n..(l + 1) * n]) {
                    let product = x.times(*y);
                    *sum = sum.plus(product);
                    *magnitude += product.magnitude();
                }
            }
        }
        out.shapes.push(Extents(vec![m, n]));
    }
    out.finish(2)
}

/// c_{k+n−1} = Σ_i a_{i+k} b_i, where n is the length of b.
pub fn correlate<S: Arithmetic>(a: &Ragged<S>, b: &Ragged<S>, pairs: &[(usize, usize)]) -> Sums<S> {
    slide(a, b, pairs, true)
}

/// The values of full convolutions of a's and b's elements that a mode and strides select.
pub fn kept<S: Arithmetic>(
    full: &Sums<S>,
    extents: &[(Vec<usize>, Vec<usize>)],
    mode: ConvMode,
    strides: &[usize],
) -> Sums<S> {
    let mut out = Builder::default();
    let starts = full.values.layout().offsets().as_slice();
    for (pair, (m, n)) in extents.iter().enumerate() {
        let whole = Extents::of(&full.values, pair);
        let empty = whole.size() == 0;
        // The selected positions along each axis.
        let places: Vec<Vec<usize>> = (0..m.len())
            .map(|axis| {
                let (m, n) = (m[axis], n[axis]);
                let range = match mode {
                    _ if empty => 0..0,
                    ConvMode::Full => 0..m + n - 1,
                    ConvMode::Same => (n - 1) / 2..(n - 1) / 2 + m,
                    ConvMode::Valid if n > m => 0..0,
                    ConvMode::Valid => n - 1..m,
                    ConvMode::Causal => 0..m,
                    other => panic!("the test does not know {other:?}"),
                };
                range.step_by(strides[axis]).collect()
            })
            .collect();
        let mut at = vec![starts[pair] as usize];
        for (axis, places) in places.iter().enumerate() {
            let stride: usize = whole.0[axis + 1..].iter().product();
            let along = |from: usize| places.iter().map(move |place| from + place * stride);
            at = at.into_iter().flat_map(along).collect();
        }
        for k in at {
            out.values.push(full.values.values()[k]);
            out.magnitudes.push(full.magnitudes[k]);
            out.terms.push(full.terms[k]);
        }
        out.shapes
            .push(Extents(places.iter().map(Vec::len).collect()));
    }
    out.finish(full.values.layout().rank())
}

/// The maximum of each pair's correlation, and its lag; series only.
pub fn correlate_max(
    a: &Ragged<f64>,
    b: &Ragged<f64>,
    pairs: &[(usize, usize)],
) -> (Ragged<f64>, Ragged<i32>) {
    let correlation = correlate(a, b, pairs).values;
    let (values, lags): (Vec<_>, Vec<_>) = pairs
        .iter()
        .zip(correlation.iter())
        .map(|(&(_, j), row)| match first(row, Arithmetic::yields_to) {
            Some(q) => (row[q], q as i32 - (b.row(j).len() as i32 - 1)),
            None => (f64::NEG_INFINITY, i32::MIN),
        })
        .unzip();
    (scalars(values), scalars(lags))
}

/// 1 − max_k c_k / (‖a‖‖b‖), where c is the correlation, and the lag of the maximum; series only.
pub fn sbd(
    a: &Ragged<f64>,
    b: &Ragged<f64>,
    pairs: &[(usize, usize)],
) -> (Ragged<f64>, Ragged<i32>) {
    let (peaks, lags) = correlate_max(a, b, pairs);
    let (distances, lags): (Vec<_>, Vec<_>) = pairs
        .iter()
        .enumerate()
        .map(|(p, &(i, j))| {
            let norms = norm(a.row(i)) * norm(b.row(j));
            let distance = match norms {
                0.0 => 1.0,
                _ => 1.0 - peaks.values()[p] / norms,
            };
            (distance, lags.values()[p])
        })
        .unzip();
    (scalars(distances), scalars(lags))
}

/// Whether two elements are equal after zero-padding.
pub fn equivalent<S: Arithmetic>(
    a: &Ragged<S>,
    b: &Ragged<S>,
    pairs: &[(usize, usize)],
) -> Vec<bool> {
    let difference = |&(i, j): &(usize, usize)| {
        let (left, right) = (Extents::of(a, i), Extents::of(b, j));
        let ambient = left.merge(&right, Ord::max);
        let x = spread(a.row(i), &left, &ambient);
        x == spread(b.row(j), &right, &ambient)
    };
    pairs.iter().map(difference).collect()
}

/// For pair (i, j), the result is `f(a_i, b_j)` in the ambient shape, with missing values as zeros.
fn combine<S: Arithmetic>(
    a: &Ragged<S>,
    b: &Ragged<S>,
    pairs: &[(usize, usize)],
    f: impl Fn(S, S) -> S,
) -> Sums<S> {
    let mut out = Builder::default();
    for &(i, j) in pairs {
        let (left, right) = (Extents::of(a, i), Extents::of(b, j));
        let ambient = left.merge(&right, Ord::max);
        let x = spread(a.row(i), &left, &ambient);
        let y = spread(b.row(j), &right, &ambient);
        for (&x, &y) in x.iter().zip(&y) {
            out.values.push(f(x, y));
            out.magnitudes.push(x.magnitude() + y.magnitude());
            out.terms.push(2);
        }
        out.shapes.push(ambient);
    }
    out.finish(a.layout().rank())
}

fn slide<S: Arithmetic>(
    a: &Ragged<S>,
    b: &Ragged<S>,
    pairs: &[(usize, usize)],
    reversed: bool,
) -> Sums<S> {
    let rank = a.layout().rank();
    let mut out = Builder::default();
    for &(i, j) in pairs {
        let (left, right) = (Extents::of(a, i), Extents::of(b, j));
        let full = if left.size() == 0 || right.size() == 0 {
            Extents(vec![0; rank])
        } else {
            left.merge(&right, |m, n| m + n - 1)
        };
        let mut y = b.row(j).to_vec();
        if reversed {
            // Reversing row-major order reverses every axis.
            y.reverse();
        }
        let start = out.values.len();
        out.values.resize(start + full.size(), S::default());
        out.magnitudes.resize(start + full.size(), 0.0);
        out.terms.resize(start + full.size(), 0);
        if full.size() > 0 {
            // Positions are linear in the indices, so the position of index i + j is the sum of the positions of i and
            // j.
            let (at_left, at_right) = (left.positions_in(&full), right.positions_in(&full));
            // The positions of a line along the last axis are consecutive.
            let line = right.0.last().copied().unwrap_or(1);
            for (&x, p) in a.row(i).iter().zip(at_left) {
                for (y, q) in y.chunks(line).zip(at_right.iter().step_by(line)) {
                    let at = start + p + q..start + p + q + line;
                    let values = &mut out.values[at.clone()];
                    let magnitudes = &mut out.magnitudes[at.clone()];
                    let terms = &mut out.terms[at];
                    // With little optimization, an iterator would be a function call for each product.
                    let mut k = 0;
                    while k < line {
                        let product = x.times(y[k]);
                        values[k] = values[k].plus(product);
                        magnitudes[k] += product.magnitude();
                        terms[k] += 1;
                        k += 1;
                    }
                }
            }
        }
        out.shapes.push(full);
    }
    out.finish(rank)
}

/// One sum per element.
fn reduce<S: Arithmetic>(elements: impl Iterator<Item = impl Iterator<Item = S>>) -> Sums<S> {
    let mut out = Builder::default();
    for terms in elements {
        let (mut sum, mut magnitude, mut count) = (S::default(), 0.0, 0);
        for term in terms {
            sum = sum.plus(term);
            magnitude += term.magnitude();
            count += 1;
        }
        out.values.push(sum);
        out.magnitudes.push(magnitude);
        out.terms.push(count);
        out.shapes.push(Extents(vec![1]));
    }
    out.finish(1)
}

fn norm(row: &[f64]) -> f64 {
    // Squares of values between 1e-30 and 1e30 are well within the range of f64.
    row.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// The index at which a search for an extreme value ends: that of the first best value.
fn first<S: Arithmetic>(row: &[S], moves_on: fn(S, S) -> bool) -> Option<usize> {
    let later = 1..row.len();
    let first = (!row.is_empty()).then_some(0)?;
    Some(later.fold(
        first,
        |best, i| if moves_on(row[best], row[i]) { i } else { best },
    ))
}

/// A rank-1 batch with one value per element.
pub fn scalars<T: Copy>(values: impl IntoIterator<Item = T>) -> Ragged<T> {
    let values: Vec<T> = values.into_iter().collect();
    let lengths = vec![1; values.len()];
    Ragged::from_lengths(values, lengths).expect("one value for each length of one")
}

/// log Σ exp(x − top), without cancellation: one of the largest values is left out of the sum.
pub fn log_of_exponentials(line: &[f64], top: f64) -> f64 {
    let below = line.iter().filter(|&&x| x != top);
    let others = (line.len() - below.clone().count()) as f64 - 1.0;
    (others + below.map(|x| (x - top).exp()).sum::<f64>()).ln_1p()
}
