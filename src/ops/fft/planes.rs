//! Transforms along two axes: of the rows, and of the columns as the rows of the transposed matrices.

use super::plan::reaches;
use super::{Transform, spectrum};
use crate::ops::frames;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{Offset, OutputLayout, Plan};
use crate::ragged::{DType, Layout, element_count};
use crate::{Error, Result, host};

/// Views matrices as their rows, and rows as matrices. Errors name the operation `op`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Planes {
    pub op: &'static str,
    pub view: PlaneView,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PlaneView {
    /// Views matrices as their rows.
    Rows,
    /// Views values of any shape as the rows of the matrices of operand 1.
    RowsOf,
    /// Views rows of spectra as the spectra of real matrices, whose layout is operand 1.
    Spectra,
    /// Keeps the matrices, after checking that they have the shapes of spectra of real matrices, whose layout is
    /// operand 1.
    SpectraOf,
    /// Views values of any shape as the frames of the vectors of operand 1.
    Frames { size: u32, hop: u32 },
}

impl Operation for Planes {
    fn name(&self) -> &'static str {
        self.op
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let layout = match self.view {
            PlaneView::Rows => OutputLayout::New(rows(inputs[0])?),
            PlaneView::RowsOf => OutputLayout::New(rows(inputs[1])?),
            PlaneView::Spectra => OutputLayout::New(spectra(inputs[1])?),
            PlaneView::SpectraOf => {
                check_spectra(inputs[0], inputs[1])?;
                OutputLayout::Input(0)
            }
            PlaneView::Frames { size, hop } => {
                OutputLayout::New(frames::layout(inputs[1], size, hop)?)
            }
        };
        Ok(Plan::view(layout, 0))
    }
}

/// The layout of the rows of all matrices.
fn rows(x: &Layout) -> Result<Layout> {
    x.check_rank(2)?;
    let shapes = || x.extents().chunks_exact(2).map(|of| (of[0], of[1]));
    let count = shapes().map(|(rows, _)| rows as usize).sum();
    element_count(count)?;
    let mut offsets = Offset::new(count)?;
    for (rows, columns) in shapes() {
        for _ in 0..rows {
            offsets.push(columns.into())?;
        }
    }
    Ok(Layout::from_offsets(offsets.finish()))
}

/// The layout of the spectra of real matrices.
fn spectra(x: &Layout) -> Result<Layout> {
    x.check_rank(2)?;
    let mut offsets = Offset::new(x.len())?;
    let mut extents = host::room(x.extents().len())?;
    for of in x.extents().chunks_exact(2) {
        let columns = spectrum(of[1] as usize) as u32;
        offsets.push(u64::from(of[0]) * u64::from(columns))?;
        extents.extend([of[0], columns]);
    }
    Ok(Layout::unchecked(offsets.finish(), 2, extents))
}

/// Checks that spectra of this layout are those of real matrices of the layout `result`.
fn check_spectra(x: &Layout, result: &Layout) -> Result<()> {
    x.check_rank(2)?;
    let expected = spectra(result)?;
    x.check_len(result.len())?;
    x.check_shapes(&expected)
}

/// Checks that the GPU kernels support the lengths of the rows and columns of these matrices.
pub(crate) fn check_extents(transform: Transform, x: &Layout, on_gpu: bool) -> Result<()> {
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
        Some(element) => Err(Error::too_large(
            "the transform",
            (x.length(element) * DType::C32.size()) as u64,
            (DType::C32.size() as u64) << super::long::LOG_LONGEST,
        )
        .at(element)),
    }
}
