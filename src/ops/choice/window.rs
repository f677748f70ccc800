//! The results of a convolution to keep, and the geometry of two boxes that are convolved.

use crate::plan::Constants;
use crate::ragged::{Layout, Pairs};
use crate::{Error, Result};

/// Which results of the full convolution of m and n values are kept, along each axis.
///
/// | mode | results | first result |
/// | --- | --- | --- |
/// | `Full` | m + n − 1 | 0 |
/// | `Same` | m | ⌊(n − 1) / 2⌋ |
/// | `Valid` | m − n + 1, none where n > m | n − 1 |
/// | `Causal` | m | 0 |
///
/// m is the left operand's extent and n the right operand's, unless
/// [`Convolution::side`](crate::conv::Convolution::side) swaps them. Operands are never swapped by their lengths:
/// without that call, a mode other than `Full` refuses a pair whose left operand is the shorter one along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ConvMode {
    /// All results.
    #[default]
    Full,
    /// As many results as the left operand has values, from the middle.
    Same,
    /// The results that depend on every value of the right operand.
    Valid,
    /// As many results as the left operand has values, from the beginning: those of a causal filter.
    Causal,
}

impl ConvMode {
    /// The values of `p.mode` that kernels compare with; in all other modes, the first result is the first kept one.
    pub(crate) const CODES: Constants = &[
        ("SAME", ConvMode::Same as u32),
        ("VALID", ConvMode::Valid as u32),
    ];
}

/// The largest number of axes of a convolution.
pub(crate) const AXES: usize = 3;

/// The results that the caller requests of every pair: a mode and strides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Window {
    pub mode: ConvMode,
    /// Whether the left operand may be shorter than the right one, although a mode takes its extents.
    pub any_left: bool,
    /// Every s-th result of the mode is kept, along each axis. Unused if no strides were given.
    strides: [usize; AXES],
    /// The number of strides that were given, which may be 0 or above [`AXES`]; `None` if none were set.
    given: Option<usize>,
}

impl Window {
    /// All results of a mode, for left operands of any length.
    pub(crate) fn new(mode: ConvMode) -> Window {
        Window {
            mode,
            any_left: true,
            ..Window::default()
        }
    }

    pub(crate) fn set_strides(&mut self, strides: &[usize]) {
        let kept = strides.len().min(AXES);
        self.strides = [0; AXES];
        self.strides[..kept].copy_from_slice(&strides[..kept]);
        self.given = Some(strides.len());
    }

    /// Checks that operands of these layouts have the same rank, 1 to 3, that the strides fit it, and that no left
    /// operand is the shorter one of its pair where that needs to be asked for.
    pub(crate) fn check(&self, (a, b): (&Layout, &Layout), pairs: &Pairs) -> Result<()> {
        let rank = a.rank();
        if rank > AXES {
            return Err(Error::rank(format!("1 to {AXES}"), rank));
        }
        b.check_rank_of(a, "the left batch")?;
        let wrong = |expected: String, got: usize| Err(Error::stride(expected, got));
        if let Some(given) = self.given {
            if given != rank {
                return wrong(format!("a stride for each axis, {rank} in all"), given);
            }
            if self.strides[..rank].contains(&0) {
                return wrong("strides of 1 or more".to_owned(), 0);
            }
        }
        match self.any_left || self.mode == ConvMode::Full {
            true => Ok(()),
            false => self.check_left((a, b), pairs),
        }
    }

    /// Checks that no left operand is shorter than the right one of its pair along an axis, unless one is empty, whose
    /// results are empty either way.
    fn check_left(&self, (a, b): (&Layout, &Layout), pairs: &Pairs) -> Result<()> {
        for (pair, (i, j)) in pairs.iter().enumerate() {
            let meeting = self.meeting(a, b, (i, j));
            let axes = (0..meeting.rank).map(|axis| &meeting.axes[place(meeting.rank, axis)]);
            if let Some((axis, along)) = axes.enumerate().find(|(_, along)| along.m < along.n) {
                return Err(Error::shorter(
                    pair,
                    axis,
                    along.m as usize,
                    along.n as usize,
                ));
            }
        }
        Ok(())
    }

