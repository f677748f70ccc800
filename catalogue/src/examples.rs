//! Requests with their answers or errors.

use serde_json::Value;

use crate::operations::{EXAMPLES, Operation};

/// A request, and what it is answered with.
#[derive(Clone, Debug)]
pub struct Example {
    pub request: Value,
    pub outcome: Outcome,
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

/// How far a number may be from the expected one, relative to it: a few roundings in f32, because devices round sums,
/// roots and functions differently. Whole numbers up to 2²⁰ therefore differ by nothing or by too much.
const ROUNDING: f64 = 1.0 / (1 << 20) as f64;

/// Whether an answer is the expected one, up to a few roundings. 5 and 5.0 are the same answer.
pub fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let (a, b) = (
                a.as_f64().unwrap_or(f64::NAN),
                b.as_f64().unwrap_or(f64::NAN),
            );
            (a - b).abs() <= ROUNDING * b.abs()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(k, v)| b.get(k).is_some_and(|w| is_same(v, w)))
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
    Example { request, outcome }
}
