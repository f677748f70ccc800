//! Resolves paths: to a regular file, which is read and replaced as a whole, or to a stream.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Opens a file for reading. Returns its size as well, or 0 if the size is unknown.
///
/// Refuses a named pipe, device or directory without opening it, because opening a named pipe can block forever. Paths
/// to files that this process has open, such as `/dev/stdin`, are read whatever they refer to.
pub(super) fn open(path: &Path) -> Result<(File, u64)> {
    let about = fs::metadata(path)?;
    if !about.is_file() && !is_open_here(path) {
        return Err(no_file(about.file_type()));
    }
    let file = File::open(path)?;
    let about = file.metadata()?;
    Ok((file, if about.is_file() { about.len() } else { 0 }))
}

/// The destination of a write to a path.
pub(super) enum Target {
    /// A regular file, replaced by one written next to it; with the metadata of the old file, if there is one.
    File(PathBuf, Option<Metadata>),
    /// A stream that is written to directly.
    Stream(File),
}

/// Resolves symbolic links, including dangling ones.
pub(super) fn target(path: &Path) -> Result<Target> {
    let about = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Target::File(end_of_links(path), None));
        }
        about => about?,
    };
    if about.is_dir() {
        return Err(no_file(about.file_type()));
    }
    if about.is_file() && !is_open_here(path) {
        return Ok(Target::File(fs::canonicalize(path)?, Some(about)));
    }
    // Append, so that output of other processes to the same file is preserved.
    let stream = OpenOptions::new().append(true).open(path)?;
    Ok(Target::Stream(stream))
}

/// The final target of a chain of links that ends at a missing file.
fn end_of_links(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    for _ in 0..LINKS {
        let Ok(next) = fs::read_link(&end) else {
            break;
        };
        end = end.with_file_name(next);
    }
    end
}

/// The most links to follow, as in the system's own limit.
const LINKS: usize = 40;

/// Whether a path names a file that this process has open, such as `/dev/stdout` or `/dev/fd/3`.
fn is_open_here(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let folder = path
            .parent()
            .and_then(|folder| fs::canonicalize(folder).ok());
        let is_list = |folder: PathBuf| {
            folder == Path::new("/dev/fd") || folder.starts_with("/proc") && folder.ends_with("fd")
        };
        if cfg!(unix) && folder.is_some_and(is_list) {
            return true;
        }
        let Ok(next) = fs::read_link(&path) else {
            return false;
        };
        path = path.with_file_name(next);
    }
    false
}

fn no_file(found: FileType) -> Error {
    if found.is_dir() {
        return Error::new(ErrorKind::IsADirectory, "a directory, not a file");
    }
    let text = format!(
        "{}, not a file: open it and read from the stream",
        name(found)
    );
    Error::new(ErrorKind::InvalidInput, text)
}

#[cfg(unix)]
fn name(found: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;

    match found {
        found if found.is_fifo() => "a named pipe",
        found if found.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn name(_: FileType) -> &'static str {
    "a device"
}
