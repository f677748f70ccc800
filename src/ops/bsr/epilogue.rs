//! The epilogue of block-sparse products. It is a separate dispatch, which also rounds, because several dispatches add
//! to the sums of heavy rows.

use super::{Form, Request};
use crate::ops::kit::{STREAM, stream_groups};
use crate::ops::matmul::{Bias, Epilogue, check_bias};
use crate::plan::{
    Dispatch, Interface, Kernel, Param, PlanBuffer, Slot, params, shader, slots, variants,
};
use crate::ragged::{DType, Layout};
use crate::{Result, host};

slots! {
    struct Slots { y: Write, list: Read, bias: Read, residual: Read, sums: Read }
}

params! {
    struct Params { total, products, epilogue, bias_base, residual_base, scale }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("bsr/epilogue"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[Epilogue::BITS, STREAM],
    variants: variants![F32, F32 "HALVES", F32 "HALVES" "ROUNDED"],
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

/// The dispatch over the f32 sums in the slot `sums`, which is the result itself unless the result is f16.
pub(super) fn dispatch(request: &Request<'_>, sums: Slot) -> Result<Dispatch> {
    let (epilogue, result) = (request.form.epilogue, request.result);
    let mut words = host::room(4 * result.len())?;
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
    Ok(Dispatch::new(
        KERNEL.variant(DType::F32, flags),
        Slots {
            y,
            list: Slot::PlanBuffer(list),
            bias,
            residual,
            sums,
        },
        Params {
            total: Param::U32(values as u32),
            products: Param::U32(products as u32),
            epilogue: Param::U32(epilogue.bits()),
            bias_base,
            residual_base,
            scale: match epilogue.scale {
                true => Param::Scalar(0),
                false => Param::U32(0),
            },
        },
        stream_groups(values),
        8 * values as u64,
    ))
}
