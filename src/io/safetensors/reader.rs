//! Reading, one batch at a time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::super::{Any, Contents, Stored, paths, swap, wrong};
use super::header::{Header, Tensor};
use super::{OFFSETS, SHAPE, VALUES, dtype};
use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;
use crate::ragged::{Layout, Offsets, Ragged, check_rank, product};

const OP: &str = "read";

/// The maximum size of a header in bytes, as specified by the format.
const LONGEST: u64 = 100_000_000;

/// The most bytes of memory that a byte of a header takes.
const PARSED: usize = 16;

/// The number of bytes of integers to convert at a time.
const PIECE: u64 = 1 << 16;

/// A `.safetensors` file whose header has been read. Batches are read on request.
pub struct Reader<R> {
    reader: R,
    /// The path, for errors.
    name: String,
    tensors: Header,
    /// The position at which the data starts.
    data: u64,
}

impl Reader<File> {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// [`Error::Io`] when the system cannot open or read the file, and for anything but a regular file; [`Error::File`]
    /// when the file is truncated, contains data that belongs to no tensor, or is not a `.safetensors` file.
    pub fn open(path: impl AsRef<Path>) -> Result<Reader<File>> {
        let name = path.as_ref().display().to_string();
        let opened = paths::open(path.as_ref());
        let (file, _) = opened.map_err(|error| Error::io(OP, &name, &error))?;
        Reader::named(file, name)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Like [`open`](Reader::open), for any seekable reader, which is used from its start to its end.
    ///
    /// Use `std::io::Cursor::new(bytes)` for bytes in memory.
    ///
    /// # Errors
    /// Those of [`open`](Reader::open).
    pub fn new(reader: R) -> Result<Reader<R>> {
        Reader::named(reader, "the stream".to_owned())
    }

    fn named(reader: R, name: String) -> Result<Reader<R>> {
        let mut file = Reader {
            reader,
            name,
            tensors: Header(Default::default()),
            data: 8,
        };
        let size = file.reader.seek(SeekFrom::End(0));
        let size = size.map_err(|error| file.failed(error))?;
        if size < 8 {
            return Err(wrong(size, "at least 8 bytes", "the end of the file"));
        }
        let mut length = [0; 8];
        file.read_at(0, &mut length)?;
        let length = u64::from_le_bytes(length);
        let most = LONGEST.min(size - 8);
        if length > most {
            let expected = format!("a header of at most {most} bytes");
            return Err(wrong(0, expected, length.to_string()));
        }
        // The parser allocates in small pieces, without a way to report failure, so the total is checked first.
        host::check(length, PARSED).named(OP)?;
        let mut text = host::zeroed(host_size(length)?).named(OP)?;
        file.read_at(8, &mut text)?;
        let header = serde_json::from_slice(&text);
        file.tensors =
            header.map_err(|error| wrong(8, "a JSON object of tensors", error.to_string()))?;
        file.data = 8 + length;
        file.tile(size - file.data)?;
        Ok(file)
    }

    /// Checks that the data of the tensors covers the file's data without gaps or overlaps.
    fn tile(&self, size: u64) -> Result<()> {
        let tensors = self.tensors.0.values();
        let ranges = tensors.map(|tensor| tensor.data_offsets);
        let mut ranges = host::exact(ranges).named(OP)?;
        ranges.sort_unstable();
        let mut end = 0;
        for [from, to] in ranges {
            if from != end || to < from {
                let expected = format!("the next tensor's data to start at {end}");
                return Err(wrong(8, expected, format!("{from} to {to}")));
            }
            end = to;
        }
        if end != size {
            let expected = format!("data of {end} bytes");
            return Err(wrong(self.data, expected, size.to_string()));
        }
        Ok(())
    }

    /// The names of the file's batches, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let tensors = &self.tensors.0;
        tensors.keys().filter_map(|tensor| {
            let name = tensor.strip_suffix(VALUES)?;
            tensors
                .contains_key(&format!("{name}{OFFSETS}"))
                .then_some(name)
        })
    }

