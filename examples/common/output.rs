//! Output of an example, and the files that it writes.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Does the job and prints its output, or an error.
pub fn main(job: impl FnOnce() -> Result<String, Box<dyn Error>>) -> ExitCode {
    // This program reports errors once; RUST_LOG=info shows other messages of the library and wgpu.
    env_logger::init_from_env(env_logger::Env::default().default_filter_or("off"));
    let done = job().and_then(|text| Ok(io::stdout().lock().write_all(text.as_bytes())?));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe: `heterogeneity | head -3` is not a failure.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Checks before the work, not after it, that a file can be written.
pub fn check_writable(path: &Path) -> Result<(), Box<dyn Error>> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.is_dir() {
        return Err(named(path, &"is a directory"));
    }
    match parent.is_dir() {
        true => Ok(()),
        false => Err(named(path, &"its directory does not exist")),
    }
}

/// Writes a file, or returns an error that names it.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Box<dyn Error>> {
    std::fs::write(path, contents).map_err(|error| named(path, &error))
}

fn named(path: &Path, problem: &dyn std::fmt::Display) -> Box<dyn Error> {
    format!("{}: {problem}", path.display()).into()
}
