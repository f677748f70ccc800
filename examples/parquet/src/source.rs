//! The file to read: its column of series, as batches of rows.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use vsla::io::ArrowValue;
use vsla::{Ragged, f16};

use crate::named;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A Parquet file with a column of series.
pub struct Source {
    pub path: PathBuf,
    pub column: String,
    /// The place of this column.
    pub index: usize,
    pub schema: SchemaRef,
    pub rows: usize,
    /// What a null is read as.
    pub nulls: Option<f64>,
}

/// Opens a file, of which only the schema and the places of its parts are read.
pub fn open(path: &Path) -> Outcome<ParquetRecordBatchReaderBuilder<File>> {
    let file = File::open(path).map_err(|error| named(path, &error))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| named(path, &error))
}

impl Source {
    /// Finds the column of series: that of this name, or the only one.
    pub fn new(path: &Path, column: Option<&str>, nulls: Option<f64>) -> Outcome<Source> {
        let builder = open(path)?;
        let schema = builder.schema().clone();
        let index = match column {
            Some(name) => named_column(&schema, name),
            None => only_column(&schema),
        };
        let index = index.map_err(|problem| named(path, &problem))?;
        let rows = builder.metadata().file_metadata().num_rows();
        let source = Source {
            path: path.to_owned(),
            column: schema.field(index).name().clone(),
            index,
            schema,
            rows: usize::try_from(rows).map_err(|_| named(path, &"a negative number of rows"))?,
            nulls,
        };
        source.check_nulls()?;
        Ok(source)
    }

    /// Batches of rows, each with the number of its first row.
    pub fn batches(
        &self,
        rows: usize,
    ) -> Outcome<impl Iterator<Item = Outcome<(usize, RecordBatch)>>> {
        batches(&self.path, rows)
    }

    /// The series in a batch of rows.
    pub fn series(&self, first: usize, batch: &RecordBatch) -> Outcome<Ragged<f32>> {
        // The rows are written again, so the library copies the values, and leaves this array as it is.
        let lists = batch.column(self.index).clone();
        macro_rules! read {
            ($number:ty, $convert:expr) => {{
                let null = self.nulls.map(|value| value as $number);
                lenient::<$number>(lists, null).and_then(|series| series.cast($convert))
            }};
        }
        let read = match numbers(lists.data_type()) {
            Some(DataType::Float64) => {
                let series = lenient::<f64>(lists, self.nulls);
                let series = series.map_err(|error| self.in_row(first, &error))?;
                self.check_range(first, &series)?;
                series.cast(|value| value as f32)
            }
            Some(DataType::Float32) => lenient(lists, self.nulls.map(|value| value as f32)),
            Some(DataType::Float16) => {
                let series = lenient::<f16>(lists, self.nulls.map(f16::from_f64));
                series.and_then(|series| series.cast(f16::to_f32))
            }
            Some(DataType::Int8) => read!(i8, f32::from),
            Some(DataType::Int16) => read!(i16, f32::from),
            Some(DataType::Int32) => read!(i32, |value| value as f32),
            Some(DataType::Int64) => read!(i64, |value| value as f32),
            Some(DataType::UInt8) => read!(u8, f32::from),
            Some(DataType::UInt16) => read!(u16, f32::from),
            Some(DataType::UInt32) => read!(u32, |value| value as f32),
            _ => read!(u64, |value| value as f32),
        };
        read.map_err(|error| self.in_row(first, &error))
    }

    /// An error of the library, which counts elements within a batch, with the row of the file.
    pub fn in_row(&self, first: usize, error: &vsla::Error) -> Box<dyn Error> {
        let column = &self.column;
        let problem = match (error, error.element()) {
            (vsla::Error::Null { element, index, .. }, _) => {
                let row = first + element;
                match index.first() {
                    None => format!("row {row}: column `{column}` is null: see --nulls"),
                    Some(at) => {
                        format!("row {row}: column `{column}` is null at {at}: see --nulls")
                    }
                }
            }
            (_, Some(element)) => {
                format!("row {}: column `{column}`: {error}", first + element)
            }
            (_, None) => format!("rows from {first} on: column `{column}`: {error}"),
        };
        named(&self.path, &problem)
    }

