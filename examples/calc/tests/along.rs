use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "mean", "args": [[[1,2,6],[],[5]]]}"#,
        r#"[[3],["nan"],[5]]"#,
    ),
    (
        r#"{"op": "mean", "args": [[[[1,2],[3,4]]]], "options": {"rank": 2, "axis": 0}}"#,
        "[[2,3]]",
    ),
    (
        r#"{"op": "amax", "args": [[[[1,5],[3,4]],[]]], "options": {"rank": 2, "axis": 0}}"#,
        "[[3,5],[]]",
    ),
    (
        r#"{"op": "amin", "args": [[[2,1,6],["nan",1]]]}"#,
        r#"[[1],["nan"]]"#,
    ),
    (r#"{"op": "var", "args": [[[1,3],[5]]]}"#, "[[1],[0]]"),
    (r#"{"op": "std", "args": [[[1,5]]]}"#, "[[2]]"),
    (
        r#"{"op": "logsumexp", "args": [[[],["inf",1]]]}"#,
        r#"[["-inf"],["inf"]]"#,
    ),
    (
        r#"{"op": "sum", "args": [[[[1,2],[3,4]]]], "options": {"rank": 2, "axis": 1}}"#,
        "[[3,7]]",
    ),
    (
        r#"{"op": "softmax", "args": [[[0,0],[7],["-inf",3]]]}"#,
        "[[0.5,0.5],[1],[0,1]]",
    ),
    (
        r#"{"op": "log_softmax", "args": [[[0,300]]]}"#,
        "[[-300,0]]",
    ),
    (
        r#"{"op": "layer_norm", "args": [[[1,3],[7]]], "options": {"eps": 3}}"#,
        "[[-0.5,0.5],[0]]",
    ),
    (
        r#"{"op": "rms_norm", "args": [[[2,2],[0]]], "options": {"eps": 12}}"#,
        "[[0.5,0.5],[0]]",
    ),
    (
        r#"{"op": "normalize", "args": [[[3,4],[0]]], "options": {"dtype": "f16"}}"#,
        "[[0.60009766,0.7998047],[0]]",
    ),
    (
        r#"{"op": "group_norm", "args": [[[1,3,5,9]]], "options": {"groups": 2, "eps": 0}}"#,
        "[[-1,1,-1,1]]",
    ),
    (
        r#"{"op": "standardize", "args": [[[2,2,8,8]]]}"#,
        "[[-1,-1,1,1]]",
    ),
    (
        r#"{"op": "standardize", "args": [[[2,2],[1,3]]], "options": {"eps": 3}}"#,
        "[[0,0],[-0.5,0.5]]",
    ),
    (
        r#"{"op": "cumsum", "args": [[[1,2,6],[],[5]]], "options": {"dtype": "i32"}}"#,
        "[[1,3,9],[],[5]]",
    ),
    (
        r#"{"op": "cumprod", "args": [[[[1,2],[3,4]]]], "options": {"rank": 2, "axis": 1}}"#,
        "[[[1,2],[3,12]]]",
    ),
    (
        r#"{"op": "cummax", "args": [[[1,3,2,"nan",4]]]}"#,
        r#"[[1,3,3,"nan","nan"]]"#,
    ),
    (r#"{"op": "cummin", "args": [[[4,3,5]]]}"#, "[[4,3,3]]"),
    (
        r#"{"op": "cumsum", "args": [[[2047,1,1,2],[],[0.5,0.25]]], "options": {"dtype": "f16"}}"#,
        "[[2047,2048,2048,2052],[],[0.5,0.75]]",
    ),
    (
        r#"{"op": "sort", "args": [[[3,"nan",-0.5],[7]]], "options": {"dtype": "f16"}}"#,
        r#"[[-0.5,3,"nan"],[7]]"#,
    ),
    (
        r#"{"op": "topk", "args": [[[3,1,4]]], "options": {"k": 2, "dtype": "f16"}}"#,
        r#"{"values":[[4,3]],"indices":[[2,0]]}"#,
    ),
    (
        r#"{"op": "median", "args": [[[4,1],[3,2,9]]], "options": {"dtype": "f16"}}"#,
        "[[2.5],[3]]",
    ),
    (
        r#"{"op": "sort", "args": [[[3,"nan",1,2],[],[5]]]}"#,
        r#"[[1,2,3,"nan"],[],[5]]"#,
    ),
    (
        r#"{"op": "argsort", "args": [[[[3,1],[3,0]]]], "options": {"rank": 2, "axis": 0, "dtype": "i32"}}"#,
        "[[[0,1],[1,0]]]",
    ),
    (
        r#"{"op": "sort", "args": [[[3,"nan",1,2],[],[5]]], "options": {"descending": true}}"#,
        r#"[["nan",3,2,1],[],[5]]"#,
    ),
    (
        r#"{"op": "argsort", "args": [[[3,1,3]]], "options": {"descending": true, "dtype": "u32"}}"#,
        "[[0,2,1]]",
    ),
    (
        r#"{"op": "topk", "args": [[[3,1,4],[2]]], "options": {"k": 2, "at_most": true}}"#,
        r#"{"values":[[4,3],[2]],"indices":[[2,0],[0]]}"#,
    ),
    (
        r#"{"op": "topk", "args": [[[3,1,4],[2,7]]], "options": {"k": 2, "dtype": "i32"}}"#,
        r#"{"values":[[4,3],[7,2]],"indices":[[2,0],[1,0]]}"#,
    ),
    (
        r#"{"op": "quantile", "args": [[[4,1,2],[]]], "options": {"q": 0.25}}"#,
        r#"[[1.5],["nan"]]"#,
    ),
    // The fourth value itself: 0.3 rounded to f32 would lie above it.
    (
        r#"{"op": "quantile", "args": [[[0,0,0,0,1e8,1e8,1e8,1e8,1e8,1e8,1e8]]], "options": {"q": 0.3}}"#,
        "[[0]]",
    ),
    (
        r#"{"op": "median", "args": [[[[1,5,9],[2,4,3]]]], "options": {"rank": 2, "axis": 1}}"#,
        "[[5,3]]",
    ),
    (
        r#"{"op": "diff", "args": [[[1,4,9],[5],[]]], "options": {"dtype": "i32"}}"#,
        "[[3,5],[],[]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "softmax", "args": [[[1]]], "options": {"axis": 1}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "topk", "args": [[[1,2],[3]]], "options": {"k": 2}}"#,
        "argument",
        Some(1),
    ),
    (
        r#"{"op": "quantile", "args": [[[1]]], "options": {"q": 2}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "cumsum", "args": [[[1]]], "options": {"axis": 1}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "mean", "args": [[[1]]], "options": {"dtype": "i32"}}"#,
        "bad_request",
        None,
    ),
];
