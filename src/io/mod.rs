//! Files and interchange. A `.vsla` file stores a ragged batch or block-sparse matrices, bit for bit.
//!
//! [`Ragged`] and [`Bsr`] have `read` and `write` for paths, and `read_from` and `write_to` for streams. [`Any`] reads
//! files whose contents are not known in advance.
//!
//! ```
//! use vsla::{Ragged, io};
//!
//! let batch = Ragged::from_rows([vec![1.5f32, 2.5], vec![], vec![3.5]])?;
//! let mut file = Vec::new();
//! batch.write_to(&mut file)?;
//! assert_eq!(file.len(), 32 + 3 * 4 + 3 * 4 + 4);
//! assert_eq!(Ragged::read_from(&file[..])?, batch);
//! assert_eq!(io::Any::read_from(&file[..])?, io::Any::F32(io::Contents::Ragged(batch)));
//! assert_eq!(
//!     Ragged::<f64>::read_from(&file[..]).unwrap_err().to_string(),
//!     "read: at byte 9: expected values of type f64, got f32",
//! );
//! # Ok::<(), vsla::Error>(())
//! ```
//!
//! # Version 2
//! The current format. All numbers are little-endian, and there is no padding between the parts.
//!
//! | at byte | type | what |
//! | ---: | --- | --- |
//! | 0 | 8 bytes | `VSLAv02` and a 0 |
//! | 8 | u8 | contents: 0 a ragged batch, 1 block-sparse matrices |
//! | 9 | u8 | type of values: 0 `f64`, 1 `f32`, 2 `f16`, 3 `u32`, 4 `i32`, 5 `Complex32` (real part first), 6 `u8` |
//! | 10 | u8 | rank r of an element, 1 to 8 |
//! | 11 | 5 bytes | 0 |
//! | 16 | u64 | number n of elements |
//! | 24 | u64 | number of values of all elements |
//! | 32 | n · r × u32 | the extents of each element |
//! | | | for block-sparse matrices: their topology, described below |
//! | | | the values, one element after the other, each row-major |
//! | last 4 | u32 | CRC-32 of all preceding bytes (as in Ethernet, zip and PNG) |
//!
//! Block-sparse matrices are stored as a batch of rank 3, one element of shape (blocks, rows of a block, columns of a
//! block) per matrix. Their [`Topology`](crate::Topology) is stored as, all u32: rows and columns of the matrix; rows
//! and columns of a block; the number of blocks; the number of blocks in each row of the grid; the number in each
//! column; and the column of each block, in row order. (The counts per column are redundant. They ensure that a file is
//! never smaller than the topology that it describes.)
//!
//! # Version 1
//! Can be read but is no longer written: a single dense tensor of rank 1 to 8. All numbers are in the byte order given
//! at byte 8.
//!
//! | at byte | type | what |
//! | ---: | --- | --- |
//! | 0 | 8 bytes | `VSLAv01` and a 0 |
//! | 8 | u8 | byte order of the machine that wrote the file: 0 little-endian, 1 big-endian |
//! | 9 | u8 | rank r, 1 to 8 |
//! | 10 | u8 | model: 0 convolution, 1 Kronecker; does not affect the values and is discarded |
//! | 11 | u8 | type of the values: 0 `f64`, 1 `f32` |
//! | 12 | u32 | 0 |
//! | 16 | r × u64 | extents |
//! | 16 + 8 r | r × u64 | capacities: the extents of the stored array, at least the element's own extents |
//! | 16 + 16 r | r × u64 | strides in bytes, which must be those of a row-major array with these capacities |
//! | 16 + 24 r | | the array; values beyond the extents are skipped |
//!
//! It is read as a batch of one element. `f64` is a host-only type: [`Ragged::cast`] converts it to `f32`.
//!
//! # Bad files
//! Reading a file that is truncated, damaged, too long or not a `.vsla` file gives an [`Error`], whatever its header
//! says: [`Error::File`] with the position, or the error that the same shapes give elsewhere. Sizes in a file are not
//! trusted when allocating: at most twice the data read so far, or the remaining size of a file on disk, is reserved.
//!
//! # Interchange
//! Each of these is a feature that is off by default.
//!
//! * `arrow`: batches from lists of Arrow ([`Ragged`]'s `from_arrow`, and `from_arrow_or` for lists with nulls), and to
//!   them (`into_arrow`), without copying the values where Arrow allows it. The book has a
//!   [table](crate::pages::ragged#arrow-and-parquet) of what becomes of what, and the package `examples/parquet` reads
//!   and writes Parquet files.
//! * `safetensors`: files for other programs, in the module `safetensors`.
//! * `ndarray`: elements as array views ([`Ragged`]'s `array`, `array_mut`), and batches from arrays, from padded
//!   arrays and to padded arrays (`from_arrays`, `from_padded_array`, `to_padded_array`).
//! * `serde`: [`Ragged`], [`Bsr`], [`Layout`], [`Offsets`], [`Shape`](crate::Shape) and [`Topology`](crate::Topology)
//!   are `Serialize` and `Deserialize`. Input is validated: a bad document is a serde error with the message of this
//!   library's [`Error`], which names the element.
//!
//! As JSON, these look like
//!
//! ```json
//! {"lengths": [2, 0, 1], "values": [1.5, 2.5, 3.5]}
//! {"rank": 2, "shapes": [[2, 2], [1, 3]], "values": [1, 2, 3, 4, 5, 6, 7]}
//! {"topology": {"shape": [16, 16], "block": [8, 8], "rows": [[1], []], "columns": [0, 1]}, "sets": [[0.5, "63 more"]]}
//! ```
//!
//! A layout looks like a batch without values; offsets and a shape are arrays. A topology lists the columns of the
//! blocks in each row of the grid, and the number of blocks in each column. Block-sparse matrices list the values of
//! each matrix, block by block. In binary formats such as CBOR, a batch is (rank, extents, values), with `rank` extents
//! per element; a topology and block-sparse matrices are their fields in this order. Values are encoded as serde
//! encodes them: a `Complex32` as two numbers, an `f16` as its 16 bits. JSON has no NaN.
//!
//! As in files, sizes in a document are not trusted, and memory grows as data arrives. Reading takes at most 40 bytes
//! for each byte of the document, plus 4 KiB.

