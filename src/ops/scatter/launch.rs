//! The launch of sums of rows.

use super::twin::{ByElement, add_halves, add_up};
use super::{ADD, Add, Lists, Tables, check, dispatch, sums};
use crate::Result;
use crate::ops::kit::twin_of;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{Kernel, Launch, OutputLayout, Plan, Slot, Twin, cost_of};
use crate::ragged::DType;

impl Operation for Add {
    const NAME: &str = "scatter_add";
    const KERNELS: &[&Kernel] = &[&ADD];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (y, target) = request.both();
        let pairs = request.pairs();
        let Add { indices, dtype } = self;
        let dtype = *dtype;
        check(y, indices, target, pairs)?;
        let by_row = Lists::of(y, indices, target, pairs)?;
        let (mut dispatches, scratch, last) = sums(dtype, &by_row)?;
        let by_element = ByElement::new(indices, pairs);
        // And the lists of rows that no dispatch uses.
        let bytes = by_element.bytes() + if last.is_some() { by_row.bytes() } else { 0 };
        let by_row = Tables::from(by_row);
        let tables = last.map_or_else(|| by_row.clone(), Tables::from);
        let before = scratch.len().checked_sub(1);
        dispatches.push(dispatch(dtype, tables, target, before, Slot::Output(0)));
        let twin = match dtype {
            DType::F16 => add_halves,
            _ => twin_of!(dtype, add_up),
        };
        let work = cost_of(&dispatches);
        let twin = Twin::new(move |args| twin(args, &by_row, &by_element)).holding(bytes);
        let (layout, gpu) = (OutputLayout::Input(1), (dispatches, scratch));
        Ok(Launch::of(dtype, layout, gpu, work, twin).into())
    }
}
