//! The shapes of a batch, shared between batches.

use core::cell::Cell;
use core::hash::{BuildHasher, Hash, Hasher};
use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use bytemuck::cast_slice;
use hashbrown::HashTable;

use super::identity::{Identity, hash_of, hasher};
use super::offsets::{element_count, total_overflow};
use super::shape::{MAX_RANK, check_rank, product};
use super::{Offsets, Shape};
use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;

const OP: &str = "layout";

/// The shapes of a batch and the positions of its elements, without the values.
///
/// All elements have the same rank, 1 to [`MAX_RANK`]; their extents may differ. A layout is immutable, and cloning
/// shares it. Devices cache the plans for a layout as long as a layout with equal contents exists, so operations on
/// batches with equal layouts are planned once. Recognizing a clone costs nothing; a separately built equal layout is
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
    /// `len × rank` extents. Empty for rank 1, where extents are differences of offsets.
    extents: Vec<u32>,
    bounds: OnceLock<Bounds>,
    /// The identity of these contents, found on first use.
    known: OnceLock<Canonical>,
    parts: Mutex<Parts>,
}

/// The layouts of ranges that are kept, by start and end, and their bytes.
#[derive(Default)]
struct Parts {
    layouts: BTreeMap<[usize; 2], Layout>,
    bytes: usize,
}

/// The most bytes of all kept ranges of a layout, in sizes of that layout, beyond those that any may have.
const PARTS: usize = 8;
const FEW_PARTS: usize = 1 << 16;

/// The canonical layout for these contents: of all equal layouts, the first whose identity was requested.
enum Canonical {
    This(Identity),
    Other(Layout),
}

/// The canonical layouts, by the hash of their contents.
#[derive(Default)]
struct Table {
    layouts: HashTable<(u64, Weak<Inner>)>,
    /// The table size at which dropped layouts are swept out.
    sweep_at: usize,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

impl Table {
    /// The canonical layout with these contents. If there is none, `layout` becomes canonical and the result is `None`.
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
    /// Elements of rank 1 with these lengths. Takes one pass.
    ///
    /// # Errors
    /// Those of [`Offsets::from_lengths`].
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Result<Layout> {
        Offsets::from_lengths(lengths).map(Layout::from_offsets)
    }

    /// Elements of rank 1 at these offsets. Copies nothing.
    pub fn from_offsets(offsets: Offsets) -> Layout {
        Layout::unchecked(offsets, 1, Vec::new())
    }

    /// Elements of these shapes, all of rank `rank`. Takes one pass.
    ///
    /// The rank is a parameter because a batch without elements also has one.
    ///
    /// # Errors
    /// [`Error::Rank`] for a rank outside 1 to [`MAX_RANK`], and for the first element of a different rank; otherwise
    /// those of [`Offsets::from_lengths`].
    pub fn from_shapes(rank: usize, shapes: impl IntoIterator<Item = Shape>) -> Result<Layout> {
        check_rank(rank).named(OP)?;
        let shapes = shapes.into_iter();
        let promised = shapes.size_hint().0;
        element_count(promised).named(OP)?;
        let each = if rank == 1 { 0 } else { rank };
        let mut extents = host::promised(promised.saturating_mul(each)).named(OP)?;
        let mut offsets = host::promised(promised.saturating_add(1)).named(OP)?;
        let mut total = 0u32;
        offsets.push(0);
        for (element, shape) in shapes.enumerate() {
            if shape.rank() != rank {
                return Err(Error::rank(rank, shape.rank()).named(OP).at(element));
            }
            total = total
                .checked_add(shape.size() as u32)
                .ok_or_else(|| total_overflow(element).named("offsets"))?;
            element_count(offsets.len()).named(OP)?;
            host::push(&mut offsets, total).named(OP)?;
            host::extend(&mut extents, shape.extents()[..each].iter().copied()).named(OP)?;
        }
        let offsets = Offsets::from_vec_unchecked(offsets);
        Ok(Layout::unchecked(offsets, rank, extents))
    }

    /// `elements` elements with the same shape.
    ///
    /// # Errors
    /// Those of [`Offsets::from_lengths`].
    pub fn uniform(elements: usize, shape: Shape) -> Result<Layout> {
        let offsets = Offsets::uniform(elements, shape.size())?;
        let extents = match shape.rank() {
            1 => Vec::new(),
            rank => {
                let mut extents = host::room(elements.saturating_mul(rank)).named(OP)?;
                (0..elements).for_each(|_| extents.extend_from_slice(shape.extents()));
                extents
            }
        };
        Ok(Layout::unchecked(offsets, shape.rank(), extents))
    }

