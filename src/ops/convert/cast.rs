//! Elementwise conversions to and from integers and bytes; those between floats are in `convert`.
//!
//! Cost: the values read once and written once, in one dispatch. Layouts are shared, never read.

use bytemuck::cast_slice_mut;
use half::f16;

use super::{self as convert, Params, Slots};
use crate::Result;
use crate::ops::kit::{STREAM, par_map};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{CpuArgs, Dispatch, Interface, Kernel, Param, Plan, Slot, shader, variants};
use crate::ragged::{DType, Scalar};

static KERNEL: Kernel = Kernel {
    shader: shader!("convert/cast", "cast"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM],
    variants: variants![
        I32 "FROM_F32", I32 "FROM_F16", I32 "FROM_U32", I32 "FROM_U8",
        U32 "FROM_F32", U32 "FROM_F16", U32 "FROM_I32", U32 "FROM_U8",
        F32 "FROM_I32", F32 "FROM_U32", F32 "FROM_U8",
        F16 "FROM_I32", F16 "FROM_U32", F16 "FROM_U8",
        U8 "FROM_F32", U8 "FROM_F16", U8 "FROM_I32", U8 "FROM_U32"
    ],
};

fn each<T: Scalar, R: Scalar>(args: &mut CpuArgs<'_>, f: impl Fn(T) -> R + Sync) {
    let (x, _) = args.input::<T>(0);
    par_map(x, cast_slice_mut(args.outputs[0].words), f);
}

/// A conversion between numeric types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Cast {
    pub from: DType,
    pub to: DType,
}

impl Cast {
    /// The kernel alone, on values of any slots.
    pub(in crate::ops) fn dispatch(
        self,
        values: usize,
        from: Slot,
        base: Param,
        to: Slot,
    ) -> Dispatch {
        convert::convert(self.variant(), values, from, base, to)
    }

    fn variant(self) -> (&'static Kernel, usize) {
        let flag = match self.from {
            DType::F32 => "FROM_F32",
            DType::F16 => "FROM_F16",
            DType::I32 => "FROM_I32",
            DType::U32 => "FROM_U32",
            DType::U8 => "FROM_U8",
            DType::C32 => unreachable!("no conversion"),
        };
        KERNEL.variant(self.to, &[flag])
    }
}

impl Operation for Cast {
    const NAME: &str = convert::OP;
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let Cast { from, to } = *self;
        let twin: fn(&mut CpuArgs<'_>) = match (from, to) {
            (DType::F32, DType::I32) => |args| each(args, |x: f32| x as i32),
            (DType::F16, DType::I32) => |args| each(args, |x: f16| x.to_f32() as i32),
            (DType::U32, DType::I32) => |args| each(args, |x: u32| x.min(i32::MAX as u32) as i32),
            (DType::U8, DType::I32) => |args| each(args, |x: u8| i32::from(x)),
            (DType::F32, DType::U32) => |args| each(args, |x: f32| x as u32),
            (DType::F16, DType::U32) => |args| each(args, |x: f16| x.to_f32() as u32),
            (DType::I32, DType::U32) => |args| each(args, |x: i32| x.max(0) as u32),
            (DType::U8, DType::U32) => |args| each(args, |x: u8| u32::from(x)),
            (DType::I32, DType::F32) => |args| each(args, |x: i32| x as f32),
            (DType::U32, DType::F32) => |args| each(args, |x: u32| x as f32),
            (DType::U8, DType::F32) => |args| each(args, |x: u8| f32::from(x)),
            (DType::I32, DType::F16) => |args| each(args, |x: i32| f16::from_f32(x as f32)),
            (DType::U32, DType::F16) => |args| each(args, |x: u32| f16::from_f32(x as f32)),
            (DType::U8, DType::F16) => |args| each(args, |x: u8| f16::from(x)),
            (DType::F32, DType::U8) => |args| each(args, |x: f32| x as u8),
            (DType::F16, DType::U8) => |args| each(args, |x: f16| x.to_f32() as u8),
            (DType::I32, DType::U8) => |args| each(args, |x: i32| x.clamp(0, 255) as u8),
            (DType::U32, DType::U8) => |args| each(args, |x: u32| x.min(255) as u8),
            // Methods exist only for the pairs above.
            _ => unreachable!("no conversion"),
        };
        Ok(convert::launch(self.variant(), to, x, twin).into())
    }
}
