//! Files and interchange. The `.vsla` file keeps ragged batches and block-sparse matrices, bit for bit.
//!
//! [`Ragged`] and [`Bsr`] have `read` and `write` for paths, `read_from` and `write_to` for streams. [`Any`] reads a file of
//! which one does not know what it holds.
//!
//! ```
//! use vsla::{Ragged, io};
//!
//! let batch = Ragged::from_rows([vec![1.5f32, 2.5], vec![], vec![3.5]])?;
//! let mut file = Vec::new();
//! batch.write_to(&mut file)?;
//! assert_eq!(file.len(), 32 + 3 * 4 + 3 * 4 + 4);
//! assert_eq!(Ragged::read_from(&file[..])?, batch);
//! assert_eq!(io::Any::read_from(&file[..])?, io::Any::F32(io::Contents::Ragged(batch)));
//! assert_eq!(
//!     Ragged::<f64>::read_from(&file[..]).unwrap_err().to_string(),
//!     "read: at byte 9: expected values of type f64, got f32",
//! );
//! # Ok::<(), vsla::Error>(())
//! ```
//!
//! # Version 2
//! What is written. All numbers are little-endian, and nothing stands between the parts.
//!
//! | at byte | type | what |
//! | ---: | --- | --- |
//! | 0 | 8 bytes | `VSLAv02` and a 0 |
//! | 8 | u8 | contents: 0 a ragged batch, 1 block-sparse matrices |
//! | 9 | u8 | type of the values: 0 `f64`, 1 `f32`, 2 `f16`, 3 `u32`, 4 `i32`, 5 `Complex32` (real part, then imaginary part) |
//! | 10 | u8 | rank r of an element, 1 to 8 |
//! | 11 | 5 bytes | 0 |
//! | 16 | u64 | number n of elements |
//! | 24 | u64 | number of values of all elements |
//! | 32 | n · r × u32 | the extents of each element |
//! | | | of block-sparse matrices: their topology, as follows |
//! | | | the values, one element after the other, each row-major |
//! | last 4 | u32 | CRC-32 of all bytes before it (the one of Ethernet, zip and PNG) |
//!
//! Block-sparse matrices are a batch of rank 3, an element of shape (blocks, rows of a block, columns of a block) for
//! each of them. Their [`Topology`](crate::Topology) is, all u32: rows and columns of the matrix; rows and columns of a
//! block; the number of blocks; how many of them each row of the grid has; how many each column has; and the column of
//! each block, in row order. (The columns' counts repeat what the rest says, so that a file is never smaller than the
//! topology it asks for.)
//!
//! # Version 1
//! Read, and no longer written: one dense tensor of any rank to 8. All numbers in the byte order that byte 8 names.
//!
//! | at byte | type | what |
//! | ---: | --- | --- |
//! | 0 | 8 bytes | `VSLAv01` and a 0 |
//! | 8 | u8 | byte order of the machine that wrote it: 0 little-endian, 1 big-endian |
//! | 9 | u8 | rank r, 1 to 8 |
//! | 10 | u8 | model: 0 convolution, 1 Kronecker; it says nothing about the values and is not kept |
//! | 11 | u8 | type of the values: 0 `f64`, 1 `f32` |
//! | 12 | u32 | 0 |
//! | 16 | r × u64 | extents |
//! | 16 + 8 r | r × u64 | capacities: extents of the array that follows, none below the element's own |
//! | 16 + 16 r | r × u64 | strides in bytes, which must be those of a row-major array of these capacities |
//! | 16 + 24 r | | the array; what lies beyond the extents is passed over |
//!
//! It opens as a batch of one element. `f64` is for the host: [`Ragged::cast`] makes `f32` of it.
//!
//! # Bad files
//! A file that is cut short, damaged, too long or no such file at all gives an [`Error`], whatever it says of itself:
//! [`Error::File`] with the place, or the error that the same shapes give elsewhere. Nothing is reserved because a file
//! promises it: no more than twice what has been read, or what a file on disk still has.
//!
//! # Interchange
//! Each of these is a feature, and off by default.
//!
//! * `safetensors`: files for other programs, in the module `safetensors`.
//! * `ndarray`: elements as views ([`Ragged`]'s `array`, `array_mut`), batches from arrays and from and to padded ones
//!   (`from_arrays`, `from_padded_array`, `to_padded_array`).
//! * `serde`: [`Ragged`], [`Bsr`], [`Layout`], [`Offsets`], [`Shape`](crate::Shape) and [`Topology`](crate::Topology)
//!   are `Serialize` and `Deserialize`. What comes in is checked as everywhere: a bad document is an error of serde
//!   that has the words of this library's, and names the element.
//!
//! As JSON these are
//!
//! ```json
//! {"lengths": [2, 0, 1], "values": [1.5, 2.5, 3.5]}
//! {"rank": 2, "shapes": [[2, 2], [1, 3]], "values": [1, 2, 3, 4, 5, 6, 7]}
//! {"topology": {"shape": [16, 16], "block": [8, 8], "rows": [[1], []], "columns": [0, 1]}, "sets": [[0.5, "63 more"]]}
//! ```
//!
//! and a layout is a batch without its values, offsets and a shape are arrays. A topology has the columns of the blocks
//! of each row of the grid, and how many blocks each column has; block-sparse matrices the values of each, block by
//! block. In formats that are not for people, such as CBOR, a batch is (rank, extents, values), with as many extents
//! for each element as the rank says; a topology and block-sparse matrices are their fields in this order. Values are
//! what serde makes of them: a `Complex32` is two numbers, an `f16` its 16 bits; JSON has no NaN.
//!
//! A document is bounded as a file is. Whatever numbers it promises, memory is made as they come: while it is read at
//! most 40 bytes for each byte of the document, and 4 KiB.

