//! Serde documents: they round-trip, and errors are reported with this library's messages.

use half::f16;
use libtest_mimic::Trial;
use serde::Serialize;
use serde::de::DeserializeOwned;
use vsla::{Bsr, Complex32, Layout, Ragged, Shape, Topology, batch::Offsets};

use crate::support::bench::Bench;
use crate::support::corpus;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("serde::golden", golden),
        bench.host("serde::corpus", every_case),
        bench.host("serde::refused", refused),
        bench.host("serde::refused_in_binary", refused_in_binary),
    ]
}

/// Writes and reads, in a format with field names and in one without.
#[track_caller]
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    value: &T,
    json: &str,
) {
    assert_eq!(serde_json::to_string(value).unwrap(), json);
    assert_eq!(serde_json::from_str::<T>(json).unwrap(), *value);
    let any: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::from_value::<T>(any).unwrap(), *value);
    let bytes = postcard::to_allocvec(value).unwrap();
    assert_eq!(postcard::from_bytes::<T>(&bytes).unwrap(), *value);
}

fn golden() {
    let shapes = || [[2, 2], [0, 3]].map(|extents| Shape::new(&extents).unwrap());
    round_trip(&Offsets::new([0, 2, 2, 3]).unwrap(), "[0,2,2,3]");
    round_trip(&Shape::new(&[2, 0, 3]).unwrap(), "[2,0,3]");
    round_trip(
        &Layout::from_lengths([2, 0, 1]).unwrap(),
        r#"{"lengths":[2,0,1]}"#,
    );
    round_trip(
        &Layout::from_shapes(2, shapes()).unwrap(),
        r#"{"rank":2,"shapes":[[2,2],[0,3]]}"#,
    );
    round_trip(
        &Ragged::from_rows([vec![1.5, 2.5], vec![], vec![3.5]]).unwrap(),
        r#"{"lengths":[2,0,1],"values":[1.5,2.5,3.5]}"#,
    );
    round_trip(
        &Ragged::from_shapes(vec![1, 2, 3, 4], 2, shapes()).unwrap(),
        r#"{"rank":2,"shapes":[[2,2],[0,3]],"values":[1,2,3,4]}"#,
    );
    round_trip(
        &Ragged::<u32>::from_shapes(vec![], 3, []).unwrap(),
        r#"{"rank":3,"shapes":[],"values":[]}"#,
    );
    round_trip(
        &Ragged::from_rows([[Complex32::new(1.0, -2.0)]]).unwrap(),
        r#"{"lengths":[1],"values":[[1.0,-2.0]]}"#,
    );
    round_trip(
        &Ragged::from_rows([[f16::ONE]]).unwrap(),
        r#"{"lengths":[1],"values":[15360]}"#,
    );
    let topology = Topology::new([12, 16], [8, 8], &[(0, 1), (1, 0)]).unwrap();
    let places = r#"{"shape":[12,16],"block":[8,8],"rows":[[1],[0]],"columns":[1,1]}"#;
    round_trip(&topology, places);
    let values: Vec<i32> = (0..256).collect();
    let listed = serde_json::to_string(&[&values[..128], &values[128..]]).unwrap();
    round_trip(
        &Bsr::from_sets(&topology, 2, values).unwrap(),
        &format!(r#"{{"topology":{places},"sets":{listed}}}"#),
    );
    // Matrices without blocks still have rows and columns.
    let empty = Topology::new([17, 0], [8, 8], &[]).unwrap();
    let places = r#"{"shape":[17,0],"block":[8,8],"rows":[[],[],[]],"columns":[]}"#;
    round_trip(&empty, places);
    round_trip(
        &Bsr::<u32>::from_sets(&empty, 2, vec![]).unwrap(),
        &format!(r#"{{"topology":{places},"sets":[[],[]]}}"#),
    );
    // Documents written by hand: rows as elements of rank 1, and fields in any order.
    let rows: Ragged<i32> =
        serde_json::from_str(r#"{"values": [5, 6], "shapes": [[2], [0]], "rank": 1}"#).unwrap();
    assert_eq!(rows, Ragged::from_lengths(vec![5, 6], [2, 0]).unwrap());
}

fn every_case() {
    for case in [corpus::all(), corpus::boxes()].concat() {
        let (batch, _) = case.floats();
        if batch.values().len() > 1 << 20 {
            continue;
        }
        let bits = batch.cast(f32::to_bits).unwrap();
        let json = serde_json::to_vec(&bits).unwrap();
        assert!(serde_json::from_slice::<Ragged<u32>>(&json).unwrap() == bits);
        let binary = postcard::to_allocvec(&bits).unwrap();
        assert!(postcard::from_bytes::<Ragged<u32>>(&binary).unwrap() == bits);
    }
}

fn refused() {
    fn of<T: DeserializeOwned>(json: &str) -> String {
        let error = serde_json::from_str::<T>(json)
            .err()
            .expect(json)
            .to_string();
        // serde_json appends a position to some texts.
        error
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    let overflow = "exceeds the 32-bit index limit of 4294967295";
    let one_way =
        "expected either `lengths`, or `rank` and `shapes`, and no other field beside `values`";
    let cases = [
        (
            of::<Offsets>("[0, 3, 2]"),
            "offsets: element 1 ends before it starts: expected an offset of at least 3, got 2",
        ),
        (
            of::<Offsets>("[]"),
            "offsets: element 0 does not start at 0: expected a first offset of 0, got no offsets",
        ),
        (
            of::<Offsets>("[0, 4294967296]"),
            "invalid value: integer `4294967296`, expected u32",
        ),
        (of::<Shape>("[]"), "shape: expected a rank of 1 to 8, got 0"),
        (
            of::<Layout>(r#"{"rank": 2, "shapes": [[1, 2], [3]]}"#),
            "layout: element 1: expected a rank of 2, got 1",
        ),
        (
            of::<Layout>(r#"{"rank": 9, "shapes": []}"#),
            "layout: expected a rank of 1 to 8, got 9",
        ),
        (
            of::<Layout>(r#"{"rank": 1, "shapes": [[1], []]}"#),
            "layout: element 1: expected a rank of 1, got 0",
        ),
        (
            of::<Layout>(r#"{"rank": 2, "shapes": [[1, 1], [65536, 65536]]}"#),
            &format!("layout: element 1: the product of the extents {overflow}"),
        ),
        (
            of::<Layout>(r#"{"lengths": [4294967295, 1]}"#),
            &format!("layout: element 1: the total number of values {overflow}"),
        ),
        (of::<Layout>("{}"), one_way),
        (of::<Layout>(r#"{"lengths": [], "rank": 1}"#), one_way),
        (of::<Layout>(r#"{"shapes": []}"#), one_way),
        (
            of::<Layout>(r#"{"lengths": [-1]}"#),
            "invalid value: integer `-1`, expected u32",
        ),
        (
            of::<Ragged<f32>>(r#"{"lengths": [2, 1], "values": [1, 2]}"#),
            "ragged: expected 3 values, got 2",
        ),
        (
            of::<Ragged<f32>>(r#"{"lengths": [2]}"#),
            "missing field `values`",
        ),
        (
            of::<Ragged<f32>>(r#"{"lengths": [], "values": [], "offsets": [0]}"#),
            "unknown field `offsets`, expected one of `lengths`, `rank`, `shapes`, `values`",
        ),
        (
            of::<Topology>(
                r#"{"shape": [8, 8], "block": [8, 8], "rows": [[0, 1]], "columns": [2]}"#,
            ),
            "topology: block 1: expected a block inside the grid of 1 x 1, got (0, 1)",
        ),
        (
            of::<Topology>(
                r#"{"shape": [8, 16], "block": [8, 8], "rows": [[1, 0]], "columns": [1, 1]}"#,
            ),
            "topology: block 1: expected a block after (0, 1), got (0, 0)",
        ),
        (
            of::<Topology>(r#"{"shape": [8, 8], "block": [8, 9], "rows": [[]], "columns": [0]}"#),
            "topology: expected block sides of 8, 16, 32, 48, 64, 96 or 128, got 9",
        ),
        // The grids of these documents would take gigabytes.
        (
            of::<Topology>(
                r#"{"shape": [4294967000, 8], "block": [8, 8], "rows": [[]], "columns": [0]}"#,
            ),
            "topology: expected block lists for the grid's 536870875 rows, got 1 row",
        ),
        (
            of::<Topology>(
                r#"{"shape": [8, 4294967000], "block": [8, 8], "rows": [[]], "columns": [0, 0]}"#,
            ),
            "topology: expected block counts for the grid's 536870875 columns, got 2 columns",
        ),
        (
            of::<Topology>(r#"{"shape": [8, 8], "block": [8, 8], "rows": [[0]], "columns": [0]}"#),
            "topology: expected a count of 1 for column 0, got 0",
        ),
        (
            of::<Topology>(r#"{"shape": [8, 8], "block": [8, 8], "blocks": [[0, 0]]}"#),
            "unknown field `blocks`, expected one of `shape`, `block`, `rows`, `columns`",
        ),
        (
            of::<Bsr<u8>>(
                r#"{"topology": {"shape": [8, 8], "block": [8, 8], "rows": [[0]], "columns": [1]}, "sets": [[1]]}"#,
            ),
            "bsr: element 0: expected 64 values, got 1",
        ),
        (
            of::<Bsr<u8>>(
                r#"{"topology": {"shape": [0, 0], "block": [8, 8], "rows": [], "columns": []}, "sets": 4294967295}"#,
            ),
            "invalid type: integer `4294967295`, expected a list of lists",
        ),
        (
            of::<Ragged<()>>(r#"{"lengths": [1], "values": [null]}"#),
            "expected values of a type that is not zero-sized",
        ),
    ];
    for (error, text) in cases {
        assert_eq!(error, text);
    }
}

/// Whatever is refused in a format with field names is also refused in a binary format, with other texts.
fn refused_in_binary() {
    fn refuse<T: DeserializeOwned>(document: impl Serialize) {
        let bytes = postcard::to_allocvec(&document).unwrap();
        assert!(postcard::from_bytes::<T>(&bytes).is_err());
    }

    refuse::<Layout>((0u8, [1u32].as_slice()));
    refuse::<Layout>((9u8, [].as_slice() as &[u32]));
    refuse::<Layout>((2u8, [1u32, 2, 3].as_slice()));
    refuse::<Layout>((2u8, [65536u32, 65536].as_slice()));
    refuse::<Ragged<u8>>((1u8, [2u32].as_slice(), [1u8].as_slice()));
    refuse::<Ragged<u8>>((1u8, [2u32].as_slice(), [1u8, 2, 3].as_slice()));
}
