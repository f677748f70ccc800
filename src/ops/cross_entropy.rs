//! The cross-entropy of rows and their targets, given the log-sum-exp of each row in two parts, and its slopes.
//!
//! Cost: the sums and targets and one value of x for each row read once, and the results written once, in one dispatch.
//! For slopes, x read once, and the result written once; the weights, sums and targets of rows stay in caches.
//!
//! The score is subtracted from the maximum before the logarithm is added. A sum of these two would be rounded to the
//! precision of the largest score.

use half::f16;
use num_complex::Complex32;

use super::maps::exp;
use super::strided;
use crate::Result;
use crate::ops::kit::{Tiles, par_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin, number,
    params, shader, slots, stream_tile, variants,
};
use crate::ragged::{DType, Layout, Scalar};

slots! {
    struct Slots { x: Read, x_meta: Read, targets: Read, sums: Read, c: Write, c_meta: Read }
}

params! {
    struct Params { tiles: Tiles, x_base, targets_base, sums_base, rank }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("cross_entropy"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![F32, F16],
};

slots! {
    struct SlopeSlots {
        x: Read, targets: Read, sums: Read, weights: Read, targets_meta: Read, c: Write, c_meta: Read,
    }
}

params! {
    struct SlopeParams {
        total, ones, elements, tile, x_base, targets_base, sums_base, weights_base, rank,
    }
}

static SLOPES: Kernel = Kernel {
    shader: shader!("cross_entropy_slopes"),
    interface: Interface::of::<SlopeSlots, SlopeParams>(),
    constants: &[],
    variants: KERNEL.variants,
};

/// The operands are x, targets, and sums, which are the rows' maxima and the logarithms of the sums of exponentials of
/// differences from them, as complex numbers.
/// [`View::Targets`](super::strided::View) checks the first two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CrossEntropy {
    pub dtype: DType,
    /// Whether the result is the gradient with respect to x of the losses times the weights, operand 3, which are f32.
    /// The sums must be those of x.
    pub slopes: bool,
}

impl Operation for CrossEntropy {
    const KERNELS: &[&Kernel] = &[&KERNEL, &SLOPES];

    fn name(&self) -> &'static str {
        match self.slopes {
            true => "cross_entropy_slopes",
            false => "cross_entropy",
        }
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let CrossEntropy { dtype, slopes } = *self;
        if slopes {
            return Ok(launch_of_slopes(dtype, inputs).into());
        }
        let (x, targets) = (inputs[0], inputs[1]);
        let total = targets.total();
        let (tiles, groups) = Tiles::of(targets);
        Ok(Launch::new(
            dtype,
            OutputLayout::Input(1),
            Dispatch::new(
                KERNEL.variant(dtype, &[]),
                Slots {
                    x: Slot::Input(0),
                    x_meta: Slot::InputMeta(0),
                    targets: Slot::Input(1),
                    sums: Slot::Input(2),
                    c: Slot::Output(0),
                    c_meta: Slot::InputMeta(1),
                },
                Params {
                    tiles,
                    x_base: Param::InputBase(0),
                    targets_base: Param::InputBase(1),
                    sums_base: Param::InputBase(2),
                    rank: number(x.rank()),
                },
                groups,
                total as u64,
            ),
            Twin::new(move |args| match dtype {
                DType::F16 => twin(args, f16::from_f32),
                _ => twin::<f32>(args, |y| y),
            }),
        )
        .into())
    }
}

fn launch_of_slopes(dtype: DType, inputs: &[&Layout]) -> Launch {
    let x = inputs[0];
    let total = x.total();
    let tile = stream_tile(total, x.len());
    Launch::new(
        dtype,
        OutputLayout::Input(0),
        Dispatch::new(
            SLOPES.variant(dtype, &[]),
            SlopeSlots {
                x: Slot::Input(0),
                targets: Slot::Input(1),
                sums: Slot::Input(2),
                weights: Slot::Input(3),
                targets_meta: Slot::InputMeta(1),
                c: Slot::Output(0),
                c_meta: Slot::InputMeta(0),
            },
            SlopeParams {
                total: number(total),
                // Bits that no compiler can know: see `ends.wgsl`.
                ones: Param::U32(u32::MAX),
                elements: number(x.len()),
                tile: number(tile),
                x_base: Param::InputBase(0),
                targets_base: Param::InputBase(1),
                sums_base: Param::InputBase(2),
                weights_base: Param::InputBase(3),
                rank: number(x.rank()),
            },
            total.div_ceil(tile) as u32,
            total as u64,
        ),
        Twin::new(move |args| match dtype {
            DType::F16 => twin_of_slopes(args, f16::from_f32),
            _ => twin_of_slopes::<f32>(args, |y| y),
        }),
    )
}

fn twin<T: Scalar + Into<f32>>(args: &mut CpuArgs<'_>, rounded: fn(f32) -> T) {
    let (x, x_layout) = args.input::<T>(0);
    let (targets, _) = args.input::<u32>(1);
    let (sums, _) = args.input::<Complex32>(2);
    let (c, layout) = args.output::<T>(0);
    let offsets = layout.offsets();
    par_tiles(offsets, c, |element, within, out| {
        let x = &x[x_layout.offsets().range(element)];
        let width = strided::extent_of(x_layout, element, x_layout.rank() - 1) as usize;
        let start = offsets.range(element).start;
        for (row, out) in within.zip(out) {
            let place = targets[start + row] as usize;
            let Complex32 { re: top, im: log } = sums[start + row];
            *out = rounded(match place < width {
                true => log + (top - x[row * width + place].into()),
                false => f32::NAN,
            });
        }
    });
}

fn twin_of_slopes<T: Scalar + Into<f32>>(args: &mut CpuArgs<'_>, rounded: fn(f32) -> T) {
    let (x, _) = args.input::<T>(0);
    let (targets, of_targets) = args.input::<u32>(1);
    let (sums, _) = args.input::<Complex32>(2);
    let (weights, _) = args.input::<f32>(3);
    let (c, layout) = args.output::<T>(0);
    let offsets = layout.offsets();
    par_tiles(offsets, c, |element, within, mut out| {
        let x = &x[offsets.range(element)];
        let width = strided::extent_of(layout, element, layout.rank() - 1) as usize;
        let first = of_targets.offsets().range(element).start;
        let mut at = within.start;
        while !out.is_empty() {
            let (row, place) = (first + at / width, at % width);
            let n = (width - place).min(out.len());
            let (own, rest) = out.split_at_mut(n);
            let (weight, sum, x) = (weights[row], sums[row], &x[at..][..n]);
            let share = |x: T| exp((x.into() - sum.re) - sum.im);
            match targets[row] as usize {
                target if target < width => {
                    for (y, &x) in own.iter_mut().zip(x) {
                        *y = rounded(weight * share(x));
                    }
                    if let Some(target) = target.checked_sub(place).filter(|&target| target < n) {
                        own[target] = rounded(weight * (share(x[target]) - 1.0));
                    }
                }
                _ => own.fill(rounded(f32::NAN)),
            }
            (out, at) = (rest, at + n);
        }
    });
}
