//! Measures the speed of the library's operations, and compares it with stated targets.
//!
//! ```sh
//! cargo bench                                # every row, on the GPU if there is one and on the CPU
//! cargo bench -- add --device gpu            # the rows whose name contains "add"
//! cargo bench -- add --device gpu --checked  # the same, with shaders that check their bounds
//! cargo bench -- --json benches/results/name.json
//! cargo bench -- --table benches/results/name.json
//! cargo bench -- --table benches/results/name.json --beside benches/results/name-pytorch.json
//! cargo bench -- --table .. --beside .. --rows benches/readme.txt --picture docs/pictures/overview.svg
//! cargo bench -- --lengths
//! ```
//!
//! A row is the median of several runs, with its 95 % confidence interval. It has separate columns for device time,
//! wall time and the first call, and for the memory that it took and would take if padded. Results are checked against
//! a plain host computation in the same run. An idle GPU lowers its clocks, and is then several times slower. Therefore
//! copies precede every row, for a second or until they are as fast as ever, a reference copy is timed before and after
//! the row, and the row is flagged if that copy was slow.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use vsla::{Device, device::DeviceKind};

use harness::{Bench, Size, chosen, picture, report, table};

mod harness;
mod rows;

/// Measure and check the speed of the library's operations
///
/// Rows: peaks (bandwidth and arithmetic of the device), copies (changes of shape), map (functions of each value),
/// functions (of two operands, of one layout or spread), lines (reductions and maps along an axis), histogram, add,
/// hadamard, concat, gather, scatter, take and select (by indices), correlate_max, conv (conv/causal: kernels with
/// cached spectra; conv/images), eval, chain, fresh (new layouts in every call), layout (host time for layouts), plan
/// (host time to plan new lengths), created (sequences, random values, dropout and labels), pooling (windows of
/// images), images (of colours), label (components of images), fft and rfft, matmul, bsr (block-sparse products),
/// attention, program (recorded programs: runs, plans, gradients and memory), cpu (the CPU device against plain loops),
/// fleet (batches divided among all GPUs of a model), and interop (what it costs to bring data in and out, for the rows
/// in benches/readme.txt).
#[derive(Parser)]
#[command(name = "cargo bench --")]
struct Args {
    /// Run only rows whose name contains this text
    filter: Option<String>,
    /// Also write the results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also fail if a row misses its target, or if the device was slow during the measurement
    #[arg(long)]
    check: bool,
    /// Measure nothing; print the results in a file written by --json as a Markdown table
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    table: Option<PathBuf>,
    /// With --table: print only the rows that this file of benches/pytorch.py also has, with its times next to them
    #[arg(long, value_name = "FILE", requires = "table")]
    beside: Option<PathBuf>,
    /// With --beside: print only the rows that this file lists, one per line, each with a name and a caption
    #[arg(long, value_name = "FILE", requires = "beside")]
    rows: Option<PathBuf>,
    /// With --rows: also draw these rows, and the lengths of the first row
    #[arg(long, value_name = "OUT.svg", requires = "rows")]
    picture: Option<PathBuf>,
    /// Measure nothing; print the lengths that rows compute on, and how different they are
    #[arg(long, conflicts_with_all = ["json", "table"])]
    lengths: bool,
    /// Devices to measure
    #[arg(long, value_enum, default_value = "all")]
    device: Choice,
    /// Compile shaders with bounds checks (`GpuOptions::checked`), to measure what the checks cost
    #[arg(long)]
    checked: bool,
    /// Use small sizes and few runs, to test that every row works; the times mean nothing then
    #[arg(long)]
    quick: bool,
    /// Passed by cargo; ignored
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Choice {
    /// The CPU
    Cpu,
    /// A GPU, which may be a software rasteriser; an error if there is none
    Gpu,
    /// A GPU if there is one, and the CPU
    All,
}

fn main() -> ExitCode {
    env_logger::init();
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benchmarks; returns whether all results are correct and, with `--check`, all targets are met.
fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    if let Some(path) = &args.table {
        print!("{}", stored(path, args)?);
        return Ok(true);
    }
    if args.lengths {
        print!("{}", table::lengths()?);
        return Ok(true);
    }
    let began = Instant::now();
    let mut reports = Vec::new();
    for device in devices(args)? {
        let info = device.info();
        let size = Size::of(args.quick || info.kind == DeviceKind::Software, &info);
        let checked = ["", ", checked shaders"][usize::from(args.checked && device.is_gpu())];
        eprintln!(
            "{info}{checked}{}",
            if size.quick { ", small sizes" } else { "" }
        );
        let mut bench = Bench::new(device, size, args.filter.clone())?;
        rows::all(&mut bench)?;
        reports.push(bench.finish());
    }
    report::print(&reports);
    println!("{:.0} s in all", began.elapsed().as_secs_f64());
    let json = report::json(&reports, began.elapsed());
    if let Some(path) = &args.json {
        let folder = path.parent().unwrap_or(path);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(path, format!("{json:#}\n")))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let rows = || reports.iter().flat_map(|report| &report.rows);
    let well = rows().all(|row| row.check.is_ok());
    let fast = rows().all(|row| row.steady && row.targets.iter().all(|target| target.met()));
    Ok(well && (fast || !args.check))
}

/// The table of an earlier run.
fn stored(path: &Path, args: &Args) -> Result<String, String> {
    let text = |path: &Path| std::fs::read_to_string(path).map_err(|error| about(path, &error));
    let read = |path: &Path| -> Result<serde_json::Value, String> {
        serde_json::from_str(&text(path)?).map_err(|error| about(path, &error))
    };
    let run = read(path)?;
    let peer = args.beside.as_deref().map(read).transpose()?;
    if let Some(peer) = peer {
        let Some(list) = &args.rows else {
            return Ok(table::beside(&run, &peer));
        };
        let names = text(list)?;
        let rows = chosen::rows(&names, &run, &peer).map_err(|error| about(list, &error))?;
        if let Some(path) = &args.picture {
            let device = peer["device"].as_str().unwrap_or("?");
            let svg = picture::svg(&rows, device).map_err(|error| about(list, &error))?;
            std::fs::write(path, svg).map_err(|error| about(path, &error))?;
        }
        return Ok(chosen::markdown(&rows, &peer));
    }
    let filter = args.filter.as_deref().unwrap_or_default();
    Ok(table::markdown(&run, filter, |kind| match args.device {
        Choice::All => true,
        Choice::Cpu => kind == "Cpu",
        Choice::Gpu => kind != "Cpu",
    }))
}

fn about(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(feature = "gpu")]
fn devices(args: &Args) -> vsla::Result<Vec<Device>> {
    let options = vsla::device::GpuOptions {
        checked: args.checked,
        ..vsla::device::GpuOptions::default()
    };
    Ok(match (args.device, Device::gpu_blocking(options)) {
        (Choice::Cpu, _) => vec![Device::cpu()],
        (Choice::Gpu, gpu) => vec![gpu?],
        (Choice::All, Ok(gpu)) => vec![gpu, Device::cpu()],
        (Choice::All, Err(error)) => {
            eprintln!("only the CPU: {error}");
            vec![Device::cpu()]
        }
    })
}

#[cfg(not(feature = "gpu"))]
fn devices(args: &Args) -> Result<Vec<Device>, &'static str> {
    match args.device {
        Choice::Gpu => Err("this build has no GPU support (feature `gpu`)"),
        Choice::Cpu | Choice::All => Ok(vec![Device::cpu()]),
    }
}
