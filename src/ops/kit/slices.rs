//! Products of matrices in slices, by the gemm crate for f32. The crate for all types would compile four more.

use gemm_common::Parallelism;

/// A matrix in a slice: value (i, j) at `i · row + j · column`.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub values: &'a [f32],
    pub row: usize,
    pub column: usize,
}

impl<'a> View<'a> {
    pub(crate) fn new(values: &'a [f32], [row, column]: [usize; 2]) -> View<'a> {
        View {
            values,
            row,
            column,
        }
    }

    fn transposed(self) -> View<'a> {
        View {
            row: self.column,
            column: self.row,
            ..self
        }
    }
}

/// The index of the last of m x n values.
fn last([m, n]: [usize; 2], row: usize, column: usize) -> usize {
    (m - 1) * row + (n - 1) * column
}

/// `c = a b`, or `c += a b` if `add`, of m x k and k x n values; no extent is 0.
pub(crate) fn multiply(
    c: &mut [f32],
    strides: [usize; 2],
    factors: (View<'_>, View<'_>),
    extents: [usize; 3],
    add: bool,
) {
    multiply_by(Parallelism::None, c, strides, factors, extents, add);
}

/// The same, on the calling thread or on all of them.
pub(crate) fn multiply_by(
    threads: Parallelism,
    c: &mut [f32],
    [row, column]: [usize; 2],
    (a, b): (View<'_>, View<'_>),
    [m, k, n]: [usize; 3],
    add: bool,
) {
    assert!(
        last([m, n], row, column) < c.len()
            && last([m, k], a.row, a.column) < a.values.len()
            && last([k, n], b.row, b.column) < b.values.len()
    );
    // The crate wants the smaller stride along the columns of the result, and gets the transposes otherwise.
    let ((a, b), [m, n], [row, column]) = match column < row {
        true => ((b.transposed(), a.transposed()), [n, m], [column, row]),
        false => ((a, b), [m, n], [row, column]),
    };
    // SAFETY: the assertion found the last value of each matrix, and so every value, inside its slice; c is
    // borrowed exclusively.
    #[allow(unsafe_code, reason = "`gemm_f32` takes pointers")]
    unsafe {
        gemm_f32::gemm::f32::get_gemm_fn()(
            m,
            n,
            k,
            c.as_mut_ptr(),
            column as isize,
            row as isize,
            add,
            a.values.as_ptr(),
            a.column as isize,
            a.row as isize,
            b.values.as_ptr(),
            b.column as isize,
            b.row as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            threads,
        );
    }
}
