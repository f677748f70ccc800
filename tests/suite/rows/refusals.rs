//! What an operation refuses: options that it does not take, and arguments that are not alike.

use catalogue::{Failure, Operation};
use serde_json::{Value, json};

use super::{ask, is_spread};
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
}
