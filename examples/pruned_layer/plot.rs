//! Time over density, with the point from which blocks do not pay any more, and below it the error of the output.

use std::error::Error;

use plotters::prelude::*;

use crate::ink::{BLUE, FAINT, INK, ORANGE, font};
use crate::report::Report;

const SIZE: (u32, u32) = (720, 560);
const HEADER: u32 = 86;
const TIMES: u32 = 280;

/// The chart as SVG text.
pub fn svg(report: &Report<'_>) -> Result<String, Box<dyn Error>> {
    let measured = report.measured;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (header, charts) = root.split_vertically(HEADER);
        header.draw(&Text::new(report.source(), (12, 14), font(18, INK)))?;
        let about = format!(
            "x Wᵀ with the blocks of the largest norms, on {}",
            report.device.name
        );
        header.draw(&Text::new(about, (12, 40), font(13, FAINT)))?;
        let verdict = format!("break-even {}", report.verdict());
        header.draw(&Text::new(verdict, (12, 62), font(13, INK)))?;

        let millis = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        let of = |value: &dyn Fn(&crate::measure::Pruned) -> f64| -> Vec<(f64, f64)> {
            let points = measured.pruned.iter();
            points
                .map(|pruned| (pruned.density, value(pruned)))
                .collect()
        };
        let dense = millis(measured.dense.time);
        let (times, errors) = charts.split_vertically(TIMES);
        Chart {
            caption: "time of a product, ms",
            points: of(&|pruned| millis(pruned.product.time)),
            level: Some((dense, "dense")),
            mark: measured.break_even(),
        }
        .draw(&times)?;
        Chart {
            caption: "error of the output, as a share of its norm",
            points: of(&|pruned| pruned.error),
            level: None,
            mark: measured.break_even(),
        }
        .draw(&errors)?;
        root.present()?;
    }
    Ok(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// A curve over the densities.
struct Chart {
    caption: &'static str,
    points: Vec<(f64, f64)>,
    /// A line across, and its name.
    level: Option<(f64, &'static str)>,
    /// A density to mark.
    mark: Option<f64>,
}

impl Chart {
    fn draw(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let level = self.level.map_or(0.0, |(level, _)| level);
        let values = self.points.iter().map(|point| point.1);
        let top = 1.1 * values.fold(level.max(1e-9), f64::max);
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(26)
            .y_label_area_size(56)
            .caption(self.caption, font(13, INK))
            .build_cartesian_2d(0.0..1.0, 0.0..top)?;
        chart
            .configure_mesh()
            .x_labels(11)
            .y_labels(6)
            .max_light_lines(0)
            .bold_line_style(RGBColor(232, 232, 232))
            .axis_style(RGBColor(170, 170, 170))
            .label_style(font(11, FAINT))
            .draw()?;
        if let Some((level, name)) = self.level {
            let line = LineSeries::new([(0.0, level), (1.0, level)], ORANGE.stroke_width(2));
            chart.draw_series(line)?;
            let below = level - 0.02 * top;
            chart.draw_series([Text::new(name, (0.01, below), font(12, ORANGE))])?;
        }
        if let Some(density) = self.mark {
            let line = LineSeries::new([(density, 0.0), (density, top)], FAINT.stroke_width(1));
            chart.draw_series(line)?;
            let text = format!("{density:.2}");
            chart.draw_series([Text::new(text, (density + 0.005, top), font(12, FAINT))])?;
        }
        let points = self.points.iter().copied();
        chart.draw_series(LineSeries::new(points.clone(), BLUE.stroke_width(2)))?;
        chart.draw_series(points.map(|point| Circle::new(point, 3, BLUE.filled())))?;
        Ok(())
    }
}
