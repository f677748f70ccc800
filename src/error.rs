//! One error for the whole library.
//!
//! Whatever goes wrong on bad input comes back as an [`Error`] that names the operation, the element of the batch where
//! there is one, what was expected and what came. Nothing is computed, and nothing is half written, when an operation
//! returns one.

mod facts;
mod text;

use core::fmt;

pub(crate) use text::Count;
use text::{At, Available, Fits, OtherPairings, at_most, offsets_fault};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// One side of an operation that takes two batches.
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

/// Why an operation did not happen.
///
/// The variants carry what a program needs to react; the text is for people. Both name the public operation in `op`
/// (`"add"`, `"conv"`, `"upload"`, `"offsets"`), and the element of the batch when one is to blame.
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
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Offsets that do not start at 0 (then `element` is 0), or that decrease.
    #[error("{op}: element {element} {}: expected {expected}, got {got}", offsets_fault(.element))]
    InvalidOffsets {
        /// The public operation.
        op: &'static str,
        /// The element whose start (for element 0) or end is wrong.
        element: usize,
        /// What would have been valid.
        expected: String,
        /// What came.
        got: String,
    },

    /// A number of values that is not the layout's, or more values for one element than there is room for.
    #[error("{op}: {}expected {}{}, got {got}", At(.element), at_most(.element), Count(*.expected, "value"))]
    ValueCount {
        /// The public operation.
        op: &'static str,
        /// The element with too many values; `None` when the batch as a whole has the wrong number.
        element: Option<usize>,
        /// The exact number for a batch, the largest possible number for one element.
        expected: usize,
        /// The number that came.
        got: usize,
    },

    /// An element of another length than the operation needs.
    #[error("{op}: element {element}: expected {}, got {got}", Count(*.expected, "value"))]
    Length {
        /// The public operation.
        op: &'static str,
        /// The element.
        element: usize,
        /// The length that it needs.
        expected: usize,
        /// The length that it has.
        got: usize,
    },

    /// An element of another shape than the operation needs.
    #[error("{op}: element {element}: expected the shape {expected}, got {got}")]
    Shape {
        /// The public operation.
        op: &'static str,
        /// The element.
        element: usize,
        /// The shape that it needs.
        expected: String,
        /// The shape that it has.
        got: String,
    },

    /// A size that does not fit 32 bits: an extent, the product of an element's extents, or a total over the batch.
    #[error("{op}: {}{what} exceeds the {} that 32-bit indices reach", At(.element), u32::MAX)]
    SizeOverflow {
        /// The public operation.
        op: &'static str,
        /// The first element with which the size does not fit.
        element: Option<usize>,
        /// The size that does not fit.
        what: String,
    },

    /// A rank outside `1..=8`, or one that differs from the other ranks of the operation.
    #[error("{op}: {}expected a rank of {expected}, got {got}", At(.element))]
    Rank {
        /// The public operation.
        op: &'static str,
        /// The element of that rank, when the ranks are given element by element.
        element: Option<usize>,
        /// The ranks that would have been valid.
        expected: String,
        /// The rank that came.
        got: usize,
    },

    /// Two batches of unequal size meet element by element.
    #[error("{op}: expected batches of equal size, got {} and {right}{}", Count(*.left, "element"), OtherPairings(*.pairing, *.left))]
    BatchSize {
        /// The public operation.
        op: &'static str,
        /// Elements in the left batch.
        left: usize,
        /// Elements in the right batch.
        right: usize,
        /// Whether the operation has other [`Pairing`](crate::Pairing)s, which let batches of any size meet.
        pairing: bool,
    },

    /// A pair of an explicit list names an element that its batch does not have.
    #[error("{op}: pair {pair}: the {side} index {index} is outside a batch of {}", Count(*.len, "element"))]
    PairIndex {
        /// The public operation.
        op: &'static str,
        /// The position in the list.
        pair: usize,
        /// The side whose index is wrong.
        side: Side,
        /// The index that came.
        index: usize,
        /// Elements in the batch of that side.
        len: usize,
    },

    /// An index of a list that is not below what it counts.
    #[error("{op}: {}position {position}: the index {index} is not below {len}", At(.element))]
    Index {
        /// The public operation.
        op: &'static str,
        /// The element whose list it is, where there are several.
        element: Option<usize>,
        /// The position in the list.
        position: usize,
        /// The index that came.
        index: usize,
        /// What it must be below: elements of the batch, or the extent of the axis.
        len: usize,
    },

    /// An index that comes twice in a list that must not name anything twice.
    #[error("{op}: {}positions {first} and {second} both have the index {index}", At(.element))]
    DuplicateIndex {
        /// The public operation.
        op: &'static str,
        /// The element whose list it is, where there are several.
        element: Option<usize>,
        /// The first position in the list.
        first: usize,
        /// The second one.
        second: usize,
        /// The index that came.
        index: usize,
    },

    /// A number of elements that is not the batch's.
    #[error("{op}: expected {}, got {got}", Count(*.expected, "element"))]
    ElementCount {
        /// The public operation.
        op: &'static str,
        /// Elements of the batch.
        expected: usize,
        /// The number that came.
        got: usize,
    },

    /// Two matrices whose inner extents differ.
    #[error("{op}: pair {pair}: expected equal inner extents, got {left} and {right}{}", Fits(.fits))]
    InnerExtents {
        /// The public operation.
        op: &'static str,
        /// The pair.
        pair: usize,
        /// Columns of the left factor.
        left: usize,
        /// Rows of the right factor.
        right: usize,
        /// What to call so that this pair fits, where a transpose makes it do so.
        fits: Option<&'static str>,
    },

    /// A block side that a block-sparse matrix cannot have.
    #[error("{op}: expected block sides of 8, 16, 32, 48, 64, 96 or 128, got {got}")]
    BlockSide {
        /// The public operation.
        op: &'static str,
        /// The side that came.
        got: usize,
    },

    /// A block outside the grid of its matrix, or one that is not behind the block before it where row order is
    /// promised.
    #[error("{op}: block {block}: expected {expected}, got {got}")]
    BlockOrder {
        /// The public operation.
        op: &'static str,
        /// The position of the block among those that came.
        block: usize,
        /// What would have been valid.
        expected: String,
        /// The place that came, (row, column).
        got: String,
    },

    /// A pairing that the sizes of the two batches do not allow.
    #[error("{op}: the pairing expected {expected}, got {got}")]
    Pairing {
        /// The public operation.
        op: &'static str,
        /// What the pairing needs.
        expected: String,
        /// Elements that the batch has.
        got: usize,
    },

    /// The method that was asked for cannot serve a pair.
    #[error("{op}: pair {pair}: the method {method} cannot serve it: {reason}")]
    Method {
        /// The public operation.
        op: &'static str,
        /// The first pair that it cannot serve.
        pair: usize,
        /// The method's name.
        method: &'static str,
        /// Why not.
        reason: String,
    },

    /// Strides that a convolution cannot have: a 0, or not as many as there are axes.
    #[error("{op}: expected {expected}, got {got}")]
    Stride {
        /// The public operation.
        op: &'static str,
        /// What would have been valid.
        expected: String,
        /// The stride, or the number of strides, that came.
        got: usize,
    },

    /// A text that is no cost table.
    #[error("costs: expected {expected}, got {got:?}")]
    CostTable {
        /// What would have been valid.
        expected: String,
        /// The word that came; empty at the end of the text.
        got: String,
    },

    /// A file that is not what the operation reads: of other contents, cut short, damaged, too long, or no such file at
    /// all.
    #[error("{op}: at byte {at}: expected {expected}, got {got}")]
    File {
        /// The public operation.
        op: &'static str,
        /// The place in the file, from 0.
        at: u64,
        /// What would have been valid there.
        expected: String,
        /// What is there.
        got: String,
    },

    /// A name that a file of several batches does not have, or one that it has already.
    #[error("{op}: expected {expected}, got {got:?}")]
    Name {
        /// The public operation.
        op: &'static str,
        /// What would have been valid.
        expected: String,
        /// The name that came.
        got: String,
    },

    /// The system could not read or write.
    #[error("{op}: {what}: {message}")]
    Io {
        /// The public operation.
        op: &'static str,
        /// The path, or "the stream".
        what: String,
        /// The system's error, for a program.
        kind: std::io::ErrorKind,
        /// The system's error, for people.
        message: String,
    },

    /// A range of elements that is not inside the batch, or that ends before it starts.
    #[error("{op}: the range {start}..{end} is not inside a batch of {}", Count(*.len, "element"))]
    ElementRange {
        /// The public operation.
        op: &'static str,
        /// The first element asked for.
        start: usize,
        /// One past the last element asked for.
        end: usize,
        /// Elements in the batch.
        len: usize,
    },

    /// An argument that the operation is not defined for.
    #[error("{op}: expected {expected}, got {got}")]
    Argument {
        /// The public operation.
        op: &'static str,
        /// What would have been valid.
        expected: String,
        /// What came.
        got: String,
    },

    /// The operands live on different devices.
    ///
    /// Each call that opens a device, [`Device::cpu`](crate::Device::cpu) too, opens another one. What is to meet is
    /// uploaded through one handle or its clones.
    #[error(
        "{op}: expected both operands on one device, got {left} and {right}: upload both through one Device or its clones"
    )]
    DeviceMismatch {
        /// The public operation.
        op: &'static str,
        /// The left operand's device.
        left: String,
        /// The right operand's device.
        right: String,
    },

    /// Something is larger than the device allows one thing of its sort to be, however much memory is free.
    #[error("{op}: {}{what} takes {bytes} bytes, above the device's limit of {limit}", At(.element))]
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

    /// A result that takes more memory than the call allowed.
    #[error("{op}: the result takes {bytes} bytes, above the {limit} that the call allows")]
    Budget {
        /// The public operation.
        op: &'static str,
        /// The size of the result in bytes.
        bytes: u64,
        /// What the caller allowed.
        limit: u64,
    },

    /// More work than the device's [`with_work_limit`](crate::Device::with_work_limit) allows to one operation. Nothing
    /// ran.
    #[error(
        "{op}: {}asks for {asked} multiply-adds, above the {allowed} that the device's work limit allows: ask for less at once, or raise the limit",
        At(.element)
    )]
    WorkLimit {
        /// The public operation.
        op: &'static str,
        /// The first element or pair with which it is too much, where they are counted one by one.
        element: Option<usize>,
        /// The multiply-adds of the whole operation, or the values that it moves; 2⁶⁴ − 1 stands for that and more.
        asked: u64,
        /// What the device allows.
        allowed: u64,
    },

    /// The device cannot do this: a capability is missing, or a kernel needs more than its limits grant.
    #[error("{op}: not supported by this device: {what}")]
    Unsupported {
        /// The public operation.
        op: &'static str,
        /// What is missing.
        what: String,
    },

    /// No device fits what was asked for.
    #[error("device: none available: {reason}")]
    NoDevice {
        /// Why each candidate was refused.
        reason: String,
    },

    /// Memory ran out. The batches that exist are unharmed.
    #[error("{op}: out of memory: expected {bytes} bytes{}", Available(.available))]
    OutOfMemory {
        /// The public operation.
        op: &'static str,
        /// The size of the request that failed.
        bytes: u64,
        /// What was left, where the device or an option tells.
        available: Option<u64>,
    },

    /// The device is gone: reset by its driver, unplugged, or destroyed by the application. Its tensors are lost.
    #[error("{op}: device lost: {reason}")]
    DeviceLost {
        /// The public operation.
        op: &'static str,
        /// What the driver said.
        reason: String,
    },

    /// A buffer that the application holds too, imported or exported, cannot be used now: it was destroyed, or is
    /// mapped. Only the call that needed it fails; everything else on the device goes on.
    #[error("{op}: {buffer} cannot be used: {reason}")]
    Buffer {
        /// The public operation.
        op: &'static str,
        /// Which buffer: imported or exported, and its size.
        buffer: String,
        /// What wgpu said, with the label that the application gave it.
        reason: String,
    },

    /// Values that do not exist: the submission that was to compute them failed. Other tensors are unharmed.
    #[error("{op}: the values were never computed: {reason}")]
    NotComputed {
        /// The public operation.
        op: &'static str,
        /// Why the submission failed.
        reason: String,
    },

    /// The GPU interface refused what this library recorded. That is a bug in this library: please report it.
    #[error("{op}: the GPU reported an error, a bug in vsla: {message}")]
    Gpu {
        /// The public operation.
        op: &'static str,
        /// What the interface said.
        message: String,
    },
}
