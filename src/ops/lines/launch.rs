//! The launch of functions of lines.

use half::f16;

use super::plan::Plan;
use super::{Along, FINISH, KERNEL, PARTS, check_axis, one_a_line, twin};
use crate::Result;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{Kernel, Launch, Output, OutputLayout, Twin, check_size};
use crate::ragged::DType;

impl Operation for Along {
    const KERNELS: &[&Kernel] = &[&KERNEL, &PARTS, &FINISH];

    fn name(&self) -> &'static str {
        self.function.name(self.axis)
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<crate::plan::Plan> {
        let x = request.inputs[0];
        let binding = request.device.binding;
        let Along {
            function,
            axis,
            dtype,
            result: of_results,
        } = *self;
        check_axis(x, axis)?;
        let result = match function.reduces() {
            true => Some(one_a_line(x, axis)?),
            false => None,
        };
        // Extents may describe any number of lines without values: refuse an oversized result before building its large
        // work list.
        let results = result.as_ref().unwrap_or(x);
        check_size(results, of_results, binding)?;
        let work = x.total().max(results.total()) as u64;
        let plan = Plan::new(x, axis, result.as_ref())?;
        let (dispatches, scratch) = self.dispatches(&plan, x, result.as_ref());
        let output = result.map_or(OutputLayout::Input(0), OutputLayout::New);
        Ok(Launch {
            op: "",
            outputs: vec![Output::new(of_results, output)],
            scratch,
            dispatches,
            pairs: None,
            work,
            twin: Twin::new(move |args| match (dtype, of_results) {
                (DType::F16, DType::F16) => twin::run::<f16>(function, axis, args),
                (DType::F16, _) => twin::parts::<f16>(axis, args),
                (_, DType::F32) => twin::run::<f32>(function, axis, args),
                _ => twin::parts::<f32>(axis, args),
            }),
        }
        .into())
    }
}
