//! Value-by-value functions: results have the ambient shapes, and each function defines how missing entries count. Also
//! concatenation.
//!
//! Cost: the operands and their layouts read once, the result written once, in one dispatch.

mod broadcast;
mod concat;
mod functions;
mod spread;
mod table;
mod text;
mod twin;

use std::borrow::Cow;

pub(crate) use self::broadcast::Broadcast;
pub(crate) use self::concat::{Along, Concat, check_concat};
pub(crate) use self::spread::Mode;
pub(crate) use self::table::Run;
use self::table::{Function, Row, THREE, TWO};
pub(crate) use self::text::own as own_texts;
use super::maps::{MapInfo, Part, same};
use crate::ops::kit::{PAIRING, STREAM, pair_params, stream_groups};
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    Boxes, Chosen, Dispatch, Interface, Kernel, Launch, Listed, Nested, OutputLayout, Param, Plan,
    Slot, Twin, params, place_of, shader, slots, stream_tile,
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

/// For pairs of elements of equal shapes; reads no layouts.
pub(super) static FLAT: Kernel = Kernel {
    shader: shader!("ambient/flat"),
    interface: Interface::of::<FlatSlots, FlatParams>(),
    constants: &[STREAM],
    variants: &ONE_LAYOUT,
};

static VECTORS: Kernel = Kernel {
    shader: shader!("ambient/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[PAIRING],
    variants: &OF_VECTORS,
};

static BOXES: Kernel = Kernel {
    shader: shader!("ambient/boxes"),
    interface: Interface::of::<Slots, BoxParams>(),
    constants: &[PAIRING],
    variants: &OF_BOXES,
};

/// A build of one of the kernels.
#[derive(Clone, Copy, Debug)]
struct Build {
    /// The function; `None` copies two elements side by side.
    row: Option<&'static Row>,
    dtype: DType,
    /// Whether all boxes are matrices.
    matrices: bool,
}

impl PartialEq for Build {
    fn eq(&self, other: &Build) -> bool {
        // A table has one row of a name and a type.
        let key = |build: &Build| (build.row.map(|row| row.name), build.dtype, build.matrices);
        key(self) == key(other)
    }
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        let flags = self.row.map_or(&["CONCAT"][..], |row| row.flags);
        match self.matrices {
            true => [flags, &["RANK2"]].concat().into(),
            false => flags.into(),
        }
    }

    fn texts(&self) -> Vec<(String, String)> {
        text::of(self.row, self.dtype)
    }
}

static ONE_LAYOUT: [Build; count(TWO)] = builds(TWO, 1, &[]);
static OF_VECTORS: [Build; count(TWO) + 1] = builds(TWO, 1, &[copy(DType::U32, false)]);
static OF_BOXES: [Build; 2 * count(TWO) + 6] = builds(
    TWO,
    2,
    &[
        copy(DType::U32, false),
        copy(DType::U32, true),
        copy(DType::F16, false),
        copy(DType::F16, true),
        copy(DType::U8, false),
        copy(DType::U8, true),
    ],
);

const fn copy(dtype: DType, matrices: bool) -> Build {
    Build {
        row: None,
        dtype,
        matrices,
    }
}

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

