//! The largest or the smallest value among each cell of a matrix and its neighbours.
//!
//! Cost: the values read once from memory, the results written once, in one dispatch. An invocation computes a column
//! of results and keeps the last rows in registers, so that it loads three values for each row; invocations side by
//! side find most of them in a cache. For bytes, it computes a word of four results from three words of each of three
//! rows.

use super::strided;
use crate::Result;
use crate::ops::kit::par_tiles;
use crate::ops::kit::{Neighbours, Tiles};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin, constants,
    params, shader, slots, variants,
};
use crate::ragged::{DType, Layout, Scalar};

slots! {
    struct Slots { x: Read, x_meta: Read, c: Write, c_meta: Read }
}

params! {
    struct Params { tiles: Tiles, x_base, flip, cross }
}

/// Rows of a strip, which an invocation computes.
const STRIP: usize = 8;

/// One variant serves both types of 32 bits and both directions: `p.flip` maps values to keys that have their order, or
/// the reverse.
static KERNEL: Kernel = Kernel {
    shader: shader!("morphology"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![STRIP]],
    variants: variants![U32],
};

slots! {
    struct ByteSlots { x: Read, c: Write, c_meta: Read }
}

/// The same for bytes, of which an invocation makes a word.
static BYTES: Kernel = Kernel {
    shader: shader!("morphology_bytes"),
    interface: Interface::of::<ByteSlots, Params>(),
    constants: &[],
    variants: variants![U8],
};

/// The extremes of neighbourhoods, over integers of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Morphology {
    pub neighbours: Neighbours,
    /// Whether the smallest values are sought.
    pub least: bool,
    pub dtype: DType,
}

impl Morphology {
    fn of_words(self, x: &Layout) -> Result<Dispatch> {
        // An item of work is a column of a strip.
        let strips = strided::layout(x.len(), 2, |element, axis| {
            let extent = strided::extent_of(x, element, axis);
            match axis {
                0 => extent.div_ceil(STRIP as u64),
                _ => extent,
            }
        })?;
        let signed = match self.dtype {
            DType::I32 => 1 << 31,
            _ => 0,
        };
        let (params, groups) = self.params(&strips, signed);
        Ok(Dispatch::new(
            KERNEL.variant(DType::U32, &[]),
            Slots {
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
                c: Slot::Output(0),
                c_meta: Slot::Meta(strips),
            },
            params,
            groups,
            x.total() as u64,
        ))
    }

    fn of_bytes(self, x: &Layout) -> Dispatch {
        let (params, groups) = self.params(x, 0);
        Dispatch::new(
            BYTES.variant(DType::U8, &[]),
            ByteSlots {
                x: Slot::Input(0),
                c: Slot::Output(0),
                c_meta: Slot::InputMeta(0),
            },
            params,
            groups,
            x.total() as u64,
        )
    }

    /// The parameters and the number of workgroups for these items of work.
    fn params(self, items: &Layout, signed: u32) -> (Params, u32) {
        let (tiles, groups) = Tiles::of(items);
        let params = Params {
            tiles,
            x_base: Param::InputBase(0),
            flip: Param::U32(if self.least { !signed } else { signed }),
            cross: Param::U32(u32::from(self.neighbours == Neighbours::Four)),
        };
        (params, groups)
    }
}

impl Operation for Morphology {
    const KERNELS: &[&Kernel] = &[&KERNEL, &BYTES];

    fn name(&self) -> &'static str {
        if self.least { "erode" } else { "dilate" }
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        x.check_rank(2)?;
        let dispatch = match self.dtype {
            DType::U8 => self.of_bytes(x),
            _ => self.of_words(x)?,
        };
        let Morphology {
            dtype,
            least,
            neighbours,
        } = *self;
        let twin = Twin::new(move |args| match (dtype, least) {
            (DType::I32, false) => twin(args, neighbours, i32::max),
            (DType::I32, true) => twin(args, neighbours, i32::min),
            (DType::U8, false) => twin(args, neighbours, u8::max),
            (DType::U8, true) => twin(args, neighbours, u8::min),
            (_, false) => twin(args, neighbours, u32::max),
            (_, true) => twin(args, neighbours, u32::min),
        });
        Ok(Launch::new(self.dtype, OutputLayout::Input(0), dispatch, twin).into())
    }
}

fn twin<T: Scalar>(args: &mut CpuArgs<'_>, neighbours: Neighbours, better: fn(T, T) -> T) {
    let (x, layout) = args.input::<T>(0);
    let (c, _) = args.output::<T>(0);
    par_tiles(layout.offsets(), c, |element, within, mut out| {
        let x = &x[layout.offsets().range(element)];
        let [rows, width] = [0, 1].map(|axis| layout.extents()[2 * element + axis] as usize);
        let row_of = |row: usize| &x[row * width..][..width];
        let (mut row, mut column) = (within.start / width, within.start % width);
        while !out.is_empty() {
            let (head, tail) = out.split_at_mut((width - column).min(out.len()));
            // At a border, a row or a column stands for the one that is missing, which changes no extreme.
            let here = row_of(row);
            let others = [row.saturating_sub(1), (row + 1).min(rows - 1)].map(row_of);
            for (k, out) in (column..).zip(head) {
                let (left, right) = (k.saturating_sub(1), (k + 1).min(width - 1));
                let across = |row: &[T]| better(row[k], better(row[left], row[right]));
                let beside = |row: &[T]| match neighbours {
                    Neighbours::Four => row[k],
                    Neighbours::Eight => across(row),
                };
                *out = better(across(here), better(beside(others[0]), beside(others[1])));
            }
            (out, row, column) = (tail, row + 1, 0);
        }
    });
}
