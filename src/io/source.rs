//! Checksummed reading that allocates only for data that arrives.
//!
//! Parsers need no other guard: they check each number as they read it, and then request the next part. A format in
//! which a few bytes stand for a large structure would break this. Each element therefore has its extents in a file
//! even if all are alike, and a topology has the counts of its columns. `tests/suite/io/bad.rs` measures this, and
//! `fuzz/` looks for cases that the test misses.
//!
//! A regular file is read and replaced as a whole, through links, and keeps its mode; anything else is a stream
//! (`paths.rs`). `serde` derives no implementation for a public type: documents are private structures, and input goes
//! through the constructors that validate.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use bytemuck::Pod;

use super::{OP, paths, swap, wrong};
use crate::error::Named;
use crate::error::{Count, Error, Result};
use crate::host;

/// The number of bytes to request before any data of a part has arrived.
const FIRST: usize = 4096;

/// The number of bytes to read before adding them to the CRC, small enough that they are still in the cache.
const PIECE: usize = 1 << 18;

/// A reader and the CRC of everything read from it.
pub(super) struct Source<R> {
    reader: R,
    /// The path, for errors.
    name: String,
    at: u64,
    /// The size of a file in bytes; 0 if unknown.
    size: u64,
    crc: crc32fast::Hasher,
    /// Whether numbers are big-endian.
    pub big: bool,
}

impl Source<File> {
    pub fn open(path: &Path) -> Result<Source<File>> {
        let name = path.display().to_string();
        let (file, size) = paths::open(path).map_err(|error| Error::io(OP, &name, &error))?;
        Ok(Source {
            name,
            size,
            ..Source::new(file)
        })
    }
}

impl<R: Read> Source<R> {
    pub fn new(reader: R) -> Source<R> {
        Source {
            reader,
            name: "the stream".to_owned(),
            at: 0,
            size: 0,
            crc: crc32fast::Hasher::new(),
            big: false,
        }
    }

    /// The number of bytes read so far.
    pub fn at(&self) -> u64 {
        self.at
    }

    pub fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    pub fn u32(&mut self, what: &str) -> Result<u32> {
        let bytes = self.bytes(what)?;
        Ok(match self.big {
            false => u32::from_le_bytes(bytes),
            true => u32::from_be_bytes(bytes),
        })
    }

    pub fn u64(&mut self, what: &str) -> Result<u64> {
        let bytes = self.bytes(what)?;
        Ok(match self.big {
            false => u64::from_le_bytes(bytes),
            true => u64::from_be_bytes(bytes),
        })
    }

    /// Reads `count` values made up of numbers of `number` bytes. Grows the vector as data arrives: it doubles, or
    /// makes room for what the file has left.
    pub fn values<T: Pod>(&mut self, count: u64, number: usize, what: &str) -> Result<Vec<T>> {
        let size = size_of::<T>();
        let Ok(count) = usize::try_from(count) else {
            return Err(Error::out_of_memory(count.saturating_mul(size as u64), None).named(OP));
        };
        let mut values = Vec::new();
        while values.len() < count {
            let left = self.size.saturating_sub(self.at) / size as u64;
            let step = values.len().max(FIRST / size);
            let step = step.max(usize::try_from(left).unwrap_or(usize::MAX));
            let (old, new) = (values.len(), count.min(values.len().saturating_add(step)));
            host::reserve(&mut values, new - old).named(OP)?;
            values.resize(new, T::zeroed());
            self.fill(bytemuck::cast_slice_mut(&mut values[old..]), what)?;
        }
        if self.big != cfg!(target_endian = "big") {
            swap(bytemuck::cast_slice_mut(&mut values), number);
        }
        Ok(values)
    }

    /// Checks the CRC of everything before it, and that the file ends after it.
    pub fn checked_end(mut self) -> Result<()> {
        let (at, sum) = (self.at, self.crc.clone().finalize());
        let stored = self.u32("the CRC-32")?;
        if stored != sum {
            let expected = format!("the CRC-32 {sum:08x} of the preceding bytes");
            return Err(wrong(at, expected, format!("{stored:08x}")));
        }
        self.end()
    }

    /// Checks that nothing follows.
    pub fn end(mut self) -> Result<()> {
        match self.some(&mut [0])? {
            0 => Ok(()),
            _ => Err(wrong(self.at, "the end of the file", "more bytes")),
        }
    }

    fn fill(&mut self, bytes: &mut [u8], what: &str) -> Result<()> {
        for piece in bytes.chunks_mut(PIECE) {
            let mut here = 0;
            while here < piece.len() {
                let came = self.some(&mut piece[here..])?;
                if came == 0 {
                    let missing = Count(piece.len() - here, "more byte");
                    let expected = format!("at least {missing} of {what}");
                    return Err(wrong(self.at, expected, "the end of the file"));
                }
                here += came;
                self.at += came as u64;
            }
            self.crc.update(piece);
        }
        Ok(())
    }

    fn some(&mut self, bytes: &mut [u8]) -> Result<usize> {
        loop {
            match self.reader.read(bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(OP, &self.name, &error)),
                Ok(came) => return Ok(came),
            }
        }
    }
}
