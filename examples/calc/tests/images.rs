use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "rot90", "args": [[[[1,2,3],[4,5,6]]]], "options": {"turns": 1}}"#,
        "[[[3,6],[2,5],[1,4]]]",
    ),
    (
        r#"{"op": "anti_transpose", "args": [[[[1,2,3],[4,5,6]]]]}"#,
        "[[[6,3],[5,2],[4,1]]]",
    ),
    (
        r#"{"op": "upscale", "args": [[[[1,2]],[[3]]]], "options": {"factors": [[2,1],[1,3]]}}"#,
        "[[[1,2],[1,2]],[[3,3,3]]]",
    ),
    (
        r#"{"op": "downscale", "args": [[[[1,2,3],[4,5,6],[7,8,9]]]], "options": {"factors": [[2,2]]}}"#,
        "[[[1,3],[7,9]]]",
    ),
    (
        r#"{"op": "tile", "args": [[[[1,2]]]], "options": {"factors": [[2,2]], "dtype": "f16"}}"#,
        "[[[1,2,1,2],[1,2,1,2]]]",
    ),
    (
        r#"{"op": "translate", "args": [[[[1,2],[3,4]]]], "options": {"shifts": [[0,1]], "value": 9}}"#,
        "[[[9,1],[9,3]]]",
    ),
    (
        r#"{"op": "dilate", "args": [[[[0,0,0],[7,0,0]]]], "options": {"dtype": "u32", "diagonal": true}}"#,
        "[[[7,7,0],[7,7,0]]]",
    ),
    (
        r#"{"op": "erode", "args": [[[[1,1,1],[1,1,-5]]]], "options": {"dtype": "i32"}}"#,
        "[[[1,1,-5],[1,-5,-5]]]",
    ),
    (
        r#"{"op": "lookup", "args": [[[2,0],[5]]], "options": {"dtype": "u32", "table": [[10,11,12]]}}"#,
        "[[12,10],[0]]",
    ),
    (
        r#"{"op": "lookup", "args": [[[0,1],[0]]], "options": {"dtype": "u32", "table": [[5,6],[]]}}"#,
        "[[5,6],[0]]",
    ),
    (
        r#"{"op": "lookup", "args": [[[1,0,255]]], "options": {"dtype": "u8", "table": [[0.5,-1.5]], "table_dtype": "f16"}}"#,
        "[[-1.5,0.5,0]]",
    ),
    (
        r#"{"op": "label", "args": [[[[7,7,0],[0,0,7]]]], "options": {"dtype": "u8"}}"#,
        r#"{"labels": [[[1,1,0],[0,0,2]]], "numbers": [[2]]}"#,
    ),
    (
        r#"{"op": "equal_elements", "args": [[[1,2],[3]], [[1,2],[4]]], "options": {"dtype": "u8"}}"#,
        "[[1],[0]]",
    ),
    (
        r#"{"op": "bincount", "args": [[[2,0,2,7],[]]], "options": {"dtype": "i32", "bins": 3}}"#,
        "[[1,0,2],[0,0,0]]",
    ),
    (
        r#"{"op": "most_common", "args": [[[5,3,5,1,3]]], "options": {"dtype": "i32"}}"#,
        "[[3]]",
    ),
    (
        r#"{"op": "least_common", "args": [[[5,3,5,1,3]]], "options": {"dtype": "u32"}}"#,
        "[[1]]",
    ),
    (
        r#"{"op": "palette", "args": [[[5,3,5,-1,3],[]]], "options": {"dtype": "i32"}}"#,
        "[[-1,3,5],[]]",
    ),
    (
        r#"{"op": "bounding_box", "args": [[[[0,0,0],[0,5,6]]]], "options": {"dtype": "i32", "value": 0}}"#,
        "[[1,1,2,3]]",
    ),
    (
        r#"{"op": "trim", "args": [[[[0,0,0],[0,5,6]]]], "options": {"dtype": "i32", "value": 0}}"#,
        "[[[5,6]]]",
    ),
    (
        r#"{"op": "crop", "args": [[[[1,2,3],[4,5,6]]]], "options": {"boxes": [[1,1,9,9]]}}"#,
        "[[[5,6]]]",
    ),
    (
        r#"{"op": "match_template", "args": [[[[1,2,1],[3,1,2]]], [[[1,2]]]], "options": {"dtype": "i32"}}"#,
        "[[[1,0],[0,1]]]",
    ),
    (
        r#"{"op": "draw_boxes", "args": [[[[0,0,0],[0,0,0],[0,0,0]]]], "options": {"dtype": "i32", "boxes": [[[0,0,3,3],[1,1,9,9]]], "values": [[5,-1]]}}"#,
        "[[[5,5,5],[5,-1,-1],[5,-1,5]]]",
    ),
    (
        r#"{"op": "draw_lines", "args": [[[[0,0,0],[0,0,0]],[]]], "options": {"dtype": "u32", "lines": [[[-1,0,1,2],[0,0,0,1]],[]], "values": [[5,6],[]]}}"#,
        "[[[6,6,0],[0,0,5]],[]]",
    ),
    (
        r#"{"op": "equal_elements", "args": [[[1,2],[3]], [[1,2],[3,0]]]}"#,
        "[[1],[0]]",
    ),
    (
        r#"{"op": "period", "args": [[[1,2,1,2,1],[3]]], "options": {"dtype": "i32"}}"#,
        "[[2],[1]]",
    ),
    (
        r#"{"op": "compact", "args": [[[[1,2,3],[4,5,6]]]], "options": {"flags": [[1,0,2]], "axis": 1}}"#,
        "[[[1,3],[4,6]]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "lookup", "args": [[[1],[2]]], "options": {"dtype": "i32", "table": [[5,6]], "strict": true}}"#,
        "argument",
        Some(1),
    ),
    (
        r#"{"op": "bincount", "args": [[[1],[3]]], "options": {"dtype": "u32", "bins": 3, "strict": true}}"#,
        "argument",
        Some(1),
    ),
    (
        r#"{"op": "draw_lines", "args": [[[[1]],[[2]]]], "options": {"dtype": "i32", "lines": [[],[[0,0,1,2]]], "values": [[],[7]]}}"#,
        "argument",
        Some(1),
    ),
    (
        r#"{"op": "rot90", "args": [[[1]]], "options": {"turns": 1, "rank": 1}}"#,
        "rank",
        None,
    ),
    (
        r#"{"op": "upscale", "args": [[[[1]],[[2]]]], "options": {"factors": [[1,1],[0,1]]}}"#,
        "argument",
        Some(1),
    ),
    (
        r#"{"op": "tile", "args": [[[[1]]]], "options": {"factors": [[2000,2000]]}}"#,
        "limit",
        None,
    ),
    (
        r#"{"op": "downscale", "args": [[[[1]]]], "options": {"factors": [[1,-1]]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "translate", "args": [[[[1]]]], "options": {"shifts": [], "value": 1}}"#,
        "element_count",
        None,
    ),
    (
        r#"{"op": "dilate", "args": [[[[1]]]], "options": {"dtype": "f32"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "bincount", "args": [[[1]]], "options": {"dtype": "u32", "bins": 0}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "crop", "args": [[[[1]]]], "options": {"boxes": [[0,0,2,1]], "strict": true}}"#,
        "argument",
        Some(0),
    ),
    (
        r#"{"op": "compact", "args": [[[1,2]]], "options": {"flags": [[1]]}}"#,
        "length",
        Some(0),
    ),
];
