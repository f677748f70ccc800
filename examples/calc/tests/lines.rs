use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[(
    r#"{"op": "layout", "args": [[[1,2],[],[3]]]}"#,
    r#"{"rank": 1, "shapes": [[2],[0],[1]], "offsets": [0,2,2,3], "padding_waste": 0.5}"#,
)];

pub const REFUSED: &[Refused] = &[
    ("", "bad_json", None),
    ("  \r", "bad_json", None),
    ("{", "bad_json", None),
    (r#"{"op": "sum", "args": [[[1e999]]]}"#, "bad_json", None),
    (r#"{"op": "sum"} {}"#, "bad_json", None),
    ("null", "bad_request", None),
    ("[]", "bad_request", None),
    ("{}", "bad_request", None),
    (r#"{"op": 7}"#, "bad_request", None),
    (r#"{"op": "cosine"}"#, "bad_request", None),
    (r#"{"op": "help", "argument": []}"#, "bad_request", None),
    (r#"{"op": "help", "args": {}}"#, "bad_request", None),
    (r#"{"op": "help", "options": []}"#, "bad_request", None),
    (r#"{"op": "help", "device": "tpu"}"#, "bad_request", None),
    (
        r#"{"op": "sum", "args": [[]], "options": {"dtype": "f64"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "sum", "args": [[]], "options": {"rank": 9}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "conv", "args": [[], []], "options": {"dtype": "f16"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "cumsum", "args": [[]], "options": {"dtype": "c32"}}"#,
        "bad_request",
        None,
    ),
    (r#"{"op": "sum", "args": [7]}"#, "bad_input", None),
    (r#"{"op": "sum", "args": [[[1], 2]]}"#, "bad_input", Some(1)),
    (
        r#"{"op": "sum", "args": [[[1], [[2]]]]}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[[[1]], [2]]]}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[[[1]], [[1, 2], [3]]]]}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[[[1]], [[], [3]]]]}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[[1]]], "options": {"rank": 2}}"#,
        "bad_input",
        Some(0),
    ),
    (
        r#"{"op": "sum", "args": [[[[[[[[[[[1]]]]]]]]]]]}"#,
        "bad_input",
        None,
    ),
    (
        r#"{"op": "sum", "args": [[[1], [null]]]}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[[1], ["NaN"]]]}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[[1], [1e39]]]}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[[1], [1.5]]], "options": {"dtype": "i32"}}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[[1], [-1]]], "options": {"dtype": "u32"}}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[[1], [4294967296]]], "options": {"dtype": "u32"}}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "sum", "args": [[["nan"]]], "options": {"dtype": "i32"}}"#,
        "bad_input",
        Some(0),
    ),
];
