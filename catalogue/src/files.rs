//! Reads a batch from a `.vsla` file, and writes a batch to one.

use std::fs;

use serde_json::json;
use vsla::io::{Any, Contents, Stored};
use vsla::{Error, Ragged, Shape};

use crate::batch::written_size;
use crate::failure::{Failure, Result};
use crate::held::{Held, of_args};
use crate::operations::{Answer, Call, within};

/// The contents of a file; block-sparse matrices are expanded.
pub fn read(call: &mut Call<'_>) -> Result<Answer> {
    let file = call.options.text("file")?;
    let limit = call.max_values;
    let any = Any::read(&file).map_err(|error| named(error, &file))?;
    Ok(Answer::Batch(Held::Read(match any {
        Any::F64(contents) => dense(contents, limit)?.into(),
        Any::F32(contents) => dense(contents, limit)?.into(),
        Any::F16(contents) => dense(contents, limit)?.into(),
        Any::U32(contents) => dense(contents, limit)?.into(),
        Any::I32(contents) => dense(contents, limit)?.into(),
        Any::C32(contents) => dense(contents, limit)?.into(),
        Any::U8(contents) => dense(contents, limit)?.into(),
        other => unreachable!("a type that calc does not support: {other:?}"),
    })))
}

fn dense<T: Stored + Default>(contents: Contents<T>, limit: u64) -> Result<Ragged<T>> {
    match contents {
        Contents::Ragged(batch) => {
            within(
                limit,
                &mut batch.layout().shapes().map(|s| written_size(&s)),
            )?;
            Ok(batch)
        }
        Contents::Bsr(matrices) => {
            let size = written_size(&Shape::new(&matrices.topology().shape())?);
            within(limit, &mut (0..matrices.len()).map(|_| size))?;
            Ok(matrices.to_dense()?)
        }
    }
}

/// Writes a batch, and answers with the size of the file.
pub fn write(call: &mut Call<'_>) -> Result<Answer> {
    let file = call.options.text("file")?;
    of_args!(&call.args, args => args[0].write(&file)).map_err(|error| named(error, &file))?;
    let size = fs::metadata(&file).map_or(0, |about| about.len());
    Ok(Answer::About(json!({"bytes": size})))
}

/// A failure that names the file, as the library does where the system cannot open it.
fn named(error: Error, file: &str) -> Failure {
    let is_named = matches!(error, Error::Io { .. });
    let failure = Failure::from(error);
    match is_named {
        true => failure,
        false => failure.about(file),
    }
}
