//! Runs of equal values in sorted vectors: at the first value of each run its length, or a mark.
//!
//! Cost: the values read once, and log₂ of the length of a run for its first value, from caches; the result written
//! once, in one dispatch.

use crate::Result;
use crate::ops::kit::{Tiles, par_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Plan, Slot, Twin, params,
    shader, slots, variants,
};
use crate::ragged::DType;

slots! {
    struct Slots { x: Read, c: Write, c_meta: Read }
}

params! {
    struct Params { tiles: Tiles, x_base, lengths, others }
}

/// Values are compared by their bits.
static KERNEL: Kernel = Kernel {
    shader: shader!("runs"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![U32],
};

/// What the values of sorted vectors of integers become, as u32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Runs {
    /// The length of a run at its first value, and 0 at others.
    Longest,
    /// The same, with u32::MAX at others.
    Shortest,
    /// 1 at the first value of a run, and 0 at others.
    Firsts,
}

impl Operation for Runs {
    const NAME: &str = "runs";
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        x.check_rank(1)?;
        let total = x.total();
        let (tiles, groups) = Tiles::of(x);
        let lengths = *self != Runs::Firsts;
        let others = if *self == Runs::Shortest { u32::MAX } else { 0 };
        let dispatch = Dispatch::new(
            KERNEL.variant(DType::U32, &[]),
            Slots {
                x: Slot::Input(0),
                c: Slot::Output(0),
                c_meta: Slot::InputMeta(0),
            },
            Params {
                tiles,
                x_base: Param::InputBase(0),
                lengths: Param::U32(u32::from(lengths)),
                others: Param::U32(others),
            },
            groups,
            total as u64,
        );
        let twin = Twin::new(move |args| twin(args, lengths, others));
        let layout = OutputLayout::Input(0);
        Ok(Launch::new(DType::U32, layout, dispatch, twin).into())
    }
}

fn twin(args: &mut CpuArgs<'_>, lengths: bool, others: u32) {
    let (x, layout) = args.input::<u32>(0);
    let (c, _) = args.output::<u32>(0);
    par_tiles(layout.offsets(), c, |element, within, out| {
        let x = &x[layout.offsets().range(element)];
        for (i, out) in within.zip(out) {
            *out = match i > 0 && x[i - 1] == x[i] {
                true => others,
                false if lengths => x[i..].partition_point(|&value| value == x[i]) as u32,
                false => 1,
            };
        }
    });
}
