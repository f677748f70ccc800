//! A bar chart of the time of each way.

use std::error::Error;

use plotters::prelude::*;

use crate::ink::{BLUE, FAINT, INK, ORANGE, font, for_dark_pages};
use crate::measure::Measured;

const SIZE: (u32, u32) = (720, 300);
const LEFT: i32 = 90;
const TOP: i32 = 70;
const BAR: i32 = 26;
const GAP: i32 = 22;
/// Space for the number after the longest bar.
const NUMBER: i32 = 190;

/// The chart as SVG text.
pub fn svg(source: &str, device: &str, measured: &[Measured]) -> Result<String, Box<dyn Error>> {
    let seconds = |m: &Measured| m.time.as_ref().map_or(0.0, |time| time.as_secs_f64());
    let longest = measured.iter().map(seconds).fold(1e-12, f64::max);
    let chosen = measured.first().map_or(1e-12, seconds).max(1e-12);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let title: String = source.chars().take(70).collect();
        root.draw(&Text::new(title, (12, 14), font(18, INK)))?;
        let about = format!("each element convolved with itself; time per call on {device}");
        root.draw(&Text::new(about, (12, 40), font(13, FAINT)))?;
        for (place, measured) in measured.iter().enumerate() {
            let y = TOP + place as i32 * (BAR + GAP);
            root.draw(&Text::new(measured.way.name, (12, y + 6), font(14, INK)))?;
            let room = f64::from(SIZE.0 as i32 - LEFT - NUMBER);
            let end = LEFT + (room * seconds(measured) / longest).round() as i32;
            let color = if place == 0 { BLUE } else { ORANGE };
            let bar = [(LEFT, y), (end.max(LEFT + 1), y + BAR)];
            let number = match &measured.time {
                Ok(time) => {
                    root.draw(&Rectangle::new(bar, color.filled()))?;
                    format!("{time:.1?} ({:.2} x)", time.as_secs_f64() / chosen)
                }
                Err(_) => "not measured".to_owned(),
            };
            root.draw(&Text::new(number, (end + 8, y + 6), font(14, INK)))?;
        }
        root.present()?;
    }
    Ok(for_dark_pages(&text))
}