#[cfg(feature = "ndarray")]
mod ndarray;
mod paths;
#[cfg(feature = "safetensors")]
pub mod safetensors;
#[cfg(feature = "serde")]
mod serde;
mod sink;
mod source;
mod v1;
mod v2;

use std::io::{Read, Write};
use std::iter::repeat_n;
use std::path::Path;

use half::f16;
use num_complex::Complex32;

use crate::error::{Error, Result};
use crate::host;
use crate::ragged::{Bsr, Layout, Offsets, Ragged, element_count, product, total_overflow};
use sink::Sink;
use source::Source;

mod sealed {
    pub trait Sealed: bytemuck::Pod {
        /// In a header.
        const CODE: u8;
        const NAME: &'static str;
        /// Bytes of a number; a value may be several.
        const NUMBER: usize;
    }
}

/// A type of values that files hold: `f64`, `f32`, [`f16`](struct@f16), `u32`, `i32` or [`Complex32`]. Sealed.
pub trait Stored: sealed::Sealed {}

macro_rules! stored {
    ($($code:literal $t:ty, $name:literal, $number:literal;)*) => {$(
        impl sealed::Sealed for $t {
            const CODE: u8 = $code;
            const NAME: &'static str = $name;
            const NUMBER: usize = $number;
        }

        impl Stored for $t {}
    )*
        /// Names of the types by their codes.
        const NAMES: &[&str] = &[$($name),*];
    };
}
stored! {
    0 f64, "f64", 8;
    1 f32, "f32", 4;
    2 f16, "f16", 2;
    3 u32, "u32", 4;
    4 i32, "i32", 4;
    5 Complex32, "c32", 4;
}

/// What a file of values of one type holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Contents<T: Stored> {
    /// A ragged batch.
    Ragged(Ragged<T>),
    /// Block-sparse matrices.
    Bsr(Bsr<T>),
}

/// What a file holds, by the type of its values.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Any {
    /// Values of 64-bit floating point, for the host.
    F64(Contents<f64>),
    /// Values of 32-bit floating point.
    F32(Contents<f32>),
    /// Values of 16-bit floating point.
    F16(Contents<f16>),
    /// Unsigned integers.
    U32(Contents<u32>),
    /// Integers.
    I32(Contents<i32>),
    /// Complex values.
    C32(Contents<Complex32>),
}

impl Any {
    /// Reads a `.vsla` file of any type.
    ///
    /// # Errors
    /// Those of [`Ragged::read`], but for the type and the contents.
    pub fn read(path: impl AsRef<Path>) -> Result<Any> {
        any(Source::open(path.as_ref())?)
    }

    /// The same from a stream.
    ///
    /// # Errors
    /// Those of [`Ragged::read_from`], but for the type and the contents.
    pub fn read_from(reader: impl Read) -> Result<Any> {
        any(Source::new(reader))
    }
}

