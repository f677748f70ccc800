//! The extents of one element.

use core::fmt;

use crate::error::Named;
use crate::error::{Error, Result};

/// The largest number of axes that an element can have.
pub const MAX_RANK: usize = 8;

/// The extents of one element, row-major: rank 1 to [`MAX_RANK`], and a product below 2³².
///
/// An extent of 0 makes the element empty but is preserved: (3, 0) is not (0, 0). An extent of 1 has no special
/// meaning.
///
/// ```
/// use vsla::Shape;
///
/// let shape = Shape::new(&[3, 4])?;
/// assert_eq!((shape.rank(), shape.size(), shape.extents()), (2, 12, [3, 4].as_slice()));
/// assert_eq!(shape.to_string(), "(3, 4)");
/// assert_eq!(shape.ambient(&Shape::new(&[1, 7])?)?, Shape::new(&[3, 7])?);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    rank: u8,
    /// 0 beyond the rank, so that equal shapes are equal bytes.
    extents: [u32; MAX_RANK],
}

impl Shape {
    /// The shape with these extents.
    ///
    /// # Errors
    /// [`Error::Rank`] for no extents or more than [`MAX_RANK`]; [`Error::SizeOverflow`] when an extent or the product
    /// of all extents exceeds 2³² − 1.
    pub fn new(extents: &[usize]) -> Result<Shape> {
        check_rank(extents.len()).named("shape")?;
        let mut narrow = [0; MAX_RANK];
        for (narrow, &extent) in narrow.iter_mut().zip(extents) {
            *narrow = u32::try_from(extent).map_err(|_| size_overflow("shape", extents))?;
        }
        let narrow = &narrow[..extents.len()];
        product(narrow).ok_or_else(|| size_overflow("shape", extents))?;
        Ok(Shape::from_extents_unchecked(narrow))
    }

    /// The shape with these extents, which the caller has checked.
    pub(crate) fn from_extents_unchecked(extents: &[u32]) -> Shape {
        debug_assert!(matches!(extents.len(), 1..=MAX_RANK) && product(extents).is_some());
        let mut all = [0; MAX_RANK];
        all[..extents.len()].copy_from_slice(extents);
        Shape {
            rank: extents.len() as u8,
            extents: all,
        }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The extent of each axis.
    pub fn extents(&self) -> &[u32] {
        &self.extents[..self.rank()]
    }

    /// The number of values: the product of the extents.
    pub fn size(&self) -> usize {
        // The constructor checked the product. If an extent is 0, the result is 0 even if the other factors wrap.
        let size = self.extents().iter().copied().fold(1, u32::wrapping_mul);
        size as usize
    }

    /// Whether an extent is 0, so that there are no values.
    pub fn is_empty(&self) -> bool {
        self.extents().contains(&0)
    }

    /// The smallest shape that contains both: the larger extent on every axis.
    ///
    /// # Errors
    /// [`Error::Rank`] when the ranks differ; [`Error::SizeOverflow`] when the product of the larger extents exceeds
    /// 2³² − 1.
    pub fn ambient(&self, other: &Shape) -> Result<Shape> {
        if self.rank != other.rank {
            return Err(Error::rank(self.rank, other.rank()).named("ambient"));
        }
        let extents = core::array::from_fn(|axis| self.extents[axis].max(other.extents[axis]));
        let ambient = Shape {
            rank: self.rank,
            extents,
        };
        match product(ambient.extents()) {
            Some(_) => Ok(ambient),
            None => Err(size_overflow("ambient", ambient.extents())),
        }
    }

    /// The distance in values between neighbours along each axis.
    ///
    /// It is 1 on the last axis, and the product of all later extents on the others. Entries beyond the rank are 0. The
    /// product saturates for an empty shape, which has no values to address.
    ///
    /// ```
    /// # use vsla::Shape;
    /// assert_eq!(Shape::new(&[2, 3, 4])?.strides(), [12, 4, 1, 0, 0, 0, 0, 0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn strides(&self) -> [u32; MAX_RANK] {
        let mut strides = [0; MAX_RANK];
        let mut stride = 1_u32;
        for axis in (0..self.rank()).rev() {
            strides[axis] = stride;
            stride = stride.saturating_mul(self.extents[axis]);
        }
        strides
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Extents(self.extents()).fmt(f)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Displays extents as `(3)` or `(3, 4)`.
struct Extents<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Extents<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (axis, extent) in self.0.iter().enumerate() {
            let separator = if axis == 0 { "" } else { ", " };
            write!(f, "{separator}{extent}")?;
        }
        f.write_str(")")
    }
}

pub(crate) fn check_rank(rank: usize) -> Result<()> {
    if !(1..=MAX_RANK).contains(&rank) {
        return Err(Error::rank(format!("1 to {MAX_RANK}"), rank));
    }
    Ok(())
}

fn size_overflow<T: fmt::Display>(op: &'static str, extents: &[T]) -> Error {
    Error::size_overflow(format!("the product of the extents {}", Extents(extents))).named(op)
}

/// The product, or `None` if it exceeds `u32::MAX`. A single zero makes it 0, however large the other extents are.
pub(crate) fn product(extents: &[u32]) -> Option<u32> {
    if extents.contains(&0) {
        return Some(0);
    }
    extents
        .iter()
        .try_fold(1_u32, |size, &extent| size.checked_mul(extent))
}
