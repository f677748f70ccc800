//! Matrices whose entries are vectors: batches of rank 1, row by row.

use vsla::{Device, Layout, Ragged, Real, Shape, ShapeMatrix};

use super::{Answer, Call, Grows, Operation, batch, within};
use crate::failure::{Failure, Result};

const OPTIONS: &[&str] = &["dtype", "inner"];

pub const ROWS: &[Operation] = &[
    Operation {
        name: "conv_matmul",
        args: 2,
        options: OPTIONS,
        grows: Grows::No,
        about: "the product of two matrices of vectors under convolution: entries row by row (rank 1)",
        run: |call| {
            let grids = grids(call, u64::saturating_add)?;
            real!(call, |device, args| {
                let [a, b] = matrices(&device, args, &grids)?;
                entries(&a.conv_matmul(&b)?)
            })
        },
    },
    Operation {
        name: "kron_matmul",
        args: 2,
        options: OPTIONS,
        grows: Grows::No,
        about: "the same under the Kronecker product, which is not associative (rank 1)",
        run: |call| {
            let grids = grids(call, u64::saturating_mul)?;
            real!(call, |device, args| {
                let [a, b] = matrices(&device, args, &grids)?;
                entries(&a.kron_matmul(&b)?)
            })
        },
    },
];

/// Rows and columns of both matrices, whose product is no larger than allowed if lengths meet in this way.
fn grids(call: &Call<'_>, length: fn(u64, u64) -> u64) -> Result<[[usize; 2]; 2]> {
    let inner = call.options.inner()?;
    let (a, b) = (call.layout(0), call.layout(1));
    for (i, layout) in [a, b].into_iter().enumerate() {
        if !layout.len().is_multiple_of(inner.max(1)) || (inner == 0 && !layout.is_empty()) {
            let message = format!(
                "argument {i}: {} entries are no rows of {inner}",
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

fn matrices<T: Real>(
    device: &Device,
    args: &[Ragged<T>],
    grids: &[[usize; 2]; 2],
) -> vsla::Result<[ShapeMatrix<T>; 2]> {
    let matrix = |i: usize| {
        let grid = Layout::uniform(1, Shape::new(&grids[i])?)?;
        ShapeMatrix::new(&device.upload(&args[i])?, &grid)
    };
    Ok([matrix(0)?, matrix(1)?])
}

fn entries<T: Real>(product: &ShapeMatrix<T>) -> Result<Answer>
where
    crate::batch::Batch: From<Ragged<T>>,
{
    batch(product.entries().download_blocking()?)
}
