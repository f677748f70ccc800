use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "neg", "args": [[[1,-0.5]]], "options": {"dtype": "f16"}}"#,
        "[[-1,0.5]]",
    ),
    (
        r#"{"op": "scale", "args": [[[1,-0.5]]], "options": {"dtype": "f16", "factor": 3}}"#,
        "[[3,-1.5]]",
    ),
    (
        r#"{"op": "copy", "args": [[[1,255],[]]], "options": {"dtype": "u8"}}"#,
        "[[1,255],[]]",
    ),
    (
        r#"{"op": "to_i32", "args": [[[1.9,-1.9,3e9,"nan"]]]}"#,
        "[[1,-1,2147483647,0]]",
    ),
    (
        r#"{"op": "to_u32", "args": [[[1.9,-1.9]]], "options": {"dtype": "f16"}}"#,
        "[[1,0]]",
    ),
    (
        r#"{"op": "to_u8", "args": [[[7,300,-4]]], "options": {"dtype": "i32"}}"#,
        "[[7,255,0]]",
    ),
    (
        r#"{"op": "to_f32", "args": [[[7,255]]], "options": {"dtype": "u8"}}"#,
        "[[7,255]]",
    ),
    (
        r#"{"op": "add", "args": [[[1,2,3]], [[4,5]]]}"#,
        "[[5,7,3]]",
    ),
    (r#"{"op": "add", "args": [[[1]], [[0,1]]]}"#, "[[1,1]]"),
    (r#"{"op": "add", "args": [[[1,2,3]], [[5]]]}"#, "[[6,2,3]]"),
    (
        r#"{"op": "add", "args": [[[[1,2],[3,4]]], [[[10,20]]]]}"#,
        "[[[11,22],[3,4]]]",
    ),
    (
        r#"{"op": "add", "args": [[[[10,20]]], [[[1,2],[3,4]]]]}"#,
        "[[[11,22],[3,4]]]",
    ),
    (
        r#"{"op": "add", "args": [[[[1,1,1]]], [[[1],[1]]]]}"#,
        "[[[2,1,1],[1,0,0]]]",
    ),
    (
        r#"{"op": "add", "args": [[[[[[[[[7]]]]]]]], [[[[[[[[8]]]]]]]]]}"#,
        "[[[[[[[[15]]]]]]]]",
    ),
    (r#"{"op": "add", "args": [[], []]}"#, "[]"),
    (
        r#"{"op": "add", "args": [[[], [1]], [[2], []]]}"#,
        "[[2],[1]]",
    ),
    (
        r#"{"op": "add", "args": [[[2147483647]], [[1]]], "options": {"dtype": "i32"}}"#,
        "[[-2147483648]]",
    ),
    (
        r#"{"op": "add", "args": [[[1],[2]], [[10],[20]]], "options": {"pairing": "all_to_all"}}"#,
        "[[11],[21],[12],[22]]",
    ),
    (
        r#"{"op": "add", "args": [[[1],[2]], [[10],[20]]], "options": {"pairing": [[1,0],[1,1]]}}"#,
        "[[12],[22]]",
    ),
    (
        r#"{"op": "sub", "args": [[[5,3,2]], [[2,1,2]]]}"#,
        "[[3,2,0]]",
    ),
    (
        r#"{"op": "sub", "args": [[[1]], [[2],[3]]], "options": {"pairing": "one_to_all"}}"#,
        "[[-1],[-2]]",
    ),
    (
        r#"{"op": "sub", "args": [[[2],[3]], [[1]]], "options": {"pairing": "all_to_one"}}"#,
        "[[1],[2]]",
    ),
    (
        r#"{"op": "scale", "args": [[[1,-2],[]]], "options": {"factor": 0.5}}"#,
        "[[0.5,-1],[]]",
    ),
    (
        r#"{"op": "scale", "args": [[["inf"],["nan"]]], "options": {"factor": -1}}"#,
        r#"[["-inf"],["nan"]]"#,
    ),
    (r#"{"op": "copy", "args": [[[[],[]],[]]]}"#, "[[[],[]],[]]"),
    (
        r#"{"op": "copy", "args": [[[[1,2],[-0.5,"inf"]],[]]], "options": {"dtype": "c32"}}"#,
        r#"[[[1,2],[-0.5,"inf"]],[]]"#,
    ),
    (
        r#"{"op": "copy", "args": [[[[[1,2],[3,4]]],[]]], "options": {"dtype": "c32"}}"#,
        "[[[[1,2],[3,4]]],[]]",
    ),
    (
        r#"{"op": "copy", "args": [[[65504,"nan"],[0.1]]], "options": {"dtype": "f16"}}"#,
        r#"[[65504,"nan"],[0.099975586]]"#,
    ),
    (
        concat!(
            r#"{"op": "copy", "args": [[[2049,2049.0000001,65519.9999,-65519.9999],"#,
            r#"[5.96046447e-8,2.9802322e-8,2.98023224e-8]]], "#,
            r#""options": {"dtype": "f16"}}"#,
        ),
        "[[2048,2050,65504,-65504],[5.9604645e-8,0,5.9604645e-8]]",
    ),
    (
        r#"{"op": "to_f16", "args": [[[0.1,65520,"-inf"],[],[2049]]]}"#,
        r#"[[0.099975586,"inf","-inf"],[],[2048]]"#,
    ),
    (
        r#"{"op": "to_f32", "args": [[[0.1,-2],["nan"]]]}"#,
        r#"[[0.099975586,-2],["nan"]]"#,
    ),
    (
        r#"{"op": "full", "options": {"dtype": "f16", "shapes": [[2],[1]], "value": 0.5}}"#,
        "[[0.5,0.5],[0.5]]",
    ),
    (
        r#"{"op": "elements", "args": [[[[1,2]],[[3,4],[5,6]]]], "options": {"dtype": "c32", "range": [1,2]}}"#,
        "[[[3,4],[5,6]]]",
    ),
    (
        r#"{"op": "full", "options": {"dtype": "c32", "shapes": [[2],[0],[1]], "value": [7,-1]}}"#,
        "[[[7,-1],[7,-1]],[],[[7,-1]]]",
    ),
    (
        r#"{"op": "copy", "args": [[[],[]]], "options": {"rank": 3}}"#,
        "[[],[]]",
    ),
    (
        r#"{"op": "full", "options": {"shapes": [[2,2],[0,5],[3,0]], "value": 7}}"#,
        "[[[7,7],[7,7]],[],[[],[],[]]]",
    ),
    (
        r#"{"op": "full", "options": {"shapes": [], "value": 7}}"#,
        "[]",
    ),
    (
        r#"{"op": "elements", "args": [[[1],[2,3],[4]]], "options": {"range": [1,3]}}"#,
        "[[2,3],[4]]",
    ),
    (
        r#"{"op": "hadamard", "args": [[[2,3],["nan"]], [[4,5,6],[]]]}"#,
        "[[8,15,0],[0]]",
    ),
    (
        r#"{"op": "neg", "args": [[[1,-2],[]]], "options": {"dtype": "i32"}}"#,
        "[[-1,2],[]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (r#"{"op": "add", "args": [[[1]]]}"#, "bad_request", None),
    (
        r#"{"op": "add", "args": [[],[]], "options": {"factor": 2}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "copy", "args": [[[1],[65520]]], "options": {"dtype": "f16"}}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "copy", "args": [[[1],[-1e300]]], "options": {"dtype": "f16"}}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "copy", "args": [[[[1,2]],[3,4]]], "options": {"dtype": "c32"}}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "full", "options": {"dtype": "c32", "shapes": [], "value": 7}}"#,
        "bad_request",
        None,
    ),
    (r#"{"op": "scale", "args": [[]]}"#, "bad_request", None),
    (
        r#"{"op": "scale", "args": [[]], "options": {"factor": "two"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "elements", "args": [[]], "options": {"range": [0]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "elements", "args": [[]], "options": {"range": [0, -1]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "full", "options": {"shapes": [[1],[-1]], "value": 0}}"#,
        "bad_request",
        Some(1),
    ),
    (
        r#"{"op": "add", "args": [[],[]], "options": {"pairing": "some"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "add", "args": [[[1]],[[1]]], "options": {"pairing": [[0,0],[0]]}}"#,
        "bad_request",
        Some(1),
    ),
    (
        r#"{"op": "full", "options": {"shapes": [[1],[4294967295]], "value": 0}}"#,
        "limit",
        None,
    ),
    (
        r#"{"op": "full", "options": {"shapes": [[4294967295, 0]], "value": 0}}"#,
        "limit",
        None,
    ),
    (
        r#"{"op": "full", "options": {"shapes": [[65536, 65536]], "value": 0}}"#,
        "size_overflow",
        Some(0),
    ),
    (
        r#"{"op": "full", "options": {"shapes": [[1], [1, 2]], "value": 0}}"#,
        "rank",
        Some(1),
    ),
    (
        r#"{"op": "add", "args": [[[1]], [[1], [2]]]}"#,
        "batch_size",
        None,
    ),
    (r#"{"op": "add", "args": [[[1]], [[[1]]]]}"#, "rank", None),
    (
        r#"{"op": "add", "args": [[[1],[1]], [[1]]], "options": {"pairing": "one_to_all"}}"#,
        "pairing",
        None,
    ),
    (
        r#"{"op": "add", "args": [[[1],[1]], [[1],[2]]], "options": {"pairing": "all_to_one"}}"#,
        "pairing",
        None,
    ),
    (
        r#"{"op": "add", "args": [[[1]], [[1]]], "options": {"pairing": [[0,0],[0,1]]}}"#,
        "pair_index",
        Some(1),
    ),
    (
        r#"{"op": "elements", "args": [[[1]]], "options": {"range": [1, 0]}}"#,
        "element_range",
        None,
    ),
];
