//! Reports of measurements, as a table and as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use vsla::Layout;
use vsla::device::DeviceInfo;
use vsla::scalar::{DType, Scalar};

use super::text::number;
use super::{Check, Summary, Times, rates};

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
    /// That of the rate of matrix instructions, for products of f16.
    pub percent_of_instructions: Option<f64>,
    /// The reference copy before and after.
    pub reference: [Duration; 2],
    pub reference_best: Duration,
    /// Whether the reference copy ran at its best speed.
    pub steady: bool,
    pub targets: Vec<Target>,
    pub check: Check,
    /// The batches that it reads and writes, if they are stated.
    pub batches: Vec<Batch>,
    /// What their values take, and what they would take padded. Known when the row is complete.
    pub memory: Option<[u64; 2]>,
    /// Further numbers, whose names include the units.
    pub notes: Vec<(String, f64)>,
    /// The time from the row before to this one, and how much of it measurements took. The rest is data, the first call
    /// and the check. Known when the row is complete.
    pub took: [Duration; 2],
}

/// A batch of a row.
#[derive(Clone)]
pub struct Batch {
    pub layout: Layout,
    pub dtype: DType,
    /// Whether the row writes it.
    pub result: bool,
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

    /// For products of f16, which may run on matrices: the rate of multiply-adds of f32 is no bound.
    pub fn of_halves(mut self) -> Row {
        self.percent_of_multiply_adds = None;
        if self.device != "gpu" {
            return self;
        }
        let seconds = self.times.best_known().as_secs_f64();
        let reached = rates::percent(self.multiply_adds, seconds, rates::INSTRUCTIONS);
        self.percent_of_instructions = Some(reached);
        self.note("% of the instructions' 640 TFLOP/s", reached)
    }

    pub fn note(mut self, what: impl Into<String>, value: f64) -> Row {
        self.notes.push((what.into(), value));
        self
    }

    /// Adds an operand, for the memory that padding it would take.
    pub fn reads<T: Scalar>(self, layout: &Layout) -> Row {
        self.batch(layout, T::DTYPE, false)
    }

    /// Adds a result.
    pub fn writes<T: Scalar>(self, layout: &Layout) -> Row {
        self.batch(layout, T::DTYPE, true)
    }

    fn batch(mut self, layout: &Layout, dtype: DType, result: bool) -> Row {
        let layout = layout.clone();
        self.batches.push(Batch {
            layout,
            dtype,
            result,
        });
        self
    }

    /// Bytes of the values of all batches: as they are, and if every element were padded to the longest, or to the box
    /// that fits all of its batch; `None` if there is nothing to pad.
    pub fn packed_and_padded(&self) -> Option<[u64; 2]> {
        let bytes = |values: &dyn Fn(&Layout) -> u64| {
            let batches = self.batches.iter();
            batches
                .map(|batch| values(&batch.layout) * batch.dtype.size() as u64)
                .sum()
        };
        let both = [
            bytes(&|layout| layout.total() as u64),
            bytes(&Layout::padded_total),
        ];
        (both[0] < both[1]).then_some(both)
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.times.best_known().as_secs_f64()
    }

    fn cells(&self) -> [String; COLUMNS] {
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
            self.times.device.as_ref().map(micros).unwrap_or_default(),
            self.times.device.as_ref().map(around).unwrap_or_default(),
            micros(&self.times.wall),
            around(&self.times.wall),
            self.first.map(of_duration).unwrap_or_default(),
            rate,
            percent,
            self.copy.map(of_duration).unwrap_or_default(),
            self.times.peak.map(mib).unwrap_or_default(),
            self.memory.map(|bytes| mib(bytes[1])).unwrap_or_default(),
            format!("{} {}", reference[0], reference[1]),
            verdict,
        ]
    }

    /// The row as one line of progress output.
    pub fn line(&self) -> String {
        let [name, _, device, _, wall, _, _, rate, percent, .., verdict] = self.cells();
        let [all, measured] = self.took.map(|time| time.as_secs_f64());
        format!(
            "{name:34} {device:>10} {wall:>10} µs  {rate:>16} {percent:>12}  {all:5.1} s, {measured:.1} s of them \
             measured  {verdict}"
        )
    }

    fn json(&self) -> Value {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        json!({
            "name": self.name,
            "device": self.device,
            "data": self.data,
            "bytes": self.bytes,
            "multiply_adds": self.multiply_adds,
            "device_us": self.times.device.map(|times| micros(times.median)),
            "device_runs": self.times.device.as_ref().map(Summary::json),
            "wall_us": micros(self.times.wall.median),
            "wall_runs": self.times.wall.json(),
            "back_to_back_us": self.times.in_row.map(|times| micros(times.median)),
            "back_to_back_runs": self.times.in_row.as_ref().map(Summary::json),
            "first_call_us": self.first.map(micros),
            "peak_bytes": self.times.peak,
            "packed_bytes": self.memory.map(|bytes| bytes[0]),
            "padded_bytes": self.memory.map(|bytes| bytes[1]),
            "gb_per_s": (self.bytes > 0).then(|| self.rate() * 1e-9),
            "copy_same_footprint_us": self.copy.map(micros),
            "percent_of_copy": self.percent_of_copy,
            "percent_of_multiply_add_peak": self.percent_of_multiply_adds,
            "reference_before_us": micros(self.reference[0]),
            "reference_after_us": micros(self.reference[1]),
            "reference_best_us": micros(self.reference_best),
            "row_s": self.took[0].as_secs_f64(),
            "row_measured_s": self.took[1].as_secs_f64(),
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
            "notes": self.notes.iter().map(|(what, value)| (what.clone(), json!(value)))
                .collect::<serde_json::Map<_, _>>(),
        })
    }
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(1e-9)
}

fn of_duration(time: Duration) -> String {
    number(time.as_secs_f64() * 1e6)
}

fn micros(times: &Summary) -> String {
    of_duration(times.median)
}

/// How far the ends of the interval are from the median, in percent of it.
fn around(times: &Summary) -> String {
    let of = |time: Duration| 100.0 * (ratio(time, times.median) - 1.0);
    let ends = times.interval.map(|ends| ends.map(of));
    ends.map_or_else(String::new, |[low, high]| format!("{low:+.1} {high:+.1}"))
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / (1 << 20) as f64)
}

const COLUMNS: usize = 14;

/// Prints the table to stdout.
pub fn print(reports: &[Report]) {
    let header = [
        "row",
        "MiB",
        "device µs",
        "95 %",
        "wall µs",
        "95 %",
        "first µs",
        "rate",
        "of peak",
        "copy µs",
        "peak MiB",
        "padded MiB",
        "ref %",
        "targets and check",
    ];
    for report in reports {
        println!("\n{} {}", report.device, report.device.driver);
        let mut table = vec![header.map(str::to_owned)];
        table.extend(report.rows.iter().map(Row::cells));
        let mut widths = [0; COLUMNS];
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
                    i if i + 1 == COLUMNS => line += &format!("  {cell}"),
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
