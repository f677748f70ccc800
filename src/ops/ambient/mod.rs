//! Value-by-value functions: results have the ambient shapes, and each function defines how missing entries count. Also
//! concatenation.
//!
//! Cost: the operands and their layouts read once, the result written once, in one dispatch.

mod broadcast;
mod concat;
mod functions;
mod spread;
mod table;
#[cfg(feature = "gpu")]
mod text;
mod twin;

pub(crate) use self::broadcast::{Broadcast, KERNEL as BROADCAST, THREE_KERNEL as BROADCAST_THREE};
pub(crate) use self::concat::{Along, Concat, check_concat};
pub(crate) use self::spread::Mode;
use self::table::{Row, THREE, TWO};
#[cfg(feature = "gpu")]
pub(crate) use self::text::{
    generate_loads, generate_met, generate_spread_four, generate_spread_one,
};
use super::maps::{MapInfo, same};
use super::{PAIRING, STREAM, pair_params, stream_groups};
use crate::plan::{
    Boxes, CpuKernel, Dispatch, Interface, Kernel, Launch, Nested, Output, OutputLayout, Param,
    PlanBuffer, Slot, Variant, params, slots, stream_tile,
};
use crate::ragged::{DType, Layout, Pairs};
use crate::{Error, Result};

slots! {
    struct FlatSlots { a: Read, b: Read, c: Write }
}

params! {
    struct FlatParams { total, ones, a_base, b_base }
}

slots! {
    struct Slots {
        a: Read, a_meta: Read, b: Read, b_meta: Read, c: Write, c_meta: Read, pair_list: Read,
     }
}

params! {
    struct Params { total, ones, a_base, b_base, elements, tile, pair_kind, pair_right }
}

params! {
    struct BoxParams { of_vectors: Params, pair_left, rank, beside }
}

/// All bits set, in a parameter so that compilers do not know the value: see `ends.wgsl`.
const ONES: Param = Param::U32(u32::MAX);

/// The same for pairs of elements of equal shapes, without reading layouts.
pub(crate) static FLAT: Kernel = Kernel {
    stem: "ambient_flat",
    source: include_str!("../../../shaders/ambient_flat.wgsl"),
    interface: Interface::of::<FlatSlots, FlatParams>(),
    constants: &[STREAM],
    variants: &variants::<{ count(TWO) }>(TWO, &[0], &[]),
};

pub(crate) static VECTORS: Kernel = Kernel {
    stem: "ambient",
    source: include_str!("../../../shaders/ambient.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[PAIRING],
    variants: &variants::<{ count(TWO) + 1 }>(
        TWO,
        &[0],
        &[Variant {
            dtype: DType::U32,
            flags: &["CONCAT"],
        }],
    ),
};

pub(crate) static BOXES: Kernel = Kernel {
    stem: "ambient_boxes",
    source: include_str!("../../../shaders/ambient_boxes.wgsl"),
    interface: Interface::of::<Slots, BoxParams>(),
    constants: &[PAIRING],
    variants: &variants::<{ 2 * count(TWO) + 4 }>(
        TWO,
        &[0, 1],
        &[
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
    ),
};

/// The number of kernels of a table: one per row and kernel type.
const fn count(table: &[&[Row]]) -> usize {
    let (mut group, mut n) = (0, 0);
    while group < table.len() {
        let mut row = 0;
        while row < table[group].len() {
            n += table[group][row].types().len();
            row += 1;
        }
        group += 1;
    }
    n
}

/// The variants of a table's kernels, once for each set of flags in `flags`, and then `more`.
const fn variants<const N: usize>(
    table: &'static [&'static [Row]],
    flags: &[usize],
    more: &[Variant],
) -> [Variant; N] {
    let mut all = [Variant {
        dtype: DType::F32,
        flags: &[],
    }; N];
    let (mut n, mut set) = (0, 0);
    while set < flags.len() {
        let mut group = 0;
        while group < table.len() {
            let mut row = 0;
            while row < table[group].len() {
                let it = &table[group][row];
                let mut at = 0;
                while at < it.types().len() {
                    all[n] = Variant {
                        dtype: it.types()[at],
                        flags: it.flags[flags[set]],
                    };
                    n += 1;
                    at += 1;
                }
                row += 1;
            }
            group += 1;
        }
        set += 1;
    }
    let mut at = 0;
    while at < more.len() {
        all[n] = more[at];
        n += 1;
        at += 1;
    }
    all
}

/// All value-by-value functions of two and three operands, one entry per value type, with their error bounds.
///
/// The bounds hold on every device and have the form described at [`maps`](crate::scalar::maps). The bound of `mul_add`
/// is in addition to half a unit in the last place of its product.
///
/// ```
/// let div = vsla::scalar::functions().find(|function| function.name == "div").unwrap();
/// assert_eq!((div.dtype, div.ulps), (vsla::scalar::DType::F32, 2.0));
/// ```
pub fn functions() -> impl Iterator<Item = MapInfo> {
    TWO.iter().chain(THREE).copied().flatten().flat_map(|row| {
        row.types().iter().map(|&dtype| MapInfo {
            name: row.name,
            dtype,
            ulps: row.bound.ulps,
            absolute: row.bound.absolute,
        })
    })
}

/// Whether this is the error bound of a function of two floats, in ulp. Checks the numbers in the documentation.
pub(crate) const fn is_bound(name: &str, ulps: u32) -> bool {
    let mut group = 0;
    while group < TWO.len() {
        let mut row = 0;
        while row < TWO[group].len() {
            let it = &TWO[group][row];
            if same(it.name.as_bytes(), name.as_bytes()) {
                return it.bound.ulps == ulps as f32;
            }
            row += 1;
        }
        group += 1;
    }
    false
}

fn unsupported(op: &'static str, dtype: DType) -> Error {
    Error::Unsupported {
        op,
        what: format!("values of {dtype}"),
    }
}

/// A function of two operands, by name, over values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Combine {
    pub name: &'static str,
    pub dtype: DType,
}

