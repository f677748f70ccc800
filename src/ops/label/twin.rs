//! The twin: runs of rows, united with those that touch them in the row above.
//!
//! A row is bits, 64 cells to a word: which cells are inside of components, which begin a run, and which have a
//! neighbour above. Only the bits at which something happens are visited. Runs are numbered in row-major order, so the
//! number of a cell's run follows from the number of runs that begin before it, and is stored nowhere. The parent of a
//! run is an earlier one or itself. Large elements are cut into bands of rows, which meet at the end.

use rayon::prelude::*;

use super::Label;
use crate::ops::kit::Neighbours;
use crate::ops::kit::join;
use crate::plan::CpuArgs;
use crate::{Result, host};

/// Cells of elements that justify a parallel task, and those of a band.
const TASK: usize = 1 << 15;
const BAND: usize = 1 << 17;
/// Cells of a word.
const WORD: usize = 64;

/// The operation with its background.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    pub label: Label,
    pub background: u32,
}

pub(super) fn run(label: Label, args: &mut CpuArgs<'_>) -> Result<()> {
    let (x, layout) = args.input::<u32>(0);
    let rule = Rule {
        label,
        background: args.scalars[0],
    };
    let [labels, counts] = &mut *args.outputs else {
        unreachable!("labels and counts");
    };
    let (total, elements) = (layout.total(), layout.len());
    let batch = Batch {
        rule,
        x,
        ends: layout.offsets().as_slice(),
        extents: layout.extents(),
    };
    let (labels, counts) = (&mut labels.words[..total], &mut counts.words[..elements]);
    batch.run(0, labels, counts)
}

struct Batch<'a> {
    rule: Rule,
    x: &'a [u32],
    ends: &'a [u32],
    extents: &'a [u32],
}

impl Batch<'_> {
    /// Labels as many elements as there are counts, from the first one on, in parallel.
    fn run(&self, first: usize, labels: &mut [u32], counts: &mut [u32]) -> Result<()> {
        if counts.len() > 1 && labels.len() + counts.len() > TASK {
            let half = self.ends[first] as usize + labels.len() / 2;
            let inner = &self.ends[first..first + counts.len()];
            let middle = inner.partition_point(|&at| (at as usize) < half);
            let middle = middle.clamp(1, counts.len() - 1);
            let cut = (self.ends[first + middle] - self.ends[first]) as usize;
            let (left, right) = labels.split_at_mut(cut);
            let (few, others) = counts.split_at_mut(middle);
            let (left, right) = join(
                || self.run(first, left, few),
                || self.run(first + middle, right, others),
            );
            return left.and(right);
        }
        let (mut bands, mut rest) = (Bands::default(), labels);
        for (element, count) in (first..).zip(counts) {
            let range = self.ends[element] as usize..self.ends[element + 1] as usize;
            let (labels, after) = rest.split_at_mut(range.len());
            let columns = self.extents[2 * element + 1] as usize;
            *count = match range.is_empty() {
                true => 0,
                false => bands.label(self.rule, &self.x[range], labels, columns, BAND)?,
            };
            rest = after;
        }
        Ok(())
    }
}

/// The bands of images that are labelled one after another.
#[derive(Default)]
pub(crate) struct Bands(Vec<Band>);

impl Bands {
    /// Labels an image that has cells, in bands of at most so many, and returns the number of its components. Bands of
    /// an earlier image are reused.
    pub(crate) fn label(
        &mut self,
        rule: Rule,
        x: &[u32],
        labels: &mut [u32],
        columns: usize,
        most: usize,
    ) -> Result<u32> {
        // A column is labelled as a row.
        let columns = match columns {
            1 => x.len(),
            _ => columns,
        };
        let chunk = x.len().min((most / columns).max(1) * columns);
        let count = x.len().div_ceil(chunk);
        while self.0.len() < count {
            host::push(&mut self.0, Band::default())?;
        }
        let bands = &mut self.0[..count];
        let whole = bands.len() == 1;
        match whole {
            true => bands[0].read(rule, x, columns)?,
            false => bands
                .par_iter_mut()
                .zip(x.par_chunks(chunk))
                .try_for_each(|(band, x)| band.read(rule, x, columns))?,
        }
        // From here on, the first band has the parents of all runs, and the others the numbers of their first runs.
        let (first, others) = bands.split_first_mut().expect("an image has cells");
        let mut parents = std::mem::take(&mut first.parents);
        let mut above = &*first;
        for (band, at) in others.iter_mut().zip((chunk..).step_by(chunk)) {
            let offset = parents.len() as u32 - 1;
            let more = band.parents[1..].iter().map(|parent| parent + offset);
            host::extend(&mut parents, more)?;
            band.offset = offset;
            band.meet(
                rule,
                above,
                &x[at - columns..],
                &x[at..at + columns],
                &mut parents,
            )?;
            above = band;
        }
        let mut count = 0;
        for run in 1..parents.len() {
            let parent = parents[run] as usize;
            count += u32::from(parent == run);
            // The label of the parent, or of a first run its own number, which is at least the label: a minimum has no
            // branch.
            parents[run] = parents[parent].min(count);
        }
        // The last windows end beyond the last run.
        host::extend(&mut parents, [0; WINDOW])?;
        match whole {
            true => bands[0].write(&parents, labels, columns),
            false => bands
                .par_iter()
                .zip(labels.par_chunks_mut(chunk))
                .for_each(|(band, labels)| band.write(&parents, labels, columns)),
        }
        bands[0].parents = parents;
        Ok(count)
    }
}

