//! The pictures of the report, as SVG without a style of their own: that of the page applies.

use std::fmt::Write;

use super::svg::{circle, diamond, line, put};
use super::text::{escaped, number};

/// What a picture shows of a row. Times are in microseconds, each with the interval of its median if there is one.
pub struct Mark<'a> {
    pub name: &'a str,
    /// Device time, or wall time on a device without timestamps.
    pub ours: Time,
    /// The wall time, if `ours` is another.
    pub wall: Option<f64>,
    /// The ways in which the peer does the same, the fastest one first.
    pub theirs: Vec<Time>,
    /// Percent of the device's peak, and whether that is of multiply-adds instead of a copy.
    pub share: Option<(f64, bool)>,
    /// The most bytes of tensors that the row held.
    pub peak: Option<f64>,
    /// The bytes of its operands and results, as they are and padded to the longest.
    pub packed: Option<[f64; 2]>,
}

#[derive(Clone, Copy)]
pub struct Time {
    pub us: f64,
    pub interval: Option<[f64; 2]>,
}

const WIDTH: f64 = 1000.0;
/// The ends of the axes of times, shares and memory.
const TIMES: (f64, f64) = (250.0, 580.0);
const SHARES: (f64, f64) = (660.0, 770.0);
const MEMORY: (f64, f64) = (840.0, 950.0);
const TOP: f64 = 40.0;
const ROW: f64 = 22.0;

/// The rows of a family, one a line: times, shares of the device's peaks, and memory.
pub fn family(title: &str, marks: &[Mark<'_>]) -> String {
    let bottom = TOP + ROW * marks.len() as f64;
    let height = bottom + 30.0;
    let mut text = opened(title, height);
    let shares = marks.iter().any(|mark| mark.share.is_some());
    let memory = marks.iter().any(|mark| mark.packed.is_some());
    let peers = marks.iter().any(|mark| !mark.theirs.is_empty());
    let x = axis(&mut text, marks, bottom);
    put(&mut text, "faint", TIMES.0, 14.0, "time of a call");
    if peers {
        put(
            &mut text,
            "faint end",
            TIMES.1 + 52.0,
            14.0,
            "times as fast",
        );
    }
    let of = |axis: (f64, f64), share: f64| axis.0 + share.clamp(0.0, 1.0) * (axis.1 - axis.0);
    if shares {
        put(&mut text, "faint", SHARES.0, 14.0, "% of the device's peak");
        for percent in [0.0, 50.0, 100.0] {
            let x = of(SHARES, percent / 100.0);
            line(&mut text, "grid", (x, TOP - 6.0), (x, bottom));
            put(
                &mut text,
                "faint middle",
                x,
                bottom + 16.0,
                &percent.to_string(),
            );
        }
    }
    if memory {
        put(&mut text, "faint", MEMORY.0, 14.0, "memory, of padded");
        for percent in [0.0, 50.0, 100.0] {
            let x = of(MEMORY, percent / 100.0);
            line(&mut text, "grid", (x, TOP - 6.0), (x, bottom));
            put(
                &mut text,
                "faint middle",
                x,
                bottom + 16.0,
                &format!("{percent} %"),
            );
        }
    }
    for (i, mark) in marks.iter().enumerate() {
        let y = TOP + ROW * (i as f64 + 0.5);
        let name = mark
            .name
            .split_once('/')
            .map_or(mark.name, |(_, name)| name);
        _ = write!(text, "<a href=\"#{}\">", escaped(mark.name));
        put(&mut text, "", 0.0, y + 4.0, &shortened(name));
        text += "</a>";
        times(&mut text, mark, &x, y);
        if let Some((percent, work)) = mark.share {
            let class = ["share", "share work"][usize::from(work)];
            bar(
                &mut text,
                class,
                SHARES.0,
                of(SHARES, percent / 100.0),
                y,
                10.0,
            );
            put(
                &mut text,
                "small",
                of(SHARES, percent / 100.0) + 5.0,
                y + 4.0,
                &number(percent),
            );
        }
        if let Some([packed, padded]) = mark.packed.filter(|[_, padded]| *padded > 0.0) {
            bar(&mut text, "gap", MEMORY.0, MEMORY.1, y, 14.0);
            bar(
                &mut text,
                "ours",
                MEMORY.0,
                of(MEMORY, packed / padded),
                y,
                14.0,
            );
            if let Some(peak) = mark.peak {
                let x = of(MEMORY, peak / padded);
                line(&mut text, "peak", (x, y - 9.0), (x, y + 9.0));
            }
            put(&mut text, "small end", WIDTH, y + 4.0, &bytes(padded));
        }
    }
    text += "</svg>\n";
    text
}

fn opened(title: &str, height: f64) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\"><title>{}</title>\n",
        escaped(title)
    )
}