impl Combine {
    /// The launch over every pair.
    pub(crate) fn launch(self, (a, b): (&Layout, &Layout), pairs: &Pairs) -> Result<Launch> {
        let Combine { name: op, dtype } = self;
        let (row, seen) = table::row(TWO, op, dtype).ok_or_else(|| unsupported(op, dtype))?;
        let result_type = if row.is_mask() { DType::U32 } else { dtype };
        let boxes = Boxes::ambient(op, a, b, pairs)?;
        let twin = CpuKernel::new(move |args| twin::combine(args, row, seen));
        let launch = match boxes {
            Boxes::Same => Launch {
                op,
                outputs: vec![Output::new(result_type, OutputLayout::Input(0))],
                scratch: Vec::new(),
                work: a.total() as u64,
                dispatches: vec![Dispatch::new(
                    (&FLAT, FLAT.variant(seen, row.flags[0])),
                    FlatSlots {
                        a: Slot::Input(0),
                        b: Slot::Input(1),
                        c: Slot::Output(0),
                    },
                    FlatParams {
                        total: Param::U32(a.total() as u32),
                        ones: ONES,
                        a_base: Param::InputBase(0),
                        b_base: Param::InputBase(1),
                    },
                    stream_groups(a.total()),
                    a.total() as u64,
                )],
                pairs: Some(pairs.clone()),
                twin,
            },
            Boxes::Nested(Nested {
                result,
                a: a_seen,
                b: b_seen,
                c,
                ..
            }) => {
                let stage = Stage {
                    flags: row.flags,
                    dtype: seen,
                    concat_axes: 0,
                };
                Launch {
                    op,
                    scratch: Vec::new(),
                    work: result.total() as u64,
                    dispatches: vec![stage.dispatch(op, [a, b], [a_seen, b_seen], c, pairs)?],
                    outputs: vec![Output::new(result_type, OutputLayout::New(result))],
                    pairs: Some(pairs.clone()),
                    twin,
                }
            }
        };
        Ok(launch)
    }
}

/// A dispatch that locates the values of each pair by its shapes.
struct Stage {
    /// Flags of the kernel for vectors and boxes, and of the kernel for matrices.
    flags: [&'static [&'static str]; 2],
    dtype: DType,
    /// One bit for each axis along which a concatenation displaces the right element; otherwise 0.
    concat_axes: u32,
}

impl Stage {
    /// The dispatch for operands that are viewed in these layouts (`None`: their own), and a result viewed as `c`.
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
            ones: ONES,
            a_base: Param::InputBase(0),
            b_base: Param::InputBase(1),
            elements: Param::U32(pairs.len() as u32),
            tile: Param::U32(tile as u32),
            pair_kind,
            pair_right,
        };
        let (groups, cost) = (total.div_ceil(tile) as u32, total as u64);
        if rank == 1 {
            let variant = VECTORS.variant(self.dtype, self.flags[0]);
            return Ok(Dispatch::new(
                (&VECTORS, variant),
                slots,
                params,
                groups,
                cost,
            ));
        }
        let params = BoxParams {
            of_vectors: params,
            pair_left: Param::U32(a.len() as u32),
            rank: Param::U32(rank as u32),
            beside: Param::U32(self.concat_axes),
        };
        let variant = BOXES.variant(self.dtype, self.flags[usize::from(rank == 2)]);
        Ok(Dispatch::new(
            (&BOXES, variant),
            slots,
            params,
            groups,
            cost,
        ))
    }
}
