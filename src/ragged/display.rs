//! Printing: a summary line, then nested lists that stay readable for batches of any size.

use core::any::{Any, type_name};
use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Range;

use num_complex::{Complex, Complex32, Complex64};

use super::{Layout, Ragged};
use crate::Result;
use crate::error::Count;

/// Longer lists are shortened; applies to the elements of a batch and the entries along an axis.
const MAX_ITEMS: usize = 8;

/// The number of items that a shortened list shows at each end.
const END_ITEMS: usize = 3;

/// Writes `5 rows, 628 values, lengths 7..=456`, or `3 elements of rank 2, 24 values, extents (1..=3, 2..=4)`.
impl Display for Layout {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let values = Count(self.total(), "value");
        match self.rank() {
            1 => write!(f, "{}, {values}", Count(self.len(), "row"))?,
            rank => write!(
                f,
                "{} of rank {rank}, {values}",
                Count(self.len(), "element")
            )?,
        }
        if self.is_empty() {
            return Ok(());
        }
        for axis in 0..self.rank() {
            f.write_str(match (self.rank(), axis) {
                (1, _) => ", lengths ",
                (_, 0) => ", extents (",
                _ => ", ",
            })?;
            let (least, most) = self.extent_bounds(axis);
            write!(f, "{least}..={most}")?;
        }
        f.write_str(if self.rank() == 1 { "" } else { ")" })
    }
}

/// Writes the summary and the length or shape of each element, shortened like a list of values.
impl Debug for Layout {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Layout({self}: ")?;
        list(f, self.len(), 0, 0, &mut |f, element| match self.rank() {
            1 => write!(f, "{}", self.length(element)),
            _ => write!(f, "{}", self.shape(element)),
        })?;
        f.write_str(")")
    }
}

impl<T: Copy + Debug + 'static> Display for Ragged<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "Ragged<{}>: {}", short_name::<T>(), self.layout())?;
        let rank = self.layout().rank();
        list(f, self.len(), 0, rank, &mut |f, element| {
            let shape = self.shape(element);
            array(f, shape.extents(), self.row(element), 1)
        })
    }
}

impl<T: Copy + Debug + 'static> Debug for Ragged<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Elements of up to this many values are read as a whole.
const READ_WHOLE: usize = 4096;

/// Reads values of a batch, by their positions in it.
pub(crate) type Reader<'a, T> = &'a mut dyn FnMut(Range<usize>) -> Result<Vec<T>>;

/// Writes the values of a batch that is not in memory, and reads little more than it writes.
pub(crate) fn write_values<T: Debug + 'static>(
    f: &mut Formatter<'_>,
    layout: &Layout,
    read: Reader<'_, T>,
) -> fmt::Result {
    list(f, layout.len(), 0, layout.rank(), &mut |f, element| {
        let (shape, range) = (layout.shape(element), layout.offsets().range(element));
        part(f, shape.extents(), range, 1, read)
    })
}

/// Writes the array at these positions.
fn part<T: Debug + 'static>(
    f: &mut Formatter<'_>,
    extents: &[u32],
    at: Range<usize>,
    depth: usize,
    read: Reader<'_, T>,
) -> fmt::Result {
    let elided = !f.alternate() && at.len() > READ_WHOLE;
    match extents {
        [_] if elided => {
            let ends = [at.start..at.start + END_ITEMS, at.end - END_ITEMS..at.end];
            let [first, last] = match ends.map(&mut *read) {
                [Ok(first), Ok(last)] => [first, last],
                [Err(error), _] | [_, Err(error)] => return write!(f, "<{error}>"),
            };
            list(f, at.len(), depth, 0, &mut |f, i| match i < END_ITEMS {
                true => number(f, &first[i]),
                false => number(f, &last[i + END_ITEMS - at.len()]),
            })
        }
        [extent, inner @ ..] if elided => {
            let size = at.len() / *extent as usize;
            list(f, *extent as usize, depth, inner.len(), &mut |f, i| {
                let begin = at.start + i * size;
                part(f, inner, begin..begin + size, depth + 1, read)
            })
        }
        _ => match read(at) {
            Ok(values) => array(f, extents, &values, depth),
            Err(error) => write!(f, "<{error}>"),
        },
    }
}

/// Writes an array nested in `depth` brackets.
fn array<T: Debug + 'static>(
    f: &mut Formatter<'_>,
    extents: &[u32],
    values: &[T],
    depth: usize,
) -> fmt::Result {
    let [extent, inner @ ..] = extents else {
        // No axes are left, so this is a single value, formatted with the caller's width and precision.
        return values.iter().try_for_each(|value| number(f, value));
    };
    let extent = *extent as usize;
    let size = values.len().checked_div(extent).unwrap_or(0);
    list(f, extent, depth, inner.len(), &mut |f, i| {
        array(f, inner, &values[i * size..][..size], depth + 1)
    })
}

/// Writes a value as `Debug` does, except that complex numbers become `1.0-2.0i`.
fn number<T: Debug + 'static>(f: &mut Formatter<'_>, value: &T) -> fmt::Result {
    let any: &dyn Any = value;
    if let Some(z) = any.downcast_ref::<Complex32>() {
        complex(f, z)
    } else if let Some(z) = any.downcast_ref::<Complex64>() {
        complex(f, z)
    } else {
        value.fmt(f)
    }
}

fn complex<F: Debug>(f: &mut Formatter<'_>, z: &Complex<F>) -> fmt::Result {
    match f.precision() {
        Some(digits) => write!(f, "{:.digits$?}{:+.digits$?}i", z.re, z.im),
        None => write!(f, "{:?}{:+?}i", z.re, z.im),
    }
}

/// Writes `[first, second, ..., last]`. Items that are themselves lists of `inner` levels go on separate lines.
///
/// `item` is a trait object because it calls this function recursively.
fn list(
    f: &mut Formatter<'_>,
    len: usize,
    depth: usize,
    inner: usize,
    item: &mut dyn FnMut(&mut Formatter<'_>, usize) -> fmt::Result,
) -> fmt::Result {
    let separate = |f: &mut Formatter<'_>| match inner {
        0 => f.write_str(", "),
        // Separates arrays within a list by a blank line.
        _ => write!(
            f,
            ",{}{:indent$}",
            if inner == 1 { "\n" } else { "\n\n" },
            "",
            indent = depth + 1
        ),
    };
    let elided = if f.alternate() || len <= MAX_ITEMS {
        0..0
    } else {
        END_ITEMS..len - END_ITEMS
    };

    f.write_str("[")?;
    for i in 0..elided.start {
        item(f, i)?;
        separate(f)?;
    }
    if !elided.is_empty() {
        f.write_str("...")?;
        separate(f)?;
    }
    for i in elided.end..len {
        item(f, i)?;
        if i + 1 < len {
            separate(f)?;
        }
    }
    f.write_str("]")
}

/// The type's name without its path.
fn short_name<T>() -> &'static str {
    let name = type_name::<T>();
    name.rsplit("::").next().unwrap_or(name)
}
