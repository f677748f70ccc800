//! `.safetensors` files: written files can be read back, here and by others, and everything else is rejected.

mod texts;

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::process::{Command, Stdio};

use half::f16;
use libtest_mimic::Trial;
use safetensors::SafeTensors;
use vsla::io::safetensors::{Reader, Writer};
use vsla::io::{Any, Contents, Stored};
use vsla::{Complex32, Error, Layout, Ragged, Result, Shape};

use crate::support::allocation::largest_in;
use crate::support::bench::Bench;
use crate::support::corpus::{self, rng};
use crate::support::tensors;
use texts::texts;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("safetensors::golden", golden),
        bench.host("safetensors::corpus", every_case),
        bench.host("safetensors::every_type", every_type),
        bench.host("safetensors::of_others", of_others),
        bench.host("safetensors::paths", paths),
        bench.host("safetensors::cut_short", cut_short),
        bench.host("safetensors::mutated", mutated),
        bench.host("safetensors::texts", texts),
        bench.host("safetensors::bounded", bounded),
        bench.host("safetensors::found_by_fuzzing", found_by_fuzzing),
        bench.unless("safetensors::python", no_python, python),
    ]
}

type File<'a> = Reader<Cursor<&'a [u8]>>;

fn open(file: &[u8]) -> Result<File<'_>> {
    Reader::new(Cursor::new(file))
}

fn written(writer: &Writer<'_>) -> Vec<u8> {
    let mut file = Vec::new();
    writer.write_to(&mut file).unwrap();
    file
}

/// A file with this header, followed by data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), data].concat()
}

fn golden() {
    let x = Ragged::from_rows([vec![1.5f32, 2.5], vec![], vec![3.5]]).unwrap();
    let y = Ragged::from_shapes(vec![1u32, 2, 3], 2, [Shape::new(&[1, 3]).unwrap()]).unwrap();
    let all = written(
        Writer::new()
            .add("x", &x)
            .unwrap()
            .add("\"y\"", &y)
            .unwrap(),
    );
    let header = concat!(
        r#"{"x.offsets":{"dtype":"I64","shape":[4],"data_offsets":[0,32]},"#,
        r#""\"y\".offsets":{"dtype":"I64","shape":[2],"data_offsets":[32,48]},"#,
        r#""\"y\".shape":{"dtype":"I64","shape":[1,2],"data_offsets":[48,64]},"#,
        r#""x.values":{"dtype":"F32","shape":[3],"data_offsets":[64,76]},"#,
        r#""\"y\".values":{"dtype":"U32","shape":[3],"data_offsets":[76,88]}}"#,
    );
    let header = format!("{header:<width$}", width = header.len().next_multiple_of(8));
    let data = [
        bytemuck::cast_slice(&[0u64, 2, 2, 3, 0, 3, 1, 3]),
        bytemuck::cast_slice::<f32, u8>(&[1.5, 2.5, 3.5]),
        bytemuck::cast_slice(&[1u32, 2, 3]),
    ];
    assert_eq!(all, file(&header, &data.concat()));
    let mut all = open(&all).unwrap();
    assert_eq!(all.names().collect::<Vec<_>>(), ["\"y\"", "x"]);
    assert_eq!(all.read_any("x").unwrap(), Any::F32(Contents::Ragged(x)));
    assert_eq!(all.read::<u32>("\"y\"").unwrap(), y);

    let nothing = written(&Writer::new());
    assert_eq!(nothing, file("{}      ", &[]));
    assert_eq!(open(&nothing).unwrap().names().count(), 0);
}

/// The bits are preserved, and the format's own library accepts the file.
#[track_caller]
fn round_trip<T: Stored>(batch: &Ragged<T>) {
    let file = written(Writer::new().add("a", batch).unwrap());
    let read = open(&file).unwrap().read::<T>("a").unwrap();
    assert_eq!(read.layout(), batch.layout());
    let bytes = |batch: &Ragged<T>| bytemuck::cast_slice::<T, u8>(batch.values()).to_vec();
    assert!(bytes(&read) == bytes(batch), "of {}", batch.layout());
    let peer = SafeTensors::deserialize(&file).unwrap();
    let values = peer.tensor("a.values").unwrap();
    assert_eq!(values.shape(), [batch.values().len()]);
    assert!(values.data() == bytes(batch));
    assert_eq!(peer.len(), if batch.layout().rank() == 1 { 2 } else { 3 });
}

fn every_case() {
    for case in [corpus::all(), corpus::boxes()].concat() {
        let (a, b) = case.floats();
        round_trip(&a);
        round_trip(&b.cast(f64::from).unwrap());
    }
}

