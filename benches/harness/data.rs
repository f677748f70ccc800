//! Host-side checks of results.

use rayon::prelude::*;
use vsla::{Ragged, Shape};

use super::Check;

/// Whether `c` is the sum of `a` and `b`, in full and bit for bit: IEEE 754 leaves f32 addition a single result.
pub fn check_add(a: &Ragged<f32>, b: &Ragged<f32>, c: &Ragged<f32>) -> Check {
    check_ambient(a, b, c, |x, y| x.unwrap_or(0.0) + y.unwrap_or(0.0))
}

/// The same for elementwise products.
pub fn check_hadamard(a: &Ragged<f32>, b: &Ragged<f32>, c: &Ragged<f32>) -> Check {
    check_ambient(a, b, c, |x, y| x.zip(y).map_or(0.0, |(x, y)| x * y))
}

/// Whether every row of `c` is a row of `a` followed by one of `b`, with zeros if one of them has no such row.
pub fn check_concat(a: &Ragged<f32>, b: &Ragged<f32>, c: &Ragged<f32>) -> Check {
    let wrong = (0..a.len()).into_par_iter().find_any(|&i| {
        let shapes = [a.shape(i), b.shape(i), c.shape(i)].map(rows_and_columns);
        let [(m, n), (k, l), (rows, columns)] = shapes;
        let part = |values: &[f32], expected: &[f32]| match expected {
            [] => values.iter().all(|value| *value == 0.0),
            _ => values == expected,
        };
        (rows, columns) != (m.max(k), n + l)
            || (0..rows).any(|row| {
                let (left, right) = c[i][row * columns..][..columns].split_at(n);
                !part(left, line(&a[i], m, n, row)) || !part(right, line(&b[i], k, l, row))
            })
    });
    match wrong {
        None if a.len() == c.len() => Ok(format!("all {} values", c.values().len())),
        None => Err(format!("{} elements instead of {}", c.len(), a.len())),
        Some(i) => Err(format!("element {i} is not both, one after the other")),
    }
}

/// Whether every value of `c` is `combine` of the values of `a` and `b`, each `None` if missing.
fn check_ambient(
    a: &Ragged<f32>,
    b: &Ragged<f32>,
    c: &Ragged<f32>,
    combine: impl Fn(Option<f32>, Option<f32>) -> f32 + Sync,
) -> Check {
    if (a.len(), b.len()) != (c.len(), c.len()) {
        return Err(format!("{} elements instead of {}", c.len(), a.len()));
    }
    let wrong = (0..c.len()).into_par_iter().find_any(|&i| {
        let shapes = [a.shape(i), b.shape(i), c.shape(i)].map(rows_and_columns);
        let [(m, n), (k, l), (rows, columns)] = shapes;
        if (rows, columns) != (m.max(k), n.max(l)) {
            return true;
        }
        (0..rows).any(|row| {
            let x = line(&a[i], m, n, row);
            let y = line(&b[i], k, l, row);
            let at = |values: &[f32], column| values.get(column).copied();
            let mut values = c[i][row * columns..][..columns].iter().enumerate();
            values.any(|(column, value)| *value != combine(at(x, column), at(y, column)))
        })
    });
    match wrong {
        None => Ok(format!("all {} values", c.values().len())),
        Some(i) => Err(format!("element {i} is not what it should be")),
    }
}

/// A row of a matrix, or an empty slice below its last row.
fn line(values: &[f32], rows: usize, columns: usize, row: usize) -> &[f32] {
    match row < rows {
        true => &values[row * columns..][..columns],
        false => &[],
    }
}

fn rows_and_columns(shape: Shape) -> (usize, usize) {
    match *shape.extents() {
        [rows, columns] => (rows as usize, columns as usize),
        _ => (1, shape.size()),
    }
}

/// Whether two slices are equal, in full and bit for bit.
pub fn check_equal(got: &[f32], expected: &[f32]) -> Check {
    if got.len() != expected.len() {
        return Err(format!(
            "{} values instead of {}",
            got.len(),
            expected.len()
        ));
    }
    let wrong = got
        .par_iter()
        .zip(expected)
        .position_any(|(x, y)| x.to_bits() != y.to_bits());
    match wrong {
        None => Ok(format!("all {} values", got.len())),
        Some(i) => Err(format!(
            "value {i} is {} instead of {}",
            got[i], expected[i]
        )),
    }
}
