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
    /// Numbers are equal if their values are: 5 and 5.0 are the same answer.
    Answer(Value),
    Error {
        /// The kind of the error.
        kind: String,
        /// The element or pair that is wrong, if one is named.
        element: Option<u64>,
    },
}

/// All examples. Those of an operation stand beside its row, those of requests as such in `requests.jsonl`.
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
