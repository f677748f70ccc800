use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "arange", "options": {"shapes": [[3],[0],[2]], "from": 5, "step": -2, "dtype": "i32"}}"#,
        "[[5,3,1],[],[5,3]]",
    ),
    (
        r#"{"op": "arange", "options": {"shapes": [[2,2]], "step": 0.5}}"#,
        "[[[0,0.5],[1,1.5]]]",
    ),
    (
        r#"{"op": "hann_window", "options": {"size": 4}}"#,
        "[[0,0.5,1,0.5]]",
    ),
    (
        r#"{"op": "linspace", "options": {"shapes": [[3],[1],[2]], "from": 0, "to": 1, "dtype": "f16"}}"#,
        "[[0,0.5,1],[0],[0,1]]",
    ),
    (
        r#"{"op": "eye", "options": {"shapes": [[2,2],[1,3]], "dtype": "u32"}}"#,
        "[[[1,0],[0,1]],[[1,0,0]]]",
    ),
    (
        r#"{"op": "uniform", "options": {"shapes": [[3],[1]], "low": 1, "high": 7, "seed": 5, "dtype": "i32"}}"#,
        "[[5,1,6],[6]]",
    ),
    (
        r#"{"op": "normal", "options": {"shapes": [[2]], "mean": 3, "deviation": 0}}"#,
        "[[3,3]]",
    ),
    (
        r#"{"op": "dropout", "args": [[[1,2,3,4],[5]]], "options": {"p": 0.5, "seed": 12}}"#,
        "[[2,0,6,0],[0]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "arange", "options": {"shapes": [[3]], "step": "nan"}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "linspace", "options": {"shapes": [[3]], "from": 0, "to": 1, "dtype": "i32"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "eye", "options": {"shapes": [[3]]}}"#,
        "rank",
        None,
    ),
    (
        r#"{"op": "uniform", "options": {"shapes": [[3]], "low": 1, "high": 1}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "uniform", "options": {"shapes": [[3]], "low": 0, "high": 1, "seed": -1}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "normal", "options": {"shapes": [[3]], "mean": 0, "deviation": -1}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "dropout", "args": [[[1]]], "options": {"p": 1}}"#,
        "argument",
        None,
    ),
];
