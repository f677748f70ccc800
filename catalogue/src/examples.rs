//! Requests with their answers or errors.

use serde_json::Value;

use crate::operations::{EXAMPLES, Operation};

/// A request, and what it is answered with.
#[derive(Clone, Debug)]
pub struct Example {
    pub request: Value,
    pub outcome: Outcome,
    /// By what share numbers of the answer may differ, because devices round them differently; mostly 0.
    pub within: f64,
}

#[derive(Clone, Debug)]
pub enum Outcome {
    Answer(Value),
    Error {
        /// The kind of the error.
        kind: String,
        /// The element or pair that is wrong, if one is named.
        element: Option<u64>,
    },
}

/// Whether an answer is the expected one. Numbers may differ by this share of the expected one; 5 and 5.0 are equal.
pub fn is_same(a: &Value, b: &Value, within: f64) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64(), b.as_f64());
            a == b
                || a.zip(b)
                    .is_some_and(|(a, b)| (a - b).abs() <= within * b.abs())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b, within))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(k, v)| b.get(k).is_some_and(|w| is_same(v, w, within)))
        }
        _ => a == b,
    }
}

/// All examples. Those of a topic stand beside its rows, and those of errors of any request in `requests.jsonl`.
pub fn examples() -> impl Iterator<Item = Example> {
    EXAMPLES.iter().flat_map(|text| text.lines()).map(read)
}

impl Operation {
    /// The examples of this operation.
    pub fn examples(&self) -> impl Iterator<Item = Example> {
        examples().filter(|example| example.request["op"] == self.name)
    }
}

fn read(line: &str) -> Example {
    let wrong = |what: &dyn std::fmt::Display| -> ! { panic!("{what} in the example {line}") };
    let mut request: Value = serde_json::from_str(line).unwrap_or_else(|error| wrong(&error));
    let fields = request
        .as_object_mut()
        .unwrap_or_else(|| wrong(&"no object"));
    // For readers.
    fields.remove("why");
    let within = fields.remove("within");
    let outcome = match (fields.remove("ok"), fields.remove("error")) {
        (Some(answer), None) => Outcome::Answer(answer),
        (None, Some(error)) => Outcome::Error {
            kind: error["kind"]
                .as_str()
                .unwrap_or_else(|| wrong(&"no kind"))
                .to_owned(),
            element: error["element"].as_u64(),
        },
        _ => wrong(&"neither an answer nor an error, or both,"),
    };
    Example {
        request,
        outcome,
        within: within.map_or(0.0, |within| {
            within.as_f64().unwrap_or_else(|| wrong(&"no bound"))
        }),
    }
}
