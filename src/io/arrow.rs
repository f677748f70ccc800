//! Conversions between batches and lists of Apache Arrow, as `ArrayData`, from which and to which the typed arrays of
//! `arrow-array` convert without copying.
//!
//! An array of lists of lists of numbers is a tree with one node a level. [`Level`] is a level of lists. Its entries
//! are numbered as those of the level above refer to them, and all entries of an element are a range, at every level.
//!
//! Safe code cannot make an `ArrayData` that breaks Arrow's rules, but the C interface can bring one in, so lengths and
//! offsets are compared before they are used.

use core::ops::Range;

use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use bytemuck::allocation::try_cast_vec;
use half::f16;
use num_complex::Complex32;

use super::layout_of;
use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;
use crate::ragged::{Layout, MAX_RANK, Ragged, check_rank, element_count};

mod sealed {
    use super::*;

    pub trait Sealed: bytemuck::Pod {
        /// The type of the numbers that Arrow stores.
        type Number: ArrowNativeType + bytemuck::Pod;
        const NUMBERS: DataType;
        /// The numbers of a value.
        const PARTS: usize;
    }
}

/// A type of values that lists of Arrow can hold: `f64`, `f32`, [`f16`](struct@f16), the integers of 8 to 64 bits, or
/// [`Complex32`], which is a `FixedSizeList` of two `Float32`, the real part first. Sealed.
pub trait ArrowValue: sealed::Sealed {}

macro_rules! arrow_values {
    ($($t:ty: $parts:literal $number:ty, $numbers:ident;)*) => {$(
        impl sealed::Sealed for $t {
            type Number = $number;
            const NUMBERS: DataType = DataType::$numbers;
            const PARTS: usize = $parts;
        }

        impl ArrowValue for $t {}
    )*};
}
arrow_values! {
    f64: 1 f64, Float64;
    f32: 1 f32, Float32;
    f16: 1 f16, Float16;
    i8: 1 i8, Int8;
    i16: 1 i16, Int16;
    i32: 1 i32, Int32;
    i64: 1 i64, Int64;
    u8: 1 u8, UInt8;
    u16: 1 u16, UInt16;
    u32: 1 u32, UInt32;
    u64: 1 u64, UInt64;
    Complex32: 2 f32, Float32;
}

/// Available with the feature `arrow`.
impl<T: ArrowValue> Ragged<T> {
    /// The lists of an Arrow array, one element a list.
    ///
    /// Takes the typed arrays of Arrow (`ListArray`, `LargeListArray`, `FixedSizeListArray`), or `array.into_data()` of
    /// an `ArrayRef`. Lists of numbers are elements of rank 1. Lists of lists are of rank 2, and so on; any level may
    /// be a `List`, a `LargeList` or a `FixedSizeList`. The lists at one level of an element must have equal lengths,
    /// as the rows of a matrix do. The extent along a level is that of its lists. An element that has no lists at a
    /// level has the size of the type there for a `FixedSizeList`, and otherwise 0.
    ///
    /// ```
    /// use arrow_data::ArrayData;
    /// use arrow_schema::DataType;
    /// use vsla::{Ragged, Shape};
    ///
    /// let batch = Ragged::from_rows([vec![1.5f32, 2.5], vec![], vec![3.5]])?;
    /// let list: ArrayData = batch.clone().into_arrow(&DataType::new_list(DataType::Float32, true))?;
    /// assert_eq!(Ragged::from_arrow(list)?, batch);
    ///
    /// // Frames of three channels.
    /// let shapes = [Shape::new(&[2, 3])?, Shape::new(&[0, 3])?];
    /// let batch = Ragged::from_shapes(vec![1i16, 2, 3, 4, 5, 6], 2, shapes)?;
    /// let frame = DataType::new_fixed_size_list(DataType::Int16, 3, false);
    /// let list = batch.clone().into_arrow(&DataType::new_list(frame, false))?;
    /// assert_eq!(Ragged::from_arrow(list)?, batch);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over the offsets, which are copied. The values are taken without a copy if nothing else refers to their
    /// buffer, it was made from a `Vec` (as those of the builders and of the Parquet reader are), and the first list
    /// begins at its start. Otherwise, they are copied once. Pass the array itself, not a clone: a column is alone in
    /// its array after `record_batch.remove_column(i)`.
    ///
    /// # Errors
    /// [`Error::Argument`] for an array that is not of lists of this type of values, and for one that breaks the rules
    /// of Arrow, as only `unsafe` code and other languages can make; [`Error::Rank`] for more than 8 levels of lists;
    /// [`Error::Null`] names the first null, of a list or a value, that belongs to an element; [`Error::Shape`] names
    /// the first element with lists of different lengths; [`Error::SizeOverflow`] when a size exceeds 2³² − 1;
    /// [`Error::OutOfMemory`].
    pub fn from_arrow(array: impl Into<ArrayData>) -> Result<Self> {
        read("from_arrow", array.into(), None)
    }

