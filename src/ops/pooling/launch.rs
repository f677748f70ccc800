//! The launch of pooling.

use super::{
    AXES, FEW, KERNEL, Kind, LARGE, Params, Pool, Slots, Windows, narrow, passes, positions, twin,
};
use crate::Result;
use crate::ops::operation::{Operation, PlanRequest};
use crate::ops::strided;
use crate::plan::{Dispatch, Kernel, Launch, Param, Plan, Slot, Twin, cost_of, stream_tile};
use crate::ragged::DType;

impl Operation for Pool {
    const KERNELS: &[&Kernel] = &[&KERNEL, &passes::KERNEL];

    fn name(&self) -> &'static str {
        self.op()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        self.check(x)?;
        let (dtype, rank) = (self.dtype, x.rank());
        let window = self.window.both();
        let strides = self.strides.unwrap_or(self.window).both();
        let axes = self.window.given;
        let y = strided::layout(x.len(), rank, |element, axis| {
            let extent = strided::extent_of(x, element, axis);
            // The place of the axis among the axes of the window, from the end.
            match rank - axis {
                back if back > axes => extent,
                back => positions(extent, window[AXES - back], strides[AXES - back]),
            }
        })?;
        let total = y.total();
        let in_passes = self.in_passes() && total > 0;
        let (mut dispatches, scratch) = match in_passes {
            true => passes::dispatches(*self, x, window),
            false => (Vec::new(), Vec::new()),
        };
        let values = match in_passes {
            true => 1,
            false => window[0].saturating_mul(window[1]),
        };
        let tile = match values < LARGE {
            true => stream_tile(total, y.len()),
            false => FEW,
        };
        let kernel_type = match (self.kind, dtype) {
            // Differences of integers do not depend on the sign.
            (Kind::Diff, DType::I32) => DType::U32,
            _ => dtype,
        };
        let mut flags = self.kind.flags().to_vec();
        flags.extend(in_passes.then_some("FINISH"));
        let [total_param, elements, tile_param] = [total, y.len(), tile].map(|n| n as u32);
        let number = Param::U32;
        dispatches.push(Dispatch::new(
            KERNEL.variant(kernel_type, &flags),
            Slots {
                x: match dispatches.last() {
                    Some(pass) => passes::result(pass),
                    None => Slot::Input(0),
                },
                x_meta: Slot::InputMeta(0),
                c: Slot::Output(0),
                c_meta: Slot::Meta(y.clone()),
            },
            Params {
                total: number(total_param),
                elements: number(elements),
                tile: number(tile_param),
                x_base: match in_passes {
                    true => number(0),
                    false => Param::InputBase(0),
                },
                rank: number(rank as u32),
                window_rows: number(narrow(window[0])),
                window_columns: number(narrow(window[1])),
                stride_rows: number(narrow(strides[0])),
                stride_columns: number(narrow(strides[1])),
            },
            total.div_ceil(tile) as u32,
            values.saturating_mul(total as u64),
        ));
        let placed = Windows {
            extents: window.map(|extent| narrow(extent) as usize),
            strides: strides.map(|stride| narrow(stride) as usize),
            in_passes,
        };
        let pool = *self;
        let twin = Twin::new(move |args| twin::run(args, pool, placed));
        let result = match self.kind {
            Kind::Place => DType::U32,
            _ => dtype,
        };
        let work = cost_of(&dispatches);
        Ok(Launch::of(result, y, (dispatches, scratch), work, twin).into())
    }
}