    /// Whether the operands are vectors and the window keeps all results.
    pub(crate) fn is_whole(&self, rank: usize) -> bool {
        rank == 1 && self.mode == ConvMode::Full && self.stride(0) == 1
    }

    /// The stride along an axis of the operands. Any stride above the extents is equivalent to `u32::MAX`.
    pub(crate) fn stride(&self, axis: usize) -> u32 {
        match self.given {
            None => 1,
            Some(_) => u32::try_from(self.strides[axis]).unwrap_or(u32::MAX),
        }
    }

    /// The strides of the axes of a [`Meeting`].
    pub(crate) fn strides(&self, rank: usize) -> [u32; AXES] {
        spread(rank, |axis| self.stride(axis))
    }

    /// The [`Meeting`] of every pair, in order. The layouts must have been checked.
    pub(crate) fn meetings<'a>(
        &'a self,
        a: &'a Layout,
        b: &'a Layout,
        pairs: &'a Pairs,
    ) -> impl ExactSizeIterator<Item = Meeting> + 'a {
        pairs.iter().map(|(i, j)| self.meeting(a, b, (i, j)))
    }

    /// The [`Meeting`] of element i of one batch with element j of the other.
    pub(crate) fn meeting(&self, a: &Layout, b: &Layout, (i, j): (usize, usize)) -> Meeting {
        let rank = a.rank();
        let (m, n) = (a.shape(i), b.shape(j));
        let extents = |axis: usize| (m.extents()[axis], n.extents()[axis]);
        let empty = m.is_empty() || n.is_empty();
        let mut axes = [Along::ONE; AXES];
        for axis in 0..rank {
            axes[place(rank, axis)] = match empty {
                true => Along::NONE,
                false => Along::new(self.mode, extents(axis), self.stride(axis)),
            };
        }
        Meeting { axes, rank }
    }
}

/// The place of an operand's axis among the three of a [`Meeting`].
///
/// Along the second axis the kernel computes several results at a time, so a vector lies along it, as a column.
fn place(rank: usize, axis: usize) -> usize {
    match rank {
        1 | 2 => axis + 1,
        _ => axis,
    }
}

fn spread(rank: usize, value: impl Fn(usize) -> u32) -> [u32; AXES] {
    let mut all = [1; AXES];
    (0..rank).for_each(|axis| all[place(rank, axis)] = value(axis));
    all
}

/// One axis of two boxes that are convolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Along {
    pub m: u32,
    pub n: u32,
    /// The first kept result, the number of kept results, and the distance between them.
    pub first: u32,
    pub kept: u64,
    pub stride: u32,
}

impl Along {
    /// The first kept result of vectors of m and n values, and the number of kept results, for a stride of 1.
    pub(crate) fn kept(mode: ConvMode, (m, n): (u32, u32)) -> (u32, u64) {
        let axis = match m == 0 || n == 0 {
            true => Along::NONE,
            false => Along::new(mode, (m, n), 1),
        };
        (axis.first, axis.kept)
    }

    const ONE: Along = Along {
        m: 1,
        n: 1,
        first: 0,
        kept: 1,
        stride: 1,
    };
    const NONE: Along = Along {
        m: 0,
        n: 0,
        first: 0,
        kept: 0,
        stride: 1,
    };

    fn new(mode: ConvMode, (m, n): (u32, u32), stride: u32) -> Along {
        let (first, results) = match mode {
            ConvMode::Full => (0, results(m.into(), n.into())),
            ConvMode::Same => ((n - 1) / 2, m.into()),
            ConvMode::Valid => (n - 1, (u64::from(m) + 1).saturating_sub(n.into())),
            ConvMode::Causal => (0, m.into()),
        };
        Along {
            m,
            n,
            first,
            kept: results.div_ceil(stride.into()),
            stride,
        }
    }

