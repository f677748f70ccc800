//! Views: the same values in another layout, without a copy.

use super::stacks::{size, slices};
use crate::error::Named;
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{Offset, OutputLayout, Plan};
use crate::ragged::{Layout, MAX_RANK, Shape};
use crate::{Error, Result, host};

/// The values of a batch, or of some of its elements, in another layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum View {
    /// A range of elements: start, end.
    Elements(usize, usize),
    /// Elements with the same numbers of values in the shapes of operand 1.
    Reshape,
    /// One element with the rows of all elements.
    Packed,
    /// The reverse, in the shapes of operand 1.
    Unpacked,
    /// Operand 1's elements, which divide the same values, for inner steps of operations.
    Divided,
    /// The slices along the first axis, with the name of the calling operation for errors.
    Slices(&'static str),
    /// All elements, which are the targets of the rows of operand 1.
    Targets,
    /// Complex values as pairs of floats, along another last axis.
    AsReal,
    /// The reverse.
    AsComplex,
    /// Matrices in another form, for steps of products of complex ones.
    Fold(Fold),
}

/// Forms of complex matrices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fold {
    /// Complex (m, k) as real (m, 2 k).
    Parts,
    /// Real (m, 2 n) as complex (m, n).
    Values,
    /// Complex (k, n) as (k, 1, n).
    Apart,
    /// Complex (k, 2, n) as real (2 k, 2 n).
    Turned,
}

impl Operation for View {
    fn name(&self) -> &'static str {
        match *self {
            View::Elements(..) => "elements",
            View::Reshape => "reshape",
            View::Packed => "packed",
            View::Unpacked => "unpacked",
            View::Divided => "view",
            View::Slices(op) => op,
            View::Targets => "cross_entropy",
            View::AsReal => "view_as_real",
            View::AsComplex => "view_as_complex",
            View::Fold(_) => "matmul",
        }
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let x = inputs[0];
        Ok(match *self {
            View::Elements(start, end) => {
                let layout = x.range(start..end).unnamed()?;
                let skipped = x.offsets().as_slice()[start] as usize;
                Plan::view(OutputLayout::New(layout), skipped)
            }
            View::Reshape => {
                check_reshape(x, inputs[1])?;
                Plan::view(OutputLayout::Input(1), 0)
            }
            View::Packed => Plan::view(OutputLayout::New(packed(x)?), 0),
            View::Unpacked => {
                check_unpacked(x, inputs[1])?;
                Plan::view(OutputLayout::Input(1), 0)
            }
            View::Divided => Plan::view(OutputLayout::Input(1), 0),
            View::Targets => {
                check_targets(inputs[1], x)?;
                Plan::view(OutputLayout::Input(0), 0)
            }
            View::AsReal => Plan::view(OutputLayout::New(as_real(x)?), 0),
            View::AsComplex => Plan::view(OutputLayout::New(as_complex(x)?), 0),
            View::Fold(fold) => Plan::view(OutputLayout::New(folded(fold, x)?), 0),
            View::Slices(_) => Plan::view(OutputLayout::New(slices(x)?), 0),
        })
    }
}

/// Checks that elements of `x` may be viewed as those of `y`: each has as many values.
fn check_reshape(x: &Layout, y: &Layout) -> Result<()> {
    x.check_len(y.len())?;
    if x.offsets() == y.offsets() {
        return Ok(());
    }
    y.check_lengths(x.lengths())
}

/// The layout of one element with the rows of all elements, which must agree along all axes but the first. Its extents
/// are 0 if there is no element.
fn packed(x: &Layout) -> Result<Layout> {
    let (mut all, mut inner) = (0u64, [0; MAX_RANK]);
    for (element, shape) in x.shapes().enumerate() {
        let (rows, of) = (shape.extents()[0], &shape.extents()[1..]);
        let inner = &mut inner[..of.len()];
        if element == 0 {
            inner.copy_from_slice(of);
        } else if of != inner {
            let expected = format!("{}, with any number of rows", x.shape(0));
            return Err(Error::shape(element, expected, shape));
        }
        all += u64::from(rows);
        if all > u64::from(u32::MAX) {
            return Err(Error::size_overflow(format!("{all} rows")).at(element));
        }
    }
    let mut extents = [all as u32; MAX_RANK];
    extents[1..].copy_from_slice(&inner[..MAX_RANK - 1]);
    let shape = Shape::from_extents_unchecked(&extents[..x.rank()]);
    Layout::from_shapes(x.rank(), [shape])
}