    /// Like [`from_arrow`](Self::from_arrow), with a value for nulls instead of an error.
    ///
    /// A null value becomes `value`. A null `List` or `LargeList` becomes an empty list, whatever values it covers, and
    /// a null `FixedSizeList` becomes a list of its size with every value equal to `value`.
    ///
    /// ```
    /// # use arrow_buffer::{Buffer, NullBuffer};
    /// # use arrow_data::ArrayData;
    /// # use arrow_schema::DataType;
    /// # use vsla::Ragged;
    /// # let values = ArrayData::builder(DataType::Int32).len(4).add_buffer(Buffer::from_vec(vec![1i32, 0, 3, 4]));
    /// # let values = values.nulls(Some(NullBuffer::from(vec![true, false, true, true]))).build().unwrap();
    /// # let list = ArrayData::builder(DataType::new_list(DataType::Int32, true)).len(3).add_child_data(values);
    /// # let list = list.add_buffer(Buffer::from_vec(vec![0i32, 3, 4, 4]));
    /// # let list = list.nulls(Some(NullBuffer::from(vec![true, false, true]))).build().unwrap();
    /// // list: [[1, null, 3], null, []]
    /// assert_eq!(
    ///     Ragged::<i32>::from_arrow(list.clone()).unwrap_err().to_string(),
    ///     "from_arrow: element 0 is null at [1]; use from_arrow_or to replace nulls by a value",
    /// );
    /// assert_eq!(Ragged::from_arrow_or(list, -1)?.to_vecs()?, [vec![1, -1, 3], vec![], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`from_arrow`](Self::from_arrow), except [`Error::Null`].
    pub fn from_arrow_or(array: impl Into<ArrayData>, value: T) -> Result<Self> {
        read("from_arrow_or", array.into(), Some(value))
    }

    /// The batch as an Arrow array of this type, one list per element, without nulls.
    ///
    /// The type has as many levels of lists (`List`, `LargeList` or `FixedSizeList`) as the elements have axes. Its
    /// names, metadata and nullability are kept, so the type of a column of a schema can be passed.
    /// `arrow_array::make_array` makes an `ArrayRef` of the result, and `ListArray::from` a `ListArray`.
    /// [`from_arrow`](Self::from_arrow) gives the same batch again, bit for bit, and has examples.
    ///
    /// # Cost
    /// The values are moved, not copied. The offsets of each `List` and `LargeList` are written, and checked by Arrow.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of levels, another type of values, and for a `List` that would hold more
    /// than 2³¹ − 1 entries. [`Error::Shape`] names the first element that the type cannot express: one whose extent
    /// differs from the size of a `FixedSizeList`, and one that has an extent of 0 followed by another extent along a
    /// level of `List` or `LargeList`, because the length of a list that does not exist is not stored: (0, 5) can be a
    /// list of `FixedSizeList`, and (0, 0) any list of lists. [`Error::OutOfMemory`].
    pub fn into_arrow(self, data_type: &DataType) -> Result<ArrayData> {
        write("into_arrow", self, data_type)
    }
}

/// A type of lists, and that of their entries.
fn list_of(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) => Some(field.data_type()),
        DataType::FixedSizeList(field, size) if *size >= 0 => Some(field.data_type()),
        _ => None,
    }
}

