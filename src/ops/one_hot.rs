//! Rows with a single 1, at the place that an index gives.
//!
//! Cost: the rows written once, and the indices read once, in one dispatch. No invocation needs to find its element,
//! because rows have the order of their indices.

use rayon::prelude::*;

use super::strided;
use crate::ops::kit::STREAM_TILE;
use crate::ops::kit::{STREAM, stream_groups};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Param, Plan, Slot, Twin, params, shader, slots,
    variants,
};
use crate::ragged::{DType, MAX_RANK};
use crate::{Error, Result};

slots! {
    struct Slots { c: Write, x: Read }
}

params! {
    struct Params { total, x_base, depth, one }
}

/// Writes the bits of values, so one variant serves all types of a size.
static KERNEL: Kernel = Kernel {
    shader: shader!("one_hot"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM],
    variants: variants![U32, F16],
};

/// Rows of this many values, of this type. The call's scalar is the bits of 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct OneHot {
    pub dtype: DType,
    pub depth: usize,
}

impl Operation for OneHot {
    const NAME: &str = "one_hot";
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let OneHot { dtype, depth } = *self;
        let rank = x.rank();
        if rank == MAX_RANK {
            return Err(Error::rank(format!("at most {}", MAX_RANK - 1), rank));
        }
        let c = strided::layout(x.len(), rank + 1, |element, axis| match axis < rank {
            true => strided::extent_of(x, element, axis),
            false => depth as u64,
        })?;
        let total = c.total();
        let kernel_type = match dtype {
            DType::F16 => DType::F16,
            _ => DType::U32,
        };
        Ok(Launch::new(
            dtype,
            c,
            Dispatch::new(
                KERNEL.variant(kernel_type, &[]),
                Slots {
                    c: Slot::Output(0),
                    x: Slot::Input(0),
                },
                Params {
                    total: Param::U32(total as u32),
                    x_base: Param::InputBase(0),
                    depth: Param::U32(depth as u32),
                    one: Param::Scalar(0),
                },
                stream_groups(total),
                total as u64,
            ),
            Twin::new(move |args| match dtype {
                DType::F16 => twin(args, depth, |bits| bits as u16),
                _ => twin(args, depth, |bits| bits),
            }),
        )
        .into())
    }
}

fn twin<T: bytemuck::Pod + Send + Sync>(
    args: &mut CpuArgs<'_>,
    depth: usize,
    value_of: fn(u32) -> T,
) {
    let (x, _) = args.input::<u32>(0);
    let one = value_of(args.scalars[0]);
    let output = &mut args.outputs[0];
    let total = output.layout.total();
    if total == 0 {
        return;
    }
    // The last word may hold one extra half.
    let c = &mut bytemuck::cast_slice_mut(output.words)[..total];
    let rows = (STREAM_TILE / depth).max(1);
    c.par_chunks_mut(rows * depth)
        .zip(x.par_chunks(rows))
        .for_each(|(c, x)| {
            c.fill(T::zeroed());
            for (row, &place) in c.chunks_exact_mut(depth).zip(x) {
                if let Some(value) = row.get_mut(place as usize) {
                    *value = one;
                }
            }
        });
}
