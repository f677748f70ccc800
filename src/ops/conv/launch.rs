//! The launch of convolutions.

use super::{Conv, boxes, direct, fused, gpu, mixed, results, twin};
use crate::Result;
use crate::ops::choice::ConvMode;
use crate::ops::kit::twin_of;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{Kernel, Launch, Plan, Twin, check_size, cost_of};
use crate::ragged::{DType, Layout};

impl Operation for Conv {
    const KERNELS: &[&Kernel] = &[
        &direct::KERNEL,
        &boxes::direct::KERNEL,
        &boxes::place::KERNEL,
        &fused::KERNEL,
    ];

    fn name(&self) -> &'static str {
        if self.correlate { "correlate" } else { "conv" }
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let ((a, b), pairs) = (request.both(), request.pairs());
        let (request, correlate) = (self.request(request.device), self.correlate);
        let dtype = request.dtype;
        request.window.check((a, b), pairs)?;
        if !request.window.is_whole(a.rank()) {
            return Ok(boxes::launch::launch(request, correlate, a, b, pairs)?.into());
        }
        request.check_plan(pairs)?;
        let result = Layout::from_offsets(results(a, b, pairs)?);
        check_size(&result, request.dtype, request.binding)?;
        let choices = request.choices(a, b, pairs)?;
        let work = request.work(a, b, pairs, &choices)?;
        // The CPU needs no dispatches: it runs the twin.
        let gpu = if request.costs.is_cpu() {
            (Vec::new(), Vec::new())
        } else {
            let all = (ConvMode::Full, &result);
            gpu::dispatches(
                &request,
                correlate,
                (a, b),
                pairs,
                &choices,
                all,
                &mut Vec::new(),
            )?
        };
        let work = work.max(cost_of(&gpu.0));
        let twin = if !choices.all_direct() {
            let bytes = choices.bytes();
            Twin::new(move |args| mixed(args, &choices, correlate)).holding(bytes)
        } else if correlate {
            Twin::new(twin_of!(dtype, twin, true))
        } else {
            Twin::new(twin_of!(dtype, twin, false))
        };
        Ok(Launch::of(dtype, result, gpu, work, twin)
            .with_pairs(pairs)
            .into())
    }
}
