use serde_json::{Value, json};

use super::{GOLDEN as ALL, Golden, Refused, choices, run};
use crate::device::Choice;

pub const GOLDEN: &[Golden] = &[
    (
        r#"{"op": "gradient", "of": {"op": "floor", "args": [[[1,2]]]}}"#,
        "[[[0,0]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "gradient", "of": {"op": "sum", "args": [[[1,2]]]}}}"#,
        "[[[0,0]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "scale", "args": [[[1,2],[],[3]]], "options": {"factor": 2.5}}}"#,
        "[[[2.5,2.5],[],[2.5]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "add", "args": [[[1,2,3],[]], [[10],[20,30]]]}}"#,
        "[[[1,1,1],[]],[[1],[1,1]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "sub", "args": [[[1,2,3],[]], [[10],[20,30]]]}, "cotangent": [[1,2,3],[4,5]]}"#,
        "[[[1,2,3],[]],[[-1],[-4,-5]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "attention", "args": [[[[1]]], [[["nan"],[1]]], [[[2],[3]]]]}}"#,
        r#"[[[["nan"]]], [[["nan"],["nan"]]], [[["nan"],["nan"]]]]"#,
    ),
    (
        concat!(
            r#"{"op": "gradient", "of": {"op": "attention", "args": [[[[1,0],[0,1]]], [[[1,1],["nan",1]]], "#,
            r#"[[[1,2],[3,4]]]], "options": {"bias": [[[0,"-inf"],[0,"-inf"]]]}}}"#,
        ),
        "[[[[0,0],[0,0]]], [[[0,0],[0,0]]], [[[2,2],[0,0]]]]",
    ),
    // Each gradient has its operand's own length.
    (
        r#"{"op": "gradient", "of": {"op": "hadamard", "args": [[[1,2,3]], [[4,5]]]}}"#,
        "[[[4,5,0]],[[1,2]]]",
    ),
    // One factor for all elements.
    (
        r#"{"op": "gradient", "of": {"op": "multiply", "args": [[[1,2],[3]], [[10]]], "options": {"each": true}}}"#,
        "[[[10,10],[10]],[[6]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "divide", "args": [[[1,2],[3]], [[2],[4]]], "options": {"each": true}}}"#,
        "[[[0.5,0.5],[0.25]],[[-0.75],[-0.1875]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "conv", "args": [[[1,2]], [[3],[4,5]]], "options": {"pairing": "one_to_all"}}}"#,
        "[[[12,12]],[[3],[3,3]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "conv", "args": [[[1,2]], [[3,4]]]}, "cotangent": [[1,0,0]]}"#,
        "[[[3,0]],[[1,0]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "conv", "args": [[[1,2]], [[3,4]]]}, "operands": [1]}"#,
        "[[[3,3]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "dot", "args": [[[1,2,3]], [[4,5]]]}}"#,
        "[[[4,5,0]],[[1,2]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "kron", "args": [[[1,2]], [[3,4]]]}}"#,
        "[[[7,7]],[[3,3]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "eval", "args": [[[1,2]], [[3]]]}}"#,
        "[[[1,3]],[[2]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "matmul", "args": [[[[1,2]]], [[[3,4],[5,6]]]]}}"#,
        "[[[[7,11]]],[[[1,1],[2,2]]]]",
    ),
    // Both factors have gradients, also the one that is stored in blocks.
    (
        r#"{"op": "gradient", "of": {"op": "matmul_bsr", "args": [[[[1,2]]], [[[3,4],[5,6]]]]}}"#,
        "[[[[7,11]]],[[[1,1],[2,2]]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "sampled", "args": [[[[1,2]]], [[[3,4],[5,6]]]]}, "cotangent": [[[1,0]]]}"#,
        "[[[[3,5]]],[[[1,0],[2,0]]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "conv_matmul", "args": [[[1,2]], [[3]]], "options": {"inner": 1}}}"#,
        "[[[3,3]],[[3]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "mean", "args": [[[1,2],[],[5]]]}}"#,
        "[[[0.5,0.5],[],[1]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "max", "args": [[[3,1,2]]]}}"#,
        "[[[1,0,0]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "sort", "args": [[[3,1,2]]]}, "cotangent": [[1,2,3]]}"#,
        "[[[3,1,2]]]",
    ),
    // Of the two results, only the values have gradients, and the indices have none.
    (
        r#"{"op": "gradient", "of": {"op": "topk", "args": [[[3,1,2]]], "options": {"k": 2}}, "cotangent": [[5,6]]}"#,
        "[[[5,0,6]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "where", "args": [[[1,0]], [[5,6]], [[7,8]]]}, "operands": [2, 1]}"#,
        "[[[0,1]],[[1,0]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "cumsum", "args": [[[1,2,3]]]}}"#,
        "[[[3,2,1]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "slice", "args": [[[1,2,3,4]]], "options": {"start": [1], "end": [3]}}}"#,
        "[[[0,1,1,0]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "gather", "args": [[[1,2,3]]], "options": {"indices": [[2,2,0]]}}}"#,
        "[[[1,0,2]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "split", "args": [[[1],[2,3]]], "options": {"counts": [1,1]}}, "cotangent": [[[5]],[[6,7]]]}"#,
        "[[[5],[6,7]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "max_pool", "args": [[[1,3,2,4]]], "options": {"window": [2]}}}"#,
        "[[[0,1,0,1]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "relu", "args": [[[-1,2]]], "options": {"dtype": "f16"}}}"#,
        "[[[0,1]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "conj", "args": [[[[3,4]]]], "options": {"dtype": "c32"}}, "cotangent": [[[1,2]]]}"#,
        "[[[[1,-2]]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "abs_squared", "args": [[[[3,4]]]], "options": {"dtype": "c32"}}}"#,
        "[[[[6,8]]]]",
    ),
    // Of the sum of the real parts.
    (
        r#"{"op": "gradient", "of": {"op": "rfft", "args": [[[1,2,3,4]]]}}"#,
        "[[[3,0,1,0]]]",
    ),
    // Second derivatives, and their product with a vector.
    (
        r#"{"op": "gradient", "of": {"op": "gradient", "of": {"op": "pow", "args": [[[1,2]]], "options": {"exponent": 3}}}}"#,
        "[[[6,12]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "gradient", "of": {"op": "dot", "args": [[[1,2]], [[3,4]]]}}, "cotangent": [[[5,6]],[[7,8]]]}"#,
        "[[[7,8]],[[5,6]]]",
    ),
    (
        r#"{"op": "gradient", "of": {"op": "neg", "args": [[]]}, "cotangent": []}"#,
        "[[]]",
    ),
    (
        r#"{"op": "gradient", "options": {"of": {"op": "neg", "args": [[[1]]]}}}"#,
        "[[[-1]]]",
    ),
];