/// Some rows of an image.
#[derive(Default)]
struct Band {
    /// For each word of each row, the cells inside of components, and those that begin a run.
    cells: Vec<[u64; 2]>,
    /// The parent of each run, from run 1 on. Place 0 stands for the background.
    parents: Vec<u32>,
    /// The runs of the image before this band.
    offset: u32,
    /// The runs of the band before each word of the first row and of the last one.
    ends: [Vec<u32>; 2],
    scratch: [Vec<u32>; 3],
    /// What [`count`] counts, for both rows.
    counts: [Vec<u64>; 2],
    /// Earlier runs that a row unites.
    pairs: Vec<[u32; 2]>,
}

/// A row with a neighbouring row: its words, the numbers of runs before each word, and for each cell those that begin
/// in its word up to it.
struct Row<'a> {
    cells: &'a [[u64; 2]],
    before: &'a [u32],
    begun: &'a [u64],
    /// The runs before those that `before` counts.
    offset: u32,
}

impl Row<'_> {
    /// The run of a cell that is inside.
    fn run_of(&self, column: usize) -> usize {
        let begun = self.begun[column / 8] >> (column % 8 * 8) & 255;
        self.offset as usize + self.before[column / WORD] as usize + begun as usize
    }
}

/// For each cell of a word, the runs that begin in the word up to it: a byte for each cell.
fn count(begun: u64, counts: &mut [u64]) {
    let mut before = 0;
    for (counts, begun) in counts.iter_mut().zip(begun.to_le_bytes()) {
        *counts = spread(begun).wrapping_mul(BYTES) + before * BYTES;
        before = *counts >> 56;
    }
}

impl Band {
    fn read(&mut self, rule: Rule, x: &[u32], columns: usize) -> Result<()> {
        let across = columns.div_ceil(WORD);
        let rows = x.len() / columns;
        self.offset = 0;
        self.cells.clear();
        host::reserve(&mut self.cells, rows * across)?;
        self.parents.clear();
        host::push(&mut self.parents, 0)?;
        // The kinds of the cells of both rows, with a zero on both sides, and zeros up to a whole word.
        let [north, here, before_north] = &mut self.scratch;
        for kinds in [&mut *north, &mut *here] {
            kinds.clear();
            host::reserve(kinds, across * WORD + 2)?;
            kinds.resize(across * WORD + 2, 0);
        }
        let most = 2 * across * WORD;
        self.pairs.clear();
        host::reserve(&mut self.pairs, most)?;
        self.pairs.resize(most, [0; 2]);
        let [counts_north, counts] = &mut self.counts;
        for counts in [&mut *counts_north, &mut *counts] {
            counts.clear();
            host::reserve(counts, across * WORD / 8)?;
            counts.resize(across * WORD / 8, 0);
        }
        let [first, last] = &mut self.ends;
        for before in [&mut *before_north, &mut *first, &mut *last] {
            before.clear();
            host::reserve(before, across)?;
            before.resize(across, 0);
        }
        for (row, x) in x.chunks_exact(columns).enumerate() {
            if !rule.label.foreground {
                rule.kinds(x, &mut here[1..=columns]);
            }
            let mut west = false;
            for ((word, before), x) in last.iter_mut().enumerate().zip(x.chunks(WORD)) {
                let inside = rule.inside(x);
                let linked = match rule.label.foreground {
                    true => inside & (inside << 1 | u64::from(west)),
                    false => {
                        let kinds = &here[word * WORD..];
                        inside & alike(&kinds[1..], kinds)
                    }
                };
                west = inside >> (WORD - 1) != 0;
                let begun = inside & !linked;
                *before = self.parents.len() as u32 - 1;
                let new = *before + 1..*before + 1 + begun.count_ones();
                host::extend(&mut self.parents, new)?;
                self.cells.push([inside, begun]);
                count(begun, &mut counts[word * WORD / 8..]);
            }
            let (above, cells) = self.cells.split_at(row * across);
            if row > 0 {
                let row_north = Row {
                    cells: &above[(row - 1) * across..],
                    before: before_north,
                    begun: counts_north,
                    offset: 0,
                };
                let row = Row {
                    cells,
                    before: last,
                    begun: counts,
                    offset: 0,
                };
                rule.unite_rows(
                    &row_north,
                    &row,
                    [north, here],
                    &mut self.parents,
                    &mut self.pairs,
                );
            } else {
                first.copy_from_slice(last);
            }
            std::mem::swap(north, here);
            std::mem::swap(counts_north, counts);
            before_north.copy_from_slice(last);
        }
        Ok(())
    }

