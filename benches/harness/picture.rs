//! Draws the README's picture, as SVG: the memory layout of a batch, packed and padded, and the times of chosen rows
//! beside the peer's.
//!
//! The picture has no background and follows the reader's colour scheme, so it is legible on a light and a dark page.

use std::fmt::Write;

use super::chosen::Chosen;
use super::text::escaped;

const WIDTH: f64 = 840.0;
/// The ends of the axis of values.
const MEMORY: (f64, f64) = (110.0, 820.0);
/// The ends of the axis of times.
const TIMES: (f64, f64) = (400.0, 750.0);
/// Where the times begin, and the height of each row.
const TOP: f64 = 262.0;
const ROW: f64 = 26.0;

const STYLE: &str = "\
text { font: 13px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.faint { fill: #57606a }
.middle { text-anchor: middle }
.end { text-anchor: end }
.line { stroke: #8c959f; stroke-width: 1 }
.grid { stroke: #d0d7de; stroke-width: 1 }
.gap { fill: #8c959f; fill-opacity: 0.25 }
.ours { fill: #0a5aaa }
.ours.odd { fill: #5aa0e6 }
.theirs { fill: #d2660a; stroke: #d2660a; stroke-width: 1.5 }
.theirs.other { fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.faint { fill: #9ea7b3 }
.line { stroke: #7d8590 }
.grid { stroke: #343b44 }
.ours { fill: #4c9df3 }
.ours.odd { fill: #1f5f9e }
.theirs { fill: #f0913a; stroke: #f0913a }
}";

/// The picture of `rows`, measured on `device`. The data of the first row begins with a list of lengths: the batch.
pub fn svg(rows: &[Chosen<'_>], device: &str) -> Result<String, String> {
    let lengths = rows.first().and_then(|row| lengths(row.data));
    let lengths = lengths.ok_or("the data of the first row is no list of lengths")?;
    let height = TOP + ROW * rows.len() as f64 + 56.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>A batch in memory, packed and padded, and times of vsla and PyTorch</title>\n\
         <style>\n{STYLE}\n</style>\n"
    );
    memory(&mut text, &lengths);
    times(&mut text, rows, device);
    text += "</svg>\n";
    Ok(text)
}

/// `[8, 15]` of `[8, 15] x 1000`.
fn lengths(data: &str) -> Option<Vec<usize>> {
    let list = data.strip_prefix('[')?.split_once(']')?.0;
    list.split(", ").map(|length| length.parse().ok()).collect()
}

/// The batch, packed and padded, on one axis of values.
fn memory(text: &mut String, lengths: &[usize]) {
    let (packed, longest) = (lengths.iter().sum(), lengths.iter().copied().max());
    let longest = longest.unwrap_or(0);
    let padded = longest * lengths.len();
    let scale = (MEMORY.1 - MEMORY.0) / padded.max(1) as f64;
    let x = |values: usize| MEMORY.0 + scale * values as f64;
    let bar = |text: &mut String, class: &str, y: f64, begin: usize, length: usize| {
        let (x, width) = (x(begin), scale * length as f64);
        _ = writeln!(
            text,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"24\"/>"
        );
    };
    let title = format!("{} signals in memory, padded and packed", lengths.len());
    put(text, "title", 0.0, 20.0, &title);
    put(text, "", 0.0, 56.0, "padded");
    put(text, "", 0.0, 117.0, "packed (vsla)");
    let mut begin = 0;
    for (i, &length) in lengths.iter().enumerate() {
        let class = ["ours", "ours odd"][i % 2];
        bar(text, "gap", 40.0, i * longest, longest);
        bar(text, class, 40.0, i * longest, length);
        bar(text, class, 101.0, begin, length);
        put(text, "faint", x(i * longest), 80.0, &length.to_string());
        begin += length;
    }
    let sum = format!("{packed} values instead of {padded}");
    put(text, "", x(packed) + 10.0, 117.0, &sum);
    line(text, "line", (MEMORY.0, 139.0), (MEMORY.1, 139.0));
    for tick in (0..=padded).step_by(step(padded)) {
        line(text, "line", (x(tick), 139.0), (x(tick), 144.0));
        put(text, "faint middle", x(tick), 158.0, &tick.to_string());
    }
    let middle = 0.5 * (MEMORY.0 + MEMORY.1);
    put(
        text,
        "faint middle",
        middle,
        178.0,
        "place in memory, in values of 4 bytes",
    );
}

/// A round distance of about five ticks.
fn step(total: usize) -> usize {
    let mut step = 1;
    while total / step > 5 {
        // 1, 2, 5, 10, 20, 50 and so on.
        let leading = step / 10usize.pow(step.ilog10());
        step = if leading == 2 { step / 2 * 5 } else { step * 2 };
    }
    step
}

/// The times of each row on a logarithmic axis.
fn times(text: &mut String, rows: &[Chosen<'_>], device: &str) {
    let all = || {
        let theirs = |row: &Chosen<'_>| row.theirs.iter().map(|way| way.1).collect::<Vec<_>>();
        rows.iter()
            .flat_map(move |row| theirs(row).into_iter().chain([row.ours]))
    };
    let low = (0.8 * all().fold(f64::INFINITY, f64::min)).log10();
    let high = (1.25 * all().fold(0.0, f64::max)).log10();
    let x = |us: f64| TIMES.0 + (us.log10() - low) / (high - low) * (TIMES.1 - TIMES.0);
    let bottom = TOP + ROW * rows.len() as f64;

    put(
        text,
        "title",
        0.0,
        216.0,
        &format!("Time of a call on an {device}"),
    );
    let legend = TOP - 24.0;
    circle(text, 6.0, legend - 4.0);
    put(text, "", 18.0, legend, "vsla");
    diamond(text, "theirs", 76.0, legend - 4.0);
    put(text, "", 88.0, legend, "PyTorch, fastest way");
    diamond(text, "theirs other", 236.0, legend - 4.0);
    put(text, "", 248.0, legend, "other ways");
    put(text, "faint end", WIDTH, legend, "times as fast");

    for exponent in low.ceil() as i32..=high.floor() as i32 {
        let at = x(10f64.powi(exponent));
        line(text, "grid", (at, TOP - 6.0), (at, bottom));
        let (value, unit) = match exponent {
            3.. => (10f64.powi(exponent - 3), "ms"),
            _ => (10f64.powi(exponent), "µs"),
        };
        put(
            text,
            "faint middle",
            at,
            bottom + 18.0,
            &format!("{value} {unit}"),
        );
    }
    line(text, "line", (TIMES.0, bottom), (TIMES.1, bottom));
    let middle = 0.5 * (TIMES.0 + TIMES.1);
    let axis = "device time, logarithmic: less is better";
    put(text, "faint middle", middle, bottom + 40.0, axis);

    for (i, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (i as f64 + 0.5);
        put(text, "", 0.0, y + 4.0, row.caption);
        line(text, "line", (x(row.ours), y), (x(row.theirs[0].1), y));
        for (place, way) in row.theirs.iter().enumerate().rev() {
            let class = ["theirs", "theirs other"][place.min(1)];
            diamond(text, class, x(way.1), y);
        }
        circle(text, x(row.ours), y);
        let ratio = format!("{:.1}", row.times_as_fast());
        put(text, "end", WIDTH, y + 4.0, &ratio);
    }
}

fn put(text: &mut String, class: &str, x: f64, y: f64, content: &str) {
    _ = writeln!(
        text,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y}\">{}</text>",
        escaped(content)
    );
}

fn line(text: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    _ = writeln!(
        text,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{}\" x2=\"{:.1}\" y2=\"{}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn circle(text: &mut String, x: f64, y: f64) {
    _ = writeln!(
        text,
        "<circle class=\"ours\" cx=\"{x:.1}\" cy=\"{y}\" r=\"5.5\"/>"
    );
}

fn diamond(text: &mut String, class: &str, x: f64, y: f64) {
    _ = writeln!(
        text,
        "<path class=\"{class}\" d=\"M{:.1} {y}l6-6 6 6-6 6z\"/>",
        x - 6.0
    );
}
