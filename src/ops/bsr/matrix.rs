//! f16 block-sparse products on cooperative matrices: kernels and dispatches.
//!
//! Every tile adds products in block order, as many at a time as the matrices are deep, so the bits of a result depend
//! neither on the tile nor on whether operands were copied to align them to quads of words.

use std::borrow::Cow;
use std::sync::Arc;

use super::align::Copies;
use super::finish::{Finish, FinishSlots};
use super::plan::{self, Rows};
use super::{Extents, Request, Sample, groups, ordered};
use crate::ops::bsr::tiles::{SparseTile, WIDE};
use crate::ops::kit::coop_tile::Tile;
use crate::ops::matmul::Epilogue;
use crate::plan::{
    Dispatch, Interface, Kernel, Listed, Matrices, Param, PlanBuffer, Quick, Slot, named, params,
    place_of, shader, slots,
};
use crate::ragged::{DType, Topology};
use crate::{Result, host};

/// A build of either kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Build {
    pub matrices: Matrices,
    pub tile: SparseTile,
    /// How much of a stage's depth lies in one block; all of it for sampled results.
    pub segment: u32,
    /// Whether a, and b, are stored transposed.
    pub across: bool,
    pub transposed: bool,
    pub sampled: bool,
}

/// Every tile and segment, for each of the four ways in which a and b may be stored. Wide tiles are never used for
/// layers (a dense factor on the left).
static BUILDS: [Build; 92] = builds(false);
static SAMPLED_BUILDS: [Build; 64] = builds(true);

