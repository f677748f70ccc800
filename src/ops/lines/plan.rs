//! Assigns invocations to lines by the length and step of each line only, so that no result depends on other lines.
//!
//! - Consecutive values: the invocations of a line, a power of two and at least 4, hold up to 16 values each in
//!   registers, and combine their statistics in two rounds through workgroup memory.
//! - Strided values: 8 or 32 invocations share a line, and neighbouring invocations process neighbouring lines, so that
//!   they read neighbouring values.
//! - Longer lines are cut into tiles: `lines_parts` writes the statistics of each, `lines_finish` merges them, and a
//!   third dispatch maps the values.
//!
//! Because a dispatch waits for the one before, consecutive lines of all lengths up to 2,048 values share a dispatch,
//! and so do strided ones. The workgroups with the longest lines come first.
//!
//! `reduce_lines` and `cumulate` use the same plan. In a scan, each invocation scans a run of 16 neighbouring values in
//! workgroup memory, beginning with the total of the runs before it.

use crate::plan::{Constants, PlanBuffer, constants};
use crate::ragged::Layout;
use crate::{Error, Result, host};
use std::sync::Arc;

/// `WG` of the shader: invocations of a workgroup.
pub(crate) const WG: usize = 256;
/// `TILE` of the shader: values of a tile. Longer lines are cut.
pub(crate) const TILE: usize = HELD * WG;
/// Values that an invocation holds of a contiguous line.
const HELD: usize = 16;
/// The fewest invocations per contiguous line.
const FEWEST: usize = 4;
/// (Invocations per line, longest line) for strided lines.
const APART: [(usize, usize); 2] = [(8, 1024), (32, TILE)];
/// The largest number of strided lines of a workgroup.
const MOST_APART: usize = WG / APART[0].0;
/// `NARROW` of the shader: invocations of the workgroups for contiguous lines that at most this many invocations share.
/// The sums of a line wait for its whole workgroup, so small workgroups wait less.
const NARROW: usize = 128;
pub(crate) const CUT: Constants = constants![WG, NARROW, TILE, MOST_APART];

/// One class for each power of two up to the invocations of a workgroup.
const CLASSES: usize = WG.ilog2() as usize + 1;

/// The lines of an element: their number, the number of values in each, and the step between these values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lines {
    pub number: u64,
    pub values: usize,
    pub step: usize,
}

impl Lines {
    /// The lines along `axis`, or the whole element as one line.
    pub(crate) fn of(x: &Layout, element: usize, axis: Option<usize>) -> Lines {
        let Some(axis) = axis.filter(|_| x.rank() > 1) else {
            return Lines {
                number: 1,
                values: x.length(element),
                step: 1,
            };
        };
        let shape = x.shape(element);
        let product = |extents: &[u32]| {
            let extents = extents.iter().map(|&extent| u64::from(extent));
            extents.fold(1, u64::saturating_mul)
        };
        let (before, after) = (&shape.extents()[..axis], &shape.extents()[axis + 1..]);
        let step = product(after);
        Lines {
            number: product(before).saturating_mul(step),
            values: shape.extents()[axis] as usize,
            step: step as usize,
        }
    }

    /// Whether the values of every line are consecutive because no axis follows.
    pub(crate) fn are_contiguous(x: &Layout, axis: Option<usize>) -> bool {
        axis.is_none_or(|axis| axis + 1 == x.rank())
    }

    /// Invocations per line; `None` if the line is cut into tiles.
    fn lanes(self) -> Option<usize> {
        if self.step > 1 {
            let class = APART.iter().find(|(_, longest)| self.values <= *longest);
            return class.map(|(lanes, _)| *lanes);
        }
        let lanes = self.values.div_ceil(HELD).next_power_of_two().max(FEWEST);
        (self.values <= TILE).then_some(lanes)
    }
}