/// Names have room for about thirty letters.
fn shortened(name: &str) -> String {
    match name.chars().count() {
        0..=34 => name.to_owned(),
        _ => name.chars().take(33).chain(['…']).collect(),
    }
}

pub fn bytes(bytes: f64) -> String {
    match bytes {
        x if x >= 1e9 => format!("{} GB", number(x * 1e-9)),
        x if x >= 1e6 => format!("{} MB", number(x * 1e-6)),
        _ => format!("{} kB", number(bytes * 1e-3)),
    }
}

fn bar(text: &mut String, class: &str, from: f64, to: f64, y: f64, height: f64) {
    _ = writeln!(
        text,
        "<rect class=\"{class}\" x=\"{from}\" y=\"{}\" width=\"{:.1}\" height=\"{height}\"/>",
        y - height / 2.0,
        (to - from).max(0.5)
    );
}

/// Draws the logarithmic axis of times, and returns the place of each time on it.
fn axis(text: &mut String, marks: &[Mark<'_>], bottom: f64) -> impl Fn(f64) -> f64 + use<> {
    let all = || {
        let times = |mark: &Mark<'_>| {
            let theirs = mark.theirs.iter().map(|time| time.us);
            theirs
                .chain([mark.ours.us])
                .chain(mark.wall)
                .collect::<Vec<_>>()
        };
        marks.iter().flat_map(times).filter(|us| *us > 0.0)
    };
    let low = (0.8 * all().fold(f64::INFINITY, f64::min)).log10();
    let high = (1.25 * all().fold(0.0, f64::max)).log10();
    let (low, high) = match low.is_finite() && high > low {
        true => (low, high),
        false => (0.0, 1.0),
    };
    let x = move |us: f64| {
        let place = (us.max(1e-9).log10() - low) / (high - low);
        TIMES.0 + place.clamp(0.0, 1.0) * (TIMES.1 - TIMES.0)
    };
    // Every power of ten, and more between them if there are few.
    let steps: &[f64] = match high - low {
        ..0.7 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        0.7..1.5 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    for exponent in low.floor() as i32..=high.ceil() as i32 {
        for step in steps {
            let us = step * 10f64.powi(exponent);
            if us.log10() >= low && us.log10() <= high {
                let at = x(us);
                line(text, "grid", (at, TOP - 6.0), (at, bottom));
                put(text, "faint middle", at, bottom + 16.0, &duration(us));
            }
        }
    }
    line(text, "line", (TIMES.0, bottom), (TIMES.1, bottom));
    x
}

/// A round number of microseconds.
fn duration(us: f64) -> String {
    let (value, unit) = match us {
        us if us >= 1e6 => (us * 1e-6, "s"),
        us if us >= 1e3 => (us * 1e-3, "ms"),
        us if us < 1.0 => (us * 1e3, "ns"),
        us => (us, "µs"),
    };
    format!("{} {unit}", (value * 1e3).round() / 1e3)
}

fn times(text: &mut String, mark: &Mark<'_>, x: &impl Fn(f64) -> f64, y: f64) {
    if let Some(wall) = mark.wall {
        line(text, "line", (x(mark.ours.us), y), (x(wall), y));
        line(text, "wall", (x(wall), y - 5.0), (x(wall), y + 5.0));
    }
    if let Some(best) = mark.theirs.first() {
        line(text, "line", (x(mark.ours.us), y), (x(best.us), y));
        let ratio = best.us / mark.ours.us;
        let class = ["end", "end slower"][usize::from(ratio < 1.0)];
        put(text, class, TIMES.1 + 40.0, y + 4.0, &format!("{ratio:.1}"));
    }
    for (place, time) in mark.theirs.iter().enumerate().rev() {
        let class = ["theirs", "theirs other"][place.min(1)];
        whisker(text, "theirs", time, x, y);
        diamond(text, class, x(time.us), y);
    }
    whisker(text, "whisker", &mark.ours, x, y);
    circle(text, x(mark.ours.us), y);
}

/// The ends of the interval, which most circles cover.
fn whisker(text: &mut String, class: &str, time: &Time, x: &impl Fn(f64) -> f64, y: f64) {
    if let Some([low, high]) = time.interval {
        let (low, high, top) = (x(low), x(high), y - 7.0);
        let path = format!("M{low:.1} {y}H{high:.1}M{low:.1} {top}v14M{high:.1} {top}v14");
        *text += &format!("<path class=\"{class}\" d=\"{path}\"/>\n");
    }
}

/// What the signs mean.
pub fn legend() -> String {
    let mut text = opened("What the signs mean", 24.0);
    circle(&mut text, 6.0, 12.0);
    put(&mut text, "", 18.0, 16.0, "vsla");
    line(&mut text, "wall", (68.0, 6.0), (68.0, 18.0));
    put(&mut text, "", 76.0, 16.0, "its wall time");
    diamond(&mut text, "theirs", 182.0, 12.0);
    put(&mut text, "", 194.0, 16.0, "PyTorch, fastest way");
    diamond(&mut text, "theirs other", 352.0, 12.0);
    put(&mut text, "", 364.0, 16.0, "other ways");
    bar(&mut text, "share", 460.0, 484.0, 12.0, 10.0);
    put(&mut text, "", 490.0, 16.0, "of a copy");
    bar(&mut text, "share work", 574.0, 598.0, 12.0, 10.0);
    put(&mut text, "", 604.0, 16.0, "of multiply-adds");
    bar(&mut text, "ours", 732.0, 756.0, 12.0, 14.0);
    put(&mut text, "", 762.0, 16.0, "values");
    bar(&mut text, "gap", 824.0, 848.0, 12.0, 14.0);
    put(&mut text, "", 854.0, 16.0, "padding");
    line(&mut text, "peak", (926.0, 3.0), (926.0, 21.0));
    put(&mut text, "", 934.0, 16.0, "peak");
    text += "</svg>\n";
    text
}

const HISTOGRAM: f64 = 90.0;

/// A power of two with a binary prefix.
fn thousands(value: usize) -> String {
    match value {
        ..1024 => value.to_string(),
        1024..1_048_576 => format!("{}k", value >> 10),
        _ => format!("{}M", value >> 20),
    }
}

/// How many elements have a length, by octave: none, 1, 2 to 3, 4 to 7, and so on.
pub fn histogram(title: &str, lengths: impl Iterator<Item = usize>) -> String {
    let mut counts = Vec::new();
    for length in lengths {
        let octave = length.checked_ilog2().map_or(0, |log| log as usize + 1);
        if counts.len() <= octave {
            counts.resize(octave + 1, 0usize);
        }
        counts[octave] += 1;
    }
    let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let wide = 44.0;
    // The line below needs as much.
    let width = (wide * (counts.len() - first) as f64).max(190.0);
    let mut text = format!(
        "<svg class=\"histogram\" viewBox=\"0 0 {width} {}\" width=\"{width}\" role=\"img\"><title>{}</title>\n",
        HISTOGRAM + 38.0,
        escaped(title)
    );
    for (octave, &count) in counts.iter().enumerate().skip(first) {
        let x = wide * (octave - first) as f64;
        let high = (HISTOGRAM - 16.0) * count as f64 / most;
        if count > 0 {
            _ = writeln!(
                text,
                "<rect class=\"ours\" x=\"{}\" y=\"{:.1}\" width=\"{}\" height=\"{:.1}\"/>",
                x + 2.0,
                HISTOGRAM - high,
                wide - 4.0,
                high.max(1.0)
            );
            put(
                &mut text,
                "small middle",
                x + wide / 2.0,
                HISTOGRAM - high - 4.0,
                &count.to_string(),
            );
        }
        let (low, end) = match octave {
            0 => (0, 0),
            _ => (1usize << (octave - 1), (1usize << octave) - 1),
        };
        let label = if low == end {
            low.to_string()
        } else {
            format!("{}–", thousands(low))
        };
        put(
            &mut text,
            "faint small middle",
            x + wide / 2.0,
            HISTOGRAM + 14.0,
            &label,
        );
    }
    line(&mut text, "line", (0.0, HISTOGRAM), (width, HISTOGRAM));
    put(
        &mut text,
        "faint small",
        0.0,
        HISTOGRAM + 32.0,
        "elements by length, in octaves",
    );
    text += "</svg>\n";
    text
}
