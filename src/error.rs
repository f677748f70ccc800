//! The error type of the whole library.
//!
//! Every failure on bad input is an [`Error`] that names the operation, the element of the batch if there is one, what
//! was expected and what was given. An operation that returns an error has computed nothing and has left no partial
//! result. Values on a device are not read, so ids and labels that are out of range are no errors: the documentation of
//! each operation says what they give.

mod facts;
mod make;
mod text;

use core::fmt;

pub(crate) use facts::Named;
pub(crate) use text::Count;
use text::{at, at_most, bytes_available, null_at, offsets_fault, other_pairings, pair_fits};

/// The result of every fallible function in this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// A side of an operation that takes two batches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// The batch whose method was called.
    Left,
    /// The batch that was passed to it.
    Right,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Side::Left => "left",
            Side::Right => "right",
        })
    }
}

/// The reason why an operation failed.
///
/// The variants carry the data that a program needs to react; the text is for people. Both name the public operation in
/// `op` (`"add"`, `"conv"`, `"upload"`, `"offsets"`), and the element of the batch if one is at fault. `Debug`
/// prints the text too, since a `main` that returns an error shows it by `Debug`.
///
/// ```
/// use vsla::{Error, Ragged};
///
/// let error = Ragged::from_offsets(vec![1.0, 2.0], [0, 2, 1]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "offsets: element 1 ends before it starts: expected an offset of at least 2, got 1",
/// );
/// assert_eq!((error.kind(), error.op(), error.element()), ("invalid_offsets", "offsets", Some(1)));
/// assert!(matches!(error, Error::InvalidOffsets { element: 1, .. }));
/// ```
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Offsets that do not start at 0 (then `element` is 0), or that decrease.
    #[error("{op}: element {element} {}: expected {expected}, got {got}", offsets_fault(.element))]
    InvalidOffsets {
        /// The public operation.
        op: &'static str,
        /// The element whose start (for element 0) or end is invalid.
        element: usize,
        /// What would have been valid.
        expected: String,
        /// What was given.
        got: String,
    },

    /// A number of values that differs from the layout's, or too many values for one element.
    #[error("{op}: {}expected {}{}, got {got}", at(.element), at_most(.element), Count(*.expected, "value"))]
    ValueCount {
        /// The public operation.
        op: &'static str,
        /// The element with too many values; `None` when the batch as a whole has the wrong number.
        element: Option<usize>,
        /// The exact number for a batch, or the maximum for one element.
        expected: usize,
        /// The number that was given.
        got: usize,
    },

    /// An element whose length is not what the operation needs.
    #[error("{op}: element {element}: expected {}, got {got}", Count(*.expected, "value"))]
    Length {
        /// The public operation.
        op: &'static str,
        /// The element.
        element: usize,
        /// The required length.
        expected: usize,
        /// The actual length.
        got: usize,
    },

    /// An element whose shape is not what the operation needs.
    #[error("{op}: element {element}: expected the shape {expected}, got {got}")]
    Shape {
        /// The public operation.
        op: &'static str,
        /// The element.
        element: usize,
        /// The required shape.
        expected: String,
        /// The actual shape.
        got: String,
    },

    /// A size that does not fit in 32 bits: an extent, the product of an element's extents, or a total over the batch.
    #[error("{op}: {}{what} exceeds the 32-bit index limit of {}", at(.element), u32::MAX)]
    SizeOverflow {
        /// The public operation.
        op: &'static str,
        /// The first element at which the size does not fit.
        element: Option<usize>,
        /// The size that does not fit.
        what: String,
    },

    /// A rank outside `1..=8`, or one that differs from the other ranks in the operation.
    #[error("{op}: {}expected a rank of {expected}, got {got}", at(.element))]
    Rank {
        /// The public operation.
        op: &'static str,
        /// The element with this rank, when each element has its own.
        element: Option<usize>,
        /// The valid ranks.
        expected: String,
        /// The rank that was given.
        got: usize,
    },

    /// Batches of unequal size in an element-wise operation.
    #[error(
        "{op}: expected batches of equal size, got {} and {right}{}",
        Count(*.left, "element"), other_pairings(*.pairing, [*.left, *.right], .spread)
    )]
    BatchSize {
        /// The public operation.
        op: &'static str,
        /// The number of elements in the left batch.
        left: usize,
        /// The number of elements in the right batch.
        right: usize,
        /// Whether the operation supports other [`Pairing`](crate::Pairing)s, which allow batches of different sizes.
        pairing: bool,
        /// The calls of the operand of one element that would spread it over the elements of the other one.
        spread: Vec<String>,
    },

    /// A pair in an explicit list with an index outside its batch.
    #[error("{op}: pair {pair}: the {side} index {index} is outside a batch of {}", Count(*.len, "element"))]
    PairIndex {
        /// The public operation.
        op: &'static str,
        /// The position in the list.
        pair: usize,
        /// The side whose index is out of range.
        side: Side,
        /// The index that was given.
        index: usize,
        /// The number of elements in the batch on that side.
        len: usize,
    },

    /// An index in a list that is out of range.
    #[error("{op}: {}position {position}: the index {index} is not below {len}", at(.element))]
    Index {
        /// The public operation.
        op: &'static str,
        /// The element that the list belongs to, if there are several lists.
        element: Option<usize>,
        /// The position in the list.
        position: usize,
        /// The index that was given.
        index: usize,
        /// The upper bound, exclusive: the number of elements of the batch, or the extent of the axis.
        len: usize,
    },

    /// A duplicate index in a list whose indices must be distinct.
    #[error("{op}: {}positions {first} and {second} both have the index {index}; list each index once", at(.element))]
    DuplicateIndex {
        /// The public operation.
        op: &'static str,
        /// The element that the list belongs to, if there are several lists.
        element: Option<usize>,
        /// The first position in the list.
        first: usize,
        /// The second position.
        second: usize,
        /// The index at both positions.
        index: usize,
    },

    /// A number of elements that differs from the batch's.
    #[error("{op}: expected {}, got {got}", Count(*.expected, "element"))]
    ElementCount {
        /// The public operation.
        op: &'static str,
        /// The number of elements in the batch.
        expected: usize,
        /// The number that was given.
        got: usize,
    },

    /// A convolution in a mode that takes its extents from the left operand, which is the shorter one.
    #[error(
        "{op}: pair {pair}: the left operand has {} along axis {axis} and the right one {right}, and this mode keeps \
         results by the extents of the left one; swap the operands, or choose the one that counts with side()",
        Count(*.left, "value")
    )]
    Shorter {
        /// The public operation.
        op: &'static str,
        /// The first such pair.
        pair: usize,
        /// The first axis along which the left operand is shorter.
        axis: usize,
        /// The extent of the left operand.
        left: usize,
        /// The extent of the right operand.
        right: usize,
    },

    /// Two matrices whose inner extents differ.
    #[error("{op}: pair {pair}: expected equal inner extents, got {left} and {right}{}", pair_fits(.fits))]
    InnerExtents {
        /// The public operation.
        op: &'static str,
        /// The pair.
        pair: usize,
        /// The number of columns of the left factor.
        left: usize,
        /// The number of rows of the right factor.
        right: usize,
        /// The call that makes this pair fit, if transposing a factor does.
        fits: Option<&'static str>,
    },

    /// A block side that block-sparse matrices do not support.
    #[error("{op}: expected block sides of 8, 16, 32, 48, 64, 96 or 128, got {got}")]
    BlockSide {
        /// The public operation.
        op: &'static str,
        /// The side that was given.
        got: usize,
    },

    /// A block outside the grid of its matrix, or one that does not follow its predecessor where row order is required.
    #[error("{op}: block {block}: expected {expected}, got {got}")]
    BlockOrder {
        /// The public operation.
        op: &'static str,
        /// The index of the block in the given list.
        block: usize,
        /// What would have been valid.
        expected: String,
        /// The block's position, (row, column).
        got: String,
    },

    /// A pairing that the sizes of the two batches do not allow.
    #[error("{op}: expected {expected} for this pairing, got {got}; use AllToAll or a List")]
    Pairing {
        /// The public operation.
        op: &'static str,
        /// What the pairing needs.
        expected: String,
        /// The number of elements in the batch.
        got: usize,
    },

    /// The requested method does not support a pair.
    #[error(
        "{op}: pair {pair}: the method {method} does not support this pair: {reason}; use auto or direct"
    )]
    Method {
        /// The public operation.
        op: &'static str,
        /// The first unsupported pair.
        pair: usize,
        /// The method's name.
        method: &'static str,
        /// The reason.
        reason: String,
    },

    /// Invalid strides for a convolution: a stride of 0, or a number of strides that differs from the number of axes.
    #[error("{op}: expected {expected}, got {got}")]
    Stride {
        /// The public operation.
        op: &'static str,
        /// What would have been valid.
        expected: String,
        /// The stride, or the number of strides, that was given.
        got: usize,
    },

    /// Text that is not a valid cost table.
    #[error("costs: expected {expected}, got {got:?}")]
    CostTable {
        /// What would have been valid.
        expected: String,
        /// The word that was found; empty at the end of the text.
        got: String,
    },

    /// A WGSL expression that is wrong, or that is more than one expression. Nothing was compiled.
    #[error("{op}: line {line}: {message}")]
    Wgsl {
        /// The public operation.
        op: &'static str,
        /// The line of the expression, counted from 1.
        line: usize,
        /// What is wrong, in the words of the WGSL compiler (naga), with the line and a mark below the place.
        message: String,
    },

    /// A file that the operation cannot read.
    ///
    /// It holds something else, is truncated, damaged or too long, or is not a file of this format at all.
    #[error("{op}: at byte {at}: expected {expected}, got {got}")]
    File {
        /// The public operation.
        op: &'static str,
        /// The position in the file, counted from 0.
        at: u64,
        /// What would have been valid there.
        expected: String,
        /// What was found there.
        got: String,
    },

    /// A name that a file of several batches does not contain, or that it already contains.
    #[error("{op}: expected {expected}, got {got:?}")]
    Name {
        /// The public operation.
        op: &'static str,
        /// What would have been valid.
        expected: String,
        /// The name that was given.
        got: String,
    },

    /// A null in an Arrow array, where a batch has a value or an element.
    #[error("{op}: element {element} is null{}; use from_arrow_or to replace nulls by a value", null_at(.index))]
    Null {
        /// The public operation.
        op: &'static str,
        /// The first element with a null.
        element: usize,
        /// The index of the null in its element: one number for each axis if it is a value, fewer if it is a list
        /// inside the element, and none if it is the whole element.
        index: Vec<usize>,
    },

    /// The system could not read or write.
    #[error("{op}: {what}: {message}")]
    Io {
        /// The public operation.
        op: &'static str,
        /// The path, or "the stream".
        what: String,
        /// The system's error, for programs.
        kind: std::io::ErrorKind,
        /// The system's error, for people.
        message: String,
    },

    /// A range of elements that is not inside the batch, or that ends before it starts.
    #[error("{op}: the range {start}..{end} is not inside a batch of {}", Count(*.len, "element"))]
    ElementRange {
        /// The public operation.
        op: &'static str,
        /// The first element of the range.
        start: usize,
        /// One past the last element of the range.
        end: usize,
        /// The number of elements in the batch.
        len: usize,
    },

    /// An argument for which the operation is not defined.
    #[error("{op}: {}expected {expected}, got {got}", at(.element))]
    Argument {
        /// The public operation.
        op: &'static str,
        /// The element that the argument belongs to, if each element has its own.
        element: Option<usize>,
        /// What would have been valid.
        expected: String,
        /// What was given.
        got: String,
    },

    /// The operands live on different devices.
    ///
    /// Every call that opens a GPU opens a new device, with memory of its own. Upload operands that are used together
    /// through one handle or its clones, or copy one to the other's device with
    /// [`to_device`](crate::Tensor::to_device). All handles of the CPU are one device.
    #[error(
        "{op}: expected both operands on one device, got {left} and {right}; upload both through one Device or its \
         clones, or copy one with to_device"
    )]
    DeviceMismatch {
        /// The public operation.
        op: &'static str,
        /// The left operand's device.
        left: String,
        /// The right operand's device.
        right: String,
    },

    /// Something exceeds the device's size limit for objects of its kind, regardless of free memory.
    #[error(
        "{op}: {}{what} takes {bytes} bytes, above the device's limit of {limit}; split the batch or use the CPU",
        at(.element)
    )]
    TooLarge {
        /// The public operation.
        op: &'static str,
        /// The element that is too large; `None` when the batch as a whole is.
        element: Option<usize>,
        /// What is too large.
        what: String,
        /// Its size in bytes.
        bytes: u64,
        /// The device's limit in bytes.
        limit: u64,
    },

    /// A result that needs more memory than the call allowed.
    #[error(
        "{op}: the result takes {bytes} bytes, above the call's limit of {limit}; raise the limit or pass fewer elements"
    )]
    Budget {
        /// The public operation.
        op: &'static str,
        /// The size of the result in bytes.
        bytes: u64,
        /// The limit that the caller set.
        limit: u64,
    },

    /// More work than [`with_work_limit`](crate::Device::with_work_limit) allows for one operation. Nothing ran.
    #[error(
        "{op}: {}needs {needed} multiply-adds, above the device's work limit of {allowed}; split the work or raise the \
         limit",
        at(.element)
    )]
    WorkLimit {
        /// The public operation.
        op: &'static str,
        /// The first element or pair at which the work exceeds the limit, if work is counted per element or pair.
        element: Option<usize>,
        /// The multiply-adds of the whole operation, or the values that it moves; 2⁶⁴ − 1 means that many or more.
        needed: u64,
        /// The device's limit.
        allowed: u64,
    },

    /// Something that the library does not support, such as f16 heads with an odd number of values; or that this device
    /// or a browser does not support, because a capability is missing or a kernel exceeds the device's limits.
    #[error("{op}: not supported: {what}")]
    Unsupported {
        /// The public operation.
        op: &'static str,
        /// What is not supported, and, where that helps, what to do instead.
        what: String,
    },

    /// No device matches the request, or the GPU cannot be opened.
    #[error("device: no device available: {reason}")]
    NoDevice {
        /// Why each candidate was rejected.
        reason: String,
    },

    /// Memory ran out. Existing batches are unharmed.
    #[error("{op}: out of memory: needed {bytes} bytes{}; drop tensors or split the batch", bytes_available(.available))]
    OutOfMemory {
        /// The public operation.
        op: &'static str,
        /// The size of the request that failed.
        bytes: u64,
        /// What was left, if the device or an option reports it.
        available: Option<u64>,
    },

    /// The device is lost: reset by its driver, unplugged, or destroyed by the application. So are its tensors.
    #[error("{op}: device lost: {reason}; open a new device")]
    DeviceLost {
        /// The public operation.
        op: &'static str,
        /// The driver's message.
        reason: String,
    },

    /// A buffer shared with the application, imported or exported, is unusable because it was destroyed or is mapped.
    ///
    /// Only the call that needs it fails; the rest of the device is unaffected.
    #[error("{op}: {buffer} cannot be used: {reason}")]
    Buffer {
        /// The public operation.
        op: &'static str,
        /// Which buffer: imported or exported, and its size.
        buffer: String,
        /// The message from wgpu, with the label that the application set.
        reason: String,
    },

    /// Values that were never computed because their submission failed. Other tensors are unharmed.
    #[error("{op}: the values were never computed: {reason}")]
    NotComputed {
        /// The public operation.
        op: &'static str,
        /// Why the submission failed.
        reason: String,
    },

    /// Something that a recording does not support: reading a value during the recording, using a value of another
    /// recording or one whose recording has ended, or differentiating an operation that has no gradient.
    #[error("{op}: {reason}")]
    Recording {
        /// The public operation.
        op: &'static str,
        /// What is wrong, and what to do instead.
        reason: String,
    },

    /// An input of a plan whose layout or type differs from the one that the plan was made for.
    #[error("{op}: input {input}: {}expected {expected}, got {got}; make a plan for these layouts", at(.element))]
    Layout {
        /// The public operation.
        op: &'static str,
        /// The number of the input.
        input: usize,
        /// The first element that differs, if the batches have the same number of elements.
        element: Option<usize>,
        /// What the plan was made for.
        expected: String,
        /// What was given.
        got: String,
    },

    /// A part of a batch that failed on a device of a [`Fleet`](crate::fleet::Fleet). No results were returned.
    #[error("{op}: device {device} ({name}), elements {}..{}: {error}", .elements.start, .elements.end)]
    Part {
        /// The public operation.
        op: &'static str,
        /// The place of the device in [`Fleet::devices`](crate::fleet::Fleet::devices).
        device: usize,
        /// The device's name.
        name: String,
        /// The elements of the batch that the part has.
        elements: core::ops::Range<usize>,
        /// The error of the part, such as [`DeviceLost`](Error::DeviceLost), or that of the application's function. It
        /// counts elements from the start of the part.
        #[source]
        error: Box<Error>,
    },

    /// wgpu rejected commands recorded by this library. That is a bug in this library: please report it.
    #[error("{op}: the GPU reported an error, which is a bug in vsla; please report it: {message}")]
    Gpu {
        /// The public operation.
        op: &'static str,
        /// The message from wgpu.
        message: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
