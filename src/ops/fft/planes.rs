//! Transforms of two axes: of the rows, and of the columns as rows of the turned matrices.

use std::sync::Arc;

use super::plan::reaches;
use super::{Transform, check_rank, spectrum};
use crate::ragged::{CacheKey, DType, Layout, Shape};
use crate::{Error, Result};

/// Layouts of matrices seen as batches of rank 1.
#[derive(Debug)]
pub(crate) struct Planes {
    /// Of their rows, and of their columns.
    pub rows: Layout,
    pub columns: Layout,
    /// Of the turned matrices.
    pub turned: Layout,
}

/// The batches inside matrices of these shapes.
pub(crate) fn planes(op: &'static str, x: &Layout) -> Result<Arc<Planes>> {
    check_rank(op, x, 2)?;
    x.cached(key("planes"), || {
        let shapes = || {
            x.extents()
                .chunks(2)
                .map(|extents| [extents[0], extents[1]])
        };
        let lines = |count: u32, length: u32| (0..count).map(move |_| length as usize);
        let turned = shapes().map(|[rows, columns]| shape(columns, rows));
        Ok(Arc::new(Planes {
            rows: Layout::from_lengths(shapes().flat_map(|[r, c]| lines(r, c)))?,
            columns: Layout::from_lengths(shapes().flat_map(|[r, c]| lines(c, r)))?,
            turned: Layout::from_shapes(2, turned.collect::<Result<Vec<_>>>()?)?,
        }))
    })
}

/// The layout of the spectra of real matrices.
pub(crate) fn spectra(op: &'static str, x: &Layout) -> Result<Arc<Layout>> {
    check_rank(op, x, 2)?;
    x.cached(key("spectra of planes"), || {
        let extents = x.extents().chunks(2);
        let halved = extents.map(|of| shape(of[0], spectrum(of[1] as usize) as u32));
        let shapes = halved.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Layout::from_shapes(2, shapes)?))
    })
}

/// Whether spectra of this layout are those of real matrices of the layout `result`.
pub(crate) fn check_spectra(op: &'static str, x: &Layout, result: &Layout) -> Result<()> {
    check_rank(op, x, 2)?;
    let expected = spectra(op, result)?;
    if x.len() != result.len() {
        return Err(Error::BatchSize {
            op,
            left: x.len(),
            right: result.len(),
        });
    }
    let pairs = x.shapes().zip(expected.shapes()).enumerate();
    match pairs
        .into_iter()
        .find(|(_, (got, expected))| got != expected)
    {
        None => Ok(()),
        Some((element, (got, expected))) => Err(Error::Shape {
            op,
            element,
            expected: expected.to_string(),
            got: got.to_string(),
        }),
    }
}

/// Whether the kernels reach the rows and columns of matrices of this layout.
pub(crate) fn check_extents(
    op: &'static str,
    transform: Transform,
    x: &Layout,
    on_gpu: bool,
) -> Result<()> {
    let along = match transform {
        Transform::Real => Transform::Forward,
        Transform::RealInverse => Transform::Inverse,
        other => other,
    };
    let too_long = x.extents().chunks(2).position(|of| {
        let values = of[0] > 0 && of[1] > 0;
        values && !(reaches(transform, of[1] as usize) && reaches(along, of[0] as usize))
    });
    match too_long.filter(|_| on_gpu) {
        None => Ok(()),
        Some(element) => Err(Error::TooLarge {
            op,
            element: Some(element),
            what: "transform".to_owned(),
            bytes: (x.length(element) * DType::C32.size()) as u64,
            limit: (DType::C32.size() as u64) << super::long::LOG_LONGEST,
        }),
    }
}

fn shape(rows: u32, columns: u32) -> Result<Shape> {
    Shape::new(&[rows as usize, columns as usize])
}

fn key(what: &'static str) -> CacheKey {
    CacheKey {
        what,
        other: 0,
        device: 0,
        extra: 0,
    }
}
