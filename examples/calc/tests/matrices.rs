use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "matmul", "args": [[[],[[1,2]]], [[[1],[2]],[[3],[4]]]]}"#,
        "[[],[[11]]]",
    ),
    (
        r#"{"op": "sampled", "args": [[[[1,2]]], [[[3],[4]]]], "options": {"dtype": "f16"}}"#,
        "[[[11]]]",
    ),
    (
        r#"{"op": "matmul", "args": [[[[[1,0],[0,1]]]], [[[[1,0],[0,1]],[[0,1],[0,2]]]]], "options": {"dtype": "c32"}}"#,
        "[[[[0,0],[-2,1]]]]",
    ),
    (
        r#"{"op": "matmul", "args": [[[[1,2],[3,4]],[[1,0,-1]]], [[[5],[6]],[[1,2],[3,4],[5,6]]]]}"#,
        "[[[17],[39]],[[-4,-4]]]",
    ),
    (
        concat!(
            r#"{"op": "matmul", "args": [[[[1,2]]], [[[3,4],[-5,1]]]], "#,
            r#""options": {"transpose": "right", "scale": 2, "activation": "relu"}}"#,
        ),
        "[[[22,0]]]",
    ),
    (
        concat!(
            r#"{"op": "matmul", "args": [[[[1],[2]]], [[[3,4]],[[5,6]]]], "#,
            r#""options": {"dtype": "i32", "transpose": "both", "pairing": "all_to_all"}}"#,
        ),
        "[[[11]],[[17]]]",
    ),
    (
        r#"{"op": "matmul", "args": [[[[60000,60000]]], [[[1],[1]]]], "options": {"dtype": "f16"}}"#,
        r#"[[["inf"]]]"#,
    ),
    (
        r#"{"op": "matmul", "args": [[[[60000,60000]]], [[[1],[1]]]], "options": {"dtype": "f16", "scale": 0.5}}"#,
        "[[[60000]]]",
    ),
    (
        concat!(
            r#"{"op": "matmul", "args": [[[[1],[2]],[[3]]], [[[1,2]],[[4]]]], "#,
            r#""options": {"bias": [[-3,0],[5]], "activation": "relu", "residual": [[[10,20],[30,40]],[[0.5]]]}}"#,
        ),
        "[[[10,22],[30,44]],[[17.5]]]",
    ),
    (
        r#"{"op": "matmul_ambient", "args": [[[[1,2,9]]], [[[3],[4]]]], "options": {"dtype": "u32"}}"#,
        "[[[11]]]",
    ),
    (
        r#"{"op": "matmul_bsr", "args": [[[[1,2]],[[3]]], [[[1,0,-1],[0,2,0]],[[0.5]]]]}"#,
        "[[[1,4,-1]],[[1.5]]]",
    ),
    (
        concat!(
            r#"{"op": "matmul_bsr", "args": [[[[1,0,0,0,0,0,0,0,1]]], [[[3,0,0,0,0,0,0,0,1]]]], "#,
            r#""options": {"transpose": "right", "tolerance": 2, "block": [16, 8]}}"#,
        ),
        "[[[3]]]",
    ),
    (
        concat!(
            r#"{"op": "matmul_bsr", "args": [[[[1,2]],[[3]]], [[[1,0,-1],[0,2,0]],[[0.5]]]], "#,
            r#""options": {"dtype": "f16", "scale": 2, "activation": "relu", "residual": [[[1,1,1]],[[0]]]}}"#,
        ),
        "[[[3,9,1]],[[3]]]",
    ),
    (
        concat!(
            r#"{"op": "matmul_bsr", "args": [[[[1],[2]]], [[[3,4],[5,6]]]], "#,
            r#""options": {"sparse": "left", "transpose": "left", "bias": [[1,-1]]}}"#,
        ),
        "[[[14,15]]]",
    ),
    (
        r#"{"op": "sampled", "args": [[[[2]]], [[[1,2,3,4,5,6,7,8,9]]]], "options": {"blocks": [[0, 1]]}}"#,
        "[[[0,0,0,0,0,0,0,0,18]]]",
    ),
    (
        r#"{"op": "sampled", "args": [[[[1],[2]],[[3]]], [[[3,4]],[[5]]]], "options": {"transpose": "both"}}"#,
        "[[[11]],[[15]]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "matmul", "args": [[[[1]],[[1,2]]], [[[1]],[[1]]]]}"#,
        "inner_extents",
        Some(1),
    ),
    (
        r#"{"op": "matmul", "args": [[], []], "options": {"dtype": "i32", "scale": 2}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "matmul", "args": [[], []], "options": {"transpose": "up"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "matmul", "args": [[], []], "options": {"activation": "tanh"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "matmul_bsr", "args": [[[[1]],[[1,2]]], [[[1]],[[1]]]]}"#,
        "inner_extents",
        Some(1),
    ),
    (
        r#"{"op": "matmul_bsr", "args": [[[[1]]], [[[1]]]], "options": {"block": [8, 9]}}"#,
        "block_side",
        Some(0),
    ),
    (
        r#"{"op": "matmul", "args": [[[[1]]], [[[1]]]], "options": {"bias": [[1,2]]}}"#,
        "length",
        Some(0),
    ),
    (
        r#"{"op": "matmul", "args": [[], []], "options": {"bias": 2}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "matmul_bsr", "args": [[[[1]],[[1]]], [[[1]],[[1]]]], "options": {"residual": [[[1]]]}}"#,
        "bad_request",
        Some(0),
    ),
    (
        r#"{"op": "matmul_bsr", "args": [[], []], "options": {"sparse": "both"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "matmul_bsr", "args": [[], []], "options": {"dtype": "i32"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "matmul_bsr", "args": [[], []], "options": {"transpose": "left"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "sampled", "args": [[[[1]]], [[[1]]]], "options": {"blocks": [[0, 1]]}}"#,
        "block_order",
        Some(0),
    ),
    (
        r#"{"op": "sampled", "args": [[[[1]]], [[[1]]]], "options": {"blocks": [0, 1]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "sampled", "args": [[[[1]]], []]}"#,
        "batch_size",
        None,
    ),
];
