//! Requests whose elements are divided among devices.

use catalogue::{Request, answer, answer_divided};
use serde_json::{Value, json};
use vsla::Device;

use super::{answered, calculator, on};
use crate::Calculator;
use crate::device::Choice;
use crate::fleet::Count;

const MAX_VALUES: u64 = 1 << 20;

/// The CPU twice, whose handles differ, and a GPU that is opened twice, if there is one.
fn pairs() -> Vec<Vec<Device>> {
    let mut pairs = vec![vec![Device::cpu(), Device::cpu()]];
    if let (Ok(a), Ok(b)) = (Choice::Gpu.open(), Choice::Gpu.open()) {
        pairs.push(vec![a, b]);
    }
    pairs
}

fn text(outcome: catalogue::Result<catalogue::Answer<catalogue::Batch>>) -> String {
    match outcome {
        Ok(answer) => {
            let mut out = Vec::new();
            answer.write(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        }
        Err(failure) => failure.json().to_string(),
    }
}

#[test]
fn the_answer_is_that_of_one_device() {
    for devices in pairs() {
        let [mut elements, mut paired] = [0; 2];
        for (line, _) in answered() {
            let request = || Request::new(line.clone()).unwrap();
            let plans = || devices[1].counters().plans;
            let before = plans();
            let got = text(answer_divided(request(), &devices, MAX_VALUES));
            let divided = plans() > before;
            let expected = text(answer(
                request(),
                &mut || Ok(devices[0].clone()),
                MAX_VALUES,
            ));
            assert_eq!(got, expected, "{line}");
            match line["options"].get("pairing") {
                Some(_) => paired += usize::from(divided),
                None => elements += usize::from(divided),
            }
        }
        assert!(elements > 100 && paired > 10, "{elements}, {paired}");
    }
}

/// With the element's place in the whole batch.
#[test]
fn errors_are_those_of_one_device() {
    let devices = [Device::cpu(), Device::cpu()];
    let line = json!({
        "op": "matmul",
        "args": [[[[1]], [[1]], [[1, 2]]], [[[1]], [[1]], [[1, 2]]]],
    });
    let request = || Request::new(line.clone()).unwrap();
    let got = text(answer_divided(request(), &devices, MAX_VALUES));
    assert_eq!(
        got,
        text(answer(request(), &mut || Ok(Device::cpu()), MAX_VALUES))
    );
    let error: Value = serde_json::from_str(&got).unwrap();
    assert_eq!(error["error"]["element"], 2);
    let few = text(answer_divided(request(), &devices, 3));
    assert_eq!(few, text(answer(request(), &mut || Ok(Device::cpu()), 3)));
}

#[test]
fn what_does_not_divide_runs_on_the_first() {
    let mut calculator = Calculator {
        on: on(Choice::Cpu, Some(Count::All)),
        ..calculator(Choice::Cpu)
    };
    let mut answer = |line: Value| text(calculator.answer(line.to_string().as_bytes()));
    for (line, expected) in [
        (
            json!({"op": "sum_batch", "args": [[[1], [2]]]}),
            r#"{"ok":[[3.0]]}"#,
        ),
        (
            json!({"op": "hann_window", "options": {"size": 2}}),
            r#"{"ok":[[0.0,1.0]]}"#,
        ),
        (
            json!({"op": "add", "args": [[[1], [2]], [[3], [4]]]}),
            r#"{"ok":[[4.0],[6.0]]}"#,
        ),
        (
            json!({"op": "add", "args": [[[1], [2]], [[3], [4]]], "options": {"pairing": "all_to_all"}}),
            r#"{"ok":[[4.0],[5.0],[5.0],[6.0]]}"#,
        ),
    ] {
        assert_eq!(answer(line), expected);
    }
    assert!(answer(json!({"op": "info"})).starts_with(r#"{"ok":"#));
    for pairing in ["one_to_all", "all_to_one"] {
        let refused = answer(json!({
            "op": "add",
            "args": [[[1], [2]], [[2], [3]]],
            "options": {"pairing": pairing},
        }));
        assert!(refused.contains("error"), "{refused}");
    }
    let mut two = Calculator {
        on: on(Choice::Cpu, Some(Count::Of(2))),
        ..super::calculator(Choice::Cpu)
    };
    let error = text(two.answer(br#"{"op": "neg", "args": [[[1]]]}"#));
    assert!(
        error.contains("--devices asks for 2 equal devices"),
        "{error}"
    );
}
