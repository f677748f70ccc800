//! Elementwise conversions to and from integers; those between floats are in `convert`.
//!
//! Cost: the values read once and written once, in one dispatch. Layouts are shared, never read.

use bytemuck::cast_slice_mut;
use half::f16;
use rayon::prelude::*;

use super::convert::{OP, Params, Slots};
use super::{STREAM, stream_groups};
use crate::plan::{
    CpuArgs, CpuKernel, Dispatch, Interface, Kernel, Launch, Output, OutputLayout, Param, Slot,
    Variant,
};
use crate::ragged::{DType, Layout, Scalar};

macro_rules! from {
    ($($dtype:ident $flag:literal),*) => {
        &[$(Variant::of(DType::$dtype, &[$flag])),*]
    };
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "cast",
    source: include_str!("../../shaders/cast.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM],
    variants: from![
        I32 "FROM_F32", I32 "FROM_F16", I32 "FROM_U32",
        U32 "FROM_F32", U32 "FROM_F16", U32 "FROM_I32",
        F32 "FROM_I32", F32 "FROM_U32",
        F16 "FROM_I32", F16 "FROM_U32"
    ],
};

/// Values in one parallel task on the CPU.
const PIECE: usize = 1 << 14;

fn each<T: Scalar, R: Scalar>(args: &mut CpuArgs<'_>, f: impl Fn(T) -> R + Sync) {
    let (x, _) = args.input::<T>(0);
    let y: &mut [R] = cast_slice_mut(args.outputs[0].words);
    // The last word may hold one extra half.
    y[..x.len()]
        .par_chunks_mut(PIECE)
        .zip(x.par_chunks(PIECE))
        .for_each(|(y, x)| {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = f(x);
            }
        });
}

/// A conversion between numeric types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Cast {
    pub from: DType,
    pub to: DType,
}

impl Cast {
    pub(crate) fn launch(self, x: &Layout) -> Launch {
        let Cast { from, to } = self;
        let (flag, twin): (&'static [&'static str], fn(&mut CpuArgs<'_>)) = match (from, to) {
            (DType::F32, DType::I32) => (&["FROM_F32"], |args| each(args, |x: f32| x as i32)),
            (DType::F16, DType::I32) => {
                (&["FROM_F16"], |args| each(args, |x: f16| x.to_f32() as i32))
            }
            (DType::U32, DType::I32) => (&["FROM_U32"], |args| {
                each(args, |x: u32| x.min(i32::MAX as u32) as i32)
            }),
            (DType::F32, DType::U32) => (&["FROM_F32"], |args| each(args, |x: f32| x as u32)),
            (DType::F16, DType::U32) => {
                (&["FROM_F16"], |args| each(args, |x: f16| x.to_f32() as u32))
            }
            (DType::I32, DType::U32) => {
                (&["FROM_I32"], |args| each(args, |x: i32| x.max(0) as u32))
            }
            (DType::I32, DType::F32) => (&["FROM_I32"], |args| each(args, |x: i32| x as f32)),
            (DType::U32, DType::F32) => (&["FROM_U32"], |args| each(args, |x: u32| x as f32)),
            (DType::I32, DType::F16) => (&["FROM_I32"], |args| {
                each(args, |x: i32| f16::from_f32(x as f32))
            }),
            (DType::U32, DType::F16) => (&["FROM_U32"], |args| {
                each(args, |x: u32| f16::from_f32(x as f32))
            }),
            // Methods exist only for the pairs above.
            _ => unreachable!("no conversion"),
        };
        Launch {
            op: OP,
            outputs: vec![Output::new(to, OutputLayout::Input(0))],
            scratch: Vec::new(),
            dispatches: vec![Dispatch::new(
                (&KERNEL, KERNEL.variant(to, flag)),
                Slots {
                    y: Slot::Output(0),
                    x: Slot::Input(0),
                },
                Params {
                    total: Param::U32(x.total() as u32),
                    x_base: Param::InputBase(0),
                },
                stream_groups(x.total()),
                x.total() as u64,
            )],
            pairs: None,
            work: x.total() as u64,
            twin: CpuKernel::new(twin),
        }
    }
}
