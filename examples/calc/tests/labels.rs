use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "one_hot", "args": [[[2,0,7],[]]], "options": {"depth": 3}}"#,
        "[[[0,0,1],[1,0,0],[0,0,0]],[]]",
    ),
    (
        r#"{"op": "one_hot", "args": [[[1]]], "options": {"depth": 2, "dtype": "u32"}}"#,
        "[[[0,1]]]",
    ),
    (
        r#"{"op": "embedding", "args": [[[[1,2],[3,4]]]], "options": {"ids": [[1,0,1],[]]}}"#,
        "[[[3,4],[1,2],[3,4]],[]]",
    ),
    (
        r#"{"op": "embedding", "args": [[[[1],[3]]]], "options": {"ids": [[1]], "dtype": "f16"}}"#,
        "[[[3]]]",
    ),
    (
        r#"{"op": "cross_entropy", "args": [[[[500,0],[0,500]]]], "options": {"targets": [[0,0]]}}"#,
        "[[0,500]]",
    ),
    (
        r#"{"op": "cross_entropy", "args": [[[[500,0],[0,500]]]], "options": {"targets": [[1,1]], "dtype": "f16"}}"#,
        "[[500,0]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "one_hot", "args": [[[1]]], "options": {"depth": 100000000}}"#,
        "limit",
        None,
    ),
    (
        r#"{"op": "embedding", "args": [[[[1]],[[2]]]], "options": {"ids": [[0]]}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "embedding", "args": [[[[1]]]]}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "cross_entropy", "args": [[[[1,2]]]], "options": {"targets": [[0,0]]}}"#,
        "shape",
        Some(0),
    ),
    (
        r#"{"op": "cross_entropy", "args": [[[[1,2]]]]}"#,
        "bad_request",
        None,
    ),
];
