//! The shapes of a batch, shared.

use core::cell::Cell;
use core::hash::{Hash, Hasher};
use core::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use hashbrown::HashTable;

use super::identity::{Identity, hash_of};
use super::offsets::{element_count, total_overflow};
use super::shape::{MAX_RANK, check_rank, product};
use super::{Offsets, Shape};
use crate::error::{Error, Result};
use crate::host;

const OP: &str = "layout";

/// The shapes of a batch and where its elements lie, without the values.
///
/// All elements have one rank, 1 to [`MAX_RANK`]; their extents differ freely. A layout is immutable and cloning it
/// shares it. What a device plans for a layout it keeps for as long as there is one with these contents, so operations
/// on batches of equal layouts are planned once. A clone is recognised at once; an equal layout that was built apart is
/// compared once.
///
/// Layouts are equal when their contents are.
///
/// ```
/// use vsla::{Layout, Shape};
///
/// let layout = Layout::from_lengths([8, 15, 142, 7, 456])?;
/// assert_eq!((layout.len(), layout.rank(), layout.total()), (5, 1, 628));
/// assert_eq!(format!("{:.2} %", 100.0 * layout.padding_waste()), "72.46 %");
/// assert_eq!(layout.to_string(), "5 rows, 628 values, lengths 7..=456");
///
/// let matrices = Layout::from_shapes(2, [Shape::new(&[3, 2])?, Shape::new(&[1, 4])?])?;
/// assert_eq!(matrices.shape(1), Shape::new(&[1, 4])?);
/// assert_eq!(matrices.offsets().as_slice(), [0, 6, 10]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone)]
pub struct Layout(Arc<Inner>);

struct Inner {
    rank: usize,
    offsets: Offsets,
    /// `len × rank`, or nothing for rank 1, where an extent is a difference of offsets.
    extents: Vec<u32>,
    bounds: OnceLock<Bounds>,
    /// Who these contents are; found when somebody asks.
    known: OnceLock<Known>,
}

/// The layout that stands for all of the same contents: the first of them whose identity was asked for.
enum Known {
    This(Identity),
    Other(Layout),
}

/// The layouts that stand for their contents, by the hash of these.
#[derive(Default)]
struct Table {
    layouts: HashTable<(u64, Weak<Inner>)>,
    /// The number of layouts at which those that are gone are looked for.
    sweep_at: usize,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

impl Table {
    /// The layout of these contents that is known already, or none: then `layout` is from now on.
    fn find_or_add(&mut self, layout: &Layout) -> Option<Layout> {
        let hash = layout.content_hash();
        let mut found = None;
        self.layouts.find(hash, |(_, known)| {
            let known = known.upgrade().map(Layout);
            found = known.filter(|known| known == layout);
            found.is_some()
        });
        if found.is_some() {
            return found;
        }
        if self.layouts.len() >= self.sweep_at {
            self.layouts.retain(|(_, known)| known.strong_count() > 0);
            self.sweep_at = (2 * self.layouts.len()).max(64);
        }
        let known = (hash, Arc::downgrade(&layout.0));
        self.layouts.insert_unique(hash, known, |(hash, _)| *hash);
        None
    }
}

thread_local! {
    static MADE: Cell<u64> = const { Cell::new(0) };
}

/// The smallest and largest extent along each axis, and the largest length. All 0 for a batch without elements.
#[derive(Clone, Copy, Default)]
struct Bounds {
    least: [u32; MAX_RANK],
    most: [u32; MAX_RANK],
    max_length: u32,
}

impl Layout {
    /// Elements of rank 1 with these lengths. One pass.
    ///
    /// # Errors
    /// As [`Offsets::from_lengths`].
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Result<Layout> {
        Offsets::from_lengths(lengths).map(Layout::from_offsets)
    }

    /// Elements of rank 1 that lie where the offsets say. Copies nothing.
    pub fn from_offsets(offsets: Offsets) -> Layout {
        Layout::with_extents_unchecked(offsets, 1, Vec::new())
    }

    /// Elements of these shapes, which all have this rank. One pass.
    ///
    /// The rank is asked for because a batch without elements has one too.
    ///
    /// # Errors
    /// [`Error::Rank`] for a rank outside 1 to [`MAX_RANK`], and for the first element of another rank;
    /// the others as [`Offsets::from_lengths`].
    pub fn from_shapes(rank: usize, shapes: impl IntoIterator<Item = Shape>) -> Result<Layout> {
        check_rank(OP, rank)?;
        let shapes = shapes.into_iter();
        let promised = shapes.size_hint().0;
        element_count(OP, promised)?;
        let each = if rank == 1 { 0 } else { rank };
        let mut extents = host::promised(OP, promised.saturating_mul(each))?;
        let mut offsets = host::promised(OP, promised.saturating_add(1))?;
        let mut total = 0u32;
        offsets.push(0);
        for (element, shape) in shapes.enumerate() {
            if shape.rank() != rank {
                return Err(Error::Rank {
                    op: OP,
                    element: Some(element),
                    expected: rank.to_string(),
                    got: shape.rank(),
                });
            }
            total = total
                .checked_add(shape.size() as u32)
                .ok_or_else(|| total_overflow("offsets", element))?;
            element_count(OP, offsets.len())?;
            host::push(OP, &mut offsets, total)?;
            host::extend(OP, &mut extents, shape.extents()[..each].iter().copied())?;
        }
        let offsets = Offsets::from_vec_unchecked(offsets);
        Ok(Layout::with_extents_unchecked(offsets, rank, extents))
    }

