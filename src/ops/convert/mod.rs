//! Elementwise conversions between f32 and f16.
//!
//! Cost: the values read once and written once, in one dispatch. Layouts are shared, never read.

pub(crate) mod cast;

use bytemuck::{cast_slice, cast_slice_mut};
use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::ops::kit::{STREAM, par_pieces, stream_groups};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, CpuInput, CpuOutput, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan,
    Slot, Twin, params, shader, slots, variants,
};
use crate::ragged::{DType, Layout};
use crate::{Result, host};

slots! {
    pub(super) struct Slots { y: Write, x: Read }
}

params! {
    pub(super) struct Params { total, x_base }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("convert/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM],
    variants: variants![F16, F32],
};

/// The name in errors. If another operation widens f16, the name of its launch replaces this one.
pub(super) const OP: &str = "to";

/// A conversion to another floating-point type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Convert {
    ToF16,
    ToF32,
}

impl Operation for Convert {
    const NAME: &str = OP;
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let (dtype, twin): (_, fn(&mut CpuArgs<'_>)) = match self {
            Convert::ToF16 => (DType::F16, |args| {
                let (x, _) = args.input::<f32>(0);
                narrow(x, cast_slice_mut(args.outputs[0].words));
            }),
            Convert::ToF32 => (DType::F32, |args| {
                let (x, _) = args.input::<f16>(0);
                widen(x, cast_slice_mut(args.outputs[0].words));
            }),
        };
        Ok(launch(KERNEL.variant(dtype, &[]), dtype, x, twin).into())
    }
}

/// The launch of a kernel that converts every value to `dtype`.
pub(super) fn launch(
    variant: (&'static Kernel, usize),
    dtype: DType,
    x: &Layout,
    twin: fn(&mut CpuArgs<'_>),
) -> Launch {
    let base = Param::InputBase(0);
    let dispatch = convert(variant, x.total(), Slot::Input(0), base, Slot::Output(0));
    let twin = Twin::new(twin);
    Launch::new(dtype, OutputLayout::Input(0), dispatch, twin)
}

/// Converts `values` values from one slot to another, which is of type `dtype`.
pub(in crate::ops) fn dispatch(
    dtype: DType,
    values: usize,
    from: Slot,
    base: Param,
    to: Slot,
) -> Dispatch {
    convert(KERNEL.variant(dtype, &[]), values, from, base, to)
}

pub(super) fn convert(
    variant: (&'static Kernel, usize),
    values: usize,
    from: Slot,
    base: Param,
    to: Slot,
) -> Dispatch {
    Dispatch::new(
        variant,
        Slots { y: to, x: from },
        Params {
            total: Param::U32(values as u32),
            x_base: base,
        },
        stream_groups(values),
        values as u64,
    )
}

/// Runs an f32 twin on operands and results of these types. f16 operands are widened first, and f16 results are
/// rounded once, when they are complete.
pub(in crate::ops) fn in_f32(
    args: &mut CpuArgs<'_>,
    (dtype, result): (DType, DType),
    twin: impl FnOnce(&mut CpuArgs<'_>) -> Result<()>,
) -> Result<()> {
    if dtype != DType::F16 {
        return twin(args);
    }
    let mut wide = Vec::with_capacity(args.inputs.len());
    for i in 0..args.inputs.len() {
        let (x, _) = args.input::<f16>(i);
        let mut y = host::zeroed(x.len())?;
        widen(x, &mut y);
        wide.push(y);
    }
    let inputs: Vec<CpuInput<'_>> = wide
        .iter()
        .zip(args.inputs)
        .map(|(values, input)| CpuInput {
            bytes: cast_slice(values),
            layout: input.layout,
        })
        .collect();
    let outputs = std::mem::take(&mut args.outputs);
    let output = &mut outputs[0];
    let mut sums = Vec::new();
    let words = match result {
        DType::F16 => {
            sums = host::zeroed(output.layout.total())?;
            &mut sums[..]
        }
        _ => &mut output.words[..],
    };
    twin(&mut CpuArgs {
        inputs: &inputs,
        outputs: &mut [CpuOutput {
            words,
            layout: output.layout,
        }],
        scalars: args.scalars,
        pairs: args.pairs,
    })?;
    if result == DType::F16 {
        narrow(cast_slice(&sums), cast_slice_mut(output.words));
    }
    Ok(())
}

/// Rounds `x` to f16; `y` may be longer.
pub(in crate::ops) fn narrow(x: &[f32], y: &mut [f16]) {
    par_pieces(x, y, |x, y| y.convert_from_f32_slice(x));
}

/// Widens `x`, which is exact.
pub(in crate::ops) fn widen(x: &[f16], y: &mut [f32]) {
    par_pieces(x, y, |x, y| x.convert_to_f32_slice(y));
}