/// The types of lists, from the outermost, down to numbers of `T`. The last one holds the parts of a value if there are
/// several.
fn types<'a, T: ArrowValue>(
    op: &'static str,
    data_type: &'a DataType,
) -> Result<Vec<&'a DataType>> {
    let mut types = Vec::new();
    let mut inner = data_type;
    while let Some(entry) = list_of(inner) {
        types.push(inner);
        inner = entry;
    }
    let parted = T::PARTS == 1
        || matches!(types.last(), Some(DataType::FixedSizeList(_, size)) if *size as usize == T::PARTS);
    if inner != &T::NUMBERS || !parted || types.len() < T::PARTS {
        let expected = match T::PARTS {
            1 => format!("lists (List, LargeList or FixedSizeList) of {}", T::NUMBERS),
            parts => format!(
                "lists (List, LargeList or FixedSizeList) of FixedSizeList({parts}) of {}",
                T::NUMBERS
            ),
        };
        return Err(Error::argument(expected, data_type).named(op));
    }
    check_rank(types.len() + 1 - T::PARTS).named(op)?;
    Ok(types)
}

/// The lengths of the lists of a level.
enum Lengths {
    /// Offsets of 32 bits; list i begins at offset i.
    Offsets(Buffer),
    /// Offsets of 64 bits.
    LargeOffsets(Buffer),
    Fixed(usize),
}

impl Lengths {
    /// Whether there are offsets, or entries of fixed lists, up to this list. The offsets themselves are compared with
    /// the number of entries as they are read.
    fn reach(&self, lists: usize, entries: usize) -> bool {
        match self {
            Lengths::Offsets(bytes) => bytes.len() / size_of::<i32>() > lists,
            Lengths::LargeOffsets(bytes) => bytes.len() / size_of::<i64>() > lists,
            Lengths::Fixed(size) => lists.saturating_mul(*size) <= entries,
        }
    }
}

/// A level of lists.
struct Level {
    lengths: Lengths,
    /// The entries of the next level.
    entries: usize,
    /// Where its first list is in the buffers; in those of the nulls, at the start.
    offset: usize,
    /// Absent if there are none.
    nulls: Option<NullBuffer>,
}

impl Level {
    fn is_null(&self, entry: usize) -> bool {
        self.nulls
            .as_ref()
            .is_some_and(|nulls| nulls.is_null(entry))
    }

    /// The entries of the next level that belong to a list. A negative offset is beyond all entries.
    fn entries(&self, list: usize) -> Range<usize> {
        let list = self.offset + list;
        match &self.lengths {
            Lengths::Offsets(bytes) => {
                let at = |i| i32::from_ne_bytes(number(bytes, i)) as usize;
                at(list)..at(list + 1)
            }
            Lengths::LargeOffsets(bytes) => {
                let at = |i| i64::from_ne_bytes(number(bytes, i)) as usize;
                at(list)..at(list + 1)
            }
            Lengths::Fixed(size) => list * size..(list + 1) * size,
        }
    }
}

/// The bytes of a number in a buffer, which may have any alignment.
fn number<const SIZE: usize>(bytes: &[u8], index: usize) -> [u8; SIZE] {
    let (numbers, _) = bytes.as_chunks();
    numbers[index]
}

/// The levels of an array, and its numbers.
struct Lists {
    op: &'static str,
    levels: Vec<Level>,
    /// The nulls of numbers. Absent if there are none.
    nulls: Option<NullBuffer>,
    /// Whether nulls are read as empty lists and given values.
    lenient: bool,
    /// The number of axes of an element, and the numbers of a value.
    rank: usize,
    parts: usize,
}

