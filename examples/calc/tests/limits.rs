//! Answers above the limit of values are refused.

use catalogue::operations;
use serde_json::{Value, json};

use super::{MAX_LINE, answered, calculator, run};
use crate::device::Choice;
use crate::{Calculator, serve};

#[test]
fn answers_that_would_be_too_large_are_refused() {
    let ones = |n| Value::from(vec![vec![1]; n]);
    let row = Value::from(vec![vec![vec![1; 2000]]]);
    let column = Value::from(vec![vec![vec![1]; 2000]]);
    let all = json!({"pairing": "all_to_all"});
    for line in [
        json!({"op": "dot", "args": [ones(2000), ones(2000)], "options": all}),
        json!({"op": "conv", "args": [ones(2000), ones(2000)], "options": all}),
        json!({"op": "add", "args": [row, column]}),
        json!({"op": "kron", "args": [[vec![1; 2000]], [vec![1; 2000]]]}),
    ] {
        let answer = &run(Choice::Cpu, line.to_string().as_bytes())[0];
        assert_eq!(answer["error"]["kind"], "limit", "{answer}");
    }
}

/// Small windows next to a large element, which must not enlarge their boxes.
#[test]
fn windows_are_as_large_as_their_own_elements() {
    let mut rows = vec![vec![1]; 400];
    rows[0] = vec![1; 5000];
    let line = json!({"op": "window", "args": [rows], "options": {"size": 2, "stride": 2}});
    let answer = &run(Choice::Cpu, line.to_string().as_bytes())[0];
    assert_eq!(answer["ok"].as_array().map(Vec::len), Some(200), "{answer}");
}

/// Operations that do not change sizes are held to the limit, too.
#[test]
fn every_answer_is_within_the_limit() {
    let numbers = Value::from(vec![vec![1; 1000]; 1100]);
    let matrix = json!([numbers]);
    for line in [
        json!({"op": "copy", "args": [numbers]}),
        json!({"op": "transpose", "args": [matrix]}),
        json!({"op": "join", "args": [numbers, numbers]}),
        json!({"op": "sort_by_length", "args": [numbers]}),
        json!({"op": "matrix_transpose", "args": [numbers], "options": {"columns": 11}}),
    ] {
        let name = line["op"].to_string();
        let line = line.to_string();
        let mut output = Vec::new();
        let most = 8 * MAX_LINE;
        serve(
            &mut calculator(Choice::Cpu),
            line.as_bytes(),
            &mut output,
            most,
        )
        .unwrap();
        let answer: Value = serde_json::from_slice(&output).unwrap();
        assert_eq!(
            answer["error"]["kind"], "limit",
            "{name}: {}",
            answer["error"]
        );
    }
}

/// Every operation refuses an answer of one number more than the limit.
#[test]
fn every_operation_keeps_the_limit() {
    fn numbers(answer: &Value) -> u64 {
        match answer {
            Value::Array(items) => items.iter().map(numbers).sum(),
            Value::Object(members) => members.values().map(numbers).sum(),
            _ => 1,
        }
    }
    let answered = answered();
    for operation in operations().filter(|operation| operation.is_function) {
        let mut refused = 0;
        for (line, answer) in answered
            .iter()
            .filter(|(line, _)| line["op"] == operation.name)
        {
            let all = numbers(answer);
            if all == 0 {
                continue;
            }
            let mut strict = Calculator {
                max_values: all - 1,
                ..calculator(Choice::Cpu)
            };
            let kind = strict
                .answer(line.to_string().as_bytes())
                .map_err(|failure| failure.kind);
            assert_eq!(kind.map(drop), Err("limit"), "{line}");
            refused += 1;
        }
        assert!(
            refused > 0,
            "{} has no example with a value",
            operation.name
        );
    }
}
