//! Constructors of errors that many places return.

use super::Error;

/// A function for each row: its parameters are the fields before the semicolon, and the others have constant values. A
/// `Text` is anything that can be displayed.
macro_rules! constructors {
    ($($name:ident = $variant:ident { $($field:ident: $kind:ident),+ $(; $($rest:ident: $value:expr),+)? })+) => {
        impl Error {$(
            pub(crate) fn $name($($field: constructors!(@type $kind)),+) -> Error {
                Error::$variant { $($field: constructors!(@value $kind $field)),+ $($(, $rest: $value)+)? }
            }
        )+}
    };
    (@type Op) => { &'static str };
    (@type Available) => { Option<u64> };
    (@type Text) => { impl ToString };
    (@type $kind:ident) => { $kind };
    (@value Text $field:ident) => { $field.to_string() };
    (@value $kind:ident $field:ident) => { $field };
}

constructors! {
    value_count = ValueCount { op: Op, expected: usize, got: usize; element: None }
    length = Length { op: Op, element: usize, expected: usize, got: usize }
    shape = Shape { op: Op, element: usize, expected: Text, got: Text }
    size_overflow = SizeOverflow { op: Op, what: Text; element: None }
    rank = Rank { op: Op, expected: Text, got: usize; element: None }
    batch_sizes = BatchSize { op: Op, left: usize, right: usize; pairing: false, spread: Vec::new() }
    argument = Argument { op: Op, expected: Text, got: Text; element: None }
    too_large = TooLarge { op: Op, what: Text, bytes: u64, limit: u64; element: None }
    unsupported = Unsupported { op: Op, what: Text }
    out_of_memory = OutOfMemory { op: Op, bytes: u64, available: Available }
    gpu = Gpu { op: Op, message: Text }
    recording = Recording { op: Op, reason: Text }
}

#[cfg(any(feature = "gpu", feature = "testing"))]
constructors! {
    no_device = NoDevice { reason: Text }
    device_lost = DeviceLost { op: Op, reason: Text }
}

impl Error {
    /// The same error with the element that it concerns.
    pub(crate) fn at(mut self, at: impl Into<Option<usize>>) -> Error {
        if let Error::ValueCount { element, .. }
        | Error::SizeOverflow { element, .. }
        | Error::Rank { element, .. }
        | Error::Argument { element, .. }
        | Error::TooLarge { element, .. } = &mut self
        {
            *element = at.into();
        }
        self
    }
}