impl Lists {
    /// Takes an array apart, so that nothing but the result refers to the numbers. Returns them, and the position of
    /// the first one in their buffer.
    fn new<T: ArrowValue>(
        op: &'static str,
        array: ArrayData,
        lenient: bool,
    ) -> Result<(Lists, Buffer, usize)> {
        let data_type = array.data_type().clone();
        let types = types::<T>(op, &data_type)?;
        // Safe code cannot make an array whose parts do not fit together, but other languages can.
        let broken = |data_type: &DataType| {
            let expected = "an array that follows the rules of Arrow";
            Error::argument(expected, format!("parts of {data_type} that do not fit")).named(op)
        };
        let fits =
            |nulls: &Option<NullBuffer>, len| nulls.as_ref().is_none_or(|nulls| nulls.len() == len);
        let some = |nulls: Option<NullBuffer>| nulls.filter(|nulls| nulls.null_count() > 0);
        let mut levels = Vec::new();
        let mut array = array;
        for &expected in &types {
            let (own, len, nulls, offset, mut buffers, mut children) = array.into_parts();
            let buffer = buffers.pop();
            let lengths = match (expected, buffer) {
                (DataType::FixedSizeList(_, size), _) => Some(Lengths::Fixed(*size as usize)),
                (DataType::LargeList(_), buffer) => buffer.map(Lengths::LargeOffsets),
                (_, buffer) => buffer.map(Lengths::Offsets),
            };
            let (Some(lengths), Some(child)) = (lengths, children.pop()) else {
                return Err(broken(expected));
            };
            // An array without lists need not have an offset.
            let reach = len == 0 || lengths.reach(offset.saturating_add(len), child.len());
            if own != *expected || !reach || !fits(&nulls, len) {
                return Err(broken(expected));
            }
            levels.push(Level {
                lengths,
                entries: child.len(),
                offset,
                nulls: some(nulls),
            });
            array = child;
        }
        let (own, len, nulls, offset, mut buffers, _) = array.into_parts();
        let bytes = offset
            .saturating_add(len)
            .saturating_mul(size_of::<T::Number>());
        let numbers = buffers.pop().filter(|numbers| numbers.len() >= bytes);
        let Some(numbers) = numbers.filter(|_| own == T::NUMBERS && fits(&nulls, len)) else {
            return Err(broken(&own));
        };
        let lists = Lists {
            op,
            levels,
            nulls: some(nulls),
            lenient,
            rank: types.len() + 1 - T::PARTS,
            parts: T::PARTS,
        };
        Ok((lists, numbers, offset))
    }

    fn has_nulls(&self) -> bool {
        self.nulls.is_some() || self.levels.iter().any(|level| level.nulls.is_some())
    }

    /// Whether an entry of a level is null, or is part of a list of fixed size that is. Numbers are the last level.
    fn is_null(&self, level: usize, entry: usize) -> bool {
        let own = match self.levels.get(level) {
            Some(level) => level.is_null(entry),
            None => self
                .nulls
                .as_ref()
                .is_some_and(|nulls| nulls.is_null(entry)),
        };
        own || level > 0
            && match self.levels[level - 1].lengths {
                Lengths::Fixed(size) => {
                    let above = &self.levels[level - 1];
                    self.is_null(level - 1, entry / size - above.offset)
                }
                _ => false,
            }
    }

    /// The numbers of an element, and its extents. Those of complex values end in 2.
    fn element(&self, element: usize) -> Result<(Range<usize>, [usize; MAX_RANK + 1])> {
        let mut extents = [0; MAX_RANK + 1];
        let mut entries = element..element + 1;
        for (axis, level) in self.levels.iter().enumerate() {
            if level.nulls.is_some()
                && !self.lenient
                && let Some(null) = entries.clone().find(|&entry| level.is_null(entry))
            {
                return Err(self.null(element, &extents[..axis], null - entries.start));
            }
            if let Lengths::Fixed(size) = level.lengths {
                extents[axis] = size;
                let start = level.offset + entries.start;
                entries = start * size..(start + entries.len()) * size;
                continue;
            }
            let mut inner = 0..0;
            for list in entries.clone() {
                let mut own = level.entries(list);
                if own.start > own.end || own.end > level.entries {
                    return Err(self.outside(element, own, level.entries));
                }
                if self.lenient && self.is_null(axis, list) {
                    own.end = own.start;
                }
                if list == entries.start {
                    extents[axis] = own.len();
                    inner.start = own.start;
                } else if own.len() != extents[axis] {
                    let at = index(&extents[..axis], list - entries.start);
                    let got = format!("a list of {} at {at:?}", own.len());
                    return Err(
                        Error::shape(element, self.shown(&extents[..=axis]), got).named(self.op)
                    );
                }
                inner.end = own.end;
            }
            // Empty lists may lie apart, with values of null lists between them.
            entries = if extents[axis] == 0 { 0..0 } else { inner };
        }
        if !self.lenient
            && let Some(nulls) = &self.nulls
            && nulls.slice(entries.start, entries.len()).null_count() > 0
            && let Some(null) = entries.clone().find(|&number| nulls.is_null(number))
        {
            let value = (null - entries.start) / self.parts;
            return Err(self.null(element, &extents[..self.rank], value));
        }
        Ok((entries, extents))
    }

