//! Maps of one operand, value by value: scale, neg and copy; and fill, of none.
//!
//! Cost: the values read once and written once, in one dispatch; fill writes only. Layouts are shared, never read.

use std::sync::Arc;

use half::f16;
use rayon::prelude::*;

use super::{Arithmetic, stream_groups, twin_of};
use crate::Result;
use crate::plan::{
    Access, Kernel, Launch, Output, OutputLayout, Slot, Stage, Twin, TwinArgs, Variant, Word,
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
            dtype: DType::I32,
            flags: &["NEG"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["NEG"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["COPY"],
        },
        Variant {
            dtype: DType::F16,
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

/// The launch over the words of `x`, whose values are of `dtype`, by the kernel for values of type `seen`.
fn launch(
    op: &'static str,
    flag: &'static [&'static str],
    seen: DType,
    dtype: DType,
    x: &Layout,
    factor: Word,
    twin: fn(&mut TwinArgs<'_>),
) -> Result<Arc<Launch>> {
    let words = dtype.words(x.total());
    let key = CacheKey {
        what: op,
        other: 0,
        device: 0,
        extra: dtype as u64,
    };
    x.cached(key, || {
        Ok(Arc::new(Launch {
            op,
            outputs: vec![Output::new(dtype, OutputLayout::Input(0))],
            temps: Vec::new(),
            work: words as u64,
            stages: vec![Stage {
                kernel: &KERNEL,
                variant: KERNEL.variant(seen, flag),
                slots: vec![Slot::Output(0), Slot::Input(0)],
                params: vec![Word::U32(words as u32), Word::InputBase(0), factor],
                groups: stream_groups(words),
                cost: words as u64,
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

/// `−x`. Of floats only the sign is turned, so they are seen as words; of integers modulo 2³² there is one negation.
pub(crate) fn neg(dtype: DType, x: &Layout) -> Result<Arc<Launch>> {
    let (seen, twin): (_, fn(&mut TwinArgs<'_>)) = match dtype {
        DType::F32 => (DType::U32, |args| each(args, |x: u32| x ^ 1 << 31)),
        _ => (DType::I32, |args| each(args, |x: i32| x.wrapping_neg())),
    };
    launch("neg", &["NEG"], seen, dtype, x, Word::U32(0), twin)
}

/// A copy of `x` in memory of its own. Words are copied, so one kernel serves all types but f16, which may begin inside one.
pub(crate) fn copy(dtype: DType, x: &Layout) -> Result<Arc<Launch>> {
    let (seen, twin): (_, fn(&mut TwinArgs<'_>)) = match dtype {
        DType::F16 => (DType::F16, |args| each(args, |x: f16| x)),
        _ => (DType::U32, |args| each(args, |x: u32| x)),
    };
    launch("copy", &["COPY"], seen, dtype, x, Word::U32(0), twin)
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

/// A batch of this layout whose values all are the call's scalar, of one word, perhaps two halves, or of two.
pub(crate) fn fill(dtype: DType, layout: &Layout) -> Launch {
    let words = dtype.words(layout.total());
    Launch {
        op: "full",
        outputs: vec![Output::new(dtype, OutputLayout::New(layout.clone()))],
        temps: Vec::new(),
        work: words as u64,
        stages: vec![Stage {
            kernel: &FILL,
            variant: FILL.variant(DType::U32, &["FILL"]),
            slots: vec![Slot::Output(0)],
            params: vec![
                Word::U32(words as u32),
                Word::U32(0),
                Word::Scalar(0),
                Word::Scalar(dtype.words(1) - 1),
            ],
            groups: stream_groups(words),
            cost: words as u64,
        }],
        pairs: None,
        twin: Twin::new(|args| {
            let (scalar, words) = (args.scalars, &mut *args.outputs[0].words);
            match *scalar {
                [re, im] => each_piece(words, |y| {
                    y.chunks_exact_mut(2)
                        .for_each(|z| z.copy_from_slice(&[re, im]));
                }),
                _ => each_piece(words, |y| y.fill(scalar[0])),
            }
        }),
    }
}

fn each_piece(words: &mut [u32], f: impl Fn(&mut [u32]) + Send + Sync) {
    words.par_chunks_mut(PIECE).for_each(f);
}
