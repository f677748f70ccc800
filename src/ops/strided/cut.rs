//! Parts of an axis.

/// A part of an axis: every `step`-th value from `start` up to, but not including, `end`. Negative places count from
/// the axis's end, and places beyond its ends stand for these ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Cut {
    start: i64,
    end: i64,
    pub(super) step: i64,
}

impl Cut {
    /// The whole axis.
    pub(super) const WHOLE: Cut = Cut {
        start: 0,
        end: i64::MAX,
        step: 1,
    };

    /// Without a start or an end, the cut begins or ends at an end of the axis: which one follows from the step's sign.
    pub(crate) fn new((start, end, step): (Option<i64>, Option<i64>, i64)) -> Cut {
        let (first, last) = match step > 0 {
            true => (0, i64::MAX),
            false => (i64::MAX, i64::MIN),
        };
        Cut {
            start: start.unwrap_or(first),
            end: end.unwrap_or(last),
            step,
        }
    }

    /// The index of a place along an axis of n values, moved to just beyond an end if it is outside.
    fn index(self, place: i64, n: i64) -> i64 {
        let (least, most) = if self.step > 0 { (0, n) } else { (-1, n - 1) };
        let from_end = if place < 0 { n } else { 0 };
        place.saturating_add(from_end).clamp(least, most)
    }

    /// The index of the first value along an axis of n values, if there is one.
    pub(super) fn first(self, n: i64) -> i64 {
        self.index(self.start, n)
    }

    /// The indices of the first of `count` values and of the last, along an axis of n values that has them.
    pub(super) fn ends(self, n: i64, count: i64) -> (i64, i64) {
        let first = self.first(n);
        (first, first + (count - 1) * self.step)
    }

    /// The number of values along an axis of n values.
    pub(super) fn count(self, n: u64) -> u64 {
        let n = n as i64;
        let [start, end] = [self.start, self.end].map(|place| self.index(place, n));
        let values = if self.step > 0 {
            end - start
        } else {
            start - end
        };
        values
            .max(0)
            .unsigned_abs()
            .div_ceil(self.step.unsigned_abs())
    }

    /// The start as a kernel parameter. A start that does not fit is beyond an end of any axis.
    pub(super) fn start_on_gpu(self) -> u32 {
        let most = i64::from(i32::MAX);
        self.start.clamp(-most, most) as u32
    }

    /// The step as a kernel parameter. With a step that does not fit, a cut has at most one value.
    pub(super) fn step_on_gpu(self) -> u32 {
        let most = i64::from(i32::MAX);
        self.step.clamp(-most, most) as u32
    }
}
