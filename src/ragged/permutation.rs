//! Permutations of the elements of a batch, with their inverses.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use super::Layout;
use super::identity::hash_of;
use super::offsets::element_count;
use crate::error::Named;
use crate::error::{Count, Error, Result};
use crate::host;

const OP: &str = "order";

/// A permutation of the elements of a batch and its inverse, for [`reorder`](crate::Tensor::reorder).
///
/// The constructor checks once that every element occurs exactly once. Clones share the data.
///
/// ```
/// use vsla::batch::Permutation;
///
/// let order = Permutation::new([2, 0, 1])?;
/// assert_eq!(order.as_slice(), [2, 0, 1]);
/// assert_eq!(order.inverse().as_slice(), [1, 2, 0]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone)]
pub struct Permutation {
    there: Arc<Way>,
    back: Arc<Way>,
}

struct Way {
    elements: Vec<u32>,
    hash: OnceLock<u64>,
}

impl Permutation {
    /// The permutation that puts these elements in this order: each of 0, 1, …, n − 1 once. Takes one pass.
    ///
    /// # Errors
    /// [`Error::Index`] for an element of n or more, and [`Error::DuplicateIndex`] for an element that occurs twice,
    /// both with the position; [`Error::SizeOverflow`] for more than 2³² − 1 elements.
    ///
    /// ```
    /// # use vsla::batch::Permutation;
    /// assert_eq!(
    ///     Permutation::new([1, 0, 1]).unwrap_err().to_string(),
    ///     "order: positions 0 and 2 both have the index 1; list each index once",
    /// );
    /// ```
    pub fn new(elements: impl Into<Vec<u32>>) -> Result<Permutation> {
        let elements = elements.into();
        element_count(elements.len()).named(OP)?;
        let mut inverse = host::filled(u32::MAX, elements.len()).named(OP)?;
        for (position, &element) in elements.iter().enumerate() {
            let Some(place) = inverse.get_mut(element as usize) else {
                return Err(
                    Error::index(None, position, element as usize, elements.len()).named(OP),
                );
            };
            if *place != u32::MAX {
                return Err(Error::duplicate_index(
                    None,
                    *place as usize,
                    position,
                    element as usize,
                )
                .named(OP));
            }
            *place = position as u32;
        }
        Ok(Permutation {
            there: Way::new(elements),
            back: Way::new(inverse),
        })
    }

    /// The permutation that sorts the elements of a layout by number of values, smallest first.
    ///
    /// The sort is stable and takes a few passes over the offsets.
    ///
    /// ```
    /// # use vsla::{Layout, batch::Permutation};
    /// let layout = Layout::from_lengths([5, 0, 7, 0])?;
    /// assert_eq!(Permutation::by_length(&layout)?.as_slice(), [1, 3, 0, 2]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn by_length(layout: &Layout) -> Result<Permutation> {
        const DIGIT: u32 = 11;
        host::check(layout.len(), 3 * 4).named(OP)?;
        let lengths = host::exact(layout.lengths().map(|length| length as u32)).named(OP)?;
        let mut elements = host::room(lengths.len()).named(OP)?;
        elements.extend(0..lengths.len() as u32);
        let mut sorted = host::zeroed(elements.len()).named(OP)?;
        let mut shift = 0;
        // A least-significant-digit radix sort: each pass is stable.
        while shift < u32::BITS && layout.max_length() >> shift > 0 {
            let digit = |element: u32| (lengths[element as usize] >> shift) as usize % (1 << DIGIT);
            let mut next = [0u32; (1 << DIGIT) + 1];
            for &element in &elements {
                next[digit(element) + 1] += 1;
            }
            for i in 1..next.len() {
                next[i] += next[i - 1];
            }
            for &element in &elements {
                let place = &mut next[digit(element)];
                sorted[*place as usize] = element;
                *place += 1;
            }
            std::mem::swap(&mut elements, &mut sorted);
            shift += DIGIT;
        }
        let mut inverse = sorted;
        for (position, &element) in elements.iter().enumerate() {
            inverse[element as usize] = position as u32;
        }
        Ok(Permutation {
            there: Way::new(elements),
            back: Way::new(inverse),
        })
    }

    /// The inverse permutation. Copies nothing.
    pub fn inverse(&self) -> Permutation {
        Permutation {
            there: self.back.clone(),
            back: self.there.clone(),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.there.elements.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at each position.
    pub fn as_slice(&self) -> &[u32] {
        &self.there.elements
    }
}

impl Way {
    fn new(elements: Vec<u32>) -> Arc<Way> {
        Arc::new(Way {
            elements,
            hash: OnceLock::new(),
        })
    }
}

impl PartialEq for Permutation {
    fn eq(&self, other: &Permutation) -> bool {
        Arc::ptr_eq(&self.there, &other.there) || self.as_slice() == other.as_slice()
    }
}

impl Eq for Permutation {}

/// Hashes all elements. The hash is computed once and cached.
impl Hash for Permutation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let hash = self.there.hash.get_or_init(|| hash_of(self.as_slice()));
        state.write_u64(*hash);
    }
}

impl fmt::Debug for Permutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permutation({})", Count(self.len(), "element"))
    }
}
