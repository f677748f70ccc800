//! Concatenation: the right element begins where the left one ends along some axes; the other axes have the ambient
//! extent.
//!
//! Computed as a sum of 32-bit words: no value has two sources, and a word plus zero keeps its bits, whatever the type.

use super::twin::row_of;
use super::{Stage, copy};
use crate::ops::kit::{bits_of, par_tiles};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{CpuArgs, Launch, Nested, Plan, Twin};
use crate::ragged::{DType, Layout, MAX_RANK, Offsets, Pairs};
use crate::{Error, Result, host};

/// Checks that the elements of two batches can be concatenated along `axis`.
pub(crate) fn check_concat(axis: usize, a: &Layout, b: &Layout) -> Result<()> {
    b.check_rank_of(a, "the left batch")?;
    a.check_axis(axis)
}

/// Concatenated elements, over values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Concat {
    pub along: Along,
    pub dtype: DType,
}

/// The axes along which elements are concatenated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Along {
    Axis(usize),
    /// Along every axis at once.
    Diagonal,
}

impl Operation for Concat {
    fn name(&self) -> &'static str {
        match self.along {
            Along::Axis(_) => "concat",
            Along::Diagonal => "block_diag",
        }
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (a, b) = request.both();
        let pairs = request.pairs();
        let dtype = self.dtype;
        // One bit for each axis.
        let concat_axes = match self.along {
            Along::Axis(axis) => {
                check_concat(axis, a, b)?;
                1u32 << axis
            }
            Along::Diagonal => (1 << a.rank()) - 1,
        };
        let layouts = KernelLayouts::new(concat_axes, dtype, a, b, pairs)?;
        let twin = bits_of!(dtype, twin);

        let stage = Stage {
            build: match dtype {
                DType::F16 | DType::U8 => copy(dtype, false),
                _ => copy(DType::U32, false),
            },
            concat_axes: layouts.concat_axes,
        };
        let dispatch = stage.dispatch([a, b], [layouts.a, layouts.b], layouts.c, pairs)?;
        let twin = Twin::new(move |args| twin(args, concat_axes));
        Ok(Launch::new(dtype, layouts.result, dispatch, twin)
            .with_pairs(pairs)
            .into())
    }
}

/// The layouts that the kernel uses, and the axes along which the right element is displaced.
struct KernelLayouts {
    result: Layout,
    a: Option<Layout>,
    b: Option<Layout>,
    c: Layout,
    concat_axes: u32,
}

impl KernelLayouts {
    fn new(
        concat_axes: u32,
        dtype: DType,
        a: &Layout,
        b: &Layout,
        pairs: &Pairs,
    ) -> Result<KernelLayouts> {
        let nested = Nested::new(concat_axes, a, b, pairs)?;
        let (result, concat_axes) = (nested.result, nested.concat_axes);
        let (a_nested, b_nested) = (
            nested.a.as_ref().unwrap_or(a),
            nested.b.as_ref().unwrap_or(b),
        );
        let (a, b, c, concat_axes) = match dtype {
            // A complex value is two words.
            DType::C32 => {
                let doubled = |layout| doubled(layout);
                (
                    Some(doubled(a_nested)?),
                    Some(doubled(b_nested)?),
                    doubled(&nested.c)?,
                    concat_axes,
                )
            }
            // The kernels that write halves and bytes support only boxes, so a vector becomes a row.
            DType::F16 | DType::U8 if nested.c.rank() == 1 => {
                let row = |layout| row(layout);
                (
                    Some(row(a_nested)?),
                    Some(row(b_nested)?),
                    row(&nested.c)?,
                    2,
                )
            }
            _ => (nested.a, nested.b, nested.c, concat_axes),
        };
        Ok(KernelLayouts {
            result,
            a,
            b,
            c,
            concat_axes,
        })
    }
}

/// The layout of complex values viewed as words.
fn doubled(layout: &Layout) -> Result<Layout> {
    if layout.total() > u32::MAX as usize / 2 {
        return Err(Error::size_overflow(format!(
            "the word count of {} complex values",
            layout.total()
        )));
    }
    let offsets = layout.offsets().as_slice().iter().map(|at| 2 * at);
    let offsets = host::exact(offsets)?;
    let mut extents = host::copied(layout.extents())?;
    for shape in extents.chunks_exact_mut(layout.rank()) {
        if let Some(last) = shape.last_mut() {
            // Only an element without values can wrap, and no kernel reads from it.
            *last = last.wrapping_mul(2);
        }
    }
    Ok(Layout::unchecked(
        Offsets::from_vec_unchecked(offsets),
        layout.rank(),
        extents,
    ))
}

/// Vectors viewed as matrices of one row.
fn row(layout: &Layout) -> Result<Layout> {
    let mut extents = host::room(2 * layout.len())?;
    extents.extend(layout.lengths().flat_map(|length| [1, length as u32]));
    Ok(Layout::unchecked(layout.offsets().clone(), 2, extents))
}

fn twin<T: bytemuck::Pod + Default + Send + Sync>(args: &mut CpuArgs<'_>, concat_axes: u32) {
    let (a, a_layout) = args.input::<T>(0);
    let (b, b_layout) = args.input::<T>(1);
    let pairs = args.pairs();
    let (c, layout) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |element, within, out| {
        let (i, j) = pairs.get(element);
        let (x, y) = (
            &a[a_layout.offsets().range(i)],
            &b[b_layout.offsets().range(j)],
        );
        let (shape, x_shape, y_shape) =
            (layout.shape(element), a_layout.shape(i), b_layout.shape(j));
        let (extents, x_extents, y_extents) =
            (shape.extents(), x_shape.extents(), y_shape.extents());
        let mut begins = [0; MAX_RANK];
        for (axis, begin) in begins.iter_mut().enumerate().take(extents.len()) {
            *begin = (concat_axes >> axis & 1) * x_extents[axis];
        }
        let last = extents.len() - 1;
        let width = extents[last] as usize;
        let (mut out, mut at) = (out, within.start);
        while !out.is_empty() {
            let take = (width - at % width).min(out.len());
            let (head, tail) = out.split_at_mut(take);
            let x_row = row_of(at / width, extents, &[0; MAX_RANK], x_extents, x);
            let y_row = row_of(at / width, extents, &begins, y_extents, y);
            if x_row.len() + y_row.len() < width {
                head.fill(T::default());
            }
            place(head, at % width, x_row, 0);
            place(head, at % width, y_row, begins[last] as usize);
            out = tail;
            at += take;
        }
    });
}

/// Copies the part of `values` that overlaps `out`. In their row, `values` begin at `begin`, and `out` at `from`.
fn place<T: Copy>(out: &mut [T], from: usize, values: &[T], begin: usize) {
    let start = begin.max(from);
    let end = (begin + values.len()).min(from + out.len());
    if start < end {
        out[start - from..end - from].copy_from_slice(&values[start - begin..end - begin]);
    }
}