pub const REFUSED: &[Refused] = &[
    (r#"{"op": "gradient"}"#, "bad_request", None),
    (r#"{"op": "gradient", "of": 3}"#, "bad_request", None),
    (
        r#"{"op": "gradient", "of": {"op": "nothing"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "neg", "args": [[[1]]], "device": "cpu"}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "neg", "args": [[[1]]]}, "operands": [1]}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "neg", "args": [[[1]]], "of": {"op": "neg", "args": [[[1]]]}}"#,
        "bad_request",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "gradient", "of": {"op": "gradient", "of": {"op": "neg", "args": [[[1]]]}}}}"#,
        "bad_request",
        None,
    ),
    // Operations that are not functions of floats.
    (
        r#"{"op": "gradient", "of": {"op": "write", "args": [[[1]]], "options": {"file": "/no/such/folder/x.vsla"}}}"#,
        "recording",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "help"}}"#,
        "recording",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "arange", "options": {"shapes": [[3]], "step": 1}}}"#,
        "recording",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "add", "args": [[[1]], [[2]]], "options": {"dtype": "i32"}}}"#,
        "recording",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "argmax", "args": [[[1,2]]]}}"#,
        "recording",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "degree", "args": [[[1,2]]]}}"#,
        "recording",
        None,
    ),
    // The operation's own errors.
    (
        r#"{"op": "gradient", "of": {"op": "conv", "args": [[[1]], [[1],[2]]]}}"#,
        "batch_size",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "matmul", "args": [[[[1,2]]], [[[1]]]]}}"#,
        "inner_extents",
        Some(0),
    ),
    // Cotangents that are not like the result.
    (
        r#"{"op": "gradient", "of": {"op": "neg", "args": [[[1],[2,3]]]}, "cotangent": [[1],[2]]}"#,
        "bad_input",
        Some(1),
    ),
    (
        r#"{"op": "gradient", "of": {"op": "neg", "args": [[[1],[2,3]]]}, "cotangent": [[1]]}"#,
        "bad_input",
        None,
    ),
    (
        r#"{"op": "gradient", "of": {"op": "neg", "args": [[[1]]]}, "cotangent": [["x"]]}"#,
        "bad_input",
        Some(0),
    ),
    (
        r#"{"op": "gradient", "of": {"op": "split", "args": [[[1],[2]]], "options": {"counts": [1,1]}}, "cotangent": [[[1]]]}"#,
        "bad_request",
        None,
    ),
];

