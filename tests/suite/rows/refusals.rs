//! What an operation refuses: each type of values that it does not take, and arguments that are not alike.

use std::collections::BTreeSet;

use catalogue::{Failure, Operation, TYPES};
use serde_json::{Value, json};

use super::{ask, is_spread, small};
use crate::support::bench::cpu;

/// The failure, which begins with the name of the operation.
fn refused(operation: &Operation, request: &Value) -> Failure {
    let failure = ask(cpu(), request).map(drop).expect_err("refused");
    let name = format!("{}: ", operation.name);
    assert!(failure.message.starts_with(&name), "{}", failure.message);
    failure
}

pub fn check(operation: &Operation) {
    for request in operation.answered() {
        let mut more = request.clone();
        if more.get("args").is_none() {
            more["args"] = json!([]);
        }
        more["args"].as_array_mut().unwrap().push(json!([]));
        assert_eq!(refused(operation, &more).kind, "bad_request", "{more}");
        let mut unknown = request.clone();
        unknown["options"]["colour"] = json!(1);
        assert_eq!(refused(operation, &unknown).kind, "bad_request");
        let is_paired = request.pointer("/options/pairing").is_some();
        let mut args = request["args"].as_array().into_iter().flatten();
        let is_empty = args.any(|arg| *arg == json!([]));
        let is_spread = is_spread(operation, &request);
        if operation.args > 1 && operation.is_local && !is_paired && !is_spread && !is_empty {
            let mut uneven = request.clone();
            for arg in uneven["args"].as_array_mut().into_iter().flatten().skip(1) {
                let one = arg[0].clone();
                arg.as_array_mut().unwrap().extend([one.clone(), one]);
            }
            let kind = refused(operation, &uneven).kind;
            assert!(
                ["batch_size", "element_count"].contains(&kind),
                "{uneven}: {kind}"
            );
        }
    }
    types(operation);
}

/// Numbers as complex ones.
fn in_pairs(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(in_pairs).collect(),
        number => json!([number, 0]),
    }
}

/// The types that an error lists are those that the operation takes.
fn types(operation: &Operation) {
    if !operation.options.contains(&"dtype") || operation.args == 0 {
        return;
    }
    let (mut taken, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut listed = None;
    for mut request in small(operation) {
        for dtype in TYPES {
            let is_complex = operation.dtype_of(&request) == "c32";
            request["options"]["dtype"] = json!(dtype);
            if dtype == "c32" && !is_complex {
                request["args"] = in_pairs(&request["args"]);
            }
            match ask(cpu(), &request) {
                Ok(_) => {
                    taken.insert(dtype);
                }
                Err(failure) => {
                    let said = failure.message.split_once("this operation takes ");
                    if let Some((types, _)) = said.and_then(|(_, said)| said.split_once(", got ")) {
                        others.insert(dtype);
                        listed = Some(types.to_owned());
                    }
                }
            }
        }
    }
    let Some(listed) = listed else { return };
    let is_listed = |dtype: &&str| listed.contains(dtype);
    assert!(
        taken.iter().all(is_listed) && !others.iter().any(is_listed),
        "{}: takes {taken:?}, not {others:?}, and says {listed}",
        operation.name
    );
}
