//! Strided copies, in which each value of the result is a value of the source or zero: slices, padding, reversal,
//! other boxes, values placed apart, broadcasts, stacks and windows.
//!
//! An element of the result reads one element of the source, axis by axis. Along an axis of the result, it reads from a
//! shift on, backwards, every n-th value, or one value repeatedly; or only every n-th of its values has a source value.
//! Anything outside the source's box is zero. Axes that can be merged are merged first, so that nearly everything
//! becomes contiguous runs.
//!
//! Cost: the source values that are used read once, the result written once, in one dispatch.
//!
//! `strided` copies runs, `transpose` larger matrices in tiles, and `strided_boxes` does the rest: for each element, it
//! computes (first, count, stride) of each axis once per tile.

mod cut;
mod launch;
mod rules;
mod stacks;
mod twin;
mod views;

use crate::Result;
use crate::plan::{Interface, Kernel, merge, params, shader, slots, variants};
use crate::ragged::{Layout, MAX_RANK};

pub(crate) use cut::Cut;
pub(crate) use rules::{Begin, How, Strided, Turn, check_axes, check_flip, check_transpose};
pub(crate) use rules::{extent_of, layout};
pub(crate) use stacks::Groups;
pub(crate) use views::{Fold, View};

slots! {
    struct Slots { x: Read, x_meta: Read, c: Write, c_meta: Read }
}

params! {
    struct RunParams {
        total, elements, tile, x_base, x_elements, rank, size, stride, shift, backwards, align, words,
    }
}

params! {
    struct BoxParams {
        total, elements, tile, x_base, x_elements, rank, size, stride, along, flags, shift: [MAX_RANK],
        step: [MAX_RANK],
    }
}

static RUNS: Kernel = Kernel {
    shader: shader!("strided/mod"),
    interface: Interface::of::<Slots, RunParams>(),
    constants: &[],
    variants: variants![U32, F16, U8],
};

static BOXES: Kernel = Kernel {
    shader: shader!("strided/boxes"),
    interface: Interface::of::<Slots, BoxParams>(),
    constants: &[],
    variants: variants![
        U32, C32, F16, U8, U32 "RANK2", C32 "RANK2", F16 "RANK2", U8 "RANK2", U32 "PLACED",
        C32 "PLACED", F16 "PLACED", U32 "PLACED" "RANK2", C32 "PLACED" "RANK2",
        F16 "PLACED" "RANK2"
    ],
};

/// A shift this large reads nothing: no extent exceeds it.
const FAR: i64 = 1 << 40;

/// The shift as passed to a kernel, which counts in units of `words` words. A clamped shift reads nothing: an element
/// on a GPU has fewer than 2³¹ units.
fn on_gpu(shift: i64, words: u32) -> u32 {
    let far = i64::from(i32::MAX) / i64::from(words.max(1));
    shift.clamp(-far, far) as u32
}

/// An axis of the source.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// The axis of the result along which this axis is read.
    along: usize,
    read: Read,
}

/// How one axis of the source is read.
#[derive(Clone, Copy, Debug)]
enum Read {
    /// From this source index on, which may lie outside.
    From(i64),
    /// So that the last values of source and result correspond.
    ToEnd,
    /// So that their middles correspond: with half of the difference of their extents before the shorter one, rounded
    /// down.
    Centred,
    Backwards,
    /// Only the values of a cut.
    Cut(Cut),
    /// To the places that a cut of the result would read; the result has no source value elsewhere.
    Place(Cut),
}

impl Read {
    fn from(index: i64) -> Read {
        Read::From(index.clamp(-FAR, FAR))
    }

    /// Whether it reads the whole axis if the extents agree.
    fn is_whole(self) -> bool {
        matches!(
            self,
            Read::From(0) | Read::ToEnd | Read::Centred | Read::Backwards
        )
    }

    fn is_backwards(self) -> bool {
        matches!(self, Read::Backwards)
    }

    /// Whether neighbours in the result are neighbours in the source.
    fn is_dense(self) -> bool {
        !matches!(self, Read::Cut(_) | Read::Place(_))
    }
}

/// Which element of the source is read, and how.
#[derive(Clone, Debug)]
struct Reading {
    /// One for each axis of the source.
    axes: Vec<Axis>,
    /// Whether an extent of 1 is repeated.
    repeat: bool,
    /// Element e of the result reads element `e / size · stride + e % size` for (size, stride); (1, 1) is the identity.
    windows: (u32, u32),
}

impl Reading {
    /// Reads every axis along itself, starting at these indices.
    fn shifted(shifts: impl IntoIterator<Item = i64>) -> Reading {
        Reading::along_itself(shifts.into_iter().map(Read::from))
    }

    /// Reads every axis along itself.
    fn along_itself(reads: impl IntoIterator<Item = Read>) -> Reading {
        let axes = reads.into_iter().enumerate();
        Reading {
            axes: axes.map(|(along, read)| Axis { along, read }).collect(),
            repeat: false,
            windows: (1, 1),
        }
    }

    /// Reads every axis along itself, from its start.
    fn plain(rank: usize) -> Reading {
        Reading::shifted(std::iter::repeat_n(0, rank))
    }

    /// The index of the element that element `e` of the result reads; there may be no such element.
    fn source(&self, e: usize) -> usize {
        let (size, stride) = self.windows;
        e / size as usize * stride as usize + e % size as usize
    }

