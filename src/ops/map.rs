//! Maps of one operand, value by value: scale and copy; and fill, of none.
//!
//! Cost: the values read once and written once, in one dispatch; fill writes only. Layouts are shared, never read.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Arithmetic, stream_groups, twin_of};
use crate::Result;
use crate::plan::{
    Access, Kernel, Launch, OutputLayout, Slot, Stage, Twin, TwinArgs, Variant, Word,
};
use crate::ragged::{CacheKey, DType, Element, Layout};

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "map",
    source: include_str!("../../shaders/map.wgsl"),
    access: &[Access::Write, Access::Read],
    variants: &[
        Variant {
            dtype: DType::F32,
            flags: &["SCALE"],
        },
        Variant {
            dtype: DType::I32,
            flags: &["SCALE"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["SCALE"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["COPY"],
        },
    ],
};

pub(crate) static FILL: Kernel = Kernel {
    stem: "fill",
    source: include_str!("../../shaders/map.wgsl"),
    access: &[Access::Write],
    variants: &[Variant {
        dtype: DType::U32,
        flags: &["FILL"],
    }],
};

/// Values that one piece of parallel work on the CPU makes.
const PIECE: usize = 1 << 14;

fn launch(
    op: &'static str,
    flag: &'static [&'static str],
    dtype: DType,
    x: &Layout,
    factor: Word,
    twin: fn(&mut TwinArgs<'_>),
) -> Result<Arc<Launch>> {
    let key = CacheKey {
        what: op,
        other: 0,
        device: 0,
        extra: dtype as u64,
    };
    x.cached(key, || {
        Ok(Arc::new(Launch {
            op,
            outputs: vec![OutputLayout::Input(0)],
            temps: Vec::new(),
            stages: vec![Stage {
                kernel: &KERNEL,
                variant: KERNEL.variant(dtype, flag),
                slots: vec![Slot::Output(0), Slot::Input(0)],
                params: vec![Word::U32(x.total() as u32), Word::InputBase(0), factor],
                groups: stream_groups(x.total()),
                cost: x.total() as u64,
            }],
            pairs: None,
            twin: Twin::new(twin),
        }))
    })
}

/// `s · x`; the scalar is the call's first.
pub(crate) fn scale(dtype: DType, x: &Layout) -> Result<Arc<Launch>> {
    launch(
        "scale",
        &["SCALE"],
        dtype,
        x,
        Word::Scalar(0),
        twin_of!(dtype, scale_twin),
    )
}

fn scale_twin<T: Arithmetic>(args: &mut TwinArgs<'_>) {
    let s: T = bytemuck::cast(args.scalars[0]);
    each(args, |x: T| s.times(x));
}

/// A copy of `x` in memory of its own. Bits are copied, so one kernel serves all types.
pub(crate) fn copy(x: &Layout) -> Result<Arc<Launch>> {
    launch("copy", &["COPY"], DType::U32, x, Word::U32(0), |args| {
        each(args, |x: u32| x)
    })
}

fn each<T: Element>(args: &mut TwinArgs<'_>, f: impl Fn(T) -> T + Sync) {
    let (x, _) = args.input::<T>(0);
    let y: &mut [T] = bytemuck::cast_slice_mut(args.outputs[0].words);
    y.par_chunks_mut(PIECE)
        .zip(x.par_chunks(PIECE))
        .for_each(|(y, x)| {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = f(x);
            }
        });
}

/// The stage that writes `value` to the first `values` words of its output.
pub(crate) fn fill_stage(values: usize, value: Word) -> Stage {
    Stage {
        kernel: &FILL,
        variant: FILL.variant(DType::U32, &["FILL"]),
        slots: vec![Slot::Output(0)],
        params: vec![Word::U32(values as u32), Word::U32(0), value],
        groups: stream_groups(values),
        cost: values as u64,
    }
}

/// A batch of this layout whose values all are the call's first scalar.
pub(crate) fn fill(layout: &Layout) -> Launch {
    Launch {
        op: "full",
        outputs: vec![OutputLayout::New(layout.clone())],
        temps: Vec::new(),
        stages: vec![fill_stage(layout.total(), Word::Scalar(0))],
        pairs: None,
        twin: Twin::new(|args| {
            let value = args.scalars[0];
            args.outputs[0]
                .words
                .par_chunks_mut(PIECE)
                .for_each(|y| y.fill(value));
        }),
    }
}
