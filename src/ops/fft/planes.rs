//! Transforms of two axes: of the rows, and of the columns as rows of the turned matrices.

use std::sync::Arc;

use super::plan::reaches;
use super::{Transform, check_rank, spectrum};
use crate::plan::Offset;
use crate::ragged::{CacheKey, DType, Layout, element_count};
use crate::{Error, Result, host};

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
        let lines = |ordered: fn([u32; 2]) -> [u32; 2]| {
            let all = || shapes().map(ordered);
            let count = all().map(|[count, _]| count as usize).sum();
            element_count(op, count)?;
            let mut offsets = Offset::new(op, count)?;
            for [count, length] in all() {
                for _ in 0..count {
                    offsets.push(length.into())?;
                }
            }
            Ok::<_, Error>(Layout::from_offsets(offsets.finish()))
        };
        let mut turned = host::room(op, x.extents().len())?;
        turned.extend(shapes().flat_map(|[rows, columns]| [columns, rows]));
        Ok(Arc::new(Planes {
            rows: lines(|[rows, columns]| [rows, columns])?,
            columns: lines(|[rows, columns]| [columns, rows])?,
            turned: Layout::with_extents_unchecked(x.offsets().clone(), 2, turned),
        }))
    })
}

/// The layout of the spectra of real matrices.
pub(crate) fn spectra(op: &'static str, x: &Layout) -> Result<Arc<Layout>> {
    check_rank(op, x, 2)?;
    x.cached(key("spectra of planes"), || {
        let mut offsets = Offset::new(op, x.len())?;
        let mut extents = host::room(op, x.extents().len())?;
        for of in x.extents().chunks(2) {
            let columns = spectrum(of[1] as usize) as u32;
            offsets.push(u64::from(of[0]) * u64::from(columns))?;
            extents.extend([of[0], columns]);
        }
        let spectra = Layout::with_extents_unchecked(offsets.finish(), 2, extents);
        Ok(Arc::new(spectra))
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
            pairing: false,
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

fn key(what: &'static str) -> CacheKey {
    CacheKey {
        what,
        other: 0,
        device: 0,
        extra: 0,
    }
}
