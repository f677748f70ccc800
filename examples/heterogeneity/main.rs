//! How much the lengths of a batch differ, what each method should cost for it, and what it does cost, padding included.
//!
//! The profile is worked out from the lengths alone; then each element is convolved with itself by the methods that the
//! library chooses, by one method for all, and padded to the longest.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use vsla::{Device, HeterogeneityProfile, Layout, Pairing, Ragged};

use lengths::Set;
use report::Report;

mod lengths;
mod measure;
mod plot;
mod report;

const EXAMPLES: &str = "\
Examples:
  cargo run --release --example heterogeneity
  cargo run --release --example heterogeneity -- --set far-apart --copies 50000 --plot bars.svg
  cargo run --release --example heterogeneity -- 12 700 31 8000 --device cpu
  cargo run --release --example heterogeneity -- --file lengths.txt --json > result.json

Exit status: 0 on success, 1 if a file or the device fails, 2 if the arguments are wrong.";

/// Profile the lengths of a batch, and measure what padding it would cost
///
/// Lengths come from the command line, from a file (whole numbers between commas and white space, # begins a comment),
/// or from a named set.
#[derive(Parser)]
#[command(name = "heterogeneity", version, after_help = EXAMPLES)]
struct Args {
    /// Lengths of the elements
    #[arg(value_name = "LENGTH", conflicts_with_all = ["file", "set"])]
    lengths: Vec<String>,
    /// A file of lengths
    #[arg(long, value_name = "FILE", conflicts_with = "set")]
    file: Option<PathBuf>,
    /// Lengths with a name
    #[arg(long, value_enum, default_value = "mixed")]
    set: Set,
    /// How often the lengths are repeated; a random set draws five for each
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    copies: u32,
    /// What random lengths and values depend on
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where to compute; auto takes a GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    device: Choice,
    /// Draw the times as bars
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Choice {
    /// A GPU if there is one, else the CPU
    Auto,
    /// The CPU
    Cpu,
    /// A GPU, which may be a software rasteriser; an error if there is none
    Gpu,
}

fn main() -> ExitCode {
    // Errors are told once, by this program; RUST_LOG=info shows what else the library and wgpu have to say.
    env_logger::init_from_env(env_logger::Env::default().default_filter_or("off"));
    let args = Args::parse();
    let done = run(&args).and_then(|text| Ok(io::stdout().lock().write_all(text.as_bytes())?));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough: `heterogeneity | head -3` is not a failure.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The whole job. Its output is returned, not printed: when something fails, nothing has been printed.
fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    if let Some(path) = &args.plot {
        check_writable(path)?;
    }
    let (source, lengths) = source(args)?;
    let layout = Layout::from_lengths(lengths)?;
    let device = match args.device {
        Choice::Auto => Device::auto(),
        Choice::Cpu => Device::cpu(),
        Choice::Gpu => gpu()?,
    };
    let info = device.info();
    let profile = HeterogeneityProfile::new(&layout, device.costs());
    let batch = Ragged::random(&layout, args.seed);
    let choice = {
        let x = device.upload(&batch)?;
        x.pair(&x, Pairing::Elementwise)?.conv_choice()?
    };
    let bar = progress(args, &info.name);
    let measured = measure::all(&device, &batch, &bar)?;
    bar.finish_and_clear();
    if let Some(path) = &args.plot {
        let svg = plot::svg(&source, &info.name, &measured)?;
        std::fs::write(path, svg).map_err(|error| named(path, &error))?;
    }
    let report = Report {
        source: &source,
        device: &info,
        profile: &profile,
        choice: &choice,
        measured: &measured,
    };
    if args.json {
        return Ok(report.json()?);
    }
    let mut text = report.text();
    if let Some(path) = &args.plot {
        text += &format!("plot            {}\n", path.display());
    }
    Ok(text)
}

/// What the lengths are called, and the lengths.
fn source(args: &Args) -> Result<(String, Vec<usize>), Box<dyn Error>> {
    let copies = args.copies as usize;
    let (name, lengths) = if let Some(path) = &args.file {
        (path.display().to_string(), lengths::read(path)?)
    } else if args.lengths.is_empty() {
        let name = clap::ValueEnum::to_possible_value(&args.set);
        let name = name.map_or_else(String::new, |value| value.get_name().to_owned());
        let lengths = args.set.lengths(copies, args.seed);
        return Ok((format!("{name}, {} lengths", lengths.len()), lengths));
    } else {
        let text = args.lengths.join(" ");
        (text.clone(), lengths::parse(&text)?)
    };
    // What a layout would refuse anyway, before there is memory for it.
    if lengths.len().saturating_mul(copies) > u32::MAX as usize {
        return Err(format!("{} lengths {copies} times are too many", lengths.len()).into());
    }
    Ok((format!("{name}, {copies} times"), lengths.repeat(copies)))
}

#[cfg(feature = "gpu")]
fn gpu() -> vsla::Result<Device> {
    Device::gpu(vsla::GpuOptions::default())
}

#[cfg(not(feature = "gpu"))]
fn gpu() -> Result<Device, Box<dyn Error>> {
    Err("this build has no GPU support (feature `gpu`)".into())
}

/// A bar on the terminal; hidden when there is none, and when a program reads the result.
fn progress(args: &Args, device: &str) -> ProgressBar {
    if args.json || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{msg} {wide_bar} {pos} of {len}, {elapsed}";
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    let bar = ProgressBar::new(measure::RUNS as u64)
        .with_style(style)
        .with_message(format!("turns on {device}"));
    bar.enable_steady_tick(Duration::from_millis(100)); // also while a turn takes its time
    bar
}

/// Finds out before the work, not after it, that the plot has no place to go.
fn check_writable(path: &Path) -> Result<(), Box<dyn Error>> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.is_dir() {
        return Err(named(path, &"is a directory"));
    }
    match parent.is_dir() {
        true => Ok(()),
        false => Err(named(path, &"its directory does not exist")),
    }
}

