//! Why a line has no result.

use serde_json::{Value, json};

use crate::request::OPTIONS;

pub type Result<T> = core::result::Result<T, Failure>;

/// An error, written as `{"error": {"kind", "message", "element"}}`.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// One of the kinds that `help` lists, or the kind of a [`vsla::Error`].
    pub kind: &'static str,
    pub message: String,
    /// The element of the batch, or the pair of a pairing, that caused the error.
    pub element: Option<usize>,
    /// The operation of the library that failed.
    pub op: Option<&'static str>,
}

/// The kinds that do not come from the library, for `help`.
pub const KINDS: &[(&str, &str)] = &[
    ("bad_json", "the line is not UTF-8, not JSON, or too long"),
    (
        "bad_request",
        "the object names an unknown operation or option",
    ),
    (
        "bad_input",
        "an argument is not a batch of the expected type and rank",
    ),
    ("limit", "the answer would exceed --max-values"),
    ("internal", "a bug: please report it"),
];

impl Failure {
    pub fn new(kind: &'static str, message: impl Into<String>) -> Failure {
        Failure {
            kind,
            message: message.into(),
            element: None,
            op: None,
        }
    }

    pub fn request(message: impl Into<String>) -> Failure {
        Failure::new("bad_request", message)
    }

    pub fn input(element: Option<usize>, message: impl Into<String>) -> Failure {
        Failure {
            element,
            ..Failure::new("bad_input", message)
        }
    }

    /// The same failure under the name of the requested operation, in place of the name that the library reports. The
    /// name of an option is kept after it, because it says which argument is wrong.
    pub fn named(self, name: &str) -> Failure {
        let Some(op) = self.op.filter(|&op| op != name) else {
            return self;
        };
        let is_option = OPTIONS.iter().any(|&(option, _)| option == op);
        let named = self.message.strip_prefix(op).filter(|_| !is_option);
        let what = named.and_then(|rest| rest.strip_prefix(": "));
        Failure {
            message: format!("{name}: {}", what.unwrap_or(&self.message)),
            ..self
        }
    }

    /// Whether the device must be reopened before it can be used again.
    pub fn loses_the_device(&self) -> bool {
        matches!(self.kind, "device_lost" | "gpu")
    }

    pub fn json(&self) -> Value {
        json!({"error": {"kind": self.kind, "message": self.message, "element": self.element}})
    }
}

impl From<vsla::Error> for Failure {
    fn from(error: vsla::Error) -> Failure {
        Failure {
            kind: error.kind(),
            message: error.to_string(),
            element: error.element(),
            op: Some(error.op()),
        }
    }
}
