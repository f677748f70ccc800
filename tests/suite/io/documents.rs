//! Malformed documents: each is rejected or reads as it would be written, using no more memory than documented.

use libtest_mimic::Trial;
use serde::Serialize;
use vsla::{Bsr, Layout, Ragged, Shape, Topology, batch::Offsets};

use crate::support::bench::Bench;
use crate::support::corpus::rng;
use crate::support::documents::read_as_each;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("documents::long", long),
        bench.host("documents::claims", claims),
        bench.host("documents::mutated", mutated),
        bench.host("documents::found_by_fuzzing", found_by_fuzzing),
    ]
}

/// The documents with the most memory per byte, at lengths just above those at which vectors grow.
fn long() {
    let mut most = [0.0f64; 2];
    for n in [65, 1000, 1025, 4097, 100_000, (1 << 17) + 1] {
        let list = |of: &str| vec![of; n].join(",");
        let sides = format!(r#""shape":[{},{}],"block":[8,8]"#, 8 * n, 8 * n);
        let wide = format!(r#""shape":[8,{}],"block":[8,8]"#, 8 * n);
        let places = (0..n).map(|place| place.to_string()).collect::<Vec<_>>();
        let none = r#"{"shape":[0,0],"block":[8,8],"rows":[],"columns":[]}"#;
        let documents = [
            format!("[{}]", list("0")),
            format!(r#"{{"lengths":[{}]}}"#, list("0")),
            format!(r#"{{"lengths":[{}],"values":[{}]}}"#, list("1"), list("0")),
            format!(r#"{{"rank":1,"shapes":[{}]}}"#, list("[]")),
            format!(r#"{{"rank":1,"shapes":[{}],"values":[]}}"#, list("[0]")),
            format!(r#"{{"rank":8,"shapes":[{}]}}"#, list("[0,0,0,0,0,0,0,0]")),
            format!(r#"{{"values":[{}],"lengths":[{n}]}}"#, list("0")),
            format!(
                r#"{{{sides},"rows":[{}],"columns":[{}]}}"#,
                list("[]"),
                list("0")
            ),
            format!(
                r#"{{{wide},"rows":[[{}]],"columns":[{}]}}"#,
                places.join(","),
                list("1")
            ),
            format!(r#"{{"topology":{none},"sets":[{}]}}"#, list("[]")),
        ];
        for document in documents {
            most[0] = most[0].max(read_as_each(document.as_bytes(), true));
        }
        let zeros = vec![0u32; n];
        let rows = vec![Vec::<u32>::new(); n];
        let blocks = vec![(0..n as u32).collect::<Vec<_>>()];
        let side = 8 * n as u64;
        let small = (0u64, 0u64, 8u64, 8u64, &rows[..0], &zeros[..0]);
        let documents = [
            postcard::to_allocvec(&zeros),
            postcard::to_allocvec(&(1u8, &zeros)),
            postcard::to_allocvec(&(8u8, &zeros)),
            postcard::to_allocvec(&(1u8, &zeros, [0u32; 0].as_slice())),
            postcard::to_allocvec(&(1u8, [n as u32].as_slice(), &zeros)),
            postcard::to_allocvec(&(side, side, 8u64, 8u64, &rows, &zeros)),
            postcard::to_allocvec(&(8u64, side, 8u64, 8u64, &blocks, vec![1u32; n])),
            postcard::to_allocvec(&(small, &rows)),
        ];
        for document in documents {
            most[1] = most[1].max(read_as_each(&document.unwrap(), false));
        }
    }
    println!(
        "most bytes of memory for each byte: {:.1} of JSON, {:.1} of postcard",
        most[0], most[1]
    );
    assert!(
        most[0] > 8.0 && most[1] > 16.0,
        "{most:?}: other documents are worse"
    );
}

/// Counts that no document can have.
fn claims() {
    for claim in [
        1u64 << 20,
        (1 << 27) - 1,
        u32::MAX.into(),
        1 << 40,
        u64::MAX,
    ] {
        for text in [
            format!(r#"{{"shape":[{claim},8],"block":[8,8],"rows":[[]],"columns":[0]}}"#),
            format!(r#"{{"shape":[8,{claim}],"block":[8,8],"rows":[[]],"columns":[0]}}"#),
            format!(r#"{{"lengths":[{claim}],"values":[]}}"#),
            format!(r#"{{"rank":{claim},"shapes":[]}}"#),
            format!(r#"{{"shape":[{claim},8],"block":[8,8],"blocks":[]}}"#),
            format!(
                r#"{{"topology":{{"shape":[8,8],"block":[8,8],"blocks":[]}},"sets":{claim},"values":[]}}"#
            ),
        ] {
            read_as_each(text.as_bytes(), true);
        }
        let prefix = postcard::to_allocvec(&claim).unwrap();
        for at in 0..6 {
            for byte in [0u8, 1, 8] {
                let mut document = vec![byte; 12];
                document.splice(at..at, prefix.iter().copied());
                read_as_each(&document, false);
            }
        }
    }
}

/// Bytes replaced, repeated, moved and omitted at random.
fn mutated() {
    let shapes = || [[2, 2], [0, 3]].map(|extents| Shape::new(&extents).unwrap());
    let topology = Topology::new([12, 16], [8, 8], &[(0, 1), (1, 0)]).unwrap();
    let values: Vec<u32> = (0..256).map(|value| value % 7).collect();
    let mut seeds = Vec::new();
    fn seed<T: Serialize>(seeds: &mut Vec<(Vec<u8>, bool)>, value: &T) {
        seeds.push((serde_json::to_vec(value).unwrap(), true));
        seeds.push((postcard::to_allocvec(value).unwrap(), false));
    }
    seed(&mut seeds, &Offsets::new([0, 2, 2, 3]).unwrap());
    seed(&mut seeds, &Shape::new(&[2, 0, 3]).unwrap());
    seed(&mut seeds, &Layout::from_lengths([2, 0, 1]).unwrap());
    seed(&mut seeds, &Layout::from_shapes(2, shapes()).unwrap());
    seed(
        &mut seeds,
        &Ragged::from_rows([vec![1.5, 2.5], vec![], vec![3.5]]).unwrap(),
    );
    seed(
        &mut seeds,
        &Ragged::from_shapes(vec![1, 2, 3, 4], 2, shapes()).unwrap(),
    );
    seed(&mut seeds, &topology);
    seed(&mut seeds, &Bsr::from_sets(&topology, 2, values).unwrap());
    let mut rng = rng("io::documents::mutated");
    for _ in 0..2000 {
        let (seed, json) = &seeds[rng.usize(0..seeds.len())];
        let mut document = seed.clone();
        for _ in 0..rng.usize(1..4) {
            if document.is_empty() {
                break;
            }
            let at = rng.usize(0..document.len());
            let end = rng.usize(at..=document.len().min(at + 8));
            match rng.u8(0..4) {
                0 if *json => document[at] = b"0123456789[]{},:\"e-."[rng.usize(0..20)],
                0 => document[at] = [0, 1, 2, 8, 16, 127, 128, 255][rng.usize(0..8)],
                1 => rng.fill(&mut document[at..end]),
                2 => drop(document.drain(at..end)),
                _ => {
                    let piece = document[at..end].to_vec();
                    let to = rng.usize(0..=document.len());
                    document.splice(to..to, piece);
                }
            }
        }
        read_as_each(&document, *json);
    }
}

/// The corpus of the fuzzer in `fuzz/`, one input per code path.
fn found_by_fuzzing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/io/documents");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = std::fs::read(entry.unwrap().path()).unwrap();
        read_as_each(&file, true);
        read_as_each(&file, false);
        files += 1;
    }
    assert!(files > 20, "{files} files in {folder}");
}
