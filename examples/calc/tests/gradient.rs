use catalogue::find;
use serde_json::{Value, json};

use super::{answered, choices, run};
use crate::device::Choice;

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

/// The gradients of every example have the forms of the operands, or there are none.
#[test]
fn every_operation_has_gradients_or_none() {
    let mut requests = Vec::new();
    for (mut of, _) in answered() {
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
            let operation = find(of["op"].as_str().unwrap()).unwrap();
            if is_cached || !operation.has_gradient {
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
