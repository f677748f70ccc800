//! The cross-entropy of rows and their targets, given the logarithms of the rows' sums of exponentials.
//!
//! Cost: the sums and targets read once, one value of x for each row, and the results written once, in one dispatch.

use half::f16;

use super::{par_tiles, strided};
use crate::plan::{
    CpuArgs, CpuKernel, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Slot, Variant,
    params, slots, stream_tile,
};
use crate::ragged::{DType, Layout, Scalar};

slots! {
    struct Slots { x: Read, x_meta: Read, targets: Read, sums: Read, c: Write, c_meta: Read }
}

params! {
    struct Params { total, elements, tile, x_base, targets_base, sums_base, rank }
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "cross_entropy",
    source: include_str!("../../shaders/cross_entropy.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: &[Variant::of(DType::F32, &[]), Variant::of(DType::F16, &[])],
};

/// Of the operands x, targets and sums, which are f32 whatever the type of x and of the results.
/// [`View::Targets`](super::strided::View) checks the first two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CrossEntropy {
    pub dtype: DType,
}

impl CrossEntropy {
    pub(crate) fn launch(self, inputs: &[&Layout]) -> Launch {
        let (x, targets) = (inputs[0], inputs[1]);
        let CrossEntropy { dtype } = self;
        let total = targets.total();
        let tile = stream_tile(total, targets.len());
        let number = |n: usize| Param::U32(n as u32);
        Launch::new(
            "cross_entropy",
            dtype,
            OutputLayout::Input(1),
            Dispatch::new(
                (&KERNEL, KERNEL.variant(dtype, &[])),
                Slots {
                    x: Slot::Input(0),
                    x_meta: Slot::InputMeta(0),
                    targets: Slot::Input(1),
                    sums: Slot::Input(2),
                    c: Slot::Output(0),
                    c_meta: Slot::InputMeta(1),
                },
                Params {
                    total: number(total),
                    elements: number(targets.len()),
                    tile: number(tile),
                    x_base: Param::InputBase(0),
                    targets_base: Param::InputBase(1),
                    sums_base: Param::InputBase(2),
                    rank: number(x.rank()),
                },
                total.div_ceil(tile) as u32,
                total as u64,
            ),
            CpuKernel::new(move |args| match dtype {
                DType::F16 => twin(args, f16::from_f32),
                _ => twin::<f32>(args, |y| y),
            }),
        )
    }
}

fn twin<T: Scalar + Into<f32>>(args: &mut CpuArgs<'_>, rounded: fn(f32) -> T) {
    let (x, x_layout) = args.input::<T>(0);
    let (targets, _) = args.input::<u32>(1);
    let (sums, _) = args.input::<f32>(2);
    let (c, layout) = args.output::<T>(0);
    let offsets = layout.offsets();
    par_tiles(offsets, c, |element, within, out| {
        let x = &x[x_layout.offsets().range(element)];
        let width = strided::extent_of(x_layout, element, x_layout.rank() - 1) as usize;
        let start = offsets.range(element).start;
        for (row, out) in within.zip(out) {
            let place = targets[start + row] as usize;
            *out = rounded(match place < width {
                true => sums[start + row] - x[row * width + place].into(),
                false => f32::NAN,
            });
        }
    });
}