/// How the lines of a dispatch lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Contiguous, in workgroups of 256 invocations.
    Wide,
    /// Contiguous, in workgroups of 128 invocations.
    Narrow,
    /// Strided, in workgroups of 256 invocations.
    Apart,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Wide, Kind::Narrow, Kind::Apart];

    fn workgroup(self) -> usize {
        match self {
            Kind::Narrow => NARROW,
            Kind::Wide | Kind::Apart => WG,
        }
    }
}

/// The lines of one dispatch, the longest first.
#[derive(Debug)]
pub(crate) struct Work {
    pub kind: Kind,
    pub groups: u32,
    /// Where the entries begin in `words`.
    pub entries: u32,
    /// The work list that `shaders/lib/line_groups.wgsl` reads.
    pub words: Arc<PlanBuffer>,
    pub values: u64,
}

/// The elements whose lines have the same number of invocations each, and the number of their lines.
type Class = Vec<(u32, usize)>;

impl Work {
    /// `classes` are indexed by the logarithm of the invocations per line.
    fn new(kind: Kind, classes: &[Class; CLASSES], values: u64) -> Result<Option<Work>> {
        // Four words for each workgroup: its first and its last entry, its first line, and how many lines it has.
        let (mut groups, mut entries) = (Vec::new(), Vec::new());
        for (log, elements) in classes.iter().enumerate().rev() {
            let (first, each) = (groups.len(), kind.workgroup() >> log);
            let mut lines = 0;
            for &(element, number) in elements {
                let entry = (entries.len() / 2) as u32;
                host::extend(&mut entries, [lines as u32, element])?;
                let begin = lines;
                lines += number;
                while (groups.len() - first) / GROUP_WORDS * each < lines {
                    let line = (groups.len() - first) / GROUP_WORDS * each;
                    if groups.len() > first {
                        // The previous workgroup ends with this entry, if the entry began there.
                        let last = groups.len() - GROUP_WORDS + 1;
                        groups[last] = if begin < line { entry } else { entry - 1 };
                    }
                    host::extend(&mut groups, [entry, entry, line as u32, 0])?;
                }
            }
            if groups.len() > first {
                let last = groups.len() - GROUP_WORDS + 1;
                groups[last] = (entries.len() / 2) as u32 - 1;
            }
            for group in groups[first..].chunks_exact_mut(GROUP_WORDS) {
                let lines = (lines - group[2] as usize).min(each) as u32;
                group[3] = log as u32 | lines << 8;
            }
        }
        if groups.is_empty() {
            return Ok(None);
        }
        let begin = groups.len() as u32;
        host::reserve(&mut groups, entries.len())?;
        groups.extend(entries);
        Ok(Some(Work {
            kind,
            groups: begin / GROUP_WORDS as u32,
            entries: begin,
            words: PlanBuffer::new(groups),
            values,
        }))
    }
}

/// Words per workgroup in the work list.
const GROUP_WORDS: usize = 4;

/// The lines that are cut into tiles.
#[derive(Debug)]
pub(crate) struct Long {
    pub tiles: u32,
    /// `[element, line, tile, number among these lines]` for each tile.
    pub items: Arc<PlanBuffer>,
    pub number: u32,
    /// `[index of the result, first tile, tiles]` for each line.
    pub finish: Arc<PlanBuffer>,
}

/// All lines of a batch.
#[derive(Debug)]
pub(crate) struct Plan {
    pub work: Vec<Work>,
    pub long: Option<Long>,
}