#[test]
fn what_has_no_gradient_is_named() {
    for (of, message) in [
        (
            json!({"op": "argmax", "args": [[[1]]]}),
            "gradient: argmax has no gradient: its results are not floating-point numbers",
        ),
        (
            json!({"op": "degree", "args": [[[1]]]}),
            "gradient: degree has no gradient: it reads values",
        ),
        (
            json!({"op": "conv", "args": [[[1]], [[1], [2]]]}),
            "conv: expected batches of equal size, got 1 element and 2; pair unequal batches by the option pairing: \
             \"one_to_all\", \"all_to_all\" or a list",
        ),
        (
            json!({"op": "add", "args": [[[1]], [[2]]], "options": {"dtype": "u32"}}),
            "gradient: add has no gradient: its results are not floating-point numbers",
        ),
    ] {
        let line = json!({"op": "gradient", "of": of}).to_string();
        let answer = &run(Choice::Cpu, line.as_bytes())[0];
        assert_eq!(answer["error"]["message"], message, "{answer}");
    }
}

/// Whether two values are arrays of the same form.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        _ => !a.is_array() && !b.is_array(),
    }
}

/// The gradients of every golden line have the forms of the operands, or there are none.
#[test]
fn every_operation_has_gradients_or_none() {
    let none = [
        "all",
        "any",
        "arange",
        "argmax",
        "argmin",
        "argsort",
        "bincount",
        "bitwise_and",
        "bitwise_not",
        "bitwise_or",
        "bitwise_xor",
        "bounding_box",
        "compact",
        "crop",
        "degree",
        "dilate",
        "draw_boxes",
        "draw_lines",
        "equal",
        "equal_elements",
        "equivalent",
        "erode",
        "eye",
        "fill_holes",
        "full",
        "greater",
        "greater_equal",
        "hann_window",
        "histogram",
        "label",
        "layout",
        "least_common",
        "left_shift",
        "less",
        "less_equal",
        "linspace",
        "lookup",
        "match_template",
        "minimal_shape",
        "most_common",
        "normal",
        "not_equal",
        "one_hot",
        "palette",
        "period",
        "regions",
        "right_shift",
        "shrink",
        "to_i32",
        "to_u32",
        "to_u8",
        "trim",
        "uniform",
    ];
    let mut requests = Vec::new();
    for (line, _) in ALL.concat() {
        let mut of: Value = serde_json::from_str(line).unwrap();
        of.as_object_mut().unwrap().remove("device");
        // Integers have no gradients, but most of these operations also take floats.
        if let Some(dtype) = of.pointer_mut("/options/dtype")
            && ["i32", "u32", "u8"].iter().any(|whole| *dtype == *whole)
        {
            *dtype = json!("f32");
        }
        let mut request = json!({"op": "gradient", "of": of});
        if of["op"] == "where" {
            request["operands"] = json!([1, 2]);
        }
        if of["op"] != "gradient" {
            requests.push(request);
        }
    }
    let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
    for device in choices() {
        let answers = run(device, lines.join("\n").as_bytes());
        for (request, answer) in requests.iter().zip(&answers) {
            let of = &request["of"];
            // Neither do caches.
            let is_cached = of.pointer("/options/cached").is_some();
            if is_cached || none.contains(&of["op"].as_str().unwrap()) {
                let kind = answer["error"]["kind"].as_str();
                assert!(
                    matches!(kind, Some("recording" | "bad_request")),
                    "{request}\n{answer}"
                );
                continue;
            }
            let Value::Array(slopes) = &answer["ok"] else {
                panic!("{request}\n{answer}");
            };
            let args = of["args"].as_array().unwrap();
            let args = &args[args.len() - slopes.len()..];
            assert!(!args.is_empty(), "{request}\n{answer}");
            for (slope, arg) in slopes.iter().zip(args) {
                assert!(alike(slope, arg), "{request}\n{answer}");
            }
        }
    }
}
