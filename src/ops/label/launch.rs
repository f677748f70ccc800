//! The launch of labels.

use super::plan::Work;
use super::{BORDERS, FINISH, KERNEL, Label, OP, RANKS, TILES, twin};
use crate::Result;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{Kernel, Launch, Output, OutputLayout, Plan, Twin, check_size, cost_of};
use crate::ragged::{DType, Layout, Offsets};

impl Operation for Label {
    const NAME: &str = OP;
    const KERNELS: &[&Kernel] = &[&KERNEL, &TILES, &BORDERS, &RANKS, &FINISH];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let device = request.device;
        x.check_rank(2)?;
        check_size(x, DType::U32, device.binding)?;
        let counts = Layout::from_offsets(Offsets::uniform(x.len(), 1)?);
        let work = Work::new(x)?;
        let (dispatches, scratch) = self.dispatches(x, work);
        let u32s = |layout| Output::new(DType::U32, layout);
        let label = *self;
        Ok(Launch {
            op: "",
            outputs: vec![u32s(OutputLayout::Input(0)), u32s(counts.into())],
            scratch,
            work: cost_of(&dispatches),
            dispatches,
            pairs: None,
            twin: Twin::new(move |args| twin::run(label, args)),
        }
        .into())
    }
}
