use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "scatter_add", "args": [[[1,2,0.5]]], "options": {"dtype": "f16", "indices": [[1,0,1]], "shapes": [[2]]}}"#,
        "[[2,1.5]]",
    ),
    (
        r#"{"op": "concat", "args": [[[1],[]], [[2],[3]]], "options": {"dtype": "u8"}}"#,
        "[[1,2],[3]]",
    ),
    (
        r#"{"op": "strided_slice", "args": [[[1,2,3,4,5],[6,7],[]]], "options": {"ranges": [[null,null,-2]]}}"#,
        "[[5,3,1],[7],[]]",
    ),
    (
        r#"{"op": "strided_slice", "args": [[[[1,2,3],[4,5,6]]]], "options": {"ranges": [[-1,null,1],[0,null,2]]}}"#,
        "[[[4,6]]]",
    ),
    (
        r#"{"op": "slice", "args": [[[1,2,3,4],[5],[]]], "options": {"start": [-1], "end": [2]}}"#,
        "[[0,1,2],[0,5,0],[0,0,0]]",
    ),
    (
        r#"{"op": "pad", "args": [[[[1,2]]]], "options": {"dtype": "i32", "widths": [[1,0],[0,2]]}}"#,
        "[[[0,0,0,0],[1,2,0,0]]]",
    ),
    (
        r#"{"op": "resize", "args": [[[1,2,3],[4]]], "options": {"dtype": "u32", "shapes": [[2],[3]]}}"#,
        "[[1,2],[4,0,0]]",
    ),
    (
        r#"{"op": "flip", "args": [[[[1,2],[3,4]]]], "options": {"axes": [1]}}"#,
        "[[[2,1],[4,3]]]",
    ),
    (r#"{"op": "flip", "args": [[[1,2,3],[]]]}"#, "[[3,2,1],[]]"),
    (
        r#"{"op": "gather", "args": [[[1,2,3],[4]]], "options": {"indices": [[2,0,7,2],[]]}}"#,
        "[[3,1,0,3],[]]",
    ),
    (
        r#"{"op": "gather", "args": [[[[1,2],[3,4]]]], "options": {"dtype": "f16", "indices": [[1,1,0]]}}"#,
        "[[[3,4],[3,4],[1,2]]]",
    ),
    (
        concat!(
            r#"{"op": "scatter_add", "args": [[[1,2,3,4],[5]]], "#,
            r#""options": {"dtype": "u32", "indices": [[2,0,2,9],[1]], "shapes": [[3],[2]]}}"#,
        ),
        "[[2,0,4],[0,5]]",
    ),
    (
        r#"{"op": "scatter_set", "args": [[[1,2],[3]]], "options": {"indices": [[3,0],[1]], "shapes": [[4],[2]]}}"#,
        "[[2,0,0,1],[0,3]]",
    ),
    (
        r#"{"op": "concat", "args": [[[1,2],[]], [[3],[4]]]}"#,
        "[[1,2,3],[4]]",
    ),
    (
        r#"{"op": "concat", "args": [[[[1,2],[3,4]]], [[[5],[6],[7]]]], "options": {"axis": 1}}"#,
        "[[[1,2,5],[3,4,6],[0,0,7]]]",
    ),
    (
        r#"{"op": "block_diag", "args": [[[[1,2]],[[7]]], [[[3],[4]],[]]]}"#,
        "[[[1,2,0],[0,0,3],[0,0,4]],[[7]]]",
    ),
    (
        r#"{"op": "select", "args": [[[1,2],[],[3]]], "options": {"elements": [2,0,2,1]}}"#,
        "[[3],[1,2],[3],[]]",
    ),
    (
        r#"{"op": "reorder", "args": [[[1,2],[],[3]]], "options": {"elements": [2,0,1]}}"#,
        "[[3],[1,2],[]]",
    ),
    (
        r#"{"op": "sort_by_length", "args": [[[1,2],[3],[],[4]]]}"#,
        "[[],[3],[4],[1,2]]",
    ),
    (
        r#"{"op": "join", "args": [[[1,2],[]], [[3]]], "options": {"dtype": "u32"}}"#,
        "[[1,2],[],[3]]",
    ),
    (
        r#"{"op": "transpose", "args": [[[[1,2,3],[4,5,6]],[[7,8]]]]}"#,
        "[[[1,4],[2,5],[3,6]],[[7],[8]]]",
    ),
    (
        r#"{"op": "transpose", "args": [[[[[1,2]],[[3,4]]]]], "options": {"axes": [1,2,0]}}"#,
        "[[[[1,3],[2,4]]]]",
    ),
    (
        r#"{"op": "reshape", "args": [[[1,2,3,4],[5,6,7]]], "options": {"shapes": [[2,2],[3,1]]}}"#,
        "[[[1,2],[3,4]],[[5],[6],[7]]]",
    ),
    (
        r#"{"op": "packed", "args": [[[[1,2],[3,4]],[[5,6]]]]}"#,
        "[[[1,2],[3,4],[5,6]]]",
    ),
    (
        r#"{"op": "unpacked", "args": [[[1,2,3]]], "options": {"shapes": [[2],[0],[1]]}}"#,
        "[[1,2],[],[3]]",
    ),
    (
        r#"{"op": "broadcast", "args": [[[7],[1,2]]], "options": {"shapes": [[3],[2]]}}"#,
        "[[7,7,7],[1,2]]",
    ),
    (
        r#"{"op": "stack", "args": [[[10,20],[30,40,50],[60]]]}"#,
        "[[[10,20,0],[30,40,50],[60,0,0]]]",
    ),
    (
        r#"{"op": "unstack", "args": [[[[10,20,0],[30,40,50],[60,0,0]]]], "options": {"shapes": [[2],[3],[1]]}}"#,
        "[[10,20],[30,40,50],[60]]",
    ),
    (
        r#"{"op": "window", "args": [[[1],[2],[3],[4]]], "options": {"size": 3, "stride": 1}}"#,
        "[[[1],[2],[3]],[[2],[3],[4]]]",
    ),
    (
        r#"{"op": "pyramid", "args": [[[1],[2],[3]]], "options": {"sizes": [2,2], "flush": "pad"}}"#,
        "[[[[1],[2]],[[3],[0]]],[[[[1],[2]],[[3],[0]]]]]",
    ),
    (
        r#"{"op": "shrink", "args": [[[[1,0,0],[0,2,0],[0,0,0]],[[0,0,5],[0,0,0]],[[0,0]]]]}"#,
        "[[[1,0],[0,2]],[[0,0,5]],[]]",
    ),
    (
        r#"{"op": "minimal_shape", "args": [[[3,2,0],[0],[]]], "options": {"dtype": "u32"}}"#,
        "[[2],[0],[0]]",
    ),
    (
        r#"{"op": "gather", "args": [[[5,6]]], "options": {"indices": [[1],[],[0,2]], "pairing": "one_to_all"}}"#,
        "[[6],[],[5,0]]",
    ),
    (
        concat!(
            r#"{"op": "scatter_add", "args": [[[1,2],[4]]], "#,
            r#""options": {"indices": [[2,0],[2]], "shapes": [[3]], "pairing": "one_to_all"}}"#,
        ),
        "[[2,0,5]]",
    ),
    (
        r#"{"op": "concat_all", "args": [[[1],[]], [[2,3],[4]], [[5],[6]]], "options": {"dtype": "i32"}}"#,
        "[[1,2,3,5],[4,6]]",
    ),
    (
        r#"{"op": "split", "args": [[[1,2],[],[3]]], "options": {"counts": [1,0,2]}}"#,
        "[[[1,2]],[],[[],[3]]]",
    ),
    (
        r#"{"op": "stack_groups", "args": [[[1],[2,3],[4]]], "options": {"counts": [2,1]}}"#,
        "[[[1,0],[2,3]],[[4]]]",
    ),
    // The size follows the contents, not the box of all elements: a window larger than the batch yields no result.
    (
        r#"{"op": "window", "args": [[[1],[2]]], "options": {"size": 4000000000, "stride": 1}}"#,
        "[]",
    ),
    (
        r#"{"op": "pyramid", "args": [[[1],[2],[3]]], "options": {"sizes": [2, 4000000000], "flush": "discard"}}"#,
        "[[[[1],[2]]],[]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "pyramid", "args": [[[1]]], "options": {"sizes": [4000000000], "flush": "pad"}}"#,
        "limit",
        None,
    ),
    (
        r#"{"op": "strided_slice", "args": [[[1]]], "options": {"ranges": [[0, 1, 0]]}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "slice", "args": [[[1]]], "options": {"start": [0, 0], "end": [1, 1]}}"#,
        "rank",
        None,
    ),
    (
        r#"{"op": "slice", "args": [[[1]]], "options": {"start": [0], "end": [2000000]}}"#,
        "limit",
        None,
    ),
    (
        r#"{"op": "pad", "args": [[[1],[2]]], "options": {"widths": [[0, 600000]]}}"#,
        "limit",
        None,
    ),
    (
        r#"{"op": "pad", "args": [[[1]]], "options": {"widths": [1]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "flip", "args": [[[1]]], "options": {"axes": [1]}}"#,
        "argument",
        None,
    ),
    (r#"{"op": "gather", "args": [[[1]]]}"#, "bad_request", None),
    (
        r#"{"op": "gather", "args": [[[1],[2]]], "options": {"indices": [[0],[-1]]}}"#,
        "bad_request",
        Some(1),
    ),
    (
        r#"{"op": "gather", "args": [[[1],[2]]], "options": {"indices": [[0]]}}"#,
        "batch_size",
        None,
    ),
    (
        r#"{"op": "scatter_set", "args": [[[1],[2,3]]], "options": {"indices": [[0],[1,1]], "shapes": [[1],[2]]}}"#,
        "duplicate_index",
        Some(1),
    ),
    (
        r#"{"op": "scatter_add", "args": [[[1]]], "options": {"indices": [[0]], "shapes": [[4294967295]]}}"#,
        "limit",
        None,
    ),
    (
        r#"{"op": "gather", "args": [[[1]]], "options": {"indices": [[0]], "pairing": [[0,1]]}}"#,
        "pair_index",
        Some(0),
    ),
    (
        r#"{"op": "split", "args": [[[1]]], "options": {"counts": [2]}}"#,
        "element_count",
        None,
    ),
    (
        r#"{"op": "stack_groups", "args": [[[1]]], "options": {"counts": [2]}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "concat", "args": [[[1]], [[2]]], "options": {"axis": 1}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "concat", "args": [[[1]], [[2]]], "options": {"axis": -1}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "select", "args": [[[1]]], "options": {"elements": [0, 1]}}"#,
        "index",
        None,
    ),
    (r#"{"op": "join", "args": [[[1]], [[[1]]]]}"#, "rank", None),
    (
        r#"{"op": "transpose", "args": [[[[1]]]], "options": {"axes": [0, 0]}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "reshape", "args": [[[1,2],[3]]], "options": {"shapes": [[2],[2]]}}"#,
        "length",
        Some(1),
    ),
    (
        r#"{"op": "packed", "args": [[[[1,2]],[[3]]]]}"#,
        "shape",
        Some(1),
    ),
    (
        r#"{"op": "unpacked", "args": [[[1,2,3]]], "options": {"shapes": [[2],[2]]}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "window", "args": [[[1]]], "options": {"size": 0, "stride": 1}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "pyramid", "args": [[[1]]], "options": {"sizes": [2], "flush": "keep"}}"#,
        "bad_request",
        None,
    ),
];
