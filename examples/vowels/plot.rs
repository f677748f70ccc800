//! Plots the loss of each epoch.

use std::error::Error;

use plotters::prelude::*;

use crate::ink::{AXIS, BLUE, FAINT, GRID, INK, ORANGE, font, for_dark_pages};

const SIZE: (u32, u32) = (720, 400);
const HEADER: u32 = 64;

/// The plot as SVG text: the mean loss of each epoch on a logarithmic scale, and that of equal scores for all classes.
pub fn svg(
    title: &str,
    about: &str,
    losses: &[f32],
    classes: usize,
) -> Result<String, Box<dyn Error>> {
    // A loss of 0 has no logarithm; 10⁻⁶ is a probability of 0.999999 for the right class.
    let points = || {
        (1..)
            .zip(losses)
            .map(|(epoch, &loss)| (epoch as f64, f64::from(loss).max(1e-6)))
    };
    let low = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let guess = (classes as f64).ln().max(1e-6);
    let high = points().map(|point| point.1).fold(guess, f64::max);
    let end = losses.len().max(2) as f64;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (header, body) = root.split_vertically(HEADER);
        header.draw(&Text::new(title, (12, 14), font(18, INK)))?;
        header.draw(&Text::new(about, (12, 40), font(13, FAINT)))?;
        let mut chart = ChartBuilder::on(&body)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(62)
            .build_cartesian_2d(1.0..end, (0.7 * low..1.4 * high).log_scale())?;
        chart
            .configure_mesh()
            .x_labels(7)
            .max_light_lines(0)
            .bold_line_style(GRID)
            .axis_style(AXIS)
            .label_style(font(11, FAINT))
            .axis_desc_style(font(12, INK))
            .x_label_formatter(&|epoch| format!("{epoch:.0}"))
            .x_desc("epoch (pass over the recordings)")
            .y_desc("mean cross-entropy in training (nats)")
            .draw()?;
        let line = LineSeries::new([(1.0, guess), (end, guess)], ORANGE.stroke_width(2));
        chart.draw_series(line)?;
        let place = (1.0 + 0.01 * end, 0.88 * guess);
        let name = Text::new("equal scores for all classes", place, font(12, ORANGE));
        chart.draw_series([name])?;
        chart.draw_series(LineSeries::new(points(), BLUE.stroke_width(2)))?;
        if let [_] = losses {
            chart.draw_series(points().map(|point| Circle::new(point, 3, BLUE.filled())))?;
        }
        root.present()?;
    }
    Ok(for_dark_pages(&text))
}
