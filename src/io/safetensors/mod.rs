//! Batches in `.safetensors` files, for other programs. With the feature `safetensors`.
//!
//! A batch `x` is two tensors of the [format](https://huggingface.co/docs/safetensors), and three above rank 1:
//!
//! | tensor | type | shape | what |
//! | --- | --- | --- | --- |
//! | `x.values` | that of the values, `Complex32` as `C64` | (values) | one element after the other, each row-major |
//! | `x.offsets` | `I64` | (elements + 1) | where each element begins, and the last one ends |
//! | `x.shape` | `I64` | (elements, rank) | the extents of each element; not there for rank 1 |
//!
//! A file holds any number of batches, of any types. Read are offsets and extents of `I32`, `U32` and `U64` too, and
//! files that hold other tensors beside them.
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
//! Two lines, for PyTorch's nested tensors:
//!
//! ```python
//! t = safetensors.torch.load_file("x.safetensors")
//! x = torch.nested.nested_tensor_from_jagged(t["x.values"], t["x.offsets"])
//! ```
//!
//! or, as a list of arrays of NumPy:
//!
//! ```python
//! t = safetensors.numpy.load_file("x.safetensors")
//! x = numpy.split(t["x.values"], t["x.offsets"][1:-1])
//! ```
//!
//! Element i of a batch of rank 2 or more is `y[i].reshape(t["y.shape"][i])`, where y is split as x is.
//!
//! # Bad files
//! As of [`.vsla` files](crate::io): every one gives an error, and nothing is reserved that the file does not have. Its
//! header, of up to 100 MB, takes at most 16 times its size in memory. There is no checksum in this format.

mod header;
mod reader;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

use super::Stored;

/// What the format calls a type of values.
fn dtype<T: Stored>() -> &'static str {
    ["F64", "F32", "F16", "U32", "I32", "C64"][T::CODE as usize]
}

/// Behind the name of a batch.
const VALUES: &str = ".values";
const OFFSETS: &str = ".offsets";
const SHAPE: &str = ".shape";
