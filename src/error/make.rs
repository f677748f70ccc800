//! Constructors of errors that many places return.

use super::Error;

/// A function for each row: its parameters are the fields before the semicolon, and the others have constant values. A
/// `Text` is anything that can be displayed. The operation is named by the caller ([`Error::named`]), or when it is
/// planned ([`Error::or_named`]).
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
    (@type Element) => { Option<usize> };
    (@type Fits) => { Option<&'static str> };
    (@type Text) => { impl ToString };
    (@type $kind:ident) => { $kind };
    (@value Text $field:ident) => { $field.to_string() };
    (@value $kind:ident $field:ident) => { $field };
}

constructors! {
    value_count = ValueCount { expected: usize, got: usize; op: "", element: None }
    length = Length { element: usize, expected: usize, got: usize; op: "" }
    shape = Shape { element: usize, expected: Text, got: Text; op: "" }
    size_overflow = SizeOverflow { what: Text; op: "", element: None }
    rank = Rank { expected: Text, got: usize; op: "", element: None }
    batch_sizes = BatchSize { left: usize, right: usize; op: "", pairing: false, spread: Vec::new() }
    argument = Argument { expected: Text, got: Text; op: "", element: None }
    too_large = TooLarge { what: Text, bytes: u64, limit: u64; op: "", element: None }
    unsupported = Unsupported { what: Text; op: "" }
    out_of_memory = OutOfMemory { bytes: u64, available: Available; op: "" }
    element_count = ElementCount { expected: usize, got: usize; op: "" }
    stride = Stride { expected: Text, got: usize; op: "" }
    method = Method { pair: usize, method: Op, reason: Text; op: "" }
    shorter = Shorter { pair: usize, axis: usize, left: usize, right: usize; op: "" }
    index = Index { element: Element, position: usize, index: usize, len: usize; op: "" }
    duplicate_index = DuplicateIndex { element: Element, first: usize, second: usize, index: usize; op: "" }
    inner_extents = InnerExtents { pair: usize, left: usize, right: usize, fits: Fits; op: "" }
    budget = Budget { bytes: u64, limit: u64; op: "" }
    work_limit = WorkLimit { element: Element, needed: u64, allowed: u64; op: "" }
    gpu = Gpu { op: Op, message: Text }
    recording = Recording { reason: Text; op: "" }
    device_mismatch = DeviceMismatch { left: Text, right: Text; op: "" }
}

#[cfg(any(feature = "gpu", feature = "testing"))]
constructors! {
    no_device = NoDevice { reason: Text }
}

#[cfg(feature = "gpu")]
constructors! {
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
