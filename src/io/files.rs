//! The methods that read and write `.vsla` files.

use std::io::{Read, Write};
use std::path::Path;

use super::sink::Sink;
use super::source::Source;
use super::{Any, Contents, NAMES, Stored, sink, v1, v2, wrong};
use crate::error::Result;
use crate::ragged::{Bsr, Ragged};

impl Any {
    /// Reads a `.vsla` file with values of any type.
    ///
    /// # Errors
    /// Those of [`Ragged::read`], except for mismatched types and contents.
    pub fn read(path: impl AsRef<Path>) -> Result<Any> {
        any(Source::open(path.as_ref())?)
    }

    /// Like [`read`](Self::read), from a stream.
    ///
    /// # Errors
    /// Those of [`Ragged::read_from`], except for mismatched types and contents.
    pub fn read_from(reader: impl Read) -> Result<Any> {
        any(Source::new(reader))
    }
}

impl<T: Stored> Ragged<T> {
    /// Reads a batch from a [`.vsla` file](crate::io), of version 1 or 2.
    ///
    /// Values are preserved bit for bit. Reading takes one pass over the file, which is checked completely before
    /// anything is returned.
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
    /// [`Error::Io`](crate::Error::Io) when the system cannot open or read the file. Also for a directory, a device or
    /// a named pipe, which is not opened, unless this process already has it open, as with `/dev/stdin`;
    /// [`read_from`](Self::read_from) reads any stream. [`Error::File`](crate::Error::File) for a file with values of
    /// another type or with block-sparse matrices, and for one that is truncated, damaged, too long or not a `.vsla`
    /// file; [`Error::Rank`](crate::Error::Rank) and [`Error::SizeOverflow`](crate::Error::SizeOverflow) for invalid
    /// shapes; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn read(path: impl AsRef<Path>) -> Result<Ragged<T>> {
        ragged(Source::open(path.as_ref())?)
    }

    /// Like [`read`](Self::read), from a stream, which is read to its end.
    ///
    /// Reads in large pieces, so a file needs no buffering.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_from(reader: impl Read) -> Result<Ragged<T>> {
        ragged(Source::new(reader))
    }

    /// Writes the batch to a [`.vsla` file](crate::io) of version 2, replacing an existing file.
    ///
    /// The data is written to a temporary file in the same directory, synced to disk and then renamed, so readers of
    /// the path see either the previous contents or the whole batch. Symbolic links are followed, and the file that
    /// they point to is replaced; on Unix the file keeps its mode. Anything that is not a regular file, such as a
    /// device, a named pipe or `/dev/stdout`, is written to directly. Values are written unchanged, including NaN.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) when the system cannot write the file; the previous contents are then still
    /// there.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        sink::replace(path.as_ref(), |sink| v2::write_ragged(self, sink))
    }

    /// Like [`write`](Self::write), to a stream, which is flushed.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) when the stream fails. Data written before the failure stays in the stream.
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
    /// Those of [`Ragged::read`]; [`Error::File`](crate::Error::File) for a file that holds a ragged batch; those of
    /// [`Topology::new`](crate::Topology::new).
    pub fn read(path: impl AsRef<Path>) -> Result<Bsr<T>> {
        bsr(Source::open(path.as_ref())?)
    }

    /// Like [`read`](Self::read), from a stream, which is read to its end.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_from(reader: impl Read) -> Result<Bsr<T>> {
        bsr(Source::new(reader))
    }

    /// Writes topology and values to a [`.vsla` file](crate::io), in the same way as [`Ragged::write`].
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) when the system cannot write the file; the previous contents are then still
    /// there.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        sink::replace(path.as_ref(), |sink| v2::write_bsr(self, sink))
    }

    /// Like [`write`](Self::write), to a stream, which is flushed.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) when the stream fails. Data written before the failure stays in the stream.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        v2::write_bsr(self, &mut Sink::new(writer))
    }
}

/// The start of a file, as far as it is needed to determine the type of the values.
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

    /// Fails unless the values are of type `T`.
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
        5 => Any::C32(contents(head, source)?),
        _ => Any::U8(contents(head, source)?),
    })
}
