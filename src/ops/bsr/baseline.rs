//! Block-sparse products with kernels that run on any device.

use std::borrow::Cow;
use std::sync::Arc;

use super::finish::{Finish, FinishSlots};
use super::plan::{self, Rows};
use super::{Request, groups, ordered, rounded};
use crate::ops::bsr::tiles::{NARROW, SPARSE, SPARSE_NATIVE, SparseTile, WIDE};
use crate::ops::kit::product_tile;
use crate::plan::{
    Dispatch, Interface, Kernel, Listed, Param, PlanBuffer, Quick, Slot, named, params, place_of,
    shader, slots,
};
use crate::ragged::{DType, Topology};
use crate::{Result, host};

/// Chunks in one piece of a row.
const CHUNKS: u32 = 4;

/// A build of either kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Build {
    tile: SparseTile,
    /// Whether factors are f16, which are summed in f32.
    halves: bool,
    sampled: bool,
}

/// Every tile, for both types of factors.
static BUILDS: [Build; 2 * (SPARSE.len() + SPARSE_NATIVE.len())] = builds(false);
/// No native tile is faster where results are sampled.
static SAMPLED_BUILDS: [Build; 2 * SPARSE.len()] = builds(true);

const fn builds<const N: usize>(sampled: bool) -> [Build; N] {
    let mut all = [Build {
        tile: SPARSE[0],
        halves: false,
        sampled,
    }; N];
    let mut i = 0;
    while i < N {
        all[i].tile = match i / 2 {
            tile if tile < SPARSE.len() => SPARSE[tile],
            tile => SPARSE_NATIVE[tile - SPARSE.len()],
        };
        all[i].halves = i % 2 == 1;
        i += 1;
    }
    all
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        DType::F32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        let native = self.tile.native;
        named(&[
            (self.sampled, "SAMPLED"),
            (native, "NATIVE"),
            (native, self.tile.flag),
            (self.halves, "HALVES"),
            (!native, self.tile.flag),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let tile = &self.tile;
        product_tile::numbers([tile.rows, tile.columns], tile.part, tile.depth, tile.sets)
    }

    // Small and native tiles have short loops.
    fn parts(&self) -> Vec<Box<dyn Listed + Send>> {
        let [rows, columns] = self.tile.part;
        match self.tile.native || rows * columns <= 16 {
            true => Vec::new(),
            false => vec![Box::new(Quick(*self))],
        }
    }
}

slots! {
    struct Slots { a: Read, b: Read, c: Write, order: Read, list: Read, scratch: Write }
}

slots! {
    struct SampledSlots { a: Read, b: Read, c: Write, order: Read, list: Read }
}

params! {
    struct Params {
        a_base, b_base, pieces, piece_count, strips, panels, block_high, block_wide, high, wide,
        block_row, block_column, chunk,
    }
}

pub(super) static MATMUL: Kernel = Kernel {
    shader: shader!("bsr/matmul"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: &BUILDS,
};

pub(super) static SAMPLED: Kernel = Kernel {
    shader: shader!("bsr/matmul", "bsr_sampled"),
    interface: Interface::of::<SampledSlots, Params>(),
    constants: &[],
    variants: &SAMPLED_BUILDS,
};

pub(super) fn dispatches(request: &Request<'_>, native: bool) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let &Request {
        form,
        types: (dtype, _),
        topology,
        sets,
        dense,
        products,
        result,
        ..
    } = request;
    let by_columns = form.by_columns();
    let rows: Arc<Rows> = plan::rows(topology, by_columns, CHUNKS)?;
    let [high, wide] = ordered(!by_columns, topology.block()).map(|side| side as u32);
    let [m, k] = ordered(!by_columns, topology.shape()).map(|side| side as u32);
    let mut words = host::room(products.len() * 16)?;
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
        // Wraps if the scratch is too large for any device, which is detected before anything runs.
        words.extend([scratch as u32, 0, 0, 0]);
        scratch += u64::from(rows.slots) * u64::from(high) * u64::from(product.n);
    }
    let mut parts = Vec::new();
    let builds = SparseTile::all(high, native);
    for (build, widths) in &builds {
        let first = words.len() / 4;
        let mut columns = 0u64;
        for (i, product) in products.iter().enumerate() {
            if product.m > 0 && widths.contains(&product.n) {
                columns += u64::from(product.n);
                for column in (0..product.n).step_by(build.columns as usize) {
                    host::extend(&mut words, [i as u32, column, 0, 0])?;
                }
            }
        }
        parts.push((first as u32, words.len() / 4 - first, columns));
    }
    let first = words.len() / 4;
    Finish::panels(products, &mut words)?;
    let panels = (first as u32, words.len() / 4 - first);
    let list = PlanBuffer::new(words);
    let order = || Slot::PlanBuffer(rows.words.clone());
    let [block_row, block_column] = match by_columns {
        false => [wide, 1],
        true => [1, high],
    };
    let mut scratch = vec![scratch.max(1)];
    let (sums, after) = request.sums(&mut scratch)?;
    let variant = |tile: &SparseTile| Build {
        tile: *tile,
        halves: dtype == DType::F16,
        sampled: false,
    };
    let mut all = Vec::new();
    for ((build, _), &(first, panels, columns)) in builds.iter().zip(&parts) {
        let strips = high.div_ceil(build.rows);
        all.push(Dispatch::new(
            (&MATMUL, place_of(&BUILDS, &variant(build))),
            Slots {
                a: Slot::Input(0),
                b: Slot::Input(1),
                c: sums.clone(),
                order: order(),
                list: Slot::PlanBuffer(list.clone()),
                scratch: Slot::Scratch(0),
            },
            Params {
                a_base: Param::InputBase(0),
                b_base: Param::InputBase(1),
                pieces: Param::U32(rows.pieces_at),
                piece_count: Param::U32(rows.pieces),
                strips: Param::U32(strips),
                panels: Param::U32(first),
                block_high: Param::U32(high),
                block_wide: Param::U32(wide),
                high: Param::U32(m),
                wide: Param::U32(k),
                block_row: Param::U32(block_row),
                block_column: Param::U32(block_column),
                chunk: Param::U32(plan::chunk(wide) * wide / build.depth),
            },
            groups(panels, rows.pieces, strips)?,
            columns.saturating_mul(topology.set() as u64 + u64::from(m)),
        ));
    }
    let finish = Finish {
        rows: &rows,
        panels,
        columns: parts.iter().map(|part| part.2).sum(),
        high,
        m,
        transposed: false,
    };
    all.push(finish.dispatch(FinishSlots {
        c: sums,
        order: order(),
        list: Slot::PlanBuffer(list),
        scratch: Slot::Scratch(0),
    })?);
    all.extend(after);
    all.retain(|dispatch| dispatch.groups > 0);
    Ok((all, scratch))
}

