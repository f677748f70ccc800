use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "conv_matmul", "args": [[[1,2],[3],[],[0,1]], [[1],[1,1],[2,0,1],[4]]], "options": {"inner": 2}}"#,
        "[[7,2,3],[13,3,2],[0,2,0,1],[0,4]]",
    ),
    (
        concat!(
            r#"{"op": "kron_matmul", "args": [[[1,2],[3],[],[0,1]], [[1],[1,1],[2,0,1],[4]]], "#,
            r#""options": {"inner": 2, "dtype": "i32"}}"#,
        ),
        "[[7,2,3],[13,1,2,2],[0,0,0,2,0,1],[0,4]]",
    ),
    (
        r#"{"op": "matrix_add", "args": [[[1,2],[]], [[3],[4]]], "options": {"columns": 2}}"#,
        "[[4,2],[4]]",
    ),
    (
        r#"{"op": "matrix_transpose", "args": [[[1,2],[],[3],[4]]], "options": {"columns": 2}}"#,
        "[[1,2],[3],[],[4]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "conv_matmul", "args": [[[1],[2],[3]], [[1],[2]]], "options": {"inner": 2}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "matrix_add", "args": [[[1],[2]], [[3]]], "options": {"columns": 1}}"#,
        "shape",
        Some(0),
    ),
    (
        r#"{"op": "matrix_transpose", "args": [[[1]]], "options": {"columns": 2}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "kron_matmul", "args": [[[[1]]], [[[1]]]], "options": {"inner": 1}}"#,
        "rank",
        None,
    ),
];
