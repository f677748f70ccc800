//! Malformed files: each is rejected with an error, using no more memory than the file's size, or twice that.

use libtest_mimic::Trial;
use vsla::io::Any;
use vsla::{Bsr, Error, Ragged, Result};

use super::{FILES, file, is_version_2, written};
use crate::support::allocation::largest_in;
use crate::support::bench::Bench;
use crate::support::corpus::rng;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("bad::cut_short", cut_short),
        bench.host("bad::too_long", too_long),
        bench.host("bad::flipped", flipped),
        bench.host("bad::headers", headers),
        bench.host("bad::mutated", mutated),
        bench.host("bad::claims", claims),
        bench.host("bad::found_by_fuzzing", found_by_fuzzing),
        bench.host("bad::texts", texts),
    ]
}

/// Reads a file, which must not reserve memory that only its header claims.
#[track_caller]
fn read(file: &[u8]) -> Result<Any> {
    let (outcome, largest) = largest_in(|| Any::read_from(file));
    let room = (2 * file.len()).max(4096);
    assert!(
        largest <= room,
        "{largest} bytes for a file of {}",
        file.len()
    );
    // A file that can be read is read as only one kind of contents.
    if let (Ok(any), true) = (&outcome, is_version_2(file)) {
        assert!(written(any) == file);
    }
    outcome
}

/// The file with its checksum corrected.
fn summed(mut file: Vec<u8>) -> Vec<u8> {
    if is_version_2(&file)
        && let Some(body) = file.len().checked_sub(4)
    {
        let sum = crc32fast::hash(&file[..body]);
        file[body..].copy_from_slice(&sum.to_le_bytes());
    }
    file
}

fn cut_short() {
    for (name, file) in FILES {
        for end in 0..file.len() {
            let error = read(&file[..end]).expect_err(name);
            let Error::File { at, got, .. } = error else {
                panic!("{name} to {end}: {error}");
            };
            assert_eq!(
                (at, got.as_str()),
                (end as u64, "the end of the file"),
                "{name}"
            );
        }
    }
}

fn too_long() {
    for (name, file) in FILES {
        for tail in [&[0][..], &[0; 4], file] {
            let error = read(&[file, tail].concat()).expect_err(name);
            let text = format!(
                "read: at byte {}: expected the end of the file, got more bytes",
                file.len()
            );
            assert_eq!(error.to_string(), text, "{name}");
        }
    }
}

/// A checksum detects every changed byte, and headers of files without one are strict.
fn flipped() {
    for (name, file) in FILES {
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut file = file.to_vec();
                file[at] ^= 1 << bit;
                let outcome = read(&file);
                if is_version_2(&file) {
                    outcome.expect_err(name);
                }
            }
        }
    }
}

/// Every value of every header byte, with a corrected checksum: if the file is read, its contents are the written ones.
fn headers() {
    for (name, file) in FILES {
        for at in 0..file.len().min(120) {
            for value in 0..=255 {
                let mut file = file.to_vec();
                file[at] = value;
                let outcome = read(&summed(file));
                // Magic, version, zeros.
                if at < 8 && value != FILES[0].1[at] && !(at == 6 && (b'1'..=b'2').contains(&value))
                {
                    assert!(
                        matches!(outcome, Err(Error::File { .. })),
                        "{name} {at} {value}"
                    );
                }
            }
        }
    }
    // Version 1 has no checksum: every change of its header is an error, except in the extents, which may be any that
    // fit, and in the model, which has no influence on the values.
    let whole = file("v1-f64-5x7");
    for at in (0..16).chain(48..64) {
        for value in 0..=255 {
            let mut file = whole.to_vec();
            file[at] = value;
            let read = read(&file);
            assert_eq!(
                read.is_ok(),
                file == whole || (at == 10 && value < 2),
                "{at} {value}"
            );
        }
    }
}

