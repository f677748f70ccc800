//! What pruning a layer to blocks gains on this device in time and memory, and how it changes the layer's output.
//!
//! A layer is y = relu(x Wᵀ + b) for a batch of rows x. Its weights W are divided into blocks, and only those with the
//! largest norms are kept, at a series of densities. Each density is measured against the dense layer, and checked
//! against the dense layer with the same weights; the break-even density is interpolated. Bias and relu are the
//! epilogue of both products.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use vsla::{Topology, f16};

use check::{Check, Value};
use device::Choice;
use layer::Layer;
use report::Report;

mod check;
#[path = "../common/device.rs"]
mod device;
#[path = "../common/ink.rs"]
mod ink;
mod layer;
mod measure;
#[path = "../common/output.rs"]
mod output;
mod plot;
#[path = "../common/progress.rs"]
mod progress;
mod report;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p pruned_layer
  cargo run --release -p pruned_layer -- --size 4096 --block 64 --plot break-even.svg
  cargo run --release -p pruned_layer -- --file weights.vsla --densities 0.1,0.2 --save pruned.vsla
  cargo run --release -p pruned_layer -- --device cpu --json > result.json

The layer is y = relu(x W' + bias). Its weights W are cut into blocks, and a density is the share of the blocks that is
kept: those with the largest norms. Bias and rows are random. Without --file the weights are random, too: uniform, with
a separate scale for each 32 x 32 of them.

For every density and for the dense layer, the program prints (and plots with --plot):
  time          of one call: device time if the device reports it, else the time until the result is available
  GFLOP/s       counting only operations on stored weights, not on zeros outside the stored blocks
  memory        of the weights on the device, including their plan
  output error  |y - y'| / |y|, with the output y of all weights and the output y' of the kept blocks
The break-even is the density up to which blocks are faster than the dense layer, interpolated between the measured
densities.

Exit status: 0 on success, 1 if a file, the device or a check fails, 2 if the arguments are wrong.";

/// Prune a layer's weights to blocks, and measure the density up to which this makes the layer faster on this device
#[derive(Parser)]
#[command(name = "pruned_layer", version, after_help = EXAMPLES)]
struct Args {
    /// Numbers of outputs and inputs of the layer: rows and columns of its weights
    #[arg(long, value_name = "N or MxN", default_value = "2048", value_parser = sides, conflicts_with = "file")]
    size: [usize; 2],
    /// The weights: a .vsla file of one matrix of f32 or f64; f64 is rounded to f32
    #[arg(long, value_name = "FILE.vsla")]
    file: Option<PathBuf>,
    /// Number of input rows per call of the layer
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Rows and columns of a block, each 8, 16, 32, 48, 64, 96 or 128
    #[arg(long, value_name = "N or MxN", default_value = "32", value_parser = block)]
    block: [usize; 2],
    /// The type of weights, bias, rows and results; sums are f32
    #[arg(long, value_enum, default_value = "f32")]
    dtype: Type,
    /// Shares of the blocks to keep, from 0 to 1
    #[arg(
        long,
        value_name = "SHARE,..",
        value_delimiter = ',',
        default_value = "0.05,0.1,0.2,0.3,0.4,0.5,0.7,1",
        value_parser = share
    )]
    densities: Vec<f64>,
    /// The seed of random numbers: the same seed gives the same numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many results of each density to check against sums in f64
    #[arg(long, value_enum, default_value = "sample")]
    check: Check,
    /// Device to compute on; auto uses a GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    device: Choice,
    /// Write the weights of the lowest density as a block-sparse matrix
    #[arg(long, value_name = "OUT.vsla")]
    save: Option<PathBuf>,
    /// Plot time, memory and output error against the density
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
    /// Print only one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Type {
    F32,
    F16,
}

/// Parses `64` or `64x128`.
fn sides(text: &str) -> Result<[usize; 2], String> {
    let side = |text: &str| match text.trim().parse() {
        Ok(side @ 1..) => Ok(side),
        _ => Err(format!("{text:?} is not a number of rows or columns")),
    };
    match text.split_once('x') {
        Some((rows, columns)) => Ok([side(rows)?, side(columns)?]),
        None => side(text).map(|side| [side, side]),
    }
}

fn block(text: &str) -> Result<[usize; 2], String> {
    let sides = sides(text)?;
    match Topology::new([1, 1], sides, &[]) {
        Ok(_) => Ok(sides),
        Err(error) => Err(error.to_string()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("{text:?} is not a share from 0 to 1")),
    }
}

fn main() -> ExitCode {
    output::main(|| run(&Args::parse()))
}

fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    match args.dtype {
        Type::F32 => run_as::<f32>(args),
        Type::F16 => run_as::<f16>(args),
    }
}

