//! Elementwise sums, differences and products: the result has the ambient shape, missing entries are zero.
//! Concatenation uses the same kernels.
//!
//! Cost: the operands and their layouts read once, the result written once, in one dispatch.

mod concat;
mod twin;

pub(crate) use self::concat::{Along, Concat, check_concat};
use self::twin::combine;
use super::{PAIRING, STREAM, pair_params, stream_groups, twin_of};
use crate::Result;
use crate::plan::{
    Boxes, CpuKernel, Dispatch, Interface, Kernel, Launch, Nested, Output, OutputLayout, Param,
    PlanBuffer, Slot, Variant, for_each_type, params, slots, stream_tile,
};
use crate::ragged::{DType, Layout, Pairs};

slots! {
    struct FlatSlots { a: Read, b: Read, c: Write }
}

params! {
    struct FlatParams { total, subtract, a_base, b_base }
}

slots! {
    struct Slots {
        a: Read, a_meta: Read, b: Read, b_meta: Read, c: Write, c_meta: Read, pair_list: Read,
     }
}

params! {
    struct Params { total, subtract, a_base, b_base, elements, tile, pair_kind, pair_right }
}

params! {
    struct BoxParams { of_vectors: Params, pair_left, rank, beside }
}

pub(crate) static FLAT: Kernel = Kernel {
    stem: "ambient_flat",
    source: include_str!("../../../shaders/ambient_flat.wgsl"),
    interface: Interface::of::<FlatSlots, FlatParams>(),
    constants: &[STREAM],
    variants: for_each_type![&[], &["PRODUCT"]],
};

pub(crate) static VECTORS: Kernel = Kernel {
    stem: "ambient",
    source: include_str!("../../../shaders/ambient.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[PAIRING],
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
    interface: Interface::of::<Slots, BoxParams>(),
    constants: &[PAIRING],
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
                dispatches: vec![Dispatch::new(
                    (
                        &FLAT,
                        FLAT.variant(dtype, if product { &["PRODUCT"] } else { &[] }),
                    ),
                    FlatSlots {
                        a: Slot::Input(0),
                        b: Slot::Input(1),
                        c: Slot::Output(0),
                    },
                    FlatParams {
                        total: Param::U32(a.total() as u32),
                        subtract,
                        a_base: Param::InputBase(0),
                        b_base: Param::InputBase(1),
                    },
                    stream_groups(a.total()),
                    a.total() as u64,
                )],
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
                let stage = Stage {
                    flag: product.then_some("PRODUCT"),
                    dtype,
                    subtract,
                    concat_axes: 0,
                };
                Launch {
                    op,
                    scratch: Vec::new(),
                    work: result.total() as u64,
                    dispatches: vec![stage.dispatch(op, [a, b], [a_seen, b_seen], c, pairs)?],
                    outputs: vec![Output::new(dtype, OutputLayout::New(result))],
                    pairs: Some(pairs.clone()),
                    twin: CpuKernel::new(twin),
                }
            }
        };
        Ok(launch)
    }
}

/// What pairs become where values are found by their shapes.
struct Stage {
    /// `PRODUCT` or `CONCAT`.
    flag: Option<&'static str>,
    dtype: DType,
    subtract: Param,
    /// Of a concatenation, a bit for each axis along which the right element is displaced.
    concat_axes: u32,
}

impl Stage {
    /// The dispatch for operands that are seen in these layouts, or in their own, and a result that is seen as `c`.
    fn dispatch(
        self,
        op: &'static str,
        [a, b]: [&Layout; 2],
        seen: [Option<Layout>; 2],
        c: Layout,
        pairs: &Pairs,
    ) -> Result<Dispatch> {
        let (total, rank) = (c.total(), c.rank());
        let tile = stream_tile(total, c.len());
        let ([pair_kind, pair_right], list) = pair_params(op, pairs, b.len())?;
        let [a_seen, b_seen] = seen;
        let meta = |seen: Option<Layout>, i| seen.map_or(Slot::InputMeta(i), Slot::Meta);
        let c_meta = Slot::Meta(c);
        let slots = Slots {
            a: Slot::Input(0),
            a_meta: meta(a_seen, 0),
            b: Slot::Input(1),
            b_meta: meta(b_seen, 1),
            c: Slot::Output(0),
            c_meta: c_meta.clone(),
            pair_list: list.map_or(c_meta, |list| Slot::PlanBuffer(PlanBuffer::new(list))),
        };
        let params = Params {
            total: Param::U32(total as u32),
            subtract: self.subtract,
            a_base: Param::InputBase(0),
            b_base: Param::InputBase(1),
            elements: Param::U32(pairs.len() as u32),
            tile: Param::U32(tile as u32),
            pair_kind,
            pair_right,
        };
        let mut flags: Vec<&str> = self.flag.into_iter().collect();
        let (groups, cost) = (total.div_ceil(tile) as u32, total as u64);
        if rank == 1 {
            let variant = VECTORS.variant(self.dtype, &flags);
            return Ok(Dispatch::new(
                (&VECTORS, variant),
                slots,
                params,
                groups,
                cost,
            ));
        }
        if rank == 2 {
            flags.push("RANK2");
        }
        let params = BoxParams {
            of_vectors: params,
            pair_left: Param::U32(a.len() as u32),
            rank: Param::U32(rank as u32),
            beside: Param::U32(self.concat_axes),
        };
        let variant = BOXES.variant(self.dtype, &flags);
        Ok(Dispatch::new(
            (&BOXES, variant),
            slots,
            params,
            groups,
            cost,
        ))
    }
}
