//! Accessors of errors, for programs.

use super::{Error, Result};

/// The operation that an error names, if its variant has one.
macro_rules! operation {
    ($error:expr) => {
        match $error {
            Error::CostTable { .. } | Error::NoDevice { .. } => None,
            Error::InvalidOffsets { op, .. }
            | Error::ValueCount { op, .. }
            | Error::Length { op, .. }
            | Error::Shape { op, .. }
            | Error::SizeOverflow { op, .. }
            | Error::Rank { op, .. }
            | Error::BatchSize { op, .. }
            | Error::PairIndex { op, .. }
            | Error::Index { op, .. }
            | Error::DuplicateIndex { op, .. }
            | Error::ElementCount { op, .. }
            | Error::Pairing { op, .. }
            | Error::Method { op, .. }
            | Error::Stride { op, .. }
            | Error::Shorter { op, .. }
            | Error::InnerExtents { op, .. }
            | Error::BlockSide { op, .. }
            | Error::BlockOrder { op, .. }
            | Error::Wgsl { op, .. }
            | Error::File { op, .. }
            | Error::Name { op, .. }
            | Error::Null { op, .. }
            | Error::Io { op, .. }
            | Error::ElementRange { op, .. }
            | Error::Argument { op, .. }
            | Error::DeviceMismatch { op, .. }
            | Error::TooLarge { op, .. }
            | Error::Budget { op, .. }
            | Error::WorkLimit { op, .. }
            | Error::Unsupported { op, .. }
            | Error::OutOfMemory { op, .. }
            | Error::DeviceLost { op, .. }
            | Error::Gpu { op, .. }
            | Error::Buffer { op, .. }
            | Error::NotComputed { op, .. }
            | Error::Recording { op, .. }
            | Error::Part { op, .. }
            | Error::Layout { op, .. } => Some(op),
        }
    };
}

impl Error {
    /// Replaces the name of the operation, for an error from an internal step of operation `name`.
    pub(crate) fn named(mut self, name: &'static str) -> Error {
        if let Some(op) = operation!(&mut self) {
            *op = name;
        }
        self
    }

    /// Names the operation, unless the error names one already: checks and allocations do not know whose they are.
    pub(crate) fn or_named(self, name: &'static str) -> Error {
        match self.op() {
            "" => self.named(name),
            _ => self,
        }
    }

    /// Drops the hint to use a pairing, for an operation that takes none.
    pub(crate) fn without_pairing(mut self) -> Error {
        if let Error::BatchSize { pairing, .. } = &mut self {
            *pairing = false;
        }
        self
    }

    pub(crate) fn io(op: &'static str, what: &str, error: &std::io::Error) -> Error {
        Error::Io {
            op,
            what: what.to_owned(),
            kind: error.kind(),
            message: error.to_string(),
        }
    }

    /// The variant's name in snake case, for logs and tables. It stays the same when the text changes.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::InvalidOffsets { .. } => "invalid_offsets",
            Error::ValueCount { .. } => "value_count",
            Error::Length { .. } => "length",
            Error::Shape { .. } => "shape",
            Error::SizeOverflow { .. } => "size_overflow",
            Error::Rank { .. } => "rank",
            Error::BatchSize { .. } => "batch_size",
            Error::PairIndex { .. } => "pair_index",
            Error::Index { .. } => "index",
            Error::DuplicateIndex { .. } => "duplicate_index",
            Error::ElementCount { .. } => "element_count",
            Error::Pairing { .. } => "pairing",
            Error::Method { .. } => "method",
            Error::Stride { .. } => "stride",
            Error::Shorter { .. } => "shorter",
            Error::InnerExtents { .. } => "inner_extents",
            Error::BlockSide { .. } => "block_side",
            Error::BlockOrder { .. } => "block_order",
            Error::CostTable { .. } => "cost_table",
            Error::Wgsl { .. } => "wgsl",
            Error::File { .. } => "file",
            Error::Name { .. } => "name",
            Error::Null { .. } => "null",
            Error::Io { .. } => "io",
            Error::ElementRange { .. } => "element_range",
            Error::Argument { .. } => "argument",
            Error::DeviceMismatch { .. } => "device_mismatch",
            Error::TooLarge { .. } => "too_large",
            Error::Budget { .. } => "budget",
            Error::WorkLimit { .. } => "work_limit",
            Error::Unsupported { .. } => "unsupported",
            Error::NoDevice { .. } => "no_device",
            Error::OutOfMemory { .. } => "out_of_memory",
            Error::DeviceLost { .. } => "device_lost",
            Error::Buffer { .. } => "buffer",
            Error::NotComputed { .. } => "not_computed",
            Error::Recording { .. } => "recording",
            Error::Layout { .. } => "layout",
            Error::Part { .. } => "part",
            Error::Gpu { .. } => "gpu",
        }
    }

    /// The public operation that failed; `"device"` when no device was found, and `"costs"` for the text of a cost
    /// table.
    pub fn op(&self) -> &'static str {
        match (operation!(self), self) {
            (Some(op), _) => op,
            (None, Error::CostTable { .. }) => "costs",
            (None, _) => "device",
        }
    }

    /// The element of the batch, or the pair of a pairing, that is at fault; `None` if it is the batch as a whole. For
    /// a [`Part`](Error::Part), it is counted in the whole batch.
    pub fn element(&self) -> Option<usize> {
        match self {
            Error::InvalidOffsets { element, .. }
            | Error::Length { element, .. }
            | Error::Null { element, .. }
            | Error::Shape { element, .. } => Some(*element),
            Error::PairIndex { pair, .. }
            | Error::Method { pair, .. }
            | Error::Shorter { pair, .. }
            | Error::InnerExtents { pair, .. } => Some(*pair),
            Error::ValueCount { element, .. }
            | Error::SizeOverflow { element, .. }
            | Error::Index { element, .. }
            | Error::DuplicateIndex { element, .. }
            | Error::Rank { element, .. }
            | Error::Argument { element, .. }
            | Error::WorkLimit { element, .. }
            | Error::TooLarge { element, .. }
            | Error::Layout { element, .. } => *element,
            Error::Part {
                elements, error, ..
            } => error.element().map(|element| elements.start + element),
            Error::BatchSize { .. }
            | Error::ElementCount { .. }
            | Error::Stride { .. }
            | Error::BlockSide { .. }
            | Error::BlockOrder { .. }
            | Error::Pairing { .. }
            | Error::CostTable { .. }
            | Error::Wgsl { .. }
            | Error::File { .. }
            | Error::Name { .. }
            | Error::Io { .. }
            | Error::ElementRange { .. }
            | Error::DeviceMismatch { .. }
            | Error::Budget { .. }
            | Error::Unsupported { .. }
            | Error::NoDevice { .. }
            | Error::OutOfMemory { .. }
            | Error::DeviceLost { .. }
            | Error::Buffer { .. }
            | Error::NotComputed { .. }
            | Error::Recording { .. }
            | Error::Gpu { .. } => None,
        }
    }
}

/// Results of steps of an operation.
pub(crate) trait Named: Sized {
    /// The same result, whose error names this operation.
    fn named(self, name: &'static str) -> Self;

    /// The same result, whose error the operation names that this is a step of.
    fn unnamed(self) -> Self {
        self.named("")
    }
}

impl<T> Named for Result<T> {
    #[inline]
    fn named(self, name: &'static str) -> Result<T> {
        self.map_err(|error| error.named(name))
    }
}
