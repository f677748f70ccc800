//! The launch of sorts.

use half::f16;

use super::plan::Plan;
use super::{KERNEL, MERGE, Sort, Wanted, twin};
use crate::Result;
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{Kernel, Launch, Output, OutputLayout, Twin, check_size};
use crate::ragged::DType;

impl Operation for Sort {
    const KERNELS: &[&Kernel] = &[&KERNEL, &MERGE];

    fn name(&self) -> &'static str {
        self.op
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::InWords(Some(&mut self.dtype))
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<crate::plan::Plan> {
        let x = request.inputs[0];
        let binding = request.device.binding;
        let Sort {
            dtype,
            axis,
            wanted,
            descending,
            ..
        } = *self;
        if let Some(axis) = axis {
            x.check_axis(axis)?;
        }
        check_size(x, dtype, binding)?;
        let plan = Plan::new(x, axis)?;
        let (dispatches, scratch) = self.dispatches(&plan, x);
        let outputs = match wanted {
            Wanted::Values => vec![dtype],
            Wanted::Places => vec![DType::U32],
            Wanted::Both => vec![dtype, DType::U32],
        };
        let flip = -i32::from(descending);
        Ok(Launch {
            op: "",
            outputs: outputs
                .into_iter()
                .map(|dtype| Output::new(dtype, OutputLayout::Input(0)))
                .collect(),
            scratch,
            dispatches,
            pairs: None,
            work: plan.comparisons,
            twin: Twin::new(move |args| match dtype {
                DType::F32 => twin::run::<f32>(axis, wanted, flip, args),
                DType::I32 => twin::run::<i32>(axis, wanted, flip, args),
                DType::U32 => twin::run::<u32>(axis, wanted, flip, args),
                DType::F16 => twin::run::<f16>(axis, wanted, flip, args),
                DType::C32 | DType::U8 => unreachable!("no such operation"),
            }),
        }
        .into())
    }
}