#[cfg(feature = "arrow")]
mod arrow;
mod files;
#[cfg(feature = "ndarray")]
mod ndarray;
mod paths;
#[cfg(feature = "gpu")]
mod pipelines;
#[cfg(feature = "safetensors")]
pub mod safetensors;
#[cfg(feature = "serde")]
mod serde;
mod sink;
mod source;
mod v1;
mod v2;

use std::iter::repeat_n;

use half::f16;
use num_complex::Complex32;

#[cfg(feature = "arrow")]
pub use arrow::ArrowValue;

use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;
use crate::ragged::{Bsr, Layout, Offsets, Ragged, element_count, product, total_overflow};

const OP: &str = "read";

mod sealed {
    pub trait Sealed: bytemuck::Pod {
        /// The code of the type in file headers.
        const CODE: u8;
        const NAME: &'static str;
        /// The size of a number in bytes. A value may consist of several numbers.
        const NUMBER: usize;
    }
}

/// A type of values that files can store: `f64`, `f32`, [`f16`](struct@f16), `u32`, `i32`, `u8` or [`Complex32`].
/// Sealed.
pub trait Stored: sealed::Sealed {}

macro_rules! stored {
    ($($code:literal $t:ty, $name:literal, $number:literal;)*) => {$(
        impl sealed::Sealed for $t {
            const CODE: u8 = $code;
            const NAME: &'static str = $name;
            const NUMBER: usize = $number;
        }

        impl Stored for $t {}
    )*
        /// The names of the types, indexed by code.
        const NAMES: &[&str] = &[$($name),*];
    };
}
stored! {
    0 f64, "f64", 8;
    1 f32, "f32", 4;
    2 f16, "f16", 2;
    3 u32, "u32", 4;
    4 i32, "i32", 4;
    5 Complex32, "c32", 4;
    6 u8, "u8", 1;
}

/// The contents of a file, for one type of values.
#[derive(Clone, PartialEq, Debug)]
pub enum Contents<T: Stored> {
    /// A ragged batch.
    Ragged(Ragged<T>),
    /// Block-sparse matrices.
    Bsr(Bsr<T>),
}

/// The contents of a file, by the type of its values.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Any {
    /// 64-bit floating-point values, for use on the host.
    F64(Contents<f64>),
    /// 32-bit floating-point values.
    F32(Contents<f32>),
    /// 16-bit floating-point values.
    F16(Contents<f16>),
    /// 32-bit unsigned integers.
    U32(Contents<u32>),
    /// 32-bit signed integers.
    I32(Contents<i32>),
    /// Complex values.
    C32(Contents<Complex32>),
    /// 8-bit unsigned integers.
    U8(Contents<u8>),
}

/// Checks a type code in a header: only the first `types` codes are valid.
fn check_type(at: u64, code: u8, types: usize) -> Result<u8> {
    if (code as usize) < types {
        return Ok(code);
    }
    let expected = format!("a type code from 0 to {}", types - 1);
    Err(wrong(at, expected, code.to_string()))
}

fn wrong(at: u64, expected: impl Into<String>, got: impl Into<String>) -> Error {
    Error::File {
        op: OP,
        at,
        expected: expected.into(),
        got: got.into(),
    }
}

/// The layout of elements with these extents, `rank` per element, as stored in files and documents.
fn layout_of(op: &'static str, rank: usize, extents: Vec<u32>) -> Result<Layout> {
    let elements = extents.len() / rank;
    element_count(elements).named(op)?;
    let mut offsets = host::room(elements + 1).named(op)?;
    offsets.push(0u32);
    let mut end = 0u32;
    for (element, extents) in extents.chunks_exact(rank).enumerate() {
        let size = product(extents).ok_or_else(|| {
            Error::size_overflow("the product of the extents")
                .named(op)
                .at(element)
        })?;
        let sum = end.checked_add(size);
        end = sum.ok_or_else(|| total_overflow(element).named(op))?;
        offsets.push(end);
    }
    let offsets = Offsets::from_vec_unchecked(offsets);
    let extents = if rank == 1 { Vec::new() } else { extents };
    Ok(Layout::unchecked(offsets, rank, extents))
}

/// The positions of blocks, from the number of blocks in each row and the column of each block. The counts must add up
/// to the number of columns listed.
fn places(op: &'static str, of_rows: &[u32], columns: &[u32]) -> Result<Vec<(u32, u32)>> {
    let mut places = host::room(columns.len()).named(op)?;
    let rows = of_rows.iter().enumerate();
    let rows = rows.flat_map(|(row, &count)| repeat_n(row as u32, count as usize));
    places.extend(rows.zip(columns.iter().copied()));
    Ok(places)
}

/// Reverses the byte order of each number.
fn swap(bytes: &mut [u8], number: usize) {
    for bytes in bytes.chunks_exact_mut(number) {
        bytes.reverse();
    }
}
