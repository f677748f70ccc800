//! The file to write: all columns of the file that was read, and the results.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, make_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use vsla::Ragged;

use crate::named;
use crate::source::Source;

/// Lets `write` write and check a file under another name, and gives it its own name only then: if anything fails,
/// there is no file, or the old one.
pub fn whole<R>(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<R, Box<dyn Error>>,
) -> Result<R, Box<dyn Error>> {
    let part = path.with_extension("part");
    let done = write(&part).and_then(|done| {
        std::fs::rename(&part, path).map_err(|error| named(path, &error))?;
        Ok(done)
    });
    if done.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    done
}

/// The names of the columns of results.
pub fn names(column: &str) -> [String; 2] {
    ["smooth", "spectrum"].map(|what| format!("{column}_{what}"))
}

/// The type of a column of results: a list of numbers in each row, none of them null.
fn lists() -> DataType {
    DataType::new_list(DataType::Float32, false)
}

pub struct Sink {
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<File>,
}

impl Sink {
    pub fn new(path: &Path, source: &Source) -> Result<Sink, Box<dyn Error>> {
        let mut fields = source.schema.fields().to_vec();
        for name in names(&source.column) {
            if source.schema.column_with_name(&name).is_some() {
                let problem = format!("column `{name}` exists already");
                return Err(named(&source.path, &problem));
            }
            fields.push(Arc::new(Field::new(name, lists(), false)));
        }
        let schema = Schema::new_with_metadata(fields, source.schema.metadata().clone());
        let schema = Arc::new(schema);
        Ok(Sink {
            path: path.to_owned(),
            schema: schema.clone(),
            writer: writer(path, schema)?,
        })
    }

    /// Adds the results to a batch of rows, and writes it.
    pub fn write(
        &mut self,
        batch: RecordBatch,
        smooth: Ragged<f32>,
        spectrum: Ragged<f32>,
    ) -> Result<(), Box<dyn Error>> {
        let mut columns = batch.columns().to_vec();
        for results in [smooth, spectrum] {
            // Moves the values, and copies none.
            columns.push(make_array(results.into_arrow(&lists())?));
        }
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        let written = batch
            .map_err(Into::into)
            .and_then(|batch| self.writer.write(&batch));
        written.map_err(|error| named(&self.path, &error))
    }

    pub fn close(self) -> Result<(), Box<dyn Error>> {
        let path = self.path;
        self.writer.close().map_err(|error| named(&path, &error))?;
        Ok(())
    }
}

pub fn writer(path: &Path, schema: SchemaRef) -> Result<ArrowWriter<File>, Box<dyn Error>> {
    let file = File::create(path).map_err(|error| named(path, &error))?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    ArrowWriter::try_new(file, schema, Some(properties.build()))
        .map_err(|error| named(path, &error))
}
