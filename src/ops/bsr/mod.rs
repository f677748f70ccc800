//! Products of block-sparse matrices with dense ones, and the blocks of a product of dense ones.
//!
//! A product works on f, which is the block-sparse matrix or its transpose: `f b`, and `b f` as the transpose of `fᵀ bᵀ`. Nothing is
//! copied for it: the blocks are walked in row or in column order, and strides do the rest. How a row of blocks is cut depends on the number of its own
//! blocks only.

mod plan;
#[cfg(feature = "gpu")]
mod text;
mod twin;

use std::sync::Arc;

use super::convert;
use crate::plan::{
    Access, Kernel, Launch, Output, OutputLayout, Slot, Stage, Variant, Word, Words,
};
use crate::ragged::{CacheKey, DType, Layout, Pairs, Shape, Topology};
use crate::{Error, Result};

use plan::{Rows, rows, sampled_rows};
#[cfg(feature = "gpu")]
pub(crate) use text::generate;

/// The size of a tile, and how it is made.
#[derive(Debug)]
struct Build {
    flag: &'static str,
    high: u32,
    wide: u32,
    /// Results of an invocation.
    rows: u32,
    columns: u32,
}

impl Build {
    fn invocations(&self) -> u32 {
        self.high / self.rows * (self.wide / self.columns)
    }
}

/// Tiles as high as blocks are, or a whole part of them; and one for few columns.
const BUILDS: [Build; 6] = [
    build("H8", 8, 128, 4, 4),
    build("H16", 16, 128, 4, 4),
    build("H32", 32, 128, 4, 8),
    build("H48", 48, 128, 4, 8),
    build("H64", 64, 128, 8, 8),
    build("NARROW", 16, NARROW, 4, 4),
];

const fn build(flag: &'static str, high: u32, wide: u32, rows: u32, columns: u32) -> Build {
    Build {
        flag,
        high,
        wide,
        rows,
        columns,
    }
}

/// Columns of a wide tile, and of a narrow one.
const WIDE: u32 = 128;
const NARROW: u32 = 32;

/// Inner products between two barriers: a part of every block side.
const DEPTH: u32 = 8;

fn build_of(block_high: u32, narrow: bool) -> &'static Build {
    let at = match (narrow, block_high) {
        (true, _) => 5,
        (_, 8) => 0,
        (_, 16) => 1,
        (_, 32) => 2,
        (_, 48 | 96) => 3,
        _ => 4,
    };
    &BUILDS[at]
}

macro_rules! variants {
    ($($flags:expr),+ $(,)?) => {
        &[$(Variant { dtype: DType::F32, flags: $flags }),+]
    };
}

pub(crate) static MATMUL: Kernel = Kernel {
    stem: "bsr_matmul",
    source: include_str!("../../../shaders/bsr_matmul.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
        Access::Write,
    ],
    // Sums of f16 are f32.
    variants: variants!(
        &["H8"],
        &["H16"],
        &["H32"],
        &["H48"],
        &["H64"],
        &["NARROW"],
        &["HALVES", "H8"],
        &["HALVES", "H16"],
        &["HALVES", "H32"],
        &["HALVES", "H48"],
        &["HALVES", "H64"],
        &["HALVES", "NARROW"],
    ),
};

pub(crate) static SAMPLED: Kernel = Kernel {
    stem: "bsr_sampled",
    source: include_str!("../../../shaders/bsr_matmul.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
    ],
    variants: variants!(
        &["SAMPLED", "H8"],
        &["SAMPLED", "H16"],
        &["SAMPLED", "H32"],
        &["SAMPLED", "H48"],
        &["SAMPLED", "H64"],
        &["SAMPLED", "NARROW"],
        &["SAMPLED", "HALVES", "H8"],
        &["SAMPLED", "HALVES", "H16"],
        &["SAMPLED", "HALVES", "H32"],
        &["SAMPLED", "HALVES", "H48"],
        &["SAMPLED", "HALVES", "H64"],
        &["SAMPLED", "HALVES", "NARROW"],
    ),
};

pub(crate) static FINISH: Kernel = Kernel {
    stem: "bsr_finish",
    source: include_str!("../../../shaders/bsr_finish.wgsl"),
    access: &[Access::Write, Access::Read, Access::Read, Access::Read],
    variants: variants!(&[]),
};

/// Rows that a workgroup of `bsr_finish` takes: its STRIP.
const STRIP: u32 = 8;

/// The variant of a kernel that makes such tiles of operands of a type.
fn variant(kernel: &Kernel, dtype: DType, build: &Build) -> usize {
    let halves = dtype == DType::F16;
    let found = kernel.variants.iter().position(|variant| {
        variant.flags.contains(&build.flag) && variant.flags.contains(&"HALVES") == halves
    });
    // Every build is listed both ways.
    found.unwrap_or(0)
}