/// Bytes replaced, repeated, moved and omitted at random, with a corrected checksum.
fn mutated() {
    let mut rng = rng("io::mutated");
    let mut read_well = 0;
    for _ in 0..20_000 {
        let (_, seed) = FILES[rng.usize(0..FILES.len())];
        let mut file = seed.to_vec();
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(0..file.len());
            let end = rng.usize(at..=file.len().min(at + 8));
            match rng.u8(0..4) {
                0 => file[at] = [0, 1, 2, 8, 16, 127, 128, 255][rng.usize(0..8)],
                1 => rng.fill(&mut file[at..end]),
                2 => drop(file.drain(at..end)),
                _ => {
                    let piece = file[at..end].to_vec();
                    let to = rng.usize(0..=file.len());
                    file.splice(to..to, piece);
                }
            }
            if file.is_empty() {
                break;
            }
        }
        read_well += usize::from(read(&summed(file)).is_ok());
    }
    assert!(
        read_well > 1000,
        "{read_well} of 20000 read well: values may be anything"
    );
}

/// Counts that no file can have.
fn claims() {
    let large = [1 << 20, u64::from(u32::MAX), 1 << 32, 1 << 60, u64::MAX];
    for (name, file) in FILES {
        let fields: Vec<usize> = match is_version_2(file) {
            true => vec![16, 24],
            false => (0..3 * file[9] as usize)
                .map(|field| 16 + 8 * field)
                .collect(),
        };
        for at in fields {
            for claim in large {
                for claim in [claim.to_le_bytes(), claim.to_be_bytes()] {
                    let mut claiming = file.to_vec();
                    claiming[at..at + 8].copy_from_slice(&claim);
                    if claiming != *file {
                        read(&summed(claiming)).expect_err(name);
                    }
                }
            }
        }
    }
    // A topology of a matrix of 4 billion rows, with two blocks.
    let mut file = file("bsr-f32").to_vec();
    file[44..48].copy_from_slice(&4_000_000_000u32.to_le_bytes());
    read(&summed(file)).unwrap_err();
}

/// The corpus of the fuzzer in `fuzz/`, one input per code path.
fn found_by_fuzzing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/io/found");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = std::fs::read(entry.unwrap().path()).unwrap();
        let _ = read(&file);
        let _ = read(&summed(file));
        files += 1;
    }
    assert!(files > 20, "{files} files in {folder}");
}

