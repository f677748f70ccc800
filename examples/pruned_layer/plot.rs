//! Plots time over density, with the break-even point, and below it memory and the error of the output.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::ink::{AXIS, BLUE, FAINT, GRID, INK, ORANGE, font, for_dark_pages};
use crate::measure::{Cost, Pruned};
use crate::report::Report;

const SIZE: (u32, u32) = (720, 800);
const HEADER: u32 = 86;
const TIMES: u32 = 296;
const MEMORY: u32 = 200;

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
            "relu(x Wᵀ + bias) with the blocks of largest norm, on {}",
            report.device.name
        );
        header.draw(&Text::new(about, (12, 40), font(13, FAINT)))?;
        let verdict = format!("break-even {}", report.verdict());
        header.draw(&Text::new(verdict, (12, 62), font(13, INK)))?;

        let of = |value: &dyn Fn(&Pruned) -> f64| -> Vec<(f64, f64)> {
            let points = measured.pruned.iter();
            points
                .map(|pruned| (pruned.density, value(pruned)))
                .collect()
        };
        let millis = |cost: &Cost| cost.time.as_secs_f64() * 1e3;
        let megabytes = |cost: &Cost| cost.bytes as f64 / 1e6;
        let (times, charts) = charts.split_vertically(TIMES);
        let (memory, errors) = charts.split_vertically(MEMORY);
        let mark = measured.break_even();
        let named = mark.map(|density| format!("break-even {density:.2}"));
        Chart {
            caption: "time per call",
            unit: "ms",
            points: of(&|pruned| millis(&pruned.cost)),
            dense: Some(millis(&measured.dense)),
            mark,
            named,
        }
        .draw(&times)?;
        Chart {
            caption: "memory of the weights",
            unit: "MB",
            points: of(&|pruned| megabytes(&pruned.cost)),
            dense: Some(megabytes(&measured.dense)),
            mark,
            named: None,
        }
        .draw(&memory)?;
        Chart {
            caption: "output error",
            unit: "share of the norm",
            points: of(&|pruned| pruned.error),
            dense: None,
            mark,
            named: None,
        }
        .draw(&errors)?;
        root.present()?;
    }
    Ok(for_dark_pages(&text))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// A curve over the densities.
struct Chart {
    caption: &'static str,
    /// The unit of the values.
    unit: &'static str,
    points: Vec<(f64, f64)>,
    /// The value of the dense layer, drawn as a horizontal line.
    dense: Option<f64>,
    /// A density to mark.
    mark: Option<f64>,
    /// The label of the marked density.
    named: Option<String>,
}

impl Chart {
    fn draw(self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let values = self.points.iter().map(|point| point.1);
        let top = 1.1 * values.fold(self.dense.unwrap_or(1e-9), f64::max);
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(56)
            .caption(self.caption, font(13, INK))
            .build_cartesian_2d(0.0..1.0, 0.0..top)?;
        chart
            .configure_mesh()
            .x_labels(11)
            .y_labels(6)
            .max_light_lines(0)
            .bold_line_style(GRID)
            .axis_style(AXIS)
            .label_style(font(11, FAINT))
            .axis_desc_style(font(12, INK))
            .x_desc("density (share of blocks kept)")
            .y_desc(self.unit)
            .draw()?;
        if let Some(level) = self.dense {
            let line = LineSeries::new([(0.0, level), (1.0, level)], ORANGE.stroke_width(2));
            chart.draw_series(line)?;
            let below = level - 0.02 * top;
            chart.draw_series([Text::new("dense", (0.01, below), font(12, ORANGE))])?;
        }
        if let Some(density) = self.mark {
            let line = LineSeries::new([(density, 0.0), (density, top)], FAINT.stroke_width(1));
            chart.draw_series(line)?;
            // Left of the line if there is no room on its right.
            let (side, at) = match density {
                0.8.. => (HPos::Right, density - 0.008),
                _ => (HPos::Left, density + 0.008),
            };
            let style = font(12, FAINT).pos(Pos::new(side, VPos::Top));
            chart.draw_series([Text::new(self.named.unwrap_or_default(), (at, top), style)])?;
        }
        let points = self.points.iter().copied();
        chart.draw_series(LineSeries::new(points.clone(), BLUE.stroke_width(2)))?;
        chart.draw_series(points.map(|point| Circle::new(point, 3, BLUE.filled())))?;
        Ok(())
    }
}
