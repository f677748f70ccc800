//! How much the lengths of a batch differ, the predicted cost of each method, and its measured cost, including padding.
//!
//! The profile follows from the lengths alone. Then each element is convolved with itself: by the methods that the
//! library chooses, by a single method for all elements, and padded to the longest element.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use vsla::{Layout, Pairing, Ragged, conv::HeterogeneityProfile};

use device::Choice;
use lengths::Set;
use report::Report;

#[path = "../common/device.rs"]
mod device;
#[path = "../common/ink.rs"]
mod ink;
mod lengths;
mod measure;
#[path = "../common/output.rs"]
mod output;
mod plot;
#[path = "../common/progress.rs"]
mod progress;
mod report;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p heterogeneity
  cargo run --release -p heterogeneity -- --set far-apart --copies 50000 --plot bars.svg
  cargo run --release -p heterogeneity -- 12 700 31 8000 --device cpu
  cargo run --release -p heterogeneity -- --file lengths.txt --json > result.json

Exit status: 0 on success, 1 if a file or the device fails, 2 if the arguments are wrong.";

/// Profile the lengths of a batch, and measure what padding it would cost
///
/// Lengths come from the command line, from a file (whole numbers separated by commas or white space; # begins a
/// comment), or from a named set.
#[derive(Parser)]
#[command(name = "heterogeneity", version, after_help = EXAMPLES)]
struct Args {
    /// Lengths of the elements
    #[arg(value_name = "LENGTH", conflicts_with_all = ["file", "set"])]
    lengths: Vec<String>,
    /// A file of lengths
    #[arg(long, value_name = "FILE", conflicts_with = "set")]
    file: Option<PathBuf>,
    /// A named set of lengths
    #[arg(long, value_enum, default_value = "mixed")]
    set: Set,
    /// How many times to repeat the lengths; a random set draws five lengths per repetition
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    copies: u32,
    /// The seed of random lengths and values
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Device to compute on; auto uses a GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    device: Choice,
    /// Plot the times as bars
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
    /// Print only one JSON object
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    output::main(|| run(&Args::parse()))
}

/// Runs everything and returns the output, so that nothing is printed if a step fails.
fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    if let Some(path) = &args.plot {
        output::check_writable(path)?;
    }
    let (source, lengths) = source(args)?;
    let layout = Layout::from_lengths(lengths)?;
    let device = args.device.open()?;
    let info = device.info();
    let profile = HeterogeneityProfile::new(&layout, device.costs())?;
    let batch = Ragged::random(&layout, args.seed)?;
    let choice = {
        let x = device.upload(&batch)?;
        x.pair(&x, Pairing::Elementwise)?.conv_choice()?
    };
    let bar = progress::bar(args.json, format!("runs on {}", info.name), measure::RUNS);
    let measured = measure::all(&device, &batch, &bar)?;
    bar.finish_and_clear();
    if let Some(path) = &args.plot {
        let svg = plot::svg(&source, &info.name, &measured)?;
        output::write(path, &svg)?;
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

/// The name of the source of the lengths, and the lengths.
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
    // A layout would refuse this anyway; check before allocating memory for it.
    if lengths.len().saturating_mul(copies) > u32::MAX as usize {
        return Err(format!(
            "{} lengths repeated {copies} times are too many",
            lengths.len()
        )
        .into());
    }
    Ok((format!("{name}, {copies} times"), lengths.repeat(copies)))
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
