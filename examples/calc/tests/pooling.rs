use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "max_pool", "args": [[[1,5,2,4,9],[3]]], "options": {"window": [2]}}"#,
        "[[5,4],[]]",
    ),
    (
        r#"{"op": "max_pool", "args": [[[1,5,2,4],[3,7]]], "options": {"window": [2], "strides": [1],"dtype": "i32"}}"#,
        "[[5,5,4],[7]]",
    ),
    (
        r#"{"op": "max_pool", "args": [[[[1,2,3],[4,5,6]]]], "options": {"window": [2,2], "rank": 2}}"#,
        "[[[5]]]",
    ),
    (
        r#"{"op": "mean_pool", "args": [[[1,5,2,4,9],[3]]], "options": {"window": [2], "dtype": "f16"}}"#,
        "[[3,3],[]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "max_pool", "args": [[[1]]], "options": {"window": [0]}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "max_pool", "args": [[[1]]], "options": {"window": [1, 1]}}"#,
        "rank",
        None,
    ),
    (
        r#"{"op": "mean_pool", "args": [[[1]]], "options": {"window": [1], "strides": [0]}}"#,
        "stride",
        None,
    ),
    (
        r#"{"op": "mean_pool", "args": [[[1]]], "options": {"window": [1], "dtype": "i32"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "mean_pool", "args": [[[1]]]}"#,
        "bad_request",
        None,
    ),
];
