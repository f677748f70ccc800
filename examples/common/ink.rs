//! Colours of the examples' plots.

use plotters::prelude::*;

// Two colours that remain distinguishable in every common form of colour blindness.
pub const BLUE: RGBColor = RGBColor(0, 90, 170);
pub const ORANGE: RGBColor = RGBColor(225, 110, 0);
pub const INK: RGBColor = RGBColor(40, 40, 40);
pub const FAINT: RGBColor = RGBColor(110, 110, 110);

pub fn font(size: u32, color: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&color)
}
