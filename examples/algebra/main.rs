//! Three small jobs for vectors that differ in length: polynomials, a system of filters, and a stream of measurements.
//!
//! Start here: each part is one file that shows what it computes, and checks it.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use device::Choice;

#[path = "../common/device.rs"]
mod device;
#[path = "../common/ink.rs"]
mod ink;
#[path = "../common/output.rs"]
mod output;
mod plot;
mod polynomials;
mod stream;
mod system;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p algebra
  cargo run --release -p algebra -- polynomials --device cpu
  cargo run --release -p algebra -- system --plot responses.svg

Exit status: 0 on success, 1 if a file or the device fails, 2 if the arguments are wrong.";

/// Compute with polynomials, a matrix of filters, and a stream of measurements
#[derive(Parser)]
#[command(name = "algebra", version, after_help = EXAMPLES)]
struct Args {
    /// What to show; everything by default
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Device to compute on; auto uses a GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    device: Choice,
    /// Plot the system's frequency response
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    /// Products of polynomials, which are convolutions of their coefficients
    Polynomials,
    /// Two talkers recorded by two microphones, and the filters that separate them
    System,
    /// The data of a rain gauge, summed by hour and by day: windows of windows
    Stream,
}

fn main() -> ExitCode {
    output::main(|| run(&Args::parse()))
}

/// Runs everything and returns the output, so that nothing is printed if a step fails.
fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    if let Some(path) = &args.plot {
        output::check_writable(path)?;
    }
    let device = args.device.open()?;
    let parts = match args.parts.as_slice() {
        [] => Part::value_variants(),
        some => some,
    };
    let mut text = format!("on {}\n", device.info());
    for part in parts {
        text += &match part {
            Part::Polynomials => polynomials::show(&device)?,
            Part::System => system::show(&device)?,
            Part::Stream => stream::show(&device)?,
        };
    }
    if let Some(path) = &args.plot {
        output::write(path, &plot::svg(&system::responses(&device)?)?)?;
        text += &format!("\nplot: {}\n", path.display());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let args = Args::parse_from(line.split(' '));
        run(&args).unwrap()
    }

    #[test]
    fn all_parts_are_shown() {
        let text = shown("algebra --device cpu");
        for title in ["\nPolynomials\n", "\nA system\n", "\nA stream\n"] {
            assert!(text.contains(title), "{text}");
        }
        assert!(shown("algebra polynomials --device cpu").lines().count() < text.lines().count());
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn the_plot_is_written() {
        let path = std::env::temp_dir().join(format!("algebra-{}.svg", std::process::id()));
        let text = shown(&format!(
            "algebra system --device cpu --plot {}",
            path.display()
        ));
        assert!(text.ends_with(".svg\n"), "{text}");
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("polyline"));
        std::fs::remove_file(&path).unwrap();
    }
}
