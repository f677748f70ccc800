//! Elementwise sums, differences and products: the result has the ambient shape, missing entries are zero.
//! Concatenation uses the same kernels.
//!
//! Cost: the operands and their layouts read once, the result written once, in one dispatch.

mod concat;
mod twin;

pub(crate) use self::concat::{Along, Concat, check_concat};
use self::twin::combine;
use super::{pair_params, stream_groups, twin_of};
use crate::Result;
use crate::plan::{
    Access, Boxes, CpuKernel, Dispatch, Kernel, Launch, Nested, Output, OutputLayout, Param,
    PlanBuffer, Slot, Variant, for_each_type, stream_tile,
};
use crate::ragged::{DType, Layout, Pairs};

pub(crate) static FLAT: Kernel = Kernel {
    stem: "ambient_flat",
    source: include_str!("../../../shaders/ambient_flat.wgsl"),
    access: &[Access::Read, Access::Read, Access::Write],
    variants: for_each_type![&[], &["PRODUCT"]],
};

pub(crate) static VECTORS: Kernel = Kernel {
    stem: "ambient",
    source: include_str!("../../../shaders/ambient.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
    ],
    variants: &[
        Variant {
            dtype: DType::F32,
            flags: &[],
        },
        Variant {
            dtype: DType::I32,
            flags: &[],
        },
        Variant {
            dtype: DType::U32,
            flags: &[],
        },
        Variant {
            dtype: DType::F32,
            flags: &["PRODUCT"],
        },
        Variant {
            dtype: DType::I32,
            flags: &["PRODUCT"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["PRODUCT"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["CONCAT"],
        },
    ],
};

pub(crate) static BOXES: Kernel = Kernel {
    stem: "ambient_boxes",
    source: include_str!("../../../shaders/ambient_boxes.wgsl"),
    access: VECTORS.access,
    variants: &[
        Variant {
            dtype: DType::F32,
            flags: &[],
        },
        Variant {
            dtype: DType::I32,
            flags: &[],
        },
        Variant {
            dtype: DType::U32,
            flags: &[],
        },
        Variant {
            dtype: DType::F32,
            flags: &["RANK2"],
        },
        Variant {
            dtype: DType::I32,
            flags: &["RANK2"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["RANK2"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["PRODUCT"],
        },
        Variant {
            dtype: DType::I32,
            flags: &["PRODUCT"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["PRODUCT"],
        },
        Variant {
            dtype: DType::F32,
            flags: &["PRODUCT", "RANK2"],
        },
        Variant {
            dtype: DType::I32,
            flags: &["PRODUCT", "RANK2"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["PRODUCT", "RANK2"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["CONCAT"],
        },
        Variant {
            dtype: DType::U32,
            flags: &["CONCAT", "RANK2"],
        },
        Variant {
            dtype: DType::F16,
            flags: &["CONCAT"],
        },
        Variant {
            dtype: DType::F16,
            flags: &["CONCAT", "RANK2"],
        },
    ],
};

/// An elementwise operation; its number selects the CPU kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Ambient {
    Add = 0,
    Sub = 1,
    /// Zero outside the overlap, whatever the operands hold there.
    Hadamard = 2,
}

impl Ambient {
    fn op(self) -> &'static str {
        match self {
            Ambient::Add => "add",
            Ambient::Sub => "sub",
            Ambient::Hadamard => "hadamard",
        }
    }
}

/// An elementwise operation over values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Combine {
    pub operation: Ambient,
    pub dtype: DType,
}

impl Combine {
    /// The launch over every pair.
    pub(crate) fn launch(self, (a, b): (&Layout, &Layout), pairs: &Pairs) -> Result<Launch> {
        let Combine { operation, dtype } = self;
        let op = operation.op();
        let boxes = Boxes::ambient(op, a, b, pairs)?;
        let twin = match operation {
            Ambient::Add => twin_of!(dtype, combine, { Ambient::Add as u32 }),
            Ambient::Sub => twin_of!(dtype, combine, { Ambient::Sub as u32 }),
            Ambient::Hadamard => twin_of!(dtype, combine, { Ambient::Hadamard as u32 }),
        };
        let subtract = Param::U32(u32::from(operation == Ambient::Sub));
        let product = operation == Ambient::Hadamard;
        let launch = match boxes {
            Boxes::Same => Launch {
                op,
                outputs: vec![Output::new(dtype, OutputLayout::Input(0))],
                scratch: Vec::new(),
                work: a.total() as u64,
                dispatches: vec![Dispatch {
                    kernel: &FLAT,
                    variant: FLAT.variant(dtype, if product { &["PRODUCT"] } else { &[] }),
                    slots: vec![Slot::Input(0), Slot::Input(1), Slot::Output(0)],
                    params: vec![
                        Param::U32(a.total() as u32),
                        subtract,
                        Param::InputBase(0),
                        Param::InputBase(1),
                    ],
                    groups: stream_groups(a.total()),
                    cost: a.total() as u64,
                }],
                pairs: Some(pairs.clone()),
                twin: CpuKernel::new(twin),
            },
            Boxes::Nested(Nested {
                result,
                a: a_seen,
                b: b_seen,
                c,
                ..
            }) => {
                let rank = c.rank();
                let (kernel, flags): (&'static Kernel, &[&str]) = match (rank, product) {
                    (1, false) => (&VECTORS, &[]),
                    (1, true) => (&VECTORS, &["PRODUCT"]),
                    (2, false) => (&BOXES, &["RANK2"]),
                    (2, true) => (&BOXES, &["PRODUCT", "RANK2"]),
                    (_, false) => (&BOXES, &[]),
                    (_, true) => (&BOXES, &["PRODUCT"]),
                };
                let tile = stream_tile(result.total(), result.len());
                let ([kind, right], list) = pair_params(op, pairs, b.len())?;
                let meta = |seen: Option<Layout>, i| seen.map_or(Slot::InputMeta(i), Slot::Meta);
                let c_meta = Slot::Meta(c);
                Launch {
                    op,
                    scratch: Vec::new(),
                    work: result.total() as u64,
                    dispatches: vec![Dispatch {
                        kernel,
                        variant: kernel.variant(dtype, flags),
                        slots: vec![
                            Slot::Input(0),
                            meta(a_seen, 0),
                            Slot::Input(1),
                            meta(b_seen, 1),
                            Slot::Output(0),
                            c_meta.clone(),
                            list.map_or(c_meta, |list| Slot::PlanBuffer(PlanBuffer::new(list))),
                        ],
                        params: vec![
                            Param::U32(result.total() as u32),
                            subtract,
                            Param::InputBase(0),
                            Param::InputBase(1),
                            Param::U32(pairs.len() as u32),
                            Param::U32(tile as u32),
                            kind,
                            right,
                            Param::U32(a.len() as u32),
                            Param::U32(rank as u32),
                        ],
                        groups: result.total().div_ceil(tile) as u32,
                        cost: result.total() as u64,
                    }],
                    outputs: vec![Output::new(dtype, OutputLayout::New(result))],
                    pairs: Some(pairs.clone()),
                    twin: CpuKernel::new(twin),
                }
            }
        };
        Ok(launch)
    }
}
