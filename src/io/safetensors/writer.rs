//! Writing all batches of a file at once.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::super::Stored;
use super::super::sink::{self, Sink};
use super::{OFFSETS, SHAPE, VALUES, dtype};
use crate::error::Named;
use crate::error::{Error, Result};
use crate::host;
use crate::ragged::Ragged;

/// The number of integers to widen at a time.
const PIECE: usize = 1 << 12;

/// Batches to write to one `.safetensors` file. Borrows them: nothing is copied.
#[derive(Default)]
pub struct Writer<'a> {
    tensors: Vec<Tensor<'a>>,
}

struct Tensor<'a> {
    name: String,
    dtype: &'static str,
    shape: Vec<usize>,
    data: Data<'a>,
}

enum Data<'a> {
    /// The bytes of the values, and the size of one number in bytes.
    Values(&'a [u8], usize),
    /// Integers that are stored with 64 bits.
    Wide(&'a [u32]),
}

impl Data<'_> {
    fn bytes(&self) -> usize {
        match self {
            Data::Values(bytes, _) => bytes.len(),
            Data::Wide(numbers) => 8 * numbers.len(),
        }
    }
}

impl<'a> Writer<'a> {
    /// A file without batches.
    pub fn new() -> Writer<'a> {
        Writer::default()
    }

    /// Adds a batch.
    ///
    /// # Errors
    /// [`Error::Name`] for a name that was already added.
    pub fn add<T: Stored>(&mut self, name: &str, batch: &'a Ragged<T>) -> Result<&mut Self> {
        let values = format!("{name}{VALUES}");
        if self.tensors.iter().any(|tensor| tensor.name == values) {
            return Err(Error::Name {
                op: "write",
                expected: "a distinct name for each batch".into(),
                got: name.to_owned(),
            });
        }
        let (layout, offsets) = (batch.layout(), batch.layout().offsets().as_slice());
        self.tensors.push(Tensor {
            name: values,
            dtype: dtype::<T>(),
            shape: vec![layout.total()],
            data: Data::Values(bytemuck::cast_slice(batch.values()), T::NUMBER),
        });
        self.tensors.push(Tensor {
            name: format!("{name}{OFFSETS}"),
            dtype: "I64",
            shape: vec![offsets.len()],
            data: Data::Wide(offsets),
        });
        if layout.rank() > 1 {
            self.tensors.push(Tensor {
                name: format!("{name}{SHAPE}"),
                dtype: "I64",
                shape: vec![layout.len(), layout.rank()],
                data: Data::Wide(layout.extents()),
            });
        }
        Ok(self)
    }

    /// Writes the file, replacing an existing one. Like [`Ragged::write`], it writes the whole file or nothing.
    ///
    /// # Errors
    /// [`Error::Io`] when the system cannot write the file; the previous contents are then still there.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        sink::replace(path.as_ref(), |sink| self.write_all(sink))
    }

    /// Like [`write`](Self::write), to a stream, which is flushed.
    ///
    /// # Errors
    /// [`Error::Io`] when the stream fails. Data written before the failure stays in the stream.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        self.write_all(&mut Sink::new(writer))
    }

    fn write_all(&self, sink: &mut Sink<impl Write>) -> Result<()> {
        // Write the widest numbers first, so that each number is aligned to its size.
        let mut tensors: Vec<_> = self.tensors.iter().collect();
        tensors.sort_by_key(|tensor| match tensor.data {
            Data::Wide(_) => 0,
            Data::Values(_, number) => 16 - number,
        });
        let mut header = String::from("{");
        let mut end = 0;
        for tensor in &tensors {
            let begin = end;
            end += tensor.data.bytes();
            header.push_str(if header.len() == 1 { "" } else { "," });
            let Tensor {
                name, dtype, shape, ..
            } = tensor;
            let (name, shape) = (json!(name), json!(shape));
            header.push_str(&format!(
                r#"{name}:{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#
            ));
        }
        header.push('}');
        while header.len() % 8 != 0 {
            header.push(' ');
        }
        sink.bytes(&(header.len() as u64).to_le_bytes())?;
        sink.bytes(header.as_bytes())?;
        for tensor in &tensors {
            match tensor.data {
                Data::Values(bytes, number) => sink.values(bytes, number)?,
                Data::Wide(numbers) => {
                    for piece in numbers.chunks(PIECE) {
                        let wide =
                            host::exact(piece.iter().map(|&n| u64::from(n))).named(sink::OP)?;
                        sink.values(&wide, 8)?;
                    }
                }
            }
        }
        sink.flush()
    }
}
