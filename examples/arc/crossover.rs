//! Times in each place, by the number of samples, for programs of several sizes.

use std::error::Error;
use std::time::Duration;

use indicatif::ProgressBar;
use plotters::prelude::*;
use vsla::Device;
use vsla::image::{ImageProgram, Machine, Place};

use crate::ink::{AXIS, BLUE, FAINT, GRID, INK, ORANGE, font, for_dark_pages};
use crate::numbers::{duration, thousands};
use crate::run::{Samples, program};
use crate::solvers::Solver;

pub const SAMPLES: [usize; 6] = [1, 5, 20, 100, 1000, 4308];
const OPERATIONS: [usize; 3] = [1, 10, 100];
/// The number of runs in each place. The first of them are a warm-up, in which `auto` learns; the fastest of the others
/// counts.
const RUNS: usize = 16;
const WARM_UP: usize = 10;

/// The fastest times of one program and number of samples.
pub struct Point {
    operations: usize,
    samples: usize,
    one_core: Duration,
    all_cores: Duration,
    gpu: Option<Duration>,
    auto: Duration,
    chosen: Machine,
}

impl Point {
    fn best(&self) -> Duration {
        let best = self.one_core.min(self.all_cores);
        self.gpu.map_or(best, |gpu| best.min(gpu))
    }

    /// How much longer the chosen machine takes than the best one.
    fn regret(&self) -> f64 {
        let chosen = match self.chosen {
            Machine::OneCore => self.one_core,
            Machine::AllCores => self.all_cores,
            Machine::Gpu => self.gpu.unwrap_or(self.auto),
        };
        chosen.as_secs_f64() / self.best().as_secs_f64() - 1.0
    }
}

/// Programs of about so many operations: the first solvers that have enough, and all.
fn programs(solvers: &[(&str, Solver)], schedule: &str) -> vsla::Result<Vec<ImageProgram>> {
    let mut all = Vec::new();
    for operations in OPERATIONS {
        all.push(match operations {
            1 => ImageProgram::new(|r| {
                let (x, _) = (r.input(), r.input());
                r.output(&x.flip_columns());
            })?,
            _ => {
                let mut count = 1;
                loop {
                    let program = program(solvers[..count].iter(), schedule)?;
                    if program.operations() >= operations || count == solvers.len() {
                        break program;
                    }
                    count += 1;
                }
            }
        });
    }
    all.push(program(solvers.iter(), schedule)?);
    Ok(all)
}

pub fn measure(
    device: &Device,
    solvers: &[(&str, Solver)],
    samples: &Samples,
    schedule: &str,
    bar: &ProgressBar,
) -> Result<Vec<Point>, Box<dyn Error>> {
    let auto = Place::Auto(device.calibrate()?);
    let mut points = Vec::new();
    for program in programs(solvers, schedule)? {
        for number in SAMPLES {
            let [inputs, expected] = samples.repeated(number)?;
            let inputs = [&inputs, &expected];
            let mut chosen = Machine::OneCore;
            let mut fastest = |place: &Place| -> vsla::Result<Duration> {
                let mut best = Duration::MAX;
                for run in 0..RUNS {
                    let results = program.run_blocking(place, &inputs)?;
                    let report = results.report();
                    if run >= WARM_UP {
                        best = best.min(report.actual);
                        chosen = report.place;
                    }
                }
                Ok(best)
            };
            let one_core = fastest(&Place::OneCore)?;
            let all_cores = fastest(&Place::AllCores)?;
            let gpu = match device.is_gpu() {
                true => Some(fastest(&Place::from(device))?),
                false => None,
            };
            let auto = fastest(&auto)?;
            points.push(Point {
                operations: program.operations(),
                samples: number,
                one_core,
                all_cores,
                gpu,
                auto,
                chosen,
            });
            bar.inc(1);
        }
    }
    Ok(points)
}

pub fn table(points: &[Point]) -> String {
    let mut text = format!(
        "{:>10} {:>8} {:>10} {:>10} {:>10} {:>10}  {:<9} {:>7}\n",
        "operations", "samples", "one core", "all cores", "GPU", "auto", "chosen", "regret"
    );
    for point in points {
        text += &format!(
            "{:>10} {:>8} {:>10} {:>10} {:>10} {:>10}  {:<9} {:>6.1}%\n",
            thousands(point.operations),
            thousands(point.samples),
            duration(point.one_core),
            duration(point.all_cores),
            point.gpu.map_or_else(|| "-".to_owned(), duration),
            duration(point.auto),
            format!("{:?}", point.chosen),
            100.0 * point.regret(),
        );
    }
    text
}

/// The times of the largest program by the number of samples.
pub fn svg(points: &[Point], device: &str) -> Result<String, Box<dyn Error>> {
    let most = points
        .iter()
        .map(|point| point.operations)
        .max()
        .unwrap_or(0);
    let points: Vec<&Point> = points
        .iter()
        .filter(|point| point.operations == most)
        .collect();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let times = || {
        points
            .iter()
            .flat_map(|point| [Some(point.one_core), Some(point.all_cores), point.gpu])
            .flatten()
    };
    let low = times().map(micros).fold(f64::INFINITY, f64::min) / 1.5;
    let high = times().map(micros).fold(0.0, f64::max) * 1.5;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (800, 480)).into_drawing_area();
        root.fill(&WHITE)?;
        let last = SAMPLES[SAMPLES.len() - 1] as f64;
        let mut chart = ChartBuilder::on(&root)
            .caption(
                format!(
                    "{} operations on images of each sample, {device}",
                    thousands(most)
                ),
                font(17, INK),
            )
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(80)
            .build_cartesian_2d((0.9..last * 1.2).log_scale(), (low..high).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(AXIS)
            .label_style(font(13, INK))
            .x_desc("samples in a batch")
            .y_desc("time, with transfers (µs)")
            .x_label_formatter(&|x| thousands(*x as usize))
            .y_label_formatter(&|y| thousands(*y as usize))
            .draw()?;
        type Line<'a> = (&'a str, RGBColor, Box<dyn Fn(&Point) -> Option<Duration>>);
        let lines: [Line<'_>; 4] = [
            ("one core", ORANGE, Box::new(|point| Some(point.one_core))),
            ("all cores", INK, Box::new(|point| Some(point.all_cores))),
            ("GPU", BLUE, Box::new(|point| point.gpu)),
            ("auto", FAINT, Box::new(|point| Some(point.auto))),
        ];
        for (name, colour, time) in lines {
            let line: Vec<_> = points
                .iter()
                .filter_map(|point| Some((point.samples as f64, micros(time(point)?))))
                .collect();
            if line.is_empty() {
                continue;
            }
            let width = if name == "auto" { 5 } else { 2 };
            let style = if name == "auto" {
                colour.mix(0.45)
            } else {
                colour.mix(1.0)
            };
            chart
                .draw_series(LineSeries::new(line.clone(), style.stroke_width(width)))?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 22, y)], style.stroke_width(width))
                });
            chart.draw_series(
                line.into_iter()
                    .map(|at| Circle::new(at, 3, style.filled())),
            )?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(font(14, INK))
            .border_style(FAINT.mix(0.4))
            .background_style(WHITE.mix(0.9))
            .draw()?;
        root.present()?;
    }
    Ok(for_dark_pages(&svg))
}