/// The slot for sums, and what follows them: those of f16 are kept in f32 until they are whole, and rounded once where the result is f16.
fn rounded(result: DType, values: usize, temps: &mut Vec<u64>) -> (Slot, Option<Stage>) {
    if result != DType::F16 {
        return (Slot::Output(0), None);
    }
    let sums = Slot::Temp(temps.len());
    temps.push(values as u64);
    let round = convert::stage(result, values, sums.clone(), Word::U32(0), Slot::Output(0));
    (sums, Some(round))
}

/// What products are called, whichever side the block-sparse matrix is on.
pub(crate) const OP: &str = "matmul_bsr";

/// What is multiplied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Form {
    /// Whether the matrices are the transposes of what is stored.
    pub transposed: bool,
    /// Whether the dense factor is on the left.
    pub dense_left: bool,
}

impl Form {
    /// Whether rows of f are columns of what is stored.
    fn by_columns(self) -> bool {
        self.transposed != self.dense_left
    }

    /// Row and column strides of what is stored in rows of so many.
    fn strides(self, columns: u32) -> [u32; 2] {
        match self.dense_left {
            false => [columns, 1],
            true => [1, columns],
        }
    }
}

/// What a product is of: rows of f, the inner extent, and columns of b; and the columns of b and c as they are stored.
#[derive(Clone, Copy, Debug)]
struct Extents {
    m: u32,
    k: u32,
    n: u32,
    stored: [u32; 2],
}

/// (a, b) where a is true, else (b, a).
fn ordered<T>(first: bool, [a, b]: [T; 2]) -> [T; 2] {
    if first { [a, b] } else { [b, a] }
}

fn extents(form: Form, topology: &Topology, pair: usize, dense: Shape) -> Result<Extents> {
    let [m, k] = ordered(!form.by_columns(), topology.shape()).map(|side| side as u32);
    let dense = [dense.extents()[0], dense.extents()[1]];
    let [inner, n] = ordered(!form.dense_left, dense);
    if inner != k {
        let [left, right] = ordered(!form.dense_left, [k, inner]).map(|side| side as usize);
        return Err(Error::InnerExtents {
            op: OP,
            pair,
            left,
            right,
        });
    }
    let columns = if form.dense_left { m } else { n };
    Ok(Extents {
        m,
        k,
        n,
        stored: [dense[1], columns],
    })
}

fn rank_2(op: &'static str, layout: &Layout) -> Result<()> {
    match layout.rank() {
        2 => Ok(()),
        got => Err(Error::Rank {
            op,
            element: None,
            expected: "2".to_owned(),
            got,
        }),
    }
}

/// The launch of `f b` for each of the dense matrices, of operands of `dtype` and with results of type `result`: the same, or f32 of f16. Inputs
/// are the values, one set or as many as there are matrices, and the matrices.
pub(crate) fn matmul(
    form: Form,
    (dtype, result_type): (DType, DType),
    topology: &Topology,
    sets: usize,
    dense: &Layout,
    on_gpu: bool,
) -> Result<Arc<Launch>> {
    let op = OP;
    rank_2(op, dense)?;
    if sets != 1 && sets != dense.len() {
        let [left, right] = ordered(!form.dense_left, [sets, dense.len()]);
        return Err(Error::BatchSize { op, left, right });
    }
    let key = CacheKey {
        what: "bsr matmul",
        other: topology.id(),
        device: sets as u64,
        extra: u64::from(form.transposed)
            | u64::from(form.dense_left) << 1
            | u64::from(on_gpu) << 2
            | u64::from(result_type == dtype) << 3
            | (dtype as u64) << 4,
    };
    dense.cached(key, || {
        let mut products = Vec::with_capacity(dense.len());
        let mut shapes = Vec::with_capacity(dense.len());
        for pair in 0..dense.len() {
            let product = extents(form, topology, pair, dense.shape(pair))?;
            let [rows, columns] = ordered(!form.dense_left, [product.m, product.n]);
            let shape = Shape::new(&[rows as usize, columns as usize]);
            shapes.push(shape.map_err(|_| Error::SizeOverflow {
                op,
                element: Some(pair),
                what: format!("the product's {rows} x {columns} values"),
            })?);
            products.push(product);
        }
        let result = Layout::from_shapes(2, shapes).map_err(|error| match error {
            Error::SizeOverflow { element, what, .. } => Error::SizeOverflow { op, element, what },
            other => other,
        })?;
        let (stages, temps) = match on_gpu {
            true => {
                let types = (dtype, result_type);
                stages(form, types, topology, sets, dense, &products, &result)?
            }
            false => (Vec::new(), Vec::new()),
        };
        Ok(Arc::new(Launch {
            op,
            stages,
            temps,
            outputs: vec![Output::new(
                result_type,
                // The values' layout, of rank 3, is never the result's.
                OutputLayout::of(result, &[&topology.values_layout(1)?, dense]),
            )],
            pairs: None,
            twin: twin::matmul(form, (dtype, result_type), topology.clone()),
        }))
    })
}