fn texts() {
    let with = |name, at: usize, bytes: &[u8]| {
        let mut file = file(name).to_vec();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        summed(file)
    };
    let f32_of = |file: Vec<u8>| Ragged::<f32>::read_from(&file[..]).unwrap_err();
    let bsr_of = |file: Vec<u8>| Bsr::<f32>::read_from(&file[..]).unwrap_err();
    let cases = [
        (
            f32_of(b"\x89PNG\r\n\x1a\n".to_vec()),
            "read: at byte 0: expected a .vsla file of version 1 or 2, got the bytes \"\\x89PNG\\r\\n\\x1a\\n\"",
        ),
        (
            f32_of(vec![]),
            "read: at byte 0: expected at least 8 more bytes of the header, got the end of the file",
        ),
        (
            f32_of(with("f32", 8, &[2])),
            "read: at byte 8: expected contents of 0 or 1, got 2",
        ),
        (
            f32_of(with("f32", 9, &[7])),
            "read: at byte 9: expected a type code from 0 to 6, got 7",
        ),
        (
            f32_of(with("f32", 9, &[4])),
            "read: at byte 9: expected values of type f32, got i32",
        ),
        (
            f32_of(with("f32", 10, &[0])),
            "read: expected a rank of 1 to 8, got 0",
        ),
        (
            f32_of(with("f32", 10, &[9])),
            "read: expected a rank of 1 to 8, got 9",
        ),
        (
            f32_of(with("f32", 15, &[1])),
            "read: at byte 11: expected five zeros, got [0, 0, 0, 0, 1]",
        ),
        (
            f32_of(with("f32", 24, &[8])),
            "read: at byte 24: expected 7 values for these shapes, got 8",
        ),
        (
            f32_of(with("f32", 20, &[1])),
            "read: a batch of 4294967299 elements exceeds the 32-bit index limit of 4294967295",
        ),
        (
            f32_of(with("f32", 32, &[255; 8])),
            "read: element 0: the product of the extents exceeds the 32-bit index limit of 4294967295",
        ),
        (
            f32_of(with("f32-nan", 32, &[255; 8])),
            "read: element 1: the total number of values exceeds the 32-bit index limit of 4294967295",
        ),
        (
            f32_of([&file("f32")[..63], &[77], &file("f32")[64..]].concat()),
            "read: at byte 84: expected the CRC-32 ",
        ),
        (
            f32_of(file("bsr-f32").to_vec()),
            "read: at byte 8: expected a ragged batch, got block-sparse matrices",
        ),
        (
            f32_of(file("v1-f64-3").to_vec()),
            "read: at byte 11: expected values of type f32, got f64",
        ),
        (
            f32_of(with("v1-f64-3", 8, &[2])),
            "read: at byte 8: expected a byte order of 0 or 1, got 2",
        ),
        (
            f32_of(with("v1-f64-3", 9, &[9])),
            "read: expected a rank of 1 to 8, got 9",
        ),
        (
            f32_of(with("v1-f64-3", 10, &[2])),
            "read: at byte 10: expected a model of 0 or 1, got 2",
        ),
        (
            f32_of(with("v1-f64-3", 11, &[2])),
            "read: at byte 11: expected a type code from 0 to 1, got 2",
        ),
        (
            f32_of(with("v1-f64-3", 15, &[1])),
            "read: at byte 12: expected 0, got 16777216",
        ),
        (
            Ragged::<f64>::read_from(&with("v1-f64-3", 16, &[5])[..]).unwrap_err(),
            "read: at byte 24: expected a capacity of at least 5, got 4",
        ),
        (
            Ragged::<f64>::read_from(&with("v1-f64-5x7", 48, &[65])[..]).unwrap_err(),
            "read: at byte 48: expected a stride of 64 bytes, got 65",
        ),
        (
            Ragged::<f64>::read_from(&with("v1-f64-5x7", 32, &[255; 8])[..]).unwrap_err(),
            "read: element 0: the array exceeds the 32-bit index limit of 4294967295",
        ),
        (
            bsr_of(file("f32").to_vec()),
            "read: at byte 8: expected block-sparse matrices, got a ragged batch",
        ),
        (
            bsr_of(with("bsr-f32", 10, &[1])),
            "read: at byte 10: expected a rank of 3 for block-sparse matrices, got 1",
        ),
        (
            bsr_of(with("bsr-f32", 52, &[9])),
            "topology: expected block sides of 8, 16, 32, 48, 64, 96 or 128, got 9",
        ),
        (
            bsr_of(with("bsr-f32", 64, &[0])),
            "read: at byte 64: expected row counts that add up to 3, got 2",
        ),
        (
            bsr_of(with("bsr-f32", 76, &[2])),
            "read: at byte 76: expected a count of 1 for column 0, got 2",
        ),
        (
            bsr_of(with("bsr-f32", 84, &[2])),
            "topology: block 0: expected a block inside the grid of 3 x 2, got (0, 2)",
        ),
        (
            bsr_of(with("bsr-f32", 88, &[1])),
            "topology: block 2: expected a block after (2, 1), got (2, 1)",
        ),
        (
            bsr_of(with("bsr-f32", 36, &[16, 0, 0, 0, 8])),
            "read: element 0: expected the shape (3, 8, 16), got (3, 16, 8)",
        ),
    ];
    for (error, text) in cases {
        let shown = error.to_string();
        match text.ends_with(' ') {
            true => assert!(shown.starts_with(text), "{shown}"),
            false => assert_eq!(shown, text),
        }
        assert!(shown.starts_with(error.op()), "{shown}");
    }
}