/// Runs everything and returns the output, so that nothing is printed if a step fails.
fn run_as<T: Value>(args: &Args) -> Result<String, Box<dyn Error>> {
    for path in args.plot.iter().chain(&args.save) {
        output::check_writable(path)?;
    }
    if args.plot.is_some() && args.plot == args.save {
        return Err("--plot and --save name the same file".into());
    }
    let device = args.device.open()?;
    let info = device.info();
    let layer = match &args.file {
        Some(path) => Layer::read(path)?,
        None => Layer::made_up(args.size, args.seed)?,
    };
    let mut densities = args.densities.clone();
    densities.sort_by(f64::total_cmp);
    densities.dedup();
    let pruned = layer.pruned::<T>(args.block, &densities)?;

    let what = format!("checks and runs on {}", info.name);
    let bar = progress::bar(args.json, what, measure::steps(pruned.len()));
    let rows = layer.rows(args.batch as usize, args.seed)?;
    let bias = layer.bias(args.seed)?;
    let measured = measure::all(&device, &layer, [&rows, &bias], &pruned, args.check, &bar)?;
    bar.finish_and_clear();

    let report = Report {
        layer: &layer,
        batch: args.batch as usize,
        block: args.block,
        dtype: T::DTYPE.name(),
        device: &info,
        measured: &measured,
    };
    let mut files = String::new();
    if let (Some(path), Some(lowest)) = (&args.save, pruned.first()) {
        lowest.write(path)?;
        files += &format!("saved       {}\n", path.display());
    }
    if let Some(path) = &args.plot {
        output::write(path, &plot::svg(&report)?)?;
        files += &format!("plot        {}\n", path.display());
    }
    match args.json {
        true => Ok(report.json()),
        false => Ok(report.text() + &files),
    }
}

#[cfg(test)]
mod tests {
    use vsla::{Bsr, Ragged, Shape};

    use super::*;

    fn of(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let few = ["pruned_layer", "--device", "cpu", "--batch", "20"];
        run(&Args::parse_from(few.iter().chain(arguments)))
    }

    /// A path that is deleted after the test.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Temporary {
            let name = format!("pruned-layer-{}-{name}", std::process::id());
            Temporary(std::env::temp_dir().join(name))
        }

        fn text(&self) -> &str {
            self.0.to_str().unwrap()
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_line_for_each_density() {
        let small = ["--size", "100x70", "--block", "8x16", "--check", "all"];
        let text = of(&[&small[..], &["--densities", "1,0,0.5,0.501"]].concat()).unwrap();
        for part in [
            "100 x 70, 20 rows, blocks of 8 x 16",
            "0.000        0 ",
            "0.508       33 ",
            "1.000       65 ",
            "break-even",
            "6000 results against sums in f64",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn json_is_one_object_with_everything() {
        let half = ["--dtype", "f16", "--json"];
        let text = of(&[&half[..], &["--size", "64", "--densities", "0.25,1"]].concat()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let densities = value["densities"].as_array().unwrap();
        assert_eq!(densities.len(), 2);
        assert!(densities[0]["time_us"].as_f64().unwrap() > 0.0);
        let error = densities[0]["error"].as_f64().unwrap();
        assert!((0.1..1.0).contains(&error), "{error}");
        assert!(
            densities[1]["error"].as_f64().unwrap() < 1e-6,
            "nothing was pruned"
        );
        assert!(value["dense"]["time_us"].as_f64().unwrap() > 0.0);
    }

    #[test]
    fn weights_come_from_a_file_and_go_to_one() {
        let (file, saved, plot) = (
            Temporary::new("w.vsla"),
            Temporary::new("pruned.vsla"),
            Temporary::new("plot.svg"),
        );
        // Two blocks of constant weights. The second has the smaller norm, so it is pruned first.
        let shape = Shape::new(&[8, 16]).unwrap();
        let weights = (0..128).map(|i| if i % 16 < 8 { 1.0f64 } else { 0.5 });
        let weights = Ragged::from_shapes(weights.collect(), 2, [shape]).unwrap();
        weights.write(&file.0).unwrap();
        let block = ["--block", "8", "--densities", "0.5", "--file", file.text()];
        let text = of(&[&block[..], &["--save", saved.text(), "--plot", plot.text()]].concat());
        assert!(text.unwrap().contains("8 x 16"));
        let kept = Bsr::<f32>::read(&saved.0).unwrap();
        assert_eq!(kept.topology().blocks().collect::<Vec<_>>(), [(0, 0)]);
        assert_eq!(kept.set(0), [1.0; 64]);
        let svg = std::fs::read_to_string(&plot.0).unwrap();
        assert!(svg.contains("<svg") && svg.contains("dense"), "{svg}");

        let integers = weights.cast(|x| x as i32).unwrap();
        integers.write(&file.0).unwrap();
        let error = of(&block).unwrap_err().to_string();
        assert!(
            error.contains("expected one matrix of f32 or f64"),
            "{error}"
        );
    }

    #[test]
    fn bad_arguments_are_refused() {
        for bad in [
            ["--size", "0"],
            ["--size", "8x"],
            ["--block", "x8"],
            ["--densities", "1.5"],
            ["--densities", "nan"],
            ["--batch", "0"],
            ["--block", "9"],
        ] {
            let all = ["pruned_layer"].iter().chain(&bad);
            assert!(Args::try_parse_from(all).is_err(), "{bad:?}");
        }
        let same = ["--size", "8", "--plot", "same", "--save", "same"];
        assert!(of(&same).is_err());
        assert!(of(&["--file", "/nowhere/at/all.vsla"]).is_err());
        assert!(of(&["--size", "8", "--plot", "/nowhere/at/all.svg"]).is_err());
    }
}