    /// `elements` elements of one shape.
    ///
    /// # Errors
    /// As [`Offsets::from_lengths`].
    pub fn uniform(elements: usize, shape: Shape) -> Result<Layout> {
        let offsets = Offsets::uniform(elements, shape.size())?;
        let extents = match shape.rank() {
            1 => Vec::new(),
            rank => {
                let mut extents = host::room(OP, elements.saturating_mul(rank))?;
                (0..elements).for_each(|_| extents.extend_from_slice(shape.extents()));
                extents
            }
        };
        Ok(Layout::with_extents_unchecked(
            offsets,
            shape.rank(),
            extents,
        ))
    }

    /// A layout whose parts hold by construction: `rank` extents an element whose product is its length, none for rank
    /// 1.
    pub(crate) fn with_extents_unchecked(
        offsets: Offsets,
        rank: usize,
        extents: Vec<u32>,
    ) -> Layout {
        debug_assert!((1..=MAX_RANK).contains(&rank));
        debug_assert_eq!(
            extents.len(),
            if rank == 1 { 0 } else { offsets.len() * rank }
        );
        debug_assert!(
            extents
                .chunks_exact(rank)
                .zip(offsets.lengths())
                .all(
                    |(extents, length)| product(extents).map(|size| size as usize) == Some(length)
                )
        );
        MADE.set(MADE.get() + 1);
        Layout(Arc::new(Inner {
            rank,
            offsets,
            extents,
            bounds: OnceLock::new(),
            known: OnceLock::new(),
        }))
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.offsets.len()
    }

    /// Whether there are no elements. A batch of empty elements is not empty.
    pub fn is_empty(&self) -> bool {
        self.0.offsets.is_empty()
    }

    /// The number of axes of every element.
    pub fn rank(&self) -> usize {
        self.0.rank
    }

    /// The number of values of all elements together.
    pub fn total(&self) -> usize {
        self.0.offsets.total()
    }

    /// Where each element starts and ends.
    pub fn offsets(&self) -> &Offsets {
        &self.0.offsets
    }

    /// The shape of element `i`.
    ///
    /// # Panics
    /// When there is no element `i`, as indexing a slice does.
    pub fn shape(&self, i: usize) -> Shape {
        match self.rank() {
            1 => Shape::from_extents_unchecked(&[self.length(i) as u32]),
            rank => Shape::from_extents_unchecked(&self.extents()[i * rank..][..rank]),
        }
    }

    /// The shape of each element, in order.
    pub fn shapes(
        &self,
    ) -> impl ExactSizeIterator<Item = Shape> + DoubleEndedIterator + Clone + '_ {
        (0..self.len()).map(|i| self.shape(i))
    }

    /// The number of values of element `i`.
    ///
    /// # Panics
    /// When there is no element `i`, as indexing a slice does.
    pub fn length(&self, i: usize) -> usize {
        self.0.offsets.length(i)
    }

