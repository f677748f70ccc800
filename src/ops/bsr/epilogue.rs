//! The epilogue of block-sparse products, in a dispatch of its own, which also rounds, because heavy rows are summed by
//! several kernels.

use super::{Form, OP, Request};
use crate::ops::matmul::{Bias, check_bias};
use crate::ops::stream_groups;
use crate::plan::{Access, Dispatch, Kernel, Param, PlanBuffer, Slot, Variant};
use crate::ragged::{DType, Layout};
use crate::{Result, host};

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "bsr_epilogue",
    source: include_str!("../../../shaders/bsr_epilogue.wgsl"),
    access: &[
        Access::Write,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
    ],
    variants: &[
        Variant {
            dtype: DType::F32,
            flags: &[],
        },
        Variant {
            dtype: DType::F32,
            flags: &["HALVES"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["HALVES", "ROUNDED"],
        },
    ],
};

/// Checks that a bias is as long as the rows that it is added to, in every product.
pub(super) fn check(form: Form, bias: Option<&Layout>, result: &Layout) -> Result<()> {
    match (bias, form.epilogue.bias) {
        (Some(bias), Some(whose)) => {
            let columns = |pair: usize| (pair, result.shape(pair).extents()[1]);
            check_bias(whose, bias, (0..result.len()).map(columns))
        }
        _ => Ok(()),
    }
}

/// The dispatch over the f32 sums in that slot, which is the result itself unless the result is f16.
pub(super) fn dispatch(request: &Request<'_>, sums: Slot) -> Result<Dispatch> {
    let (epilogue, result) = (request.form.epilogue, request.result);
    let mut words = host::room(OP, 4 * result.len())?;
    for (pair, &begin) in (0..result.len()).zip(result.offsets().as_slice()) {
        if result.length(pair) > 0 {
            let bias = match (request.bias, epilogue.bias) {
                (Some(bias), Some(Bias::Right)) => bias.offsets().as_slice()[pair],
                _ => 0,
            };
            words.extend([begin, result.shape(pair).extents()[1], bias, 0]);
        }
    }
    let products = words.len() / 4;
    let list = PlanBuffer::new(words);
    let (bias, residual) = epilogue.inputs();
    let input = |input: Option<usize>| {
        let slot = input.map_or(Slot::PlanBuffer(list.clone()), Slot::Input);
        (slot, input.map_or(Param::U32(0), Param::InputBase))
    };
    let ((bias, bias_base), (residual, residual_base)) = (input(bias), input(residual));
    let (flags, y, sums): (&[&str], _, _) = match request.types {
        (_, DType::F16) => (&["HALVES", "ROUNDED"], Slot::Output(0), sums),
        (DType::F16, _) => (&["HALVES"], sums, Slot::PlanBuffer(list.clone())),
        _ => (&[], sums, Slot::PlanBuffer(list.clone())),
    };
    let values = result.total();
    Ok(Dispatch {
        kernel: &KERNEL,
        variant: KERNEL.variant(DType::F32, flags),
        slots: vec![y, Slot::PlanBuffer(list), bias, residual, sums],
        params: vec![
            Param::U32(values as u32),
            Param::U32(products as u32),
            Param::U32(epilogue.bits()),
            bias_base,
            residual_base,
            match epilogue.scale {
                true => Param::Scalar(0),
                false => Param::U32(0),
            },
        ],
        groups: stream_groups(values),
        cost: 8 * values as u64,
    })
}
