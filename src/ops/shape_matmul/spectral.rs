//! Results computed by transforms on a GPU: entries are zero-padded and transformed, products of spectra are summed,
//! and the sums are transformed back.
//!
//! The results of one product that use the same transform length form a block: their rows, columns and all entries
//! these share. If all blocks together need too much scratch, they run in several turns. A block that does not fit
//! alone is split along the inner extent, with sums that continue in the next turn. If its results alone do not fit, it
//! is split into blocks of fewer rows or columns, which transform some entries again.

mod blocks;

use super::Products;
use crate::ops::fft::{self, Transform};
use crate::ops::operation::FftLimits;
use crate::plan::{
    Dispatch, Interface, Kernel, Param, PlanBuffer, Slot, constants, params, shader, slots,
    variants,
};
use crate::ragged::{Layout, Offsets};
use crate::{Error, Result, host};
pub(super) use blocks::{Part, turns, work};

slots! {
    struct Slots { x: Read, y: Write, list: Read }
}

params! {
    struct Params { tables, add }
}

params! {
    struct PadParams { x_base, pieces }
}

pub(super) static SPECTRAL: Kernel = Kernel {
    shader: shader!("shape_matmul/spectral", "spectral_matmul"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![WG, NONE]],
    variants: variants![F32],
};

pub(super) static FIT: Kernel = Kernel {
    shader: shader!("shape_matmul/zero_pad", "zero_pad"),
    interface: Interface::of::<Slots, PadParams>(),
    constants: &[constants![PIECES]],
    variants: variants![U32],
};

/// The scratch buffers: zero-padded vectors, their spectra, sums, and from `OWN` on the buffers of the transforms.
const VALUES: usize = 0;
const SPECTRA: usize = 1;
const SUMS: usize = 2;
const OWN: usize = 3;

/// The largest number of words of a scratch buffer: 128 MiB.
const SCRATCH: u64 = 1 << 25;
/// The longest transform on a GPU.
pub(super) const LONGEST: u64 = 1 << 24;

/// Rows and columns per tile, and invocations per workgroup: as in `shape_matmul/spectral.wgsl`.
const SIDE: usize = 4;
const WG: usize = 64;
/// Marks a missing spectrum or sum.
const NONE: u32 = u32::MAX;
/// Values per piece, and pieces per workgroup: as in `shape_matmul/zero_pad.wgsl`.
const PIECE: u32 = 512;
const PIECES: usize = 4;

/// Whether a GPU supports transforms of this length.
pub(super) fn reaches(length: u64) -> bool {
    length <= LONGEST
}

/// The work of one turn.
#[derive(Default)]
struct Turn {
    /// Lengths of the transforms of the factors, and of the results.
    factors: Vec<u32>,
    results: Vec<u32>,
    /// The pieces to copy: of a, of b, and of the results.
    pieces: [Vec<[u32; 4]>; 3],
    /// The offsets of the next factor's values and spectrum, and of the next result's sums and values.
    values: u32,
    spectra: u32,
    sums: u32,
    back: u32,
    work: Vec<[u32; 4]>,
    tables: Vec<[u32; 4]>,
    cost: u64,
    /// Whether the sums continue those of the previous turn, and whether they are complete after this one.
    goes_on: bool,
    ends: bool,
}

impl Turn {
    fn new() -> Turn {
        Turn {
            ends: true,
            ..Turn::default()
        }
    }

    /// Adds the transforms of four entries, and returns the offsets of their spectra.
    fn place(
        &mut self,
        side: usize,
        layout: &Layout,
        entries: [Option<usize>; SIDE],
        length: u32,
    ) -> Result<[u32; SIDE]> {
        let mut places = [NONE; SIDE];
        for (place, entry) in places.iter_mut().zip(entries) {
            // An entry that is longer than the transform is paired only with empty entries here.
            let range = entry.map_or(0..0, |entry| layout.offsets().range(entry));
            if range.is_empty() || range.len() > length as usize {
                continue;
            }
            let (begin, there) = (range.start as u32, range.len() as u32);
            let piece = [begin, there, self.values, length];
            cut(&mut self.pieces[side], piece)?;
            self.values += length;
            host::push(&mut self.factors, length)?;
            *place = self.spectra;
            self.spectra += length / 2 + 1;
        }
        Ok(places)
    }

