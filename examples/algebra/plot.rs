//! The frequency response of the system, before and after separation.

use std::error::Error;

use plotters::prelude::*;

use crate::ink::{AXIS, BLUE, FAINT, GRID, INK, ORANGE, font, for_dark_pages};
use crate::system::Responses;

const SIZE: (u32, u32) = (760, 340);

/// The chart as SVG text.
pub fn svg(responses: &Responses) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let title = "Talker 1 and talker 2, by frequency";
        root.draw(&Text::new(title, (12, 12), font(18, INK)))?;
        let (left, right) = root.margin(44, 8, 8, 8).split_horizontally(372);
        for (area, name, levels) in [
            (left, "in microphone 1", &responses.heard),
            (right, "separated: G H", &responses.separated),
        ] {
            panel(&area, name, levels)?;
        }
        root.present()?;
    }
    Ok(for_dark_pages(&text))
}

fn panel<B: DrawingBackend>(
    area: &DrawingArea<B, plotters::coord::Shift>,
    name: &str,
    levels: &[Vec<f32>; 2],
) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    let mut chart = ChartBuilder::on(area)
        .caption(name, font(14, INK))
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(0f32..0.5, -62f32..62.0)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(AXIS)
        .label_style(font(12, FAINT))
        .x_desc("frequency (fraction of the sampling rate)")
        .y_desc("level (dB)")
        .x_labels(6)
        .y_labels(7)
        .draw()?;
    for ((levels, color), talker) in levels.iter().zip([BLUE, ORANGE]).zip(1..) {
        let last = (levels.len() - 1) as f32;
        let points = levels
            .iter()
            .enumerate()
            .map(|(i, &level)| (0.5 * i as f32 / last, level));
        chart.draw_series(LineSeries::new(points, color.stroke_width(2)))?;
        let at = (0.36, if talker == 1 { -22.0 } else { -34.0 });
        let label = format!("talker {talker}");
        chart.draw_series([Text::new(label, at, font(13, color))])?;
    }
    Ok(())
}