    /// Unites the first row with the last one of the band above.
    fn meet(
        &mut self,
        rule: Rule,
        above: &Band,
        north: &[u32],
        here: &[u32],
        parents: &mut [u32],
    ) -> Result<()> {
        let across = self.ends[0].len();
        let columns = here.len();
        let [a, b, _] = &mut self.scratch;
        if !rule.label.foreground {
            rule.kinds(&north[..columns], &mut a[1..=columns]);
            rule.kinds(here, &mut b[1..=columns]);
        }
        let [counts_north, counts] = &mut self.counts;
        let last = &above.cells[above.cells.len() - across..];
        for (row, counts) in [
            (last, &mut *counts_north),
            (&self.cells[..across], &mut *counts),
        ] {
            for (cells, counts) in row.iter().zip(counts.chunks_exact_mut(WORD / 8)) {
                count(cells[1], counts);
            }
        }
        let north = Row {
            cells: last,
            before: &above.ends[1],
            begun: counts_north,
            offset: above.offset,
        };
        let here = Row {
            cells: &self.cells[..across],
            before: &self.ends[0],
            begun: counts,
            offset: self.offset,
        };
        rule.unite_rows(&north, &here, [a, b], parents, &mut self.pairs);
        Ok(())
    }

    /// Writes labels, given those of all runs.
    fn write(&self, of_runs: &[u32], labels: &mut [u32], columns: usize) {
        let across = columns.div_ceil(WORD);
        let mut run = self.offset as usize;
        for (labels, cells) in labels
            .chunks_exact_mut(columns)
            .zip(self.cells.chunks_exact(across))
        {
            for (labels, &[inside, begun]) in labels.chunks_mut(WORD).zip(cells) {
                if inside == 0 {
                    labels.fill(0);
                } else if begun == 0 && inside == u64::MAX {
                    labels.fill(of_runs[run]);
                } else {
                    // Without branches, because noise would mispredict most of them.
                    let parts = labels.chunks_mut(8).zip(begun.to_le_bytes());
                    for ((labels, begun), inside) in parts.zip(inside.to_le_bytes()) {
                        let window = of_runs[run..].first_chunk();
                        let mut window: [u32; WINDOW] = *window.expect("a window");
                        window[WINDOW - 1] = 0;
                        // Byte k counts the runs that begin up to cell k, or is 255 for the background.
                        let counts = spread(begun).wrapping_mul(BYTES);
                        let places = counts | !(spread(inside) * 255);
                        for (label, place) in labels.iter_mut().zip(places.to_le_bytes()) {
                            *label = window[place as usize % WINDOW];
                        }
                        run += (counts >> 56) as usize;
                    }
                }
            }
        }
    }
}

/// Places in a window of the labels of runs: the last run so far, those that begin in eight cells, and at the end the
/// background.
const WINDOW: usize = 16;
const BYTES: u64 = 0x0101_0101_0101_0101;

/// Bit k as byte k.
fn spread(bits: u8) -> u64 {
    let each = u64::from(bits).wrapping_mul(BYTES) & 0x8040_2010_0804_0201;
    // Byte k has bit k. The sum with the rest of 128 has bit 7, and carries nothing to the next byte.
    ((each + 0x0040_6070_787c_7e7f) >> 7) & BYTES
}

impl Rule {
    /// The cells inside of components, of at most a word.
    fn inside(self, x: &[u32]) -> u64 {
        let outside = [self.background; WORD];
        let mut padded = outside;
        let x = match x.len() {
            WORD => x,
            length => {
                padded[..length].copy_from_slice(x);
                &padded
            }
        };
        !alike(x, &outside)
    }

