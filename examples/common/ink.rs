//! Colours of the examples' plots.

use plotters::prelude::*;

// Two colours that remain distinguishable in every common form of colour blindness.
pub const BLUE: RGBColor = RGBColor(0, 90, 170);
pub const ORANGE: RGBColor = RGBColor(225, 110, 0);
pub const INK: RGBColor = RGBColor(40, 40, 40);
pub const FAINT: RGBColor = RGBColor(110, 110, 110);
pub const GRID: RGBColor = RGBColor(232, 232, 232);
pub const AXIS: RGBColor = RGBColor(168, 168, 168);

/// What replaces the colours on dark pages.
const DARK: [(RGBColor, &str); 7] = [
    (WHITE, "#15171c"),
    (INK, "#dcdcdc"),
    (FAINT, "#9b9b9b"),
    (GRID, "#31343b"),
    (AXIS, "#6c6f76"),
    (BLUE, "#5aa7ee"),
    (ORANGE, "#f0923c"),
];

pub fn font(size: u32, color: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&color)
}

/// The plot with a style for readers who prefer dark pages.
pub fn for_dark_pages(svg: &str) -> String {
    let rules = DARK.map(|(RGBColor(r, g, b), dark)| {
        let light = format!("\"#{r:02X}{g:02X}{b:02X}\"");
        format!("[fill={light}]{{fill:{dark}}}[stroke={light}]{{stroke:{dark}}}")
    });
    let style = format!(
        "<style>@media (prefers-color-scheme: dark) {{{}}}</style>",
        rules.concat()
    );
    // After the opening tag.
    match svg.split_once(">\n") {
        Some((tag, rest)) => format!("{tag}>\n{style}\n{rest}"),
        None => svg.to_owned(),
    }
}
