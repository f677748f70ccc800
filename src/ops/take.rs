//! Takes values from lines by indices that a device holds; and the adjoint, which puts values at the places that
//! indices give.
//!
//! Cost: indices and values read once, the result written once, in one dispatch; if several values of a line are put,
//! the result is filled with zeros first, in another one.

use super::lines::{check_axis, place_of_axis};
use super::{linear, strided};
use crate::ops::kit::{Tiles, bits_of, par_runs, par_tiles};
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

/// Copies the bits of values, so one variant serves all types of a size.
static KERNEL: Kernel = Kernel {
    shader: shader!("take"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![U32, C32, F16, U8, U32 "PLACES", U32 "PUT", U32 "ONE"],
};

/// What is done with the indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum How {
    /// Values are taken.
    Values {
        /// Whether no index below the length of a line occurs twice in it, so that the adjoint is [`How::Put`].
        distinct: bool,
    },
    /// The places in the batch of the values that would be taken, as u32; `u32::MAX` where there is none.
    Places,
    /// Values of 32 bits are put, into zeros of the layout of operand 2. No index occurs twice in a line.
    Put,
}

/// Values by indices along an axis, or of whole elements if there is none. Operand 1 holds the indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Take {
    pub how: How,
    pub dtype: DType,
    pub axis: Option<usize>,
}

impl Operation for Take {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        match self.how {
            How::Values { distinct: true } => "take",
            How::Values { distinct: false } => "take_along_axis",
            How::Places => "places",
            How::Put => "put",
        }
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        match self.how {
            How::Put => OnBytes::InWords(Some(&mut self.dtype)),
            _ => OnBytes::Direct,
        }
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let Take { how, dtype, axis } = *self;
        let put = how == How::Put;
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
        let (flags, each, other): (&[&str], _, _) = match (how, one) {
            (How::Values { .. }, _) => (&[], 1, 0),
            (How::Places, _) => (&["PLACES"], 1, 0),
            (How::Put, false) => (&["PUT"], 1, 2),
            (How::Put, true) => (&["ONE"], 2, 1),
        };
        let kernel_type = match (how, dtype) {
            (How::Values { .. }, DType::F16 | DType::C32 | DType::U8) => dtype,
            _ => DType::U32,
        };
        let total = inputs[each].total();
        let (tiles, groups) = Tiles::of(inputs[each]);
        let dispatch = Dispatch::new(
            KERNEL.variant(kernel_type, flags),
            Slots {
                // The values of a batch are not read for places in it.
                x: Slot::Input(usize::from(how == How::Places)),
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
        let result =
            |dtype, twin| Launch::new(dtype, OutputLayout::Input(1), dispatch.clone(), twin);
        match how {
            How::Values { .. } => {
                let twin = Twin::new(move |args| bits_of!(dtype, taken)(args, along));
                return Ok(result(dtype, twin).into());
            }
            How::Places => {
                let twin = Twin::new(move |args| places(args, along));
                return Ok(result(DType::U32, twin).into());
            }
            How::Put => {}
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

    /// The position of index number `v` of the element.
    fn position(&self, v: usize) -> Position {
        let before = v / self.step.max(1);
        let number = before % self.indices.max(1);
        Position {
            line: before / self.indices.max(1) * self.values,
            number,
            inner: v % self.step.max(1),
        }
    }
}

/// The place of an index in its element, counted up from index to index to avoid divisions.
struct Position {
    /// The number of values of the lines before.
    line: usize,
    /// The number of the index in its line.
    number: usize,
    /// The number of the line among those whose values lie between two neighbours of a line.
    inner: usize,
}

impl Position {
    /// The place in the element of the value that this index refers to, if its line has that value. Goes on to the next
    /// index.
    fn place(&mut self, lines: &Lines, index: u32) -> Option<usize> {
        let index = index as usize;
        let place = (index < lines.values).then(|| (self.line + index) * lines.step + self.inner);
        self.inner += 1;
        if self.inner == lines.step {
            self.inner = 0;
            self.number += 1;
            if self.number == lines.indices {
                self.number = 0;
                self.line += lines.values;
            }
        }
        place
    }
}

fn taken<T: bytemuck::Pod + Send + Sync>(args: &mut CpuArgs<'_>, axis: Option<usize>) {
    let (x, _) = args.input::<T>(0);
    by_place(args, axis, |at| at.map_or(T::zeroed(), |at| x[at]));
}

fn places(args: &mut CpuArgs<'_>, axis: Option<usize>) {
    by_place(args, axis, |at| at.map_or(u32::MAX, |at| at as u32));
}

/// Computes each value of the result from the place in operand 0 that its index refers to.
fn by_place<T: bytemuck::Pod + Send + Sync>(
    args: &mut CpuArgs<'_>,
    axis: Option<usize>,
    value: impl Fn(Option<usize>) -> T + Sync,
) {
    let (_, x_layout) = args.input::<u8>(0);
    let (index, _) = args.input::<u32>(1);
    let (c, layout) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |element, within, out| {
        let lines = Lines::of(layout, x_layout, element, axis);
        let begin = x_layout.offsets().range(element).start;
        let mut position = lines.position(within.start);
        let index = &index[layout.offsets().range(element)][within];
        let each = out.iter_mut().zip(index);
        match lines.indices == layout.length(element) {
            // One line.
            true => each.for_each(|(out, &index)| {
                let is_there = (index as usize) < lines.values;
                *out = value(is_there.then(|| begin + index as usize));
            }),
            false => each.for_each(|(out, &index)| {
                *out = value(position.place(&lines, index).map(|at| begin + at));
            }),
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
            let mut position = lines.position(0);
            for (&value, &index) in x[range.clone()].iter().zip(&index[range]) {
                if let Some(at) = position.place(&lines, index) {
                    own[at] = value;
                }
            }
        }
        Ok(())
    })
}
