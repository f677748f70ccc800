//! Reads series of different lengths from a Parquet file, smooths and transforms them on a device, and writes the
//! results to another Parquet file.
//!
//! The file is read and written in batches of rows, so it may be larger than memory. Each batch is one upload, five
//! operations and two downloads, whatever the lengths. The written file is then read again, and its results are
//! compared with those of plain loops in f64 over the series that it holds.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use check::Checked;
use compute::Job;
use device::Choice;
use numbers::{bytes, duration, thousands};
use source::Source;

mod check;
mod compute;
#[path = "../../common/device.rs"]
mod device;
#[cfg(test)]
#[path = "../../common/folder.rs"]
mod folder;
#[path = "../../common/numbers.rs"]
mod numbers;
#[allow(
    dead_code,
    reason = "this example replaces files as a whole: see sink.rs"
)]
#[path = "../../common/output.rs"]
mod output;
#[path = "../../common/progress.rs"]
mod progress;
mod sample;
mod sink;
mod source;
#[cfg(test)]
mod tests;

const EXAMPLES: &str = "\
Examples (cargo run --release --manifest-path examples/parquet/Cargo.toml -- ...):
  without arguments, makes parquet-out/sample.parquet and reads it
  ecg.parquet --column voltage --window 25 --out results
  ecg.parquet --nulls 0 --device gpu

Of a file NAME.parquet, the results are in FOLDER/NAME-spectra.parquet: all columns of the file, and two more,
COLUMN_smooth and COLUMN_spectrum. The file appears only after its check.

Exit status: 0 on success, 1 if a file, its contents or the device fail, 2 if the arguments are wrong.";

/// Smooth the series in a Parquet file, and compute their spectra
///
/// One column of the file holds lists of numbers: a series in each row, of any length. A smoothed series is the mean
/// of its neighbours, weighted by a Hann window. Its spectrum is the absolute value of the Fourier transform, for
/// frequencies 0 to n/2, after the mean has been subtracted. Without a file it makes one, of 1,000 series of 0 to
/// 2,000 samples.
#[derive(Parser)]
#[command(name = "vsla-parquet", version, after_help = EXAMPLES)]
struct Args {
    /// The file to read; it must be uncompressed, or compressed with Snappy, as most programs do by default
    #[arg(value_name = "FILE.parquet")]
    file: Option<PathBuf>,
    /// The column of series; not needed if only one column holds lists of numbers
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// The number of samples that a smoothed sample is the mean of; odd
    #[arg(long, value_name = "SAMPLES", default_value = "9", value_parser = window)]
    window: usize,
    /// Read a null in a series as this value, and a null list as an empty one; without it, nulls are errors
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    nulls: Option<f64>,
    /// The number of rows to read, compute and write at a time; does not change the results
    #[arg(long, value_name = "ROWS", default_value = "1024", value_parser = rows)]
    batch: usize,
    /// Folder for the results; created if missing
    #[arg(long, value_name = "FOLDER", default_value = "parquet-out")]
    out: PathBuf,
    /// Device to compute on; auto uses a GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    device: Choice,
}

fn window(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n % 2 == 1 && n < 1 << 20 => Ok(n),
        _ => Err("expected an odd number below 1,048,576".to_owned()),
    }
}

fn rows(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=1 << 24).contains(&n) => Ok(n),
        _ => Err("expected a number from 1 to 16,777,216".to_owned()),
    }
}

fn main() -> ExitCode {
    output::main(|| run(&Args::parse()))
}

/// Runs everything and returns the report.
fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let began = Instant::now();
    let sample = args.out.join("sample.parquet");
    let path = args.file.as_deref().unwrap_or(&sample);
    // Before a folder is made: a wrong name of a file is the likeliest mistake.
    if args.file.is_some() {
        source::open(path)?;
    }
    std::fs::create_dir_all(&args.out).map_err(|error| named(&args.out, &error))?;
    let mut report = String::new();
    if args.file.is_none() {
        sample::write(path)?;
        report += &format!("made     {}\n", path.display());
    }
    let source = Source::new(path, args.column.as_deref(), args.nulls)?;
    let device = args.device.open()?;
    let job = Job::new(&device, args.window)?;

    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let result = args.out.join(format!("{stem}-spectra.parquet"));
    let (totals, checked) = sink::whole(&result, |part| {
        let bar = progress::bar(
            false,
            format!("series on {}", device.info().name),
            source.rows,
        );
        let totals = convert(&source, &job, part, args.batch, &bar)?;
        bar.finish_and_clear();
        let bar = progress::bar(false, "check against f64".to_owned(), source.rows);
        let checked = check::check(part, &source, args.window, &totals.digest, &bar)?;
        bar.finish_and_clear();
        Ok((totals, checked))
    })?;

    report += &format!(
        "read     {}: {} series of {} samples in column `{}`\n",
        path.display(),
        thousands(source.rows),
        totals.lengths(),
        source.column,
    );
    report += &format!("device   {}\n", device.info());
    report += &format!(
        "wrote    {}, {}: {} samples, smoothed by {}, and {} amplitudes\n",
        result.display(),
        bytes(std::fs::metadata(&result)?.len()),
        thousands(totals.samples),
        args.window,
        thousands(totals.amplitudes),
    );
    report += &describe(&checked, source.rows);
    report += &format!("time     {}, files included\n", duration(began.elapsed()));
    Ok(report)
}

fn describe(checked: &Checked, rows: usize) -> String {
    let mut text = "checked  results read back bit for bit".to_owned();
    if checked.rows > 0 {
        text += &format!(
            "; {} of {} rows against f64: smoothed within {:.1e} of the largest sample, spectra within {:.1e} of the sum \
             of samples",
            thousands(checked.rows),
            thousands(rows),
            checked.smooth,
            checked.spectrum,
        );
    }
    if checked.not_finite > 0 {
        let rows = thousands(checked.not_finite);
        text += &format!("; rows with NaN or infinity, which are not compared: {rows}");
    }
    text + "\n"
}

/// What was written.
#[derive(Default)]
struct Totals {
    samples: usize,
    amplitudes: usize,
    shortest: Option<usize>,
    longest: usize,
    digest: check::Digest,
}

impl Totals {
    fn lengths(&self) -> String {
        let (shortest, longest) = (self.shortest.unwrap_or_default(), self.longest);
        match shortest == longest {
            true => thousands(longest),
            false => format!("{} to {}", thousands(shortest), thousands(longest)),
        }
    }
}

/// Writes the rows of a file with their results, batch by batch.
fn convert(
    source: &Source,
    job: &Job,
    path: &Path,
    rows: usize,
    bar: &indicatif::ProgressBar,
) -> Result<Totals, Box<dyn Error>> {
    let mut totals = Totals::default();
    let mut sink = sink::Sink::new(path, source)?;
    for batch in source.batches(rows)? {
        let (first, batch) = batch?;
        let series = source.series(first, &batch)?;
        let results = job.run(&series);
        let (smooth, spectrum) = results.map_err(|error| source.in_row(first, &error))?;
        for length in series.layout().lengths() {
            totals.shortest = Some(totals.shortest.unwrap_or(length).min(length));
            totals.longest = totals.longest.max(length);
        }
        totals.samples += smooth.layout().total();
        totals.amplitudes += spectrum.layout().total();
        totals.digest.add(&smooth, &spectrum);
        bar.inc(batch.num_rows() as u64);
        sink.write(batch, smooth, spectrum)?;
    }
    sink.close()?;
    Ok(totals)
}

fn named(path: &Path, problem: &dyn std::fmt::Display) -> Box<dyn Error> {
    format!("{}: {problem}", path.display()).into()
}
