//! Reports of measurements, as a table and as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use vsla::device::DeviceInfo;

use super::{Check, Times};

/// All results for one device.
pub struct Report {
    pub device: DeviceInfo,
    pub quick: bool,
    pub rows: Vec<Row>,
}

/// One measurement.
pub struct Row {
    pub name: &'static str,
    pub device: &'static str,
    pub data: String,
    pub bytes: u64,
    pub multiply_adds: u64,
    pub times: Times,
    pub first: Option<Duration>,
    /// The time of a copy that moves as many bytes.
    pub copy: Option<Duration>,
    pub percent_of_copy: Option<f64>,
    pub percent_of_multiply_adds: Option<f64>,
    /// The reference copy before and after.
    pub reference: [Duration; 2],
    pub reference_best: Duration,
    /// Whether the reference copy ran at its best speed.
    pub steady: bool,
    pub targets: Vec<Target>,
    pub check: Check,
    /// Further numbers, whose names include the units.
    pub notes: Vec<(&'static str, f64)>,
}

/// A target of a row.
pub struct Target {
    pub what: &'static str,
    pub got: f64,
    bound: Bound,
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    pub fn met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(bound) => self.got >= bound,
            Bound::AtMost(bound) => self.got <= bound,
        }
    }

    fn text(&self) -> String {
        let (sign, bound) = match self.bound {
            Bound::AtLeast(bound) => ('≥', bound),
            Bound::AtMost(bound) => ('≤', bound),
        };
        let verdict = if self.met() { "met" } else { "MISSED" };
        format!(
            "{} {} {sign} {bound}: {verdict}",
            self.what,
            number(self.got)
        )
    }
}

impl Row {
    pub fn at_least(mut self, what: &'static str, bound: f64, got: f64) -> Row {
        let bound = Bound::AtLeast(bound);
        self.targets.push(Target { what, got, bound });
        self
    }

    /// Adds a target in percent of a copy, if the device has timestamps, which means a GPU.
    pub fn of_copy(self, target: f64) -> Row {
        let got = self.percent_of_copy.unwrap_or_default();
        match self.times.device {
            Some(_) => self.at_least("% of copy", target, got),
            None => self,
        }
    }

    pub fn at_most(mut self, what: &'static str, bound: f64, got: f64) -> Row {
        let bound = Bound::AtMost(bound);
        self.targets.push(Target { what, got, bound });
        self
    }

    pub fn note(mut self, what: &'static str, value: f64) -> Row {
        self.notes.push((what, value));
        self
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.times.best_known().as_secs_f64()
    }

    fn cells(&self) -> [String; 10] {
        let percent = match (self.percent_of_copy, self.percent_of_multiply_adds) {
            (_, Some(percent)) => format!("{percent:.1} % fma"),
            (Some(percent), _) => format!("{percent:.1} % copy"),
            _ => String::new(),
        };
        let rate = match (self.bytes, self.multiply_adds) {
            (_, work @ 1..) => {
                let seconds = self.times.best_known().as_secs_f64();
                format!("{} GFLOP/s", number(2e-9 * work as f64 / seconds))
            }
            (1.., _) => format!("{} GB/s", number(self.rate() * 1e-9)),
            _ => String::new(),
        };
        let reference = self
            .reference
            .map(|time| format!("{:+.0}", 100.0 * (ratio(time, self.reference_best) - 1.0)));
        let mut verdict = match &self.check {
            Ok(what) => format!("right ({what})"),
            Err(problem) => format!("WRONG: {problem}"),
        };
        if !self.steady {
            verdict = format!("REFERENCE SLOW, {verdict}");
        }
        for target in &self.targets {
            verdict = format!("{}; {verdict}", target.text());
        }
        [
            format!("{} {}", self.device, self.name),
            format!("{:.1}", self.bytes as f64 / (1 << 20) as f64),
            self.times.device.map(micros).unwrap_or_default(),
            micros(self.times.wall),
            self.first.map(micros).unwrap_or_default(),
            rate,
            percent,
            self.copy.map(micros).unwrap_or_default(),
            format!("{} {}", reference[0], reference[1]),
            verdict,
        ]
    }

