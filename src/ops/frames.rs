//! Cuts vectors into frames, times a window, and recovers vectors from frames: the steps of a short-time Fourier
//! transform before and after the transforms themselves.
//!
//! Cost: one dispatch. Vectors and frames each move through memory once, because frames that share values are made, or
//! added, at the same time. A value of a vector takes one multiply-add for each frame that it is in.
//!
//! `stft` cuts the frames of all elements into one batch of rows, transforms the rows by `rfft`, and views the spectra
//! as matrices again. `istft` transforms the rows back, and the kernel adds the frames at each value in order, so there
//! are no atomics. A fused transform would not write the frames to memory and read them back.

use crate::ops::kit::{Tiles, par_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Offset, Param, Plan, Slot, Twin, Variant, params,
    shader, slots,
};
use crate::ragged::{DType, Layout};
use crate::{Result, host};

slots! {
    struct Slots { x: Read, x_meta: Read, w: Read, c: Write, c_meta: Read }
}

params! {
    struct Params { tiles: Tiles, x_base, w_base, size, hop, least }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("frames"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: &[
        Variant {
            dtype: DType::F32,
            flags: &["CUT"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["ADD"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["SUM"],
        },
    ],
};

/// A value cannot be recovered from frames if the squares of its window weights sum to no more than this, as in SciPy.
pub(crate) const LEAST: f32 = 1e-10;

/// A step of a transform of operand 0, frame by frame. Operand 1 is the window, one vector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Frames {
    /// The frames of vectors, times the window.
    Cut { hop: u32 },
    /// Vectors, of the layout of operand 2, from their frames.
    Add { hop: u32 },
    /// The sums of frames times the window: the adjoint of [`Cut`](Self::Cut).
    Sum { hop: u32 },
}

/// The layout of the frames of vectors: a matrix for each, with frames as rows.
pub(crate) fn layout(x: &Layout, size: u32, hop: u32) -> Result<Layout> {
    x.check_rank(1)?;
    let mut offsets = Offset::new(x.len())?;
    let mut extents = host::room(2 * x.len())?;
    for element in 0..x.len() {
        let rest = (x.length(element) as u32).checked_sub(size);
        let frames = rest.map_or(0, |rest| rest / hop + 1);
        offsets.push(u64::from(frames) * u64::from(size))?;
        extents.extend([frames, size]);
    }
    Ok(Layout::unchecked(offsets.finish(), 2, extents))
}

impl Operation for Frames {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        match self {
            Frames::Cut { .. } => "stft",
            Frames::Add { .. } => "istft",
            Frames::Sum { .. } => "frames",
        }
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        // An empty window was refused before.
        let size = inputs[1].total().max(1) as u32;
        let (flag, hop, times) = match *self {
            Frames::Cut { hop } => ("CUT", hop, 1),
            Frames::Add { hop } => ("ADD", hop, size.div_ceil(hop)),
            Frames::Sum { hop } => ("SUM", hop, size.div_ceil(hop)),
        };
        let c = match *self {
            Frames::Cut { .. } => layout(inputs[0], size, hop)?,
            Frames::Add { .. } | Frames::Sum { .. } => inputs[2].clone(),
        };
        let total = c.total();
        let (tiles, groups) = Tiles::of(&c);
        let cost = total as u64 * u64::from(times);
        let dispatch = Dispatch::new(
            KERNEL.variant(DType::F32, &[flag]),
            Slots {
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
                w: Slot::Input(1),
                c: Slot::Output(0),
                c_meta: Slot::Meta(c.clone()),
            },
            Params {
                tiles,
                x_base: Param::InputBase(0),
                w_base: Param::InputBase(1),
                size: Param::U32(size),
                hop: Param::U32(hop),
                least: Param::U32(LEAST.to_bits()),
            },
            groups,
            cost,
        );
        let (size, hop, of) = (size as usize, hop as usize, *self);
        let twin = Twin::new(move |args| match of {
            Frames::Cut { .. } => cut(args, size, hop),
            Frames::Add { .. } => add(args, size, hop, |sum, squares| match squares <= LEAST {
                true => 0.0,
                false => sum / squares,
            }),
            Frames::Sum { .. } => add(args, size, hop, |sum, _| sum),
        });
        Ok(Launch::new(DType::F32, c, dispatch, twin).into())
    }
}

fn cut(args: &mut CpuArgs<'_>, size: usize, hop: usize) {
    let (x, x_layout) = args.input::<f32>(0);
    let (window, _) = args.input::<f32>(1);
    let output = &mut args.outputs[0];
    let c: &mut [f32] = bytemuck::cast_slice_mut(output.words);
    par_tiles(
        output.layout.offsets(),
        c,
        |element, within, mut out: &mut [f32]| {
            let x = &x[x_layout.offsets().range(element)];
            let (mut t, mut first) = (within.start / size, within.start % size);
            while !out.is_empty() {
                let (frame, rest) = out.split_at_mut((size - first).min(out.len()));
                let values = x[t * hop + first..].iter().zip(&window[first..]);
                for (y, (x, w)) in frame.iter_mut().zip(values) {
                    *y = x * w;
                }
                (out, t, first) = (rest, t + 1, 0);
            }
        },
    );
}

/// Computes results by `of`, from the sum of the frames times the window and the sum of the window's squares.
fn add(args: &mut CpuArgs<'_>, size: usize, hop: usize, quotient: fn(f32, f32) -> f32) {
    let (x, x_layout) = args.input::<f32>(0);
    let (window, _) = args.input::<f32>(1);
    let output = &mut args.outputs[0];
    let c: &mut [f32] = bytemuck::cast_slice_mut(output.words);
    par_tiles(
        output.layout.offsets(),
        c,
        |element, within, out: &mut [f32]| {
            let frames = &x[x_layout.offsets().range(element)];
            let count = frames.len() / size;
            for (y, i) in out.iter_mut().zip(within) {
                let first = i.checked_sub(size).map_or(0, |before| before / hop + 1);
                let (mut sum, mut squares) = (0.0f32, 0.0f32);
                for t in first..count.min(i / hop + 1) {
                    let k = i - t * hop;
                    sum += frames[t * size + k] * window[k];
                    squares += window[k] * window[k];
                }
                *y = quotient(sum, squares);
            }
        },
    );
}
