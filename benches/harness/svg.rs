//! The shapes of which pictures are made, as SVG. Classes give them colours.

use std::fmt::Write;

use super::text::escaped;

pub fn put(text: &mut String, class: &str, x: f64, y: f64, content: &str) {
    _ = writeln!(
        text,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y}\">{}</text>",
        escaped(content)
    );
}

pub fn line(text: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    _ = writeln!(
        text,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{}\" x2=\"{:.1}\" y2=\"{}\"/>",
        from.0, from.1, to.0, to.1
    );
}

pub fn circle(text: &mut String, x: f64, y: f64) {
    _ = writeln!(
        text,
        "<circle class=\"ours\" cx=\"{x:.1}\" cy=\"{y}\" r=\"5.5\"/>"
    );
}

pub fn diamond(text: &mut String, class: &str, x: f64, y: f64) {
    _ = writeln!(
        text,
        "<path class=\"{class}\" d=\"M{:.1} {y}l6-6 6 6-6 6z\"/>",
        x - 6.0
    );
}
