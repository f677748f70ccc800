//! The written file, read again: its results have the bits that the device returned, and are those of plain loops in
//! f64 over its series, which are read without this library.

use std::error::Error;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_schema::DataType;
use indicatif::ProgressBar;
use vsla::Ragged;

use crate::compute::hann;
use crate::named;
use crate::source::{Source, batches};

/// The most that a smoothed sample may differ from f64, as a share of the largest sample of its series, and an
/// amplitude, as a share of the sum of all samples, which is the largest amplitude that such samples can have.
const TOLERANCE: f64 = 1e-5;
/// The multiply-adds that all comparisons may take, about a second. Of a larger file, some rows are compared.
const WORK: f64 = 1e9;
const ROWS: usize = 1024;

/// A fingerprint of results.
#[derive(Clone, Default)]
pub struct Digest(DefaultHasher);

impl Digest {
    /// Adds rows of results. How they are distributed over batches makes no difference.
    pub fn add(&mut self, smooth: &Ragged<f32>, spectrum: &Ragged<f32>) {
        for (smooth, spectrum) in smooth.iter().zip(spectrum.iter()) {
            for row in [smooth, spectrum] {
                self.0.write_usize(row.len());
                row.iter()
                    .for_each(|value| self.0.write_u32(value.to_bits()));
            }
        }
    }
}

/// The rows that were compared, and the largest differences, as shares.
#[derive(Default, Debug)]
pub struct Checked {
    pub rows: usize,
    pub smooth: f64,
    pub spectrum: f64,
    /// Rows with NaN or infinity.
    pub not_finite: usize,
}

/// Checks a file of results. Its first columns are those of the source.
pub fn check(
    path: &Path,
    source: &Source,
    width: usize,
    expected: &Digest,
    bar: &ProgressBar,
) -> Result<Checked, Box<dyn Error>> {
    let window = hann(width);
    let mut checked = Checked::default();
    let (mut digest, mut rows, mut work) = (Digest::default(), 0, 0.0);
    for batch in batches(path, ROWS)? {
        let (first, mut batch) = batch?;
        let series = batch.column(source.index).clone();
        let [smooth, spectrum] =
            results(&mut batch, source).map_err(|error| named(path, &error))?;
        digest.add(&smooth, &spectrum);
        for i in 0..batch.num_rows() {
            let row = first + i;
            let series = values(&series, i, source.nulls);
            if !series.iter().all(|value| value.is_finite()) {
                checked.not_finite += 1;
                continue;
            }
            let cost = series.len() as f64 * (width as f64 + series.len() as f64 / 2.0);
            if work + cost > WORK * (row + 1) as f64 / source.rows as f64 {
                continue;
            }
            work += cost;
            checked.rows += 1;
            let most = series
                .iter()
                .fold(0.0, |most: f64, value| most.max(value.abs()));
            let differs = difference(smooth.row(i), &smoothed(&series, &window), most)
                .map_err(|problem| named(path, &format!("row {row}: smoothed {problem}")))?;
            checked.smooth = checked.smooth.max(differs);
            let sum = series.iter().map(|value| value.abs()).sum();
            let differs = difference(spectrum.row(i), &amplitudes(&series), sum)
                .map_err(|problem| named(path, &format!("row {row}: spectrum {problem}")))?;
            checked.spectrum = checked.spectrum.max(differs);
        }
        rows += batch.num_rows();
        bar.inc(batch.num_rows() as u64);
    }
    if rows != source.rows {
        let problem = format!("{rows} rows were written of {}", source.rows);
        return Err(named(path, &problem));
    }
    match digest.0.finish() == expected.0.finish() {
        true => Ok(checked),
        false => Err(named(path, &"other results than those that were written")),
    }
}

/// Takes the columns of results out of a batch. Nothing else refers to their values then, so that these are not copied.
fn results(batch: &mut RecordBatch, source: &Source) -> vsla::Result<[Ragged<f32>; 2]> {
    let place = source.schema.fields().len();
    let [smooth, spectrum] = [(); 2].map(|()| batch.remove_column(place));
    Ok([
        Ragged::from_arrow(smooth.into_data())?,
        Ragged::from_arrow(spectrum.into_data())?,
    ])
}

