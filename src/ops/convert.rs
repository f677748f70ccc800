//! Conversions between f32 and f16, value by value.
//!
//! Cost: the values read once and written once, in one dispatch. Layouts are shared, never read.

use std::sync::Arc;

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::stream_groups;
use crate::Result;
use crate::plan::{
    Access, Kernel, Launch, Output, OutputLayout, Slot, Stage, Twin, TwinArgs, Variant, Word,
};
use crate::ragged::{CacheKey, DType, Layout};

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "convert",
    source: include_str!("../../shaders/convert.wgsl"),
    access: &[Access::Write, Access::Read],
    variants: &[
        Variant {
            dtype: DType::F16,
            flags: &[],
        },
        Variant {
            dtype: DType::F32,
            flags: &[],
        },
    ],
};

/// Values that one piece of parallel work on the CPU makes.
const PIECE: usize = 1 << 14;

/// Every value as an f16.
pub(crate) fn to_f16(x: &Layout) -> Result<Arc<Launch>> {
    launch("to_f16", DType::F16, x, |args| {
        let (x, _) = args.input::<f32>(0);
        narrow(x, bytemuck::cast_slice_mut(args.outputs[0].words));
    })
}

/// Every value as an f32.
pub(crate) fn to_f32(x: &Layout) -> Result<Arc<Launch>> {
    launch("to_f32", DType::F32, x, |args| {
        let (x, _) = args.input::<f16>(0);
        widen(x, bytemuck::cast_slice_mut(args.outputs[0].words));
    })
}

fn launch(
    op: &'static str,
    dtype: DType,
    x: &Layout,
    twin: fn(&mut TwinArgs<'_>),
) -> Result<Arc<Launch>> {
    let key = CacheKey {
        what: op,
        other: 0,
        device: 0,
        extra: 0,
    };
    x.cached(key, || {
        Ok(Arc::new(Launch {
            op,
            outputs: vec![Output::new(dtype, OutputLayout::Input(0))],
            temps: Vec::new(),
            stages: vec![stage(
                dtype,
                x.total(),
                Slot::Input(0),
                Word::InputBase(0),
                Slot::Output(0),
            )],
            pairs: None,
            twin: Twin::new(twin),
        }))
    })
}

/// So many values from one slot to another, which is of type `dtype`.
pub(in crate::ops) fn stage(
    dtype: DType,
    values: usize,
    from: Slot,
    base: Word,
    to: Slot,
) -> Stage {
    Stage {
        kernel: &KERNEL,
        variant: KERNEL.variant(dtype, &[]),
        slots: vec![to, from],
        params: vec![Word::U32(values as u32), base],
        groups: stream_groups(values),
        cost: values as u64,
    }
}

/// `x`, rounded; `y` may be longer.
pub(in crate::ops) fn narrow(x: &[f32], y: &mut [f16]) {
    y[..x.len()]
        .par_chunks_mut(PIECE)
        .zip(x.par_chunks(PIECE))
        .for_each(|(y, x)| y.convert_from_f32_slice(x));
}

/// `x`, exactly.
pub(in crate::ops) fn widen(x: &[f16], y: &mut [f32]) {
    y.par_chunks_mut(PIECE)
        .zip(x.par_chunks(PIECE))
        .for_each(|(y, x)| x.convert_to_f32_slice(y));
}
