use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "argmax", "args": [[[1,255,3],[]]], "options": {"dtype": "u8"}}"#,
        "[[1],[4294967295]]",
    ),
    (
        r#"{"op": "sum", "args": [[[1,2,3],[],[0.5]]]}"#,
        "[[6],[0],[0.5]]",
    ),
    (r#"{"op": "norm2", "args": [[[3,4],[]]]}"#, "[[5],[0]]"),
    (
        r#"{"op": "max", "args": [[[1,3,2],[],[1,"nan"]]]}"#,
        r#"[[3],["-inf"],["nan"]]"#,
    ),
    (
        r#"{"op": "max", "args": [[[]]], "options": {"dtype": "i32"}}"#,
        "[[-2147483648]]",
    ),
    (
        r#"{"op": "argmax", "args": [[[1,3,3],[],[1,"nan"]]]}"#,
        "[[1],[4294967295],[1]]",
    ),
    (
        r#"{"op": "histogram", "args": [[[0,0.4,0.5,1,7,"nan"],[]]], "options": {"bins": 2, "range": [0, 1]}}"#,
        "[[2,2],[0,0]]",
    ),
    (
        r#"{"op": "histogram", "args": [[[1,9,10,100,101]]], "options": {"edges": [1,10,100], "dtype": "i32"}}"#,
        "[[2,2]]",
    ),
    (r#"{"op": "dot", "args": [[[1,2,3]], [[4,5]]]}"#, "[[14]]"),
    (
        r#"{"op": "equivalent", "args": [[[1,0],[1,2],[]], [[1],[1,3],[0,0]]]}"#,
        "[true,false,true]",
    ),
    (
        r#"{"op": "min", "args": [[[2,-3,1],[],[1,"nan"]]]}"#,
        r#"[[-3],["inf"],["nan"]]"#,
    ),
    (
        r#"{"op": "argmin", "args": [[[3,1,1],[]]], "options": {"dtype": "u32"}}"#,
        "[[1],[4294967295]]",
    ),
    (
        r#"{"op": "argmax", "args": [[[[1,5],[3,4]]]], "options": {"dtype": "i32", "rank": 2, "axis": 0}}"#,
        "[[1,0]]",
    ),
    (
        r#"{"op": "sum", "args": [[[[1,2],[3,4]]]], "options": {"dtype": "f16", "rank": 2, "axis": 1}}"#,
        "[[3,7]]",
    ),
    (
        r#"{"op": "sum_batch", "args": [[[1,2],[],[10,20,30]]]}"#,
        "[[11,22,30]]",
    ),
    (
        r#"{"op": "sum_groups", "args": [[[1,2],[5],[10,20,30]]], "options": {"labels": [0,2,0]}}"#,
        "[[11,22,30],[],[5]]",
    ),
    (
        r#"{"op": "prod", "args": [[[2,-3],[]]], "options": {"dtype": "i32"}}"#,
        "[[-6],[1]]",
    ),
    (r#"{"op": "norm_inf", "args": [[[2,-3],[]]]}"#, "[[3],[0]]"),
    (
        r#"{"op": "any", "args": [[[0,2],[0],[]]], "options": {"dtype": "u32"}}"#,
        "[[1],[0],[0]]",
    ),
    (
        r#"{"op": "all", "args": [[[0,2],[1],[]]], "options": {"dtype": "u32"}}"#,
        "[[0],[1],[1]]",
    ),
    (
        r#"{"op": "norm1", "args": [[[3,-4],[],["-inf"]]]}"#,
        r#"[[7],[0],["inf"]]"#,
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "norm2", "args": [[]], "options": {"dtype": "i32"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "histogram", "args": [[[1]]], "options": {"bins": 2, "range": [1, 1]}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "histogram", "args": [[[1]]], "options": {"bins": 100000000, "range": [0, 1]}}"#,
        "limit",
        None,
    ),
    (
        r#"{"op": "histogram", "args": [[[1]]], "options": {"bins": 2, "range": [0, 1, 2]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "histogram", "args": [[[1]]], "options": {"bins": 2, "edges": [0, 1]}}"#,
        "bad_request",
        None,
    ),
];