    /// Adds a part of the turn.
    fn add(&mut self, plan: &Products, [a, b]: [&Layout; 2], part: &Part<'_>) -> Result<()> {
        let Part { block, inner } = part;
        let (product, length) = (block.product, block.length);
        (self.goes_on, self.ends) = (part.goes_on(), part.ends());
        let mut lines = |side: usize, layout: &Layout, numbers: &[usize]| {
            let mut begins = Vec::new();
            for four in numbers.chunks(SIDE) {
                host::push(&mut begins, self.tables.len() as u32)?;
                for j in inner.clone() {
                    let entries = std::array::from_fn(|at| {
                        four.get(at).map(|&number| match side {
                            0 => product.a + number * product.inner + j,
                            _ => product.b + j * product.columns + number,
                        })
                    });
                    let places = self.place(side, layout, entries, length)?;
                    host::push(&mut self.tables, places)?;
                }
            }
            Ok::<_, Error>(begins)
        };
        let rows = lines(0, a, &block.rows)?;
        let columns = lines(1, b, &block.columns)?;
        let (tiles, begin) = (self.tables.len(), self.tables.len() as u32);
        for (four_rows, &row) in block.rows.chunks(SIDE).zip(&rows) {
            for (four_columns, &column) in block.columns.chunks(SIDE).zip(&columns) {
                let mut places = [[NONE; SIDE]; SIDE];
                for (places, &i) in places.iter_mut().zip(four_rows) {
                    for (place, &k) in places.iter_mut().zip(four_columns) {
                        let result = product.result(i, k);
                        if plan.lengths[result] == length {
                            *place = self.result(plan, result, length)?;
                        }
                    }
                }
                if places != [[NONE; SIDE]; SIDE] {
                    host::push(&mut self.tables, [row, column, 0, 0])?;
                    host::extend(&mut self.tables, places)?;
                }
            }
        }
        let frequencies = length as usize / 2 + 1;
        let items = (self.tables.len() - tiles) / (1 + SIDE) * frequencies;
        for first in (0..items).step_by(WG) {
            let count = inner.len() as u32;
            let work = [
                [frequencies as u32, count, begin, first as u32],
                [items as u32, 0, 0, 0],
            ];
            host::extend(&mut self.work, work)?;
        }
        let each = (inner.len() as u64).saturating_mul((4 * SIDE * SIDE) as u64);
        let cost = (items as u64).saturating_mul(each);
        self.cost = self.cost.saturating_add(cost);
        Ok(())
    }

    /// Adds a result, and returns the offset of its sums.
    fn result(&mut self, plan: &Products, result: usize, length: u32) -> Result<u32> {
        let range = plan.entries.offsets().range(result);
        let (begin, request) = (range.start as u32, range.len() as u32);
        let piece = [self.back, request, begin, request];
        cut(&mut self.pieces[2], piece)?;
        self.back += length;
        host::push(&mut self.results, length)?;
        let at = self.sums;
        self.sums += length / 2 + 1;
        Ok(at)
    }