    /// A layout from parts that are valid by construction: `rank` extents per element whose product is its length, or
    /// no extents for rank 1.
    pub(crate) fn unchecked(offsets: Offsets, rank: usize, extents: Vec<u32>) -> Layout {
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
            parts: Mutex::default(),
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

    /// The total number of values of all elements.
    pub fn total(&self) -> usize {
        self.0.offsets.total()
    }

    /// The positions at which elements start and end.
    pub fn offsets(&self) -> &Offsets {
        &self.0.offsets
    }

    /// The shape of element `i`.
    ///
    /// # Panics
    /// When there is no element `i`.
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
    /// When there is no element `i`.
    pub fn length(&self, i: usize) -> usize {
        self.0.offsets.length(i)
    }

    /// The number of values of each element, in order.
    pub fn lengths(
        &self,
    ) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + Clone + '_ {
        self.0.offsets.lengths()
    }

    /// The largest number of values of any element, or 0 for an empty batch. Computed once.
    pub fn max_length(&self) -> usize {
        self.bounds().max_length as usize
    }

    /// The extents of all elements, `rank` for each. Empty for rank 1, where the offsets determine the extents.
    pub fn extents(&self) -> &[u32] {
        &self.0.extents
    }

    /// The largest extent along each axis: the smallest box that contains every element.
    ///
    /// Zeros for an empty batch. Computed once.
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

