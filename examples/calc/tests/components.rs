use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "label", "args": [[[[7,0,7],[0,7,7]],[[1,2]],[]]]}"#,
        r#"{"labels":[[[1,0,2],[0,2,2]],[[1,2]],[]],"numbers":[[2],[2],[0]]}"#,
    ),
    (
        r#"{"op": "label", "args": [[[[7,0,7],[0,5,7]]]], "options": {"diagonal": true, "foreground": true}}"#,
        r#"{"labels":[[[1,0,1],[0,1,1]]],"numbers":[[1]]}"#,
    ),
    (
        r#"{"op": "label", "args": [[[[7,0,7]]]], "options": {"background": 7, "dtype": "u32"}}"#,
        r#"{"labels":[[[0,1,0]]],"numbers":[[1]]}"#,
    ),
    (
        r#"{"op": "regions", "args": [[[[7,7,0],[0,7,5]],[]]]}"#,
        "[[[3,1],[]],[[[0,0,2,2],[1,2,2,3]],[]],[[[0.33333334,0.6666667],[1,2]],[]],[[7,5],[]]]",
    ),
    (
        r#"{"op": "fill_holes", "args": [[[[1,1,1],[1,0,1],[1,1,1]]]], "options": {"value": 4}}"#,
        "[[[1,1,1],[1,4,1],[1,1,1]]]",
    ),
    (
        r#"{"op": "fill_holes", "args": [[[[0,1,1],[1,0,1],[1,1,1]]]], "options": {"value": 4, "diagonal": true}}"#,
        "[[[0,1,1],[1,0,1],[1,1,1]]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "label", "args": [[[1,2]]]}"#,
        "bad_input",
        Some(0),
    ),
    (
        r#"{"op": "label", "args": [[[1,2]]], "options": {"rank": 1}}"#,
        "rank",
        None,
    ),
    (
        r#"{"op": "label", "args": [[[[1,2]]]], "options": {"dtype": "f32"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "fill_holes", "args": [[[[1,2]]]]}"#,
        "bad_request",
        None,
    ),
];
