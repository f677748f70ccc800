use super::{Golden, Refused};

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "exp", "args": [[[0,"-inf",100],[],["nan"]]]}"#,
        r#"[[1,0,"inf"],[],["nan"]]"#,
    ),
    (r#"{"op": "exp2", "args": [[[3,-1]]]}"#, "[[8,0.5]]"),
    (
        r#"{"op": "exp2", "args": [[[3,-1]]], "options": {"dtype": "f16"}}"#,
        "[[8,0.5]]",
    ),
    (r#"{"op": "expm1", "args": [[[0,-100]]]}"#, "[[0,-1]]"),
    (r#"{"op": "log", "args": [[[1,0]]]}"#, r#"[[0,"-inf"]]"#),
    (r#"{"op": "log2", "args": [[[8,0.25]]]}"#, "[[3,-2]]"),
    (r#"{"op": "log1p", "args": [[[0,-1]]]}"#, r#"[[0,"-inf"]]"#),
    (
        r#"{"op": "sqrt", "args": [[[9,2.25,-1]]]}"#,
        r#"[[3,1.5,"nan"]]"#,
    ),
    (
        r#"{"op": "rsqrt", "args": [[[0,"inf"]]]}"#,
        r#"[["inf",0]]"#,
    ),
    (
        r#"{"op": "reciprocal", "args": [[[4,-0.5]]]}"#,
        "[[0.25,-2]]",
    ),
    (r#"{"op": "sin", "args": [[[0,"inf"]]]}"#, r#"[[0,"nan"]]"#),
    (r#"{"op": "cos", "args": [[[0]]]}"#, "[[1]]"),
    (r#"{"op": "tanh", "args": [[[0,50,-50]]]}"#, "[[0,1,-1]]"),
    (
        r#"{"op": "sigmoid", "args": [[[0,100,"-inf"]]]}"#,
        "[[0.5,1,0]]",
    ),
    (r#"{"op": "silu", "args": [[[0,100]]]}"#, "[[0,100]]"),
    (
        r#"{"op": "softplus", "args": [[[100,"-inf"]]]}"#,
        "[[100,0]]",
    ),
    (r#"{"op": "erf", "args": [[[0,5,-5]]]}"#, "[[0,1,-1]]"),
    (r#"{"op": "gelu", "args": [[[0,20]]]}"#, "[[0,20]]"),
    (r#"{"op": "gelu_tanh", "args": [[[0,20]]]}"#, "[[0,20]]"),
    (r#"{"op": "relu", "args": [[[1.5,-2],[]]]}"#, "[[1.5,0],[]]"),
    (r#"{"op": "floor", "args": [[[1.5,-1.5]]]}"#, "[[1,-2]]"),
    (r#"{"op": "ceil", "args": [[[1.5,-1.5]]]}"#, "[[2,-1]]"),
    (r#"{"op": "round", "args": [[[0.5,1.5,2.5]]]}"#, "[[0,2,2]]"),
    (
        r#"{"op": "leaky_relu", "args": [[[2,-2]]], "options": {"negative_slope": 0.25}}"#,
        "[[2,-0.5]]",
    ),
    (
        r#"{"op": "pow", "args": [[[3,-2]]], "options": {"exponent": 3}}"#,
        "[[27,-8]]",
    ),
    (
        r#"{"op": "pow", "args": [[[0,-2]]], "options": {"exponent": 1.5}}"#,
        r#"[[0,"nan"]]"#,
    ),
    (
        r#"{"op": "abs", "args": [[[1,-2],[]]], "options": {"dtype": "i32"}}"#,
        "[[1,2],[]]",
    ),
    (r#"{"op": "sign", "args": [[[3.5,-2,0]]]}"#, "[[1,-1,0]]"),
    (
        r#"{"op": "square", "args": [[[3,-2]]], "options": {"dtype": "f16"}}"#,
        "[[9,4]]",
    ),
    (
        r#"{"op": "clip", "args": [[[1,-7,9]]], "options": {"dtype": "i32", "min": -2, "max": 5}}"#,
        "[[1,-2,5]]",
    ),
    (
        r#"{"op": "add_scalar", "args": [[[1,2]]], "options": {"value": 0.5}}"#,
        "[[1.5,2.5]]",
    ),
    (
        r#"{"op": "div_scalar", "args": [[[7,-7]]], "options": {"dtype": "i32", "value": 2}}"#,
        "[[3,-3]]",
    ),
    (
        r#"{"op": "rsub", "args": [[[1,-7]]], "options": {"dtype": "i32", "value": 2}}"#,
        "[[1,9]]",
    ),
    (
        r#"{"op": "rdiv", "args": [[[4,-0.5]]], "options": {"value": 2}}"#,
        "[[0.5,-4]]",
    ),
    (
        r#"{"op": "fmod", "args": [[[7.5,-7.5]]], "options": {"value": 2}}"#,
        "[[1.5,-1.5]]",
    ),
    (
        r#"{"op": "bitwise_and", "args": [[[12,7]]], "options": {"dtype": "u32", "value": 10}}"#,
        "[[8,2]]",
    ),
    (
        r#"{"op": "bitwise_or", "args": [[[12]]], "options": {"dtype": "i32", "value": 10}}"#,
        "[[14]]",
    ),
    (
        r#"{"op": "bitwise_xor", "args": [[[12]]], "options": {"dtype": "u32", "value": 10}}"#,
        "[[6]]",
    ),
    (
        r#"{"op": "bitwise_not", "args": [[[0,5]]], "options": {"dtype": "i32"}}"#,
        "[[-1,-6]]",
    ),
    (
        r#"{"op": "left_shift", "args": [[[1,-3]]], "options": {"dtype": "i32", "places": 4}}"#,
        "[[16,-48]]",
    ),
    (
        r#"{"op": "right_shift", "args": [[[17,-17]]], "options": {"dtype": "i32", "places": 4}}"#,
        "[[1,-2]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (
        r#"{"op": "exp", "args": [[[1]]], "options": {"dtype": "i32"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "bitwise_not", "args": [[[1]]], "options": {"dtype": "f32"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "clip", "args": [[[1]]], "options": {"min": 2, "max": 1}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "fmod", "args": [[[1]]], "options": {"value": 0}}"#,
        "argument",
        None,
    ),
    (
        r#"{"op": "left_shift", "args": [[[1]]], "options": {"dtype": "u32", "places": 32}}"#,
        "argument",
        None,
    ),
];