    /// Safe code cannot make such an array, either.
    fn outside(&self, element: usize, list: Range<usize>, entries: usize) -> Error {
        let expected = format!("lists of element {element} within {entries} entries");
        // Negative offsets as such.
        let (start, end) = (list.start as isize, list.end as isize);
        Error::argument(expected, format!("one from {start} to {end}")).named(self.op)
    }

    fn null(&self, element: usize, extents: &[usize], position: usize) -> Error {
        Error::Null {
            op: self.op,
            element,
            index: index(extents, position),
        }
    }

    /// The first extents of an element.
    fn shown(&self, extents: &[usize]) -> String {
        let more = if extents.len() < self.rank {
            ", .."
        } else {
            ""
        };
        format!("({}{more})", listed(extents))
    }
}

fn listed(extents: &[usize]) -> String {
    let extents: Vec<_> = extents.iter().map(usize::to_string).collect();
    extents.join(", ")
}

/// The index of a position in row-major order. The extents are those of an element with at least one position.
fn index(extents: &[usize], mut position: usize) -> Vec<usize> {
    let mut index = vec![0; extents.len()];
    for (index, &extent) in index.iter_mut().zip(extents).rev() {
        *index = position % extent;
        position /= extent;
    }
    index
}

fn read<T: ArrowValue>(op: &'static str, array: ArrayData, fill: Option<T>) -> Result<Ragged<T>> {
    let len = array.len();
    let (lists, numbers, offset) = Lists::new::<T>(op, array, fill.is_some())?;
    element_count(len).named(op)?;
    let mut extents = host::room(len.saturating_mul(lists.rank)).named(op)?;
    let (mut whole, mut apart) = (0..0, false);
    for element in 0..len {
        let (own, shape) = lists.element(element)?;
        for &extent in &shape[..lists.rank] {
            let narrow = u32::try_from(extent);
            let large = |_| {
                Error::size_overflow(format!("the extent {extent}"))
                    .named(op)
                    .at(element)
            };
            extents.push(narrow.map_err(large)?);
        }
        if whole.is_empty() {
            whole = own;
        } else if !own.is_empty() {
            apart |= own.start != whole.end;
            whole.end = own.end;
        }
    }
    let layout = layout_of(op, lists.rank, extents)?;
    let total = layout.total();
    let values = if apart {
        let ranges = (0..len).map(|element| lists.element(element).map(|(own, _)| own));
        copied(op, &numbers, offset, total, ranges)?
    } else {
        taken(op, numbers, offset, total, whole)?
    };
    let mut batch = Ragged::from_parts(layout, values)?;
    if let Some(value) = fill
        && lists.has_nulls()
    {
        for element in 0..len {
            let (own, _) = lists.element(element)?;
            let row = &mut batch[element];
            for (place, number) in own.enumerate() {
                if lists.is_null(lists.levels.len(), number) {
                    row[place / T::PARTS] = value;
                }
            }
        }
    }
    Ok(batch)
}

/// The values of a range of numbers: the buffer itself, if nothing else refers to it and the range is at its start.
fn taken<T: ArrowValue>(
    op: &'static str,
    mut numbers: Buffer,
    offset: usize,
    total: usize,
    range: Range<usize>,
) -> Result<Vec<T>> {
    if offset + range.start == 0 {
        match numbers.into_vec::<T::Number>() {
            Ok(mut values) => {
                values.truncate(range.end);
                match try_cast_vec(values) {
                    Ok(values) => return Ok(values),
                    // A capacity that is not a whole number of complex values.
                    Err((_, values)) => numbers = Buffer::from_vec(values),
                }
            }
            Err(shared) => numbers = shared,
        }
    }
    copied(op, &numbers, offset, total, [Ok(range)])
}

/// A copy of ranges of numbers, which are `total` values, end to end. The buffer may have any alignment.
fn copied<T: ArrowValue>(
    op: &'static str,
    numbers: &[u8],
    offset: usize,
    total: usize,
    ranges: impl IntoIterator<Item = Result<Range<usize>>>,
) -> Result<Vec<T>> {
    let size = size_of::<T::Number>();
    let mut values = host::zeroed(total).named(op)?;
    let mut rest: &mut [u8] = bytemuck::cast_slice_mut::<T, u8>(&mut values);
    for range in ranges {
        let range = range?;
        let bytes = &numbers[(offset + range.start) * size..(offset + range.end) * size];
        let (own, after) = rest.split_at_mut(bytes.len());
        own.copy_from_slice(bytes);
        rest = after;
    }
    Ok(values)
}

