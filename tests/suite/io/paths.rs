//! Files on disk: complete or absent.

#[cfg(unix)]
mod unix;

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use vsla::io::Any;
use vsla::{Bsr, Error, Layout, Ragged, Topology};

use super::{FILES, written_batch};
use crate::support::allocation::largest_in;
use crate::support::bench::Bench;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("paths::round_trip", round_trip),
        bench.host("paths::claims", claims),
        bench.host("paths::refused", refused),
        bench.host("paths::at_once", at_once),
        bench.host("streams_that_fail", streams_that_fail),
        #[cfg(unix)]
        bench.host("paths::links_and_modes", unix::links_and_modes),
        #[cfg(unix)]
        bench.host("paths::named_pipes", unix::named_pipes),
        #[cfg(unix)]
        bench.host("paths::devices", unix::devices),
        #[cfg(target_os = "linux")]
        bench.host("paths::what_is_open_here", unix::what_is_open_here),
    ]
}

/// A separate folder, which is deleted after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("vsla-suite-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn batch(seed: u64) -> Ragged<f32> {
    Ragged::random(&Layout::from_lengths([3, 0, 70_000]).unwrap(), seed).unwrap()
}

fn round_trip() {
    let folder = Folder::new("round-trip");
    let path = folder.0.join("batch.vsla");
    for seed in [1, 2] {
        batch(seed).write(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), written_batch(&batch(seed)));
        let (read, largest) = largest_in(|| Ragged::<f32>::read(&path).unwrap());
        assert_eq!(read, batch(seed));
        assert_eq!(largest, 4 * 70_003, "the values, at once");
    }
    let topology = Topology::causal([100, 90], [8, 16]).unwrap();
    let bsr = Bsr::new(&topology, vec![7u32; topology.len() * 8 * 16]).unwrap();
    let other = folder.0.join("matrix.vsla");
    bsr.write(&other).unwrap();
    assert_eq!(Bsr::<u32>::read(&other).unwrap(), bsr);
    Any::read(&other).unwrap();
    assert_eq!(folder.names(), ["batch.vsla", "matrix.vsla"]);
}

/// For a file on disk, at most its size is reserved, whatever its header claims.
fn claims() {
    let folder = Folder::new("claims");
    let path = folder.0.join("claims.vsla");
    for (name, file) in FILES {
        for at in [16, 24, 32].into_iter().filter(|at| at + 8 <= file.len()) {
            let mut file = file.to_vec();
            file[at..at + 8].copy_from_slice(&(1u64 << 31).to_le_bytes());
            fs::write(&path, &file).unwrap();
            let (outcome, largest) = largest_in(|| Any::read(&path));
            outcome.expect_err(name);
            assert!(largest <= 4096, "{name} {at}: {largest}");
        }
    }
}

fn kind_of(error: Error) -> ErrorKind {
    match error {
        Error::Io { kind, .. } => kind,
        other => panic!("{other}"),
    }
}

fn refused() {
    let folder = Folder::new("refused");
    let missing = folder.0.join("missing").join("batch.vsla");
    let error = Ragged::<f32>::read(&missing).unwrap_err();
    let text = format!("read: {}: ", missing.display());
    assert!(error.to_string().starts_with(&text), "{error}");
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("io", "read", None)
    );
    assert_eq!(kind_of(error), ErrorKind::NotFound);
    let error = batch(1).write(&missing).unwrap_err();
    assert!(error.to_string().starts_with("write: "), "{error}");
    assert_eq!(kind_of(error), ErrorKind::NotFound);
    assert_eq!(
        kind_of(batch(1).write("/").unwrap_err()),
        ErrorKind::IsADirectory
    );
    assert_eq!(
        kind_of(batch(1).write(Path::new("")).unwrap_err()),
        ErrorKind::InvalidInput
    );

    // A folder has the file's name: the write fails and leaves nothing behind.
    let path = folder.0.join("batch.vsla");
    fs::create_dir(&path).unwrap();
    for error in [
        batch(1).write(&path).unwrap_err(),
        Ragged::<f32>::read(&path).unwrap_err(),
    ] {
        let text = format!("{}: a directory, not a file", path.display());
        assert!(error.to_string().ends_with(&text), "{error}");
        assert_eq!(kind_of(error), ErrorKind::IsADirectory);
    }
    assert_eq!(folder.names(), ["batch.vsla"]);
}

/// A reader that runs while other threads write always finds one complete batch.
fn at_once() {
    let folder = Folder::new("at-once");
    let path = &folder.0.join("batch.vsla");
    batch(0).write(path).unwrap();
    std::thread::scope(|scope| {
        for seed in 1..4 {
            scope.spawn(move || {
                for _ in 0..20 {
                    batch(seed).write(path).unwrap();
                }
            });
        }
        let known = [0, 1, 2, 3].map(batch);
        for _ in 0..60 {
            assert!(known.contains(&Ragged::read(path).unwrap()));
        }
    });
    assert_eq!(folder.names(), ["batch.vsla"]);
}

/// Reads and writes this many bytes, and then fails.
struct Failing(usize);

impl Read for Failing {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let file = written_batch(&batch(1));
        let came = bytes.len().min(self.0);
        if came == 0 {
            return Err(ErrorKind::ConnectionReset.into());
        }
        let at = file.len() - 100 - self.0;
        bytes[..came].copy_from_slice(&file[at..][..came]);
        self.0 -= came;
        Ok(came)
    }
}

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        match taken {
            0 => Err(ErrorKind::StorageFull.into()),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn streams_that_fail() {
    let whole = written_batch(&batch(1)).len();
    for room in [0, 7, 8, 33, 50, whole - 100] {
        let error = batch(1).write_to(Failing(room)).unwrap_err();
        assert!(
            error.to_string().starts_with("write: the stream: "),
            "{error}"
        );
        assert_eq!(kind_of(error), ErrorKind::StorageFull);
    }
    let error = Ragged::<f32>::read_from(Failing(whole - 100)).unwrap_err();
    assert!(
        error.to_string().starts_with("read: the stream: "),
        "{error}"
    );
    assert_eq!(kind_of(error), ErrorKind::ConnectionReset);
}
