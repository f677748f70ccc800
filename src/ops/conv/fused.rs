//! Convolutions whose transforms fit one workgroup: both transforms, the product and the inverse in one kernel, for a
//! whole batch in one or two dispatches.
//!
//! A pair is convolved by right-angle transforms of N values ([`butterfly`](crate::ops::butterfly)), where N is the
//! smallest power of two with m + n − 1 ≤ 2 N, or directly by a few lanes if it is short. The kernel reads operands
//! once and writes results once. The computation of an item depends on the item alone: the work list only assigns items
//! to workgroups, longest transforms first. NaN and infinity spread over the whole result of their item, and no
//! further.

pub(super) mod text;

use crate::ops::butterfly::Generator;
use crate::ops::butterfly::{Kind, Transform};
use crate::ops::choice::FEW_RESULTS;
use crate::plan::{
    Dispatch, Interface, Kernel, Param, PlanBuffer, Slot, Table, constants, params, place_of,
    shader, slots,
};
use crate::{Result, host};

slots! {
    struct Slots { a: Read, b: Read, c: Write, items: Read, twiddles: Read }
}

params! {
    struct Params { a_base, b_base, ends: [ENDS] }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("conv/fused"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[constants![REVERSED, WINDOWED, LENGTH_BITS]],
    variants: &BUILDS,
};

/// Parameter words that say where the classes of a build end, two for each class: numbers of workgroups and items.
const ENDS: usize = 24;

/// A build of the kernel. Long transforms take more registers and memory, and every item of the same build pays for
/// them, so short transforms have separate builds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Build {
    flag: &'static str,
    results: Results,
    /// log2 of the invocations of a workgroup.
    log_group: u32,
    classes: &'static [Class],
    /// A part of a build has the code of this class only.
    part: Option<&'static Class>,
}

/// What becomes of the results of an item.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Results {
    Stored,
    /// Added to the output.
    Added,
    /// Only the largest one and its index are stored.
    Largest,
}

/// For transforms of up to 1024 values.
const SMALL: Build = Build {
    flag: "SMALL",
    results: Results::Stored,
    log_group: 7,
    classes: CLASSES.split_at(CLASSES.len() - 2).0,
    part: None,
};
/// For transforms of up to 2048 values.
const MEDIUM: Build = Build {
    flag: "MEDIUM",
    classes: CLASSES.split_at(CLASSES.len() - 1).0,
    ..SMALL
};
/// For transforms of 4096 values only.
const LARGE: Build = Build {
    flag: "LARGE",
    log_group: 8,
    classes: CLASSES.split_at(CLASSES.len() - 1).1,
    ..SMALL
};
const ADDING: Build = Build {
    results: Results::Added,
    ..LARGE
};
const SEEKING: Build = Build {
    results: Results::Largest,
    classes: MEDIUM.classes.split_at(1).1,
    ..MEDIUM
};
const SEEKING_LARGE: Build = Build {
    results: Results::Largest,
    ..LARGE
};
static BUILDS: [Build; 6] = [SMALL, MEDIUM, LARGE, ADDING, SEEKING, SEEKING_LARGE];

/// A class of items that share their code.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Class {
    /// The flag of the part of a build that has this class.
    flag: &'static str,
    /// N, or 0 for items that are convolved directly.
    pub length: u32,
    /// log2 of the values that an invocation holds.
    pub held: u32,
    /// log2 of the radix of each stage. The first stage's twiddles are constants, so a radix unlike the others is best
    /// there.
    pub radices: &'static [u32],
}

impl Class {
    const fn sums() -> Class {
        Class {
            flag: "SUMS",
            length: 0,
            held: 0,
            radices: &[],
        }
    }

    pub(super) const fn transforms(
        flag: &'static str,
        length: u32,
        held: u32,
        radices: &'static [u32],
    ) -> Class {
        Class {
            flag,
            length,
            held,
            radices,
        }
    }

    /// One of its transforms, without a name.
    pub(super) fn transform(&self, kind: Kind) -> Transform<'static> {
        Transform {
            name: "",
            kind,
            radices: self.radices,
            held: self.held,
            whole: false,
            product: false,
            twiddled: false,
            columns: 0,
            regrouped: false,
        }
    }

    /// log2 of the invocations per item.
    pub(super) fn log_lanes(&self) -> u32 {
        match self.length {
            // Each invocation computes a few results, one after the other, so that many items run at once.
            0 => 3,
            length => length.ilog2() - self.held,
        }
    }
}

