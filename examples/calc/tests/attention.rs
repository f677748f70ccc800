use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "merge", "args": [[[[1,2]]], [[[0.5]]], [[[3,4]]], [[["-inf"]]]]}"#,
        r#"{"o": [[[1,2]]], "lse": [[[0.5]]]}"#,
    ),
    (
        r#"{"op": "rotary", "args": [[[[3,4,5,6]],[]]], "options": {"heads": 2, "neighbours": true}}"#,
        "[[[3,4,5,6]],[]]",
    ),
    (
        concat!(
            r#"{"op": "rotary", "args": [[[[1,0,1,0]],[]]], "#,
            r#""options": {"heads": 2, "base": 1, "positions": [0, 9], "position": 0}}"#,
        ),
        "[[[1,0,1,0]],[]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[5]],[[1]]], [[[0],[7]],[[2]]], [[[1,2],[3,6]],[[5,7]]]], "#,
            r#""options": {"scale": 0}}"#,
        ),
        "[[[2,4]],[[5,7]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1,0],[2,0]]], [[[3,0],[4,0]]], [[[1,2],[3,6]]]], "#,
            r#""options": {"dtype": "f16", "scale": 0, "causal": true}}"#,
        ),
        "[[[1,2],[2,4]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1]]], [[[3],[4]]], [[[1],[3]]]], "#,
            r#""options": {"causal": true, "top_left": true}}"#,
        ),
        "[[[1]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1,9]]], [[[3],[4]]], [[[1,2],[3,6]]]], "#,
            r#""options": {"heads": 2, "key_heads": 1, "scale": 0, "softcap": 3}}"#,
        ),
        "[[[2,4,2,4]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[[2]]]], [[[[3]]]], [[[[6]]]]], "#,
            r#""options": {"rank": 3, "sinks": [6], "lse": false}}"#,
        ),
        "[[[[3]]]]",
    ),
    (
        r#"{"op": "attention", "args": [[[[2]]], [[[3]]], [[[6]]]], "options": {"lse": true}}"#,
        r#"{"o": [[[6]]], "lse": [[[6]]]}"#,
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1],[2],[3],[4]]], [[[1],[2],[3],[4]]], [[[1],[3],[5],[7]]]], "#,
            r#""options": {"scale": 0, "window": [1, 0]}}"#,
        ),
        "[[[1],[2],[4],[6]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1],[2]]], [[[1],[2]]], [[[1],[3]]]], "#,
            r#""options": {"scale": 0, "window": [0, null]}}"#,
        ),
        "[[[2],[3]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1]],[[1]]], [[[3],["nan"]],[[5]]], [[[1],["nan"]],[[9]]]], "#,
            r#""options": {"cached": [1, 0]}}"#,
        ),
        "[[[1]],[[0]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1]],[[1]]], [[[3],[4]],[[5]]], [[[1],[3]],[[9]]]], "#,
            r#""options": {"bias": [[["-inf",0]],[[2]]]}}"#,
        ),
        "[[[3]],[[9]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1]]], [[["nan"],[1]]], [[[5],[7]]]], "#,
            r#""options": {"bias": [[["-inf",0]]], "lse": true}}"#,
        ),
        r#"{"o": [[[7]]], "lse": [[[1]]]}"#,
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1e20,0],[0,1]]], [[[1,1],[1e20,1]]], [[[1,2],[3,4]]]], "#,
            r#""options": {"bias": [[[0,"-inf"],[0,"-inf"]]]}}"#,
        ),
        "[[[1,2],[1,2]]]",
    ),
    (
        r#"{"op": "attention", "args": [[[[1],[1]]], [[[1],[2]]], [[[1],[3]]]], "options": {"window": [0, 0]}}"#,
        "[[[1],[3]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1]],[[1]]], [[[1]],[]], [[[1]],[]]], "#,
            r#""options": {"cached": [1, 0]}}"#,
        ),
        "[[[1]],[[0]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1,1]]], [[[0,0],[0,0]]], [[[1,2],[3,6]]]], "#,
            r#""options": {"heads": 2, "slopes": [1000, 0]}}"#,
        ),
        "[[[3,4]]]",
    ),
    (
        concat!(
            r#"{"op": "attention", "args": [[[[1]]], [[[1],[1],[1],[1],[1],[1],[1],[1],[1],[1]]], "#,
            r#"[[[1],[1],[1],[1],[1],[1],[1],[1],[5],[7]]]], "options": {"block": [8, 8], "blocks": [[0, 1]]}}"#,
        ),
        "[[[6]]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "rotary", "args": [[[[1,2]]]], "options": {"positions": [1, 2]}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "rotary", "args": [[[[1,2]]]], "options": {"positions": [4294967296]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[[[1,2,3]]], [[[1,2,3]]], [[[1,2,3]]]], "options": {"heads": 2}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[[[1]],[[1]]], [[[1]],[[1],[2]]], [[[1]],[[1]]]]}"#,
        "shape",
        Some(1),
    ),
    (
        r#"{"op": "attention", "args": [[[[1]]], [[[1]]], [[[1]]]], "options": {"bias": [[[1,2]]]}}"#,
        "shape",
        Some(0),
    ),
    (
        r#"{"op": "attention", "args": [[[[1]]], [[[1]]], [[[1]]]], "options": {"bias": 3}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[[[1]]], [[[1]]], [[[1]]]], "options": {"cached": [2]}}"#,
        "shape",
        Some(0),
    ),
    (
        r#"{"op": "attention", "args": [[[[1]]], [[[1]]], [[[1]]]], "options": {"cached": [1], "bias": [[[1]]]}}"#,
        "unsupported",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[], [], []], "options": {"cached": [-1]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[], [], []], "options": {"dtype": "i32"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[], [], []], "options": {"window": [1]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[], [], []], "options": {"causal": "yes"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[], [], []], "options": {"heads": "two"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[], [], []], "options": {"sinks": 1}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[[[1]]], [[[1]]], [[[1]]]], "options": {"softcap": -1}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[[[1]]], [[[1]]], [[[1]]]], "options": {"slopes": [1, 2]}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "attention", "args": [[[[1]]], [[[1]]], [[[1]]]], "options": {"blocks": [[3, 0]]}}"#,
        "block_order",
        None,
    ),
];