    /// The dispatches of the turn. Raises `words`, the sizes of the scratch buffers, to what they need.
    fn finish(&self, room: FftLimits, words: &mut Vec<u64>) -> Result<Vec<Dispatch>> {
        let of_lengths = |lengths: &[u32], length: fn(u32) -> u32| {
            let mut offsets = host::room(lengths.len() + 1)?;
            offsets.push(0);
            let mut end = 0;
            offsets.extend(lengths.iter().map(|&n| {
                end += length(n);
                end
            }));
            let offsets = Offsets::from_vec_unchecked(offsets);
            Ok::<_, Error>(Layout::from_offsets(offsets))
        };
        let (values, spectra) = (
            of_lengths(&self.factors, |n| n)?,
            of_lengths(&self.factors, |n| n / 2 + 1)?,
        );
        let (back, sums) = (
            of_lengths(&self.results, |n| n)?,
            of_lengths(&self.results, |n| n / 2 + 1)?,
        );
        let mut need = |scratch: usize, more: u64| {
            if words.len() <= scratch {
                words.resize(scratch + 1, 0);
            }
            words[scratch] = words[scratch].max(more);
        };
        need(VALUES, values.total().max(back.total()) as u64);
        need(SPECTRA, 2 * spectra.total() as u64);
        need(SUMS, 2 * sums.total() as u64);
        let mut dispatches = Vec::new();
        for (side, pieces) in self.pieces[..2].iter().enumerate() {
            let base = Param::InputBase(side);
            dispatches.extend(zero_pad(
                pieces,
                Slot::Input(side),
                Slot::Scratch(VALUES),
                base,
            )?);
        }
        let mut transform = |transform, n: &Layout, from_to: [&Layout; 2], places| {
            let (dispatches, own) = fft::inside(transform, n, from_to, room, places, OWN)?;
            for (i, &own) in own.iter().enumerate() {
                need(OWN + i, own);
            }
            Ok::<_, Error>(dispatches)
        };
        let places = [VALUES, SPECTRA];
        dispatches.extend(transform(
            Transform::Real,
            &values,
            [&values, &spectra],
            places,
        )?);
        let mut list = host::room(4 * (self.work.len() + self.tables.len()))?;
        list.extend(self.work.iter().chain(&self.tables).flatten());
        dispatches.push(Dispatch::new(
            (&SPECTRAL, 0),
            Slots {
                x: Slot::Scratch(SPECTRA),
                y: Slot::Scratch(SUMS),
                list: Slot::PlanBuffer(PlanBuffer::new(list)),
            },
            Params {
                tables: Param::U32(self.work.len() as u32),
                add: Param::U32(u32::from(self.goes_on)),
            },
            self.work.len() as u32 / 2,
            self.cost,
        ));
        if self.ends {
            let places = [SUMS, VALUES];
            dispatches.extend(transform(
                Transform::RealInverse,
                &back,
                [&sums, &back],
                places,
            )?);
            let (from, to) = (Slot::Scratch(VALUES), Slot::Output(0));
            dispatches.extend(zero_pad(&self.pieces[2], from, to, Param::U32(0))?);
        }
        Ok(dispatches)
    }
}

/// Cuts a copy into pieces. A copy is (source offset, values in the source, destination offset, values to write).
fn cut(pieces: &mut Vec<[u32; 4]>, [from, there, to, request]: [u32; 4]) -> Result<()> {
    host::reserve(pieces, request.div_ceil(PIECE) as usize)?;
    pieces.extend((0..request).step_by(PIECE as usize).map(|at| {
        let there = there.saturating_sub(at).min(PIECE);
        [from + at, there, to + at, (request - at).min(PIECE)]
    }));
    Ok(())
}

fn zero_pad(pieces: &[[u32; 4]], from: Slot, to: Slot, base: Param) -> Result<Option<Dispatch>> {
    if pieces.is_empty() {
        return Ok(None);
    }
    let list = host::copied(pieces.as_flattened())?;
    Ok(Some(Dispatch::new(
        (&FIT, 0),
        Slots {
            x: from,
            y: to,
            list: Slot::PlanBuffer(PlanBuffer::new(list)),
        },
        PadParams {
            x_base: base,
            pieces: Param::U32(pieces.len() as u32),
        },
        pieces.len().div_ceil(PIECES) as u32,
        pieces.len() as u64 * u64::from(PIECE),
    )))
}