    /// Reads a batch, preserving values bit for bit.
    ///
    /// # Errors
    /// [`Error::Name`] for a name that is not among [`names`](Self::names); [`Error::File`] for a batch of another
    /// type, and for tensors that do not form a batch; [`Error::InvalidOffsets`], [`Error::ValueCount`],
    /// [`Error::Rank`], [`Error::SizeOverflow`] and [`Error::Length`], which name the element, for inconsistent offsets
    /// and shapes; [`Error::Io`] when the system cannot read.
    pub fn read<T: Stored>(&mut self, name: &str) -> Result<Ragged<T>> {
        let values = self.tensor(name, VALUES)?;
        if values.dtype != dtype::<T>() {
            let expected = format!("{name}{VALUES} of type {}", dtype::<T>());
            return Err(wrong(8, expected, values.dtype.as_str()));
        }
        let (count, from) = self.place(name, VALUES, values, 1, size_of::<T>())?;
        // Check the layout first, since it is smaller than the values.
        let layout = self.layout(name)?;
        layout.check_values(count).named(OP)?;
        let mut values = host::zeroed::<T>(count).named(OP)?;
        let bytes = bytemuck::cast_slice_mut(&mut values);
        self.read_at(from, bytes)?;
        if cfg!(target_endian = "big") {
            swap(bytes, T::NUMBER);
        }
        Ragged::from_parts(layout, values)
    }