    /// One past the last result that is kept.
    fn end(&self) -> u64 {
        match self.kept {
            0 => u64::from(self.first),
            kept => u64::from(self.first) + (kept - 1) * u64::from(self.stride) + 1,
        }
    }

    /// The smallest distance between rows at which results that spill over into the next row reach no kept result. It
    /// is also the length of the shortest transform in which results that wrap around reach none.
    pub(crate) fn pitch(&self) -> u64 {
        let all = results(self.m.into(), self.n.into());
        let clear = all.saturating_sub(self.first.into()).max(self.end());
        clear.max(self.m.into()).max(self.n.into())
    }
}

/// The geometry of two boxes that are convolved, as boxes of three axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meeting {
    pub axes: [Along; AXES],
    rank: usize,
}

/// Two boxes as vectors whose convolution contains that of the boxes: rows are so far apart that they do not interfere
/// (Kronecker substitution).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flat {
    pub m: u64,
    pub n: u64,
    /// The distances between planes and between rows, in values.
    pub plane: u64,
    pub row: u64,
}

impl Meeting {
    /// Whether no result is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.axes.iter().any(|axis| axis.kept == 0)
    }

    /// The extents of the result. The number of its values must have been checked.
    pub(crate) fn result(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.rank).map(|axis| self.axes[place(self.rank, axis)].kept as u32)
    }

    /// The axis of two vectors, if the stride along it is 1.
    pub(crate) fn vectors(&self) -> Option<Along> {
        let axis = self.axes[1];
        (self.rank == 1 && axis.stride == 1).then_some(axis)
    }

    /// The axes in memory order: a vector is a row here, not a column.
    pub(crate) fn rows(&self) -> [Along; AXES] {
        match self.rank {
            1 => [Along::ONE, Along::ONE, self.axes[1]],
            _ => self.axes,
        }
    }

    /// The number of values of the result; saturates.
    pub(crate) fn results(&self) -> u64 {
        product(self.axes.map(|axis| axis.kept))
    }

    /// The number of values of each operand.
    pub(crate) fn sizes(&self) -> (u64, u64) {
        let number_of =
            |extent: fn(&Along) -> u32| product(self.axes.map(|axis| extent(&axis).into()));
        (number_of(|axis| axis.m), number_of(|axis| axis.n))
    }

    /// The largest number of products that are summed in one result.
    pub(crate) fn terms(&self) -> u64 {
        product(self.axes.map(|axis| axis.m.min(axis.n).into()))
    }

    /// The multiply-adds of the kept results by the definition. Along each axis, every kept result takes at most the
    /// smaller extent, and all together take at most m n. Saturates.
    pub(crate) fn products(&self) -> u64 {
        product(self.axes.map(|axis| {
            let (m, n) = (u64::from(axis.m), u64::from(axis.n));
            axis.kept.saturating_mul(m.min(n)).min(m * n)
        }))
    }

    /// The operands as vectors. Neither operand may be empty.
    pub(crate) fn flat(&self) -> Flat {
        let row = self.axes[2].pitch();
        let plane = row.saturating_mul(self.axes[1].pitch());
        let length = |extent: fn(&Along) -> u32| {
            let strides = [plane, row, 1].into_iter().zip(&self.axes);
            let last = strides
                .map(|(stride, axis)| stride.saturating_mul(extent(axis).saturating_sub(1).into()));
            // Far above any real size, and sums of it do not overflow.
            last.fold(1, u64::saturating_add).min(1 << 62)
        };
        Flat {
            m: length(|axis| axis.m),
            n: length(|axis| axis.n),
            plane,
            row,
        }
    }
}

fn product(extents: [u64; AXES]) -> u64 {
    extents.into_iter().fold(1, u64::saturating_mul)
}

