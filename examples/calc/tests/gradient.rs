use serde_json::json;

use super::run;
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
