//! Why a line has no result.

use serde_json::{Value, json};
use vsla::{Error, scalar::DType};

use crate::operations::{Operation, find};

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
    /// What to do instead, each with the options that an operation needs for it.
    pub hints: Vec<(&'static str, String)>,
    /// Whether the message names the requested operation.
    pub is_named: bool,
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
            hints: Vec::new(),
            is_named: false,
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

    /// The same failure about a file.
    pub fn about(self, file: &str) -> Failure {
        let prefix = self.op.map_or_else(String::new, |op| format!("{op}: "));
        let what = self.message.strip_prefix(&prefix).unwrap_or(&self.message);
        Failure {
            message: format!("{file}: {what}"),
            op: None,
            ..self
        }
    }

    /// A type of values that an operation does not take.
    pub fn dtype(taken: &[DType], got: DType) -> Failure {
        let names: Vec<&str> = taken.iter().map(|dtype| dtype.name()).collect();
        let names = match names.split_last() {
            Some((last, [])) => format!("only {last}"),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        };
        Failure::request(format!("dtype: this operation takes {names}, got {got}"))
    }

    /// The same failure under the name of the requested operation, in place of the name that the library reports, and
    /// with what the operation's options can do instead. The name of an option is kept after it, because it says which
    /// argument is wrong.
    pub fn named(self, operation: &Operation) -> Failure {
        let name = operation.name;
        if self.is_named {
            return self;
        }
        let op = self.op.unwrap_or(name);
        let is_option = operation.takes(op);
        let named = self
            .message
            .strip_prefix(op)
            .filter(|_| !is_option || op == name);
        let what = named.and_then(|rest| rest.strip_prefix(": "));
        let mut message = format!("{name}: {}", what.unwrap_or(&self.message));
        let hint = self
            .hints
            .iter()
            .find(|(option, _)| operation.takes(option));
        if let Some((_, hint)) = hint {
            message += "; ";
            message += hint;
        }
        Failure {
            message,
            is_named: true,
            ..self
        }
    }

    /// The same under the name of an operation, if there is one of this name.
    pub fn of(self, operation: &str) -> Failure {
        match find(operation) {
            Some(operation) => self.named(operation),
            None => self,
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

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let (message, hints) = told(&error);
        Failure {
            element: error.element(),
            op: Some(error.op()),
            hints,
            ..Failure::new(error.kind(), message)
        }
    }
}

/// The option of a call that would spread the last argument over the elements of the others.
fn spread_by(way: &str) -> (&'static str, String) {
    match way.strip_prefix("`along(") {
        None => (
            "each",
            "spread the last argument by \"each\": true, since a pairing combines values of equal index only".to_owned(),
        ),
        Some(axis) => {
            let axis = axis.trim_end_matches(")`");
            let text = format!(
                "spread the last argument by \"axis\": {axis}, since a pairing combines values of equal index only"
            );
            ("axis", text)
        }
    }
}

/// The text of an error without calls of the library, and what options can do instead.
fn told(error: &Error) -> (String, Vec<(&'static str, String)>) {
    const PAIRING: &str = "pairing";
    let mut hints = Vec::new();
    let mut plain = error.clone();
    let mut end = "";
    match &mut plain {
        Error::BatchSize {
            left,
            right,
            pairing,
            spread,
            ..
        } => {
            if *right == 1 {
                hints.extend(spread.iter().map(|way| spread_by(way)));
            }
            spread.clear();
            if std::mem::take(pairing) {
                let one = match (*left, *right) {
                    (1, _) => "\"one_to_all\", ",
                    (_, 1) => "\"all_to_one\", ",
                    _ => "",
                };
                let all = format!(
                    "pair unequal batches by the option pairing: {one}\"all_to_all\" or a list"
                );
                hints.push((PAIRING, all));
            }
        }
        Error::Pairing { .. } => {
            end = "; use AllToAll or a List";
            hints.push((PAIRING, "use \"all_to_all\" or a list".to_owned()));
        }
        Error::InnerExtents { fits, .. } => {
            let sides = |call: &str| {
                ["left", "right"].map(|side| call.contains(&format!("transpose_{side}()")))
            };
            hints.extend(fits.take().and_then(|call| {
                let transpose = match (sides(call), call.starts_with("product()")) {
                    ([true, true], true) => "by \"transpose\": \"both\"",
                    ([true, false], true) => "by \"transpose\": \"left\"",
                    ([false, true], true) => "by \"transpose\": \"right\"",
                    ([true, false], false) => "without transposing the left factor",
                    ([false, true], false) => "without transposing the right factor",
                    _ => return None,
                };
                Some(("transpose", format!("the pair fits {transpose}")))
            }));
        }
        Error::Shorter { .. } => {
            end = "; swap the operands, or choose the one that counts with side()";
            let side = "swap the arguments, or choose the one that counts by the option side";
            hints.push(("side", side.to_owned()));
        }
        Error::Rank { expected, .. } => {
            // The calls that would spread an operand.
            if let Some((plain, ways)) = expected.clone().split_once(", or the ") {
                *expected = plain.to_owned();
                let ways = ways.strip_prefix("right operand spread by ");
                let ways = ways.into_iter().flat_map(|ways| ways.split(" or "));
                hints.extend(ways.map(spread_by));
            }
        }
        _ => {}
    }
    let text = plain.to_string();
    let text = text.strip_suffix(end).unwrap_or(&text);
    (text.to_owned(), hints)
}
