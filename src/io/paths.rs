//! What a path leads to: a file, which is read and replaced as a whole, or a stream.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Opens a file to be read, and tells its size; 0 where nobody knows.
///
/// A named pipe, a device or a folder is refused before it is opened, for opening may already wait for ever. What this
/// process has open, as `/dev/stdin`, is read whatever it is.
pub(super) fn open(path: &Path) -> Result<(File, u64)> {
    let about = fs::metadata(path)?;
    if !about.is_file() && !is_open_here(path) {
        return Err(no_file(about.file_type()));
    }
    let file = File::open(path)?;
    let about = file.metadata()?;
    Ok((file, if about.is_file() { about.len() } else { 0 }))
}

/// Where what is written to a path goes.
pub(super) enum Target {
    /// Beside this file and then in its place, with what is kept of the old one.
    File(PathBuf, Option<Metadata>),
    /// Straight there.
    Stream(File),
}

/// Follows links to what they name, be it there or not.
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
    // What another process has written to the same file stays.
    let stream = OpenOptions::new().append(true).open(path)?;
    Ok(Target::Stream(stream))
}

/// What a link to nothing names at last.
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

/// Links that are followed, as the system does.
const LINKS: usize = 40;

/// Whether a path names a file that this process has open, as `/dev/stdout` and `/dev/fd/3` do.
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
        return Error::new(ErrorKind::IsADirectory, "a folder, and no file");
    }
    let text = format!(
        "{}, and no file: open it, and read from the stream",
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
