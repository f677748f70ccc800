//! Elementwise maps of one operand: scale, neg and copy; and fill, which has no operand.
//!
//! Cost: the values read once and written once, in one dispatch; fill only writes. Layouts are shared, never read.

use half::f16;
use rayon::prelude::*;

use crate::Result;
use crate::ops::kit::{Arithmetic, STREAM, par_map, stream_groups, twin_of};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin, params,
    shader, slots, variants,
};
use crate::ragged::{DType, Layout, Scalar};

slots! {
    struct Slots { y: Write, x: Read }
}

params! {
    struct Params { total, x_base, scalar }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("linear"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM],
    variants: variants![
        F32 "SCALE", I32 "SCALE", U32 "SCALE", F16 "SCALE", I32 "NEG", U32 "NEG", F16 "NEG",
        U32 "COPY", F16 "COPY", U8 "COPY"
    ],
};

slots! {
    struct FillSlots { y: Write }
}

params! {
    struct FillParams { total, x_base, scalar, second }
}

static FILL: Kernel = Kernel {
    shader: shader!("linear", "fill"),
    interface: Interface::of::<FillSlots, FillParams>(),
    constants: &[STREAM],
    variants: variants![U32 "FILL"],
};

/// Values in one parallel task on the CPU.
const PIECE: usize = 1 << 14;

/// A map over values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Linear {
    pub kind: Kind,
    pub dtype: DType,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// Multiplies by the call's first scalar, which is f32 for f16.
    Scale,
    Neg,
    /// A copy in new memory.
    Copy,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Scale => "scale",
            Kind::Neg => "neg",
            Kind::Copy => "copy",
        }
    }
}

impl Operation for Linear {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        match self.kind {
            Kind::Copy => OnBytes::Direct,
            _ => OnBytes::InWords(None),
        }
    }

    fn function(&self) -> Option<(&'static str, DType)> {
        Some((self.kind.name(), self.dtype))
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let dtype = self.dtype;
        type Run = fn(&mut CpuArgs<'_>);
        let (flag, kernel_type, twin): (&[&str], _, Run) = match (self.kind, dtype) {
            // Both parts of complex values are multiplied.
            (Kind::Scale, DType::C32) => (&["SCALE"], DType::F32, scale_twin::<f32>),
            (Kind::Scale, DType::F16) => (&["SCALE"], dtype, |args| {
                let s = f32::from_bits(args.scalars[0]);
                each(args, |x: f16| f16::from_f32(s * x.to_f32()));
            }),
            (Kind::Scale, _) => (&["SCALE"], dtype, twin_of!(dtype, scale_twin)),
            // Negating a float only flips its sign bit, so floats are viewed as words; modulo 2³², signed and unsigned
            // negation are the same.
            (Kind::Neg, DType::F32 | DType::C32) => (&["NEG"], DType::U32, |args| {
                each(args, |x: u32| x ^ 1 << 31)
            }),
            (Kind::Neg, DType::F16) => (&["NEG"], dtype, |args| {
                each(args, |x: f16| f16::from_bits(x.to_bits() ^ 1 << 15));
            }),
            (Kind::Neg, _) => (&["NEG"], DType::I32, |args| {
                each(args, |x: i32| x.wrapping_neg())
            }),
            // Words are copied, so one kernel serves all types except f16 and u8, which may start in the middle of a
            // word.
            (Kind::Copy, DType::F16) => (&["COPY"], dtype, |args| each(args, |x: f16| x)),
            (Kind::Copy, DType::U8) => (&["COPY"], dtype, |args| each(args, |x: u8| x)),
            (Kind::Copy, _) => (&["COPY"], DType::U32, |args| each(args, |x: u32| x)),
        };
        let scalar = match self.kind {
            Kind::Scale => Param::Scalar(0),
            Kind::Neg | Kind::Copy => Param::U32(0),
        };
        let words = dtype.words(x.total());
        let dispatch = Dispatch::new(
            KERNEL.variant(kernel_type, flag),
            Slots {
                y: Slot::Output(0),
                x: Slot::Input(0),
            },
            Params {
                total: Param::U32(words as u32),
                x_base: Param::InputBase(0),
                scalar,
            },
            stream_groups(words),
            words as u64,
        );
        let twin = Twin::new(twin);
        Ok(Launch::new(dtype, OutputLayout::Input(0), dispatch, twin).into())
    }
}

fn scale_twin<T: Arithmetic>(args: &mut CpuArgs<'_>) {
    let s: T = bytemuck::cast(args.scalars[0]);
    each(args, |x: T| s.times(x));
}

fn each<T: Scalar>(args: &mut CpuArgs<'_>, f: impl Fn(T) -> T + Sync) {
    let (x, _) = args.input::<T>(0);
    par_map(x, bytemuck::cast_slice_mut(args.outputs[0].words), f);
}

/// Fills a buffer with these two words, alternately.
fn filled(words: usize, y: Slot, [scalar, second]: [Param; 2]) -> Dispatch {
    Dispatch::new(
        FILL.variant(DType::U32, &["FILL"]),
        FillSlots { y },
        FillParams {
            total: Param::U32(words as u32),
            x_base: Param::U32(0),
            scalar,
            second,
        },
        stream_groups(words),
        words as u64,
    )
}

/// Fills a buffer with zeros, for kernels that add to it.
pub(super) fn zeros(words: usize, y: Slot) -> Dispatch {
    filled(words, y, [Param::U32(0); 2])
}

/// A batch of this layout, filled with the call's scalar: one word (a shorter value is repeated), or two for c32.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Full {
    pub dtype: DType,
    pub layout: Layout,
}

impl Operation for Full {
    const NAME: &str = "full";
    const KERNELS: &[&Kernel] = &[&FILL];

    fn is_cached(&self) -> bool {
        false
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn plan(&self, _: &PlanRequest<'_>) -> Result<Plan> {
        let Full { dtype, layout } = self;
        let both = [Param::Scalar(0), Param::Scalar(dtype.words(1) - 1)];
        let dispatch = filled(dtype.words(layout.total()), Slot::Output(0), both);
        let twin = Twin::new(|args| {
            let (scalar, words) = (args.scalars, &mut *args.outputs[0].words);
            words.par_chunks_mut(PIECE).for_each(|y| match *scalar {
                [re, im] => y
                    .chunks_exact_mut(2)
                    .for_each(|z| z.copy_from_slice(&[re, im])),
                _ => y.fill(scalar[0]),
            });
        });
        Ok(Launch::new(*dtype, layout.clone(), dispatch, twin).into())
    }
}
