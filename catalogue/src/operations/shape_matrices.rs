//! Matrices whose entries are vectors, stored as batches of rank 1, row by row.

use vsla::{Device, Layout, Shape, Tensor, product::ShapeMatrix, scalar::Real};

use super::results::{AMBIENT, Results, Shapes, all, extents};
use super::{Answer, Call, Law, Operation, ROW, VECTORS, Work, batch};
use crate::failure::{Failure, Result};
use crate::held::{Arg, Held};
use crate::options::{self as opt, Opt};
use crate::request::Options;

const OPTIONS: &[Opt] = &[opt::DTYPE, opt::INNER];

/// A product of matrices whose entries are multiplied.
macro_rules! product {
    ($method:ident, $length:expr, $about:literal) => {
        Operation {
            name: stringify!($method),
            args: 2,
            options: OPTIONS,
            ranks: VECTORS,
            results: all(
                "vectors: r rows of k, and k rows of c",
                "vectors: r rows of c, each as long as its longest term",
                |options, operands| Some(vec![terms(options, operands, $length)?]),
            ),
            about: $about,
            run: real!(|call, device, args| {
                let grids = grids(&call.options, [call.layout(0), call.layout(1)])?;
                let [a, b] = matrices(&device, args, &grids)?;
                entries(&a.$method(&b)?)
            }),
            is_local: false,
            work: Work::More,
            ..ROW
        }
    };
}

pub const ROWS: &[Operation] = &[
    product!(
        conv_matmul,
        |m, n| if m == 0 || n == 0 { 0 } else { m + n - 1 },
        "the product of two matrices whose entries are vectors multiplied by convolution; entries row by row"
    )
    .for_methods(&[("entries", ""), ("from_nested", ""), ("grid", "")]),
    product!(
        kron_matmul,
        usize::saturating_mul,
        "the same with the Kronecker product of entries, which is not associative"
    )
    .respecting(Law::Left),
    Operation {
        name: "matrix_add",
        args: 2,
        options: &[opt::DTYPE, opt::COLUMNS],
        ranks: VECTORS,
        results: Results { operands: "vectors, in rows", about: "vectors: the larger lengths", ..AMBIENT },
        about: "the sum of two matrices of vectors; entries row by row",
        run: real!(|call, device, args| {
            let grids = [grid(call, 0)?, grid(call, 1)?];
            let [a, b] = matrices(&device, args, &grids)?;
            entries(&a.add(&b)?)
        }),
        is_local: false,
        ..ROW
    },
    Operation {
        name: "matrix_transpose",
        options: &[opt::DTYPE, opt::COLUMNS],
        ranks: VECTORS,
        results: all("vectors, in rows", "the same vectors, in columns", |options, x| {
            let columns = options.columns().ok()?;
            let rows = x[0].len().checked_div(columns)?;
            let places = (0..columns).flat_map(move |j| (0..rows).map(move |i| i * columns + j));
            Some(vec![Box::new(places.map(move |i| Some(extents(&x[0].shape(i)))))])
        }),
        about: "the transpose of a matrix of vectors; entries row by row",
        run: real!(|call, device, args| {
            let grids = [grid(call, 0)?];
            let [a] = matrices(&device, args, &grids)?;
            entries(&a.transpose()?)
        }),
        is_local: false,
        ..ROW
    },
];

/// Rows and columns of both factors.
fn grids(options: &Options, factors: [&Layout; 2]) -> Result<[[usize; 2]; 2]> {
    let inner = options.inner()?;
    for (i, layout) in factors.into_iter().enumerate() {
        if !layout.len().is_multiple_of(inner.max(1)) || (inner == 0 && !layout.is_empty()) {
            let message = format!(
                "argument {i}: {} entries do not form rows of {inner}",
                layout.len()
            );
            return Err(Failure::request(message));
        }
    }
    let [rows, columns] = factors.map(|layout| layout.len().checked_div(inner).unwrap_or(0));
    Ok([[rows, inner], [inner, columns]])
}

/// The entries of a product, each as long as its longest term.
fn terms<'a>(
    options: &Options,
    operands: &'a [&'a Layout],
    length: fn(usize, usize) -> usize,
) -> Option<Shapes<'a>> {
    let (a, b) = (operands[0], operands[1]);
    let [[rows, inner], [_, columns]] = grids(options, [a, b]).ok()?;
    let places = (0..rows).flat_map(move |i| (0..columns).map(move |k| (i, k)));
    Some(Box::new(places.map(move |(i, k)| {
        let term = |j| length(a.length(i * inner + j), b.length(j * columns + k));
        Some(vec![(0..inner).map(term).max().unwrap_or(0)])
    })))
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