fn every_type() {
    fn of<T: Stored>() -> Ragged<T> {
        let mut rng = rng("safetensors");
        let shapes = [[2, 3, 1], [0, 5, 2], [1, 1, 4]].map(|e| Shape::new(&e).unwrap());
        let mut values = vec![T::zeroed(); 10];
        rng.fill(bytemuck::cast_slice_mut(&mut values));
        let batch = Ragged::from_shapes(values, 3, shapes).unwrap();
        round_trip(&batch);
        batch
    }

    // All types in one file, narrow types first; their data must still be aligned to their sizes.
    let odd = Ragged::from_rows([[f16::ONE; 3]]).unwrap();
    let bytes = Ragged::from_rows([vec![0u8, 255], vec![], vec![7]]).unwrap();
    let batches = (
        of::<f16>(),
        of::<u32>(),
        of::<Complex32>(),
        of::<f64>(),
        of::<i32>(),
        of::<f32>(),
    );
    let mut writer = Writer::new();
    writer
        .add("u8", &bytes)
        .unwrap()
        .add("odd", &odd)
        .unwrap()
        .add("f16", &batches.0)
        .unwrap();
    writer
        .add("u32", &batches.1)
        .unwrap()
        .add("c32", &batches.2)
        .unwrap();
    writer
        .add("f64", &batches.3)
        .unwrap()
        .add("i32", &batches.4)
        .unwrap();
    writer.add("f32", &batches.5).unwrap();
    let file = written(&writer);
    let peer = SafeTensors::deserialize(&file).unwrap();
    for (name, tensor) in peer.tensors() {
        let number = if name == "c32.values" {
            4
        } else {
            tensor.dtype().bitsize() / 8
        };
        let at = tensor.data().as_ptr() as usize - file.as_ptr() as usize;
        assert_eq!(at % number, 0, "{name}");
    }
    let mut file = open(&file).unwrap();
    assert!(file.read::<u32>("u32").unwrap() == batches.1);
    assert!(file.read::<i32>("i32").unwrap() == batches.4);
    assert!(file.read::<u8>("u8").unwrap() == bytes);
    let names: Vec<String> = file.names().map(str::to_owned).collect();
    assert_eq!(
        names,
        ["c32", "f16", "f32", "f64", "i32", "odd", "u32", "u8"]
    );
    for name in names {
        file.read_any(&name).unwrap();
    }
}

/// Offsets and extents of other types, other tensors, and metadata.
fn of_others() {
    let data = |size: usize| -> Vec<u8> {
        let numbers = [0u64, 2, 3, 2, 1, 1, 1];
        let bytes = numbers
            .iter()
            .flat_map(|n| n.to_le_bytes()[..size].to_vec());
        bytes.chain([7; 12]).chain([255; 5]).collect()
    };
    for (dtype, size) in [("I64", 8), ("U64", 8), ("I32", 4), ("U32", 4)] {
        let [a, b] = [3 * size, 7 * size];
        let header = format!(
            r#" {{"__metadata__":{{"format":"pt"}},
                "x.shape":{{"data_offsets":[{a},{b}],"dtype":"{dtype}","shape":[2,2],"more":[{{}}]}},
                "x.offsets":{{"dtype":"{dtype}","shape":[3],"data_offsets":[0,{a}]}},
                "x.values":{{"dtype":"I32","shape":[3],"data_offsets":[{b},{}]}},
                "mask":{{"dtype":"BOOL","shape":[5,1,1],"data_offsets":[{0},{}]}},
                "scalar.values":{{"dtype":"F32","shape":[],"data_offsets":[0,0]}} }}"#,
            b + 12,
            b + 17,
        );
        let file = file(&header, &data(size));
        let mut file = open(&file).unwrap();
        assert_eq!(file.names().collect::<Vec<_>>(), ["x"]);
        let shapes = [[2, 1], [1, 1]].map(|extents| Shape::new(&extents).unwrap());
        let expected = Ragged::from_shapes(vec![0x0707_0707; 3], 2, shapes).unwrap();
        assert_eq!(file.read::<i32>("x").unwrap(), expected);
    }
}

fn paths() {
    let name = format!("vsla-suite-{}.safetensors", std::process::id());
    let path = std::env::temp_dir().join(name);
    let x = Ragged::random(&Layout::from_lengths([3, 0, 70_000]).unwrap(), 5).unwrap();
    Writer::new().add("x", &x).unwrap().write(&path).unwrap();
    let mut file = Reader::open(&path).unwrap();
    let (read, largest) = largest_in(|| file.read::<f32>("x").unwrap());
    assert_eq!(read, x);
    assert_eq!(largest, 4 * 70_003, "the values, at once");
    assert_eq!(file.read::<f32>("x").unwrap(), x, "once more");
    drop(file);
    std::fs::remove_file(&path).unwrap();
    let error = Reader::open(&path).err().unwrap();
    assert_eq!((error.kind(), error.op()), ("io", "read"));
}