impl<T: Stored> Ragged<T> {
    /// Reads a batch from a [`.vsla` file](crate::io), of version 1 or 2.
    ///
    /// Values come as they were written, bit for bit. One pass over the file, which is checked in full before anything
    /// is returned.
    ///
    /// ```
    /// use vsla::{Layout, Ragged};
    ///
    /// let path = std::env::temp_dir().join("vsla-doc-read.vsla");
    /// let batch = Ragged::random(&Layout::from_lengths([3, 0, 100])?, 1)?;
    /// batch.write(&path)?;
    /// assert_eq!(Ragged::read(&path)?, batch);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot open or read the file, and for a folder, a device or a named pipe, which is not opened, unless it is one that the
    /// process has open, as `/dev/stdin`: [`read_from`](Self::read_from) reads any stream; [`Error::File`] for one that
    /// holds other values or block-sparse matrices, and for one that is cut short, damaged, too long or no such file;
    /// [`Error::Rank`], [`Error::SizeOverflow`] for shapes that no batch has; [`Error::OutOfMemory`].
    pub fn read(path: impl AsRef<Path>) -> Result<Ragged<T>> {
        ragged(Source::open(path.as_ref())?)
    }

    /// The same from a stream, to its end. Large parts are read at once: no buffer is needed in front of a file.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_from(reader: impl Read) -> Result<Ragged<T>> {
        ragged(Source::new(reader))
    }

    /// Writes the batch to a [`.vsla` file](crate::io) of version 2, in place of what is there.
    ///
    /// It is written beside the path under another name and renamed when it is whole and on disk: who reads the path
    /// finds what was there before, or all of the batch. Links are followed, so that what they name is replaced; on
    /// Unix the file keeps its mode. What is no file, as a device, a named pipe or `/dev/stdout`, is written to
    /// straight. Values are written as they are, NaN too.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot write it; then what was there is there still.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        sink::replace(path.as_ref(), |sink| v2::write_ragged(self, sink))
    }

    /// The same to a stream, which is flushed.
    ///
    /// # Errors
    /// [`Error::Io`] when the stream gives one. What was written before is there then.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        v2::write_ragged(self, &mut Sink::new(writer))
    }
}

impl<T: Stored> Bsr<T> {
    /// Reads block-sparse matrices from a [`.vsla` file](crate::io).
    ///
    /// ```
    /// use vsla::{Bsr, Topology};
    ///
    /// let path = std::env::temp_dir().join("vsla-doc-bsr.vsla");
    /// let topology = Topology::causal([64, 64], [8, 16])?;
    /// let matrix = Bsr::new(&topology, vec![0.5f32; topology.len() * 8 * 16])?;
    /// matrix.write(&path)?;
    /// assert_eq!(Bsr::read(&path)?, matrix);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Ragged::read`], [`Error::File`] for one that holds a ragged batch, and those of
    /// [`Topology::new`](crate::Topology::new).
    pub fn read(path: impl AsRef<Path>) -> Result<Bsr<T>> {
        bsr(Source::open(path.as_ref())?)
    }

    /// The same from a stream, to its end.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_from(reader: impl Read) -> Result<Bsr<T>> {
        bsr(Source::new(reader))
    }

    /// Writes topology and values to a [`.vsla` file](crate::io), as [`Ragged::write`] does.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot write it; then what was there is there still.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        sink::replace(path.as_ref(), |sink| v2::write_bsr(self, sink))
    }

    /// The same to a stream, which is flushed.
    ///
    /// # Errors
    /// [`Error::Io`] when the stream gives one. What was written before is there then.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        v2::write_bsr(self, &mut Sink::new(writer))
    }
}

/// The beginning of a file, as far as one must know it to choose a type.
enum Head {
    One(v1::Head),
    Two(v2::Head),
}

impl Head {
    fn read(source: &mut Source<impl Read>) -> Result<Head> {
        match &source.bytes::<8>("the header")? {
            b"VSLAv01\0" => v1::Head::read(source).map(Head::One),
            b"VSLAv02\0" => v2::Head::read(source).map(Head::Two),
            other => Err(wrong(
                0,
                "a .vsla file of version 1 or 2",
                format!("the bytes \"{}\"", other.escape_ascii()),
            )),
        }
    }

