//! Plots the misclassified test series, each over its nearest neighbour, shifted to the best lag.

use std::error::Error;

use plotters::prelude::*;

use crate::classify::Classified;
use crate::distances::Distances;
use crate::ink::{AXIS, BLUE as TEST, FAINT, GRID, INK, ORANGE as NEIGHBOUR, font, for_dark_pages};
use crate::scale;
use crate::ts::Dataset;

const COLUMNS: usize = 3;
const PANEL: (u32, u32) = (420, 270);
const HEADER: u32 = 96;
const MARGIN: u32 = 12;

/// The plot as SVG text.
pub fn svg(
    test: &Dataset,
    train: &Dataset,
    classified: &Classified,
    distances: &Distances,
    nearest: &[usize],
) -> Result<String, Box<dyn Error>> {
    let errors: Vec<usize> = classified.errors().collect();
    let rows = errors.len().div_ceil(COLUMNS) as u32;
    let size = (
        COLUMNS as u32 * PANEL.0 + 2 * MARGIN,
        HEADER + rows * PANEL.1 + MARGIN,
    );
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE)?;
        let (header, body) = root
            .margin(0, MARGIN, MARGIN, MARGIN)
            .split_vertically(HEADER);
        draw_header(&header, test, errors.len())?;
        for (place, &index) in errors.iter().enumerate() {
            let (column, row) = ((place % COLUMNS) as u32, (place / COLUMNS) as u32);
            let corner = ((column * PANEL.0) as i32, (row * PANEL.1) as i32);
            let panel = body.clone().shrink(corner, PANEL).margin(6, 6, 4, 8);
            let neighbour = nearest[index];
            let pair = index * train.series.len() + neighbour;
            Panel {
                title: format!(
                    "test #{index}: is {}, classified {}, d = {:.3}",
                    clip(&classified.labels[classified.actual[index]]),
                    clip(&classified.labels[classified.predicted[index]]),
                    distances.values[pair]
                ),
                note: format!("training #{neighbour}, lag {}", distances.lags[pair]),
                test: curve(&test.series[index], 0),
                neighbour: curve(&train.series[neighbour], distances.lags[pair]),
            }
            .draw(&panel)?;
        }
        root.present()?;
    }
    Ok(for_dark_pages(&text))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw_header(area: &Area<'_>, test: &Dataset, errors: usize) -> Result<(), Box<dyn Error>> {
    let total = test.series.len();
    let title = match errors {
        0 => format!(
            "{}: all {total} test series classified correctly",
            clip(&test.name)
        ),
        _ => format!(
            "{}: {errors} of {total} test series misclassified",
            clip(&test.name)
        ),
    };
    area.draw(&Text::new(title, (6, 16), font(20, INK)))?;
    let explanation = "Both scaled to unit norm and shown at the lag of the largest correlation; \
                       d is half the squared distance between the curves. Series are counted from 0.";
    area.draw(&Text::new(explanation, (6, 44), font(13, FAINT)))?;
    let legend = [
        (TEST, "test series"),
        (NEIGHBOUR, "its nearest training series"),
    ];
    for (place, (color, name)) in legend.into_iter().enumerate() {
        let x = 6 + 130 * place as i32;
        area.draw(&PathElement::new(
            [(x, 75), (x + 26, 75)],
            color.stroke_width(3),
        ))?;
        area.draw(&Text::new(name, (x + 32, 68), font(13, INK)))?;
    }
    Ok(())
}

struct Panel {
    title: String,
    note: String,
    test: Vec<(f64, f64)>,
    neighbour: Vec<(f64, f64)>,
}

impl Panel {
    fn draw(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let points = || self.test.iter().chain(&self.neighbour);
        let (left, right) = range(points().map(|p| p.0));
        let (low, high) = range(points().map(|p| p.1).chain([0.0]));
        let pad = 0.06 * (high - low);
        let (title, area) = area.split_vertically(36);
        title.draw(&Text::new(self.title.as_str(), (4, 2), font(14, INK)))?;
        title.draw(&Text::new(self.note.as_str(), (4, 20), font(11, FAINT)))?;

        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(40)
            .y_label_area_size(58)
            .build_cartesian_2d(left..right, low - pad..high + pad)?;
        chart
            .configure_mesh()
            .x_labels(6)
            .y_labels(5)
            .max_light_lines(0)
            .bold_line_style(GRID)
            .axis_style(AXIS)
            .label_style(font(11, FAINT))
            .x_label_formatter(&|&x| whole(x))
            .y_label_formatter(&|y| format!("{y:.2}"))
            .axis_desc_style(font(11, INK))
            .x_desc("time (samples)")
            .y_desc("value (of unit norm)")
            .draw()?;
        // The neighbour is drawn first and wider, so that both are visible where they agree.
        for (curve, color, width) in [(&self.neighbour, NEIGHBOUR, 3), (&self.test, TEST, 2)] {
            match curve.as_slice() {
                [point] => _ = chart.draw_series([Circle::new(*point, width, color.filled())])?,
                _ => {
                    let line = LineSeries::new(curve.iter().copied(), color.stroke_width(width));
                    chart.draw_series(line)?;
                }
            }
        }
        Ok(())
    }
}

/// The points of a series, scaled to unit norm, that begins at `lag`.
fn curve(series: &[f64], lag: i32) -> Vec<(f64, f64)> {
    let values = scale::by_power_of_two(series);
    let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
    let factor = if norm > 0.0 { 1.0 / norm } else { 1.0 };
    let place = |i: usize| i as f64 + f64::from(lag);
    values
        .iter()
        .enumerate()
        .map(|(i, v)| (place(i), v * factor))
        .collect()
}

/// The minimum and the maximum, or a range around them if they coincide.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    if low < high {
        (low, high)
    } else {
        (low - 0.5, high + 0.5)
    }
}

/// The label of a position on the sample axis; empty between two samples.
fn whole(x: f64) -> String {
    let place = x.round();
    if (x - place).abs() > 1e-6 {
        return String::new();
    }
    format!("{}", place as i64)
}

/// Shortens names from a file that are too long for the plot.
fn clip(name: &str) -> String {
    match name.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