/// A file for tests of damaged files: two batches, one with a shape.
fn sound() -> Vec<u8> {
    let x = Ragged::from_rows([vec![1.5f32, 2.5], vec![], vec![3.5]]).unwrap();
    let shapes = [[2, 2], [0, 3]].map(|extents| Shape::new(&extents).unwrap());
    let y = Ragged::from_shapes(vec![1u32, 2, 3, 4], 2, shapes).unwrap();
    written(Writer::new().add("x", &x).unwrap().add("y", &y).unwrap())
}

/// Reads a whole file, which must not reserve memory that only its header claims. Returns whether all could be read.
#[track_caller]
fn read_all(file: &[u8]) -> Result<()> {
    let (outcome, largest) = largest_in(|| {
        let mut reader = open(file)?;
        let names: Vec<String> = reader.names().map(str::to_owned).collect();
        names
            .iter()
            .try_for_each(|name| reader.read_any(name).map(drop))
    });
    let room = (2 * file.len()).max(4096);
    assert!(
        largest <= room,
        "{largest} bytes for a file of {}",
        file.len()
    );
    outcome
}

fn cut_short() {
    let file = sound();
    read_all(&file).unwrap();
    for end in 0..file.len() {
        let error = read_all(&file[..end]).expect_err("cut short");
        assert!(matches!(error, Error::File { .. }), "{end}: {error}");
    }
    read_all(&[&file[..], &[0]].concat()).expect_err("too long");
}

/// Bytes replaced, repeated, moved and omitted at random; and numbers replaced by others.
fn mutated() {
    let mut rng = rng("safetensors::mutated");
    let sound = sound();
    let header = 8 + u64::from_le_bytes(sound[..8].try_into().unwrap()) as usize;
    let (mut well, mut by_peer) = (0, 0);
    for _ in 0..30_000 {
        let mut file = sound.clone();
        for _ in 0..rng.usize(1..3) {
            // Most errors are in the header.
            let end = if rng.u8(0..4) == 0 {
                file.len()
            } else {
                header.min(file.len())
            };
            let at = rng.usize(0..end);
            let end = rng.usize(at..=end.min(at + 8));
            match rng.u8(0..5) {
                0 => file[at] = b"0123456789{}[]\",:.\x00\xff"[rng.usize(0..20)],
                1 => rng.fill(&mut file[at..end]),
                2 => drop(file.drain(at..end)),
                3 => {
                    let to = rng.usize(0..=file.len());
                    let piece = file[at..end].to_vec();
                    file.splice(to..to, piece);
                }
                _ => {
                    let claims = [
                        "9",
                        "-1",
                        "1e9",
                        "4294967296",
                        "18446744073709551615",
                        "[[",
                        "null",
                    ];
                    let claim = claims[rng.usize(0..claims.len())];
                    file.splice(at..at, claim.bytes());
                }
            }
            // Usually with a corrected length.
            if file.len() > header && rng.bool() {
                let length =
                    header as u64 - 8 + (file.len() as u64).saturating_sub(sound.len() as u64);
                file[..8].copy_from_slice(&length.to_le_bytes());
            }
            if file.len() < 9 {
                break;
            }
        }
        let read = read_all(&file).is_ok();
        let peer = SafeTensors::deserialize(&file);
        well += usize::from(read);
        by_peer += usize::from(peer.is_ok());
        if read && let Err(error) = peer {
            // A tensor that belongs to no batch may have any type; two tensors of one name are an error.
            let names = open(&file).unwrap().names().count();
            assert!(names < 2, "{error}");
        }
    }
    assert!(
        well > 1000 && by_peer >= well,
        "{well} and {by_peer} of 30000 read well"
    );
}

fn no_python() -> Option<String> {
    let ran = Command::new("python3")
        .args(["-c", "import safetensors.numpy"])
        .stderr(Stdio::null())
        .status();
    let found = ran.is_ok_and(|status| status.success());
    (!found).then(|| "python3 with safetensors and numpy is not available".to_owned())
}