    /// The number of values of each element, in order.
    pub fn lengths(
        &self,
    ) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + Clone + '_ {
        self.0.offsets.lengths()
    }

    /// The largest number of values that an element has, 0 for an empty batch. Found once.
    pub fn max_length(&self) -> usize {
        self.bounds().max_length as usize
    }

    /// The extents of all elements, `rank` for each. Nothing for rank 1, where the offsets say it all.
    pub fn extents(&self) -> &[u32] {
        &self.0.extents
    }

    /// The largest extent along each axis: the box that every element fits in. Zeros for an empty batch. Found once.
    ///
    /// ```
    /// # use vsla::{Layout, Shape};
    /// let layout = Layout::from_shapes(2, [Shape::new(&[3, 2])?, Shape::new(&[1, 4])?])?;
    /// assert_eq!(layout.ambient_extents(), [3, 4]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn ambient_extents(&self) -> &[u32] {
        &self.bounds().most[..self.rank()]
    }

    /// The layout of some of the elements, on their own. Copies their part of the offsets and extents and no more; the
    /// whole range is the layout itself.
    ///
    /// # Errors
    /// [`Error::ElementRange`] when the range ends before it starts or beyond the batch.
    ///
    /// ```
    /// # use vsla::Layout;
    /// let layout = Layout::from_lengths([3, 0, 2, 4])?;
    /// assert_eq!(layout.range(1..3)?, Layout::from_lengths([0, 2])?);
    /// assert_eq!(
    ///     layout.range(2..5).unwrap_err().to_string(),
    ///     "range: the range 2..5 is not inside a batch of 4 elements",
    /// );
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn range(&self, elements: Range<usize>) -> Result<Layout> {
        let (start, end, len) = (elements.start, elements.end, self.len());
        if start > end || end > len {
            return Err(Error::ElementRange {
                op: "range",
                start,
                end,
                len,
            });
        }
        if elements == (0..len) {
            return Ok(self.clone());
        }
        let rank = self.rank();
        let extents = match rank {
            1 => Vec::new(),
            _ => host::copied("range", &self.extents()[start * rank..end * rank])?,
        };
        let offsets = self.0.offsets.slice("range", elements)?;
        Ok(Layout::with_extents_unchecked(offsets, rank, extents))
    }

    /// The share of a padded batch that would be padding: 1 − total / [`padded_total`](Self::padded_total), and 0 when
    /// that is 0.
    pub fn padding_waste(&self) -> f64 {
        // Not from `padded_total`, which saturates.
        let most = self.ambient_extents().iter();
        let padded = most.fold(self.len() as f64, |size, &extent| size * f64::from(extent));
        if padded == 0.0 {
            0.0
        } else {
            1.0 - self.total() as f64 / padded
        }
    }

    /// The values that the batch would take if every element were padded to the box that all of them fit in: the number
    /// of elements times the product of the [`ambient_extents`](Self::ambient_extents). Saturates.
    pub fn padded_total(&self) -> u64 {
        let most = self.ambient_extents();
        if self.is_empty() || most.contains(&0) {
            return 0;
        }
        most.iter().fold(self.len() as u64, |size, &extent| {
            size.saturating_mul(u64::from(extent))
        })
    }

    /// The number of layouts that this thread has made.
    pub(crate) fn made() -> u64 {
        MADE.get()
    }

    /// The bytes of its contents.
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.len() + 1 + self.extents().len())
    }

    /// The identity of its contents, which all equal layouts of a time share. Found when it is asked for first:
    /// contents are hashed then, and compared with those of the same hash.
    pub(crate) fn identity(&self) -> &Identity {
        let known = self.0.known.get_or_init(|| {
            let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
            let other = table.get_or_insert_default().find_or_add(self);
            drop(table);
            other.map_or_else(|| Known::This(Identity::new()), Known::Other)
        });
        match known {
            Known::This(identity) => identity,
            // That one stands for itself.
            Known::Other(other) => other.identity(),
        }
    }

    /// The number of its [`identity`](Self::identity).
    pub(crate) fn id(&self) -> u64 {
        self.identity().id()
    }

    /// Of the contents. Extents say where elements lie.
    fn content_hash(&self) -> u64 {
        let words = match self.rank() {
            1 => self.offsets().as_slice(),
            _ => self.extents(),
        };
        let bytes: &[u8] = bytemuck::cast_slice(words);
        hash_of((self.rank(), bytes))
    }

    /// The least and the largest extent along `axis`.
    pub(super) fn extent_bounds(&self, axis: usize) -> (u32, u32) {
        let bounds = self.bounds();
        (bounds.least[axis], bounds.most[axis])
    }

    fn bounds(&self) -> &Bounds {
        self.0.bounds.get_or_init(|| Bounds::of(self))
    }
}

impl Bounds {
    fn of(layout: &Layout) -> Bounds {
        if layout.is_empty() {
            return Bounds::default();
        }
        let (mut least, mut most) = (u32::MAX, 0);
        for pair in layout.offsets().as_slice().windows(2) {
            let length = pair[1] - pair[0];
            least = least.min(length);
            most = most.max(length);
        }
        let mut bounds = Bounds {
            max_length: most,
            ..Bounds::default()
        };
        let rank = layout.rank();
        if rank == 1 {
            bounds.least[0] = least;
            bounds.most[0] = most;
            return bounds;
        }
        bounds.least[..rank].fill(u32::MAX);
        for extents in layout.extents().chunks_exact(rank) {
            for (axis, &extent) in extents.iter().enumerate() {
                bounds.least[axis] = bounds.least[axis].min(extent);
                bounds.most[axis] = bounds.most[axis].max(extent);
            }
        }
        bounds
    }
}

impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        // `Arc`s of a type that is `Eq` compare their pointers first, so shared offsets cost nothing either.
        Arc::ptr_eq(&self.0, &other.0)
            || (a.rank == b.rank && a.offsets == b.offsets && a.extents == b.extents)
    }
}

impl Eq for Layout {}

/// Of the identity of the contents.
impl Hash for Layout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.id());
    }
}