    /// Bit a: along axis a of the result, every element reads the whole of one axis of its source.
    fn whole(&self, x: &Layout, y: &Layout) -> u32 {
        let rank = x.rank();
        let mut whole = 0;
        for axis in &self.axes {
            whole |= u32::from(axis.read.is_whole()) << axis.along;
        }
        if rank == 1 {
            // There is nothing to merge the only axis with, and runs may end anywhere.
            return if self.repeat { 0 } else { whole };
        }
        for e in 0..y.len() {
            let from = self.source(e);
            if from >= x.len() {
                continue;
            }
            for (axis, there) in self.axes.iter().zip(&x.extents()[from * rank..]) {
                let request = y.extents()[e * rank + axis.along];
                whole &= !(u32::from(*there != request) << axis.along);
            }
            if whole == 0 {
                break;
            }
        }
        whole
    }
}

/// A copy whose axes are merged as far as possible, as the kernels need it.
#[derive(Clone, Debug)]
struct Merged {
    reading: Reading,
    /// `None` stands for the original layout.
    x: Option<Layout>,
    y: Option<Layout>,
    /// Whether contiguous values of the result are contiguous in the source, all forward or all backwards: rank 1, or
    /// rank 2 with whole rows.
    runs: bool,
}

impl Merged {
    fn new(reading: &Reading, x: &Layout, y: &Layout) -> Result<Merged> {
        let rank = x.rank();
        let whole = reading.whole(x, y);
        let mut of_result = [0; MAX_RANK];
        for (j, axis) in reading.axes.iter().enumerate() {
            of_result[axis.along] = j;
        }
        // Bit a (axis a of the result) and bit j (axis j of the source) mark the first axis of each merged group.
        let (mut begins, mut x_begins) = (0u32, 0u32);
        for a in 0..rank {
            let j = of_result[a];
            let joins = a > 0 && j > 0 && of_result[a - 1] == j - 1 && whole >> a & 1 == 1 && {
                let (outer, inner) = (reading.axes[j - 1].read, reading.axes[j].read);
                // The last values of merged axes correspond if those of the outer axis do, but not their middles.
                outer.is_whole()
                    && !matches!(outer, Read::Centred)
                    && outer.is_backwards() == inner.is_backwards()
                    && !((outer.is_backwards() || reading.repeat) && whole >> (a - 1) & 1 == 0)
            };
            begins |= u32::from(!joins) << a;
            x_begins |= u32::from(!joins) << j;
        }
        let axes = reading.axes.iter().enumerate();
        let axes = axes.filter(|(j, _)| x_begins >> j & 1 == 1);
        let axes: Vec<Axis> = axes
            .map(|(_, axis)| Axis {
                // The number of groups before it.
                along: (begins & ((1 << axis.along) - 1)).count_ones() as usize,
                ..*axis
            })
            .collect();
        let last_whole = whole >> (rank - 1) & 1 == 1;
        let runs = axes.iter().all(|axis| axis.read.is_dense())
            && match axes[..] {
                [_] => !reading.repeat || last_whole,
                // A matrix of whole rows that is read to its end was merged.
                [outer, inner] => {
                    (outer.along, inner.along) == (0, 1)
                    && matches!(outer.read, Read::From(_))
                    && !(inner.read.is_backwards() || reading.repeat)
                    // All axes of the inner group are whole if the last axis begins it or joins it.
                    && (0..rank).skip(1).all(|a| {
                        begins >> a == 0 || whole >> a & 1 == 1
                    })
                }
                _ => false,
            };
        Ok(Merged {
            reading: Reading { axes, ..*reading },
            x: merge(x, x_begins)?,
            y: merge(y, begins)?,
            runs,
        })
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::ragged::DType;

    /// The largest shifts in a buffer of 4 GiB: an f16 element there has 2³¹ − 8 values, a complex one 2²⁹ − 2.
    /// A batch of bytes is limited to 2³¹ − 16.
    #[apply(unit_test)]
    fn far_shifts_reach_kernels_as_they_are() {
        for (dtype, longest) in [
            (DType::U8, (1i64 << 31) - 16),
            (DType::F16, (1i64 << 31) - 8),
            (DType::F32, (1 << 30) - 4),
            (DType::C32, (1 << 29) - 2),
        ] {
            let words = dtype.words(1) as u32;
            for shift in [1 << 29, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, longest - 1]
                .into_iter()
                .filter(|shift| *shift < longest)
            {
                for shift in [shift, -shift] {
                    assert_eq!(on_gpu(shift, words) as i32, shift as i32, "{dtype:?}");
                    let units = on_gpu(shift, words) as i32;
                    assert!(
                        units.checked_mul(words as i32).is_some(),
                        "{dtype:?} {shift}"
                    );
                }
            }
            // A larger shift reads nothing and does not wrap around.
            for shift in [longest, 1 << 31, 1 << 32, FAR] {
                let there = on_gpu(shift, words) as i32;
                assert!(i64::from(there) >= longest, "{dtype:?} {shift}: {there}");
                assert!(there.checked_mul(words as i32).is_some(), "{dtype:?}");
                assert_eq!(on_gpu(-shift, words) as i32, -there);
            }
        }
    }
}