/// All classes, by length. Radix 16 saves an exchange; in long transforms that outweighs the registers it takes.
const CLASSES: &[Class] = &[
    Class::sums(),
    Class::transforms("N32", 32, 3, &[2, 3]),
    Class::transforms("N64", 64, 3, &[3, 3]),
    Class::transforms("N128", 128, 3, &[1, 3, 3]),
    Class::transforms("N256", 256, 3, &[2, 3, 3]),
    Class::transforms("N512", 512, 3, &[3, 3, 3]),
    Class::transforms("N1024", 1024, 3, &[1, 3, 3, 3]),
    Class::transforms("N2048", 2048, 4, &[3, 4, 4]),
    Class::transforms("N4096", 4096, 4, &[4, 4, 4]),
];

static TWIDDLES: Table = Table {
    name: "conv_fused",
    make: table,
};

/// The twiddles of all builds.
fn table() -> Vec<u32> {
    let mut generator = Generator::padded();
    for class in CLASSES.iter().filter(|class| class.length > 0) {
        transforms(&mut generator, class);
    }
    generator.into_table()
}

/// The two transforms of a class.
fn transforms(generator: &mut Generator, class: &Class) -> String {
    let mut transform = |way, kind, product| {
        generator.function(&Transform {
            name: &format!("{way}_{}", class.length),
            product,
            ..class.transform(kind)
        })
    };
    transform("forward", Kind::ForwardRightAngle, false)
        + &transform("inverse", Kind::InverseRightAngle, true)
}

/// One convolution, or a block of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// N, from [`transform_length`], or 0 to convolve directly, which is fast for at most [`FEW_RESULTS`] results.
    pub length: u32,
    /// The offset of a's values from the operand's base, and their number, 1 to 2 N.
    pub a: u32,
    pub m: u32,
    /// The same for b.
    pub b: u32,
    pub n: u32,
    /// Whether b is read backwards.
    pub reversed: bool,
    /// The offset of the first result that is written.
    pub c: u32,
    /// The results to write: of the m + n − 1 results, `write` of them from `skip` on. Where m + n − 1 > 2 N, the first
    /// m + n − 1 − 2 N results are wrong because they wrap around; overlap-save skips them.
    pub skip: u32,
    pub write: u32,
}

/// The N of the transform that convolves m and n values, neither 0, or `None` if no transform is long enough.
#[cfg(feature = "testing")]
pub(crate) fn transform_length(m: usize, n: usize) -> Option<u32> {
    let half = (m + n - 1).div_ceil(2);
    let class = CLASSES.partition_point(|class| (class.length as usize) < half.max(1));
    CLASSES.get(class).map(|class| class.length)
}

/// Whether the kernel has transforms of this length.
pub(crate) fn holds(length: u32) -> bool {
    CLASSES.last().is_some_and(|class| length <= class.length)
}

/// Bits of a length in an item.
const LENGTH_BITS: u32 = 14;
const REVERSED: u32 = 1 << (2 * LENGTH_BITS);
const WINDOWED: u32 = REVERSED << 1;

/// An operand: the buffer of its values, and the offset of the first.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub values: Slot,
    pub base: Param,
}

/// The class of items of this length, which is 0 or a power of two, at least the shortest transform's.
fn class_of(length: u32) -> usize {
    const BEFORE: u32 = CLASSES[1].length / 2;
    ((length | BEFORE).ilog2() - BEFORE.ilog2()) as usize
}

/// The class of items that are not kept.
const NOWHERE: usize = CLASSES.len();

/// The number of items of each class.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts([usize; CLASSES.len()]);

impl Counts {
    /// Adds to the number of items of this length.
    pub(crate) fn add(&mut self, length: u32, items: usize) {
        self.0[class_of(length)] += items;
    }

    pub(crate) fn of(items: &[Item]) -> Counts {
        let mut counts = Counts::default();
        items.iter().for_each(|item| counts.add(item.length, 1));
        counts
    }

    fn class(&self, class: &Class) -> usize {
        self.0[class_of(class.length)]
    }
}

/// The work lists of at most two dispatches: one for the longest transforms, and one for the rest.
pub(crate) struct Items([List; 2]);

impl Items {
    /// For items whose results are stored.
    pub(crate) fn new(counts: Counts) -> Result<Items> {
        let mut longer = MEDIUM.classes[SMALL.classes.len()..].iter();
        // One dispatch runs all but the longest transforms, by the smallest build that has them.
        let build = match longer.all(|class| counts.class(class) == 0) {
            true => &SMALL,
            false => &MEDIUM,
        };
        let list = |build| List::new(build, counts);
        Ok(Items([list(&LARGE)?, list(build)?]))
    }

    /// For items that all take the longest transform and add their results to the output.
    pub(crate) fn adding(items: &[Item]) -> Result<Items> {
        let counts = [Counts::of(items), Counts::default()];
        Items::of([&ADDING, &SMALL], counts, items)
    }

    /// For items of which only the largest result is kept, as (value, index) in two words from word 2 `c` on. All
    /// results are searched, and no item is convolved directly.
    pub(crate) fn seeking(items: &[Item]) -> Result<Items> {
        Items::of([&SEEKING_LARGE, &SEEKING], [Counts::of(items); 2], items)
    }