fn write<T: ArrowValue>(
    op: &'static str,
    batch: Ragged<T>,
    data_type: &DataType,
) -> Result<ArrayData> {
    let types = types::<T>(op, data_type)?;
    let rank = batch.layout().rank();
    if types.len() + 1 - T::PARTS != rank {
        let expected = format!("as many levels of lists as the elements have axes, {rank}");
        return Err(Error::argument(expected, data_type).named(op));
    }
    let counts = counts(op, batch.layout(), &types)?;
    let (layout, values) = batch.into_parts();

    let array = |data_type: &DataType, len, buffers, children| {
        let array = ArrayData::try_new(data_type.clone(), len, None, 0, buffers, children);
        array.map_err(|error| Error::argument("a type that Arrow accepts", error).named(op))
    };
    let total = values.len();
    let numbers = match try_cast_vec::<T, T::Number>(values) {
        Ok(numbers) => numbers,
        // A number has the alignment of its value, and divides its size.
        Err((_, values)) => host::copied(bytemuck::cast_slice(&values)).named(op)?,
    };
    let numbers = vec![Buffer::from_vec(numbers)];
    let mut data = array(&T::NUMBERS, total * T::PARTS, numbers, vec![])?;
    for (axis, data_type) in types.iter().enumerate().rev() {
        let buffers = match data_type {
            DataType::List(_) => vec![offsets::<i32>(op, &layout, axis, counts[axis])?],
            DataType::LargeList(_) => vec![offsets::<i64>(op, &layout, axis, counts[axis])?],
            _ => vec![],
        };
        data = array(data_type, counts[axis], buffers, vec![data])?;
    }
    Ok(data)
}

/// The number of lists at each level, and the number of values. Fails for an element that these types cannot express.
fn counts(op: &'static str, layout: &Layout, types: &[&DataType]) -> Result<[usize; MAX_RANK + 1]> {
    let mut counts = [0u64; MAX_RANK + 1];
    for (element, shape) in layout.shapes().enumerate() {
        let mut lists = 1u64;
        for (axis, (&extent, data_type)) in shape.extents().iter().zip(types).enumerate() {
            counts[axis] = counts[axis].saturating_add(lists);
            let (expected, hint) = match data_type {
                DataType::FixedSizeList(_, size) => (*size as u32, ""),
                _ if lists == 0 => (0, " or a FixedSizeList"),
                _ => (extent, ""),
            };
            if extent != expected {
                let mut extents: Vec<_> = shape.extents().iter().map(|&n| n as usize).collect();
                extents[axis] = expected as usize;
                let expected = format!("({}){hint}", listed(&extents));
                return Err(Error::shape(element, expected, shape).named(op));
            }
            lists = lists.saturating_mul(extent.into());
        }
        let rank = shape.rank();
        counts[rank] = counts[rank].saturating_add(lists);
    }
    for (axis, data_type) in types.iter().enumerate().take(layout.rank()) {
        let entries = counts[axis + 1];
        if matches!(data_type, DataType::List(_)) && i32::try_from(entries).is_err() {
            let expected = format!("a LargeList for {entries} entries in all");
            return Err(Error::argument(expected, data_type).named(op));
        }
    }
    let mut narrow = [0; MAX_RANK + 1];
    for (narrow, count) in narrow.iter_mut().zip(counts) {
        let large = |_| Error::size_overflow(format!("a level of {count} lists")).named(op);
        *narrow = usize::try_from(count).map_err(large)?;
    }
    Ok(narrow)
}

/// Where the lists of a level begin among the entries of the next one.
fn offsets<O: ArrowNativeType>(
    op: &'static str,
    layout: &Layout,
    axis: usize,
    lists: usize,
) -> Result<Buffer> {
    let mut offsets = host::room(lists.saturating_add(1)).named(op)?;
    let mut end = 0;
    offsets.push(O::usize_as(end));
    for shape in layout.shapes() {
        let (before, rest) = shape.extents().split_at(axis);
        let times = |lists: usize, &extent: &u32| lists.saturating_mul(extent as usize);
        for _ in 0..before.iter().fold(1, times) {
            end += rest[0] as usize;
            offsets.push(O::usize_as(end));
        }
    }
    Ok(Buffer::from_vec(offsets))
}