    fn check_range(&self, first: usize, series: &Ragged<f64>) -> Outcome<()> {
        for (row, values) in series.iter().enumerate() {
            let large = |value: &f64| value.is_finite() && !(*value as f32).is_finite();
            if let Some(at) = values.iter().position(large) {
                let (row, column, value) = (first + row, &self.column, values[at]);
                let problem = format!(
                    "row {row}: column `{column}` is {value:e} at {at}, which is out of the range of f32"
                );
                return Err(named(&self.path, &problem));
            }
        }
        Ok(())
    }

    /// Checks before the work that the column can hold what nulls are read as.
    fn check_nulls(&self) -> Outcome<()> {
        let (column, number) = (
            &self.column,
            numbers(self.schema.field(self.index).data_type()),
        );
        let (Some(value), Some(number)) = (self.nulls, number) else {
            return Ok(());
        };
        macro_rules! holds {
            ($number:ty) => {
                value as $number as f64 == value
            };
        }
        let holds = match number {
            DataType::Int8 => holds!(i8),
            DataType::Int16 => holds!(i16),
            DataType::Int32 => holds!(i32),
            DataType::Int64 => holds!(i64),
            DataType::UInt8 => holds!(u8),
            DataType::UInt16 => holds!(u16),
            DataType::UInt32 => holds!(u32),
            DataType::UInt64 => holds!(u64),
            _ => true,
        };
        match holds {
            true => Ok(()),
            false => {
                let problem = format!("--nulls {value}: column `{column}` has values of {number}");
                Err(named(&self.path, &problem))
            }
        }
    }
}

/// Batches of the rows of a file, each with the number of its first row.
pub fn batches(
    path: &Path,
    rows: usize,
) -> Outcome<impl Iterator<Item = Outcome<(usize, RecordBatch)>>> {
    let reader = open(path)?.with_batch_size(rows).build();
    let mut first = 0;
    let path = path.to_owned();
    let batches = reader.map_err(|error| named(&path, &error))?;
    Ok(batches.map(move |batch| match batch {
        Ok(batch) => {
            let from = first;
            first += batch.num_rows();
            Ok((from, batch))
        }
        Err(error) => Err(named(&path, &format!("rows from {first} on: {error}"))),
    }))
}

/// The type of the numbers in a column of series.
pub fn numbers(column: &DataType) -> Option<&DataType> {
    let entry = match column {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            field.data_type()
        }
        _ => return None,
    };
    let float = matches!(
        entry,
        DataType::Float16 | DataType::Float32 | DataType::Float64
    );
    (float || entry.is_integer()).then_some(entry)
}

fn named_column(schema: &Schema, name: &str) -> Result<usize, String> {
    let (index, field) = schema.column_with_name(name).ok_or_else(|| {
        format!(
            "no column `{name}`; the columns are {}",
            listed(schema, |_| true)
        )
    })?;
    match numbers(field.data_type()) {
        Some(_) => Ok(index),
        None => Err(format!(
            "column `{name}` is {}: expected a list of numbers in each row",
            field.data_type()
        )),
    }
}

fn only_column(schema: &Schema) -> Result<usize, String> {
    let holds = |index: usize| numbers(schema.field(index).data_type()).is_some();
    let mut all = (0..schema.fields().len()).filter(|&index| holds(index));
    match (all.next(), all.next()) {
        (Some(index), None) => Ok(index),
        (None, _) => Err(format!(
            "no column holds lists of numbers; the columns are {}",
            listed(schema, |_| true)
        )),
        (Some(_), Some(_)) => Err(format!(
            "several columns hold lists of numbers: choose one by --column, of {}",
            listed(schema, |data_type| numbers(data_type).is_some())
        )),
    }
}

fn listed(schema: &Schema, which: impl Fn(&DataType) -> bool) -> String {
    let fields = schema
        .fields()
        .iter()
        .filter(|field| which(field.data_type()));
    let fields: Vec<_> = fields
        .map(|field| format!("`{}` ({})", field.name(), field.data_type()))
        .collect();
    match fields.is_empty() {
        true => "none".to_owned(),
        false => fields.join(", "),
    }
}

/// Lists of numbers, with a value for nulls, or an error if there are any.
fn lenient<T: ArrowValue>(lists: ArrayRef, nulls: Option<T>) -> vsla::Result<Ragged<T>> {
    match nulls {
        None => Ragged::from_arrow(lists.into_data()),
        Some(value) => Ragged::from_arrow_or(lists.into_data(), value),
    }
}
