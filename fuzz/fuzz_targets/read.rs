//! Reads any input as a `.vsla` file. See `run.sh` for how to run it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vsla::io::{Any, Contents, Stored};

fuzz_target!(|file: &[u8]| {
    check(file);
    // Fixes the checksum, so that inputs get past it to the code that follows.
    if let Some(body) = file.len().checked_sub(4) {
        let sum = crc32fast::hash(&file[..body]);
        check(&[&file[..body], &sum.to_le_bytes()].concat());
    }
});

/// A file is refused, or writing its contents again gives the same file.
fn check(file: &[u8]) {
    let Ok(any) = Any::read_from(file) else {
        return;
    };
    if file.starts_with(b"VSLAv02\0") {
        let again = match &any {
            Any::F64(contents) => written(contents),
            Any::F32(contents) => written(contents),
            Any::F16(contents) => written(contents),
            Any::U32(contents) => written(contents),
            Any::I32(contents) => written(contents),
            Any::C32(contents) => written(contents),
            Any::U8(contents) => written(contents),
            _ => unreachable!("a new type"),
        };
        assert_eq!(again, file);
    }
}

fn written<T: Stored>(contents: &Contents<T>) -> Vec<u8> {
    let mut file = Vec::new();
    let outcome = match contents {
        Contents::Ragged(batch) => batch.write_to(&mut file),
        Contents::Bsr(matrices) => matrices.write_to(&mut file),
    };
    outcome.expect("memory can be written to");
    file
}