/// So many workgroups, if they can be counted.
fn groups(op: &'static str, tiles: usize, pieces: u32, strips: u32) -> Result<u32> {
    let all = tiles as u128 * u128::from(pieces) * u128::from(strips);
    u32::try_from(all).map_err(|_| Error::SizeOverflow {
        op,
        element: None,
        what: format!("{all} tiles"),
    })
}

fn stages(
    form: Form,
    (dtype, result_type): (DType, DType),
    topology: &Topology,
    sets: usize,
    dense: &Layout,
    products: &[Extents],
    result: &Layout,
) -> Result<(Vec<Stage>, Vec<u64>)> {
    let by_columns = form.by_columns();
    let rows: Arc<Rows> = rows(topology, by_columns)?;
    let [high, wide] = ordered(!by_columns, topology.block()).map(|side| side as u32);
    let [m, k] = ordered(!by_columns, topology.shape()).map(|side| side as u32);
    let mut words = Vec::with_capacity(products.len() * 16);
    let mut scratch = 0u64;
    for (i, product) in products.iter().enumerate() {
        let set = if sets == 1 { 0 } else { i * topology.set() };
        let (from, to) = (
            dense.offsets().as_slice()[i],
            result.offsets().as_slice()[i],
        );
        words.extend([set as u32, from, to, product.n]);
        let [b, c] = product.stored;
        words.extend(form.strides(b));
        words.extend(form.strides(c));
        // Wraps where the scratch is too large for any device, which is found before anything runs.
        words.extend([scratch as u32, 0, 0, 0]);
        scratch += u64::from(rows.slots) * u64::from(high) * u64::from(product.n);
    }
    let mut parts = Vec::new();
    for (step, wanted) in [
        (WIDE, NARROW + 1..=u32::MAX),
        (NARROW, 1..=NARROW),
        (WIDE, 1..=u32::MAX),
    ] {
        let first = words.len() / 4;
        let mut columns = 0u64;
        for (i, product) in products.iter().enumerate() {
            if product.m > 0 && wanted.contains(&product.n) {
                columns += u64::from(product.n);
                for column in (0..product.n).step_by(step as usize) {
                    words.extend([i as u32, column, 0, 0]);
                }
            }
        }
        parts.push((first as u32, words.len() / 4 - first, columns));
    }
    let list = Words::new(words);
    let order = || Slot::Words(rows.words.clone());
    let [block_row, block_column] = match by_columns {
        false => [wide, 1],
        true => [1, high],
    };
    let mut temps = vec![scratch.max(1)];
    let (sums, round) = rounded(result_type, result.total(), &mut temps);
    let mut all = Vec::new();
    for (narrow, &(first, panels, columns)) in [false, true].into_iter().zip(&parts) {
        let build = build_of(high, narrow);
        let strips = high.div_ceil(build.high);
        let params = [
            rows.pieces_at,
            rows.pieces,
            strips,
            first,
            high,
            wide,
            m,
            k,
            block_row,
            block_column,
            plan::chunk(wide) * (wide / DEPTH),
        ];
        let params = params.map(Word::U32);
        all.push(Stage {
            kernel: &MATMUL,
            variant: variant(&MATMUL, dtype, build),
            slots: vec![
                Slot::Input(0),
                Slot::Input(1),
                sums.clone(),
                order(),
                Slot::Words(list.clone()),
                Slot::Temp(0),
            ],
            params: [Word::InputBase(0), Word::InputBase(1)]
                .into_iter()
                .chain(params)
                .collect(),
            groups: groups(OP, panels, rows.pieces, strips)?,
            cost: columns * (topology.set() as u64 + u64::from(m)),
        });
    }
    let (first, panels, columns) = parts[2];
    let strips = high / STRIP;
    let params = [rows.heavy_at, rows.heavy, strips, first, high, m];
    all.push(Stage {
        kernel: &FINISH,
        variant: FINISH.variant(DType::F32, &[]),
        slots: vec![sums, order(), Slot::Words(list), Slot::Temp(0)],
        params: params.map(Word::U32).into(),
        groups: groups(OP, panels, rows.heavy, strips)?,
        cost: columns * u64::from(high) * u64::from(rows.slots),
    });
    all.extend(round);
    all.retain(|stage| stage.groups > 0);
    Ok((all, temps))
}

