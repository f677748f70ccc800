//! The smallest distance after which an element repeats along an axis.
//!
//! Cost: in one dispatch, at most two comparisons for each value, each of two values, which stop mattering at the first
//! difference; a word for each slice, written once and read at most once. A workgroup handles an element.

use super::lines::place_of_axis;
use super::strided;
use crate::error::Named;
use crate::ops::kit::par_runs;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Param, Plan, Slot, Twin, params, shader, slots,
    variants,
};
use crate::ragged::{DType, Layout, Shape};
use crate::{Result, host};

slots! {
    struct Slots { x: Read, x_meta: Read, out: Write, borders: Write }
}

params! {
    struct Params { x_base, elements, rank, axis }
}

/// Values are compared by their bits.
static KERNEL: Kernel = Kernel {
    shader: shader!("period"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![U32],
};

/// The period of each element along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Period {
    pub axis: usize,
}

impl Operation for Period {
    const NAME: &str = "period";
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let axis = self.axis;
        x.check_axis(axis)?;
        let [rank, place] = place_of_axis(x, Some(axis));
        let out = Layout::uniform(x.len(), Shape::new(&[1])?).unnamed()?;
        let work = 2 * x.total() as u64;
        let dispatch = Dispatch::new(
            KERNEL.variant(DType::U32, &[]),
            Slots {
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
                out: Slot::Output(0),
                borders: Slot::Scratch(0),
            },
            Params {
                x_base: Param::InputBase(0),
                elements: Param::U32(x.len() as u32),
                rank,
                axis: place,
            },
            x.len() as u32,
            work,
        );
        // A word for each prefix of an element, of which there is one more than slices.
        let borders = (x.total() + x.len()).max(1) as u64;
        let gpu = (vec![dispatch], vec![borders]);
        let twin = Twin::new(move |args| twin(args, axis));
        Ok(Launch::of(DType::U32, out, gpu, work, twin).into())
    }
}

fn twin(args: &mut CpuArgs<'_>, axis: usize) -> Result<()> {
    let (x, x_layout) = args.input::<u32>(0);
    let (out, layout) = args.output::<u32>(0);
    par_runs(layout.offsets(), out, &|elements, out| {
        for (element, out) in elements.zip(out) {
            let x = &x[x_layout.offsets().range(element)];
            let number = strided::extent_of(x_layout, element, axis);
            let shape = x_layout.shape(element);
            let inner = shape.extents()[axis + 1..].iter();
            *out = period(x, number as usize, inner.map(|&n| n as usize).product())?;
        }
        Ok(())
    })
}

/// The period of values whose `number` slices along an axis consist of runs of `inner` values.
pub(crate) fn period<T: PartialEq>(x: &[T], number: usize, inner: usize) -> Result<u32> {
    if x.is_empty() {
        return Ok(number.min(1) as u32);
    }
    let run = |block: usize, i: usize| &x[(block * number + i) * inner..][..inner];
    let blocks = x.len() / (number * inner);
    let are_equal = |i: usize, k: usize| (0..blocks).all(|block| run(block, i) == run(block, k));
    // The longest border of each prefix.
    let mut borders = host::zeroed::<u32>(number + 1)?;
    let mut border = 0;
    for i in 1..number {
        while border > 0 && !are_equal(i, border) {
            border = borders[border] as usize;
        }
        border += usize::from(are_equal(i, border));
        borders[i + 1] = border as u32;
    }
    Ok((number - border) as u32)
}
