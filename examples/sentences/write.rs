//! Files of vectors: `.vsla`, `.safetensors` and `.npy`.

use std::path::Path;

use safetensors::{Dtype, tensor::TensorView};
use vsla::{Ragged, Shape};

use crate::output;
use crate::published::Failure;

/// The form of a file, by the end of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Vsla,
    Safetensors,
    Npy,
}

impl Form {
    pub fn of(path: &Path) -> Result<Form, Failure> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("vsla") => Ok(Form::Vsla),
            Some("safetensors") => Ok(Form::Safetensors),
            Some("npy") => Ok(Form::Npy),
            _ => {
                let file = path.display();
                Err(
                    format!("{file}: expected a name that ends in .vsla, .safetensors or .npy")
                        .into(),
                )
            }
        }
    }
}

/// Writes vectors of one length as a matrix, a row for each: the only element of a batch, or a tensor `embeddings`.
pub fn write(path: &Path, vectors: &[Vec<f32>]) -> Result<(), Failure> {
    let values = vectors.concat();
    let shape = [vectors.len(), vectors.first().map_or(0, Vec::len)];
    let bytes = || -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    };
    match Form::of(path)? {
        Form::Vsla => {
            let batch = Ragged::from_shapes(values, 2, [Shape::new(&shape)?])?;
            Ok(batch.write(path)?)
        }
        Form::Safetensors => {
            let bytes = bytes();
            let tensor = TensorView::new(Dtype::F32, shape.to_vec(), &bytes)?;
            output::write(
                path,
                safetensors::serialize([("embeddings", tensor)], None)?,
            )
        }
        Form::Npy => output::write(path, [npy_head(shape), bytes()].concat()),
    }
}

/// The head of a NumPy file, version 1.0: it ends at a multiple of 64 bytes.
fn npy_head([rows, columns]: [usize; 2]) -> Vec<u8> {
    let magic = b"\x93NUMPY\x01\x00";
    let text =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let before = magic.len() + size_of::<u16>();
    let end = (before + text.len() + 1).next_multiple_of(64);
    let text = format!("{text:width$}\n", width = end - before - 1);
    let length = text.len() as u16;
    [&magic[..], &length.to_le_bytes(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_numpy_files_are_aligned() {
        for rows in [0, 1, 1_000_000_000_000] {
            let head = npy_head([rows, 384]);
            assert!(head.len().is_multiple_of(64) && head.ends_with(b"\n"));
            let length = u16::from_le_bytes([head[8], head[9]]);
            assert_eq!(usize::from(length) + 10, head.len());
        }
    }
}