fn named(path: &Path, problem: &dyn std::fmt::Display) -> Box<dyn Error> {
    format!("{}: {problem}", path.display()).into()
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let all = ["heterogeneity", "--device", "cpu"].iter().chain(arguments);
        run(&Args::parse_from(all))
    }

    #[test]
    fn the_table_tells_the_known_numbers() {
        let text = of(&["--copies", "3"]).unwrap();
        for part in [
            "mixed, 15 lengths",
            "max/min 65.143",
            "72.46 % of it padding",
            "padded",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn json_is_one_object_with_everything() {
        let text = of(&["5", "80,0", "--copies", "2", "--json"]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["profile"]["elements"], 6);
        assert_eq!(value["profile"]["max_to_min"], 16.0);
        for way in measure::WAYS {
            assert!(value["measured_us"][way.name].as_f64().unwrap() > 0.0);
        }
        assert!(!value["choice"].as_array().unwrap().is_empty());
    }

    #[test]
    fn the_plot_has_a_bar_for_each_way() {
        let path = std::env::temp_dir().join(format!("vsla-bars-{}.svg", std::process::id()));
        of(&["7", "--copies", "1", "--plot", path.to_str().unwrap()]).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            svg.matches("<rect").count(),
            1 + measure::WAYS.len(),
            "{svg}"
        );
        assert!(of(&["--plot", "/nowhere/at/all.svg"]).is_err());
    }

    #[test]
    fn bad_lengths_are_refused() {
        for bad in [
            &["--file", "/nowhere/at/all.txt"][..],
            &["many"],
            &["1", "16777217"],
        ] {
            assert!(of(bad).is_err(), "{bad:?}");
        }
        let both = ["heterogeneity", "3", "--file", "x"];
        assert!(Args::try_parse_from(both).is_err());
        assert!(Args::try_parse_from(["heterogeneity", "--copies", "0"]).is_err());
    }
}