    /// The kinds of cells, if values count: 0 for the background. Neighbours of one kind other than 0 are joined.
    fn kinds(self, x: &[u32], kinds: &mut [u32]) {
        let cells = kinds.iter_mut().zip(x);
        cells.for_each(|(kind, x)| *kind = x ^ self.background);
    }

    /// Unites runs that touch in two rows, whose kinds begin one place before the rows. `pairs` has room for two of
    /// each cell.
    fn unite_rows(
        self,
        north: &Row<'_>,
        here: &Row<'_>,
        [kinds_north, kinds]: [&[u32]; 2],
        parents: &mut [u32],
        pairs: &mut [[u32; 2]],
    ) {
        let eight = self.label.neighbours == Neighbours::Eight;
        // Whether the last cell of the word to the left touches the one above it.
        let mut west_up = false;
        let mut count = 0;
        let words = here.cells.len();
        for (word, &[inside, begun]) in here.cells.iter().enumerate() {
            let at = word * WORD;
            let linked = inside & !begun;
            let inside_of = |row: &Row<'_>, word: usize| row.cells[word][0];
            let next = word + 1 < words;
            let (up, up_left, up_right) = match (self.label.foreground, eight) {
                (true, _) => {
                    let above = inside_of(north, word);
                    let left = word > 0 && inside_of(north, word - 1) >> (WORD - 1) != 0;
                    let right = u64::from(next && inside_of(north, word + 1) & 1 != 0);
                    let shifted = [
                        above << 1 | u64::from(left),
                        above >> 1 | right << (WORD - 1),
                    ];
                    (inside & above, inside & shifted[0], inside & shifted[1])
                }
                (false, true) => {
                    let [up_left, up, up_right] =
                        [0, 1, 2].map(|k| inside & alike(&kinds[at + 1..], &kinds_north[at + k..]));
                    (up, up_left, up_right)
                }
                (false, false) => {
                    let up = inside & alike(&kinds[at + 1..], &kinds_north[at + 1..]);
                    (up, 0, 0)
                }
            };
            // If the cell to the left belongs to the same run and touches the one above it, both runs are united there.
            let up_events = up & !(linked & (up << 1 | u64::from(west_up)));
            // Nor is anything new if a neighbour in this row touches the same run.
            let (mut left_events, mut right_events) = (0, 0);
            if eight {
                let next_linked =
                    next && here.cells[word + 1][0] & !here.cells[word + 1][1] & 1 != 0;
                let east = linked >> 1 | u64::from(next_linked) << (WORD - 1);
                left_events = up_left & !up & !linked;
                right_events = up_right & !up & !east;
            }
            for (events, shift) in [(left_events, 0), (up_events, 1), (right_events, 2)] {
                each(events, |bit| {
                    let column = at + bit;
                    let above = north.run_of(column + shift - 1);
                    let run = here.run_of(column);
                    // A run takes the smaller of its parent and that of the run above. If it has another parent
                    // already, both are united later: noise would mispredict a branch here.
                    let both = [parents[run], parents[above]];
                    parents[run] = both[0].min(both[1]);
                    pairs[count] = both;
                    count += usize::from(both[0] as usize != run) & usize::from(both[0] != both[1]);
                });
            }
            west_up = up >> (WORD - 1) != 0;
        }
        for &[a, b] in &pairs[..count] {
            unite(parents, a, b);
        }
    }
}

/// The bits of equal values of a word.
fn alike(a: &[u32], b: &[u32]) -> u64 {
    let mut bytes = [0u8; WORD];
    for (byte, (a, b)) in bytes.iter_mut().zip(a[..WORD].iter().zip(&b[..WORD])) {
        *byte = (a == b).into();
    }
    let mut bits = 0;
    for (k, eight) in bytes.chunks_exact(8).enumerate() {
        let eight = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
        // Bit 0 of byte i becomes bit i of the highest byte.
        bits |= (eight.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * k);
    }
    bits
}

/// Visits the bits of a word.
fn each(mut bits: u64, mut visit: impl FnMut(usize)) {
    while bits != 0 {
        visit(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

fn unite(parents: &mut [u32], a: u32, b: u32) {
    let (a, b) = (first_of(parents, a), first_of(parents, b));
    parents[a.max(b) as usize] = a.min(b);
}

/// The first run of a run's component so far.
fn first_of(parents: &mut [u32], run: u32) -> u32 {
    let mut at = run;
    while parents[at as usize] != at {
        let next = parents[parents[at as usize] as usize];
        parents[at as usize] = next;
        at = next;
    }
    at
}
