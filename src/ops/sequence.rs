//! Batches whose values follow from their places: arithmetic sequences, evenly spaced values between two ends, and
//! identity matrices.
//!
//! Cost: the values written once, in one dispatch; the offsets read once, for identity matrices also the extents.

use std::ops::Range;

use half::f16;

use crate::Result;
use crate::ops::kit::{Tiles, par_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Param, Plan, Slot, Twin, Variant, params, shader,
    slots,
};
use crate::ragged::{DType, Layout, Scalar};

slots! {
    struct Slots { c: Write, c_meta: Read }
}

params! {
    struct Params { tiles: Tiles, first, second }
}

macro_rules! variants {
    ($($dtype:ident $flag:literal),*) => {
        &[$(Variant::of(DType::$dtype, &[$flag])),*]
    };
}

static KERNEL: Kernel = Kernel {
    shader: shader!("sequence"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![
        F32 "ARANGE", U32 "ARANGE", F16 "ARANGE",
        F32 "LINSPACE", F16 "LINSPACE",
        U32 "EYE", F16 "EYE"
    ],
};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// From the first scalar on, in steps of the second.
    Arange,
    /// From the first scalar to the second.
    Linspace,
    /// The first scalar on the diagonal.
    Eye,
}

/// A batch of this layout. The call's two scalars have its type, or f32 for f16; the scalar of `Eye` is given as bits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Sequence {
    pub kind: Kind,
    pub dtype: DType,
    pub layout: Layout,
}

impl Operation for Sequence {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Arange => "arange",
            Kind::Linspace => "linspace",
            Kind::Eye => "eye",
        }
    }

    fn is_cached(&self) -> bool {
        false
    }

    fn plan(&self, _: &PlanRequest<'_>) -> Result<Plan> {
        let Sequence {
            kind,
            dtype,
            ref layout,
        } = *self;
        type Run = fn(&mut CpuArgs<'_>);
        let (flag, twin): (_, Run) = match (kind, dtype) {
            (Kind::Arange, DType::F32) => ("ARANGE", |args| arange(args, |x| x)),
            (Kind::Arange, DType::F16) => ("ARANGE", |args| arange(args, f16::from_f32)),
            (Kind::Arange, _) => ("ARANGE", wrapping),
            (Kind::Linspace, DType::F16) => ("LINSPACE", |args| linspace(args, f16::from_f32)),
            (Kind::Linspace, _) => ("LINSPACE", |args| linspace(args, |x| x)),
            (Kind::Eye, DType::F16) => ("EYE", |args| eye(args, |bits| bits as u16)),
            (Kind::Eye, _) => ("EYE", |args| eye(args, |bits| bits)),
        };
        if kind == Kind::Eye {
            layout.check_rank(2)?;
        }
        // Signed and unsigned integers have the same sums and products, and a diagonal needs only bits.
        let kernel_type = match (kind, dtype) {
            (_, DType::F16) => DType::F16,
            (Kind::Eye, _) | (_, DType::I32) => DType::U32,
            _ => dtype,
        };
        let total = layout.total();
        let (tiles, groups) = Tiles::of(layout);
        Ok(Launch::new(
            dtype,
            layout.clone(),
            Dispatch::new(
                KERNEL.variant(kernel_type, &[flag]),
                Slots {
                    c: Slot::Output(0),
                    c_meta: Slot::Meta(layout.clone()),
                },
                Params {
                    tiles,
                    first: Param::Scalar(0),
                    second: Param::Scalar(1),
                },
                groups,
                total as u64,
            ),
            Twin::new(twin),
        )
        .into())
    }
}

/// Calls `fill(element, within, values)` for parts of elements.
fn each<T: bytemuck::Pod + Send>(
    args: &mut CpuArgs<'_>,
    fill: impl Fn(usize, Range<usize>, &mut [T]) + Sync,
) {
    let output = &mut args.outputs[0];
    let layout = output.layout;
    let c: &mut [T] = bytemuck::cast_slice_mut(output.words);
    // The last word may hold one extra half.
    par_tiles(layout.offsets(), &mut c[..layout.total()], fill);
}

fn wrapping(args: &mut CpuArgs<'_>) {
    let (first, step) = (args.scalars[0], args.scalars[1]);
    each(args, |_, within, values: &mut [u32]| {
        for (i, value) in within.zip(values) {
            *value = first.wrapping_add((i as u32).wrapping_mul(step));
        }
    });
}

fn arange<T: Scalar>(args: &mut CpuArgs<'_>, narrow: fn(f32) -> T) {
    let [first, step] = floats(args);
    each(args, |_, within, values: &mut [T]| {
        for (i, value) in within.zip(values) {
            *value = narrow(first + i as f32 * step);
        }
    });
}

fn linspace<T: Scalar>(args: &mut CpuArgs<'_>, narrow: fn(f32) -> T) {
    let [from, to] = floats(args);
    let layout = args.outputs[0].layout;
    each(args, |element, within, values: &mut [T]| {
        let last = layout.length(element) - 1;
        for (i, value) in within.zip(values) {
            let part = i as f32 / last.max(1) as f32;
            *value = narrow(match i {
                0 => from,
                _ if i == last => to,
                _ => from * (1.0 - part) + to * part,
            });
        }
    });
}

fn floats(args: &CpuArgs<'_>) -> [f32; 2] {
    [0, 1].map(|i| f32::from_bits(args.scalars[i]))
}

fn eye<T: bytemuck::Pod + Send + Sync>(args: &mut CpuArgs<'_>, value_of: fn(u32) -> T) {
    let one = value_of(args.scalars[0]);
    let layout = args.outputs[0].layout;
    each(args, |element, within, values: &mut [T]| {
        let width = layout.extents()[2 * element + 1] as usize;
        values.fill(T::zeroed());
        let row = within.start.div_ceil(width + 1);
        for i in (row..width).map(|row| row * (width + 1)) {
            match values.get_mut(i - within.start) {
                Some(value) => *value = one,
                None => break,
            }
        }
    });
}