const fn builds<const N: usize>(sampled: bool) -> [Build; N] {
    let mut all = [Build {
        matrices: Matrices::Sixteen,
        tile: Matrices::Sixteen.sparse()[0],
        segment: 0,
        across: false,
        transposed: false,
        sampled,
    }; N];
    let (mut n, mut way) = (0, 0);
    while way < 8 {
        let matrices = match way & 4 {
            0 => Matrices::Sixteen,
            _ => Matrices::Eight,
        };
        let transposed = way & 2 > 0;
        let mut at = 0;
        while at < matrices.sparse().len() {
            let tile = matrices.sparse()[at];
            let segments = match sampled {
                true => &[tile.depth],
                false => tile.segments,
            };
            let mut segment = 0;
            while segment < segments.len() && (sampled || !transposed || tile.from == 0) {
                all[n] = Build {
                    matrices,
                    tile,
                    segment: segments[segment],
                    across: way & 1 > 0,
                    transposed,
                    sampled,
                };
                n += 1;
                segment += 1;
            }
            at += 1;
        }
        way += 1;
    }
    assert!(n == N);
    all
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        DType::F32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        let segment = |width| !self.sampled && self.segment == width;
        named(&[
            (true, "MATRIX"),
            (self.matrices == Matrices::Eight, "EIGHT"),
            (self.sampled, "SAMPLED"),
            (true, self.tile.flag),
            (segment(8), "S8"),
            (segment(16), "S16"),
            (segment(32), "S32"),
            (self.across, "ACROSS"),
            (self.transposed, "TRANSPOSED"),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let tile = self.coop_tile();
        let columnwise = self.transposed && !self.sampled;
        let mut numbers = tile.numbers();
        numbers.extend([
            ("HIGH", self.tile.rows),
            ("SEGMENT", self.segment),
            ("C_TRANSPOSED", u32::from(columnwise)),
        ]);
        numbers.extend(self.segments(&tile));
        numbers
    }

    fn parts(&self) -> Vec<Box<dyn Listed + Send>> {
        match self.matrices {
            Matrices::Eight => Vec::new(),
            Matrices::Sixteen => vec![Box::new(Quick(*self))],
        }
    }
}

impl Build {
    fn coop_tile(&self) -> Tile {
        let (tile, side) = (&self.tile, self.matrices.side());
        Tile {
            // Blocks of eight rows leave half of a 16 × 16 matrix unused.
            rows: tile.rows.max(side),
            columns: tile.columns,
            depth: tile.depth,
            part: tile.part,
            turns: tile.turns(self.transposed),
            side,
            inner: [!self.across, self.transposed],
        }
    }

    /// How the slots that an invocation loads map to the segments of a stage: whether the segments' numbers are
    /// constants, how many slots share a segment, how many segments there are, and the index of the first one. Constant
    /// segments are the same for a and for b.
    fn segments(&self, tile: &Tile) -> [(&'static str, u32); 8] {
        let [a, b] = tile.parts().map(|part| {
            let rows = part.invocations / part.units;
            let whole = part.invocations.is_multiple_of(part.units) && !part.inner;
            let (fixed, share) = match self.segment {
                segment if segment >= tile.depth => (true, part.slots()),
                segment if whole && segment.is_multiple_of(rows) => (true, segment / rows),
                _ => (false, 1),
            };
            (fixed, share, part.slots().div_ceil(share))
        });
        let (b_segments, b_from) = match a.0 && b.0 {
            true => (0, 0),
            false => (b.2, a.2),
        };
        [
            ("A_FIXED", a.0.into()),
            ("B_FIXED", b.0.into()),
            ("A_SHARE", a.1),
            ("B_SHARE", b.1),
            ("A_SEGMENTS", a.2),
            ("B_SEGMENTS", b_segments),
            ("A_FROM", 0),
            ("B_FROM", b_from),
        ]
    }
}

// Read-only operands are also bound read-write: compilers move loads from read-only buffers to just before their use.
// Also, a buffer may be bound twice only with the same access.
slots! {
    struct Slots {
        a: Write, b: Write, c: Write, c_words: Write, order: Read, list: Read, scratch: Write,
    }
}

slots! {
    struct SampledSlots { a: Write, b: Write, c: Write, c_words: Write, order: Read, list: Read }
}

params! {
    struct Params {
        a_base, b_base, pieces, piece_count, long_count, panels, block_wide, high, wide, halves,
    }
}

pub(super) static MATMUL: Kernel = Kernel {
    shader: shader!("bsr/matrix"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: &BUILDS,
};

pub(super) static SAMPLED: Kernel = Kernel {
    shader: shader!("bsr/matrix", "bsr_matrix_sampled"),
    interface: Interface::of::<SampledSlots, Params>(),
    constants: &[],
    variants: &SAMPLED_BUILDS,
};

/// Chunks in one piece of a row: a depth of up to 8,192. Pieces are long because cutting a row sends sums through
/// memory, and because matrices are fast enough to process such a piece while other workgroups do the rest.
const CHUNKS: u32 = 16;

/// Twice the number of subgroups that a large GPU runs at a time.
const AT_ONCE: u64 = 2048;

/// Number of tiles, at most `most`, that a workgroup computes one after the other, such that work for every core
/// remains until the end. A long piece delays its workgroup at each tile while short ones leave other workgroups idle,
/// so the more the pieces differ, the smaller the number.
fn together(subgroups: u64, rows: &Rows, most: u32) -> u32 {
    let longest = f64::from(rows.longest) * f64::from(rows.pieces) / rows.blocks.max(1) as f64;
    let fit = subgroups as f64 / (AT_ONCE as f64 * longest.max(1.0).powi(2));
    (fit as u32).clamp(1, most)
}

/// The number of columns that the choice of a tile is based on. A layer's sums are transposed on their way through
/// memory; wide tiles do so in turns, which costs more time than they save.
fn columns(columns: u32, layer: bool) -> u32 {
    if layer { columns.min(WIDE) } else { columns }
}

/// The smallest number of workgroups that keeps every core of a large GPU busy.
const CORES: u64 = 128;

pub(super) fn dispatches(
    request: &Request<'_>,
    matrices: Matrices,
    quads: bool,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let &Request {
        form,
        types: (_, result_type),
        topology,
        sets,
        dense,
        products,
        result,
        ..
    } = request;
    let by_columns = form.by_columns();
    let rows: Arc<Rows> = plan::rows(topology, by_columns, CHUNKS)?;
    let tiles = matrices.sparse();
    let [high, wide] = ordered(!by_columns, topology.block()).map(|side| side as u32);
    let [m, k] = ordered(!by_columns, topology.shape()).map(|side| side as u32);
    let mut copies = Copies::default();
    let a = copies.blocks(quads, topology, sets, by_columns)?;
    let inner = k.next_multiple_of(wide);
    let from_to = products
        .iter()
        .zip(dense.offsets().as_slice())
        .map(|(product, &begin)| {
            let [from, to] = match form.dense_left {
                true => [[product.n, k], [product.n, inner]],
                false => [[k, product.n], [inner, product.n.next_multiple_of(8)]],
            };
            (begin, from, to)
        });
    let from_to = host::exact(from_to)?;
    let b = copies.dense(1, quads, &from_to)?;

    let begins = result.offsets().as_slice();
    let mut partial_sums = 0u64;
    let mut words = host::room(products.len() * 16)?;
    for (i, product) in products.iter().enumerate() {
        let set = if sets == 1 { 0 } else { i };
        let [begin, pitch] = b.places[i];
        let c = form.strides(product.stored[1]);
        words.extend([a.places[set][0], begin, begins[i], product.n]);
        words.extend([pitch, 0, c[0], c[1]]);
        // Wraps if the scratch is too large for any device, which is detected before anything runs.
        words.extend([partial_sums as u32, 0, 0, 0]);
        partial_sums += u64::from(rows.slots) * u64::from(high) * u64::from(product.n);
    }
    let lines = |(product, begin): (&Extents, &u32)| product.stored[1] % 8 == 0 && begin % 8 == 0;
    let plain = form.epilogue == Epilogue::default();
    let direct = plain && rows.heavy == 0 && products.iter().zip(begins).all(lines);
    let halves = result_type == DType::F16 && direct;
    let builds = products
        .iter()
        .map(|product| SparseTile::of(tiles, high, columns(product.n, form.dense_left)));
    let builds = host::exact(builds)?;
    let mut panels = Vec::new();
    for (at, build) in tiles.iter().enumerate() {
        let of_build = || {
            products
                .iter()
                .enumerate()
                .filter(|(i, p)| builds[*i] == at && p.m > 0)
        };
        let all: u64 = of_build()
            .map(|(_, p)| u64::from(p.n.div_ceil(build.columns)))
            .sum();
        let subgroups = all * u64::from(rows.pieces) * u64::from(build.subgroups());
        let together = together(subgroups, &rows, build.together);
        let first = words.len() / 4;
        for (i, product) in of_build() {
            for column in (0..product.n).step_by((build.columns * together) as usize) {
                let tiles = (product.n - column).div_ceil(build.columns).min(together);
                host::extend(&mut words, [i as u32, column, tiles, 0])?;
            }
        }
        let columns: u64 = of_build().map(|(_, p)| u64::from(p.n)).sum();
        panels.push((first as u32, words.len() / 4 - first, columns));
    }
    let finish = words.len() as u32 / 4;
    Finish::panels(products, &mut words)?;
    let finish_count = words.len() / 4 - finish as usize;
    let list = PlanBuffer::new(words);

    let mut scratch = copies.scratch;
    let (sums, after) = match (result_type, direct) {
        (DType::F16, true) => (Slot::Output(0), None),
        _ => request.sums(&mut scratch)?,
    };
    let scratch_slot = Slot::Scratch(scratch.len());
    scratch.push(partial_sums.max(1));
    let order = Slot::PlanBuffer(rows.words.clone());
    let mut dispatches = copies.dispatches;
    for (build, (first, count, columns)) in tiles.iter().zip(&panels) {
        if *count == 0 {
            continue;
        }
        let variant = Build {
            matrices,
            tile: *build,
            segment: build.segment(wide),
            across: by_columns,
            transposed: form.dense_left,
            sampled: false,
        };
        dispatches.push(Dispatch::new(
            (&MATMUL, place_of(&BUILDS, &variant)),
            Slots {
                a: a.slot.clone(),
                b: b.slot.clone(),
                c: sums.clone(),
                c_words: sums.clone(),
                order: order.clone(),
                list: Slot::PlanBuffer(list.clone()),
                scratch: scratch_slot.clone(),
            },
            Params {
                a_base: a.base,
                b_base: b.base,
                pieces: Param::U32(rows.pieces_at),
                piece_count: Param::U32(rows.pieces),
                long_count: Param::U32(rows.long),
                panels: Param::U32(*first),
                block_wide: Param::U32(wide),
                high: Param::U32(m),
                wide: Param::U32(k),
                halves: Param::U32(u32::from(halves)),
            },
            groups(*count, rows.pieces, 1)?,
            columns.saturating_mul(topology.set() as u64 + u64::from(m)) / matrices.rate(),
        ));
    }
    let finish = Finish {
        rows: &rows,
        panels: (finish, finish_count),
        columns: panels.iter().map(|panels| panels.2).sum(),
        high,
        m,
        transposed: form.dense_left,
    };
    dispatches.push(finish.dispatch(FinishSlots {
        c: sums,
        order,
        list: Slot::PlanBuffer(list),
        scratch: scratch_slot,
    })?);
    dispatches.extend(after);
    dispatches.retain(|dispatch| dispatch.groups > 0);
    Ok((dispatches, scratch))
}

/// The tile for a sampled product: wide if few of its columns stay empty and there are enough tiles for every core.
fn sampled_tile(topology: &Topology, tiles: &'static [SparseTile]) -> &'static SparseTile {
    let high = topology.block()[0] as u32;
    let [narrow, wide] = [0, u32::MAX].map(|columns| &tiles[SparseTile::of(tiles, high, columns)]);
    let [few, many] = [wide, narrow].map(|tile| plan::sampled_tiles(topology, tile.columns));
    let made = |tiles: u64, tile: &SparseTile| tiles * u64::from(tile.columns);
    match few >= CORES && 3 * made(few, wide) <= 4 * made(many, narrow) {
        true => wide,
        false => narrow,
    }
}

pub(super) fn sampled(
    (_, result_type): (DType, DType),
    topology: &Topology,
    transposed: [bool; 2],
    (matrices, quads): (Matrices, bool),
    products: &[Sample],
    cost: u64,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let [high, wide] = topology.block().map(|side| side as u32);
    let [m, n] = topology.shape().map(|side| side as u32);
    let build = sampled_tile(topology, matrices.sparse());
    let rows = plan::sampled_rows(topology, build.columns, 0)?;
    let mut copies = Copies::default();
    let whole = |product: &Sample| product.inner.next_multiple_of(build.depth);
    let mut aligned = |side: usize| {
        let from_to = products.iter().map(|product| {
            let to = match side {
                0 => [m.next_multiple_of(high), whole(product)],
                _ => [whole(product), n.next_multiple_of(wide)],
            };
            let to = ordered(!transposed[side], to);
            (product.begins[side], product.stored[side], to)
        });
        let from_to = host::exact(from_to)?;
        copies.dense(side, quads, &from_to)
    };
    let (a, b) = (aligned(0)?, aligned(1)?);
    let mut words = host::room(products.len() * 12)?;
    for (i, product) in products.iter().enumerate() {
        let ([a, a_pitch], [b, b_pitch]) = (a.places[i], b.places[i]);
        words.extend([a, b, product.begins[2], whole(product)]);
        words.extend([b_pitch, a_pitch, 0, 0, 0, 0, 0, 0]);
    }
    let (at, pieces) = rows.pieces[0];
    let variant = Build {
        matrices,
        tile: *build,
        segment: build.depth,
        across: transposed[0],
        transposed: transposed[1],
        sampled: true,
    };
    let mut dispatches = copies.dispatches;
    dispatches.push(Dispatch::new(
        (&SAMPLED, place_of(&SAMPLED_BUILDS, &variant)),
        SampledSlots {
            a: a.slot,
            b: b.slot,
            c: Slot::Output(0),
            c_words: Slot::Output(0),
            order: Slot::PlanBuffer(rows.words.clone()),
            list: Slot::PlanBuffer(PlanBuffer::new(words)),
        },
        Params {
            a_base: a.base,
            b_base: b.base,
            pieces: Param::U32(at),
            piece_count: Param::U32(pieces),
            long_count: Param::U32(0),
            panels: Param::U32(0),
            block_wide: Param::U32(wide),
            high: Param::U32(m),
            wide: Param::U32(n),
            halves: Param::U32(u32::from(result_type == DType::F16)),
        },
        groups(products.len(), pieces, 1)?,
        cost / matrices.rate(),
    ));
    dispatches.retain(|dispatch| dispatch.groups > 0);
    Ok((dispatches, copies.scratch))
}

#[cfg(all(feature = "gpu", feature = "testing"))]
mod tests {
    use super::*;

    const SIDES: [u32; 7] = [8, 16, 32, 48, 64, 96, 128];

    /// Every block size has a listed kernel, and its stages are whole: each load by all invocations ends where a part
    /// of a stage does.
    #[apply(unit_test)]
    fn every_block_has_a_kernel() {
        let kinds = [Matrices::Eight, Matrices::Sixteen];
        let all = kinds
            .into_iter()
            .flat_map(|matrices| SIDES.map(|high| (matrices, high)));
        for (matrices, high) in all {
            let tiles = matrices.sparse();
            for case in 0..12 {
                let (across, transposed) = (case & 1 > 0, case & 2 > 0);
                let columns = columns([100, 200, 600][case / 4], transposed);
                let build = &tiles[SparseTile::of(tiles, high, columns)];
                for wide in SIDES {
                    let segment = build.segment(wide);
                    let variant = Build {
                        matrices,
                        tile: *build,
                        segment,
                        across,
                        transposed,
                        sampled: false,
                    };
                    assert!(BUILDS.contains(&variant), "{variant:?}");
                    assert!(wide.is_multiple_of(segment), "{variant:?} {wide}");
                    assert!(variant.coop_tile().is_whole(), "{variant:?}");
                }
            }
            for case in 0..8 {
                let columns = if case & 1 > 0 { u32::MAX } else { 0 };
                let build = &tiles[SparseTile::of(tiles, high, columns)];
                let variant = Build {
                    matrices,
                    tile: *build,
                    segment: build.depth,
                    across: case & 2 > 0,
                    transposed: case & 4 > 0,
                    sampled: true,
                };
                assert!(SAMPLED_BUILDS.contains(&variant), "{variant:?}");
            }
        }
    }

    #[apply(unit_test)]
    fn workgroups_make_the_fewer_tiles_the_more_rows_differ() {
        let together = |counts: &[u32]| {
            let places = (0..).zip(counts);
            let places =
                places.flat_map(|(row, &count)| (0..count).map(move |column| (row, column)));
            let topology = Topology::from_unsorted([8192, 8192], [64, 64], places).unwrap();
            let rows = plan::rows(&topology, false, CHUNKS).unwrap();
            let tiles = 8192 / 512 * u64::from(rows.pieces);
            super::together(8 * tiles, &rows, 8)
        };
        assert_eq!(together(&[16; 128]), 8);
        let zipf: Vec<_> = (1..=128).map(|row| (378 / row).min(128)).collect();
        assert_eq!(together(&zipf), 1);
        let half: Vec<_> = (0..128).map(|row| 12 + row % 9).collect();
        assert_eq!(together(&half), 5);
        assert_eq!(together(&[]), 8);
    }
}
