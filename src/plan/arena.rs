//! Places the values and scratch buffers of a recorded program in an arena: a few buffers, its slabs. Items that are
//! never alive at the same step may share memory.
//!
//! wgpu tracks the usage of whole buffers, so a dispatch must not read and write one slab, even at disjoint ranges.
//! Items that one dispatch reads and writes are therefore *apart*: they never share a slab. Slabs also keep an arena
//! within the limits on the size of a buffer.
//!
//! An optimal packing cannot be found in reasonable time. Items are placed greedily, each where slabs grow least, in
//! three orders: largest size first, which is best in most cases; largest product of size and lifetime first; and by
//! birth, which suits chains of layers, because it alternates between two slabs. A fourth order, by lifetime, did not
//! make arenas smaller on average. Each order is tried with several numbers of slabs: more slabs give the last items
//! more choice, but let the first ones share less. Finally, in the best order, items that end where their slab ends are
//! moved to earlier positions. An attempt stops as soon as it is larger than the best so far.

use std::cmp::Reverse;

/// Offsets are multiples of this: WebGPU's default for `min_storage_buffer_offset_alignment`.
const UNIT: u64 = 256;

/// The most slabs that are tried. An arena has more only if items that are apart, or the size limit of a slab, require
/// it.
const SLABS: usize = 5;

/// Above this number of items, only one attempt is made, because it takes quadratic time.
const MANY: usize = 20_000;

/// The most attempts to improve an order, and the most items over all attempts: above 75 items, there are fewer
/// attempts, and above 15,000 none.
const MOVES: usize = 200;
const MOVED: usize = 15_000;

/// A value or a scratch buffer that lies in the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub(crate) bytes: u64,
    /// The step that writes it first. It shares no memory with items that die at this step.
    pub(crate) born: u32,
    /// The last step that uses it, at least `born`.
    pub(crate) dies: u32,
}

/// Where an item lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) slab: u32,
    /// In bytes, a multiple of 256.
    pub(crate) offset: u64,
    /// The bytes that are the item's own while it lives: its size, rounded up to a multiple of 256.
    pub(crate) bytes: u64,
}

impl Place {
    /// The place of an item of zero bytes: it is in no slab.
    pub(crate) const NONE: Place = Place {
        slab: u32::MAX,
        offset: 0,
        bytes: 0,
    };
}

/// The places of all items. Equal requests give equal arenas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Arena {
    /// One for each item, in their order.
    pub(crate) places: Vec<Place>,
    /// The bytes of each slab, positive multiples of 256.
    pub(crate) slabs: Vec<u64>,
}

impl Arena {
    /// Places `items`. The two items of each pair in `apart` get different slabs. No slab has more than `largest`
    /// bytes.
    ///
    /// On one core, 300 items take less than a millisecond, and 10,000 items some tenths of a second. The memory is
    /// proportional to the numbers of items and pairs.
    ///
    /// # Errors
    ///
    /// The first item that is larger than `largest` by itself, rounded up to 256 bytes. A slab never has more than 1
    /// TiB.
    pub(crate) fn place(
        items: &[Item],
        apart: &[(u32, u32)],
        largest: u64,
    ) -> Result<Arena, usize> {
        let request = Request::new(items, apart, largest)?;
        let bound = request.bound(items, apart);
        let span = |&item: &u32| request.spans[item as usize];
        let mut order: Vec<u32> = (0..items.len() as u32).collect();
        order.retain(|item| span(item).units > 0);
        let mut orders = [order.clone(), order.clone(), order.clone()];
        // These sorts are stable.
        orders[0].sort_by_key(|item| Reverse(span(item).units));
        orders[1].sort_by_key(|item| Reverse(span(item).area()));
        orders[2].sort_by_key(|item| span(item).born);
        let (orders, slabs) = match (order.len() > MANY, apart.is_empty()) {
            (true, _) => (&orders[..1], SLABS..=SLABS),
            (false, false) => (&orders[..], 2..=SLABS),
            (false, true) => (&orders[..], 1..=SLABS),
        };

        let (mut best, mut next) = (Packing::new(items.len()), Packing::new(items.len()));
        best.units = u64::MAX;
        for tried in orders {
            for slabs in slabs.clone() {
                if best.units == bound {
                    break;
                }
                next.clear(slabs);
                if next.extend(&request, tried, 0, best.units - 1) {
                    std::mem::swap(&mut best, &mut next);
                    order.copy_from_slice(tried);
                }
            }
        }
        let moves = MOVES.min(MOVED / order.len().max(1));
        improve(&request, bound, moves, &mut order, &mut best, &mut next);
        Ok(best.arena(&order, items.len()))
    }

    /// The bytes of all slabs.
    pub(crate) fn bytes(&self) -> u64 {
        self.slabs.iter().sum()
    }
}