/// The dispatches of all results that are computed by transforms, and the words of their scratch buffers.
pub(super) fn dispatches(
    plan: &Products,
    layouts: [&Layout; 2],
    room: FftLimits,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let most = room.scratch().min(SCRATCH);
    let (mut dispatches, mut words) = (Vec::new(), Vec::new());
    turns(plan, most, |parts| {
        let mut turn = Turn::new();
        for part in parts {
            turn.add(plan, layouts, part)?;
        }
        dispatches.extend(turn.finish(room, &mut words)?);
        Ok(())
    })?;
    Ok((dispatches, words))
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::ops::shape_matmul::Model;
    use crate::ragged::DType;

    /// A plan for entries of 100 values, except those listed in `odd` as (side, entry, length).
    fn plan(extents: [usize; 3], odd: &[(usize, usize, usize)]) -> (Products, [Layout; 2]) {
        let [rows, inner, columns] = extents;
        let grids = [[rows, inner], [inner, columns]]
            .map(|extents| Layout::uniform(1, Shape::new(&extents).unwrap()).unwrap());
        let layouts = [0, 1].map(|side| {
            let length = |entry| {
                let found = odd.iter().find(|other| (other.0, other.1) == (side, entry));
                found.map_or(100, |other| other.2)
            };
            Layout::from_lengths((0..grids[side].total()).map(length)).unwrap()
        });
        let [a, b] = &layouts;
        let request = (Model::Convolution, DType::F32);
        let plan =
            Products::new(request, [a, b], [&grids[0], &grids[1]], (None, u64::MAX)).unwrap();
        (plan, layouts)
    }

    /// The lengths of all forward and inverse transforms, in one turn.
    fn transforms(extents: [usize; 3], odd: &[(usize, usize, usize)]) -> [Vec<u32>; 2] {
        let (plan, layouts) = plan(extents, odd);
        let mut turn = Turn::new();
        turns(&plan, u64::MAX, |parts| {
            parts
                .iter()
                .try_for_each(|part| turn.add(&plan, [&layouts[0], &layouts[1]], part))
        })
        .unwrap();
        let sorted = |mut lengths: Vec<u32>| {
            lengths.sort_unstable();
            lengths
        };
        [turn.factors, turn.results].map(sorted)
    }

    #[apply(unit_test)]
    fn an_entry_is_transformed_once_for_each_length_it_is_needed_at() {
        let [there, back] = transforms([5, 6, 7], &[]);
        assert_eq!(there, [256; 5 * 6 + 6 * 7]);
        assert_eq!(back, [256; 5 * 7]);
        // In row 1, one entry is longer and one is empty. The five nonempty entries of that row need the longer length;
        // all of b needs both lengths.
        let [there, back] = transforms([2, 6, 3], &[(0, 6, 300), (0, 7, 0)]);
        let mut expected = vec![256; 6 + 18];
        expected.extend([512; 5 + 18]);
        assert_eq!(
            (there, back),
            (expected, vec![256, 256, 256, 512, 512, 512])
        );
    }

    #[apply(unit_test)]
    fn blocks_fall_apart_where_results_have_no_room() {
        let (plan, layouts) = plan([5, 6, 7], &[]);
        let [a, b] = &layouts;
        // Scratch for everything; for all results and the spectra of two j; for blocks of 3 × 4, 2 × 4, 3 × 3 and
        // 2 × 3; and for one result.
        for (words, turns) in [
            (1 << 20, 1),
            (35 * 258, 3),
            (12 * 258, 6 + 3 + 3 + 3),
            (258, 6 * 35),
        ] {
            let room = FftLimits::new(1 << 15, 4 * words);
            let (dispatches, scratch) = dispatches(&plan, [a, b], room).unwrap();
            let products = dispatches
                .iter()
                .filter(|dispatch| std::ptr::eq(dispatch.kernel, &SPECTRAL));
            assert_eq!(products.count(), turns, "{words}");
            let least = 2 * 258;
            assert!(
                scratch.iter().all(|&used| used <= words.max(least)),
                "{scratch:?}"
            );
        }
    }
}
