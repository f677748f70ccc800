//! Properties that any `.safetensors` file must satisfy. Shared by the suite and `fuzz/`.

use std::io::Cursor;

use vsla::io::safetensors::{Reader, Writer};
use vsla::io::{Any, Contents};
use vsla::{Ragged, Result};

use super::allocation::peak_in;

/// Reads all batches of a file. Each must be rejected, or be written as it was read, and memory must stay within the
/// documented bound.
#[track_caller]
pub fn read_all(file: &[u8]) -> Result<Vec<(String, Result<Any>)>> {
    // Query the machine's memory now: the first query allocates.
    vsla::device::host_memory_limit();
    let (outcome, peak) = peak_in(|| {
        let reader = Reader::new(Cursor::new(file))?;
        let names: Vec<String> = reader.names().map(str::to_owned).collect();
        Ok((reader, names))
    });
    assert!(
        peak <= 16 * file.len() + 4096,
        "{peak} bytes for a header in {}",
        file.len()
    );
    let (mut reader, names) = outcome?;
    let read = |name: String| {
        let (batch, peak) = peak_in(|| reader.read_any(&name));
        assert!(
            peak <= 4 * file.len() + 4096,
            "{peak} bytes for a batch in {}",
            file.len()
        );
        if let Ok(any) = &batch {
            again(&name, any);
        }
        (name, batch)
    };
    Ok(names.into_iter().map(read).collect())
}

/// Writes a batch that was read, and reads it again.
#[track_caller]
fn again(name: &str, any: &Any) {
    let mut writer = Writer::new();
    match any {
        Any::F64(contents) => writer.add(name, ragged(contents)),
        Any::F32(contents) => writer.add(name, ragged(contents)),
        Any::F16(contents) => writer.add(name, ragged(contents)),
        Any::U32(contents) => writer.add(name, ragged(contents)),
        Any::I32(contents) => writer.add(name, ragged(contents)),
        Any::C32(contents) => writer.add(name, ragged(contents)),
        _ => unreachable!("a new type"),
    }
    .expect("one name");
    let mut first = Vec::new();
    writer
        .write_to(&mut first)
        .expect("memory can be written to");
    let mut reader = Reader::new(Cursor::new(&first)).expect("what was written");
    let read = reader.read_any(name).expect("what was written");
    // NaNs do not compare equal, but equal batches print alike.
    assert_eq!(format!("{any:?}"), format!("{read:?}"));
}

fn ragged<T: vsla::io::Stored>(contents: &Contents<T>) -> &Ragged<T> {
    match contents {
        Contents::Ragged(batch) => batch,
        Contents::Bsr(_) => unreachable!("no file of this kind has any"),
    }
}