    fn code(&self) -> u8 {
        match self {
            Head::One(head) => head.code,
            Head::Two(head) => head.code,
        }
    }

    /// Refuses other values than these.
    fn expect<T: Stored>(&self) -> Result<()> {
        if self.code() == T::CODE {
            return Ok(());
        }
        let at = match self {
            Head::One(_) => 11,
            Head::Two(_) => 9,
        };
        let expected = format!("values of type {}", T::NAME);
        Err(wrong(at, expected, NAMES[self.code() as usize]))
    }
}

fn ragged<T: Stored>(mut source: Source<impl Read>) -> Result<Ragged<T>> {
    let head = Head::read(&mut source)?;
    head.expect::<T>()?;
    match head {
        Head::One(head) => head.ragged(source),
        Head::Two(head) if head.blocks => Err(wrong(8, "a ragged batch", "block-sparse matrices")),
        Head::Two(head) => head.ragged(source),
    }
}

fn bsr<T: Stored>(mut source: Source<impl Read>) -> Result<Bsr<T>> {
    let head = Head::read(&mut source)?;
    head.expect::<T>()?;
    match head {
        Head::Two(head) if head.blocks => head.bsr(source),
        Head::One(_) | Head::Two(_) => Err(wrong(8, "block-sparse matrices", "a ragged batch")),
    }
}

fn any(mut source: Source<impl Read>) -> Result<Any> {
    fn contents<T: Stored>(head: Head, source: Source<impl Read>) -> Result<Contents<T>> {
        match head {
            Head::One(head) => head.ragged(source).map(Contents::Ragged),
            Head::Two(head) if head.blocks => head.bsr(source).map(Contents::Bsr),
            Head::Two(head) => head.ragged(source).map(Contents::Ragged),
        }
    }

    let head = Head::read(&mut source)?;
    Ok(match head.code() {
        0 => Any::F64(contents(head, source)?),
        1 => Any::F32(contents(head, source)?),
        2 => Any::F16(contents(head, source)?),
        3 => Any::U32(contents(head, source)?),
        4 => Any::I32(contents(head, source)?),
        _ => Any::C32(contents(head, source)?),
    })
}

/// The type that a header names by a code, if it is one of the first `types`.
fn check_type(at: u64, code: u8, types: usize) -> Result<u8> {
    if (code as usize) < types {
        return Ok(code);
    }
    let expected = format!("the code of a type, 0 to {}", types - 1);
    Err(wrong(at, expected, code.to_string()))
}

fn wrong(at: u64, expected: impl Into<String>, got: impl Into<String>) -> Error {
    Error::File {
        op: source::OP,
        at,
        expected: expected.into(),
        got: got.into(),
    }
}

/// The layout of elements of these extents, so many for each, as they lie in files and documents.
fn layout_of(op: &'static str, rank: usize, extents: Vec<u32>) -> Result<Layout> {
    let elements = extents.len() / rank;
    element_count(op, elements)?;
    let mut offsets = host::room(op, elements + 1)?;
    offsets.push(0u32);
    let mut end = 0u32;
    for (element, extents) in extents.chunks_exact(rank).enumerate() {
        let size = product(extents).ok_or_else(|| Error::SizeOverflow {
            op,
            element: Some(element),
            what: "the product of the extents".into(),
        })?;
        let sum = end.checked_add(size);
        end = sum.ok_or_else(|| total_overflow(op, element))?;
        offsets.push(end);
    }
    let offsets = Offsets::from_vec_unchecked(offsets);
    let extents = if rank == 1 { Vec::new() } else { extents };
    Ok(Layout::with_extents_unchecked(offsets, rank, extents))
}

/// Where blocks are, from the number of each row's and the column of each. The counts add up to the columns.
fn places(op: &'static str, of_rows: &[u32], columns: &[u32]) -> Result<Vec<(u32, u32)>> {
    let mut places = host::room(op, columns.len())?;
    let rows = of_rows.iter().enumerate();
    let rows = rows.flat_map(|(row, &count)| repeat_n(row as u32, count as usize));
    places.extend(rows.zip(columns.iter().copied()));
    Ok(places)
}

/// Turns round the bytes of each number.
fn swap(bytes: &mut [u8], number: usize) {
    for bytes in bytes.chunks_exact_mut(number) {
        bytes.reverse();
    }
}
