//! Refusals name their operation, and speak of options where the library speaks of calls.

use catalogue::{Operation, operations};
use serde_json::{Value, json};

use super::{request, run};
use crate::device::Choice;

/// Requests that an operation refuses, or most of them.
fn odd(operation: &Operation) -> Vec<Value> {
    let (name, args) = (operation.name, operation.args);
    let whole = request(operation);
    let with = |field: &str, value: Value| {
        let mut line = whole.clone();
        line[field] = value;
        line
    };
    let option = |line: &Value, name: &str, value: Value| {
        let mut line = line.clone();
        line["options"][name] = value;
        line
    };
    let mut lines = vec![
        json!({"op": name}),
        with("args", json!(3)),
        with("args", json!(vec![json!([]); args + 1])),
        with("options", json!([])),
        with("device", json!("abacus")),
        with("colour", json!(1)),
        option(&whole, "colour", json!(1)),
    ];
    let operands = [
        json!(3),
        json!([3]),
        json!([["x"]]),
        json!([[1], [2], [3]]),
        json!([[1, 2, 3]]),
        json!([[[1, 2], [3, 4]], [[5]]]),
        json!([[[1], [1, 2]]]),
        json!([[[[[[[[[1]]]]]]]]]),
    ];
    for (i, first) in (0..args).flat_map(|i| operands.iter().map(move |x| (i, x))) {
        let mut line = whole.clone();
        line["args"][i] = first.clone();
        lines.push(line.clone());
        // Elements for the others, so that lists and shapes have wrong sizes.
        for (j, other) in operands.iter().enumerate().filter(|(j, _)| *j > 2) {
            line["args"] = json!(vec![other; args]);
            line["args"][i] = first.clone();
            lines.push(line.clone());
            for dtype in ["f32", "f16", "i32", "u32", "u8", "c32", "f64"] {
                if j == 3 && operation.takes("dtype") {
                    lines.push(option(&line, "dtype", json!(dtype)));
                }
            }
        }
    }
    let values = [
        json!(null),
        json!(true),
        json!("x"),
        json!(-1),
        json!(1.5),
        json!([]),
        json!([-1]),
        json!([0, 7]),
        json!([["x"]]),
        json!([[9, -9], [1]]),
        json!({"a": 1}),
    ];
    let mut some = whole.clone();
    some["args"] = json!(vec![json!([[1, 2], [3]]); args]);
    for (name, value) in operation
        .options
        .iter()
        .flat_map(|option| values.iter().map(move |value| (option.name, value)))
    {
        // No file is written or read.
        if name != "file" || !value.is_string() {
            lines.push(option(&whole, name, value.clone()));
            lines.push(option(&some, name, value.clone()));
        }
    }
    lines
}

/// What messages of the calculator do not contain: calls of the library, and its names of variants.
const FOREIGN: &[&str] = &[
    "AllToAll", "OneToAll", "AllToOne", "a List", "()", "(&[", "F32", "F16", "I32", "U32", "U8",
    "C32", "Some(",
];

#[test]
fn name_their_operation() {
    let (mut refused, mut wrong) = (0, Vec::new());
    for operation in operations() {
        let lines = odd(operation);
        let text = lines
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join("\n");
        let answers = run(Choice::Cpu, text.as_bytes());
        assert_eq!(answers.len(), lines.len());
        // A gradient's operation is at fault, and named, if it is refused by itself.
        let names = match operation.name {
            "gradient" => vec!["gradient: ", "neg: "],
            _ => vec![],
        };
        let own = format!("{}: ", operation.name);
        for (line, answer) in lines.iter().zip(&answers) {
            let Some(message) = answer["error"]["message"].as_str() else {
                continue;
            };
            refused += 1;
            let is_named =
                message.starts_with(&own) || names.iter().any(|n| message.starts_with(n));
            let is_foreign = FOREIGN.iter().any(|word| message.contains(word));
            if !is_named || is_foreign || answer["error"]["kind"] == "internal" {
                wrong.push(format!("{line}\n    {message}"));
            }
        }
    }
    assert!(refused > 5000, "{refused}");
    assert!(
        wrong.is_empty(),
        "{} of {refused}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn say_what_to_do() {
    for (line, message) in [
        (
            r#"{"op": "greater", "args": [[[25, 30, 10], [5, 40]], [[20]]]}"#,
            "greater: expected batches of equal size, got 2 elements and 1; spread the last argument by \"each\": true, \
             since a pairing combines values of equal index only",
        ),
        (
            r#"{"op": "add", "args": [[[[1, 2]], [[3, 4]]], [[1, 2]]], "options": {}}"#,
            "add: expected batches of equal size, got 2 elements and 1; spread the last argument by \"axis\": 1, since a \
             pairing combines values of equal index only",
        ),
        (
            r#"{"op": "add", "args": [[[[1, 2]]], [[1, 2]]]}"#,
            "add: expected a rank of 2, as in the left batch, got 1; spread the last argument by \"axis\": 1, since a \
             pairing combines values of equal index only",
        ),
        (
            r#"{"op": "dot", "args": [[[1], [2]], [[3]]]}"#,
            "dot: expected batches of equal size, got 2 elements and 1; pair unequal batches by the option pairing: \
             \"all_to_one\", \"all_to_all\" or a list",
        ),
        (
            r#"{"op": "dot", "args": [[[1]], [[2], [3]]], "options": {"pairing": "all_to_one"}}"#,
            "dot: expected a right batch of 1 element for this pairing, got 2; use \"all_to_all\" or a list",
        ),
        (
            r#"{"op": "dot", "args": [[[1], [2]], [[3]]], "options": {"pairing": "one_to_all"}}"#,
            "dot: expected a left batch of 1 element for this pairing, got 2; use \"all_to_all\" or a list",
        ),
        // An operation without pairings.
        (
            r#"{"op": "equal_elements", "args": [[[1], [2]], [[3]]]}"#,
            "equal_elements: expected batches of equal size, got 2 elements and 1",
        ),
        (
            r#"{"op": "matmul", "args": [[[[1, 2]]], [[[1, 2]]]]}"#,
            "matmul: pair 0: expected equal inner extents, got 2 and 1; the pair fits by \"transpose\": \"right\"",
        ),
        (
            r#"{"op": "conv", "args": [[[1]], [[1, 2]]], "options": {"mode": "valid"}}"#,
            "conv: pair 0: the left operand has 1 value along axis 0 and the right one 2, and this mode keeps results by \
             the extents of the left one; swap the arguments, or choose the one that counts by the option side",
        ),
        (
            r#"{"op": "downscale", "args": [[[[1]]]], "options": {"factors": [[1, -1]]}}"#,
            "downscale: factors: expected [[rows, columns], ..], got [[1,-1]]",
        ),
        (
            r#"{"op": "stft", "args": [[[1]]], "options": {"window": [1, "one"], "hop": 1}}"#,
            "stft: window: expected a number, \"nan\", \"inf\" or \"-inf\", got \"one\"",
        ),
        (
            r#"{"op": "sin", "args": [[[1]]], "options": {"dtype": "u8"}}"#,
            "sin: dtype: this operation takes f32 or f16, got u8",
        ),
        (
            r#"{"op": "topk", "args": [[[1]]], "options": {"k": 2}}"#,
            "topk: element 0: expected 2 values or more along the axis, got 1",
        ),
    ] {
        let answer = &run(Choice::Cpu, line.as_bytes())[0];
        assert_eq!(answer["error"]["message"], message, "{line}");
    }
}