impl Plan {
    /// `result` is the layout of one value per line; without it, lines without values need no work.
    pub(crate) fn new(x: &Layout, axis: Option<usize>, result: Option<&Layout>) -> Result<Plan> {
        // For each kind.
        let mut classes: [[Class; CLASSES]; 3] = Default::default();
        let mut values = [0u64; 3];
        let (mut items, mut finish) = (Vec::new(), Vec::new());
        let (mut tiles, mut number) = (0u32, 0u32);
        for element in 0..x.len() {
            let lines = Lines::of(x, element, axis);
            if result.is_none() && x.length(element) == 0 {
                continue;
            }
            if let Some(lanes) = lines.lanes() {
                if lines.number > 0 {
                    let kind = match lines.step {
                        0 | 1 if lanes <= NARROW => Kind::Narrow,
                        0 | 1 => Kind::Wide,
                        _ => Kind::Apart,
                    };
                    values[kind as usize] += lines.number * lines.values.max(1) as u64;
                    let class = &mut classes[kind as usize][lanes.ilog2() as usize];
                    host::push(class, (element as u32, lines.number as usize))?;
                }
                continue;
            }
            let each = lines.values.div_ceil(TILE);
            for line in 0..lines.number {
                let place = match result {
                    Some(result) => result.offsets().as_slice()[element] + line as u32,
                    None => number,
                };
                host::extend(&mut finish, [place, tiles, each as u32])?;
                for tile in 0..each {
                    let item = [element as u32, line as u32, tile as u32, number];
                    host::extend(&mut items, item)?;
                }
                let more = tiles.checked_add(each as u32);
                tiles = more.ok_or_else(|| {
                    Error::size_overflow(format!(
                        "a work list of at least {} tiles",
                        u64::from(tiles) + each as u64
                    ))
                    .at(element)
                })?;
                number += 1;
            }
        }
        let mut work = Vec::new();
        for kind in Kind::ALL {
            let (classes, values) = (&classes[kind as usize], values[kind as usize]);
            work.extend(Work::new(kind, classes, values)?);
        }
        let long = (number > 0).then(|| Long {
            tiles,
            items: PlanBuffer::new(items),
            number,
            finish: PlanBuffer::new(finish),
        });
        Ok(Plan { work, long })
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::ragged::Shape;

    #[apply(unit_test)]
    fn every_line_is_in_one_class_or_cut() {
        let shapes = [[3, 128], [2, 129], [1, 4097], [4, 0], [5, 513]];
        let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
        let x = Layout::from_shapes(2, shapes).unwrap();
        let result = Layout::from_lengths([3, 2, 1, 4, 5]).unwrap();
        let plan = Plan::new(&x, Some(1), Some(&result)).unwrap();
        let [work] = &plan.work[..] else {
            panic!("{plan:?}");
        };
        // Workgroups of 64, 16 and 8 invocations per line, and of 4 for lines without values.
        let groups = [
            [0, 0, 0, 6 | 2 << 8],
            [0, 0, 2, 6 | 2 << 8],
            [0, 0, 4, 6 | 1 << 8],
            [1, 1, 0, 4 | 2 << 8],
            [2, 2, 0, 3 | 3 << 8],
            [3, 3, 0, 2 | 4 << 8],
        ];
        let entries = [[0, 4], [0, 1], [0, 0], [0, 3]];
        assert_eq!(
            work.words.data(),
            [&groups.concat()[..], &entries.concat()].concat()
        );
        assert_eq!(
            (work.kind, work.groups, work.entries, work.values),
            (Kind::Narrow, 6, 24, 3211)
        );
        let long = plan.long.unwrap();
        assert_eq!((long.tiles, long.number), (2, 1));
        assert_eq!(long.items.data(), [2, 0, 0, 0, 2, 0, 1, 0]);
        assert_eq!(long.finish.data(), [5, 0, 2]);
        // Unless each line has one result, lines without values are left out; columns are strided lines.
        let plan = Plan::new(&x, Some(0), None).unwrap();
        let [work] = &plan.work[..] else {
            panic!("{plan:?}");
        };
        assert_eq!(work.kind, Kind::Apart);
        let group = |at: usize| &work.words.data()[4 * at..][..4];
        let full = 3 | 32 << 8;
        assert_eq!(group(3), [0, 0, 96, full]);
        assert_eq!(group(4), [1, 1, 128, full]);
        assert_eq!(group(8), [1, 2, 256, full]);
        assert_eq!(work.groups, (128u32 + 129 + 4097 + 513).div_ceil(32));
        assert!(plan.long.is_none());
    }
}