/// The two lines of the documentation, and a file written by Python.
fn python() {
    let x = Ragged::from_rows([vec![1.5f32, 2.5], vec![], vec![3.5]]).unwrap();
    let shapes = [[2, 3], [0, 5], [1, 1]].map(|extents| Shape::new(&extents).unwrap());
    let y = Ragged::from_shapes(
        (1..8).map(|i| Complex32::new(0.0, i as f32)).collect(),
        2,
        shapes,
    );
    let z = Ragged::from_rows([[f16::ONE, f16::NAN]]).unwrap();
    let y = y.unwrap();
    let folder = std::env::temp_dir().join(format!("vsla-suite-python-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut writer = Writer::new();
    writer
        .add("x", &x)
        .unwrap()
        .add("y", &y)
        .unwrap()
        .add("z", &z)
        .unwrap();
    writer.write(folder.join("x.safetensors")).unwrap();
    let script = r#"
import numpy, safetensors.numpy

t = safetensors.numpy.load_file("x.safetensors")
x = numpy.split(t["x.values"], t["x.offsets"][1:-1])

assert [row.tolist() for row in x] == [[1.5, 2.5], [], [3.5]], x
assert t["x.values"].dtype == numpy.float32
y = numpy.split(t["y.values"], t["y.offsets"][1:-1])
y = [y[i].reshape(t["y.shape"][i]) for i in range(3)]
assert [e.tolist() for e in y] == [[[1j, 2j, 3j], [4j, 5j, 6j]], [], [[7j]]], y
assert y[1].shape == (0, 5)
assert t["z.values"].dtype == numpy.float16 and numpy.isnan(t["z.values"][1])

safetensors.numpy.save_file({
    "a.values": numpy.arange(6, dtype=numpy.int32),
    "a.offsets": numpy.array([0, 6], dtype=numpy.int32),
    "a.shape": numpy.array([[2, 3]], dtype=numpy.uint64),
    "weights": numpy.ones((2, 2), dtype=numpy.uint8),
}, "a.safetensors", metadata={"format": "np"})
"#;
    let mut child = Command::new("python3")
        .arg("-")
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let mut a = Reader::open(folder.join("a.safetensors")).unwrap();
    let shape = Shape::new(&[2, 3]).unwrap();
    let expected = Ragged::from_shapes((0..6).collect(), 2, [shape]).unwrap();
    assert_eq!(a.read::<i32>("a").unwrap(), expected);
    drop(a);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Headers with the most memory per byte, and headers that claim more data than exists.
fn bounded() {
    for n in [1, 10, 1000, 20_000] {
        let listed = |of: &dyn Fn(usize) -> String| {
            let tensors: Vec<String> = (0..n).map(of).collect();
            format!("{{{}}}", tensors.join(","))
        };
        let empty = r#""shape":[0],"data_offsets":[0,0]}"#;
        let headers = [
            listed(&|i| format!(r#""{i}":{{"dtype":"",{empty}"#)),
            listed(&|i| {
                let values = format!(r#""{i}.values":{{"dtype":"F32",{empty}"#);
                format!(r#"{values},"{i}.offsets":{{"dtype":"I64",{empty}"#)
            }),
            format!(
                r#"{{"x":{{"dtype":"","shape":[{}0],"data_offsets":[0,0]}}}}"#,
                "0,".repeat(n)
            ),
            format!(r#"{{"__metadata__":[{}0]}}"#, "[],".repeat(n)),
            format!(r#"{{"__metadata__":{}0"#, "[".repeat(n)),
        ];
        for header in headers {
            let _ = tensors::read_all(&file(&header, &[]));
        }
    }
    let huge = "[0,18446744073709551615]";
    let (values, offsets) = (
        r#""x.values":{"dtype":"F32""#,
        r#""x.offsets":{"dtype":"I64""#,
    );
    let data = r#""data_offsets":[0,0]"#;
    for shape in [
        "[0]",
        huge,
        "[18446744073709551615]",
        "[4611686018427387904,4]",
    ] {
        let header =
            format!(r#"{{{values},"shape":{shape},{data}}},{offsets},"shape":{shape},{data}}}}}"#);
        for (_, batch) in tensors::read_all(&file(&header, &[])).unwrap() {
            batch.unwrap_err();
        }
    }

    /// This many bytes of 0x30.
    struct Long(u64);

    impl Read for Long {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            bytes.fill(0x30);
            Ok(bytes.len())
        }
    }

    impl Seek for Long {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            Ok(match to {
                SeekFrom::End(_) => self.0,
                _ => 0,
            })
        }
    }

    let (outcome, largest) = largest_in(|| Reader::new(Long(1 << 62)).map(|_| ()));
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "read: at byte 0: expected a header of at most 100000000 bytes, got 3472328296227680304"
    );
    assert!(largest < 4096, "{largest}");
}

/// The corpus of the fuzzer in `fuzz/`, one input per code path.
fn found_by_fuzzing() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/suite/io/safetensors/found"
    );
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let _ = tensors::read_all(&std::fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files > 3, "{files} files in {folder}");
}
