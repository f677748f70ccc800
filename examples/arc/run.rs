//! All solvers as one program, over all pairs of all puzzles.

use std::error::Error;
use std::time::Duration;

use indicatif::ProgressBar;
use vsla::image::{ImageProgram, ImageReport, Place, Results};
use vsla::{Device, Ragged};

use crate::puzzles::{Puzzle, batch};
use crate::solvers::Solver;

/// A dispatch of the GPU runs a level of the program.
pub const SCHEDULE: &str = "levels";

/// The inputs and the expected outputs of all pairs, and which pairs belong to each puzzle.
pub struct Samples {
    pub inputs: Ragged<i32>,
    pub expected: Ragged<i32>,
    begins: Vec<usize>,
}

impl Samples {
    pub fn new(puzzles: &[Puzzle]) -> vsla::Result<Samples> {
        let pairs = || puzzles.iter().flat_map(|puzzle| &puzzle.pairs);
        let mut begins = vec![0];
        for puzzle in puzzles {
            begins.push(begins[begins.len() - 1] + puzzle.pairs.len());
        }
        Ok(Samples {
            inputs: batch(pairs().map(|pair| &pair.input))?,
            expected: batch(pairs().map(|pair| &pair.output))?,
            begins,
        })
    }

    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// So many samples: the first of them, or all of them repeated as often as necessary.
    pub fn repeated(&self, samples: usize) -> vsla::Result<[Ragged<i32>; 2]> {
        let some = |batch: &Ragged<i32>| {
            let all = (0..samples).map(|i| i % batch.len());
            let cells = all
                .clone()
                .flat_map(|i| batch.row(i).iter().copied())
                .collect();
            Ragged::from_shapes(cells, 2, all.map(|i| batch.shape(i)))
        };
        Ok([some(&self.inputs)?, some(&self.expected)?])
    }
}

/// A program of these solvers, with an output for each: whether its image is the expected one.
pub fn program<'a>(
    solvers: impl Iterator<Item = &'a (&'a str, Solver)>,
    schedule: &str,
) -> vsla::Result<ImageProgram> {
    ImageProgram::with(true, true, schedule, |r| {
        let (input, expected) = (r.input(), r.input());
        for (_, solver) in solvers {
            r.output(&solver(&input).same(&expected));
        }
    })
}

/// What a run did, and its fastest time.
pub struct Ran {
    pub report: ImageReport,
    pub fastest: Duration,
}

/// The outcome of everything.
pub struct Outcome {
    pub program: ImageProgram,
    pub solved: Vec<String>,
    pub one_core: Ran,
    pub all_cores: Ran,
    pub gpu: Option<Ran>,
    pub auto: Ran,
}

/// Runs the program in all places, and checks that all give the same results and that each solver is right for its
/// puzzle.
pub fn run(
    device: &Device,
    puzzles: &[Puzzle],
    solvers: &[(&str, Solver)],
    samples: &Samples,
    schedule: &str,
    bar: &ProgressBar,
) -> Result<Outcome, Box<dyn Error>> {
    let program = program(solvers.iter(), schedule)?;
    let inputs = [&samples.inputs, &samples.expected];
    let (one_core, expected) = fastest(&program, &Place::OneCore, &inputs, bar)?;
    let solved = solved(puzzles, solvers, samples, &expected)?;
    let run = |place: &Place| -> Result<Ran, Box<dyn Error>> {
        let (ran, found) = fastest(&program, place, &inputs, bar)?;
        for (i, (id, _)) in solvers.iter().enumerate() {
            let all = 0..samples.len();
            let differs = all
                .clone()
                .find(|&sample| found.is_valid(i, sample) != expected.is_valid(i, sample));
            if let Some(sample) = differs {
                return Err(format!(
                    "{place:?}: the result of {id} for pair {sample} is valid on only one machine"
                )
                .into());
            }
            if found.images(i) != expected.images(i) {
                return Err(
                    format!("{place:?}: results of {id} differ from those of one core").into(),
                );
            }
        }
        Ok(ran)
    };
    let all_cores = run(&Place::AllCores)?;
    let gpu = match device.is_gpu() {
        true => Some(run(&Place::from(device))?),
        false => None,
    };
    let auto = run(&Place::Auto(device.calibrate()?))?;
    Ok(Outcome {
        solved,
        one_core,
        all_cores,
        gpu,
        auto,
        program,
    })
}

const RUNS: usize = 5;

fn fastest(
    program: &ImageProgram,
    place: &Place,
    inputs: &[&Ragged<i32>],
    bar: &ProgressBar,
) -> vsla::Result<(Ran, Results)> {
    let mut results = program.run_blocking(place, inputs)?;
    let mut fastest = results.report().actual;
    for _ in 1..RUNS {
        bar.inc(1);
        results = program.run_blocking(place, inputs)?;
        fastest = fastest.min(results.report().actual);
    }
    bar.inc(1);
    let report = results.report().clone();
    Ok((Ran { report, fastest }, results))
}

/// The puzzles whose solver is right for every pair. A solver that is not right for its puzzle is an error.
fn solved(
    puzzles: &[Puzzle],
    solvers: &[(&str, Solver)],
    samples: &Samples,
    results: &Results,
) -> Result<Vec<String>, Box<dyn Error>> {
    let mut solved = Vec::new();
    for (i, (id, _)) in solvers.iter().enumerate() {
        let Some(at) = puzzles.iter().position(|puzzle| puzzle.id == *id) else {
            continue;
        };
        for (pair, sample) in (samples.begins[at]..samples.begins[at + 1]).enumerate() {
            if !results.is_valid(i, sample) || results.images(i).row(sample) != [1] {
                return Err(format!("the solver of {id} is wrong for pair {pair}").into());
            }
        }
        solved.push((*id).to_owned());
    }
    Ok(solved)
}