/// Checks that the rows of the only element of `x` are those of all elements of `y`.
fn check_unpacked(x: &Layout, y: &Layout) -> Result<()> {
    if x.len() != 1 {
        return Err(Error::argument("one element", x.len()));
    }
    y.check_rank_of(x, "the batch")?;
    let whole = x.shape(0);
    let mut all = 0;
    for (element, shape) in y.shapes().enumerate() {
        if shape.extents()[1..] != whole.extents()[1..] {
            let expected = format!("{whole}, with any number of rows");
            return Err(Error::shape(element, expected, shape));
        }
        all += u64::from(shape.extents()[0]);
    }
    let rows = whole.extents()[0];
    match all == u64::from(rows) {
        true => Ok(()),
        false => {
            let expected = format!("shapes of {rows} rows in all");
            Err(Error::argument(expected, all))
        }
    }
}

/// Checks that there is a target for each row of `x`, along its last axis.
fn check_targets(x: &Layout, targets: &Layout) -> Result<()> {
    x.check_len(targets.len())?;
    // A vector is one row.
    let rank = (x.rank() - 1).max(1);
    if targets.rank() != rank {
        return Err(Error::rank(
            format!("{rank} for the targets of rows"),
            targets.rank(),
        ));
    }
    for (element, (of_x, got)) in x.shapes().zip(targets.shapes()).enumerate() {
        let rows = match of_x.extents() {
            [_] => &[1],
            extents => &extents[..rank],
        };
        if got.extents() != rows {
            return Err(Error::shape(
                element,
                format!("{rows:?}, a target for each row"),
                got,
            ));
        }
    }
    Ok(())
}

/// The shapes of matrices in another form.
fn folded(fold: Fold, x: &Layout) -> Result<Layout> {
    let rank = if fold == Fold::Apart { 3 } else { 2 };
    let mut offsets = Offset::new(x.len())?;
    let mut all = host::room(x.len() * rank)?;
    for (element, of) in x.extents().chunks_exact(x.rank()).enumerate() {
        let [first, last] = [of[0], of[of.len() - 1]].map(u64::from);
        let extents = match fold {
            Fold::Parts => [first, 2 * last, 1],
            Fold::Values => [first, last / 2, 1],
            Fold::Apart => [first, 1, last],
            Fold::Turned => [2 * first, 2 * last, 1],
        };
        for &extent in &extents[..rank] {
            let narrow = u32::try_from(extent)
                .map_err(|_| Error::size_overflow(format!("an extent of {extent}")).at(element));
            all.push(narrow?);
        }
        offsets.push(
            extents
                .iter()
                .fold(1, |all, &extent| all.saturating_mul(extent)),
        )?;
    }
    Ok(Layout::unchecked(offsets.finish(), rank, all))
}

/// The shapes of complex values as pairs of floats: with a last axis of 2.
fn as_real(x: &Layout) -> Result<Layout> {
    let rank = x.rank() + 1;
    if rank > MAX_RANK {
        return Err(Error::rank(format!("at most {}", MAX_RANK - 1), x.rank()));
    }
    host::check(x.len(), 4 * (1 + rank))?;
    let mut offsets = Offset::new(x.len())?;
    let mut extents = host::room(x.len() * rank)?;
    for shape in x.shapes() {
        extents.extend_from_slice(shape.extents());
        extents.push(2);
        offsets.push(2 * size(shape.extents()))?;
    }
    Ok(Layout::unchecked(offsets.finish(), rank, extents))
}

/// The shapes of pairs of floats as complex values: without the last axis, whose extent is 2.
fn as_complex(x: &Layout) -> Result<Layout> {
    let rank = x.rank() - 1;
    if rank == 0 {
        return Err(Error::rank(format!("2 to {MAX_RANK}"), 1));
    }
    let each = if rank > 1 { rank } else { 0 };
    host::check(x.len(), 4 * (1 + each))?;
    let mut offsets = Offset::new(x.len())?;
    let mut extents = host::room(x.len() * each)?;
    for (element, shape) in x.extents().chunks_exact(rank + 1).enumerate() {
        if shape[rank] != 2 {
            return Err(Error::shape(
                element,
                "(.., 2)",
                Shape::from_extents_unchecked(shape),
            ));
        }
        let outer = &shape[..rank];
        offsets.push(size(outer))?;
        if rank > 1 {
            extents.extend_from_slice(outer);
        }
    }
    Ok(Layout::unchecked(offsets.finish(), rank, extents))
}
