//! Batches in `.safetensors` files, for exchange with other programs. Requires the feature `safetensors`.
//!
//! A batch `x` is stored as two tensors of the [format](https://huggingface.co/docs/safetensors), or three above rank
//! 1:
//!
//! | tensor | type | shape | what |
//! | --- | --- | --- | --- |
//! | `x.values` | the type of the values, with `Complex32` as `C64` | (values) | elements end to end, each row-major |
//! | `x.offsets` | `I64` | (elements + 1) | where each element starts, and where the last one ends |
//! | `x.shape` | `I64` | (elements, rank) | the extents of each element; omitted for rank 1 |
//!
//! A file holds any number of batches, of any types. When reading, offsets and extents may also be `I32`, `U32` or
//! `U64`, and the file may contain other tensors.
//!
//! ```
//! use vsla::io::safetensors::{Reader, Writer};
//! use vsla::{Ragged, Shape};
//!
//! let x = Ragged::from_rows([vec![1.5f32, 2.5], vec![], vec![3.5]])?;
//! let y = Ragged::from_shapes(vec![1i32, 2, 3, 4, 5, 6], 2, [Shape::new(&[2, 3])?])?;
//! let path = std::env::temp_dir().join("vsla-doc.safetensors");
//! Writer::new().add("x", &x)?.add("y", &y)?.write(&path)?;
//!
//! let mut file = Reader::open(&path)?;
//! assert_eq!(file.names().collect::<Vec<_>>(), ["x", "y"]);
//! assert_eq!(file.read::<f32>("x")?, x);
//! assert_eq!(file.read::<i32>("y")?, y);
//! assert_eq!(
//!     file.read::<i32>("x").unwrap_err().to_string(),
//!     "read: at byte 8: expected x.values of type I32, got F32",
//! );
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), vsla::Error>(())
//! ```
//!
//! # In Python
//! To load a batch as a PyTorch nested tensor:
//!
//! ```python
//! t = safetensors.torch.load_file("x.safetensors")
//! x = torch.nested.nested_tensor_from_jagged(t["x.values"], t["x.offsets"])
//! ```
//!
//! Or as a list of NumPy arrays:
//!
//! ```python
//! t = safetensors.numpy.load_file("x.safetensors")
//! x = numpy.split(t["x.values"], t["x.offsets"][1:-1])
//! ```
//!
//! For a batch `y` of rank 2 or more, split `y` in the same way; element i is then `y[i].reshape(t["y.shape"][i])`.
//!
//! # Bad files
//! As for [`.vsla` files](crate::io), every bad file gives an error, and no memory is reserved for data that the file
//! does not have. The header, of at most 100 MB, takes at most 16 times its size in memory. The format has no checksum.

mod header;
mod reader;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

use super::Stored;

/// The format's name for a type of values.
fn dtype<T: Stored>() -> &'static str {
    ["F64", "F32", "F16", "U32", "I32", "C64", "U8"][T::CODE as usize]
}

/// The suffixes of a batch's tensors.
const VALUES: &str = ".values";
const OFFSETS: &str = ".offsets";
const SHAPE: &str = ".shape";