/// The largest sum of the bytes of items that are alive at one step, each rounded up to 256 bytes. No arena is smaller.
pub(crate) fn largest_live(items: &[Item]) -> u64 {
    // Items that die at a step are alive together with those born at it.
    let changes = items.iter().flat_map(|item| {
        let units = item.bytes.div_ceil(UNIT) as i64;
        [
            (u64::from(item.born), units),
            (u64::from(item.dies) + 1, -units),
        ]
    });
    let mut changes: Vec<(u64, i64)> = changes.collect();
    changes.sort_unstable();
    let live = changes.iter().scan(0, |live, &(_, change)| {
        *live += change;
        Some(*live)
    });
    (live.max().unwrap_or(0) as u64).saturating_mul(UNIT)
}

/// Tries to improve `best`: moves items to earlier positions in its order, and keeps a move if the arena does not grow.
fn improve(
    request: &Request,
    bound: u64,
    moves: usize,
    order: &mut [u32],
    best: &mut Packing,
    next: &mut Packing,
) {
    // A fixed seed, so that equal requests give equal arenas.
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut last = best.last();
    for _ in 0..moves {
        if best.units == bound {
            return;
        }
        // The arena only becomes smaller if all items that end a slab are placed lower.
        let from = last[random.below(last.len())];
        if from == 0 {
            continue;
        }
        let to = random.below(from);
        order[to..=from].rotate_right(1);
        next.keep(best, &order[..to]);
        if next.extend(request, order, to, best.units) {
            std::mem::swap(best, next);
            last = best.last();
        } else {
            order[to..=from].rotate_left(1);
        }
    }
}

/// An item, in units of 256 bytes.
#[derive(Clone, Copy)]
struct Span {
    units: u32,
    born: u32,
    dies: u32,
}

impl Span {
    fn area(&self) -> u64 {
        u64::from(self.units) * (u64::from(self.dies - self.born) + 1)
    }
}

/// A packing problem.
struct Request {
    spans: Vec<Span>,
    /// The items that item i must be apart from are `others[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    others: Vec<u32>,
    /// The most units of a slab.
    largest: u32,
}

impl Request {
    fn new(items: &[Item], apart: &[(u32, u32)], largest: u64) -> Result<Request, usize> {
        let largest = u32::try_from(largest / UNIT).unwrap_or(u32::MAX);
        let mut spans = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            debug_assert!(item.born <= item.dies, "item {index}: {item:?}");
            let units = item.bytes.div_ceil(UNIT);
            if units > u64::from(largest) {
                return Err(index);
            }
            spans.push(Span {
                units: units as u32,
                born: item.born,
                dies: item.dies,
            });
        }
        let mut starts = vec![0; items.len() + 1];
        for &(a, b) in apart {
            debug_assert_ne!(a, b, "an item apart from itself");
            starts[a as usize] += 1;
            starts[b as usize] += 1;
        }
        // First the ends of the lists. Filling each list backwards turns its end into its start.
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut others = vec![0; 2 * apart.len()];
        for &(a, b) in apart {
            for (item, other) in [(a, b), (b, a)] {
                starts[item as usize] -= 1;
                others[starts[item as usize] as usize] = other;
            }
        }
        Ok(Request {
            spans,
            starts,
            others,
            largest,
        })
    }

    fn apart_from(&self, item: u32) -> &[u32] {
        let item = item as usize;
        &self.others[self.starts[item] as usize..self.starts[item + 1] as usize]
    }

    /// A lower bound on the units of every arena.
    fn bound(&self, items: &[Item], apart: &[(u32, u32)]) -> u64 {
        let units = |item: u32| u64::from(self.spans[item as usize].units);
        let largest = (0..items.len() as u32).map(units).max().unwrap_or(0);
        // At least one of two items that are apart is not in the slab of the largest item.
        let other = apart.iter().map(|&(a, b)| units(a).min(units(b))).max();
        (largest_live(items) / UNIT).max(largest + other.unwrap_or(0))
    }
}

/// An item in a slab.
#[derive(Clone, Copy)]
struct Row {
    born: u32,
    dies: u32,
    offset: u32,
    end: u32,
    /// The item's position in the order.
    rank: u32,
}

#[derive(Default)]
struct Slab {
    /// By increasing offset.
    rows: Vec<Row>,
    units: u32,
    /// Whether the next item must not be placed here.
    barred: bool,
}

impl Slab {
    /// The lowest offset at which `span` overlaps no item that is alive at the same time, even if the slab has to grow.
    fn lowest(&self, span: Span) -> u32 {
        let mut end = 0;
        // Has no branches that depend on lifetimes, which would be mispredicted.
        for row in &self.rows {
            let meets = (row.born <= span.dies) & (span.born <= row.dies);
            if meets & (row.offset.saturating_sub(end) >= span.units) {
                break;
            }
            end = end.max(if meets { row.end } else { 0 });
        }
        end
    }
}