    /// The layout of a range of elements.
    ///
    /// Copies only the offsets and extents of these elements; the full range returns the layout itself, shared.
    ///
    /// # Errors
    /// [`Error::ElementRange`] when the range ends before it starts or beyond the last element.
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
            _ => host::copied(&self.extents()[start * rank..end * rank]).named("range")?,
        };
        let offsets = self.0.offsets.slice("range", elements)?;
        Ok(Layout::unchecked(offsets, rank, extents))
    }

    /// The [`range`](Self::range), which is kept as long as a layout of these contents: so the plans for it are found
    /// again when an equal batch is divided in the same way. If there are too many, all are forgotten.
    pub(crate) fn part(&self, elements: Range<usize>) -> Result<Layout> {
        if elements == (0..self.len()) {
            return Ok(self.clone());
        }
        let key = [elements.start, elements.end];
        let parts = || {
            let parts = &self.canonical().0.parts;
            parts.lock().unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(kept) = parts().layouts.get(&key) {
            return Ok(kept.clone());
        }
        let part = self.range(elements)?;
        let bytes = part.bytes() + size_of::<Inner>();
        let mut parts = parts();
        let gone = match parts.bytes + bytes > PARTS * self.bytes() + FEW_PARTS {
            true => std::mem::take(&mut *parts),
            false => Parts::default(),
        };
        // Another thread may have kept it meanwhile.
        let kept = parts.layouts.entry(key).or_insert(part).clone();
        parts.bytes += bytes;
        // Caches are notified of layouts that are dropped, which must not happen under this lock.
        drop(parts);
        drop(gone);
        Ok(kept)
    }

    /// The elements of these layouts, which have one rank, in order.
    pub(crate) fn joined(layouts: &[&Layout]) -> Result<Layout> {
        if let [layout] = layouts {
            return Ok((*layout).clone());
        }
        let rank = layouts.first().map_or(1, |layout| layout.rank());
        let elements = layouts.iter().map(|layout| layout.len()).sum::<usize>();
        let mut offsets = host::room(elements + 1)?;
        let mut extents = host::room(if rank == 1 { 0 } else { elements * rank })?;
        let mut begin = 0u32;
        offsets.push(0);
        for layout in layouts {
            let end = begin
                .checked_add(layout.total() as u32)
                .ok_or_else(|| total_overflow(offsets.len() - 1))?;
            let own = layout.offsets().as_slice()[1..].iter();
            offsets.extend(own.map(|at| begin + at));
            extents.extend_from_slice(layout.extents());
            begin = end;
        }
        let offsets = Offsets::from_vec_unchecked(offsets);
        Ok(Layout::unchecked(offsets, rank, extents))
    }

    /// The same shapes with another extent along an axis, in every element.
    ///
    /// ```
    /// # use vsla::{Layout, Shape};
    /// let sentences = Layout::from_shapes(2, [Shape::new(&[5, 64])?, Shape::new(&[2, 64])?])?;
    /// let classes = Layout::from_shapes(2, [Shape::new(&[5, 3])?, Shape::new(&[2, 3])?])?;
    /// assert_eq!(sentences.with_extent(1, 3)?, classes);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for an axis that is not below the rank; [`Error::SizeOverflow`] for an extent that does not
    /// fit, or with the element whose size, or at which the total, does not.
    pub fn with_extent(&self, axis: usize, extent: usize) -> Result<Layout> {
        const OP: &str = "with_extent";
        self.check_axis(axis).named(OP)?;
        let extent = u32::try_from(extent)
            .map_err(|_| Error::size_overflow(format!("the extent {extent}")).named(OP))?;
        let rank = self.rank();
        let changed = |shape: Shape| {
            let mut extents = [0; MAX_RANK];
            extents[..rank].copy_from_slice(shape.extents());
            extents[axis] = extent;
            extents
        };
        for (element, shape) in self.shapes().enumerate() {
            if product(&changed(shape)[..rank]).is_none() {
                let what = "the product of its extents";
                return Err(Error::size_overflow(what).named(OP).at(element));
            }
        }
        let shapes = self
            .shapes()
            .map(|shape| Shape::from_extents_unchecked(&changed(shape)[..rank]));
        Layout::from_shapes(rank, shapes).named(OP)
    }

    /// The fraction of a padded batch that would be padding: 1 − total / [`padded_total`](Self::padded_total), or 0
    /// when `padded_total` is 0.
    pub fn padding_waste(&self) -> f64 {
        // Not computed from `padded_total`, which saturates.
        let most = self.ambient_extents().iter();
        let padded = most.fold(self.len() as f64, |size, &extent| size * f64::from(extent));
        if padded == 0.0 {
            0.0
        } else {
            1.0 - self.total() as f64 / padded
        }
    }

    /// The number of values if every element were padded to the box that contains them all.
    ///
    /// This is the number of elements times the product of the [`ambient_extents`](Self::ambient_extents). Saturates.
    pub fn padded_total(&self) -> u64 {
        let most = self.ambient_extents();
        if self.is_empty() || most.contains(&0) {
            return 0;
        }
        most.iter().fold(self.len() as u64, |size, &extent| {
            size.saturating_mul(u64::from(extent))
        })
    }

    /// The number of layouts that this thread has created.
    pub(crate) fn made() -> u64 {
        MADE.get()
    }

    /// The size of the contents in bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.len() + 1 + self.extents().len())
    }

    /// The identity of the contents, shared by all equal layouts that exist at the same time. The first call hashes the
    /// contents and compares them with layouts of equal hash.
    pub(crate) fn identity(&self) -> &Identity {
        match self.known() {
            Canonical::This(identity) => identity,
            // `other` is canonical, so this recurses only once.
            Canonical::Other(other) => other.identity(),
        }
    }

    /// The layout whose [`identity`](Self::identity) this one shares.
    fn canonical(&self) -> &Layout {
        match self.known() {
            Canonical::This(_) => self,
            Canonical::Other(other) => other,
        }
    }

    fn known(&self) -> &Canonical {
        self.0.known.get_or_init(|| {
            let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
            let other = table.get_or_insert_default().find_or_add(self);
            drop(table);
            other.map_or_else(|| Canonical::This(Identity::new()), Canonical::Other)
        })
    }

    /// The id of its [`identity`](Self::identity).
    pub(crate) fn id(&self) -> u64 {
        self.identity().id()
    }

    /// A hash of the contents. For ranks above 1, extents determine the offsets.
    ///
    /// Only a sample of a large batch is hashed, so that a layout used once costs little. If two hashes are equal, all
    /// contents are compared.
    fn content_hash(&self) -> u64 {
        const SAMPLED_FROM: usize = 1 << 13;
        const RUN: usize = 64;
        let words = match self.rank() {
            1 => self.offsets().as_slice(),
            _ => self.extents(),
        };
        if words.len() < SAMPLED_FROM {
            return hash_of((self.rank(), cast_slice::<u32, u8>(words)));
        }
        let mut state = hasher().build_hasher();
        (self.rank(), words.len(), self.total()).hash(&mut state);
        let stride = words.len() / (SAMPLED_FROM / RUN);
        for run in words.chunks(stride) {
            state.write(cast_slice(&run[..RUN.min(run.len())]));
        }
        state.finish()
    }

    /// The smallest and the largest extent along `axis`.
    pub(crate) fn extent_bounds(&self, axis: usize) -> (u32, u32) {
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
        // `Arc`s whose contents are `Eq` compare pointers first, so comparing shared offsets is free.
        Arc::ptr_eq(&self.0, &other.0)
            || (a.rank == b.rank && a.offsets == b.offsets && a.extents == b.extents)
    }
}

impl Eq for Layout {}

/// Hashes the identity of the contents.
impl Hash for Layout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.id());
    }
}
