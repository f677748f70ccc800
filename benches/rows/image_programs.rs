//! A program of two thousand operations on small images, grids of the Abstraction and Reasoning Corpus (ARC), from the
//! samples on the host to the results on the host. The baseline is the same program on one core, sample by sample.

use std::time::Duration;

use vsla::image::{ImageProgram, Place};
use vsla::{Ragged, Result};

use crate::harness::{Bench, Outcome, Spec, Summary, Times};

#[path = "../../examples/arc/puzzles.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the rows read only the included puzzles"
)]
mod puzzles;
#[path = "../../examples/arc/solvers/mod.rs"]
mod solvers;

struct Case {
    name: &'static str,
    schedule: &'static str,
    about: &'static str,
    samples: usize,
    /// Milliseconds.
    most: Option<f64>,
}

const CASES: [Case; 4] = [
    Case {
        name: "images/program",
        schedule: "levels",
        about: "a dispatch for each level",
        samples: 1718,
        most: Some(12.0),
    },
    Case {
        name: "images/program-20",
        schedule: "levels",
        about: "a dispatch for each level",
        samples: 20,
        most: Some(1.0),
    },
    Case {
        name: "images/program-kinds",
        schedule: "kinds",
        about: "a dispatch for each kind of operation of a level",
        samples: 1718,
        most: None,
    },
    Case {
        name: "images/program-whole",
        schedule: "whole",
        about: "a workgroup runs the whole program for a sample",
        samples: 1718,
        most: None,
    },
];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    CASES.iter().try_for_each(|case| row(bench, case))
}

fn row(bench: &mut Bench, case: &Case) -> Outcome<()> {
    if !bench.wants(case.name) {
        return Ok(());
    }
    let samples = match bench.size.quick {
        true => case.samples.min(40),
        false => case.samples,
    };
    let puzzles = puzzles::read(None)?;
    let pairs = || {
        puzzles
            .iter()
            .flat_map(|puzzle| &puzzle.pairs)
            .take(samples)
    };
    let inputs = puzzles::batch(pairs().map(|pair| &pair.input))?;
    let expected = puzzles::batch(pairs().map(|pair| &pair.output))?;
    let solvers = solvers::all();
    let program = ImageProgram::with(true, true, case.schedule, |r| {
        let (input, expected) = (r.input(), r.input());
        for (_, solver) in &solvers {
            r.output(&solver(&input).same(&expected));
        }
    })?;
    let batch: [&Ragged<i32>; 2] = [&inputs, &expected];
    let place = Place::from(&bench.device);
    let run = || program.run_blocking(&place, &batch);
    let (found, first) = bench.first(run)?;
    let one_core = program.run_blocking(&Place::OneCore, &batch)?;
    let differs = (0..solvers.len()).find(|&i| {
        found.images(i) != one_core.images(i)
            || (0..samples).any(|sample| found.is_valid(i, sample) != one_core.is_valid(i, sample))
    });
    let results = samples * solvers.len();
    let spec = Spec {
        name: case.name,
        data: format!(
            "{} operations on {samples} pairs of ARC grids, with transfers; {}",
            program.operations(),
            case.about
        ),
        bytes: 0,
        multiply_adds: 0,
        first,
        check: match differs {
            None => Ok(format!("all {results} results, against one core")),
            Some(i) => Err(format!(
                "results of {} differ from those of one core",
                solvers[i].0
            )),
        },
    };
    // Most of the time outside of kernels is the host's, which varies.
    let runs = 4 * bench.size.runs.0;
    let times = |place: &Place, runs: usize| -> Result<Summary> {
        let times = (0..runs).map(|_| Ok(program.run_blocking(place, &batch)?.report().actual));
        Ok(Summary::of(times.collect::<Result<Vec<Duration>>>()?))
    };
    let (wall, reference) = bench.beside(|_| Ok(times(&place, runs)?))?;
    // While the host computes, the GPU lowers its clock.
    let (kernels, peak) = bench.profiled(1, run)?;
    let serial = times(&Place::OneCore, runs.min(5))?.median.as_secs_f64();
    let times = Times {
        peak: Some(peak),
        ..Times::of_wall(wall)
    };
    let mut row = bench.row(spec, times, reference);
    if let Some(kernels) = kernels {
        let time = kernels.iter().sum::<Duration>();
        row = row.note("µs in kernels", 1e6 * time.as_secs_f64());
    }
    let seconds = wall.median.as_secs_f64();
    row = row
        .note("µs on one core", 1e6 * serial)
        .note("times as fast as one core", serial / seconds);
    if let Some(most) = case.most.filter(|_| bench.device.is_gpu()) {
        row = row.at_most("ms", most, 1e3 * seconds);
    }
    bench.push(row);
    Ok(())
}
