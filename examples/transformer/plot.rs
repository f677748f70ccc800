//! Plots the losses over the steps.

use std::error::Error;

use plotters::prelude::*;

use crate::ink::{AXIS, BLUE, FAINT, GRID, INK, ORANGE, font, for_dark_pages};
use crate::text::Baselines;
use crate::train::Point;

const SIZE: (u32, u32) = (720, 400);
const HEADER: u32 = 64;

/// The plot as SVG text: the losses of training and validation pieces, and those of models that count.
pub fn svg(
    title: &str,
    about: &str,
    points: &[Point],
    baselines: Baselines,
) -> Result<String, Box<dyn Error>> {
    let curve = |of: fn(&Point) -> f64| points.iter().map(move |p| (p.step as f64, of(p)));
    let (train, validation) = (curve(|p| p.train), curve(|p| p.validation));
    let losses = || train.clone().chain(validation.clone()).map(|p| p.1);
    let low = losses().fold(baselines.bigram, f64::min) - 0.1;
    let high = losses().fold(baselines.unigram, f64::max) + 0.1;
    let end = points.last().map_or(2, |p| p.step).max(2) as f64;
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
            .build_cartesian_2d(0.0..end, low..high)?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .bold_line_style(GRID)
            .axis_style(AXIS)
            .label_style(font(11, FAINT))
            .axis_desc_style(font(12, INK))
            .x_label_formatter(&|step| format!("{step:.0}"))
            .y_label_formatter(&|loss| format!("{loss:.1}"))
            .x_desc("training step")
            .y_desc("cross-entropy (nats per character)")
            .draw()?;
        let counted = [
            ("frequencies", baselines.unigram),
            ("frequencies of pairs", baselines.bigram),
        ];
        for (name, loss) in counted {
            let line = [(0.0, loss), (end, loss)];
            chart.draw_series(LineSeries::new(line, FAINT.stroke_width(1)))?;
            let place = (0.7 * end, loss + 0.05 * (high - low));
            chart.draw_series([Text::new(name, place, font(12, FAINT))])?;
        }
        for (line, color, name) in [
            (
                Box::new(train) as Box<dyn Iterator<Item = (f64, f64)>>,
                BLUE,
                "training",
            ),
            (Box::new(validation), ORANGE, "held out"),
        ] {
            let line: Vec<(f64, f64)> = line.collect();
            chart.draw_series(LineSeries::new(line.iter().copied(), color.stroke_width(2)))?;
            if let Some(&(step, loss)) = line.last() {
                let place = (step - 0.1 * end, loss + 0.06 * (high - low));
                chart.draw_series([Text::new(name, place, font(12, color))])?;
            }
        }
        root.present()?;
    }
    Ok(for_dark_pages(&text))
}