/// The length of the full convolution of m and n values; saturates.
pub(crate) fn results(m: u64, n: u64) -> u64 {
    match m.min(n) {
        0 => 0,
        _ => m.saturating_add(n - 1),
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::Shape;

    fn meeting(mode: ConvMode, m: &[usize], n: &[usize], strides: &[usize]) -> Meeting {
        let layout = |shape| Layout::uniform(1, Shape::new(shape).unwrap()).unwrap();
        let mut window = Window::new(mode);
        window.set_strides(strides);
        let (a, b) = (layout(m), layout(n));
        let pairs = Pairs::elementwise(&a, &b).unwrap();
        window.check((&a, &b), &pairs).unwrap();
        window.meeting(&a, &b, (0, 0))
    }

    #[apply(unit_test)]
    fn kept_results_are_those_of_the_definition() {
        let range_of = |mode, m, n, s| {
            let meeting = meeting(mode, &[m], &[n], &[s]);
            let Along { first, kept, .. } = meeting.axes[1];
            (first, kept)
        };
        assert_eq!(range_of(ConvMode::Full, 5, 4, 1), (0, 8));
        assert_eq!(range_of(ConvMode::Same, 5, 4, 1), (1, 5));
        assert_eq!(range_of(ConvMode::Same, 5, 3, 2), (1, 3));
        assert_eq!(range_of(ConvMode::Valid, 5, 4, 1), (3, 2));
        assert_eq!(range_of(ConvMode::Valid, 4, 5, 1), (4, 0));
        assert_eq!(range_of(ConvMode::Causal, 5, 9, 3), (0, 2));
        assert_eq!(range_of(ConvMode::Full, 5, 4, usize::MAX), (0, 1));
        assert!(meeting(ConvMode::Full, &[0], &[3], &[1]).is_empty());
    }

    /// Carries out the substitution literally: every kept result equals that of the definition.
    #[apply(unit_test)]
    fn flat_vectors_hold_what_is_kept() {
        for mode in [
            ConvMode::Full,
            ConvMode::Same,
            ConvMode::Valid,
            ConvMode::Causal,
        ] {
            for (m, n) in [
                ([3, 4, 5], [2, 3, 2]),
                ([2, 2, 6], [3, 4, 5]),
                ([1, 5, 2], [1, 1, 4]),
            ] {
                for strides in [[1, 1, 1], [2, 1, 3]] {
                    let meeting = meeting(mode, &m, &n, &strides);
                    let flat = meeting.flat();
                    let place = |at: [usize; 3]| {
                        at[0] * flat.plane as usize + at[1] * flat.row as usize + at[2]
                    };
                    let mut sums = vec![0i64; (flat.m + flat.n - 1) as usize];
                    let value = |at: [usize; 3]| (at[0] * 100 + at[1] * 10 + at[2] + 1) as i64;
                    let boxes = |extents: [usize; 3]| {
                        let planes =
                            (0..extents[0]).flat_map(move |i| (0..extents[1]).map(move |j| [i, j]));
                        planes.flat_map(move |[i, j]| (0..extents[2]).map(move |k| [i, j, k]))
                    };
                    for x in boxes(m) {
                        for y in boxes(n) {
                            sums[place(x) + place(y)] += value(x) * value(y);
                        }
                    }
                    for kept in boxes(meeting.axes.map(|axis| axis.kept as usize)) {
                        let full = [0, 1, 2].map(|k| {
                            let axis = &meeting.axes[k];
                            axis.first as usize + axis.stride as usize * kept[k]
                        });
                        let mut expected = 0;
                        for x in boxes(m) {
                            let y = [0, 1, 2].map(|k| full[k].wrapping_sub(x[k]));
                            if (0..3).all(|k| y[k] < n[k]) {
                                expected += value(x) * value(y);
                            }
                        }
                        assert_eq!(sums[place(full)], expected, "{mode:?} {m:?} {n:?} {kept:?}");
                    }
                }
            }
        }
    }
}
