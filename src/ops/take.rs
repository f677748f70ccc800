//! Takes values from lines by indices that a device holds; and the adjoint, which puts values at the places that
//! indices give.
//!
//! Cost: indices and values read once, the result written once, in one dispatch; if several values of a line are put,
//! the result is filled with zeros first, in another one.

use super::lines::{check_axis, place_of_axis};
use super::{linear, strided};
use crate::ops::kit::{Tiles, par_runs, par_tiles};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin, cost_of,
    params, shader, slots, variants,
};
use crate::ragged::{DType, Layout};
use crate::{Error, Result};

slots! {
    struct Slots { x: Read, index: Read, c: Write, c_meta: Read, line_meta: Read }
}

params! {
    struct Params { tiles: Tiles, x_base, index_base, rank, axis }
}

/// Copies the bits of values, so one variant serves all types of 32 bits.
static KERNEL: Kernel = Kernel {
    shader: shader!("take"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![U32, U32 "PUT", U32 "ONE"],
};

/// Values of 32 bits, by indices along an axis, or into whole elements if there is none. Operand 1 holds the indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Take {
    /// Whether values are put instead, into zeros of the layout of operand 2. No index occurs twice in a line.
    pub put: bool,
    pub dtype: DType,
    pub axis: Option<usize>,
}

impl Operation for Take {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        if self.put { "put" } else { "take" }
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::InWords(Some(&mut self.dtype))
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let Take { put, dtype, axis } = *self;
        // The layout of the indices, and that of the lines that they point into.
        let (c, lines) = match put {
            true => (inputs[1], inputs[2]),
            false => (inputs[1], inputs[0]),
        };
        check_axis(lines, axis)?;
        lines.check_len(c.len())?;
        if axis.is_some() {
            c.check_rank_of(lines, "the batch")?;
            check_lines(axis, c, lines)?;
        }
        if put {
            inputs[0].check_shapes(c)?;
        }
        let [rank, place] = place_of_axis(c, axis);
        let along = axis.filter(|_| c.rank() > 1);
        let indices = |element: usize| match along {
            Some(axis) => strided::extent_of(c, element, axis),
            None => c.length(element) as u64,
        };
        let one = put && (0..c.len()).all(|element| indices(element) <= 1);
        let (flags, each, other): (&[&str], _, _) = match (put, one) {
            (false, _) => (&[], 1, 0),
            (true, false) => (&["PUT"], 1, 2),
            (true, true) => (&["ONE"], 2, 1),
        };
        let total = inputs[each].total();
        let (tiles, groups) = Tiles::of(inputs[each]);
        let dispatch = Dispatch::new(
            KERNEL.variant(DType::U32, flags),
            Slots {
                x: Slot::Input(0),
                index: Slot::Input(1),
                c: Slot::Output(0),
                c_meta: Slot::InputMeta(each),
                line_meta: Slot::InputMeta(other),
            },
            Params {
                tiles,
                x_base: Param::InputBase(0),
                index_base: Param::InputBase(1),
                rank,
                axis: place,
            },
            groups,
            total as u64,
        );
        if !put {
            let twin = Twin::new(move |args| taken(args, along));
            return Ok(Launch::new(dtype, OutputLayout::Input(1), dispatch, twin).into());
        }
        let dispatches = match one {
            true => vec![dispatch],
            false => vec![linear::zeros(lines.total(), Slot::Output(0)), dispatch],
        };
        let work = cost_of(&dispatches);
        let gpu = (dispatches, Vec::new());
        let twin = Twin::new(move |args| placed(args, along));
        Ok(Launch::of(dtype, OutputLayout::Input(2), gpu, work, twin).into())
    }
}

/// Checks that both layouts agree along all other axes.
fn check_lines(axis: Option<usize>, c: &Layout, lines: &Layout) -> Result<()> {
    for element in 0..c.len() {
        let differs =
            |a: usize| strided::extent_of(c, element, a) != strided::extent_of(lines, element, a);
        if (0..c.rank()).any(|a| Some(a) != axis && differs(a)) {
            let expected = format!("{}, with any number of indices", lines.shape(element));
            return Err(Error::shape(element, expected, c.shape(element)));
        }
    }
    Ok(())
}

/// How indices of an element correspond to values of its lines.
struct Lines {
    /// The numbers of values of a line and of indices into it, and the distance between neighbours.
    values: usize,
    indices: usize,
    step: usize,
}

impl Lines {
    fn of(c: &Layout, lines: &Layout, element: usize, axis: Option<usize>) -> Lines {
        let Some(axis) = axis else {
            return Lines {
                values: lines.length(element),
                indices: c.length(element),
                step: 1,
            };
        };
        let (of_indices, of_lines) = (c.shape(element), lines.shape(element));
        let inner = of_indices.extents()[axis + 1..].iter();
        Lines {
            values: of_lines.extents()[axis] as usize,
            indices: of_indices.extents()[axis] as usize,
            step: inner.map(|&extent| extent as usize).product(),
        }
    }

    /// The place in the element of the value that index number `v` refers to, if its line has that value.
    fn place(&self, v: usize, index: u32) -> Option<usize> {
        let (before, inner) = (v / self.step, v % self.step);
        let index = Some(index as usize).filter(|&index| index < self.values)?;
        Some((before / self.indices * self.values + index) * self.step + inner)
    }
}

fn taken(args: &mut CpuArgs<'_>, axis: Option<usize>) {
    let (x, x_layout) = args.input::<u32>(0);
    let (index, _) = args.input::<u32>(1);
    let (c, layout) = args.output::<u32>(0);
    par_tiles(layout.offsets(), c, |element, within, out| {
        let lines = Lines::of(layout, x_layout, element, axis);
        let x = &x[x_layout.offsets().range(element)];
        let index = &index[layout.offsets().range(element)];
        for (v, out) in within.zip(out) {
            *out = lines.place(v, index[v]).map_or(0, |at| x[at]);
        }
    });
}

fn placed(args: &mut CpuArgs<'_>, axis: Option<usize>) -> Result<()> {
    let (x, _) = args.input::<u32>(0);
    let (index, x_layout) = args.input::<u32>(1);
    let (c, layout) = args.output::<u32>(0);
    par_runs(layout.offsets(), c, &|elements, mut out| {
        for element in elements {
            let (own, rest) = out.split_at_mut(layout.length(element));
            out = rest;
            own.fill(0);
            let lines = Lines::of(x_layout, layout, element, axis);
            let range = x_layout.offsets().range(element);
            for (v, (&value, &index)) in x[range.clone()].iter().zip(&index[range]).enumerate() {
                if let Some(at) = lines.place(v, index) {
                    own[at] = value;
                }
            }
        }
        Ok(())
    })
}