/// The launch of the blocks of `a b` for each pair, of types as in [`matmul`].
pub(crate) fn sampled(
    (dtype, result_type): (DType, DType),
    topology: &Topology,
    transposed: [bool; 2],
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    on_gpu: bool,
) -> Result<Arc<Launch>> {
    let op = "sampled";
    rank_2(op, a)?;
    rank_2(op, b)?;
    let key = CacheKey {
        what: "bsr sampled",
        other: b.id(),
        device: topology.id() << 4
            | u64::from(transposed[0])
            | u64::from(transposed[1]) << 1
            | u64::from(on_gpu) << 2
            | u64::from(result_type == dtype) << 3,
        extra: pairs.key() * 16 + dtype as u64,
    };
    a.cached(key, || {
        let result = topology
            .values_layout(pairs.len())
            .map_err(|error| match error {
                Error::SizeOverflow { element, what, .. } => {
                    Error::SizeOverflow { op, element, what }
                }
                other => other,
            })?;
        let [m, n] = topology.shape().map(|side| side as u32);
        let mut words = Vec::with_capacity(pairs.len() * 12);
        let mut cost = 0;
        for (pair, (i, j)) in pairs.iter().enumerate() {
            let sides = [(a, i, 0), (b, j, 1)].map(|(layout, element, side)| {
                let shape = layout.shape(element);
                let [rows, columns] = [shape.extents()[0], shape.extents()[1]];
                let strides = ordered(!transposed[side], [columns, 1]);
                (ordered(!transposed[side], [rows, columns]), strides, shape)
            });
            let [
                ([rows, left], a_strides, a_shape),
                ([right, columns], b_strides, b_shape),
            ] = sides;
            if left != right {
                return Err(Error::InnerExtents {
                    op,
                    pair,
                    left: left as usize,
                    right: right as usize,
                });
            }
            for (wrong, element, extents, shape, turned) in [
                (rows != m, i, [m, left], a_shape, transposed[0]),
                (columns != n, j, [right, n], b_shape, transposed[1]),
            ] {
                if wrong {
                    let [rows, columns] = ordered(!turned, extents);
                    return Err(Error::Shape {
                        op,
                        element,
                        expected: format!("({rows}, {columns})"),
                        got: shape.to_string(),
                    });
                }
            }
            let begin = |layout: &Layout, i: usize| layout.offsets().as_slice()[i];
            words.extend([begin(a, i), begin(b, j), begin(&result, pair), left]);
            words.extend(b_strides);
            words.extend(a_strides);
            words.extend([0; 4]);
            cost += topology.set() as u64 * u64::from(left.max(1));
        }
        let (stages, temps) = match on_gpu {
            true => {
                let types = (dtype, result_type);
                sampled_stages(types, topology, pairs.len(), Words::new(words), cost)?
            }
            false => (Vec::new(), Vec::new()),
        };
        Ok(Arc::new(Launch {
            op,
            stages,
            temps,
            outputs: vec![Output::new(result_type, OutputLayout::New(result))],
            pairs: Some(pairs.clone()),
            twin: twin::sampled(transposed, (dtype, result_type), topology.clone()),
        }))
    })
}

fn sampled_stages(
    (dtype, result_type): (DType, DType),
    topology: &Topology,
    pairs: usize,
    list: Arc<Words>,
    cost: u64,
) -> Result<(Vec<Stage>, Vec<u64>)> {
    let rows = sampled_rows(topology)?;
    let [high, wide] = topology.block().map(|side| side as u32);
    let [m, n] = topology.shape().map(|side| side as u32);
    let mut temps = Vec::new();
    let (sums, round) = rounded(result_type, pairs * topology.set(), &mut temps);
    let mut all = Vec::new();
    for (narrow, (at, pieces)) in [false, true].into_iter().zip(rows.pieces) {
        let build = build_of(high, narrow);
        let strips = high.div_ceil(build.high);
        let params = [
            at,
            pieces,
            strips,
            0,
            high,
            wide,
            m,
            n,
            0,
            0,
            plan::BLOCK / DEPTH,
        ];
        let params = params.map(Word::U32);
        all.push(Stage {
            kernel: &SAMPLED,
            variant: variant(&SAMPLED, dtype, build),
            slots: vec![
                Slot::Input(0),
                Slot::Input(1),
                sums.clone(),
                Slot::Words(rows.words.clone()),
                Slot::Words(list.clone()),
            ],
            params: [Word::InputBase(0), Word::InputBase(1)]
                .into_iter()
                .chain(params)
                .collect(),
            groups: groups("sampled", pairs, pieces, strips)?,
            cost,
        });
    }
    all.extend(round);
    all.retain(|stage| stage.groups > 0);
    Ok((all, temps))
}