pub(super) fn sampled(
    (dtype, result_type): (DType, DType),
    topology: &Topology,
    pairs: usize,
    list: Arc<PlanBuffer>,
    cost: u64,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let rows = plan::sampled_rows(topology, WIDE, NARROW)?;
    let [high, wide] = topology.block().map(|side| side as u32);
    let [m, n] = topology.shape().map(|side| side as u32);
    let mut scratch = Vec::new();
    let (sums, round) = rounded(result_type, pairs * topology.set(), &mut scratch);
    let mut all = Vec::new();
    for ((build, _), (at, pieces)) in SparseTile::all(high, false).into_iter().zip(rows.pieces) {
        let strips = high.div_ceil(build.rows);
        let variant = Build {
            tile: *build,
            halves: dtype == DType::F16,
            sampled: true,
        };
        all.push(Dispatch::new(
            (&SAMPLED, place_of(&SAMPLED_BUILDS, &variant)),
            SampledSlots {
                a: Slot::Input(0),
                b: Slot::Input(1),
                c: sums.clone(),
                order: Slot::PlanBuffer(rows.words.clone()),
                list: Slot::PlanBuffer(list.clone()),
            },
            Params {
                a_base: Param::InputBase(0),
                b_base: Param::InputBase(1),
                pieces: Param::U32(at),
                piece_count: Param::U32(pieces),
                strips: Param::U32(strips),
                panels: Param::U32(0),
                block_high: Param::U32(high),
                block_wide: Param::U32(wide),
                high: Param::U32(m),
                wide: Param::U32(n),
                block_row: Param::U32(0),
                block_column: Param::U32(0),
                chunk: Param::U32(plan::BLOCK / build.depth),
            },
            groups(pairs, pieces, strips)?,
            cost,
        ));
    }
    all.extend(round);
    all.retain(|dispatch| dispatch.groups > 0);
    Ok((all, scratch))
}