    /// The row as one line of progress output.
    pub fn line(&self) -> String {
        let [name, _, device, wall, _, rate, percent, .., verdict] = self.cells();
        format!("{name:34} {device:>10} {wall:>10} µs  {rate:>16} {percent:>12}  {verdict}")
    }

    fn json(&self) -> Value {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        json!({
            "name": self.name,
            "device": self.device,
            "data": self.data,
            "bytes": self.bytes,
            "multiply_adds": self.multiply_adds,
            "device_us": self.times.device.map(micros),
            "wall_us": micros(self.times.wall),
            "back_to_back_us": self.times.in_row.map(micros),
            "first_call_us": self.first.map(micros),
            "runs": self.times.runs,
            "gb_per_s": (self.bytes > 0).then(|| self.rate() * 1e-9),
            "copy_same_footprint_us": self.copy.map(micros),
            "percent_of_copy": self.percent_of_copy,
            "percent_of_multiply_add_peak": self.percent_of_multiply_adds,
            "reference_before_us": micros(self.reference[0]),
            "reference_after_us": micros(self.reference[1]),
            "reference_best_us": micros(self.reference_best),
            "steady": self.steady,
            "targets": self.targets.iter().map(|target| json!({
                "what": target.what,
                "at_least": match target.bound { Bound::AtLeast(bound) => Some(bound), Bound::AtMost(_) => None },
                "at_most": match target.bound { Bound::AtMost(bound) => Some(bound), Bound::AtLeast(_) => None },
                "got": target.got,
                "met": target.met(),
            })).collect::<Vec<_>>(),
            "right": self.check.is_ok(),
            "check": match &self.check { Ok(text) | Err(text) => text },
            "notes": self.notes.iter().map(|(what, value)| (what.to_string(), json!(value)))
                .collect::<serde_json::Map<_, _>>(),
        })
    }
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(1e-9)
}

fn micros(time: Duration) -> String {
    number(time.as_secs_f64() * 1e6)
}

/// Formats a number with about three digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        x if x >= 100.0 => format!("{value:.0}"),
        x if x >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Prints the table to stdout.
pub fn print(reports: &[Report]) {
    let header = [
        "row",
        "MiB",
        "device µs",
        "wall µs",
        "first µs",
        "rate",
        "of peak",
        "copy µs",
        "ref %",
        "targets and check",
    ];
    for report in reports {
        println!("\n{} {}", report.device, report.device.driver);
        let mut table = vec![header.map(str::to_owned)];
        table.extend(report.rows.iter().map(Row::cells));
        let mut widths = [0; 10];
        for cells in &table {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for cells in &table {
            let mut line = String::new();
            for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
                match i {
                    0 => line += &format!("{cell:width$}"),
                    9 => line += &format!("  {cell}"),
                    _ => line += &format!("  {cell:>width$}"),
                }
            }
            println!("{line}");
        }
        println!("data:");
        for row in &report.rows {
            println!("  {}: {}{}", row.name, row.data, notes(row));
        }
    }
}

fn notes(row: &Row) -> String {
    let notes = row.notes.iter();
    notes
        .map(|(what, value)| format!("; {what} {}", number(*value)))
        .collect()
}

/// All results as JSON.
pub fn json(reports: &[Report], took: Duration) -> Value {
    let reports = reports.iter().map(|report| {
        let info = &report.device;
        json!({
            "device": info.name,
            "backend": info.backend,
            "kind": format!("{:?}", info.kind),
            "driver": info.driver,
            "quick": report.quick,
            "rows": report.rows.iter().map(Row::json).collect::<Vec<_>>(),
        })
    });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "cpu_threads": rayon::current_num_threads(),
        "seconds": took.as_secs_f64(),
        "devices": reports.collect::<Vec<_>>(),
    })
}