    fn of(builds: [&'static Build; 2], counts: [Counts; 2], items: &[Item]) -> Result<Items> {
        let [large, rest] = builds;
        let mut lists = Items([List::new(large, counts[0])?, List::new(rest, counts[1])?]);
        items.iter().try_for_each(|item| lists.push(item))?;
        Ok(lists)
    }

    /// Adds an item, which must have been counted. Callers build each item for this call only: storing the items in
    /// memory would cost more than everything else.
    #[inline(always)]
    pub(crate) fn push(&mut self, item: &Item) -> Result<()> {
        self.push_if(true, item)
    }

    /// Adds an item if it is wanted, without a branch.
    #[inline(always)]
    pub(crate) fn push_if(&mut self, wanted: bool, item: &Item) -> Result<()> {
        let class = match wanted {
            true => class_of(item.length),
            false => NOWHERE,
        };
        self.0[usize::from(class < MEDIUM.classes.len())].push(class, item)
    }

    /// The dispatches that run every item; none if there are no items.
    pub(crate) fn dispatches(self, a: &Operand, b: &Operand, c: &Slot) -> Result<Vec<Dispatch>> {
        let lists = self.0.into_iter().filter(|list| list.items > 0);
        lists.map(|list| list.dispatch(a, b, c)).collect()
    }
}

/// The work list of a dispatch: its items, longest transforms first, and the windows that they refer to.
struct List {
    build: &'static Build,
    counts: Counts,
    items: usize,
    words: Vec<u32>,
    /// The place of the next item of each class. That of `NOWHERE` is after all items, and is written but not kept.
    next: [usize; CLASSES.len() + 1],
    windows: Vec<u32>,
}

impl List {
    /// An empty list for the counted items that the build supports.
    fn new(build: &'static Build, counts: Counts) -> Result<List> {
        let mut next = [0; CLASSES.len() + 1];
        let mut items = 0;
        for class in build.classes.iter().rev() {
            next[class_of(class.length)] = items;
            items += counts.class(class);
        }
        next[NOWHERE] = items;
        Ok(List {
            build,
            counts,
            items,
            words: host::zeroed(4 * (items + 1))?,
            next,
            windows: Vec::new(),
        })
    }

    #[inline(always)]
    fn push(&mut self, class: usize, item: &Item) -> Result<()> {
        let mut lengths = item.m | item.n << LENGTH_BITS;
        if item.reversed {
            lengths |= REVERSED;
        }
        let mut c = item.c;
        let whole = (item.skip == 0) & (item.write == item.m.wrapping_add(item.n).wrapping_sub(1));
        if !whole & (class != NOWHERE) {
            lengths |= WINDOWED;
            // Windows follow the items, and are numbered in units of four words like them.
            c = (self.items + self.windows.len() / 4) as u32;
            let window = [item.c, item.skip, item.write, 0];
            host::extend(&mut self.windows, window)?;
        }
        let place = &mut self.next[class];
        self.words[4 * *place..][..4].copy_from_slice(&[item.a, item.b, c, lengths]);
        *place += usize::from(class != NOWHERE);
        Ok(())
    }

    fn dispatch(self, a: &Operand, b: &Operand, c: &Slot) -> Result<Dispatch> {
        let mut ends = [Param::U32(0); ENDS];
        let (mut groups, mut before, mut cost) = (0, 0, 0);
        for (number, class) in self.build.classes.iter().rev().enumerate() {
            let items = self.counts.class(class);
            groups += items.div_ceil(1 << (self.build.log_group - class.log_lanes()));
            before += items;
            ends[2 * number] = Param::U32(groups as u32);
            ends[2 * number + 1] = Param::U32(before as u32);
            // Butterflies take fifteen operations per value and bit; direct items take products.
            cost += items as u64
                * match class.length {
                    0 => FEW_RESULTS * FEW_RESULTS / 4,
                    length => u64::from(15 * length * length.ilog2()),
                };
        }
        let mut words = self.words;
        words.truncate(4 * self.items);
        host::extend(&mut words, self.windows)?;
        Ok(Dispatch::new(
            (&KERNEL, place_of(&BUILDS, self.build)),
            Slots {
                a: a.values.clone(),
                b: b.values.clone(),
                c: c.clone(),
                items: Slot::PlanBuffer(PlanBuffer::new(words)),
                twiddles: Slot::Table(&TWIDDLES),
            },
            Params {
                a_base: a.base,
                b_base: b.base,
                ends,
            },
            groups as u32,
            cost,
        ))
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn every_class_is_found_by_its_length() {
        for (number, class) in CLASSES.iter().enumerate() {
            assert_eq!(class_of(class.length), number);
        }
    }
}