/// The places of the first items of an order.
struct Packing {
    slabs: Vec<Slab>,
    /// The slab of each item that is placed, `u32::MAX` for the others.
    slab_of: Vec<u32>,
    /// The sum of the units of all slabs.
    units: u64,
}

impl Packing {
    fn new(items: usize) -> Packing {
        Packing {
            slabs: Vec::new(),
            slab_of: vec![Place::NONE.slab; items],
            units: 0,
        }
    }

    /// Removes all items. Leaves `slabs` empty slabs.
    fn clear(&mut self, slabs: usize) {
        self.slabs.resize_with(slabs, Slab::default);
        for slab in &mut self.slabs {
            slab.rows.clear();
            slab.units = 0;
        }
        self.slab_of.fill(Place::NONE.slab);
        self.units = 0;
    }

    /// Copies from `from` the places of the items in `first`, the first ones of its order.
    fn keep(&mut self, from: &Packing, first: &[u32]) {
        self.clear(from.slabs.len());
        for (index, (slab, all)) in self.slabs.iter_mut().zip(&from.slabs).enumerate() {
            let kept = |row: &&Row| (row.rank as usize) < first.len();
            slab.rows.extend(all.rows.iter().filter(kept));
            for row in &slab.rows {
                slab.units = slab.units.max(row.end);
                self.slab_of[first[row.rank as usize] as usize] = index as u32;
            }
            self.units += u64::from(slab.units);
        }
    }

    /// Places the items from position `from` of the order on. Stops and returns false as soon as the slabs have more
    /// than `most` units.
    fn extend(&mut self, request: &Request, order: &[u32], from: usize, most: u64) -> bool {
        for (rank, &item) in order.iter().enumerate().skip(from) {
            self.insert(request, item, rank as u32);
            if self.units > most {
                return false;
            }
        }
        true
    }

    /// Places an item in the first slab in which it fits without growth, or else where growth, and then its offset, is
    /// least.
    fn insert(&mut self, request: &Request, item: u32, rank: u32) {
        for slab in &mut self.slabs {
            slab.barred = false;
        }
        for &other in request.apart_from(item) {
            if let Some(slab) = self.slabs.get_mut(self.slab_of[other as usize] as usize) {
                slab.barred = true;
            }
        }
        let span = request.spans[item as usize];
        let (mut growth, mut offset, mut chosen) = (u32::MAX, 0, self.slabs.len());
        for (index, slab) in self.slabs.iter().enumerate() {
            if slab.barred {
                continue;
            }
            let lowest = slab.lowest(span);
            if lowest > request.largest - span.units {
                continue;
            }
            let grows = (lowest + span.units).saturating_sub(slab.units);
            if (grows, lowest) < (growth, offset) {
                (growth, offset, chosen) = (grows, lowest, index);
            }
            if grows == 0 {
                break;
            }
        }
        if chosen == self.slabs.len() {
            (growth, offset) = (span.units, 0);
            self.slabs.push(Slab::default());
        }
        let slab = &mut self.slabs[chosen];
        slab.units += growth;
        self.units += u64::from(growth);
        self.slab_of[item as usize] = chosen as u32;
        let row = slab.rows.partition_point(|row| row.offset < offset);
        let placed = Row {
            born: span.born,
            dies: span.dies,
            offset,
            end: offset + span.units,
            rank,
        };
        slab.rows.insert(row, placed);
    }

    /// The positions in the order of the items that end where their slab ends.
    fn last(&self) -> Vec<usize> {
        let mut last = Vec::new();
        for slab in &self.slabs {
            let ends = slab.rows.iter().filter(|row| row.end == slab.units);
            last.extend(ends.map(|row| row.rank as usize));
        }
        last
    }

    /// These places, without empty slabs.
    fn arena(&self, order: &[u32], items: usize) -> Arena {
        let mut arena = Arena {
            places: vec![Place::NONE; items],
            slabs: Vec::new(),
        };
        for slab in self.slabs.iter().filter(|slab| slab.units > 0) {
            for row in &slab.rows {
                arena.places[order[row.rank as usize] as usize] = Place {
                    slab: arena.slabs.len() as u32,
                    offset: u64::from(row.offset) * UNIT,
                    bytes: u64::from(row.end - row.offset) * UNIT,
                };
            }
            arena.slabs.push(u64::from(slab.units) * UNIT);
        }
        arena
    }
}

/// A generator of pseudo-random numbers (xorshift64). Its state is never 0.
struct Random(u64);

impl Random {
    /// The next number, below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * bound as u64) >> 32) as usize
    }
}

#[cfg(feature = "testing")]
mod tests;
