use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "multiply", "args": [[[[1,2]],[]], [[[3,4]],[]]], "options": {"dtype": "c32"}}"#,
        "[[[-5,10]],[]]",
    ),
    (
        r#"{"op": "multiply", "args": [[[[1,2],[3,0]]], [[[0,1]]]], "options": {"dtype": "c32", "each": true}}"#,
        "[[[-2,1],[0,3]]]",
    ),
    (
        r#"{"op": "divide", "args": [[[[-5,10]]], [[[3,4]]]], "options": {"dtype": "c32"}}"#,
        "[[[1,2]]]",
    ),
    (
        r#"{"op": "add", "args": [[[[1,2]]], [[[3,4],[5,6]]]], "options": {"dtype": "c32"}}"#,
        "[[[4,6],[5,6]]]",
    ),
    (
        r#"{"op": "neg", "args": [[[[1,-2]]]], "options": {"dtype": "c32"}}"#,
        "[[[-1,2]]]",
    ),
    (
        r#"{"op": "scale", "args": [[[[1,2]]]], "options": {"dtype": "c32", "factor": [0,1]}}"#,
        "[[[-2,1]]]",
    ),
    (r#"{"op": "conj", "args": [[[[1,2]],[]]]}"#, "[[[1,-2]],[]]"),
    (r#"{"op": "real", "args": [[[[1,2],[3,4]]]]}"#, "[[1,3]]"),
    (r#"{"op": "imag", "args": [[[[1,2],[3,4]]]]}"#, "[[2,4]]"),
    (
        r#"{"op": "abs", "args": [[[[3,-4]]]], "options": {"dtype": "c32"}}"#,
        "[[5]]",
    ),
    (r#"{"op": "abs_squared", "args": [[[[3,-4]]]]}"#, "[[25]]"),
    (r#"{"op": "angle", "args": [[[[2,0]]]]}"#, "[[0]]"),
    (
        r#"{"op": "complex", "args": [[[1,2]], [[3]]]}"#,
        "[[[1,3],[2,0]]]",
    ),
    (r#"{"op": "polar", "args": [[[2]], [[0]]]}"#, "[[[2,0]]]"),
    (
        r#"{"op": "view_as_real", "args": [[[[1,2],[3,4]]]]}"#,
        "[[[1,2],[3,4]]]",
    ),
    (
        r#"{"op": "view_as_complex", "args": [[[[1,2],[3,4]]]]}"#,
        "[[[1,2],[3,4]]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "view_as_complex", "args": [[[[1,2,3]]]]}"#,
        "shape",
        Some(0),
    ),
    (
        r#"{"op": "conj", "args": [[[1,2]]], "options": {"dtype": "f32"}}"#,
        "bad_request",
        None,
    ),
];
