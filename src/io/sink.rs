//! Checksummed writing, and atomic replacement of files.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use bytemuck::Pod;

use super::paths::{self, Target};
use super::swap;
use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;

pub const OP: &str = "write";

/// The number of values that are byte-swapped at a time on a big-endian machine.
const PIECE: usize = 1 << 12;

/// A writer and the CRC of everything written to it.
pub(super) struct Sink<W> {
    writer: W,
    /// The path, for errors.
    name: String,
    crc: crc32fast::Hasher,
}

impl<W: Write> Sink<W> {
    pub fn new(writer: W) -> Sink<W> {
        Sink {
            writer,
            name: "the stream".to_owned(),
            crc: crc32fast::Hasher::new(),
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.crc.update(bytes);
        let written = self.writer.write_all(bytes);
        written.map_err(|error| Error::io(OP, &self.name, &error))
    }

    /// Writes values made up of numbers of `number` bytes.
    pub fn values<T: Pod>(&mut self, values: &[T], number: usize) -> Result<()> {
        if cfg!(target_endian = "little") {
            return self.bytes(bytemuck::cast_slice(values));
        }
        values.chunks(PIECE).try_for_each(|piece| {
            let mut bytes = host::copied::<u8>(bytemuck::cast_slice(piece)).named(OP)?;
            swap(&mut bytes, number);
            self.bytes(&bytes)
        })
    }

    /// Writes numbers that are computed on the fly.
    pub fn numbers(&mut self, numbers: impl Iterator<Item = u32>) -> Result<()> {
        let mut piece = host::room(PIECE).named(OP)?;
        let mut numbers = numbers.peekable();
        while numbers.peek().is_some() {
            piece.clear();
            piece.extend(numbers.by_ref().take(PIECE));
            self.values(&piece, 4)?;
        }
        Ok(())
    }

    /// Writes the CRC of everything before it and flushes.
    pub fn end(&mut self) -> Result<()> {
        let sum = self.crc.clone().finalize();
        self.bytes(&sum.to_le_bytes())?;
        self.flush()
    }

    /// Flushes the writer.
    pub fn flush(&mut self) -> Result<()> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| Error::io(OP, &self.name, &error))
    }
}

/// Writes a file next to the one that `path` refers to, and replaces that file once the new one is complete and on
/// disk. The new file gets the old one's mode. Anything but a regular file, such as a device or a named pipe, is
/// written to directly.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&mut Sink<File>) -> Result<()>,
) -> Result<()> {
    let name = path.display().to_string();
    let failed = |error: io::Error| Error::io(OP, &name, &error);
    let sink = |file| Sink {
        name: name.clone(),
        ..Sink::new(file)
    };
    let (path, old) = match paths::target(path).map_err(failed)? {
        Target::Stream(stream) => return write(&mut sink(stream)),
        Target::File(path, old) => (path, old),
    };
    let (file, beside) = create_beside(&path).map_err(failed)?;
    // Set the mode before writing contents that not everyone may read.
    let alike = keep_mode(&file, old.as_ref()).map_err(failed);
    let mut sink = sink(file);
    let written = alike.and_then(|()| write(&mut sink));
    let written = written.and_then(|()| sink.writer.sync_all().map_err(failed));
    // Some systems cannot rename an open file.
    drop(sink);
    let replaced = written.and_then(|()| fs::rename(&beside, &path).map_err(failed));
    if replaced.is_err() {
        // Report the original error, not one from the cleanup.
        let _ = fs::remove_file(&beside);
    }
    replaced
}

#[cfg(unix)]
fn keep_mode(file: &File, old: Option<&Metadata>) -> io::Result<()> {
    old.map_or(Ok(()), |old| file.set_permissions(old.permissions()))
}

/// Elsewhere the only mode is read-only, which would prevent writing the file.
#[cfg(not(unix))]
fn keep_mode(_: &File, _: Option<&Metadata>) -> io::Result<()> {
    Ok(())
}

/// Creates a new file in the same directory.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let own = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut number = 0u32;
    loop {
        let mut name = std::ffi::OsString::from(".");
        name.push(own);
        name.push(format!(".{number}"));
        let beside = path.with_file_name(name);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&beside)
        {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            created => return created.map(|file| (file, beside)),
        }
    }
}
