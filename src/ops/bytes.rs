//! Integers from and to bytes, four of them in each word, for transfers.
//!
//! Cost: values read once and written once, in one dispatch; a byte counts as one byte.

use super::convert::{Params, Slots};
use super::{STREAM, par_map, stream_groups};
use crate::Result;
use crate::plan::{
    CpuArgs, CpuKernel, Dispatch, Interface, Kernel, Launch, OutputLayout, Param, Slot, Variant,
};
use crate::ragged::{DType, Layout};

/// PACK: to bytes.
pub(crate) static KERNEL: Kernel = Kernel {
    stem: "bytes",
    source: include_str!("../../shaders/bytes.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM],
    variants: &[
        Variant::of(DType::U32, &[]),
        Variant::of(DType::U32, &["PACK"]),
        Variant::of(DType::I32, &["PACK"]),
    ],
};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Bytes {
    /// The words of bytes become a batch of this layout, of u32.
    Unpack(Layout),
    /// Integers of this type become one element of words. A value outside of 0 to 255 becomes the nearest of these.
    Pack(DType),
}

impl Bytes {
    pub(crate) fn launch(&self, x: &Layout) -> Result<Launch> {
        let (op, variant, total, layout, twin) = match self {
            Bytes::Unpack(layout) => (
                "upload_u8",
                KERNEL.variant(DType::U32, &[]),
                layout.total(),
                layout.clone(),
                CpuKernel::new(unpack),
            ),
            Bytes::Pack(dtype) => (
                "download_u8",
                KERNEL.variant(*dtype, &["PACK"]),
                x.total(),
                words_of(x.total())?,
                match dtype {
                    DType::I32 => CpuKernel::new(|args| pack(args, |x: i32| x.clamp(0, 255) as u8)),
                    _ => CpuKernel::new(|args| pack(args, |x: u32| x.min(255) as u8)),
                },
            ),
        };
        let dispatch = Dispatch::new(
            (&KERNEL, variant),
            Slots {
                y: Slot::Output(0),
                x: Slot::Input(0),
            },
            Params {
                total: Param::U32(total as u32),
                x_base: Param::InputBase(0),
            },
            stream_groups(total),
            total as u64,
        );
        let layout = OutputLayout::New(layout);
        Ok(Launch::new(op, DType::U32, layout, dispatch, twin))
    }
}

/// The layout of the words that this many bytes take.
pub(crate) fn words_of(bytes: usize) -> Result<Layout> {
    Layout::from_lengths([bytes.div_ceil(4)])
}

fn unpack(args: &mut CpuArgs<'_>) {
    let words = &args.inputs[0].bytes;
    let total = args.outputs[0].layout.total();
    par_map(&words[..total], args.outputs[0].words, u32::from);
}

fn pack<T: bytemuck::Pod + Sync>(args: &mut CpuArgs<'_>, to: impl Fn(T) -> u8 + Sync) {
    let (x, _) = args.input::<T>(0);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(args.outputs[0].words);
    par_map(x, &mut bytes[..x.len()], to);
}