/// The builds of a table, followed by those for matrices if `ways` is 2, and by `more`.
const fn builds<const N: usize>(
    table: &'static [&'static [Row]],
    ways: usize,
    more: &[Build],
) -> [Build; N] {
    let mut all = [copy(DType::U32, false); N];
    let (mut n, mut way) = (0, 0);
    while way < ways {
        let mut group = 0;
        while group < table.len() {
            let mut row = 0;
            while row < table[group].len() {
                let it = &table[group][row];
                let mut at = 0;
                while at < it.types().len() {
                    all[n] = Build {
                        row: Some(it),
                        dtype: it.types()[at],
                        matrices: way == 1,
                    };
                    n += 1;
                    at += 1;
                }
                row += 1;
            }
            group += 1;
        }
        way += 1;
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
/// is in addition to half a unit in the last place of its product. The bounds of complex results hold for each part, in
/// units in the last place of the exact result's absolute value; for products, of the product of the absolute values.
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

/// The named function of two floats as a part of another kernel, for entries that both operands have.
pub(crate) fn part(name: &str) -> Option<Part<Run<f32, f32>>> {
    let (row, _) = table::row(TWO, name, DType::F32)?;
    match row.function {
        Function::Float(run) => Some(Part {
            uses: row.uses,
            wgsl: row.wgsl.to_owned(),
            run,
        }),
        _ => None,
    }
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

/// The index at which an input's values begin, in the units in which kernels for this type index them.
fn base(dtype: DType, input: usize) -> Param {
    match dtype {
        DType::C32 => Param::InputPairBase(input),
        _ => Param::InputBase(input),
    }
}

fn unsupported(dtype: DType) -> Error {
    Error::unsupported(format!("values of {dtype}"))
}

/// A function of two operands, by name, over values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Combine {
    pub name: &'static str,
    pub dtype: DType,
}

impl Operation for Combine {
    const KERNELS: &[&Kernel] = &[&FLAT, &VECTORS, &BOXES];

    fn name(&self) -> &'static str {
        self.name
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Direct
    }

    fn function(&self) -> Option<(&'static str, DType)> {
        Some((self.name, self.dtype))
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (a, b) = request.both();
        let pairs = request.pairs();
        let Combine { name: op, dtype } = *self;
        let (row, kernel_type) = table::row(TWO, op, dtype).ok_or_else(|| unsupported(dtype))?;
        let build = Build {
            row: Some(row),
            dtype: kernel_type,
            matrices: false,
        };
        let result_type = row.result(dtype);
        let boxes = Boxes::ambient(a, b, pairs)?;
        let same = matches!(boxes, Boxes::Same);
        let twin = Twin::new(move |args| twin::combine(args, row, kernel_type, same));
        let (layout, dispatch) = match boxes {
            Boxes::Same => {
                let dispatch = flat(a, dtype, place_of(&ONE_LAYOUT, &build));
                (OutputLayout::Input(0), dispatch)
            }
            Boxes::Nested(Nested {
                result,
                a: a_viewed,
                b: b_viewed,
                c,
                ..
            }) => {
                let stage = Stage {
                    build,
                    concat_axes: 0,
                };
                let dispatch = stage.dispatch([a, b], [a_viewed, b_viewed], c, pairs)?;
                (OutputLayout::New(result), dispatch)
            }
        };
        Ok(Launch::new(result_type, layout, dispatch, twin)
            .with_pairs(pairs)
            .into())
    }
}

/// The dispatch of a variant of [`FLAT`] over two batches of layout `x`.
pub(crate) fn flat(x: &Layout, dtype: DType, variant: impl Into<Chosen>) -> Dispatch {
    Dispatch::new(
        (&FLAT, variant),
        FlatSlots {
            a: Slot::Input(0),
            b: Slot::Input(1),
            c: Slot::Output(0),
        },
        FlatParams {
            total: Param::U32(x.total() as u32),
            ones: ONES,
            a_base: base(dtype, 0),
            b_base: base(dtype, 1),
        },
        stream_groups(x.total()),
        x.total() as u64,
    )
}

/// A dispatch that locates the values of each pair by its shapes.
struct Stage {
    /// The build of the kernel for vectors and boxes.
    build: Build,
    /// One bit for each axis along which a concatenation displaces the right element; otherwise 0.
    concat_axes: u32,
}

impl Stage {
    /// The dispatch for operands that are viewed in these layouts (`None`: their own), and a result viewed as `c`.
    fn dispatch(
        self,
        [a, b]: [&Layout; 2],
        viewed: [Option<Layout>; 2],
        c: Layout,
        pairs: &Pairs,
    ) -> Result<Dispatch> {
        let (total, rank) = (c.total(), c.rank());
        let tile = stream_tile(total, c.len());

        let [a_viewed, b_viewed] = viewed;
        let meta = |layout: Option<Layout>, i| layout.map_or(Slot::InputMeta(i), Slot::Meta);
        let c_meta = Slot::Meta(c);
        let ([pair_kind, pair_right], pair_list) = pair_params(pairs, b.len(), &c_meta)?;
        let slots = Slots {
            a: Slot::Input(0),
            a_meta: meta(a_viewed, 0),
            b: Slot::Input(1),
            b_meta: meta(b_viewed, 1),
            c: Slot::Output(0),
            c_meta,
            pair_list,
        };
        let params = Params {
            total: Param::U32(total as u32),
            ones: ONES,
            a_base: base(self.build.dtype, 0),
            b_base: base(self.build.dtype, 1),
            elements: Param::U32(pairs.len() as u32),
            tile: Param::U32(tile as u32),
            pair_kind,
            pair_right,
        };
        let (groups, cost) = (total.div_ceil(tile) as u32, total as u64);
        if rank == 1 {
            let variant = place_of(&OF_VECTORS, &self.build);
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
        let build = Build {
            matrices: rank == 2,
            ..self.build
        };
        let variant = place_of(&OF_BOXES, &build);
        Ok(Dispatch::new(
            (&BOXES, variant),
            slots,
            params,
            groups,
            cost,
        ))
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::table::{Function, Missing};
    use super::*;

    #[apply(unit_test)]
    fn every_function_is_listed_for_all_its_types() {
        for row in TWO.iter().copied().flatten() {
            for &dtype in row.types() {
                let build = |matrices| Build {
                    row: Some(row),
                    dtype,
                    matrices,
                };
                assert!(ONE_LAYOUT.contains(&build(false)) && OF_VECTORS.contains(&build(false)));
                assert!(
                    [false, true]
                        .map(build)
                        .iter()
                        .all(|it| OF_BOXES.contains(it))
                );
            }
        }
    }

    #[apply(unit_test)]
    fn products_of_zeros_are_zero() {
        fn at_zero<T: bytemuck::Pod>(run: table::Run<T, T>) -> Vec<u8> {
            let mut result = [bytemuck::cast_slice(&[u32::MAX; 4])[0]];
            run(&[T::zeroed()], &[T::zeroed()], &mut result);
            bytemuck::bytes_of(&result[0]).to_vec()
        }
        let rows = || TWO.iter().copied().flatten();
        for row in rows().filter(|row| row.missing == Missing::Product) {
            let result = match row.function {
                Function::Float(run) => at_zero(run),
                Function::I32(run) => at_zero(run),
                Function::U32(run) => at_zero(run),
                Function::Complex(run) => at_zero(run),
                _ => panic!("{}: a function of another kind", row.name),
            };
            assert!(result.iter().all(|byte| *byte == 0), "{}", row.name);
        }
        assert!(rows().any(|row| row.missing == Missing::Product));
    }
}
