//! Matrices whose entries are vectors, stored as batches of rank 1, row by row.

use vsla::{Device, Layout, Shape, ShapeMatrix, Tensor, scalar::Real};

use super::{Answer, Call, Grows, Law, Operation, ROW, Work, batch, within};
use crate::failure::{Failure, Result};
use crate::held::{Arg, Held};

const OPTIONS: &[&str] = &["dtype", "inner"];

pub const ROWS: &[Operation] = &[
    Operation {
        name: "conv_matmul",
        args: 2,
        options: OPTIONS,
        about: "the product of two matrices whose entries are vectors multiplied by convolution; entries row by row \
            (rank 1)",
        run: |call| {
            let grids = grids(call, u64::saturating_add)?;
            real!(call, |device, args| {
                let [a, b] = matrices(&device, args, &grids)?;
                entries(&a.conv_matmul(&b)?)
            })
        },
        is_local: false,
        methods: &[("entries", ""), ("from_nested", ""), ("grid", "")],
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "kron_matmul",
        args: 2,
        options: OPTIONS,
        about: "the same with the Kronecker product of entries, which is not associative (rank 1)",
        run: |call| {
            let grids = grids(call, u64::saturating_mul)?;
            real!(call, |device, args| {
                let [a, b] = matrices(&device, args, &grids)?;
                entries(&a.kron_matmul(&b)?)
            })
        },
        is_local: false,
        law: Law::Left,
        work: Work::More,
        ..ROW
    },
    Operation {
        name: "matrix_add",
        args: 2,
        options: &["dtype", "columns"],
        grows: Grows::Ambient,
        about: "the sum of two matrices of vectors; entries row by row (rank 1)",
        run: |call| {
            let grids = [grid(call, 0)?, grid(call, 1)?];
            real!(call, |device, args| {
                let [a, b] = matrices(&device, args, &grids)?;
                entries(&a.add(&b)?)
            })
        },
        is_local: false,
        ..ROW
    },
    Operation {
        name: "matrix_transpose",
        options: &["dtype", "columns"],
        about: "the transpose of a matrix of vectors; entries row by row (rank 1)",
        run: |call| {
            let grids = [grid(call, 0)?];
            real!(call, |device, args| {
                let [a] = matrices(&device, args, &grids)?;
                entries(&a.transpose()?)
            })
        },
        is_local: false,
        ..ROW
    },
];

/// Rows and columns of both matrices, if their product is within the limit; `length` is the length of each term.
fn grids(call: &Call<'_>, length: fn(u64, u64) -> u64) -> Result<[[usize; 2]; 2]> {
    let inner = call.options.inner()?;
    let (a, b) = (call.layout(0), call.layout(1));
    for (i, layout) in [a, b].into_iter().enumerate() {
        if !layout.len().is_multiple_of(inner.max(1)) || (inner == 0 && !layout.is_empty()) {
            let message = format!(
                "argument {i}: {} entries do not form rows of {inner}",
                layout.len()
            );
            return Err(Failure::request(message));
        }
    }
    let (rows, columns) = match inner {
        0 => (0, 0),
        _ => (a.len() / inner, b.len() / inner),
    };
    let places = (0..rows).flat_map(|i| (0..columns).map(move |k| (i, k)));
    let mut sizes = places.map(|(i, k)| {
        let of = |j| {
            (
                a.length(i * inner + j) as u64,
                b.length(j * columns + k) as u64,
            )
        };
        let longest = (0..inner).map(of).map(|(m, n)| length(m, n)).max();
        1 + longest.unwrap_or(0)
    });
    within(call.max_values, &mut sizes)?;
    Ok([[rows, inner], [inner, columns]])
}

/// Rows and columns of a matrix with the given number of columns.
fn grid(call: &Call<'_>, i: usize) -> Result<[usize; 2]> {
    let (columns, entries) = (call.options.columns()?, call.layout(i).len());
    if columns == 0 || !entries.is_multiple_of(columns) {
        let message = format!("argument {i}: {entries} entries do not form rows of {columns}");
        return Err(Failure::request(message));
    }
    Ok([entries / columns, columns])
}

fn matrices<T: Real, const N: usize>(
    device: &Device,
    args: &[Arg<T>],
    grids: &[[usize; 2]; N],
) -> Result<[ShapeMatrix<T>; N]> {
    let matrix = |(grid, x): (&[usize; 2], &Arg<T>)| -> vsla::Result<_> {
        let grid = Layout::uniform(1, Shape::new(grid)?)?;
        ShapeMatrix::new(&x.on(device)?, &grid)
    };
    let all = grids.iter().zip(args).map(matrix);
    let all: Vec<_> = all.collect::<vsla::Result<_>>()?;
    all.try_into()
        .map_err(|_| Failure::request("a matrix is missing"))
}

fn entries<T: Real>(product: &ShapeMatrix<T>) -> Result<Answer>
where
    Held: From<Tensor<T>>,
{
    batch(product.entries().clone())
}