    /// Reads a batch with values of any type.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_any(&mut self, name: &str) -> Result<Any> {
        let values = self.tensor(name, VALUES)?;
        Ok(match values.dtype.as_str() {
            "F64" => Any::F64(Contents::Ragged(self.read(name)?)),
            "F32" => Any::F32(Contents::Ragged(self.read(name)?)),
            "F16" => Any::F16(Contents::Ragged(self.read(name)?)),
            "U32" => Any::U32(Contents::Ragged(self.read(name)?)),
            "I32" => Any::I32(Contents::Ragged(self.read(name)?)),
            "C64" => Any::C32(Contents::Ragged(self.read(name)?)),
            "U8" => Any::U8(Contents::Ragged(self.read(name)?)),
            other => {
                let expected = format!("{name}{VALUES} of type F64, F32, F16, U32, I32, C64 or U8");
                return Err(wrong(8, expected, other));
            }
        })
    }

    fn tensor(&self, name: &str, suffix: &str) -> Result<&Tensor> {
        let tensor = self.tensors.0.get(&format!("{name}{suffix}"));
        tensor.ok_or_else(|| Error::Name {
            op: OP,
            expected: "the name of a batch in the file".into(),
            got: name.to_owned(),
        })
    }

    /// The number of values of a tensor, at `size` bytes each, and the position at which they start.
    fn place(
        &self,
        name: &str,
        suffix: &str,
        tensor: &Tensor,
        rank: usize,
        size: usize,
    ) -> Result<(usize, u64)> {
        let shape = &tensor.shape;
        if shape.rank != rank {
            let expected = format!("{name}{suffix} of rank {rank}");
            return Err(wrong(8, expected, shape.rank.to_string()));
        }
        let [from, to] = tensor.data_offsets;
        let count = shape.first[..rank]
            .iter()
            .try_fold(1u64, |n, &k| n.checked_mul(k));
        let bytes = count.and_then(|count| count.checked_mul(size as u64));
        if bytes != Some(to - from) {
            let expected = format!("a byte count of {name}{suffix} that matches its shape");
            return Err(wrong(8, expected, (to - from).to_string()));
        }
        let count = host_size((to - from) / size as u64)?;
        Ok((count, self.data + from))
    }

    fn layout(&mut self, name: &str) -> Result<Layout> {
        let offsets = self.tensor(name, OFFSETS)?;
        let integer = Integer::of(name, OFFSETS, offsets)?;
        let (count, at) = self.place(name, OFFSETS, offsets, 1, integer.size)?;
        let offsets = Offsets::new(self.integers(count, at, integer)?)?;

        let Some(shape) = self.tensors.0.get(&format!("{name}{SHAPE}")) else {
            return Ok(Layout::from_offsets(offsets));
        };
        let integer = Integer::of(name, SHAPE, shape)?;
        let (count, at) = self.place(name, SHAPE, shape, 2, integer.size)?;
        let [elements, rank] = shape.shape.first;
        if elements != offsets.len() as u64 {
            let expected = format!("{name}{SHAPE} of {} rows", offsets.len());
            return Err(wrong(8, expected, elements.to_string()));
        }
        let rank = usize::try_from(rank).unwrap_or(usize::MAX);
        check_rank(rank).named(OP)?;
        let extents = self.integers(count, at, integer)?;
        for (element, extents) in extents.chunks_exact(rank).enumerate() {
            let size = product(extents).ok_or_else(|| {
                Error::size_overflow("the product of the extents")
                    .named(OP)
                    .at(element)
            })?;
            if size as usize != offsets.length(element) {
                return Err(
                    Error::length(element, size as usize, offsets.length(element)).named(OP),
                );
            }
        }
        let extents = if rank == 1 { Vec::new() } else { extents };
        Ok(Layout::unchecked(offsets, rank, extents))
    }

    /// Reads integers that are stored with up to 64 bits and must fit in 32.
    fn integers(&mut self, count: usize, at: u64, integer: Integer) -> Result<Vec<u32>> {
        let Integer { size, signed } = integer;
        let mut numbers = host::room(count).named(OP)?;
        let end = at + (count * size) as u64;
        let mut bytes = host::zeroed(host_size(PIECE.min(end - at))?).named(OP)?;
        let mut next = at;
        while next < end {
            let piece = bytes.len().min(host_size(end - next)?);
            let piece = &mut bytes[..piece];
            self.read_at(next, piece)?;
            for (number, bytes) in piece.chunks_exact(size).enumerate() {
                let mut wide = [0; 8];
                wide[..size].copy_from_slice(bytes);
                let value = u64::from_le_bytes(wide);
                let most = if signed && size == 4 {
                    i32::MAX as u32
                } else {
                    u32::MAX
                };
                if value > u64::from(most) {
                    let at = next + (number * size) as u64;
                    let expected = format!("an integer from 0 to {most}");
                    let got = match (signed, size) {
                        (true, 4) => (value as i32).to_string(),
                        (true, _) => (value as i64).to_string(),
                        (false, _) => value.to_string(),
                    };
                    return Err(wrong(at, expected, got));
                }
                numbers.push(value as u32);
            }
            next += piece.len() as u64;
        }
        Ok(numbers)
    }

    fn read_at(&mut self, at: u64, bytes: &mut [u8]) -> Result<()> {
        let read = self.reader.seek(SeekFrom::Start(at));
        let read = read.and_then(|_| self.reader.read_exact(bytes));
        read.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::io(OP, &self.name, &error)
    }
}

/// An integer type of offsets and extents.
#[derive(Clone, Copy)]
struct Integer {
    size: usize,
    signed: bool,
}

impl Integer {
    fn of(name: &str, suffix: &str, tensor: &Tensor) -> Result<Integer> {
        let (size, signed) = match tensor.dtype.as_str() {
            "I64" => (8, true),
            "U64" => (8, false),
            "I32" => (4, true),
            "U32" => (4, false),
            other => {
                let expected = format!("{name}{suffix} of type I64, U64, I32 or U32");
                return Err(wrong(8, expected, other));
            }
        };
        Ok(Integer { size, signed })
    }
}

/// Converts a size to `usize`. On a 32-bit machine, part of a file may be too large to address.
fn host_size(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| Error::out_of_memory(bytes, None).named(OP))
}