/// The largest difference between results and those in f64, as a share of `scale`.
fn difference(results: &[f32], expected: &[f64], scale: f64) -> Result<f64, String> {
    if results.len() != expected.len() {
        let (got, expected) = (results.len(), expected.len());
        return Err(format!("has {got} values instead of {expected}"));
    }
    let mut most = 0.0f64;
    for (at, (&result, &expected)) in results.iter().zip(expected).enumerate() {
        // Devices may flush numbers near the least normal one to zero, each summand by itself.
        let flushed = f64::from(f32::MIN_POSITIVE) * (results.len() + 1) as f64;
        let share = ((f64::from(result) - expected).abs() - flushed).max(0.0)
            / scale.max(f64::MIN_POSITIVE);
        if share > TOLERANCE || !result.is_finite() {
            return Err(format!("is {result} at {at}, but {expected} in f64"));
        }
        most = most.max(share);
    }
    Ok(most)
}

/// The mean of the neighbours of each sample, with the weights of a window around it.
fn smoothed(series: &[f64], window: &[f64]) -> Vec<f64> {
    let half = window.len() / 2;
    let mean = |i: usize| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for j in i.saturating_sub(half)..series.len().min(i + half + 1) {
            let weight = window[j + half - i];
            sum += weight * series[j];
            weights += weight;
        }
        sum / weights
    };
    (0..series.len()).map(mean).collect()
}

/// The absolute values of the discrete Fourier transform of a series without its mean, by the definition.
fn amplitudes(series: &[f64]) -> Vec<f64> {
    let n = series.len();
    let mean = series.iter().sum::<f64>() / n as f64;
    let turn = |k: usize| std::f64::consts::TAU * k as f64 / n as f64;
    let circle: Vec<(f64, f64)> = (0..n).map(|k| turn(k).sin_cos()).collect();
    let amplitude = |k: usize| {
        let (mut re, mut im, mut at) = (0.0, 0.0, 0);
        for value in series {
            let (sin, cos) = circle[at];
            re += (value - mean) * cos;
            im += (value - mean) * sin;
            at += k;
            at -= if at >= n { n } else { 0 };
        }
        re.hypot(im)
    };
    match n {
        0 => vec![],
        _ => (0..=n / 2).map(amplitude).collect(),
    }
}

/// The list in a row, by the typed arrays of Arrow.
pub fn values(lists: &ArrayRef, row: usize, nulls: Option<f64>) -> Vec<f64> {
    let is_fixed = matches!(lists.data_type(), DataType::FixedSizeList(..));
    if lists.is_null(row) && !is_fixed {
        return vec![];
    }
    let list = match lists.data_type() {
        DataType::List(_) => lists.as_list::<i32>().value(row),
        DataType::LargeList(_) => lists.as_list::<i64>().value(row),
        _ => lists.as_fixed_size_list().value(row),
    };
    if lists.is_null(row) {
        return vec![nulls.unwrap_or(f64::NAN); list.len()];
    }
    match list.data_type() {
        DataType::Float64 => numbers::<Float64Type>(&list, nulls, |x| x),
        DataType::Float32 => numbers::<Float32Type>(&list, nulls, f64::from),
        DataType::Float16 => numbers::<Float16Type>(&list, nulls, f64::from),
        DataType::Int8 => numbers::<Int8Type>(&list, nulls, f64::from),
        DataType::Int16 => numbers::<Int16Type>(&list, nulls, f64::from),
        DataType::Int32 => numbers::<Int32Type>(&list, nulls, f64::from),
        DataType::Int64 => numbers::<Int64Type>(&list, nulls, |x| x as f64),
        DataType::UInt8 => numbers::<UInt8Type>(&list, nulls, f64::from),
        DataType::UInt16 => numbers::<UInt16Type>(&list, nulls, f64::from),
        DataType::UInt32 => numbers::<UInt32Type>(&list, nulls, f64::from),
        _ => numbers::<UInt64Type>(&list, nulls, |x| x as f64),
    }
}

fn numbers<T: ArrowPrimitiveType>(
    list: &ArrayRef,
    nulls: Option<f64>,
    convert: impl Fn(T::Native) -> f64,
) -> Vec<f64> {
    let null = nulls.unwrap_or(f64::NAN);
    let list = list.as_primitive::<T>();
    list.iter()
        .map(|value| value.map_or(null, &convert))
        .collect()
}
