//! The positions at which the elements of a batch start and end.

use core::ops::Range;
use std::sync::Arc;

use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;

const OP: &str = "offsets";

/// The positions at which the elements of a batch start and end: n + 1 offsets for n elements.
///
/// The first offset is 0 and offsets never decrease; constructors check this once. Element `i` is
/// `values[offsets[i]..offsets[i + 1]]`, so an empty element repeats an offset. Sizes are 32-bit because devices use
/// 32-bit indices: a batch has at most 2³² − 1 values and at most 2³² − 1 elements. Clones share the data.
///
/// ```
/// use vsla::batch::Offsets;
///
/// let offsets = Offsets::from_lengths([3, 0, 2])?;
/// assert_eq!(offsets.as_slice(), [0, 3, 3, 5]);
/// assert_eq!(offsets, Offsets::new([0, 3, 3, 5])?);
/// assert_eq!((offsets.len(), offsets.total()), (3, 5));
/// assert_eq!(offsets.range(2), 3..5);
/// assert!(offsets.lengths().eq([3, 0, 2]));
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offsets(Arc<Vec<u32>>);

impl Offsets {
    /// Checks and takes n + 1 offsets: the first is 0, and they never decrease. Takes one pass; a `Vec` is not copied.
    ///
    /// # Errors
    /// [`Error::InvalidOffsets`] names the first element that starts or ends at an invalid offset;
    /// [`Error::SizeOverflow`] for more than 2³² − 1 elements.
    ///
    /// ```
    /// use vsla::batch::Offsets;
    ///
    /// assert!(Offsets::new([0]).is_ok(), "a batch without elements");
    /// assert_eq!(
    ///     Offsets::new([0, 7, 5]).unwrap_err().to_string(),
    ///     "offsets: element 1 ends before it starts: expected an offset of at least 7, got 5",
    /// );
    /// ```
    pub fn new(offsets: impl Into<Vec<u32>>) -> Result<Offsets> {
        let offsets = offsets.into();
        let first = offsets.first();
        if first != Some(&0) {
            return Err(Error::InvalidOffsets {
                op: OP,
                element: 0,
                expected: "a first offset of 0".into(),
                got: first.map_or("no offsets".into(), u32::to_string),
            });
        }
        element_count(offsets.len() - 1).named(OP)?;
        if !never_decreases(&offsets)
            && let Some(element) = offsets.windows(2).position(|pair| pair[0] > pair[1])
        {
            return Err(Error::InvalidOffsets {
                op: OP,
                element,
                expected: format!("an offset of at least {}", offsets[element]),
                got: offsets[element + 1].to_string(),
            });
        }
        Ok(Offsets(Arc::new(offsets)))
    }

    /// The offsets of elements with these lengths. Takes one pass.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] names the element at which the total exceeds 2³² − 1; [`Error::OutOfMemory`] when the
    /// offsets do not fit in [the host's memory](crate::device::set_host_memory_limit).
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Result<Offsets> {
        let lengths = lengths.into_iter();
        let promised = lengths.size_hint().0;
        element_count(promised).named(OP)?;
        let mut offsets = host::promised(promised.saturating_add(1)).named(OP)?;
        offsets.push(0);
        let mut total = 0;
        for length in lengths {
            total =
                add(total, length).ok_or_else(|| total_overflow(offsets.len() - 1).named(OP))?;
            // Checked only when the vector grows: checking every length would take as long as summing them.
            if offsets.len() == offsets.capacity() {
                element_count(offsets.len()).named(OP)?;
                host::reserve(&mut offsets, 1).named(OP)?;
            }
            offsets.push(total);
        }
        element_count(offsets.len() - 1).named(OP)?;
        Ok(Offsets(Arc::new(offsets)))
    }

    /// The offsets of `elements` elements, each of `length` values.
    ///
    /// # Errors
    /// Those of [`from_lengths`](Self::from_lengths).
    pub fn uniform(elements: usize, length: usize) -> Result<Offsets> {
        element_count(elements).named(OP)?;
        if elements as u128 * length as u128 > u128::from(u32::MAX) {
            return Err(total_overflow(u32::MAX as usize / length).named(OP));
        }
        let offsets = (0..elements + 1).map(|entry| (entry * length) as u32);
        // `extend` does not reallocate, since the iterator's length is exact.
        let mut all = host::room(elements + 1).named(OP)?;
        all.extend(offsets);
        Ok(Offsets(Arc::new(all)))
    }

    /// Offsets that are valid by construction.
    pub(crate) fn from_vec_unchecked(offsets: Vec<u32>) -> Offsets {
        debug_assert!(offsets.first() == Some(&0) && never_decreases(&offsets));
        Offsets(Arc::new(offsets))
    }

    /// The offsets of a range of elements, starting at 0 again. The range must lie inside the batch.
    pub(super) fn slice(&self, op: &'static str, elements: Range<usize>) -> Result<Offsets> {
        let base = self.0[elements.start];
        let own = self.0[elements.start..=elements.end].iter();
        let own = host::exact(own.map(|offset| offset - base)).named(op)?;
        Ok(Offsets(Arc::new(own)))
    }

    /// The number of elements: one less than the number of offsets.
    pub fn len(&self) -> usize {
        self.0.len() - 1
    }

    /// Whether there are no elements. A batch of empty elements is not empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The total number of values of all elements.
    pub fn total(&self) -> usize {
        self.0[self.len()] as usize
    }

    /// All n + 1 offsets.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// The range of element `i` within the values.
    ///
    /// # Panics
    /// When there is no element `i`.
    pub fn range(&self, i: usize) -> Range<usize> {
        let [start, end] = [self.0[i], self.0[i + 1]];
        start as usize..end as usize
    }

    /// The number of values of element `i`.
    ///
    /// # Panics
    /// When there is no element `i`.
    pub fn length(&self, i: usize) -> usize {
        self.range(i).len()
    }

    /// The number of values of each element, in order.
    pub fn lengths(
        &self,
    ) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + Clone + '_ {
        self.0.windows(2).map(|pair| (pair[1] - pair[0]) as usize)
    }
}

impl AsRef<[u32]> for Offsets {
    fn as_ref(&self) -> &[u32] {
        &self.0
    }
}

fn add(total: u32, length: usize) -> Option<u32> {
    total.checked_add(u32::try_from(length).ok()?)
}

/// The error for a total that exceeds 32 bits at `element`.
pub(crate) fn total_overflow(element: usize) -> Error {
    Error::size_overflow("the total number of values").at(element)
}

/// Checks that the number of elements fits in 32 bits. Call it before allocating for them.
pub(crate) fn element_count(elements: usize) -> Result<()> {
    if elements as u64 > u64::from(u32::MAX) {
        return Err(Error::size_overflow(format!(
            "a batch of {elements} elements"
        )));
    }
    Ok(())
}

/// Whether offsets never decrease. Has no early exit, so that it vectorizes; the caller locates the failure afterwards.
fn never_decreases(offsets: &[u32]) -> bool {
    offsets
        .windows(2)
        .fold(true, |sorted, pair| sorted & (pair[0] <= pair[1]))
}
